/* SPDX-License-Identifier: Apache-2.0 */
/* Constant folding: a node all of whose inputs are constants becomes constants, computed once, here, by its own kernel.
 *
 * Not folded: what is stateful, random or has side effects; what control edges order; results beyond the size cap. A node whose kernel
 * fails (a division by zero) is left for the step to report. Values in the middle of a folded region are never made nodes; only those that
 * something else reads are. Besides, the graph may know more: values it found from static shapes, which hold unless something but
 * placeholders is fed. */
#include "base/alloc.h"
#include "graph/const_eval.h"
#include "op/node_class.h"
#include "session/passes.h"

typedef struct {
  hr_program_t* p;
  const hr_session_options_t* options;
  hr_tensor_t** values;      /* by node id: the outputs of a folded node, or NULL */
  hr_arena_t arena;          /* of those arrays */
  HR_VEC(hr_node_t*) folded; /* in order */
} fold_t;

static const hr_tensor_t* known_value(const fold_t* f, hr_value_t v) {
  if (f->values[v.node->id]) return &f->values[v.node->id][v.index];
  return hr_program_constant(v);
}

static bool types_are_values(const int32_t* types, int32_t count) {
  for (int32_t i = 0; i < count; ++i)
    if (types[i] == HR_RESOURCE || types[i] == HR_VARIANT) return false;
  return true;
}

/* What the static shapes say of the size; unknown shapes pass, and are measured afterwards. */
static bool outputs_fit(const fold_t* f, const hr_node_t* n) {
  int64_t total = 0;
  for (int32_t i = 0; i < n->output_count; ++i) {
    hr_shape_t shape;
    if (!hr_pshape_to_shape(n->shapes[i], &shape)) continue;
    int64_t element = (int64_t)hr_dtype_size(hr_dtype_base(n->output_types[i])), bytes;
    if (!hr_i64_mul(hr_shape_count(&shape), element, &bytes) || bytes > f->options->max_folded_bytes - total) return false;
    total += bytes;
  }
  return true;
}

static bool node_is_eligible(const fold_t* f, const hr_node_t* n) {
  if (n->output_count == 0 || n->control_count > 0 || n->attrs.def->node_class == HR_NODE_CONST || hr_program_is_fixed(n)) return false;
  return types_are_values(n->output_types, n->output_count) && outputs_fit(f, n);
}

static bool inputs_are_known(const fold_t* f, const hr_node_t* n, const hr_tensor_t** inputs) {
  for (int32_t i = 0; i < n->input_count; ++i)
    if (!(inputs[i] = known_value(f, n->inputs[i]))) return false;
  return n->input_count > 0;
}

static bool results_fit(const fold_t* f, const hr_node_t* n, const hr_tensor_t* outputs) {
  int64_t total = 0;
  for (int32_t i = 0; i < n->output_count; ++i) total += (int64_t)hr_tensor_bytes(&outputs[i]);
  return total <= f->options->max_folded_bytes;
}

static void release_outputs(const hr_node_t* n, hr_tensor_t* outputs) {
  for (int32_t i = 0; i < n->output_count; ++i) hr_tensor_release(&outputs[i]);
}

static hr_status_t keep_outputs(fold_t* f, hr_node_t* n, hr_tensor_t* outputs) {
  hr_status_t status = hr_vec_push(&f->folded, n);
  if (status) release_outputs(n, outputs);
  else f->values[n->id] = outputs;
  return status;
}

static hr_status_t fold_node(fold_t* f, hr_node_t* n) {
  bool told = f->p->feeds_placeholders_only && n->constant && n->output_count == 1;
  const hr_tensor_t** inputs = hr_arena_array(&f->arena, (size_t)n->input_count, sizeof *inputs);
  if (!inputs) return hr_status_out_of_memory();
  if (!told && !inputs_are_known(f, n, inputs)) return NULL;
  hr_tensor_t* outputs = hr_arena_array(&f->arena, (size_t)n->output_count, sizeof *outputs);
  if (!outputs) return hr_status_out_of_memory();
  if (told) {
    hr_tensor_share(n->constant, &outputs[0]);
    return keep_outputs(f, n, outputs);
  }
  hr_status_t status = hr_const_eval_node(n, inputs, outputs);
  if (status) {
    hr_status_release(status);
    return NULL;
  }
  if (results_fit(f, n, outputs)) return keep_outputs(f, n, outputs);
  release_outputs(n, outputs);
  return NULL;
}

/* An output that something not folded reads. */
static bool output_is_read(const fold_t* f, const hr_node_t* n, int32_t output) {
  for (int64_t i = 0; i < n->consumers.count; ++i)
    if (n->consumers.data[i].output == output && !f->values[n->consumers.data[i].node->id]) return true;
  for (int32_t i = 0; hr_program_is_fetched(f->p, n) && i < f->p->fetch_count; ++i)
    if (f->p->fetches[i].node == n && f->p->fetches[i].index == output) return true;
  return false;
}

static hr_status_t replace_node(fold_t* f, hr_node_t* n) {
  for (int32_t i = 0; i < n->output_count; ++i) {
    hr_node_t* constant = NULL;
    if (!output_is_read(f, n, i)) continue;
    HR_TRY(hr_program_add_const(f->p, &f->values[n->id][i], n, &constant));
    HR_TRY(hr_program_replace(f->p, (hr_value_t){n, i}, (hr_value_t){constant, 0}));
  }
  return hr_program_replace_control(f->p, n, NULL);
}

static hr_status_t fold_program(fold_t* f, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    hr_node_t* n = f->p->graph->nodes.data[i];
    if (node_is_eligible(f, n)) HR_TRY(fold_node(f, n));
  }
  for (int64_t i = 0; i < f->folded.count; ++i) HR_TRY(replace_node(f, f->folded.data[i]));
  return NULL;
}

hr_status_t hr_pass_fold(hr_program_t* p, const hr_session_options_t* o) {
  int64_t count = p->graph->nodes.count;
  fold_t f = {.p = p, .options = o, .values = hr_alloc_array((size_t)count + 1, sizeof *f.values)};
  if (!f.values) return hr_status_out_of_memory();
  hr_arena_init(&f.arena);
  hr_status_t status = fold_program(&f, count);
  for (int64_t i = 0; i < f.folded.count; ++i) release_outputs(f.folded.data[i], f.values[f.folded.data[i]->id]);
  hr_vec_deinit(&f.folded);
  hr_arena_deinit(&f.arena);
  hr_free(f.values);
  return status;
}
