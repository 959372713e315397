/* SPDX-License-Identifier: Apache-2.0 */
/* MakeCallable, RunCallable, ReleaseCallable. MakeCallableRequest = 1 session_handle, 2 options, 3 request_id; CallableOptions = 1 feed, 2
 * fetch, 3 target, 4 run_options, 5 tensor_connection, 6 feed_devices, 7 fetch_devices. RunCallableRequest = 1 session_handle, 2 handle, 3
 * feed, 4 request_id; the response = 1 fetch, 2 metadata. */
#include "base/alloc.h"
#include "dist/master_state.h"
#include "dist/node_tag.h"

struct hr_master_callable {
  hr_master_callable_t* next;
  _Atomic int refs;
  int64_t handle;
  int32_t feed_count, fetch_count;
  hr_run_options_t options;
  hr_callable_t* callable;
};

static void callable_release(hr_master_callable_t* c) {
  if (!c || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1) return;
  hr_callable_destroy(c->callable);
  hr_free(c);
}

void hr_master_callable_destroy_all(hr_master_session_t* s) {
  while (s->callables) {
    hr_master_callable_t* c = s->callables;
    s->callables = c->next;
    callable_release(c);
  }
}

/* --- making --------------------------------------------------------------------------------------------------------------------------- */

static hr_status_t read_callable_options(hr_master_names_t* n, hr_message_reader_t r, hr_run_options_t* options) {
  while (!hr_message_reader_is_done(&r)) {
    uint32_t key;
    uint64_t value;
    hr_message_reader_t span;
    hr_str_t text;
    HR_TRY(hr_message_reader_next(&r, &key, &value, &span));
    if ((key & 7) != HR_WIRE_SPAN) continue;
    HR_TRY(hr_master_names_read(n, span, &text));
    switch (key >> 3) {
      case 1: HR_TRY(hr_vec_push(&n->feed_names, text)); break;
      case 2: HR_TRY(hr_vec_push(&n->fetch_names, text)); break;
      case 3: HR_TRY(hr_vec_push(&n->target_names, text)); break;
      case 4: HR_TRY(hr_run_options_decode(options, text.data, text.size)); break;
      case 5: return HR_ERROR(UNIMPLEMENTED, "a callable with tensor connections");
      case 6:
      case 7: return HR_ERROR(UNIMPLEMENTED, "a callable of a remote session with feed or fetch devices");
    }
  }
  return NULL;
}

typedef struct {
  hr_str_t session;
  int64_t handle, id;
  hr_message_reader_t options;
} callable_request_t;

/* The fields that the three requests share; feeds are left to `feeds`, when set. */
static hr_status_t read_request(hr_master_job_t* j, hr_master_names_t* n, callable_request_t* r, bool makes,
                                hr_status_t (*feed)(hr_master_names_t* n, hr_message_reader_t span)) {
  *r = (callable_request_t){.session = HR_STR("")};
  hr_message_reader_t reader = hr_message_reader_make(j->request);
  while (!hr_message_reader_is_done(&reader)) {
    uint32_t key;
    uint64_t value;
    hr_message_reader_t span;
    HR_TRY(hr_message_reader_next(&reader, &key, &value, &span));
    if (key == HR_KEY_SPAN(1)) HR_TRY(hr_master_names_read(n, span, &r->session));
    if (key == HR_KEY_SPAN(2)) r->options = span;
    if (key == HR_KEY_VARINT(2)) r->handle = (int64_t)value;
    if (key == HR_KEY_SPAN(3) && feed) HR_TRY(feed(n, span));
    if (key == HR_KEY_VARINT(makes ? 3 : 4)) r->id = (int64_t)value;
  }
  return hr_request_ids_add(&j->m->ids, r->id);
}

static hr_status_t make_callable(hr_master_session_t* s, hr_master_names_t* n, const hr_run_options_t* options, int64_t* out_handle) {
  HR_TRY(hr_master_names_find(n, s->graph));
  hr_master_callable_t* c = hr_alloc_zero(sizeof *c);
  if (!c) return hr_status_out_of_memory();
  atomic_init(&c->refs, 1);
  c->options = *options;
  c->feed_count = (int32_t)n->feed_names.count;
  c->fetch_count = (int32_t)n->fetch_names.count;
  const hr_run_t run = hr_master_names_run(n);
  hr_status_t status = hr_session_make_callable(s->session, &run, &c->callable);
  if (status) {
    callable_release(c);
    return status;
  }
  hr_mutex_lock(&s->mu);
  *out_handle = c->handle = ++s->last_callable;
  c->next = s->callables;
  s->callables = c;
  hr_mutex_unlock(&s->mu);
  return NULL;
}

