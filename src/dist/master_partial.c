/* SPDX-License-Identifier: Apache-2.0 */
/* PartialRunSetupRequest = 1 session_handle, 2 feed, 3 fetch, 4 target, 5 request_id; the response = 1 partial_run_handle, a number in
 * decimal. */
#include "dist/master_partial.h"
#include <stdio.h>
#include "base/alloc.h"
#include "dist/cluster_step.h"
#include "dist/random_id.h"
#include "session/pipeline.h"
#include "session/session_state.h"

struct hr_master_partial {
  hr_master_partial_t* next;
  _Atomic int refs;
  char handle[24];
  hr_mutex_t mu;           /* one piece at a time; guards what follows */
  hr_master_names_t names; /* as they were at the set-up */
  hr_feed_check_t* checks; /* memory of the names' arena, like the two below */
  bool *fed, *fetched;
  int64_t left;            /* feeds and fetches still to come */
  int64_t step_id;
  hr_runner_t* runner;
};

static void partial_release(hr_master_partial_t* p) {
  if (!p || atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) != 1) return;
  if (p->runner) p->runner->table->destroy(p->runner);
  hr_master_names_deinit(&p->names);
  hr_mutex_deinit(&p->mu);
  hr_free(p);
}

void hr_master_partial_destroy_all(hr_master_session_t* s) {
  while (s->partials) {
    hr_master_partial_t* p = s->partials;
    s->partials = p->next;
    partial_release(p);
  }
}

/* --- set-up --------------------------------------------------------------------------------------------------------------------------- */

static hr_status_t check_once(const hr_value_t* values, int64_t count, const char* what) {
  for (int64_t i = 0; i < count; ++i)
    for (int64_t j = 0; j < i; ++j)
      if (values[i].node == values[j].node && values[i].index == values[j].index)
        return HR_ERROR(INVALID_ARGUMENT, "'%s:%d' is %s more than once in a partial run", values[i].node->name.data, (int)values[i].index,
                        what);
  return NULL;
}

static hr_status_t make_checks(hr_master_partial_t* p, hr_graph_t* g) {
  hr_master_names_t* n = &p->names;
  p->checks = hr_arena_array(&n->arena, (size_t)n->feed_names.count, sizeof *p->checks);
  p->fed = hr_arena_array(&n->arena, (size_t)n->feed_names.count, sizeof *p->fed);
  p->fetched = hr_arena_array(&n->arena, (size_t)n->fetch_names.count, sizeof *p->fetched);
  if (!p->checks || !p->fed || !p->fetched) return hr_status_out_of_memory();
  hr_mutex_lock(&g->mu);
  for (int64_t i = 0; i < n->feed_names.count; ++i) {
    const hr_value_t v = n->feeds[i];
    p->checks[i] = (hr_feed_check_t){v, (int32_t)hr_dtype_base(hr_value_type(v)), hr_value_shape(v)};
  }
  hr_mutex_unlock(&g->mu);
  return NULL;
}

static hr_status_t prepare_partial(hr_master_partial_t* p, hr_master_session_t* s) {
  hr_master_names_t* n = &p->names;
  if (n->fetch_names.count == 0 && n->target_names.count == 0) return hr_signature_nothing();
  HR_TRY(hr_master_names_find(n, s->graph));
  HR_TRY(check_once(n->feeds, n->feed_names.count, "fed"));
  HR_TRY(check_once(n->fetches, n->fetch_names.count, "fetched"));
  HR_TRY(make_checks(p, s->graph));
  const hr_prune_request_t q = {n->feeds, (int32_t)n->feed_names.count, n->fetches, (int32_t)n->fetch_names.count, n->targets,
                                (int32_t)n->target_names.count, true};
  const hr_plan_source_t source = hr_session_source(s->session);
  hr_program_t program = {0};
  HR_TRY(hr_pipeline_run(s->graph, &q, source.options, &source.placing, &program));
  HR_TRY(hr_cluster_runner_create(s->backend, &program, &p->runner));
  p->left = n->feed_names.count + n->fetch_names.count;
  p->step_id = hr_random_id_step();
  return NULL;
}

static hr_status_t read_setup(hr_master_job_t* j, hr_master_names_t* n, hr_str_t* out_session) {
  int64_t id = 0;
  *out_session = HR_STR("");
  hr_message_reader_t r = hr_message_reader_make(j->request);
  while (!hr_message_reader_is_done(&r)) {
    uint32_t key;
    uint64_t value;
    hr_message_reader_t span;
    hr_str_t text = HR_STR("");
    HR_TRY(hr_message_reader_next(&r, &key, &value, &span));
    if ((key & 7) == HR_WIRE_SPAN) HR_TRY(hr_master_names_read(n, span, &text));
    switch (key) {
      case HR_KEY_SPAN(1): *out_session = text; break;
      case HR_KEY_SPAN(2): HR_TRY(hr_vec_push(&n->feed_names, text)); break;
      case HR_KEY_SPAN(3): HR_TRY(hr_vec_push(&n->fetch_names, text)); break;
      case HR_KEY_SPAN(4): HR_TRY(hr_vec_push(&n->target_names, text)); break;
      case HR_KEY_VARINT(5): id = (int64_t)value; break;
    }
  }
  return hr_request_ids_add(&j->m->ids, id);
}

