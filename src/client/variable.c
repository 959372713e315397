/* SPDX-License-Identifier: Apache-2.0 */
/* Variables of both kinds, with the nodes that TensorFlow's Python client gives them:
 *   w (VariableV2), w/Assign, w/read          w (VarHandleOp), w/IsInitialized/VarIsInitializedOp, w/Assign, w/Read/ReadVariableOp */
#include "client/variable.h"

static TF_Output out_of(hr_value_t v) { return hr_capi_to_output(v); }

static void make_reference(hr_build_t* b, hr_str_t name, hr_value_t initial, const hr_pshape_t* shape, HR_Variable* out) {
  const hr_dtype_t dtype = (hr_dtype_t)hr_value_type(initial);
  hr_value_t ref = hr_build(b, "VariableV2", name.data, 0, NULL, HR_ATTRS(hr_at_shape("shape", shape), hr_at_type("dtype", (int)dtype)));
  if (!b->beside) b->beside = ref.node;
  b->scope = name;
  out->initializer = hr_capi_to_operation(
      hr_build(b, "Assign", NULL, HR_VALUES(ref, initial), HR_ATTRS(hr_at_bool("validate_shape", true), hr_at_bool("use_locking", true)))
          .node);
  out->read = out_of(hr_build1(b, "Identity", "read", ref));
  out->handle = out_of(ref);
}

static void make_resource(hr_build_t* b, hr_str_t name, hr_value_t initial, const hr_pshape_t* shape, HR_Variable* out) {
  const hr_dtype_t dtype = (hr_dtype_t)hr_value_type(initial);
  hr_strbuf_t debug_name;
  hr_strbuf_init(&debug_name);
  hr_strbuf_format(&debug_name, "%.*s/", HR_STR_ARG(name));
  if (debug_name.failed) hr_build_fail(b, hr_status_out_of_memory());
  hr_value_t handle = hr_build(b, "VarHandleOp", name.data, 0, NULL,
                               HR_ATTRS(hr_at_shape("shape", shape), hr_at_type("dtype", (int)dtype), hr_at_str("shared_name", name.data),
                                        hr_at_str("debug_name", debug_name.data)));
  hr_strbuf_deinit(&debug_name);
  b->scope = name;
  hr_value_t is_initialized = hr_build1(b, "VarIsInitializedOp", "IsInitialized/VarIsInitializedOp", handle);
  const hr_node_t* beside = b->beside;
  b->beside = NULL;
  out->initializer = hr_capi_to_operation(hr_build2(b, "AssignVariableOp", "Assign", handle, initial).node);
  b->beside = beside;
  out->read = out_of(hr_build(b, "ReadVariableOp", "Read/ReadVariableOp", HR_VALUES(handle), HR_ATTRS(hr_at_type("dtype", (int)dtype))));
  out->handle = out_of(handle);
  out->is_initialized = out_of(is_initialized);
}

void hr_client_make_variable(hr_build_t* b, hr_str_t name, hr_value_t initial_value, bool is_resource, HR_Variable* out) {
  if (b->status) return;
  const hr_pshape_t* shape = hr_value_shape(initial_value);
  const hr_str_t scope = b->scope;
  const hr_node_t* beside = b->beside;
  if (!hr_pshape_is_known(shape)) {
    char text[HR_SHAPE_TEXT];
    hr_build_fail(b, HR_ERROR(INVALID_ARGUMENT, "the initial value of variable '%.*s' must have a known shape, it has %s", HR_STR_ARG(name),
                              hr_pshape_format(shape, text)));
    return;
  }
  *out = (HR_Variable){.initial_value = out_of(initial_value),
                       .dtype = (TF_DataType)hr_value_type(initial_value),
                       .is_resource = is_resource,
                       .is_initialized = {NULL, -1}};
  b->scope = HR_STR("");
  (is_resource ? make_resource : make_reference)(b, name, initial_value, shape, out);
  b->scope = scope;
  b->beside = beside;
}

