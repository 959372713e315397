/* SPDX-License-Identifier: Apache-2.0 */
/* CreateSession, ExtendSession, CloseSession, and the table of sessions.
 *
 * A master's session optimises what holds for every device and leaves fusing to the workers, which know their own kernels (and may be of
 * another make). It leases no core for itself: the steps' work is done by workers, of which one is in this process. */
#include "base/alloc.h"
#include "base/errand.h"
#include "dist/master_state.h"
#include "graph/import.h"
#include "session/timer.h"

/* --- the table ------------------------------------------------------------------------------------------------------------------------ */

hr_status_t hr_master_session_find(hr_master_t* m, hr_str_t handle, hr_master_session_t** out) {
  uintptr_t found = 0;
  hr_mutex_lock(&m->mu);
  if (hr_map_find(&m->sessions, handle, &found))
    atomic_fetch_add_explicit(&((hr_master_session_t*)found)->refs, 1, memory_order_relaxed);
  hr_mutex_unlock(&m->mu);
  *out = (hr_master_session_t*)found;
  return found ? NULL : HR_ERROR(ABORTED, "session '%.*s' is not found: it was closed, or its server was restarted", HR_STR_ARG(handle));
}

void hr_master_session_release(hr_master_session_t* s) {
  if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1) return;
  hr_master_callable_destroy_all(s);
  hr_master_partial_destroy_all(s);
  if (s->session) hr_session_destroy(s->session);
  else if (s->backend) s->backend->base.closed(&s->backend->base); /* it got no further */
  hr_graph_release(s->graph);
  hr_cluster_backend_release(s->backend);
  hr_mutex_deinit(&s->mu);
  hr_free(s);
}

static hr_master_session_t* take_session(hr_master_t* m, hr_str_t handle) { /* out of the table, with the table's reference */
  uintptr_t found = 0;
  hr_mutex_lock(&m->mu);
  if (hr_map_find(&m->sessions, handle, &found)) hr_map_remove(&m->sessions, handle);
  hr_mutex_unlock(&m->mu);
  return (hr_master_session_t*)found;
}

static hr_status_t enter_session(hr_master_t* m, hr_master_session_t* s) {
  hr_mutex_lock(&m->mu);
  hr_status_t status = m->is_stopping ? HR_ERROR(UNAVAILABLE, "the server is stopping")
                                      : hr_map_set(&m->sessions, hr_str(s->backend->handle), (uintptr_t)s);
  hr_mutex_unlock(&m->mu);
  return status;
}

hr_status_t hr_master_session_begin_step(hr_master_t* m) {
  hr_mutex_lock(&m->mu);
  const bool fits = m->options.max_steps <= 0 || m->steps < m->options.max_steps;
  if (fits) ++m->steps;
  hr_mutex_unlock(&m->mu);
  return fits ? NULL : HR_ERROR(RESOURCE_EXHAUSTED, "%d steps run on this server, its limit", (int)m->options.max_steps);
}

void hr_master_session_end_step(hr_master_t* m) {
  hr_mutex_lock(&m->mu);
  --m->steps;
  hr_mutex_unlock(&m->mu);
}

static hr_status_t begin_opening(hr_master_t* m) {
  hr_mutex_lock(&m->mu);
  const bool fits = m->options.max_sessions <= 0 || m->sessions.count + m->opening < m->options.max_sessions;
  if (fits) ++m->opening;
  hr_mutex_unlock(&m->mu);
  return fits ? NULL : HR_ERROR(RESOURCE_EXHAUSTED, "%d sessions are open on this server, its limit", (int)m->options.max_sessions);
}

static void end_opening(hr_master_t* m) {
  hr_mutex_lock(&m->mu);
  --m->opening;
  hr_mutex_unlock(&m->mu);
}

/* --- closing -------------------------------------------------------------------------------------------------------------------------- */

typedef struct {
  hr_errand_t errand;
  hr_master_session_t* session;
  struct close_group* group;
} closing_t;

typedef struct close_group { /* several sessions are closed at once: each may have to wait for a task that is gone */
  hr_mutex_t mu;
  hr_cond_t closed;
  int64_t left;
} close_group_t;

static hr_status_t close_session(hr_master_session_t* s) {
  hr_status_t status = hr_session_close(s->session);
  hr_master_session_release(s);
  return status;
}

static void run_closing(hr_errand_t* e) {
  closing_t* c = (closing_t*)e;
  hr_status_release(close_session(c->session));
  close_group_t* g = c->group;
  hr_mutex_lock(&g->mu);
  if (--g->left == 0) hr_cond_wake_all(&g->closed);
  hr_mutex_unlock(&g->mu);
}

