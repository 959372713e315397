/* SPDX-License-Identifier: Apache-2.0 */
/* A graph as GraphDef, a node as NodeDef. Every attr is written, defaults too, as TensorFlow does; except in a part for another task. There
 * is no limit at 2 GB: lengths are 64-bit varints, and our own import reads them; protobuf libraries may refuse such files. */
#include "op/attr_value.h"
#include "graph/function.h"
#include "graph/import.h"
#include "wire/tensor_proto.h"

enum { GRAPH_NODE = 1, GRAPH_LIBRARY = 2, GRAPH_VERSIONS = 4 };
enum { NODE_NAME = 1, NODE_OP = 2, NODE_INPUT = 3, NODE_DEVICE = 4, NODE_ATTR = 5 };
enum { LIBRARY_FUNCTION = 1, LIBRARY_GRADIENT = 2, GRADIENT_FUNCTION = 1, GRADIENT_NAME = 2 };
enum { VERSIONS_PRODUCER = 1, VERSIONS_MIN_CONSUMER = 2, VERSIONS_BAD_CONSUMERS = 3 };

/* About how many bytes the node takes, so that large constants are written in place. */
static size_t node_expected_size(const hr_node_t* n) {
  size_t size = 64;
  for (int i = 0; i < n->attrs.def->attr_count; ++i)
    if (n->attrs.values[i].kind == HR_ATTR_TENSOR && !n->attrs.values[i].is_list)
      size += hr_tensor_proto_expected(n->attrs.values[i].u.tensor);
  return size;
}

static hr_status_t node_write_inputs(const hr_node_t* n, hr_writer_t* w) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  for (int i = 0; i < n->input_count; ++i) {
    hr_value_t v = n->inputs[i];
    if (!v.node) {
      hr_strbuf_deinit(&text);
      return HR_ERROR(FAILED_PRECONDITION, "node '%s': input %d is not connected yet", n->name.data, i);
    }
    text.size = 0;
    if (v.index) hr_strbuf_format(&text, "%s:%d", v.node->name.data, (int)v.index);
    hr_writer_str(w, NODE_INPUT, v.index ? hr_strbuf_view(&text) : v.node->name);
  }
  for (int i = 0; i < n->control_count; ++i) {
    text.size = 0;
    hr_strbuf_format(&text, "^%s", n->controls[i]->name.data);
    hr_writer_str(w, NODE_INPUT, hr_strbuf_view(&text));
  }
  bool failed = text.failed;
  hr_strbuf_deinit(&text);
  return failed ? hr_status_out_of_memory() : NULL;
}

static hr_status_t node_write(const hr_node_t* n, bool strip_defaults, hr_writer_t* w) {
  hr_writer_str(w, NODE_NAME, n->name);
  hr_writer_str(w, NODE_OP, n->attrs.def->name);
  HR_TRY(node_write_inputs(n, w));
  if (n->device.size) hr_writer_str(w, NODE_DEVICE, n->device);
  for (int i = 0; i < n->attrs.def->attr_count; ++i) {
    const hr_attr_def_t* def = &n->attrs.def->attrs[i];
    hr_named_attr_t attr = {def->name, n->attrs.values[i]};
    if (strip_defaults && def->has_default && hr_attr_equal(&def->value, &attr.value)) continue;
    HR_TRY(hr_attr_value_encode_entry(NODE_ATTR, &attr, w));
  }
  for (int32_t i = 0; i < n->attrs.extra_count; ++i) HR_TRY(hr_attr_value_encode_entry(NODE_ATTR, &n->attrs.extras[i], w));
  return NULL;
}

static void graph_write_library(const hr_graph_t* g, hr_writer_t* w) {
  if (!g->functions.count) return;
  size_t expected = 16;
  for (int64_t i = 0; i < g->functions.count; ++i) expected += g->functions.data[i]->bytes.size + 16;
  hr_writer_mark_t library = hr_writer_begin(w, GRAPH_LIBRARY, expected);
  for (int64_t i = 0; i < g->functions.count; ++i) hr_writer_str(w, LIBRARY_FUNCTION, g->functions.data[i]->bytes);
  for (int64_t i = 0; i < g->functions.count; ++i) {
    const hr_function_t* f = g->functions.data[i];
    if (!f->gradient.size) continue;
    hr_writer_mark_t gradient = hr_writer_begin(w, LIBRARY_GRADIENT, 64);
    hr_writer_str(w, GRADIENT_FUNCTION, f->name);
    hr_writer_str(w, GRADIENT_NAME, f->gradient);
    hr_writer_end(w, gradient, 64);
  }
  hr_writer_end(w, library, expected);
}

static void graph_write_versions(const hr_graph_t* g, hr_writer_t* w) {
  hr_writer_mark_t versions = hr_writer_begin(w, GRAPH_VERSIONS, 16);
  if (g->producer) hr_writer_i64(w, VERSIONS_PRODUCER, g->producer);
  if (g->min_consumer) hr_writer_i64(w, VERSIONS_MIN_CONSUMER, g->min_consumer);
  for (int64_t i = 0; i < g->bad_consumers.count; ++i) hr_writer_i64(w, VERSIONS_BAD_CONSUMERS, g->bad_consumers.data[i]);
  hr_writer_end(w, versions, 16);
}

static hr_status_t graph_write_nodes(hr_node_t* const* nodes, int64_t count, bool strip_defaults, hr_writer_t* w) {
  for (int64_t i = 0; i < count; ++i) {
    if (!nodes[i]) continue;
    size_t expected = node_expected_size(nodes[i]);
    hr_writer_mark_t node = hr_writer_begin(w, GRAPH_NODE, expected);
    HR_TRY(node_write(nodes[i], strip_defaults, w));
    hr_writer_end(w, node, expected);
    if (w->failed) return hr_status_out_of_memory();
  }
  return NULL;
}

static hr_status_t graph_write(const hr_graph_t* g, int64_t first_id, hr_writer_t* w) {
  if (first_id < 0) first_id = 0;
  if (first_id < g->nodes.count) HR_TRY(graph_write_nodes(g->nodes.data + first_id, g->nodes.count - first_id, false, w));
  graph_write_library(g, w);
  graph_write_versions(g, w);
  return NULL;
}

static hr_status_t export_finish(hr_writer_t* w, hr_status_t status, char** out_data, size_t* out_size) {
  if (!status) status = hr_strbuf_take(w, out_data, out_size);
  hr_strbuf_deinit(w);
  return status;
}

hr_status_t hr_export_graph_def(hr_graph_t* g, int32_t first_id, char** out_data, size_t* out_size) {
  hr_writer_t w;
  hr_strbuf_init(&w);
  return export_finish(&w, graph_write(g, first_id, &w), out_data, out_size);
}

hr_status_t hr_export_node_def(const hr_node_t* node, char** out_data, size_t* out_size) {
  hr_writer_t w;
  hr_strbuf_init(&w);
  return export_finish(&w, node_write(node, false, &w), out_data, out_size);
}

static hr_status_t part_write(hr_node_t* const* nodes, int64_t count, const hr_graph_t* library, hr_writer_t* w) {
  HR_TRY(graph_write_nodes(nodes, count, true, w));
  graph_write_library(library, w);
  graph_write_versions(library, w);
  return NULL;
}

hr_status_t hr_export_part(hr_node_t* const* nodes, int64_t count, const hr_graph_t* library, char** out_data, size_t* out_size) {
  hr_writer_t w;
  hr_strbuf_init(&w);
  return export_finish(&w, part_write(nodes, count, library, &w), out_data, out_size);
}
