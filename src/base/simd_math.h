/* SPDX-License-Identifier: Apache-2.0 */
/* The vocabulary of vector bodies, for either element type: the words stand for SLEEF's function of the current type and instruction set.
 */
#ifndef HR_BASE_SIMD_MATH_H
#define HR_BASE_SIMD_MATH_H
#define HR_LOAD(p) HR_CAT(HR_V, _load)(p)
#define HR_STORE(p, v) HR_CAT(HR_V, _store)(p, v)
#define HR_LOAD_PART(p, n, fill) HR_CAT(HR_V, _load_part)(p, n, fill)
#define HR_STORE_PART(p, v, n) HR_CAT(HR_V, _store_part)(p, v, n)
#define HR_ALL(x) HR_CAT(HR_V, _all)(x)
#define HR_TYPED(stem) HR_CAT(stem##_, HR_SUFFIX) /* Tanh -> Tanh_f32 */

/* A comparison of vectors gives lanes of 0 or -1. */
#define SELECT(mask, a, b) ((HR_V)(((HR_I)(mask) & (HR_I)HR_VEC_OF(a)) | (~(HR_I)(mask) & (HR_I)HR_VEC_OF(b))))
#define HR_VEC_OF(x) ((x) - (HR_V){0} * 0) /* a scalar becomes a vector; -0.0 and NaN stay */
#define ABS(x) ((HR_V)((HR_I)(x) & HR_ABS_MASK))
#define NEG(x) ((HR_V)((HR_I)(x) ^ ~HR_ABS_MASK))
#define IS_NAN(x) ((x) != (x))
#define MAX_(a, b) SELECT((a) > (b), a, b)
#define MIN_(a, b) SELECT((a) < (b), a, b)

#define EXP(x) HR_EXP_OF(x) /* float: ours, inlined (simd_fast.h) */
#define EXPM1(x) HR_SLEEF(expm1, u10)(x)
#define LOG(x) HR_SLEEF(log, u10)(x)
#define LOG1P(x) HR_SLEEF(log1p, u10)(x)
#define SIN(x) HR_SLEEF(sin, u10)(x)
#define COS(x) HR_SLEEF(cos, u10)(x)
#define TAN(x) HR_SLEEF(tan, u10)(x)
#define ASIN(x) HR_SLEEF(asin, u10)(x)
#define ACOS(x) HR_SLEEF(acos, u10)(x)
#define ATAN(x) HR_SLEEF(atan, u10)(x)
#define SINH(x) HR_SLEEF(sinh, u10)(x)
#define COSH(x) HR_SLEEF(cosh, u10)(x)
#define TANH(x) HR_TANH_OF(x) /* likewise */
#define ASINH(x) HR_SLEEF(asinh, u10)(x)
#define ACOSH(x) HR_SLEEF(acosh, u10)(x)
#define ATANH(x) HR_SLEEF(atanh, u10)(x)
#define ERF(x) HR_SLEEF(erf, u10)(x)
#define ERFC(x) HR_SLEEF(erfc, u15)(x)
#define LGAMMA(x) HR_SLEEF(lgamma, u10)(x)
#define POW(x, y) HR_SLEEF(pow, u10)(x, y)
#define ATAN2(y, x) HR_SLEEF(atan2, u10)(y, x)
#define SQRT(x) HR_SLEEF(sqrt, )(x)
#define FLOOR(x) HR_SLEEF(floor, )(x)
#define CEIL(x) HR_SLEEF(ceil, )(x)
#define RINT(x) HR_SLEEF(rint, )(x)
#define TRUNC(x) HR_SLEEF(trunc, )(x)
#endif
