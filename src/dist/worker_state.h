/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a worker, shared by the files worker*.c.
 *
 * A call becomes an op (hr_worker_op_t): made by hr_worker_call, ended once by hr_worker_finish. Sessions, graphs and steps are refcounted;
 * the worker's tables hold one reference each. A step is here from the first call that names it (a RecvTensor may come before the RunGraph)
 * until CleanupGraph, or until its session goes.
 *
 * Lock order: worker.mu, session.mu, step.mu; none of them is held while a rendezvous or a `done` is called. */
#ifndef HR_DIST_WORKER_STATE_H
#define HR_DIST_WORKER_STATE_H
#include "base/errand.h"
#include "dist/heartbeat.h"
#include "dist/message_builder.h"
#include "dist/message_reader.h"
#include "dist/request_ids.h"
#include "dist/worker.h"
#include "dist/worker_log.h"
#include "rt/rendezvous.h"
#include "rt/step_locals.h"
#include "session/callee.h"
#include "session/runner.h"

/* --- sessions and graphs ---------------------------------------------------------------------------------------------------------- */
typedef struct hr_worker_session {
  _Atomic int refs;
  hr_str_t handle, master_task;  /* own bytes */
  int64_t master_incarnation;
  hr_cluster_t* cluster;         /* the worker's, or the client's own */
  hr_device_set_t* devices;
  hr_resources_t* resources;     /* the worker's, or of this session alone */
  hr_state_table_t* states;
  hr_mutex_t mu;
  hr_map_t graphs;               /* handle to hr_worker_graph_t; guarded by mu, like all below */
  int64_t node_count;
  uint64_t last_graph;
  bool is_deleted;
  hr_worker_t* worker;           /* worker_masters.c's, like all below; borrowed */
  int32_t master;                /* its task in the worker's cluster */
  int silences;
  int64_t silent_ns;
  hr_heartbeat_watch_t watch;
  bool is_watched;               /* guarded by the worker's mu */
} hr_worker_session_t;

typedef struct hr_worker_graph {
  _Atomic int refs;
  char handle[17];
  hr_worker_session_t* session;  /* one reference */
  hr_graph_t* graph;             /* what the runner's program was copied from */
  hr_session_options_t options;
  hr_callee_table_t* callees;    /* functions of its library */
  hr_runner_t* runner;
  int64_t node_count;
} hr_worker_graph_t;

void hr_worker_session_release(hr_worker_session_t* s); /* accepts NULL */
/* One more reference; the session of calls that name none when !is_created. ABORTED names the handle. */
HR_MUST_USE hr_status_t hr_worker_session_find(hr_worker_t* w, hr_str_t handle, bool is_created, hr_worker_session_t** out);
HR_MUST_USE hr_status_t hr_worker_session_find_graph(hr_worker_session_t* s, hr_str_t handle, hr_worker_graph_t** out);
void hr_worker_graph_release(hr_worker_graph_t* g); /* accepts NULL */
void hr_worker_session_remove_graphs(hr_worker_session_t* s);
void hr_worker_session_remove_all(hr_worker_t* w); /* at the end */

/* --- worker_masters.c: sessions whose master is gone; the first two under w->mu ------------------------------------------------------- */
void hr_worker_masters_watch(hr_worker_t* w, hr_worker_session_t* s);  /* which has come into the table */
void hr_worker_masters_forget(hr_worker_t* w, hr_worker_session_t* s); /* which leaves it */
void hr_worker_masters_stop(hr_worker_t* w);
void hr_worker_session_end_orphan(hr_worker_t* w, hr_worker_session_t* s); /* unless it is off the table */

/* --- steps ---------------------------------------------------------------------------------------------------------------------------- */
typedef struct hr_worker_step {
  _Atomic int refs;
  int64_t id;
  hr_worker_t* worker;           /* borrowed: whoever holds a step holds an op or is the worker */
  hr_rendezvous_t* rendezvous;
  struct hr_worker_rendezvous* remote; /* the rendezvous's way to other tasks; lives as long */
  hr_step_locals_t locals;
  hr_cancel_t cancel;            /* of what runs here */
  hr_mutex_t mu;
  hr_cond_t changed;
  hr_worker_session_t* session;  /* guarded by mu, like all below; NULL until a RunGraph claims the step */
  bool is_running;               /* the graph */
  bool has_run;                  /* once; `run_status` is how it ended */
  hr_status_t run_status;
  int64_t since_ns;              /* when it was made */
} hr_worker_step_t;

/* Finds or makes; one more reference. RESOURCE_EXHAUSTED when there are too many, of which those that do not run are half; UNAVAILABLE
 * when the worker stops. */
