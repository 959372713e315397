/* SPDX-License-Identifier: Apache-2.0 */
/* RunStep. RunStepRequest = 1 session_handle, 2 feed, 3 fetch, 4 target, 5 options, 6 partial_run_handle, 7
 * store_errors_in_response_body, 8 request_id. RunStepResponse = 1 tensor, 2 metadata, 3 status_code, 4 status_error_message. */
#include "base/alloc.h"
#include "dist/master_partial.h"
#include "dist/node_tag.h"

typedef struct {
  hr_master_names_t names;
  hr_str_t session, partial;  /* in the names' arena */
  hr_run_options_t options;
  bool errors_in_body;
  int64_t id;
} step_request_t;

static hr_status_t take_feed(step_request_t* r, hr_str_t name, hr_message_reader_t tensor) {
  hr_str_t kept;
  if (!hr_arena_str(&r->names.arena, name, &kept)) return hr_status_out_of_memory();
  HR_TRY(hr_vec_reserve(&r->names.feed_values, 1));
  HR_TRY(hr_vec_push(&r->names.feed_names, kept));
  hr_status_t status = hr_message_reader_tensor(tensor, true, &r->names.feed_values.data[r->names.feed_values.count]);
  if (status) return hr_status_note(status, "feed '%s': ", kept.data);
  ++r->names.feed_values.count;
  return NULL;
}

static hr_status_t read_feed(step_request_t* r, hr_message_reader_t span) {
  hr_strbuf_t scratch;
  hr_strbuf_init(&scratch);
  hr_str_t name;
  hr_message_reader_t tensor;
  hr_status_t status = hr_message_reader_named(span, &scratch, &name, &tensor);
  if (!status) status = take_feed(r, name, tensor);
  hr_strbuf_deinit(&scratch);
  return status;
}

static hr_status_t read_options(step_request_t* r, hr_message_reader_t span) {
  hr_str_t bytes;
  HR_TRY(hr_master_names_read(&r->names, span, &bytes));
  return hr_run_options_decode(&r->options, bytes.data, bytes.size);
}

static hr_status_t read_step_field(step_request_t* r, uint32_t key, uint64_t value, hr_message_reader_t span) {
  hr_str_t name;
  switch (key) {
    case HR_KEY_SPAN(1): return hr_master_names_read(&r->names, span, &r->session);
    case HR_KEY_SPAN(2): return read_feed(r, span);
    case HR_KEY_SPAN(3): HR_TRY(hr_master_names_read(&r->names, span, &name)); return hr_vec_push(&r->names.fetch_names, name);
    case HR_KEY_SPAN(4): HR_TRY(hr_master_names_read(&r->names, span, &name)); return hr_vec_push(&r->names.target_names, name);
    case HR_KEY_SPAN(5): return read_options(r, span);
    case HR_KEY_SPAN(6): return hr_master_names_read(&r->names, span, &r->partial);
    case HR_KEY_VARINT(7): r->errors_in_body = value != 0; break;
    case HR_KEY_VARINT(8): r->id = (int64_t)value; break;
  }
  return NULL;
}

static hr_status_t read_step(const hr_message_t* request, step_request_t* r) {
  hr_message_reader_t reader = hr_message_reader_make(request);
  while (!hr_message_reader_is_done(&reader)) {
    uint32_t key;
    uint64_t value;
    hr_message_reader_t span;
    HR_TRY(hr_message_reader_next(&reader, &key, &value, &span));
    HR_TRY(read_step_field(r, key, value, span));
  }
  return NULL;
}

typedef struct {
  hr_tensor_t* fetched;
  char* metadata;
  size_t metadata_size;
  bool tells_metadata;
} step_result_t;

static hr_status_t run_whole(hr_master_session_t* s, const step_request_t* r, step_result_t* out) {
  const hr_run_t run = hr_master_names_run(&r->names);
  const bool watched = r->options.trace_level > 0 || r->options.output_partition_graphs;
  out->tells_metadata = true;
  return hr_session_run(s->session, &r->options, &run, out->fetched, watched ? &out->metadata : NULL,
                        watched ? &out->metadata_size : NULL);
}

static hr_status_t run_piece(hr_master_session_t* s, const step_request_t* r, step_result_t* out) {
  const hr_run_t run = hr_master_names_run(&r->names);
  return hr_master_partial_step(s, r->partial, &run, r->options.cancel, out->fetched, &out->tells_metadata);
}

static void write_result(hr_message_builder_t* b, const step_request_t* r, step_result_t* out) {
  for (int64_t i = 0; i < r->names.fetch_names.count; ++i) {
    hr_message_builder_named_tensor(b, 1, r->names.fetch_names.data[i], &out->fetched[i]);
    hr_tensor_release(&out->fetched[i]);
  }
  if (out->tells_metadata) hr_writer_bytes(&b->bytes, 2, out->metadata, out->metadata_size);
}

static hr_status_t run_request(hr_master_job_t* j, step_request_t* r) {
  hr_master_session_t* s = NULL;
  step_result_t out = {.fetched = hr_alloc_array((size_t)r->names.fetch_names.count + 1, sizeof *out.fetched)};
  hr_status_t status = out.fetched ? hr_master_session_find(j->m, r->session, &s) : hr_status_out_of_memory();
  if (!status) status = hr_master_names_find(&r->names, s->graph);
  if (!status && !(status = hr_master_session_begin_step(j->m))) {
    r->options.cancel = j->cancel;
    status = r->partial.size ? run_piece(s, r, &out) : run_whole(s, r, &out);
    hr_master_session_end_step(j->m);
  }
  if (!status) write_result(&j->response, r, &out);
  hr_free(out.metadata);
  hr_free(out.fetched);
  hr_master_session_release(s);
  return status;
}

/* A failure as an answer that is OK: clients ask for it so that no transport shortens the message. ABORTED because the session is not
 * there goes the same way: TensorFlow's clients look at the code only. */
static hr_status_t answer_failure(hr_master_job_t* j, hr_status_t take_failure) {
  hr_message_builder_deinit(&j->response);
  hr_message_builder_init(&j->response);
  hr_writer_bytes(&j->response.bytes, 2, "", 0);
  hr_writer_i64(&j->response.bytes, 3, (int64_t)hr_status_code(take_failure));
  hr_writer_str(&j->response.bytes, 4, hr_str(hr_status_message(take_failure)));
  hr_status_release(take_failure);
  return NULL;
}

hr_status_t hr_master_run_step(hr_master_job_t* j) {
  step_request_t r = {.session = HR_STR(""), .partial = HR_STR("")};
  hr_master_names_init(&r.names);
  hr_status_t status = read_step(j->request, &r);
  if (!status) status = hr_request_ids_add(&j->m->ids, r.id);
  if (!status) status = hr_node_tag_add(run_request(j, &r));
  if (status && r.errors_in_body) status = answer_failure(j, status);
  hr_master_names_deinit(&r.names);
  return status;
}
