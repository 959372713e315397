/* SPDX-License-Identifier: Apache-2.0 */
/* Second stage of an import: names to indices, inputs to producers, new names, and an order in which every producer comes before its
 * consumers that keeps the file's order where it can. Back edges of loops (NextIteration into Merge) are left out of the order. */
#include <stdio.h>

#include "graph/import_state.h"
#include "graph/names.h"

/* --- names ----------------------------------------------------------------------------------------------------------------------- */
static hr_status_t link_names(hr_import_t* im) {
  HR_TRY(hr_map_reserve(&im->by_name, im->nodes.count));
  for (int64_t i = 0; i < im->nodes.count; ++i) {
    bool added;
    hr_str_t name = im->nodes.data[i].name;
    if (i + HR_MAP_AHEAD < im->nodes.count) hr_map_prefetch(&im->by_name, im->nodes.data[i + HR_MAP_AHEAD].name);
    HR_TRY(hr_names_check(name, im->options->internal));
    HR_TRY(hr_map_add(&im->by_name, name, (uintptr_t)i, &added));
    if (!added) return HR_ERROR(INVALID_ARGUMENT, "the GraphDef has two nodes named '%.*s'", HR_STR_ARG(name));
  }
  return NULL;
}

/* The scopes and nodes of the graph that are called `prefix` or `prefix_...`, in one pass. Keys borrow the nodes' names. */
static hr_status_t prefix_collect(const hr_graph_t* g, hr_str_t prefix, hr_map_t* taken) {
  for (int64_t i = 0; i < g->nodes.count; ++i) {
    hr_str_t name = g->nodes.data[i]->name;
    size_t end = prefix.size;
    if (!hr_str_has_prefix(name, prefix) || (name.size > end && name.data[end] != '_' && name.data[end] != '/')) continue;
    while (end < name.size && name.data[end] != '/') ++end;
    HR_TRY(hr_map_set(taken, hr_str_slice(name, 0, end), 1));
  }
  return NULL;
}

static hr_status_t text_format(hr_import_t* im, hr_str_t a, const char* between, hr_str_t b, hr_str_t* out) {
  size_t middle = strlen(between);
  char* text = hr_arena_alloc(&im->arena, a.size + middle + b.size + 1);
  if (!text) return hr_status_out_of_memory();
  memcpy(text, a.data, a.size);
  memcpy(text + a.size, between, middle);
  memcpy(text + a.size + middle, b.data, b.size);
  text[a.size + middle + b.size] = 0;
  *out = (hr_str_t){text, a.size + middle + b.size};
  return NULL;
}

static hr_status_t text_with_number(hr_import_t* im, hr_str_t base, int64_t n, hr_str_t* out) {
  char digits[24];
  snprintf(digits, sizeof digits, "%lld", (long long)n);
  return text_format(im, base, "_", hr_str(digits), out);
}

static hr_status_t prefix_make_unique(hr_import_t* im, hr_str_t prefix, hr_str_t* out) {
  hr_map_t taken;
  hr_map_init(&taken);
  hr_status_t status = prefix_collect(im->g, prefix, &taken);
  *out = prefix;
  for (int64_t n = 1; !status && hr_map_find(&taken, *out, NULL); ++n) status = text_with_number(im, prefix, n, out);
  hr_map_deinit(&taken);
  return status;
}

static hr_status_t link_prefix(hr_import_t* im, hr_str_t* out) {
  hr_str_t prefix = im->options->prefix;
  if (prefix.size && prefix.data[prefix.size - 1] == '/') --prefix.size;
  *out = prefix;
  if (!prefix.size) return NULL;
  HR_TRY(hr_status_note(hr_names_check(prefix, false), "import prefix: "));
  return im->options->uniquify_prefix ? prefix_make_unique(im, prefix, out) : NULL;
}

static bool new_name_is_taken(const hr_import_t* im, const hr_map_t* given, hr_str_t name) {
  return hr_graph_find(im->g, name) || hr_map_find(given, name, NULL);
}

static hr_status_t link_unique_name(hr_import_t* im, hr_map_t* given, hr_import_node_t* n) {
  hr_str_t base = n->new_name;
  for (int64_t k = 1; new_name_is_taken(im, given, n->new_name); ++k) HR_TRY(text_with_number(im, base, k, &n->new_name));
  return hr_map_set(given, n->new_name, 1);
}

