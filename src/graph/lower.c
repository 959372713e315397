/* SPDX-License-Identifier: Apache-2.0 */
/* If, Case and While as dataflow, with calls of the branches and bodies, which are expanded in turn:
 *
 *   If     each input -> Switch(pred) -> call then (1), call else (0); each output: Merge of the two
 *   Case   If on index == 0, and in its else If on index == 1, ...; the last branch takes what is left
 *   While  each input -> Enter -> Merge -> Switch(LoopCond(call cond)) -> call body -> NextIteration -> Merge; Switch (0) -> Exit;
 *          what the body hands through unchanged is a constant Enter, and the output is the input once the loop is over
 *
 * Calls wait for a pivot of their side, so that nodes without inputs run only where their branch or iteration does. Who waited for the node
 * waits for a Merge of two values, one of each side, each there when its side is over; or for the loop's exits. */
#include "graph/expand.h"

#include "graph/shapes.h"

typedef struct {
  hr_expand_t* x;
  hr_node_t* node;
  int32_t level;
} lower_t;

static hr_status_t lower_add(lower_t* l, const char* op, const char* rest, const hr_value_t* inputs, int32_t input_count, hr_node_t* wait,
                             hr_node_t** out) {
  hr_node_desc_t d = {.op = hr_str(op), .inputs = inputs, .input_count = input_count, .controls = &wait, .control_count = wait ? 1 : 0};
  return hr_expand_add(l->x, l->node, rest, d, out);
}

static hr_status_t lower_add1(lower_t* l, const char* op, const char* rest, hr_value_t input, hr_node_t* wait, hr_value_t* out) {
  hr_node_t* node = NULL;
  HR_TRY(lower_add(l, op, rest, &input, 1, wait, &node));
  *out = (hr_value_t){node, 0};
  return NULL;
}

static hr_status_t lower_call(lower_t* l, const char* rest, const hr_func_attr_t* f, const hr_value_t* inputs, int32_t input_count,
                              hr_node_t* wait, const int32_t* types, int32_t count, hr_node_t** out) {
  hr_node_desc_t d = {.inputs = inputs, .input_count = input_count, .controls = &wait, .control_count = wait ? 1 : 0};
  HR_TRY(hr_expand_add_call(l->x, l->node, rest, f, d, types, count, out));
  return hr_expand_push(l->x, out, 1, l->level);
}

/* Whether TensorFlow would put the node's dataflow form in its place too; it is stricter there than its kernels are. */
static bool is_told_to_lower(const hr_node_t* n) {
  const hr_attr_t* lowers = hr_attrs_find(&n->attrs, "_lower_using_switch_merge");
  return lowers && lowers->kind == HR_ATTR_BOOL && !lowers->is_list && lowers->u.b;
}

/* A bool scalar of any condition; or the condition, which must be one, as the step will find. */
static hr_status_t lower_truth(lower_t* l, hr_value_t cond, hr_value_t* out) {
  const int type = (int)hr_dtype_base(hr_value_type(cond));
  *out = cond;
  if (is_told_to_lower(l->node)) {
    if (type == HR_BOOL) return NULL;
    return HR_ERROR(INVALID_ARGUMENT, "the condition is a %s; it must be a bool where the node has _lower_using_switch_merge",
                    hr_dtype_name(type));
  }
  if (hr_dtype_base(hr_value_type(cond)) == HR_BOOL && hr_value_shape(cond)->rank == 0) return NULL;
  return lower_add1(l, "ToBool", "truth", cond, NULL, out);
}

/* --- branches ------------------------------------------------------------------------------------------------------------------------ */
/* One question: what goes in, the two sides, and what comes out of each; a Case asks several, one within the other's else. */
typedef struct {
  hr_node_t* split;     /* Switch of the condition by itself: 1 where it holds */
  hr_value_t* sides[2]; /* inputs as the else (0) and the then (1) side see them */
} question_t;

