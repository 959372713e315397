/* SPDX-License-Identifier: Apache-2.0 */
/* Growth of the typed array: by half, checked, all or nothing. */
#include "base/vec.h"

static bool vec_resize(void** data, int64_t* capacity, int64_t wanted, size_t size) {
  size_t bytes;
  if (!hr_size_mul((size_t)wanted, size, &bytes)) return false;
  void* grown = hr_alloc_resize(*data, bytes);
  if (!grown) return false;
  *data = grown;
  *capacity = wanted;
  return true;
}

hr_status_t hr_vec_grow(void** data, int64_t* capacity, int64_t count, int64_t extra, size_t size) {
  int64_t need;
  if (extra < 0 || __builtin_add_overflow(count, extra, &need)) return hr_status_out_of_memory();
  if (need <= *capacity) return NULL;
  int64_t wanted = *capacity < 8 ? 8 : *capacity + *capacity / 2;
  if (wanted < need) wanted = need;
  return vec_resize(data, capacity, wanted, size) ? NULL : hr_status_out_of_memory();
}

bool hr_vec_grow_one(void** data, int64_t* capacity, int64_t count, size_t size) {
  return hr_vec_grow(data, capacity, count, 1, size) == NULL; /* its one failure is static */
}
