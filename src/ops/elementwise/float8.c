/* SPDX-License-Identifier: Apache-2.0 */
/* 8-bit floats by their numbers: a format is a row. */
#include "ops/elementwise/float8.h"
#include <math.h>

typedef struct {
  int mantissa, bias;     /* bits; exponent bias */
  double top;             /* largest finite value */
  uint8_t infinity, nan;  /* patterns without sign; infinity of a format without one is its NaN */
  bool one_nan;           /* "fnuz": 0x80 is the only NaN, and there is no -0 */
} format_t;

static const format_t* format_of(hr_dtype_t type) {
  static const format_t e5m2 = {2, 15, 57344, 0x7c, 0x7e, false}, e4m3fn = {3, 7, 448, 0x7f, 0x7f, false},
                        e4m3fnuz = {3, 8, 240, 0x80, 0x80, true}, e4m3b11fnuz = {3, 11, 30, 0x80, 0x80, true},
                        e5m2fnuz = {2, 16, 57344, 0x80, 0x80, true};
  switch (type) {
    case HR_F8_E5M2: return &e5m2;
    case HR_F8_E4M3FN: return &e4m3fn;
    case HR_F8_E4M3FNUZ: return &e4m3fnuz;
    case HR_F8_E4M3B11FNUZ: return &e4m3b11fnuz;
    default: return &e5m2fnuz;
  }
}

static float value_of(const format_t* f, uint8_t bits) {
  const int magnitude = bits & 0x7f, exponent = magnitude >> f->mantissa, fraction = magnitude & ((1 << f->mantissa) - 1);
  if (f->one_nan ? bits == 0x80 : f->infinity != f->nan ? magnitude > f->infinity : magnitude == f->nan) return NAN;
  double v = exponent ? ldexp((1 << f->mantissa) + fraction, exponent - f->bias - f->mantissa) : ldexp(fraction, 1 - f->bias - f->mantissa);
  if (f->infinity != f->nan && magnitude == f->infinity) v = INFINITY;
  return (float)(bits & 0x80 ? -v : v);
}

static uint8_t pattern_of(const format_t* f, double x) {
  const uint8_t sign = signbit(x) ? 0x80 : 0;
  if (isnan(x)) return f->one_nan ? f->nan : (uint8_t)(f->nan | sign);
  const double m = fabs(x);
  if (m == 0) return f->one_nan ? 0 : sign;
  const int exponent = isinf(m) ? 1000 : ilogb(m), least = 1 - f->bias, e = exponent < least ? least : exponent;
  const double steps = isinf(m) ? m : rint(ldexp(m, f->mantissa - e)); /* m in units of the last place */
  if (isinf(m) || ldexp(steps, e - f->mantissa) > f->top) return f->one_nan ? f->nan : (uint8_t)(f->infinity | sign);
  if (steps == 0) return f->one_nan ? 0 : sign;
  /* a carry to the next power of two raises the exponent by itself */
  const int bits = ((e - least) << f->mantissa) + (int)steps;
  return (uint8_t)(bits | sign);
}

void hr_float8_decode(hr_dtype_t type, const uint8_t* x, float* y, int64_t n) {
  const format_t* f = format_of(type);
  for (int64_t i = 0; i < n; ++i) y[i] = value_of(f, x[i]);
}

void hr_float8_encode(hr_dtype_t type, const double* x, uint8_t* y, int64_t n) {
  const format_t* f = format_of(type);
  for (int64_t i = 0; i < n; ++i) y[i] = pattern_of(f, x[i]);
}

void hr_float8_truncate(hr_dtype_t type, double* x, int64_t n) {
  const int lost = 52 - format_of(type)->mantissa;
  for (int64_t i = 0; i < n; ++i) {
    uint64_t u;
    if (!isfinite(x[i])) continue;
    memcpy(&u, &x[i], sizeof u);
    u = u >> lost << lost;
    memcpy(&x[i], &u, sizeof u);
  }
}
