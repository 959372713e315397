/* SPDX-License-Identifier: Apache-2.0 */
/* Both kinds of variable: VariableV2 gives a reference, VarHandleOp a handle; the object behind them is rt/variable.h's. The object is made
 * with the session's state and has no value until it is assigned.
 *
 * VariableV2 without shared_name is named after its node; VarHandleOps without one all share the variable called "", as in TensorFlow. */
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/state/named.h"
#include "ops/state/variable.h"

extern const hr_op_t hr_op_Variable, hr_op_VariableV2, hr_op_IsVariableInitialized, hr_op_VarHandleOp, hr_op_ReadVariableOp,
    hr_op_VarIsInitializedOp, hr_op_DestroyResourceOp, hr_op_VariableShape;

/* 1. shapes */
static hr_status_t infer_handle(hr_infer_t* s) { /* a scalar handle; what it holds is in the attrs */
  const hr_node_attrs_t* attrs = hr_infer_attrs(s);
  hr_infer_set(s, 0, &hr_pshape_scalar);
  hr_infer_set_handle(s, 0, hr_attrs_type(attrs, "dtype"), hr_attrs_shape(attrs, "shape"));
  return NULL;
}

hr_status_t hr_variable_infer_held(hr_infer_t* s, hr_dtype_t wanted, const hr_pshape_t** out) {
  hr_dtype_t held;
  HR_TRY(hr_infer_want_rank(s, 0, 0, NULL));
  hr_infer_handle(s, 0, &held, out);
  if (held == HR_DTYPE_INVALID || held == wanted) return NULL;
  return HR_ERROR(INVALID_ARGUMENT, "trying to read a variable with the wrong dtype: expected %s, it holds %s", hr_dtype_name((int)wanted),
                  hr_dtype_name((int)held));
}

static hr_status_t infer_read(hr_infer_t* s) {
  const hr_pshape_t* shape;
  HR_TRY(hr_variable_infer_held(s, hr_attrs_type(hr_infer_attrs(s), "dtype"), &shape));
  if (shape) hr_infer_set(s, 0, shape);
  return NULL;
}

static hr_status_t infer_shape_of_variable(hr_infer_t* s) {
  hr_dtype_t held;
  const hr_pshape_t* shape;
  hr_infer_handle(s, 0, &held, &shape);
  return hr_infer_set_vector(s, 0, shape ? shape->rank : -1);
}

/* 2. kernels */
typedef struct {
  hr_dtype_t dtype;
  hr_str_t shown;
  const hr_pshape_t* declared; /* NULL: none */
} make_t; /* shown: the name in messages */
static hr_status_t give_empty(hr_variable_t* v) { /* a variable without elements always has its value, as in TensorFlow */
  hr_tensor_t none;
  HR_TRY(hr_tensor_create(v->dtype, &v->declared, &none));
  hr_status_t status = hr_variable_assign(v, &none);
  hr_tensor_release(&none);
  return status;
}
static hr_status_t make_variable(void* arg, hr_resource_t** out) {
  const make_t* m = arg;
  hr_variable_t* v;
  HR_TRY(hr_variable_create(m->dtype, m->shown, &v));
  v->has_declared = m->declared;
  v->declared = hr_shape_scalar(); /* also of a variable of unknown rank, as in TensorFlow */
  if (m->declared && m->declared->rank >= 0) (void)hr_pshape_to_shape(m->declared, &v->declared);
  hr_status_t status = v->has_declared && hr_shape_count(&v->declared) == 0 ? give_empty(v) : NULL;
  if (status) hr_resource_release(&v->base);
  else *out = &v->base;
  return status;
}

/* References and handles have names of their own: two variables of one name do not meet. */
static const hr_resource_type_t names_of_references = {"VariableReference", NULL};

/* The session's object for this node: by shared_name, else (references) by the node's name. Another type under that name is INTERNAL for
 * references and INVALID_ARGUMENT for handles, as in TensorFlow. */
