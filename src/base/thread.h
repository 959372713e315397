/* SPDX-License-Identifier: Apache-2.0 */
/* Threads: start, join, name. */
#ifndef HR_BASE_THREAD_H
#define HR_BASE_THREAD_H
#include <pthread.h>
#include "base/status.h"
typedef struct { pthread_t t; } hr_thread_t;
HR_MUST_USE hr_status_t hr_thread_start(hr_thread_t* out, const char* name, void (*fn)(void* arg), void* arg);
void hr_thread_join(hr_thread_t* t);
int hr_thread_cores(void); /* cores this process may use (affinity, cgroup quota), at least 1 */
/* Of `cores` those that the quotas of the process's cgroup and its parents allow, each rounded up. /proc and /sys are looked for below
 * `root` ("" but in tests; at most 30 characters). */
int hr_thread_quota(const char* root, int cores);
#endif
