/* SPDX-License-Identifier: Apache-2.0 */
/* A session's life: create, close, destroy; and the choice of what stands behind it: this process, a backend, or a master elsewhere. */
#include <unistd.h>
#include "base/alloc.h"
#include "base/clock.h"
#include "rt/device_table.h"
#include "session/backend.h"
#include "session/session_state.h"

enum { FORKED_WAIT_NS = 100 * 1000 * 1000 };

hr_session_t* hr_session_retain(hr_session_t* s) {
  atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
  return s;
}

void hr_session_release(hr_session_t* s) {
  if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1) return;
  hr_plan_cache_deinit(&s->cache); /* empty unless creation failed half way */
  if (s->remote) s->remote->table->destroy(s->remote);
  hr_callee_table_destroy(s->callees);
  hr_state_table_destroy(s->states);
  hr_place_memory_destroy(s->placed);
  hr_device_set_release(s->devices);
  hr_resources_release(s->resources);
  hr_cancel_deinit(&s->cancel);
  hr_cond_deinit(&s->left);
  hr_mutex_deinit(&s->mu);
  hr_graph_release(s->graph);
  hr_free(s);
}

/* --- what stands behind a session ---------------------------------------------------------------------------------------------------- */

static const hr_session_factory_t* find_factory(hr_str_t target) {
  for (const hr_session_factory_t* const* f = hr_session_factories; *f; ++f)
    if (hr_str_has_prefix(target, hr_str((*f)->prefix))) return *f;
  return NULL;
}

static hr_status_t connect_remote(hr_session_t* s, const hr_session_options_t* o) {
  const hr_session_factory_t* f = find_factory(o->target);
  if (f) return f->create(o, o->config, &s->remote);
  if (hr_str_has_prefix(o->target, HR_STR("grpc://")))
    return HR_ERROR(UNIMPLEMENTED, "session target '%.*s': this build has no remote sessions; use \"\"", HR_STR_ARG(o->target));
  return HR_ERROR(NOT_FOUND, "no session factory accepts the target '%.*s'; use \"\" for a local session", HR_STR_ARG(o->target));
}

static hr_status_t list_own_devices(hr_session_t* s, const hr_session_options_t* o) {
  HR_TRY(hr_device_set_create(&s->devices));
  HR_TRY(hr_device_set_add_cpus(s->devices, HR_STR(HR_DEVICE_LOCAL_TASK), o->cpu_devices, 1));
  return hr_device_table_add_all(s->devices, HR_STR(HR_DEVICE_LOCAL_TASK));
}

static hr_status_t stand_session(hr_session_t* s, hr_graph_t* graph, const hr_session_options_t* o) {
  if (!o->backend && o->target.size != 0 && !hr_str_is(o->target, "local")) return connect_remote(s, o);
  s->resources = o->resources ? hr_resources_retain(o->resources) : hr_resources_create();
  if (!s->resources) return hr_status_out_of_memory();
  HR_TRY(hr_state_table_create(&s->states));
  HR_TRY(hr_place_memory_create(&s->placed));
  if (!o->backend) HR_TRY(list_own_devices(s, o));
  else s->devices = hr_device_set_retain(o->backend->devices(o->backend));
  return hr_callee_table_create(graph, &s->options, s->states, s->resources, s->devices, &s->callees);
}

hr_status_t hr_session_create(hr_graph_t* graph, const hr_session_options_t* options, hr_session_t** out) {
  hr_session_options_t defaults;
  hr_session_options_init(&defaults);
  if (!options) options = &defaults;
  hr_session_t* s = hr_alloc_aligned(sizeof *s, 64);
  if (!s) return hr_status_out_of_memory();
  memset(s, 0, sizeof *s);
  atomic_init(&s->refs, 1);
  s->process = (int)getpid();
  hr_mutex_init(&s->mu);
  hr_cond_init(&s->left);
  hr_cancel_init(&s->cancel);
  hr_plan_cache_init(&s->cache);
  s->options = *options;
  s->options.target = s->options.config = (hr_str_t){"", 0};
  s->options.resources = NULL;
  hr_status_t status = stand_session(s, graph, options);
  if (status) {
    hr_session_release(s);
    return status;
  }
  if (graph) s->graph = hr_graph_retain(graph);
  *out = s;
  return NULL;
}

