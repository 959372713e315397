/* SPDX-License-Identifier: Apache-2.0 */
/* The table of steps. A step that only RecvTensors have asked for is unclaimed: it ends with the last of them, or after a minute unless its
 * RunGraph comes (calls look for such steps now and then, so an idle worker keeps some longer, but gains none). RecvTensors fill half of
 * the table at most, so that nobody who asks for what is not there keeps steps from running. */
#include "base/alloc.h"
#include "base/clock.h"
#include "dist/worker_state.h"

enum { STEPS_MOST = 65536 }; /* in the table; those that run have a limit of their own */
#define UNCLAIMED_NS INT64_C(60000000000)

void hr_worker_step_release(hr_worker_step_t* step) {
  if (!step || atomic_fetch_sub_explicit(&step->refs, 1, memory_order_acq_rel) != 1) return;
  hr_rendezvous_release(step->rendezvous);
  hr_step_locals_deinit(&step->locals);
  hr_worker_session_release(step->session);
  hr_status_release(step->run_status);
  hr_cancel_deinit(&step->cancel);
  hr_cond_deinit(&step->changed);
  hr_mutex_deinit(&step->mu);
  hr_free(step);
}

static hr_status_t step_create(hr_worker_t* w, int64_t id, hr_worker_step_t** out) {
  hr_worker_step_t* step = hr_alloc_zero(sizeof *step);
  if (!step) return hr_status_out_of_memory();
  atomic_init(&step->refs, 1);
  step->id = id;
  step->worker = w;
  step->since_ns = hr_clock_now_ns();
  hr_step_locals_init(&step->locals);
  hr_cancel_init(&step->cancel);
  hr_mutex_init(&step->mu);
  hr_cond_init(&step->changed);
  hr_status_t status = hr_worker_rendezvous_create(w, id, &step->remote, &step->rendezvous);
  if (status) hr_worker_step_release(step);
  else *out = step;
  return status;
}

/* With w->mu held. */
static hr_status_t step_find_or_create(hr_worker_t* w, int64_t id, int64_t most, hr_worker_step_t** out) {
  uintptr_t found;
  const void* key = (const void*)(uintptr_t)id;
  if (hr_map_find_ptr(&w->steps, key, &found)) *out = (hr_worker_step_t*)found;
  else {
    if (w->is_stopping) return HR_ERROR(UNAVAILABLE, "the task stops");
    if (w->steps.count >= most)
      return HR_ERROR(RESOURCE_EXHAUSTED, "%lld steps are known here, and not cleaned up", (long long)w->steps.count);
    hr_worker_step_t* step = NULL;
    HR_TRY(step_create(w, id, &step));
    hr_status_t status = hr_map_set_ptr(&w->steps, key, (uintptr_t)step);
    if (status) {
      hr_worker_step_release(step);
      return status;
    }
    *out = step;
  }
  atomic_fetch_add_explicit(&(*out)->refs, 1, memory_order_relaxed);
  return NULL;
}

hr_status_t hr_worker_step_get(hr_worker_t* w, int64_t id, bool runs, hr_worker_step_t** out) {
  hr_mutex_lock(&w->mu);
  hr_status_t status = step_find_or_create(w, id, runs ? STEPS_MOST : STEPS_MOST / 2, out);
  hr_mutex_unlock(&w->mu);
  return status;
}

void hr_worker_step_leave(hr_worker_step_t* step) {
  if (!step) return;
  hr_worker_t* w = step->worker;
  uintptr_t found = 0;
  const void* key = (const void*)(uintptr_t)step->id;
  hr_mutex_lock(&w->mu); /* whoever finds the step counts himself under it */
  const bool is_last = atomic_load(&step->refs) == 2 && hr_map_find_ptr(&w->steps, key, &found) && found == (uintptr_t)step;
  const bool is_idle = is_last && !step->session;
  if (is_idle) hr_map_remove_ptr(&w->steps, key);
  hr_mutex_unlock(&w->mu);
  if (is_idle) hr_worker_step_release(step);
  hr_worker_step_release(step);
}

