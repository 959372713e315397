/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs as text, one node a line, for tests whose cases are many:
 *
 *   x float[5,-1]                 a placeholder; float[?] has any rank, float any shape, float[] is a scalar
 *   w = float[7,2]:1,2,3          a constant; the values go round
 *   y MatMul x w transpose_b=true node:1 ^node @device
 *
 * Nodes are made in this order, but those that read a later one after it; edges of loops back are set at the end, in the place of
 * input 0. A later line with the name of an earlier one replaces it. */
#ifndef HR_TESTS_GRAPH_TEXT_H
#define HR_TESTS_GRAPH_TEXT_H
#include "op/sig.h"
#include "unit/exec/maker.h"

enum { TEXT_MOST_LINES = 96, TEXT_MOST_WORDS = 24, TEXT_MOST_VALUES = 16 };

typedef struct {
  hr_str_t lines[TEXT_MOST_LINES];
  int count;
} text_nodes_t;

typedef struct {
  hr_graph_t* g;
  hr_str_t name, op, device;
  hr_value_t inputs[TEXT_MOST_WORDS];
  hr_node_t* controls[TEXT_MOST_WORDS];
  hr_named_attr_t attrs[TEXT_MOST_WORDS];
  int input_count, control_count, attr_count;
} text_node_t;

static inline hr_str_t text_word(hr_str_t* rest) { /* "" at the end */
  hr_str_t word = {0};
  while (word.size == 0 && hr_str_split(rest, ' ', &word)) continue;
  return word;
}

static inline void text_must(bool ok, const char* what, hr_str_t where) {
  if (!ok) maker_must(HR_ERROR(INVALID_ARGUMENT, "'%.*s'", HR_STR_ARG(where)), what);
}

static inline int64_t text_int(hr_str_t word) {
  int64_t v = 0;
  text_must(hr_str_parse_i64(word, &v), "a number", word);
  return v;
}

static inline double text_real(hr_str_t word) {
  double v = 0;
  text_must(hr_str_parse_double(word, &v), "a number", word);
  return v;
}

static inline int text_type(hr_str_t word) {
  int type = 0;
  text_must(hr_dtype_parse(word, &type), "a type", word);
  return type;
}

static inline int text_ints(hr_str_t list, int64_t* out) {
  hr_str_t part;
  int count = 0;
  while (list.size && hr_str_split(&list, ',', &part)) out[count++] = text_int(part);
  return count;
}

/* "[5,-1]", "[?]", "" */
static inline const hr_pshape_t* text_shape(hr_graph_t* g, hr_str_t text) {
  int64_t dims[TEXT_MOST_VALUES];
  const hr_pshape_t* shape = NULL;
  if (text.size == 0 || hr_str_is(text, "[?]")) return &hr_pshape_unknown;
  const int rank = text_ints(hr_str_slice(text, 1, text.size - 1), dims);
  maker_must(hr_pshape_make(&g->arena, rank, dims, &shape), "a shape");
  return shape;
}

static inline bool text_find(hr_graph_t* g, hr_str_t word, hr_value_t* out) {
  const int64_t colon = hr_str_find(word, ':');
  out->index = colon >= 0 ? (int32_t)text_int(hr_str_slice(word, (size_t)colon + 1, word.size)) : 0;
  out->node = hr_graph_find(g, colon >= 0 ? hr_str_slice(word, 0, (size_t)colon) : word);
  return out->node != NULL;
}

static inline hr_value_t text_value(hr_graph_t* g, hr_str_t word) {
  hr_value_t v;
  text_must(text_find(g, word, &v), "a node's name", word);
  return v;
}

/* --- attrs ---------------------------------------------------------------------------------------------------------------------------- */

static inline hr_attr_t text_list(hr_arena_t* arena, int kind, hr_str_t text) {
  int64_t* is = hr_arena_array(arena, TEXT_MOST_VALUES, sizeof *is);
  int32_t* types = hr_arena_array(arena, TEXT_MOST_VALUES, sizeof *types);
  hr_str_t *ss = hr_arena_array(arena, TEXT_MOST_VALUES, sizeof *ss), part;
  int count = 0;
  for (; text.size && hr_str_split(&text, ',', &part); ++count) {
    if (kind == HR_ATTR_INT) is[count] = text_int(part);
    else if (kind == HR_ATTR_TYPE) types[count] = text_type(part);
    else ss[count] = part;
  }
  if (kind == HR_ATTR_INT) return HR_AT_LIST(HR_ATTR_INT, is, is, count);
  if (kind == HR_ATTR_TYPE) return HR_AT_LIST(HR_ATTR_TYPE, types, types, count);
  return HR_AT_LIST(HR_ATTR_STRING, ss, ss, count);
}

