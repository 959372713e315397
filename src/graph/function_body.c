/* SPDX-License-Identifier: Apache-2.0 */
/* From a FunctionDef's bytes to nodes: scan (bytes to arrays that borrow them), order (producers first; only a loop's back edge may close a
 * circle), add. In a FunctionDef an input is "argument", "argument:i", "node:output" or "node:output:i"; an output that stands for several
 * values and is named without number is all of them. No recursion, linear in the bytes. */
#include "graph/function_body.h"

#include "graph/shapes.h"
#include "op/attr_value.h"
#include "op/node_class.h"
#include "wire/cursor.h"

enum { FUNCTION_NODE = 3, FUNCTION_RET = 4, FUNCTION_CONTROL_RET = 6 };
enum { NODE_NAME = 1, NODE_OP = 2, NODE_INPUT = 3, NODE_DEVICE = 4, NODE_ATTR = 5 };
enum { BODY_ARGUMENT = -1 };

typedef struct {
  hr_str_t head;    /* node or argument */
  hr_str_t rest;    /* what follows the colon */
  int32_t producer; /* index in nodes; BODY_ARGUMENT */
  int32_t argument;
  bool is_control;
  bool is_back_edge; /* its producer was not there when its consumer was added */
} body_input_t;

typedef struct {
  hr_str_t name, op, device;
  int64_t first_input, first_attr;
  int32_t input_count, attr_count, next; /* next: of the ordering walk */
  uint8_t state;
  bool is_merge, is_next_iteration;
  bool is_free; /* a constant that waits for nothing */
  hr_node_t* node;
} body_node_t;

typedef struct {
  hr_str_t key, value;
} body_entry_t;

typedef struct {
  hr_graph_t* g;
  const hr_function_body_request_t* r;
  const hr_op_def_t* def;
  hr_arena_t scratch;
  hr_attr_t* env; /* values of the function's own attrs; kind NONE: not given */
  int32_t* first; /* by argument: its first flattened input; one more at the end */
  HR_VEC(body_node_t) nodes;
  HR_VEC(body_input_t) inputs;
  HR_VEC(hr_cursor_t) attrs;
  HR_VEC(body_entry_t) rets;
  HR_VEC(body_entry_t) control_rets;
  HR_VEC(int32_t) order;
  HR_VEC(hr_value_t) values; /* of the node being added */
  HR_VEC(hr_node_t*) waits;
  HR_VEC(hr_named_attr_t) named;
  hr_map_t by_name, args;
} body_t;

/* --- the function's own attrs ---------------------------------------------------------------------------------------------------- */
static hr_status_t env_make(const hr_op_def_t* def, const hr_named_attr_t* attrs, int32_t attr_count, hr_arena_t* arena, hr_attr_t** out) {
  hr_attr_t* env = hr_arena_array(arena, (size_t)def->attr_count + 1, sizeof *env);
  if (!env) return hr_status_out_of_memory();
  for (int i = 0; i < def->attr_count; ++i)
    if (def->attrs[i].has_default) env[i] = def->attrs[i].value;
  for (int32_t i = 0; i < attr_count; ++i) {
    int at = hr_sig_find_attr(def, attrs[i].name);
    if (at < 0) continue;
    HR_TRY(hr_sig_check_attr(def, at, &attrs[i].value));
    env[at] = attrs[i].value;
  }
  *out = env;
  return NULL;
}

static hr_status_t env_check(const hr_op_def_t* def, const hr_attr_t* env) {
  for (int i = 0; i < def->attr_count; ++i)
    if (env[i].kind == HR_ATTR_NONE && !env[i].is_list)
      return HR_ERROR(INVALID_ARGUMENT, "attr '%.*s' of the function is not given", HR_STR_ARG(def->attrs[i].name));
  return NULL;
}

hr_status_t hr_function_types(const hr_function_t* f, const hr_named_attr_t* attrs, int32_t attr_count, bool outputs, hr_arena_t* arena,
                              int32_t** out_types, int* out_count) {
  hr_attr_t* env = NULL;
  HR_TRY(env_make(f->def, attrs, attr_count, arena, &env));
  HR_TRY(env_check(f->def, env));
  return hr_sig_arg_types(arena, f->def, env, outputs, out_types, out_count);
}

