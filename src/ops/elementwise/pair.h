/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by pair.c and its bodies: the ops' indices and the tables of loops. */
#ifndef HR_OPS_ELEMENTWISE_PAIR_H
#define HR_OPS_ELEMENTWISE_PAIR_H
#include "base/isa.h"
#include "ops/elementwise/loops.h"

enum {
#define PAIR(Name, ...) PAIR_##Name,
#include "ops/elementwise/no_rows.h"
#include "ops/elementwise/pair.def"
  PAIR_COUNT
};
typedef hr_loop2_t hr_pair_table_t[PAIR_COUNT][HR_DTYPE_COUNT];
HR_ISA_TABLES(hr_pair_table_t, hr_pair_vec); /* ARITH, FLOAT and INTEGER rows */
extern const hr_pair_table_t hr_pair_complex;
#endif
