/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient of a loop: a loop that runs as many iterations, the last first.
 *
 * The forward loop gets a counter; its last value is how often the gradient's loop runs. Each variable through which a gradient flows has
 * a variable there: it starts as what flows into the Exit (zeros where nothing does), is in each iteration what flows into the variable's
 * next value, and becomes what flows into its value before. What an iteration uses unchanged (a constant Enter) has a variable in which
 * its gradients are added up, from zeros on. The body's own nodes are walked as elsewhere, in the place of the gradient's loop. */
#include "graph/grad_pass.h"
#include "op/node_class.h"

typedef struct {
  hr_node_t *enter, *merge, *sw, *exit, *next; /* exit may be NULL */
  bool flows;                                  /* a gradient flows through it */
  hr_value_t start;                            /* of the gradient's variable, in the place around */
  hr_value_t merged, live, left;               /* its Merge; its value in an iteration; its Exit */
} loop_var_t;

typedef struct {
  hr_grad_pass_t* p;
  int32_t frame;
  hr_node_t* cond;
  loop_var_t* vars;
  int var_count;
  hr_grad_place_t *forward, *around, *back; /* the loop; where the gradient's loop stands; that loop */
  hr_value_t back_cond;
} while_t;

/* --- the forward loop's variables ---------------------------------------------------------------------------------------------------- */
static hr_node_t* consumer_of(const hr_grad_pass_t* p, hr_value_t v, bool (*is_it)(const hr_node_t*)) { /* of those there at the start */
  for (int64_t i = 0; i < v.node->consumers.count; ++i) {
    hr_node_t* n = v.node->consumers.data[i].node;
    if (v.node->consumers.data[i].output == v.index && n->id < p->info_count && is_it(n)) return n;
  }
  return NULL;
}

static bool is_exit(const hr_node_t* n) { return hr_grad_is_class(n, HR_NODE_EXIT); }

static hr_status_t odd_loop(const hr_node_t* n) {
  return HR_ERROR(UNIMPLEMENTED, "the loop variable of '%s' is not Enter, Merge, Switch and NextIteration, so the loop has no gradient",
                  n->name.data);
}

static hr_status_t find_var(while_t* w, hr_node_t* enter, loop_var_t* v) {
  v->enter = enter;
  v->merge = consumer_of(w->p, (hr_value_t){enter, 0}, hr_grad_is_loop_merge);
  if (!v->merge || v->merge->input_count != 2) return odd_loop(enter);
  v->sw = consumer_of(w->p, (hr_value_t){v->merge, 0}, hr_grad_is_loop_switch);
  v->next = v->merge->inputs[v->merge->inputs[0].node == enter].node;
  if (!v->sw || !v->next) return odd_loop(enter);
  v->exit = consumer_of(w->p, (hr_value_t){v->sw, 0}, is_exit);
  return NULL;
}

static bool is_constant_enter(const hr_node_t* n) { return hr_attrs_bool(&n->attrs, "is_constant"); }

static hr_status_t find_vars(while_t* w) {
  const hr_grad_loop_t* l = &w->p->loops[w->frame];
  w->vars = hr_arena_array(&w->p->arena, (size_t)l->enters.count, sizeof *w->vars);
  if (!w->vars) return hr_status_out_of_memory();
  for (int64_t i = 0; i < l->enters.count; ++i) {
    hr_node_t* enter = l->enters.data[i];
    if (is_constant_enter(enter) || !hr_grad_paths_is_trainable(enter->output_types[0])) continue;
    HR_TRY(find_var(w, enter, &w->vars[w->var_count++]));
  }
  return NULL;
}

static loop_var_t* var_of_switch(while_t* w, const hr_node_t* sw) {
  for (int i = 0; i < w->var_count; ++i)
    if (w->vars[i].sw == sw) return &w->vars[i];
  return NULL;
}

/* --- through which variables gradients flow ------------------------------------------------------------------------------------------ */
typedef HR_VEC(hr_node_t*) node_stack_t;

