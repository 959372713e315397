/* SPDX-License-Identifier: Apache-2.0 */
/* Running shape functions, and narrowing what they found. A resource's (or variant's) value type and shape travel in node->handles. */
#include "graph/shapes.h"

#include "graph/call_shapes.h"
#include "graph/const_eval.h"
#include "op/infer_state.h"

enum { SHAPES_ON_STACK = 16 };

/* What one run of a shape function needs; arrays move to the arena when a node has many ends. */
typedef struct {
  hr_infer_t infer;
  hr_graph_t* graph;
  hr_node_t* node;
  const hr_pshape_t* inputs[SHAPES_ON_STACK];
  hr_dtype_t handle_types[2 * SHAPES_ON_STACK];
  const hr_pshape_t* handle_shapes[2 * SHAPES_ON_STACK];
} shape_run_t;

static hr_status_t shape_run_constant(void* arg, int input, const hr_tensor_t** out) {
  shape_run_t* run = arg;
  *out = NULL;
  hr_value_t v = run->node->inputs[input];
  return v.node ? hr_const_eval(run->graph, v, out) : NULL;
}

static hr_status_t shape_run_as_shape(void* arg, int input, const hr_pshape_t** out) {
  shape_run_t* run = arg;
  *out = &hr_pshape_unknown;
  hr_value_t v = run->node->inputs[input];
  return v.node ? hr_const_eval_as_shape(run->graph, v, out) : NULL;
}

static hr_status_t shape_run_called(void* arg, const hr_func_attr_t* function, int first, const hr_pshape_t* const* shapes,
                                    const hr_pshape_t** out, hr_dtype_t* out_types, const hr_pshape_t** out_handle_shapes) {
  shape_run_t* run = arg;
  if (run->graph->library && !run->graph->sketch_depth) return NULL; /* a session takes calls apart anyway */
  hr_call_shapes_request_t r = {.function = hr_function_find(run->graph, function->name),
                                .attrs = function->attrs,
                                .attr_count = function->attr_count,
                                .node = run->node,
                                .first = first,
                                .shapes = shapes};
  return r.function ? hr_call_shapes(run->graph, &r, out, out_types, out_handle_shapes) : NULL;
}

/* A node whose op is a function has no shape function but its body. */
static hr_status_t shape_run_direct_call(shape_run_t* run) {
  const hr_node_attrs_t* attrs = &run->node->attrs;
  hr_named_attr_t* given = hr_arena_array(&run->graph->arena, (size_t)attrs->def->attr_count + 1, sizeof *given);
  if (!given) return hr_status_out_of_memory();
  for (int i = 0; i < attrs->def->attr_count; ++i) given[i] = (hr_named_attr_t){attrs->def->attrs[i].name, attrs->values[i]};
  const hr_func_attr_t f = {attrs->def->name, given, attrs->def->attr_count};
  return hr_infer_set_called(&run->infer, &f, 0);
}

static bool shape_type_has_handle(int32_t type) { return hr_dtype_base(type) == HR_RESOURCE || hr_dtype_base(type) == HR_VARIANT; }

static bool node_has_handles(const hr_node_t* n) {
  for (int i = 0; i < n->output_count; ++i)
    if (shape_type_has_handle(n->output_types[i])) return true;
  for (int i = 0; i < n->input_count; ++i)
    if (shape_type_has_handle(n->input_types[i])) return true;
  return false;
}

static bool shape_run_set_inputs(shape_run_t* run) {
  const hr_node_t* n = run->node;
  const hr_pshape_t** shapes = run->inputs;
  if (n->input_count > SHAPES_ON_STACK && !(shapes = hr_arena_array(&run->graph->arena, (size_t)n->input_count, sizeof *shapes)))
    return false;
  for (int i = 0; i < n->input_count; ++i) shapes[i] = n->inputs[i].node ? hr_value_shape(n->inputs[i]) : &hr_pshape_unknown;
  run->infer.input_shapes = shapes;
  return true;
}

static bool shape_run_set_handles(shape_run_t* run) {
  const hr_node_t* n = run->node;
  size_t ends = (size_t)n->input_count + (size_t)n->output_count;
  hr_dtype_t* types = run->handle_types;
  const hr_pshape_t** shapes = run->handle_shapes;
  if (ends > 2 * SHAPES_ON_STACK) {
    types = hr_arena_alloc(&run->graph->arena, ends * sizeof *types);
    shapes = hr_arena_alloc(&run->graph->arena, ends * sizeof *shapes);
    if (!types || !shapes) return false;
  }
  for (size_t i = 0; i < ends; ++i) {
    hr_value_t v = i < (size_t)n->input_count ? n->inputs[i] : HR_NO_VALUE;
    bool known = v.node && v.node->handles;
    types[i] = known ? v.node->handles[v.index].dtype : HR_DTYPE_INVALID;
    shapes[i] = known ? v.node->handles[v.index].shape : NULL;
  }
  run->infer.input_handle_types = types;
  run->infer.input_handle_shapes = shapes;
  run->infer.output_handle_types = types + n->input_count;
  run->infer.output_handle_shapes = shapes + n->input_count;
  return true;
}

