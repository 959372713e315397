/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes that make tables and hand them out: as a resource handle (V2), or as the older reference to a string vector [container, name].
 * A table without shared_name is its session's alone, unless use_node_name_sharing says that nodes of one name share it. */
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/lookup/table.h"
#include "ops/state/named.h"
#include "rt/variable.h"

extern const hr_op_t hr_op_HashTable, hr_op_HashTableV2, hr_op_MutableHashTable, hr_op_MutableHashTableV2, hr_op_MutableHashTableOfTensors,
    hr_op_MutableHashTableOfTensorsV2;

/* 1. shapes */
static hr_status_t infer_handle(hr_infer_t* s) { /* what a handle can say: type and shape of a value */
  const hr_node_attrs_t* attrs = hr_infer_attrs(s);
  const hr_attr_t* shape = hr_attrs_find(attrs, "value_shape");
  hr_infer_set(s, 0, &hr_pshape_scalar);
  hr_infer_set_handle(s, 0, hr_attrs_type(attrs, "value_dtype"), shape ? hr_attrs_shape(attrs, "value_shape") : &hr_pshape_scalar);
  return NULL;
}

/* 2. state: the table, and what names it */
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

static hr_status_t find_table(hr_prepare_ctx_t* p, hr_str_t name, hr_resource_t** out) {
  make_t m = {(hr_table_kind_t)(intptr_t)p->kernel->arg, hr_attrs_type(p->attrs, "key_dtype"), hr_attrs_type(p->attrs, "value_dtype"),
              hr_shape_scalar(), name};
  if (m.kind == HR_TABLE_OF_TENSORS && !hr_pshape_to_shape(hr_attrs_shape(p->attrs, "value_shape"), &m.shape))
    return HR_ERROR(INVALID_ARGUMENT, "attr 'value_shape' is not fully defined, a table needs the shape of its values");
  HR_TRY(hr_resources_find_or_create(p->resources, hr_attrs_str(p->attrs, "container"), name, &hr_table_type, make_table, &m, out));
  hr_status_t status = check_shared((hr_table_t*)*out, &m);
  if (status) hr_resource_release(*out), *out = NULL;
  return status;
}

static hr_status_t create_handle(hr_prepare_ctx_t* p, void* state) {
  return hr_named_create(state, p, hr_attrs_bool(p->attrs, "use_node_name_sharing"), find_table, HR_NAMED_HANDLE);
}
static hr_status_t create_reference(hr_prepare_ctx_t* p, void* state) {
  return hr_named_create(state, p, hr_attrs_bool(p->attrs, "use_node_name_sharing"), find_table, HR_NAMED_REFERENCE);
}

/* 3. the table behind an input */
hr_status_t hr_table_input(const hr_kernel_ctx_t* k, hr_table_t** out) {
  hr_resource_t* r = NULL;
  HR_TRY(hr_named_input(k, "table", &hr_table_type, &r));
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
                                            .state_bytes = sizeof(hr_named_t),                                   \
                                            .create_state = create_fn,                                        \
                                            .destroy_state = hr_named_drop,                                      \
                                            .compute = give_fn,                                               \
                                            .arg = (const void*)(intptr_t)which}),                            \
                                .doc = text,                                                                  \
                                HR_HERE}
#define TABLE(Name, more, which, values, text)                                                                             \
  MAKER(Name, "-> table_handle: Ref(string)", more, hr_named_infer_reference, create_reference, hr_named_give_reference, which, \
        values, text);                                                                                                     \
  MAKER(Name##V2, "-> table_handle: resource", more, infer_handle, create_handle, hr_named_give_handle, which, values, text)
TABLE(HashTable, "", HR_TABLE_FIXED, HR_TABLE_VALUES, "a table that is filled once");
TABLE(MutableHashTable, "", HR_TABLE_MUTABLE, HR_TABLE_VALUES | HR_M(VARIANT), "a table of scalars that may change");
TABLE(MutableHashTableOfTensors, "; value_shape: shape = []", HR_TABLE_OF_TENSORS, HR_TABLE_VALUES, "a table of tensors that may change");
