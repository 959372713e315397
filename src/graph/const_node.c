/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one stateless node outside any session: kernel, prepared memory and a frame that live for this one call. One thread, no resources.
 */
#include "graph/const_eval.h"
#include "op/kernel_ctx.h"
#include "rt/step.h"

/* Everything one call needs, in one arena. Slots: inputs, outputs, and a spare one. */
typedef struct {
  hr_arena_t arena;
  const hr_kernel_t* kernel;
  hr_slot_t* slots;
  hr_site_t site;
  hr_prepare_ctx_t prepare;
  hr_cancel_t cancel;
  hr_step_t step;
  bool prepared;
} node_run_t;

static hr_status_t run_make_shapes(node_run_t* r, const hr_node_t* n, const hr_tensor_t* const* inputs) {
  const hr_pshape_t** shapes = hr_arena_array(&r->arena, (size_t)n->input_count, sizeof *shapes);
  if (!shapes) return hr_status_out_of_memory();
  for (int i = 0; i < n->input_count; ++i) HR_TRY(hr_pshape_from_shape(&r->arena, &inputs[i]->shape, &shapes[i]));
  r->prepare.input_shapes = shapes;
  return NULL;
}

static hr_status_t run_make_types(node_run_t* r, const hr_node_t* n) {
  int32_t* types = hr_arena_array(&r->arena, (size_t)n->input_count + (size_t)n->output_count, sizeof *types);
  uint8_t* out_types = hr_arena_array(&r->arena, (size_t)n->output_count, 1);
  if (!types || !out_types) return hr_status_out_of_memory();
  for (int i = 0; i < n->input_count; ++i) types[i] = hr_dtype_base(n->input_types[i]);
  for (int i = 0; i < n->output_count; ++i) types[n->input_count + i] = out_types[i] = (uint8_t)hr_dtype_base(n->output_types[i]);
  r->prepare.input_types = types;
  r->prepare.output_types = types + n->input_count;
  r->site.out_types = out_types;
  return NULL;
}

static hr_status_t run_make_frame(node_run_t* r, const hr_node_t* n, const hr_tensor_t* const* inputs) {
  size_t ins = (size_t)n->input_count, outs = (size_t)n->output_count;
  int32_t* at = hr_arena_array(&r->arena, ins + outs, sizeof *at);
  uint8_t* flags = hr_arena_array(&r->arena, ins, 1);
  r->slots = hr_arena_array(&r->arena, ins + outs + 1, sizeof *r->slots);
  if (!at || !flags || !r->slots) return hr_status_out_of_memory();
  for (size_t i = 0; i < ins + outs; ++i) at[i] = (int32_t)i;
  for (size_t i = 0; i < ins; ++i) hr_tensor_share(inputs[i], &r->slots[i].value);
  r->site.in = at;
  r->site.in_flags = flags;
  r->site.out = at + ins;
  r->site.in_count = n->input_count;
  r->site.out_count = n->output_count;
  return NULL;
}

static hr_status_t run_prepare(node_run_t* r, const hr_node_t* n, const hr_tensor_t* const* inputs) {
  HR_TRY(run_make_shapes(r, n, inputs));
  HR_TRY(run_make_types(r, n));
  HR_TRY(run_make_frame(r, n, inputs));
  r->prepare.attrs = &n->attrs;
  r->prepare.node_name = r->site.node_name = n->name.data;
  r->prepare.op_name = r->site.op_name = n->attrs.def->op->name;
  r->prepare.input_count = n->input_count;
  r->prepare.output_count = n->output_count;
  r->prepare.output_shapes = n->shapes;
  r->prepare.constants = inputs;
  r->prepare.kernel = r->site.kernel = r->kernel;
  r->site.compute = r->kernel->compute;
  if (r->kernel->prepared_bytes && !(r->site.prepared = hr_alloc_zero(r->kernel->prepared_bytes))) return hr_status_out_of_memory();
  if (r->kernel->prepare) HR_TRY(r->kernel->prepare(&r->prepare, r->site.prepared));
  r->prepared = true;
  return NULL;
}

static hr_status_t run_compute(node_run_t* r, const hr_node_t* n, hr_tensor_t* outputs) {
  hr_slot_t* first = r->slots + n->input_count;
  r->step = (hr_step_t){.cancel = &r->cancel, .threads = 1};
  hr_kernel_ctx_t k = {.site = &r->site, .slots = r->slots, .step = &r->step, .threads = 1, .spare = first + n->output_count};
  HR_TRY(r->kernel->compute(&k));
  for (int i = 0; i < n->output_count; ++i)
    if (first[i].ref || first[i].value.dtype == HR_DTYPE_INVALID) return HR_ERROR(INTERNAL, "the kernel did not set output %d", i);
  for (int i = 0; i < n->output_count; ++i) hr_tensor_move(&first[i].value, &outputs[i]);
  return NULL;
}

static void run_deinit(node_run_t* r, const hr_node_t* n) {
  for (int i = 0; r->slots && i < n->input_count + n->output_count + 1; ++i) hr_tensor_release(&r->slots[i].value);
  if (r->prepared && r->kernel->unprepare) r->kernel->unprepare(r->site.prepared);
  hr_free(r->site.prepared);
  hr_cancel_deinit(&r->cancel);
  hr_arena_deinit(&r->arena);
}

hr_status_t hr_const_eval_node(const hr_node_t* n, const hr_tensor_t* const* inputs, hr_tensor_t* outputs) {
  node_run_t r = {0};
  hr_status_t status = hr_registry_kernel(n->attrs.def, n->attrs.values, &r.kernel);
  if (status) return status;
  if (r.kernel->state_bytes || r.kernel->create_state)
    return HR_ERROR(UNIMPLEMENTED, "node '%s' (%.*s) keeps state and cannot run outside a session", n->name.data,
                    HR_STR_ARG(n->attrs.def->name));
  hr_arena_init(&r.arena);
  hr_cancel_init(&r.cancel);
  status = run_prepare(&r, n, inputs);
  if (!status) status = run_compute(&r, n, outputs);
  run_deinit(&r, n);
  return status ? hr_status_note(status, "node '%s' (%.*s): ", n->name.data, HR_STR_ARG(n->attrs.def->name)) : NULL;
}
