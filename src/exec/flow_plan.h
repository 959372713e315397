/* SPDX-License-Identifier: Apache-2.0 */
/* What is known while a plan of the general path is built, shared by flow_plan.c and flow_edges.c. */
#ifndef HR_EXEC_FLOW_PLAN_H
#define HR_EXEC_FLOW_PLAN_H
#include "exec/flow.h"
#include "graph/frames.h"

enum { FLOW_READ_BY_MERGE = 1, FLOW_FETCHED = 2, FLOW_FED = 4 };
typedef enum { FLOW_FEED, FLOW_CONSTANT_VALUE, FLOW_INVARIANT, FLOW_TEMPORARY } flow_kind_t; /* in the order of a block's slots */

typedef struct {
  const hr_tensor_t* constant;
  int32_t slot, use; /* -1: none */
  int32_t frame, readers;
  int32_t last_reader, times; /* while readers are counted, and inputs placed */
  int32_t maker;              /* site; -1: none */
  int32_t ask, reader, done;  /* of reuse_slot: which ask, the last reader met, how many of them */
  uint8_t kind;
  bool is_ref, fetched, passed_on; /* passed_on: its slot has been given to a later value */
} flow_value_t;

typedef struct {
  int32_t site;
  hr_value_t of;
} flow_extra_t; /* a site that stands for no node: it waits for what gives `of` */

typedef struct {
  hr_plan_t* p;
  hr_flow_t* f;
  hr_arena_t* scratch;
  const hr_plan_desc_t* desc;
  hr_node_t* const* order;
  hr_frames_t frames;
  hr_value_t* real;   /* by node id: what a node without a site is; node NULL: itself */
  int32_t* site_of;   /* by node id: -1: none */
  int32_t* site_node; /* by node id: index in order; NULL until somebody asks */
  int64_t id_limit;
  int32_t read_count; /* inputs that are read from references */
  int32_t* base;      /* by node id: its first value; -1: not of the plan */
  uint8_t* marks;     /* by node id */
  int32_t* pending;   /* by site: the edges it waits for */
  flow_value_t* values;
  int32_t value_count;
  int32_t* fetch_values;
  flow_extra_t* extra;
  int32_t extra_count;
  int32_t asks; /* for slots to use again, so far */
} flow_build_t;

int hr_flow_class(const hr_node_t* n);
hr_value_t hr_flow_real(const flow_build_t* b, hr_value_t v);

/* flow_edges.c */
HR_MUST_USE hr_status_t hr_flow_build_edges(flow_build_t* b);   /* before values have slots */
HR_MUST_USE hr_status_t hr_flow_make_counters(flow_build_t* b); /* after */
#endif
