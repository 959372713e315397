/* SPDX-License-Identifier: Apache-2.0 */
/* The stack's lowest address is asked for once a thread: on the first thread the C library reads a file to know it. A stack that grows on
 * demand (the first thread's) counts as large as its limit was then. */
#include "base/stack.h"

#include <pthread.h>
#include <stdint.h>

static _Thread_local uintptr_t stack_low; /* 0: not asked yet; 1: unknown */

static uintptr_t find_low(void) {
  pthread_attr_t attr;
  void* low = NULL;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attr)) return 1;
  if (pthread_attr_getstack(&attr, &low, &size)) low = NULL;
  pthread_attr_destroy(&attr);
  return low ? (uintptr_t)low : 1;
}

size_t hr_stack_left(void) {
  char here;
  if (!stack_low) stack_low = find_low();
  return stack_low == 1 || (uintptr_t)&here < stack_low ? SIZE_MAX : (uintptr_t)&here - stack_low;
}
