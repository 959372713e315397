/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax and LogSoftmax over the last axis.
 *
 *   softmax(x)_j    = exp(x_j - max x) / sum_k exp(x_k - max x)
 *   logsoftmax(x)_j = x_j - max x - log sum_k exp(x_k - max x)
 *
 * The maximum is taken out first, so the largest exponent is 0: no overflow for any finite input. A row that holds +inf or NaN gives NaN,
 * as TensorFlow does. half and bfloat16 are computed in float. */
#include "base/isa.h"
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/elementwise/loops.h"
#include "ops/math/softmax.h"

extern const hr_op_t hr_op_Softmax, hr_op_LogSoftmax;

/* 1. shape: rank 1 or more, output like input */
static hr_status_t infer(hr_infer_t* s) {
  HR_TRY(hr_infer_want_rank_at_least(s, 0, 1, NULL));
  return hr_infer_same(s);
}

/* 2. kernel: rows split over the cores; the loop nest of a row stands in softmax.vec.c */
typedef struct { hr_softmax_rows_t rows; hr_dtype_t type; bool logs; } softmax_t;

static hr_status_t softmax_prepare(hr_prepare_ctx_t* p, void* prepared) {
  softmax_t* m = prepared;
  const hr_softmax_vec_t* vec = HR_ISA_PICK(hr_softmax_vec);
  m->type = (hr_dtype_t)p->input_types[0];
  m->rows = m->type == HR_F64 ? vec->f64 : vec->f32;
  m->logs = p->kernel->arg != NULL;
  return NULL;
}

typedef struct { const softmax_t* m; const char* x; char* y; int64_t width; } rows_t;

static hr_status_t row_chunk(void* arg, int64_t begin, int64_t end, int chunk) {
  const rows_t* r = arg;
  const size_t offset = (size_t)(begin * r->width) * hr_dtype_size(r->m->type);
  (void)chunk;
  r->m->rows(r->x + offset, r->y + offset, end - begin, r->width, r->m->logs);
  return NULL;
}

static hr_status_t narrow_chunk(void* arg, int64_t begin, int64_t end, int chunk) { /* half and bfloat16: a row at a time in float */
  const rows_t* r = arg;
  const bool bf16 = r->m->type == HR_BF16;
  hr_tensor_t row;
  const hr_shape_t shape = hr_shape_vector(r->width);
  (void)chunk;
  HR_TRY(hr_tensor_create(HR_F32, &shape, &row));
  for (int64_t i = begin; i < end; ++i) {
    hr_loop_widen(bf16, (const uint16_t*)r->x + i * r->width, row.data, r->width);
    r->m->rows(row.data, row.data, 1, r->width, r->m->logs);
    hr_loop_narrow(bf16, row.data, (uint16_t*)r->y + i * r->width, r->width);
  }
  hr_tensor_release(&row);
  return NULL;
}

static hr_status_t softmax(hr_kernel_ctx_t* k) {
  const softmax_t* m = hr_prepared(k);
  const hr_tensor_t* x = hr_input(k, 0);
  hr_tensor_t* y;
  HR_TRY(hr_want_rank_at_least(k, 0, "logits must have >= 1 dimension, got ", 1));
  HR_TRY(hr_output_take(k, 0, 0, &x->shape, &y));
  if (x->count == 0) return NULL;
  const int64_t width = x->shape.dims[x->shape.rank - 1];
  rows_t r = {m, x->data, y->data, width};
  return hr_parallel(k, x->count / width, 2.0 * (double)width, hr_dtype_size(m->type) == 2 ? narrow_chunk : row_chunk, &r);
}

/* 3. gradients */
static hr_value_t sum_last(hr_grad_ctx_t* g, hr_value_t a) { return hr_emit_sum(g, a, hr_emit_const_i32(g, -1), true); }

static void grad_softmax(hr_grad_ctx_t* g) { /* y (dy - sum(dy y)) */
  hr_value_t y = hr_grad_output(g, 0), dy = hr_grad_upstream(g, 0);
  hr_grad_give(g, 0, hr_emit_mul(g, hr_emit_sub(g, dy, sum_last(g, hr_emit_mul(g, dy, y))), y));
}

static void grad_log_softmax(hr_grad_ctx_t* g) { /* dy - exp(y) sum(dy) */
  hr_value_t dy = hr_grad_upstream(g, 0);
  hr_value_t shares = hr_emit1(g, "Exp", hr_grad_output(g, 0));
  hr_grad_give(g, 0, hr_emit_sub(g, dy, hr_emit_mul(g, sum_last(g, dy), shares)));
}

/* 4. definitions */
#define ROWS(logs_mark)                            \
  HR_KERNELS({.where = {{"T", HR_M_REAL_FLOAT}},   \
              .prepared_bytes = sizeof(softmax_t), \
              .prepare = softmax_prepare,          \
              .compute = softmax,                  \
              .arg = logs_mark})
const hr_op_t hr_op_Softmax = {.name = "Softmax",
                               .sig = "logits: T -> softmax: T",
                               .attrs = "T: type{half,bfloat16,float,double}",
                               .shape = infer,
                               .grad = grad_softmax,
                               ROWS(NULL),
                               .doc = "exp(x - max x) scaled to sum 1 over the last axis",
                               HR_HERE};

const hr_op_t hr_op_LogSoftmax = {.name = "LogSoftmax",
                                  .sig = "logits: T -> logsoftmax: T",
                                  .attrs = "T: type{half,bfloat16,float,double}",
                                  .shape = infer,
                                  .grad = grad_log_softmax,
                                  ROWS("logs"),
                                  .doc = "the logarithm of Softmax, without forming it",
                                  HR_HERE};
