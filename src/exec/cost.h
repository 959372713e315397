/* SPDX-License-Identifier: Apache-2.0 */
/* What a node's kernel takes, estimated from static shapes alone: what decides whether threads between nodes pay (exec/lanes.h). Never
 * measured at run time, so that the same graph is always run the same way. */
#ifndef HR_EXEC_COST_H
#define HR_EXEC_COST_H
#include "graph/graph.h"

enum { HR_COST_BATCH = 64 }; /* what an unknown dimension is taken for */

typedef struct {
  float alone_ns;  /* on one thread */
  float beside_ns; /* the same while other kernels run */
  float team_ns;   /* what splitting it costs beside the share of alone_ns; 0: the kernel does not split */
  float move_ns;   /* until another core has its outputs */
  bool guessed;    /* a dimension was not known */
} hr_cost_t;

/* Rows of the table by definition, so that few nodes need a search. Zeroed; one while a plan is made. */
enum { HR_COST_RECENT = 64 };
typedef struct {
  const hr_op_def_t* def[HR_COST_RECENT];
  const void* row[HR_COST_RECENT];
} hr_cost_memo_t;

hr_cost_t hr_cost_of(hr_cost_memo_t* memo, const hr_node_t* n);
double hr_cost_on(hr_cost_t c, int threads);     /* nanoseconds on so many threads */
double hr_cost_beside(hr_cost_t c, int threads); /* the same while other kernels run */
#endif
