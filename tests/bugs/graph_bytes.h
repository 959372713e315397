/* SPDX-License-Identifier: Apache-2.0 */
/* GraphDefs written byte by byte, so that tests can write those that no library would: two nodes of one name, inputs that do not exist. */
#ifndef HR_TESTS_BUGS_GRAPH_BYTES_H
#define HR_TESTS_BUGS_GRAPH_BYTES_H
#include "bug.h"

typedef struct {
  char* data;
  size_t size, room;
} bytes_t;

UNUSED static void bytes_raw(bytes_t* b, const void* data, size_t n) {
  if (b->size + n > b->room) b->data = realloc(b->data, b->room = 2 * (b->size + n) + 64);
  if (n) memcpy(b->data + b->size, data, n);
  b->size += n;
}
UNUSED static void bytes_varint(bytes_t* b, uint64_t v) {
  do {
    char c = (char)((v & 127) | (v > 127 ? 128 : 0));
    bytes_raw(b, &c, 1);
  } while (v >>= 7);
}
UNUSED static void bytes_number(bytes_t* b, int field, uint64_t v) {
  bytes_varint(b, (uint64_t)field << 3);
  bytes_varint(b, v);
}
UNUSED static void bytes_field(bytes_t* b, int field, const void* data, size_t n) {
  bytes_varint(b, (uint64_t)field << 3 | 2);
  bytes_varint(b, n);
  bytes_raw(b, data, n);
}
/* Closes part into its owner. */
UNUSED static void bytes_part(bytes_t* b, int field, bytes_t* part) {
  bytes_field(b, field, part->data, part->size);
  free(part->data);
  *part = (bytes_t){0};
}
UNUSED static void bytes_attr(bytes_t* node, const char* name, bytes_t* value) {
  bytes_t entry = {0};
  bytes_field(&entry, 1, name, strlen(name));
  bytes_part(&entry, 2, value);
  bytes_part(node, 5, &entry);
}
UNUSED static void bytes_type_attr(bytes_t* node, const char* name, int type) {
  bytes_t value = {0};
  bytes_number(&value, 6, (uint64_t)type);
  bytes_attr(node, name, &value);
}

/* A node of floats: inputs are split by blanks; type_attr ("T", "dtype" or NULL) is float; a Const has the value 1. */
UNUSED static void bytes_node(bytes_t* graph, int field, const char* name, const char* op, const char* inputs, const char* type_attr) {
  bytes_t node = {0};
  bytes_field(&node, 1, name, strlen(name));
  bytes_field(&node, 2, op, strlen(op));
  for (const char* at = inputs; *at; at += strcspn(at, " "), at += strspn(at, " ")) bytes_field(&node, 3, at, strcspn(at, " "));
  if (type_attr) bytes_type_attr(&node, type_attr, TF_FLOAT);
  if (!strcmp(op, "Const")) {
    bytes_t tensor = {0}, value = {0};
    bytes_number(&tensor, 1, TF_FLOAT);
    bytes_field(&tensor, 2, "", 0);
    bytes_field(&tensor, 5, "\0\0\x80\x3f", 4);
    bytes_part(&value, 8, &tensor);
    bytes_attr(&node, "value", &value);
  }
  bytes_part(graph, field, &node);
}

/* Imports; the bytes are freed. */
UNUSED static void bytes_import(bug_t* b, bytes_t* graph) {
  TF_Buffer* buffer = TF_NewBufferFromString(graph->data, graph->size);
  TF_ImportGraphDefOptions* o = TF_NewImportGraphDefOptions();
  TF_GraphImportGraphDef(b->g, buffer, o, b->s);
  TF_DeleteImportGraphDefOptions(o);
  TF_DeleteBuffer(buffer);
  free(graph->data);
  *graph = (bytes_t){0};
}
UNUSED static int bytes_count_nodes(TF_Graph* g) {
  size_t at = 0;
  int n = 0;
  while (TF_GraphNextOperation(g, &at)) ++n;
  return n;
}
#endif
