/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by compare.c and its bodies: the ops' indices and the tables of loops. Types that compare by their bits alike share a loop. */
#ifndef HR_OPS_ELEMENTWISE_COMPARE_H
#define HR_OPS_ELEMENTWISE_COMPARE_H
#include "ops/elementwise/binary.h"

enum {
#define COMPARE(Name, ...) COMPARE_##Name,
#include "ops/elementwise/no_rows.h"
#include "ops/elementwise/compare.def"
  COMPARE_COUNT
};
typedef hr_binary_loops_t hr_compare_table_t[COMPARE_COUNT][HR_DTYPE_COUNT];
HR_ISA_TABLES(hr_compare_table_t, hr_compare_vec);
#endif
