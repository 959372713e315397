/* SPDX-License-Identifier: Apache-2.0 */
/* Functions expanded in the working copy (graph/expand.h): fetches and targets follow what stands for them. Afterwards ids are topological
 * again. What a gradient recomputes because it was built apart from the call (graph/grad_call.c) is joined with the call's own nodes where
 * both are here: then numbers drawn and things done within the call are drawn and done once. */
#include "graph/expand.h"
#include "session/passes.h"

static hr_program_t* program_of(const hr_expand_t* x) { return x->owner; }

static hr_status_t edit_replace(hr_expand_t* x, hr_value_t from, hr_value_t to) { return hr_program_replace(program_of(x), from, to); }
static hr_status_t edit_replace_control(hr_expand_t* x, hr_node_t* from, hr_node_t* to) {
  return hr_program_replace_control(program_of(x), from, to);
}
static hr_status_t edit_must_run(hr_expand_t* x, hr_node_t* node) { return hr_program_add_target(program_of(x), node); }
static hr_status_t edit_added(hr_expand_t* x, const hr_node_t* like) { return hr_program_adopt(program_of(x), like); }
static hr_status_t edit_removed(hr_expand_t* x, hr_node_t* node) { return hr_graph_remove(x->g, node); }
static bool edit_is_asked(const hr_expand_t* x, const hr_node_t* node) { return hr_program_is_target(program_of(x), node); }

static const hr_expand_edit_t program_edit = {edit_replace, edit_replace_control, edit_must_run, edit_added, edit_removed, edit_is_asked};

static hr_status_t join_twins(hr_program_t* p) {
  for (int64_t i = 0; i < p->graph->nodes.count; ++i) {
    hr_node_t* n = p->graph->nodes.data[i];
    hr_str_t name = n ? hr_expand_twin_of(n) : HR_STR("");
    hr_node_t* twin = name.size ? hr_graph_find(p->graph, name) : NULL;
    if (!twin || twin == n || twin->attrs.def != n->attrs.def || twin->output_count != n->output_count) continue;
    for (int32_t k = 0; k < n->output_count; ++k) HR_TRY(hr_program_replace(p, (hr_value_t){n, k}, (hr_value_t){twin, k}));
    HR_TRY(hr_program_replace_control(p, n, twin));
    HR_TRY(hr_graph_remove(p->graph, n));
  }
  return NULL;
}

hr_status_t hr_pass_inline(hr_program_t* p, const hr_session_options_t* o) {
  hr_expand_t x;
  (void)o;
  hr_expand_init(&x, p->graph, &program_edit, p);
  x.lowers = true;
  hr_status_t status = hr_expand_push(&x, p->graph->nodes.data, p->graph->nodes.count, -1);
  bool any = x.items.count > 0;
  if (!status && any) status = hr_expand_run(&x);
  if (!status && any) status = join_twins(p);
  if (!status && any) status = hr_program_renumber(p);
  hr_expand_deinit(&x);
  return status;
}
