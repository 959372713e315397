/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/state/named.h"
#include "op/infer_fns.h"
#include "rt/variable.h"

hr_status_t hr_named_infer_reference(hr_infer_t* s) { return hr_infer_set_vector(s, 0, 2); }

/* --- names ---------------------------------------------------------------------------------------------------------------------------- */

hr_str_t hr_named_container(const hr_node_attrs_t* attrs) {
  const hr_str_t container = hr_attrs_str(attrs, "container");
  return container.size ? container : HR_STR("localhost");
}

static void release_object(void* object) { hr_resource_release(object); }

hr_status_t hr_named_handle(hr_resource_t* object, hr_str_t container, hr_str_t name, hr_str_t type_name, hr_handle_t** out) {
  hr_handle_t* h = hr_handle_create(HR_STR("/job:localhost/replica:0/task:0/device:CPU:0"), container, name, type_name);
  if (!h) return hr_status_out_of_memory();
  h->object = hr_resource_retain(object);
  h->release_object = release_object;
  *out = h;
  return NULL;
}

hr_status_t hr_named_handle_tensor(hr_handle_t* take, hr_tensor_t* out) {
  const hr_shape_t scalar = hr_shape_scalar();
  hr_status_t status = hr_tensor_create(HR_RESOURCE, &scalar, out);
  if (status) hr_handle_release(take);
  else *(hr_handle_t**)out->data = take;
  return status;
}

hr_status_t hr_named_strings(hr_tensor_t* pair, hr_str_t container, hr_str_t name) {
  HR_TRY(hr_tstring_set(pair->data, container));
  return hr_tstring_set((hr_tstring_t*)pair->data + 1, name);
}

hr_status_t hr_named_refer(hr_variable_t* v, hr_str_t container, hr_str_t name) {
  const hr_shape_t pair = hr_shape_vector(2);
  hr_tensor_t names;
  HR_TRY(hr_tensor_create(HR_STRING, &pair, &names));
  hr_status_t status = hr_named_strings(&names, container, name);
  if (!status) status = hr_variable_assign(v, &names);
  hr_tensor_release(&names);
  return status;
}

/* --- a maker's state ------------------------------------------------------------------------------------------------------------------ */

hr_status_t hr_named_init_handle(hr_named_t* n, hr_resource_t* take, hr_str_t container, hr_str_t name) {
  hr_handle_t* h = NULL;
  n->object = take;
  hr_status_t status = hr_named_handle(take, container, name, hr_str(take->type->name), &h);
  if (!status) status = hr_named_handle_tensor(h, &n->handle);
  if (status) hr_named_drop(n);
  return status;
}

hr_status_t hr_named_init_reference(hr_named_t* n, hr_resource_t* take, hr_str_t container, hr_str_t name) {
  n->object = take;
  hr_status_t status = hr_variable_create(HR_STRING, name, &n->reference);
  if (!status) status = hr_named_refer(n->reference, container, name);
  if (status) hr_named_drop(n);
  return status;
}

void hr_named_drop(void* state) {
  hr_named_t* n = state;
  hr_tensor_release(&n->handle);
  if (n->reference) hr_resource_release(&n->reference->base);
  hr_resource_release(n->object);
  *n = (hr_named_t){0};
}

hr_status_t hr_named_give_handle(hr_kernel_ctx_t* k) {
  hr_output_share(k, 0, &((hr_named_t*)hr_state(k))->handle);
  return NULL;
}

hr_status_t hr_named_give_reference(hr_kernel_ctx_t* k) {
  hr_output_ref(k, 0, ((hr_named_t*)hr_state(k))->reference);
  return NULL;
}

/* --- finding -------------------------------------------------------------------------------------------------------------------------- */

static hr_status_t find_by_reference(const hr_kernel_ctx_t* k, hr_variable_t* v, const char* what, const hr_resource_type_t* type,
                                     hr_resource_t** out) {
  hr_tensor_t names;
  HR_TRY(hr_variable_read(v, &names));
  hr_status_t status = NULL;
  if (names.dtype != HR_STRING || names.count != 2) status = HR_ERROR(INVALID_ARGUMENT, "input 0 is a reference, but not to a %s", what);
  if (!status)
    status = hr_resources_find(hr_resources_of(k), hr_tstring_get(names.data), hr_tstring_get((hr_tstring_t*)names.data + 1), type, out);
  hr_tensor_release(&names);
  return status;
}

hr_status_t hr_named_input(const hr_kernel_ctx_t* k, const char* what, const hr_resource_type_t* type, hr_resource_t** out) {
  hr_variable_t* v = hr_input_ref(k, 0);
  const hr_tensor_t* t = hr_input(k, 0);
  if (v) return find_by_reference(k, v, what, type, out);
  if (t->dtype != HR_RESOURCE || t->count < 1) return HR_ERROR(INVALID_ARGUMENT, "input 0 is not a handle of a %s", what);
  return hr_resources_of_handle(hr_resources_of(k), *(hr_handle_t**)t->data, type, out);
}
