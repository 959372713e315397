/* SPDX-License-Identifier: Apache-2.0 */
/* AsString: each element as text, as C's printf writes it with the attrs as flag, width and precision; complex numbers as "(re,im)". Bools
 * are "true" and "false" whatever the attrs say, strings themselves, filled to the width with blanks. */
#include <stdarg.h>
#include <stdio.h>
#include "base/alloc.h"
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "op/kernel_ctx.h"

extern const hr_op_t hr_op_AsString;

/* 1. the format */
typedef struct {
  char number[48]; /* of a number, or of a part of a complex one */
  bool left;       /* strings: fill after the text */
  int width;
} as_string_t;

enum { MOST_CHARACTERS = 1000000 }; /* of a width or precision: with gigabytes an element TensorFlow aborts */

static hr_status_t read_count(hr_prepare_ctx_t* p, const char* name, int* out) {
  const int64_t v = hr_attrs_int(p->attrs, name);
  if (v < INT32_MIN || v > MOST_CHARACTERS)
    return HR_ERROR(INVALID_ARGUMENT, "%s is %lld; numbers up to %d are taken", name, (long long)v, MOST_CHARACTERS);
  *out = (int)v;
  return NULL;
}

static hr_status_t check_kind(hr_dtype_t type, int precision, bool scientific, bool shortest) {
  if (scientific && shortest) return HR_ERROR(INVALID_ARGUMENT, "Cannot select both scientific and shortest notation");
  if (!hr_dtype_in(type, HR_M_INTEGER | HR_M(BOOL))) return NULL;
  if (scientific || shortest)
    return HR_ERROR(INVALID_ARGUMENT, "scientific and shortest format not supported for datatype %s", hr_dtype_name((int)type));
  if (precision > -1) return HR_ERROR(INVALID_ARGUMENT, "precision not supported for datatype %s", hr_dtype_name((int)type));
  return NULL;
}

static hr_status_t read_fill(hr_str_t fill, char* out) {
  *out = 0;
  if (fill.size > 1) return HR_ERROR(INVALID_ARGUMENT, "Fill string must be one or fewer characters, not \"%.*s\"", HR_STR_ARG(fill));
  if (fill.size == 0) return NULL;
  *out = fill.data[0];
  if (*out && strchr(" +-0#", *out)) return NULL;
  return HR_ERROR(INVALID_ARGUMENT, "Fill argument not supported: \"%.*s\"", HR_STR_ARG(fill));
}

static hr_status_t prepare(hr_prepare_ctx_t* p, void* prepared) {
  as_string_t* a = prepared;
  const hr_dtype_t type = hr_attrs_type(p->attrs, "T");
  const bool scientific = hr_attrs_bool(p->attrs, "scientific"), shortest = hr_attrs_bool(p->attrs, "shortest");
  const char* real = shortest ? "g" : scientific ? "e" : "f";
  const char* kind = hr_dtype_in(type, HR_M_SIGNED) ? "lld" : hr_dtype_in(type, HR_M_UNSIGNED) ? "llu" : real;
  char fill = 0, width[16] = "", places[16] = "";
  int precision = -1;
  HR_TRY(read_count(p, "precision", &precision));
  HR_TRY(read_count(p, "width", &a->width));
  HR_TRY(check_kind(type, precision, scientific, shortest));
  HR_TRY(read_fill(hr_attrs_str(p->attrs, "fill"), &fill));
  a->left = fill == '-';
  if (a->width > -1) snprintf(width, sizeof width, "%d", a->width);
  if (precision > -1) snprintf(places, sizeof places, ".%d", precision);
  snprintf(a->number, sizeof a->number, "%%%.1s%s%s%s", &fill, width, places, kind);
  return NULL;
}

/* 2. kernel */
static hr_status_t add_number(hr_strbuf_t* text, const char* format, ...) {
  char small[400], *large = NULL;
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  hr_status_t status = NULL;
  const int n = vsnprintf(small, sizeof small, format, args);
  if (n < 0) status = HR_ERROR(INVALID_ARGUMENT, "a number in the format %s is too long", format);
  else if ((size_t)n < sizeof small) hr_strbuf_add(text, small, (size_t)n);
  else if (!(large = hr_alloc((size_t)n + 1))) status = hr_status_out_of_memory();
  if (large) {
    vsnprintf(large, (size_t)n + 1, format, again);
    hr_strbuf_add(text, large, (size_t)n);
    hr_free(large);
  }
  va_end(again);
  va_end(args);
  return status;
}

