/* SPDX-License-Identifier: Apache-2.0 */
/* Filling a fixed table once: from vectors of keys and values, or from the lines of a text file. Filling it again with as many entries is
 * allowed and changes nothing, so an initialiser may run twice.
 *
 * Of a line, an index says what is taken: -2 the whole line, -1 its number (from `offset` on), else a column between delimiters. */
#include "base/alloc.h"
#include "base/file.h"
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/io/path.h"
#include "ops/lookup/table.h"

extern const hr_op_t hr_op_InitializeTable, hr_op_InitializeTableV2, hr_op_InitializeTableFromTextFile, hr_op_InitializeTableFromTextFileV2;

enum { WHOLE_LINE = -2, LINE_NUMBER = -1 };

/* 1. shapes */
static hr_status_t infer_table(hr_infer_t* s) { return hr_infer_want_rank(s, 0, hr_infer_input_dtype(s, 0) == HR_RESOURCE ? 0 : 1, NULL); }
static hr_status_t infer_vectors(hr_infer_t* s) {
  const hr_pshape_t *keys, *merged;
  HR_TRY(infer_table(s));
  HR_TRY(hr_infer_want_rank(s, 1, 1, &keys));
  return hr_infer_merge(s, keys, hr_infer_input(s, 2), &merged);
}
static hr_status_t infer_file(hr_infer_t* s) {
  HR_TRY(infer_table(s));
  return hr_infer_want_rank(s, 1, 0, NULL);
}

/* 2. from vectors */
static hr_status_t check_fixed(const hr_table_t* t) {
  return t->kind == HR_TABLE_FIXED ? NULL
                                   : HR_ERROR(INVALID_ARGUMENT, "table '%s' is mutable: entries are inserted, not initialised", t->name);
}

static hr_status_t fill_from_vectors(hr_kernel_ctx_t* k, hr_table_t* t) {
  const hr_tensor_t *keys = hr_input(k, 1), *values = hr_input(k, 2);
  hr_table_rows_t rows = {0};
  HR_TRY(check_fixed(t));
  HR_TRY(hr_table_check_types(t, keys->dtype, values->dtype));
  HR_TRY(hr_want_vector(k, 1, "keys"));
  HR_TRY(hr_want_vector(k, 2, "values"));
  if (keys->count != values->count)
    return HR_ERROR(INVALID_ARGUMENT, "Keys and values must have the same size, not %lld vs %lld", (long long)keys->count,
                    (long long)values->count);
  if (!keys->count) return HR_ERROR(INVALID_ARGUMENT, "there are no keys to initialise table '%s' with", t->name);
  hr_status_t status = NULL;
  for (int64_t i = 0; !status && i < keys->count; ++i) status = hr_table_rows_put(t, &rows, keys, values, i, false);
  if (!status) return hr_table_fill(t, &rows);
  hr_table_rows_deinit(&rows);
  return status;
}

/* 3. from a file */
typedef struct {
  int64_t key_index, value_index, vocab_size, offset;
  hr_str_t delimiter;
} columns_t;

static hr_status_t columns_prepare(hr_prepare_ctx_t* p, void* prepared) {
  columns_t* c = prepared;
  c->key_index = hr_attrs_int(p->attrs, "key_index");
  c->value_index = hr_attrs_int(p->attrs, "value_index");
  c->vocab_size = hr_attrs_int(p->attrs, "vocab_size");
  c->offset = hr_attrs_int(p->attrs, "offset");
  c->delimiter = hr_attrs_str(p->attrs, "delimiter");
  if (c->delimiter.size != 1)
    return HR_ERROR(INVALID_ARGUMENT, "attr 'delimiter' should be one character, not '%.*s'", HR_STR_ARG(c->delimiter));
  return NULL;
}

static hr_status_t check_column(const char* what, int64_t index, hr_dtype_t dtype) {
  if (index == LINE_NUMBER && dtype != HR_I64)
    return HR_ERROR(INVALID_ARGUMENT, "a line's number as %s needs a table with int64 there, not %s", what, hr_dtype_name((int)dtype));
  if (index == WHOLE_LINE && dtype != HR_STRING && dtype != HR_I64)
    return HR_ERROR(INVALID_ARGUMENT, "a whole line as %s needs a table with strings or int64 there, not %s", what,
                    hr_dtype_name((int)dtype));
  return NULL;
}