static hr_status_t split_inputs(lower_t* l, hr_value_t pred, const hr_value_t* inputs, int32_t count, question_t* q) {
  hr_arena_t* arena = &l->x->arena;
  q->sides[0] = hr_arena_array(arena, (size_t)count, sizeof(hr_value_t));
  q->sides[1] = hr_arena_array(arena, (size_t)count, sizeof(hr_value_t));
  if (!q->sides[0] || !q->sides[1]) return hr_status_out_of_memory();
  HR_TRY(lower_add(l, "Switch", "switch_pred", (hr_value_t[]){pred, pred}, 2, NULL, &q->split));
  for (int32_t i = 0; i < count; ++i) {
    hr_node_t* part = NULL;
    HR_TRY(lower_add(l, "Switch", "switch", (hr_value_t[]){inputs[i], pred}, 2, NULL, &part));
    for (int side = 0; side < 2; ++side) q->sides[side][i] = (hr_value_t){part, side};
  }
  return NULL;
}

typedef struct {
  hr_value_t* outputs;
  hr_value_t over; /* any value that is there when the side is over */
} side_t;

/* Calls a branch on one side of a question. */
static hr_status_t call_side(lower_t* l, const question_t* q, int side, const char* name, const hr_func_attr_t* f, int32_t input_count,
                             side_t* out) {
  const hr_node_t* n = l->node;
  hr_value_t pivot;
  hr_node_t* call = NULL;
  HR_TRY(lower_add1(l, "Identity", side ? "pivot_t" : "pivot_f", (hr_value_t){q->split, side}, NULL, &pivot));
  HR_TRY(lower_call(l, name, f, q->sides[side], input_count, pivot.node, n->output_types, n->output_count, &call));
  HR_TRY(lower_add1(l, "Identity", "over", pivot, call, &out->over));
  out->outputs = hr_arena_array(&l->x->arena, (size_t)n->output_count, sizeof *out->outputs);
  if (!out->outputs) return hr_status_out_of_memory();
  for (int32_t i = 0; i < n->output_count; ++i) out->outputs[i] = (hr_value_t){call, i};
  return NULL;
}

/* `into`, the then side, becomes both. */
static hr_status_t merge_sides(lower_t* l, const side_t* other, side_t* into) {
  hr_node_t* merge = NULL;
  for (int32_t i = 0; i < l->node->output_count; ++i) {
    HR_TRY(lower_add(l, "Merge", "merge", (hr_value_t[]){other->outputs[i], into->outputs[i]}, 2, NULL, &merge));
    into->outputs[i] = (hr_value_t){merge, 0};
  }
  HR_TRY(lower_add(l, "Merge", "done", (hr_value_t[]){other->over, into->over}, 2, NULL, &merge));
  into->over = (hr_value_t){merge, 0};
  return NULL;
}

static hr_status_t give_results(lower_t* l, const hr_value_t* outputs, hr_node_t* over) {
  hr_expand_t* x = l->x;
  for (int32_t i = 0; i < l->node->output_count; ++i) HR_TRY(x->edit->replace(x, (hr_value_t){l->node, i}, outputs[i]));
  HR_TRY(x->edit->replace_control(x, l->node, over));
  return x->edit->removed(x, l->node);
}

/* The value that decides waits for what the node waits for; a loop's invariant, for an input that is there only when the node is to run. */
static hr_status_t wait_like_node(lower_t* l, hr_value_t v, const char* rest, hr_value_t* out) {
  const hr_node_t* n = l->node;
  hr_node_t* gate = n->control_count == 0 && hr_expand_is_invariant(v) ? hr_expand_gate(n) : NULL;
  *out = v;
  if (!n->control_count && !gate) return NULL;
  hr_node_t* wait = NULL;
  hr_node_desc_t d = {.op = HR_STR("Identity"),
                      .inputs = &v,
                      .input_count = 1,
                      .controls = gate ? &gate : n->controls,
                      .control_count = gate ? 1 : n->control_count};
  HR_TRY(hr_expand_add(l->x, n, rest, d, &wait));
  *out = (hr_value_t){wait, 0};
  return NULL;
}

