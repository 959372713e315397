/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies on vectors of double. No include guard: a file includes this and simd_f32.h in turn around the text it compiles for each. */
#include "base/simd.h"
#include "base/simd_off.h"
#define HR_T double
#define HR_SUFFIX f64
#define HR_V hr_vf64
#define HR_I hr_vi64
#define HR_LANES ((int64_t)(sizeof(HR_V) / sizeof(HR_T)))
#define HR_DTYPE_ID HR_F64
#define K(x) ((HR_T)(x))
#define HR_SLEEF(fn, ulp) HR_SLEEF_NAME(fn, HR_SLEEF_F64, ulp)
#define HR_EXP_OF(x) HR_SLEEF(exp, u10)(x)
#define HR_TANH_OF(x) HR_SLEEF(tanh, u10)(x)
#define HR_ABS_MASK ((int64_t)0x7fffffffffffffff)
#include "base/simd_math.h"
