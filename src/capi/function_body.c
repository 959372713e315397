/* SPDX-License-Identifier: Apache-2.0 */
/* A function made of part of a graph: TF_GraphToFunction.
 *
 * Arguments get the names of the operations that feed them, in lower case; inner edges are written "node:argument:index", edges from
 * arguments by the argument's name. Every input of a body operation must come from the body or from an argument. */
#include "capi/function.h"
#include "op/attr_value.h"

enum { FUNCTION_SIGNATURE = 1, FUNCTION_NODE = 3, FUNCTION_RET = 4, FUNCTION_CONTROL_RET = 6, ENTRY_KEY = 1, ENTRY_VALUE = 2 };
enum { OPDEF_NAME = 1, OPDEF_INPUT = 2, OPDEF_OUTPUT = 3, OPDEF_DESCRIPTION = 6, OPDEF_STATEFUL = 17, OPDEF_CONTROL_OUTPUT = 20 };
enum { ARG_NAME = 1, ARG_TYPE = 3 };
enum { NODE_NAME = 1, NODE_OP = 2, NODE_INPUT = 3, NODE_DEVICE = 4, NODE_ATTR = 5 };
enum { BODY_GUESS = 200 };

typedef struct {
  const char* name;
  bool append_hash;
  int oper_count; /* -1: all but those that feed arguments */
  const TF_Operation* const* opers;
  int input_count, output_count, control_count;
  const TF_Output* inputs;
  const TF_Output* outputs;
  const char* const* output_names;
  const TF_Operation* const* controls;
  const char* const* control_names;
  const char* description;
} body_request_t;

typedef struct {
  const hr_graph_t* g;
  const body_request_t* r;
  hr_arena_t arena;
  bool* in_body;          /* by node id */
  hr_str_t* input_names;
  hr_str_t* output_names;
  hr_map_t taken;         /* names of body nodes and arguments */
} body_t;

/* --- names --------------------------------------------------------------------------------------------------------------------------- */
/* "Layer/W:0" to "layer_w"; letters first; "unknown" when nothing is left. */
static hr_status_t body_normalise(body_t* b, hr_str_t name, hr_str_t* out) {
  char* text = hr_arena_alloc(&b->arena, name.size + 1);
  size_t size = 0;
  if (!text) return hr_status_out_of_memory();
  for (size_t i = 0; i < name.size; ++i) {
    char c = name.data[i];
    bool upper = c >= 'A' && c <= 'Z', letter = upper || (c >= 'a' && c <= 'z'), digit = c >= '0' && c <= '9';
    if (!letter && size == 0) continue;
    text[size++] = upper ? (char)(c - 'A' + 'a') : letter || digit ? c : '_';
  }
  text[size] = 0;
  *out = size ? (hr_str_t){text, size} : HR_STR("unknown");
  return NULL;
}

/* wanted, wanted_1, ... that is not taken in the map; takes it. */
static hr_status_t body_unique(body_t* b, hr_map_t* taken, hr_str_t wanted, hr_str_t* out) {
  hr_strbuf_t text;
  bool added = false;
  hr_str_t name = wanted;
  hr_status_t status = NULL;
  hr_strbuf_init(&text);
  for (int i = 1; !status && hr_map_find(taken, name, NULL); ++i) {
    text.size = 0;
    hr_strbuf_format(&text, "%.*s_%d", HR_STR_ARG(wanted), i);
    if (text.failed || !hr_arena_str(&b->arena, hr_strbuf_view(&text), &name)) status = hr_status_out_of_memory();
  }
  hr_strbuf_deinit(&text);
  if (!status) status = hr_map_add(taken, name, 1, &added);
  *out = name;
  return status;
}

/* The index among the arguments of an endpoint; -1. */
static int body_find_argument(const body_t* b, hr_value_t v) {
  for (int i = 0; i < b->r->input_count; ++i)
    if (hr_capi_node(b->r->inputs[i].oper) == v.node && b->r->inputs[i].index == v.index) return i;
  return -1;
}

/* --- what belongs to it -------------------------------------------------------------------------------------------------------------- */
static hr_status_t body_check_endpoint(const body_t* b, TF_Output o, const char* what, int i) {
  hr_status_t status = hr_capi_check_value(b->g, hr_capi_value(o));
  if (!status && hr_dtype_is_ref(hr_value_type(hr_capi_value(o))))
    status = HR_ERROR(INVALID_ARGUMENT, "'%s:%d' is a reference, which functions cannot pass", hr_capi_node(o.oper)->name.data, o.index);
  return status ? hr_status_note(status, "%s %d: ", what, i) : NULL;
}