static hr_status_t flow_into(while_t* w, node_stack_t* stack, hr_value_t v);
static hr_status_t flow_open(while_t* w, node_stack_t* stack, loop_var_t* v) {
  if (!v || v->flows || !hr_grad_paths_lead_to_x(w->p, (hr_value_t){v->sw, 1})) return NULL;
  v->flows = true;
  return flow_into(w, stack, v->next->inputs[0]);
}

static hr_status_t flow_into(while_t* w, node_stack_t* stack, hr_value_t v) {
  hr_grad_info_t* info = &w->p->info[v.node->id];
  if (!hr_grad_paths_lead_to_x(w->p, v) || info->mark == w->p->marks) return NULL;
  info->mark = w->p->marks;
  return hr_vec_push(stack, v.node);
}

static hr_status_t flow_through(while_t* w, node_stack_t* stack, hr_node_t* n) {
  if (hr_grad_is_loop_switch(n) && w->p->frames.of_node[n->id] == w->frame) return flow_open(w, stack, var_of_switch(w, n));
  if (hr_grad_is_class(n, HR_NODE_EXIT)) { /* of a loop within: through all that enters it */
    const hr_grad_loop_t* inner = &w->p->loops[w->p->frames.of_node[n->id]];
    for (int64_t i = 0; i < inner->enters.count; ++i) HR_TRY(flow_into(w, stack, inner->enters.data[i]->inputs[0]));
    return NULL;
  }
  if (hr_grad_is_class(n, HR_NODE_ENTER) || hr_registry_grad(n->attrs.def) == hr_grad_none) return NULL;
  for (int i = 0; i < n->input_count; ++i) HR_TRY(flow_into(w, stack, n->inputs[i]));
  return NULL;
}

static hr_status_t find_flow(while_t* w, bool* out_any) {
  node_stack_t stack = {0};
  hr_status_t status = NULL;
  ++w->p->marks;
  for (int i = 0; !status && i < w->var_count; ++i) {
    hr_value_t out = {w->vars[i].exit, 0};
    if (out.node && hr_grad_accumulate_sum(w->p, out) && !hr_grad_paths_is_stop(w->p, out)) status = flow_open(w, &stack, &w->vars[i]);
  }
  while (!status && stack.count > 0) status = flow_through(w, &stack, stack.data[--stack.count]);
  hr_vec_deinit(&stack);
  for (int i = 0; i < w->var_count; ++i) *out_any |= w->vars[i].flows;
  return status;
}

/* --- making loop variables ----------------------------------------------------------------------------------------------------------- */
/* Enter and Merge, whose other input is still missing. */
static hr_status_t begin_var(hr_grad_pass_t* p, hr_grad_place_t* at, hr_value_t start, const hr_pshape_t* shape, hr_value_t* merged) {
  const hr_named_attr_t enter_attrs[] = {hr_at("frame_name", HR_AT_SCALAR(HR_ATTR_STRING, s, at->name)), hr_at_bool("is_constant", false),
                                         hr_at_int("parallel_iterations", at->parallel)};
  hr_value_t both[] = {HR_NO_VALUE, HR_NO_VALUE};
  HR_TRY(hr_grad_place_bring(p, start, at->parent, &start));
  hr_node_desc_t enter = {
      .op = HR_STR("Enter"), .device = HR_STR(""), .inputs = &start, .input_count = 1, .attrs = enter_attrs, .attr_count = 3};
  HR_TRY(hr_grad_place_add_raw(p, at, &enter, &both[0]));
  const hr_named_attr_t merge_attrs[] = {hr_at_type("T", (int)hr_dtype_base(hr_value_type(start))), hr_at_int("N", 2)};
  hr_node_desc_t merge = {.op = HR_STR("Merge"),
                          .device = HR_STR(""),
                          .inputs = both,
                          .input_count = 2,
                          .attrs = merge_attrs,
                          .attr_count = 2,
                          .allow_missing_inputs = true};
  HR_TRY(hr_grad_place_add_raw(p, at, &merge, merged));
  return shape->rank < 0 ? NULL : hr_graph_refine_shape(p->g, *merged, shape);
}