bool hr_client_check(hr_build_t* b, const HR_Variable* v, const char* what) {
  if (b->status) return false;
  if (!v || !v->handle.oper) hr_build_fail(b, hr_capi_null(what));
  else if (hr_build_owns(b, v->handle, what) && !v->is_resource) hr_build_owns(b, v->read, what);
  return !b->status;
}

bool hr_client_shape_of(hr_build_t* b, const HR_Variable* v, hr_shape_t* out) {
  if (b->status) return false;
  const hr_value_t handle = hr_capi_value(v->handle);
  const hr_handle_info_t* info = handle.node->handles ? &handle.node->handles[handle.index] : NULL;
  const hr_pshape_t* shape = !v->is_resource ? hr_value_shape(handle) : info && info->shape ? info->shape : &hr_pshape_unknown;
  if (hr_pshape_to_shape(shape, out)) return true;
  hr_build_fail(b, HR_ERROR(INVALID_ARGUMENT, "the shape of variable '%.*s' is not known", HR_STR_ARG(handle.node->name)));
  return false;
}

hr_value_t hr_client_read(hr_build_t* b, const HR_Variable* v, const char* name) {
  if (!v->is_resource) return hr_capi_value(v->read);
  const hr_value_t handle = hr_capi_value(v->handle);
  return hr_build(b, "ReadVariableOp", name, HR_VALUES(handle), HR_ATTRS(hr_at_type("dtype", (int)v->dtype)));
}

hr_node_t* hr_client_assign(hr_build_t* b, const HR_Variable* v, hr_value_t value) {
  return hr_build2(b, v->is_resource ? "AssignVariableOp" : "Assign", NULL, hr_capi_value(v->handle), value).node;
}

void HR_NewVariable(TF_Graph* graph, const char* name, TF_Output initial_value, TF_Bool use_resource, HR_Variable* out, TF_Status* status) {
  hr_build_t b = hr_build_begin(graph);
  if (!b.status && !out) hr_build_fail(&b, hr_capi_null("the variable"));
  if (!b.status && hr_build_owns(&b, initial_value, "the initial value")) {
    const hr_str_t unique = hr_build_unique(&b, "", name && *name ? name : "Variable");
    HR_Variable made;
    hr_client_make_variable(&b, unique, hr_capi_value(initial_value), use_resource != 0, &made);
    if (!b.status) *out = made;
  }
  hr_build_end(&b, status);
}

TF_Output HR_VariableIsInitialized(TF_Graph* graph, HR_Variable* variable, TF_Status* status) {
  hr_build_t b = hr_build_begin(graph);
  TF_Output out = {NULL, -1};
  if (hr_client_check(&b, variable, "the variable")) {
    if (!variable->is_initialized.oper) {
      const hr_value_t ref = hr_capi_value(variable->handle);
      b.beside = variable->is_resource ? NULL : ref.node;
      hr_value_t v = hr_build1(&b, variable->is_resource ? "VarIsInitializedOp" : "IsVariableInitialized", NULL, ref);
      if (!b.status) variable->is_initialized = hr_capi_to_output(v);
    }
    if (!b.status) out = variable->is_initialized;
  }
  hr_build_end(&b, status);
  return out;
}

TF_Operation* HR_InitializeAll(TF_Graph* graph, const char* name, const HR_Variable* variables, int count, TF_Status* status) {
  hr_build_t b = hr_build_begin(graph);
  hr_node_t *group = NULL, **after = NULL;
  if (!b.status) hr_build_fail(&b, hr_capi_check_count(count, variables, "variables"));
  if (!b.status && count && !(after = hr_alloc_array((size_t)count, sizeof *after))) hr_build_fail(&b, hr_status_out_of_memory());
  for (int i = 0; !b.status && i < count && hr_client_check(&b, &variables[i], "a variable"); ++i) {
    after[i] = hr_capi_node(variables[i].initializer);
    if (!after[i]) hr_build_fail(&b, HR_ERROR(INVALID_ARGUMENT, "variable %d has no initializer", i));
  }
  if (!b.status) {
    b.after = after;
    b.after_count = count;
    group = hr_build_group(&b, name && *name ? name : "init");
  }
  hr_build_end(&b, status);
  hr_free(after);
  return hr_capi_to_operation(group);
}
