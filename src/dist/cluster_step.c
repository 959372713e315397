/* SPDX-License-Identifier: Apache-2.0 */
/* RunGraphRequest = 1 graph_handle, 2 step_id, 3 send, 4 recv_key, 5 exec_opts, 6 is_partial, 7 is_last_partial_run, 8 session_handle, 9
 * store_errors_in_response_body, 10 create_worker_session_called, 11 request_id. RunGraphResponse = 1 recv, 2 step_stats, 4
 * partition_graph, 5 status_code, 6 status_error_message. ExecutorOpts = 3 record_timeline.
 *
 * Which error the client sees: a worker marks what is only another failure's consequence; the first error without the mark wins, and ends
 * the other calls. A marked one waits for it: a second or two, since what it follows from may have been met outside this step. Clients
 * never see the mark. */
#include "dist/cluster_step.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "dist/message_builder.h"
#include "dist/message_reader.h"
#include "dist/random_id.h"
#include "rt/observer.h"

enum { CAUSE_MS = 1000 };

typedef struct {
  hr_cluster_runner_t* runner;
  const hr_cluster_ask_t* ask;
  hr_fanout_t* fanout;
  hr_heartbeat_watch_t watch;
  hr_mutex_t mu;
  hr_status_t failure;  /* guarded by mu, like below: the one to report so far */
  bool is_derived, is_final;
} cluster_step_t;

/* --- the first error ------------------------------------------------------------------------------------------------------------------ */

/* Without the marks: the consequence is all that is known. */
static hr_status_t drop_marks(hr_status_t take_status) {
  const size_t size = sizeof HR_DERIVED_MARK - 1;
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  const char* at = hr_status_message(take_status);
  for (const char* mark; (mark = strstr(at, HR_DERIVED_MARK)); at = mark + size) hr_strbuf_add(&text, at, (size_t)(mark - at));
  hr_strbuf_add_str(&text, hr_str(at));
  const hr_str_t m = hr_strbuf_view(&text);
  hr_status_t status =
      text.failed ? hr_status_out_of_memory() : hr_status_create(hr_status_code(take_status), __FILE__, __LINE__, "%.*s", HR_STR_ARG(m));
  hr_strbuf_deinit(&text);
  hr_status_release(take_status);
  return status;
}

static bool status_is_derived(hr_status_t s) {
  return strstr(hr_status_message(s), HR_DERIVED_MARK) != NULL; /* the node that met it may have put its name before */
}

/* True: the others are to end. */
static bool keep_failure(cluster_step_t* s, hr_status_t take_status, bool is_derived) {
  hr_mutex_lock(&s->mu);
  const bool better = !s->failure || (s->is_derived && !is_derived);
  hr_status_t worse = better ? s->failure : take_status;
  if (better) {
    s->failure = take_status;
    s->is_derived = is_derived;
  }
  const bool ends = better && !is_derived && !s->is_final;
  s->is_final |= ends;
  hr_mutex_unlock(&s->mu);
  hr_status_release(worse);
  return ends;
}

static void task_died(hr_heartbeat_watch_t* self, int32_t task, hr_status_t take_why) {
  cluster_step_t* s = (cluster_step_t*)((char*)self - offsetof(cluster_step_t, watch));
  (void)task;
  if (keep_failure(s, take_why, false)) hr_fanout_cancel(s->fanout);
}

/* The status that an answer carries in its body, and whether nothing is left of the step there. */
static hr_status_t body_status(const hr_message_t* response, bool* out_settled) {
  hr_message_reader_t r = hr_message_reader_make(response);
  uint64_t code = 0;
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hr_cursor_t message = hr_cursor_make(NULL, 0);
  hr_status_t status = NULL;
  while (!status && !hr_message_reader_is_done(&r)) {
    uint32_t key;
    uint64_t value;
    hr_message_reader_t span;
    if ((status = hr_message_reader_next(&r, &key, &value, &span))) break;
    if (key == HR_KEY_VARINT(5)) code = value;
    if (key == HR_KEY_VARINT(HR_WORKER_SETTLED)) *out_settled = value != 0;
    if (key == HR_KEY_SPAN(6)) status = hr_message_reader_flat(span, &text, &message);
  }
  if (!status && code) {
    const hr_str_t m = hr_cursor_str(message);
    status = hr_status_create(code < HR_CODE_COUNT ? (hr_code_t)code : HR_UNKNOWN, __FILE__, __LINE__, "%.*s", HR_STR_ARG(m));
  }
  hr_strbuf_deinit(&text);
  return status;
}

