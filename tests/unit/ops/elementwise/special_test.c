/* SPDX-License-Identifier: Apache-2.0 */
/* The special functions against special_values.def, those of complex numbers against formulas without cancellation, powers against
 * products. */
#include "ops/elementwise/special.h"
#include <math.h>
#include "test.h"

#define ONE(name)                                                                    \
  static double f_##name(const double* x) { return hr_special_##name(x[0]); }
#define TWO(name)                                                                    \
  static double f_##name(const double* x) { return hr_special_##name(x[0], x[1]); }
#define THREE(name)                                                                  \
  static double f_##name(const double* x) { return hr_special_##name(x[0], x[1], x[2]); }
ONE(digamma) ONE(lgamma) ONE(erfinv) ONE(ndtri) ONE(bessel_i0) ONE(bessel_i1) ONE(bessel_i0e) ONE(bessel_i1e)
TWO(zeta) TWO(polygamma) TWO(igamma) TWO(igammac) TWO(igamma_grad_a) TWO(floor_mod) THREE(betainc)

static const struct {
  const char* name;
  double (*function)(const double* x);
  double x[3], want, tolerance;
} values[] = {
#define VALUE(name, a, b, c, want, tolerance) {#name, f_##name, {(double)(a), (double)(b), (double)(c)}, (double)(want), tolerance},
#include "special_values.def"
#undef VALUE
};

HR_TEST(values_to_the_last_digits) {
  for (size_t i = 0; i < sizeof values / sizeof *values; ++i) {
    const double got = values[i].function(values[i].x), want = values[i].want;
    if (isnan(want) ? isnan(got) : (got == want && !signbit(got) == !signbit(want))) continue;
    if (want != 0 && isfinite(want) && fabs(got - want) <= values[i].tolerance * fabs(want)) continue;
    hr_test_fail(__FILE__, __LINE__, "%s(%.17g, %.17g, %.17g) is %.17g, should be %.17g", values[i].name, values[i].x[0], values[i].x[1],
                 values[i].x[2], got, want);
  }
}

/* exp z - 1 and log(1 + z) by their series where z is small, by the plain formula where it is not. */
static double complex series_expm1(double complex z) {
  double complex sum = 0, term = 1;
  for (int n = 1; n < 40; ++n) sum += term *= z / n;
  return sum;
}
static double complex series_log1p(double complex z) {
  double complex sum = 0, power = -1;
  for (int n = 1; n < 400; ++n) sum += (power *= -z) / n;
  return sum;
}

static void check_complex(const char* what, double complex z, double complex got, double complex want) {
  if (!(cabs(got - want) <= 1e-15 * cabs(want)))
    hr_test_fail(__FILE__, __LINE__, "%s of %g + %gi is %.17g + %.17gi, should be %.17g + %.17gi", what, creal(z), cimag(z), creal(got),
                 cimag(got), creal(want), cimag(want));
}

HR_TEST(complex_numbers_near_zero_keep_their_digits) {
  static const double parts[] = {0, 1e-17, 1e-9, 1e-3, 0.0625, 0.25, -1e-17, -1e-9, -1e-3, -0.0625, -0.25};
  enum { PARTS = sizeof parts / sizeof *parts };
  for (int i = 0; i < PARTS * PARTS; ++i) {
    const double complex z = parts[i / PARTS] + parts[i % PARTS] * I;
    check_complex("expm1", z, hr_special_cexpm1(z), series_expm1(z));
    check_complex("log1p", z, hr_special_clog1p(z), series_log1p(z));
  }
  static const double complex large[] = {3 + 2 * I, -3 + 0.5 * I, 0.5 - 7 * I, -2 - 2 * I, 20 + 30 * I};
  for (int i = 0; i < 5; ++i) {
    check_complex("expm1", large[i], hr_special_cexpm1(large[i]), cexp(large[i]) - 1);
    check_complex("log1p", large[i], hr_special_clog1p(large[i]), clog(1 + large[i]));
  }
}

HR_TEST(reciprocals_of_complex_numbers) {
  HR_CHECK(hr_special_creciprocal(2) == 0.5);
  HR_CHECK(hr_special_creciprocal(4 * I) == -0.25 * I);
  HR_CHECK(hr_special_creciprocal(1 - I) == 0.5 + 0.5 * I);
  const double complex none = hr_special_creciprocal(0);
  HR_CHECK(isnan(creal(none)) && isnan(cimag(none)));
}

HR_TEST(whole_powers_wrap) {
  for (uint64_t x = 0; x < 12; ++x)
    for (uint64_t n = 0, want = 1; n < 70; ++n, want *= x) HR_CHECK_EQ_U64(hr_special_ipow(x, n), want);
  HR_CHECK_EQ_U64(hr_special_ipow(UINT64_MAX, 3), UINT64_MAX);
  HR_CHECK_EQ_U64(hr_special_ipow(3, UINT64_C(1) << 62), 1); /* the order of 3 divides it */
}

HR_TEST_MAIN()
