/* SPDX-License-Identifier: Apache-2.0 */
/* CheckNumerics: the input itself, or INVALID_ARGUMENT when an element is infinite or not a number. V2 tells the two infinities apart. */
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "op/kernel_ctx.h"

extern const hr_op_t hr_op_CheckNumerics, hr_op_CheckNumericsV2;

enum { IS_NAN = 1, IS_PLUS = 2, IS_MINUS = 4 };

/* 1. kernel */
typedef struct {
  hr_str_t message;
  bool tells_sign;
} check_t;
static hr_status_t check_prepare(hr_prepare_ctx_t* p, void* prepared) {
  *(check_t*)prepared = (check_t){hr_attrs_str(p->attrs, "message"), p->kernel->arg != NULL};
  return NULL;
}

/* What stands among n elements of `bytes` bytes whose magnitude bits above `infinity` mean NaN. */
#define CHECK_LOOP(name, T, infinity, sign)                                                                       \
  static unsigned name(const void* data, int64_t n) {                                                             \
    const T* x = data;                                                                                            \
    unsigned found = 0;                                                                                           \
    for (int64_t i = 0; i < n; ++i) {                                                                             \
      const T magnitude = x[i] & (T) ~(T)(sign);                                                                  \
      if (magnitude >= (infinity)) found |= magnitude > (infinity) ? IS_NAN : x[i] & (sign) ? IS_MINUS : IS_PLUS; \
    }                                                                                                             \
    return found;                                                                                                 \
  }
typedef uint16_t __attribute__((may_alias)) bits16_t;
typedef uint32_t __attribute__((may_alias)) bits32_t;
typedef uint64_t __attribute__((may_alias)) bits64_t;
CHECK_LOOP(check_f16, bits16_t, 0x7c00u, 0x8000u)
CHECK_LOOP(check_bf16, bits16_t, 0x7f80u, 0x8000u)
CHECK_LOOP(check_f32, bits32_t, 0x7f800000u, 0x80000000u)
CHECK_LOOP(check_f64, bits64_t, UINT64_C(0x7ff0000000000000), UINT64_C(0x8000000000000000))

static hr_status_t check_numerics(hr_kernel_ctx_t* k) {
  const hr_tensor_t* x = hr_input(k, 0);
  const check_t* c = hr_prepared(k);
  hr_shape_t shape;
  const unsigned found = x->dtype == HR_F32   ? check_f32(x->data, x->count)
                         : x->dtype == HR_F64 ? check_f64(x->data, x->count)
                         : x->dtype == HR_F16 ? check_f16(x->data, x->count)
                                              : check_bf16(x->data, x->count);
  hr_shape_copy(&shape, &x->shape);
  if (!found) return hr_output_alias(k, 0, 0, &shape);
  const char* infinite = !(found & (IS_PLUS | IS_MINUS))                           ? ""
                         : !c->tells_sign || (found & IS_PLUS && found & IS_MINUS) ? "Inf"
                         : found & IS_PLUS                                         ? "+Inf"
                                                                                   : "-Inf";
  return HR_ERROR(INVALID_ARGUMENT, "%.*s : Tensor had %s%s%s values", HR_STR_ARG(c->message), infinite,
                  *infinite && found & IS_NAN ? " and " : "", found & IS_NAN ? "NaN" : "");
}

/* 2. gradient: dy, checked too */
static void grad_with(hr_grad_ctx_t* g, const char* op) {
  hr_str_t message = hr_attrs_str(hr_grad_attrs(g), "message");
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hr_strbuf_format(&text, "not a number (NaN) or infinity (Inf) values detected in gradient. %.*s", HR_STR_ARG(message));
  if (text.failed)
    hr_grad_fail(g, hr_status_out_of_memory());
  else
    hr_grad_give(g, 0, hr_emit(g, op, HR_VALUES(hr_grad_upstream(g, 0)), HR_ATTRS(hr_at_str("message", text.data))));
  hr_strbuf_deinit(&text);
}
static void grad(hr_grad_ctx_t* g) { grad_with(g, "CheckNumerics"); }
static void grad_v2(hr_grad_ctx_t* g) { grad_with(g, "CheckNumericsV2"); }

/* 3. definitions */
#define CHECK_ATTRS        "T: type{bfloat16,half,float,double}; message: string"
#define CHECK_KERNEL(mark) HR_KERNELS({.prepared_bytes = sizeof(check_t), .prepare = check_prepare, .compute = check_numerics, .arg = mark})
const hr_op_t hr_op_CheckNumerics = {.name = "CheckNumerics",
                                     .sig = "tensor: T -> output: T",
                                     .attrs = CHECK_ATTRS,
                                     .flags = HR_OP_STATEFUL,
                                     .shape = hr_infer_same,
                                     .grad = grad,
                                     CHECK_KERNEL(NULL),
                                     .doc = "the input, if all of it is finite",
                                     HR_HERE};

const hr_op_t hr_op_CheckNumericsV2 = {.name = "CheckNumericsV2",
                                       .sig = "tensor: T -> output: T",
                                       .attrs = CHECK_ATTRS,
                                       .flags = HR_OP_STATEFUL,
                                       .shape = hr_infer_same,
                                       .grad = grad_v2,
                                       CHECK_KERNEL("sign"),
                                       .doc = "the input, if all of it is finite; else says which infinity",
                                       HR_HERE};
