/* SPDX-License-Identifier: Apache-2.0 */
/* The table itself: rows, index, growth. See table.h. */
#include "ops/lookup/table.h"
#include "ops/log/text.h"

#include "base/alloc.h"
#include "base/hash.h"

enum { ROWS_FIRST = 8 };

/* --- keys ----------------------------------------------------------------------------------------------------------------------------- */
static uint64_t key_hash(const hr_tensor_t* keys, int64_t i) {
  if (keys->dtype == HR_I64) return hr_hash_mix((uint64_t)((const int64_t*)keys->data)[i], 0x9e3779b97f4a7c15u);
  if (keys->dtype == HR_I32) return hr_hash_mix((uint64_t)((const int32_t*)keys->data)[i], 0x9e3779b97f4a7c15u);
  const hr_str_t text = hr_tstring_get((const hr_tstring_t*)keys->data + i);
  return hr_hash(text.data, text.size, 0);
}

static bool element_equal(const hr_tensor_t* a, int64_t i, const hr_tensor_t* b, int64_t j) {
  if (a->dtype == HR_STRING)
    return hr_str_equal(hr_tstring_get((const hr_tstring_t*)a->data + i), hr_tstring_get((const hr_tstring_t*)b->data + j));
  const size_t size = hr_dtype_size(a->dtype);
  return memcmp((const char*)a->data + (size_t)i * size, (const char*)b->data + (size_t)j * size, size) == 0;
}

/* --- the index ------------------------------------------------------------------------------------------------------------------------ */
static int64_t index_mask(const hr_table_rows_t* rows) { return 2 * rows->capacity - 1; }

/* The slot that holds the key, or the free one where it would go. */
static int64_t index_seek(const hr_table_rows_t* rows, const hr_tensor_t* keys, int64_t i, uint64_t hash) {
  const int64_t mask = index_mask(rows);
  int64_t slot = (int64_t)hash & mask;
  for (; rows->index[slot]; slot = (slot + 1) & mask) {
    const int64_t row = rows->index[slot] - 1;
    if (rows->hashes[row] == hash && element_equal(&rows->keys, row, keys, i)) break;
  }
  return slot;
}

static void index_add(hr_table_rows_t* rows, int64_t row) { /* the key is not there yet */
  const int64_t mask = index_mask(rows);
  int64_t slot = (int64_t)rows->hashes[row] & mask;
  while (rows->index[slot]) slot = (slot + 1) & mask;
  rows->index[slot] = row + 1;
}

/* Frees a slot and moves those after it up, so that no search ends too early. */
static void index_remove(hr_table_rows_t* rows, int64_t slot) {
  const int64_t mask = index_mask(rows);
  int64_t hole = slot;
  for (int64_t next = (slot + 1) & mask; rows->index[next]; next = (next + 1) & mask) {
    const int64_t home = (int64_t)rows->hashes[rows->index[next] - 1] & mask;
    if (((next - home) & mask) < ((next - hole) & mask)) continue;
    rows->index[hole] = rows->index[next];
    hole = next;
  }
  rows->index[hole] = 0;
}

/* --- rows ----------------------------------------------------------------------------------------------------------------------------- */
void hr_table_rows_deinit(hr_table_rows_t* rows) {
  hr_tensor_release(&rows->keys);
  hr_tensor_release(&rows->values);
  hr_free(rows->hashes);
  hr_free(rows->index);
  *rows = (hr_table_rows_t){0};
}

static hr_status_t rows_allocate(const hr_table_t* t, int64_t capacity, hr_table_rows_t* out) {
  int64_t elements;
  const hr_shape_t keys = hr_shape_vector(capacity);
  if (!hr_i64_mul(capacity, t->width, &elements)) return hr_status_out_of_memory();
  const hr_shape_t values = hr_shape_vector(elements);
  HR_TRY(hr_tensor_create(t->key_dtype, &keys, &out->keys));
  HR_TRY(hr_tensor_create(t->value_dtype, &values, &out->values));
  out->hashes = hr_alloc_array((size_t)capacity, sizeof *out->hashes);
  out->index = hr_alloc_array(2 * (size_t)capacity, sizeof *out->index);
  out->capacity = capacity;
  return out->hashes && out->index ? NULL : hr_status_out_of_memory();
}

