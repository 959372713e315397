/* SPDX-License-Identifier: Apache-2.0 */
/* Call sites: looked up once, then one load. */
#include "op/caller.h"

#include "rt/step.h"

hr_status_t hr_caller_run(hr_call_site_t* site, const hr_kernel_ctx_t* k, const hr_tensor_t* inputs, int input_count, hr_tensor_t* outputs,
                          int output_count) {
  hr_caller_t* caller = k->step ? k->step->caller : NULL;
  if (!caller) return HR_ERROR(FAILED_PRECONDITION, "function '%.*s' is called outside a session's step", HR_STR_ARG(site->function->name));
  const hr_callee_t* callee = atomic_load_explicit(&site->callee, memory_order_acquire);
  if (!callee) {
    HR_TRY(caller->find(caller, site->function, &callee));
    atomic_store_explicit(&site->callee, callee, memory_order_release);
  }
  return caller->call(caller, callee, site->role ? site->role : "the function", k->step, inputs, input_count, outputs, output_count);
}
