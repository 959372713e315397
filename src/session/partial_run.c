/* SPDX-License-Identifier: Apache-2.0 */
/* Incremental runs: all feeds and fetches are named at the start, and come and go in parts. Each may be used once. What a part asks for may
 * only depend on what has been fed. Between parts the session does not count the run as running, so it may be closed. */
#include "base/alloc.h"
#include "exec/partial.h"
#include "rt/step_locals.h"
#include "session/pipeline.h"
#include "session/session_state.h"

struct hr_partial_run {
  hr_session_t* session; /* one reference */
  hr_mutex_t mu;         /* one part at a time */
  hr_signature_t signature;
  void* signature_block;
  hr_feed_check_t* checks;
  bool* fetched;
  int32_t left;          /* feeds and fetches still to come */
  int64_t step_id;
  hr_step_locals_t locals;
  hr_program_t program;
  hr_plan_t* plan;
  hr_partial_t* partial;
  char* remote;          /* the handle, where the session's master is elsewhere; all but session is empty then */
};

void hr_partial_run_destroy(hr_partial_run_t* p) {
  if (!p) return;
  hr_partial_destroy(p->partial);
  hr_step_locals_deinit(&p->locals);
  hr_plan_destroy(p->plan);
  if (p->program.graph) hr_program_deinit(&p->program);
  hr_free(p->signature_block);
  hr_free(p->checks);
  hr_free(p->fetched);
  hr_free(p->remote);
  hr_mutex_deinit(&p->mu);
  hr_session_release(p->session);
  hr_free(p);
}

static hr_status_t check_fetches_once(const hr_signature_t* s) {
  for (int32_t i = 0; i < s->fetch_count; ++i)
    for (int32_t j = 0; j < i; ++j)
      if (s->fetches[i].node == s->fetches[j].node && s->fetches[i].index == s->fetches[j].index)
        return HR_ERROR(INVALID_ARGUMENT, "'%s:%d' is fetched more than once in a partial run", s->fetches[i].node->name.data,
                        s->fetches[i].index);
  return NULL;
}

static void fill_feed_checks(hr_partial_run_t* p) {
  for (int32_t i = 0; i < p->signature.feed_count; ++i) {
    hr_value_t v = p->signature.feeds[i];
    p->checks[i] = (hr_feed_check_t){v, (int32_t)hr_dtype_base(hr_value_type(v)), hr_value_shape(p->program.feeds[i])};
  }
}

static hr_status_t setup_run(hr_partial_run_t* p, hr_session_t* s, const hr_signature_t* key) {
  if (!s->graph) return HR_ERROR(FAILED_PRECONDITION, "the session was created without a graph, so there is nothing to run");
  if (s->options.backend) return HR_ERROR(UNIMPLEMENTED, "a partial run on a cluster is its master's, not its session's");
  HR_TRY(hr_signature_check(key, s->graph));
  HR_TRY(check_fetches_once(key));
  HR_TRY(hr_signature_copy(key, &p->signature, &p->signature_block));
  hr_prune_request_t q = {key->feeds, key->feed_count, key->fetches, key->fetch_count, key->targets, key->target_count, true};
  const hr_plan_source_t source = hr_session_source(s);
  HR_TRY(hr_pipeline_run(s->graph, &q, &s->options, &source.placing, &p->program));
  const hr_program_t* g = &p->program;
  hr_plan_desc_t d = {.nodes = g->live, .node_count = g->live_count, .feeds = g->feeds, .feed_count = g->feed_count, .fetches = g->fetches,
                      .fetch_count = g->fetch_count, .states = s->states, .resources = s->resources, .keep_values = true};
  HR_TRY(hr_plan_create(&d, &p->plan));
  HR_TRY(hr_partial_create(p->plan, &p->partial));
  p->checks = hr_alloc_array((size_t)key->feed_count + 1, sizeof *p->checks);
  p->fetched = hr_alloc_array((size_t)key->fetch_count + 1, sizeof *p->fetched);
  if (!p->checks || !p->fetched) return hr_status_out_of_memory();
  fill_feed_checks(p);
  p->left = key->feed_count + key->fetch_count;
  p->step_id = hr_session_next_step_id();
  hr_step_locals_init(&p->locals);
  return NULL;
}

static hr_status_t setup_remote(hr_partial_run_t* p, hr_session_t* s, const hr_run_t* signature, const hr_signature_t* key) {
  if (s->graph) HR_TRY(hr_signature_check(key, s->graph));
  return s->remote->table->partial_setup(s->remote, s->graph, signature, &p->remote);
}

hr_status_t hr_session_partial_setup(hr_session_t* s, const hr_run_t* signature, hr_partial_run_t** out) {
  hr_partial_run_t* p = hr_alloc_zero(sizeof *p);
  if (!p) return hr_status_out_of_memory();
  hr_mutex_init(&p->mu);
  hr_status_t status = hr_session_enter(s);
  if (!status) {
    hr_signature_t key = hr_signature_of(signature);
    status = s->remote ? setup_remote(p, s, signature, &key) : setup_run(p, s, &key);
    hr_session_leave(s);
  }
  if (status) {
    hr_partial_run_destroy(p);
    return status;
  }
  p->session = hr_session_retain(s);
  *out = p;
  return NULL;
}

