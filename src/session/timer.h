/* SPDX-License-Identifier: Apache-2.0 */
/* Deadlines: one thread a process, started when the first deadline is set, cancels what is late. */
#ifndef HR_SESSION_TIMER_H
#define HR_SESSION_TIMER_H
#include "rt/cancel.h"

typedef struct hr_timer {
  int64_t deadline_ns;      /* monotonic */
  int64_t timeout_ms;       /* for the message */
  hr_cancel_t* cancel;      /* cancelled with DEADLINE_EXCEEDED */
  struct hr_timer *next, *previous;
} hr_timer_t;               /* memory of the waiter */

HR_MUST_USE hr_status_t hr_timer_add(hr_timer_t* t, int64_t timeout_ms, hr_cancel_t* cancel);
void hr_timer_remove(hr_timer_t* t); /* after it returns t is not touched again; accepts one that has fired */
#endif