static inline hr_attr_t text_scalar(hr_graph_t* g, int kind, hr_str_t text) {
  switch (kind) {
    case HR_ATTR_INT: return HR_AT_SCALAR(HR_ATTR_INT, i, text_int(text));
    case HR_ATTR_FLOAT: return HR_AT_SCALAR(HR_ATTR_FLOAT, f, (float)text_real(text));
    case HR_ATTR_BOOL: return HR_AT_SCALAR(HR_ATTR_BOOL, b, hr_str_is(text, "true"));
    case HR_ATTR_TYPE: return HR_AT_SCALAR(HR_ATTR_TYPE, type, text_type(text));
    case HR_ATTR_SHAPE: return HR_AT_SCALAR(HR_ATTR_SHAPE, shape, text_shape(g, text));
    default: return HR_AT_SCALAR(HR_ATTR_STRING, s, text);
  }
}

static inline void text_add_attr(text_node_t* n, hr_str_t word, int64_t equals) {
  const hr_op_def_t* def = NULL;
  const hr_str_t name = hr_str_slice(word, 0, (size_t)equals), value = hr_str_slice(word, (size_t)equals + 1, word.size);
  maker_must(hr_registry_find(n->op, &def), "an op");
  const int at = hr_sig_find_attr(def, name);
  const int kind = at >= 0 ? def->attrs[at].kind : HR_ATTR_STRING; /* "_class" and the like are lists of texts */
  const bool list = at >= 0 ? def->attrs[at].is_list : true;
  n->attrs[n->attr_count++] = (hr_named_attr_t){name, list ? text_list(&n->g->arena, kind, value) : text_scalar(n->g, kind, value)};
}

/* --- nodes ---------------------------------------------------------------------------------------------------------------------------- */

static inline hr_value_t text_add(text_node_t* n) {
  const hr_node_desc_t d = {.op = n->op, .name = n->name, .device = n->device, .inputs = n->inputs, .input_count = n->input_count,
                            .controls = n->controls, .control_count = n->control_count, .attrs = n->attrs, .attr_count = n->attr_count,
                            .internal = true};
  hr_node_t* node = NULL;
  char what[64];
  snprintf(what, sizeof what, "%.*s", HR_STR_ARG(n->name));
  maker_must(hr_graph_add(n->g, &d, &node), what);
  return (hr_value_t){node, 0};
}

static inline void text_set(hr_tensor_t* t, int64_t at, double v) {
  switch (t->dtype) {
    case HR_F32: ((float*)t->data)[at] = (float)v; break;
    case HR_F64: ((double*)t->data)[at] = v; break;
    case HR_I32: ((int32_t*)t->data)[at] = (int32_t)v; break;
    case HR_I64: ((int64_t*)t->data)[at] = (int64_t)v; break;
    default: ((bool*)t->data)[at] = v != 0; break;
  }
}

/* "float[2,3]:1,2": type, dims, values */
static inline void text_constant(hr_str_t text, hr_tensor_t* out) {
  double values[TEXT_MOST_VALUES] = {0};
  int64_t dims[TEXT_MOST_VALUES];
  hr_str_t head = text, part;
  int count = 0;
  hr_shape_t shape = {0};
  hr_str_split(&text, ':', &head);
  while (text.size && hr_str_split(&text, ',', &part)) values[count++] = text_real(part);
  const int64_t bracket = hr_str_find(head, '[');
  if (bracket >= 0) shape.rank = (int8_t)text_ints(hr_str_slice(head, (size_t)bracket + 1, head.size - 1), dims);
  for (int i = 0; i < shape.rank; ++i) shape.dims[i] = dims[i];
  const hr_str_t type = bracket >= 0 ? hr_str_slice(head, 0, (size_t)bracket) : head;
  maker_must(hr_tensor_create((hr_dtype_t)text_type(type), &shape, out), "a constant");
  for (int64_t i = 0; i < out->count; ++i) text_set(out, i, count ? values[i % count] : 0);
}