hr_graph_t* hr_session_graph(hr_session_t* s) { return s->graph; }

hr_status_t hr_session_list_devices(hr_session_t* s, hr_device_set_t** out) {
  if (!s->remote) { /* also when closed */
    *out = hr_device_set_retain(s->devices);
    return NULL;
  }
  HR_TRY(hr_session_enter(s));
  hr_status_t status = s->remote->table->list_devices(s->remote, out);
  hr_session_leave(s);
  return status;
}

hr_status_t hr_session_reset(hr_str_t target, const hr_str_t* containers, int count, bool* out_done) {
  const hr_session_factory_t* f = find_factory(target);
  *out_done = f != NULL;
  return f ? f->reset(target, containers, count) : NULL;
}

/* --- the gate ------------------------------------------------------------------------------------------------------------------------ */

hr_status_t hr_session_enter(hr_session_t* s) {
  if ((atomic_fetch_add_explicit(&s->gate, 2, memory_order_acquire) & 1) == 0) return NULL;
  hr_session_leave(s);
  return HR_ERROR(CANCELLED, "the session has been closed");
}

void hr_session_leave(hr_session_t* s) {
  if (atomic_fetch_sub_explicit(&s->gate, 2, memory_order_acq_rel) != 3) return;
  hr_mutex_lock(&s->mu); /* closed, and the last one out */
  s->drained = true;
  hr_cond_wake_all(&s->left);
  hr_mutex_unlock(&s->mu);
}

hr_resources_t* hr_session_share_resources(hr_session_t* s) {
  hr_status_t closed = s ? hr_session_enter(s) : NULL;
  if (!s || closed) {
    hr_status_release(closed);
    return NULL;
  }
  hr_resources_t* shared = s->resources ? hr_resources_retain(s->resources) : NULL;
  hr_session_leave(s);
  return shared;
}

/* In the child of a fork the calls inside may be of threads that are the parent's alone: false after a while; then nothing is freed that
 * a thread of the child's own might still use. */
static bool wait_until_drained(hr_session_t* s) {
  const int64_t deadline = s->process == (int)getpid() ? INT64_MAX : hr_clock_now_ns() + FORKED_WAIT_NS;
  hr_mutex_lock(&s->mu);
  while (!s->drained && hr_cond_wait_until(&s->left, &s->mu, deadline)) continue;
  const bool drained = s->drained;
  hr_mutex_unlock(&s->mu);
  return drained;
}

hr_status_t hr_session_close(hr_session_t* s) {
  int_fast64_t before = atomic_fetch_or_explicit(&s->gate, 1, memory_order_acq_rel);
  if (before & 1) return NULL;
  hr_cancel_start(&s->cancel, HR_ERROR(CANCELLED, "the step was cancelled: the session was closed"));
  hr_status_t status = s->remote ? s->remote->table->close(s->remote) : NULL; /* ends its calls too */
  if (before != 0 && !wait_until_drained(s)) {
    hr_session_retain(s); /* for good */
    return status;
  }
  hr_plan_cache_deinit(&s->cache);
  hr_plan_cache_init(&s->cache);
  hr_callee_table_destroy(s->callees);
  s->callees = NULL;
  hr_state_table_destroy(s->states);
  s->states = NULL;
  hr_resources_release(s->resources);
  s->resources = NULL;
  if (s->options.backend) s->options.backend->closed(s->options.backend);
  s->options.backend = NULL;
  return status;
}

void hr_session_destroy(hr_session_t* s) {
  if (!s) return;
  hr_status_release(hr_session_close(s));
  hr_session_release(s);
}
