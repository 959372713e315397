/* SPDX-License-Identifier: Apache-2.0 */
/* What both cross-entropy ops share: rows read as float or double whatever they are stored as, and the gradient. */
#ifndef HR_OPS_NN_XENT_ROWS_H
#define HR_OPS_NN_XENT_ROWS_H
#include "op/grad_ctx.h"
#include "op/kernel_ctx.h"

/* A matrix whose rows, or columns, or both, may be one that is repeated. */
typedef struct {
  const char* data;
  hr_dtype_t type;
  int64_t rows, columns;
} hr_xent_matrix_t;
/* Row r as `width` numbers of float (double for double): in place where it is stored so, else converted into scratch. */
const void* hr_xent_row(const hr_xent_matrix_t* m, int64_t r, int64_t width, void* scratch);
/* The row that a kernel may write (scratch for half and bfloat16), and its way back. */
static inline void* hr_xent_back_row(hr_dtype_t type, char* back, int64_t r, int64_t width, void* scratch) {
  return type == HR_F32 || type == HR_F64 ? back + (size_t)(r * width) * hr_dtype_size(type) : scratch;
}
void hr_xent_store(hr_dtype_t type, const void* from, void* to, int64_t at, int64_t n); /* half and bfloat16 only */

/* d/d features: dy_loss times the op's second output, and what flows through that output itself (second derivatives). */
hr_value_t hr_xent_grad_features(hr_grad_ctx_t* g);
hr_value_t hr_xent_column(hr_grad_ctx_t* g, hr_value_t v); /* [n] as [n, 1] */
#endif
