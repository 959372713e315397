/* SPDX-License-Identifier: Apache-2.0 */
/* A function has an effect when an op of its body has one, or calls a function that has. Bodies are read as bytes: names of ops, and names
 * of functions among their attrs. What nests deeper than anybody writes counts as having one. */
#include "graph/effects.h"

#include "wire/cursor.h"

enum { EFFECT_NO = 1, EFFECT_YES = 2, EFFECT_MOST_DEPTH = 64 };
enum { FUNCTION_NODE = 3, NODE_OP = 2, NODE_INPUT = 3, NODE_ATTR = 5, VALUE_LIST = 1, VALUE_FUNC = 10, LIST_FUNC = 9, FUNC_NAME = 1 };

static bool op_is_random(hr_str_t op) {
  return hr_str_has_prefix(op, HR_STR("Random")) || hr_str_is(op, "Multinomial") || hr_str_is(op, "TruncatedNormal");
}

/* Ops that TensorFlow calls stateful and that only give values. */
static bool op_is_quiet(hr_str_t op) {
  static const char* const names[] = {"ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VarIsInitializedOp",
                                      "VariableShape",  "DeviceIndex",    "DisableCopyOnRead", "FakeParam"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
    if (hr_str_is(op, names[i])) return true;
  return op_is_random(op);
}

typedef struct {
  const hr_graph_t* g;
  hr_map_t* memo;
  int depth;
} effects_t;

static hr_status_t effects_of(effects_t* e, const hr_function_t* f, bool* out);

static hr_status_t effects_of_name(effects_t* e, hr_str_t name, bool* out) {
  const hr_function_t* f = hr_function_find(e->g, name);
  if (f) return effects_of(e, f, out);
  *out = true; /* the error when it is called */
  return NULL;
}

static hr_status_t effects_of_func_span(effects_t* e, hr_cursor_t func, bool* out) {
  hr_field_t field;
  while (!hr_cursor_is_done(&func) && !*out) {
    HR_TRY(hr_cursor_next(&func, &field));
    if (field.key == HR_KEY_SPAN(FUNC_NAME)) HR_TRY(effects_of_name(e, hr_cursor_str(field.span), out));
  }
  return NULL;
}

/* Functions named in an AttrValue, alone (VALUE_FUNC) or in its list (LIST_FUNC). */
static hr_status_t effects_of_value(effects_t* e, hr_cursor_t value, uint32_t number, bool* out) {
  hr_field_t field;
  while (!hr_cursor_is_done(&value) && !*out) {
    HR_TRY(hr_cursor_next(&value, &field));
    if (field.key == HR_KEY_SPAN(number))
      HR_TRY(effects_of_func_span(e, field.span, out));
    else if (number == VALUE_FUNC && field.key == HR_KEY_SPAN(VALUE_LIST))
      HR_TRY(effects_of_value(e, field.span, LIST_FUNC, out));
  }
  return NULL;
}

static bool def_has_functions(const hr_op_def_t* def) {
  for (int i = 0; i < def->attr_count; ++i)
    if (def->attrs[i].kind == HR_ATTR_FUNC) return true;
  return false;
}

static hr_status_t effects_of_attrs(effects_t* e, hr_cursor_t node, bool* out) {
  hr_field_t field;
  while (!hr_cursor_is_done(&node) && !*out) {
    hr_str_t name;
    hr_cursor_t value;
    HR_TRY(hr_cursor_next(&node, &field));
    if (field.key != HR_KEY_SPAN(NODE_ATTR)) continue;
    HR_TRY(hr_cursor_map_entry(field.span, &name, &value));
    HR_TRY(effects_of_value(e, value, VALUE_FUNC, out));
  }
  return NULL;
}

static hr_status_t effects_of_node_def(effects_t* e, hr_cursor_t node, bool* out) {
  hr_field_t field;
  hr_cursor_t span = node;
  hr_str_t op = HR_STR("");
  bool has_inputs = false;
  while (!hr_cursor_is_done(&span)) {
    HR_TRY(hr_cursor_next(&span, &field));
    if (field.key == HR_KEY_SPAN(NODE_OP)) op = hr_cursor_str(field.span);
    if (field.key == HR_KEY_SPAN(NODE_INPUT)) has_inputs |= hr_cursor_left(&field.span) == 0 || *field.span.at != '^';
  }
  const hr_op_def_t* def = NULL;
  hr_status_t status = hr_registry_find(op, &def);
  if (status) {
    if (hr_status_code(status) != HR_NOT_FOUND) return status;
    hr_status_release(status);
    return effects_of_name(e, op, out);
  }
  if (def_has_functions(def)) return effects_of_attrs(e, node, out);
  *out = (def->op->flags & HR_OP_IMPURE) && has_inputs && !op_is_quiet(op);
  return NULL;
}

static hr_status_t effects_scan(effects_t* e, const hr_function_t* f, bool* out) {
  hr_cursor_t span = hr_cursor_make(f->bytes.data, f->bytes.size);
  hr_field_t field;
  while (!hr_cursor_is_done(&span) && !*out) {
    HR_TRY(hr_cursor_next(&span, &field));
    if (field.key == HR_KEY_SPAN(FUNCTION_NODE)) HR_TRY(effects_of_node_def(e, field.span, out));
  }
  return NULL;
}

/* While a function is being looked at, a call of it (recursion) adds nothing to what it is found to do. */
static hr_status_t effects_of(effects_t* e, const hr_function_t* f, bool* out) {
  uintptr_t known;
  *out = false;
  if (hr_map_find_ptr(e->memo, f, &known)) {
    *out = known == EFFECT_YES;
    return NULL;
  }
  if (e->depth >= EFFECT_MOST_DEPTH) {
    *out = true;
    return NULL;
  }
  HR_TRY(hr_map_set_ptr(e->memo, f, EFFECT_NO));
  ++e->depth;
  hr_status_t status = effects_scan(e, f, out);
  --e->depth;
  if (status || !*out) return status;
  return hr_map_set_ptr(e->memo, f, EFFECT_YES);
}

static hr_status_t effects_of_funcs(effects_t* e, const hr_attr_t* attr, bool* out) {
  const hr_func_attr_t* funcs = attr->is_list ? attr->u.funcs : attr->u.func;
  for (int32_t i = 0; i < (attr->is_list ? attr->count : 1) && !*out; ++i) HR_TRY(effects_of_name(e, funcs[i].name, out));
  return NULL;
}

bool hr_effects_is_random(const hr_node_t* node) {
  return (node->attrs.def->op->flags & HR_OP_IMPURE) && op_is_random(node->attrs.def->name);
}

hr_status_t hr_effects_of_node(const hr_graph_t* g, hr_map_t* memo, const hr_node_t* node, bool* out) {
  effects_t e = {.g = g, .memo = memo};
  const hr_op_def_t* def = node->attrs.def;
  const hr_function_t* f = hr_function_of_node(g, node);
  *out = false;
  if (f) return effects_of(&e, f, out);
  if (def_has_functions(def)) {
    for (int i = 0; i < def->attr_count && !*out; ++i)
      if (def->attrs[i].kind == HR_ATTR_FUNC) HR_TRY(effects_of_funcs(&e, &node->attrs.values[i], out));
    return NULL;
  }
  *out = (def->op->flags & HR_OP_IMPURE) && node->input_count > 0 && !op_is_quiet(def->name);
  return NULL;
}
