/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors as text for people, the way TensorFlow's logging ops write them: "1 2 3..." , "[1 2][3 4]" for a matrix. */
#ifndef HR_OPS_LOG_TEXT_H
#define HR_OPS_LOG_TEXT_H
#include "tensor/tensor.h"

/* At most `most` elements; negative: all. */
void hr_log_text(const hr_tensor_t* t, int64_t most, hr_strbuf_t* out);
/* An element of a number type or bool as a double. */
double hr_log_number(const hr_tensor_t* t, int64_t i);
#endif
