/* SPDX-License-Identifier: Apache-2.0 */
/* First stage of an import: one pass over the bytes. Nothing is copied; attr values are decoded when their node is added. */
#include "graph/import_state.h"

enum { GRAPH_NODE = 1, GRAPH_LIBRARY = 2, GRAPH_OLD_VERSION = 3, GRAPH_VERSIONS = 4 };
enum { NODE_NAME = 1, NODE_OP = 2, NODE_INPUT = 3, NODE_DEVICE = 4, NODE_ATTR = 5 };
enum { VERSIONS_PRODUCER = 1, VERSIONS_MIN_CONSUMER = 2, VERSIONS_BAD_CONSUMERS = 3 };

/* "name", "name:2", "^name" (index -1). */
static hr_endpoint_t scan_endpoint(hr_str_t text) {
  hr_endpoint_t e = {text, 0};
  if (text.size && text.data[0] == '^') return (hr_endpoint_t){{text.data + 1, text.size - 1}, -1};
  size_t digits = text.size;
  while (digits > 0 && text.data[digits - 1] >= '0' && text.data[digits - 1] <= '9') --digits;
  int64_t index;
  if (digits == text.size || digits < 2 || text.data[digits - 1] != ':') return e;
  if (!hr_str_parse_i64(hr_str_slice(text, digits, text.size), &index) || index > INT32_MAX) index = INT32_MAX;
  return (hr_endpoint_t){{text.data, digits - 1}, (int32_t)index};
}

static hr_status_t scan_input(hr_import_t* im, hr_import_node_t* n, hr_str_t text) {
  hr_endpoint_t e = scan_endpoint(text);
  if (e.index >= 0 && n->control_count)
    return HR_ERROR(INVALID_ARGUMENT, "node '%.*s': input '%.*s' comes after a control input; control inputs must be last",
                    HR_STR_ARG(n->name), HR_STR_ARG(text));
  if (n->input_count == INT32_MAX || n->control_count == INT32_MAX)
    return HR_ERROR(INVALID_ARGUMENT, "node '%.*s' has too many inputs", HR_STR_ARG(n->name));
  *(e.index >= 0 ? &n->input_count : &n->control_count) += 1;
  return hr_vec_push(&im->inputs, ((hr_import_input_t){.name = e.node, .index = e.index}));
}

static hr_status_t scan_node(hr_import_t* im, hr_cursor_t span) {
  hr_field_t field;
  hr_import_node_t n = {.first_input = im->inputs.count, .first_attr = im->attrs.count};
  n.name = n.op = n.device = HR_STR("");
  while (!hr_cursor_is_done(&span)) {
    HR_TRY(hr_cursor_next(&span, &field));
    switch (field.key) {
      case HR_KEY_SPAN(NODE_NAME): n.name = hr_cursor_str(field.span); break;
      case HR_KEY_SPAN(NODE_OP): n.op = hr_cursor_str(field.span); break;
      case HR_KEY_SPAN(NODE_DEVICE): n.device = hr_cursor_str(field.span); break;
      case HR_KEY_SPAN(NODE_INPUT): HR_TRY(scan_input(im, &n, hr_cursor_str(field.span))); break;
      case HR_KEY_SPAN(NODE_ATTR):
        HR_TRY(hr_vec_push(&im->attrs, field.span));
        ++n.attr_count;
        break;
      default: break; /* debug info and what later versions add */
    }
  }
  n.is_merge = hr_str_is(n.op, "Merge") || hr_str_is(n.op, "RefMerge");
  n.is_next_iteration = hr_str_is(n.op, "NextIteration") || hr_str_is(n.op, "RefNextIteration");
  n.new_name = n.name;
  if (im->nodes.count >= INT32_MAX) return HR_ERROR(INVALID_ARGUMENT, "the GraphDef has too many nodes");
  return hr_vec_push(&im->nodes, n);
}

static hr_status_t scan_packed_consumers(hr_import_t* im, hr_cursor_t span) {
  while (!hr_cursor_is_done(&span)) {
    uint64_t v;
    HR_TRY(hr_cursor_varint(&span, &v));
    HR_TRY(hr_vec_push(&im->bad_consumers, (int32_t)v));
  }
  return NULL;
}

static hr_status_t scan_versions(hr_import_t* im, hr_cursor_t span) {
  hr_field_t field;
  while (!hr_cursor_is_done(&span)) {
    HR_TRY(hr_cursor_next(&span, &field));
    if (field.key == HR_KEY_VARINT(VERSIONS_PRODUCER)) im->producer = (int32_t)field.value;
    if (field.key == HR_KEY_VARINT(VERSIONS_MIN_CONSUMER)) im->min_consumer = (int32_t)field.value;
    if (field.key == HR_KEY_VARINT(VERSIONS_BAD_CONSUMERS)) HR_TRY(hr_vec_push(&im->bad_consumers, (int32_t)field.value));
    if (field.key == HR_KEY_SPAN(VERSIONS_BAD_CONSUMERS)) HR_TRY(scan_packed_consumers(im, field.span));
  }
  return NULL;
}

static hr_status_t scan_check_versions(const hr_import_t* im) {
  if (im->producer < 0) return HR_ERROR(INVALID_ARGUMENT, "GraphDef producer version %d is below the least one, 0", (int)im->producer);
  if (im->min_consumer > HR_GRAPH_VERSION)
    return HR_ERROR(INVALID_ARGUMENT, "GraphDef min consumer version %d is above this library's version %d: a newer library is needed",
                    (int)im->min_consumer, HR_GRAPH_VERSION);
  for (int64_t i = 0; i < im->bad_consumers.count; ++i)
    if (im->bad_consumers.data[i] == HR_GRAPH_VERSION)
      return HR_ERROR(INVALID_ARGUMENT, "GraphDef refuses consumers of version %d, which this library is (bad_consumers)",
                      HR_GRAPH_VERSION);
  return NULL;
}

hr_status_t hr_import_scan(hr_import_t* im, const void* data, size_t size) {
  hr_field_t field;
  hr_cursor_t span = hr_cursor_make(data, size);
  HR_TRY(hr_vec_reserve(&im->inputs, 1)); /* a graph without edges still has somewhere for its nodes' inputs to begin */
  while (!hr_cursor_is_done(&span)) {
    HR_TRY(hr_cursor_next(&span, &field));
    if (field.key == HR_KEY_SPAN(GRAPH_NODE)) HR_TRY(scan_node(im, field.span));
    if (field.key == HR_KEY_SPAN(GRAPH_LIBRARY)) HR_TRY(hr_vec_push(&im->libraries, field.span));
    if (field.key == HR_KEY_SPAN(GRAPH_VERSIONS)) HR_TRY(scan_versions(im, field.span));
    if (field.key == HR_KEY_VARINT(GRAPH_OLD_VERSION) && im->producer == 0)
      im->producer = (int32_t)field.value; /* before VersionDef existed */
  }
  return scan_check_versions(im);
}