HR_MUST_USE hr_status_t hr_worker_step_get(hr_worker_t* w, int64_t id, bool runs, hr_worker_step_t** out);
/* Gives up a reference; takes the step off the table when nobody has claimed it and nobody else has one. Accepts NULL. */
void hr_worker_step_leave(hr_worker_step_t* step);
/* A RunGraph's: the step belongs to its session now. */
void hr_worker_step_claim(hr_worker_step_t* step, hr_worker_session_t* session);
void hr_worker_step_release(hr_worker_step_t* step); /* accepts NULL */
/* Ends what runs and what waits; the first reason stays. */
void hr_worker_step_end(hr_worker_step_t* step, hr_status_t take_why);
/* Ends it and takes it off the table. */
void hr_worker_step_remove(hr_worker_t* w, int64_t id, hr_status_t take_why);
void hr_worker_step_remove_of(hr_worker_t* w, const hr_worker_session_t* session, hr_status_t take_why); /* NULL: all */
/* Its graph has run: off the table when no value is left in it and nobody else is at it; true then. */
bool hr_worker_step_settle(hr_worker_t* w, hr_worker_step_t* step);
/* Those that have been asked for longer than a minute and that nobody runs. */
void hr_worker_step_remove_unclaimed(hr_worker_t* w);

/* --- the worker ------------------------------------------------------------------------------------------------------------------- */
struct hr_worker {
  _Atomic int refs;
  hr_worker_options_t options;   /* texts: own bytes */
  hr_cluster_t* cluster;
  hr_device_set_t* devices;
  hr_resources_t* resources;     /* of sessions that are not isolated */
  hr_request_ids_t ids;
  hr_worker_log_t log;
  hr_mutex_t mu;
  hr_cond_t idle;
  hr_map_t sessions;             /* handle to hr_worker_session_t; guarded by mu, like all below */
  hr_worker_session_t* unnamed;  /* of masters that create none */
  hr_map_t steps;                /* id to hr_worker_step_t */
  hr_map_t peers;                /* name to peer_bytes_t */
  int64_t ops, running;          /* calls inside; RunGraphs among them */
  int64_t swept_ns;              /* when unclaimed steps were last looked for */
  hr_heartbeat_t* masters;       /* NULL: none is watched */
  bool is_stopping;
};

void hr_worker_drop(hr_worker_t* w); /* one reference */

/* --- ops -------------------------------------------------------------------------------------------------------------------------- */
typedef struct hr_worker_op {
  hr_worker_t* w;                /* one reference */
  hr_worker_call_t* call;
  void (*cancel)(struct hr_worker_op* self);  /* NULL: too short to be cancelled */
  void (*destroy)(struct hr_worker_op* self); /* what it holds; NULL: nothing */
  hr_errand_t errand;            /* for methods that may block */
  struct hr_worker_peer* peer;   /* whose account `bytes` is on */
  int64_t bytes;
} hr_worker_op_t;

/* The last thing done to an op. */
void hr_worker_finish(hr_worker_op_t* op, hr_status_t take_status, hr_message_t* take_response);
void hr_worker_finish_empty(hr_worker_op_t* op, hr_status_t take_status); /* OK: an empty message */
void hr_worker_finish_bytes(hr_worker_op_t* op, hr_writer_t* take_bytes);
/* Runs `run` on a thread that may block. */
void hr_worker_start_errand(hr_worker_op_t* op, void (*run)(hr_errand_t* errand));
static inline hr_worker_op_t* hr_worker_op_of_errand(hr_errand_t* e) {
  return (hr_worker_op_t*)((char*)e - offsetof(hr_worker_op_t, errand));
}

enum { HR_WORKER_OP_BYTES = 640 }; /* of any method's op, which begins with an hr_worker_op_t */

/* worker_session.c, worker_graph.c, worker_run.c, worker_recv.c, worker_log.c */
void hr_worker_create_session(hr_worker_op_t* op);
void hr_worker_delete_session(hr_worker_op_t* op);
void hr_worker_register_graph(hr_worker_op_t* op);
void hr_worker_deregister_graph(hr_worker_op_t* op);
void hr_worker_run_graph(hr_worker_op_t* op);
void hr_worker_recv_tensor(hr_worker_op_t* op);
void hr_worker_logging(hr_worker_op_t* op);

/* worker_rendezvous.c */
typedef struct hr_worker_rendezvous hr_worker_rendezvous_t;
HR_MUST_USE hr_status_t hr_worker_rendezvous_create(hr_worker_t* w, int64_t step_id, hr_worker_rendezvous_t** out_remote,
                                                    hr_rendezvous_t** out);
/* Whom to ask; before the step's graph runs. */
void hr_worker_rendezvous_set_cluster(hr_worker_rendezvous_t* r, hr_cluster_t* cluster);
#endif