/* What the node waits for, its inputs wait for. */
static hr_status_t take_inputs(lower_t* l, int32_t first, hr_value_t** out) {
  const hr_node_t* n = l->node;
  *out = hr_arena_array(&l->x->arena, (size_t)n->input_count, sizeof **out);
  if (!*out) return hr_status_out_of_memory();
  for (int32_t i = first; i < n->input_count; ++i) {
    (*out)[i - first] = n->inputs[i];
    if (n->control_count) HR_TRY(wait_like_node(l, n->inputs[i], "input", &(*out)[i - first]));
  }
  return NULL;
}

static hr_status_t lower_if(lower_t* l) {
  const hr_node_t* n = l->node;
  hr_value_t pred, *inputs = NULL;
  question_t q;
  side_t then_side, else_side;
  HR_TRY(wait_like_node(l, n->inputs[0], "pred", &pred));
  HR_TRY(lower_truth(l, pred, &pred));
  HR_TRY(take_inputs(l, 1, &inputs));
  HR_TRY(split_inputs(l, pred, inputs, n->input_count - 1, &q));
  HR_TRY(call_side(l, &q, 1, "then", hr_attrs_find(&n->attrs, "then_branch")->u.func, n->input_count - 1, &then_side));
  HR_TRY(call_side(l, &q, 0, "else", hr_attrs_find(&n->attrs, "else_branch")->u.func, n->input_count - 1, &else_side));
  HR_TRY(merge_sides(l, &else_side, &then_side));
  return give_results(l, then_side.outputs, then_side.over.node);
}

/* --- Case ---------------------------------------------------------------------------------------------------------------------------- */
static hr_status_t index_is(lower_t* l, hr_value_t index, int32_t which, hr_value_t* out) {
  hr_tensor_t value;
  hr_node_t *number = NULL, *equal = NULL;
  HR_TRY(hr_tensor_from_i32(which, &value));
  hr_named_attr_t attrs[] = {hr_at_tensor("value", &value), hr_at_type("dtype", HR_I32)};
  hr_node_desc_t d = {.op = HR_STR("Const"), .attrs = attrs, .attr_count = 2, .controls = &index.node, .control_count = 1};
  hr_status_t status = hr_expand_add(l->x, l->node, "which", d, &number);
  hr_tensor_release(&value);
  if (!status) status = lower_add(l, "Equal", "is", (hr_value_t[]){index, {number, 0}}, 2, NULL, &equal);
  if (!status) *out = (hr_value_t){equal, 0};
  return status;
}

/* The last branch of a list of one: no question. */
static hr_status_t lower_only_branch(lower_t* l, const hr_func_attr_t* f, const hr_value_t* inputs) {
  const hr_node_t* n = l->node;
  hr_node_t* call = NULL;
  hr_value_t* outputs = hr_arena_array(&l->x->arena, (size_t)n->output_count, sizeof *outputs);
  if (!outputs) return hr_status_out_of_memory();
  HR_TRY(lower_call(l, "only", f, inputs + 1, n->input_count - 1, n->inputs[0].node, n->output_types, n->output_count, &call));
  for (int32_t i = 0; i < n->output_count; ++i) outputs[i] = (hr_value_t){call, i};
  return give_results(l, outputs, call);
}

