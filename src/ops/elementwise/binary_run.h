/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a two-operand loop over broadcast inputs: binary.c and compare.c differ only in their tables. */
#ifndef HR_OPS_ELEMENTWISE_BINARY_RUN_H
#define HR_OPS_ELEMENTWISE_BINARY_RUN_H
#include "ops/elementwise/binary.h"

typedef struct {
  const hr_loop2_t* loops;   /* LOOP_FORMS of them */
  uint8_t in_size, out_size; /* bytes of an element */
} hr_binary_run_t;
/* Output 0 = loop(input 0, input 1), in place where it may; INVALID_ARGUMENT when the shapes do not broadcast. */
HR_MUST_USE hr_status_t hr_binary_run(hr_kernel_ctx_t* k, const hr_binary_run_t* run);
#endif
