/* SPDX-License-Identifier: Apache-2.0 */
/* 8-bit floats: every pattern's value, and that it comes back; what lies between two neighbours goes to the nearer, to the even one in the
 * middle; what is too large, too small, not a number, of either sign; bits that are dropped. */
#include "ops/elementwise/float8.h"
#include <math.h>
#include "test.h"

typedef struct {
  hr_dtype_t type;
  int mantissa, bias;      /* bits; of the exponent */
  int top;                 /* pattern of the largest finite number */
  double largest;
  int overflow, nan;       /* patterns of what is too large, of what is no number */
  bool one_zero;           /* 0x80 is no -0 */
} float8_t;
static const float8_t formats[] = {{HR_F8_E5M2, 2, 15, 0x7b, 57344, 0x7c, 0x7e, false},
                                   {HR_F8_E4M3FN, 3, 7, 0x7e, 448, 0x7f, 0x7f, false},
                                   {HR_F8_E4M3FNUZ, 3, 8, 0x7f, 240, 0x80, 0x80, true},
                                   {HR_F8_E4M3B11FNUZ, 3, 11, 0x7f, 30, 0x80, 0x80, true},
                                   {HR_F8_E5M2FNUZ, 2, 16, 0x7f, 57344, 0x80, 0x80, true}};
enum { FORMATS = sizeof formats / sizeof *formats };

static float decoded(const float8_t* f, int pattern) {
  const uint8_t bits = (uint8_t)pattern;
  float y;
  hr_float8_decode(f->type, &bits, &y, 1);
  return y;
}
static int encoded(const float8_t* f, double x) {
  uint8_t y;
  hr_float8_encode(f->type, &x, &y, 1);
  return y;
}

/* A finite pattern's value by its digits: units of the last place doubled once for each exponent above the first. */
static double value_of(const float8_t* f, int magnitude) {
  double unit = 1;
  const int exponent = magnitude >> f->mantissa, fraction = magnitude & ((1 << f->mantissa) - 1);
  for (int i = 1; i < f->bias + f->mantissa; ++i) unit /= 2;
  for (int i = 1; i < exponent; ++i) unit *= 2;
  return unit * (exponent ? fraction + (1 << f->mantissa) : fraction);
}

HR_TEST(patterns_are_their_values_and_come_back) {
  for (int k = 0; k < FORMATS; ++k) {
    const float8_t* f = &formats[k];
    HR_CHECK(value_of(f, f->top) == f->largest);
    for (int m = 0; m <= f->top; ++m) {
      const double want = value_of(f, m);
      HR_CHECK((double)decoded(f, m) == want);
      HR_CHECK_EQ_I64(encoded(f, want), m);
      if (m == 0 && f->one_zero) continue;
      HR_CHECK((double)decoded(f, m | 0x80) == -want && signbit(decoded(f, m | 0x80)));
      HR_CHECK_EQ_I64(encoded(f, -want), m | 0x80);
    }
    for (int m = f->top + 1; m < 0x80; ++m)
      for (int sign = 0; sign <= 0x80; sign += 0x80) {
        const float y = decoded(f, m | sign);
        HR_CHECK(m == f->overflow && f->overflow != f->nan ? isinf(y) && !signbit(y) == !sign : isnan(y));
      }
    if (f->one_zero) HR_CHECK(isnan(decoded(f, 0x80)));
    if (f->one_zero) HR_CHECK_EQ_I64(encoded(f, -0.0), 0);
  }
}

HR_TEST(what_lies_between_goes_to_the_nearer) {
  for (int k = 0; k < FORMATS; ++k) {
    const float8_t* f = &formats[k];
    for (int m = 0; m < f->top; ++m) {
      const double low = value_of(f, m), high = value_of(f, m + 1), middle = (low + high) / 2;
      HR_CHECK_EQ_I64(encoded(f, nextafter(middle, 0)), m);
      HR_CHECK_EQ_I64(encoded(f, middle), m % 2 ? m + 1 : m);
      HR_CHECK_EQ_I64(encoded(f, nextafter(middle, INFINITY)), m + 1);
      HR_CHECK_EQ_I64(encoded(f, -nextafter(middle, INFINITY)), (m + 1) | 0x80);
    }
  }
}

HR_TEST(too_large_too_small_no_number) {
  for (int k = 0; k < FORMATS; ++k) {
    const float8_t* f = &formats[k];
    const double step = f->largest - value_of(f, f->top - 1), border = f->largest + step / 2;
    const int sign = f->one_zero ? 0 : 0x80;
    HR_CHECK_EQ_I64(encoded(f, nextafter(border, 0)), f->top);
    HR_CHECK_EQ_I64(encoded(f, border), f->top % 2 ? f->overflow : f->top); /* an odd last digit: to the even one above */
    HR_CHECK_EQ_I64(encoded(f, nextafter(border, INFINITY)), f->overflow);
    HR_CHECK_EQ_I64(encoded(f, 1e300), f->overflow);
    HR_CHECK_EQ_I64(encoded(f, -1e300), f->overflow | sign);
    HR_CHECK_EQ_I64(encoded(f, INFINITY), f->overflow);
    HR_CHECK_EQ_I64(encoded(f, -INFINITY), f->overflow | sign);
    HR_CHECK_EQ_I64(encoded(f, (double)NAN) & 0x7f, f->nan & 0x7f);
    HR_CHECK_EQ_I64(encoded(f, copysign((double)NAN, -1)), f->nan | sign);
    HR_CHECK_EQ_I64(encoded(f, 1e-300), 0);
    HR_CHECK_EQ_I64(encoded(f, -1e-300), sign);
  }
}

HR_TEST(bits_are_dropped_toward_zero) {
  for (int k = 0; k < FORMATS; ++k) {
    const int digits = formats[k].mantissa;
    double x[] = {1.999, -1.999, 1.0, 0.0, INFINITY, -INFINITY, NAN, 1 + ldexp(1, -digits), 1 + ldexp(1, -digits - 1)};
    const double kept = 2 - ldexp(1, -digits), want[] = {kept, -kept, 1, 0, INFINITY, -INFINITY, NAN, 1 + ldexp(1, -digits), 1};
    hr_float8_truncate(formats[k].type, x, 9);
    for (int i = 0; i < 9; ++i) HR_CHECK(x[i] == want[i] || (isnan(x[i]) && isnan(want[i])));
  }
}

HR_TEST_MAIN()
