/* SPDX-License-Identifier: Apache-2.0 */
/* A program: what one signature runs, as a working copy of the graph that passes edit, together with what is asked of it.
 *
 * Each node has a rank: the id of the source node it stands for. Nodes run in the order of their ranks where edges allow, which is the
 * order in which the client made them; a node that a pass adds takes the rank of the one it replaces. */
#ifndef HR_SESSION_PROGRAM_H
#define HR_SESSION_PROGRAM_H
#include "graph/copy.h"
#include "rt/device.h"
#include "session/session.h"

struct hr_placing; /* session/place.h */

typedef struct {
  hr_graph_copy_t copy;          /* owned; copy.graph is what passes edit */
  hr_graph_t* graph;             /* copy.graph */
  hr_value_t* feeds;             /* output 0 of copy.feeds; memory of the copy's arena, like all below */
  hr_value_t* fetches;           /* in the request's order */
  hr_node_t** targets;
  int32_t feed_count, fetch_count, target_count;
  hr_node_t** live;              /* after hr_program_finish: what is needed, in rank order */
  int64_t live_count, live_room;  /* each pass finds it anew, in the same memory */
  bool in_parts;                 /* the request's */
  bool feeds_placeholders_only;  /* then what the source graph found constant holds for this run */
  HR_VEC(int32_t) ranks;         /* by id in the copy */
  HR_VEC(uint8_t) asked;         /* by id in the copy: HR_ASKED_ bits */
  HR_VEC(int32_t) device_of;     /* by id in the copy: index in the device set, -1 until placed (session/place.h); nodes that passes
                                    add get the device of the node they are like */
  int32_t threads, lanes;        /* for exec/plan.h: of a kernel, and of nodes; what the session's options come to */
  const struct hr_placing* placing; /* while the pipeline runs */
  hr_device_set_t* devices;      /* one reference, once placed: nodes' device names lie there */
  const hr_graph_t* source;      /* what the copy was made of */
  const hr_value_t* source_feeds; /* the request's endpoints there: their names are those that the client knows */
  const hr_value_t* source_fetches;
} hr_program_t;
enum { HR_ASKED_FETCH = 1, HR_ASKED_TARGET = 2 };

/* Copies what `request` needs. The caller holds source->mu, and keeps the source alive as long as the program. */
HR_MUST_USE hr_status_t hr_program_create(const hr_graph_t* source, const hr_prune_request_t* request, hr_program_t* out);
void hr_program_deinit(hr_program_t* p);

/* --- for passes; nodes in the order of their ids are in topological order, but for those that passes add; after the first pass, which
 * expands functions, there are no gaps ------------------------------------------------------------------------------------------------- */
/* Every consumer and fetch of `from` reads `to`. */
HR_MUST_USE hr_status_t hr_program_replace(hr_program_t* p, hr_value_t from, hr_value_t to);
/* A new node under a name made unique from desc->name, ranked like `like`. */
HR_MUST_USE hr_status_t hr_program_add(hr_program_t* p, const hr_node_desc_t* desc, const hr_node_t* like, hr_node_t** out);
HR_MUST_USE hr_status_t hr_program_add_const(hr_program_t* p, const hr_tensor_t* value, const hr_node_t* like, hr_node_t** out);
/* What waited for `from`, or asked for it to run, has `to` instead; with `to` NULL it waits no more: `from` has nothing to do. */
HR_MUST_USE hr_status_t hr_program_replace_control(hr_program_t* p, hr_node_t* from, hr_node_t* to);
static inline bool hr_program_is_fetched(const hr_program_t* p, const hr_node_t* n) {
  return p->asked.data[n->id] & HR_ASKED_FETCH;
} /* an output of it */
static inline bool hr_program_is_target(const hr_program_t* p, const hr_node_t* n) { return p->asked.data[n->id] & HR_ASKED_TARGET; }
/* Nothing else may be done to such a node but run it, once, when asked: stateful, side effects, references, control flow, blocking. */
bool hr_program_is_fixed(const hr_node_t* node);

/* Whether there are conditionals or loops: then a node runs only if all its inputs are alive, and that is part of what it computes. */
bool hr_program_has_flow(const hr_program_t* p);

/* The value if a constant gives it, whatever happens; else NULL. */
const hr_tensor_t* hr_program_constant(hr_value_t v);

/* Nodes that were added to the graph itself (function bodies) become the program's, ranked like `like`. */
HR_MUST_USE hr_status_t hr_program_adopt(hr_program_t* p, const hr_node_t* like);
/* One more node that must run. */
HR_MUST_USE hr_status_t hr_program_add_target(hr_program_t* p, hr_node_t* node);
/* Numbers the nodes anew, producers before consumers, without gaps: passes that look back from a node then find what earlier ones left. */
HR_MUST_USE hr_status_t hr_program_renumber(hr_program_t* p);

/* Finds what is live. */
HR_MUST_USE hr_status_t hr_program_finish(hr_program_t* p);
#endif
