/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a program on this process's CPU: one plan. */
#include "base/alloc.h"
#include "rt/step_locals.h"
#include "session/runner.h"

typedef struct {
  hr_runner_t base;
  hr_plan_t* plan;
} local_runner_t;

struct hr_runner_binding {
  hr_plan_binding_t plan;
};

static void local_unbind(hr_runner_t* r, hr_runner_binding_t* b) {
  (void)r;
  if (b) hr_plan_binding_deinit(&b->plan);
  hr_free(b);
}

static hr_status_t local_bind(hr_runner_t* r, const int32_t* feed_from, const int32_t* fetch_of, int32_t fetch_count,
                              hr_runner_binding_t** out) {
  hr_runner_binding_t* b = hr_alloc_zero(sizeof *b);
  if (!b) return hr_status_out_of_memory();
  hr_status_t status = hr_plan_bind(((local_runner_t*)r)->plan, feed_from, fetch_of, fetch_count, &b->plan);
  if (status) local_unbind(r, b);
  else *out = b;
  return status;
}

static hr_status_t run_plan(hr_runner_t* r, const hr_runner_binding_t* binding, hr_step_t* step, const hr_tensor_t* feeds,
                            hr_tensor_t* out_fetches) {
  if (!binding) return hr_plan_run(((local_runner_t*)r)->plan, step, feeds, out_fetches);
  return hr_plan_run_bound(((local_runner_t*)r)->plan, &binding->plan, step, feeds, out_fetches);
}

static hr_status_t local_run(hr_runner_t* r, const hr_runner_binding_t* binding, hr_step_t* step, const hr_tensor_t* feeds,
                             hr_tensor_t* out_fetches) {
  if (step->locals) return run_plan(r, binding, step, feeds, out_fetches);
  hr_step_locals_t own;
  hr_step_locals_init(&own);
  step->locals = &own;
  hr_status_t status = run_plan(r, binding, step, feeds, out_fetches);
  step->locals = NULL;
  hr_step_locals_deinit(&own);
  return status;
}

static void local_destroy(hr_runner_t* r) {
  local_runner_t* l = (local_runner_t*)r;
  hr_plan_destroy(l->plan);
  hr_program_deinit(&l->base.program);
  hr_free(l);
}

static const hr_runner_table_t local_table = {local_bind, local_unbind, local_run, local_destroy};

hr_status_t hr_runner_local_create(hr_program_t* take_program, hr_device_set_t* devices, hr_state_table_t* states,
                                   hr_resources_t* resources, hr_runner_t** out) {
  (void)devices;
  local_runner_t* l = hr_alloc_zero(sizeof *l);
  if (!l) {
    hr_program_deinit(take_program);
    return hr_status_out_of_memory();
  }
  l->base.table = &local_table;
  l->base.program = *take_program;
  *take_program = (hr_program_t){0};
  const hr_program_t* p = &l->base.program;
  hr_plan_desc_t d = {.nodes = p->live, .node_count = p->live_count, .feeds = p->feeds, .feed_count = p->feed_count, .fetches = p->fetches,
                      .fetch_count = p->fetch_count, .states = states, .resources = resources};
  hr_status_t status = hr_plan_create(&d, &l->plan);
  if (status) local_destroy(&l->base);
  else *out = &l->base;
  return status;
}