static hr_status_t shape_run_keep_handles(shape_run_t* run) {
  hr_node_t* n = run->node;
  bool any = false;
  for (int i = 0; i < n->output_count; ++i)
    any |= run->infer.output_handle_types[i] != HR_DTYPE_INVALID || run->infer.output_handle_shapes[i];
  if (!any) return NULL;
  if (!(n->handles = hr_arena_array(&run->graph->arena, (size_t)n->output_count, sizeof *n->handles))) return hr_status_out_of_memory();
  for (int i = 0; i < n->output_count; ++i)
    n->handles[i] = (hr_handle_info_t){run->infer.output_handle_types[i], run->infer.output_handle_shapes[i]};
  return NULL;
}

hr_status_t hr_shapes_infer(hr_graph_t* g, hr_node_t* n) {
  if (n->output_count == 0 && !n->attrs.def->op->shape) return NULL;
  shape_run_t run;
  run.graph = g;
  run.node = n;
  run.infer = (hr_infer_t){.arena = &g->arena,
                           .attrs = &n->attrs,
                           .input_count = n->input_count,
                           .output_count = n->output_count,
                           .input_types = n->input_types,
                           .output_types = n->output_types,
                           .output_shapes = n->shapes,
                           .constant = shape_run_constant,
                           .as_shape = shape_run_as_shape,
                           .called = shape_run_called,
                           .arg = &run};
  bool handles = node_has_handles(n);
  if (!shape_run_set_inputs(&run) || (handles && !shape_run_set_handles(&run))) return hr_status_out_of_memory();
  HR_TRY(hr_infer_run(&run.infer));
  if (!n->attrs.def->op->shape && hr_function_is_def(n->attrs.def)) HR_TRY(shape_run_direct_call(&run));
  return handles && n->output_count ? shape_run_keep_handles(&run) : NULL;
}

hr_status_t hr_graph_refine_shape(hr_graph_t* g, hr_value_t v, const hr_pshape_t* shape) {
  if (v.node->graph != g || v.index < 0 || v.index >= v.node->output_count)
    return HR_ERROR(INVALID_ARGUMENT, "node '%s' has %d outputs, not one of number %d", v.node->name.data, (int)v.node->output_count,
                    (int)v.index);
  const hr_pshape_t* known = v.node->shapes[v.index];
  const hr_pshape_t* merged = NULL;
  hr_status_t status = hr_pshape_merge(&g->arena, known, shape, &merged);
  if (status) return hr_status_note(status, "shape of '%s:%d': ", v.node->name.data, (int)v.index);
  if (hr_pshape_equal(merged, known)) return NULL;
  /* a merge may give back the caller's own shape, which may die before the graph does */
  if (merged == shape) HR_TRY(hr_pshape_make(&g->arena, shape->rank, shape->dims, &merged));
  v.node->shapes[v.index] = merged;
  return NULL;
}

hr_status_t hr_shapes_apply_attr(hr_graph_t* g, hr_node_t* n) {
  for (int32_t i = 0; i < n->attrs.extra_count; ++i) {
    const hr_named_attr_t* a = &n->attrs.extras[i];
    if (!hr_str_is(a->name, "_output_shapes")) continue;
    if (a->value.kind == HR_ATTR_NONE) return NULL; /* an empty list */
    if (!a->value.is_list || a->value.kind != HR_ATTR_SHAPE || a->value.count != n->output_count)
      return HR_ERROR(INVALID_ARGUMENT, "node '%s': attr '_output_shapes' must be a list of %d shapes", n->name.data, (int)n->output_count);
    for (int k = 0; k < n->output_count; ++k) HR_TRY(hr_graph_refine_shape(g, (hr_value_t){n, k}, a->value.u.shapes[k]));
  }
  return NULL;
}

hr_status_t hr_shapes_try(hr_graph_t* g, hr_node_t* node) {
  hr_status_t status = hr_shapes_infer(g, node);
  if (!status || hr_status_code(status) == HR_RESOURCE_EXHAUSTED) return status;
  hr_status_release(status);
  for (int32_t i = 0; i < node->output_count; ++i) node->shapes[i] = &hr_pshape_unknown;
  return NULL;
}
