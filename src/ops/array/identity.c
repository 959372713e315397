/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that hand a tensor on: y = x. The output is the input's memory; they differ in what they mean to gradients and to the client. */
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "op/kernel_ctx.h"

extern const hr_op_t hr_op_Identity, hr_op_IdentityN, hr_op_Snapshot, hr_op_StopGradient, hr_op_PreventGradient,
    hr_op_GuaranteeConst, hr_op_PlaceholderWithDefault, hr_op_Placeholder, hr_op_PlaceholderV2, hr_op_NoOp;

/* 1. shapes */
static hr_status_t infer_each(hr_infer_t* s) { /* output i like input i */
  for (int i = 0; i < hr_infer_output_count(s); ++i) {
    hr_dtype_t held;
    const hr_pshape_t* shape;
    hr_infer_set(s, i, hr_infer_input(s, i));
    hr_infer_handle(s, i, &held, &shape);
    if (held != HR_DTYPE_INVALID) hr_infer_set_handle(s, i, held, shape);
  }
  return NULL;
}

static hr_status_t infer_with_default(hr_infer_t* s) { /* the attr is the promise; the default must keep it */
  const hr_pshape_t *promised = hr_attrs_shape(hr_infer_attrs(s), "shape"), *merged;
  HR_TRY(hr_infer_merge(s, promised, hr_infer_input(s, 0), &merged));
  hr_infer_set(s, 0, promised);
  return NULL;
}

static hr_status_t infer_placeholder(hr_infer_t* s) {
  const hr_pshape_t* shape = hr_attrs_shape(hr_infer_attrs(s), "shape");
  /* Old producers wrote a scalar where they meant "anything"; TensorFlow reads a scalar from them as unknown. That is decided at import
   * (graph/). */
  hr_infer_set(s, 0, shape);
  return NULL;
}

/* 2. kernels */
static hr_status_t identity(hr_kernel_ctx_t* k) {
  for (int i = 0; i < hr_output_count(k); ++i)
    if (hr_output_wanted(k, i)) hr_output_share(k, i, hr_input(k, i));
  return NULL;
}

static hr_status_t no_op(hr_kernel_ctx_t* k) {
  (void)k;
  return NULL;
}

typedef struct { hr_dtype_t dtype; char shape[HR_SHAPE_TEXT]; } placeholder_t;
static hr_status_t placeholder_prepare(hr_prepare_ctx_t* p, void* prepared) {
  placeholder_t* h = prepared;
  h->dtype = hr_attrs_type(p->attrs, "dtype");
  hr_pshape_format(hr_attrs_shape(p->attrs, "shape"), h->shape);
  return NULL;
}
static hr_status_t placeholder(hr_kernel_ctx_t* k) { /* runs only when it was not fed */
  const placeholder_t* h = hr_prepared(k);
  return HR_ERROR(INVALID_ARGUMENT, "You must feed a value for placeholder tensor '%s' with dtype %s and shape %s", k->site->node_name,
                  hr_dtype_name((int)h->dtype), h->shape);
}


/* 3. gradients */
static void grad_each(hr_grad_ctx_t* g) {
  for (int i = 0; i < hr_grad_input_count(g); ++i) {
    hr_value_t indices, values, dense_shape;
    if (!hr_grad_has_upstream(g, i)) continue;
    if (hr_grad_upstream_slices(g, i, &indices, &values, &dense_shape)) hr_grad_give_slices(g, i, indices, values, dense_shape);
    else hr_grad_give(g, i, hr_grad_upstream(g, i));
  }
}
static void grad_prevented(hr_grad_ctx_t* g) {
  hr_str_t why = hr_attrs_str(hr_grad_attrs(g), "message");
  hr_grad_fail(g, HR_ERROR(NOT_FOUND, "gradient explicitly disabled: %.*s", HR_STR_ARG(why)));
}

/* 4. definitions */
#define HAND_ON(Name, flag, grad_fn, text)                                                                                  \
  const hr_op_t hr_op_##Name = {.name = #Name, .sig = "input: T -> output: T", .attrs = "T: type", .flags = flag, \
                                .shape = hr_infer_same, .grad = grad_fn, HR_KERNELS(HR_CPU_ANY(identity)), .doc = text, HR_HERE}
HAND_ON(Identity, 0, grad_each, "the input");
HAND_ON(Snapshot, 0, grad_each, "the input as it is now");
HAND_ON(StopGradient, 0, hr_grad_none, "the input; gradients do not flow through");
HAND_ON(GuaranteeConst, HR_OP_STATEFUL, NULL, "the input, of which the client says that it never changes");

const hr_op_t hr_op_IdentityN = {
    .name = "IdentityN", .sig = "input: T -> output: T", .attrs = "T: list(type) >= 1", .shape = infer_each, .grad = grad_each,
    HR_KERNELS(HR_CPU_ANY(identity)), .doc = "every input, in order", HR_HERE};

const hr_op_t hr_op_PreventGradient = {.name = "PreventGradient",
                                       .sig = "input: T -> output: T",
                                       .attrs = "T: type; message: string = ''",
                                       .shape = hr_infer_same,
                                       .grad = grad_prevented,
                                       HR_KERNELS(HR_CPU_ANY(identity)),
                                       .doc = "the input; asking for its gradient is an error",
                                       HR_HERE};

const hr_op_t hr_op_PlaceholderWithDefault = {.name = "PlaceholderWithDefault",
                                              .sig = "input: dtype -> output: dtype",
                                              .attrs = "dtype: type; shape: shape",
                                              .shape = infer_with_default,
                                              .grad = grad_each,
                                              HR_KERNELS(HR_CPU_ANY(identity)),
                                              .doc = "the fed value, or the input when nothing is fed",
                                              HR_HERE};

#define FED(Name, attrs_text, ...)                                                                                   \
  const hr_op_t hr_op_##Name = {                                                                                     \
      .name = #Name,                                                                                                 \
      .sig = "-> output: dtype",                                                                                     \
      .attrs = attrs_text,                                                                                           \
      .flags = HR_OP_SIDE_EFFECT,                                                                                    \
      .shape = infer_placeholder,                                                                                    \
      .grad = hr_grad_none,                                                                                          \
      HR_KERNELS({.prepared_bytes = sizeof(placeholder_t), .prepare = placeholder_prepare, .compute = placeholder}), \
      __VA_ARGS__.doc = "a value that must be fed",                                                                  \
      HR_HERE}
FED(Placeholder, "dtype: type; shape: shape = ?", );
FED(PlaceholderV2, "dtype: type; shape: shape", .deprecated = 23, .deprecated_why = "Placeholder now behaves the same as PlaceholderV2", );

const hr_op_t hr_op_NoOp = {.name = "NoOp", .sig = "->", .attrs = "", .shape = hr_infer_none, HR_KERNELS(HR_CPU_ANY(no_op)),
                            .doc = "nothing; a place for control edges to meet", HR_HERE};