static hr_status_t lower_case(lower_t* l) {
  const hr_node_t* n = l->node;
  const hr_attr_t* branches = hr_attrs_find(&n->attrs, "branches");
  hr_value_t* inputs = NULL;
  HR_TRY(take_inputs(l, 0, &inputs)); /* 0: the index, which is split like the others */
  if (!n->control_count) HR_TRY(wait_like_node(l, inputs[0], "index", &inputs[0]));
  if (branches->count == 1) return lower_only_branch(l, &branches->u.funcs[0], inputs);
  side_t* sides = hr_arena_array(&l->x->arena, (size_t)branches->count, sizeof *sides);
  if (!sides) return hr_status_out_of_memory();
  for (int32_t b = 0; b + 1 < branches->count; ++b) {
    question_t q, values;
    hr_value_t pred;
    HR_TRY(index_is(l, inputs[0], b, &pred));
    HR_TRY(split_inputs(l, pred, inputs, n->input_count, &q));
    values = (question_t){q.split, {q.sides[0] + 1, q.sides[1] + 1}};
    HR_TRY(call_side(l, &values, 1, "branch", &branches->u.funcs[b], n->input_count - 1, &sides[b]));
    if (b + 2 == branches->count) HR_TRY(call_side(l, &values, 0, "branch", &branches->u.funcs[b + 1], n->input_count - 1, &sides[b + 1]));
    inputs = q.sides[0];
  }
  for (int32_t b = branches->count - 1; b > 0; --b) HR_TRY(merge_sides(l, &sides[b], &sides[b - 1]));
  return give_results(l, sides[0].outputs, sides[0].over.node);
}

/* --- While --------------------------------------------------------------------------------------------------------------------------- */
typedef struct {
  hr_value_t *inputs, *merges, *inside, *exits;
  bool* stays;   /* by variable: no iteration changes it */
  int32_t pivot; /* a variable that does not stay */
  hr_node_t* cond;
} while_t;

/* Arguments and outputs must be one value each for their places to agree; one variable at least carries the iterations. */
static hr_status_t find_what_stays(lower_t* l, while_t* w) {
  const hr_node_t* n = l->node;
  const hr_function_t* body = NULL;
  w->stays = hr_arena_array(&l->x->arena, (size_t)n->input_count, sizeof *w->stays);
  if (!w->stays) return hr_status_out_of_memory();
  HR_TRY(hr_expand_find(l->x, hr_attrs_find(&n->attrs, "body")->u.func->name, &body));
  bool plain = true;
  for (int i = 0; i < body->def->attr_count && plain; ++i) plain = body->def->attrs[i].kind == HR_ATTR_TYPE && !body->def->attrs[i].is_list;
  for (int32_t i = 0; i < n->input_count; ++i) w->stays[i] = plain && hr_function_hands_through(body, i, i);
  w->pivot = 0;
  while (w->pivot < n->input_count && w->stays[w->pivot]) ++w->pivot;
  if (w->pivot == n->input_count) w->stays[w->pivot = 0] = false;
  return NULL;
}

static hr_status_t enter_one(lower_t* l, hr_value_t v, int64_t parallel, bool stays, hr_value_t* out) {
  hr_node_t *enter = NULL, *merge = NULL;
  hr_named_attr_t attrs[] = {hr_at("frame_name", HR_AT_SCALAR(HR_ATTR_STRING, s, l->node->name)),
                             hr_at_int("parallel_iterations", parallel), hr_at_bool("is_constant", stays)};
  hr_node_desc_t d = {.op = HR_STR("Enter"), .inputs = &v, .input_count = 1, .attrs = attrs, .attr_count = 3};
  HR_TRY(hr_expand_add(l->x, l->node, "enter", d, &enter));
  *out = (hr_value_t){enter, 0};
  if (stays) return NULL;
  hr_value_t both[] = {{enter, 0}, HR_NO_VALUE};
  hr_node_desc_t m = {.op = HR_STR("Merge"), .inputs = both, .input_count = 2, .allow_missing_inputs = true};
  HR_TRY(hr_expand_add(l->x, l->node, "merge", m, &merge));
  *out = (hr_value_t){merge, 0};
  if (!enter->handles) return NULL; /* a loop's value may change its shape; what a handle holds does not change */
  merge->handles = hr_arena_array(&l->x->g->arena, (size_t)merge->output_count, sizeof *merge->handles);
  if (!merge->handles) return hr_status_out_of_memory();
  merge->handles[0] = enter->handles[0];
  return NULL;
}

