/* SPDX-License-Identifier: Apache-2.0 */
/* RunGraphRequest = 1 graph_handle, 2 step_id, 3 send (NamedTensorProto = 1 name, 2 tensor), 4 recv_key, 5 exec_opts (1 record_costs, 3
 * record_timeline, 4 record_partition_graphs), 6 is_partial, 7 is_last_partial_run, 8 session_handle, 9 store_errors_in_response_body, 10
 * create_worker_session_called, 11 request_id. RunGraphResponse = 1 recv, 2 step_stats, 3 cost_graph, 4 partition_graph, 5 status_code, 6
 * status_error_message.
 *
 * Feeds go into the step's rendezvous, the graph runs on a thread of its own, what recv_key names is taken out. A partial run starts the
 * graph with its first part; each part waits for its values, the last one for the graph's end. */
#include "base/alloc.h"
#include "dist/node_tag.h"
#include "dist/worker_state.h"
#include "session/metadata.h"

typedef struct {
  hr_str_t name;
  hr_tensor_t value;
} run_feed_t;

typedef struct {
  hr_worker_op_t op;
  hr_mutex_t mu;
  bool is_cancelled;          /* guarded by mu */
  hr_worker_step_t* step;     /* set under mu */
  hr_worker_session_t* session;
  hr_worker_graph_t* graph;
  bool is_counted;            /* among the worker's running steps */
  hr_arena_t arena;           /* the texts */
  hr_str_t session_handle, graph_handle;
  int64_t step_id, request_id;
  bool is_created, is_partial, is_last, asks_settled, store_errors, record_timeline, record_graphs;
  HR_VEC(run_feed_t) feeds;
  HR_VEC(hr_str_t) keys;
  hr_message_builder_t answer;
} run_op_t;
_Static_assert(sizeof(run_op_t) <= HR_WORKER_OP_BYTES, "an op's memory is of one size");

/* --- the request ------------------------------------------------------------------------------------------------------------------ */

static hr_status_t read_text(run_op_t* r, hr_message_reader_t span, hr_str_t* out) { return hr_message_reader_text(span, &r->arena, out); }

static hr_status_t read_feed(run_op_t* r, hr_message_reader_t span) {
  run_feed_t feed = {.name = HR_STR("")};
  hr_status_t status = NULL;
  while (!status && !hr_message_reader_is_done(&span)) {
    uint32_t key;
    uint64_t value;
    hr_message_reader_t part;
    if ((status = hr_message_reader_next(&span, &key, &value, &part))) break;
    if (key == HR_KEY_SPAN(1)) status = read_text(r, part, &feed.name);
    else if (key == HR_KEY_SPAN(2)) {
      hr_tensor_release(&feed.value);
      feed.value = (hr_tensor_t){0};
      status = hr_message_reader_tensor(part, true, &feed.value);
    }
  }
  if (!status) status = hr_vec_push(&r->feeds, feed);
  if (status) hr_tensor_release(&feed.value);
  return status;
}

static hr_status_t read_key(run_op_t* r, hr_message_reader_t span) {
  hr_str_t key;
  HR_TRY(read_text(r, span, &key));
  return hr_vec_push(&r->keys, key);
}

static hr_status_t read_options(run_op_t* r, hr_message_reader_t span) {
  while (!hr_message_reader_is_done(&span)) {
    uint32_t key;
    uint64_t value;
    hr_message_reader_t part;
    HR_TRY(hr_message_reader_next(&span, &key, &value, &part));
    if (key == HR_KEY_VARINT(3)) r->record_timeline = value != 0;
    else if (key == HR_KEY_VARINT(4)) r->record_graphs = value != 0;
  }
  return NULL;
}

static hr_status_t read_field(run_op_t* r, uint32_t key, uint64_t value, hr_message_reader_t span) {
  switch (key) {
    case HR_KEY_SPAN(1): return read_text(r, span, &r->graph_handle);
    case HR_KEY_VARINT(2): r->step_id = (int64_t)value; break;
    case HR_KEY_SPAN(3): return read_feed(r, span);
    case HR_KEY_SPAN(4): return read_key(r, span);
    case HR_KEY_SPAN(5): return read_options(r, span);
    case HR_KEY_VARINT(6): r->is_partial = value != 0; break;
    case HR_KEY_VARINT(7): r->is_last = value != 0; break;
    case HR_KEY_SPAN(8): return read_text(r, span, &r->session_handle);
    case HR_KEY_VARINT(9): r->store_errors = value != 0; break;
    case HR_KEY_VARINT(10): r->is_created = value != 0; break;
    case HR_KEY_VARINT(HR_WORKER_SETTLED): r->asks_settled = value != 0; break;
    case HR_KEY_VARINT(11): r->request_id = (int64_t)value; break;
  }
  return NULL;
}

