/* SPDX-License-Identifier: Apache-2.0 */
/* The end of an asynchronous kernel: `finish` is called once, on any thread, also at once from within `start`. Until then the kernel's
 * context, its inputs and its outputs stay where they are. */
#ifndef HR_RT_ASYNC_H
#define HR_RT_ASYNC_H
#include "base/status.h"

typedef struct hr_async {
  void (*finish)(struct hr_async* self, hr_status_t take_status);
} hr_async_t;
#endif
