/* SPDX-License-Identifier: Apache-2.0 */
/* AttrValue both ways. A list is read twice: first its elements are counted (so arrays are taken once, bounded by the bytes that
 * are there), then they are stored. Scalar arms and list fields share field numbers, so one table of numbers serves both. */
#include "op/attr_value.h"
#include "op/attr_element.h"
#include "wire/shape_proto.h"
#include "wire/tensor_proto.h"

enum { ATTR_LIST = 1, ATTR_S = 2, ATTR_I = 3, ATTR_F = 4, ATTR_B = 5, ATTR_TYPE = 6, ATTR_SHAPE = 7, ATTR_TENSOR = 8, ATTR_PLACEHOLDER = 9,
       ATTR_FUNC = 10, LIST_FUNC = 9, FUNC_NAME = 1, FUNC_ATTR = 2, ENTRY_KEY = 1, ENTRY_VALUE = 2 };

typedef struct {
  hr_arena_t* arena;
  hr_attr_keeper_t* keeper;
  int depth;
} attr_reader_t;

static hr_status_t attr_read_value(attr_reader_t* r, hr_cursor_t span, hr_attr_t* out);

static hr_status_t attr_read_str(attr_reader_t* r, hr_cursor_t span, hr_str_t* out) {
  return hr_arena_str(r->arena, hr_cursor_str(span), out) ? NULL : hr_status_out_of_memory();
}

static hr_status_t attr_read_tensor(attr_reader_t* r, hr_cursor_t span, const hr_tensor_t** out) {
  hr_tensor_t t = {0};
  hr_attr_keeper_t* k = r->keeper;
  size_t limit = HR_TENSOR_PROTO_SPLAT_LIMIT;
  if (k && k->most_inflated && k->most_inflated - k->inflated < limit) limit = k->most_inflated - k->inflated;
  HR_TRY(hr_tensor_proto_decode(span, limit, &t));
  const size_t bytes = hr_tensor_bytes(&t), brought = hr_cursor_left(&span);
  if (k && k->most_inflated && bytes > brought) k->inflated += bytes - brought < limit ? bytes - brought : limit;
  hr_status_t status = hr_attr_keep_tensor(r->arena, r->keeper, &t, out);
  if (status) hr_tensor_release(&t);
  return status;
}

static hr_status_t attr_read_entry(attr_reader_t* r, hr_cursor_t span, hr_named_attr_t* out) {
  *out = (hr_named_attr_t){.name = HR_STR("")};
  hr_str_t name;
  hr_cursor_t value;
  HR_TRY(hr_cursor_map_entry(span, &name, &value));
  if (!hr_arena_str(r->arena, name, &out->name)) return hr_status_out_of_memory();
  hr_status_t status = attr_read_value(r, value, &out->value);
  return status ? hr_status_note(status, "attr '%.*s': ", HR_STR_ARG(out->name)) : NULL;
}

static hr_status_t attr_read_func_fields(attr_reader_t* r, hr_cursor_t span, hr_func_attr_t* out) {
  size_t attrs = 0;
  *out = (hr_func_attr_t){.name = HR_STR("")};
  for (hr_cursor_t c = span; !hr_cursor_is_done(&c);) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&c, &f));
    attrs += f.key == HR_KEY_SPAN(FUNC_ATTR);
    if (f.key == HR_KEY_SPAN(FUNC_NAME)) HR_TRY(attr_read_str(r, f.span, &out->name));
  }
  if (attrs == 0) return NULL;
  if (attrs > INT32_MAX) return HR_ERROR(INVALID_ARGUMENT, "function '%.*s' has too many attrs: %zu", HR_STR_ARG(out->name), attrs);
  hr_named_attr_t* list = hr_arena_array(r->arena, attrs, sizeof *list);
  if (!list) return hr_status_out_of_memory();
  while (!hr_cursor_is_done(&span)) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&span, &f));
    if (f.key == HR_KEY_SPAN(FUNC_ATTR)) HR_TRY(attr_read_entry(r, f.span, &list[out->attr_count++]));
  }
  out->attrs = list;
  return NULL;
}