static void add_string(const as_string_t* a, hr_str_t s, hr_strbuf_t* text) {
  const int64_t blanks = (int64_t)a->width - (int64_t)s.size;
  if (a->left) hr_strbuf_add_str(text, s);
  for (int64_t i = 0; i < blanks && !text->failed; ++i) hr_strbuf_add(text, " ", 1);
  if (!a->left) hr_strbuf_add_str(text, s);
}

static hr_status_t add_complex(const as_string_t* a, double re, double im, hr_strbuf_t* text) {
  hr_strbuf_add(text, "(", 1);
  HR_TRY(add_number(text, a->number, re));
  hr_strbuf_add(text, ",", 1);
  HR_TRY(add_number(text, a->number, im));
  hr_strbuf_add(text, ")", 1);
  return NULL;
}

static hr_status_t add_element(const as_string_t* a, const hr_tensor_t* t, int64_t i, hr_strbuf_t* text) {
  int64_t integer = 0;
  switch (t->dtype) {
    case HR_F32: return add_number(text, a->number, (double)((const float*)t->data)[i]);
    case HR_F64: return add_number(text, a->number, ((const double*)t->data)[i]);
    case HR_F16: return add_number(text, a->number, (double)hr_f16_to_f32(((const hr_f16_t*)t->data)[i]));
    case HR_BF16: return add_number(text, a->number, (double)hr_bf16_to_f32(((const hr_bf16_t*)t->data)[i]));
    case HR_C64: return add_complex(a, (double)((const hr_c64_t*)t->data)[i].re, (double)((const hr_c64_t*)t->data)[i].im, text);
    case HR_C128: return add_complex(a, ((const hr_c128_t*)t->data)[i].re, ((const hr_c128_t*)t->data)[i].im, text);
    case HR_U64: return add_number(text, a->number, (unsigned long long)((const uint64_t*)t->data)[i]);
    case HR_BOOL: hr_strbuf_add_str(text, ((const bool*)t->data)[i] ? HR_STR("true") : HR_STR("false")); return NULL;
    case HR_STRING: add_string(a, hr_tstring_get((const hr_tstring_t*)t->data + i), text); return NULL;
    default: HR_TRY(hr_tensor_i64_at(t, i, &integer)); return add_number(text, a->number, (long long)integer);
  }
}

static hr_status_t as_string(hr_kernel_ctx_t* k) {
  const hr_tensor_t* in = hr_input(k, 0);
  hr_tensor_t* out;
  hr_strbuf_t text;
  hr_status_t status = NULL;
  HR_TRY(hr_output(k, 0, &in->shape, &out));
  hr_strbuf_init(&text);
  for (int64_t i = 0; !status && i < in->count; ++i) {
    text.size = 0;
    status = add_element(hr_prepared(k), in, i, &text);
    if (!status && text.failed) status = hr_status_out_of_memory();
    if (!status) status = hr_tstring_set((hr_tstring_t*)out->data + i, hr_strbuf_view(&text));
  }
  hr_strbuf_deinit(&text);
  return status;
}

/* 3. definition */
const hr_op_t hr_op_AsString = {
    .name = "AsString",
    .sig = "input: T -> output: string",
    .attrs = "T: type{float,double,int32,uint8,int16,int8,int64,bfloat16,uint16,half,uint32,uint64,complex64,complex128,bool,variant,"
             "string}; precision: int = -1; scientific: bool = false; shortest: bool = false; width: int = -1; fill: string = ''",
    .shape = hr_infer_same,
    .grad = hr_grad_none,
    HR_KERNELS({.where = {{"T", HR_M_NUMBER | HR_M(BOOL) | HR_M(STRING)}},
                .host_inputs = 1,
                .host_outputs = 1,
                .prepared_bytes = sizeof(as_string_t),
                .prepare = prepare,
                .compute = as_string}),
    .doc = "elements as text",
    HR_HERE};
