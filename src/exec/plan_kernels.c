/* SPDX-License-Identifier: Apache-2.0 */
/* Gives every site its kernel, the session's state and the plan's prepared memory. */
#include "exec/lend.h"
#include "exec/own.h"
#include "exec/plan_state.h"
#include "exec/state.h"

typedef struct {
  hr_arena_t* scratch;
  const hr_plan_desc_t* desc;
  hr_prepare_ctx_t ctx;
  const hr_pshape_t** shapes;      /* room for the inputs of the widest node */
  const hr_tensor_t** constants;
} kernels_t;

/* Types without reference marks: the node's own list when it has none. */
static hr_status_t plain_types(hr_arena_t* scratch, const int32_t* types, int32_t count, const int32_t** out) {
  bool marked = false;
  for (int32_t i = 0; i < count; ++i) marked |= hr_dtype_is_ref(types[i]);
  *out = types;
  if (!marked) return NULL;
  int32_t* plain = hr_arena_array(scratch, (size_t)count, sizeof *plain);
  if (!plain) return hr_status_out_of_memory();
  for (int32_t i = 0; i < count; ++i) plain[i] = (int32_t)hr_dtype_base(types[i]);
  *out = plain;
  return NULL;
}

static hr_status_t fill_context(kernels_t* k, const hr_node_t* n) {
  for (int32_t i = 0; i < n->input_count; ++i) {
    const hr_node_t* from = n->inputs[i].node;
    k->shapes[i] = hr_value_shape(n->inputs[i]);
    k->constants[i] = hr_plan_is_constant(from) ? hr_plan_constant(from) : NULL;
  }
  hr_prepare_ctx_t* c = &k->ctx;
  *c = (hr_prepare_ctx_t){.attrs = &n->attrs, .node_name = n->name.data, .op_name = n->attrs.def->name.data, .input_count = n->input_count,
                          .output_count = n->output_count, .input_shapes = k->shapes, .output_shapes = n->shapes,
                          .constants = k->constants, .resources = k->desc->resources};
  HR_TRY(plain_types(k->scratch, n->input_types, n->input_count, &c->input_types));
  return plain_types(k->scratch, n->output_types, n->output_count, &c->output_types);
}

static hr_status_t choose_kernel(kernels_t* k, hr_arena_t* arena, hr_site_t* site, const hr_node_t* n) {
  const hr_kernel_t* kernel = NULL;
  const hr_device_t* device = k->desc->device;
  if (device) kernel = hr_own_kernel(device, n);
  if (!kernel) HR_TRY(hr_registry_kernel(n->attrs.def, n->attrs.values, &kernel));
  site->kernel = kernel;
  site->compute = kernel->compute;
  if (!kernel->prepare && !kernel->prepared_bytes && !kernel->state_bytes) return NULL;
  HR_TRY(fill_context(k, n));
  k->ctx.kernel = kernel;
  if (kernel->state_bytes) HR_TRY(hr_state_get(k->desc->states, &k->ctx, &site->state));
  void* prepared = hr_arena_array(arena, 1, kernel->prepared_bytes);
  if (!prepared) return hr_status_out_of_memory();
  if (kernel->prepare) HR_TRY(kernel->prepare(&k->ctx, prepared));
  site->prepared = prepared;
  return NULL;
}

static hr_status_t prepare_site(kernels_t* k, hr_arena_t* arena, hr_site_t* site, const hr_node_t* n) {
  HR_TRY(choose_kernel(k, arena, site, n));
  return k->desc->device && k->desc->device->table ? hr_lend_site(arena, k->desc->device, site, n) : NULL;
}

hr_status_t hr_plan_choose_kernels(hr_plan_t* p, hr_arena_t* scratch, const hr_plan_desc_t* desc, hr_node_t* const* order) {
  int32_t widest = 0;
  for (int64_t i = 0; i < desc->node_count; ++i)
    if (order[i]->input_count > widest) widest = order[i]->input_count;
  kernels_t k = {.scratch = scratch, .desc = desc};
  k.shapes = hr_arena_array(scratch, (size_t)widest, sizeof *k.shapes);
  k.constants = hr_arena_array(scratch, (size_t)widest, sizeof *k.constants);
  if (!k.shapes || !k.constants) return hr_status_out_of_memory();
  for (int64_t i = 0; i < p->site_count; ++i) {
    hr_plan_site_t* s = &p->sites[i];
    if (s->site.compute) continue; /* a dereference */
    hr_status_t status = prepare_site(&k, &p->arena, &s->site, order[s->node]);
    if (status) return hr_status_note(status, "node '%s' (%s): ", s->site.node_name, s->site.op_name);
  }
  return NULL;
}

void hr_plan_unprepare(hr_plan_t* p) {
  for (int64_t i = 0; i < p->site_count; ++i) {
    hr_site_t* site = &p->sites[i].site;
    if (site->prepared && site->kernel->unprepare) site->kernel->unprepare(site->prepared);
  }
}

hr_status_t hr_plan_deref(hr_kernel_ctx_t* k) {
  hr_variable_t* v = hr_input_ref(k, 0);
  if (!v) return HR_ERROR(INTERNAL, "a reference input was not set by its producer");
  hr_slot_t* out = hr_output_slot(k, 0);
  out->ref = NULL;
  return hr_variable_read(v, &out->value);
}
