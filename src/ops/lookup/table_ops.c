/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and changing tables: Find (a key that is missing gives the default: one value, or one
 * for each key, of which a fixed table takes the first), Size, Export, and for mutable
 * tables Insert, Remove and Import (replaces everything). A fixed table takes an Import as its filling; one that is not filled has the size
 * 0 and no values to find (FAILED_PRECONDITION). Export gives the entries in the order they came. */
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/lookup/table.h"

#define FORMS(Name) extern const hr_op_t hr_op_##Name, hr_op_##Name##V2
FORMS(LookupTableFind);
FORMS(LookupTableInsert);
FORMS(LookupTableImport);
FORMS(LookupTableExport);
FORMS(LookupTableSize);
extern const hr_op_t hr_op_LookupTableRemoveV2;

/* 1. shapes; a reference says nothing of the table, a handle the type and shape of its values */
static hr_status_t infer_table(hr_infer_t* s, const char* value_attr, const hr_pshape_t** value_shape) {
  hr_dtype_t held = HR_DTYPE_INVALID;
  *value_shape = NULL;
  if (hr_infer_input_dtype(s, 0) != HR_RESOURCE) return hr_infer_want_rank(s, 0, 1, NULL);
  HR_TRY(hr_infer_want_rank(s, 0, 0, NULL));
  hr_infer_handle(s, 0, &held, value_shape);
  if (held == HR_DTYPE_INVALID || !value_attr || held == hr_attrs_type(hr_infer_attrs(s), value_attr)) return NULL;
  return HR_ERROR(INVALID_ARGUMENT, "the table has values of %s, not of %s", hr_dtype_name((int)held),
                  hr_dtype_name((int)hr_attrs_type(hr_infer_attrs(s), value_attr)));
}

static hr_status_t set_values_shape(hr_infer_t* s, int output, const hr_pshape_t* keys, const hr_pshape_t* value) {
  int64_t dims[2 * HR_MAX_RANK];
  if (!value || keys->rank < 0 || value->rank < 0 || keys->rank > HR_MAX_RANK || value->rank > HR_MAX_RANK) {
    hr_infer_set(s, output, &hr_pshape_unknown);
    return NULL;
  }
  for (int i = 0; i < keys->rank; ++i) dims[i] = keys->dims[i];
  for (int i = 0; i < value->rank; ++i) dims[keys->rank + i] = value->dims[i];
  return hr_infer_set_dims(s, output, keys->rank + value->rank, dims);
}

static hr_status_t infer_find(hr_infer_t* s) {
  const hr_pshape_t* value;
  HR_TRY(infer_table(s, "Tout", &value));
  return set_values_shape(s, 0, hr_infer_input(s, 1), value);
}
static hr_status_t infer_write(hr_infer_t* s) {
  const hr_pshape_t* value;
  return infer_table(s, "Tout", &value);
}
static hr_status_t infer_import(hr_infer_t* s) {
  HR_TRY(hr_infer_want_rank(s, 1, 1, NULL));
  return infer_write(s);
}
static hr_status_t infer_remove(hr_infer_t* s) {
  const hr_pshape_t* value;
  return infer_table(s, NULL, &value);
}
static hr_status_t infer_size(hr_infer_t* s) {
  const hr_pshape_t* value;
  HR_TRY(infer_table(s, NULL, &value));
  return hr_infer_scalars(s);
}
static hr_status_t infer_export(hr_infer_t* s) {
  const hr_pshape_t *value, *keys;
  HR_TRY(infer_table(s, "Tvalues", &value));
  HR_TRY(hr_infer_unknown_of_rank(s, 1, &keys));
  hr_infer_set(s, 0, keys);
  return set_values_shape(s, 1, keys, value);
}

/* 2. checks */
static hr_status_t values_shape(const hr_table_t* t, const hr_shape_t* keys, hr_shape_t* out) {
  hr_shape_copy(out, keys);
  for (int i = 0; i < t->value_shape.rank; ++i) HR_TRY(hr_shape_append(out, t->value_shape.dims[i]));
  return NULL;
}

static hr_status_t shape_error(const char* what, const hr_shape_t* want, const hr_shape_t* got) {
  char a[HR_SHAPE_TEXT], b[HR_SHAPE_TEXT];
  return HR_ERROR(INVALID_ARGUMENT, "Expected shape %s for %s, got %s", hr_shape_format(want, a), what, hr_shape_format(got, b));
}

static hr_status_t check_entries(const hr_table_t* t, const hr_tensor_t* keys, const hr_tensor_t* values) {
  hr_shape_t want;
  HR_TRY(hr_table_check_types(t, keys->dtype, values->dtype));
  HR_TRY(values_shape(t, &keys->shape, &want));
  return hr_shape_equal(&want, &values->shape) ? NULL : shape_error("value", &want, &values->shape);
}

