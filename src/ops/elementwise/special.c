/* SPDX-License-Identifier: Apache-2.0 */
/* Special functions by their textbook series (Abramowitz and Stegun 6.3, 23.2; Giles, "Approximating the erfinv function"). */
#include "ops/elementwise/special.h"
#include <math.h>

static const double pi = 3.14159265358979323846;

double hr_special_digamma(double x) {
  if (isnan(x) || x == -INFINITY) return NAN;
  if (x <= 0) {
    if (x == floor(x)) return NAN; /* a pole */
    return hr_special_digamma(1 - x) - pi / tan(pi * x);
  }
  double sum = 0;
  for (; x < 10; x += 1) sum -= 1 / x;
  double r = 1 / (x * x);
  double tail = r * (1.0 / 12 - r * (1.0 / 120 - r * (1.0 / 252 - r * (1.0 / 240 - r * (1.0 / 132 - r * (691.0 / 32760 - r / 12))))));
  return sum + log(x) - 0.5 / x - tail;
}

double hr_special_lgamma(double x) {
  int sign;
  if (x == -INFINITY) return INFINITY;
  return lgamma_r(x, &sign);
}

double hr_special_erfinv(double x) { /* outside [-1, 1] the first logarithm is NaN, and all that follows */
  if (x == 1 || x == -1) return copysign(INFINITY, x);
  if (x == 0) return x;
  /* a start good to a few digits (Winitzki), then Halley's iteration on erf(y) = x, with erfc near the ends where erf is flat */
  double a = 0.147, l = log1p(-x * x), t = 2 / (pi * a) + l / 2;
  double y = copysign(sqrt(sqrt(t * t - l / a) - t), x);
  for (int i = 0; i < 3; ++i) {
    double error = fabs(x) < 0.5 ? erf(y) - x : ((1 - fabs(x)) - erfc(fabs(y))) * copysign(1, x);
    double step = error / (2 / sqrt(pi) * exp(-y * y));
    y -= step / (1 + y * step);
  }
  return y;
}

double hr_special_ndtri(double p) {
  if (!(p >= 0 && p <= 1)) return NAN;
  if (p == 0 || p == 1) return p == 0 ? -INFINITY : INFINITY;
  if (p > 0.01 && p < 0.99) return sqrt(2.0) * hr_special_erfinv(2 * p - 1);
  /* tails: Newton's iteration on the logarithm of the distribution keeps its digits */
  double q = p < 0.5 ? p : 1 - p, y = sqrt(-2 * log(q));
  for (int i = 0; i < 8; ++i) {
    double f = 0.5 * erfc(y / sqrt(2.0));
    double density = exp(-0.5 * y * y) / sqrt(2 * pi);
    double step = f * (log(f) - log(q)) / density;
    y += step;
    if (fabs(step) < 1e-16 * y) break;
  }
  return p < 0.5 ? -y : y;
}

double hr_special_zeta(double x, double q) {
  static const double bernoulli[] = {1.0 / 6,       -1.0 / 30, 1.0 / 42,      -1.0 / 30,     5.0 / 66,
                                     -691.0 / 2730, 7.0 / 6,   -3617.0 / 510, 43867.0 / 798, -174611.0 / 330};
  if (x == 1) return INFINITY;
  if (isnan(x) || isnan(q) || x < 1) return NAN;
  if (q <= 0 && q == floor(q)) return fmod(x, 2) == 0 || isinf(x) ? INFINITY : NAN; /* the pole's sides agree for even x alone */
  if (q <= 0 && x != floor(x)) return NAN;                                          /* (q + k)^-x is complex */
  if (isinf(x)) return q > 1 ? 0 : q == 1 ? 1 : INFINITY;
  double sum = 0, a = q;
  int terms = q < 0 ? (int)fmin(ceil(-q), 1e6) + 12 : 12;
  for (int k = 0; k < terms || a <= 9; ++k, a += 1) sum += pow(a, -x);
  sum += pow(a, 1 - x) / (x - 1) + 0.5 * pow(a, -x);
  double factor = x * pow(a, -x - 1), factorial = 2;
  for (int j = 0; j < 10; ++j) {
    sum += bernoulli[j] * factor / factorial;
    factor *= (x + 2 * j + 1) * (x + 2 * j + 2) / (a * a);
    factorial *= (2.0 * j + 3) * (2.0 * j + 4);
  }
  return sum;
}

double hr_special_polygamma(double n, double x) {
  if (!(n >= 0) || n != floor(n)) return NAN;
  if (n == 0) return hr_special_digamma(x);
  return (fmod(n, 2) == 0 ? -1 : 1) * exp(hr_special_lgamma(n + 1)) * hr_special_zeta(n + 1, x);
}

/* C11's CMPLX, which glibc's header has for GCC only. Sums of a real and a complex number are avoided: Clang gives the real one a zero
 * imaginary part, and -0 + 0 is 0. */
static double complex complex_of(double re, double im) {
  union { double parts[2]; double complex z; } u = {{re, im}};
  return u.z;
}

double complex hr_special_cexpm1(double complex z) { /* exp(a)(cos b + i sin b) - 1, without cancellation near 0 */
  double a = creal(z), b = cimag(z), s = sin(b / 2), e = expm1(a);
  return complex_of(e * cos(b) - 2 * s * s, (e + 1) * sin(b));
}

double complex hr_special_clog1p(double complex z) { /* Kahan's: log(u) z / (u - 1) with u = 1 + z rounded */
  const double complex u = complex_of(1 + creal(z), cimag(z));
  return u == 1 || (creal(z) == INFINITY && cimag(z) == 0) ? z : clog(u) * z / (u - 1);
}

double complex hr_special_creciprocal(double complex z) {
  const double a = creal(z), b = cimag(z);
  if (a == 0 && b == 0) return complex_of(NAN, NAN);
  return 1 / z;
}

double hr_special_floor_mod(double x, double y) {
  double r = fmod(x, y);
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

uint64_t hr_special_ipow(uint64_t x, uint64_t n) {
  uint64_t r = 1;
  for (; n; n >>= 1, x *= x)
    if (n & 1) r *= x;
  return r;
}
