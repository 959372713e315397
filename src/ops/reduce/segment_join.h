/* SPDX-License-Identifier: Apache-2.0 */
/* How segment ops join rows: a step of reduce.def on rows of one element type, with accumulators in float for half and bfloat16 and, for
 * means, in int64 for narrower integers. Also what their shape functions, checks and gradients share. */
#ifndef HR_OPS_REDUCE_SEGMENT_JOIN_H
#define HR_OPS_REDUCE_SEGMENT_JOIN_H
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/elementwise/loops.h"
#include "ops/reduce/reduce.h"

typedef struct {
  const hr_reduce_step_t* step;
  hr_dtype_t type, acc_type;
  hr_loop1_t widen, narrow; /* type to acc_type and back, where they differ */
  size_t size, acc_size;
} hr_segment_join_t;
/* From the first input's type; UNIMPLEMENTED when the step has no loop for it. */
HR_MUST_USE hr_status_t hr_segment_join_init(hr_prepare_ctx_t* p, int step, bool wide_integers, hr_segment_join_t* out);
void hr_segment_join_row(const hr_segment_join_t* join, const char* x, int64_t n, char* acc); /* acc[i] joins x[i] */

/* Segment ids that must ascend from 0 or more; INVALID_ARGUMENT names the first that does not. Gives the number of segments. */
HR_MUST_USE hr_status_t hr_segment_ascending(const hr_tensor_t* ids, int64_t* out_segments);

/* Shape function: output 0 is the input's shape with `rows` (-1: unknown) in place of its first `lead` axes. */
HR_MUST_USE hr_status_t hr_segment_infer(hr_infer_t* s, int64_t rows, const hr_pshape_t* data, int lead);
/* A scalar input as a number of rows: -1 when unknown; INVALID_ARGUMENT when negative or no scalar. */
HR_MUST_USE hr_status_t hr_segment_infer_rows(hr_infer_t* s, int input, int64_t* out);

static inline hr_value_t hr_segment_pick(hr_grad_ctx_t* g, hr_value_t rows, hr_value_t ids) { /* rows[ids] */
  return hr_emit3(g, "GatherV2", rows, ids, hr_emit_const_i32(g, 0));
}
#endif