/* Names that collide with the graph's, or with names given before, get a number; the others of the file keep theirs, so those go first. */
static hr_status_t link_unique_names(hr_import_t* im) {
  hr_status_t status = NULL;
  hr_map_t given;
  hr_map_init(&given);
  for (int64_t i = 0; !status && i < im->nodes.count; ++i)
    if (!hr_graph_find(im->g, im->nodes.data[i].new_name)) status = hr_map_set(&given, im->nodes.data[i].new_name, 1);
  for (int64_t i = 0; !status && i < im->nodes.count; ++i)
    if (hr_graph_find(im->g, im->nodes.data[i].new_name)) {
      status = link_unique_name(im, &given, &im->nodes.data[i]);
      im->renames = true;
    }
  hr_map_deinit(&given);
  return status;
}

static hr_status_t link_new_names(hr_import_t* im) {
  hr_str_t prefix;
  HR_TRY(link_prefix(im, &prefix));
  im->renames = prefix.size > 0;
  for (int64_t i = 0; prefix.size && i < im->nodes.count; ++i) {
    hr_import_node_t* n = &im->nodes.data[i];
    HR_TRY(text_format(im, prefix, "/", n->name, &n->new_name));
  }
  return im->options->uniquify_names ? link_unique_names(im) : NULL;
}

/* --- inputs ---------------------------------------------------------------------------------------------------------------------- */
hr_status_t hr_import_index_maps(hr_import_t* im) {
  const hr_import_options_t* o = im->options;
  im->map_used = hr_alloc_zero((size_t)o->input_map_count + 1);
  im->map_next = hr_alloc_array((size_t)o->input_map_count + 1, sizeof *im->map_next);
  if (!im->map_used || !im->map_next) return hr_status_out_of_memory();
  for (int32_t i = o->input_map_count; i-- > 0;) { /* backwards, so that the first entry is found first */
    uintptr_t next = (uintptr_t)-1;
    hr_map_find(&im->mapped, o->input_map[i].from.node, &next);
    im->map_next[i] = (int32_t)next;
    HR_TRY(hr_map_set(&im->mapped, o->input_map[i].from.node, (uintptr_t)i));
  }
  for (int32_t i = o->control_map_count; i-- > 0;) HR_TRY(hr_map_set(&im->controls_mapped, o->control_map[i].from, (uintptr_t)i));
  return NULL;
}

int32_t hr_import_find_mapped(const hr_import_t* im, hr_str_t name, int32_t index) {
  uintptr_t first;
  if (!hr_map_find(&im->mapped, name, &first)) return -1;
  int32_t i = (int32_t)first;
  while (i >= 0 && im->options->input_map[i].from.index != index) i = im->map_next[i];
  return i;
}

static bool control_take_mapped(hr_import_t* im, hr_import_input_t* in) {
  uintptr_t entry;
  if (!hr_map_find(&im->controls_mapped, in->name, &entry)) return false;
  in->to = (hr_value_t){im->options->control_map[entry].to, 0};
  return true;
}

/* True when the options say where this input comes from. */
static bool input_take_mapped(hr_import_t* im, hr_import_input_t* in) {
  bool found = in->index < 0 && control_take_mapped(im, in);
  int32_t mapped = found ? -1 : hr_import_find_mapped(im, in->name, in->index);
  if (mapped >= 0) {
    im->map_used[mapped] = 1;
    in->to = im->options->input_map[mapped].to;
    found = true;
  }
  if (found) in->producer = HR_IMPORT_MAPPED;
  return found;
}

/* Found when the graph that is extended has it. (A client that differentiates a conditional after it ran gives it more outputs and expects
 * to be told, in these words, how to ask for them from the start.) */
static hr_status_t input_take_existing(hr_import_t* im, hr_import_input_t* in, bool* found) {
  hr_node_t* node = im->options->extends ? hr_graph_find(im->g, in->name) : NULL;
  *found = node != NULL;
  if (!node) return NULL;
  if (in->index >= node->output_count)
    return HR_ERROR(INVALID_ARGUMENT,
                    "Connecting to invalid output %d of source node %.*s which has %d outputs. Try using "
                    "tf.compat.v1.experimental.output_all_intermediates(True).",
                    (int)in->index, HR_STR_ARG(hr_str_slice(in->name, 0, 500)), (int)node->output_count);
  in->to = (hr_value_t){node, in->index < 0 ? 0 : in->index};
  in->producer = HR_IMPORT_MAPPED;
  return NULL;
}

