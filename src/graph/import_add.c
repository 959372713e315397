/* SPDX-License-Identifier: Apache-2.0 */
/* Third stage of an import: each node's attrs decoded into the graph's arena and the node added, in order; loops closed at the end. */
#include "op/attr_value.h"
#include "graph/function.h"
#include "graph/import_state.h"
#include "graph/shapes.h"

/* Space that one node after another uses. */
typedef struct {
  hr_import_t* im;
  HR_VEC(hr_value_t) inputs;
  HR_VEC(hr_node_t*) controls;
  HR_VEC(hr_named_attr_t) attrs;
} add_t;

/* --- attrs ----------------------------------------------------------------------------------------------------------------------- */
/* "loc:@x" follows x to its new name. Strings that name no node of the file stay. */
static hr_status_t add_rename_colocation(hr_import_t* im, hr_attr_t* attr) {
  const hr_str_t mark = HR_STR("loc:@");
  if (!attr->is_list || attr->kind != HR_ATTR_STRING) return NULL;
  hr_str_t* strings = hr_arena_array(&im->g->arena, (size_t)attr->count, sizeof *strings);
  if (!strings) return hr_status_out_of_memory();
  for (int32_t i = 0; i < attr->count; ++i) {
    uintptr_t node;
    strings[i] = attr->u.ss[i];
    if (!hr_str_has_prefix(strings[i], mark) || !hr_map_find(&im->by_name, hr_str_slice(strings[i], mark.size, strings[i].size), &node))
      continue;
    hr_str_t name = im->nodes.data[node].new_name;
    char* text = hr_arena_alloc(&im->g->arena, mark.size + name.size + 1);
    if (!text) return hr_status_out_of_memory();
    memcpy(text, mark.data, mark.size);
    memcpy(text + mark.size, name.data, name.size);
    text[mark.size + name.size] = 0;
    strings[i] = (hr_str_t){text, mark.size + name.size};
  }
  attr->u.ss = strings;
  return NULL;
}

/* An attr that our op does not know: kept when private, dropped when it has the producer's default, else left for hr_graph_add to refuse.
 */
static hr_status_t add_unknown_attr(add_t* a, const hr_import_node_t* n, hr_named_attr_t* attr, hr_cursor_t value, bool* out_drop) {
  *out_drop = false;
  if (attr->name.size && attr->name.data[0] == '_') {
    if (!hr_arena_str(&a->im->g->arena, attr->name, &attr->name)) return hr_status_out_of_memory();
    return a->im->renames && hr_str_is(attr->name, "_class") ? add_rename_colocation(a->im, &attr->value) : NULL;
  }
  return a->im->options->producer_ops.size ? hr_import_attr_is_default(a->im, n->op, attr->name, value, out_drop) : NULL;
}

static hr_status_t add_take_attrs(add_t* a, const hr_import_node_t* n, const hr_op_def_t* def) {
  a->attrs.count = 0;
  for (int32_t i = 0; i < n->attr_count; ++i) {
    hr_named_attr_t attr;
    hr_cursor_t value;
    bool drop = false;
    HR_TRY(hr_cursor_map_entry(a->im->attrs.data[n->first_attr + i], &attr.name, &value));
    hr_status_t status = hr_attr_value_decode(&a->im->g->arena, &a->im->g->tensors, value, &attr.value);
    if (status) return hr_status_note(status, "attr '%.*s': ", HR_STR_ARG(hr_str_slice(attr.name, 0, 200)));
    if (hr_sig_find_attr(def, attr.name) < 0) HR_TRY(add_unknown_attr(a, n, &attr, value, &drop));
    if (!drop) HR_TRY(hr_vec_push(&a->attrs, attr));
  }
  return NULL;
}

/* --- edges ----------------------------------------------------------------------------------------------------------------------- */
static hr_status_t add_take_inputs(add_t* a, const hr_import_node_t* n) {
  a->inputs.count = 0;
  for (int32_t i = 0; i < n->input_count; ++i) {
    const hr_import_input_t* in = &a->im->inputs.data[n->first_input + i];
    hr_value_t v = in->producer < 0 ? in->to : (hr_value_t){a->im->nodes.data[in->producer].node, in->index}; /* NULL: a back edge */
    HR_TRY(hr_vec_push(&a->inputs, v));
  }
  return NULL;
}

