/* SPDX-License-Identifier: Apache-2.0 */
/* 8-bit floats: e5m2 is IEEE-like with infinities; the others have none, and what is too large for them becomes NaN. Rounding is to nearest
 * even. */
#ifndef HR_OPS_ELEMENTWISE_FLOAT8_H
#define HR_OPS_ELEMENTWISE_FLOAT8_H
#include "tensor/dtype.h"
#define HR_M_FLOAT8 (HR_M(F8_E5M2) | HR_M(F8_E4M3FN) | HR_M(F8_E4M3FNUZ) | HR_M(F8_E4M3B11FNUZ) | HR_M(F8_E5M2FNUZ))
void hr_float8_decode(hr_dtype_t type, const uint8_t* x, float* y, int64_t n);
void hr_float8_encode(hr_dtype_t type, const double* x, uint8_t* y, int64_t n);
/* The doubles without the mantissa bits that the type lacks. */
void hr_float8_truncate(hr_dtype_t type, double* x, int64_t n);
#endif