static hr_status_t find_variable(hr_prepare_ctx_t* p, bool is_ref, hr_variable_t** out) {
  const hr_str_t shared = hr_attrs_str(p->attrs, "shared_name"), container = hr_attrs_str(p->attrs, "container"),
                 node = hr_str(p->node_name);
  make_t m = {hr_attrs_type(p->attrs, "dtype"), shared.size ? shared : node, is_ref ? hr_attrs_shape(p->attrs, "shape") : NULL};
  hr_resource_t* r;
  HR_TRY(hr_resources_find_or_create(p->resources, container, is_ref ? m.shown : shared, is_ref ? &names_of_references : &hr_variable_type,
                                     make_variable, &m, &r));
  hr_variable_t* v = (hr_variable_t*)r;
  if (v->dtype != m.dtype) {
    hr_status_t status =
        hr_status_create(is_ref ? HR_INTERNAL : HR_INVALID_ARGUMENT, __FILE__, __LINE__, "variable '%.*s' is of type %s, not %s",
                         HR_STR_ARG(v->name), hr_dtype_name((int)v->dtype), hr_dtype_name((int)m.dtype));
    hr_resource_release(r);
    return status;
  }
  *out = v;
  return NULL;
}

static hr_status_t variable_state(hr_prepare_ctx_t* p, void* state) {
  char text[HR_SHAPE_TEXT];
  hr_shape_t known;
  const hr_pshape_t* declared = hr_attrs_shape(p->attrs, "shape");
  if (declared->rank >= 0 && !hr_pshape_to_shape(declared, &known))
    return HR_ERROR(INVALID_ARGUMENT, "Shape %s is not fully defined (attr shape)", hr_pshape_format(declared, text));
  return find_variable(p, true, state);
}
static void variable_drop(void* state) { hr_resource_release(*(hr_resource_t**)state); }
static hr_status_t variable(hr_kernel_ctx_t* k) {
  hr_output_ref(k, 0, *(hr_variable_t**)hr_state(k));
  return NULL;
}

static hr_status_t handle_state(hr_prepare_ctx_t* p, void* state) { /* state: the handle as a scalar tensor */
  hr_variable_t* v;
  hr_handle_t* h;
  HR_TRY(find_variable(p, false, &v));
  const hr_str_t name = hr_attrs_str(p->attrs, "shared_name");
  hr_status_t status = hr_named_handle(&v->base, hr_named_container(p->attrs), name, HR_STR("tensorflow::Var"), &h);
  hr_resource_release(&v->base);
  if (status) return status;
  status = hr_handle_set_value(h, v->dtype, hr_attrs_shape(p->attrs, "shape"));
  if (!status) return hr_named_handle_tensor(h, state);
  hr_handle_release(h);
  return status;
}
static void handle_drop(void* state) { hr_tensor_release(state); }
static hr_status_t handle(hr_kernel_ctx_t* k) {
  hr_output_share(k, 0, hr_state(k));
  return NULL;
}

hr_status_t hr_variable_input(const hr_kernel_ctx_t* k, int input, hr_variable_t** out) {
  hr_variable_t* v = hr_input_ref(k, input);
  if (!v) {
    const hr_tensor_t* t = hr_input(k, input);
    if (t->dtype != HR_RESOURCE || t->count < 1 || !*(hr_handle_t**)t->data)
      return HR_ERROR(INVALID_ARGUMENT, "input %d is not a handle of a variable", input);
    const hr_handle_t* h = *(hr_handle_t**)t->data;
    hr_resource_t* r = h->object;
    if (!r) {
      HR_TRY(hr_resources_of_handle(hr_resources_of(k), h, &hr_variable_type, &r));
      hr_resource_release(r); /* the session's table keeps it for the length of the step */
    }
    if (r->type != &hr_variable_type)
      return HR_ERROR(INVALID_ARGUMENT, "input %d is a handle of a %s, not of a variable", input, r->type->name);
    v = (hr_variable_t*)r;
  }
  *out = v;
  return NULL;
}

