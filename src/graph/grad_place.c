/* SPDX-License-Identifier: Apache-2.0 */
/* Where the nodes of a gradient run, and how values get there.
 *
 * Outside loops a gradient uses forward values as they are. The gradient of a loop is a loop of its own that runs the iterations
 * backwards, and a forward value of iteration i is needed in its iteration n - 1 - i: it is pushed on a stack as it is made and popped
 * there. Stacks are made where the ys stand, one for each value, also for values of loops within loops. What is the same in every iteration
 * is not pushed but entered, constants are made anew, and of a value of which only the shape counts only the shape is pushed.
 *
 * Order: the counter's value comes before an iteration's pushes (pops), and its step after them, so iterations push one after another
 * however many of them run at once; a loop within a loop starts to count after the outer counter, which waits for its end. A value in a
 * branch is pushed when the branch is taken; its pop gets the handle through a Switch. */
#include <stdio.h>
#include "graph/const_eval.h"
#include "graph/grad_pass.h"
#include "op/node_class.h"

/* --- classes ------------------------------------------------------------------------------------------------------------------------ */
bool hr_grad_is_class(const hr_node_t* n, int node_class) { return hr_node_class_plain(n->attrs.def->node_class) == node_class; }

bool hr_grad_is_loop_switch(const hr_node_t* n) {
  return hr_grad_is_class(n, HR_NODE_SWITCH) && n->inputs[1].node && hr_grad_is_class(n->inputs[1].node, HR_NODE_LOOP_COND);
}

bool hr_grad_is_loop_merge(const hr_node_t* n) {
  if (!hr_grad_is_class(n, HR_NODE_MERGE)) return false;
  for (int i = 0; i < n->input_count; ++i)
    if (!n->inputs[i].node || hr_grad_is_class(n->inputs[i].node, HR_NODE_NEXT_ITERATION)) return true;
  return false;
}

/* --- places ------------------------------------------------------------------------------------------------------------------------- */
hr_status_t hr_grad_place_create(hr_grad_pass_t* p, hr_grad_place_t* parent, int32_t frame, bool is_reverse, hr_str_t name,
                                 hr_grad_place_t** out) {
  hr_grad_place_t* made = hr_arena_alloc(&p->arena, sizeof *made);
  if (!made) return hr_status_out_of_memory();
  *made = (hr_grad_place_t){.parent = parent,
                            .next_made = p->made,
                            .frame = frame,
                            .is_reverse = is_reverse,
                            .name = name,
                            .parallel = p->frames.frames.data[frame].parallel_iterations};
  hr_map_init(&made->known);
  p->made = made;
  *out = made;
  return NULL;
}

/* A node of the base's loop that runs at the start of every iteration: constants wait for it. NULL at the root. */
static hr_node_t* find_anchor(const hr_grad_pass_t* p) {
  const hr_grad_loop_t* l = &p->loops[p->base->frame];
  for (int64_t i = 0; p->base->parent && i < l->enters.count; ++i) {
    const hr_node_t* enter = l->enters.data[i];
    for (int64_t j = 0; j < enter->consumers.count; ++j)
      if (hr_grad_is_class(enter->consumers.data[j].node, HR_NODE_MERGE)) return enter->consumers.data[j].node;
  }
  return p->base->parent ? p->request->ys[0].node : NULL;
}

static int32_t common_frame(const hr_grad_pass_t* p) { /* of the ys */
  return p->request->y_count ? hr_frames_of_output(&p->frames, p->request->ys[0].node) : 0;
}

static hr_status_t make_forward_places(hr_grad_pass_t* p) {
  int64_t count = p->frames.frames.count;
  p->forward = hr_arena_array(&p->arena, (size_t)count, sizeof(hr_grad_place_t*));
  if (!p->forward) return hr_status_out_of_memory();
  for (int32_t f = 0; f < count; ++f) {
    const hr_frame_info_t* info = &p->frames.frames.data[f];
    hr_grad_place_t* parent = f ? p->forward[info->parent] : NULL;
    HR_TRY(hr_grad_place_create(p, parent, f, false, info->name, &p->forward[f]));
  }
  return NULL;
}

hr_status_t hr_grad_place_start(hr_grad_pass_t* p) {
  HR_TRY(make_forward_places(p));
  p->base = p->here = p->forward[common_frame(p)];
  p->anchor = find_anchor(p);
  for (int32_t i = 1; i < p->request->y_count; ++i) { /* the first stands there */
    if (hr_grad_place_home(p, p->request->ys[i]) == p->base) continue;
    return HR_ERROR(INVALID_ARGUMENT, "the ys stand in different loops: '%s' and '%s'", p->request->ys[0].node->name.data,
                    p->request->ys[i].node->name.data);
  }
  return NULL;
}