/* --- scanning -------------------------------------------------------------------------------------------------------------------- */
/* What stands before the first colon, and behind it. */
static hr_str_t text_head(hr_str_t text, hr_str_t* out_rest) {
  hr_str_t head = text;
  *out_rest = text;
  hr_str_split(out_rest, ':', &head);
  return head;
}

static hr_status_t scan_input(body_t* b, body_node_t* n, hr_str_t text) {
  body_input_t in = {.producer = BODY_ARGUMENT};
  if (text.size && text.data[0] == '^') {
    in.is_control = true;
    text = hr_str_slice(text, 1, text.size);
  }
  in.head = text_head(text, &in.rest);
  if (n->input_count == INT32_MAX) return HR_ERROR(INVALID_ARGUMENT, "node '%.*s' has too many inputs", HR_STR_ARG(n->name));
  ++n->input_count;
  return hr_vec_push(&b->inputs, in);
}

static hr_status_t scan_node(body_t* b, hr_cursor_t span) {
  hr_field_t field;
  body_node_t n = {.first_input = b->inputs.count, .first_attr = b->attrs.count};
  n.name = n.op = n.device = HR_STR("");
  while (!hr_cursor_is_done(&span)) {
    HR_TRY(hr_cursor_next(&span, &field));
    switch (field.key) {
      case HR_KEY_SPAN(NODE_NAME): n.name = hr_cursor_str(field.span); break;
      case HR_KEY_SPAN(NODE_OP): n.op = hr_cursor_str(field.span); break;
      case HR_KEY_SPAN(NODE_DEVICE): n.device = hr_cursor_str(field.span); break;
      case HR_KEY_SPAN(NODE_INPUT): HR_TRY(scan_input(b, &n, hr_cursor_str(field.span))); break;
      case HR_KEY_SPAN(NODE_ATTR):
        HR_TRY(hr_vec_push(&b->attrs, field.span));
        ++n.attr_count;
        break;
      default: break;
    }
  }
  n.is_merge = hr_str_is(n.op, "Merge") || hr_str_is(n.op, "RefMerge");
  n.is_next_iteration = hr_str_is(n.op, "NextIteration") || hr_str_is(n.op, "RefNextIteration");
  if (b->nodes.count >= INT32_MAX) return HR_ERROR(INVALID_ARGUMENT, "the function has too many nodes");
  bool added;
  HR_TRY(hr_map_add(&b->by_name, n.name, (uintptr_t)b->nodes.count, &added));
  if (!added) return HR_ERROR(INVALID_ARGUMENT, "two nodes are named '%.*s'", HR_STR_ARG(n.name));
  return hr_vec_push(&b->nodes, n);
}

static hr_status_t scan_function(body_t* b) {
  hr_cursor_t span = hr_cursor_make(b->r->function->bytes.data, b->r->function->bytes.size);
  hr_field_t field;
  while (!hr_cursor_is_done(&span)) {
    HR_TRY(hr_cursor_next(&span, &field));
    body_entry_t entry;
    hr_cursor_t value;
    if (field.key == HR_KEY_SPAN(FUNCTION_NODE)) HR_TRY(scan_node(b, field.span));
    if (field.key != HR_KEY_SPAN(FUNCTION_RET) && field.key != HR_KEY_SPAN(FUNCTION_CONTROL_RET)) continue;
    HR_TRY(hr_cursor_map_entry(field.span, &entry.key, &value));
    entry.value = hr_cursor_str(value);
    if (field.key == HR_KEY_SPAN(FUNCTION_RET))
      HR_TRY(hr_vec_push(&b->rets, entry));
    else
      HR_TRY(hr_vec_push(&b->control_rets, entry));
  }
  return NULL;
}

