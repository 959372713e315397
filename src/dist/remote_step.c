/* SPDX-License-Identifier: Apache-2.0 */
/* RunStep and PartialRunSetup from the client's side; the field numbers are in master_step.c and master_partial.c. RunOptions = 1
 * trace_level, 2 timeout_in_ms, 5 output_partition_graphs. */
#include "base/alloc.h"
#include "dist/random_id.h"
#include "dist/remote_state.h"

enum { ANSWER_MS = 500 }; /* beyond a step's own timeout: the server's answer says more than a deadline here would */

typedef struct {
  const hr_remote_t* remote;
  const hr_run_t* run;
  int64_t timeout_ms;
  const hr_run_options_t* options; /* NULL: none */
  const char* partial;             /* handle; "" : a whole step */
  int64_t id;
  hr_strbuf_t names;               /* of the values, NUL-terminated each: feeds, then fetches */
  size_t *feed_at, *fetch_at;      /* where in `names` */
  int32_t* same_as;                /* by fetch: the first one of that endpoint */
} step_request_t;

/* --- names ---------------------------------------------------------------------------------------------------------------------------- */

static size_t add_name(step_request_t* q, hr_value_t v) {
  const size_t at = q->names.size;
  hr_strbuf_format(&q->names, "%s:%d", v.node->name.data, (int)v.index);
  hr_strbuf_add(&q->names, "", 1);
  return at;
}
static hr_str_t name_at(const step_request_t* q, size_t at) { return hr_str(q->names.data + at); }

static hr_status_t init_request(step_request_t* q) {
  const hr_run_t* run = q->run;
  hr_strbuf_init(&q->names);
  const size_t feeds = (size_t)run->feed_count, fetches = (size_t)run->fetch_count;
  q->feed_at = hr_alloc_array(feeds + fetches + 1, sizeof *q->feed_at);
  q->fetch_at = q->feed_at ? q->feed_at + feeds : NULL;
  q->same_as = hr_alloc_array(fetches + 1, sizeof *q->same_as);
  if (!q->feed_at || !q->same_as) return hr_status_out_of_memory();
  for (int32_t i = 0; i < run->feed_count; ++i) q->feed_at[i] = add_name(q, run->feeds[i]);
  for (int32_t i = 0; i < run->fetch_count; ++i) {
    const hr_value_t v = run->fetches[i];
    q->same_as[i] = i;
    for (int32_t j = 0; j < i && q->same_as[i] == i; ++j)
      if (run->fetches[j].node == v.node && run->fetches[j].index == v.index) q->same_as[i] = j;
    q->fetch_at[i] = add_name(q, v);
  }
  return q->names.failed ? hr_status_out_of_memory() : NULL;
}

static void deinit_request(step_request_t* q) {
  hr_strbuf_deinit(&q->names);
  hr_free(q->feed_at);
  hr_free(q->same_as);
}

/* --- requests ------------------------------------------------------------------------------------------------------------------------- */

static void write_options(hr_writer_t* w, const step_request_t* q) {
  hr_writer_mark_t m = hr_writer_begin(w, 5, 16);
  if (q->options && q->options->trace_level) hr_writer_i64(w, 1, q->options->trace_level);
  if (q->timeout_ms > 0) hr_writer_i64(w, 2, q->timeout_ms);
  if (q->options && q->options->output_partition_graphs) hr_writer_bool(w, 5, true);
  hr_writer_end(w, m, 16);
}

static hr_status_t make_step(void* arg, hr_message_t* out) {
  const step_request_t* q = arg;
  const hr_run_t* run = q->run;
  hr_message_builder_t b;
  hr_message_builder_init(&b);
  hr_writer_str(&b.bytes, 1, hr_str(q->remote->handle));
  for (int32_t i = 0; i < run->feed_count; ++i)
    hr_message_builder_named_tensor(&b, 2, name_at(q, q->feed_at[i]), &run->feed_values[i]);
  for (int32_t i = 0; i < run->fetch_count; ++i)
    if (q->same_as[i] == i) hr_writer_str(&b.bytes, 3, name_at(q, q->fetch_at[i]));
  for (int32_t i = 0; i < run->target_count; ++i) hr_writer_str(&b.bytes, 4, run->targets[i]->name);
  write_options(&b.bytes, q);
  if (q->partial[0]) hr_writer_str(&b.bytes, 6, hr_str(q->partial));
  hr_writer_bool(&b.bytes, 7, true);
  hr_writer_i64(&b.bytes, 8, q->id);
  return hr_message_builder_take(&b, out);
}