static hr_status_t read_run(run_op_t* r) {
  hr_message_reader_t m = hr_message_reader_make(&r->op.call->request);
  while (!hr_message_reader_is_done(&m)) {
    uint32_t key;
    uint64_t value;
    hr_message_reader_t span;
    HR_TRY(hr_message_reader_next(&m, &key, &value, &span));
    HR_TRY(read_field(r, key, value, span));
  }
  if (r->session_handle.size == 0) r->session_handle = HR_STR("");
  return NULL;
}

/* --- the step --------------------------------------------------------------------------------------------------------------------- */

static hr_status_t caller_is_gone(void) { return HR_ERROR(CANCELLED, HR_DERIVED_MARK "RunGraph was cancelled by its caller"); }

static void cancel_run(hr_worker_op_t* op) {
  run_op_t* r = (run_op_t*)op;
  hr_mutex_lock(&r->mu);
  r->is_cancelled = true;
  hr_worker_step_t* step = r->step;
  if (step) atomic_fetch_add_explicit(&step->refs, 1, memory_order_relaxed);
  hr_mutex_unlock(&r->mu);
  if (step) hr_worker_step_end(step, caller_is_gone());
  hr_worker_step_release(step);
}

static void destroy_run(hr_worker_op_t* op) {
  run_op_t* r = (run_op_t*)op;
  if (r->is_counted) {
    hr_mutex_lock(&op->w->mu);
    --op->w->running;
    hr_mutex_unlock(&op->w->mu);
  }
  for (int64_t i = 0; i < r->feeds.count; ++i) hr_tensor_release(&r->feeds.data[i].value);
  hr_vec_deinit(&r->feeds);
  hr_vec_deinit(&r->keys);
  hr_worker_step_release(r->step);
  hr_worker_graph_release(r->graph);
  hr_worker_session_release(r->session);
  hr_message_builder_deinit(&r->answer);
  hr_arena_deinit(&r->arena);
  hr_mutex_deinit(&r->mu);
}

static hr_status_t count_run(run_op_t* r) {
  hr_worker_t* w = r->op.w;
  hr_mutex_lock(&w->mu);
  r->is_counted = w->options.max_steps <= 0 || w->running < w->options.max_steps;
  if (r->is_counted) ++w->running;
  hr_mutex_unlock(&w->mu);
  return r->is_counted ? NULL : HR_ERROR(RESOURCE_EXHAUSTED, "too many steps at a time, the limit is %d", w->options.max_steps);
}

static hr_status_t find_step(run_op_t* r) {
  hr_worker_step_t* step;
  HR_TRY(hr_request_ids_add(&r->op.w->ids, r->request_id));
  HR_TRY(hr_worker_session_find(r->op.w, r->session_handle, r->is_created, &r->session));
  HR_TRY(hr_worker_session_find_graph(r->session, r->graph_handle, &r->graph));
  HR_TRY(count_run(r));
  HR_TRY(hr_worker_step_get(r->op.w, r->step_id, true, &step));
  hr_mutex_lock(&r->mu);
  r->step = step;
  const bool is_cancelled = r->is_cancelled;
  hr_mutex_unlock(&r->mu);
  if (is_cancelled) {
    hr_worker_step_end(step, caller_is_gone());
    return caller_is_gone();
  }
  hr_worker_step_claim(step, r->session);
  return NULL;
}

static hr_status_t send_feeds(run_op_t* r) {
  for (int64_t i = 0; i < r->feeds.count; ++i) {
    const run_feed_t* f = &r->feeds.data[i];
    hr_status_t status = hr_rendezvous_send(r->step->rendezvous, f->name, &f->value, false);
    if (status) return hr_status_note(status, "feed '%.*s'", HR_STR_ARG(hr_str_slice(f->name, 0, 200)));
  }
  return NULL;
}

static hr_status_t run_plan(hr_worker_step_t* step, hr_worker_graph_t* g, hr_observer_t* observer) {
  hr_step_t s = {.id = step->id, .cancel = &step->cancel, .rendezvous = step->rendezvous, .locals = &step->locals,
                 .resources = g->session->resources, .observer = observer, .caller = hr_callee_table_caller(g->callees)};
  s.threads = hr_pool_lease(hr_pool_threads());
  hr_status_t status = g->runner->table->run(g->runner, NULL, &s, NULL, NULL);
  hr_pool_return(s.threads);
  if (status) hr_worker_step_end(step, hr_status_retain(status)); /* whoever waits for a value of ours hears why it does not come */
  return status;
}

