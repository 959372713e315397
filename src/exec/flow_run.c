/* SPDX-License-Identifier: Apache-2.0 */
/* One step on the general path: takes ready sites one by one in the order in which they became ready, does what running each means, and
 * lets activate.c say who is next. The step ends when nothing is ready and nothing runs elsewhere, so no graph can make it wait for ever;
 * a loop that is still open then can never end, and that is said. */
#include "base/clock.h"
#include "exec/flow.h"
#include "rt/rendezvous.h"

/* --- failure ------------------------------------------------------------------------------------------------------------------------ */

void hr_flow_fail(hr_flow_run_t* r, const hr_site_t* site, hr_status_t take_status) {
  hr_status_t status = site ? hr_step_failure(r->step, site, take_status) : take_status;
  if (r->status) {
    hr_status_release(status);
    return;
  }
  r->status = status;
  if (r->calls) hr_flow_calls_cancel(r, hr_status_retain(status));
  if (r->step->rendezvous) hr_rendezvous_abort(r->step->rendezvous, hr_status_retain(status));
}

/* --- kernels ------------------------------------------------------------------------------------------------------------------------ */

static hr_status_t read_references(hr_flow_block_t* b, const hr_flow_read_t* reads, int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    hr_variable_t* v = b->slots[reads[i].ref].ref;
    hr_slot_t* out = &b->slots[reads[i].value];
    if (!v) return HR_ERROR(INTERNAL, "a reference was not set by its producer");
    out->ref = NULL;
    hr_tensor_release(&out->value);
    HR_TRY(hr_variable_read(v, &out->value));
  }
  return NULL;
}

static hr_status_t check_outputs(const hr_flow_block_t* b, const hr_flow_site_t* s) {
  for (int32_t i = 0; i < s->wanted_count; ++i)
    if (!b->slots[s->site->out[hr_flow_wanted(s)[i]]].value.buffer)
      return HR_ERROR(INTERNAL, "the kernel did not set output %d", hr_flow_wanted(s)[i]);
  return NULL;
}

static __attribute__((noinline)) void tell_observer(hr_flow_run_t* r, const hr_flow_block_t* b, const hr_flow_site_t* s, int64_t start_ns,
                                                    int64_t end_ns, hr_status_t status) {
  hr_observer_t* observer = r->step->observer;
  observer->node_done(observer, s->rare->told ? s->rare->told : s->site, b->slots, start_ns, end_ns, status);
}

void hr_flow_finish(hr_flow_run_t* r, hr_flow_block_t* b, const hr_flow_site_t* s, hr_kernel_ctx_t* k, bool dead, hr_status_t take_status,
                    int64_t start_ns, int64_t end_ns) {
  hr_status_t status = take_status;
  if (s->uses_spare) hr_tensor_release(&k->spare->value);
  if (__builtin_expect(r->step->observer != NULL, 0)) tell_observer(r, b, s, start_ns, end_ns, status);
  const bool unset = dead || (s->may_be_unset && k->is_dead);
  if (!status && !unset && s->wanted_count) status = check_outputs(b, s);
  if (!status && s->rare->fetch_count && !unset) status = read_references(b, s->rare->fetches, s->rare->fetch_count);
  if (__builtin_expect(status != NULL, 0)) {
    hr_flow_fail(r, s->site, status);
    return;
  }
  if (r->status) return;
  if (__builtin_expect(dead, 0)) hr_flow_died(r, b, s);
  else if (__builtin_expect(unset, 0)) hr_flow_ran_partly(r, b, s, -1);
  else hr_flow_ran(r, b, s);
}

/* Values of this many elements are worth a look at whether they may be taken over. */
enum { TAKE_LEAST = 256 };

/* The site to show to the kernel: one whose last reads of shared values are marked as such. */
static const hr_site_t* site_to_run(hr_flow_run_t* r, const hr_flow_block_t* b, const hr_flow_site_t* s) {
  const hr_flow_use_t* uses = hr_flow_uses(s);
  const int32_t* in_use = hr_flow_in_use(s);
  bool any = false;
  for (int32_t i = 0; i < s->use_count && !any; ++i)
    any = b->uses[uses[i].use] == 1 && b->slots[uses[i].slot].value.count >= TAKE_LEAST;
  if (!any) return s->site;
  for (int32_t i = 0; i < s->site->in_count; ++i)
    r->last_flags[i] = in_use[i] >= 0 && b->uses[in_use[i]] == 1 ? HR_IN_TAKE | HR_IN_RELEASE : s->site->in_flags[i];
  r->last_reader = *s->site;
  r->last_reader.in_flags = r->last_flags;
  return &r->last_reader;
}

