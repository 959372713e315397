/* SPDX-License-Identifier: Apache-2.0 */
/* A session's beginning and end on the workers. CreateWorkerSessionRequest = 1 session_handle, 2 server_def, 3 isolate_session_state, 4
 * cluster_device_attributes, 5 master_task, 6 master_incarnation; in the ServerDef 2 job_name, 3 task_index, 5 protocol, and 1 cluster only
 * where the client brings one of its own: workers know theirs. */
#include "dist/cluster_backend.h"
#include <stdio.h>
#include "base/alloc.h"
#include "base/clock.h"
#include "base/rng.h"
#include "base/vec.h"
#include "dist/cluster_runner.h"
#include "wire/cursor.h"
#include "wire/writer.h"

enum { CLEANUP_WAIT_MS = 300, DELETE_WAIT_MS = 400 }; /* a session closes within a second, whatever its tasks do */

typedef struct {
  HR_VEC(hr_str_t) filters;
  bool isolate, share_devices, share_state;
  hr_cursor_t cluster; /* cluster_def */
  bool has_cluster;
} backend_config_t;

static hr_status_t read_experimental(hr_cursor_t c, backend_config_t* out) {
  while (!hr_cursor_is_done(&c)) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&c, &f));
    if (f.key == HR_KEY_VARINT(8)) out->share_state = f.value != 0;    /* share_session_state_in_clusterspec_propagation */
    if (f.key == HR_KEY_VARINT(10)) out->share_devices = f.value != 0; /* the older place of field 17 */
  }
  return NULL;
}

static hr_status_t read_config(hr_cursor_t c, backend_config_t* out) {
  while (!hr_cursor_is_done(&c)) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&c, &f));
    switch (f.key) {
      case HR_KEY_SPAN(4): HR_TRY(hr_vec_push(&out->filters, hr_cursor_str(f.span))); break;
      case HR_KEY_SPAN(14):
        out->cluster = f.span;
        out->has_cluster = true;
        break;
      case HR_KEY_SPAN(16): HR_TRY(read_experimental(f.span, out)); break;
      case HR_KEY_VARINT(15): out->isolate = f.value != 0; break;
      case HR_KEY_VARINT(17): out->share_devices = f.value != 0; break;
    }
  }
  return NULL;
}

static hr_status_t check_filters(const backend_config_t* c) {
  for (int64_t i = 0; i < c->filters.count; ++i) {
    hr_device_name_t parsed;
    hr_status_t status = hr_device_name_parse(c->filters.data[i], &parsed);
    if (status) return hr_status_note(status, "device filter '%.*s': ", HR_STR_ARG(c->filters.data[i]));
  }
  return NULL;
}

/* --- sessions on workers ------------------------------------------------------------------------------------------------------------- */

void hr_cluster_backend_write_device(hr_writer_t* w, uint32_t number, const hr_device_t* d) {
  hr_writer_mark_t device = hr_writer_begin(w, number, 80);
  hr_writer_str(w, 1, hr_str(d->name));
  hr_writer_str(w, 2, d->parts.type);
  if (d->memory_limit) hr_writer_i64(w, 4, d->memory_limit);
  hr_writer_bytes(w, 5, "", 0); /* locality: nothing known */
  hr_writer_fixed64(w, 6, d->incarnation);
  hr_writer_i64(w, 8, -1); /* xla_global_id: none */
  hr_writer_end(w, device, 80);
}

static void write_server_def(hr_writer_t* w, const backend_config_t* c, hr_str_t job, int32_t index, hr_str_t protocol) {
  if (c->has_cluster) hr_writer_str(w, 1, hr_cursor_str(c->cluster));
  hr_writer_str(w, 2, job);
  if (index) hr_writer_i64(w, 3, index);
  hr_writer_str(w, 5, protocol);
}

static hr_status_t session_request(const hr_cluster_backend_t* b, const backend_config_t* c, int32_t task, hr_message_t* out) {
  const hr_cluster_task_t* t = &b->cluster->tasks[task];
  hr_writer_t w;
  hr_strbuf_init(&w);
  hr_writer_str(&w, 1, hr_str(b->handle));
  hr_writer_mark_t def = hr_writer_begin(&w, 2, 64);
  write_server_def(&w, c, t->job, t->index, b->cluster->protocol);
  hr_writer_end(&w, def, 64);
  if (c->isolate || (c->has_cluster && !c->share_state)) hr_writer_bool(&w, 3, true);
  for (int32_t i = 0; c->share_devices && i < b->devices->count; ++i) hr_cluster_backend_write_device(&w, 4, b->devices->devices[i]);
  hr_writer_str(&w, 5, b->cluster->tasks[b->cluster->self].name);
  hr_writer_i64(&w, 6, (int64_t)b->devices->devices[0]->incarnation);
  char* bytes = NULL;
  size_t size = 0;
  hr_status_t status = hr_strbuf_take(&w, &bytes, &size);
  hr_strbuf_deinit(&w);
  return status ? status : hr_message_of_bytes(bytes, size, out);
}