static hr_status_t rows_grow(const hr_table_t* t, hr_table_rows_t* rows) {
  hr_table_rows_t larger = {0};
  hr_status_t status = rows_allocate(t, rows->capacity ? 2 * rows->capacity : ROWS_FIRST, &larger);
  if (!status && rows->count) status = hr_tensor_copy_elements(&larger.keys, 0, &rows->keys, 0, rows->count);
  if (!status && rows->count) status = hr_tensor_copy_elements(&larger.values, 0, &rows->values, 0, rows->count * t->width);
  if (!status) {
    if (rows->count) memcpy(larger.hashes, rows->hashes, (size_t)rows->count * sizeof *rows->hashes);
    for (; larger.count < rows->count; ++larger.count) index_add(&larger, larger.count);
    hr_table_rows_deinit(rows);
    *rows = larger;
  } else {
    hr_table_rows_deinit(&larger);
  }
  return status;
}

static void print_element(const hr_tensor_t* from, int64_t i, hr_strbuf_t* out) {
  const hr_shape_t scalar = hr_shape_scalar();
  hr_tensor_t one = {0};
  hr_status_t status = hr_tensor_create(from->dtype, &scalar, &one);
  if (!status) status = hr_tensor_copy_elements(&one, 0, from, i, 1);
  if (!status) hr_log_text(&one, 1, out);
  out->failed |= status != NULL;
  hr_status_release(status);
  hr_tensor_release(&one);
}

static hr_status_t other_value_error(const hr_table_t* t, const hr_table_rows_t* rows, int64_t row, const hr_tensor_t* values, int64_t i) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  print_element(&rows->keys, row, &text);
  hr_strbuf_add_str(&text, HR_STR(" has "));
  print_element(&rows->values, row * t->width, &text);
  hr_strbuf_add_str(&text, HR_STR(" and trying to add value "));
  print_element(values, i * t->width, &text);
  hr_status_t status = text.failed ? hr_status_out_of_memory()
                                   : HR_ERROR(FAILED_PRECONDITION, "HashTable has different value for same key. Key %.*s (table '%s')",
                                              HR_STR_ARG(hr_strbuf_view(&text)), t->name);
  hr_strbuf_deinit(&text);
  return status;
}

static hr_status_t rows_check_same(const hr_table_t* t, const hr_table_rows_t* rows, int64_t row, const hr_tensor_t* values, int64_t i) {
  for (int64_t j = 0; j < t->width; ++j)
    if (!element_equal(&rows->values, row * t->width + j, values, i * t->width + j)) return other_value_error(t, rows, row, values, i);
  return NULL;
}

hr_status_t hr_table_rows_put(const hr_table_t* t, hr_table_rows_t* rows, const hr_tensor_t* keys, const hr_tensor_t* values, int64_t i,
                              bool replace) {
  if (rows->count == rows->capacity) HR_TRY(rows_grow(t, rows));
  const uint64_t hash = key_hash(keys, i);
  const int64_t slot = index_seek(rows, keys, i, hash);
  const bool is_new = !rows->index[slot];
  const int64_t row = is_new ? rows->count : rows->index[slot] - 1;
  if (!is_new && !replace) return rows_check_same(t, rows, row, values, i);
  if (is_new) HR_TRY(hr_tensor_copy_elements(&rows->keys, row, keys, i, 1));
  HR_TRY(hr_tensor_copy_elements(&rows->values, row * t->width, values, i * t->width, t->width));
  if (!is_new) return NULL;
  rows->hashes[row] = hash;
  rows->index[slot] = row + 1;
  ++rows->count;
  return NULL;
}