/* --- arguments ------------------------------------------------------------------------------------------------------------------- */
static hr_status_t args_index(body_t* b) {
  b->first = hr_arena_array(&b->scratch, (size_t)b->def->input_count + 1, sizeof *b->first);
  if (!b->first) return hr_status_out_of_memory();
  int64_t at = 0;
  for (int i = 0; i < b->def->input_count; ++i) {
    int length;
    HR_TRY(hr_sig_arg_length(b->def, b->env, false, i, &length));
    HR_TRY(hr_map_set(&b->args, b->def->inputs[i].name, (uintptr_t)i));
    b->first[i] = (int32_t)at;
    at += length;
    if (at > b->r->input_count) break;
  }
  if (at != b->r->input_count)
    return HR_ERROR(INVALID_ARGUMENT, "%d inputs are given but the function has %s%lld arguments", (int)b->r->input_count,
                    at > b->r->input_count ? "at least " : "", (long long)at);
  b->first[b->def->input_count] = (int32_t)at;
  return NULL;
}

static hr_status_t args_check_types(body_t* b) {
  int32_t* types = NULL;
  int count;
  HR_TRY(hr_sig_arg_types(&b->scratch, b->def, b->env, false, &types, &count));
  for (int i = 0; i < count; ++i)
    if (hr_dtype_base(types[i]) != hr_dtype_base(hr_value_type(b->r->inputs[i])))
      return HR_ERROR(INVALID_ARGUMENT, "input %d is %s but the function's argument is %s", i,
                      hr_dtype_name(hr_value_type(b->r->inputs[i])), hr_dtype_name(types[i]));
  return NULL;
}

/* --- links and order ------------------------------------------------------------------------------------------------------------- */
static hr_status_t link_all(body_t* b) {
  uintptr_t found;
  for (int64_t i = 0; i < b->inputs.count; ++i) {
    body_input_t* in = &b->inputs.data[i];
    if (hr_map_find(&b->args, in->head, &found))
      in->argument = (int32_t)found;
    else if (hr_map_find(&b->by_name, in->head, &found))
      in->producer = (int32_t)found;
    else
      return HR_ERROR(INVALID_ARGUMENT, "input '%.*s' is neither a node nor an argument of the function",
                      HR_STR_ARG(hr_str_slice(in->head, 0, 300)));
  }
  return NULL;
}

enum { ORDER_NEW, ORDER_OPEN, ORDER_DONE };

static int32_t order_next(const body_t* b, body_node_t* n) {
  while (n->next < n->input_count) {
    const body_input_t* in = &b->inputs.data[n->first_input + n->next++];
    if (in->producer < 0 || b->nodes.data[in->producer].state == ORDER_DONE) continue;
    if (n->is_merge && !in->is_control && b->nodes.data[in->producer].is_next_iteration) continue;
    return in->producer;
  }
  return -1;
}

typedef HR_VEC(int32_t) body_stack_t;

static hr_status_t order_push(body_t* b, body_stack_t* stack, int32_t node) {
  if (b->nodes.data[node].state == ORDER_OPEN)
    return HR_ERROR(INVALID_ARGUMENT, "node '%.*s' is on a cycle that no NextIteration closes", HR_STR_ARG(b->nodes.data[node].name));
  b->nodes.data[node].state = ORDER_OPEN;
  return hr_vec_push(stack, node);
}

static hr_status_t order_from(body_t* b, body_stack_t* stack, int32_t root) {
  HR_TRY(order_push(b, stack, root));
  while (stack->count) {
    int32_t top = stack->data[stack->count - 1];
    int32_t need = order_next(b, &b->nodes.data[top]);
    if (need >= 0) {
      HR_TRY(order_push(b, stack, need));
      continue;
    }
    b->nodes.data[top].state = ORDER_DONE;
    HR_TRY(hr_vec_push(&b->order, top));
    --stack->count;
  }
  return NULL;
}

static hr_status_t order_all(body_t* b) {
  body_stack_t stack = {0};
  hr_status_t status = NULL;
  for (int64_t i = 0; i < b->nodes.count && !status; ++i)
    if (b->nodes.data[i].state == ORDER_NEW) status = order_from(b, &stack, (int32_t)i);
  hr_vec_deinit(&stack);
  return status;
}

/* --- endpoints ------------------------------------------------------------------------------------------------------------------- */
static hr_status_t endpoint_error(hr_str_t head, hr_str_t rest) {
  return HR_ERROR(INVALID_ARGUMENT, "'%.*s:%.*s' is no output of that node or argument", HR_STR_ARG(hr_str_slice(head, 0, 300)),
                  HR_STR_ARG(hr_str_slice(rest, 0, 300)));
}