static hr_status_t attr_read_func(attr_reader_t* r, hr_cursor_t span, hr_func_attr_t* out) {
  if (r->depth == HR_ATTR_VALUE_DEPTH)
    return HR_ERROR(INVALID_ARGUMENT, "function attrs nest more than %d deep (at byte %zu)", HR_ATTR_VALUE_DEPTH, hr_cursor_offset(&span));
  r->depth += 1;
  hr_status_t status = attr_read_func_fields(r, span, out);
  r->depth -= 1;
  return status;
}

/* --- lists -------------------------------------------------------------------------------------------------------------------- */
static hr_attr_kind_t attr_list_kind(uint32_t field) {
  static const uint8_t kinds[10] = {[ATTR_S] = HR_ATTR_STRING, [ATTR_I] = HR_ATTR_INT, [ATTR_F] = HR_ATTR_FLOAT, [ATTR_B] = HR_ATTR_BOOL,
                                    [ATTR_TYPE] = HR_ATTR_TYPE, [ATTR_SHAPE] = HR_ATTR_SHAPE, [ATTR_TENSOR] = HR_ATTR_TENSOR,
                                    [LIST_FUNC] = HR_ATTR_FUNC};
  return field < 10 ? (hr_attr_kind_t)kinds[field] : HR_ATTR_NONE;
}

static bool attr_list_is_packable(hr_attr_kind_t kind) {
  return kind == HR_ATTR_INT || kind == HR_ATTR_FLOAT || kind == HR_ATTR_BOOL || kind == HR_ATTR_TYPE;
}

static bool attr_list_takes(hr_attr_kind_t kind, uint32_t wire) {
  if (wire == HR_WIRE_SPAN) return kind != HR_ATTR_NONE;
  if (kind == HR_ATTR_FLOAT) return wire == HR_WIRE_FIXED32;
  return attr_list_is_packable(kind) && wire == HR_WIRE_VARINT;
}

static hr_status_t attr_list_count_field(hr_attr_kind_t kind, const hr_field_t* f, size_t* count) {
  bool packed = (f->key & 7) == HR_WIRE_SPAN && attr_list_is_packable(kind);
  if (!packed) {
    *count += 1;
    return NULL;
  }
  if (kind == HR_ATTR_FLOAT) {
    const size_t bytes = hr_cursor_left(&f->span);
    if (bytes % 4)
      return HR_ERROR(INVALID_ARGUMENT, "packed floats at byte %zu: %zu bytes are no multiple of 4", hr_cursor_offset(&f->span), bytes);
    *count += bytes / 4;
    return NULL;
  }
  uint64_t v;
  for (hr_cursor_t c = f->span; !hr_cursor_is_done(&c); ++*count) HR_TRY(hr_cursor_varint(&c, &v));
  return NULL;
}

/* The kind and number of a list's elements; INVALID_ARGUMENT when kinds are mixed. */
static hr_status_t attr_list_count(hr_cursor_t span, hr_attr_kind_t* out_kind, size_t* out_count) {
  *out_kind = HR_ATTR_NONE;
  *out_count = 0;
  while (!hr_cursor_is_done(&span)) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&span, &f));
    hr_attr_kind_t kind = attr_list_kind(f.key >> 3);
    if (!attr_list_takes(kind, f.key & 7)) continue;
    size_t before = *out_count;
    if (*out_kind != HR_ATTR_NONE && *out_kind != kind)
      return HR_ERROR(INVALID_ARGUMENT, "a list has both %s and %s elements", hr_attr_kind_name(*out_kind, false), hr_attr_kind_name(kind,
          false));
    HR_TRY(attr_list_count_field(kind, &f, out_count));
    if (*out_count > before) *out_kind = kind;
  }
  return *out_count <= INT32_MAX ? NULL : HR_ERROR(INVALID_ARGUMENT, "a list has %zu elements, more than fit", *out_count);
}

static hr_status_t attr_list_alloc(attr_reader_t* r, hr_attr_kind_t kind, size_t count, void** out) {
  *out = hr_arena_array(r->arena, count, hr_attr_element_size(kind));
  return *out ? NULL : hr_status_out_of_memory();
}

