/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of local response normalization, per instruction set (lrn.vec.c): channels of one place, in float. */
#ifndef HR_OPS_NN_LRN_H
#define HR_OPS_NN_LRN_H
#include <stdint.h>
#include "base/isa.h"

typedef struct {
  int64_t depth, radius; /* radius at most depth */
  float bias, alpha, beta;
} hr_lrn_t;
/* Floats of scratch that a thread needs, zero before its first row: two frames of depth + 2 radius with margins of zeros, and depth. */
static inline int64_t hr_lrn_scratch(const hr_lrn_t* l) { return 3 * l->depth + 4 * l->radius; }

typedef struct {
  void (*forward)(const hr_lrn_t* l, const float* x, int64_t rows, float* scratch, float* y);
  void (*backward)(const hr_lrn_t* l, const float* dy, const float* x, const float* y, int64_t rows, float* scratch, float* dx);
} hr_lrn_vec_t;
HR_ISA_TABLES(hr_lrn_vec_t, hr_lrn_vec);
#endif
