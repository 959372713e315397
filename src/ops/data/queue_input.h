/* SPDX-License-Identifier: Apache-2.0 */
/* The queue that input 0 names, by handle or by reference. */
#ifndef HR_OPS_DATA_QUEUE_INPUT_H
#define HR_OPS_DATA_QUEUE_INPUT_H
#include "ops/data/queue.h"

/* A reference of the caller's. INVALID_ARGUMENT for an empty handle or another object's, NOT_FOUND when there is no such queue. */
HR_MUST_USE hr_status_t hr_queue_input(const hr_kernel_ctx_t* k, hr_queue_t** out);
#endif