static void enter_partial(hr_master_session_t* s, hr_master_partial_t* p) {
  hr_mutex_lock(&s->mu);
  snprintf(p->handle, sizeof p->handle, "%lld", (long long)s->next_partial++);
  p->next = s->partials;
  s->partials = p;
  hr_mutex_unlock(&s->mu);
}

hr_status_t hr_master_partial_run_setup(hr_master_job_t* j) {
  hr_master_partial_t* p = hr_alloc_zero(sizeof *p);
  if (!p) return hr_status_out_of_memory();
  atomic_init(&p->refs, 1);
  hr_mutex_init(&p->mu);
  hr_master_names_init(&p->names);
  hr_str_t handle;
  hr_master_session_t* s = NULL;
  hr_status_t status = read_setup(j, &p->names, &handle);
  if (!status) status = hr_master_session_find(j->m, handle, &s);
  if (!status && !(status = hr_session_enter(s->session))) {
    status = prepare_partial(p, s);
    hr_session_leave(s->session);
  }
  if (!status) {
    enter_partial(s, p);
    hr_writer_str(&j->response.bytes, 1, hr_str(p->handle));
  } else {
    partial_release(p);
  }
  hr_master_session_release(s);
  return status;
}

/* --- one piece ------------------------------------------------------------------------------------------------------------------------ */

static int32_t find_place(const hr_value_t* all, int64_t count, hr_value_t v) {
  for (int64_t i = 0; i < count; ++i)
    if (all[i].node == v.node && all[i].index == v.index) return (int32_t)i;
  return -1;
}

typedef struct {
  const hr_master_partial_t* partial;
  uint8_t* seen;
  hr_node_t** stack;
  int64_t depth;
} depend_walk_t;

static void visit_node(depend_walk_t* w, hr_node_t* n) {
  if (!n || w->seen[n->id]) return;
  w->seen[n->id] = 1;
  w->stack[w->depth++] = n;
}

/* The feed that stops the walk at v: its place, or -1. */
static int32_t visit_value(depend_walk_t* w, hr_value_t v) {
  const hr_master_names_t* n = &w->partial->names;
  const int32_t feed = v.node ? find_place(n->feeds, n->feed_names.count, v) : -1;
  if (feed < 0) visit_node(w, v.node);
  return feed >= 0 && !w->partial->fed[feed] ? feed : -1;
}

/* A feed that has not come and that `v` is computed from; -1: none. The graph's mu is held. */
static int32_t pending_feed(depend_walk_t* w, hr_value_t v) {
  int32_t pending = visit_value(w, v);
  while (pending < 0 && w->depth > 0) {
    const hr_node_t* n = w->stack[--w->depth];
    for (int32_t i = 0; pending < 0 && i < n->input_count; ++i) pending = visit_value(w, n->inputs[i]);
    for (int32_t i = 0; i < n->control_count; ++i) visit_node(w, n->controls[i]);
  }
  return pending;
}

static hr_status_t check_ready(const hr_master_partial_t* p, hr_graph_t* g, hr_value_t v) {
  hr_mutex_lock(&g->mu);
  const size_t count = (size_t)g->nodes.count + 1;
  depend_walk_t w = {.partial = p, .seen = hr_alloc_zero(count), .stack = hr_alloc_array(count, sizeof(hr_node_t*))};
  const int32_t pending = w.seen && w.stack ? pending_feed(&w, v) : -1;
  hr_mutex_unlock(&g->mu);
  const bool made = w.seen && w.stack;
  hr_free(w.seen);
  hr_free(w.stack);
  if (!made) return hr_status_out_of_memory();
  if (pending < 0) return NULL;
  return HR_ERROR(INVALID_ARGUMENT, "'%s:%d' cannot be fetched yet: it depends on '%s', which has not been fed", v.node->name.data,
                  (int)v.index, p->names.feed_names.data[pending].data);
}

