/* SPDX-License-Identifier: Apache-2.0 */
/* Writing checkpoints of version 1: all entries are encoded in memory, sorted by key, put into a table. */
#include <stdlib.h>
#include "base/file.h"
#include "base/vec.h"
#include "io/table.h"
#include "ops/io/legacy.h"
#include "wire/shape_proto.h"

typedef struct { hr_slice_t slice; hr_shape_t full; hr_writer_t key, value; } record_t;

/* --- numbers: field of TensorProto by dtype, and how an element is written there ------------------------------------------------------ */
typedef enum { AS_F32, AS_F64, AS_I64 } number_form_t;
static const struct { uint8_t field, form, parts;
} forms[HR_DTYPE_COUNT] = {[HR_F32] = {5, AS_F32, 1},  [HR_F64] = {6, AS_F64, 1},   [HR_C64] = {9, AS_F32, 2},  [HR_C128] = {12, AS_F64, 2},
                           [HR_I64] = {10, AS_I64, 1}, [HR_I32] = {7, AS_I64, 1},   [HR_I16] = {7, AS_I64, 1},  [HR_I8] = {7, AS_I64, 1},
                           [HR_U8] = {7, AS_I64, 1},   [HR_U16] = {7, AS_I64, 1},   [HR_QI8] = {7, AS_I64, 1},  [HR_QU8] = {7, AS_I64, 1},
                           [HR_QI32] = {7, AS_I64, 1}, [HR_BOOL] = {11, AS_I64, 1}, [HR_F16] = {13, AS_I64, 1}, [HR_STRING] = {8, 0, 0}};

static int64_t integer_at(const hr_tensor_t* t, int64_t i) {
  switch (t->dtype) {
    case HR_I64: return ((const int64_t*)t->data)[i];
    case HR_I32: case HR_QI32: return ((const int32_t*)t->data)[i];
    case HR_I16: return ((const int16_t*)t->data)[i];
    case HR_U16: case HR_F16: return ((const uint16_t*)t->data)[i];
    case HR_I8: case HR_QI8: return ((const int8_t*)t->data)[i];
    default: return ((const uint8_t*)t->data)[i]; /* uint8, quint8, bool */
  }
}

static void encode_numbers(const hr_tensor_t* t, hr_writer_t* w) {
  const uint8_t field = forms[t->dtype].field;
  if (t->dtype == HR_STRING) {
    for (int64_t i = 0; i < t->count; ++i) hr_writer_str(w, field, hr_tstring_get((const hr_tstring_t*)t->data + i));
  } else if (forms[t->dtype].form != AS_I64) { /* little-endian bytes as they stand in memory */
    hr_writer_bytes(w, field, t->data, hr_tensor_bytes(t));
  } else {
    hr_writer_mark_t m = hr_writer_begin(w, field, (size_t)t->count);
    for (int64_t i = 0; i < t->count; ++i) hr_writer_varint(w, (uint64_t)integer_at(t, i));
    hr_writer_end(w, m, (size_t)t->count);
  }
}

static void encode_slice_field(const hr_slice_t* s, uint32_t number, hr_writer_t* w) {
  hr_writer_mark_t m = hr_writer_begin(w, number, 32);
  hr_slice_encode(s, w);
  hr_writer_end(w, m, 32);
}

static hr_status_t encode_record(const hr_legacy_entry_t* e, record_t* r) {
  hr_shape_t part;
  char text[HR_SHAPE_TEXT], other[HR_SHAPE_TEXT];
  const hr_tensor_t* t = e->tensor;
  if (!forms[t->dtype].field) return HR_ERROR(UNIMPLEMENTED, "checkpoints of version 1 do not hold %s", hr_dtype_name((int)t->dtype));
  hr_shape_copy(&r->full, &t->shape);
  hr_slice_all(t->shape.rank, &r->slice);
  if (e->spec.size) HR_TRY(hr_slice_parse_spec(e->spec, &r->full, &r->slice));
  HR_TRY(hr_slice_shape(&r->slice, &r->full, &part));
  if (!hr_shape_equal(&part, &t->shape))
    return HR_ERROR(INVALID_ARGUMENT, "slice '%.*s' has shape %s, the tensor %s", HR_STR_ARG(e->spec), hr_shape_format(&part, text),
                    hr_shape_format(&t->shape, other));
  hr_slice_encode_key(e->name, &r->slice, &r->key);
  hr_writer_mark_t data = hr_writer_begin(&r->value, 2, 1 << 14);
  hr_writer_str(&r->value, 1, e->name);
  encode_slice_field(&r->slice, 2, &r->value);
  hr_writer_mark_t numbers = hr_writer_begin(&r->value, 3, 1 << 14);
  encode_numbers(t, &r->value);
  hr_writer_end(&r->value, numbers, 1 << 14);
  hr_writer_end(&r->value, data, 1 << 14);
  return r->key.failed || r->value.failed ? hr_status_out_of_memory() : NULL;
}

