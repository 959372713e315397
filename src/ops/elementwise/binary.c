/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise functions of two inputs that broadcast: z[i] = f(x[i], y[i]). A function is a few rows of binary.def: its types, its
 * bodies, its gradient. Add of strings concatenates. */
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/elementwise/binary_run.h"
#include "tensor/iterate.h"

/* 1. kernel */
typedef enum { NONE, NO_ZERO, NO_ZERO_INTERNAL, NO_NEGATIVE } check_t; /* what integer kernels ask of the second operand */
typedef struct {
  hr_binary_run_t run;
  check_t check; /* NONE for other types */
} binary_t;
typedef struct { int op; check_t check; } binary_row_t; /* a kernel row's own constant */

static hr_status_t binary_prepare(hr_prepare_ctx_t* p, void* prepared) {
  const binary_row_t* row = p->kernel->arg;
  const hr_dtype_t type = (hr_dtype_t)p->input_types[0];
  binary_t* b = prepared;
  b->run.loops = (*HR_ISA_PICK(hr_binary_vec))[row->op][type];
  if (!b->run.loops[LOOP_BOTH]) b->run.loops = hr_binary_scalar[row->op][type];
  b->run.in_size = b->run.out_size = (uint8_t)hr_dtype_size(type);
  b->check = hr_dtype_in(type, HR_M_INTEGER) ? row->check : NONE;
  if (type == HR_STRING || b->run.loops[LOOP_BOTH]) return NULL;
  return HR_ERROR(UNIMPLEMENTED, "op '%s' has no kernel for %s on CPU", p->op_name, hr_dtype_name((int)type));
}

static bool is_refused(check_t check, const char* element, size_t size, bool is_signed) {
  bool zero = true;
  for (size_t i = 0; i < size; ++i) zero &= element[i] == 0;
  return check == NO_NEGATIVE ? is_signed && element[size - 1] < 0 : zero; /* little-endian: the last byte has the sign */
}

static hr_status_t check_operand(const hr_kernel_ctx_t* k, const binary_t* b) {
  const hr_tensor_t *x = hr_input(k, 0), *y = hr_input(k, 1);
  const size_t size = b->run.in_size;
  if (x->count == 0) return NULL; /* nothing is computed */
  for (int64_t i = 0; i < y->count; ++i) {
    if (!is_refused(b->check, (const char*)y->data + (size_t)i * size, size, hr_dtype_in(y->dtype, HR_M_SIGNED))) continue;
    if (b->check == NO_NEGATIVE)
      return HR_ERROR(INVALID_ARGUMENT, "Integers to negative integer powers are not allowed (element %lld of the exponent)", (long long)i);
    return hr_status_create(b->check == NO_ZERO ? HR_INVALID_ARGUMENT : HR_INTERNAL, __FILE__, __LINE__,
                            "Integer division by zero (element %lld of the divisor)", (long long)i);
  }
  return NULL;
}

static hr_status_t concatenate_strings(hr_kernel_ctx_t* k) {
  const hr_tensor_t *x = hr_input(k, 0), *y = hr_input(k, 1);
  hr_shape_t shape;
  hr_tensor_t* z;
  hr_strbuf_t text;
  hr_status_t status = NULL;
  HR_TRY(hr_shape_broadcast(&x->shape, &y->shape, &shape));
  HR_TRY(hr_output(k, 0, &shape, &z));
  hr_iterate_t it;
  const hr_shape_t* operands[3] = {&shape, &x->shape, &y->shape};
  hr_iterate_broadcast(&it, &shape, 3, operands);
  int64_t index[HR_MAX_RANK], offset[HR_ITERATE_OPERANDS], last = it.rank - 1;
  hr_strbuf_init(&text);
  hr_iterate_seek(&it, 0, index, offset);
  for (int64_t row = 0; row < (z->count ? hr_iterate_rows(&it) : 0); ++row, hr_iterate_step(&it, index, offset))
    for (int64_t i = 0; i < it.dims[last]; ++i) {
      text.size = 0;
      hr_strbuf_add_str(&text, hr_tstring_get((const hr_tstring_t*)x->data + offset[1] + i * it.strides[1][last]));
      hr_strbuf_add_str(&text, hr_tstring_get((const hr_tstring_t*)y->data + offset[2] + i * it.strides[2][last]));
      status = text.failed ? hr_status_out_of_memory() : hr_tstring_set((hr_tstring_t*)z->data + offset[0] + i, hr_strbuf_view(&text));
      if (status) goto done;
    }
done:
  hr_strbuf_deinit(&text);
  return status;
}

static hr_status_t binary_compute(hr_kernel_ctx_t* k) {
  const binary_t* b = hr_prepared(k);
  if (__builtin_expect(b->check != NONE, 0)) HR_TRY(check_operand(k, b));
  if (__builtin_expect(b->run.in_size == sizeof(hr_tstring_t), 0)) return concatenate_strings(k);
  return hr_binary_run(k, &b->run);
}

