/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes that make tables and hand them out: as a resource handle (V2), or as the older reference to a string vector [container, name].
 * A table without shared_name is named after its node, under a name that no other node can ask for unless use_node_name_sharing. */
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/lookup/table.h"
#include "rt/variable.h"

extern const hr_op_t hr_op_HashTable, hr_op_HashTableV2, hr_op_MutableHashTable, hr_op_MutableHashTableV2, hr_op_MutableHashTableOfTensors,
    hr_op_MutableHashTableOfTensorsV2;

/* 1. shapes */
static hr_status_t infer_reference(hr_infer_t* s) { return hr_infer_set_vector(s, 0, 2); }
static hr_status_t infer_handle(hr_infer_t* s) { /* what a handle can say: type and shape of a value */
  const hr_node_attrs_t* attrs = hr_infer_attrs(s);
  const hr_attr_t* shape = hr_attrs_find(attrs, "value_shape");
  hr_infer_set(s, 0, &hr_pshape_scalar);
  hr_infer_set_handle(s, 0, hr_attrs_type(attrs, "value_dtype"), shape ? hr_attrs_shape(attrs, "value_shape") : &hr_pshape_scalar);
  return NULL;
}

/* 2. state: the table, and the tensor that names it */
typedef struct {
  hr_table_t* table;
  hr_tensor_t handle;
  hr_variable_t* reference;
} maker_t;

typedef struct {
  hr_table_kind_t kind;
  hr_dtype_t key, value;
  hr_shape_t shape;
  hr_str_t name;
} make_t;
static hr_status_t make_table(void* arg, hr_resource_t** out) {
  const make_t* m = arg;
  hr_table_t* t;
  HR_TRY(hr_table_create(m->kind, m->key, m->value, &m->shape, m->name, &t));
  *out = &t->base;
  return NULL;
}

static hr_status_t check_shared(const hr_table_t* t, const make_t* m) {
  if (t->kind == m->kind && hr_shape_equal(&t->value_shape, &m->shape)) return hr_table_check_types(t, m->key, m->value);
  return HR_ERROR(INVALID_ARGUMENT, "table '%s' exists and is of another kind or value shape", t->name);
}

static hr_status_t make_name(hr_prepare_ctx_t* p, hr_strbuf_t* text) {
  const hr_str_t shared = hr_attrs_str(p->attrs, "shared_name");
  if (shared.size)
    hr_strbuf_add_str(text, shared);
  else
    hr_strbuf_format(text, "%s%s", hr_attrs_bool(p->attrs, "use_node_name_sharing") ? "" : "_private/", p->node_name);
  return text->failed ? hr_status_out_of_memory() : NULL;
}

static hr_status_t find_table(hr_prepare_ctx_t* p, maker_t* state) {
  make_t m = {(hr_table_kind_t)(intptr_t)p->kernel->arg, hr_attrs_type(p->attrs, "key_dtype"), hr_attrs_type(p->attrs, "value_dtype"),
              hr_shape_scalar(), HR_STR("")};
  hr_resource_t* r = NULL;
  hr_strbuf_t name;
  if (m.kind == HR_TABLE_OF_TENSORS && !hr_pshape_to_shape(hr_attrs_shape(p->attrs, "value_shape"), &m.shape))
    return HR_ERROR(INVALID_ARGUMENT, "attr 'value_shape' is not fully known, a table needs the shape of its values");
  hr_strbuf_init(&name);
  hr_status_t status = make_name(p, &name);
  m.name = hr_strbuf_view(&name);
  if (!status)
    status = hr_resources_find_or_create(p->resources, hr_attrs_str(p->attrs, "container"), m.name, &hr_table_type, make_table, &m, &r);
  hr_strbuf_deinit(&name);
  state->table = (hr_table_t*)r;
  return status ? status : check_shared(state->table, &m);
}

static void maker_drop(void* state) {
  maker_t* m = state;
  hr_tensor_release(&m->handle);
  if (m->reference) hr_resource_release(&m->reference->base);
  if (m->table) hr_resource_release(&m->table->base);
  *m = (maker_t){0};
}

static hr_str_t container_of(hr_prepare_ctx_t* p) {
  const hr_str_t container = hr_attrs_str(p->attrs, "container");
  return container.size ? container : HR_STR("localhost");
}

static void release_object(void* object) { hr_resource_release(object); }
static hr_status_t make_handle(hr_prepare_ctx_t* p, maker_t* m) {
  const hr_shape_t scalar = hr_shape_scalar();
  hr_handle_t* h = hr_handle_create(HR_STR("/job:localhost/replica:0/task:0/device:CPU:0"), container_of(p), hr_str(m->table->name),
                                    hr_str(hr_table_type.name));
  if (!h) return hr_status_out_of_memory();
  h->object = hr_resource_retain(&m->table->base);
  h->release_object = release_object;
  hr_status_t status = hr_tensor_create(HR_RESOURCE, &scalar, &m->handle);
  if (status)
    hr_handle_release(h);
  else
    *(hr_handle_t**)m->handle.data = h;
  return status;
}

