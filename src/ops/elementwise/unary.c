/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise functions of one input: y[i] = f(x[i]). A function is a few rows of unary.def: its types, its bodies, its gradient. */
#include "ops/elementwise/unary.h"
#include "op/grad_ctx.h"
#include "op/infer_fns.h"

/* 1. kernel: prepare chooses the loop, compute splits it over the cores */
typedef struct { hr_loop1_t loop; uint8_t size; } unary_t;

static hr_status_t unary_prepare(hr_prepare_ctx_t* p, void* prepared) {
  const int op = (int)(intptr_t)p->kernel->arg;
  const hr_dtype_t type = (hr_dtype_t)p->input_types[0];
  unary_t* u = prepared;
  u->loop = (*HR_ISA_PICK(hr_unary_vec))[op][type];
  if (!u->loop) u->loop = hr_unary_scalar[op][type];
  u->size = (uint8_t)hr_dtype_size(type);
  return u->loop ? NULL : HR_ERROR(UNIMPLEMENTED, "op '%s' has no kernel for %s on CPU", p->op_name, hr_dtype_name((int)type));
}

typedef struct { const unary_t* u; const char* x; char* y; } unary_chunk_t;
static hr_status_t unary_chunk(void* arg, int64_t begin, int64_t end, int chunk) {
  const unary_chunk_t* c = arg;
  (void)chunk;
  c->u->loop(c->x + begin * c->u->size, c->y + begin * c->u->size, end - begin);
  return NULL;
}

static hr_status_t unary_compute(hr_kernel_ctx_t* k) {
  const hr_tensor_t* x = hr_input(k, 0);
  hr_tensor_t* y;
  HR_TRY(hr_output_take(k, 0, 0, &x->shape, &y));
  unary_chunk_t c = {hr_prepared(k), x->data, y->data};
  return hr_parallel(k, y->count, 1.0, unary_chunk, &c);
}

/* 2. gradients, one formula each; dy flows in, x and y are the node's own. Complex: conjugates, as everywhere. */
#define DY hr_grad_upstream(g, 0)
#define X hr_emit_conj(g, hr_grad_input(g, 0))
#define Y hr_emit_conj(g, hr_grad_output(g, 0))
#define GRAD(name, ...) \
  static void grad_##name(hr_grad_ctx_t* g) { hr_grad_give(g, 0, __VA_ARGS__); }
static hr_value_t of(hr_grad_ctx_t* g, const char* op, hr_value_t x) { return hr_emit1(g, op, x); }
static hr_value_t times(hr_grad_ctx_t* g, hr_value_t a, hr_value_t b) { return hr_emit_mul(g, a, b); }
static hr_value_t over(hr_grad_ctx_t* g, hr_value_t a, hr_value_t b) { return hr_emit_div(g, a, b); }
static hr_value_t square_plus(hr_grad_ctx_t* g, hr_value_t x, double plus) { /* x^2 + plus */
  return hr_emit_add(g, hr_emit_square(g, x), hr_emit_const_like(g, x, plus));
}
static hr_value_t exp_square(hr_grad_ctx_t* g, hr_value_t x, double sign) { /* exp(sign x^2) */
  hr_value_t s = hr_emit_square(g, x);
  return of(g, "Exp", sign < 0 ? hr_emit_neg(g, s) : s);
}
#define grad_none hr_grad_none
static void grad_flat(hr_grad_ctx_t* g) { (void)g; } /* no gradient flows through steps: None, as TensorFlow */
GRAD(zero, hr_emit_zeros_like(g, hr_grad_input(g, 0)))
GRAD(neg, hr_emit_neg(g, DY))
GRAD(abs, times(g, DY, of(g, "Sign", hr_grad_input(g, 0))))
GRAD(square, times(g, DY, hr_emit_scale(g, X, 2)))
GRAD(inv, hr_emit2(g, "InvGrad", hr_grad_output(g, 0), DY))
GRAD(reciprocal, hr_emit2(g, "ReciprocalGrad", hr_grad_output(g, 0), DY))
GRAD(rsqrt, hr_emit2(g, "RsqrtGrad", hr_grad_output(g, 0), DY))
GRAD(sqrt, hr_emit2(g, "SqrtGrad", hr_grad_output(g, 0), DY))
GRAD(sigmoid, hr_emit2(g, "SigmoidGrad", Y, DY))
GRAD(tanh, hr_emit2(g, "TanhGrad", Y, DY))
GRAD(relu, hr_emit2(g, "ReluGrad", DY, hr_grad_output(g, 0)))
GRAD(relu6, hr_emit2(g, "Relu6Grad", DY, hr_grad_output(g, 0)))
GRAD(elu, hr_emit2(g, "EluGrad", DY, hr_grad_output(g, 0)))
GRAD(selu, hr_emit2(g, "SeluGrad", DY, hr_grad_output(g, 0)))
GRAD(softplus, hr_emit2(g, "SoftplusGrad", DY, hr_grad_input(g, 0)))
GRAD(softsign, hr_emit2(g, "SoftsignGrad", DY, hr_grad_input(g, 0)))
GRAD(exp, times(g, DY, Y))
GRAD(expm1, times(g, DY, of(g, "Exp", X)))
GRAD(log, over(g, DY, X))
GRAD(log1p, over(g, DY, hr_emit_add(g, X, hr_emit_const_like(g, hr_grad_input(g, 0), 1))))
GRAD(sin, times(g, DY, of(g, "Cos", X)))
GRAD(cos, hr_emit_neg(g, times(g, DY, of(g, "Sin", X))))
GRAD(tan, over(g, DY, hr_emit_square(g, of(g, "Cos", X))))
GRAD(sinh, times(g, DY, of(g, "Cosh", X)))
GRAD(cosh, times(g, DY, of(g, "Sinh", X)))
GRAD(asin, over(g, DY, of(g, "Sqrt", hr_emit_one_minus(g, hr_emit_square(g, X)))))
GRAD(acos, hr_emit_neg(g, over(g, DY, of(g, "Sqrt", hr_emit_one_minus(g, hr_emit_square(g, X))))))
GRAD(atan, over(g, DY, square_plus(g, X, 1)))
GRAD(asinh, over(g, DY, of(g, "Cosh", Y)))
GRAD(acosh, over(g, DY, of(g, "Sinh", Y)))
GRAD(atanh, over(g, DY, hr_emit_one_minus(g, hr_emit_square(g, X))))
GRAD(erf, times(g, DY, hr_emit_scale(g, exp_square(g, hr_grad_input(g, 0), -1), 1.1283791670955126)))  /* 2 / sqrt(pi) */
GRAD(erfc, times(g, DY, hr_emit_scale(g, exp_square(g, hr_grad_input(g, 0), -1), -1.1283791670955126)))
GRAD(erfinv, times(g, DY, hr_emit_scale(g, exp_square(g, hr_grad_output(g, 0), 1), 0.88622692545275801))) /* sqrt(pi) / 2 */
GRAD(lgamma, times(g, DY, of(g, "Digamma", hr_grad_input(g, 0))))
GRAD(digamma, times(g, DY, hr_emit2(g, "Polygamma", hr_emit_const_like(g, hr_grad_input(g, 0), 1), hr_grad_input(g, 0))))