/* Switch; *live is the value in an iteration, *left the Exit, of the place around. */
static hr_status_t open_var(hr_grad_pass_t* p, hr_grad_place_t* at, hr_value_t merged, hr_value_t cond, hr_value_t* live,
                            hr_value_t* left) {
  hr_value_t inputs[] = {merged, cond}, sw;
  hr_node_desc_t d = {.op = HR_STR("Switch"), .device = HR_STR(""), .inputs = inputs, .input_count = 2};
  HR_TRY(hr_grad_place_add_raw(p, at, &d, &sw));
  *live = hr_emit_nth(sw, 1);
  hr_node_desc_t exit = {.op = HR_STR("Exit"), .device = HR_STR(""), .inputs = &sw, .input_count = 1};
  return left ? hr_grad_place_add_raw(p, at->parent, &exit, left) : NULL;
}

static hr_status_t close_var(hr_grad_pass_t* p, hr_grad_place_t* at, hr_value_t merged, hr_value_t next) {
  hr_value_t brought, back;
  bool is_invariant = hr_grad_place_home(p, next) != at;
  HR_TRY(hr_grad_place_bring(p, next, at, &brought));
  if (is_invariant) { /* alive after the last iteration too, which would have it go on for ever */
    hr_value_t always = brought;
    hr_node_desc_t gate = {.op = HR_STR("Identity"),
                           .device = HR_STR(""),
                           .inputs = &always,
                           .input_count = 1,
                           .controls = &at->pivot.node,
                           .control_count = 1};
    HR_TRY(hr_grad_place_add_raw(p, at, &gate, &brought));
  }
  hr_node_desc_t d = {.op = HR_STR("NextIteration"), .device = HR_STR(""), .inputs = &brought, .input_count = 1};
  HR_TRY(hr_grad_place_add_raw(p, at, &d, &back));
  return hr_graph_set_input(p->g, merged.node, 1, back);
}

/* Iterations so far, in the forward loop; *total: how many there were. */
static hr_status_t count_forward(while_t* w, hr_value_t* total) {
  hr_grad_pass_t* p = w->p;
  hr_value_t zero, one, merged, live, step;
  HR_TRY(hr_grad_place_int(p, w->forward->parent, 0, w->forward->parent->pivot.node, &zero));
  HR_TRY(hr_grad_place_int(p, NULL, 1, NULL, &one));
  HR_TRY(begin_var(p, w->forward, zero, &hr_pshape_scalar, &merged));
  HR_TRY(open_var(p, w->forward, merged, (hr_value_t){w->cond, 0}, &live, total));
  HR_TRY(hr_grad_place_add(p, w->forward, "Identity", 1, &live, HR_NO_ATTRS, &w->forward->pivot));
  HR_TRY(hr_grad_place_add(p, w->forward, "AddV2", HR_VALUES(w->forward->pivot, one), HR_NO_ATTRS, &step));
  w->forward->tail = step.node;
  return close_var(p, w->forward, merged, step);
}

/* Iterations left, in the gradient's loop. */
static hr_status_t count_back(while_t* w, hr_value_t total) {
  hr_grad_pass_t* p = w->p;
  const hr_grad_guard_t* guard;
  hr_value_t zero, one, merged, live, left, step, more;
  HR_TRY(hr_grad_place_int(p, NULL, 0, NULL, &zero));
  HR_TRY(hr_grad_place_int(p, NULL, 1, NULL, &one));
  HR_TRY(begin_var(p, w->back, total, &hr_pshape_scalar, &merged));
  HR_TRY(hr_grad_place_add(p, w->back, "Greater", HR_VALUES(merged, zero), HR_NO_ATTRS, &more));
  HR_TRY(hr_grad_place_add(p, w->back, "LoopCond", 1, &more, HR_NO_ATTRS, &w->back_cond));
  HR_TRY(open_var(p, w->back, merged, w->back_cond, &live, w->around->tail ? &left : NULL));
  if (w->around->tail) {
    HR_TRY(hr_grad_guard_find(p, total, &guard));
    HR_TRY(hr_grad_place_tie(p, w->around, left.node, guard != NULL));
  }
  HR_TRY(hr_grad_place_add(p, w->back, "Identity", 1, &live, HR_NO_ATTRS, &w->back->pivot));
  HR_TRY(hr_grad_place_add(p, w->back, "Sub", HR_VALUES(w->back->pivot, one), HR_NO_ATTRS, &step));
  w->back->tail = step.node;
  return close_var(p, w->back, merged, step);
}