/* The range [*first, *first + *count) of a node's outputs that "output", "output:i" or "i" names. */
static hr_status_t endpoint_range(const hr_node_t* n, hr_str_t head, hr_str_t rest, int32_t* out_first, int32_t* out_count) {
  const hr_op_def_t* def = n->attrs.def;
  hr_str_t digits;
  hr_str_t name = text_head(rest, &digits);
  int64_t index = 0;
  int32_t first = 0;
  *out_count = 1;
  for (int i = 0; i < def->output_count; ++i) {
    int length;
    HR_TRY(hr_sig_arg_length(def, n->attrs.values, true, i, &length));
    if (hr_str_equal(def->outputs[i].name, name)) {
      if (digits.size && (!hr_str_parse_i64(digits, &index) || index < 0 || index >= length)) return endpoint_error(head, rest);
      *out_first = first + (int32_t)index;
      if (!digits.size) *out_count = length;
      return NULL;
    }
    first += length;
  }
  if (rest.size && (digits.size || !hr_str_parse_i64(rest, &index))) return endpoint_error(head, rest);
  if (index < 0 || index >= n->output_count) return endpoint_error(head, rest);
  *out_first = (int32_t)index;
  return NULL;
}

static hr_status_t endpoint_of_argument(body_t* b, int32_t arg, hr_str_t head, hr_str_t rest) {
  int32_t first = b->first[arg], count = b->first[arg + 1] - first;
  int64_t index = 0;
  if (rest.size) {
    if (!hr_str_parse_i64(rest, &index) || index < 0 || index >= count) return endpoint_error(head, rest);
    return hr_vec_push(&b->values, b->r->inputs[first + index]);
  }
  for (int32_t i = 0; i < count; ++i) HR_TRY(hr_vec_push(&b->values, b->r->inputs[first + i]));
  return NULL;
}

/* Appends the values to b->values. */
static hr_status_t endpoint_add(body_t* b, body_input_t* in) {
  if (in->producer < 0) return endpoint_of_argument(b, in->argument, in->head, in->rest);
  const hr_node_t* n = b->nodes.data[in->producer].node;
  int32_t first, count;
  in->is_back_edge = !n;
  if (!n) return hr_vec_push(&b->values, HR_NO_VALUE); /* set at the end */
  HR_TRY(endpoint_range(n, in->head, in->rest, &first, &count));
  for (int32_t i = 0; i < count; ++i) HR_TRY(hr_vec_push(&b->values, ((hr_value_t){(hr_node_t*)n, first + i})));
  return NULL;
}

/* --- attrs ----------------------------------------------------------------------------------------------------------------------- */
static hr_status_t attr_bind(body_t* b, hr_attr_t* attr);

static hr_status_t attr_bind_func(body_t* b, const hr_func_attr_t* from, hr_func_attr_t* to) {
  *to = *from;
  hr_named_attr_t* attrs = hr_arena_array(&b->g->arena, (size_t)from->attr_count + 1, sizeof *attrs);
  if (!attrs) return hr_status_out_of_memory();
  for (int32_t i = 0; i < from->attr_count; ++i) {
    attrs[i] = from->attrs[i];
    HR_TRY(attr_bind(b, &attrs[i].value));
  }
  to->attrs = attrs;
  return NULL;
}

static hr_status_t attr_bind_funcs(body_t* b, hr_attr_t* attr) {
  int32_t count = attr->is_list ? attr->count : 1;
  const hr_func_attr_t* from = attr->is_list ? attr->u.funcs : attr->u.func;
  hr_func_attr_t* to = hr_arena_array(&b->g->arena, (size_t)count, sizeof *to);
  if (!to) return hr_status_out_of_memory();
  for (int32_t i = 0; i < count; ++i) HR_TRY(attr_bind_func(b, &from[i], &to[i]));
  if (attr->is_list)
    attr->u.funcs = to;
  else
    attr->u.func = to;
  return NULL;
}