void hr_grad_place_deinit(hr_grad_pass_t* p) {
  for (hr_grad_place_t* place = p->made; place; place = place->next_made) hr_map_deinit(&place->known);
  for (int64_t f = 0; p->loops && f < p->frames.frames.count; ++f) {
    hr_vec_deinit(&p->loops[f].enters);
    hr_vec_deinit(&p->loops[f].items);
  }
  hr_vec_deinit(&p->homes);
  hr_frames_deinit(&p->frames);
}

hr_grad_place_t* hr_grad_place_home(const hr_grad_pass_t* p, hr_value_t v) {
  if (v.node->id >= p->info_count) return p->homes.data[v.node->id - p->info_count];
  return p->forward[hr_frames_of_output(&p->frames, v.node)];
}

static bool place_is_around(const hr_grad_place_t* outer, const hr_grad_place_t* inner) { /* or the same */
  while (inner && inner != outer) inner = inner->parent;
  return inner != NULL;
}

/* The place around or at `to` that runs the forward frame of `home` backwards; NULL: none does. */
static hr_grad_place_t* reverse_of(const hr_grad_place_t* home, hr_grad_place_t* to) {
  if (home->is_reverse) return NULL;
  while (to && !(to->is_reverse && to->frame == home->frame)) to = to->parent;
  return to;
}

/* --- adding ------------------------------------------------------------------------------------------------------------------------- */
/* Nodes of a body that a call was replaced by are named under the call already, as is what this walk adds: said once, or names would double
 * with each call within a call. */
static hr_str_t own_name(const hr_grad_pass_t* p, const hr_node_t* of) {
  size_t scope = p->prefix.size;
  while (scope > 0 && p->prefix.data[scope - 1] != '/') --scope;
  const bool is_within = p->request->call_depth > 0 && scope > 0 && hr_str_has_prefix(of->name, hr_str_slice(p->prefix, 0, scope));
  return is_within ? hr_str_slice(of->name, scope, of->name.size) : of->name;
}

hr_status_t hr_grad_place_name(hr_grad_pass_t* p, const hr_node_t* of, const char* op, hr_str_t* out) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  if (of)
    hr_strbuf_format(&text, "%.*s/%.*s_grad/%s", HR_STR_ARG(p->prefix), HR_STR_ARG(own_name(p, of)), op);
  else
    hr_strbuf_format(&text, "%.*s/%s", HR_STR_ARG(p->prefix), op);
  hr_status_t status = text.failed ? hr_status_out_of_memory() : hr_graph_unique_name(p->g, hr_strbuf_view(&text), out);
  hr_strbuf_deinit(&text);
  return status;
}

hr_status_t hr_grad_place_add_raw(hr_grad_pass_t* p, hr_grad_place_t* home, const hr_node_desc_t* desc, hr_value_t* out) {
  hr_node_t* node = NULL;
  hr_node_desc_t d = *desc;
  if (!d.name.size) HR_TRY(hr_grad_place_name(p, NULL, d.op.data, &d.name));
  HR_TRY(hr_graph_add(p->g, &d, &node));
  while (p->homes.count < node->id - p->info_count) HR_TRY(hr_vec_push(&p->homes, (hr_grad_place_t*)p->forward[0]));
  HR_TRY(hr_vec_push(&p->homes, home));
  *out = (hr_value_t){node, 0};
  return NULL;
}

/* Within a loop a constant has to wait for something of the loop: for `after`, at the base for the anchor. */
static hr_status_t add_constant(hr_grad_pass_t* p, const hr_tensor_t* t, hr_node_t* after, hr_grad_place_t* at, hr_value_t* out) {
  const hr_named_attr_t attrs[] = {hr_at_tensor("value", t), hr_at_type("dtype", (int)t->dtype)};
  if (!after) after = p->anchor;
  hr_node_desc_t desc = {
      .op = HR_STR("Const"), .device = HR_STR(""), .attrs = attrs, .attr_count = 2, .controls = &after, .control_count = after ? 1 : 0};
  return hr_grad_place_add_raw(p, at, &desc, out);
}

hr_status_t hr_grad_place_int(hr_grad_pass_t* p, hr_grad_place_t* at, int32_t value, hr_node_t* after, hr_value_t* out) {
  hr_tensor_t t;
  HR_TRY(hr_tensor_from_i32(value, &t));
  hr_status_t status = add_constant(p, &t, after, after ? at : p->base, out);
  hr_tensor_release(&t);
  return status;
}

