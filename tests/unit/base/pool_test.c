/* SPDX-License-Identifier: Apache-2.0 */
/* The intra-op pool: every item once, the same grid on any number of threads, failures, nesting, leases, fork. */
#include "base/pool.h"
#include <sys/wait.h>
#include <unistd.h>
#include "base/thread.h"
#include "test.h"

enum { ITEMS = 10000 };
typedef struct { unsigned char hits[ITEMS]; int64_t begin[HR_POOL_MAX_CHUNKS], end[HR_POOL_MAX_CHUNKS]; } marks_t;

static hr_status_t mark(void* arg, int64_t begin, int64_t end, int chunk) {
  marks_t* m = arg;
  m->begin[chunk] = begin;
  m->end[chunk] = end;
  for (int64_t i = begin; i < end; ++i) ++m->hits[i];
  return NULL;
}

HR_TEST(every_item_once_and_the_grid_ignores_threads) {
  static marks_t marks[2];
  for (int64_t count = 0; count <= ITEMS; count = count * 3 + 1)
    for (int c = 0; c < 4; ++c) {
      double cost = (double[]){0, 5, 1000, 1e12}[c];
      memset(marks, 0, sizeof marks);
      HR_CHECK_OK(hr_pool_run(1, count, cost, mark, &marks[0]));
      HR_CHECK_OK(hr_pool_run(4, count, cost, mark, &marks[1]));
      HR_CHECK(memcmp(&marks[0], &marks[1], sizeof marks[0]) == 0);
      for (int64_t i = 0; i < ITEMS; ++i) HR_REQUIRE(marks[0].hits[i] == (i < count));
      int chunks = hr_pool_chunks(count, cost, 3);
      HR_CHECK(chunks <= HR_POOL_MAX_CHUNKS && chunks <= count);
      if (chunks) HR_CHECK_EQ_I64(marks[0].end[chunks - 1], count);
    }
}

static hr_status_t count_range(void* arg, int64_t begin, int64_t end, int chunk) {
  (void)chunk;
  HR_CHECK(begin < end);
  atomic_fetch_add((atomic_llong*)arg, end - begin);
  return NULL;
}

HR_TEST(huge_counts_and_odd_costs) {
  atomic_llong sum = 0;
  HR_CHECK_OK(hr_pool_run(4, INT64_MAX, 1e300, count_range, &sum));
  HR_CHECK_EQ_I64(sum, INT64_MAX);
  sum = 0;
  HR_CHECK_OK(hr_pool_run(4, 100, (double)NAN, count_range, &sum));
  HR_CHECK_OK(hr_pool_run(4, 100, -1, count_range, &sum));
  HR_CHECK_OK(hr_pool_run(4, -5, 1, count_range, &sum));
  HR_CHECK_EQ_I64(sum, 200);
}

static hr_status_t fail_some(void* arg, int64_t begin, int64_t end, int chunk) {
  atomic_fetch_add((atomic_llong*)arg, end - begin);
  return chunk >= 2 ? HR_ERROR(INTERNAL, "chunk %d", chunk) : NULL;
}

HR_TEST(the_first_failure_by_chunk_number) {
  for (int threads = 1; threads <= 4; ++threads) {
    atomic_llong sum = 0;
    HR_CHECK_CODE(hr_pool_run(threads, 64, 1e6, fail_some, &sum), HR_INTERNAL, "chunk 2");
    HR_CHECK_EQ_I64(sum, 64);
  }
}

static hr_status_t nest(void* arg, int64_t begin, int64_t end, int chunk) {
  (void)chunk;
  for (int64_t i = begin; i < end; ++i) HR_TRY(hr_pool_run(4, 100, 1e6, count_range, arg));
  return NULL;
}

HR_TEST(nested_runs) {
  atomic_llong sum = 0;
  HR_CHECK_OK(hr_pool_run(4, 50, 1e6, nest, &sum));
  HR_CHECK_EQ_I64(sum, 5000);
}

static void run_often(void* arg) {
  for (int i = 0; i < 50; ++i) HR_CHECK_OK(hr_pool_run(2, 1000, 1000, count_range, arg));
}

HR_TEST(several_threads_at_once) {
  hr_thread_t t[3];
  atomic_llong sum = 0;
  for (int i = 0; i < 3; ++i) HR_REQUIRE_OK(hr_thread_start(&t[i], "runner", run_often, &sum));
  for (int i = 0; i < 3; ++i) hr_thread_join(&t[i]);
  HR_CHECK_EQ_I64(sum, 150000);
}

HR_TEST(leases) {
  hr_pool_set_threads(4);
  HR_CHECK_EQ_I64(hr_pool_threads(), 4);
  int a = hr_pool_lease(3), b = hr_pool_lease(3), c = hr_pool_lease(3), d = hr_pool_lease(0);
  HR_CHECK(a == 3 && b == 1 && c == 1 && d == 1);
  hr_pool_return(a);
  HR_CHECK_EQ_I64(hr_pool_lease(4), 1);
  hr_pool_return(1);
  hr_pool_return(b);
  hr_pool_return(c);
  hr_pool_return(d);
  HR_CHECK_EQ_I64(hr_pool_lease(100), 4);
  hr_pool_return(4);
  hr_pool_set_threads(0);
  HR_CHECK_EQ_I64(hr_pool_threads(), hr_thread_cores());
}

HR_TEST(a_forked_child_runs_alone) {
  atomic_llong sum = 0;
  HR_CHECK_OK(hr_pool_run(4, 1000, 1000, count_range, &sum)); /* threads exist now */
  pid_t child = fork();
  HR_REQUIRE(child >= 0);
  if (child == 0) {
    alarm(20); /* a hang is a failure */
    sum = 0;
    hr_status_t s = hr_pool_run(4, 1000, 1000, count_range, &sum);
    _exit(s || sum != 1000);
  }
  int result = -1;
  HR_CHECK(waitpid(child, &result, 0) == child && WIFEXITED(result) && WEXITSTATUS(result) == 0);
}

HR_TEST_MAIN()
