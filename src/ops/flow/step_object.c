/* SPDX-License-Identifier: Apache-2.0 */
/* Handles of a step's objects. Names are told apart by a number that counts in the process, so a name of an earlier step names nothing
 * later. */
#include "ops/flow/step_object.h"
#include <stdio.h>
#include "base/alloc.h"
#include "ops/state/named.h"

void hr_flow_object_deinit(hr_flow_object_t* o) {
  if (o->reference) hr_resource_release(&o->reference->base);
  hr_free(o->name);
}

hr_status_t hr_flow_locals(const hr_kernel_ctx_t* k, hr_step_locals_t** out) {
  *out = k->step->locals;
  return *out ? NULL : HR_ERROR(INTERNAL, "this op needs a step's own memory, and here is none");
}

/* --- naming ------------------------------------------------------------------------------------------------------------------------- */
static hr_status_t choose_name(hr_flow_object_t* o, hr_str_t stem) {
  static atomic_ulong next;
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hr_strbuf_format(&text, "%.*s_%lu", HR_STR_ARG(stem), atomic_fetch_add_explicit(&next, 1, memory_order_relaxed));
  hr_str_t made = hr_strbuf_view(&text);
  o->name = text.failed ? NULL : hr_alloc(made.size + 1);
  if (o->name) memcpy(o->name, made.data, made.size);
  if (o->name) o->name[made.size] = 0;
  hr_strbuf_deinit(&text);
  return o->name ? NULL : hr_status_out_of_memory();
}

static hr_status_t give_handle(hr_kernel_ctx_t* k, hr_flow_object_t* o, hr_str_t container) {
  const hr_shape_t scalar = hr_shape_scalar();
  hr_tensor_t* t;
  HR_TRY(hr_output(k, 0, &scalar, &t));
  return hr_named_handle(&o->step.base, container, hr_str(o->name), hr_str(o->step.base.type->name), (hr_handle_t**)t->data);
}

static hr_status_t make_reference(hr_flow_object_t* o, hr_str_t container) {
  HR_TRY(hr_variable_create(HR_STRING, hr_str(o->name), &o->reference));
  return hr_named_refer(o->reference, container, hr_str(o->name));
}

hr_status_t hr_flow_object_give(hr_kernel_ctx_t* k, hr_flow_object_t* o, hr_str_t container, hr_naming_t naming) {
  const hr_shape_t pair = hr_shape_vector(2);
  hr_tensor_t* t;
  if (naming == HR_NAMED_BY_HANDLE) return give_handle(k, o, container);
  if (naming == HR_NAMED_BY_REF) {
    hr_output_ref(k, 0, o->reference);
    return NULL;
  }
  HR_TRY(hr_output(k, 0, &pair, &t));
  return hr_named_strings(t, container, hr_str(o->name));
}

static hr_status_t hand_over(void* object, hr_resource_t** out) {
  *out = hr_resource_retain(object);
  return NULL;
}

static hr_status_t enter_name(hr_step_locals_t* l, hr_flow_object_t* o, hr_str_t container) {
  hr_resources_t* table = hr_step_locals_get(l);
  hr_resource_t* found = NULL;
  if (!table) return hr_status_out_of_memory();
  HR_TRY(hr_resources_find_or_create(table, container, hr_str(o->name), o->step.base.type, hand_over, o, &found));
  hr_resource_release(found);
  return NULL;
}

hr_status_t hr_flow_object_add(hr_kernel_ctx_t* k, hr_flow_object_t* o, hr_str_t container, hr_str_t stem, hr_naming_t naming) {
  hr_step_locals_t* l;
  HR_TRY(hr_flow_locals(k, &l));
  HR_TRY(choose_name(o, stem));
  if (naming == HR_NAMED_BY_REF) HR_TRY(make_reference(o, container));
  if (naming != HR_NAMED_BY_HANDLE) HR_TRY(enter_name(l, o, container));
  hr_step_locals_add(l, &o->step);
  return hr_flow_object_give(k, o, container, naming);
}

/* --- finding ------------------------------------------------------------------------------------------------------------------------ */
static hr_status_t find_by_strings(const hr_kernel_ctx_t* k, const hr_tensor_t* names, const hr_resource_type_t* type,
                                   hr_resource_t** out) {
  hr_step_locals_t* l;
  if (names->dtype != HR_STRING || names->count != 2)
    return HR_ERROR(INVALID_ARGUMENT, "input 0 does not name a %s: a vector of container and name should", type->name);
  HR_TRY(hr_flow_locals(k, &l));
  hr_resources_t* table = hr_step_locals_get(l);
  if (!table) return hr_status_out_of_memory();
  return hr_resources_find(table, hr_tstring_get(names->data), hr_tstring_get((hr_tstring_t*)names->data + 1), type, out);
}

static hr_status_t find_by_ref(const hr_kernel_ctx_t* k, hr_variable_t* v, const hr_resource_type_t* type, hr_resource_t** out) {
  hr_tensor_t names;
  HR_TRY(hr_variable_read(v, &names));
  hr_status_t status = find_by_strings(k, &names, type, out);
  hr_tensor_release(&names);
  return status;
}

static hr_status_t find_by_handle(const hr_tensor_t* t, const hr_resource_type_t* type, hr_resource_t** out) {
  if (t->dtype != HR_RESOURCE || t->count != 1) return HR_ERROR(INVALID_ARGUMENT, "input 0 is not the handle of a %s", type->name);
  const hr_handle_t* h = *(hr_handle_t**)t->data;
  hr_resource_t* r = h ? __atomic_load_n((void**)&h->object, __ATOMIC_ACQUIRE) : NULL;
  if (!r) return HR_ERROR(INVALID_ARGUMENT, "the resource handle in input 0 is empty; the handle of a %s was expected", type->name);
  if (r->type != type) return HR_ERROR(INVALID_ARGUMENT, "the resource handle in input 0 names a %s, not a %s", r->type->name, type->name);
  *out = hr_resource_retain(r);
  return NULL;
}

hr_status_t hr_flow_object_input(const hr_kernel_ctx_t* k, const hr_resource_type_t* type, hr_flow_object_t** out) {
  hr_variable_t* v = hr_input_ref(k, 0);
  const hr_tensor_t* t = hr_input(k, 0);
  hr_resource_t* r = NULL;
  hr_status_t status = v                       ? find_by_ref(k, v, type, &r)
                       : t->dtype == HR_STRING ? find_by_strings(k, t, type, &r)
                                               : find_by_handle(t, type, &r);
  if (!status) *out = (hr_flow_object_t*)r;
  return status;
}