/* 2. gradients: each operand's partial derivative times dy, summed over the axes along which the operand was repeated */
static void give(hr_grad_ctx_t* g, int input, hr_value_t gradient) {
  hr_grad_give(g, input, hr_emit_reduce_to(g, gradient, hr_grad_input(g, input), hr_grad_input(g, 1 - input)));
}
#define DY hr_grad_upstream(g, 0)
#define X hr_emit_conj(g, hr_grad_input(g, 0))
#define Y hr_emit_conj(g, hr_grad_input(g, 1))
#define GRAD(name, dx, dy)                        \
  static void grad_##name(hr_grad_ctx_t* g) {     \
    if (hr_grad_wanted(g, 0)) give(g, 0, dx);     \
    if (hr_grad_wanted(g, 1)) give(g, 1, dy);     \
  }
static hr_value_t mul(hr_grad_ctx_t* g, hr_value_t a, hr_value_t b) { return hr_emit_mul(g, a, b); }
static hr_value_t zeros(hr_grad_ctx_t* g) { return hr_emit_zeros_like(g, DY); }
static hr_value_t choose(hr_grad_ctx_t* g, const char* compare, bool when) { /* dy where x compares to y, else 0 (or the reverse) */
  hr_value_t mask = hr_emit2(g, compare, hr_grad_input(g, 0), hr_grad_input(g, 1));
  return when ? hr_emit3(g, "SelectV2", mask, DY, zeros(g)) : hr_emit3(g, "SelectV2", mask, zeros(g), DY);
}
static hr_value_t no_nan(hr_grad_ctx_t* g, hr_value_t a, hr_value_t b) { return hr_emit2(g, "DivNoNan", a, b); }
static hr_value_t not_zero(hr_grad_ctx_t* g) { /* 1 where x is not 0 */
  hr_value_t x = hr_grad_input(g, 0);
  return hr_emit_cast(g, hr_emit2(g, "NotEqual", x, hr_emit_const_like(g, x, 0)), hr_grad_dtype(g, x));
}
static hr_value_t plus_one(hr_grad_ctx_t* g, hr_value_t a) { return hr_emit_add(g, a, hr_emit_const_like(g, a, 1)); }

#define grad_none hr_grad_none
#define grad_unregistered NULL
static void grad_none_flows(hr_grad_ctx_t* g) { (void)g; }
GRAD(add, DY, DY)
GRAD(sub, DY, hr_emit_neg(g, DY))
GRAD(mul, mul(g, DY, Y), mul(g, DY, X))
GRAD(div, hr_emit_div(g, DY, Y), mul(g, DY, hr_emit_div(g, hr_emit_div(g, hr_emit_neg(g, X), Y), Y)))
GRAD(div_no_nan, no_nan(g, DY, Y), mul(g, DY, no_nan(g, no_nan(g, hr_emit_neg(g, X), Y), Y)))
GRAD(mul_no_nan, hr_emit2(g, "MulNoNan", DY, Y), hr_emit2(g, "MulNoNan", X, DY))
GRAD(floor_mod, DY, hr_emit_neg(g, mul(g, DY, hr_emit2(g, "FloorDiv", hr_grad_input(g, 0), hr_grad_input(g, 1)))))
GRAD(maximum, choose(g, "GreaterEqual", true), choose(g, "GreaterEqual", false))
GRAD(minimum, choose(g, "LessEqual", true), choose(g, "LessEqual", false))
GRAD(next_after, DY, zeros(g))
GRAD(xdivy, mul(g, DY, hr_emit2(g, "Xdivy", not_zero(g), Y)), mul(g, DY, hr_emit2(g, "Xdivy", hr_emit_neg(g, X), hr_emit_square(g, Y))))
GRAD(xlogy, mul(g, DY, hr_emit2(g, "Xlogy", not_zero(g), Y)), mul(g, DY, hr_emit2(g, "Xdivy", X, Y)))
GRAD(xlog1py, mul(g, DY, hr_emit2(g, "Xlog1py", not_zero(g), Y)), mul(g, DY, hr_emit2(g, "Xdivy", X, plus_one(g, Y))))

static void grad_squared_difference(hr_grad_ctx_t* g) { /* 2 (x - y) dy, and its negative */
  hr_value_t d = mul(g, hr_emit_scale(g, DY, 2), hr_emit_sub(g, hr_grad_input(g, 0), hr_grad_input(g, 1)));
  if (hr_grad_wanted(g, 0)) give(g, 0, d);
  if (hr_grad_wanted(g, 1)) give(g, 1, hr_emit_neg(g, d));
}