/* Placeholders take the function's values, also within functions given as attrs; these nest no deeper than they may be decoded. */
static hr_status_t attr_bind(body_t* b, hr_attr_t* attr) {
  if (attr->kind == HR_ATTR_FUNC) return attr_bind_funcs(b, attr);
  if (attr->kind != HR_ATTR_PLACEHOLDER) return NULL;
  int at = hr_sig_find_attr(b->def, attr->u.s);
  if (at < 0 || (b->env[at].kind == HR_ATTR_NONE && !b->env[at].is_list))
    return HR_ERROR(INVALID_ARGUMENT, "the function's attr '%.*s' has no value", HR_STR_ARG(hr_str_slice(attr->u.s, 0, 200)));
  *attr = b->env[at];
  return NULL;
}

static hr_status_t text_join(hr_arena_t* arena, const char* lead, hr_str_t a, hr_str_t c, hr_str_t* out) {
  size_t lead_size = strlen(lead), slash = a.size ? 1 : 0;
  char* text = hr_arena_alloc(arena, lead_size + a.size + slash + c.size + 1);
  if (!text) return hr_status_out_of_memory();
  memcpy(text, lead, lead_size);
  if (a.size) memcpy(text + lead_size, a.data, a.size);
  if (slash) text[lead_size + a.size] = '/';
  if (c.size) memcpy(text + lead_size + a.size + slash, c.data, c.size);
  *out = (hr_str_t){text, lead_size + a.size + slash + c.size};
  text[out->size] = 0;
  return NULL;
}

static hr_status_t attr_rename_colocation(body_t* b, hr_attr_t* attr) {
  const hr_str_t mark = HR_STR("loc:@");
  if (!attr->is_list || attr->kind != HR_ATTR_STRING) return NULL;
  hr_str_t* strings = hr_arena_array(&b->g->arena, (size_t)attr->count + 1, sizeof *strings);
  if (!strings) return hr_status_out_of_memory();
  for (int32_t i = 0; i < attr->count; ++i) {
    strings[i] = attr->u.ss[i];
    if (!hr_str_has_prefix(strings[i], mark)) continue;
    hr_str_t name = hr_str_slice(strings[i], mark.size, strings[i].size);
    uintptr_t found;
    if (!hr_map_find(&b->by_name, name, &found)) continue;
    const hr_node_t* node = b->nodes.data[found].node;
    HR_TRY(text_join(&b->g->arena, "loc:@", node ? HR_STR("") : b->r->prefix, node ? node->name : name, &strings[i]));
  }
  attr->u.ss = strings;
  return NULL;
}

static hr_status_t attrs_take(body_t* b, const body_node_t* n) {
  b->named.count = 0;
  for (int32_t i = 0; i < n->attr_count; ++i) {
    hr_named_attr_t attr;
    HR_TRY(hr_attr_value_decode_entry(&b->g->arena, &b->g->tensors, b->attrs.data[n->first_attr + i], &attr));
    HR_TRY(attr_bind(b, &attr.value));
    if (hr_str_is(attr.name, "_class")) HR_TRY(attr_rename_colocation(b, &attr.value));
    bool is_frame = hr_str_is(attr.name, "frame_name") && attr.value.kind == HR_ATTR_STRING && !attr.value.is_list;
    if (is_frame && (hr_str_is(n->op, "Enter") || hr_str_is(n->op, "RefEnter")))
      HR_TRY(text_join(&b->g->arena, "", b->r->prefix, attr.value.u.s, &attr.value.u.s));
    HR_TRY(hr_vec_push(&b->named, attr));
  }
  return NULL;
}

/* --- adding ---------------------------------------------------------------------------------------------------------------------- */
static hr_status_t inputs_take(body_t* b, const body_node_t* n, bool* out_inner) {
  b->values.count = b->waits.count = 0;
  *out_inner = false;
  for (int32_t i = 0; i < n->input_count; ++i) {
    body_input_t* in = &b->inputs.data[n->first_input + i];
    if (in->producer >= 0 && !b->nodes.data[in->producer].is_free) *out_inner = true;
    if (!in->is_control)
      HR_TRY(endpoint_add(b, in));
    else if (in->producer >= 0)
      HR_TRY(hr_vec_push(&b->waits, b->nodes.data[in->producer].node));
  }
  return NULL;
}