static void attr_list_put(hr_attr_kind_t kind, void* array, int32_t at, uint64_t value) {
  switch (kind) {
    case HR_ATTR_INT: ((int64_t*)array)[at] = (int64_t)value; break;
    case HR_ATTR_FLOAT: ((float*)array)[at] = hr_cursor_f32((uint32_t)value); break;
    case HR_ATTR_BOOL: ((bool*)array)[at] = value != 0; break;
    default: ((int32_t*)array)[at] = (int32_t)value; break;
  }
}

static hr_status_t attr_list_store(attr_reader_t* r, hr_attr_kind_t kind, const hr_field_t* f, void* array, int32_t* at) {
  if ((f->key & 7) != HR_WIRE_SPAN) {
    attr_list_put(kind, array, (*at)++, f->value);
    return NULL;
  }
  switch (kind) {
    case HR_ATTR_STRING: return attr_read_str(r, f->span, &((hr_str_t*)array)[(*at)++]);
    case HR_ATTR_SHAPE: return hr_shape_proto_decode_partial(r->arena, f->span, &((const hr_pshape_t**)array)[(*at)++]);
    case HR_ATTR_TENSOR: return attr_read_tensor(r, f->span, &((const hr_tensor_t**)array)[(*at)++]);
    case HR_ATTR_FUNC: return attr_read_func(r, f->span, &((hr_func_attr_t*)array)[(*at)++]);
    default: break;
  }
  for (hr_cursor_t c = f->span; !hr_cursor_is_done(&c);) {
    uint64_t value;
    uint32_t word;
    if (kind == HR_ATTR_FLOAT) {
      HR_TRY(hr_cursor_fixed32(&c, &word));
      value = word;
    } else {
      HR_TRY(hr_cursor_varint(&c, &value));
    }
    attr_list_put(kind, array, (*at)++, value);
  }
  return NULL;
}

static hr_status_t attr_read_list(attr_reader_t* r, hr_cursor_t span, hr_attr_t* out) {
  hr_attr_kind_t kind;
  size_t count;
  void* array = NULL;
  HR_TRY(attr_list_count(span, &kind, &count));
  *out = (hr_attr_t){.kind = (uint8_t)kind, .is_list = true};
  if (count == 0) return NULL;
  HR_TRY(attr_list_alloc(r, kind, count, &array));
  out->u.ss = array;
  while (!hr_cursor_is_done(&span)) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&span, &f));
    if (attr_list_kind(f.key >> 3) == kind && attr_list_takes(kind, f.key & 7)) HR_TRY(attr_list_store(r, kind, &f, array, &out->count));
  }
  return NULL;
}

/* --- one value ---------------------------------------------------------------------------------------------------------------- */
static hr_status_t attr_read_func_arm(attr_reader_t* r, hr_cursor_t span, hr_attr_t* out) {
  hr_func_attr_t* func = hr_arena_alloc(r->arena, sizeof *func);
  if (!func) return hr_status_out_of_memory();
  *out = (hr_attr_t){.kind = HR_ATTR_FUNC, .u.func = func};
  return attr_read_func(r, span, func);
}

