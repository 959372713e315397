/* SPDX-License-Identifier: Apache-2.0 */
/* TensorArrayWrite and TensorArrayRead: one element shared with the array. What is written to a gradient's array adds up. */
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/flow/tensor_array.h"
#include "ops/flow/tensor_array_flow.h"

extern const hr_op_t hr_op_TensorArrayWrite, hr_op_TensorArrayWriteV2, hr_op_TensorArrayWriteV3, hr_op_TensorArrayRead,
    hr_op_TensorArrayReadV2, hr_op_TensorArrayReadV3;

/* 1. shapes */
static hr_status_t infer_write(hr_infer_t* s) {
  hr_dtype_t dtype;
  const hr_pshape_t *shape, *merged;
  HR_TRY(hr_infer_want_rank(s, 1, 0, NULL));
  hr_infer_handle(s, 0, &dtype, &shape);
  if (shape) HR_TRY(hr_infer_merge(s, shape, hr_infer_input(s, 2), &merged));
  return hr_flow_infer_flow_out(s, 3);
}

static hr_status_t infer_read(hr_infer_t* s) {
  hr_dtype_t dtype;
  const hr_pshape_t* shape;
  HR_TRY(hr_infer_want_rank(s, 1, 0, NULL));
  HR_TRY(hr_flow_infer_flow(s, 2));
  hr_infer_handle(s, 0, &dtype, &shape);
  hr_infer_set(s, 0, shape ? shape : &hr_pshape_unknown);
  return NULL;
}

/* 2. kernels */
static hr_status_t write_item(hr_kernel_ctx_t* k) {
  hr_tensor_array_t* a;
  int64_t index;
  HR_TRY(hr_flow_want_rank(k, 1, "TensorArray index must be scalar, but had shape", 0, 0));
  HR_TRY(hr_tensor_scalar_i64(hr_input(k, 1), "index", &index));
  HR_TRY(hr_tensor_array_input(k, &a));
  hr_status_t status = hr_tensor_array_write(a, index, hr_input(k, 2), *(hr_sum_loop_t*)hr_prepared(k));
  hr_tensor_array_release(a);
  if (!status) hr_output_share(k, 0, hr_input(k, 3));
  return status;
}

static hr_status_t read_item(hr_kernel_ctx_t* k) {
  hr_tensor_array_t* a;
  hr_tensor_t value = {0};
  int64_t index;
  HR_TRY(hr_flow_want_rank(k, 1, "TensorArray index must be scalar, but had shape", 0, 0));
  HR_TRY(hr_tensor_scalar_i64(hr_input(k, 1), "index", &index));
  HR_TRY(hr_tensor_array_input(k, &a));
  hr_status_t status = hr_flow_check_dtype(k, a);
  if (!status) status = hr_tensor_array_read(a, index, &value);
  hr_tensor_array_release(a);
  if (!status) hr_output_move(k, 0, &value);
  return status;
}

/* 3. gradients: an element read is an element written to the gradient's array, and the reverse */
static void grad_read(hr_grad_ctx_t* g) {
  hr_value_t flow, array = hr_flow_gradient_array(g, hr_grad_input(g, 2), &flow);
  hr_grad_give(g, 2, hr_flow_emit(g, "TensorArrayWrite", HR_VALUES(array, hr_grad_input(g, 1), hr_grad_upstream(g, 0), flow), HR_NO_ATTRS));
}

static void grad_write(hr_grad_ctx_t* g) {
  const hr_named_attr_t type = hr_at_type("dtype", (int)hr_grad_dtype(g, hr_grad_input(g, 2)));
  hr_value_t flow, upstream = hr_grad_upstream(g, 0), array = hr_flow_gradient_array(g, upstream, &flow);
  if (hr_grad_wanted(g, 2))
    hr_grad_give(g, 2, hr_flow_emit(g, "TensorArrayRead", HR_VALUES(array, hr_grad_input(g, 1), flow), HR_ATTRS(type)));
  hr_grad_give(g, 3, upstream);
}

/* 4. definitions */
#define WRITES                                         \
  HR_KERNELS({.host_inputs = 1 | 2 | 8,                \
              .host_outputs = 1,                       \
              .prepared_bytes = sizeof(hr_sum_loop_t), \
              .prepare = hr_flow_sum_prepare,          \
              .compute = write_item})
#define READS HR_KERNELS({.host_inputs = 7, .compute = read_item})
#define WRITE(Name, handle, Flags, ...)                                                                                 \
  const hr_op_t hr_op_##Name = {.name = #Name,                                                                          \
                                .sig = "handle: " handle "; index: int32; value: T; flow_in: float -> flow_out: float", \
                                .attrs = "T: type",                                                                     \
                                .flags = Flags,                                                                         \
                                .shape = infer_write,                                                                   \
                                .grad = grad_write,                                                                     \
                                WRITES,                                                                                 \
                                .doc = "array[index] = value; flow_out = flow_in",                                      \
                                HR_HERE,                                                                                \
                                __VA_ARGS__}
#define READ(Name, handle, Flags, ...)                                                                     \
  const hr_op_t hr_op_##Name = {.name = #Name,                                                             \
                                .sig = "handle: " handle "; index: int32; flow_in: float -> value: dtype", \
                                .attrs = "dtype: type",                                                    \
                                .flags = Flags,                                                            \
                                .shape = infer_read,                                                       \
                                .grad = grad_read,                                                         \
                                READS,                                                                     \
                                .doc = "value = array[index]",                                             \
                                HR_HERE,                                                                   \
                                __VA_ARGS__}
WRITE(TensorArrayWrite, "Ref(string)", HR_OP_SIDE_EFFECT, .deprecated = 16, .deprecated_why = "Use TensorArrayWriteV3");
WRITE(TensorArrayWriteV2, "string", HR_OP_SIDE_EFFECT, .deprecated = 26, .deprecated_why = "Use TensorArrayWriteV3");
WRITE(TensorArrayWriteV3, "resource", HR_OP_STATEFUL, );
READ(TensorArrayRead, "Ref(string)", HR_OP_SIDE_EFFECT, .deprecated = 16, .deprecated_why = "Use TensorArrayReadV3");
READ(TensorArrayReadV2, "string", HR_OP_SIDE_EFFECT, .deprecated = 26, .deprecated_why = "Use TensorArrayReadV3");
READ(TensorArrayReadV3, "resource", HR_OP_STATEFUL, );
