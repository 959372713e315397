/* SPDX-License-Identifier: Apache-2.0 */
/* Range: start, start + delta, ... below (or above, for a negative delta) limit. LinSpace: num values from start to stop, both included. */
#include <math.h>
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/elementwise/loops.h"

extern const hr_op_t hr_op_Range, hr_op_LinSpace;

/* 1. how many */
static double number_of(const hr_tensor_t* t) {
  switch (t->dtype) {
    case HR_F32: return *(const float*)t->data;
    case HR_F64: return *(const double*)t->data;
    case HR_F16: return hr_f16_to_f32(*(const hr_f16_t*)t->data);
    default: return hr_bf16_to_f32(*(const hr_bf16_t*)t->data);
  }
}

static hr_status_t too_long(void) { return HR_ERROR(INVALID_ARGUMENT, "range has more elements than can be counted"); }

static hr_status_t wrong_way(bool below) {
  return HR_ERROR(INVALID_ARGUMENT, below ? "Requires start <= limit when delta > 0" : "Requires start >= limit when delta < 0");
}

static hr_status_t integer_length(const hr_tensor_t* start, const hr_tensor_t* limit, const hr_tensor_t* delta, int64_t* out) {
  int64_t a, b, d;
  HR_TRY(hr_tensor_i64_at(start, 0, &a));
  HR_TRY(hr_tensor_i64_at(limit, 0, &b));
  HR_TRY(hr_tensor_i64_at(delta, 0, &d));
  const bool big = start->dtype == HR_U64; /* compares unsigned */
  if (d == 0) return HR_ERROR(INVALID_ARGUMENT, "Requires delta != 0");
  const bool up = big || d > 0;
  if (big ? (uint64_t)a > (uint64_t)b : up ? a > b : a < b) return wrong_way(up);
  const uint64_t distance = up ? (uint64_t)b - (uint64_t)a : (uint64_t)a - (uint64_t)b, step = up ? (uint64_t)d : 0 - (uint64_t)d;
  const uint64_t n = distance / step + (distance % step != 0);
  if (n > INT64_MAX) return too_long();
  *out = (int64_t)n;
  return NULL;
}

static hr_status_t float_length(double a, double b, double d, int64_t* out) {
  if (d == 0) return HR_ERROR(INVALID_ARGUMENT, "Requires delta != 0");
  if (d > 0 ? a > b : a < b) return wrong_way(d > 0);
  const double n = ceil(fabs((b - a) / d));
  if (!(n < 9007199254740992.0)) return too_long(); /* NaN too */
  *out = (int64_t)n;
  return NULL;
}

static hr_status_t range_length(const hr_tensor_t* start, const hr_tensor_t* limit, const hr_tensor_t* delta, int64_t* out) {
  static const char* const names[] = {"start", "limit", "delta"};
  const hr_tensor_t* const given[] = {start, limit, delta};
  char text[HR_SHAPE_TEXT];
  for (int i = 0; i < 3; ++i)
    if (given[i]->count != 1)
      return HR_ERROR(INVALID_ARGUMENT, "%s must be a scalar, not shape %s", names[i], hr_shape_format(&given[i]->shape, text));
  if (hr_dtype_in(start->dtype, HR_M_INTEGER)) return integer_length(start, limit, delta, out);
  return float_length(number_of(start), number_of(limit), number_of(delta), out);
}

/* 2. shapes */
static hr_status_t infer_range(hr_infer_t* s) {
  const hr_tensor_t* v[3];
  int64_t n;
  for (int i = 0; i < 3; ++i) HR_TRY(hr_infer_want_rank(s, i, 0, NULL));
  for (int i = 0; i < 3; ++i)
    if (!(v[i] = hr_infer_const(s, i))) return hr_infer_set_vector(s, 0, -1);
  HR_TRY(range_length(v[0], v[1], v[2], &n));
  return hr_infer_set_vector(s, 0, n);
}

static hr_status_t infer_linspace(hr_infer_t* s) {
  int64_t n = -1;
  for (int i = 0; i < 3; ++i) HR_TRY(hr_infer_want_rank(s, i, 0, NULL));
  if (hr_infer_const(s, 2)) {
    HR_TRY(hr_tensor_scalar_i64(hr_infer_const(s, 2), "num", &n));
    if (n <= 0) return HR_ERROR(INVALID_ARGUMENT, "Requires num > 0: %lld", (long long)n);
  }
  return hr_infer_set_vector(s, 0, n);
}