static hr_status_t attr_read_arm(attr_reader_t* r, const hr_field_t* f, hr_attr_t* out) {
  switch (f->key) {
    case HR_KEY_SPAN(ATTR_LIST): return attr_read_list(r, f->span, out);
    case HR_KEY_SPAN(ATTR_S): *out = (hr_attr_t){.kind = HR_ATTR_STRING}; return attr_read_str(r, f->span, &out->u.s);
    case HR_KEY_SPAN(ATTR_PLACEHOLDER): *out = (hr_attr_t){.kind = HR_ATTR_PLACEHOLDER}; return attr_read_str(r, f->span, &out->u.s);
    case HR_KEY_SPAN(ATTR_SHAPE): *out = (hr_attr_t){.kind = HR_ATTR_SHAPE}; return hr_shape_proto_decode_partial(r->arena, f->span,
        &out->u.shape);
    case HR_KEY_SPAN(ATTR_TENSOR): *out = (hr_attr_t){.kind = HR_ATTR_TENSOR}; return attr_read_tensor(r, f->span, &out->u.tensor);
    case HR_KEY_SPAN(ATTR_FUNC): return attr_read_func_arm(r, f->span, out);
    case HR_KEY_VARINT(ATTR_I): *out = (hr_attr_t){.kind = HR_ATTR_INT, .u.i = (int64_t)f->value}; return NULL;
    case HR_KEY_VARINT(ATTR_B): *out = (hr_attr_t){.kind = HR_ATTR_BOOL, .u.b = f->value != 0}; return NULL;
    case HR_KEY_VARINT(ATTR_TYPE): *out = (hr_attr_t){.kind = HR_ATTR_TYPE, .u.type = (int32_t)f->value}; return NULL;
    case HR_KEY_FIXED32(ATTR_F): *out = (hr_attr_t){.kind = HR_ATTR_FLOAT, .u.f = hr_cursor_f32((uint32_t)f->value)}; return NULL;
    default: return NULL;
  }
}

static hr_status_t attr_read_value(attr_reader_t* r, hr_cursor_t span, hr_attr_t* out) {
  *out = (hr_attr_t){.kind = HR_ATTR_NONE};
  while (!hr_cursor_is_done(&span)) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&span, &f));
    HR_TRY(attr_read_arm(r, &f, out));
  }
  return NULL;
}

hr_status_t hr_attr_value_decode(hr_arena_t* arena, hr_attr_keeper_t* keeper, hr_cursor_t span, hr_attr_t* out) {
  attr_reader_t r = {arena, keeper, 0};
  return attr_read_value(&r, span, out);
}

hr_status_t hr_attr_value_decode_entry(hr_arena_t* arena, hr_attr_keeper_t* keeper, hr_cursor_t span, hr_named_attr_t* out) {
  attr_reader_t r = {arena, keeper, 0};
  return attr_read_entry(&r, span, out);
}

hr_status_t hr_attr_value_decode_func(hr_arena_t* arena, hr_attr_keeper_t* keeper, hr_cursor_t span, hr_func_attr_t* out) {
  attr_reader_t r = {arena, keeper, 0};
  return attr_read_func(&r, span, out);
}

/* --- writing: depth needs no limit here, since decoding and building bound it -------------------------------------------------- */
static hr_status_t attr_write_tensor(uint32_t number, const hr_tensor_t* t, hr_writer_t* w) {
  size_t expected = hr_tensor_proto_expected(t);
  hr_writer_mark_t mark = hr_writer_begin(w, number, expected);
  HR_TRY(hr_tensor_proto_encode(t, w));
  hr_writer_end(w, mark, expected);
  return NULL;
}

static void attr_write_shape(uint32_t number, const hr_pshape_t* shape, hr_writer_t* w) {
  hr_writer_mark_t mark = hr_writer_begin(w, number, 0);
  hr_shape_proto_encode_partial(shape, w);
  hr_writer_end(w, mark, 0);
}

static hr_status_t attr_write_func(uint32_t number, const hr_func_attr_t* func, hr_writer_t* w) {
  hr_writer_mark_t mark = hr_writer_begin(w, number, 0);
  HR_TRY(hr_attr_value_encode_func(func, w));
  hr_writer_end(w, mark, 0);
  return NULL;
}

static void attr_write_packed(const hr_attr_t* a, uint32_t number, hr_writer_t* w) {
  hr_writer_mark_t mark = hr_writer_begin(w, number, (size_t)a->count);
  for (int32_t i = 0; i < a->count; ++i) {
    uint32_t bits = 0;
    if (a->kind == HR_ATTR_INT) hr_writer_varint(w, (uint64_t)a->u.is[i]);
    if (a->kind == HR_ATTR_BOOL) hr_writer_varint(w, a->u.bs[i]);
    if (a->kind == HR_ATTR_TYPE) hr_writer_varint(w, (uint64_t)(int64_t)a->u.types[i]);
    if (a->kind == HR_ATTR_FLOAT) {
      memcpy(&bits, &a->u.fs[i], 4);
      hr_writer_fixed32_raw(w, bits);
    }
  }
  hr_writer_end(w, mark, (size_t)a->count);
}

