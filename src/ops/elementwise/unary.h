/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by unary.c and its bodies: the ops' indices, and the tables of loops by op and element type. */
#ifndef HR_OPS_ELEMENTWISE_UNARY_H
#define HR_OPS_ELEMENTWISE_UNARY_H
#include "base/isa.h"
#include "ops/elementwise/loops.h"

enum {
#define UNARY(Name, allowed, types, gradient) UNARY_##Name,
#include "ops/elementwise/no_rows.h"
#include "ops/elementwise/unary.def"
  UNARY_COUNT
};
typedef hr_loop1_t hr_unary_table_t[UNARY_COUNT][HR_DTYPE_COUNT];
HR_ISA_TABLES(hr_unary_table_t, hr_unary_vec); /* FLOAT and INTEGER rows */
extern const hr_unary_table_t hr_unary_scalar; /* SCALAR and COMPLEX rows */
#endif
