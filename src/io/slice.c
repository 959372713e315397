/* SPDX-License-Identifier: Apache-2.0 */
/* Slices: text, message, ordered-code key, and copying where two of them meet. */
#include "io/slice.h"

enum { SLICE_EXTENT = 1, EXTENT_START = 1, EXTENT_LENGTH = 2 };

void hr_slice_all(int32_t rank, hr_slice_t* out) {
  out->rank = rank;
  for (int i = 0; i < rank; ++i) out->start[i] = 0, out->length[i] = -1;
}

/* --- text --------------------------------------------------------------------------------------------------------------------- */
static hr_status_t slice_bad_text(hr_str_t text) {
  return HR_ERROR(INVALID_ARGUMENT, "slice '%.*s' is not of the form 'start,length:-', with - for a whole dimension", HR_STR_ARG(text));
}

hr_status_t hr_slice_parse(hr_str_t text, hr_slice_t* out) {
  hr_str_t rest = text, part;
  out->rank = 0;
  if (text.size == 0) return NULL;
  if (text.data[text.size - 1] == ':') return slice_bad_text(text);
  while (hr_str_split(&rest, ':', &part)) {
    if (out->rank == HR_MAX_RANK) return HR_ERROR(UNIMPLEMENTED, "slice '%.*s' has more than %d dimensions", HR_STR_ARG(text), HR_MAX_RANK);
    int i = out->rank++;
    int64_t comma = hr_str_find(part, ',');
    out->start[i] = 0;
    out->length[i] = -1;
    if (hr_str_is(part, "-")) continue;
    if (comma < 0 || !hr_str_parse_i64(hr_str_slice(part, 0, (size_t)comma), &out->start[i]) ||
        !hr_str_parse_i64(hr_str_slice(part, (size_t)comma + 1, part.size), &out->length[i]) || out->start[i] < 0 || out->length[i] <= 0)
      return slice_bad_text(text);
  }
  return NULL;
}

hr_status_t hr_slice_parse_spec(hr_str_t text, hr_shape_t* out_full, hr_slice_t* out_slice) {
  size_t last = text.size; /* where the last word, the slice, begins */
  while (last > 0 && text.data[last - 1] != ' ') --last;
  hr_str_t rest = hr_str_slice(text, 0, last ? last - 1 : 0), part;
  int64_t dims[HR_MAX_RANK], rank = 0;
  while (rest.size && hr_str_split(&rest, ' ', &part)) {
    if (rank == HR_MAX_RANK)
      return HR_ERROR(UNIMPLEMENTED, "shape and slice '%.*s' has more than %d dimensions", HR_STR_ARG(text), HR_MAX_RANK);
    if (!hr_str_parse_i64(part, &dims[rank++]))
      return HR_ERROR(INVALID_ARGUMENT, "shape and slice '%.*s': '%.*s' is not a size", HR_STR_ARG(text), HR_STR_ARG(part));
  }
  if (rank == 0)
    return HR_ERROR(INVALID_ARGUMENT, "shape and slice '%.*s' is not of the form 'size size start,length:start,length'", HR_STR_ARG(text));
  HR_TRY(hr_shape_make(rank, dims, out_full));
  HR_TRY(hr_slice_parse(hr_str_slice(text, last, text.size), out_slice));
  if (out_slice->rank != rank)
    return HR_ERROR(INVALID_ARGUMENT, "shape and slice '%.*s' has %d sizes and %d ranges", HR_STR_ARG(text), (int)rank, out_slice->rank);
  hr_shape_t shape;
  return hr_slice_shape(out_slice, out_full, &shape);
}

void hr_slice_format(const hr_slice_t* s, hr_strbuf_t* out) {
  for (int i = 0; i < s->rank; ++i) {
    if (i) hr_strbuf_add(out, ":", 1);
    if (s->length[i] < 0) hr_strbuf_add(out, "-", 1);
    else hr_strbuf_format(out, "%lld,%lld", (long long)s->start[i], (long long)s->length[i]);
  }
}

/* --- geometry ----------------------------------------------------------------------------------------------------------------- */
static int64_t slice_length(const hr_slice_t* s, const hr_shape_t* full, int i) { return s->length[i] < 0 ? full->dims[i] : s->length[i]; }