static hr_status_t read_variable(hr_kernel_ctx_t* k) {
  hr_variable_t* v;
  hr_tensor_t value;
  HR_TRY(hr_variable_input(k, 0, &v));
  HR_TRY(hr_status_note(hr_variable_read(v, &value), "Could not find variable %.*s: ", HR_STR_ARG(v->name)));
  if (value.dtype != hr_output_dtype(k, 0)) {
    hr_status_t status = HR_ERROR(INVALID_ARGUMENT, "trying to read variable '%.*s' with the wrong dtype: expected %s, it holds %s",
                                  HR_STR_ARG(v->name), hr_dtype_name((int)hr_output_dtype(k, 0)), hr_dtype_name((int)value.dtype));
    hr_tensor_release(&value);
    return status;
  }
  hr_output_move(k, 0, &value);
  return NULL;
}

static hr_status_t is_initialized(hr_kernel_ctx_t* k) {
  hr_variable_t* v;
  hr_tensor_t* out;
  const hr_shape_t scalar = hr_shape_scalar();
  HR_TRY(hr_variable_input(k, 0, &v));
  HR_TRY(hr_output(k, 0, &scalar, &out));
  *(bool*)out->data = hr_variable_has_value(v);
  return NULL;
}

static hr_status_t shape_of_variable(hr_kernel_ctx_t* k) {
  hr_variable_t* v;
  hr_tensor_t value, *out;
  HR_TRY(hr_variable_input(k, 0, &v));
  if (!hr_variable_has_value(v)) return HR_ERROR(NOT_FOUND, "Could not find resource: variable '%.*s' has no value", HR_STR_ARG(v->name));
  HR_TRY(hr_status_note(hr_variable_read(v, &value), "Could not find variable %.*s: ", HR_STR_ARG(v->name)));
  const hr_shape_t shape = hr_shape_vector(value.shape.rank);
  hr_status_t status = hr_output(k, 0, &shape, &out);
  for (int i = 0; !status && i < value.shape.rank; ++i) {
    if (out->dtype == HR_I64)
      ((int64_t*)out->data)[i] = value.shape.dims[i];
    else if (value.shape.dims[i] <= INT32_MAX)
      ((int32_t*)out->data)[i] = (int32_t)value.shape.dims[i];
    else
      status = HR_ERROR(INVALID_ARGUMENT, "dimension %d of size %lld does not fit int32", i, (long long)value.shape.dims[i]);
  }
  hr_tensor_release(&value);
  return status;
}

static hr_status_t destroy_prepare(hr_prepare_ctx_t* p, void* prepared) {
  *(bool*)prepared = hr_attrs_bool(p->attrs, "ignore_lookup_error");
  return NULL;
}
static hr_status_t destroy(hr_kernel_ctx_t* k) { /* the value goes; the object stays with the handles that name it */
  hr_variable_t* v;
  HR_TRY(hr_variable_input(k, 0, &v));
  if (!hr_variable_has_value(v) && !*(bool*)hr_prepared(k)) return HR_ERROR(NOT_FOUND,
                                                                            "Could not find resource: variable '%.*s' has no "
                                                                            "value", HR_STR_ARG(v->name));
  hr_variable_clear(v);
  return NULL;
}

/* 3. gradient of reading: dy belongs to the variable */
static void grad_read(hr_grad_ctx_t* g) {
  hr_value_t indices, values, dense_shape;
  if (hr_grad_upstream_slices(g, 0, &indices, &values, &dense_shape))
    hr_grad_give_slices(g, 0, indices, values, dense_shape);
  else
    hr_grad_give(g, 0, hr_grad_upstream(g, 0));
}

