/* SPDX-License-Identifier: Apache-2.0 */
/* The value of an output, if it follows from constants and static shapes.
 *
 * A walk over the producers with a stack of its own that gives up at the first thing that is not known, so asking about an ordinary
 * activation is cheap. Found values are kept in node->constant. What fails while it is evaluated (a division by zero) is simply not known
 * here: the step will say so when it runs. Bounds: CONST_MOST_NODES nodes a question, CONST_MOST_ELEMENTS elements a value. */
#include "graph/const_eval.h"

#include "op/node_class.h"

enum { CONST_MOST_NODES = 256, CONST_MOST_ELEMENTS = 4096 };

typedef struct {
  hr_node_t* node;
  int32_t next_input;
} const_frame_t;

static hr_status_t const_keep(hr_graph_t* g, hr_tensor_t* take_tensor, const hr_tensor_t** out) {
  hr_status_t status = hr_attr_keep_tensor(&g->arena, &g->tensors, take_tensor, out);
  if (status) hr_tensor_release(take_tensor);
  return status;
}

/* --- Shape, ShapeN, Size, Rank: from the input's static shape -------------------------------------------------------------------- */
typedef enum { CONST_NOT_SHAPE, CONST_SHAPE, CONST_SIZE, CONST_RANK } const_shape_op_t;

static const_shape_op_t const_shape_op(const hr_node_t* n) {
  hr_str_t op = n->attrs.def->name;
  if (hr_str_is(op, "Shape") || hr_str_is(op, "ShapeN")) return CONST_SHAPE;
  if (hr_str_is(op, "Size")) return CONST_SIZE;
  return hr_str_is(op, "Rank") ? CONST_RANK : CONST_NOT_SHAPE;
}

static hr_status_t const_of_shape(hr_graph_t* g, hr_value_t v, const_shape_op_t op, const hr_tensor_t** out) {
  hr_shape_t shape;
  hr_tensor_t value = {0};
  hr_value_t input = v.node->inputs[v.index];
  if (!input.node) return NULL;
  const hr_pshape_t* known = hr_value_shape(input);
  hr_dtype_t type = hr_dtype_base(v.node->output_types[v.index]);
  if (op == CONST_RANK) {
    if (known->rank < 0) return NULL;
    HR_TRY(hr_tensor_from_i32(known->rank, &value));
    return const_keep(g, &value, out);
  }
  if (!hr_pshape_to_shape(known, &shape)) return NULL;
  int64_t size = hr_shape_count(&shape);
  for (int i = 0; i < shape.rank && type == HR_I32; ++i)
    if (shape.dims[i] > INT32_MAX) return NULL; /* the kernel's error, at run time */
  if (op == CONST_SIZE && type == HR_I32 && size > INT32_MAX) return NULL;
  HR_TRY(op == CONST_SIZE ? hr_tensor_from_i64_vec(type, &size, 1, &value) : hr_tensor_from_i64_vec(type, shape.dims, shape.rank, &value));
  if (op == CONST_SIZE) value.shape = hr_shape_scalar();
  return const_keep(g, &value, out);
}

/* --- other nodes: their kernel --------------------------------------------------------------------------------------------------- */
static bool const_types_are_values(const int32_t* types, int count) {
  for (int i = 0; i < count; ++i)
    if (hr_dtype_is_ref(types[i]) || types[i] == HR_RESOURCE || types[i] == HR_VARIANT) return false;
  return true;
}

/* May this node's outputs follow from its inputs? Whatever a caller is meant to feed does not count as known. */
static bool const_node_is_eligible(const hr_node_t* n) {
  const hr_op_def_t* def = n->attrs.def;
  if (n->input_count == 0 || n->output_count == 0 || (def->op->flags & HR_OP_IMPURE)) return false;
  if (def->node_class != HR_NODE_ORDINARY && def->node_class != HR_NODE_IDENTITY) return false;
  if (hr_str_is(def->name, "PlaceholderWithDefault")) return false;
  hr_shape_t shape;
  for (int i = 0; i < n->output_count; ++i)
    if (hr_pshape_to_shape(n->shapes[i], &shape) && hr_shape_count(&shape) > CONST_MOST_ELEMENTS) return false;
  return const_types_are_values(n->output_types, n->output_count) && const_types_are_values(n->input_types, n->input_count);
}

