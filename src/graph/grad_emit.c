/* SPDX-License-Identifier: Apache-2.0 */
/* The emitter that gradients see: the table of primitives of op/grad_state.h on a graph. New nodes are named
 * `<prefix>/<forward node>_grad/<Op>`, as TensorFlow's clients show them, made unique. */
#include "graph/const_eval.h"
#include "graph/grad_pass.h"

static hr_grad_call_t* call_of(hr_grad_ctx_t* c) { return (hr_grad_call_t*)(void*)c; }
static const hr_grad_call_t* const_call_of(const hr_grad_ctx_t* c) { return (const hr_grad_call_t*)(const void*)c; }

/* --- emitting ---------------------------------------------------------------------------------------------------------------------- */
static hr_status_t emit_node(hr_grad_ctx_t* ctx, const char* op, int input_count, const hr_value_t* inputs, int attr_count,
                             const hr_named_attr_t* attrs, hr_value_t* out) {
  hr_grad_call_t* c = call_of(ctx);
  hr_node_desc_t desc = {
      .op = hr_str(op), .device = HR_STR(""), .inputs = inputs, .input_count = input_count, .attrs = attrs, .attr_count = attr_count};
  hr_node_t* node = NULL;
  HR_TRY(hr_grad_place_name(c->pass, c->node, op, &desc.name));
  if (c->pass->has_loops) return hr_grad_place_emit(c, &desc, out);
  HR_TRY(hr_graph_add(c->pass->g, &desc, &node));
  *out = (hr_value_t){node, 0};
  return NULL;
}

static hr_status_t emit_control_edge(hr_grad_ctx_t* ctx, hr_value_t from, hr_value_t to) {
  return hr_graph_add_control(call_of(ctx)->pass->g, to.node, from.node);
}

/* --- static knowledge -------------------------------------------------------------------------------------------------------------- */
static hr_dtype_t value_dtype(hr_grad_ctx_t* ctx, hr_value_t v) {
  (void)ctx;
  return hr_dtype_base(hr_value_type(v));
}

static const hr_pshape_t* value_shape(hr_grad_ctx_t* ctx, hr_value_t v) {
  (void)ctx;
  return hr_value_shape(v);
}

static hr_status_t value_constant(hr_grad_ctx_t* ctx, hr_value_t v, const hr_tensor_t** out) {
  return hr_const_eval(call_of(ctx)->pass->g, v, out);
}

/* --- the node being differentiated ------------------------------------------------------------------------------------------------- */
static hr_value_t node_input(hr_grad_ctx_t* ctx, int i) { return call_of(ctx)->node->inputs[i]; }
static hr_value_t node_output(hr_grad_ctx_t* ctx, int i) { return (hr_value_t){call_of(ctx)->node, i}; }

static bool input_is_wanted(const hr_grad_ctx_t* ctx, int input) {
  const hr_grad_call_t* c = const_call_of(ctx);
  return input >= 0 && input < ctx->input_count && hr_grad_paths_lead_to_x(c->pass, c->node->inputs[input]);
}

/* What flowed into output i; NULL when nothing did, or the output is a stop (what flowed in ends there). */
static hr_grad_sum_t* output_sum(const hr_grad_ctx_t* ctx, int i) {
  const hr_grad_call_t* c = const_call_of(ctx);
  if (i < 0 || i >= ctx->output_count) return NULL;
  hr_value_t v = {c->node, i};
  return hr_grad_paths_is_stop(c->pass, v) ? NULL : hr_grad_accumulate_sum(c->pass, v);
}

static bool output_has_upstream(const hr_grad_ctx_t* ctx, int i) { return output_sum(ctx, i) != NULL; }

static bool output_slices(hr_grad_ctx_t* ctx, int i, hr_value_t* indices, hr_value_t* values, hr_value_t* dense_shape) {
  hr_grad_sum_t* sum = output_sum(ctx, i);
  if (!sum || !sum->first->is_slices) return false;
  *indices = sum->first->indices;
  *values = sum->first->values;
  *dense_shape = sum->first->dense_shape;
  return true;
}

static hr_status_t output_zeros(hr_grad_ctx_t* ctx, int i, hr_value_t* out) {
  hr_grad_call_t* c = call_of(ctx);
  hr_value_t v = {c->node, i};
  hr_grad_info_t* info = &c->pass->info[c->node->id];
  if (!info->sums[i].zeros.node) {
    bool is_scalar = hr_value_shape(v)->rank == 0 && hr_dtype_base(hr_value_type(v)) != HR_VARIANT;
    info->sums[i].zeros = c->pass->has_loops ? hr_grad_place_zeros(c, v)
                          : is_scalar        ? hr_emit_const_like(ctx, v, 0)
                                             : hr_emit_zeros_like(ctx, v);
  }
  *out = info->sums[i].zeros;
  return NULL; /* a failure of the helpers sticks to ctx */
}

static hr_status_t output_upstream(hr_grad_ctx_t* ctx, int i, hr_value_t* out) {
  if (i < 0 || i >= ctx->output_count) return HR_ERROR(INTERNAL, "asks for the gradient of output %d of %d", i, ctx->output_count);
  hr_grad_sum_t* sum = output_sum(ctx, i);
  if (!sum) return output_zeros(ctx, i, out);
  HR_TRY(hr_grad_accumulate_densify(call_of(ctx), sum->first));
  *out = sum->first->dense;
  return NULL;
}

/* --- giving ------------------------------------------------------------------------------------------------------------------------ */
static hr_status_t give_dense(hr_grad_ctx_t* ctx, int input, hr_value_t gradient) {
  hr_grad_call_t* c = call_of(ctx);
  hr_status_t status = hr_grad_accumulate_dense(c->pass, c->node->inputs[input], gradient);
  return status ? hr_status_note(status, "input %d: ", input) : NULL;
}

static hr_status_t give_slices(hr_grad_ctx_t* ctx, int input, hr_value_t indices, hr_value_t values, hr_value_t dense_shape) {
  hr_grad_call_t* c = call_of(ctx);
  hr_status_t status = hr_grad_accumulate_slices(c->pass, c->node->inputs[input], indices, values, dense_shape);
  return status ? hr_status_note(status, "input %d: ", input) : NULL;
}

static hr_str_t walk_source(const hr_grad_ctx_t* ctx) { return const_call_of(ctx)->pass->source; }

void hr_grad_emit_begin(hr_grad_call_t* c, hr_grad_pass_t* p, hr_node_t* node) {
  static const hr_grad_table_t table = {.emit = emit_node,
                                        .control = emit_control_edge,
                                        .dtype = value_dtype,
                                        .shape = value_shape,
                                        .constant = value_constant,
                                        .input = node_input,
                                        .output = node_output,
                                        .upstream = output_upstream,
                                        .has_upstream = output_has_upstream,
                                        .upstream_slices = output_slices,
                                        .wanted = input_is_wanted,
                                        .give = give_dense,
                                        .give_slices = give_slices,
                                        .source = walk_source};
  static const hr_op_def_t nothing = {.name = {"none", 4}};
  static const hr_node_attrs_t no_attrs = {.def = &nothing};
  *c = (hr_grad_call_t){.base = {.table = &table, .attrs = node ? &node->attrs : &no_attrs}, .pass = p, .node = node};
  c->base.input_count = node ? node->input_count : 0;
  c->base.output_count = node ? node->output_count : 0;
}
