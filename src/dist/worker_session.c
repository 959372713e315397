/* SPDX-License-Identifier: Apache-2.0 */
/* CreateWorkerSessionRequest = 1 session_handle, 2 server_def, 3 isolate_session_state, 5 master_task, 6 master_incarnation.
 * DeleteWorkerSessionRequest = 1 session_handle.
 *
 * A master that comes back with another incarnation has been restarted: the sessions of its former life go. Sessions share the worker's
 * variables unless isolated; one whose client brings a cluster of its own calls this task by its name there. */
#include "base/alloc.h"
#include "dist/worker_state.h"

typedef struct {
  hr_str_t handle, server_def, master_task; /* memory of `scratch` */
  bool is_isolated, has_cluster;
  int64_t master_incarnation;
  hr_strbuf_t scratch;
} session_request_t;

/* --- life ------------------------------------------------------------------------------------------------------------------------- */

static void free_text(hr_str_t s) { hr_free((char*)(uintptr_t)s.data); }

void hr_worker_session_release(hr_worker_session_t* s) {
  if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1) return;
  hr_map_deinit(&s->graphs); /* empty: its graphs hold the session */
  hr_state_table_destroy(s->states);
  hr_resources_release(s->resources);
  hr_device_set_release(s->devices);
  hr_cluster_release(s->cluster);
  hr_mutex_deinit(&s->mu);
  free_text(s->handle);
  free_text(s->master_task);
  hr_free(s);
}

static hr_status_t copy_text(hr_str_t text, hr_str_t* out) {
  *out = (hr_str_t){hr_alloc_copy(text.data, text.size), text.size};
  return out->data ? NULL : hr_status_out_of_memory();
}

/* The worker's devices under the name that the client's cluster gives this task. */
static hr_status_t rename_devices(hr_worker_t* w, hr_str_t task, hr_device_set_t** out) {
  HR_TRY(hr_device_set_create(out));
  for (int32_t i = 0; i < w->devices->count; ++i) {
    const hr_device_t* d = w->devices->devices[i];
    hr_strbuf_t name;
    hr_strbuf_init(&name);
    hr_strbuf_add_str(&name, task);
    hr_strbuf_format(&name, "/device:%s:%lld", d->type, (long long)d->parts.id);
    hr_status_t status = name.failed ? hr_status_out_of_memory()
                                     : hr_device_set_add(*out, hr_strbuf_view(&name), d->incarnation, d->memory_limit, false);
    hr_strbuf_deinit(&name);
    HR_TRY(status);
  }
  return NULL;
}

static hr_status_t place_session(hr_worker_session_t* s, hr_worker_t* w, const session_request_t* q) {
  if (!q->has_cluster) {
    s->cluster = hr_cluster_retain(w->cluster);
    s->devices = hr_device_set_retain(w->devices);
    return NULL;
  }
  HR_TRY(hr_cluster_create(q->server_def.data, q->server_def.size, w->cluster->transport, &w->cluster->tls, HR_STR(""), &s->cluster));
  return rename_devices(w, s->cluster->tasks[s->cluster->self].name, &s->devices);
}

static hr_status_t fill_session(hr_worker_session_t* s, hr_worker_t* w, const session_request_t* q) {
  HR_TRY(copy_text(q->handle, &s->handle));
  HR_TRY(copy_text(q->master_task, &s->master_task));
  s->master_incarnation = q->master_incarnation;
  HR_TRY(place_session(s, w, q));
  s->resources = q->is_isolated ? hr_resources_create() : hr_resources_retain(w->resources);
  if (!s->resources) return hr_status_out_of_memory();
  if (q->is_isolated && w->options.is_confined) HR_TRY(hr_resources_confine(s->resources, w->options.root));
  return hr_state_table_create(&s->states);
}

static hr_status_t create_session(hr_worker_t* w, const session_request_t* q, hr_worker_session_t** out) {
  hr_worker_session_t* s = hr_alloc_zero(sizeof *s);
  if (!s) return hr_status_out_of_memory();
  atomic_init(&s->refs, 1);
  hr_mutex_init(&s->mu);
  hr_map_init(&s->graphs);
  hr_status_t status = fill_session(s, w, q);
  if (status) hr_worker_session_release(s);
  else *out = s;
  return status;
}

