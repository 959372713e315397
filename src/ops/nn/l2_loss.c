/* SPDX-License-Identifier: Apache-2.0 */
/* L2Loss: half the sum of the squares of all elements, sum(t^2) / 2. Long inputs go block by block with a partial sum each, joined in
 * order: the result does not depend on the number of cores. half and bfloat16 are computed in float. */
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/elementwise/loops.h"
#include "ops/reduce/squares.h"

extern const hr_op_t hr_op_L2Loss;

/* 1. kernel */
static hr_status_t l2_prepare(hr_prepare_ctx_t* p, void* prepared) {
  (void)p;
  *(const hr_squares_vec_t**)prepared = HR_ISA_PICK(hr_squares_vec);
  return NULL;
}

enum { BLOCK = 4096 };
typedef struct { const hr_squares_vec_t* vec; const hr_tensor_t* x; double* parts; } l2_t;

static double narrow_squares(const l2_t* l, int64_t at, int64_t n) {
  float wide[HR_LOOP_BLOCK];
  double sum = 0;
  for (int64_t i = 0; i < n; i += HR_LOOP_BLOCK) {
    const int64_t m = n - i < HR_LOOP_BLOCK ? n - i : HR_LOOP_BLOCK;
    hr_loop_widen(l->x->dtype == HR_BF16, (const uint16_t*)l->x->data + at + i, wide, m);
    sum += (double)l->vec->f32(wide, m);
  }
  return sum;
}

static hr_status_t l2_chunk(void* arg, int64_t begin, int64_t end, int chunk) { /* blocks [begin, end) */
  const l2_t* l = arg;
  (void)chunk;
  for (int64_t b = begin; b < end; ++b) {
    const int64_t at = b * BLOCK, n = l->x->count - at < BLOCK ? l->x->count - at : BLOCK;
    if (l->x->dtype == HR_F32) l->parts[b] = (double)l->vec->f32((const float*)l->x->data + at, n);
    else if (l->x->dtype == HR_F64) l->parts[b] = l->vec->f64((const double*)l->x->data + at, n);
    else l->parts[b] = narrow_squares(l, at, n);
  }
  return NULL;
}

static void store(const hr_tensor_t* y, double value) {
  switch (y->dtype) {
    case HR_F32: *(float*)y->data = (float)value; break;
    case HR_F64: *(double*)y->data = value; break;
    case HR_F16: *(hr_f16_t*)y->data = hr_f16_from_f32((float)value); break;
    default: *(hr_bf16_t*)y->data = hr_bf16_from_f32((float)value); break;
  }
}

static hr_status_t l2_loss(hr_kernel_ctx_t* k) {
  const hr_tensor_t* x = hr_input(k, 0);
  const hr_shape_t scalar = hr_shape_scalar(), blocks = hr_shape_vector((x->count + BLOCK - 1) / BLOCK);
  hr_tensor_t *y, parts;
  double sum = 0;
  HR_TRY(hr_output(k, 0, &scalar, &y));
  HR_TRY(hr_temp(k, HR_F64, &blocks, &parts));
  l2_t l = {*(const hr_squares_vec_t**)hr_prepared(k), x, parts.data};
  hr_status_t status = hr_parallel(k, blocks.dims[0], 0.15 * BLOCK, l2_chunk, &l);
  for (int64_t b = 0; b < blocks.dims[0]; ++b) sum += l.parts[b];
  hr_tensor_release(&parts);
  if (!status) store(y, sum / 2);
  return status;
}

/* 2. gradient: t dy */
static void grad_l2_loss(hr_grad_ctx_t* g) { hr_grad_give(g, 0, hr_emit_mul(g, hr_grad_input(g, 0), hr_grad_upstream(g, 0))); }

/* 3. definition */
const hr_op_t hr_op_L2Loss = {
    .name = "L2Loss",
    .sig = "t: T -> output: T",
    .attrs = "T: type{half,bfloat16,float,double}",
    .shape = hr_infer_scalars,
    .grad = grad_l2_loss,
    HR_KERNELS({.where = {{"T", HR_M_REAL_FLOAT}}, .prepared_bytes = sizeof(void*), .prepare = l2_prepare, .compute = l2_loss}),
    .doc = "half the sum of the squares of all elements",
    HR_HERE};
