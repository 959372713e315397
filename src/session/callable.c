/* SPDX-License-Identifier: Apache-2.0 */
/* Callables: a prepared signature, held. What it points to lives until the session closes, and a closed session is not entered. */
#include "base/alloc.h"
#include "session/session_state.h"

struct hr_callable {
  hr_session_t* session; /* one reference */
  const hr_prepared_t* prepared; /* NULL: the session's master is elsewhere, and the signature is sent each time */
  hr_signature_t signature;
  void* signature_block;
};

static hr_status_t prepare_signature(hr_session_t* s, const hr_run_t* run, const hr_prepared_t** out) {
  if (!s->graph) return HR_ERROR(FAILED_PRECONDITION, "the session was created without a graph, so there is nothing to call");
  hr_plan_source_t source = hr_session_source(s);
  hr_signature_t key = hr_signature_of(run);
  key.hash = hr_signature_hash(&key);
  return hr_plan_cache_get(&s->cache, &source, &key, out);
}

static hr_status_t keep_signature(hr_session_t* s, const hr_run_t* run, hr_callable_t* c) {
  if (!s->graph) return HR_ERROR(FAILED_PRECONDITION, "the session was created without a graph, so there is nothing to call");
  const hr_signature_t key = hr_signature_of(run);
  HR_TRY(hr_signature_check(&key, s->graph));
  return hr_signature_copy(&key, &c->signature, &c->signature_block);
}

hr_status_t hr_session_make_callable(hr_session_t* s, const hr_run_t* signature, hr_callable_t** out) {
  hr_callable_t* c = hr_alloc_zero(sizeof *c);
  if (!c) return hr_status_out_of_memory();
  hr_status_t status = hr_session_enter(s);
  if (!status) {
    status = s->remote ? keep_signature(s, signature, c) : prepare_signature(s, signature, &c->prepared);
    hr_session_leave(s);
  }
  if (status) {
    hr_free(c->signature_block);
    hr_free(c);
    return status;
  }
  c->session = hr_session_retain(s);
  *out = c;
  return NULL;
}

static hr_status_t call_remote(hr_callable_t* c, const hr_run_options_t* options, const hr_tensor_t* feed_values, hr_tensor_t* out_fetches,
                               char** out_metadata, size_t* out_metadata_size) {
  const hr_signature_t* k = &c->signature;
  const hr_run_t run = {k->feeds, feed_values, k->feed_count, k->fetches, k->fetch_count, k->targets, k->target_count};
  hr_remote_session_t* r = c->session->remote;
  return r->table->run(r, c->session->graph, options, &run, out_fetches, out_metadata, out_metadata_size);
}

hr_status_t hr_callable_run(hr_callable_t* c, const hr_run_options_t* options, const hr_tensor_t* feed_values, hr_tensor_t* out_fetches,
                            char** out_metadata, size_t* out_metadata_size) {
  HR_TRY(hr_session_enter(c->session));
  hr_status_t status = __builtin_expect(!c->prepared, 0)
                           ? call_remote(c, options, feed_values, out_fetches, out_metadata, out_metadata_size)
                           : hr_session_run_prepared(c->session, c->prepared, options, feed_values, out_fetches, out_metadata,
                                                     out_metadata_size);
  hr_session_leave(c->session);
  return status;
}

void hr_callable_destroy(hr_callable_t* c) {
  if (!c) return;
  hr_session_release(c->session);
  hr_free(c->signature_block);
  hr_free(c);
}