static hr_status_t make_back_place(while_t* w) {
  hr_strbuf_t text;
  hr_str_t name;
  hr_strbuf_init(&text);
  hr_strbuf_format(&text, "%.*s/%.*s_grad", HR_STR_ARG(w->p->source), HR_STR_ARG(w->forward->name));
  hr_status_t status = text.failed || !hr_arena_str(&w->p->arena, hr_strbuf_view(&text), &name) ? hr_status_out_of_memory() : NULL;
  hr_strbuf_deinit(&text);
  return status ? status : hr_grad_place_create(w->p, w->around, w->frame, true, name, &w->back);
}

/* --- the gradient's variables -------------------------------------------------------------------------------------------------------- */
static hr_status_t merged_dense(hr_grad_pass_t* p, hr_value_t v, hr_value_t* out) { /* *out.node NULL: nothing flowed into v */
  hr_grad_sum_t* sum = hr_grad_accumulate_sum(p, v);
  hr_grad_call_t c;
  *out = HR_NO_VALUE;
  if (!sum || hr_grad_paths_is_stop(p, v)) return NULL;
  HR_TRY(hr_grad_accumulate_merge(p, sum));
  hr_grad_emit_begin(&c, p, NULL);
  HR_TRY(hr_grad_accumulate_densify(&c, sum->first));
  *out = sum->first->dense;
  return NULL;
}

static hr_status_t dense_or_zeros(hr_grad_pass_t* p, hr_value_t v, hr_value_t like, hr_value_t* out) {
  hr_grad_call_t c;
  if (v.node) HR_TRY(merged_dense(p, v, out));
  if (v.node && out->node) return NULL;
  hr_grad_emit_begin(&c, p, NULL);
  *out = hr_grad_place_zeros(&c, like);
  return c.base.failure;
}

/* What a variable's gradient looks like where nothing flowed into `v`: like v; but of a handle, which stays the same, more is known before
 * the loop. */
static hr_value_t var_like(const loop_var_t* var, hr_value_t v) {
  return v.node && hr_dtype_base(hr_value_type(v)) != HR_RESOURCE ? v : var->enter->inputs[0];
}

/* What the gradient's variables start with: emitted around the loop. */
static hr_status_t start_vars(while_t* w) {
  for (int i = 0; i < w->var_count; ++i) {
    loop_var_t* v = &w->vars[i];
    hr_value_t exit = {v->exit, 0};
    if (v->flows) HR_TRY(dense_or_zeros(w->p, exit, var_like(v, exit), &v->start));
  }
  return NULL;
}

static hr_status_t open_vars(while_t* w) {
  for (int i = 0; i < w->var_count; ++i) {
    loop_var_t* v = &w->vars[i];
    if (!v->flows) continue;
    HR_TRY(begin_var(w->p, w->back, v->start, v->merge->shapes[0], &v->merged));
    HR_TRY(open_var(w->p, w->back, v->merged, w->back_cond, &v->live, &v->left));
    HR_TRY(hr_grad_accumulate_dense(w->p, v->next->inputs[0], v->live));
  }
  return NULL;
}

static hr_status_t close_vars(while_t* w) {
  for (int i = 0; i < w->var_count; ++i) {
    loop_var_t* v = &w->vars[i];
    hr_value_t next;
    if (!v->flows) continue;
    HR_TRY(dense_or_zeros(w->p, (hr_value_t){v->sw, 1}, var_like(v, (hr_value_t){v->sw, 1}), &next));
    HR_TRY(close_var(w->p, w->back, v->merged, next));
  }
  return NULL;
}

