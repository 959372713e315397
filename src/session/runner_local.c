/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a program in this process: one plan if all of it lies on one device, which is the common case and the fast one, else a plan for each
 * part (runner_parts.c). */
#include "rt/step_locals.h"
#include "session/runner_parts.h"

static void local_unbind(hr_runner_t* r, hr_runner_binding_t* b) {
  (void)r;
  if (!b) return;
  for (int32_t i = 0; i < b->part_count; ++i) hr_plan_binding_deinit(&b->parts[i]);
  hr_free(b);
}

static hr_status_t local_bind(hr_runner_t* r, const int32_t* feed_from, const int32_t* fetch_of, int32_t fetch_count,
                              hr_runner_binding_t** out) {
  hr_local_runner_t* l = (hr_local_runner_t*)r;
  const int32_t count = hr_runner_part_count(r);
  hr_runner_binding_t* b = hr_alloc_zero(sizeof *b + (size_t)count * sizeof b->parts[0]);
  if (!b) return hr_status_out_of_memory();
  b->part_count = count;
  hr_status_t status = l->parts ? hr_runner_parts_bind(l, feed_from, fetch_of, fetch_count, b)
                                : hr_plan_bind(l->plan, feed_from, fetch_of, fetch_count, &b->parts[0]);
  if (status) local_unbind(r, b);
  else *out = b;
  return status;
}

static hr_status_t run_plan(hr_local_runner_t* l, const hr_runner_binding_t* b, hr_step_t* step, const hr_tensor_t* feeds,
                            hr_tensor_t* out_fetches) {
  if (__builtin_expect(l->parts != NULL, 0)) return hr_runner_parts_run(l, b, step, feeds, out_fetches);
  if (__builtin_expect(step->observer && step->observer->part, 0)) step->observer = step->observer->part(step->observer, l->device);
  if (!b) return hr_plan_run(l->plan, step, feeds, out_fetches);
  return hr_plan_run_bound(l->plan, &b->parts[0], step, feeds, out_fetches);
}

static hr_status_t local_run(hr_runner_t* r, const hr_runner_binding_t* binding, hr_step_t* step, const hr_tensor_t* feeds,
                             hr_tensor_t* out_fetches) {
  hr_local_runner_t* l = (hr_local_runner_t*)r;
  if (step->locals) return run_plan(l, binding, step, feeds, out_fetches);
  hr_step_locals_t own;
  hr_step_locals_init(&own);
  step->locals = &own;
  hr_status_t status = run_plan(l, binding, step, feeds, out_fetches);
  step->locals = NULL;
  hr_step_locals_deinit(&own);
  return status;
}

static void local_destroy(hr_runner_t* r) {
  hr_local_runner_t* l = (hr_local_runner_t*)r;
  hr_runner_parts_destroy(l);
  hr_plan_destroy(l->plan);
  hr_program_deinit(&l->base.program);
  hr_free(l);
}

static const hr_runner_table_t local_table = {local_bind, local_unbind, local_run, local_destroy};

static bool lies_on_one_device(const hr_program_t* p) {
  for (int64_t i = 1; i < p->live_count; ++i)
    if (!hr_place_same(p, p->live[0], p->live[i])) return false;
  return true;
}

/* What is fetched from memory that the host does not read is brought to the client's device first. */
static hr_status_t bring_home(hr_program_t* p, const hr_device_set_t* devices, hr_value_t* io_fetch) {
  const hr_named_attr_t type = hr_at_type("T", (int)hr_dtype_base(hr_value_type(*io_fetch)));
  const hr_node_desc_t d = {.op = HR_STR("Identity"), .name = io_fetch->node->name, .inputs = io_fetch, .input_count = 1, .attrs = &type,
                            .attr_count = 1};
  hr_node_t* home;
  HR_TRY(hr_program_add(p, &d, io_fetch->node, &home));
  home->shapes[0] = hr_value_shape(*io_fetch);
  home->device = hr_str(devices->devices[0]->name);
  p->device_of.data[home->id] = 0;
  p->asked.data[home->id] |= HR_ASKED_FETCH;
  *io_fetch = (hr_value_t){home, 0};
  return NULL;
}

static hr_status_t bring_fetches_home(hr_program_t* p, const hr_device_set_t* devices) {
  bool any = false;
  for (int32_t i = 0; i < p->fetch_count; ++i) {
    if (!devices->devices[hr_place_of(p, p->fetches[i].node)]->table) continue;
    HR_TRY(bring_home(p, devices, &p->fetches[i]));
    any = true;
  }
  return any ? hr_program_finish(p) : NULL;
}

static hr_status_t make_plans(hr_local_runner_t* l, const hr_device_set_t* devices, hr_state_table_t* states, hr_resources_t* resources) {
  hr_program_t* p = &l->base.program;
  HR_TRY(bring_fetches_home(p, devices));
  l->device = devices->devices[p->live_count ? hr_place_of(p, p->live[0]) : 0]->name;
  if (!lies_on_one_device(p)) {
    HR_TRY(hr_partition_program(p, devices, HR_PARTITION_BY_DEVICE, "/_", NULL, &l->base.partition));
    return hr_runner_parts_create(l, devices, states, resources);
  }
  const hr_plan_desc_t d = {.nodes = p->live, .node_count = p->live_count, .feeds = p->feeds, .feed_count = p->feed_count,
                            .fetches = p->fetches, .fetch_count = p->fetch_count, .states = states,
                            .resources = resources, .lanes = p->lanes, .threads = p->threads,
                            .device = devices->devices[p->live_count ? hr_place_of(p, p->live[0]) : 0]};
  return hr_plan_create(&d, &l->plan);
}

hr_status_t hr_runner_local_create(hr_program_t* take_program, hr_device_set_t* devices, hr_state_table_t* states,
                                   hr_resources_t* resources, hr_runner_t** out) {
  hr_local_runner_t* l = hr_alloc_zero(sizeof *l);
  if (!l) {
    hr_program_deinit(take_program);
    return hr_status_out_of_memory();
  }
  l->base.table = &local_table;
  l->base.program = *take_program;
  *take_program = (hr_program_t){0};
  hr_status_t status = make_plans(l, devices, states, resources);
  if (status) local_destroy(&l->base);
  else *out = &l->base;
  return status;
}
