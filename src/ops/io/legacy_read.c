/* SPDX-License-Identifier: Apache-2.0 */
/* Reading checkpoints of version 1. */
#include <glob.h>
#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "io/table.h"
#include "ops/io/legacy.h"
#include "wire/shape_proto.h"
#include "wire/tensor_proto.h"

typedef struct { const hr_table_t* table; hr_slice_t slice; } part_t;
typedef struct { hr_dtype_t dtype; hr_shape_t shape; HR_VEC(part_t) parts; } tensor_t;

struct hr_legacy {
  hr_arena_t arena;           /* names */
  HR_VEC(hr_table_t*) tables;
  HR_VEC(tensor_t*) tensors;
  hr_map_t by_name;           /* -> tensor_t* */
};

bool hr_legacy_exists(const char* pattern) {
  glob_t found = {0};
  const bool any = glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc > 0;
  globfree(&found);
  return any;
}

void hr_legacy_close(hr_legacy_t* l) {
  if (!l) return;
  for (int64_t i = 0; i < l->tables.count; ++i) hr_table_close(l->tables.data[i]);
  for (int64_t i = 0; i < l->tensors.count; ++i) {
    hr_vec_deinit(&l->tensors.data[i]->parts);
    hr_free(l->tensors.data[i]);
  }
  hr_vec_deinit(&l->tables);
  hr_vec_deinit(&l->tensors);
  hr_map_deinit(&l->by_name);
  hr_arena_deinit(&l->arena);
  hr_free(l);
}

/* --- the list of tensors ------------------------------------------------------------------------------------------------------------ */
static hr_status_t find_or_add(hr_legacy_t* l, hr_str_t name, hr_dtype_t dtype, const hr_shape_t* shape, tensor_t** out) {
  uintptr_t known;
  if (hr_map_find(&l->by_name, name, &known)) {
    *out = (tensor_t*)known;
    if ((*out)->dtype == dtype && hr_shape_equal(&(*out)->shape, shape)) return NULL;
    return HR_ERROR(DATA_LOSS, "the slices of tensor '%.*s' disagree on its dtype or shape", HR_STR_ARG(name));
  }
  hr_str_t kept;
  if (!hr_arena_str(&l->arena, name, &kept)) return hr_status_out_of_memory();
  tensor_t* t = hr_alloc_zero(sizeof *t);
  if (!t) return hr_status_out_of_memory();
  t->dtype = dtype;
  hr_shape_copy(&t->shape, shape);
  hr_status_t status = hr_vec_push(&l->tensors, t);
  if (status) hr_free(t);
  else status = hr_map_set(&l->by_name, kept, (uintptr_t)t);
  *out = t;
  return status;
}

static hr_status_t read_tensor_meta(hr_legacy_t* l, const hr_table_t* table, hr_cursor_t span) { /* SavedSliceMeta */
  hr_str_t name = {"", 0};
  hr_shape_t shape = hr_shape_scalar(), part;
  uint64_t dtype = 0;
  tensor_t* t = NULL;
  hr_field_t f;
  for (hr_cursor_t c = span; !hr_cursor_is_done(&c);) {
    HR_TRY(hr_cursor_next(&c, &f));
    if (f.key == HR_KEY_SPAN(1)) name = hr_cursor_str(f.span);
    else if (f.key == HR_KEY_SPAN(2)) HR_TRY(hr_shape_proto_decode(f.span, &shape));
    else if (f.key == HR_KEY_VARINT(3)) dtype = f.value;
  }
  if (dtype == 0 || dtype >= HR_DTYPE_COUNT)
    return HR_ERROR(DATA_LOSS, "tensor '%.*s' has dtype %llu", HR_STR_ARG(name), (unsigned long long)dtype);
  HR_TRY(find_or_add(l, name, (hr_dtype_t)dtype, &shape, &t));
  for (hr_cursor_t c = span; !hr_cursor_is_done(&c);) {
    part_t p = {.table = table};
    HR_TRY(hr_cursor_next(&c, &f));
    if (f.key != HR_KEY_SPAN(4)) continue;
    HR_TRY(hr_slice_decode(f.span, &p.slice));
    HR_TRY(hr_slice_shape(&p.slice, &shape, &part));
    HR_TRY(hr_vec_push(&t->parts, p));
  }
  return NULL;
}

