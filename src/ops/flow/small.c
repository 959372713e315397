/* SPDX-License-Identifier: Apache-2.0 */
/* Small ops that graphs of functions are full of: FakeParam, ToBool, DeviceIndex, DisableCopyOnRead; and Fact. */
#include "op/attrs_of.h"
#include "op/infer_fns.h"
#include "ops/flow/call_inputs.h"
#include "ops/state/variable.h"
#include "rt/device_name.h"

extern const hr_op_t hr_op_FakeParam, hr_op_ToBool, hr_op_DeviceIndex, hr_op_DisableCopyOnRead, hr_op_Fact;

/* --- FakeParam: fills a place in a branch that has no value for it; nobody reads it, so its unknown sizes are 0 --------------------- */
typedef struct {
  hr_dtype_t type;
  hr_shape_t shape;
} fake_t;

static hr_status_t fake_prepare(hr_prepare_ctx_t* c, void* prepared) {
  fake_t* f = prepared;
  const hr_pshape_t* shape = hr_attrs_shape(c->attrs, "shape");
  f->type = hr_attrs_type(c->attrs, "dtype");
  f->shape = (hr_shape_t){.rank = shape->rank < 0 ? 0 : shape->rank};
  if (shape->rank > HR_MAX_RANK)
    return HR_ERROR(UNIMPLEMENTED, "a shape of rank %d; at most %d is supported", (int)shape->rank, HR_MAX_RANK);
  for (int i = 0; i < f->shape.rank; ++i) f->shape.dims[i] = shape->dims[i] < 0 ? 0 : shape->dims[i];
  return hr_shape_check(&f->shape);
}

static hr_status_t fake_compute(hr_kernel_ctx_t* k) {
  const fake_t* f = hr_prepared(k);
  hr_tensor_t t = {0};
  HR_TRY(hr_tensor_create_zero(f->type, &f->shape, &t));
  hr_output_move(k, 0, &t);
  return NULL;
}

const hr_op_t hr_op_FakeParam = {.name = "FakeParam",
                                 .sig = "-> output: dtype",
                                 .attrs = "dtype: type; shape: shape",
                                 .shape = hr_infer_from_attr,
                                 HR_KERNELS({.prepared_bytes = sizeof(fake_t), .prepare = fake_prepare, .compute = fake_compute}),
                                 .doc = "A value that is never used, of the given type and shape.",
                                 HR_HERE};

/* --- ToBool ------------------------------------------------------------------------------------------------------------------------ */
static hr_status_t bool_compute(hr_kernel_ctx_t* k) {
  hr_shape_t scalar = hr_shape_scalar();
  hr_tensor_t* out = NULL;
  bool value = false;
  HR_TRY(hr_call_inputs_is_true(hr_input(k, 0), &value));
  HR_TRY(hr_output(k, 0, &scalar, &out));
  *(bool*)out->data = value;
  return NULL;
}

const hr_op_t hr_op_ToBool = {.name = "ToBool",
                              .sig = "input: T -> output: bool",
                              .attrs = "T: type",
                              .shape = hr_infer_scalars,
                              HR_KERNELS(HR_CPU_ANY(bool_compute)),
                              .doc = "Whether a scalar is not zero or empty; of other shapes: whether there are elements.",
                              HR_HERE};

/* --- DeviceIndex: which of the named device types this runs on; their number when none ---------------------------------------------- */
static hr_status_t index_prepare(hr_prepare_ctx_t* c, void* prepared) {
  int count = 0;
  const hr_str_t* names = hr_attrs_strs(c->attrs, "device_names", &count);
  int32_t* index = prepared;
  for (*index = 0; *index < count && !hr_str_is(names[*index], "CPU"); ++*index) {}
  return NULL;
}

static hr_status_t index_compute(hr_kernel_ctx_t* k) {
  hr_tensor_t t = {0};
  HR_TRY(hr_tensor_from_i32(*(const int32_t*)hr_prepared(k), &t));
  hr_output_move(k, 0, &t);
  return NULL;
}

const hr_op_t hr_op_DeviceIndex = {.name = "DeviceIndex",
                                   .sig = "-> index: int32",
                                   .attrs = "device_names: list(string)",
                                   .flags = HR_OP_STATEFUL,
                                   .shape = hr_infer_scalars,
                                   HR_KERNELS({.prepared_bytes = sizeof(int32_t), .prepare = index_prepare, .compute = index_compute}),
                                   .doc = "The place of this device's type among device_names; their number when it is not there.",
                                   HR_HERE};

/* --- DisableCopyOnRead: values that are read share memory with the variable here in any case ------------------------------------------ */
static hr_status_t copy_compute(hr_kernel_ctx_t* k) {
  hr_variable_t* v = NULL;
  hr_tensor_t value = {0};
  HR_TRY(hr_variable_input(k, 0, &v));
  hr_status_t status = hr_variable_read(v, &value); /* FAILED_PRECONDITION when it has no value */
  hr_tensor_release(&value);
  return status;
}

const hr_op_t hr_op_DisableCopyOnRead = {.name = "DisableCopyOnRead",
                                         .sig = "resource: resource ->",
                                         .attrs = "",
                                         .flags = HR_OP_STATEFUL,
                                         .shape = hr_infer_none,
                                         HR_KERNELS(HR_CPU_ANY(copy_compute)),
                                         .doc = "Asks that reading a variable copy nothing, which it never does.",
                                         HR_HERE};

/* --- Fact ---------------------------------------------------------------------------------------------------------------------------- */
static hr_status_t fact_compute(hr_kernel_ctx_t* k) {
  hr_tensor_t t = {0};
  HR_TRY(hr_tensor_from_str(HR_STR("0! == 1"), &t));
  hr_output_move(k, 0, &t);
  return NULL;
}

const hr_op_t hr_op_Fact = {.name = "Fact",
                            .sig = "-> fact: string",
                            .attrs = "",
                            .shape = hr_infer_scalars,
                            HR_KERNELS(HR_CPU_ANY(fact_compute)),
                            .doc = "A fact about factorials.",
                            HR_HERE};
