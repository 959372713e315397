/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels that write Summary messages share: field numbers, and the end. */
#ifndef HR_OPS_LOG_SUMMARY_H
#define HR_OPS_LOG_SUMMARY_H
#include "op/kernel_ctx.h"
#include "wire/writer.h"

enum { HR_SUMMARY_VALUE = 1 }; /* of a Summary */
enum { HR_VALUE_TAG = 1, HR_VALUE_SIMPLE = 2, HR_VALUE_IMAGE = 4, HR_VALUE_HISTOGRAM = 5 };

/* Output 0 is a scalar with w's bytes, unless there is an error; ends w. */
HR_MUST_USE hr_status_t hr_summary_output(hr_kernel_ctx_t* k, hr_status_t take_status, hr_writer_t* w);
#endif
