/* SPDX-License-Identifier: Apache-2.0 */
/* Errands: work that may block for long (a step, a call that waits), each on a thread of its own. Threads are kept for the next errand and
 * end after a while without one, so a steady stream of steps starts no thread. */
#ifndef HR_BASE_ERRAND_H
#define HR_BASE_ERRAND_H
#include "base/status.h"

typedef struct hr_errand {
  void (*run)(struct hr_errand* self); /* may free the errand's memory */
  struct hr_errand* next;
} hr_errand_t;                         /* memory of the caller until `run` is called */

/* Never waits for another errand. RESOURCE_EXHAUSTED when no thread can be had: `run` will then not be called. */
HR_MUST_USE hr_status_t hr_errand_start(hr_errand_t* e);
/* From now on the first errand that this thread starts goes to *slot, and its `run` is the caller's to call, soon. NULL: no more. */
void hr_errand_catch(hr_errand_t** slot);
#endif
