/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions whose master is gone for good: nobody will close them, nor clean up their steps. Their masters are asked for a sign of life now
 * and then; one that is silent three times in a row has its sessions here ended. A master that is no task of the cluster is not asked.
 *
 * What a watch counts is guarded by the heartbeat's lock. Lock order: worker.mu, then the heartbeat's; `dead` is called with the latter. */
#include "base/alloc.h"
#include "base/clock.h"
#include "dist/worker_state.h"

enum { BEAT_MS = 30000, SILENCES = 3 };

typedef struct {
  hr_errand_t errand;
  hr_worker_t* w;
  hr_worker_session_t* s;
} orphan_t;

static int64_t beat_ms(const hr_worker_t* w) { return w->options.master_beat_ms > 0 ? w->options.master_beat_ms : BEAT_MS; }

static void end_orphan(hr_errand_t* errand) {
  orphan_t* o = (orphan_t*)errand;
  hr_worker_t* w = o->w;
  hr_worker_session_end_orphan(w, o->s);
  hr_worker_session_release(o->s);
  hr_free(o);
  hr_worker_drop(w);
}

static bool retain_living(hr_worker_t* w) { /* not one that is being freed */
  int refs = atomic_load(&w->refs);
  while (refs > 0 && !atomic_compare_exchange_weak(&w->refs, &refs, refs + 1)) continue;
  return refs > 0;
}

static void start_end(hr_worker_t* w, hr_worker_session_t* s) {
  orphan_t* o = hr_alloc_zero(sizeof *o);
  if (o && retain_living(w)) {
    *o = (orphan_t){.errand = {.run = end_orphan}, .w = w, .s = s};
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed); /* watched: it is there */
    hr_status_t status = hr_errand_start(&o->errand);
    if (!status) return;
    hr_status_release(status); /* the next silence tries again */
    hr_worker_session_release(s);
    atomic_fetch_sub(&w->refs, 1);
  }
  hr_free(o);
}

static void master_silent(hr_heartbeat_watch_t* self, int32_t task, hr_status_t take_why) {
  hr_worker_session_t* s = (hr_worker_session_t*)((char*)self - offsetof(hr_worker_session_t, watch));
  const int64_t now = hr_clock_now_ns();
  (void)task;
  hr_status_release(take_why);
  s->silences = now - s->silent_ns > 2 * beat_ms(s->worker) * 1000000 ? 1 : s->silences + 1;
  s->silent_ns = now;
  if (s->silences >= SILENCES) start_end(s->worker, s);
}

/* The session's cluster may name tasks in its own way; the worker's knows them by their addresses. */
static int32_t find_master(const hr_worker_t* w, const hr_worker_session_t* s) {
  const int32_t named = s->master_task.size ? hr_cluster_find(s->cluster, s->master_task) : -1;
  if (named < 0 || s->cluster == w->cluster) return named;
  for (int32_t i = 0; i < w->cluster->count; ++i)
    if (hr_str_equal(w->cluster->tasks[i].address, s->cluster->tasks[named].address)) return i;
  return -1;
}

void hr_worker_masters_watch(hr_worker_t* w, hr_worker_session_t* s) {
  s->worker = w;
  s->master = find_master(w, s);
  if (s->master < 0 || s->master == w->cluster->self) return;
  hr_status_t status = w->masters ? NULL : hr_heartbeat_create(w->cluster, beat_ms(w), &w->masters);
  s->watch = (hr_heartbeat_watch_t){.tasks = &s->master, .count = 1, .dead = master_silent};
  if (!status) status = hr_heartbeat_add(w->masters, &s->watch);
  s->is_watched = !status;
  hr_status_release(status); /* no memory or thread: the session stays until it is closed */
}

void hr_worker_masters_forget(hr_worker_t* w, hr_worker_session_t* s) {
  if (s->is_watched) hr_heartbeat_remove(w->masters, &s->watch);
  s->is_watched = false;
}

void hr_worker_masters_stop(hr_worker_t* w) {
  const hr_map_entry_t* e;
  hr_mutex_lock(&w->mu);
  for (int64_t i = 0; (e = hr_map_next(&w->sessions, &i));) hr_worker_masters_forget(w, (hr_worker_session_t*)e->value);
  hr_heartbeat_t* h = w->masters;
  w->masters = NULL;
  hr_mutex_unlock(&w->mu);
  hr_heartbeat_destroy(h);
}
