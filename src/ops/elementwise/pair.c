/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient functions of element-wise ops: z[i] = f(x[i], y[i]) for inputs of as many elements. A function is a few rows of pair.def. As
 * in TensorFlow some compare shapes, some numbers of elements only (see there); the output has the first input's shape. */
#include "ops/elementwise/pair.h"
#include "op/grad_ctx.h"
#include "op/infer_fns.h"

/* 1. kernel */
typedef struct { hr_loop2_t loop; size_t size; } pair_t;
static hr_status_t pair_prepare(hr_prepare_ctx_t* p, void* prepared) {
  const int op = (int)(intptr_t)p->kernel->arg;
  const hr_dtype_t type = (hr_dtype_t)p->input_types[0];
  pair_t* t = prepared;
  t->loop = (*HR_ISA_PICK(hr_pair_vec))[op][type];
  if (!t->loop) t->loop = hr_pair_complex[op][type];
  t->size = hr_dtype_size(type);
  return t->loop ? NULL : HR_ERROR(UNIMPLEMENTED, "op '%s' has no kernel for %s on CPU", p->op_name, hr_dtype_name((int)type));
}

typedef struct { const pair_t* t; const char *x, *y; char* z; } span_t;
static hr_status_t pair_chunk(void* arg, int64_t begin, int64_t end, int chunk) {
  const span_t* s = arg;
  const size_t at = (size_t)begin * s->t->size;
  (void)chunk;
  s->t->loop(s->x + at, s->y + at, s->z + at, end - begin);
  return NULL;
}

static hr_status_t pair(hr_kernel_ctx_t* k) {
  const hr_tensor_t *x = hr_input(k, 0), *y = hr_input(k, 1);
  hr_tensor_t* z;
  if (x->count != y->count) return hr_want_same_shape(k, 0, 1);
  const bool second = !((k->site->in_flags[0] & HR_IN_TAKE) && hr_buffer_is_alone(x->buffer)); /* write over the one that may be */
  HR_TRY(hr_output_take(k, 0, second, &x->shape, &z));
  span_t s = {hr_prepared(k), x->data, y->data, z->data};
  return hr_parallel(k, z->count, 1.0, pair_chunk, &s);
}

static hr_status_t pair_same(hr_kernel_ctx_t* k) { return pair(k); }
static hr_status_t pair_merged(hr_kernel_ctx_t* k) {
  HR_TRY(hr_want_same_shape(k, 0, 1));
  return pair(k);
}

/* 2. gradients of the gradients: inputs are (x, y) as in pair.def, dz flows in */
#define DZ hr_grad_upstream(g, 0)
#define A hr_grad_input(g, 0)
#define B hr_grad_input(g, 1)
#define GRAD(name, da, db)                                    \
  static void grad_##name(hr_grad_ctx_t* g) {                 \
    if (hr_grad_wanted(g, 0)) hr_grad_give(g, 0, da);         \
    if (hr_grad_wanted(g, 1)) hr_grad_give(g, 1, db);         \
  }
static hr_value_t mul(hr_grad_ctx_t* g, hr_value_t a, hr_value_t b) { return hr_emit_mul(g, a, b); }
static hr_value_t conjugate(hr_grad_ctx_t* g, hr_value_t a) { return hr_emit_conj(g, a); }
static hr_value_t below_zero(hr_grad_ctx_t* g) { /* dz * gradients where outputs < 0, else 0 */
  hr_value_t product = mul(g, DZ, A);
  return hr_emit3(g, "SelectV2", hr_emit2(g, "Less", B, hr_emit_const_like(g, B, 0)), product, hr_emit_zeros_like(g, product));
}
#define grad_unregistered NULL
GRAD(elu, hr_emit2(g, "EluGrad", DZ, B), below_zero(g))
GRAD(selu, hr_emit2(g, "SeluGrad", DZ, B), below_zero(g))
GRAD(reciprocal, mul(g, mul(g, hr_emit_scale(g, conjugate(g, DZ), -2), B), conjugate(g, A)),
     hr_emit2(g, "ReciprocalGrad", conjugate(g, A), DZ))
GRAD(rsqrt, mul(g, mul(g, hr_emit_scale(g, conjugate(g, DZ), -1.5), B), hr_emit_square(g, conjugate(g, A))),
     hr_emit2(g, "RsqrtGrad", conjugate(g, A), DZ))
GRAD(tanh, mul(g, mul(g, hr_emit_scale(g, DZ, -2), conjugate(g, B)), conjugate(g, A)), hr_emit2(g, "TanhGrad", conjugate(g, A), DZ))

static void grad_relu(hr_grad_ctx_t* g) { /* of ReluGrad and Relu6Grad alike: the same op again; steps have no slope */
  if (hr_grad_wanted(g, 0)) hr_grad_give(g, 0, hr_emit2(g, hr_grad_attrs(g)->def->op->name, DZ, B));
  if (hr_grad_wanted(g, 1)) hr_grad_give(g, 1, hr_emit_zeros_like(g, B));
}
static void grad_sigmoid(hr_grad_ctx_t* g) { /* a = y, b = dy: dz b (1 - 2 a), and SigmoidGrad */
  hr_value_t a = conjugate(g, A), product = mul(g, DZ, conjugate(g, B));
  if (hr_grad_wanted(g, 0)) hr_grad_give(g, 0, hr_emit_sub(g, product, mul(g, hr_emit_scale(g, product, 2), a)));
  if (hr_grad_wanted(g, 1)) hr_grad_give(g, 1, hr_emit2(g, "SigmoidGrad", a, DZ));
}
static void grad_sqrt(hr_grad_ctx_t* g) {
  hr_value_t over = hr_emit_div(g, DZ, A);
  if (hr_grad_wanted(g, 0)) hr_grad_give(g, 0, hr_emit_neg(g, mul(g, conjugate(g, over), hr_grad_output(g, 0))));
  if (hr_grad_wanted(g, 1)) hr_grad_give(g, 1, hr_emit_scale(g, over, 0.5));
}
static void grad_softplus(hr_grad_ctx_t* g) { /* and dz dy / (exp(-x) + 2 + exp(x)) */
  if (hr_grad_wanted(g, 0)) hr_grad_give(g, 0, hr_emit2(g, "SoftplusGrad", DZ, B));
  if (!hr_grad_wanted(g, 1)) return;
  hr_value_t sum =
      hr_emit_add(g, hr_emit_add(g, hr_emit1(g, "Exp", hr_emit_neg(g, B)), hr_emit_const_like(g, B, 2)), hr_emit1(g, "Exp", B));
  hr_grad_give(g, 1, hr_emit_div(g, mul(g, DZ, A), sum));
}

/* 3. definitions */
#define PAIR(Name, signature, allowed, mask, gradient, shapes)                                                                          \
  extern const hr_op_t hr_op_##Name;                                                                                                    \
  const hr_op_t hr_op_##Name = {                                                                                                        \
      .name = #Name, .sig = signature, .attrs = "T: type{" allowed "}", .shape = hr_infer_##shapes, .grad = grad_##gradient,            \
      HR_KERNELS({.where = {{"T", mask}}, .prepared_bytes = sizeof(pair_t), .prepare = pair_prepare, .compute = pair_##shapes,          \
                  .arg = (const void*)(intptr_t)PAIR_##Name}),                                                                          \
      .doc = "the gradient function of the op it is named after", HR_HERE};
#include "ops/elementwise/no_rows.h"
#include "ops/elementwise/pair.def"