static hr_status_t attrs_add_twin(body_t* b, const body_node_t* n) {
  const hr_op_def_t* def = NULL;
  hr_status_t status = hr_function_or_op(b->g, n->op, &def);
  if (status && hr_status_code(status) != HR_NOT_FOUND) return status;
  hr_status_release(status); /* adding the node says it */
  if (!def || !(def->op->flags & HR_OP_IMPURE)) return NULL;
  hr_named_attr_t attr = {HR_STR("_forward_twin"), {.kind = HR_ATTR_STRING}};
  HR_TRY(text_join(&b->g->arena, "", b->r->twin, n->name, &attr.value.u.s));
  return hr_vec_push(&b->named, attr);
}

static hr_status_t node_add(body_t* b, body_node_t* n) {
  bool inner;
  hr_node_desc_t d = {.op = n->op,
                      .device = n->device.size ? n->device : b->r->device,
                      .allow_missing_inputs = n->is_merge,
                      .skip_shapes = true,
                      .attrs_kept = true};
  HR_TRY(inputs_take(b, n, &inner));
  HR_TRY(attrs_take(b, n));
  if (b->r->twin.size) HR_TRY(attrs_add_twin(b, n));
  n->is_free = n->input_count == 0 && !b->r->start_constants && hr_str_is(n->op, "Const");
  if (b->r->start && !inner && !n->is_free) HR_TRY(hr_vec_push(&b->waits, b->r->start));
  HR_TRY(text_join(&b->scratch, "", b->r->prefix, n->name, &d.name));
  HR_TRY(hr_graph_unique_name(b->g, d.name, &d.name));
  d.inputs = b->values.data;
  d.input_count = (int32_t)b->values.count;
  d.controls = b->waits.data;
  d.control_count = (int32_t)b->waits.count;
  d.attrs = b->named.data;
  d.attr_count = (int32_t)b->named.count;
  HR_TRY(hr_graph_add(b->g, &d, &n->node));
  return hr_shapes_try(b->g, n->node);
}

/* A node's back edges go, in order, where its inputs are still missing. */
static hr_status_t close_loops(body_t* b) {
  for (int64_t i = 0; i < b->nodes.count; ++i) {
    const body_node_t* n = &b->nodes.data[i];
    int32_t at = 0;
    for (int32_t k = 0; n->is_merge && k < n->input_count; ++k) {
      const body_input_t* in = &b->inputs.data[n->first_input + k];
      if (!in->is_back_edge) continue;
      hr_value_t from = {.node = b->nodes.data[in->producer].node};
      int32_t count;
      HR_TRY(endpoint_range(from.node, in->head, in->rest, &from.index, &count));
      while (n->node->inputs[at].node) ++at;
      HR_TRY(hr_graph_set_input(b->g, n->node, at, from));
    }
  }
  return NULL;
}

static hr_status_t add_all(body_t* b, hr_arena_t* arena, hr_function_body_t* out) {
  out->nodes = hr_arena_array(arena, (size_t)b->nodes.count + 1, sizeof *out->nodes);
  if (!out->nodes) return hr_status_out_of_memory();
  for (int64_t i = 0; i < b->order.count; ++i) {
    body_node_t* n = &b->nodes.data[b->order.data[i]];
    HR_TRY(node_add(b, n));
    out->nodes[out->node_count++] = n->node;
  }
  return close_loops(b);
}

/* --- outputs --------------------------------------------------------------------------------------------------------------------- */
static const body_entry_t* entry_find(const body_entry_t* entries, int64_t count, hr_str_t key) {
  for (int64_t i = count; i-- > 0;)
    if (hr_str_equal(entries[i].key, key)) return &entries[i];
  return NULL;
}

static hr_status_t output_add(body_t* b, hr_str_t name) {
  const body_entry_t* e = entry_find(b->rets.data, b->rets.count, name);
  if (!e) return HR_ERROR(INVALID_ARGUMENT, "output '%.*s' is not in the function's ret", HR_STR_ARG(name));
  body_input_t in = {.producer = BODY_ARGUMENT};
  uintptr_t found;
  in.head = text_head(e->value, &in.rest);
  if (hr_map_find(&b->args, in.head, &found))
    in.argument = (int32_t)found;
  else if (hr_map_find(&b->by_name, in.head, &found))
    in.producer = (int32_t)found;
  else
    return HR_ERROR(INVALID_ARGUMENT, "output '%.*s' is '%.*s', which the function does not have", HR_STR_ARG(name), HR_STR_ARG(e->value));
  return endpoint_add(b, &in);
}