static void grad_ndtri(hr_grad_ctx_t* g) { /* sqrt(2 pi) exp(y^2 / 2) dy */
  hr_value_t half_square = hr_emit_scale(g, hr_emit_square(g, hr_grad_output(g, 0)), 0.5);
  hr_grad_give(g, 0, times(g, DY, hr_emit_scale(g, of(g, "Exp", half_square), 2.5066282746310002)));
}

static hr_value_t unless_zero(hr_grad_ctx_t* g, hr_value_t at_zero, hr_value_t elsewhere) {
  hr_value_t x = hr_grad_input(g, 0);
  return hr_emit3(g, "SelectV2", hr_emit2(g, "Equal", x, hr_emit_const_like(g, x, 0)), at_zero, elsewhere);
}
GRAD(bessel_i0, times(g, DY, of(g, "BesselI1", hr_grad_input(g, 0))))
GRAD(bessel_i0e,
     times(g, DY,
           hr_emit_sub(g, of(g, "BesselI1e", hr_grad_input(g, 0)), times(g, of(g, "Sign", hr_grad_input(g, 0)), hr_grad_output(g, 0)))))
static void grad_bessel_i1(hr_grad_ctx_t* g) { /* I0 - I1 / x; a half at 0 */
  hr_value_t x = hr_grad_input(g, 0), slope = hr_emit_sub(g, of(g, "BesselI0", x), over(g, hr_grad_output(g, 0), x));
  hr_grad_give(g, 0, times(g, DY, unless_zero(g, hr_emit_const_like(g, x, 0.5), slope)));
}
static void grad_bessel_i1e(hr_grad_ctx_t* g) { /* I0e - I1e (sign x + 1 / x); a half at 0 */
  hr_value_t x = hr_grad_input(g, 0), y = hr_grad_output(g, 0);
  hr_value_t slope = hr_emit_sub(g, of(g, "BesselI0e", x), times(g, y, hr_emit_add(g, of(g, "Sign", x), of(g, "Reciprocal", x))));
  hr_grad_give(g, 0, times(g, DY, unless_zero(g, hr_emit_const_like(g, x, 0.5), slope)));
}

/* 3. definitions */
#define UNARY(Name, ...) UNARY_AS(Name, "x: T -> y: T", __VA_ARGS__)
#define UNARY_AS(Name, signature, allowed, mask, gradient)                                                                               \
  extern const hr_op_t hr_op_##Name;                                                                                       \
  const hr_op_t hr_op_##Name = {                                                                                           \
      .name = #Name, .sig = signature, .attrs = "T: type{" allowed "}", .shape = hr_infer_same, .grad = grad_##gradient, \
      HR_KERNELS({.where = {{"T", mask}}, .prepared_bytes = sizeof(unary_t), .prepare = unary_prepare, .compute = unary_compute,  \
                  .arg = (const void*)(intptr_t)UNARY_##Name}),                                                            \
      .doc = #Name " of each element", HR_HERE};
#include "ops/elementwise/no_rows.h"
#include "ops/elementwise/unary.def"
