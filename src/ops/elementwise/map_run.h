/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a one-operand loop over input 0 where the output may have another element type than the input. */
#ifndef HR_OPS_ELEMENTWISE_MAP_RUN_H
#define HR_OPS_ELEMENTWISE_MAP_RUN_H
#include "ops/elementwise/loops.h"

typedef struct { hr_loop1_t loop; double cost_ns; } hr_map_t; /* a kernel row's constant (hr_kernel_t.arg) */
/* compute function: output 0 = loop(input 0), of input 0's shape. */
hr_status_t hr_map_compute(hr_kernel_ctx_t* k);
#define HR_MAP(attr, set, row) {.where = {{attr, set}}, .compute = hr_map_compute, .arg = &row}
#endif
