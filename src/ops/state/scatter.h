/* SPDX-License-Identifier: Apache-2.0 */
/* Writing slices of a tensor by index: what scatter.c (rows of variables), scatter_nd.c (slices by index tuples) and their tensor forms
 * share. Duplicate indices are applied in their order, however many threads there are; nothing is written when an index is bad. */
#ifndef HR_OPS_STATE_SCATTER_H
#define HR_OPS_STATE_SCATTER_H
#include "op/infer_fns.h"
#include "op/op.h"
#include "ops/elementwise/binary.h"

typedef enum { SCATTER_UPDATE, SCATTER_ADD, SCATTER_SUB, SCATTER_MUL, SCATTER_DIV, SCATTER_MIN, SCATTER_MAX } hr_scatter_op_t;

typedef struct { /* prepared once per node */
  hr_scatter_op_t op;
  hr_dtype_t type;
  hr_loop2_t both, y_stays; /* to = f(to, updates); NULL: the elements are copied */
  size_t size;              /* bytes of an element; 0: elements that own memory */
  bool ignore_bad;          /* indices outside are left out instead of refused */
} hr_scatter_t;
HR_MUST_USE hr_status_t hr_scatter_prepare(hr_prepare_ctx_t* p, hr_scatter_op_t op, hr_dtype_t type, hr_scatter_t* out);

typedef struct {
  hr_tensor_t* to;             /* alone on its buffer */
  const hr_tensor_t* indices;  /* int16, uint16, int32 or int64; n tuples of `depth` */
  const hr_tensor_t* updates;  /* n slices of to, or one element for all */
  int64_t n;
  int depth;                   /* leading axes of `to` that a tuple names */
  bool by_tuples;              /* the last axis of `indices` is a tuple */
} hr_scatter_job_t;
/* INVALID_ARGUMENT for a bad index, or a zero among integer divisors. The counts are the caller's to check. */
HR_MUST_USE hr_status_t hr_scatter_run(hr_kernel_ctx_t* k, const hr_scatter_t* s, const hr_scatter_job_t* job);
/* hr_variable_begin_write that also checks the type; a handle without a value is NOT_FOUND, as in TensorFlow. */
struct hr_variable;
HR_MUST_USE hr_status_t hr_scatter_begin(struct hr_variable* v, bool is_handle, hr_dtype_t type);
#endif