static void part_replied(hr_fanout_t* f, hr_fanout_call_t* call) {
  cluster_step_t* s = f->arg;
  if (!call->status) call->status = body_status(&call->response, &call->is_settled);
  if (!call->status) return;
  const bool is_derived = status_is_derived(call->status);
  hr_status_t told = hr_status_note(hr_status_retain(call->status), "From %s", f->cluster->tasks[call->task].name.data);
  if (keep_failure(s, told, is_derived)) hr_fanout_cancel(f);
}

/* --- requests ------------------------------------------------------------------------------------------------------------------------- */

static void write_feeds_and_keys(hr_message_builder_t* m, const hr_cluster_graph_t* g, const hr_cluster_ask_t* ask) {
  for (int32_t i = 0; i < ask->feed_count; ++i) {
    const hr_str_t key = g->feed_keys[ask->feeds[i]];
    if (key.size) hr_message_builder_named_tensor(m, 3, key, ask->feed_values[i]);
  }
  for (int32_t i = 0; i < ask->fetch_count; ++i) hr_writer_str(&m->bytes, 4, g->fetch_keys[ask->fetches[i]]);
}

static hr_status_t run_request(const hr_cluster_runner_t* r, int32_t part, const hr_cluster_ask_t* ask, hr_message_t* out) {
  hr_message_builder_t m;
  hr_message_builder_init(&m);
  hr_writer_str(&m.bytes, 1, hr_str(r->graph_handles[part]));
  hr_writer_i64(&m.bytes, 2, ask->step_id);
  hr_writer_mark_t opts = hr_writer_begin(&m.bytes, 5, 4);
  if (ask->observer) hr_writer_bool(&m.bytes, 3, true);
  hr_writer_end(&m.bytes, opts, 4);
  if (part == r->graph.client_part) write_feeds_and_keys(&m, &r->graph, ask);
  if (ask->is_partial) hr_writer_bool(&m.bytes, 6, true);
  if (ask->is_last) hr_writer_bool(&m.bytes, 7, true);
  hr_writer_str(&m.bytes, 8, hr_str(r->backend->handle));
  hr_writer_bool(&m.bytes, 9, true);
  hr_writer_bool(&m.bytes, 10, true);
  hr_writer_i64(&m.bytes, 11, hr_random_id_request());
  if (!ask->is_partial) hr_writer_bool(&m.bytes, HR_WORKER_SETTLED, true);
  return hr_message_builder_take(&m, out);
}

/* Other tasks first: this one's part runs here, before its start returns. */
static void start_parts(cluster_step_t* s) {
  const hr_cluster_runner_t* r = s->runner;
  for (int own = 0; own < 2; ++own) {
    for (int32_t i = 0; i < r->graph.part_count; ++i) {
      if ((r->tasks[i] == s->fanout->cluster->self) != (own == 1)) continue;
      hr_message_t request;
      hr_status_t status = run_request(r, i, s->ask, &request);
      if (!status) {
        hr_fanout_start(s->fanout, i, r->tasks[i], HR_WORKER_RunGraph, &request, 0, false);
      } else if (keep_failure(s, status, false)) {
        hr_fanout_cancel(s->fanout);
        return;
      }
    }
  }
}

/* --- the answer ----------------------------------------------------------------------------------------------------------------------- */

typedef struct {
  const hr_cluster_runner_t* runner;
  const hr_cluster_ask_t* ask;
  hr_tensor_t* out;
  int32_t next; /* answers usually come in the order of the keys asked for */
} answer_t;

static hr_status_t take_value(answer_t* a, hr_str_t name, hr_message_reader_t tensor) {
  for (int32_t tried = 0; tried < a->ask->fetch_count; ++tried) {
    const int32_t i = (a->next + tried) % a->ask->fetch_count;
    if (!hr_str_equal(a->runner->graph.fetch_keys[a->ask->fetches[i]], name) || a->out[i].buffer) continue;
    a->next = i + 1;
    return hr_message_reader_tensor(tensor, true, &a->out[i]);
  }
  return HR_ERROR(INTERNAL, "a worker answered with a value for '%.*s', which was not asked for", HR_STR_ARG(name));
}

