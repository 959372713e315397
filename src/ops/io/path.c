/* SPDX-License-Identifier: Apache-2.0 */
/* File names as inputs. */
#include "ops/io/path.h"
#include "base/alloc.h"
#include "rt/resource.h"

hr_status_t hr_path_copy(const hr_kernel_ctx_t* k, hr_str_t text, const char* what, char** out) {
  if (text.size && memchr(text.data, 0, text.size))
    return HR_ERROR(INVALID_ARGUMENT, "%s '%.*s' has a NUL byte in it", what, (int)strnlen(text.data, text.size), text.data);
  char* path = hr_alloc_copy(text.data, text.size);
  if (!path) return hr_status_out_of_memory();
  hr_status_t status = hr_resources_check_path(hr_resources_of(k), path);
  if (status) hr_free(path);
  else *out = path;
  return status;
}

hr_status_t hr_path_input(const hr_kernel_ctx_t* k, int input, const char* what, char** out) {
  HR_TRY(hr_want_scalar(k, input, what));
  return hr_path_copy(k, hr_path_text(hr_input(k, input), 0), what, out);
}

hr_status_t hr_path_input_of_one(const hr_kernel_ctx_t* k, int input, const char* what, char** out) {
  const hr_tensor_t* t = hr_input(k, input);
  if (t->count != 1)
    return HR_ERROR(INVALID_ARGUMENT, "%s must have one element, it has %lld (input %d)", what, (long long)t->count, input);
  return hr_path_copy(k, hr_path_text(t, 0), what, out);
}