/* --- one part ------------------------------------------------------------------------------------------------------------------------ */

static hr_status_t find_endpoint(const hr_value_t* all, int32_t count, hr_value_t v, const char* what, int32_t* out) {
  for (int32_t i = 0; i < count; ++i) {
    if (all[i].node != v.node || all[i].index != v.index) continue;
    *out = i;
    return NULL;
  }
  return HR_ERROR(INVALID_ARGUMENT, "the %s '%s:%d' was not specified in partial_run_setup.", what, v.node ? v.node->name.data : "",
                  v.index);
}

/* Everything is checked before anything changes; hr_partial_feed finds what is given twice within one part. */
static hr_status_t check_part_feeds(const hr_partial_run_t* p, const hr_run_t* part, int32_t* places) {
  for (int32_t i = 0; i < part->feed_count; ++i) {
    HR_TRY(find_endpoint(p->signature.feeds, p->signature.feed_count, part->feeds[i], "feed", &places[i]));
    if (hr_partial_is_fed(p->partial, places[i]))
      return HR_ERROR(INVALID_ARGUMENT, "'%s:%d' has already been fed.", part->feeds[i].node->name.data,
                      part->feeds[i].index);
    HR_TRY(hr_session_check_feed(&p->checks[places[i]], &part->feed_values[i]));
  }
  return NULL;
}

static hr_status_t check_part_fetches(const hr_partial_run_t* p, const hr_run_t* part, int32_t* places) {
  for (int32_t i = 0; i < part->fetch_count; ++i) {
    HR_TRY(find_endpoint(p->signature.fetches, p->signature.fetch_count, part->fetches[i], "fetch", &places[i]));
    const char* name = part->fetches[i].node->name.data;
    if (p->fetched[places[i]])
      return HR_ERROR(INVALID_ARGUMENT, "'%s:%d' has already been fetched.", name, part->fetches[i].index);
    if (!hr_partial_can_fetch(p->partial, places[i]))
      return HR_ERROR(INVALID_ARGUMENT, "'%s:%d' cannot be fetched yet: it depends on feeds that have not been given", name,
                      part->fetches[i].index);
  }
  return NULL;
}

static hr_status_t fetch_part(hr_partial_run_t* p, const hr_run_t* part, const int32_t* places, hr_tensor_t* out_fetches) {
  hr_status_t status = NULL;
  int32_t done = 0;
  while (done < part->fetch_count && !(status = hr_partial_fetch(p->partial, places[done], &out_fetches[done]))) ++done;
  for (int32_t i = 0; i < done; ++i) {
    if (status) hr_tensor_release(&out_fetches[i]);
    else p->fetched[places[i]] = true;
  }
  if (!status) p->left -= part->feed_count + part->fetch_count;
  return status;
}

static hr_status_t run_part(hr_partial_run_t* p, const hr_run_t* part, int32_t* places, hr_tensor_t* out_fetches) {
  if (p->left == 0) return HR_ERROR(INVALID_ARGUMENT, "the partial run is complete: all its feeds were given and all its fetches taken");
  HR_TRY(check_part_feeds(p, part, places));
  for (int32_t i = 0; i < part->feed_count; ++i) HR_TRY(hr_partial_feed(p->partial, places[i], &part->feed_values[i]));
  HR_TRY(check_part_fetches(p, part, places));
  hr_session_t* s = p->session;
  hr_step_t step = {.id = p->step_id, .cancel = &s->cancel, .locals = &p->locals, .resources = s->resources,
                    .threads = hr_pool_lease(hr_session_threads(s)), .caller = hr_callee_table_caller(s->callees)};
  hr_status_t status = hr_partial_run(p->partial, &step);
  hr_pool_return(step.threads);
  return status ? status : fetch_part(p, part, places, out_fetches);
}

static hr_status_t step_remote(hr_partial_run_t* p, const hr_run_t* part, hr_tensor_t* out_fetches) {
  hr_remote_session_t* r = p->session->remote;
  const hr_signature_t key = hr_signature_of(part);
  HR_TRY(hr_session_enter(p->session));
  hr_status_t status = hr_signature_check_ends(&key, p->session->graph);
  if (!status) status = r->table->partial_step(r, p->remote, part, out_fetches);
  hr_session_leave(p->session);
  return status;
}

hr_status_t hr_partial_run_step(hr_partial_run_t* p, const hr_run_t* part, hr_tensor_t* out_fetches) {
  if (p->remote) return step_remote(p, part, out_fetches);
  size_t widest = (size_t)(part->feed_count > part->fetch_count ? part->feed_count : part->fetch_count);
  int32_t* places = hr_alloc_array(widest + 1, sizeof *places);
  if (!places) return hr_status_out_of_memory();
  hr_status_t status = hr_session_enter(p->session);
  if (!status) {
    hr_mutex_lock(&p->mu);
    status = run_part(p, part, places, out_fetches);
    hr_mutex_unlock(&p->mu);
    hr_session_leave(p->session);
  }
  hr_free(places);
  return status;
}
