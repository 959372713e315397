/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies on vectors of float. No include guard: a file includes this and simd_f64.h in turn around the text it compiles for each. */
#include "base/simd.h"
#include "base/simd_fast.h"
#include "base/simd_off.h"
#define HR_T float
#define HR_SUFFIX f32
#define HR_V hr_vf32
#define HR_I hr_vi32
#define HR_LANES ((int64_t)(sizeof(HR_V) / sizeof(HR_T)))
#define HR_DTYPE_ID HR_F32
#define K(x) ((HR_T)(x))
#define HR_SLEEF(fn, ulp) HR_SLEEF_NAME(fn, HR_SLEEF_F32, ulp)
#define HR_EXP_OF(x) hr_vf32_exp(x)
#define HR_TANH_OF(x) hr_vf32_tanh(x)
#define HR_ABS_MASK ((int32_t)0x7fffffff)
#include "base/simd_math.h"
