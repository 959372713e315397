/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of queue elements: rows become elements, elements become rows. */
#ifndef HR_OPS_DATA_QUEUE_BATCH_H
#define HR_OPS_DATA_QUEUE_BATCH_H
#include "ops/data/queue.h"

/* Element i's part of component c: row i of `t` (which shares t's memory unless the memory is borrowed). */
HR_MUST_USE hr_status_t hr_queue_row(const hr_tensor_t* t, int64_t i, hr_tensor_t* out);
/* Output c: the component's parts as rows, padded with zeros to the largest if the queue pads. */
HR_MUST_USE hr_status_t hr_queue_batch(hr_kernel_ctx_t* k, const hr_queue_t* q, const hr_element_t* elements, int64_t count, int c);
#endif