/* Whatever follows the op: inputs, controls, attrs, a device. */
static inline void text_take_word(text_node_t* n, hr_str_t word) {
  const int64_t equals = hr_str_find(word, '=');
  hr_value_t v;
  if (word.data[0] == '@') n->device = hr_str_slice(word, 1, word.size);
  else if (word.data[0] == '^' && text_find(n->g, hr_str_slice(word, 1, word.size), &v)) n->controls[n->control_count++] = v.node;
  else if (word.data[0] == '^') return;
  else if (equals > 0) text_add_attr(n, word, equals);
  else n->inputs[n->input_count++] = text_find(n->g, word, &v) ? v : n->inputs[0];
}

static inline void text_add_line(hr_graph_t* g, hr_str_t line) {
  text_node_t n = {.g = g, .name = text_word(&line), .op = text_word(&line)};
  hr_tensor_t value = {0};
  const int64_t bracket = hr_str_find(n.op, '[');
  int type;
  if (hr_str_is(n.op, "=")) {
    n.op = HR_STR("Const");
    text_constant(text_word(&line), &value);
    n.attrs[n.attr_count++] = hr_at_tensor("value", &value);
    n.attrs[n.attr_count++] = hr_at_type("dtype", (int)value.dtype);
  } else if (hr_dtype_parse(bracket >= 0 ? hr_str_slice(n.op, 0, (size_t)bracket) : n.op, &type)) {
    const hr_str_t shape = bracket >= 0 ? hr_str_slice(n.op, (size_t)bracket, n.op.size) : HR_STR("");
    n.attrs[n.attr_count++] = hr_at_shape("shape", text_shape(g, shape));
    n.attrs[n.attr_count++] = hr_at_type("dtype", type);
    n.op = HR_STR("Placeholder");
  }
  for (hr_str_t word; (word = text_word(&line)).size;) text_take_word(&n, word);
  text_add(&n);
  hr_tensor_release(&value);
}

static inline void text_close_line(hr_graph_t* g, hr_str_t line) { /* edges from later nodes */
  hr_node_t* n = hr_graph_find(g, text_word(&line));
  const bool constant = hr_str_is(text_word(&line), "=");
  int at = 0;
  if (constant) text_word(&line);
  for (hr_str_t word; (word = text_word(&line)).size;) {
    const bool control = word.data[0] == '^';
    if (word.data[0] == '@' || hr_str_find(word, '=') > 0) continue;
    const hr_value_t v = text_value(g, control ? hr_str_slice(word, 1, word.size) : word);
    if (v.node->id > n->id && control) maker_must(hr_graph_add_control(g, n, v.node), "a control edge");
    else if (v.node->id > n->id) maker_must(hr_graph_set_input(g, n, at, v), "an edge");
    at += !control;
  }
}

static inline hr_str_t text_first_word(hr_str_t line) { return text_word(&line); }

static inline void text_nodes_add(text_nodes_t* nodes, hr_str_t line) {
  const hr_str_t name = text_first_word(line);
  for (int i = 0; i < nodes->count; ++i) {
    if (!hr_str_equal(text_first_word(nodes->lines[i]), name)) continue;
    nodes->lines[i] = line;
    return;
  }
  text_must(nodes->count < TEXT_MOST_LINES, "so many lines", line);
  nodes->lines[nodes->count++] = line;
}

/* Whether what a line reads and waits for is there; `most`: of its inputs, so many count. */
static inline bool text_is_ready(hr_graph_t* g, hr_str_t line, int most) {
  hr_value_t v;
  text_word(&line);
  if (hr_str_is(text_word(&line), "=")) text_word(&line);
  for (hr_str_t word; (word = text_word(&line)).size && most > 0;) {
    const bool control = word.data[0] == '^';
    if (word.data[0] == '@' || hr_str_find(word, '=') > 0) continue;
    if (!text_find(g, control ? hr_str_slice(word, 1, word.size) : word, &v)) return false;
    --most;
  }
  return true;
}

static inline int text_next(hr_graph_t* g, const text_nodes_t* nodes, const bool* done) { /* -1: all are done */
  for (int most = TEXT_MOST_WORDS; most >= 0; most = most == TEXT_MOST_WORDS ? 1 : most - 1)
    for (int i = 0; i < nodes->count; ++i)
      if (!done[i] && text_is_ready(g, nodes->lines[i], most)) return i;
  return -1;
}

static inline hr_graph_t* text_graph(const text_nodes_t* nodes) {
  hr_graph_t* g = maker_graph();
  bool done[TEXT_MOST_LINES] = {false};
  for (int i; (i = text_next(g, nodes, done)) >= 0; done[i] = true) text_add_line(g, nodes->lines[i]);
  for (int i = 0; i < nodes->count; ++i) text_close_line(g, nodes->lines[i]);
  return g;
}
#endif