/* Bytes and what they own alike. */
static void swap_elements(hr_tensor_t* t, int64_t a, int64_t b, int64_t width) {
  const size_t size = hr_dtype_size(t->dtype) * (size_t)width;
  char *x = (char*)t->data + (size_t)a * size, *y = (char*)t->data + (size_t)b * size;
  for (size_t i = 0; i < size; ++i) {
    const char c = x[i];
    x[i] = y[i];
    y[i] = c;
  }
}

void hr_table_rows_remove(const hr_table_t* t, hr_table_rows_t* rows, const hr_tensor_t* keys, int64_t i) {
  if (!rows->count) return;
  const int64_t slot = index_seek(rows, keys, i, key_hash(keys, i));
  if (!rows->index[slot]) return;
  const int64_t row = rows->index[slot] - 1, last = rows->count - 1;
  index_remove(rows, slot);
  if (row != last) { /* the last row takes its place */
    const int64_t mask = index_mask(rows);
    int64_t at = (int64_t)rows->hashes[last] & mask;
    while (rows->index[at] != last + 1) at = (at + 1) & mask;
    rows->index[at] = row + 1;
    rows->hashes[row] = rows->hashes[last];
    swap_elements(&rows->keys, row, last, 1);
    swap_elements(&rows->values, row, last, t->width);
  }
  --rows->count;
}

/* --- the table ------------------------------------------------------------------------------------------------------------------------ */
static void table_destroy(hr_resource_t* r) {
  hr_table_t* t = (hr_table_t*)r;
  hr_table_rows_deinit(&t->rows);
  hr_mutex_deinit(&t->mu);
  hr_free(t);
}
const hr_resource_type_t hr_table_type = {"tensorflow::lookup::LookupInterface", table_destroy};

hr_status_t hr_table_create(hr_table_kind_t kind, hr_dtype_t key, hr_dtype_t value, const hr_shape_t* value_shape, hr_str_t name,
                            hr_table_t** out) {
  hr_table_t* t = hr_alloc_zero(sizeof *t + name.size + 1);
  if (!t) return hr_status_out_of_memory();
  hr_resource_init(&t->base, &hr_table_type);
  hr_mutex_init(&t->mu);
  t->kind = kind;
  t->key_dtype = key;
  t->value_dtype = value;
  hr_shape_copy(&t->value_shape, value_shape);
  t->width = hr_shape_count(value_shape);
  memcpy(t->name, name.data, name.size);
  *out = t;
  return NULL;
}

int64_t hr_table_find(const hr_table_t* t, const hr_tensor_t* keys, int64_t i) {
  if (!t->rows.count) return -1;
  return t->rows.index[index_seek(&t->rows, keys, i, key_hash(keys, i))] - 1;
}

hr_status_t hr_table_fill(hr_table_t* t, hr_table_rows_t* take_rows) {
  hr_status_t status = NULL;
  hr_mutex_lock(&t->mu);
  if (atomic_load_explicit(&t->is_ready, memory_order_relaxed)) {
    if (t->rows.count != take_rows->count)
      status = HR_ERROR(FAILED_PRECONDITION, "Table already initialized: '%s' has other data (%lld entries, now %lld)", t->name,
                        (long long)t->rows.count, (long long)take_rows->count);
  } else {
    t->rows = *take_rows;
    *take_rows = (hr_table_rows_t){0};
    atomic_store_explicit(&t->is_ready, true, memory_order_release);
  }
  hr_mutex_unlock(&t->mu);
  hr_table_rows_deinit(take_rows);
  return status;
}

hr_status_t hr_table_check_types(const hr_table_t* t, hr_dtype_t key, hr_dtype_t value) {
  if (key != HR_DTYPE_INVALID && key != t->key_dtype)
    return HR_ERROR(INVALID_ARGUMENT, "Signature mismatch: table '%s' has keys of %s, not of %s", t->name,
                    hr_dtype_name((int)t->key_dtype), hr_dtype_name((int)key));
  if (value != HR_DTYPE_INVALID && value != t->value_dtype)
    return HR_ERROR(INVALID_ARGUMENT, "Signature mismatch: table '%s' has values of %s, not of %s", t->name,
                    hr_dtype_name((int)t->value_dtype), hr_dtype_name((int)value));
  return NULL;
}
