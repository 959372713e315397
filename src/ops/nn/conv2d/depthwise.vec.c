/* SPDX-License-Identifier: Apache-2.0 */
/* The sums of depthwise.c, compiled once per instruction set. */
#include "ops/nn/conv2d/depthwise.h"
#include "base/simd_f32.h"
#include "ops/nn/conv2d/depthwise.inc"
#include "base/simd_f64.h"
#include "ops/nn/conv2d/depthwise.inc"

const hr_depthwise_vec_t HR_ISA_NAME(hr_depthwise_vec) = {.f32 = {spread_f32, fold_f32, add_f32}, .f64 = {spread_f64, fold_f64, add_f64}};