static hr_status_t make_setup(void* arg, hr_message_t* out) {
  const step_request_t* q = arg;
  hr_message_builder_t b;
  hr_message_builder_init(&b);
  hr_writer_str(&b.bytes, 1, hr_str(q->remote->handle));
  for (int32_t i = 0; i < q->run->feed_count; ++i) hr_writer_str(&b.bytes, 2, name_at(q, q->feed_at[i]));
  for (int32_t i = 0; i < q->run->fetch_count; ++i) hr_writer_str(&b.bytes, 3, name_at(q, q->fetch_at[i]));
  for (int32_t i = 0; i < q->run->target_count; ++i) hr_writer_str(&b.bytes, 4, q->run->targets[i]->name);
  hr_writer_i64(&b.bytes, 5, q->id);
  return hr_message_builder_take(&b, out);
}

/* --- answers -------------------------------------------------------------------------------------------------------------------------- */

typedef struct {
  const step_request_t* request;
  hr_tensor_t* out;
  char** metadata;      /* NULL: not wanted */
  size_t* metadata_size;
  uint64_t code;
  hr_strbuf_t message;
  int32_t next; /* answers usually come in the order of what was asked for */
} answer_t;

static hr_status_t take_value(answer_t* a, hr_str_t name, hr_message_reader_t tensor) {
  const step_request_t* q = a->request;
  const int32_t count = q->run->fetch_count;
  for (int32_t tried = 0; tried < count; ++tried) {
    const int32_t i = (a->next + tried) % count;
    if (a->out[i].buffer || q->same_as[i] != i || !hr_str_equal(name_at(q, q->fetch_at[i]), name)) continue;
    a->next = i + 1;
    return hr_message_reader_tensor(tensor, false, &a->out[i]);
  }
  return HR_ERROR(INTERNAL, "the server answered with a value for '%.*s', which was not asked for", HR_STR_ARG(name));
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

static hr_status_t take_metadata(answer_t* a, hr_message_reader_t span) {
  if (!a->metadata || *a->metadata) return NULL;
  hr_strbuf_t scratch;
  hr_strbuf_init(&scratch);
  hr_cursor_t flat;
  hr_status_t status = hr_message_reader_flat(span, &scratch, &flat);
  if (!status && !(*a->metadata = hr_alloc_copy(flat.at, hr_cursor_left(&flat)))) status = hr_status_out_of_memory();
  if (!status) *a->metadata_size = hr_cursor_left(&flat);
  hr_strbuf_deinit(&scratch);
  return status;
}

static hr_status_t read_fields(answer_t* a, const hr_message_t* response) {
  hr_message_reader_t r = hr_message_reader_make(response);
  while (!hr_message_reader_is_done(&r)) {
    uint32_t key;
    uint64_t value;
    hr_message_reader_t span;
    hr_cursor_t flat;
    HR_TRY(hr_message_reader_next(&r, &key, &value, &span));
    switch (key) {
      case HR_KEY_SPAN(1): HR_TRY(read_value(a, span)); break;
      case HR_KEY_SPAN(2): HR_TRY(take_metadata(a, span)); break;
      case HR_KEY_VARINT(3): a->code = value; break;
      case HR_KEY_SPAN(4):
        HR_TRY(hr_message_reader_flat(span, &a->message, &flat));
        if (flat.at != (const uint8_t*)a->message.data) hr_strbuf_add_str(&a->message, hr_cursor_str(flat));
        break;
    }
  }
  return NULL;
}

static hr_status_t body_failure(const answer_t* a) {
  if (!a->code) return NULL;
  const hr_str_t m = hr_strbuf_view(&a->message);
  return hr_status_create(a->code < HR_CODE_COUNT ? (hr_code_t)a->code : HR_UNKNOWN, __FILE__, __LINE__, "%.*s", HR_STR_ARG(m));
}

/* Fetches that were asked for twice get a copy each: a fetched value is the caller's own. */
static hr_status_t complete_fetches(answer_t* a) {
  const step_request_t* q = a->request;
  for (int32_t i = 0; i < q->run->fetch_count; ++i) {
    const int32_t first = q->same_as[i];
    if (!a->out[first].buffer) return HR_ERROR(INTERNAL, "the server did not answer with a value for '%s'", q->names.data + q->fetch_at[i]);
    if (first != i) HR_TRY(hr_tensor_clone(&a->out[first], &a->out[i]));
  }
  return NULL;
}

static hr_status_t read_answer(answer_t* a, const hr_message_t* response) {
  hr_strbuf_init(&a->message);
  for (int32_t i = 0; i < a->request->run->fetch_count; ++i) a->out[i] = (hr_tensor_t){0};
  hr_status_t status = read_fields(a, response);
  if (!status) status = body_failure(a);
  if (!status) status = complete_fetches(a);
  if (!status && a->metadata && !*a->metadata) { /* none told: an empty message */
    *a->metadata = hr_alloc_copy("", 0);
    *a->metadata_size = 0;
    if (!*a->metadata) status = hr_status_out_of_memory();
  }
  for (int32_t i = 0; status && i < a->request->run->fetch_count; ++i) hr_tensor_release(&a->out[i]);
  if (status && a->metadata) {
    hr_free(*a->metadata);
    *a->metadata = NULL;
  }
  hr_strbuf_deinit(&a->message);
  return status;
}

/* --- steps ---------------------------------------------------------------------------------------------------------------------------- */

static hr_status_t run_request(hr_remote_t* r, hr_graph_t* graph, step_request_t* q, answer_t* a, hr_cancel_t* caller) {
  hr_remote_token_t token;
  hr_remote_token_init(&token, r, caller);
  hr_message_t response = {0};
  hr_status_t status = graph ? hr_remote_extend(r, graph, &token.own) : NULL;
  const hr_remote_call_t call = {.method = HR_MASTER_RunStep, .make = make_step, .arg = q, .cancel = &token.own,
                                 .deadline_ms = q->timeout_ms > 0 ? q->timeout_ms + ANSWER_MS : 0};
  if (!status) status = hr_remote_call_run(&r->peer, &call, &response);
  if (!status) status = read_answer(a, &response);
  hr_message_deinit(&response);
  hr_remote_token_deinit(&token);
  return status;
}

hr_status_t hr_remote_run(hr_remote_session_t* base, hr_graph_t* graph, const hr_run_options_t* options, const hr_run_t* run,
                          hr_tensor_t* out_fetches, char** out_metadata, size_t* out_metadata_size) {
  hr_remote_t* r = (hr_remote_t*)base;
  if (!graph) return HR_ERROR(FAILED_PRECONDITION, "the session was created without a graph, so there is nothing to run");
  step_request_t q = {.remote = r, .run = run, .options = options, .partial = "", .id = hr_random_id_request(),
                      .timeout_ms = options && options->timeout_ms > 0 ? options->timeout_ms : r->timeout_ms};
  if (out_metadata) *out_metadata = NULL;
  answer_t a = {.request = &q, .out = out_fetches, .metadata = out_metadata, .metadata_size = out_metadata_size};
  hr_status_t status = init_request(&q);
  if (!status) status = run_request(r, graph, &q, &a, options ? options->cancel : NULL);
  deinit_request(&q);
  return status;
}

static hr_status_t read_partial_handle(const hr_message_t* response, char** out) {
  hr_strbuf_t scratch;
  hr_strbuf_init(&scratch);
  hr_cursor_t c;
  hr_str_t handle = HR_STR("");
  hr_status_t status = hr_message_reader_flat(hr_message_reader_make(response), &scratch, &c);
  while (!status && !hr_cursor_is_done(&c)) {
    hr_field_t f;
    if (!(status = hr_cursor_next(&c, &f)) && f.key == HR_KEY_SPAN(1)) handle = hr_cursor_str(f.span);
  }
  if (!status && !(*out = hr_alloc_copy(handle.data, handle.size))) status = hr_status_out_of_memory();
  hr_strbuf_deinit(&scratch);
  return status;
}

hr_status_t hr_remote_partial_setup(hr_remote_session_t* base, hr_graph_t* graph, const hr_run_t* signature, char** out_handle) {
  hr_remote_t* r = (hr_remote_t*)base;
  if (!graph) return HR_ERROR(FAILED_PRECONDITION, "the session was created without a graph, so there is nothing to run");
  hr_remote_token_t token;
  hr_remote_token_init(&token, r, NULL);
  step_request_t q = {.remote = r, .run = signature, .partial = "", .id = hr_random_id_request()};
  hr_message_t response = {0};
  hr_status_t status = init_request(&q);
  if (!status) status = hr_remote_extend(r, graph, &token.own);
  const hr_remote_call_t call = {.method = HR_MASTER_PartialRunSetup, .make = make_setup, .arg = &q, .deadline_ms = r->timeout_ms,
                                 .cancel = &token.own};
  if (!status) status = hr_remote_call_run(&r->peer, &call, &response);
  if (!status) status = read_partial_handle(&response, out_handle);
  hr_message_deinit(&response);
  deinit_request(&q);
  hr_remote_token_deinit(&token);
  return status;
}

hr_status_t hr_remote_partial_step(hr_remote_session_t* base, const char* handle, const hr_run_t* part, hr_tensor_t* out_fetches) {
  hr_remote_t* r = (hr_remote_t*)base;
  step_request_t q = {.remote = r, .run = part, .partial = handle, .id = hr_random_id_request(), .timeout_ms = r->timeout_ms};
  answer_t a = {.request = &q, .out = out_fetches};
  hr_status_t status = init_request(&q);
  if (!status) status = run_request(r, NULL, &q, &a, NULL);
  deinit_request(&q);
  return status;
}