/* The field `number` of SavedTensorSlices; DATA_LOSS when it is not there. */
static hr_status_t inside(hr_str_t value, uint32_t number, hr_cursor_t* out) {
  hr_cursor_t c = hr_cursor_make(value.data, value.size);
  while (!hr_cursor_is_done(&c)) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&c, &f));
    if (f.key != HR_KEY_SPAN(number)) continue;
    *out = f.span;
    return NULL;
  }
  return HR_ERROR(DATA_LOSS, "not a checkpoint of version 1");
}

static hr_status_t read_meta(hr_legacy_t* l, const hr_table_t* table, hr_str_t value) {
  hr_cursor_t meta;
  HR_TRY(inside(value, 1, &meta));
  while (!hr_cursor_is_done(&meta)) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&meta, &f));
    if (f.key == HR_KEY_SPAN(1)) HR_TRY(read_tensor_meta(l, table, f.span));
  }
  return NULL;
}

static hr_status_t as_data_loss_if(hr_status_t take_status, hr_code_t code) {
  if (hr_status_code(take_status) != code) return take_status;
  hr_status_t told = HR_ERROR(DATA_LOSS, "%s", hr_status_message(take_status));
  hr_status_release(take_status);
  return told;
}
static hr_status_t as_data_loss(hr_status_t take_status) { /* bytes that do not parse */
  return as_data_loss_if(take_status, HR_INVALID_ARGUMENT);
}

static hr_status_t open_file(hr_legacy_t* l, const char* path) {
  hr_table_t* table = NULL;
  hr_table_iter_t it;
  hr_status_t status = hr_table_open(path, &table);
  if (status) return as_data_loss_if(status, HR_FAILED_PRECONDITION); /* a directory */
  status = hr_vec_push(&l->tables, table);
  if (status) {
    hr_table_close(table);
    return status;
  }
  hr_table_iter_init(&it, table);
  status = hr_table_iter_first(&it);
  if (!status && (!hr_table_iter_is_valid(&it) || hr_table_iter_key(&it).size != 0))
    status = HR_ERROR(DATA_LOSS, "the table has no list of tensors");
  if (!status) status = read_meta(l, table, hr_table_iter_value(&it));
  hr_table_iter_deinit(&it);
  return hr_status_note(as_data_loss(status), "'%s'", path);
}

hr_status_t hr_legacy_open(const char* pattern, hr_legacy_t** out) {
  glob_t found = {0};
  hr_status_t status = NULL;
  hr_legacy_t* l = hr_alloc_zero(sizeof *l);
  if (!l) return hr_status_out_of_memory();
  hr_arena_init(&l->arena);
  hr_map_init(&l->by_name);
  const int rc = glob(pattern, 0, NULL, &found);
  if (rc == GLOB_NOSPACE) status = hr_status_out_of_memory();
  else if (rc != 0) status = HR_ERROR(NOT_FOUND, "Failed to find any matching files for '%s'", pattern);
  for (size_t i = 0; !status && i < found.gl_pathc; ++i) status = open_file(l, found.gl_pathv[i]);
  globfree(&found);
  if (status) hr_legacy_close(l);
  else *out = l;
  return status;
}

/* --- slices ------------------------------------------------------------------------------------------------------------------------- */
/* A slice's TensorProto states neither dtype nor shape: they are put before it. */
static hr_status_t decode_numbers(hr_cursor_t proto, hr_dtype_t dtype, const hr_shape_t* shape, hr_tensor_t* out) {
  hr_writer_t w;
  const size_t size = hr_cursor_left(&proto);
  hr_strbuf_init(&w);
  hr_writer_u64(&w, 1, (uint64_t)dtype);
  hr_writer_mark_t m = hr_writer_begin(&w, 2, 64);
  hr_shape_proto_encode(shape, &w);
  hr_writer_end(&w, m, 64);
  hr_strbuf_add(&w, proto.at, size);
  hr_status_t status =
      w.failed ? hr_status_out_of_memory() : hr_tensor_proto_decode(hr_cursor_make(w.data, w.size), HR_TENSOR_PROTO_SPLAT_LIMIT, out);
  hr_strbuf_deinit(&w);
  if (status || (out->dtype == dtype && hr_shape_equal(&out->shape, shape))) return status;
  hr_tensor_release(out);
  return HR_ERROR(DATA_LOSS, "a slice's dtype or shape is not what the list of tensors says");
}