static hr_status_t link_inputs(hr_import_t* im, const hr_import_node_t* n) {
  hr_import_input_t* in = im->inputs.data + n->first_input;
  for (int64_t i = 0; i < (int64_t)n->input_count + n->control_count; ++i, ++in) {
    uintptr_t producer;
    if (in - im->inputs.data + HR_MAP_AHEAD < im->inputs.count) hr_map_prefetch(&im->by_name, in[HR_MAP_AHEAD].name);
    if (input_take_mapped(im, in)) continue;
    const bool found = hr_map_find(&im->by_name, in->name, &producer);
    bool existing = false;
    if (!found)
      HR_TRY(hr_status_note(input_take_existing(im, in, &existing), "node '%.*s' (%.*s): ", HR_STR_ARG(n->name), HR_STR_ARG(n->op)));
    if (existing) continue;
    if (!found)
      return HR_ERROR(INVALID_ARGUMENT, "node '%.*s' (%.*s): input %lld is '%s%.*s', a node that the GraphDef does not have",
                      HR_STR_ARG(n->name), HR_STR_ARG(n->op), (long long)i, in->index < 0 ? "^" : "",
                      HR_STR_ARG(hr_str_slice(in->name, 0, 500)));
    in->producer = (int32_t)producer;
  }
  return NULL;
}

/* --- order ----------------------------------------------------------------------------------------------------------------------- */
enum { ORDER_NEW, ORDER_OPEN, ORDER_DONE };
typedef struct {
  int32_t node;
  int64_t next;
} order_frame_t;
typedef HR_VEC(order_frame_t) order_stack_t;

/* The next producer that this frame's node still waits for; -1. */
static int32_t order_next(const hr_import_t* im, order_frame_t* frame) {
  const hr_import_node_t* n = &im->nodes.data[frame->node];
  int64_t end = (int64_t)n->input_count + n->control_count;
  while (frame->next < end) {
    const hr_import_input_t* in = &im->inputs.data[n->first_input + frame->next++];
    if (in->producer < 0 || im->nodes.data[in->producer].state == ORDER_DONE) continue;
    if (n->is_merge && in->index >= 0 && im->nodes.data[in->producer].is_next_iteration) continue;
    return in->producer;
  }
  return -1;
}

static hr_status_t order_enter(hr_import_t* im, order_stack_t* stack, int32_t node) {
  hr_import_node_t* n = &im->nodes.data[node];
  if (n->state == ORDER_OPEN)
    return HR_ERROR(INVALID_ARGUMENT, "the GraphDef has a cycle through node '%.*s' (%.*s) that no NextIteration closes",
                    HR_STR_ARG(n->name), HR_STR_ARG(n->op));
  n->state = ORDER_OPEN;
  return hr_vec_push(stack, ((order_frame_t){node, 0}));
}

static hr_status_t order_from(hr_import_t* im, order_stack_t* stack, int32_t root) {
  HR_TRY(order_enter(im, stack, root));
  while (stack->count) {
    order_frame_t* top = &stack->data[stack->count - 1];
    int32_t need = order_next(im, top);
    if (need >= 0) {
      HR_TRY(order_enter(im, stack, need));
      continue;
    }
    im->nodes.data[top->node].state = ORDER_DONE;
    HR_TRY(hr_vec_push(&im->order, top->node));
    --stack->count;
  }
  return NULL;
}

static hr_status_t link_order(hr_import_t* im) {
  hr_status_t status = hr_vec_reserve(&im->order, im->nodes.count);
  order_stack_t stack = {0};
  for (int32_t i = 0; !status && i < im->nodes.count; ++i)
    if (im->nodes.data[i].state == ORDER_NEW) status = order_from(im, &stack, i);
  hr_vec_deinit(&stack);
  return status;
}

hr_status_t hr_import_link(hr_import_t* im) {
  HR_TRY(link_names(im));
  HR_TRY(link_new_names(im));
  for (int64_t i = 0; i < im->nodes.count; ++i) HR_TRY(link_inputs(im, &im->nodes.data[i]));
  return link_order(im);
}
