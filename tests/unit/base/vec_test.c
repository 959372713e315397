/* SPDX-License-Identifier: Apache-2.0 */
/* The growable array: growth, overflow, faults. */
#define HR_TEST_LEAKS_CHECKED
#include "base/vec.h"
#include "test.h"

typedef HR_VEC(int64_t) longs_t;

static hr_status_t push_many(void) {
  longs_t v = {0};
  hr_status_t status = NULL;
  for (int64_t i = 0; i < 1000 && !status; ++i) status = hr_vec_push(&v, i * i);
  if (!status)
    for (int64_t i = 0; i < 1000; ++i) HR_CHECK_EQ_I64(v.data[i], i * i);
  hr_vec_deinit(&v);
  return status;
}
HR_TEST(push_with_every_allocation_failing) { HR_TEST_EVERY_ALLOCATION_FAILS(push_many); }

HR_TEST(reserve) {
  longs_t v = {0};
  HR_CHECK_OK(hr_vec_reserve(&v, 0));
  HR_CHECK_OK(hr_vec_reserve(&v, 100));
  HR_CHECK(v.capacity >= 100);
  int64_t* at = v.data;
  for (int i = 0; i < 100; ++i) HR_CHECK_OK(hr_vec_push(&v, i));
  HR_CHECK(v.data == at);
  HR_CHECK_CODE(hr_vec_reserve(&v, INT64_MAX), HR_RESOURCE_EXHAUSTED, "");
  HR_CHECK_CODE(hr_vec_reserve(&v, INT64_MAX / 8), HR_RESOURCE_EXHAUSTED, "");
  HR_CHECK_CODE(hr_vec_reserve(&v, -1), HR_RESOURCE_EXHAUSTED, "");
  HR_CHECK(v.data == at && v.count == 100);
  hr_vec_deinit(&v);
  HR_CHECK(v.data == NULL && v.count == 0);
}

HR_TEST_MAIN()
