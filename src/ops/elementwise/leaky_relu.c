/* SPDX-License-Identifier: Apache-2.0 */
/* LeakyRelu(x) = x > 0 ? x : alpha x, and its gradient function g -> x > 0 ? g : alpha g. */
#include "ops/elementwise/leaky_relu.h"
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/elementwise/loops.h"

extern const hr_op_t hr_op_LeakyRelu, hr_op_LeakyReluGrad;

/* 1. kernel: the forward function is the gradient function of x along itself */
typedef struct { float alpha; hr_dtype_t type; } leaky_t;
static hr_status_t leaky_prepare(hr_prepare_ctx_t* p, void* prepared) {
  leaky_t* l = prepared;
  l->alpha = hr_attrs_float(p->attrs, "alpha");
  l->type = (hr_dtype_t)p->input_types[0];
  return NULL;
}

typedef struct { const leaky_t* l; const char *g, *x; char* out; } span_t;
static hr_status_t leaky_chunk(void* arg, int64_t begin, int64_t end, int chunk) {
  const span_t* s = arg;
  const hr_leaky_vec_t* vec = HR_ISA_PICK(hr_leaky_vec);
  const size_t at = (size_t)begin * hr_dtype_size(s->l->type);
  (void)chunk;
  if (s->l->type == HR_F64) {
    vec->f64(s->g + at, s->x + at, s->out + at, end - begin, s->l->alpha);
  } else if (s->l->type == HR_F32) {
    vec->f32(s->g + at, s->x + at, s->out + at, end - begin, s->l->alpha);
  } else {
    const bool bf16 = s->l->type == HR_BF16;
    float gs[HR_LOOP_BLOCK], xs[HR_LOOP_BLOCK];
    for (int64_t i = begin; i < end; i += HR_LOOP_BLOCK) {
      const int64_t n = end - i < HR_LOOP_BLOCK ? end - i : HR_LOOP_BLOCK;
      hr_loop_widen(bf16, (const uint16_t*)s->g + i, gs, n);
      hr_loop_widen(bf16, (const uint16_t*)s->x + i, xs, n);
      vec->f32(gs, xs, gs, n, s->l->alpha);
      hr_loop_narrow(bf16, gs, (uint16_t*)s->out + i, n);
    }
  }
  return NULL;
}

static hr_status_t leaky(hr_kernel_ctx_t* k) {
  const hr_tensor_t *g = hr_input(k, 0), *x = hr_input(k, hr_input_count(k) - 1);
  hr_tensor_t* out;
  HR_TRY(hr_want_same_shape(k, 0, hr_input_count(k) - 1));
  HR_TRY(hr_output_take(k, 0, 0, &g->shape, &out));
  span_t s = {hr_prepared(k), g->data, x->data, out->data};
  return hr_parallel(k, out->count, 1.0, leaky_chunk, &s);
}

/* 2. gradients */
static hr_value_t leaky_grad_of(hr_grad_ctx_t* g, hr_value_t dy, hr_value_t x) {
  return hr_emit(g, "LeakyReluGrad", HR_VALUES(dy, x), HR_ATTRS(hr_at_float("alpha", hr_attrs_float(hr_grad_attrs(g), "alpha"))));
}
static void grad_leaky(hr_grad_ctx_t* g) { hr_grad_give(g, 0, leaky_grad_of(g, hr_grad_upstream(g, 0), hr_grad_input(g, 0))); }
static void grad_leaky_grad(hr_grad_ctx_t* g) {
  hr_value_t x = hr_grad_input(g, 1);
  if (hr_grad_wanted(g, 0)) hr_grad_give(g, 0, leaky_grad_of(g, hr_grad_upstream(g, 0), x));
  if (hr_grad_wanted(g, 1)) hr_grad_give(g, 1, hr_emit_zeros_like(g, x));
}

/* 3. definitions */
#define ATTRS "alpha: float = 0.2; T: type{half,bfloat16,float,double} = float"
#define LEAKY HR_KERNELS({.where = {{"T", HR_M_REAL_FLOAT}}, .prepared_bytes = sizeof(leaky_t), .prepare = leaky_prepare, .compute = leaky})
const hr_op_t hr_op_LeakyRelu = {.name = "LeakyRelu",
                                 .sig = "features: T -> activations: T",
                                 .attrs = ATTRS,
                                 .shape = hr_infer_same,
                                 .grad = grad_leaky,
                                 LEAKY,
                                 .doc = "x > 0 ? x : alpha x for each element",
                                 HR_HERE};
const hr_op_t hr_op_LeakyReluGrad = {.name = "LeakyReluGrad",
                                     .sig = "gradients: T; features: T -> backprops: T",
                                     .attrs = ATTRS,
                                     .shape = hr_infer_merged,
                                     .grad = grad_leaky_grad,
                                     LEAKY,
                                     .doc = "the gradient function of LeakyRelu",
                                     HR_HERE};