static hr_master_session_t* take_any(hr_master_t* m) {
  int64_t at = 0;
  hr_mutex_lock(&m->mu);
  const hr_map_entry_t* e = hr_map_next(&m->sessions, &at);
  hr_master_session_t* s = e ? (hr_master_session_t*)e->value : NULL;
  if (s) hr_map_remove(&m->sessions, hr_str(s->backend->handle));
  hr_mutex_unlock(&m->mu);
  return s;
}

void hr_master_session_close_all(hr_master_t* m) {
  hr_mutex_lock(&m->mu);
  const int64_t count = m->sessions.count;
  closing_t* all = hr_alloc_array((size_t)count + 1, sizeof *all);
  int64_t taken = 0;
  const hr_map_entry_t* e;
  for (int64_t i = 0; all && (e = hr_map_next(&m->sessions, &i));) all[taken++].session = (hr_master_session_t*)e->value;
  if (all) {
    hr_map_deinit(&m->sessions);
    hr_map_init(&m->sessions);
  }
  hr_mutex_unlock(&m->mu);
  close_group_t g = {.left = taken};
  hr_mutex_init(&g.mu);
  hr_cond_init(&g.closed);
  for (int64_t i = 0; i < taken; ++i) {
    all[i].group = &g;
    all[i].errand.run = run_closing;
    hr_status_t status = hr_errand_start(&all[i].errand);
    if (status) run_closing(&all[i].errand);
    hr_status_release(status);
  }
  hr_mutex_lock(&g.mu);
  while (g.left) hr_cond_wait(&g.closed, &g.mu);
  hr_mutex_unlock(&g.mu);
  hr_cond_deinit(&g.closed);
  hr_mutex_deinit(&g.mu);
  hr_free(all);
  for (hr_master_session_t* s; (s = take_any(m));) hr_status_release(close_session(s)); /* no memory: one after the other */
}

/* --- requests ------------------------------------------------------------------------------------------------------------------------- */

typedef struct { /* of CreateSession and ExtendSession: 1 and 2 change places; 3 is the target, or the version */
  hr_cursor_t graph_def, config, handle, target;
  int64_t version;
  hr_strbuf_t flat;
} graph_request_t;

static hr_status_t read_graph_request(hr_master_job_t* j, graph_request_t* r) {
  const hr_cursor_t none = hr_cursor_make(NULL, 0);
  *r = (graph_request_t){.graph_def = none, .config = none, .handle = none, .target = none};
  hr_strbuf_init(&r->flat);
  hr_cursor_t c;
  HR_TRY(hr_message_reader_flat(hr_message_reader_make(j->request), &r->flat, &c));
  while (!hr_cursor_is_done(&c)) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&c, &f));
    switch (f.key) {
      case HR_KEY_SPAN(1): r->graph_def = r->handle = f.span; break;
      case HR_KEY_SPAN(2): r->config = f.span; break;
      case HR_KEY_SPAN(3): r->target = f.span; break;
      case HR_KEY_VARINT(3): r->version = (int64_t)f.value; break;
    }
  }
  return NULL;
}

/* A client has run shape functions itself, maybe more lenient ones. A node that ours refuse must not spoil the session: clients send a
 * graph again until it is taken, and then every later step would fail. */
static hr_status_t import_nodes(const hr_master_t* m, hr_graph_t* g, hr_cursor_t def, bool extends) {
  const hr_import_options_t options = {.extends = extends, .try_shapes = true, .most_inflated = HR_WORKER_MOST_INFLATED};
  hr_import_results_t results = {0};
  hr_mutex_lock(&g->mu);
  hr_status_t status = hr_import_graph_def(g, def.at, hr_cursor_left(&def), &options, &results);
  const int64_t count = g->nodes.count;
  hr_mutex_unlock(&g->mu);
  hr_import_results_deinit(&results);
  if (!status && m->options.max_graph_nodes > 0 && count > m->options.max_graph_nodes)
    return HR_ERROR(RESOURCE_EXHAUSTED, "the graph has %lld nodes, the limit of this server is %lld", (long long)count,
                    (long long)m->options.max_graph_nodes);
  return status;
}

/* The server's own settings under the client's: one after the other is what merging means in protobuf. */
static hr_status_t merge_config(const hr_master_t* m, hr_cursor_t config, hr_strbuf_t* out) {
  hr_strbuf_add_str(out, m->options.default_config);
  hr_strbuf_add_str(out, hr_cursor_str(config));
  return out->failed ? hr_status_out_of_memory() : NULL;
}

static hr_status_t open_backend(hr_master_job_t* j, hr_master_session_t* s, hr_str_t config, hr_str_t target, int64_t timeout_ms) {
  const hr_master_t* m = j->m;
  const hr_cluster_backend_options_t o = {.cluster = m->cluster, .worker = m->options.worker, .heartbeat = m->heartbeat,
                                          .control_deadline_ms = m->options.control_deadline_ms, .config = config, .target = target,
                                          .heartbeat_ms = m->options.heartbeat_ms};
  hr_timer_t timer;
  if (timeout_ms > 0) HR_TRY(hr_timer_add(&timer, timeout_ms, j->cancel));
  hr_status_t status = hr_cluster_backend_create(&o, j->cancel, &s->backend);
  if (timeout_ms > 0) hr_timer_remove(&timer);
  return status;
}

