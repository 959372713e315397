/* SPDX-License-Identifier: Apache-2.0 */
/* Special functions that neither libm nor SLEEF has, one number at a time in double precision. */
#ifndef HR_OPS_ELEMENTWISE_SPECIAL_H
#define HR_OPS_ELEMENTWISE_SPECIAL_H
#include <complex.h>
#include <stdint.h>
double hr_special_digamma(double x); /* reflection below zero, recurrence to 6, asymptotic series; NaN at poles... */
double hr_special_lgamma(double x);  /* log |gamma(x)|; thread-safe */
double hr_special_erfinv(double x);  /* inverse of erf: Giles' start, two Newton steps */
double hr_special_ndtri(double p);   /* inverse of the normal distribution function */
double hr_special_zeta(double x, double q);       /* Hurwitz zeta (Euler-Maclaurin) */
double hr_special_polygamma(double n, double x);  /* n-th derivative of digamma */
double hr_special_igamma(double a, double x);     /* regularized lower incomplete gamma; special_gamma.c, like those below */
double hr_special_igammac(double a, double x);    /* 1 - igamma, without cancellation */
double hr_special_igamma_grad_a(double a, double x);
double hr_special_betainc(double a, double b, double x); /* regularized incomplete beta */
double hr_special_bessel_i0(double x);
double hr_special_bessel_i1(double x);
double hr_special_bessel_i0e(double x); /* times exp(-|x|) */
double hr_special_bessel_i1e(double x);
double complex hr_special_cexpm1(double complex x);
double complex hr_special_clog1p(double complex x);
double complex hr_special_creciprocal(double complex x); /* of 0: NaN, as TensorFlow; C gives infinity */
double hr_special_floor_mod(double x, double y);   /* x - floor(x / y) y, with y's sign, exactly */
uint64_t hr_special_ipow(uint64_t x, uint64_t n); /* wraps */
#endif
