/* SPDX-License-Identifier: Apache-2.0 */
/* Running a region. Each lane tells how many of its sites it has run, where somebody waits for that, and others wait for such a count.
 *
 * A failure is told by its site: lanes stop before sites that come after it in the plan's order and run those that come before, so the
 * first failure in order is found whatever the threads do. A lane that stops says that it has run all there is, which wakes everybody; who
 * wakes looks at the failure before it reads anything. */
#include "base/clock.h"
#include "base/wait.h"
#include "exec/lanes.h"

typedef struct {
  hr_progress_t progress;
  hr_status_t status; /* its failure */
  int64_t failed_at;  /* the site */
} lane_t;

typedef struct {
  const hr_plan_t* plan;
  const hr_region_t* region;
  const hr_kernel_ctx_t* ctx;
  atomic_llong stop; /* sites from here on are not run: the first failure's */
  lane_t lanes[HR_LANES_MOST];
} lanes_run_t;

static void share_slots(hr_slot_t* slots, const hr_lane_share_t* s, int32_t count) {
  for (int32_t i = 0; i < count; ++i) hr_tensor_share(&slots[s[i].from].value, &slots[s[i].to].value);
}

static hr_status_t run_site(hr_kernel_ctx_t* k, const hr_plan_site_t* s, const hr_lane_site_t* in_lane) {
  hr_observer_t* observer = k->step->observer;
  const int64_t start = observer ? hr_clock_now_ns() : 0;
  k->site = &s->site;
  hr_status_t status = s->site.compute(k);
  if (observer) observer->node_done(observer, &s->site, k->slots, start, hr_clock_now_ns(), status);
  if (status) return hr_step_failure(k->step, &s->site, status);
  share_slots(k->slots, in_lane->shares, in_lane->share_count);
  return NULL;
}

static void drop_slots(const hr_kernel_ctx_t* k, const hr_plan_site_t* s) {
  for (int32_t i = 0; i < s->drop_count; ++i) hr_tensor_release(&k->slots[s->drops[i]].value);
}

/* --- one lane ------------------------------------------------------------------------------------------------------------------------- */

static void lane_fail(lanes_run_t* r, lane_t* lane, int64_t site, hr_status_t take_status) {
  long long stop = atomic_load(&r->stop);
  lane->status = take_status;
  lane->failed_at = site;
  while (site < stop && !atomic_compare_exchange_weak(&r->stop, &stop, site)) continue;
}

/* False when the lane has ended. */
static bool lane_step(lanes_run_t* r, lane_t* lane, hr_kernel_ctx_t* k, int32_t turn, int32_t index) {
  const hr_lane_site_t* in_lane = &r->region->sites[index];
  const int64_t site = r->region->begin + index;
  for (int32_t w = 0; w < in_lane->wait_count; ++w)
    hr_wait_for(&r->lanes[in_lane->waits[w].lane].progress, (unsigned)in_lane->waits[w].count);
  if (site > atomic_load_explicit(&r->stop, memory_order_acquire)) return false;
  hr_status_t status = turn % HR_PLAN_CHECK_EVERY == 0 && hr_cancel_is_set(k->step->cancel) ? hr_cancel_why(k->step->cancel) : NULL;
  if (!status) status = run_site(k, &r->plan->sites[site], in_lane);
  if (__builtin_expect(status != NULL, 0)) {
    lane_fail(r, lane, site, status);
    return false;
  }
  if (in_lane->awaited) hr_wait_tell(&lane->progress, (unsigned)turn + 1);
  drop_slots(k, &r->plan->sites[site]);
  return true;
}

static void lane_main(void* arg, int number) {
  lanes_run_t* r = arg;
  lane_t* lane = &r->lanes[number];
  hr_kernel_ctx_t k = *r->ctx;
  k.threads = r->plan->lanes->threads;
  k.spare = r->ctx->spare + number;
  const int32_t *list = r->region->lists[number], count = r->region->counts[number];
  for (int32_t i = 0; i < count && lane_step(r, lane, &k, i, list[i]); ++i) continue;
  hr_wait_tell(&lane->progress, UINT32_MAX);
}

/* --- all of them ---------------------------------------------------------------------------------------------------------------------- */

static hr_status_t first_failure(lanes_run_t* r) {
  hr_status_t first = NULL;
  for (int32_t i = 0; i < r->plan->lanes->lanes; ++i) {
    lane_t* lane = &r->lanes[i];
    if (lane->status && lane->failed_at == r->stop) first = lane->status;
    else hr_status_release(lane->status);
  }
  return first;
}

static hr_status_t run_in_turn(const hr_plan_t* p, const hr_region_t* region, hr_kernel_ctx_t* k) {
  hr_slot_t* spare = k->spare;
  hr_status_t status = NULL;
  for (int64_t i = region->begin; i < region->end && !status; ++i) {
    const hr_lane_site_t* in_lane = &region->sites[i - region->begin];
    if ((i - region->begin) % HR_PLAN_CHECK_EVERY == 0 && hr_cancel_is_set(k->step->cancel)) status = hr_cancel_why(k->step->cancel);
    k->spare = spare + in_lane->lane;
    if (!status) status = run_site(k, &p->sites[i], in_lane);
    if (!status) drop_slots(k, &p->sites[i]);
  }
  k->spare = spare;
  return status;
}

static bool batch_is_large(const hr_plan_t* p, const hr_region_t* region, const hr_slot_t* slots) {
  if (!region->least_batch || p->lanes->batch_feed < 0) return true;
  const hr_tensor_t* t = &slots[p->lanes->batch_feed].value;
  return t->shape.rank > 0 && t->shape.dims[0] >= region->least_batch;
}

hr_status_t hr_lanes_run(const hr_plan_t* p, const hr_region_t* region, hr_kernel_ctx_t* k) {
  const struct hr_lanes* l = p->lanes;
  const int cores = k->step->cores ? k->step->cores : k->step->threads;
  share_slots(k->slots, region->entry, region->entry_count);
  if (cores < l->lanes * l->threads || !batch_is_large(p, region, k->slots)) return run_in_turn(p, region, k);
  lanes_run_t r = {.plan = p, .region = region, .ctx = k, .stop = INT64_MAX};
  if (!hr_pool_fork(l->lanes, lane_main, &r)) return run_in_turn(p, region, k);
  return first_failure(&r);
}
