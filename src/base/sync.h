/* SPDX-License-Identifier: Apache-2.0 */
/* Mutex, condition and once. Thin over pthreads; waits take an absolute monotonic deadline. */
#ifndef HR_BASE_SYNC_H
#define HR_BASE_SYNC_H
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct { pthread_mutex_t m; } hr_mutex_t;
typedef struct { pthread_cond_t c; } hr_cond_t;
typedef struct { pthread_once_t o; } hr_once_t;
#define HR_MUTEX_INIT {PTHREAD_MUTEX_INITIALIZER}
#define HR_ONCE_INIT {PTHREAD_ONCE_INIT}

void hr_mutex_init(hr_mutex_t* m);
void hr_mutex_deinit(hr_mutex_t* m);
static inline void hr_mutex_lock(hr_mutex_t* m) { pthread_mutex_lock(&m->m); }
static inline void hr_mutex_unlock(hr_mutex_t* m) { pthread_mutex_unlock(&m->m); }
void hr_cond_init(hr_cond_t* c); /* monotonic clock */
void hr_cond_deinit(hr_cond_t* c);
void hr_cond_wait(hr_cond_t* c, hr_mutex_t* m);
bool hr_cond_wait_until(hr_cond_t* c, hr_mutex_t* m, int64_t deadline_ns); /* false: the deadline passed; INT64_MAX waits for ever */
void hr_cond_wake_one(hr_cond_t* c);
void hr_cond_wake_all(hr_cond_t* c);
static inline void hr_once_run(hr_once_t* o, void (*fn)(void)) { pthread_once(&o->o, fn); }
#endif