static hr_status_t read_value(answer_t* a, hr_message_reader_t r) {
  hr_strbuf_t scratch;
  hr_strbuf_init(&scratch);
  hr_str_t name;
  hr_message_reader_t tensor;
  hr_status_t status = hr_message_reader_named(r, &scratch, &name, &tensor);
  if (!status) status = take_value(a, name, tensor);
  hr_strbuf_deinit(&scratch);
  return status;
}

static hr_status_t tell_stats(hr_observer_t* observer, hr_message_reader_t span) {
  hr_strbuf_t scratch;
  hr_strbuf_init(&scratch);
  hr_cursor_t flat;
  hr_status_t status = hr_message_reader_flat(span, &scratch, &flat);
  if (!status) observer->add_stats(observer, flat.at, hr_cursor_left(&flat));
  hr_strbuf_deinit(&scratch);
  return status;
}

static hr_status_t read_answer(answer_t* a, const hr_message_t* response) {
  hr_message_reader_t r = hr_message_reader_make(response);
  while (!hr_message_reader_is_done(&r)) {
    uint32_t key;
    uint64_t value;
    hr_message_reader_t span;
    HR_TRY(hr_message_reader_next(&r, &key, &value, &span));
    if (key == HR_KEY_SPAN(1)) HR_TRY(read_value(a, span));
    if (key == HR_KEY_SPAN(2) && a->ask->observer) HR_TRY(tell_stats(a->ask->observer, span));
  }
  return NULL;
}

static hr_status_t read_answers(cluster_step_t* s, hr_tensor_t* out_fetches) {
  const hr_cluster_ask_t* ask = s->ask;
  for (int32_t i = 0; i < ask->fetch_count; ++i) out_fetches[i] = (hr_tensor_t){0};
  answer_t a = {s->runner, ask, out_fetches, 0};
  hr_status_t status = NULL;
  for (int32_t i = 0; !status && i < s->fanout->count; ++i) status = read_answer(&a, &s->fanout->calls[i].response);
  for (int32_t i = 0; !status && i < ask->fetch_count; ++i)
    if (!out_fetches[i].buffer)
      status = HR_ERROR(INTERNAL, "no worker answered with a value for '%s'", s->runner->graph.fetch_keys[ask->fetches[i]].data);
  for (int32_t i = 0; status && i < ask->fetch_count; ++i) hr_tensor_release(&out_fetches[i]);
  return status;
}

/* --- the step ------------------------------------------------------------------------------------------------------------------------- */

/* Behind the step, which does not wait: whatever is left of it on the workers. */
static void clean_up(hr_cluster_runner_t* r, const hr_fanout_t* step, int64_t step_id) {
  hr_cluster_backend_t* b = r->backend;
  hr_fanout_t* f = NULL;
  int32_t left = 0;
  for (int32_t i = 0; i < step->count; ++i) left += !step->calls[i].is_settled;
  if (!left) return;
  hr_status_t status = hr_fanout_create(b->cluster, b->worker, r->graph.part_count, &f);
  for (int32_t i = 0; !status && i < r->graph.part_count; ++i) {
    if (step->calls[i].is_settled) continue;
    hr_message_builder_t m;
    hr_message_builder_init(&m);
    hr_writer_i64(&m.bytes, 1, step_id);
    hr_message_t request;
    if (!(status = hr_message_builder_take(&m, &request)))
      hr_fanout_start(f, i, r->tasks[i], HR_WORKER_CleanupGraph, &request, b->control_deadline_ms, false);
  }
  hr_status_release(status); /* out of memory: the workers keep the step's rendezvous until their session ends */
  if (f) hr_cluster_backend_leave(b, f);
}

/* Until all have ended; parts that wait for nothing of a part that failed for a reason unknown here are ended too. */
static void await_cause(cluster_step_t* s) {
  bool had_failed = false;
  while (!hr_fanout_wait(s->fanout, hr_clock_now_ns() + CAUSE_MS * INT64_C(1000000))) {
    hr_mutex_lock(&s->mu);
    const bool has_failed = s->failure != NULL;
    hr_mutex_unlock(&s->mu);
    if (has_failed && had_failed) {
      hr_fanout_cancel(s->fanout);
      return;
    }
    had_failed = has_failed;
  }
}