static hr_status_t decode_slice(hr_str_t value, hr_dtype_t dtype, const hr_shape_t* shape, hr_tensor_t* out) {
  hr_cursor_t data;
  HR_TRY(inside(value, 2, &data));
  while (!hr_cursor_is_done(&data)) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&data, &f));
    if (f.key == HR_KEY_SPAN(3)) return decode_numbers(f.span, dtype, shape, out);
  }
  return HR_ERROR(DATA_LOSS, "a slice has no numbers");
}

static hr_status_t read_part(const tensor_t* t, const part_t* p, hr_str_t name, hr_tensor_t* out) {
  hr_table_iter_t it;
  hr_strbuf_t key;
  hr_shape_t shape;
  HR_TRY(hr_slice_shape(&p->slice, &t->shape, &shape));
  hr_strbuf_init(&key);
  hr_slice_encode_key(name, &p->slice, &key);
  hr_table_iter_init(&it, p->table);
  hr_status_t status = key.failed ? hr_status_out_of_memory() : hr_table_iter_seek(&it, hr_strbuf_view(&key));
  if (!status && (!hr_table_iter_is_valid(&it) || !hr_str_equal(hr_table_iter_key(&it), hr_strbuf_view(&key))))
    status = HR_ERROR(DATA_LOSS, "a slice of tensor '%.*s' is listed but not there", HR_STR_ARG(name));
  if (!status) status = as_data_loss(decode_slice(hr_table_iter_value(&it), t->dtype, &shape, out));
  hr_table_iter_deinit(&it);
  hr_strbuf_deinit(&key);
  return status;
}

static hr_status_t gather_parts(const tensor_t* t, hr_str_t name, const hr_slice_t* wanted, hr_tensor_t* out) {
  int64_t have = 0;
  for (int64_t i = 0; i < t->parts.count && have < out->count; ++i) {
    const part_t* p = &t->parts.data[i];
    hr_tensor_t numbers = {0};
    int64_t copied = 0;
    if (!hr_slice_overlaps(&p->slice, wanted, &t->shape)) continue;
    HR_TRY(read_part(t, p, name, &numbers));
    hr_status_t status = hr_slice_copy(&t->shape, &p->slice, &numbers, wanted, out, &copied);
    hr_tensor_release(&numbers);
    if (status) return status;
    have += copied;
  }
  return have >= out->count ? NULL
                            : HR_ERROR(NOT_FOUND, "the checkpoint has %lld of %lld elements of the slice of tensor '%.*s'", (long long)have,
                                       (long long)out->count, HR_STR_ARG(name));
}

static hr_status_t wanted_slice(const tensor_t* t, hr_str_t name, hr_str_t spec, hr_slice_t* out) {
  hr_shape_t full;
  char text[HR_SHAPE_TEXT], other[HR_SHAPE_TEXT];
  if (spec.size == 0) {
    hr_slice_all(t->shape.rank, out);
    return NULL;
  }
  HR_TRY(hr_slice_parse_spec(spec, &full, out));
  if (hr_shape_equal(&full, &t->shape)) return NULL;
  return HR_ERROR(INVALID_ARGUMENT, "a slice of shape %s was asked for; tensor '%.*s' has %s", hr_shape_format(&full, text),
                  HR_STR_ARG(name), hr_shape_format(&t->shape, other));
}

hr_status_t hr_legacy_read(const hr_legacy_t* l, hr_str_t name, hr_str_t spec, hr_dtype_t dtype, hr_tensor_t* out) {
  uintptr_t found;
  hr_slice_t wanted;
  hr_shape_t shape;
  if (!hr_map_find(&l->by_name, name, &found)) return HR_ERROR(NOT_FOUND, "tensor '%.*s' is not in the checkpoint", HR_STR_ARG(name));
  const tensor_t* t = (const tensor_t*)found;
  if (t->dtype != dtype)
    return HR_ERROR(INVALID_ARGUMENT, "tensor '%.*s' is stored as %s, not %s", HR_STR_ARG(name), hr_dtype_name((int)t->dtype),
                    hr_dtype_name((int)dtype));
  HR_TRY(wanted_slice(t, name, spec, &wanted));
  HR_TRY(hr_slice_shape(&wanted, &t->shape, &shape));
  HR_TRY(hr_tensor_create_zero(dtype, &shape, out));
  hr_status_t status = gather_parts(t, name, &wanted, out);
  if (status) hr_tensor_release(out);
  return status;
}
