/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by reduce.c and its bodies: the steps' loops by element type, per instruction set. Accumulators are of the element type; half and
 * bfloat16 are widened to float by reduce.c. */
#ifndef HR_OPS_REDUCE_REDUCE_H
#define HR_OPS_REDUCE_REDUCE_H
#include "base/isa.h"
#include "op/kernel_ctx.h"

enum {
#define STEP(Name, ...) STEP_##Name,
#include "ops/reduce/no_rows.h"
#include "ops/reduce/reduce.def"
  STEP_All, STEP_Any, STEP_COUNT
};
typedef struct {
  void (*start)(void* acc, int64_t n);                    /* acc[i] = start */
  void (*row)(const void* x, int64_t n, void* acc);       /* *acc joins x[0..n) */
  void (*column)(const void* x, int64_t n, void* acc);    /* acc[i] joins x[i] */
} hr_reduce_step_t;
typedef hr_reduce_step_t hr_reduce_table_t[STEP_COUNT][HR_DTYPE_COUNT];
HR_ISA_TABLES(hr_reduce_table_t, hr_reduce_vec);
#endif