void hr_worker_step_claim(hr_worker_step_t* step, hr_worker_session_t* session) {
  hr_mutex_lock(&step->mu);
  const bool is_first = !step->session;
  if (is_first) {
    step->session = session;
    atomic_fetch_add_explicit(&session->refs, 1, memory_order_relaxed);
  }
  hr_mutex_unlock(&step->mu);
  if (is_first) hr_worker_rendezvous_set_cluster(step->remote, session->cluster);
}

void hr_worker_step_end(hr_worker_step_t* step, hr_status_t take_why) {
  hr_rendezvous_abort(step->rendezvous, hr_status_retain(take_why));
  hr_cancel_start(&step->cancel, take_why);
}

static void drop_step(hr_worker_step_t* step, hr_status_t take_why) { /* off the table already */
  hr_worker_step_end(step, take_why);
  hr_worker_step_release(step);
}

void hr_worker_step_remove(hr_worker_t* w, int64_t id, hr_status_t take_why) {
  uintptr_t found = 0;
  const void* key = (const void*)(uintptr_t)id;
  hr_mutex_lock(&w->mu);
  if (hr_map_find_ptr(&w->steps, key, &found)) hr_map_remove_ptr(&w->steps, key);
  hr_mutex_unlock(&w->mu);
  if (found) drop_step((hr_worker_step_t*)found, take_why);
  else hr_status_release(take_why);
}

/* References are gained from the table, under w->mu, or from one that is held. */
bool hr_worker_step_settle(hr_worker_t* w, hr_worker_step_t* step) {
  uintptr_t found = 0;
  const void* key = (const void*)(uintptr_t)step->id;
  enum { TABLE_AND_CALLER = 2 };
  hr_mutex_lock(&w->mu);
  const bool settled = atomic_load_explicit(&step->refs, memory_order_acquire) == TABLE_AND_CALLER &&
                       hr_map_find_ptr(&w->steps, key, &found) && (hr_worker_step_t*)found == step &&
                       hr_rendezvous_is_empty(step->rendezvous);
  if (settled) hr_map_remove_ptr(&w->steps, key);
  hr_mutex_unlock(&w->mu);
  if (settled) hr_worker_step_release(step);
  return settled;
}

static bool step_is_of(hr_worker_step_t* step, const hr_worker_session_t* session, int64_t before_ns) {
  hr_mutex_lock(&step->mu);
  const bool is_of = before_ns ? !step->session && step->since_ns < before_ns : !session || step->session == session;
  hr_mutex_unlock(&step->mu);
  return is_of;
}

/* Off the table, some at a time. */
static int take_steps(hr_worker_t* w, const hr_worker_session_t* session, int64_t before_ns, hr_worker_step_t** out, int most) {
  const hr_map_entry_t* e;
  int count = 0;
  hr_mutex_lock(&w->mu);
  for (int64_t i = 0; count < most && (e = hr_map_next(&w->steps, &i));)
    if (step_is_of((hr_worker_step_t*)e->value, session, before_ns)) out[count++] = (hr_worker_step_t*)e->value;
  for (int i = 0; i < count; ++i) hr_map_remove_ptr(&w->steps, (const void*)(uintptr_t)out[i]->id);
  hr_mutex_unlock(&w->mu);
  return count;
}

static void remove_steps(hr_worker_t* w, const hr_worker_session_t* session, int64_t before_ns, hr_status_t take_why) {
  enum { AT_ONCE = 256 };
  hr_worker_step_t* taken[AT_ONCE];
  int count;
  do {
    count = take_steps(w, session, before_ns, taken, AT_ONCE);
    for (int i = 0; i < count; ++i) drop_step(taken[i], hr_status_retain(take_why));
  } while (count == AT_ONCE);
  hr_status_release(take_why);
}

void hr_worker_step_remove_of(hr_worker_t* w, const hr_worker_session_t* session, hr_status_t take_why) {
  remove_steps(w, session, 0, take_why);
}

void hr_worker_step_remove_unclaimed(hr_worker_t* w) {
  remove_steps(w, NULL, hr_clock_now_ns() - UNCLAIMED_NS, HR_ERROR(ABORTED, "nobody has run this step here for a minute"));
}