/* The next line, without its end; carriage returns are dropped in place, as TensorFlow's reader does. */
static bool next_line(char** rest, char* end, hr_str_t* out) {
  if (*rest == end) return false;
  char *stop = memchr(*rest, '\n', (size_t)(end - *rest)), *to = *rest;
  if (!stop) stop = end;
  out->data = to;
  for (char* c = *rest; c < stop; ++c)
    if (*c != '\r') *to++ = *c;
  out->size = (size_t)(to - out->data);
  *rest = stop == end ? end : stop + 1;
  return true;
}

static bool take_column(hr_str_t line, char delimiter, int64_t index, hr_str_t* out) {
  for (; index > 0; --index) {
    const int64_t at = hr_str_find(line, delimiter);
    if (at < 0) return false;
    line = hr_str_slice(line, (size_t)at + 1, line.size);
  }
  const int64_t at = hr_str_find(line, delimiter);
  *out = at < 0 ? line : hr_str_slice(line, 0, (size_t)at);
  return true;
}

static bool parse_into(hr_str_t text, hr_tensor_t* out, hr_status_t* status) {
  int64_t integer;
  double real;
  *status = NULL;
  if (out->dtype == HR_STRING) {
    *status = hr_tstring_set(out->data, text);
    return true;
  }
  text = hr_str_trim(text);
  if (out->dtype == HR_I64 || out->dtype == HR_I32) {
    if (!hr_str_parse_i64(text, &integer)) return false;
    if (out->dtype == HR_I64)
      *(int64_t*)out->data = integer;
    else if (integer < INT32_MIN || integer > INT32_MAX)
      return false;
    else
      *(int32_t*)out->data = (int32_t)integer;
    return true;
  }
  if (out->dtype == HR_BOOL || !hr_str_parse_double(text, &real)) return false;
  if (out->dtype == HR_F32)
    *(float*)out->data = (float)real;
  else
    *(double*)out->data = real;
  return true;
}

/* One key or value out of line number `number`, into a tensor of one element. */
static hr_status_t take_from_line(const columns_t* c, int64_t index, hr_str_t line, int64_t number, hr_tensor_t* out) {
  hr_str_t text = line;
  hr_status_t status;
  if (index == LINE_NUMBER) {
    if (__builtin_add_overflow(number, c->offset, (int64_t*)out->data))
      return HR_ERROR(INVALID_ARGUMENT, "attr 'offset' of %lld is too large", (long long)c->offset);
    return NULL;
  }
  if (index >= 0 && !take_column(line, c->delimiter.data[0], index, &text))
    return HR_ERROR(INVALID_ARGUMENT, "Invalid number of columns: line %lld has no column %lld: '%.*s'", (long long)number,
                    (long long)index, HR_STR_ARG(line));
  if (!parse_into(text, out, &status))
    return HR_ERROR(INVALID_ARGUMENT, "Field %.*s in line %lld is not a valid %s", HR_STR_ARG(text), (long long)number,
                    hr_dtype_name((int)out->dtype));
  return status;
}

static hr_status_t read_lines(const columns_t* c, const hr_table_t* t, char* text, size_t size, hr_table_rows_t* rows) {
  const hr_shape_t one = hr_shape_vector(1);
  hr_tensor_t key = {0}, value = {0};
  hr_str_t line;
  char* end = text + size;
  int64_t number = 0;
  hr_status_t status = hr_tensor_create_zero(t->key_dtype, &one, &key);
  if (!status) status = hr_tensor_create_zero(t->value_dtype, &one, &value);
  for (; !status && (c->vocab_size < 0 || number < c->vocab_size) && next_line(&text, end, &line); ++number) {
    if (!line.size) status = HR_ERROR(INVALID_ARGUMENT, "line %lld is empty", (long long)number);
    if (!status) status = take_from_line(c, c->key_index, line, number, &key);
    if (!status) status = take_from_line(c, c->value_index, line, number, &value);
    if (!status) status = hr_table_rows_put(t, rows, &key, &value, 0, false);
  }
  if (!status && number < c->vocab_size)
    status =
        HR_ERROR(INVALID_ARGUMENT, "Invalid vocab_size: expected %lld but got %lld lines", (long long)c->vocab_size, (long long)number);
  if (!status && !number) status = HR_ERROR(OUT_OF_RANGE, "there are no lines to initialise table '%s' with", t->name);
  hr_tensor_release(&key);
  hr_tensor_release(&value);
  return status;
}

