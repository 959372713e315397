/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs as text and what is made of them as text (tests/golden/graph_texts.txt): gradients, functions expanded and lowered, frames. Each
 * case is a graph, one node a line, a question, and the answer with every node that was added: its op, inputs, what it waits for, its
 * attrs and its shape. Who changes an answer on purpose records anew, with HEADRACE_RECORD_TEXTS=FILE in the environment, and reads what
 * changed.
 *
 *   # title
 *   name = Op input input:1 ^control ~set-later F32 [2,?] 0.5 @frame @invariant! key=value   types, shapes and numbers as the op needs them
 *   refine name shape                                                                        what is known of an output
 *   function { ... }                                                                         a FunctionDefLibrary's field as text
 *   ? gradient y z | x w | stops | upstream - | slices                                       or: ? expand, ? frames
 *   > the answer */
#define HR_TEST_LEAKS_CHECKED
#include "graph/copy.h"
#include "graph/expand.h"
#include "graph/frames.h"
#include "graph/function.h"
#include "graph/grad.h"
#include "op/infer_fns.h"
#include "unit/exec/flow_maker.h"
#include "unit/graph/listing.h"
#include "wire/text.h"

/* --- reading a graph ------------------------------------------------------------------------------------------------------------------ */
enum { MOST_INPUTS = 12, MOST_NODES = 200 };
typedef struct {
  hr_node_t* node;
  int input;
  char from[64];
} later_t;
typedef struct {
  hr_graph_t* g;
  later_t later[16];
  int later_count;
  hr_strbuf_t library;
} reading_t;

typedef struct {
  hr_value_t inputs[MOST_INPUTS];
  hr_node_t* controls[MOST_INPUTS];
  hr_named_attr_t attrs[MOST_INPUTS];
  char names[MOST_INPUTS][32], texts[MOST_INPUTS][64];
  int32_t types[MOST_INPUTS][8];
  hr_func_attr_t functions[MOST_INPUTS], branches[4];
  int input_count, control_count, attr_count;
  hr_dtype_t type;
  const hr_pshape_t* shape;
  double numbers[8];
  int number_count;
} words_t;

