/* SPDX-License-Identifier: Apache-2.0 */
/* One run: find what the signature was prepared into, check the feeds, give the step its identity, cancellation and cores, run.
 *
 * The common step (no deadline, no token of the caller's) shares its session's cancellation token and so registers nothing. */
#include "session/metadata.h"
#include "session/session_state.h"
#include "session/timer.h"

static atomic_int_fast64_t last_step_id;
int64_t hr_session_next_step_id(void) { return atomic_fetch_add_explicit(&last_step_id, 1, memory_order_relaxed) + 1; }

/* --- feeds --------------------------------------------------------------------------------------------------------------------------- */

static __attribute__((noinline, cold)) hr_status_t feed_error(const hr_feed_check_t* c, const hr_tensor_t* value) {
  const char* name = c->endpoint.node->name.data;
  char want[HR_SHAPE_TEXT], got[HR_SHAPE_TEXT];
  if ((int32_t)value->dtype != c->dtype)
    return HR_ERROR(INVALID_ARGUMENT, "the value fed to '%s:%d' is of type %s, but the endpoint is of type %s", name, c->endpoint.index,
                    hr_dtype_name((int)value->dtype), hr_dtype_name(c->dtype));
  return HR_ERROR(INVALID_ARGUMENT, "the value fed to '%s:%d' has shape %s, which is not compatible with the endpoint's shape %s", name,
                  c->endpoint.index, hr_shape_format(&value->shape, got), hr_pshape_format(c->shape, want));
}

static bool shape_fits(const hr_pshape_t* want, const hr_shape_t* got) {
  if (want->rank < 0) return true;
  if (want->rank != got->rank) return false;
  for (int32_t i = 0; i < got->rank; ++i)
    if (want->dims[i] >= 0 && want->dims[i] != got->dims[i]) return false;
  return true;
}

hr_status_t hr_session_check_feed(const hr_feed_check_t* c, const hr_tensor_t* value) {
  if (__builtin_expect((int32_t)value->dtype == c->dtype && shape_fits(c->shape, &value->shape), 1)) return NULL;
  return feed_error(c, value);
}

/* --- cancellation of its own ---------------------------------------------------------------------------------------------------------- */

typedef struct {
  hr_cancel_t own;
  hr_cancel_link_t session, caller;
  hr_timer_t timer;
  bool has_timer;
} step_guard_t;

static hr_status_t guard_start(step_guard_t* g, hr_session_t* s, hr_cancel_t* caller, int64_t timeout_ms) {
  hr_cancel_init(&g->own);
  g->has_timer = false;
  hr_cancel_link(&g->session, &s->cancel, &g->own);
  hr_cancel_link(&g->caller, caller, &g->own);
  if (timeout_ms <= 0) return NULL;
  hr_status_t status = hr_timer_add(&g->timer, timeout_ms, &g->own);
  g->has_timer = !status;
  return status;
}

static void guard_stop(step_guard_t* g) {
  if (g->has_timer) hr_timer_remove(&g->timer);
  hr_cancel_unlink(&g->caller);
  hr_cancel_unlink(&g->session);
  hr_cancel_deinit(&g->own);
}

/* --- the step ------------------------------------------------------------------------------------------------------------------------ */

static hr_status_t run_step(hr_session_t* s, const hr_prepared_t* e, hr_step_t* step, const hr_tensor_t* feeds, hr_tensor_t* out_fetches) {
  step->id = hr_session_next_step_id();
  step->resources = s->resources;
  step->caller = hr_callee_table_caller(s->callees);
  step->cores = hr_pool_lease(hr_session_cores(s));
  step->threads = step->cores < hr_session_threads(s) ? step->cores : hr_session_threads(s);
  hr_status_t status = e->runner->table->run(e->runner, e->binding, step, feeds, out_fetches);
  hr_pool_return(step->cores);
  return status;
}