static hr_status_t bring_all(hr_grad_pass_t* p, int count, const hr_value_t* inputs, hr_grad_place_t* to, const hr_value_t** out) {
  hr_value_t* brought = hr_arena_array(&p->arena, (size_t)count, sizeof *brought);
  if (!brought) return hr_status_out_of_memory();
  for (int i = 0; i < count; ++i) HR_TRY(hr_grad_place_bring(p, inputs[i], to, &brought[i]));
  *out = brought;
  return NULL;
}

hr_status_t hr_grad_place_add(hr_grad_pass_t* p, hr_grad_place_t* at, const char* op, int input_count, const hr_value_t* inputs,
                              int attr_count, const hr_named_attr_t* attrs, hr_value_t* out) {
  hr_node_desc_t desc = {.op = hr_str(op), .device = HR_STR(""), .input_count = input_count, .attrs = attrs, .attr_count = attr_count};
  HR_TRY(bring_all(p, input_count, inputs, at, &desc.inputs));
  return hr_grad_place_add_raw(p, at, &desc, out);
}

/* --- values that are the same in all iterations ------------------------------------------------------------------------------------- */
/* What v is a copy of. An Identity that waits for something stays: it may stand in a branch; so does one that reads a variable. */
static hr_value_t origin(hr_value_t v) {
  for (;;) {
    const hr_node_t* n = v.node;
    bool is_copy = n->attrs.def->node_class == HR_NODE_IDENTITY && n->control_count == 0 && !hr_dtype_is_ref(hr_value_type(n->inputs[0]));
    bool is_invariant = hr_grad_is_class(n, HR_NODE_ENTER) && hr_attrs_bool(&n->attrs, "is_constant");
    if (!is_copy && !is_invariant) return v;
    v = n->inputs[0];
  }
}

static hr_status_t constant_of(hr_grad_pass_t* p, hr_value_t v, hr_value_t* out) { /* *out.node NULL: it is none */
  const hr_tensor_t* t = NULL;
  HR_TRY(hr_const_eval(p->g, v, &t));
  *out = HR_NO_VALUE;
  if (!t) return NULL;
  return add_constant(p, t, NULL, p->base, out);
}

static hr_status_t enter_loop(hr_grad_pass_t* p, hr_value_t v, hr_grad_place_t* to, hr_value_t* out) { /* v: of the place around */
  const hr_named_attr_t attrs[] = {hr_at("frame_name", HR_AT_SCALAR(HR_ATTR_STRING, s, to->name)), hr_at_bool("is_constant", true),
                                   hr_at_int("parallel_iterations", to->parallel)};
  hr_node_desc_t desc = {.op = HR_STR("Enter"), .device = HR_STR(""), .inputs = &v, .input_count = 1, .attrs = attrs, .attr_count = 3};
  return hr_grad_place_add_raw(p, to, &desc, out);
}

/* --- values of iterations ----------------------------------------------------------------------------------------------------------- */
hr_status_t hr_grad_place_tie(hr_grad_pass_t* p, hr_grad_place_t* at, hr_node_t* node, bool may_be_dead) {
  if (!may_be_dead) return hr_graph_add_control(p->g, at->tail, node);
  if (at->gate) return hr_graph_add_control(p->g, at->gate, node);
  hr_value_t gate;
  hr_node_desc_t desc = {.op = HR_STR("ControlTrigger"), .device = HR_STR(""), .controls = &node, .control_count = 1};
  HR_TRY(hr_grad_place_add_raw(p, at, &desc, &gate));
  at->gate = gate.node;
  return hr_graph_add_control(p->g, at->tail, at->gate);
}

static hr_status_t push_in_loop(hr_grad_pass_t* p, hr_value_t v, hr_value_t stack, bool may_be_dead) {
  hr_grad_place_t* at = hr_grad_place_home(p, v);
  hr_value_t inputs[] = {HR_NO_VALUE, v}, push;
  if (!at->tail) return HR_ERROR(INTERNAL, "the loop of '%s' has no counter yet", v.node->name.data);
  HR_TRY(hr_grad_place_bring(p, stack, at, &inputs[0]));
  hr_node_desc_t desc = {.op = HR_STR("StackPushV2"),
                         .device = HR_STR(""),
                         .inputs = inputs,
                         .input_count = 2,
                         .controls = &at->pivot.node,
                         .control_count = 1};
  HR_TRY(hr_grad_place_add_raw(p, at, &desc, &push));
  return hr_grad_place_tie(p, at, push.node, may_be_dead);
}