/* Known without looking further: *out set. */
static hr_status_t const_look(hr_graph_t* g, hr_value_t v, const hr_tensor_t** out) {
  hr_node_t* n = v.node;
  *out = NULL;
  if (v.index == 0 && n->constant) {
    *out = n->constant;
    return NULL;
  }
  const_shape_op_t op = const_shape_op(n);
  if (op == CONST_NOT_SHAPE) return NULL;
  HR_TRY(const_of_shape(g, v, op, out));
  if (v.index == 0) n->constant = (hr_tensor_t*)*out;
  return NULL;
}

static bool const_is_small(const hr_tensor_t* t) { return t->count <= CONST_MOST_ELEMENTS; }

/* All inputs are known: runs the kernel, keeps output 0. *out_known false: the kernel is missing or failed. */
static hr_status_t const_compute(hr_graph_t* g, hr_node_t* n, bool* out_known) {
  hr_status_t status = NULL;
  const hr_tensor_t** inputs = hr_alloc_array((size_t)n->input_count + 1, sizeof *inputs);
  hr_tensor_t* outputs = hr_alloc_array((size_t)n->output_count + 1, sizeof *outputs);
  *out_known = false;
  if (!inputs || !outputs) {
    status = hr_status_out_of_memory();
    goto done;
  }
  for (int i = 0; i < n->input_count; ++i)
    if ((status = const_look(g, n->inputs[i], &inputs[i]))) goto done;
  if ((status = hr_const_eval_node(n, inputs, outputs))) {
    if (hr_status_code(status) == HR_RESOURCE_EXHAUSTED) goto done;
    hr_status_release(status);
    status = NULL;
    goto done;
  }
  if (const_is_small(&outputs[0])) {
    const hr_tensor_t* kept = NULL;
    status = const_keep(g, &outputs[0], &kept);
    n->constant = (hr_tensor_t*)kept;
    *out_known = !status;
  }
  for (int i = 0; i < n->output_count; ++i) hr_tensor_release(&outputs[i]);
done:
  hr_free(inputs);
  hr_free(outputs);
  return status;
}

/* One step of the walk: pushes what the top still needs, or computes it and pops. *out_go false: not known. */
static hr_status_t const_step(hr_graph_t* g, const_frame_t* stack, int* depth, int* budget, bool* out_go) {
  const_frame_t* top = &stack[*depth - 1];
  const hr_tensor_t* known = NULL;
  *out_go = false;
  while (top->next_input < top->node->input_count) {
    hr_value_t need = top->node->inputs[top->next_input++];
    if (!need.node) return NULL;
    HR_TRY(const_look(g, need, &known));
    if (known && !const_is_small(known)) return NULL;
    if (known) continue;
    if (need.index != 0 || const_shape_op(need.node) || !const_node_is_eligible(need.node) || --*budget <= 0) return NULL;
    stack[(*depth)++] = (const_frame_t){need.node, 0};
    *out_go = true;
    return NULL;
  }
  HR_TRY(const_compute(g, top->node, out_go));
  --*depth;
  return NULL;
}

hr_status_t hr_const_eval(hr_graph_t* g, hr_value_t v, const hr_tensor_t** out) {
  HR_TRY(const_look(g, v, out));
  if (*out || v.index != 0 || const_shape_op(v.node) || !const_node_is_eligible(v.node)) return NULL;
  const_frame_t stack[CONST_MOST_NODES]; /* the budget bounds its depth */
  int depth = 1, budget = CONST_MOST_NODES;
  bool go = true;
  stack[0] = (const_frame_t){v.node, 0};
  while (depth > 0 && go) HR_TRY(const_step(g, stack, &depth, &budget, &go));
  *out = go ? v.node->constant : NULL;
  return NULL;
}