static hr_status_t check_mutable(const hr_table_t* t, const char* what) {
  if (t->kind != HR_TABLE_FIXED) return NULL;
  return HR_ERROR(UNIMPLEMENTED, "%s not supported by table '%s', which is filled once", what, t->name);
}

/* 3. kernels: each locks a mutable table, and reads a fixed one without a lock once it is ready */
static bool lock_table(hr_table_t* t) {
  if (atomic_load_explicit(&t->is_ready, memory_order_acquire)) return false;
  hr_mutex_lock(&t->mu);
  return true;
}
static void unlock_table(hr_table_t* t, bool locked) {
  if (locked) hr_mutex_unlock(&t->mu);
}
static bool is_unfilled(const hr_table_t* t) {
  return t->kind == HR_TABLE_FIXED && !atomic_load_explicit(&t->is_ready, memory_order_acquire);
}
static hr_status_t unfilled(const hr_table_t* t) { return HR_ERROR(FAILED_PRECONDITION, "Table not initialized: '%s'", t->name); }

typedef hr_status_t (*table_fn_t)(hr_kernel_ctx_t* k, hr_table_t* t);
static hr_status_t on_table(hr_kernel_ctx_t* k) { /* the row's function, on the table of input 0 */
  hr_table_t* t;
  HR_TRY(hr_table_input(k, &t));
  hr_status_t status = (*(const table_fn_t*)hr_kernel_arg(k))(k, t);
  hr_resource_release(&t->base);
  return status;
}

typedef struct {
  const hr_table_t* t;
  const hr_tensor_t *keys, *defaults;
  hr_tensor_t* out;
} find_t;
static hr_status_t find_chunk(void* arg, int64_t begin, int64_t end, int chunk) {
  const find_t* f = arg;
  const int64_t width = f->t->width;
  const bool one_default = f->t->kind == HR_TABLE_FIXED || f->defaults->count == width;
  (void)chunk;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t row = hr_table_find(f->t, f->keys, i);
    const hr_tensor_t* from = row < 0 ? f->defaults : &f->t->rows.values;
    HR_TRY(hr_tensor_copy_elements(f->out, i * width, from, row >= 0 ? row * width : one_default ? 0 : i * width, width));
  }
  return NULL;
}

static hr_status_t find(hr_kernel_ctx_t* k, hr_table_t* t) {
  find_t f = {t, hr_input(k, 1), hr_input(k, 2), NULL};
  hr_shape_t shape;
  HR_TRY(hr_table_check_types(t, f.keys->dtype, f.defaults->dtype));
  HR_TRY(values_shape(t, &f.keys->shape, &shape));
  if (!hr_shape_equal(&f.defaults->shape, &t->value_shape) && !hr_shape_equal(&f.defaults->shape, &shape))
    return shape_error("default value", &t->value_shape, &f.defaults->shape);
  HR_TRY(hr_output(k, 0, &shape, &f.out));
  if (is_unfilled(t)) return unfilled(t);
  const bool locked = lock_table(t);
  hr_status_t status = locked ? find_chunk(&f, 0, f.keys->count, 0) : hr_parallel(k, f.keys->count, 50.0, find_chunk, &f);
  unlock_table(t, locked);
  return status;
}

static hr_status_t put_all(const hr_table_t* t, hr_table_rows_t* rows, const hr_tensor_t* keys, const hr_tensor_t* values, bool replace) {
  for (int64_t i = 0; i < keys->count; ++i) HR_TRY(hr_table_rows_put(t, rows, keys, values, i, replace));
  return NULL;
}

static hr_status_t insert(hr_kernel_ctx_t* k, hr_table_t* t) {
  HR_TRY(check_entries(t, hr_input(k, 1), hr_input(k, 2)));
  HR_TRY(check_mutable(t, "Insert"));
  hr_mutex_lock(&t->mu);
  hr_status_t status = put_all(t, &t->rows, hr_input(k, 1), hr_input(k, 2), true);
  hr_mutex_unlock(&t->mu);
  return status;
}

static hr_status_t remove_keys(hr_kernel_ctx_t* k, hr_table_t* t) {
  const hr_tensor_t* keys = hr_input(k, 1);
  HR_TRY(hr_table_check_types(t, keys->dtype, HR_DTYPE_INVALID));
  HR_TRY(check_mutable(t, "Remove"));
  hr_mutex_lock(&t->mu);
  for (int64_t i = 0; i < keys->count; ++i) hr_table_rows_remove(t, &t->rows, keys, i);
  hr_mutex_unlock(&t->mu);
  return NULL;
}

