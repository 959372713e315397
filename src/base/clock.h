/* SPDX-License-Identifier: Apache-2.0 */
/* Monotonic and wall time in nanoseconds. */
#ifndef HR_BASE_CLOCK_H
#define HR_BASE_CLOCK_H
#include <stdint.h>
int64_t hr_clock_now_ns(void);  /* monotonic */
int64_t hr_clock_wall_ns(void); /* since 1970 */
#endif