/* RunMetadata = 1 step_stats, 3 partition_graphs become fields 2 and 4. */
static hr_status_t answer_metadata(run_op_t* r, hr_metadata_t* m) {
  char* data;
  size_t size;
  HR_TRY(hr_metadata_take(m, r->record_graphs ? r->graph->runner : NULL, &data, &size));
  hr_cursor_t c = hr_cursor_make(data, size);
  hr_status_t status = NULL;
  while (!status && !hr_cursor_is_done(&c)) {
    hr_field_t f;
    if ((status = hr_cursor_next(&c, &f))) break;
    if (f.key == HR_KEY_SPAN(1)) hr_writer_str(&r->answer.bytes, 2, hr_cursor_str(f.span));
    else if (f.key == HR_KEY_SPAN(3)) hr_writer_str(&r->answer.bytes, 4, hr_cursor_str(f.span));
  }
  hr_free(data);
  return status;
}

static hr_status_t run_whole(run_op_t* r) {
  if (!r->record_timeline && !r->record_graphs) return run_plan(r->step, r->graph, NULL);
  hr_metadata_t m;
  hr_metadata_init(&m);
  hr_status_t status = run_plan(r->step, r->graph, r->record_timeline ? &m.observer : NULL);
  if (!status) status = answer_metadata(r, &m);
  hr_metadata_deinit(&m);
  return status;
}

/* --- values out ------------------------------------------------------------------------------------------------------------------- */

typedef struct {
  hr_rendezvous_waiter_t base;
  hr_mutex_t mu;
  hr_cond_t came;
  bool is_done, is_dead; /* guarded by mu, like the value */
  hr_status_t status;
  hr_tensor_t value;
} fetch_waiter_t;

static void fetch_came(hr_rendezvous_waiter_t* self, hr_status_t take_status, hr_tensor_t* take_value, bool is_dead) {
  fetch_waiter_t* f = (fetch_waiter_t*)self;
  hr_mutex_lock(&f->mu);
  f->status = take_status;
  f->is_dead = is_dead;
  if (!take_status && take_value) hr_tensor_move(take_value, &f->value);
  f->is_done = true;
  hr_cond_wake_all(&f->came);
  hr_mutex_unlock(&f->mu);
}

/* `wait`: the value may still come. Else the graph has run, and what is not there is not sent by it. */
static hr_status_t fetch_value(run_op_t* r, hr_str_t key, bool wait) {
  fetch_waiter_t f = {.base = {.done = fetch_came}};
  hr_mutex_init(&f.mu);
  hr_cond_init(&f.came);
  hr_rendezvous_receive_local(r->step->rendezvous, key, &f.base);
  bool is_missing = !wait && hr_rendezvous_forget(r->step->rendezvous, key, &f.base);
  hr_mutex_lock(&f.mu);
  while (!is_missing && !f.is_done) hr_cond_wait(&f.came, &f.mu);
  hr_mutex_unlock(&f.mu);
  hr_status_t status = f.status;
  if (is_missing)
    status = HR_ERROR(INVALID_ARGUMENT, "the graph sends nothing under the key '%.*s'", HR_STR_ARG(hr_str_slice(key, 0, 400)));
  else if (!status && f.is_dead)
    status = HR_ERROR(INVALID_ARGUMENT, "the tensor returned for '%.*s' was not valid", HR_STR_ARG(hr_str_slice(key, 0, 400)));
  if (!status) hr_message_builder_named_tensor(&r->answer, 1, key, &f.value);
  hr_tensor_release(&f.value);
  hr_cond_deinit(&f.came);
  hr_mutex_deinit(&f.mu);
  return status;
}

static hr_status_t fetch_values(run_op_t* r, bool wait) {
  for (int64_t i = 0; i < r->keys.count; ++i) HR_TRY(fetch_value(r, r->keys.data[i], wait));
  return NULL;
}

/* --- partial runs ----------------------------------------------------------------------------------------------------------------- */

typedef struct {
  hr_errand_t errand;
  hr_worker_t* w;
  hr_worker_step_t* step;
  hr_worker_graph_t* graph;
} partial_errand_t;