static void grad_atan2(hr_grad_ctx_t* g) { /* inputs are y, then x: (x, -y) / (x^2 + y^2) dy */
  hr_value_t y = hr_grad_input(g, 0), x = hr_grad_input(g, 1);
  hr_value_t scaled = hr_emit_div(g, DY, hr_emit_add(g, hr_emit_square(g, x), hr_emit_square(g, y)));
  if (hr_grad_wanted(g, 0)) give(g, 0, mul(g, x, scaled));
  if (hr_grad_wanted(g, 1)) give(g, 1, hr_emit_neg(g, mul(g, y, scaled)));
}

static void grad_pow(hr_grad_ctx_t* g) { /* y x^(y-1) dy, and x^y log x dy where the logarithm is defined, else 0 */
  if (hr_grad_wanted(g, 0)) {
    hr_value_t y = Y, less = hr_emit_sub(g, y, hr_emit_const_like(g, y, 1));
    give(g, 0, mul(g, mul(g, DY, y), hr_emit2(g, "Pow", X, less)));
  }
  if (!hr_grad_wanted(g, 1)) return;
  hr_value_t x = X, zero = hr_emit_const_like(g, x, 0);
  bool is_complex = hr_dtype_in(hr_grad_dtype(g, x), HR_M_COMPLEX);
  hr_value_t defined = hr_emit2(g, is_complex ? "NotEqual" : "Greater", x, zero);
  hr_value_t safe = hr_emit3(g, "SelectV2", defined, x, hr_emit_const_like(g, x, 1)); /* log 1 = 0 elsewhere, never NaN */
  give(g, 1, mul(g, mul(g, DY, hr_emit_conj(g, hr_grad_output(g, 0))), hr_emit1(g, "Log", safe)));
}

static void grad_polygamma(hr_grad_ctx_t* g) { /* in x only */
  if (hr_grad_wanted(g, 1)) give(g, 1, mul(g, DY, hr_emit2(g, "Polygamma", plus_one(g, hr_grad_input(g, 0)), hr_grad_input(g, 1))));
}

static void grad_zeta(hr_grad_ctx_t* g) { /* -x zeta(x + 1, q) dy, in q only */
  hr_value_t x = hr_grad_input(g, 0);
  if (hr_grad_wanted(g, 1)) give(g, 1, mul(g, DY, mul(g, hr_emit_neg(g, x), hr_emit2(g, "Zeta", plus_one(g, x), hr_grad_input(g, 1)))));
}

/* In x the density x^(a-1) exp(-x) / gamma(a); in a an op of its own. Igammac is 1 - Igamma. */
static void give_igamma(hr_grad_ctx_t* g, bool complement) {
  hr_value_t a = hr_grad_input(g, 0), x = hr_grad_input(g, 1), dy = complement ? hr_emit_neg(g, DY) : DY;
  if (hr_grad_wanted(g, 0)) give(g, 0, mul(g, dy, hr_emit2(g, "IgammaGradA", a, x)));
  if (!hr_grad_wanted(g, 1)) return;
  hr_value_t power = mul(g, hr_emit_sub(g, a, hr_emit_const_like(g, a, 1)), hr_emit1(g, "Log", x));
  give(g, 1, mul(g, dy, hr_emit1(g, "Exp", hr_emit_sub(g, hr_emit_sub(g, power, x), hr_emit1(g, "Lgamma", a)))));
}
static void grad_igamma(hr_grad_ctx_t* g) { give_igamma(g, false); }
static void grad_igammac(hr_grad_ctx_t* g) { give_igamma(g, true); }

/* 3. definitions */
#define BINARY(Name, ...) BINARY_AS(Name, "x: T; y: T -> z: T", __VA_ARGS__)
#define BINARY_AS(Name, signature, allowed, ...) BINARY_WITH(Name, signature, "T: type{" allowed "}", __VA_ARGS__)
#define BINARY_WITH(Name, signature, op_attrs, mask, op_flags, op_check, gradient)                     \
  static const binary_row_t row_##Name = {BINARY_##Name, op_check};                                    \
  extern const hr_op_t hr_op_##Name;                                                                   \
  const hr_op_t hr_op_##Name = {.name = #Name,                                                         \
                                .sig = signature,                                                      \
                                .attrs = op_attrs,                                                     \
                                .flags = op_flags,                                                     \
                                .shape = hr_infer_broadcasted,                                         \
                                .grad = grad_##gradient,                                               \
                                HR_KERNELS({.where = {{"T", mask}},                                    \
                                            .prepared_bytes = sizeof(binary_t),                        \
                                            .prepare = binary_prepare,                                 \
                                            .compute = binary_compute,                                 \
                                            .arg = &row_##Name}),                                      \
                                .doc = #Name " of two tensors, element by element, with broadcasting", \
                                HR_HERE};
#include "ops/elementwise/no_rows.h"
#include "ops/elementwise/binary.def"