/* All is checked before anything is marked. */
static hr_status_t check_piece(hr_master_partial_t* p, hr_graph_t* g, const hr_run_t* part, int32_t* feeds, int32_t* fetches) {
  const hr_master_names_t* n = &p->names;
  for (int32_t i = 0; i < part->feed_count; ++i) {
    const char* name = part->feeds[i].node->name.data;
    feeds[i] = find_place(n->feeds, n->feed_names.count, part->feeds[i]);
    if (feeds[i] < 0) return HR_ERROR(INVALID_ARGUMENT, "the feed '%s' was not specified in partial_run_setup.", name);
    if (p->fed[feeds[i]]) return HR_ERROR(INVALID_ARGUMENT, "'%s' has already been fed.", name);
    HR_TRY(hr_session_check_feed(&p->checks[feeds[i]], &part->feed_values[i]));
  }
  for (int32_t i = 0; i < part->fetch_count; ++i) {
    const char* name = part->fetches[i].node->name.data;
    fetches[i] = find_place(n->fetches, n->fetch_names.count, part->fetches[i]);
    if (fetches[i] < 0) return HR_ERROR(INVALID_ARGUMENT, "the fetch '%s' was not specified in partial_run_setup.", name);
    if (p->fetched[fetches[i]]) return HR_ERROR(INVALID_ARGUMENT, "'%s' has already been fetched.", name);
  }
  HR_TRY(check_once(part->feeds, part->feed_count, "fed"));
  HR_TRY(check_once(part->fetches, part->fetch_count, "fetched"));
  for (int32_t i = 0; i < part->feed_count; ++i) p->fed[feeds[i]] = true;
  hr_status_t status = NULL;
  for (int32_t i = 0; !status && i < part->fetch_count; ++i) status = check_ready(p, g, part->fetches[i]);
  for (int32_t i = 0; status && i < part->feed_count; ++i) p->fed[feeds[i]] = false;
  return status;
}

static hr_status_t run_piece(hr_master_partial_t* p, hr_master_session_t* s, const hr_run_t* part, hr_cancel_t* cancel, int32_t* places,
                             const hr_tensor_t** values, hr_tensor_t* out_fetches, bool* out_is_last) {
  if (p->left == 0) return HR_ERROR(INVALID_ARGUMENT, "the partial run is complete: all its feeds were given and all its fetches taken");
  int32_t *feeds = places, *fetches = places + part->feed_count;
  HR_TRY(check_piece(p, s->graph, part, feeds, fetches));
  hr_cluster_runner_t* r = (hr_cluster_runner_t*)p->runner;
  HR_TRY(hr_cluster_runner_register(r, cancel));
  for (int32_t i = 0; i < part->feed_count; ++i) values[i] = &part->feed_values[i];
  for (int32_t i = 0; i < part->fetch_count; ++i) p->fetched[fetches[i]] = true;
  p->left -= part->feed_count + part->fetch_count;
  *out_is_last = p->left == 0;
  const hr_cluster_ask_t ask = {.step_id = p->step_id, .feeds = feeds, .feed_values = values, .feed_count = part->feed_count,
                                .fetches = fetches, .fetch_count = part->fetch_count, .is_partial = true, .is_last = *out_is_last,
                                .cancel = cancel};
  hr_status_t status = hr_cluster_step_ask(r, &ask, *out_is_last, out_fetches);
  if (status) p->left = 0; /* the step is over */
  if (p->left == 0) hr_cluster_runner_deregister(r);
  return status;
}

static hr_master_partial_t* find_partial(hr_master_session_t* s, hr_str_t handle) {
  hr_mutex_lock(&s->mu);
  hr_master_partial_t* p = s->partials;
  while (p && !hr_str_is(handle, p->handle)) p = p->next;
  if (p) atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
  hr_mutex_unlock(&s->mu);
  return p;
}

static void close_cancel(void* arg) { hr_cancel_start(arg, HR_ERROR(CANCELLED, "the step was cancelled: the session was closed")); }

/* Inside the session's gate, and ended by its closing. */
static hr_status_t run_inside(hr_master_partial_t* p, hr_master_session_t* s, const hr_run_t* part, hr_cancel_t* cancel, int32_t* places,
                              const hr_tensor_t** values, hr_tensor_t* out_fetches, bool* out_is_last) {
  HR_TRY(hr_session_enter(s->session));
  hr_cancel_entry_t entry = {.callback = close_cancel, .arg = cancel};
  const bool registered = hr_cancel_register(&s->session->cancel, &entry);
  if (!registered) close_cancel(cancel);
  hr_mutex_lock(&p->mu);
  hr_status_t status = run_piece(p, s, part, cancel, places, values, out_fetches, out_is_last);
  hr_mutex_unlock(&p->mu);
  if (registered) hr_cancel_deregister(&s->session->cancel, &entry);
  hr_session_leave(s->session);
  return status;
}

hr_status_t hr_master_partial_step(hr_master_session_t* s, hr_str_t handle, const hr_run_t* part, hr_cancel_t* cancel,
                                   hr_tensor_t* out_fetches, bool* out_is_last) {
  hr_master_partial_t* p = find_partial(s, handle);
  if (!p) return HR_ERROR(INVALID_ARGUMENT, "the session has no partial run with handle '%.*s'", HR_STR_ARG(handle));
  if (part->target_count) {
    partial_release(p);
    return HR_ERROR(INVALID_ARGUMENT, "a piece of a partial run has targets; they are named when it is set up");
  }
  int32_t* places = hr_alloc_array((size_t)part->feed_count + (size_t)part->fetch_count + 1, sizeof *places);
  const hr_tensor_t** values = hr_alloc_array((size_t)part->feed_count + 1, sizeof *values);
  hr_status_t status = places && values ? run_inside(p, s, part, cancel, places, values, out_fetches, out_is_last)
                                        : hr_status_out_of_memory();
  hr_free(places);
  hr_free(values);
  partial_release(p);
  return status;
}