static hr_status_t body_check(const body_t* b) {
  const body_request_t* r = b->r;
  HR_TRY(hr_capi_check_count(r->input_count, r->inputs, "inputs"));
  HR_TRY(hr_capi_check_count(r->output_count, r->outputs, "outputs"));
  HR_TRY(hr_capi_check_count(r->control_count, r->controls, "control outputs"));
  if (r->oper_count >= 0) HR_TRY(hr_capi_check_count(r->oper_count, r->opers, "operations"));
  if (!r->name || !*r->name) return HR_ERROR(INVALID_ARGUMENT, "the function has no name");
  for (int i = 0; i < r->input_count; ++i) {
    HR_TRY(body_check_endpoint(b, r->inputs[i], "input", i));
    if (body_find_argument(b, hr_capi_value(r->inputs[i])) < i)
      return HR_ERROR(INVALID_ARGUMENT, "input %d: '%s:%d' is an input already", i, hr_capi_node(r->inputs[i].oper)->name.data,
                      r->inputs[i].index);
  }
  for (int i = 0; i < r->output_count; ++i) HR_TRY(body_check_endpoint(b, r->outputs[i], "output", i));
  return NULL;
}

static hr_status_t body_choose_all(body_t* b) {
  for (int64_t i = 0; i < b->g->nodes.count; ++i) b->in_body[i] = b->g->nodes.data[i] != NULL;
  for (int i = 0; i < b->r->input_count; ++i) {
    const hr_node_t* node = hr_capi_node(b->r->inputs[i].oper);
    if (node->output_count != 1)
      return HR_ERROR(INVALID_ARGUMENT, "operation '%s' feeds an input and has %d outputs: name the operations of the body",
                      node->name.data,
                      node->output_count);
    b->in_body[node->id] = false;
  }
  return NULL;
}

static hr_status_t body_choose(body_t* b) {
  b->in_body = hr_arena_array(&b->arena, (size_t)b->g->nodes.count + 1, sizeof *b->in_body);
  if (!b->in_body) return hr_status_out_of_memory();
  if (b->r->oper_count < 0) return body_choose_all(b);
  for (int i = 0; i < b->r->oper_count; ++i) {
    const hr_node_t* node = hr_capi_node(b->r->opers[i]);
    if (!node || node->graph != b->g) return HR_ERROR(INVALID_ARGUMENT, "operation %d is not of this graph", i);
    b->in_body[node->id] = true;
  }
  return NULL;
}

static hr_status_t body_name_all(body_t* b) {
  hr_map_t results;
  bool added;
  size_t ins = (size_t)b->r->input_count, outs = (size_t)b->r->output_count;
  b->input_names = hr_arena_array(&b->arena, ins, sizeof *b->input_names);
  b->output_names = hr_arena_array(&b->arena, outs, sizeof *b->output_names);
  if (!b->input_names || !b->output_names) return hr_status_out_of_memory();
  for (int64_t i = 0; i < b->g->nodes.count; ++i)
    if (b->in_body[i]) HR_TRY(hr_map_add(&b->taken, b->g->nodes.data[i]->name, 1, &added));
  for (size_t i = 0; i < ins; ++i) {
    hr_str_t wanted;
    HR_TRY(body_normalise(b, hr_capi_node(b->r->inputs[i].oper)->name, &wanted));
    HR_TRY(body_unique(b, &b->taken, wanted, &b->input_names[i]));
  }
  hr_map_init(&results);
  hr_status_t status = NULL;
  for (size_t i = 0; i < outs && !status; ++i) {
    hr_str_t wanted = b->r->output_names ? hr_capi_str(b->r->output_names[i]) : HR_STR("");
    if (!b->r->output_names) status = body_normalise(b, hr_capi_node(b->r->outputs[i].oper)->name, &wanted);
    if (!status && b->r->output_names && hr_map_find(&results, wanted, NULL))
      status = HR_ERROR(INVALID_ARGUMENT, "two outputs are named '%.*s'", HR_STR_ARG(wanted));
    if (!status) status = body_unique(b, &results, wanted, &b->output_names[i]);
  }
  hr_map_deinit(&results);
  return status;
}

/* --- writing ------------------------------------------------------------------------------------------------------------------------- */
/* "node:argument:index", or an argument's name, into text. */
static hr_status_t body_write_endpoint(const body_t* b, hr_value_t v, const hr_node_t* reader, hr_strbuf_t* text) {
  int argument = body_find_argument(b, v), first = 0, length = 0;
  text->size = 0;
  if (argument >= 0) {
    hr_strbuf_add_str(text, b->input_names[argument]);
    return NULL;
  }
  if (!v.node) return HR_ERROR(INVALID_ARGUMENT, "operation '%s' has an input that is not connected", reader ? reader->name.data : "");
  if (!b->in_body[v.node->id])
    return HR_ERROR(INVALID_ARGUMENT, "'%s:%d', read by '%s', is neither in the function's body nor an input", v.node->name.data,
                    (int)v.index,
                    reader ? reader->name.data : "an output");
  const hr_op_def_t* def = v.node->attrs.def;
  for (int i = 0; i < def->output_count; ++i, first += length) {
    HR_TRY(hr_sig_arg_length(def, v.node->attrs.values, true, i, &length));
    if (v.index >= first + length) continue;
    hr_strbuf_format(text, "%s:%.*s:%d", v.node->name.data, HR_STR_ARG(def->outputs[i].name), (int)v.index - first);
    return NULL;
  }
  return HR_ERROR(INTERNAL, "output %d of operation '%s' belongs to no argument", (int)v.index, v.node->name.data);
}