/* One constant Enter: its gradients added up over the iterations. */
static hr_status_t add_up_constant(while_t* w, hr_node_t* enter, hr_value_t* total) {
  hr_grad_pass_t* p = w->p;
  hr_value_t part, zeros, merged, live, sum;
  *total = HR_NO_VALUE;
  HR_TRY(merged_dense(p, (hr_value_t){enter, 0}, &part));
  if (!part.node) return NULL;
  p->here = w->around;
  hr_status_t status = dense_or_zeros(p, HR_NO_VALUE, enter->inputs[0], &zeros);
  p->here = w->back;
  if (status) return status;
  HR_TRY(begin_var(p, w->back, zeros, hr_value_shape(zeros), &merged));
  HR_TRY(open_var(p, w->back, merged, w->back_cond, &live, total));
  const char* add = hr_dtype_base(hr_value_type(part)) == HR_VARIANT ? "AddN" : "AddV2"; /* lists of tensors have the one alone */
  HR_TRY(hr_grad_place_add(p, w->back, add, HR_VALUES(live, part), HR_NO_ATTRS, &sum));
  return close_var(p, w->back, merged, sum);
}

static hr_status_t give_constants(while_t* w, hr_value_t* totals) {
  const hr_grad_loop_t* l = &w->p->loops[w->frame];
  for (int64_t i = 0; i < l->enters.count; ++i)
    if (is_constant_enter(l->enters.data[i])) HR_TRY(add_up_constant(w, l->enters.data[i], &totals[i]));
  w->p->here = w->around;
  for (int64_t i = 0; i < l->enters.count; ++i)
    if (totals[i].node) HR_TRY(hr_grad_accumulate_dense(w->p, l->enters.data[i]->inputs[0], totals[i]));
  return NULL;
}

static hr_status_t give_vars(while_t* w) {
  for (int i = 0; i < w->var_count; ++i)
    if (w->vars[i].flows) HR_TRY(hr_grad_accumulate_dense(w->p, w->vars[i].enter->inputs[0], w->vars[i].left));
  return NULL;
}

/* --- the whole ------------------------------------------------------------------------------------------------------------------------ */
static hr_status_t build_back(while_t* w) {
  hr_value_t total, *totals = hr_arena_array(&w->p->arena, (size_t)w->p->loops[w->frame].enters.count, sizeof *totals);
  if (!totals) return hr_status_out_of_memory();
  HR_TRY(count_forward(w, &total));
  HR_TRY(start_vars(w));
  HR_TRY(make_back_place(w));
  HR_TRY(count_back(w, total));
  HR_TRY(open_vars(w));
  w->p->here = w->back;
  HR_TRY(hr_grad_walk_items(w->p, w->frame));
  HR_TRY(close_vars(w));
  HR_TRY(give_constants(w, totals));
  return give_vars(w);
}

hr_status_t hr_grad_while_build(hr_grad_pass_t* p, int32_t frame) {
  while_t w = {.p = p, .frame = frame, .cond = p->frames.frames.data[frame].loop_cond, .forward = p->forward[frame], .around = p->here};
  enum { MOST_DEEP = 200 }; /* loops within loops, each a call within a call */
  bool any = false;
  if (p->frames.frames.data[frame].depth > MOST_DEEP) return HR_ERROR(UNIMPLEMENTED, "gradients of loops more than %d deep", MOST_DEEP);
  hr_status_t status = w.cond ? find_vars(&w) : HR_ERROR(UNIMPLEMENTED, "the loop has no LoopCond, so it has no gradient");
  if (!status) status = find_flow(&w, &any);
  if (!status && any) status = build_back(&w);
  p->here = w.around;
  if (!status) return NULL;
  return hr_status_note(status, "gradient of loop '%.*s': ", HR_STR_ARG(w.forward->name));
}
