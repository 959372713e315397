/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions between the C number types, per instruction set; cast.c reaches the other types through them. */
#ifndef HR_OPS_ELEMENTWISE_CAST_H
#define HR_OPS_ELEMENTWISE_CAST_H
#include "base/isa.h"
#include "ops/elementwise/loops.h"
typedef hr_loop1_t hr_cast_table_t[HR_DTYPE_COUNT][HR_DTYPE_COUNT]; /* [from][to] */
HR_ISA_TABLES(hr_cast_table_t, hr_cast_vec);
#endif