/* The handle, alive only where the value was. */
static hr_status_t guard_handle(hr_grad_pass_t* p, const hr_grad_guard_t* guard, hr_grad_place_t* to, hr_value_t* handle) {
  if (!guard) return NULL;
  HR_TRY(guard_handle(p, guard->parent, to, handle));
  hr_value_t inputs[] = {*handle, guard->pred};
  HR_TRY(hr_grad_place_add(p, to, "Switch", 2, inputs, HR_NO_ATTRS, handle));
  handle->index = guard->branch;
  return NULL;
}

static hr_status_t pop_in_loop(hr_grad_pass_t* p, hr_value_t v, hr_value_t stack, const hr_grad_guard_t* guard, hr_grad_place_t* to,
                               hr_value_t* out) {
  const hr_named_attr_t type = hr_at_type("elem_type", (int)hr_dtype_base(hr_value_type(v)));
  HR_TRY(hr_grad_place_bring(p, stack, to, &stack));
  HR_TRY(guard_handle(p, guard, to, &stack));
  hr_node_desc_t desc = {.op = HR_STR("StackPopV2"),
                         .device = HR_STR(""),
                         .inputs = &stack,
                         .input_count = 1,
                         .attrs = &type,
                         .attr_count = 1,
                         .controls = &to->pivot.node,
                         .control_count = 1};
  HR_TRY(hr_grad_place_add_raw(p, to, &desc, out));
  if (hr_value_shape(v)->rank >= 0) HR_TRY(hr_graph_refine_shape(p->g, *out, hr_value_shape(v)));
  return hr_grad_place_tie(p, to, out->node, guard != NULL);
}

static hr_status_t stack_through(hr_grad_pass_t* p, hr_value_t v, hr_grad_place_t* to, hr_value_t* out) {
  const hr_named_attr_t type = hr_at_type("elem_type", (int)hr_dtype_base(hr_value_type(v)));
  const hr_grad_guard_t* guard;
  hr_value_t stack, size;
  HR_TRY(hr_grad_guard_find(p, v, &guard));
  HR_TRY(hr_grad_place_int(p, p->base, -1, NULL, &size)); /* within a loop it waits for the anchor: no optimizer takes the stack out */
  HR_TRY(hr_grad_place_add(p, p->base, "StackV2", 1, &size, 1, &type, &stack));
  HR_TRY(push_in_loop(p, v, stack, guard != NULL));
  return pop_in_loop(p, v, stack, guard, to, out);
}

/* --- bringing ----------------------------------------------------------------------------------------------------------------------- */
static hr_status_t bring_new(hr_grad_pass_t* p, hr_value_t v, hr_grad_place_t* to, hr_value_t* out) {
  hr_grad_place_t* home = hr_grad_place_home(p, v);
  hr_grad_place_t* reverse = reverse_of(home, to);
  if (reverse == to) {
    HR_TRY(constant_of(p, v, out));
    if (out->node) return hr_grad_place_bring(p, *out, to, out);
    return stack_through(p, v, to, out);
  }
  if (!reverse && !place_is_around(home, to))
    return HR_ERROR(UNIMPLEMENTED, "a gradient needs '%s:%d' outside of the loop that it stands in", v.node->name.data, (int)v.index);
  HR_TRY(hr_grad_place_bring(p, v, to->parent, &v));
  return enter_loop(p, v, to, out);
}

hr_status_t hr_grad_place_bring(hr_grad_pass_t* p, hr_value_t v, hr_grad_place_t* to, hr_value_t* out) {
  uintptr_t known;
  if (hr_grad_place_home(p, v) == to) return *out = v, NULL;
  v = origin(v);
  if (hr_grad_place_home(p, v) == to) return *out = v, NULL;
  const void* key = &v.node->shapes[v.index]; /* an address of this output's alone */
  if (hr_map_find_ptr(&to->known, key, &known)) return *out = *(hr_value_t*)known, NULL;
  hr_value_t* kept = hr_arena_alloc(&p->arena, sizeof *kept);
  if (!kept) return hr_status_out_of_memory();
  HR_TRY(bring_new(p, v, to, kept));
  *out = *kept;
  return hr_map_set_ptr(&to->known, key, (uintptr_t)kept);
}

/* --- what gradients emit ------------------------------------------------------------------------------------------------------------ */
/* The place around or at `here` in which v can be had. */
static hr_grad_place_t* place_for(const hr_grad_pass_t* p, hr_value_t v) {
  hr_grad_place_t *home = hr_grad_place_home(p, origin(v)), *reverse = reverse_of(home, p->here);
  return reverse ? reverse : place_is_around(home, p->here) ? home : p->here;
}

