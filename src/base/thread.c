/* SPDX-License-Identifier: Apache-2.0 */
/* Threads over pthreads, and how many cores this process may really use: the affinity mask, and the quota of its control group
 * and that group's parents (version 2, then version 1). */
#include "base/thread.h"
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/alloc.h"

typedef struct {
  void (*fn)(void* arg);
  void* arg;
  char name[16]; /* the kernel's limit */
} thread_start_t;

static void* thread_main(void* arg) {
  thread_start_t start = *(thread_start_t*)arg;
  hr_free(arg);
  pthread_setname_np(pthread_self(), start.name);
  start.fn(start.arg);
  return NULL;
}

hr_status_t hr_thread_start(hr_thread_t* out, const char* name, void (*fn)(void* arg), void* arg) {
  thread_start_t* start = hr_alloc_zero(sizeof *start);
  if (!start) return hr_status_out_of_memory();
  start->fn = fn;
  start->arg = arg;
  snprintf(start->name, sizeof start->name, "%s", name);
  int error = pthread_create(&out->t, NULL, thread_main, start);
  if (!error) return NULL;
  hr_free(start);
  return HR_ERROR(RESOURCE_EXHAUSTED, "cannot start thread '%s': %s", name, strerror(error));
}

void hr_thread_join(hr_thread_t* t) { pthread_join(t->t, NULL); }

static int affinity_cores(void) {
  enum { MOST_CPUS = 16384 }; /* more than any kernel is built for */
  static const size_t bytes = CPU_ALLOC_SIZE(MOST_CPUS);
  unsigned char mask[CPU_ALLOC_SIZE(MOST_CPUS)];
  memset(mask, 0, sizeof mask);
  if (sched_getaffinity(0, bytes, (cpu_set_t*)(void*)mask) != 0) return 1;
  int cores = 0;
  for (size_t i = 0; i < sizeof mask; ++i) cores += __builtin_popcount(mask[i]);
  return cores > 0 ? cores : 1;
}

/* The first `most` whitespace-separated numbers of a small file; "max" and other words read as -1. Returns how many. */
static int numbers_of_file(const char* folder, const char* name, int most, long long* out) {
  char path[1200], text[128];
  if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path) return 0;
  FILE* f = fopen(path, "re");
  if (!f) return 0;
  int count = 0;
  if (fgets(text, sizeof text, f)) {
    char* rest = NULL;
    for (char* word = strtok_r(text, " \n", &rest); word && count < most; word = strtok_r(NULL, " \n", &rest)) {
      char* end;
      long long value = strtoll(word, &end, 10);
      out[count++] = *end ? -1 : value;
    }
  }
  fclose(f);
  return count;
}

/* Cores that one group's own quota allows; 0: no quota. */
static int quota_of_folder(const char* folder) {
  long long v[2] = {-1, -1};
  if (numbers_of_file(folder, "cpu.max", 2, v) != 2) {
    if (numbers_of_file(folder, "cpu.cfs_quota_us", 1, &v[0]) != 1 || numbers_of_file(folder, "cpu.cfs_period_us", 1, &v[1]) != 1) return 0;
  }
  if (v[0] <= 0 || v[1] <= 0) return 0;
  long long cores = (v[0] + v[1] - 1) / v[1];
  return cores < 1 << 20 ? (int)cores : 0;
}

/* The least quota of the group and its parents up to the mount point, which is folder[0..root). */
static int quota_of_path(char* folder, size_t root, int cores) {
  for (;;) {
    int quota = quota_of_folder(folder);
    if (quota && quota < cores) cores = quota;
    char* slash = strrchr(folder, '/');
    if (!slash || (size_t)(slash - folder) < root) return cores;
    *slash = 0;
  }
}

/* Whether a line "id:controllers:path" of /proc/self/cgroup tells where this process's CPU quota is; *out_path points to the path. */
static bool line_has_cpu_group(char* line, char** out_path) {
  char* controllers = strchr(line, ':');
  char* path = controllers ? strchr(controllers + 1, ':') : NULL;
  if (!path) return false;
  *controllers++ = 0;
  *path++ = 0;
  *out_path = path;
  if (*controllers == 0) return true; /* version 2 */
  char* rest = NULL;
  for (char* word = strtok_r(controllers, ",", &rest); word; word = strtok_r(NULL, ",", &rest))
    if (strcmp(word, "cpu") == 0) return true;
  return false;
}

int hr_thread_quota(const char* root, int cores) {
  static const char* const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"};
  char line[1024], folder[1100], mount[64], *path;
  snprintf(folder, sizeof folder, "%s/proc/self/cgroup", root);
  FILE* f = fopen(folder, "re");
  if (!f) return cores;
  while (fgets(line, sizeof line, f)) {
    line[strcspn(line, "\n")] = 0;
    if (!line_has_cpu_group(line, &path)) continue;
    for (size_t i = 0; i < sizeof mounts / sizeof *mounts; ++i) {
      const int size = snprintf(mount, sizeof mount, "%s%s", root, mounts[i]);
      snprintf(folder, sizeof folder, "%s%s", mount, strcmp(path, "/") == 0 ? "" : path);
      cores = quota_of_path(folder, (size_t)size, cores);
    }
  }
  fclose(f);
  return cores;
}

int hr_thread_cores(void) { return hr_thread_quota("", affinity_cores()); }