hr_status_t hr_master_make_callable(hr_master_job_t* j) {
  hr_master_names_t n;
  hr_master_names_init(&n);
  callable_request_t r;
  hr_run_options_t options = {0};
  hr_master_session_t* s = NULL;
  int64_t handle = 0;
  hr_status_t status = read_request(j, &n, &r, true, NULL);
  if (!status && r.options.message) status = read_callable_options(&n, r.options, &options);
  if (!status) status = hr_master_session_find(j->m, r.session, &s);
  if (!status) status = make_callable(s, &n, &options, &handle);
  if (!status) hr_writer_i64(&j->response.bytes, 1, handle);
  hr_master_session_release(s);
  hr_master_names_deinit(&n);
  return status;
}

/* --- running -------------------------------------------------------------------------------------------------------------------------- */

static hr_status_t take_feed(hr_master_names_t* n, hr_message_reader_t span) {
  HR_TRY(hr_vec_reserve(&n->feed_values, 1));
  HR_TRY(hr_message_reader_tensor(span, true, &n->feed_values.data[n->feed_values.count]));
  ++n->feed_values.count;
  return NULL;
}

static hr_status_t find_callable(hr_master_session_t* s, int64_t handle, bool takes, hr_master_callable_t** out) {
  hr_mutex_lock(&s->mu);
  hr_master_callable_t** at = &s->callables;
  while (*at && (*at)->handle != handle) at = &(*at)->next;
  hr_master_callable_t* c = *at;
  if (c && takes) *at = c->next;
  else if (c) atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
  hr_mutex_unlock(&s->mu);
  *out = c;
  return c ? NULL : HR_ERROR(INVALID_ARGUMENT, "the session has no callable with handle %lld", (long long)handle);
}

static hr_status_t run_callable(hr_master_job_t* j, hr_master_callable_t* c, const hr_master_names_t* n) {
  if (n->feed_values.count != c->feed_count)
    return HR_ERROR(INVALID_ARGUMENT, "the callable takes %d values, %lld were given", (int)c->feed_count, (long long)n->feed_values.count);
  hr_tensor_t* fetched = hr_alloc_array((size_t)c->fetch_count + 1, sizeof *fetched);
  if (!fetched) return hr_status_out_of_memory();
  hr_run_options_t options = c->options;
  options.cancel = j->cancel;
  const bool watched = options.trace_level > 0 || options.output_partition_graphs;
  char* metadata = NULL;
  size_t size = 0;
  hr_status_t status = hr_callable_run(c->callable, &options, n->feed_values.data, fetched, watched ? &metadata : NULL,
                                       watched ? &size : NULL);
  for (int32_t i = 0; !status && i < c->fetch_count; ++i) {
    hr_message_builder_tensor(&j->response, 1, &fetched[i]);
    hr_tensor_release(&fetched[i]);
  }
  if (!status) hr_writer_bytes(&j->response.bytes, 2, metadata, size);
  hr_free(metadata);
  hr_free(fetched);
  return status;
}

hr_status_t hr_master_run_callable(hr_master_job_t* j) {
  hr_master_names_t n;
  hr_master_names_init(&n);
  callable_request_t r;
  hr_master_session_t* s = NULL;
  hr_master_callable_t* c = NULL;
  hr_status_t status = read_request(j, &n, &r, false, take_feed);
  if (!status) status = hr_master_session_find(j->m, r.session, &s);
  if (!status) status = find_callable(s, r.handle, false, &c);
  if (!status && !(status = hr_master_session_begin_step(j->m))) {
    status = hr_node_tag_add(run_callable(j, c, &n));
    hr_master_session_end_step(j->m);
  }
  callable_release(c);
  hr_master_session_release(s);
  hr_master_names_deinit(&n);
  return status;
}

hr_status_t hr_master_release_callable(hr_master_job_t* j) {
  hr_master_names_t n;
  hr_master_names_init(&n);
  callable_request_t r;
  hr_master_session_t* s = NULL;
  hr_master_callable_t* c = NULL;
  hr_status_t status = read_request(j, &n, &r, false, NULL);
  if (!status) status = hr_master_session_find(j->m, r.session, &s);
  if (!status) status = find_callable(s, r.handle, true, &c);
  callable_release(c);
  hr_master_session_release(s);
  hr_master_names_deinit(&n);
  return status;
}