static hr_status_t fill_session(hr_master_job_t* j, hr_master_session_t* s, const graph_request_t* r, hr_str_t config) {
  hr_session_options_t o;
  hr_session_options_init(&o);
  HR_TRY(hr_session_options_decode(&o, config.data, config.size));
  HR_TRY(hr_graph_create(&s->graph));
  HR_TRY(import_nodes(j->m, s->graph, r->graph_def, false));
  HR_TRY(open_backend(j, s, config, hr_cursor_str(r->target), o.timeout_ms));
  o.fusion = false;
  o.intra_op_threads = 1;
  o.backend = &s->backend->base;
  return hr_session_create(s->graph, &o, &s->session);
}

static hr_status_t create_session(hr_master_job_t* j, const graph_request_t* r, hr_str_t config) {
  hr_master_session_t* s = hr_alloc_zero(sizeof *s);
  if (!s) return hr_status_out_of_memory();
  atomic_init(&s->refs, 1);
  s->master = j->m;
  hr_mutex_init(&s->mu);
  hr_status_t status = fill_session(j, s, r, config);
  if (!status) hr_writer_str(&j->response.bytes, 1, hr_str(s->backend->handle));
  if (!status) status = enter_session(j->m, s);
  if (status) hr_master_session_release(s);
  return status;
}

hr_status_t hr_master_create_session(hr_master_job_t* j) {
  HR_TRY(begin_opening(j->m));
  graph_request_t r;
  hr_strbuf_t config;
  hr_strbuf_init(&config);
  hr_status_t status = read_graph_request(j, &r);
  if (!status) status = merge_config(j->m, r.config, &config);
  if (!status) status = create_session(j, &r, hr_strbuf_view(&config));
  hr_strbuf_deinit(&config);
  hr_strbuf_deinit(&r.flat);
  end_opening(j->m);
  return status;
}

static int64_t producer_of(hr_cursor_t def) { /* 0: it does not say; malformed bytes are the import's to report */
  int64_t producer = 0;
  hr_field_t f, v;
  while (!hr_cursor_is_done(&def)) {
    hr_status_t status = hr_cursor_next(&def, &f);
    for (hr_cursor_t c = f.span; !status && f.key == HR_KEY_SPAN(4) && !hr_cursor_is_done(&c);)
      if (!(status = hr_cursor_next(&c, &v)) && v.key == HR_KEY_VARINT(1)) producer = (int64_t)v.value;
    hr_status_release(status);
    if (status) break;
  }
  return producer;
}

static hr_status_t extend_session(hr_master_job_t* j, hr_master_session_t* s, hr_cursor_t def, int64_t version) {
  if (version != s->version)
    return HR_ERROR(ABORTED, "the session's graph is at version %lld, the client's is at %lld: somebody else extended it",
                    (long long)s->version, (long long)version);
  const int64_t producer = producer_of(def);
  if (producer && s->graph->nodes.count && producer != s->graph->producer)
    return HR_ERROR(INVALID_ARGUMENT, "the graph was made by a producer of version %d, its extension by one of version %lld",
                    (int)s->graph->producer, (long long)producer);
  if (producer && !s->graph->nodes.count) s->graph->producer = (int32_t)producer; /* the session began without a graph */
  HR_TRY(import_nodes(j->m, s->graph, def, true));
  hr_writer_i64(&j->response.bytes, 4, ++s->version);
  return NULL;
}

hr_status_t hr_master_extend_session(hr_master_job_t* j) {
  graph_request_t r;
  hr_master_session_t* s = NULL;
  hr_status_t status = read_graph_request(j, &r);
  if (!status) status = hr_master_session_find(j->m, hr_cursor_str(r.handle), &s);
  if (!status) {
    hr_mutex_lock(&s->mu);
    status = extend_session(j, s, r.config, r.version);
    hr_mutex_unlock(&s->mu);
  }
  hr_master_session_release(s);
  hr_strbuf_deinit(&r.flat);
  return status;
}

hr_status_t hr_master_close_session(hr_master_job_t* j) {
  graph_request_t r;
  hr_status_t status = read_graph_request(j, &r);
  const hr_str_t handle = hr_cursor_str(r.handle);
  if (!status) {
    hr_master_session_t* s = take_session(j->m, handle);
    status = s ? close_session(s) : HR_ERROR(ABORTED, "session '%.*s' is not found: it was closed, or its server was restarted",
                                             HR_STR_ARG(handle));
  }
  hr_strbuf_deinit(&r.flat);
  return status;
}