static hr_status_t open_sessions(hr_cluster_backend_t* b, const backend_config_t* c, hr_cancel_t* cancel) {
  hr_fanout_t* f = NULL;
  HR_TRY(hr_fanout_create(b->cluster, b->worker, b->task_count, &f));
  hr_fanout_obey(f, cancel);
  hr_status_t status = NULL;
  for (int32_t i = 0; !status && i < b->task_count; ++i) {
    hr_message_t request;
    if (!(status = session_request(b, c, b->tasks[i], &request)))
      hr_fanout_start(f, i, b->tasks[i], HR_WORKER_CreateWorkerSession, &request, b->control_deadline_ms, false);
  }
  hr_status_merge(&status, hr_fanout_finish(f));
  hr_fanout_destroy(f);
  return status;
}

/* Behind the last step: workers free variables of isolated sessions, graphs, rendezvous. A task that does not answer is left to itself. */
static void close_sessions(hr_cluster_backend_t* b) {
  hr_fanout_t* f = NULL;
  hr_status_t status = hr_fanout_create(b->cluster, b->worker, b->task_count, &f);
  for (int32_t i = 0; !status && i < b->task_count; ++i) {
    hr_writer_t w;
    hr_strbuf_init(&w);
    hr_writer_str(&w, 1, hr_str(b->handle));
    char* bytes = NULL;
    size_t size = 0;
    hr_message_t request;
    if (!(status = hr_strbuf_take(&w, &bytes, &size))) status = hr_message_of_bytes(bytes, size, &request);
    hr_strbuf_deinit(&w);
    if (!status) hr_fanout_start(f, i, b->tasks[i], HR_WORKER_DeleteWorkerSession, &request, b->control_deadline_ms, false);
  }
  hr_status_release(status);
  if (!f) return;
  hr_fanout_wait(f, hr_clock_now_ns() + (int64_t)DELETE_WAIT_MS * 1000000);
  hr_fanout_detach(f);
}

/* --- life ----------------------------------------------------------------------------------------------------------------------------- */

static hr_device_set_t* backend_devices(hr_session_backend_t* base) { return ((hr_cluster_backend_t*)base)->devices; }

static hr_status_t backend_create_runner(hr_session_backend_t* base, hr_program_t* take_program, hr_runner_t** out) {
  return hr_cluster_runner_create((hr_cluster_backend_t*)base, take_program, out);
}

static void backend_closed(hr_session_backend_t* base) {
  hr_cluster_backend_t* b = (hr_cluster_backend_t*)base;
  const int64_t deadline = hr_clock_now_ns() + (int64_t)CLEANUP_WAIT_MS * 1000000;
  hr_mutex_lock(&b->mu);
  while (b->cleanups && hr_cond_wait_until(&b->clean, &b->mu, deadline)) continue;
  hr_mutex_unlock(&b->mu);
  close_sessions(b);
  hr_heartbeat_destroy(b->own_heartbeat); /* here, since the last reference may be given up on a transport's thread */
  b->own_heartbeat = NULL;
}

static hr_cluster_backend_t* backend_retain(hr_cluster_backend_t* b) {
  atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
  return b;
}

void hr_cluster_backend_release(hr_cluster_backend_t* b) {
  if (!b || atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) != 1) return;
  hr_heartbeat_destroy(b->own_heartbeat);
  hr_device_set_release(b->devices);
  hr_free(b->task_of_device);
  hr_free(b->tasks);
  hr_free(b->config);
  hr_cond_deinit(&b->clean);
  hr_mutex_deinit(&b->mu);
  hr_mutex_deinit(&b->naming);
  hr_cluster_release(b->cluster);
  hr_free(b);
}

static void cleanup_ended(void* arg) {
  hr_cluster_backend_t* b = arg;
  hr_mutex_lock(&b->mu);
  if (--b->cleanups == 0) hr_cond_wake_all(&b->clean);
  hr_mutex_unlock(&b->mu);
  hr_cluster_backend_release(b);
}

void hr_cluster_backend_leave(hr_cluster_backend_t* b, hr_fanout_t* take_cleanup) {
  hr_mutex_lock(&b->mu);
  ++b->cleanups;
  hr_mutex_unlock(&b->mu);
  take_cleanup->ended = cleanup_ended;
  take_cleanup->arg = backend_retain(b);
  hr_fanout_detach(take_cleanup);
}