/* 3. kernels */
#define COUNT_UP(T)                                                                                                     \
  do {                                                                                                                  \
    const T first = *(const T*)start->data, step = *(const T*)delta->data;                                              \
    T* to = out->data;                                                                                                  \
    for (int64_t i = 0; i < n; ++i) to[i] = (T)((uint64_t)first + (uint64_t)i * (uint64_t)step);                        \
  } while (0)
#define ADD_UP(T)                                                             \
  do {                                                                        \
    T value = *(const T*)start->data;                                         \
    const T step = *(const T*)delta->data;                                    \
    for (int64_t i = 0; i < n; ++i, value += step) ((T*)out->data)[i] = value; \
  } while (0)

static void add_up_narrow(const hr_tensor_t* start, const hr_tensor_t* delta, hr_tensor_t* out) { /* every sum is rounded to the type */
  const bool bf16 = out->dtype == HR_BF16;
  float value, step;
  hr_loop_widen(bf16, start->data, &value, 1);
  hr_loop_widen(bf16, delta->data, &step, 1);
  for (int64_t i = 0; i < out->count; ++i) {
    hr_loop_narrow(bf16, &value, (uint16_t*)out->data + i, 1);
    float rounded;
    hr_loop_widen(bf16, (const uint16_t*)out->data + i, &rounded, 1);
    value = rounded + step;
  }
}

static hr_status_t range(hr_kernel_ctx_t* k) { /* floats add up step by step, as TensorFlow does */
  const hr_tensor_t *start = hr_input(k, 0), *delta = hr_input(k, 2);
  int64_t n;
  hr_tensor_t* out;
  HR_TRY(range_length(start, hr_input(k, 1), delta, &n));
  const hr_shape_t shape = hr_shape_vector(n);
  HR_TRY(hr_output(k, 0, &shape, &out));
  switch (out->dtype) {
    case HR_F32: ADD_UP(float); break;
    case HR_F64: ADD_UP(double); break;
    case HR_I8: COUNT_UP(int8_t); break;
    case HR_I16: COUNT_UP(int16_t); break;
    case HR_I32: COUNT_UP(int32_t); break;
    case HR_I64: COUNT_UP(int64_t); break;
    case HR_U16: COUNT_UP(uint16_t); break;
    case HR_U32: COUNT_UP(uint32_t); break;
    case HR_U64: COUNT_UP(uint64_t); break;
    default: add_up_narrow(start, delta, out); break;
  }
  return NULL;
}

static hr_status_t linspace(hr_kernel_ctx_t* k) {
  int64_t n;
  hr_tensor_t* out;
  HR_TRY(hr_want_scalar(k, 0, "start"));
  HR_TRY(hr_want_scalar(k, 1, "stop"));
  HR_TRY(hr_want_scalar(k, 2, "num"));
  HR_TRY(hr_tensor_scalar_i64(hr_input(k, 2), "num", &n));
  if (n <= 0) return HR_ERROR(INVALID_ARGUMENT, "Requires num > 0: %lld", (long long)n);
  const double a = number_of(hr_input(k, 0)), b = number_of(hr_input(k, 1)), step = n > 1 ? (b - a) / (double)(n - 1) : 0;
  const hr_shape_t shape = hr_shape_vector(n);
  HR_TRY(hr_output(k, 0, &shape, &out));
  for (int64_t i = 0; i < n; ++i) {
    const double value = i == n - 1 && n > 1 ? b : a + step * (double)i;
    const float narrow = (float)value;
    if (out->dtype == HR_F64) ((double*)out->data)[i] = value;
    else if (out->dtype == HR_F32) ((float*)out->data)[i] = narrow;
    else hr_loop_narrow(out->dtype == HR_BF16, &narrow, (uint16_t*)out->data + i, 1);
  }
  return NULL;
}

/* 4. definitions */
const hr_op_t hr_op_Range = {.name = "Range",
                             .sig = "start: Tidx; limit: Tidx; delta: Tidx -> output: Tidx",
                             .attrs = "Tidx: type{bfloat16,half,float,double,int8,int16,int32,int64,uint16,uint32,uint64} = int32",
                             .shape = infer_range,
                             .grad = hr_grad_none,
                             HR_KERNELS({.host_inputs = 7, .compute = range}),
                             .doc = "numbers from start below limit in steps of delta",
                             HR_HERE};

const hr_op_t hr_op_LinSpace = {.name = "LinSpace",
                                .sig = "start: T; stop: T; num: Tidx -> output: T",
                                .attrs = "T: type{bfloat16,half,float,double}; Tidx: type{int32,int64} = int32",
                                .shape = infer_linspace,
                                .grad = hr_grad_none,
                                HR_KERNELS({.host_inputs = 7, .compute = linspace}),
                                .doc = "num numbers from start to stop",
                                HR_HERE};
