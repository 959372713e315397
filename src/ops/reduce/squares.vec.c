/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of squares, compiled once per instruction set. */
#include "ops/reduce/squares.h"
#include "base/simd_f32.h"
#include "ops/reduce/squares.inc"
#include "base/simd_f64.h"
#include "ops/reduce/squares.inc"

const hr_squares_vec_t HR_ISA_NAME(hr_squares_vec) = {.f32 = squares_f32, .f64 = squares_f64};
