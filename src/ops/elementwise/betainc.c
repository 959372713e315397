/* SPDX-License-Identifier: Apache-2.0 */
/* Betainc: the regularized incomplete beta function I_x(a, b), element by element. The inputs have one shape, or are scalars. The gradient
 * is in x only. */
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "op/kernel_ctx.h"
#include "ops/elementwise/special.h"

extern const hr_op_t hr_op_Betainc;

/* 1. shape */
static hr_status_t infer(hr_infer_t* s) {
  const hr_pshape_t* merged = &hr_pshape_unknown;
  bool open = false;
  for (int i = 0; i < 3; ++i) {
    const hr_pshape_t* p = hr_infer_input(s, i);
    open |= p->rank < 0;
    if (p->rank > 0) HR_TRY(hr_infer_merge(s, merged, p, &merged));
  }
  hr_infer_set(s, 0, merged->rank < 0 && !open ? &hr_pshape_scalar : merged);
  return NULL;
}

/* 2. kernel */
typedef struct { const hr_tensor_t* in[3]; hr_tensor_t* z; } beta_t;
static inline double number_at(const hr_tensor_t* t, int64_t i) {
  if (t->shape.rank == 0) i = 0;
  return t->dtype == HR_F32 ? (double)((const float*)t->data)[i] : ((const double*)t->data)[i];
}
static hr_status_t beta_chunk(void* arg, int64_t begin, int64_t end, int chunk) {
  const beta_t* b = arg;
  (void)chunk;
  for (int64_t i = begin; i < end; ++i) {
    const double value = hr_special_betainc(number_at(b->in[0], i), number_at(b->in[1], i), number_at(b->in[2], i));
    if (b->z->dtype == HR_F32) ((float*)b->z->data)[i] = (float)value;
    else ((double*)b->z->data)[i] = value;
  }
  return NULL;
}

static hr_status_t betainc(hr_kernel_ctx_t* k) {
  beta_t b = {{hr_input(k, 0), hr_input(k, 1), hr_input(k, 2)}, NULL};
  const hr_tensor_t* whole = NULL;
  int at = 0;
  for (int i = 0; i < 3; ++i) {
    char first[HR_SHAPE_TEXT], other[HR_SHAPE_TEXT];
    if (b.in[i]->shape.rank == 0) continue;
    if (whole && !hr_shape_equal(&whole->shape, &b.in[i]->shape))
      return HR_ERROR(INVALID_ARGUMENT, "Shapes of %c and %c are inconsistent: %s vs. %s, and neither is a scalar", "abx"[at], "abx"[i],
                      hr_shape_format(&whole->shape, first), hr_shape_format(&b.in[i]->shape, other));
    if (!whole) at = i;
    whole = b.in[i];
  }
  HR_TRY(hr_output(k, 0, whole ? &whole->shape : &b.in[0]->shape, &b.z));
  return hr_parallel(k, b.z->count, 300.0, beta_chunk, &b);
}

/* 3. gradient: x^(a-1) (1-x)^(b-1) / beta(a, b) */
static void grad_betainc(hr_grad_ctx_t* g) {
  if (!hr_grad_wanted(g, 2)) return;
  hr_value_t a = hr_grad_input(g, 0), b = hr_grad_input(g, 1), x = hr_grad_input(g, 2), one = hr_emit_const_like(g, x, 1);
  hr_value_t log_beta =
      hr_emit_sub(g, hr_emit_add(g, hr_emit1(g, "Lgamma", a), hr_emit1(g, "Lgamma", b)), hr_emit1(g, "Lgamma", hr_emit_add(g, a, b)));
  hr_value_t right = hr_emit2(g, "Xlog1py", hr_emit_sub(g, b, one), hr_emit_neg(g, x)),
             left = hr_emit2(g, "Xlogy", hr_emit_sub(g, a, one), x);
  hr_value_t density = hr_emit1(g, "Exp", hr_emit_sub(g, hr_emit_add(g, left, right), log_beta));
  hr_value_t dx = hr_emit_mul(g, hr_grad_upstream(g, 0), density);
  const int rank = hr_grad_shape(g, x)->rank;
  if (rank == 0) dx = hr_emit_reduce_to(g, dx, x, hr_grad_output(g, 0));
  else if (rank < 0) dx = hr_emit_reshape_like(g, dx, x);
  hr_grad_give(g, 2, dx);
}

/* 4. definition */
const hr_op_t hr_op_Betainc = {
    .name = "Betainc", .sig = "a: T; b: T; x: T -> z: T", .attrs = "T: type{float,double}", .shape = infer, .grad = grad_betainc,
    HR_KERNELS(HR_CPU("T", HR_M(F32) | HR_M(F64), betainc)), .doc = "the regularized incomplete beta function", HR_HERE};