/* A cluster of the client's own: this master is the task whose address the client called it by. */
static hr_status_t find_self(hr_cursor_t cluster, hr_str_t address, hr_str_t* out_job, int32_t* out_index) {
  while (!hr_cursor_is_done(&cluster)) {
    hr_field_t job, f, entry;
    hr_str_t name = HR_STR("");
    HR_TRY(hr_cursor_next(&cluster, &job));
    for (hr_cursor_t c = job.span; job.key == HR_KEY_SPAN(1) && !hr_cursor_is_done(&c);) {
      HR_TRY(hr_cursor_next(&c, &f));
      if (f.key == HR_KEY_SPAN(1)) name = hr_cursor_str(f.span);
      int64_t index = 0;
      for (hr_cursor_t e = f.span; f.key == HR_KEY_SPAN(2) && !hr_cursor_is_done(&e);) {
        HR_TRY(hr_cursor_next(&e, &entry));
        if (entry.key == HR_KEY_VARINT(1)) index = (int64_t)entry.value;
        if (entry.key != HR_KEY_SPAN(2) || !hr_str_equal(hr_cursor_str(entry.span), address)) continue;
        *out_job = name;
        *out_index = (int32_t)index;
      }
    }
  }
  return NULL;
}

static hr_status_t use_own_cluster(hr_cluster_backend_t* b, const backend_config_t* c, hr_str_t target, int64_t heartbeat_ms) {
  size_t at = target.size;
  while (at > 0 && target.data[at - 1] != '/') --at;
  const hr_str_t address = hr_str_slice(target, at, target.size);
  hr_str_t job = HR_STR("");
  int32_t index = 0;
  HR_TRY(find_self(c->cluster, address, &job, &index));
  if (job.size == 0)
    return HR_ERROR(INVALID_ARGUMENT, "the session's cluster_def has no task at '%.*s', this master's address", HR_STR_ARG(address));
  hr_writer_t def;
  hr_strbuf_init(&def);
  write_server_def(&def, c, job, index, b->cluster->protocol);
  hr_cluster_t* own = NULL;
  hr_status_t status = def.failed ? hr_status_out_of_memory()
                                  : hr_cluster_create(def.data, def.size, b->cluster->transport, &b->cluster->tls, HR_STR(""), &own);
  hr_strbuf_deinit(&def);
  HR_TRY(status);
  hr_cluster_release(b->cluster);
  b->cluster = own;
  HR_TRY(hr_heartbeat_create(own, heartbeat_ms, &b->own_heartbeat));
  b->heartbeat = b->own_heartbeat;
  return NULL;
}

static hr_status_t fill_backend(hr_cluster_backend_t* b, const backend_config_t* c, hr_cancel_t* cancel) {
  HR_TRY(check_filters(c));
  b->tasks = hr_alloc_array((size_t)b->cluster->count, sizeof *b->tasks);
  if (!b->tasks || !b->config) return hr_status_out_of_memory();
  hr_cluster_backend_select(b->cluster, c->filters.data, (int32_t)c->filters.count, b->tasks, &b->task_count);
  HR_TRY(hr_cluster_backend_discover(b->cluster, b->worker, b->tasks, b->task_count, c->has_cluster, cancel, &b->devices,
                                     &b->task_of_device));
  return open_sessions(b, c, cancel);
}

hr_status_t hr_cluster_backend_create(const hr_cluster_backend_options_t* o, hr_cancel_t* cancel, hr_cluster_backend_t** out) {
  hr_cluster_backend_t* b = hr_alloc_zero(sizeof *b);
  if (!b) return hr_status_out_of_memory();
  b->base = (hr_session_backend_t){backend_devices, backend_create_runner, backend_closed};
  atomic_init(&b->refs, 1);
  b->cluster = hr_cluster_retain(o->cluster);
  b->worker = o->worker;
  b->heartbeat = o->heartbeat;
  b->control_deadline_ms = o->control_deadline_ms;
  hr_mutex_init(&b->mu);
  hr_mutex_init(&b->naming);
  hr_cond_init(&b->clean);
  snprintf(b->handle, sizeof b->handle, "%016llx", (unsigned long long)hr_rng_system_seed());
  b->config = hr_alloc_copy(o->config.data, o->config.size);
  b->config_size = o->config.size;
  backend_config_t c = {0};
  hr_status_t status = read_config(hr_cursor_make(o->config.data, o->config.size), &c);
  if (!status && c.has_cluster) status = use_own_cluster(b, &c, o->target, o->heartbeat_ms);
  if (!status) status = fill_backend(b, &c, cancel);
  hr_vec_deinit(&c.filters);
  if (!status) *out = b;
  else {
    if (b->devices) close_sessions(b);
    hr_cluster_backend_release(b);
  }
  return status;
}
