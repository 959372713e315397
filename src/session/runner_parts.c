/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of several parts. A step has a cancellation of its own, which follows the caller's: the first part to fail starts it with its
 * reason, and it aborts the rendezvous, so that whoever waits there for a value that will not come ends too. */
#include "session/runner_parts.h"
#include "base/errand.h"
#include "rt/rendezvous.h"

/* --- plans ---------------------------------------------------------------------------------------------------------------------------- */

static int32_t part_of_value(const hr_local_runner_t* l, hr_value_t v) { /* what is fed but not read counts as the first part's */
  const int32_t part = l->base.partition.part_of[v.node->id];
  return part < 0 ? 0 : part;
}

static hr_status_t make_part(hr_local_runner_t* l, int32_t index, hr_value_t* endpoints, const hr_device_t* device,
                             hr_state_table_t* states, hr_resources_t* resources) {
  const hr_program_t* p = &l->base.program;
  const hr_part_t* from = &l->base.partition.parts[index];
  hr_runner_part_t* part = &l->parts[index];
  hr_value_t* fetches = endpoints + p->feed_count;
  int32_t fetch_count = 0;
  part->feeds = hr_alloc_array((size_t)p->feed_count + 1, sizeof *part->feeds);
  if (!part->feeds) return hr_status_out_of_memory();
  for (int32_t i = 0; i < p->feed_count; ++i) {
    if (part_of_value(l, p->feeds[i]) != index) continue;
    endpoints[part->feed_count] = p->feeds[i];
    part->feeds[part->feed_count++] = i;
  }
  for (int32_t i = 0; i < p->fetch_count; ++i) {
    if (part_of_value(l, p->fetches[i]) != index) continue;
    l->fetch_part[i] = index;
    l->fetch_place[i] = fetch_count;
    fetches[fetch_count++] = p->fetches[i];
  }
  const hr_plan_desc_t d = {.nodes = from->nodes, .node_count = from->node_count, .feeds = endpoints, .feed_count = part->feed_count,
                            .fetches = fetches, .fetch_count = fetch_count, .states = states, .resources = resources,
                            .device = device};
  return hr_plan_create(&d, &part->plan);
}

hr_status_t hr_runner_parts_create(hr_local_runner_t* l, const hr_device_set_t* devices, hr_state_table_t* states,
                                   hr_resources_t* resources) {
  const hr_program_t* p = &l->base.program;
  const int32_t count = l->base.partition.count;
  l->parts = hr_alloc_array((size_t)count, sizeof *l->parts);
  l->fetch_part = hr_alloc_array(2 * (size_t)p->fetch_count + 1, sizeof *l->fetch_part);
  hr_value_t* endpoints = hr_alloc_array((size_t)p->feed_count + (size_t)p->fetch_count + 1, sizeof *endpoints);
  hr_status_t status = l->parts && l->fetch_part && endpoints ? NULL : hr_status_out_of_memory();
  if (!status) l->fetch_place = l->fetch_part + p->fetch_count;
  for (int32_t i = 0; i < count && !status; ++i) {
    const hr_device_t* device = devices->devices[l->base.partition.parts[i].device];
    l->parts[i].device = device->name;
    status = make_part(l, i, endpoints, device, states, resources);
  }
  hr_free(endpoints);
  return status;
}

void hr_runner_parts_destroy(hr_local_runner_t* l) {
  for (int32_t i = 0; l->parts && i < l->base.partition.count; ++i) {
    hr_plan_destroy(l->parts[i].plan);
    hr_free(l->parts[i].feeds);
  }
  hr_free(l->parts);
  hr_free(l->fetch_part);
}

/* --- bindings ------------------------------------------------------------------------------------------------------------------------- */

typedef struct {
  int32_t *feed_from, *fetch_of, *outs; /* of one part */
} part_order_t;