static hr_status_t body_write_inputs(const body_t* b, const hr_node_t* n, hr_strbuf_t* text, hr_writer_t* w) {
  for (int i = 0; i < n->input_count; ++i) {
    HR_TRY(body_write_endpoint(b, n->inputs[i], n, text));
    hr_writer_str(w, NODE_INPUT, hr_strbuf_view(text));
  }
  for (int i = 0; i < n->control_count; ++i) {
    if (!b->in_body[n->controls[i]->id])
      return HR_ERROR(INVALID_ARGUMENT, "operation '%s' waits for '%s', which is not in the function's body", n->name.data,
                      n->controls[i]->name.data);
    text->size = 0;
    hr_strbuf_format(text, "^%s", n->controls[i]->name.data);
    hr_writer_str(w, NODE_INPUT, hr_strbuf_view(text));
  }
  return NULL;
}

static hr_status_t body_write_node(const body_t* b, const hr_node_t* n, hr_strbuf_t* text, hr_writer_t* w) {
  hr_writer_mark_t mark = hr_writer_begin(w, FUNCTION_NODE, BODY_GUESS);
  hr_writer_str(w, NODE_NAME, n->name);
  hr_writer_str(w, NODE_OP, n->attrs.def->name);
  HR_TRY(body_write_inputs(b, n, text, w));
  if (n->device.size) hr_writer_str(w, NODE_DEVICE, n->device);
  for (int i = 0; i < n->attrs.def->attr_count; ++i) {
    hr_named_attr_t attr = {n->attrs.def->attrs[i].name, n->attrs.values[i]};
    HR_TRY(hr_attr_value_encode_entry(NODE_ATTR, &attr, w));
  }
  for (int32_t i = 0; i < n->attrs.extra_count; ++i) HR_TRY(hr_attr_value_encode_entry(NODE_ATTR, &n->attrs.extras[i], w));
  hr_writer_end(w, mark, BODY_GUESS);
  return NULL;
}

static void body_write_arg(uint32_t number, hr_str_t name, hr_value_t v, hr_writer_t* w) {
  hr_writer_mark_t mark = hr_writer_begin(w, number, 32);
  hr_writer_str(w, ARG_NAME, name);
  hr_writer_i64(w, ARG_TYPE, hr_value_type(v));
  hr_writer_end(w, mark, 32);
}

static hr_str_t body_control_name(const body_t* b, int i) {
  return b->r->control_names && b->r->control_names[i] ? hr_str(b->r->control_names[i]) : hr_capi_node(b->r->controls[i])->name;
}

static void body_write_signature(const body_t* b, hr_str_t name, hr_writer_t* w) {
  bool stateful = false;
  for (int64_t i = 0; i < b->g->nodes.count; ++i)
    stateful |= b->in_body[i] && (b->g->nodes.data[i]->attrs.def->op->flags & HR_OP_STATEFUL);
  hr_writer_mark_t mark = hr_writer_begin(w, FUNCTION_SIGNATURE, BODY_GUESS);
  hr_writer_str(w, OPDEF_NAME, name);
  for (int i = 0; i < b->r->input_count; ++i) body_write_arg(OPDEF_INPUT, b->input_names[i], hr_capi_value(b->r->inputs[i]), w);
  for (int i = 0; i < b->r->output_count; ++i) body_write_arg(OPDEF_OUTPUT, b->output_names[i], hr_capi_value(b->r->outputs[i]), w);
  for (int i = 0; i < b->r->control_count; ++i) hr_writer_str(w, OPDEF_CONTROL_OUTPUT, body_control_name(b, i));
  if (b->r->description) hr_writer_str(w, OPDEF_DESCRIPTION, hr_str(b->r->description));
  if (stateful) hr_writer_bool(w, OPDEF_STATEFUL, true);
  hr_writer_end(w, mark, BODY_GUESS);
}

static void body_write_entry(uint32_t number, hr_str_t key, hr_str_t value, hr_writer_t* w) {
  hr_writer_mark_t mark = hr_writer_begin(w, number, 64);
  hr_writer_str(w, ENTRY_KEY, key);
  hr_writer_str(w, ENTRY_VALUE, value);
  hr_writer_end(w, mark, 64);
}

