/* SPDX-License-Identifier: Apache-2.0 */
/* Starting and joining threads, the name, the count of cores. */
#define HR_TEST_LEAKS_CHECKED
#include "base/thread.h"
#include <sched.h>
#include <stdlib.h>
#include "base/file.h"
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

/* --- quotas, below a folder that looks like / ---------------------------------------------------------------------------------------- */
static char root[32];

static void put(const char* path, const char* text) {
  char whole[200], folder[200];
  snprintf(whole, sizeof whole, "%s%s", root, path);
  snprintf(folder, sizeof folder, "%s", whole);
  *strrchr(folder, '/') = 0;
  HR_CHECK_OK(hr_file_make_dirs(folder));
  HR_CHECK_OK(hr_file_replace(whole, text, strlen(text)));
}

static void begin_root(const char* groups) {
  snprintf(root, sizeof root, "/tmp/hr_quota_XXXXXX");
  HR_CHECK(mkdtemp(root) != NULL);
  put("/proc/self/cgroup", groups);
}

static void end_root(int cores, int want) {
  HR_CHECK_EQ_I64(hr_thread_quota(root, cores), want);
  char command[64];
  snprintf(command, sizeof command, "rm -r %s", root);
  HR_CHECK(system(command) == 0);
}

HR_TEST(without_a_group_all_cores_are_there) {
  HR_CHECK_EQ_I64(hr_thread_quota("/nowhere", 7), 7);
  begin_root("0::/a\n");
  end_root(7, 7);
}

HR_TEST(quotas_of_version_2) {
  static const struct {
    const char* text;
    int want;
  } rows[] = {{"100000 100000\n", 1}, {"100001 100000", 2}, {"150000 100000", 2}, {"200000 100000", 2}, {"200001 100000", 3},
              {"50000 100000", 1},    {"1 100000", 1},      {"900000 100000", 8}, {"max 100000", 8},    {"100000", 8},
              {"0 100000", 8},        {"100000 0", 8},      {"-1 100000", 8},     {"x 100000", 8},      {"100000 -5", 8},
              {"3x 100000", 8},       {"", 8},              {"300000 100000 7", 3}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    begin_root("0::/\n");
    put("/sys/fs/cgroup/cpu.max", rows[i].text);
    end_root(8, rows[i].want);
    begin_root("0::/a/b\n");
    put("/sys/fs/cgroup/a/b/cpu.max", rows[i].text);
    end_root(8, rows[i].want);
  }
}

HR_TEST(the_least_quota_of_a_group_and_its_parents) {
  for (int least = 0; least < 3; ++least) {
    static const char* const places[] = {"/sys/fs/cgroup/cpu.max", "/sys/fs/cgroup/a/cpu.max", "/sys/fs/cgroup/a/b/cpu.max"};
    begin_root("0::/a/b\n");
    for (int i = 0; i < 3; ++i) put(places[i], i == least ? "2 1" : "5 1");
    put("/sys/fs/cpu.max", "1 1"); /* above the mount */
    end_root(8, 2);
  }
}

HR_TEST(quotas_of_version_1) {
  begin_root("5:cpuset:/c\n4:cpu,cpuacct:/x\n3:memory:/m\n");
  put("/sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "250000\n");
  put("/sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us", "100000\n");
  put("/sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "100000\n"); /* of another controller's group */
  put("/sys/fs/cgroup/cpu/c/cpu.cfs_period_us", "100000\n");
  end_root(8, 3);
  begin_root("4:cpuacct,cpu:/x\n");
  put("/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "-1\n");
  put("/sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n");
  put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "400000\n");
  end_root(8, 8); /* a quota without a period */
  begin_root("no colon\none:colon\n4:cpu:/\n");
  put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "400000\n");
  put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  end_root(8, 4);
}

HR_TEST_MAIN()