static __attribute__((noinline)) hr_status_t run_guarded(hr_session_t* s, const hr_prepared_t* e, const hr_run_options_t* o,
                                                         hr_step_t* step, int64_t timeout_ms, const hr_tensor_t* feeds,
                                                         hr_tensor_t* out_fetches) {
  step_guard_t guard;
  hr_status_t status = guard_start(&guard, s, o ? o->cancel : NULL, timeout_ms);
  step->cancel = &guard.own;
  if (!status) status = run_step(s, e, step, feeds, out_fetches);
  guard_stop(&guard);
  return status;
}

static __attribute__((noinline)) hr_status_t run_watched(hr_session_t* s, const hr_prepared_t* e, const hr_run_options_t* o,
                                                         int64_t timeout_ms, const hr_tensor_t* feeds, hr_tensor_t* out_fetches,
                                                         char** out_data, size_t* out_size) {
  hr_metadata_t m;
  hr_metadata_init(&m);
  hr_step_t step = {.observer = o && o->trace_level > 0 ? &m.observer : NULL};
  hr_status_t status = run_guarded(s, e, o, &step, timeout_ms, feeds, out_fetches);
  if (!status) {
    status = hr_metadata_take(&m, o && o->output_partition_graphs ? e->runner : NULL, out_data, out_size);
    for (int32_t i = 0; status && i < e->literal.fetch_count; ++i) hr_tensor_release(&out_fetches[i]);
  }
  hr_metadata_deinit(&m);
  return status;
}

hr_status_t hr_session_run_prepared(hr_session_t* s, const hr_prepared_t* e, const hr_run_options_t* o, const hr_tensor_t* feeds,
                                    hr_tensor_t* out_fetches, char** out_metadata, size_t* out_metadata_size) {
  for (int32_t i = 0; i < e->literal.feed_count; ++i) HR_TRY(hr_session_check_feed(&e->checks[i], &feeds[i]));
  int64_t timeout_ms = o && o->timeout_ms > 0 ? o->timeout_ms : s->options.timeout_ms;
  if (__builtin_expect(out_metadata != NULL, 0))
    return run_watched(s, e, o, timeout_ms, feeds, out_fetches, out_metadata, out_metadata_size);
  hr_step_t step = {.cancel = &s->cancel};
  if (timeout_ms > 0 || (o && o->cancel)) return run_guarded(s, e, o, &step, timeout_ms, feeds, out_fetches);
  return run_step(s, e, &step, feeds, out_fetches);
}

static hr_status_t run_inside(hr_session_t* s, const hr_run_options_t* o, const hr_run_t* run, hr_tensor_t* out_fetches,
                              char** out_metadata, size_t* out_metadata_size) {
  hr_signature_t key = hr_signature_of(run);
  key.hash = hr_signature_hash(&key);
  const hr_prepared_t* e = hr_plan_cache_find(&s->cache, &key);
  if (__builtin_expect(!e, 0)) {
    hr_plan_source_t source = hr_session_source(s);
    if (!s->graph) return HR_ERROR(FAILED_PRECONDITION, "the session was created without a graph, so there is nothing to run");
    HR_TRY(hr_plan_cache_get(&s->cache, &source, &key, &e));
  }
  return hr_session_run_prepared(s, e, o, run->feed_values, out_fetches, out_metadata, out_metadata_size);
}

static __attribute__((noinline, cold)) hr_status_t run_remote(hr_session_t* s, const hr_run_options_t* o, const hr_run_t* run,
                                                              hr_tensor_t* out_fetches, char** out_metadata, size_t* out_size) {
  const hr_signature_t key = hr_signature_of(run);
  if (s->graph) HR_TRY(hr_signature_check(&key, s->graph)); /* what is sent are names */
  return s->remote->table->run(s->remote, s->graph, o, run, out_fetches, out_metadata, out_size);
}

hr_status_t hr_session_run(hr_session_t* s, const hr_run_options_t* options, const hr_run_t* run, hr_tensor_t* out_fetches,
                           char** out_metadata, size_t* out_metadata_size) {
  HR_TRY(hr_session_enter(s));
  hr_status_t status = __builtin_expect(s->remote != NULL, 0) ? run_remote(s, options, run, out_fetches, out_metadata, out_metadata_size)
                                                              : run_inside(s, options, run, out_fetches, out_metadata, out_metadata_size);
  hr_session_leave(s);
  return status;
}
