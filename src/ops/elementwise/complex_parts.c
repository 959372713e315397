/* SPDX-License-Identifier: Apache-2.0 */
/* Complex numbers and their parts: Complex(real, imag) with broadcasting; Real, Imag, Angle, ComplexAbs, Conj of each element. Gradients
 * follow TensorFlow's convention, in which dL/dz of a real L is the gradient's conjugate form (d|z| gives dy z / |z|). */
#include <complex.h>
#include <math.h>
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/elementwise/binary_run.h"
#include "ops/elementwise/map_run.h"

extern const hr_op_t hr_op_Complex, hr_op_Real, hr_op_Imag, hr_op_Angle, hr_op_ComplexAbs, hr_op_Conj;

/* 1. kernels */
#define PART(name, C, R, expr, cost)                                              \
  static void name(const void* xs, void* ys, int64_t n) {                         \
    for (int64_t i = 0; i < n; ++i) {                                             \
      const C z = ((const C*)xs)[i];                                              \
      ((R*)ys)[i] = expr;                                                         \
    }                                                                             \
  }                                                                               \
  static const hr_map_t name##_row = {name, cost};
PART(real_64, hr_c64_t, float, z.re, 0.5)
PART(real_128, hr_c128_t, double, z.re, 1.0)
PART(imag_64, hr_c64_t, float, z.im, 0.5)
PART(imag_128, hr_c128_t, double, z.im, 1.0)
PART(angle_64, hr_c64_t, float, atan2f(z.im, z.re), 20.0)
PART(angle_128, hr_c128_t, double, atan2(z.im, z.re), 30.0)
PART(abs_64, hr_c64_t, float, hypotf(z.re, z.im), 5.0)
PART(abs_128, hr_c128_t, double, hypot(z.re, z.im), 10.0)
PART(conj_64, hr_c64_t, hr_c64_t, ((hr_c64_t){z.re, -z.im}), 1.0)
PART(conj_128, hr_c128_t, hr_c128_t, ((hr_c128_t){z.re, -z.im}), 2.0)

static hr_status_t conj_variant(hr_kernel_ctx_t* k) { /* a variant has no parts: it is given on */
  hr_output_share(k, 0, hr_input(k, 0));
  return NULL;
}

#define JOIN_FORM(name, R, C, xi, yi)                                                         \
  static void name(const void* xs, const void* ys, void* zs, int64_t n) {                     \
    for (int64_t i = 0; i < n; ++i) ((C*)zs)[i] = (C){((const R*)xs)[xi], ((const R*)ys)[yi]}; \
  }
