/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for a word that another thread changes: a moment of spinning, then sleep. On a busy machine spinning would take the time from the
 * very threads that are waited for, so a thread that finds itself off its core does not spin for a while. */
#ifndef HR_BASE_WAIT_H
#define HR_BASE_WAIT_H
#include <stdatomic.h>
#include <stdbool.h>

/* True once *word is not `value`; false when it is time to sleep. */
bool hr_wait_spin(atomic_uint* word, unsigned value);
void hr_wait_sleep(atomic_uint* word, unsigned value); /* while *word is `value`, until woken; may return early */
void hr_wait_wake(atomic_uint* word, int count);       /* only the address is used: the word may be gone */

/* How far a thread has come, for others to wait for. One thread sets it, always to more; a zeroed one is at 0. */
typedef struct {
  _Alignas(64) atomic_uint at;
  atomic_uint sleepers;
} hr_progress_t;
void hr_wait_tell(hr_progress_t* p, unsigned at);
void hr_wait_for(hr_progress_t* p, unsigned at); /* until it is there; what was done before hr_wait_tell is then visible */
#endif