static inline void run_kernel(hr_flow_run_t* r, hr_flow_block_t* b, const hr_flow_site_t* s, hr_kernel_ctx_t* k, bool dead) {
  const bool watched = r->step->observer != NULL;
  k->site = s->use_count > 0 ? site_to_run(r, b, s) : s->site;
  k->slots = b->slots;
  k->frame_id = b->loop->frame_id;
  k->iteration = b->iteration;
  k->is_dead = dead;
  const int64_t start_ns = watched ? hr_clock_now_ns() : 0;
  hr_status_t status = s->site->compute(k);
  hr_flow_finish(r, b, s, k, dead, status, start_ns, watched ? hr_clock_now_ns() : 0);
}

/* --- control flow ------------------------------------------------------------------------------------------------------------------- */

static inline void tell_control(hr_flow_run_t* r, const hr_flow_block_t* b, const hr_flow_site_t* s, hr_status_t status) {
  if (__builtin_expect(r->step->observer == NULL, 1)) return;
  const int64_t now = hr_clock_now_ns();
  tell_observer(r, b, s, now, now, status);
}

/* Which output of a Switch is alive; -1 with a status. */
static int32_t switch_choice(const hr_flow_block_t* b, const hr_flow_site_t* s, hr_status_t* status) {
  const hr_tensor_t* which = &b->slots[s->site->in[1]].value;
  const int32_t outputs = s->site->out_count;
  if (!which->buffer || which->count != 1 || which->shape.rank != 0) {
    char text[HR_SHAPE_TEXT];
    *status = HR_ERROR(INVALID_ARGUMENT, "input 1 must be a scalar, but has shape %s", hr_shape_format(&which->shape, text));
    return -1;
  }
  if (s->action == HR_FLOW_SWITCH) return *(const bool*)which->data ? 1 : 0;
  const int32_t index = *(const int32_t*)which->data;
  return index < 0 || index >= outputs ? outputs - 1 : index;
}

static void run_switch(hr_flow_run_t* r, hr_flow_block_t* b, const hr_flow_site_t* s) {
  hr_status_t status = NULL;
  const int32_t choice = switch_choice(b, s, &status);
  if (!status && s->site->out[choice] >= 0) hr_flow_hand_over(b, s, 0, &b->slots[s->site->out[choice]]);
  tell_control(r, b, s, status);
  if (status) hr_flow_fail(r, s->site, status);
  else hr_flow_ran_partly(r, b, s, choice);
}

static void run_merge(hr_flow_run_t* r, hr_flow_block_t* b, const hr_flow_site_t* s) {
  const int32_t input = hr_flow_merge_winner(b, s), use = hr_flow_in_use(s)[input];
  hr_status_t status = NULL;
  for (int32_t i = 0; i < s->rare->read_count && !status; ++i) /* only what has come can be read */
    if (s->rare->reads[i].value == s->site->in[input]) status = read_references(b, &s->rare->reads[i], 1);
  if (s->site->out[0] >= 0) hr_flow_hand_over(b, s, input, &b->slots[s->site->out[0]]);
  if (use >= 0 && --b->uses[use] == 0) hr_tensor_release(&b->slots[s->site->in[input]].value);
  if (!status && s->site->out[1] >= 0) status = hr_tensor_from_i32(input, &b->slots[s->site->out[1]].value);
  tell_control(r, b, s, status);
  if (status) hr_flow_fail(r, s->site, status);
  else hr_flow_ran(r, b, s);
}

static void run_constant(hr_flow_run_t* r, hr_flow_block_t* b, const hr_flow_site_t* s) { /* one that can be dead, and is fetched */
  hr_flow_hand_over(b, s, 0, &b->slots[s->site->out[0]]);
  hr_flow_ran(r, b, s);
}