#define JOIN(name, R, C)                                                                      \
  JOIN_FORM(name##_both, R, C, i, i) JOIN_FORM(name##_x_stays, R, C, 0, i) JOIN_FORM(name##_y_stays, R, C, i, 0) \
  static const hr_loop2_t name##_forms[] = {[LOOP_BOTH] = name##_both, [LOOP_X_STAYS] = name##_x_stays, [LOOP_Y_STAYS] = name##_y_stays}; \
  static const hr_binary_run_t name = {name##_forms, sizeof(R), sizeof(C)};
JOIN(join_64, float, hr_c64_t)
JOIN(join_128, double, hr_c128_t)
static hr_status_t join_compute(hr_kernel_ctx_t* k) { return hr_binary_run(k, hr_kernel_arg(k)); }

/* 2. gradients */
#define DY hr_grad_upstream(g, 0)
#define X hr_grad_input(g, 0)
static hr_dtype_t complex_of(hr_dtype_t real) { return real == HR_F64 ? HR_C128 : HR_C64; }
static hr_value_t joined(hr_grad_ctx_t* g, hr_value_t re, hr_value_t im) {
  return hr_emit(g, "Complex", HR_VALUES(re, im), HR_ATTRS(hr_at_type("Tout", complex_of(hr_grad_dtype(g, re)))));
}
static hr_value_t part(hr_grad_ctx_t* g, const char* op, hr_value_t z) {
  return hr_emit(g, op, HR_VALUES(z), HR_ATTRS(hr_at_type("Tout", hr_grad_dtype(g, z) == HR_C128 ? HR_F64 : HR_F32)));
}
static hr_value_t no_other(hr_grad_ctx_t* g, hr_value_t like) { return hr_emit_const_like(g, like, 0); }
static void grad_real(hr_grad_ctx_t* g) { hr_grad_give(g, 0, joined(g, DY, no_other(g, DY))); }
static void grad_imag(hr_grad_ctx_t* g) { hr_grad_give(g, 0, joined(g, no_other(g, DY), DY)); }
static void grad_conj(hr_grad_ctx_t* g) { hr_grad_give(g, 0, hr_emit1(g, "Conj", DY)); }
static void grad_abs(hr_grad_ctx_t* g) { /* dy x / |x|, 0 at 0 */
  hr_value_t dy = joined(g, DY, no_other(g, DY)), size = joined(g, hr_grad_output(g, 0), no_other(g, DY));
  hr_grad_give(g, 0, hr_emit2(g, "DivNoNan", hr_emit_mul(g, dy, X), size));
}
static void grad_angle(hr_grad_ctx_t* g) { /* -dy / (im + i re) */
  hr_value_t turned = joined(g, part(g, "Imag", X), part(g, "Real", X));
  hr_grad_give(g, 0, hr_emit_neg(g, hr_emit_div(g, joined(g, DY, no_other(g, DY)), turned)));
}
static void grad_complex(hr_grad_ctx_t* g) {
  for (int i = 0; i < 2; ++i)
    if (hr_grad_wanted(g, i))
      hr_grad_give(g, i, hr_emit_reduce_to(g, part(g, i ? "Imag" : "Real", DY), hr_grad_input(g, i), hr_grad_input(g, 1 - i)));
}

/* 3. definitions */
#define PAIR_OF(C, R) .where = {{"T", HR_M(C)}, {"Tout", HR_M(R)}}
#define PART_OP(Name, in, out, stem, gradient, text)                                                                    \
  const hr_op_t hr_op_##Name = {.name = #Name,                                                                          \
                                .sig = in ": T -> " out ": Tout",                                                       \
                                .attrs = "T: type{complex64,complex128} = complex64; Tout: type{float,double} = float", \
                                .shape = hr_infer_same,                                                                 \
                                .grad = gradient,                                                                       \
                                HR_KERNELS({PAIR_OF(C64, F32), .compute = hr_map_compute, .arg = &stem##_64_row},       \
                                           {PAIR_OF(C128, F64), .compute = hr_map_compute, .arg = &stem##_128_row}),    \
                                .doc = text,                                                                            \
                                HR_HERE};
PART_OP(Real, "input", "output", real, grad_real, "the real part of each element")
PART_OP(Imag, "input", "output", imag, grad_imag, "the imaginary part of each element")
PART_OP(Angle, "input", "output", angle, grad_angle, "the argument of each element, in [-pi, pi]")
PART_OP(ComplexAbs, "x", "y", abs, grad_abs, "the absolute value of each element")

const hr_op_t hr_op_Conj = {
    .name = "Conj",
    .sig = "input: T -> output: T",
    .attrs = "T: type{complex64,complex128,variant} = complex64",
    .shape = hr_infer_same,
    .grad = grad_conj,
    HR_KERNELS(HR_MAP("T", HR_M(C64), conj_64_row), HR_MAP("T", HR_M(C128), conj_128_row), HR_CPU("T", HR_M(VARIANT), conj_variant)),
    .doc = "the complex conjugate of each element",
    HR_HERE};

const hr_op_t hr_op_Complex = {.name = "Complex",
                               .sig = "real: T; imag: T -> out: Tout",
                               .attrs = "T: type{float,double} = float; Tout: type{complex64,complex128} = complex64",
                               .shape = hr_infer_broadcasted,
                               .grad = grad_complex,
                               HR_KERNELS({.where = {{"T", HR_M(F32)}, {"Tout", HR_M(C64)}}, .compute = join_compute, .arg = &join_64},
                                          {.where = {{"T", HR_M(F64)}, {"Tout", HR_M(C128)}}, .compute = join_compute, .arg = &join_128}),
                               .doc = "complex numbers from their real and imaginary parts",
                               HR_HERE};