static hr_status_t fill_from_file(hr_kernel_ctx_t* k, hr_table_t* t) {
  const columns_t* c = hr_prepared(k);
  char *path = NULL, *text = NULL;
  size_t size;
  hr_table_rows_t rows = {0};
  HR_TRY(check_fixed(t));
  HR_TRY(check_column("key", c->key_index, t->key_dtype));
  HR_TRY(check_column("value", c->value_index, t->value_dtype));
  HR_TRY(hr_path_input(k, 1, "filename", &path));
  hr_status_t status = hr_file_read(path, &text, &size);
  if (!status) status = hr_status_note(read_lines(c, t, text, size, &rows), "'%s'", path);
  if (!status) status = hr_table_fill(t, &rows);
  hr_table_rows_deinit(&rows);
  hr_free(text);
  hr_free(path);
  return status;
}

/* 4. definitions */
typedef hr_status_t (*fill_fn_t)(hr_kernel_ctx_t* k, hr_table_t* t);
static const fill_fn_t from_vectors = fill_from_vectors, from_file = fill_from_file;
static hr_status_t fill(hr_kernel_ctx_t* k) {
  hr_table_t* t;
  HR_TRY(hr_table_input(k, &t));
  hr_status_t status = (*(const fill_fn_t*)hr_kernel_arg(k))(k, t);
  hr_resource_release(&t->base);
  return status;
}

#define VECTORS(Name, handle, flag)                                                                             \
  const hr_op_t hr_op_##Name = {.name = #Name,                                                                  \
                                .sig = "table_handle: " handle "; keys: Tkey; values: Tval ->",                 \
                                .attrs = "Tkey: type; Tval: type",                                              \
                                .flags = flag,                                                                  \
                                .shape = infer_vectors,                                                         \
                                .grad = hr_grad_none,                                                           \
                                HR_KERNELS({.host_inputs = UINT32_MAX, .compute = fill, .arg = &from_vectors}), \
                                .doc = "fills a table with keys and values",                                    \
                                HR_HERE}
VECTORS(InitializeTable, "Ref(string)", HR_OP_SIDE_EFFECT);
VECTORS(InitializeTableV2, "resource", HR_OP_STATEFUL);

#define TEXT_FILE(Name, handle, flag)                                                                            \
  const hr_op_t hr_op_##Name = {.name = #Name,                                                                   \
                                .sig = "table_handle: " handle "; filename: string ->",                          \
                                .attrs =                                                                         \
                                    "key_index: int >= -2; value_index: int >= -2; vocab_size: int >= -1 = -1; " \
                                    "delimiter: string = '\\t'; offset: int = 0",                                \
                                .flags = flag,                                                                   \
                                .shape = infer_file,                                                             \
                                .grad = hr_grad_none,                                                            \
                                HR_KERNELS({.host_inputs = UINT32_MAX,                                           \
                                            .prepared_bytes = sizeof(columns_t),                                 \
                                            .prepare = columns_prepare,                                          \
                                            .compute = fill,                                                     \
                                            .arg = &from_file}),                                                 \
                                .doc = "fills a table from the lines of a file",                                 \
                                HR_HERE}
TEXT_FILE(InitializeTableFromTextFile, "Ref(string)", HR_OP_SIDE_EFFECT);
TEXT_FILE(InitializeTableFromTextFileV2, "resource", HR_OP_STATEFUL);
