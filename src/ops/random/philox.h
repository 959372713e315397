/* SPDX-License-Identifier: Apache-2.0 */
/* Many Philox calls at once and what is made of their words, per instruction set. Words are bit for bit those of base/rng.h, and all values
 * are bit for bit the same on every set. */
#ifndef HR_OPS_RANDOM_PHILOX_H
#define HR_OPS_RANDOM_PHILOX_H
#include "base/isa.h"
#include "base/rng.h"

enum { HR_PHILOX_BLOCK = 256 }; /* calls at most in one call of these */

typedef struct {
  /* Four words for each offset: those of the call that comes after `offsets[i]` others. */
  void (*words)(const hr_rng_t* from, const uint64_t* offsets, int64_t calls, uint32_t* out);
  void (*uniform_f32)(const uint32_t* words, int64_t calls, float* out);  /* 4 values a call in [0, 1) */
  void (*uniform_f64)(const uint32_t* words, int64_t calls, double* out); /* 2 */
  void (*normal_f32)(const uint32_t* words, int64_t calls, float* out);   /* 4, in pairs of Box and Muller's */
  void (*normal_f64)(const uint32_t* words, int64_t calls, double* out);  /* 2 */
} hr_philox_vec_t;
HR_ISA_TABLES(hr_philox_vec_t, hr_philox_vec);
#endif
