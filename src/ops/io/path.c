/* SPDX-License-Identifier: Apache-2.0 */
/* File names as inputs. */
#include "ops/io/path.h"
#include "base/alloc.h"

hr_status_t hr_path_copy(hr_str_t text, const char* what, char** out) {
  if (text.size && memchr(text.data, 0, text.size))
    return HR_ERROR(INVALID_ARGUMENT, "%s '%.*s' has a NUL byte in it", what, (int)strnlen(text.data, text.size), text.data);
  *out = hr_alloc_copy(text.data, text.size);
  return *out ? NULL : hr_status_out_of_memory();
}

hr_status_t hr_path_input(const hr_kernel_ctx_t* k, int input, const char* what, char** out) {
  HR_TRY(hr_want_scalar(k, input, what));
  return hr_path_copy(hr_path_text(hr_input(k, input), 0), what, out);
}
