/* SPDX-License-Identifier: Apache-2.0 */
/* How a kernel calls a function of the library: a service of the step. A function is compiled at its first call, once per name and
 * attrs, and then runs as a step within the step: same cancellation, same resources, same step-long objects. Most calls never get here:
 * sessions put bodies in place of calls; what is left is recursion and what would grow too large. */
#ifndef HR_OP_CALLER_H
#define HR_OP_CALLER_H
#include "op/kernel_ctx.h"

typedef struct hr_callee hr_callee_t; /* a compiled function; lives as long as its caller */
typedef struct hr_caller {
  /* INVALID_ARGUMENT when there is no such function, or its body does not hold together. */
  hr_status_t (*find)(struct hr_caller* c, const hr_func_attr_t* function, const hr_callee_t** out);
  /* Inputs are borrowed, outputs the caller's; the counts are checked against the function, which messages call `role`. RESOURCE_EXHAUSTED
   * when calls nest too deep. */
  hr_status_t (*call)(struct hr_caller* c, const hr_callee_t* callee, const char* role, hr_step_t* step, const hr_tensor_t* inputs,
                      int input_count, hr_tensor_t* outputs, int output_count);
  /* Whether a device of that name (which may leave parts open) is a CPU of this process. */
  bool (*has_cpu)(const struct hr_caller* c, hr_str_t name);
} hr_caller_t;

/* One function that a node calls, found at its first call. */
typedef struct {
  const hr_func_attr_t* function; /* of the node's attrs */
  const char* role;               /* what it is to the node, for people: "For loop body"; NULL: a function */
  _Atomic(const hr_callee_t*) callee;
} hr_call_site_t;

/* Calls; FAILED_PRECONDITION where the step has no library (constant folding). */
HR_MUST_USE hr_status_t hr_caller_run(hr_call_site_t* site, const hr_kernel_ctx_t* k, const hr_tensor_t* inputs, int input_count,
                                      hr_tensor_t* outputs, int output_count);
#endif