hr_status_t hr_slice_shape(const hr_slice_t* s, const hr_shape_t* full, hr_shape_t* out) {
  char text[HR_SHAPE_TEXT];
  int64_t dims[HR_MAX_RANK];
  if (s->rank != full->rank)
    return HR_ERROR(INVALID_ARGUMENT, "slice of %d dimensions for a tensor of shape %s", s->rank, hr_shape_format(full, text));
  for (int i = 0; i < s->rank; ++i) {
    dims[i] = slice_length(s, full, i);
    if (s->start[i] < 0 || dims[i] > full->dims[i] - s->start[i])
      return HR_ERROR(INVALID_ARGUMENT, "slice [%lld, +%lld) of dimension %d reaches out of shape %s", (long long)s->start[i],
                      (long long)dims[i], i,
                      hr_shape_format(full, text));
  }
  return hr_shape_make(s->rank, dims, out);
}

bool hr_slice_is_all(const hr_slice_t* s, const hr_shape_t* full) {
  for (int i = 0; i < s->rank; ++i)
    if (s->start[i] != 0 || slice_length(s, full, i) != full->dims[i]) return false;
  return true;
}

static bool slice_common(const hr_slice_t* a, const hr_slice_t* b, const hr_shape_t* full, int i, int64_t* out_start, int64_t* out_end) {
  int64_t a_end = a->start[i] + slice_length(a, full, i), b_end = b->start[i] + slice_length(b, full, i);
  *out_start = a->start[i] > b->start[i] ? a->start[i] : b->start[i];
  *out_end = a_end < b_end ? a_end : b_end;
  return *out_start < *out_end;
}

bool hr_slice_overlaps(const hr_slice_t* a, const hr_slice_t* b, const hr_shape_t* full) {
  int64_t start, end;
  for (int i = 0; i < full->rank; ++i)
    if (!slice_common(a, b, full, i, &start, &end)) return false;
  return true;
}

/* --- messages and keys -------------------------------------------------------------------------------------------------------- */
static hr_status_t slice_decode_extent(hr_cursor_t span, int64_t* start, int64_t* length) {
  *start = 0;
  *length = -1;
  while (!hr_cursor_is_done(&span)) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&span, &f));
    if (f.key == HR_KEY_VARINT(EXTENT_START)) *start = (int64_t)f.value;
    if (f.key == HR_KEY_VARINT(EXTENT_LENGTH)) *length = (int64_t)f.value;
  }
  if (*start < 0 || *length < -1 || (*length == -1 && *start != 0))
    return HR_ERROR(INVALID_ARGUMENT, "slice extent with start %lld and length %lld", (long long)*start, (long long)*length);
  return NULL;
}

hr_status_t hr_slice_decode(hr_cursor_t span, hr_slice_t* out) {
  out->rank = 0;
  while (!hr_cursor_is_done(&span)) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&span, &f));
    if (f.key != HR_KEY_SPAN(SLICE_EXTENT)) continue;
    if (out->rank == HR_MAX_RANK) return HR_ERROR(UNIMPLEMENTED, "a slice has more than %d dimensions", HR_MAX_RANK);
    HR_TRY(slice_decode_extent(f.span, &out->start[out->rank], &out->length[out->rank]));
    out->rank += 1;
  }
  return NULL;
}

void hr_slice_encode(const hr_slice_t* s, hr_writer_t* w) {
  for (int i = 0; i < s->rank; ++i) {
    hr_writer_mark_t mark = hr_writer_begin(w, SLICE_EXTENT, 0);
    if (s->length[i] >= 0) {
      if (s->start[i]) hr_writer_i64(w, EXTENT_START, s->start[i]);
      hr_writer_i64(w, EXTENT_LENGTH, s->length[i]);
    }
    hr_writer_end(w, mark, 0);
  }
}

/* A length byte, then big-endian bytes without leading zeros: none or one, as no number here is above a rank. */
static void slice_key_number(int32_t v, hr_strbuf_t* out) {
  const char bytes[2] = {v != 0, (char)v};
  hr_strbuf_add(out, bytes, v ? 2 : 1);
}

