/* SPDX-License-Identifier: Apache-2.0 */
/* One step: the straight loop over a plan's sites, in the caller's thread; plans with control flow go to flow_run.c. Two loops, one with an
 * observer and one without, so that nobody pays for watching. */
#include "base/clock.h"
#include "exec/flow.h"
#include "exec/lanes.h"
#include "exec/plan_state.h"
#include "rt/rendezvous.h"
#include "rt/step_locals.h"

hr_status_t hr_step_failure(hr_step_t* step, const hr_site_t* site, hr_status_t take_status) {
  if (hr_status_code(take_status) == HR_CANCELLED && hr_cancel_is_set(step->cancel)) {
    hr_status_release(take_status);
    return hr_cancel_why(step->cancel);
  }
  return hr_status_note(take_status, "node '%s' (%s): ", site->node_name, site->op_name);
}

static inline void drop_values(const hr_plan_site_t* s, hr_slot_t* slots) {
  for (const int32_t *d = s->drops, *end = d + s->drop_count; d < end; ++d) hr_tensor_release(&slots[*d].value);
}

static hr_status_t run_stretch(const hr_plan_site_t* s, const hr_plan_site_t* end, hr_kernel_ctx_t* k) {
  for (; s < end; ++s) {
    k->site = &s->site;
    hr_status_t status = s->site.compute(k);
    if (__builtin_expect(status != NULL, 0)) return hr_step_failure(k->step, &s->site, status);
    drop_values(s, k->slots);
  }
  return NULL;
}

static hr_status_t run_stretch_watched(const hr_plan_site_t* s, const hr_plan_site_t* end, hr_kernel_ctx_t* k) {
  hr_observer_t* observer = k->step->observer;
  for (; s < end; ++s) {
    k->site = &s->site;
    int64_t start = hr_clock_now_ns();
    hr_status_t status = s->site.compute(k);
    observer->node_done(observer, &s->site, k->slots, start, hr_clock_now_ns(), status);
    if (status) return hr_step_failure(k->step, &s->site, status);
    drop_values(s, k->slots);
  }
  return NULL;
}

/* Compiled twice, since most plans have no region of lanes. */
static inline __attribute__((always_inline)) hr_status_t run_segments(const hr_plan_t* p, hr_kernel_ctx_t* k, const hr_region_t* region) {
  const hr_region_t* regions_end = region ? region + p->lanes->region_count : NULL;
  const hr_plan_site_t* s = p->sites;
  for (int64_t i = 0; i < p->segment_count; ++i) {
    const hr_plan_site_t* end = p->sites + p->segments[i];
    if (hr_cancel_is_set(k->step->cancel)) return hr_cancel_why(k->step->cancel);
    hr_status_t status;
    if (region && region < regions_end && s == p->sites + region->begin) status = hr_lanes_run(p, region++, k);
    else status = k->step->observer ? run_stretch_watched(s, end, k) : run_stretch(s, end, k);
    if (status) return status;
    s = end;
  }
  return NULL;
}

static hr_status_t run_sites(const hr_plan_t* p, hr_kernel_ctx_t* k) {
  return p->lanes ? run_segments(p, k, p->lanes->regions) : run_segments(p, k, NULL);
}

/* On the general path a value may be dead; on the straight one a kernel forgot it. */
static __attribute__((noinline, cold)) hr_status_t no_value(const hr_plan_t* p, int32_t fetch) {
  if (p->flow) return HR_ERROR(INVALID_ARGUMENT, "Retval[%d] does not have value: it is of a branch that was not taken", fetch);
  return HR_ERROR(INTERNAL, "fetch %d has no value: its kernel set none", fetch);
}

static hr_status_t step_fetch(const hr_plan_t* p, const hr_plan_binding_t* b, hr_slot_t* slots, hr_tensor_t* out_fetches) {
  hr_status_t status = NULL;
  int32_t done = 0;
  for (; done < b->fetch_count && !status; ++done) {
    const struct hr_plan_fetch* f = &b->fetches[done];
    hr_tensor_t* value = &slots[f->slot].value;
    hr_tensor_t* out = &out_fetches[f->out];
    out->buffer = NULL;
    if (f->move && hr_buffer_is_alone(value->buffer)) {
      hr_tensor_move(value, out);
    } else if (!value->buffer) {
      status = no_value(p, f->out);
    } else {
      status = hr_tensor_clone(value, out);
      if (f->move) hr_tensor_release(value);
    }
  }
  for (int32_t i = 0; status && i < done; ++i) hr_tensor_release(&out_fetches[b->fetches[i].out]);
  return status;
}

static hr_status_t run_frame(hr_plan_t* p, hr_frame_t* frame, hr_step_t* step) {
  if (__builtin_expect(p->flow != NULL, 0)) return hr_step_finish(step, hr_flow_run(p, frame, step));
  hr_kernel_ctx_t k = {.slots = frame->slots, .step = step, .threads = step->threads, .spare = &frame->slots[p->spare]};
  hr_status_t status = hr_step_finish(step, run_sites(p, &k));
  if (__builtin_expect(status != NULL, 0) && step->rendezvous) hr_rendezvous_abort(step->rendezvous, hr_status_retain(status));
  return status;
}

hr_status_t hr_plan_run_bound(hr_plan_t* p, const hr_plan_binding_t* b, hr_step_t* step, const hr_tensor_t* feeds,
                              hr_tensor_t* out_fetches) {
  hr_frame_t* frame = hr_plan_lease_frame(p);
  if (!frame) return hr_status_out_of_memory();
  hr_slot_t* slots = frame->slots;
  for (int32_t i = 0; i < p->feed_count; ++i) hr_tensor_lend(&feeds[b->feed_from[i]], &slots[i].value);
  hr_step_locals_t locals, *given = step->locals;
  if (!given) {
    hr_step_locals_init(&locals);
    step->locals = &locals;
  }
  hr_status_t status = run_frame(p, frame, step);
  if (!status) status = step_fetch(p, b, slots, out_fetches);
  if (status || p->flow) hr_frame_sweep(p, frame);
  hr_plan_return_frame(p, frame);
  step->locals = given;
  if (!given) hr_step_locals_deinit(&locals);
  return status;
}

hr_status_t hr_plan_run(hr_plan_t* p, hr_step_t* step, const hr_tensor_t* feeds, hr_tensor_t* out_fetches) {
  return hr_plan_run_bound(p, &p->own, step, feeds, out_fetches);
}