/* How many iterations may run at once. TensorFlow looks only where it is told to lower the loop; elsewhere any number will do. */
static hr_status_t while_parallel(const hr_node_t* n, int64_t* out) {
  const hr_attr_t* parallel = hr_attrs_find(&n->attrs, "parallel_iterations");
  const bool given = parallel && parallel->kind == HR_ATTR_INT;
  *out = given && parallel->u.i > 0 ? parallel->u.i : 10;
  if (given && parallel->u.i <= 0 && is_told_to_lower(n))
    return HR_ERROR(INVALID_ARGUMENT, "parallel_iterations must be > 0, not %lld", (long long)parallel->u.i);
  return NULL;
}

static hr_status_t while_enter(lower_t* l, while_t* w) {
  const hr_node_t* n = l->node;
  int64_t most;
  HR_TRY(while_parallel(n, &most));
  HR_TRY(find_what_stays(l, w));
  HR_TRY(take_inputs(l, 0, &w->inputs));
  w->merges = hr_arena_array(&l->x->arena, (size_t)n->input_count, sizeof *w->merges);
  w->inside = hr_arena_array(&l->x->arena, (size_t)n->input_count, sizeof *w->inside);
  w->exits = hr_arena_array(&l->x->arena, (size_t)n->input_count, sizeof *w->exits);
  if (!w->merges || !w->inside || !w->exits) return hr_status_out_of_memory();
  for (int32_t i = 0; i < n->input_count; ++i) {
    if (!w->stays[i] && !n->control_count) HR_TRY(wait_like_node(l, w->inputs[i], "input", &w->inputs[i]));
    HR_TRY(enter_one(l, w->inputs[i], most, w->stays[i], &w->merges[i]));
  }
  return NULL;
}

static hr_status_t while_ask(lower_t* l, while_t* w) {
  const hr_node_t* n = l->node;
  int32_t* types = NULL;
  int count;
  const hr_func_attr_t* f = hr_attrs_find(&n->attrs, "cond")->u.func;
  const hr_function_t* function = NULL;
  hr_node_t* call = NULL;
  hr_value_t truth;
  HR_TRY(hr_expand_find(l->x, f->name, &function));
  HR_TRY(hr_function_types(function, f->attrs, f->attr_count, true, &l->x->arena, &types, &count));
  if (count != 1)
    return HR_ERROR(INVALID_ARGUMENT, "Expected a single scalar output of the loop's condition '%.*s', got %d tensors", HR_STR_ARG(f->name),
                    count);
  HR_TRY(lower_call(l, "cond", f, w->merges, n->input_count, w->merges[w->pivot].node, types, 1, &call));
  HR_TRY(lower_truth(l, (hr_value_t){call, 0}, &truth));
  return lower_add(l, "LoopCond", "loop_cond", &truth, 1, NULL, &w->cond);
}

static hr_status_t while_leave(lower_t* l, while_t* w) {
  for (int32_t i = 0; i < l->node->input_count; ++i) {
    hr_node_t* split = NULL;
    w->inside[i] = w->merges[i];
    if (w->stays[i]) continue;
    HR_TRY(lower_add(l, "Switch", "switch", (hr_value_t[]){w->merges[i], {w->cond, 0}}, 2, NULL, &split));
    HR_TRY(lower_add1(l, "Exit", "exit", (hr_value_t){split, 0}, NULL, &w->exits[i]));
    HR_TRY(lower_add1(l, "Identity", "inside", (hr_value_t){split, 1}, NULL, &w->inside[i]));
  }
  return NULL;
}

