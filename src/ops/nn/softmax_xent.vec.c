/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of softmax_xent.c and sparse_softmax_xent.c, compiled once per instruction set. */
#include <math.h>
#include "ops/nn/softmax_xent.h"
#include "ops/elementwise/fast_math.h"
#include "base/simd_f32.h"
#include "ops/nn/softmax_xent.inc"
#include "base/simd_f64.h"
#include "ops/nn/softmax_xent.inc"

const hr_xent_vec_t HR_ISA_NAME(hr_xent_vec) = {
    .dense_f32 = dense_f32, .dense_f64 = dense_f64, .sparse_f32 = sparse_f32, .sparse_f64 = sparse_f64};