static void run_in_parts(hr_errand_t* errand) {
  partial_errand_t* p = (partial_errand_t*)errand;
  hr_status_t status = run_plan(p->step, p->graph, NULL);
  hr_mutex_lock(&p->step->mu);
  p->step->run_status = status;
  p->step->is_running = false;
  p->step->has_run = true;
  hr_cond_wake_all(&p->step->changed);
  hr_mutex_unlock(&p->step->mu);
  hr_worker_t* w = p->w;
  hr_worker_step_release(p->step);
  hr_worker_graph_release(p->graph);
  hr_free(p);
  hr_worker_drop(w);
}

static hr_status_t start_parts(run_op_t* r) {
  partial_errand_t* p = hr_alloc_zero(sizeof *p);
  if (!p) return hr_status_out_of_memory();
  *p = (partial_errand_t){.errand = {.run = run_in_parts}, .w = r->op.w, .step = r->step, .graph = r->graph};
  atomic_fetch_add_explicit(&r->op.w->refs, 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&r->step->refs, 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&r->graph->refs, 1, memory_order_relaxed);
  hr_status_t status = hr_errand_start(&p->errand);
  if (!status) return NULL;
  hr_worker_step_release(r->step); /* the op's own references keep all three alive */
  hr_worker_graph_release(r->graph);
  atomic_fetch_sub_explicit(&r->op.w->refs, 1, memory_order_relaxed);
  hr_free(p);
  return status;
}

static hr_status_t run_part(run_op_t* r) {
  hr_worker_step_t* step = r->step;
  hr_status_t status = NULL;
  hr_mutex_lock(&step->mu);
  if (!step->is_running && !step->has_run) {
    status = start_parts(r);
    step->is_running = !status;
  }
  hr_mutex_unlock(&step->mu);
  if (!status) status = fetch_values(r, true);
  if (status || !r->is_last) return status;
  hr_mutex_lock(&step->mu);
  while (step->is_running) hr_cond_wait(&step->changed, &step->mu);
  status = hr_status_retain(step->run_status);
  hr_mutex_unlock(&step->mu);
  return status;
}

/* --- the call --------------------------------------------------------------------------------------------------------------------- */

static hr_status_t run_call(run_op_t* r) {
  HR_TRY(read_run(r));
  HR_TRY(find_step(r));
  hr_status_t status = send_feeds(r);
  if (!status && r->is_partial) return run_part(r);
  if (!status) status = run_whole(r);
  if (!status) status = fetch_values(r, false);
  return status;
}

static void answer_failure(run_op_t* r, hr_status_t take_status) {
  hr_message_builder_deinit(&r->answer);
  hr_message_builder_init(&r->answer);
  hr_writer_bytes(&r->answer.bytes, 3, "", 0);
  hr_writer_i64(&r->answer.bytes, 5, (int64_t)hr_status_code(take_status));
  hr_writer_str(&r->answer.bytes, 6, hr_str(hr_status_message(take_status)));
  hr_status_release(take_status);
}

static void run_errand(hr_errand_t* errand) {
  run_op_t* r = (run_op_t*)hr_worker_op_of_errand(errand);
  hr_message_t answer = {0};
  hr_status_t status = hr_node_tag_add(run_call(r));
  if (!status) {
    hr_writer_bytes(&r->answer.bytes, 3, "", 0); /* an empty cost_graph, as TensorFlow's */
    if (r->asks_settled && !r->is_partial && hr_worker_step_settle(r->op.w, r->step))
      hr_writer_bool(&r->answer.bytes, HR_WORKER_SETTLED, true);
  } else if (r->store_errors) {
    answer_failure(r, status);
    status = NULL;
  }
  if (!status) status = hr_message_builder_take(&r->answer, &answer);
  hr_mutex_lock(&r->mu);
  const bool is_gone = r->is_cancelled;
  hr_mutex_unlock(&r->mu);
  if (is_gone && r->step) hr_worker_step_remove(r->op.w, r->step->id, caller_is_gone()); /* perhaps nobody will clean up */
  hr_worker_finish(&r->op, status, &answer);
}

void hr_worker_run_graph(hr_worker_op_t* op) {
  run_op_t* r = (run_op_t*)op;
  hr_mutex_init(&r->mu);
  hr_arena_init(&r->arena);
  hr_message_builder_init(&r->answer);
  op->cancel = cancel_run;
  op->destroy = destroy_run;
  if (!op->call->begun) {
    hr_worker_start_errand(op, run_errand);
    return;
  }
  op->call->begun(op->call);
  run_errand(&op->errand);
}