static hr_status_t outputs_find(body_t* b, hr_arena_t* arena, hr_function_body_t* out) {
  int32_t* types = NULL;
  int count;
  b->values.count = 0;
  for (int i = 0; i < b->def->output_count; ++i) HR_TRY(output_add(b, b->def->outputs[i].name));
  HR_TRY(hr_sig_arg_types(&b->scratch, b->def, b->env, true, &types, &count));
  if (b->values.count != count)
    return HR_ERROR(INVALID_ARGUMENT, "ret gives %lld values but the signature has %d outputs", (long long)b->values.count, count);
  for (int i = 0; i < count; ++i)
    if (hr_dtype_base(hr_value_type(b->values.data[i])) != hr_dtype_base(types[i]))
      return HR_ERROR(INVALID_ARGUMENT, "output %d is %s but the signature says %s", i, hr_dtype_name(hr_value_type(b->values.data[i])),
                      hr_dtype_name(types[i]));
  out->outputs = hr_arena_array(arena, (size_t)count + 1, sizeof *out->outputs);
  if (!out->outputs) return hr_status_out_of_memory();
  if (count) memcpy(out->outputs, b->values.data, (size_t)count * sizeof *out->outputs);
  out->output_count = count;
  return NULL;
}

static hr_status_t controls_find(body_t* b, hr_arena_t* arena, hr_function_body_t* out) {
  out->controls = hr_arena_array(arena, (size_t)b->control_rets.count + 1, sizeof *out->controls);
  if (!out->controls) return hr_status_out_of_memory();
  for (int64_t i = 0; i < b->control_rets.count; ++i) {
    uintptr_t found;
    hr_str_t name = b->control_rets.data[i].value;
    if (!hr_map_find(&b->by_name, name, &found))
      return HR_ERROR(INVALID_ARGUMENT, "control output '%.*s' is '%.*s', which the function does not have",
                      HR_STR_ARG(b->control_rets.data[i].key), HR_STR_ARG(name));
    out->controls[out->control_count++] = b->nodes.data[found].node;
  }
  return NULL;
}

/* --- the whole ------------------------------------------------------------------------------------------------------------------- */
static hr_status_t body_run(body_t* b, hr_arena_t* arena, hr_function_body_t* out) {
  HR_TRY(env_make(b->def, b->r->attrs, b->r->attr_count, &b->scratch, &b->env));
  HR_TRY(env_check(b->def, b->env));
  HR_TRY(args_index(b));
  HR_TRY(args_check_types(b));
  HR_TRY(scan_function(b));
  HR_TRY(link_all(b));
  HR_TRY(order_all(b));
  HR_TRY(add_all(b, arena, out));
  HR_TRY(outputs_find(b, arena, out));
  return controls_find(b, arena, out);
}

hr_status_t hr_function_body_add(hr_graph_t* g, const hr_function_body_request_t* request, hr_arena_t* arena, hr_function_body_t* out) {
  body_t b = {.g = g, .r = request, .def = request->function->def};
  *out = (hr_function_body_t){0};
  hr_arena_init(&b.scratch);
  hr_map_init(&b.by_name);
  hr_map_init(&b.args);
  hr_status_t status = body_run(&b, arena, out);
  hr_vec_deinit(&b.nodes);
  hr_vec_deinit(&b.inputs);
  hr_vec_deinit(&b.attrs);
  hr_vec_deinit(&b.rets);
  hr_vec_deinit(&b.control_rets);
  hr_vec_deinit(&b.order);
  hr_vec_deinit(&b.values);
  hr_vec_deinit(&b.waits);
  hr_vec_deinit(&b.named);
  hr_map_deinit(&b.by_name);
  hr_map_deinit(&b.args);
  hr_arena_deinit(&b.scratch);
  return status ? hr_status_note(status, "function '%.*s': ", HR_STR_ARG(request->function->name)) : NULL;
}