static hr_status_t bind_part(const hr_local_runner_t* l, int32_t index, const int32_t* feed_from, const int32_t* fetch_of,
                             int32_t fetch_count, const part_order_t* o, hr_plan_binding_t* out) {
  const hr_runner_part_t* part = &l->parts[index];
  int32_t count = 0;
  for (int32_t i = 0; i < part->feed_count; ++i) o->feed_from[i] = feed_from ? feed_from[part->feeds[i]] : part->feeds[i];
  for (int32_t j = 0; j < fetch_count; ++j) {
    const int32_t fetch = fetch_of ? fetch_of[j] : j;
    if (l->fetch_part[fetch] != index) continue;
    o->fetch_of[count] = l->fetch_place[fetch];
    o->outs[count++] = j;
  }
  HR_TRY(hr_plan_bind(part->plan, o->feed_from, o->fetch_of, count, out));
  for (int32_t i = 0; i < out->fetch_count; ++i) out->fetches[i].out = o->outs[out->fetches[i].out];
  return NULL;
}

hr_status_t hr_runner_parts_bind(const hr_local_runner_t* l, const int32_t* feed_from, const int32_t* fetch_of, int32_t fetch_count,
                                 hr_runner_binding_t* out) {
  const size_t feeds = (size_t)l->base.program.feed_count, fetches = (size_t)fetch_count;
  int32_t* room = hr_alloc_array(feeds + 2 * fetches + 1, sizeof *room);
  if (!room) return hr_status_out_of_memory();
  const part_order_t o = {room, room + feeds, room + feeds + fetches};
  hr_status_t status = NULL;
  for (int32_t i = 0; i < l->base.partition.count && !status; ++i)
    status = bind_part(l, i, feed_from, fetch_of, fetch_count, &o, &out->parts[i]);
  hr_free(room);
  return status;
}

/* --- steps ---------------------------------------------------------------------------------------------------------------------------- */

typedef struct parts_step parts_step_t;
typedef struct {
  hr_errand_t errand;
  parts_step_t* all;
  hr_step_t step;
  int32_t index;
  bool has_fetches; /* it ended well: its fetches are set */
} part_step_t;

struct parts_step {
  const hr_local_runner_t* runner;
  const hr_runner_binding_t* binding;
  const hr_tensor_t* feeds;
  hr_tensor_t* out_fetches;
  hr_cancel_t cancel;
  hr_cancel_link_t caller;
  hr_cancel_entry_t own_entry;
  hr_rendezvous_t* rendezvous; /* one reference */
  hr_mutex_t mu;
  hr_cond_t all_ended;
  int32_t running;        /* guarded by mu, like what follows */
  hr_status_t failure;    /* the first; one reference */
  part_step_t parts[];
};

static void abort_rendezvous(void* arg) {
  parts_step_t* s = arg;
  hr_rendezvous_abort(s->rendezvous, hr_cancel_why(&s->cancel));
}

static void fail_step(parts_step_t* s, hr_status_t take_status) {
  hr_mutex_lock(&s->mu);
  const bool first = !s->failure;
  if (first) s->failure = hr_status_retain(take_status);
  hr_mutex_unlock(&s->mu);
  if (first) hr_cancel_start(&s->cancel, take_status);
  else hr_status_release(take_status);
}

static void end_part(parts_step_t* s) {
  hr_mutex_lock(&s->mu);
  if (--s->running == 0) hr_cond_wake_all(&s->all_ended);
  hr_mutex_unlock(&s->mu);
}

static void run_part(part_step_t* p) {
  parts_step_t* s = p->all;
  hr_plan_t* plan = s->runner->parts[p->index].plan;
  hr_status_t status = s->binding ? hr_plan_run_bound(plan, &s->binding->parts[p->index], &p->step, s->feeds, s->out_fetches)
                                  : hr_plan_run(plan, &p->step, s->feeds, s->out_fetches);
  p->has_fetches = !status;
  if (status) fail_step(s, status);
}