static void slice_key_string(hr_str_t s, hr_strbuf_t* out) {
  for (size_t i = 0; i < s.size; ++i) {
    uint8_t c = (uint8_t)s.data[i];
    hr_strbuf_add(out, &s.data[i], 1);
    if (c == 0x00) hr_strbuf_add(out, "\xff", 1);
    if (c == 0xff) hr_strbuf_add(out, "", 1);
  }
  hr_strbuf_add(out, "\0\1", 2);
}

/* Order-keeping signed numbers: n bytes hold 7n - 1 value bits below a header of n equal bits. The header of a non-negative value is n
 * ones and a zero, of a negative one the complement; the value is big-endian two's complement. One byte serves -64..63. */
static void slice_key_signed(int64_t v, hr_strbuf_t* out) {
  uint64_t magnitude = v < 0 ? ~(uint64_t)v : (uint64_t)v;
  int n = 1;
  while (n < 10 && magnitude >> (7 * n - 1)) ++n;
  uint8_t bytes[10];
  for (int i = 0; i < n; ++i) bytes[n - 1 - i] = (uint8_t)(v >> (i < 8 ? 8 * i : 63));
  for (int bit = 0; bit < n; ++bit) bytes[bit / 8] ^= (uint8_t)(0x80 >> (bit % 8));
  hr_strbuf_add(out, bytes, (size_t)n);
}

void hr_slice_encode_key(hr_str_t name, const hr_slice_t* s, hr_strbuf_t* out) {
  slice_key_number(0, out);
  slice_key_string(name, out);
  slice_key_number(s->rank, out);
  for (int i = 0; i < s->rank; ++i) {
    slice_key_signed(s->start[i], out);
    slice_key_signed(s->length[i], out);
  }
}

/* --- copying ------------------------------------------------------------------------------------------------------------------ */
typedef struct {
  int64_t src, dst; /* elements from the start */
  int64_t src_stride, dst_stride, count;
} slice_axis_t;

static hr_status_t slice_copy_run(const hr_tensor_t* src, int64_t from, hr_tensor_t* dst, int64_t to, int64_t count) {
  size_t size = hr_dtype_size(dst->dtype);
  if (!hr_dtype_is_plain(dst->dtype)) return hr_tensor_copy_elements(dst, to, src, from, count);
  memcpy((char*)dst->data + (size_t)to * size, (const char*)src->data + (size_t)from * size, (size_t)count * size);
  return NULL;
}

static hr_status_t slice_copy_axes(const slice_axis_t* axes, int rank, const hr_tensor_t* src, hr_tensor_t* dst) {
  int64_t index[HR_MAX_RANK] = {0}, from = 0, to = 0;
  for (int i = 0; i < rank; ++i) from += axes[i].src, to += axes[i].dst;
  for (;;) {
    HR_TRY(slice_copy_run(src, from, dst, to, rank ? axes[rank - 1].count : 1));
    int i = rank - 2;
    for (; i >= 0; --i) {
      from += axes[i].src_stride;
      to += axes[i].dst_stride;
      if (++index[i] < axes[i].count) break;
      from -= axes[i].src_stride * axes[i].count;
      to -= axes[i].dst_stride * axes[i].count;
      index[i] = 0;
    }
    if (i < 0) return NULL;
  }
}

hr_status_t hr_slice_copy(const hr_shape_t* full, const hr_slice_t* from, const hr_tensor_t* src, const hr_slice_t* to, hr_tensor_t* dst,
                          int64_t* out_copied) {
  slice_axis_t axes[HR_MAX_RANK];
  int64_t src_stride = 1, dst_stride = 1, total = 1;
  *out_copied = 0;
  for (int i = full->rank - 1; i >= 0; --i) {
    int64_t start, end;
    if (!slice_common(from, to, full, i, &start, &end)) return NULL;
    axes[i] = (slice_axis_t){(start - from->start[i]) * src_stride, (start - to->start[i]) * dst_stride, src_stride, dst_stride,
                             end - start};
    src_stride *= slice_length(from, full, i);
    dst_stride *= slice_length(to, full, i);
    total *= end - start;
  }
  HR_TRY(slice_copy_axes(axes, full->rank, src, dst));
  *out_copied = total;
  return NULL;
}
