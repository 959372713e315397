/* SPDX-License-Identifier: Apache-2.0 */
/* HR_ASSERT: programmer errors, checked in debug and sanitizer builds only. User errors are statuses, always. */
#ifndef HR_BASE_ASSERT_H
#define HR_BASE_ASSERT_H
#ifdef NDEBUG
#define HR_ASSERT(condition) ((void)sizeof(condition))
#else
#include <assert.h>
#define HR_ASSERT(condition) assert(condition)
#endif
#endif