static void run_errand(hr_errand_t* e) {
  part_step_t* p = (part_step_t*)e;
  run_part(p);
  end_part(p->all); /* p may be gone */
}

static hr_observer_t* observer_of(hr_observer_t* o, const char* device) { return o && o->part ? o->part(o, device) : o; }

static void prepare_part(parts_step_t* s, int32_t index, const hr_step_t* step) {
  part_step_t* p = &s->parts[index];
  const int32_t count = s->runner->base.partition.count;
  *p = (part_step_t){.errand.run = run_errand, .all = s, .index = index, .step = *step};
  p->step.cancel = &s->cancel;
  p->step.rendezvous = s->rendezvous;
  p->step.threads = step->threads > count ? step->threads / count : 1;
  p->step.observer = observer_of(step->observer, s->runner->parts[index].device);
  p->step.waits = NULL;
}

/* The caller's thread runs the first part; an errand that no thread can be had for fails the step, since its part would be waited for. */
static void run_all(parts_step_t* s) {
  const int32_t count = s->runner->base.partition.count;
  for (int32_t i = 1; i < count; ++i) {
    hr_mutex_lock(&s->mu);
    ++s->running;
    hr_mutex_unlock(&s->mu);
    hr_status_t status = hr_errand_start(&s->parts[i].errand);
    if (!status) continue;
    fail_step(s, status);
    end_part(s);
    break;
  }
  run_part(&s->parts[0]);
  hr_mutex_lock(&s->mu);
  while (s->running > 0) hr_cond_wait(&s->all_ended, &s->mu);
  hr_mutex_unlock(&s->mu);
}

static void release_fetches(parts_step_t* s) {
  for (int32_t i = 0; s->binding && i < s->binding->part_count; ++i)
    for (int32_t j = 0; s->parts[i].has_fetches && j < s->binding->parts[i].fetch_count; ++j)
      hr_tensor_release(&s->out_fetches[s->binding->parts[i].fetches[j].out]);
}

static hr_status_t start_step(parts_step_t* s, const hr_step_t* step) {
  if (step->rendezvous) s->rendezvous = hr_rendezvous_retain(step->rendezvous);
  else HR_TRY(hr_rendezvous_create(NULL, &s->rendezvous));
  hr_mutex_init(&s->mu);
  hr_cond_init(&s->all_ended);
  hr_cancel_init(&s->cancel);
  s->own_entry = (hr_cancel_entry_t){.callback = abort_rendezvous, .arg = s};
  hr_cancel_register(&s->cancel, &s->own_entry);
  hr_cancel_link(&s->caller, step->cancel, &s->cancel);
  return NULL;
}

static hr_status_t end_step(parts_step_t* s) {
  hr_cancel_unlink(&s->caller);
  hr_cancel_deregister(&s->cancel, &s->own_entry);
  hr_status_t status = s->failure;
  if (status) release_fetches(s);
  hr_cancel_deinit(&s->cancel);
  hr_cond_deinit(&s->all_ended);
  hr_mutex_deinit(&s->mu);
  hr_rendezvous_release(s->rendezvous);
  return status;
}

hr_status_t hr_runner_parts_run(hr_local_runner_t* l, const hr_runner_binding_t* b, hr_step_t* step, const hr_tensor_t* feeds,
                                hr_tensor_t* out_fetches) {
  const int32_t count = l->base.partition.count;
  parts_step_t* s = hr_alloc_zero(sizeof *s + (size_t)count * sizeof s->parts[0]);
  if (!s) return hr_status_out_of_memory();
  s->runner = l, s->binding = b, s->feeds = feeds, s->out_fetches = out_fetches;
  hr_status_t status = start_step(s, step);
  if (!status) {
    for (int32_t i = 0; i < count; ++i) prepare_part(s, i, step);
    run_all(s);
    status = end_step(s);
  }
  hr_free(s);
  return status;
}