/* With w->mu held. */
static void leave_table(hr_worker_t* w, hr_worker_session_t* s) {
  hr_map_remove(&w->sessions, s->handle);
  hr_worker_masters_forget(w, s);
}

/* Off the table: its steps and graphs go. */
static void end_session(hr_worker_t* w, hr_worker_session_t* s, hr_status_t take_why) {
  hr_worker_step_remove_of(w, s, take_why);
  hr_worker_session_remove_graphs(s);
  hr_worker_session_release(s);
}

static hr_worker_session_t* take_session(hr_worker_t* w, hr_str_t handle) {
  uintptr_t found = 0;
  hr_mutex_lock(&w->mu);
  if (hr_map_find(&w->sessions, handle, &found)) leave_table(w, (hr_worker_session_t*)found);
  hr_mutex_unlock(&w->mu);
  return (hr_worker_session_t*)found;
}

void hr_worker_session_end_orphan(hr_worker_t* w, hr_worker_session_t* s) {
  uintptr_t found = 0;
  hr_mutex_lock(&w->mu);
  const bool is_here = hr_map_find(&w->sessions, s->handle, &found) && found == (uintptr_t)s;
  if (is_here) leave_table(w, s);
  hr_mutex_unlock(&w->mu);
  if (is_here) end_session(w, s, HR_ERROR(ABORTED, "the master %.*s is gone", HR_STR_ARG(s->master_task)));
}

static hr_worker_session_t* take_any(hr_worker_t* w) {
  int64_t at = 0;
  hr_mutex_lock(&w->mu);
  const hr_map_entry_t* e = hr_map_next(&w->sessions, &at);
  hr_worker_session_t* s = e ? (hr_worker_session_t*)e->value : w->unnamed;
  if (e) leave_table(w, s);
  else w->unnamed = NULL;
  hr_mutex_unlock(&w->mu);
  return s;
}

void hr_worker_session_remove_all(hr_worker_t* w) {
  hr_worker_session_t* s;
  while ((s = take_any(w))) end_session(w, s, HR_ERROR(UNAVAILABLE, "the task stops"));
}

/* --- finding ---------------------------------------------------------------------------------------------------------------------- */

static hr_status_t find_unnamed(hr_worker_t* w, hr_worker_session_t** out) {
  const session_request_t none = {.handle = HR_STR(""), .master_task = HR_STR("")};
  if (!w->unnamed) HR_TRY(create_session(w, &none, &w->unnamed));
  *out = w->unnamed;
  return NULL;
}

hr_status_t hr_worker_session_find(hr_worker_t* w, hr_str_t handle, bool is_created, hr_worker_session_t** out) {
  uintptr_t found = 0;
  hr_worker_session_t* s = NULL;
  hr_status_t status = NULL;
  hr_mutex_lock(&w->mu);
  if (!is_created) status = find_unnamed(w, &s);
  else if (hr_map_find(&w->sessions, handle, &found)) s = (hr_worker_session_t*)found;
  else
    status = HR_ERROR(ABORTED, "session handle is not found: %.*s; this task (%s) was probably restarted", HR_STR_ARG(handle),
                      w->cluster->tasks[w->cluster->self].name.data);
  if (!status) atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
  hr_mutex_unlock(&w->mu);
  *out = s;
  return status;
}

/* --- CreateWorkerSession ---------------------------------------------------------------------------------------------------------- */

static hr_status_t read_has_cluster(hr_str_t server_def, bool* out) { /* ServerDef = 1 cluster; ClusterDef = 1 job */
  hr_cursor_t c = hr_cursor_make(server_def.data, server_def.size);
  while (!hr_cursor_is_done(&c)) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&c, &f));
    if (f.key == HR_KEY_SPAN(1) && !hr_cursor_is_done(&f.span)) *out = true;
  }
  return NULL;
}

