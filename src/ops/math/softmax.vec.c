/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of softmax.c, compiled once per instruction set. */
#include <math.h>
#include "ops/math/softmax.h"
#include "ops/elementwise/fast_math.h"
#include "base/simd_f32.h"
#include "ops/math/softmax.inc"
#include "base/simd_f64.h"
#include "ops/math/softmax.inc"

const hr_softmax_vec_t HR_ISA_NAME(hr_softmax_vec) = {.f32 = rows_f32, .f64 = rows_f64};