static bool add_inherits_controls(const add_t* a, const hr_import_node_t* n) {
  for (int64_t i = 0; i < (int64_t)n->input_count + n->control_count; ++i) {
    const hr_import_input_t* in = &a->im->inputs.data[n->first_input + i];
    if (in->producer >= 0 && a->im->nodes.data[in->producer].node) return true;
  }
  return false;
}

/* The options' control dependencies go to the nodes that do not inherit them through an input. */
static hr_status_t add_take_controls(add_t* a, const hr_import_node_t* n) {
  a->controls.count = 0;
  for (int32_t i = 0; i < n->control_count; ++i) {
    const hr_import_input_t* in = &a->im->inputs.data[n->first_input + n->input_count + i];
    HR_TRY(hr_vec_push(&a->controls, in->producer < 0 ? in->to.node : a->im->nodes.data[in->producer].node));
  }
  if (!a->im->options->control_dependency_count || add_inherits_controls(a, n)) return NULL;
  for (int32_t i = 0; i < a->im->options->control_dependency_count; ++i)
    HR_TRY(hr_vec_push(&a->controls, a->im->options->control_dependencies[i]));
  return NULL;
}

/* --- nodes ----------------------------------------------------------------------------------------------------------------------- */
static hr_status_t add_node(add_t* a, hr_import_node_t* n) {
  const hr_op_def_t* def = NULL;
  hr_status_t status = hr_function_or_op(a->im->g, n->op, &def);
  a->attrs.count = 0;
  if (status) {
    if (hr_status_code(status) != HR_NOT_FOUND) return status;
    hr_status_release(status); /* hr_graph_add says it better */
  } else if ((status = add_take_attrs(a, n, def))) {
    return hr_status_note(status, "node '%.*s' (%.*s): ", HR_STR_ARG(n->name), HR_STR_ARG(n->op));
  }
  HR_TRY(add_take_inputs(a, n));
  HR_TRY(add_take_controls(a, n));
  hr_node_desc_t desc = {.op = n->op,
                         .name = n->new_name,
                         .device = n->device.size ? n->device : a->im->options->default_device,
                         .inputs = a->inputs.data,
                         .input_count = (int32_t)a->inputs.count,
                         .controls = a->controls.data,
                         .control_count = (int32_t)a->controls.count,
                         .attrs = a->attrs.data,
                         .attr_count = (int32_t)a->attrs.count,
                         .allow_missing_inputs = n->is_merge,
                         .internal = a->im->options->internal,
                         .try_shapes = a->im->options->try_shapes,
                         .attrs_kept = true};
  HR_TRY(hr_graph_add(a->im->g, &desc, &n->node));
  return a->im->options->keep_shapes_attr && n->node->attrs.extra_count ? hr_shapes_apply_attr(a->im->g, n->node) : NULL;
}

static hr_status_t add_close_loops(hr_import_t* im) {
  for (int64_t i = 0; i < im->nodes.count; ++i) {
    const hr_import_node_t* n = &im->nodes.data[i];
    for (int32_t k = 0; n->is_merge && k < n->input_count; ++k) {
      const hr_import_input_t* in = &im->inputs.data[n->first_input + k];
      if (!n->node->inputs[k].node && in->producer >= 0)
        HR_TRY(hr_graph_set_input(im->g, n->node, k, (hr_value_t){im->nodes.data[in->producer].node, in->index}));
    }
  }
  return NULL;
}

hr_status_t hr_import_add_nodes(hr_import_t* im, hr_import_results_t* results) {
  add_t a = {.im = im};
  hr_status_t status = hr_vec_reserve(&im->g->nodes, im->nodes.count);
  if (!status) status = hr_map_reserve(&im->g->by_name, im->nodes.count);
  if (!status) status = hr_vec_reserve(&results->added, im->nodes.count);
  for (int64_t i = 0; !status && i < im->order.count; ++i) {
    if (i + HR_MAP_AHEAD < im->order.count)
      hr_map_prefetch(&im->g->by_name, im->nodes.data[im->order.data[i + HR_MAP_AHEAD]].new_name);
    status = add_node(&a, &im->nodes.data[im->order.data[i]]);
  }
  if (!status) status = add_close_loops(im);
  for (int64_t i = 0; !status && i < im->nodes.count; ++i) status = hr_vec_push(&results->added, im->nodes.data[i].node);
  hr_vec_deinit(&a.inputs);
  hr_vec_deinit(&a.controls);
  hr_vec_deinit(&a.attrs);
  return status;
}