/* 4. definitions */
#define VARIABLE(Name, infer_fn)                                                                                                         \
  const hr_op_t hr_op_##Name = {                                                                                                         \
      .name = #Name,                                                                                                                     \
      .sig = "-> ref: Ref(dtype)",                                                                                                       \
      .attrs = "shape: shape; dtype: type; container: string = ''; shared_name: string = ''",                                            \
      .flags = HR_OP_STATEFUL,                                                                                                           \
      .shape = infer_fn,                                                                                                                 \
      .grad = hr_grad_none,                                                                                                              \
      HR_KERNELS(                                                                                                                        \
          {.state_bytes = sizeof(hr_variable_t*), .create_state = variable_state, .destroy_state = variable_drop, .compute = variable}), \
      .doc = "a reference to a variable of the session",                                                                                 \
      HR_HERE}
VARIABLE(Variable, hr_infer_from_attr);
VARIABLE(VariableV2, hr_infer_from_attr);

const hr_op_t hr_op_IsVariableInitialized = {.name = "IsVariableInitialized",
                                             .sig = "ref: Ref(dtype) -> is_initialized: bool",
                                             .attrs = "dtype: type",
                                             .flags = HR_OP_UNINITIALIZED | HR_OP_SIDE_EFFECT,
                                             .shape = hr_infer_scalars,
                                             .grad = hr_grad_none,
                                             HR_KERNELS({.host_outputs = 1, .compute = is_initialized}),
                                             .doc = "whether the variable has a value",
                                             HR_HERE};

const hr_op_t hr_op_VarHandleOp = {.name = "VarHandleOp",
                                   .sig = "-> resource: resource",
                                   .attrs =
                                       "container: string = ''; shared_name: string = ''; debug_name: string = ''; dtype: type; shape: "
                                       "shape; allowed_devices: list(string) = []",
                                   .flags = HR_OP_STATEFUL,
                                   .shape = infer_handle,
                                   .grad = hr_grad_none,
                                   HR_KERNELS({.host_outputs = 1,
                                               .state_bytes = sizeof(hr_tensor_t),
                                               .create_state = handle_state,
                                               .destroy_state = handle_drop,
                                               .compute = handle}),
                                   .doc = "a handle of a variable of the session",
                                   HR_HERE};

const hr_op_t hr_op_ReadVariableOp = {.name = "ReadVariableOp",
                                      .sig = "resource: resource -> value: dtype",
                                      .attrs = "dtype: type",
                                      .flags = HR_OP_STATEFUL,
                                      .shape = infer_read,
                                      .grad = grad_read,
                                      HR_KERNELS({.host_inputs = 1, .compute = read_variable}),
                                      .doc = "the variable's value",
                                      HR_HERE};

const hr_op_t hr_op_VarIsInitializedOp = {.name = "VarIsInitializedOp",
                                          .sig = "resource: resource -> is_initialized: bool",
                                          .attrs = "",
                                          .flags = HR_OP_STATEFUL,
                                          .shape = hr_infer_scalars,
                                          .grad = hr_grad_none,
                                          HR_KERNELS({.host_inputs = 1, .host_outputs = 1, .compute = is_initialized}),
                                          .doc = "whether the variable has a value",
                                          HR_HERE};

const hr_op_t hr_op_VariableShape = {.name = "VariableShape",
                                     .sig = "input: resource -> output: out_type",
                                     .attrs = "out_type: type{int32,int64} = int32",
                                     .flags = HR_OP_STATEFUL,
                                     .shape = infer_shape_of_variable,
                                     .grad = hr_grad_none,
                                     HR_KERNELS({.host_inputs = 1, .host_outputs = 1, .compute = shape_of_variable}),
                                     .doc = "the shape of the variable's value",
                                     HR_HERE};

const hr_op_t hr_op_DestroyResourceOp = {
    .name = "DestroyResourceOp",
    .sig = "resource: resource ->",
    .attrs = "ignore_lookup_error: bool = true",
    .flags = HR_OP_STATEFUL,
    .shape = hr_infer_none,
    HR_KERNELS({.host_inputs = 1, .prepared_bytes = sizeof(bool), .prepare = destroy_prepare, .compute = destroy}),
    .doc = "takes the variable's value away",
    HR_HERE};