static hr_status_t make_reference(hr_prepare_ctx_t* p, maker_t* m) {
  const hr_shape_t pair = hr_shape_vector(2);
  hr_tensor_t names = {0};
  HR_TRY(hr_variable_create(HR_STRING, hr_str(m->table->name), &m->reference));
  hr_status_t status = hr_tensor_create(HR_STRING, &pair, &names);
  if (!status) status = hr_tstring_set(names.data, container_of(p));
  if (!status) status = hr_tstring_set((hr_tstring_t*)names.data + 1, hr_str(m->table->name));
  if (!status) status = hr_variable_assign(m->reference, &names);
  hr_tensor_release(&names);
  return status;
}

static hr_status_t create(hr_prepare_ctx_t* p, maker_t* m, hr_status_t (*name_it)(hr_prepare_ctx_t*, maker_t*)) {
  hr_status_t status = find_table(p, m);
  if (!status) status = name_it(p, m);
  if (status) maker_drop(m);
  return status;
}
static hr_status_t create_handle(hr_prepare_ctx_t* p, void* state) { return create(p, state, make_handle); }
static hr_status_t create_reference(hr_prepare_ctx_t* p, void* state) { return create(p, state, make_reference); }

static hr_status_t give_handle(hr_kernel_ctx_t* k) {
  hr_output_share(k, 0, &((maker_t*)hr_state(k))->handle);
  return NULL;
}
static hr_status_t give_reference(hr_kernel_ctx_t* k) {
  hr_output_ref(k, 0, ((maker_t*)hr_state(k))->reference);
  return NULL;
}

/* 3. the table behind an input */
static hr_status_t table_of_names(const hr_kernel_ctx_t* k, const hr_tensor_t* names, hr_resource_t** out) {
  if (names->dtype != HR_STRING || names->count != 2) return HR_ERROR(INVALID_ARGUMENT, "input 0 does not name a table");
  return hr_resources_find(hr_resources_of(k), hr_tstring_get(names->data), hr_tstring_get((hr_tstring_t*)names->data + 1), &hr_table_type,
                           out);
}

hr_status_t hr_table_input(const hr_kernel_ctx_t* k, hr_table_t** out) {
  hr_variable_t* v = hr_input_ref(k, 0);
  const hr_tensor_t* t = hr_input(k, 0);
  hr_resource_t* r = NULL;
  if (v) {
    hr_tensor_t names;
    HR_TRY(hr_variable_read(v, &names));
    hr_status_t status = table_of_names(k, &names, &r);
    hr_tensor_release(&names);
    HR_TRY(status);
  } else if (t->dtype == HR_RESOURCE && t->count == 1) {
    HR_TRY(hr_resources_of_handle(hr_resources_of(k), *(hr_handle_t**)t->data, &hr_table_type, &r));
  } else {
    return HR_ERROR(INVALID_ARGUMENT, "input 0 is not a handle of a table");
  }
  *out = (hr_table_t*)r;
  return NULL;
}

/* 4. definitions */
#define COMMON "container: string = ''; shared_name: string = ''; use_node_name_sharing: bool = false; key_dtype: type; value_dtype: type"
#define MAKER(Name, signature, more, infer_fn, create_fn, give_fn, which, values, text)                       \
  const hr_op_t hr_op_##Name = {.name = #Name,                                                                \
                                .sig = signature,                                                             \
                                .attrs = COMMON more,                                                         \
                                .flags = HR_OP_STATEFUL,                                                      \
                                .shape = infer_fn,                                                            \
                                .grad = hr_grad_none,                                                         \
                                HR_KERNELS({.where = {{"key_dtype", HR_TABLE_KEYS}, {"value_dtype", values}}, \
                                            .host_outputs = 1,                                                \
                                            .state_bytes = sizeof(maker_t),                                   \
                                            .create_state = create_fn,                                        \
                                            .destroy_state = maker_drop,                                      \
                                            .compute = give_fn,                                               \
                                            .arg = (const void*)(intptr_t)which}),                            \
                                .doc = text,                                                                  \
                                HR_HERE}
#define TABLE(Name, more, which, values, text)                                                                               \
  MAKER(Name, "-> table_handle: Ref(string)", more, infer_reference, create_reference, give_reference, which, values, text); \
  MAKER(Name##V2, "-> table_handle: resource", more, infer_handle, create_handle, give_handle, which, values, text)
TABLE(HashTable, "", HR_TABLE_FIXED, HR_TABLE_VALUES, "a table that is filled once");
TABLE(MutableHashTable, "", HR_TABLE_MUTABLE, HR_TABLE_VALUES | HR_M(VARIANT), "a table of scalars that may change");
TABLE(MutableHashTableOfTensors, "; value_shape: shape = []", HR_TABLE_OF_TENSORS, HR_TABLE_VALUES, "a table of tensors that may change");
