/* SPDX-License-Identifier: Apache-2.0 */
/* Spinning: a turn of the loop that took far longer than an interrupt means that the thread was off its core, so others want to run; then
 * this thread does not spin for a while, and for twice as long when the same happens after little more spinning. */
#include "base/wait.h"
#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST_DOUBLINGS = 6 };
static const uint64_t SPIN_TICKS = 600000, AWAY_TICKS = 300000;           /* of the time stamp counter: some 200 and 100 microseconds */
static const uint64_t PENALTY_TICKS = 30000000, FORGET_TICKS = 100000000; /* some 10 and 40 milliseconds */

static _Thread_local struct {
  int doublings;                /* of the time without spinning */
  uint64_t no_spin_until, spun; /* ticks spun since it was last off its core */
} me;

static void stop_spinning(uint64_t now) {
  if (me.spun > FORGET_TICKS) me.doublings = 0;
  else if (me.doublings < MOST_DOUBLINGS) ++me.doublings;
  me.no_spin_until = now + (PENALTY_TICKS << me.doublings);
  me.spun = 0;
}

bool hr_wait_spin(atomic_uint* word, unsigned value) {
  const uint64_t start = __builtin_ia32_rdtsc();
  if (start < me.no_spin_until) return atomic_load_explicit(word, memory_order_acquire) != value;
  for (uint64_t last = start, now;; last = now) {
    if (atomic_load_explicit(word, memory_order_acquire) != value) {
      me.spun += last - start;
      return true;
    }
    __builtin_ia32_pause();
    now = __builtin_ia32_rdtsc();
    if (now - last > AWAY_TICKS) {
      stop_spinning(now);
      return atomic_load_explicit(word, memory_order_acquire) != value;
    }
    if (now - start > SPIN_TICKS) {
      me.spun += now - start;
      return false;
    }
  }
}

void hr_wait_sleep(atomic_uint* word, unsigned value) { syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0); }
void hr_wait_wake(atomic_uint* word, int count) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0); }

/* Who sleeps says so before it looks once more, who sets looks for sleepers after it has set: one of the two sees the other. */
void hr_wait_tell(hr_progress_t* p, unsigned at) {
  atomic_store(&p->at, at);
  if (atomic_load(&p->sleepers)) hr_wait_wake(&p->at, INT32_MAX);
}

void hr_wait_for(hr_progress_t* p, unsigned at) {
  for (unsigned now; (now = atomic_load_explicit(&p->at, memory_order_acquire)) < at;) {
    if (hr_wait_spin(&p->at, now)) continue;
    atomic_fetch_add(&p->sleepers, 1);
    if (atomic_load(&p->at) == now) hr_wait_sleep(&p->at, now);
    atomic_fetch_sub_explicit(&p->sleepers, 1, memory_order_relaxed);
  }
}