static hr_status_t read_session_request(const hr_message_t* request, session_request_t* q) {
  hr_cursor_t c;
  HR_TRY(hr_message_reader_flat(hr_message_reader_make(request), &q->scratch, &c));
  while (!hr_cursor_is_done(&c)) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&c, &f));
    switch (f.key) {
      case HR_KEY_SPAN(1): q->handle = hr_cursor_str(f.span); break;
      case HR_KEY_SPAN(2): q->server_def = hr_cursor_str(f.span); break;
      case HR_KEY_VARINT(3): q->is_isolated = f.value != 0; break;
      case HR_KEY_SPAN(5): q->master_task = hr_cursor_str(f.span); break;
      case HR_KEY_VARINT(6): q->master_incarnation = (int64_t)f.value; break;
    }
  }
  if (q->handle.size == 0) return HR_ERROR(INVALID_ARGUMENT, "a worker session needs a handle");
  return read_has_cluster(q->server_def, &q->has_cluster);
}

/* A session of the same master's former life; taken off the table. */
static hr_worker_session_t* take_stale(hr_worker_t* w, const session_request_t* q) {
  hr_worker_session_t* stale = NULL;
  const hr_map_entry_t* e;
  hr_mutex_lock(&w->mu);
  for (int64_t i = 0; !stale && (e = hr_map_next(&w->sessions, &i));) {
    hr_worker_session_t* s = (hr_worker_session_t*)e->value;
    if (hr_str_equal(s->master_task, q->master_task) && s->master_incarnation != q->master_incarnation) stale = s;
  }
  if (stale) leave_table(w, stale);
  hr_mutex_unlock(&w->mu);
  return stale;
}

static hr_status_t enter_session(hr_worker_t* w, hr_worker_session_t* s, bool* out_added) {
  hr_mutex_lock(&w->mu);
  hr_status_t status = NULL;
  *out_added = false;
  if (w->options.max_sessions > 0 && w->sessions.count >= w->options.max_sessions && !hr_map_find(&w->sessions, s->handle, NULL))
    status = HR_ERROR(RESOURCE_EXHAUSTED, "too many sessions, the limit is %d", w->options.max_sessions);
  if (!status && w->is_stopping) status = HR_ERROR(UNAVAILABLE, "the task stops");
  if (!status) status = hr_map_add(&w->sessions, s->handle, (uintptr_t)s, out_added);
  if (*out_added) hr_worker_masters_watch(w, s);
  hr_mutex_unlock(&w->mu);
  return status;
}

static hr_status_t open_session(hr_worker_t* w, const session_request_t* q) {
  hr_worker_session_t *stale, *s;
  while (q->master_task.size && (stale = take_stale(w, q)))
    end_session(w, stale, HR_ERROR(ABORTED, "the master %.*s was restarted", HR_STR_ARG(q->master_task)));
  HR_TRY(create_session(w, q, &s));
  bool added;
  hr_status_t status = enter_session(w, s, &added);
  if (!added) hr_worker_session_release(s); /* one of this handle is there already: as good */
  return status;
}

void hr_worker_create_session(hr_worker_op_t* op) {
  session_request_t q = {.handle = HR_STR(""), .server_def = HR_STR(""), .master_task = HR_STR("")};
  hr_strbuf_init(&q.scratch);
  hr_status_t status = read_session_request(&op->call->request, &q);
  if (!status) status = open_session(op->w, &q);
  hr_strbuf_deinit(&q.scratch);
  hr_worker_finish_empty(op, status);
}

void hr_worker_delete_session(hr_worker_op_t* op) {
  session_request_t q = {.handle = HR_STR(""), .server_def = HR_STR(""), .master_task = HR_STR("")};
  hr_strbuf_init(&q.scratch);
  hr_status_t status = read_session_request(&op->call->request, &q);
  hr_worker_session_t* s = status ? NULL : take_session(op->w, q.handle);
  if (s) end_session(op->w, s, HR_ERROR(CANCELLED, HR_DERIVED_MARK "the session %.*s was closed", HR_STR_ARG(q.handle)));
  hr_strbuf_deinit(&q.scratch);
  hr_worker_finish_empty(op, status); /* one that is not there is gone, which is what was wanted */
}
