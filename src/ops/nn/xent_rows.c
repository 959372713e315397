/* SPDX-License-Identifier: Apache-2.0 */
/* Rows and gradient shared by the cross-entropy ops. */
#include "ops/nn/xent_rows.h"
#include "ops/elementwise/loops.h"

const void* hr_xent_row(const hr_xent_matrix_t* m, int64_t r, int64_t width, void* scratch) {
  const char* from = m->data + (size_t)((m->rows == 1 ? 0 : r) * m->columns) * hr_dtype_size(m->type);
  float* narrow = scratch;
  const bool is_16 = m->type == HR_F16 || m->type == HR_BF16;
  if (is_16) hr_loop_widen(m->type == HR_BF16, (const uint16_t*)from, narrow, m->columns);
  if (m->columns == width) return is_16 ? scratch : from;
  if (m->type == HR_F64) { /* one column, repeated */
    for (int64_t i = 0; i < width; ++i) ((double*)scratch)[i] = *(const double*)from;
    return scratch;
  }
  const float value = is_16 ? narrow[0] : *(const float*)from;
  for (int64_t i = 0; i < width; ++i) narrow[i] = value;
  return scratch;
}

void hr_xent_store(hr_dtype_t type, const void* from, void* to, int64_t at, int64_t n) {
  if (type == HR_F16 || type == HR_BF16) hr_loop_narrow(type == HR_BF16, from, (uint16_t*)to + at, n);
}

hr_value_t hr_xent_column(hr_grad_ctx_t* g, hr_value_t v) { return hr_emit2(g, "ExpandDims", v, hr_emit_const_i32(g, -1)); }

hr_value_t hr_xent_grad_features(hr_grad_ctx_t* g) {
  hr_value_t first = HR_NO_VALUE;
  if (hr_grad_has_upstream(g, 0)) first = hr_emit_mul(g, hr_xent_column(g, hr_grad_upstream(g, 0)), hr_grad_output(g, 1));
  if (!hr_grad_has_upstream(g, 1)) return first;
  /* through back = softmax(x) - labels: softmax (d - sum(d softmax)) */
  hr_value_t d = hr_grad_upstream(g, 1), softmax = hr_emit1(g, "Softmax", hr_grad_input(g, 0));
  hr_value_t mean = hr_emit_sum(g, hr_emit_mul(g, d, softmax), hr_emit_const_i32s(g, (const int64_t[]){-1}, 1), true);
  hr_value_t second = hr_emit_mul(g, hr_emit_sub(g, d, mean), softmax);
  return first.node ? hr_emit_add(g, first, second) : second;
}
