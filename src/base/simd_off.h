/* SPDX-License-Identifier: Apache-2.0 */
/* Takes back what simd_f32.h or simd_f64.h defined. */
#undef HR_T
#undef HR_SUFFIX
#undef HR_V
#undef HR_I
#undef HR_LANES
#undef HR_DTYPE_ID
#undef K
#undef HR_SLEEF
#undef HR_EXP_OF
#undef HR_TANH_OF
#undef HR_ABS_MASK