/* --- the list ----------------------------------------------------------------------------------------------------------------------- */
static hr_status_t encode_meta(const hr_legacy_entry_t* entries, const record_t* records, int64_t count, hr_writer_t* w) {
  hr_writer_mark_t meta = hr_writer_begin(w, 1, 1 << 14);
  for (int64_t i = 0; i < count; ++i) {
    bool seen = false;
    for (int64_t j = 0; j < i && !seen; ++j) seen = hr_str_equal(entries[i].name, entries[j].name);
    if (seen) continue; /* listed with its first slice */
    hr_writer_mark_t tensor = hr_writer_begin(w, 1, 64);
    hr_writer_str(w, 1, entries[i].name);
    hr_writer_mark_t shape = hr_writer_begin(w, 2, 32);
    hr_shape_proto_encode(&records[i].full, w);
    hr_writer_end(w, shape, 32);
    hr_writer_u64(w, 3, (uint64_t)entries[i].tensor->dtype);
    for (int64_t j = i; j < count; ++j) {
      if (!hr_str_equal(entries[i].name, entries[j].name)) continue;
      if (!hr_shape_equal(&records[i].full, &records[j].full) || entries[i].tensor->dtype != entries[j].tensor->dtype)
        return HR_ERROR(INVALID_ARGUMENT, "slices of tensor '%.*s' disagree on its dtype or shape", HR_STR_ARG(entries[i].name));
      encode_slice_field(&records[j].slice, 4, w);
    }
    hr_writer_end(w, tensor, 64);
  }
  hr_writer_mark_t versions = hr_writer_begin(w, 2, 4);
  hr_writer_u64(w, 1, 1); /* producer */
  hr_writer_end(w, versions, 4);
  hr_writer_end(w, meta, 1 << 14);
  return w->failed ? hr_status_out_of_memory() : NULL;
}

static int compare_records(const void* a, const void* b) {
  return hr_str_compare(hr_strbuf_view(&((const record_t*)a)->key), hr_strbuf_view(&((const record_t*)b)->key));
}

static hr_status_t write_table(const char* path, const hr_writer_t* meta, record_t* records, int64_t count) {
  hr_table_writer_t table;
  hr_table_writer_init(&table);
  hr_status_t status = hr_table_writer_add(&table, (hr_str_t){"", 0}, hr_strbuf_view(meta));
  qsort(records, (size_t)count, sizeof *records, compare_records);
  for (int64_t i = 0; !status && i < count; ++i) {
    if (i > 0 && compare_records(&records[i - 1], &records[i]) == 0)
      status = HR_ERROR(INVALID_ARGUMENT, "a tensor or slice is saved twice");
    else status = hr_table_writer_add(&table, hr_strbuf_view(&records[i].key), hr_strbuf_view(&records[i].value));
  }
  if (!status) status = hr_table_writer_finish(&table);
  if (!status) status = hr_file_replace(path, table.file.data, table.file.size);
  hr_table_writer_deinit(&table);
  return status;
}

hr_status_t hr_legacy_write(const char* path, const hr_legacy_entry_t* entries, int64_t count) {
  hr_writer_t meta;
  hr_status_t status = NULL;
  record_t* records = hr_alloc_array((size_t)count + 1, sizeof *records);
  if (!records) return hr_status_out_of_memory();
  hr_strbuf_init(&meta);
  for (int64_t i = 0; !status && i < count; ++i)
    status = hr_status_note(encode_record(&entries[i], &records[i]), "tensor '%.*s'", HR_STR_ARG(entries[i].name));
  if (!status) status = encode_meta(entries, records, count, &meta);
  if (!status) status = write_table(path, &meta, records, count);
  for (int64_t i = 0; i < count; ++i) {
    hr_strbuf_deinit(&records[i].key);
    hr_strbuf_deinit(&records[i].value);
  }
  hr_strbuf_deinit(&meta);
  hr_free(records);
  return status;
}
