/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/state/named.h"
#include <stdatomic.h>
#include "base/alloc.h"
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

typedef struct {
  hr_str_t container;
  hr_strbuf_t text;
  bool is_private;
} object_name_t;

static hr_status_t object_name_init(object_name_t* name, const hr_prepare_ctx_t* p, bool nodes_share) {
  static atomic_llong made;
  const hr_str_t shared = hr_attrs_str(p->attrs, "shared_name");
  hr_strbuf_init(&name->text);
  name->container = hr_named_container(p->attrs);
  name->is_private = shared.size == 0 && !nodes_share;
  if (shared.size && shared.data[0] == '_')
    return HR_ERROR(INVALID_ARGUMENT, "shared_name cannot start with '_': '%.*s' (such names are one session's alone)", HR_STR_ARG(shared));
  if (shared.size) hr_strbuf_add_str(&name->text, shared);
  else if (nodes_share) hr_strbuf_add_str(&name->text, hr_str(p->node_name));
  else hr_strbuf_format(&name->text, "_%lld_%s", (long long)atomic_fetch_add_explicit(&made, 1, memory_order_relaxed), p->node_name);
  return name->text.failed ? hr_status_out_of_memory() : NULL;
}

/* Remembers where a private object is, to take it away with the state. */
static hr_status_t keep_place(hr_named_t* n, hr_resources_t* home, const object_name_t* name) {
  const hr_str_t text = hr_strbuf_view(&name->text);
  n->place = hr_alloc(name->container.size + text.size);
  if (!n->place) {
    hr_status_release(hr_resources_remove(home, name->container, text, n->object->type));
    return hr_status_out_of_memory();
  }
  memcpy(n->place, name->container.data, name->container.size);
  memcpy(n->place + name->container.size, text.data, text.size);
  n->container_size = name->container.size;
  n->name_size = text.size;
  n->home = hr_resources_retain(home);
  return NULL;
}

static hr_status_t make_handle(hr_named_t* n, const object_name_t* name) {
  hr_handle_t* h = NULL;
  HR_TRY(hr_named_handle(n->object, name->container, hr_strbuf_view(&name->text), hr_str(n->object->type->name), &h));
  return hr_named_handle_tensor(h, &n->handle);
}
static hr_status_t make_reference(hr_named_t* n, const object_name_t* name) {
  HR_TRY(hr_variable_create(HR_STRING, hr_strbuf_view(&name->text), &n->reference));
  return hr_named_refer(n->reference, name->container, hr_strbuf_view(&name->text));
}

hr_status_t hr_named_create(hr_named_t* n, hr_prepare_ctx_t* p, bool nodes_share, hr_named_find_fn_t find, hr_named_way_t way) {
  object_name_t name;
  hr_status_t status = object_name_init(&name, p, nodes_share);
  if (!status) status = find(p, hr_strbuf_view(&name.text), &n->object);
  if (!status && name.is_private) status = keep_place(n, p->resources, &name);
  if (!status) status = way == HR_NAMED_HANDLE ? make_handle(n, &name) : make_reference(n, &name);
  if (status && n->object) hr_named_drop(n);
  hr_strbuf_deinit(&name.text);
  return status;
}

static void leave_place(const hr_named_t* n) { /* a container that was cleared has it no more */
  const hr_str_t container = {n->place, n->container_size}, name = {n->place + n->container_size, n->name_size};
  hr_status_release(hr_resources_remove(n->home, container, name, n->object->type));
}

void hr_named_drop(void* state) {
  hr_named_t* n = state;
  if (n->home) leave_place(n);
  hr_resources_release(n->home);
  hr_free(n->place);
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
