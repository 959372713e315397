/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel that segment ops with ascending ids share: each output row joins a run of data's rows, picked directly or through indices. */
#ifndef HR_OPS_REDUCE_SEGMENT_ROWS_H
#define HR_OPS_REDUCE_SEGMENT_ROWS_H
#include "ops/reduce/segment_join.h"

typedef enum { HR_SEGMENT_WHOLE, HR_SEGMENT_MEAN, HR_SEGMENT_SQRT_N } hr_segment_finish_t; /* divided by 1, n or sqrt n */
typedef struct { int step; hr_segment_finish_t finish; } hr_segment_kind_t;               /* a kernel row's constant */
typedef struct { hr_segment_join_t join; hr_segment_kind_t kind; } hr_segment_rows_t;     /* prepared */
HR_MUST_USE hr_status_t hr_segment_rows_init(hr_prepare_ctx_t* p, const hr_segment_kind_t* kind, hr_segment_rows_t* out);
/* Output 0 gets `segments` rows; ids ascend below that and were checked, like indices (NULL: row i of the data for id i). */
HR_MUST_USE hr_status_t hr_segment_rows_run(hr_kernel_ctx_t* k, const hr_tensor_t* data, const hr_tensor_t* indices, const hr_tensor_t* ids,
                                            int64_t segments);
#endif
