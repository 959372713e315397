/* SPDX-License-Identifier: Apache-2.0 */
/* y = f(x) for a function of the library: PartitionedCall, StatefulPartitionedCall, RemoteCall to this process, and SymbolicGradient,
 * dx = (dy/dx)^T dy of f. Sessions put f's body in a call's place (session/pass_inline.c), so a kernel runs only where that cannot be:
 * recursion. Nothing here is folded or merged, whether or not TensorFlow calls the op stateful. */
#include "op/caller.h"
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/flow/call_inputs.h"
#include "rt/device_name.h"
#include "rt/step.h"

extern const hr_op_t hr_op_PartitionedCall, hr_op_StatefulPartitionedCall, hr_op_RemoteCall, hr_op_SymbolicGradient;

static hr_status_t call_prepare(hr_prepare_ctx_t* c, void* prepared) {
  hr_call_site_t* site = prepared;
  site->function = hr_attrs_find(c->attrs, "f")->u.func;
  return NULL;
}

static hr_status_t call_from(hr_kernel_ctx_t* k, int first) {
  hr_call_inputs_t c;
  HR_TRY(hr_call_inputs_begin(&c, k, first));
  hr_status_t status = hr_caller_run(hr_prepared(k), k, c.in, c.in_count, c.out, c.out_count);
  hr_call_inputs_end(&c, k, status != NULL);
  return status;
}

static hr_status_t call_compute(hr_kernel_ctx_t* k) { return call_from(k, 0); }

/* The target must be a CPU of this process. */
static hr_status_t remote_compute(hr_kernel_ctx_t* k) {
  hr_str_t text = HR_STR("");
  const hr_caller_t* caller = k->step ? k->step->caller : NULL;
  hr_device_name_t target;
  HR_TRY(hr_tensor_scalar_str(hr_input(k, 0), "the target", &text));
  HR_TRY(hr_device_name_parse(text, &target));
  if (!caller || !caller->has_cpu(caller, text))
    return HR_ERROR(INTERNAL, "a remote call to '%.*s', which is no CPU device of this process", HR_STR_ARG(text));
  return call_from(k, 1);
}

static hr_status_t gradient_shapes(hr_infer_t* c) {
  for (int i = 0; i < hr_infer_output_count(c) && i < hr_infer_input_count(c); ++i) {
    hr_dtype_t held = HR_DTYPE_INVALID;
    const hr_pshape_t* shape = hr_infer_input(c, i);
    if (hr_infer_input_dtype(c, i) == HR_RESOURCE) { /* the gradient of a variable is like its value */
      shape = NULL;
      hr_infer_handle(c, i, &held, &shape);
    }
    hr_infer_set(c, i, shape ? shape : &hr_pshape_unknown);
  }
  return NULL;
}

static hr_status_t gradient_compute(hr_kernel_ctx_t* k) {
  (void)k;
  return HR_ERROR(UNIMPLEMENTED, "the gradient of a function that cannot be put in the call's place (recursion)");
}

#define CALL_ATTRS \
  "Tin: list(type) >= 0; Tout: list(type) >= 0; f: func; config: string = ''; config_proto: string = ''; executor_type: string = ''"

const hr_op_t hr_op_PartitionedCall = {
    .name = "PartitionedCall",
    .sig = "args: Tin -> output: Tout",
    .attrs = CALL_ATTRS,
    .flags = HR_OP_SIDE_EFFECT,
    .shape = hr_call_inputs_called,
    HR_KERNELS({.prepared_bytes = sizeof(hr_call_site_t), .prepare = call_prepare, .compute = call_compute}),
    .doc = "output = f(args), f a function of the library without state.",
    HR_HERE};

const hr_op_t hr_op_StatefulPartitionedCall = {
    .name = "StatefulPartitionedCall",
    .sig = "args: Tin -> output: Tout",
    .attrs = CALL_ATTRS,
    .flags = HR_OP_STATEFUL,
    .shape = hr_call_inputs_called,
    HR_KERNELS({.prepared_bytes = sizeof(hr_call_site_t), .prepare = call_prepare, .compute = call_compute}),
    .doc = "output = f(args), f a function of the library.",
    HR_HERE};

const hr_op_t hr_op_RemoteCall = {
    .name = "RemoteCall",
    .sig = "target: string; args: Tin -> output: Tout",
    .attrs = "Tin: list(type) >= 1; Tout: list(type) >= 1; f: func",
    .flags = HR_OP_STATEFUL,
    .shape = hr_call_inputs_shapes,
    HR_KERNELS({.prepared_bytes = sizeof(hr_call_site_t), .prepare = call_prepare, .compute = remote_compute}),
    .doc = "output = f(args) on the device named target, which must be a CPU of this process.",
    HR_HERE};

const hr_op_t hr_op_SymbolicGradient = {.name = "SymbolicGradient",
                                        .sig = "input: Tin -> output: Tout",
                                        .attrs = "Tin: list(type) >= 1; Tout: list(type) >= 1; f: func",
                                        .flags = HR_OP_SIDE_EFFECT,
                                        .shape = gradient_shapes,
                                        HR_KERNELS(HR_CPU_ANY(gradient_compute)),
                                        .doc = "The gradients of f's inputs; input: f's inputs, then the gradients of its outputs.",
                                        HR_HERE};
