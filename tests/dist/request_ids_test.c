/* SPDX-License-Identifier: Apache-2.0 */
/* A repeated id is refused as long as it is remembered: 16384 ids at least, twice as many at most. */
#define HR_TEST_LEAKS_CHECKED
#include "dist/request_ids.h"
#include "test.h"

static bool ids_is_new(hr_request_ids_t* r, int64_t id) {
  hr_status_t s = hr_request_ids_add(r, id);
  HR_CHECK(!s || hr_status_code(s) == HR_ABORTED);
  const bool is_new = !s;
  hr_status_release(s);
  return is_new;
}

HR_TEST(twice_is_refused_and_zero_never) {
  hr_request_ids_t r;
  hr_request_ids_init(&r);
  for (int i = 0; i < 3; ++i) HR_CHECK_OK(hr_request_ids_add(&r, 0));
  HR_CHECK_EQ_I64(r.count, 0);
  HR_CHECK(ids_is_new(&r, 1) && ids_is_new(&r, -1) && ids_is_new(&r, INT64_MIN) && ids_is_new(&r, INT64_MAX));
  HR_CHECK(!ids_is_new(&r, 1) && !ids_is_new(&r, -1) && !ids_is_new(&r, INT64_MIN) && !ids_is_new(&r, INT64_MAX));
  HR_CHECK_CODE(hr_request_ids_add(&r, 1), HR_ABORTED, "request id 1 was used before");
  HR_CHECK_EQ_I64(r.count, 4);
  hr_request_ids_deinit(&r);
}

HR_TEST(how_long_an_id_is_remembered) {
  hr_request_ids_t r;
  hr_request_ids_init(&r);
  int bad = 0;
  for (int64_t i = 1; i <= HR_REQUEST_IDS; ++i) bad += !ids_is_new(&r, i * 77);
  for (int64_t i = 1; i <= HR_REQUEST_IDS; ++i) bad += ids_is_new(&r, i * 77); /* all are there, the table is full */
  HR_CHECK_EQ_I64(r.count, 0); /* the full table has become the older one */
  for (int64_t i = 1; i <= HR_REQUEST_IDS; ++i) bad += !ids_is_new(&r, -i);
  HR_CHECK_EQ_I64(r.count, HR_REQUEST_IDS);
  HR_CHECK(ids_is_new(&r, 77)); /* two tables later it is forgotten */
  HR_CHECK_EQ_I64(r.count, 1);
  HR_CHECK(!ids_is_new(&r, -1) && !ids_is_new(&r, -HR_REQUEST_IDS));
  HR_CHECK_EQ_I64(bad, 0);
  hr_request_ids_deinit(&r);
}

static hr_status_t ids_fill(void) {
  hr_request_ids_t r;
  hr_request_ids_init(&r);
  hr_status_t status = NULL;
  for (int64_t i = 1; i <= 2 * HR_REQUEST_IDS + 1 && !status; ++i) status = hr_request_ids_add(&r, i);
  hr_request_ids_deinit(&r);
  return status;
}
HR_TEST(memory_may_run_out) { HR_TEST_EVERY_ALLOCATION_FAILS(ids_fill); }
HR_TEST_MAIN()