static void run_control(hr_flow_run_t* r, hr_flow_block_t* b, const hr_flow_site_t* s) {
  if (s->action != HR_FLOW_SWITCH && s->action != HR_FLOW_SWITCH_N && s->action != HR_FLOW_MERGE) tell_control(r, b, s, NULL);
  switch (s->action) {
    case HR_FLOW_SWITCH:
    case HR_FLOW_SWITCH_N: run_switch(r, b, s); return;
    case HR_FLOW_MERGE: run_merge(r, b, s); return;
    case HR_FLOW_ENTER: hr_flow_entered(r, b, s, false); return;
    case HR_FLOW_EXIT: hr_flow_exited(r, b, s); return;
    case HR_FLOW_NEXT: hr_flow_went_on(r, b, s); return;
    case HR_FLOW_CONSTANT: run_constant(r, b, s); return;
    default: hr_flow_ran(r, b, s); return;
  }
}

/* --- the loop ----------------------------------------------------------------------------------------------------------------------- */

static void run_ready(hr_flow_run_t* r, hr_kernel_ctx_t* k, const hr_flow_ready_t* e) {
  const hr_flow_site_t* s = &r->flow->sites[e->site];
  hr_flow_block_t* b = e->block;
  const bool dead = e->dead && !s->ignores_dead;
  if (dead && !s->runs_dead) {
    hr_flow_died(r, b, s);
    return;
  }
  if (s->rare->read_count && !dead && s->action != HR_FLOW_MERGE) {
    hr_status_t status = read_references(b, s->rare->reads, s->rare->read_count);
    if (status) {
      hr_flow_fail(r, s->site, status);
      return;
    }
  }
  if (__builtin_expect(s->action == HR_FLOW_COMPUTE, 1)) run_kernel(r, b, s, k, dead);
  else if (s->action == HR_FLOW_START || s->action == HR_FLOW_WAIT) hr_flow_call(r, b, s, dead);
  else run_control(r, b, s);
}

static __attribute__((noinline, cold)) void look_at_cancellation(hr_flow_run_t* r) {
  if (!r->status) hr_flow_fail(r, NULL, hr_cancel_why(r->step->cancel));
}

static void run_all(hr_flow_run_t* r, hr_kernel_ctx_t* k) {
  for (;;) {
    if (hr_cancel_is_set(r->step->cancel)) look_at_cancellation(r);
    if (r->status || r->ready_head == r->ready_tail) {
      if (!r->calls || !hr_flow_calls_take(r, true)) return;
      continue;
    }
    if (r->calls && hr_flow_calls_ended(r)) {
      hr_flow_calls_take(r, false);
      continue;
    }
    const hr_flow_ready_t e = r->ready[r->ready_head++ & r->ready_mask];
    run_ready(r, k, &e);
  }
}

/* With what was asked for at hand, a loop that stays open somewhere does not matter. */
static bool has_all_fetches(const hr_plan_t* p, const hr_frame_t* frame) {
  for (int32_t i = 0; i < p->fetch_count; ++i)
    if (!frame->slots[p->fetch_slots[i]].value.buffer) return false;
  return p->fetch_count > 0;
}

/* A loop that nothing will ever finish: a value that should go on does not come. */
static hr_status_t open_loop_error(const hr_flow_run_t* r) {
  const hr_flow_loop_t* l = r->open;
  return HR_ERROR(INVALID_ARGUMENT,
                  "the loop of frame '%.*s' can never end: in iteration %lld some of its nodes wait for values that nothing gives",
                  HR_STR_ARG(l->info->name), (long long)l->oldest);
}

hr_status_t hr_flow_resume(const hr_plan_t* p, hr_frame_t* frame, hr_step_t* step) {
  hr_flow_run_t* r = (hr_flow_run_t*)frame;
  r->step = r->calls ? hr_flow_calls_begin(r, step) : step;
  hr_kernel_ctx_t k = {.step = r->step, .threads = step->threads, .spare = &frame->slots[p->spare]};
  run_all(r, &k);
  if (r->calls) hr_flow_calls_end(r);
  return r->status;
}

hr_status_t hr_flow_run(hr_plan_t* p, hr_frame_t* frame, hr_step_t* step) {
  hr_flow_run_t* r = (hr_flow_run_t*)frame;
  hr_flow_reset(r);
  hr_flow_activate_roots(r);
  hr_status_t status = hr_flow_resume(p, frame, step);
  if (!status && r->open && !has_all_fetches(p, frame)) status = open_loop_error(r);
  hr_flow_clear(r);
  return status;
}