/* Everything after the signature. */
static hr_status_t body_write_rest(const body_t* b, hr_writer_t* w) {
  hr_strbuf_t text;
  hr_status_t status = NULL;
  hr_strbuf_init(&text);
  for (int64_t i = 0; i < b->g->nodes.count && !status; ++i)
    if (b->in_body[i]) status = body_write_node(b, b->g->nodes.data[i], &text, w);
  for (int i = 0; i < b->r->output_count && !status; ++i)
    if (!(status = body_write_endpoint(b, hr_capi_value(b->r->outputs[i]), NULL, &text)))
      body_write_entry(FUNCTION_RET, b->output_names[i], hr_strbuf_view(&text), w);
  for (int i = 0; i < b->r->control_count && !status; ++i) {
    const hr_node_t* node = hr_capi_node(b->r->controls[i]);
    if (!node || node->graph != b->g || !b->in_body[node->id]) status = HR_ERROR(INVALID_ARGUMENT,
        "control output %d is not in the function's body", i);
    else body_write_entry(FUNCTION_CONTROL_RET, body_control_name(b, i), node->name, w);
  }
  if (!status && text.failed) status = hr_status_out_of_memory();
  hr_strbuf_deinit(&text);
  return status;
}

static hr_status_t body_write(body_t* b, hr_writer_t* rest, hr_writer_t* w) {
  hr_strbuf_t name;
  hr_strbuf_init(&name);
  HR_TRY(body_check(b));
  HR_TRY(body_choose(b));
  HR_TRY(body_name_all(b));
  HR_TRY(body_write_rest(b, rest));
  hr_strbuf_add_str(&name, hr_str(b->r->name));
  if (b->r->append_hash) hr_strbuf_format(&name, "_%016llx", (unsigned long long)hr_hash(rest->data, rest->size, 0));
  body_write_signature(b, hr_strbuf_view(&name), w);
  hr_strbuf_add_str(w, hr_strbuf_view(rest));
  bool failed = name.failed || rest->failed;
  hr_strbuf_deinit(&name);
  return failed ? hr_status_out_of_memory() : NULL;
}

static hr_status_t body_make(hr_graph_t* g, const body_request_t* r, TF_Function** out) {
  body_t b = {.g = g, .r = r};
  hr_writer_t rest, whole;
  char* bytes = NULL;
  size_t size = 0;
  if (!g) return hr_capi_null("the graph");
  hr_arena_init(&b.arena);
  hr_map_init(&b.taken);
  hr_strbuf_init(&rest);
  hr_strbuf_init(&whole);
  hr_mutex_lock(&g->mu);
  hr_status_t status = body_write(&b, &rest, &whole);
  hr_mutex_unlock(&g->mu);
  if (!status) status = hr_strbuf_take(&whole, &bytes, &size);
  if (!status) status = hr_capi_function_create(bytes, size, out);
  hr_strbuf_deinit(&whole);
  hr_strbuf_deinit(&rest);
  hr_map_deinit(&b.taken);
  hr_arena_deinit(&b.arena);
  return status;
}

TF_Function* TF_GraphToFunctionWithControlOutputs(const TF_Graph* fn_body, const char* fn_name, unsigned char append_hash_to_fn_name,
                                                  int num_opers, const TF_Operation* const* opers, int ninputs, const TF_Output* inputs,
                                                  int noutputs, const TF_Output* outputs, const char* const* output_names,
                                                  int ncontrol_outputs,
                                                  const TF_Operation* const* control_outputs, const char* const* control_output_names,
                                                  const TF_FunctionOptions* opts, const char* description, TF_Status* status) {
  TF_Function* f = NULL;
  body_request_t r = {
      .name = fn_name,
      .append_hash = append_hash_to_fn_name != 0,
      .oper_count = num_opers,
      .opers = opers,
      .input_count = ninputs,
      .output_count = noutputs,
      .control_count = ncontrol_outputs,
      .inputs = inputs,
      .outputs = outputs,
      .output_names = output_names,
      .controls = control_outputs,
      .control_names = control_output_names,
      .description = description,
  };
  (void)opts; /* there are none */
  hr_capi_report(status, body_make(hr_capi_graph(fn_body), &r, &f));
  return f;
}

TF_Function* TF_GraphToFunction(const TF_Graph* fn_body, const char* fn_name, unsigned char append_hash_to_fn_name, int num_opers,
                                const TF_Operation* const* opers, int ninputs, const TF_Output* inputs, int noutputs,
                                const TF_Output* outputs,
                                const char* const* output_names, const TF_FunctionOptions* opts, const char* description,
                                TF_Status* status) {
  return TF_GraphToFunctionWithControlOutputs(fn_body, fn_name, append_hash_to_fn_name, num_opers, opers, ninputs, inputs, noutputs,
                                              outputs,
                                              output_names, 0, NULL, NULL, opts, description, status);
}
