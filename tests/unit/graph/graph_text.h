/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs and functions of the product's ops as protobuf text, and graphs as one line of text, so that a case is a row of a table. */
#ifndef HR_TESTS_UNIT_GRAPH_GRAPH_TEXT_H
#define HR_TESTS_UNIT_GRAPH_GRAPH_TEXT_H
#include "test.h"
#include "graph/import.h"
#include "wire/text.h"

#define OP(name, op)     "name: '" name "' op: '" op "' "
#define IN(x)            "input: '" x "' "
#define ATTR(key, value) "attr { key: '" key "' value { " value " } } "
#define TYPE(key, t)     ATTR(key, "type: " t)
#define F32              TYPE("T", "DT_FLOAT")
#define NODE(text)       "node { " text "} "
#define INNER(text)      "node_def { " text "} "

/* The bytes of a message of that type; the caller deinits. */
static inline hr_writer_t text_bytes(const char* type, const char* text) {
  hr_writer_t bytes;
  hr_strbuf_init(&bytes);
  hr_status_t status = hr_text_parse(hr_messages_find(hr_str(type)), hr_str(text), &bytes);
  if (status) printf("in \"%s\": %s\n", text, hr_status_message(status));
  HR_CHECK(!status);
  hr_status_release(status);
  return bytes;
}

static inline hr_status_t text_import(hr_graph_t* g, const char* text, const hr_import_options_t* o, hr_import_results_t* out) {
  hr_writer_t bytes = text_bytes("GraphDef", text);
  hr_status_t status = hr_import_graph_def(g, bytes.data, bytes.size, o, out);
  hr_strbuf_deinit(&bytes);
  return status;
}

static inline hr_graph_t* text_graph(const char* text) {
  hr_graph_t* g = NULL;
  HR_CHECK_OK(hr_graph_create(&g));
  HR_CHECK_OK(text_import(g, text, NULL, NULL));
  return g;
}

/* "z=Add(x:0,y:1,^n)@/cpu:0 ": inputs, controls, device if it asks for one. */
static inline void text_of_node(const hr_node_t* n, hr_strbuf_t* out) {
  const char* between = "";
  hr_strbuf_format(out, "%s=%.*s(", n->name.data, HR_STR_ARG(n->attrs.def->name));
  for (int i = 0; i < n->input_count; ++i, between = ",")
    hr_strbuf_format(out, "%s%s:%d", between, n->inputs[i].node ? n->inputs[i].node->name.data : "?", (int)n->inputs[i].index);
  for (int i = 0; i < n->control_count; ++i, between = ",") hr_strbuf_format(out, "%s^%s", between, n->controls[i]->name.data);
  hr_strbuf_format(out, ")%s%s ", n->device.size ? "@" : "", n->device.data);
}

static inline void text_of_nodes(hr_node_t* const* nodes, int64_t count, hr_strbuf_t* out) {
  for (int64_t i = 0; i < count; ++i)
    if (nodes[i]) text_of_node(nodes[i], out);
}

/* Checks the one-line text; says which row of a table it was. */
static inline bool text_check(const hr_strbuf_t* text, const char* want, int row) {
  bool good = HR_CHECK_VIEW(hr_strbuf_view(text), want);
  if (!good) printf("in row %d\n", row);
  return good;
}
static inline bool text_check_nodes(hr_node_t* const* nodes, int64_t count, const char* want, int row) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  text_of_nodes(nodes, count, &text);
  bool good = text_check(&text, want, row);
  hr_strbuf_deinit(&text);
  return good;
}
static inline bool text_check_graph(const hr_graph_t* g, const char* want, int row) {
  return text_check_nodes(g->nodes.data, g->nodes.count, want, row);
}
/* A refusal whose whole message is `want`. */
static inline bool text_check_error(hr_status_t status, const char* want, int row) {
  bool good = HR_CHECK_STR(status ? hr_status_message(status) : "", want);
  if (!good) printf("in row %d\n", row);
  hr_status_release(status);
  return good;
}
#endif
