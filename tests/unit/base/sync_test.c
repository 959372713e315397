/* SPDX-License-Identifier: Apache-2.0 */
/* Mutex, condition, deadline, once; threads and the clock they wait by. */
#define HR_TEST_LEAKS_CHECKED
#include "base/clock.h"
#include "base/sync.h"
#include "base/thread.h"
#include "test.h"

static hr_mutex_t mutex;
static hr_cond_t cond;
static int turn, sum;

static void play(void* arg) {
  int mine = *(int*)arg;
  hr_mutex_lock(&mutex);
  for (int i = 0; i < 200; ++i) {
    while (turn != mine) hr_cond_wait(&cond, &mutex);
    ++sum;
    turn = 1 - mine;
    hr_cond_wake_all(&cond);
  }
  hr_mutex_unlock(&mutex);
}

HR_TEST(two_threads_take_turns) {
  hr_thread_t t[2];
  int who[2] = {0, 1};
  hr_mutex_init(&mutex);
  hr_cond_init(&cond);
  for (int i = 0; i < 2; ++i) HR_REQUIRE_OK(hr_thread_start(&t[i], "a name that is far too long", play, &who[i]));
  for (int i = 0; i < 2; ++i) hr_thread_join(&t[i]);
  HR_CHECK_EQ_I64(sum, 400);
  hr_cond_deinit(&cond);
  hr_mutex_deinit(&mutex);
}

HR_TEST(deadlines) {
  hr_mutex_t m = HR_MUTEX_INIT;
  hr_cond_t c;
  hr_cond_init(&c);
  hr_mutex_lock(&m);
  HR_CHECK(!hr_cond_wait_until(&c, &m, hr_clock_now_ns() - 1));
  HR_CHECK(!hr_cond_wait_until(&c, &m, INT64_MIN));
  int64_t deadline = hr_clock_now_ns() + 5000000;
  while (hr_cond_wait_until(&c, &m, deadline)) continue; /* spurious wake-ups are allowed */
  HR_CHECK(hr_clock_now_ns() >= deadline);
  hr_mutex_unlock(&m);
  hr_cond_deinit(&c);
  hr_mutex_deinit(&m);
}

static int once_calls;
static void once_body(void) { ++once_calls; }

HR_TEST(once) {
  static hr_once_t once = HR_ONCE_INIT;
  for (int i = 0; i < 3; ++i) hr_once_run(&once, once_body);
  HR_CHECK_EQ_I64(once_calls, 1);
}

HR_TEST(clocks) {
  int64_t a = hr_clock_now_ns(), b = hr_clock_now_ns();
  HR_CHECK(b >= a);
  HR_CHECK(hr_clock_wall_ns() > INT64_C(1500000000) * 1000000000);
}

HR_TEST_MAIN()