static int type_of(hr_str_t word) { /* 0: none */
  static const struct {
    const char* word;
    int type;
  } rows[] = {{"F32", HR_F32}, {"F64", HR_F64},      {"I32", HR_I32},     {"I64", HR_I64},   {"BOOL", HR_BOOL},
              {"C64", HR_C64}, {"RES", HR_RESOURCE}, {"VAR", HR_VARIANT}, {"STR", HR_STRING}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
    if (hr_str_is(word, rows[i].word)) return rows[i].type;
  return 0;
}

static hr_value_t value_of(hr_graph_t* g, hr_str_t word) {
  int64_t colon = hr_str_find(word, ':'), index = 0;
  hr_str_t name = colon < 0 ? word : hr_str_slice(word, 0, (size_t)colon);
  if (colon >= 0) hr_str_parse_i64(hr_str_slice(word, (size_t)colon + 1, word.size), &index);
  hr_value_t v = {hr_graph_find(g, name), (int32_t)index};
  if (!v.node) hr_test_fail(__FILE__, __LINE__, "no node '%.*s'", HR_STR_ARG(name));
  return v;
}

static const hr_pshape_t* read_shape(hr_graph_t* g, hr_str_t word) { /* "?", "[]", "[2,?]" */
  const hr_pshape_t* out = NULL;
  int64_t dims[8];
  int rank = 0;
  hr_str_t rest = hr_str_slice(word, 1, word.size - 1), part;
  if (hr_str_is(word, "?")) return &hr_pshape_unknown;
  while (rest.size && hr_str_split(&rest, ',', &part))
    if (hr_str_is(part, "?") || !hr_str_parse_i64(part, &dims[rank]))
      dims[rank++] = -1;
    else
      ++rank;
  maker_must(hr_pshape_make(&g->arena, rank, dims, &out), "a shape");
  return out;
}

static void put_attr(words_t* w, hr_str_t name, hr_attr_t value) {
  snprintf(w->names[w->attr_count], sizeof *w->names, "%.*s", HR_STR_ARG(name));
  w->attrs[w->attr_count] = hr_at(w->names[w->attr_count], value);
  ++w->attr_count;
}

static void read_attr(words_t* w, hr_str_t name, hr_str_t value) {
  const int at = w->attr_count;
  int64_t number = 0;
  snprintf(w->texts[at], sizeof *w->texts, "%.*s", HR_STR_ARG(value));
  const hr_str_t kept = hr_str(w->texts[at]);
  if (value.data[0] == '{') {
    hr_str_t rest = hr_str_slice(value, 1, value.size - 1), part;
    int count = 0;
    while (rest.size && hr_str_split(&rest, ',', &part)) w->types[at][count++] = type_of(part);
    put_attr(w, name, HR_AT_LIST(HR_ATTR_TYPE, types, w->types[at], count));
  } else if (value.data[0] == '[') { /* of functions */
    hr_str_t rest = hr_str_slice(kept, 1, kept.size - 1), part;
    int count = 0;
    while (rest.size && hr_str_split(&rest, ',', &part)) w->branches[count++] = (hr_func_attr_t){.name = part};
    put_attr(w, name, HR_AT_LIST(HR_ATTR_FUNC, funcs, w->branches, count));
  } else if (type_of(value)) {
    put_attr(w, name, HR_AT_SCALAR(HR_ATTR_TYPE, type, type_of(value)));
  } else if (hr_str_is(value, "true") || hr_str_is(value, "false")) {
    put_attr(w, name, HR_AT_SCALAR(HR_ATTR_BOOL, b, hr_str_is(value, "true")));
  } else if (hr_str_parse_i64(value, &number)) {
    put_attr(w, name, HR_AT_SCALAR(HR_ATTR_INT, i, number));
  } else if (value.data[0] == '\'') {
    put_attr(w, name, HR_AT_SCALAR(HR_ATTR_STRING, s, hr_str_slice(kept, 1, kept.size - 1)));
  } else {
    w->functions[at] = (hr_func_attr_t){.name = kept};
    put_attr(w, name, HR_AT_SCALAR(HR_ATTR_FUNC, func, &w->functions[at]));
  }
}

static void read_word(reading_t* r, words_t* w, hr_str_t word) {
  const char first = word.data[0];
  const hr_str_t rest = hr_str_slice(word, 1, word.size);
  int64_t equals = hr_str_find(word, '=');
  if (first == '^') {
    w->controls[w->control_count++] = value_of(r->g, rest).node;
  } else if (first == '~') { /* a back edge: for now the input before it */
    later_t* l = &r->later[r->later_count++];
    *l = (later_t){.input = w->input_count};
    snprintf(l->from, sizeof l->from, "%.*s", HR_STR_ARG(rest));
    w->inputs[w->input_count] = w->inputs[w->input_count - 1];
    ++w->input_count;
  } else if (first == '@') {
    bool constant = word.data[word.size - 1] == '!';
    snprintf(w->texts[w->attr_count], sizeof *w->texts, "%.*s", HR_STR_ARG(hr_str_slice(rest, 0, rest.size - constant)));
    put_attr(w, HR_STR("frame_name"), HR_AT_SCALAR(HR_ATTR_STRING, s, hr_str(w->texts[w->attr_count])));
    put_attr(w, HR_STR("is_constant"), HR_AT_SCALAR(HR_ATTR_BOOL, b, constant));
  } else if (first == '[' || first == '?') {
    w->shape = read_shape(r->g, word);
  } else if (type_of(word)) {
    w->type = (hr_dtype_t)type_of(word);
  } else if (hr_str_parse_double(word, &w->numbers[w->number_count])) {
    ++w->number_count;
  } else if (equals > 0) {
    read_attr(w, hr_str_slice(word, 0, (size_t)equals), hr_str_slice(word, (size_t)equals + 1, word.size));
  } else {
    w->inputs[w->input_count++] = value_of(r->g, word);
  }
}

static void fill_const(const words_t* w, hr_tensor_t* t) { /* a scalar, or a vector where a shape says so */
  hr_shape_t s = hr_shape_scalar();
  if (w->shape && w->shape->rank == 1) s = hr_shape_vector(w->shape->dims[0]);
  maker_must(hr_tensor_create(w->type, &s, t), "a constant");
  for (int i = 0; i < w->number_count; ++i) {
    if (w->type == HR_F32) ((float*)t->data)[i] = (float)w->numbers[i];
    if (w->type == HR_F64) ((double*)t->data)[i] = w->numbers[i];
    if (w->type == HR_I32) ((int32_t*)t->data)[i] = (int32_t)w->numbers[i];
    if (w->type == HR_I64) ((int64_t*)t->data)[i] = (int64_t)w->numbers[i];
    if (w->type == HR_BOOL) ((uint8_t*)t->data)[i] = w->numbers[i] != 0;
  }
}

static void read_node(reading_t* r, hr_str_t line) {
  hr_str_t name, word, op;
  hr_str_split(&line, ' ', &name);
  hr_str_split(&line, ' ', &word); /* = */
  hr_str_split(&line, ' ', &op);
  words_t* w = hr_alloc_zero(sizeof *w);
  hr_tensor_t value = {0};
  const int later = r->later_count;
  while (line.size && hr_str_split(&line, ' ', &word))
    if (word.size) read_word(r, w, word);
  if (hr_str_is(op, "Const")) {
    fill_const(w, &value);
    put_attr(w, HR_STR("value"), HR_AT_SCALAR(HR_ATTR_TENSOR, tensor, &value));
  } else if (w->shape) {
    put_attr(w, HR_STR("shape"), HR_AT_SCALAR(HR_ATTR_SHAPE, shape, w->shape));
  }
  if (w->type) put_attr(w, HR_STR("dtype"), HR_AT_SCALAR(HR_ATTR_TYPE, type, w->type));
  hr_node_desc_t d = {.op = op,
                      .name = name,
                      .inputs = w->inputs,
                      .input_count = w->input_count,
                      .controls = w->controls,
                      .control_count = w->control_count,
                      .attrs = w->attrs,
                      .attr_count = w->attr_count};
  hr_node_t* node = NULL;
  HR_CHECK_OK(hr_graph_add(r->g, &d, &node));
  for (int i = later; i < r->later_count; ++i) r->later[i].node = node;
  hr_tensor_release(&value);
  hr_free(w);
}

static void refine(reading_t* r, hr_str_t line) { /* refine node shape */
  hr_str_t word, name;
  hr_str_split(&line, ' ', &word);
  hr_str_split(&line, ' ', &name);
  HR_CHECK_OK(hr_graph_refine_shape(r->g, value_of(r->g, name), read_shape(r->g, line)));
}

static void read_functions(reading_t* r) {
  hr_writer_t bytes = {0};
  HR_CHECK_OK(hr_text_parse(hr_messages_find(HR_STR("FunctionDefLibrary")), hr_strbuf_view(&r->library), &bytes));
  HR_CHECK_OK(hr_function_add_library(r->g, bytes.data, bytes.size));
  hr_strbuf_deinit(&bytes);
}

/* --- writing it ----------------------------------------------------------------------------------------------------------------------- */
static void put_failure(hr_strbuf_t* out, hr_status_t status) { /* of a long message its ends */
  const hr_str_t text = hr_str(hr_status_message(status));
  hr_strbuf_format(out, "> %s: %.*s", hr_status_code_name(hr_status_code(status)),
                   HR_STR_ARG(hr_str_slice(text, 0, text.size > 300 ? 200 : 300)));
  if (text.size > 300) hr_strbuf_format(out, "...%.*s (%zu bytes)", HR_STR_ARG(hr_str_slice(text, text.size - 100, text.size)), text.size);
  hr_strbuf_format(out, "\n");
  hr_status_release(status);
}

/* --- questions ------------------------------------------------------------------------------------------------------------------------ */
static int read_values(hr_graph_t* g, hr_str_t* question, hr_value_t* out) { /* to the next slash */
  hr_str_t part, word;
  int count = 0;
  if (!question->size || !hr_str_split(question, '|', &part)) return 0;
  while (part.size && hr_str_split(&part, ' ', &word))
    if (word.size) out[count++] = hr_str_is(word, "-") ? HR_NO_VALUE : value_of(g, word);
  return count;
}

static void ask_gradient(hr_graph_t* g, hr_str_t question, hr_strbuf_t* out) {
  hr_value_t ys[8], xs[8], stops[8], upstream[8];
  hr_gradient_t d[8];
  hr_grad_request_t r = {.ys = ys, .xs = xs, .stops = stops, .prefix = HR_STR("")};
  r.y_count = read_values(g, &question, ys);
  r.x_count = read_values(g, &question, xs);
  r.stop_count = read_values(g, &question, stops);
  if (read_values(g, &question, upstream)) r.upstream = upstream;
  r.keep_slices = question.size > 0;
  const int64_t before = g->nodes.count;
  hr_status_t status = hr_grad_build(g, &r, d);
  if (status) {
    put_failure(out, status);
    return;
  }
  for (int i = 0; i < r.x_count; ++i) {
    hr_strbuf_format(out, d[i].is_slices ? "> slices" : "> dense");
    listing_value(out, d[i].is_slices ? d[i].indices : d[i].dense);
    if (d[i].is_slices) listing_value(out, d[i].values), listing_value(out, d[i].dense_shape);
    hr_strbuf_format(out, "\n");
  }
  listing_nodes(out, g, before);
}

static hr_status_t told_replace(hr_expand_t* x, hr_value_t from, hr_value_t to) {
  hr_strbuf_format(x->owner, "> for");
  listing_value(x->owner, from);
  listing_value(x->owner, to);
  hr_strbuf_format(x->owner, "\n");
  return hr_graph_replace_value(x->g, from, to);
}
static hr_status_t told_replace_control(hr_expand_t* x, hr_node_t* from, hr_node_t* to) {
  hr_strbuf_format(x->owner, "> for ^%.*s %s\n", HR_STR_ARG(from->name), to ? to->name.data : "nothing");
  return to ? hr_graph_replace_control(x->g, from, to) : NULL;
}
static hr_status_t told_must_run(hr_expand_t* x, hr_node_t* node) {
  hr_strbuf_format(x->owner, "> must run %.*s\n", HR_STR_ARG(node->name));
  return NULL;
}
static hr_status_t told_added(hr_expand_t* x, const hr_node_t* like) {
  (void)x, (void)like;
  return NULL;
}
static hr_status_t told_removed(hr_expand_t* x, hr_node_t* node) {
  hr_strbuf_format(x->owner, "> without %.*s\n", HR_STR_ARG(node->name));
  return NULL;
}
static bool is_asked(const hr_expand_t* x, const hr_node_t* node) {
  (void)x;
  return hr_str_has_prefix(node->name, HR_STR("asked"));
}

static void ask_expand(hr_graph_t* g, hr_str_t question, hr_strbuf_t* out) {
  static const hr_expand_edit_t told = {told_replace, told_replace_control, told_must_run, told_added, told_removed, is_asked};
  hr_expand_t x;
  const int64_t before = g->nodes.count;
  hr_expand_init(&x, g, &told, out);
  x.lowers = !hr_str_is(question, "calls");
  int32_t level = -1;
  hr_str_t word;
  int64_t number = 0;
  if (hr_str_split(&question, ' ', &word) && hr_str_parse_i64(question, &number)) { /* as if in a body so deep, so many added */
    maker_must(hr_vec_push(&x.levels, ((hr_expand_level_t){NULL, -1, hr_str_is(word, "deep") ? (int32_t)number : 1})), "a level");
    if (hr_str_is(word, "after")) x.added = number;
    level = hr_str_is(word, "outside") ? -1 : 0;
    if (level < 0) x.added = number;
  }
  hr_status_t status = hr_expand_push(&x, g->nodes.data, before, level);
  if (!status) status = hr_expand_run(&x);
  if (status)
    put_failure(out, status);
  else
    hr_strbuf_format(out, "> added %lld%s\n", (long long)x.added, x.has_flow ? ", has flow" : "");
  hr_expand_deinit(&x);
  if (!status) listing_nodes(out, g, before);
}

static void ask_frames(hr_graph_t* g, hr_strbuf_t* out) {
  hr_frames_t f;
  hr_status_t status = hr_frames_find(g->nodes.data, g->nodes.count, g->nodes.count, &f);
  if (status) {
    put_failure(out, status);
    return;
  }
  for (int64_t i = 0; i < f.frames.count; ++i) {
    const hr_frame_info_t* k = &f.frames.data[i];
    hr_strbuf_format(out, "> %d '%.*s' in %d, enters %d, parallel %d, depth %d, %s\n", (int)i, HR_STR_ARG(k->name), (int)k->parent,
                     (int)k->enter_count, (int)k->parallel_iterations, (int)k->depth, k->loop_cond ? k->loop_cond->name.data : "-");
  }
  for (int64_t i = 0; i < g->nodes.count; ++i)
    hr_strbuf_format(out, "> %.*s %d %d\n", HR_STR_ARG(g->nodes.data[i]->name), (int)f.of_node[i], (int)f.of_output[i]);
  hr_frames_deinit(&f);
}

static void answer(reading_t* r, hr_str_t question, hr_strbuf_t* out) {
  hr_str_t what;
  for (int i = 0; i < r->later_count; ++i) {
    hr_value_t from = value_of(r->g, hr_str(r->later[i].from));
    if (from.node) HR_CHECK_OK(hr_graph_set_input(r->g, r->later[i].node, r->later[i].input, from));
  }
  if (r->library.size) read_functions(r);
  hr_str_split(&question, ' ', &what); /* ? */
  hr_str_split(&question, ' ', &what);
  if (hr_str_is(what, "gradient"))
    ask_gradient(r->g, question, out);
  else if (hr_str_is(what, "expand"))
    ask_expand(r->g, question, out);
  else
    ask_frames(r->g, out);
}

/* --- all of them ---------------------------------------------------------------------------------------------------------------------- */
/* Functions come first in a case: nodes call them. */
static void answer_all(hr_str_t text, hr_strbuf_t* out) {
  reading_t r = {0};
  hr_str_t line;
  while (text.size && hr_str_split(&text, '\n', &line)) {
    const char first = line.size ? line.data[0] : ' ';
    if (first == '>') continue;
    hr_strbuf_format(out, "%.*s\n", HR_STR_ARG(line));
    if (first == '#') {
      if (r.g) hr_graph_destroy(r.g);
      hr_strbuf_deinit(&r.library);
      r = (reading_t){.g = maker_graph()};
    } else if (hr_str_has_prefix(line, HR_STR("function ")) || hr_str_has_prefix(line, HR_STR("gradient ")) ||
               hr_str_has_prefix(line, HR_STR("  "))) {
      hr_strbuf_format(&r.library, "%.*s\n", HR_STR_ARG(line));
    } else if (first == '?') {
      answer(&r, line, out);
    } else if (hr_str_has_prefix(line, HR_STR("refine "))) {
      refine(&r, line);
    } else if (line.size) {
      if (r.library.size) {
        read_functions(&r);
        r.library.size = 0;
      }
      read_node(&r, line);
    }
  }
  if (r.g) hr_graph_destroy(r.g);
  hr_strbuf_deinit(&r.library);
}

/* An op whose gradient hands its indices on as they are, of any rank and type: the product's own flatten them first. */
static void grad_rows_of(hr_grad_ctx_t* g) {
  hr_grad_give_slices(g, 0, hr_grad_input(g, 1), hr_grad_upstream(g, 0), hr_emit_shape(g, hr_grad_input(g, 0)));
}
static const hr_op_t rows_of = {
    .name = "RowsOf", .sig = "x: T; i: Tindex -> y: T", .attrs = "T: type; Tindex: type", .shape = hr_infer_any, .grad = grad_rows_of};
__attribute__((constructor)) static void add_rows_of(void) { hr_status_release(hr_registry_add(&rows_of)); }

HR_TEST(what_is_made_of_graphs_is_as_recorded) {
  listing_check("HEADRACE_RECORD_TEXTS", HR_TEST_SOURCE_DIR "/tests/golden/graph_texts.txt", answer_all);
}

HR_TEST_MAIN()