static hr_status_t while_go_on(lower_t* l, while_t* w) {
  const hr_node_t* n = l->node;
  const hr_func_attr_t* f = hr_attrs_find(&n->attrs, "body")->u.func;
  const hr_function_t* function = NULL;
  int32_t* types = NULL;
  int count;
  hr_node_t* call = NULL;
  HR_TRY(hr_expand_find(l->x, f->name, &function));
  HR_TRY(hr_function_types(function, f->attrs, f->attr_count, true, &l->x->arena, &types, &count));
  if (count != n->output_count)
    return HR_ERROR(INVALID_ARGUMENT, "While loop body returned %d arguments. Expected: %d", count, (int)n->output_count);
  HR_TRY(lower_call(l, "body", f, w->inside, n->input_count, w->inside[w->pivot].node,
                    n->output_types, n->output_count, &call));
  for (int32_t i = 0; i < n->input_count; ++i) {
    hr_value_t next;
    if (w->stays[i]) continue;
    HR_TRY(lower_add1(l, "NextIteration", "next", (hr_value_t){call, i}, NULL, &next));
    HR_TRY(hr_graph_set_input(l->x->g, w->merges[i].node, 1, next));
  }
  return NULL;
}

static hr_status_t lower_while(lower_t* l) {
  const hr_node_t* n = l->node;
  while_t w;
  hr_node_t* over = NULL;
  HR_TRY(while_enter(l, &w));
  HR_TRY(while_ask(l, &w));
  HR_TRY(while_leave(l, &w));
  HR_TRY(while_go_on(l, &w));
  hr_node_t** exits = hr_arena_array(&l->x->arena, (size_t)n->input_count, sizeof *exits);
  if (!exits) return hr_status_out_of_memory();
  int32_t count = 0;
  for (int32_t i = 0; i < n->input_count; ++i)
    if (!w.stays[i]) exits[count++] = w.exits[i].node;
  HR_TRY(hr_expand_add(l->x, n, "done", (hr_node_desc_t){.op = HR_STR("NoOp"), .controls = exits, .control_count = count}, &over));
  for (int32_t i = 0; i < n->input_count; ++i)
    if (w.stays[i]) HR_TRY(lower_add1(l, "Identity", "stays", w.inputs[i], over, &w.exits[i]));
  return give_results(l, w.exits, over);
}

/* --- choosing ------------------------------------------------------------------------------------------------------------------------ */
enum { LOWER_NOT, LOWER_IF, LOWER_CASE, LOWER_WHILE };

static int node_kind(const hr_node_t* n) {
  static const struct {
    const char* op;
    int kind;
  } rows[] = {
      {"If", LOWER_IF},       {"StatelessIf", LOWER_IF},       {"_If", LOWER_IF},      {"Case", LOWER_CASE}, {"StatelessCase", LOWER_CASE},
      {"While", LOWER_WHILE}, {"StatelessWhile", LOWER_WHILE}, {"_While", LOWER_WHILE}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
    if (hr_str_is(n->attrs.def->name, rows[i].op)) return rows[i].kind;
  return LOWER_NOT;
}

bool hr_lower_is_conditional(const hr_node_t* n) { return node_kind(n) != LOWER_NOT; }

/* A loop over nothing has no value to enter by, and what stands too deep in functions is not taken apart further: their kernels run. */
static bool may_lower(const hr_expand_t* x, const hr_expand_item_t* item, int kind) {
  if (item->level >= 0 && (x->levels.data[item->level].depth >= HR_EXPAND_MOST_DEPTH || x->added > HR_EXPAND_MOST_NODES)) return false;
  return kind != LOWER_WHILE || item->node->input_count > 0;
}

hr_status_t hr_lower_node(hr_expand_t* x, const hr_expand_item_t* item) {
  lower_t l = {x, item->node, item->level};
  int kind = node_kind(item->node);
  if (!may_lower(x, item, kind)) return NULL;
  x->has_flow = true;
  if (kind == LOWER_IF) return lower_if(&l);
  if (kind == LOWER_CASE) return lower_case(&l);
  x->drops_twins = true;
  hr_status_t status = lower_while(&l);
  x->drops_twins = false;
  return status;
}
