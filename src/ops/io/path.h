/* SPDX-License-Identifier: Apache-2.0 */
/* File names as inputs: one element of a string tensor as a C string of the caller's. */
#ifndef HR_OPS_IO_PATH_H
#define HR_OPS_IO_PATH_H
#include "op/kernel_ctx.h"

/* Copies the text; the caller frees with hr_free. INVALID_ARGUMENT when it holds a NUL byte: a file's name ends there. PERMISSION_DENIED
 * where a graph that came over a network may not touch that file. */
HR_MUST_USE hr_status_t hr_path_copy(const hr_kernel_ctx_t* k, hr_str_t text, const char* what, char** out);
/* Of a scalar input; INVALID_ARGUMENT names `what` for any other shape. */
HR_MUST_USE hr_status_t hr_path_input(const hr_kernel_ctx_t* k, int input, const char* what, char** out);
/* Of an input of one element of any rank, as TensorFlow's checkpoint ops take them. */
HR_MUST_USE hr_status_t hr_path_input_of_one(const hr_kernel_ctx_t* k, int input, const char* what, char** out);
static inline hr_str_t hr_path_text(const hr_tensor_t* strings, int64_t i) {
  return hr_tstring_get((const hr_tstring_t*)strings->data + i);
}
#endif
