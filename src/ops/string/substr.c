/* SPDX-License-Identifier: Apache-2.0 */
/* Substr: out = the `len` units of `input` from `pos` on, fewer at the end; a negative pos counts from the end. Units are bytes or UTF-8
 * characters. A negative len takes all bytes that are left, or no characters (TensorFlow's ways). pos and len have one shape, which
 * broadcasts with the input's. */
#include "op/infer_fns.h"
#include "op/kernel_ctx.h"
#include "tensor/iterate.h"

extern const hr_op_t hr_op_Substr;

static hr_status_t infer_substr(hr_infer_t* s) {
  const hr_pshape_t *pos = hr_infer_input(s, 1), *len = hr_infer_input(s, 2), *merged, *shape;
  HR_TRY(hr_infer_merge(s, pos, len, &merged));
  HR_TRY(hr_infer_broadcast_partial(s, hr_infer_input(s, 0), merged, &shape));
  hr_infer_set(s, 0, shape);
  return NULL;
}

/* Bytes of the unit that begins at `at`: of a character, those after the first are 10xxxxxx. */
static size_t unit_size(hr_str_t text, size_t at) {
  size_t end = at + 1;
  while (end < text.size && ((unsigned char)text.data[end] & 0xc0) == 0x80) ++end;
  return end - at;
}
static size_t skip_units(hr_str_t text, size_t at, int64_t count, bool utf8) {
  if (!utf8) return (uint64_t)count > text.size - at ? text.size : at + (size_t)count;
  for (; count > 0 && at < text.size; --count) at += unit_size(text, at);
  return at;
}
static int64_t count_units(hr_str_t text, bool utf8) {
  int64_t count = 0;
  if (!utf8) return (int64_t)text.size;
  for (size_t at = 0; at < text.size; ++count) at += unit_size(text, at);
  return count;
}

static hr_status_t cut(hr_str_t text, int64_t pos, int64_t len, bool utf8, hr_str_t* out) {
  const int64_t units = count_units(text, utf8);
  if (pos < -units || pos > units)
    return HR_ERROR(INVALID_ARGUMENT, "pos %lld out of range for string '%.*s' of %lld units", (long long)pos, HR_STR_ARG(text),
                    (long long)units);
  if (utf8 && pos < 0 && len < 0)
    return HR_ERROR(INVALID_ARGUMENT, "pos %lld and len %lld are both negative", (long long)pos, (long long)len);
  if (len < 0) len = utf8 ? 0 : INT64_MAX;
  const size_t begin = skip_units(text, 0, pos < 0 ? pos + units : pos, utf8);
  *out = hr_str_slice(text, begin, skip_units(text, begin, len, utf8));
  return NULL;
}

static hr_status_t substr_prepare(hr_prepare_ctx_t* p, void* prepared) {
  *(bool*)prepared = hr_str_is(hr_attrs_str(p->attrs, "unit"), "UTF8_CHAR");
  return NULL;
}

static int64_t index_at(const hr_tensor_t* t, int64_t i) {
  return t->dtype == HR_I32 ? ((const int32_t*)t->data)[i] : ((const int64_t*)t->data)[i];
}

static hr_status_t cut_all(hr_kernel_ctx_t* k, hr_tensor_t* out) {
  const bool utf8 = *(const bool*)hr_prepared(k);
  const hr_tensor_t *in = hr_input(k, 0), *pos = hr_input(k, 1), *len = hr_input(k, 2);
  const hr_shape_t* shapes[] = {&out->shape, &in->shape, &pos->shape};
  hr_iterate_t it;
  int64_t index[HR_MAX_RANK], offset[HR_ITERATE_OPERANDS];
  hr_str_t part;
  hr_iterate_broadcast(&it, &out->shape, 3, shapes);
  const int last = it.rank - 1;
  hr_iterate_seek(&it, 0, index, offset);
  for (int64_t row = 0, rows = hr_iterate_rows(&it); row < rows; ++row, hr_iterate_step(&it, index, offset))
    for (int64_t i = 0; i < it.dims[last]; ++i) {
      const int64_t from = offset[1] + i * it.strides[1][last], at = offset[2] + i * it.strides[2][last];
      HR_TRY(cut(hr_tstring_get((const hr_tstring_t*)in->data + from), index_at(pos, at), index_at(len, at), utf8, &part));
      HR_TRY(hr_tstring_set((hr_tstring_t*)out->data + offset[0] + i * it.strides[0][last], part));
    }
  return NULL;
}

static hr_status_t substr(hr_kernel_ctx_t* k) {
  hr_shape_t shape;
  hr_tensor_t* out;
  HR_TRY(hr_want_same_shape(k, 1, 2));
  HR_TRY(hr_shape_broadcast(&hr_input(k, 0)->shape, &hr_input(k, 1)->shape, &shape));
  HR_TRY(hr_output(k, 0, &shape, &out));
  return out->count ? cut_all(k, out) : NULL;
}

const hr_op_t hr_op_Substr = {.name = "Substr",
                              .sig = "input: string; pos: T; len: T -> output: string",
                              .attrs = "T: type{int32,int64}; unit: string{'BYTE','UTF8_CHAR'} = 'BYTE'",
                              .shape = infer_substr,
                              HR_KERNELS({.where = {{"T", HR_M_INDEX}},
                                          .host_inputs = 7,
                                          .host_outputs = 1,
                                          .prepared_bytes = sizeof(bool),
                                          .prepare = substr_prepare,
                                          .compute = substr}),
                              .doc = "parts of strings",
                              HR_HERE};