static hr_status_t run_parts(cluster_step_t* s) {
  const hr_cluster_runner_t* r = s->runner;
  hr_heartbeat_t* h = r->graph.part_count > 1 || r->graph.client_part < 0 ? r->backend->heartbeat : NULL;
  s->watch = (hr_heartbeat_watch_t){.tasks = r->tasks, .count = r->graph.part_count, .dead = task_died};
  if (h) HR_TRY(hr_heartbeat_add(h, &s->watch));
  hr_fanout_obey(s->fanout, s->ask->cancel);
  start_parts(s);
  if (r->graph.part_count > 1) await_cause(s);
  hr_status_release(hr_fanout_finish(s->fanout)); /* what failed is in s->failure */
  if (h) hr_heartbeat_remove(h, &s->watch);
  if (!s->failure || !hr_cancel_is_set(s->ask->cancel)) return s->is_derived ? drop_marks(s->failure) : s->failure;
  const hr_code_t code = hr_status_code(s->failure); /* of what was cancelled, unless it failed by itself before */
  if (!s->is_derived && code != HR_CANCELLED && code != HR_ABORTED) return s->failure;
  hr_status_release(s->failure);
  return hr_cancel_why(s->ask->cancel);
}

hr_status_t hr_cluster_step_ask(hr_cluster_runner_t* r, const hr_cluster_ask_t* ask, bool end, hr_tensor_t* out_fetches) {
  cluster_step_t s = {.runner = r, .ask = ask};
  HR_TRY(hr_fanout_create(r->backend->cluster, r->backend->worker, r->graph.part_count, &s.fanout));
  hr_mutex_init(&s.mu);
  s.fanout->replied = part_replied;
  s.fanout->may_block = true;
  s.fanout->arg = &s;
  hr_status_t status = run_parts(&s);
  if (!status) status = read_answers(&s, out_fetches);
  if (end || status) clean_up(r, s.fanout, ask->step_id);
  hr_fanout_destroy(s.fanout);
  hr_mutex_deinit(&s.mu);
  return status;
}

hr_status_t hr_cluster_step_run(hr_cluster_runner_t* r, const hr_cluster_binding_t* binding, hr_step_t* step, const hr_tensor_t* feeds,
                                hr_tensor_t* out_fetches) {
  const hr_cluster_graph_t* g = &r->graph;
  enum { FEW = 16 };
  int32_t few_places[FEW];
  const hr_tensor_t* few_values[FEW];
  const int32_t most = g->feed_count > g->fetch_count ? g->feed_count : g->fetch_count;
  int32_t* places = most <= FEW ? few_places : hr_alloc_array((size_t)most, sizeof *places);
  const hr_tensor_t** values = g->feed_count <= FEW ? few_values : hr_alloc_array((size_t)g->feed_count, sizeof *values);
  hr_tensor_t* fetched = hr_alloc_array((size_t)g->fetch_count + 1, sizeof *fetched);
  hr_status_t status = places && values && fetched ? NULL : hr_status_out_of_memory();
  if (status) goto done;
  for (int32_t i = 0; i < most; ++i) places[i] = i;
  for (int32_t i = 0; i < g->feed_count; ++i) values[i] = &feeds[binding->feed_from[i]];
  const hr_cluster_ask_t ask = {.step_id = hr_random_id_step(), .feeds = places, .feed_values = values, .feed_count = g->feed_count,
                                .fetches = places, .fetch_count = g->fetch_count,
                                .observer = step->observer, .cancel = step->cancel};
  if ((status = hr_cluster_step_ask(r, &ask, true, fetched))) goto done;
  for (int32_t i = 0; i < binding->fetch_count; ++i) hr_tensor_share(&fetched[binding->fetch_of[i]], &out_fetches[i]);
  for (int32_t i = 0; i < g->fetch_count; ++i) hr_tensor_release(&fetched[i]);
done:
  if (places != few_places) hr_free(places);
  if (values != few_values) hr_free(values);
  hr_free(fetched);
  return status;
}