static hr_status_t attr_write_list(const hr_attr_t* a, hr_writer_t* w) {
  static const uint8_t fields[] = {[HR_ATTR_INT] = ATTR_I, [HR_ATTR_FLOAT] = ATTR_F, [HR_ATTR_BOOL] = ATTR_B, [HR_ATTR_TYPE] = ATTR_TYPE};
  if (a->count > 0 && attr_list_is_packable((hr_attr_kind_t)a->kind)) {
    attr_write_packed(a, fields[a->kind], w);
    return NULL;
  }
  for (int32_t i = 0; i < a->count; ++i) switch (a->kind) {
    case HR_ATTR_STRING: hr_writer_str(w, ATTR_S, a->u.ss[i]); break;
    case HR_ATTR_SHAPE: attr_write_shape(ATTR_SHAPE, a->u.shapes[i], w); break;
    case HR_ATTR_TENSOR: HR_TRY(attr_write_tensor(ATTR_TENSOR, a->u.tensors[i], w)); break;
    case HR_ATTR_FUNC: HR_TRY(attr_write_func(LIST_FUNC, &a->u.funcs[i], w)); break;
    default: return HR_ERROR(INTERNAL, "a list of attr kind %d", a->kind);
  }
  return NULL;
}

hr_status_t hr_attr_value_encode(const hr_attr_t* a, hr_writer_t* w) {
  if (a->is_list) {
    hr_writer_mark_t mark = hr_writer_begin(w, ATTR_LIST, 0);
    HR_TRY(attr_write_list(a, w));
    hr_writer_end(w, mark, 0);
    return NULL;
  }
  switch ((hr_attr_kind_t)a->kind) {
    case HR_ATTR_NONE: break;
    case HR_ATTR_STRING: hr_writer_str(w, ATTR_S, a->u.s); break;
    case HR_ATTR_PLACEHOLDER: hr_writer_str(w, ATTR_PLACEHOLDER, a->u.s); break;
    case HR_ATTR_INT: hr_writer_i64(w, ATTR_I, a->u.i); break;
    case HR_ATTR_FLOAT: hr_writer_f32(w, ATTR_F, a->u.f); break;
    case HR_ATTR_BOOL: hr_writer_bool(w, ATTR_B, a->u.b); break;
    case HR_ATTR_TYPE: hr_writer_i64(w, ATTR_TYPE, a->u.type); break;
    case HR_ATTR_SHAPE: attr_write_shape(ATTR_SHAPE, a->u.shape, w); break;
    case HR_ATTR_TENSOR: return attr_write_tensor(ATTR_TENSOR, a->u.tensor, w);
    case HR_ATTR_FUNC: return attr_write_func(ATTR_FUNC, a->u.func, w);
  }
  return NULL;
}

hr_status_t hr_attr_value_encode_func(const hr_func_attr_t* func, hr_writer_t* w) {
  hr_writer_str(w, FUNC_NAME, func->name);
  for (int32_t i = 0; i < func->attr_count; ++i) HR_TRY(hr_attr_value_encode_entry(FUNC_ATTR, &func->attrs[i], w));
  return NULL;
}

hr_status_t hr_attr_value_encode_entry(uint32_t number, const hr_named_attr_t* attr, hr_writer_t* w) {
  size_t expected = !attr->value.is_list && attr->value.kind == HR_ATTR_TENSOR ? hr_tensor_proto_expected(attr->value.u.tensor) : 0;
  hr_writer_mark_t entry = hr_writer_begin(w, number, expected);
  hr_writer_str(w, ENTRY_KEY, attr->name);
  hr_writer_mark_t value = hr_writer_begin(w, ENTRY_VALUE, expected);
  HR_TRY(hr_attr_value_encode(&attr->value, w));
  hr_writer_end(w, value, expected);
  hr_writer_end(w, entry, expected);
  return NULL;
}