static hr_status_t outermost_for(const hr_grad_pass_t* p, const hr_node_desc_t* d, hr_grad_place_t** out) {
  const hr_op_def_t* def;
  HR_TRY(hr_registry_find(d->op, &def));
  bool is_free = def->node_class == HR_NODE_CONST || (def->node_class == HR_NODE_ORDINARY && !(def->op->flags & HR_OP_IMPURE));
  *out = is_free ? p->base : p->here;
  for (int i = 0; is_free && i < d->input_count; ++i) {
    hr_grad_place_t* needed = place_for(p, d->inputs[i]);
    if (place_is_around(*out, needed)) *out = needed;
  }
  return NULL;
}

static bool only_shape_counts(hr_str_t op) {
  return hr_str_equal(op, HR_STR("Shape")) || hr_str_equal(op, HR_STR("Size")) || hr_str_equal(op, HR_STR("Rank")) ||
         hr_str_equal(op, HR_STR("VariableShape"));
}

/* The forward place of the one input, when that would have to be pushed; else NULL. */
static hr_grad_place_t* forward_place_of(const hr_grad_pass_t* p, const hr_node_desc_t* d) {
  if (d->input_count != 1) return NULL;
  hr_grad_place_t* home = hr_grad_place_home(p, origin(d->inputs[0]));
  return reverse_of(home, p->here) ? home : NULL;
}

hr_status_t hr_grad_place_emit(hr_grad_call_t* c, hr_node_desc_t* d, hr_value_t* out) {
  hr_grad_pass_t* p = c->pass;
  hr_grad_place_t* forward = forward_place_of(p, d);
  if (forward && hr_str_equal(d->op, HR_STR("ZerosLike"))) return *out = hr_grad_place_zeros(c, d->inputs[0]), NULL;
  hr_grad_place_t* at = forward;
  if (!forward || !only_shape_counts(d->op)) HR_TRY(outermost_for(p, d, &at));
  HR_TRY(bring_all(p, d->input_count, d->inputs, at, &d->inputs));
  if (d->input_count == 0 && at->parent) {
    d->controls = at == p->base ? &p->anchor : &at->pivot.node;
    d->control_count = 1;
  }
  return hr_grad_place_add_raw(p, at, d, out);
}

/* --- zeros -------------------------------------------------------------------------------------------------------------------------- */
static hr_value_t zeros_of_shape(hr_grad_ctx_t* g, hr_dtype_t dtype, hr_value_t shape) {
  const hr_shape_t scalar = hr_shape_scalar();
  hr_tensor_t zero = {0};
  hr_status_t status = hr_tensor_create_zero(dtype, &scalar, &zero);
  if (status) hr_grad_fail(g, status);
  hr_value_t value = status ? HR_NO_VALUE : hr_emit_const(g, &zero);
  hr_tensor_release(&zero);
  return shape.node && value.node ? hr_emit2(g, "Fill", shape, value) : value;
}

hr_value_t hr_grad_place_zeros(hr_grad_call_t* c, hr_value_t like) {
  hr_grad_ctx_t* g = &c->base;
  hr_dtype_t dtype = hr_dtype_base(hr_value_type(like));
  const hr_pshape_t* shape = hr_value_shape(like);
  bool is_handle = dtype == HR_RESOURCE;
  if (dtype == HR_VARIANT) return hr_emit_zeros_like(g, like); /* a list's zeros are as long as it is */
  if (is_handle) {
    const hr_handle_info_t* held = like.node->handles ? &like.node->handles[like.index] : NULL;
    if (!held || held->dtype == HR_DTYPE_INVALID) {
      hr_grad_fail(
          g, HR_ERROR(UNIMPLEMENTED, "the gradient of handle '%s:%d', of which nothing is known", like.node->name.data, (int)like.index));
      return HR_NO_VALUE;
    }
    dtype = held->dtype;
    shape = held->shape ? held->shape : &hr_pshape_unknown;
  }
  if (shape->rank == 0) return zeros_of_shape(g, dtype, HR_NO_VALUE);
  if (hr_pshape_is_known(shape)) return zeros_of_shape(g, dtype, hr_emit_const_i32s(g, shape->dims, shape->rank));
  if (is_handle) return zeros_of_shape(g, dtype, hr_emit1(g, "VariableShape", like));
  if (c->pass->has_loops && reverse_of(hr_grad_place_home(c->pass, origin(like)), c->pass->here))
    return zeros_of_shape(g, dtype, hr_emit1(g, "Shape", like));
  return hr_emit_zeros_like(g, like);
}
