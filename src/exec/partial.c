/* SPDX-License-Identifier: Apache-2.0 */
/* Incremental runs: a frame held over several calls, and a bit for each feed that has come and each site that has run. On the general path
 * the arrival of a feed makes its site ready, and what is open stays open from call to call. */
#include "exec/partial.h"
#include "base/alloc.h"
#include "exec/flow.h"
#include "exec/plan_state.h"

struct hr_partial {
  hr_plan_t* plan;
  hr_frame_t* frame;
  uint64_t* fed;     /* bits by feed */
  bool* done;        /* by site */
  hr_status_t failed; /* the first failure; one reference */
};

hr_status_t hr_partial_create(hr_plan_t* p, hr_partial_t** out) {
  hr_partial_t* r = hr_alloc_zero(sizeof *r);
  if (!r) return hr_status_out_of_memory();
  r->plan = p;
  r->fed = hr_alloc_array((size_t)p->need_words + 1, sizeof *r->fed);
  r->done = hr_alloc_array((size_t)p->site_count + 1, sizeof *r->done);
  r->frame = hr_plan_lease_frame(p);
  if (r->fed && r->done && r->frame) {
    if (p->flow) hr_flow_reset((hr_flow_run_t*)r->frame);
    if (p->flow) hr_flow_activate_roots((hr_flow_run_t*)r->frame);
    *out = r;
    return NULL;
  }
  hr_partial_destroy(r);
  return hr_status_out_of_memory();
}

void hr_partial_destroy(hr_partial_t* r) {
  if (!r) return;
  if (r->frame) {
    if (r->plan->flow) hr_flow_clear((hr_flow_run_t*)r->frame);
    for (int32_t i = 0; r->fed && i < r->plan->feed_count; ++i)
      if (hr_partial_is_fed(r, i)) hr_tensor_release(&r->frame->slots[i].value);
    hr_frame_sweep(r->plan, r->frame);
    hr_plan_return_frame(r->plan, r->frame);
  }
  hr_status_release(r->failed);
  hr_free(r->fed);
  hr_free(r->done);
  hr_free(r);
}

bool hr_partial_is_fed(const hr_partial_t* r, int32_t feed) { return r->fed[feed / 64] >> (feed % 64) & 1; }

static bool needs_are_met(const hr_partial_t* r, const uint64_t* needs) {
  for (int32_t i = 0; i < r->plan->need_words; ++i)
    if (needs[i] & ~r->fed[i]) return false;
  return true;
}

bool hr_partial_can_fetch(const hr_partial_t* r, int32_t fetch) {
  return needs_are_met(r, r->plan->fetch_needs + (size_t)fetch * (size_t)r->plan->need_words);
}

hr_status_t hr_partial_feed(hr_partial_t* r, int32_t feed, const hr_tensor_t* value) {
  if (hr_partial_is_fed(r, feed)) return HR_ERROR(INVALID_ARGUMENT, "feed %d has been given before in this partial run", feed);
  hr_tensor_t* slot = &r->frame->slots[feed].value;
  if (value->buffer && value->buffer->read_only) HR_TRY(hr_tensor_clone(value, slot));
  else hr_tensor_share(value, slot);
  r->fed[feed / 64] |= UINT64_C(1) << (feed % 64);
  if (r->plan->flow) hr_flow_activate_feed((hr_flow_run_t*)r->frame, feed);
  return NULL;
}

static hr_status_t run_site(hr_partial_t* r, hr_kernel_ctx_t* k, const hr_plan_site_t* s) {
  k->site = &s->site;
  hr_status_t status = hr_cancel_is_set(k->step->cancel) ? hr_cancel_why(k->step->cancel) : s->site.compute(k);
  for (int32_t i = 0; i < s->drop_count; ++i) hr_tensor_release(&k->slots[s->drops[i]].value);
  if (!status) return NULL;
  r->failed = hr_step_failure(k->step, &s->site, status);
  return hr_status_retain(r->failed);
}

hr_status_t hr_partial_run(hr_partial_t* r, hr_step_t* step) {
  if (r->failed) return hr_status_note(hr_status_retain(r->failed), "the partial run failed before: ");
  hr_plan_t* p = r->plan;
  if (p->flow) {
    r->failed = hr_flow_resume(p, r->frame, step);
    return hr_step_finish(step, hr_status_retain(r->failed));
  }
  hr_kernel_ctx_t k = {.slots = r->frame->slots, .step = step, .threads = step->threads, .spare = &r->frame->slots[p->spare]};
  for (int64_t i = 0; i < p->site_count; ++i) {
    if (r->done[i] || !needs_are_met(r, p->site_needs + (size_t)i * (size_t)p->need_words)) continue;
    hr_status_t status = run_site(r, &k, &p->sites[i]);
    if (status) return hr_step_finish(step, status);
    r->done[i] = true;
  }
  return hr_step_finish(step, NULL);
}

hr_status_t hr_partial_fetch(const hr_partial_t* r, int32_t fetch, hr_tensor_t* out) {
  const hr_tensor_t* value = &r->frame->slots[r->plan->fetch_slots[fetch]].value;
  if (hr_partial_can_fetch(r, fetch) && !value->buffer && r->plan->flow)
    return HR_ERROR(INVALID_ARGUMENT, "Retval[%d] does not have value: it is of a branch that was not taken", fetch);
  if (!hr_partial_can_fetch(r, fetch) || !value->buffer) return HR_ERROR(INTERNAL, "fetch %d has no value yet", fetch);
  return hr_tensor_clone(value, out);
}
