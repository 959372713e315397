/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the depthwise convolutions: the sums that all three are, per instruction set (depthwise.vec.c). Operands lie with channels last,
 * where input channel c meets the channels [c m, c m + m) of filter and output; m is the multiplier. */
#ifndef HR_OPS_NN_CONV2D_DEPTHWISE_H
#define HR_OPS_NN_CONV2D_DEPTHWISE_H
#include <stdint.h>
#include "base/isa.h"

/* Pairs of places of two operands, rows by columns; steps in elements. */
typedef struct {
  const void *a, *b;
  int64_t rows, a_row, b_row;
  int64_t columns, a_column, b_column;
} hr_depthwise_taps_t;

typedef struct {
  /* out[j] = sum over taps of a[j / m] b[j], for j in [0, n), n a multiple of m */
  void (*spread)(const hr_depthwise_taps_t* t, int64_t n, int64_t m, void* out);
  /* out[c] = sum over taps and i in [0, m) of a[c m + i] b[c m + i], for c in [0, n) */
  void (*fold)(const hr_depthwise_taps_t* t, int64_t n, int64_t m, void* out);
  void (*add)(const void* from, int64_t n, void* to); /* to += from */
} hr_depthwise_rows_t;
typedef struct {
  hr_depthwise_rows_t f32, f64;
} hr_depthwise_vec_t;
HR_ISA_TABLES(hr_depthwise_vec_t, hr_depthwise_vec);
#endif
