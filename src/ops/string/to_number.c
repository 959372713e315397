/* SPDX-License-Identifier: Apache-2.0 */
/* StringToNumber: each string, without blanks around it, as a number. Reals as C's strtod reads them: hexadecimal, inf and nan too, and
 * what is too large is infinite. Integers are decimal and must fit their type. */
#include <stdlib.h>
#include "base/alloc.h"
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "op/kernel_ctx.h"

extern const hr_op_t hr_op_StringToNumber;

/* Decimal digits with a value of at most `most`. */
static bool read_digits(hr_str_t s, uint64_t most, uint64_t* out) {
  uint64_t v = 0;
  for (size_t i = 0; i < s.size; ++i) {
    const unsigned digit = (unsigned)((unsigned char)s.data[i]) - '0';
    if (digit > 9 || v > most / 10 || v * 10 > most - digit) return false;
    v = v * 10 + digit;
  }
  *out = v;
  return s.size > 0;
}

static bool read_signed(hr_str_t s, uint64_t most, int64_t* out) { /* from -most - 1 to most */
  const bool minus = s.size && s.data[0] == '-';
  uint64_t v;
  if (s.size && (minus || s.data[0] == '+')) s = hr_str_slice(s, 1, s.size);
  if (!read_digits(s, most + minus, &v)) return false;
  *out = minus ? (int64_t)(0 - v) : (int64_t)v;
  return true;
}

static bool read_unsigned(hr_str_t s, uint64_t most, uint64_t* out) {
  return read_digits(s.size && s.data[0] == '+' ? hr_str_slice(s, 1, s.size) : s, most, out);
}

/* The whole text, which has no blanks before it and a NUL after it. */
static bool read_real(const char* text, size_t size, hr_tensor_t* out, int64_t i) {
  char* end;
  if (out->dtype == HR_F32) ((float*)out->data)[i] = strtof(text, &end);
  else ((double*)out->data)[i] = strtod(text, &end);
  return size > 0 && end == text + size;
}

static hr_status_t read_one(hr_str_t given, hr_tensor_t* out, int64_t i) {
  const hr_str_t s = hr_str_trim(given);
  bool good = false;
  int64_t v = 0;
  uint64_t u = 0;
  switch (out->dtype) {
    case HR_I32:
      good = read_signed(s, INT32_MAX, &v);
      ((int32_t*)out->data)[i] = (int32_t)v;
      break;
    case HR_I64: good = read_signed(s, INT64_MAX, &((int64_t*)out->data)[i]); break;
    case HR_U32:
      good = read_unsigned(s, UINT32_MAX, &u);
      ((uint32_t*)out->data)[i] = (uint32_t)u;
      break;
    case HR_U64: good = read_unsigned(s, UINT64_MAX, &((uint64_t*)out->data)[i]); break;
    default: {
      char* text = hr_alloc_copy(s.data, s.size);
      if (!text) return hr_status_out_of_memory();
      good = read_real(text, s.size, out, i);
      hr_free(text);
    }
  }
  if (good) return NULL;
  return HR_ERROR(INVALID_ARGUMENT, "StringToNumberOp could not correctly convert string: %.*s (element %lld) to %s",
                  given.size > 200 ? 200 : (int)given.size, given.data, (long long)i, hr_dtype_name((int)out->dtype));
}

static hr_status_t string_to_number(hr_kernel_ctx_t* k) {
  const hr_tensor_t* in = hr_input(k, 0);
  hr_tensor_t* out;
  HR_TRY(hr_output(k, 0, &in->shape, &out));
  for (int64_t i = 0; i < in->count; ++i) HR_TRY(read_one(hr_tstring_get((const hr_tstring_t*)in->data + i), out, i));
  return NULL;
}

const hr_op_t hr_op_StringToNumber = {.name = "StringToNumber",
                                      .sig = "string_tensor: string -> output: out_type",
                                      .attrs = "out_type: type{float,double,int32,int64,uint32,uint64} = float",
                                      .shape = hr_infer_same,
                                      .grad = hr_grad_none,
                                      HR_KERNELS({.host_inputs = 1, .compute = string_to_number}),
                                      .doc = "strings as numbers",
                                      HR_HERE};