static hr_status_t import(hr_kernel_ctx_t* k, hr_table_t* t) {
  const hr_tensor_t *keys = hr_input(k, 1), *values = hr_input(k, 2);
  hr_table_rows_t rows = {0};
  HR_TRY(check_entries(t, keys, values));
  if (t->kind == HR_TABLE_FIXED && !keys->count)
    return HR_ERROR(INVALID_ARGUMENT, "there are no keys to initialise table '%s' with", t->name);
  hr_status_t status = put_all(t, &rows, keys, values, t->kind != HR_TABLE_FIXED);
  if (!status && t->kind == HR_TABLE_FIXED) return hr_table_fill(t, &rows);
  if (!status) {
    hr_table_rows_t old;
    hr_mutex_lock(&t->mu);
    old = t->rows;
    t->rows = rows;
    hr_mutex_unlock(&t->mu);
    rows = old;
  }
  hr_table_rows_deinit(&rows);
  return status;
}

static hr_status_t export_rows(hr_kernel_ctx_t* k, const hr_table_t* t) {
  hr_tensor_t *keys, *values;
  hr_shape_t shape = hr_shape_vector(t->rows.count), full;
  HR_TRY(values_shape(t, &shape, &full));
  HR_TRY(hr_output(k, 0, &shape, &keys));
  HR_TRY(hr_output(k, 1, &full, &values));
  if (!t->rows.count) return NULL;
  HR_TRY(hr_tensor_copy_elements(keys, 0, &t->rows.keys, 0, t->rows.count));
  return hr_tensor_copy_elements(values, 0, &t->rows.values, 0, t->rows.count * t->width);
}
static hr_status_t export(hr_kernel_ctx_t* k, hr_table_t* t) {
  HR_TRY(hr_table_check_types(t, hr_output_dtype(k, 0), hr_output_dtype(k, 1)));
  if (is_unfilled(t)) return HR_ERROR(ABORTED, "Table not initialized: '%s'", t->name); /* TensorFlow's code */
  const bool locked = lock_table(t);
  hr_status_t status = export_rows(k, t);
  unlock_table(t, locked);
  return status;
}

static hr_status_t size_of(hr_kernel_ctx_t* k, hr_table_t* t) {
  const hr_shape_t scalar = hr_shape_scalar();
  hr_tensor_t* out;
  HR_TRY(hr_output(k, 0, &scalar, &out));
  const bool locked = lock_table(t);
  *(int64_t*)out->data = t->rows.count;
  unlock_table(t, locked);
  return NULL;
}

static const table_fn_t find_fn = find, insert_fn = insert, remove_fn = remove_keys, import_fn = import, export_fn = export,
                        size_fn = size_of;

/* 4. definitions */
#define ONE(Name, signature, more, flag, infer_fn, grad_fn, fn, text)                                                                 \
  const hr_op_t hr_op_##Name = {.name = #Name,                                                                                        \
                                .sig = signature,                                                                                     \
                                .attrs = more,                                                                                        \
                                .flags = flag,                                                                                        \
                                .shape = infer_fn,                                                                                    \
                                .grad = grad_fn,                                                                                      \
                                HR_KERNELS({.host_inputs = UINT32_MAX, .host_outputs = UINT32_MAX, .compute = on_table, .arg = &fn}), \
                                .doc = text,                                                                                          \
                                HR_HERE}
#define BOTH(Name, rest, more, infer_fn, grad_fn, fn, text)                                          \
  ONE(Name, "table_handle: Ref(string)" rest, more, HR_OP_SIDE_EFFECT, infer_fn, grad_fn, fn, text); \
  ONE(Name##V2, "table_handle: resource" rest, more, HR_OP_STATEFUL, infer_fn, grad_fn, fn, text)
#define ENTRIES "Tin: type; Tout: type"
BOTH(LookupTableFind, "; keys: Tin; default_value: Tout -> values: Tout", ENTRIES, infer_find, hr_grad_none, find_fn, "the values of keys");
BOTH(LookupTableInsert, "; keys: Tin; values: Tout ->", ENTRIES, infer_write, hr_grad_none, insert_fn,
     "adds entries, or replaces their values");
BOTH(LookupTableImport, "; keys: Tin; values: Tout ->", ENTRIES, infer_import, NULL, import_fn, "replaces all entries");
BOTH(LookupTableExport, " -> keys: Tkeys; values: Tvalues", "Tkeys: type; Tvalues: type", infer_export, NULL, export_fn, "all entries");
BOTH(LookupTableSize, " -> size: int64", "", infer_size, hr_grad_none, size_fn, "the number of entries");
ONE(LookupTableRemoveV2, "table_handle: resource; keys: Tin ->", "Tin: type", HR_OP_STATEFUL, infer_remove, NULL, remove_fn,
    "removes entries");
