/* SPDX-License-Identifier: Apache-2.0 */
/* Incomplete gamma and beta functions (Abramowitz and Stegun 6.5, 26.5; Lentz's continued fractions) and modified Bessel functions
 * (9.6, 9.7). */
#include <float.h>
#include <math.h>
#include "ops/elementwise/special.h"

enum { TERMS = 20000 };
static const double tiny = 1e-300;

static double gamma_factor(double a, double x) { return exp(a * log(x) - x - hr_special_lgamma(a)); } /* x^a e^-x / gamma(a) */

static double igamma_series(double a, double x) {
  double term = 1 / a, sum = term;
  for (int n = 1; n < TERMS && term > sum * DBL_EPSILON / 4; ++n) sum += term *= x / (a + n);
  return sum * gamma_factor(a, x);
}

static double igammac_fraction(double a, double x) {
  double b = x + 1 - a, c = 1 / tiny, d = 1 / b, h = d;
  for (int n = 1; n < TERMS; ++n) {
    const double an = -n * (n - a);
    b += 2;
    d = an * d + b;
    c = b + an / c;
    if (fabs(d) < tiny) d = tiny;
    if (fabs(c) < tiny) c = tiny;
    d = 1 / d;
    h *= d * c;
    if (fabs(d * c - 1) < DBL_EPSILON) break;
  }
  return h * gamma_factor(a, x);
}

/* P (lower) or Q = 1 - P (upper), regularized. */
static double incomplete_gamma(double a, double x, int upper) {
  if (x == 0 && !upper) return 0; /* whatever a is */
  if (isnan(a) || isnan(x) || !(a > 0) || x < 0) return NAN;
  if (isinf(a)) return isinf(x) ? 0 : upper;
  if (x == 0) return upper;
  if (isinf(x)) return !upper;
  if (x <= 1 || x <= a) return upper ? 1 - igamma_series(a, x) : igamma_series(a, x);
  return upper ? igammac_fraction(a, x) : 1 - igammac_fraction(a, x);
}
double hr_special_igamma(double a, double x) { return incomplete_gamma(a, x, 0); }
double hr_special_igammac(double a, double x) { return incomplete_gamma(a, x, 1); }

/* dP/da: the series sum_n x^n / ((a)(a+1)...(a+n)) and its derivative term by term; far to the right P is 1 and flat. */
double hr_special_igamma_grad_a(double a, double x) {
  if (x == 0) return 0; /* whatever a is */
  if (isnan(a) || isnan(x) || !(a > 0) || x < 0) return NAN;
  if (isinf(a) || isinf(x)) return 0;
  if (x > a + 60 + 12 * sqrt(a)) return 0;
  double term = 1 / a, slope = -1 / (a * a), sum = term, slopes = slope; /* of term n: slope = d term / da */
  for (int n = 1; n < TERMS; ++n) {
    slope = (slope - term / (a + n)) * x / (a + n);
    term *= x / (a + n);
    sum += term;
    slopes += slope;
    if (fabs(slope) < fabs(slopes) * DBL_EPSILON / 8 && term < sum * DBL_EPSILON / 8) break;
  }
  return gamma_factor(a, x) * (slopes + sum * (log(x) - hr_special_digamma(a)));
}

static double beta_fraction(double a, double b, double x) {
  double c = 1, d = 1 - (a + b) * x / (a + 1);
  if (fabs(d) < tiny) d = tiny;
  d = 1 / d;
  double h = d;
  for (int m = 1; m < TERMS; ++m) {
    double n = m, even = n * (b - n) * x / ((a + 2 * n - 1) * (a + 2 * n)),
           odd = -(a + n) * (a + b + n) * x / ((a + 2 * n) * (a + 2 * n + 1));
    double step = 1;
    for (int half = 0; half < 2; ++half) {
      const double an = half ? odd : even;
      d = 1 + an * d;
      c = 1 + an / c;
      if (fabs(d) < tiny) d = tiny;
      if (fabs(c) < tiny) c = tiny;
      d = 1 / d;
      step = d * c;
      h *= step;
    }
    if (fabs(step - 1) < DBL_EPSILON) break;
  }
  return h;
}

double hr_special_betainc(double a, double b, double x) {
  if (a <= 0 || b <= 0 || !(x >= 0 && x <= 1)) return NAN;
  if (x == 0 || x == 1) return x; /* whatever a and b are above 0, NaN too */
  if (!isfinite(a) || !isfinite(b)) return NAN;
  const double front = exp(hr_special_lgamma(a + b) - hr_special_lgamma(a) - hr_special_lgamma(b) + a * log(x) + b * log1p(-x));
  return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/* exp(-|x|) I_n(x) for n 0 or 1: the power series, and from 30 on the asymptotic one. */
static double bessel_scaled(double x, int n) {
  const double m = fabs(x), mu = n ? 4 : 0;
  double term = 1, sum = 1;
  if (isnan(x)) return x;
  if (isinf(x)) return n && x < 0 ? -0.0 : 0;
  if (m < 30) {
    if (n) term = sum = m / 2;
    for (int k = 1; k < 200 && term > sum * DBL_EPSILON / 8; ++k) sum += term *= m * m / 4 / ((double)k * (k + n));
    sum *= exp(-m);
  } else {
    for (int k = 1; k < 30; ++k) sum += term *= -(mu - (2.0 * k - 1) * (2.0 * k - 1)) / (8 * m * k);
    sum /= sqrt(2 * 3.14159265358979323846 * m);
  }
  return n && x < 0 ? -sum : sum;
}
double hr_special_bessel_i0e(double x) { return bessel_scaled(x, 0); }
double hr_special_bessel_i1e(double x) { return bessel_scaled(x, 1); }
double hr_special_bessel_i0(double x) { return isinf(x) ? INFINITY : exp(fabs(x) / 2) * bessel_scaled(x, 0) * exp(fabs(x) / 2); }
double hr_special_bessel_i1(double x) { return isinf(x) ? x : exp(fabs(x) / 2) * bessel_scaled(x, 1) * exp(fabs(x) / 2); }
