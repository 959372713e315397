/* SPDX-License-Identifier: Apache-2.0 */
/* Starting and joining threads, the name, the count of cores. */
#define HR_TEST_LEAKS_CHECKED
#include "base/thread.h"
#include <sched.h>
#include "test.h"

static void tell_name(void* arg) { pthread_getname_np(pthread_self(), arg, 16); }

HR_TEST(the_name_is_cut_to_what_the_kernel_takes) {
  hr_thread_t t;
  char name[16] = "";
  HR_REQUIRE_OK(hr_thread_start(&t, "abcdefghijklmnopqrstuvw", tell_name, name));
  hr_thread_join(&t);
  HR_CHECK_STR(name, "abcdefghijklmno");
}

static hr_status_t start_and_join(void) {
  hr_thread_t t;
  char name[16];
  HR_TRY(hr_thread_start(&t, "x", tell_name, name));
  hr_thread_join(&t);
  return NULL;
}
HR_TEST(start_with_every_allocation_failing) { HR_TEST_EVERY_ALLOCATION_FAILS(start_and_join); }

HR_TEST(cores_follow_the_affinity) {
  cpu_set_t old, one;
  int cores = hr_thread_cores();
  HR_CHECK(cores >= 1);
  HR_REQUIRE(sched_getaffinity(0, sizeof old, &old) == 0);
  HR_CHECK(cores <= CPU_COUNT(&old));
  CPU_ZERO(&one);
  for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); ++i)
    if (CPU_ISSET(i, &old)) CPU_SET(i, &one);
  HR_REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  HR_CHECK_EQ_I64(hr_thread_cores(), 1);
  sched_setaffinity(0, sizeof old, &old);
}

HR_TEST_MAIN()
