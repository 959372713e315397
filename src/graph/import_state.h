/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of one import: the GraphDef taken apart into flat arrays that borrow its bytes. Stages, in order: scan (bytes to arrays), link
 * (names and endpoints to indices, order), add (arrays to nodes). Only the last touches the graph. */
#ifndef HR_GRAPH_IMPORT_STATE_H
#define HR_GRAPH_IMPORT_STATE_H
#include "graph/import.h"
#include "wire/cursor.h"

enum { HR_IMPORT_MAPPED = -1 };

typedef struct {
  union {
    hr_str_t name;  /* of a node of the GraphDef, until inputs are linked */
    hr_value_t to;  /* where it comes from, if producer is HR_IMPORT_MAPPED */
  };
  int32_t index;    /* -1: control */
  int32_t producer; /* index in nodes; HR_IMPORT_MAPPED */
} hr_import_input_t;

typedef struct {
  hr_str_t name, op, device;
  hr_str_t new_name; /* with prefix, unique */
  int64_t first_input, first_attr;
  int32_t input_count, control_count, attr_count; /* inputs: data first, then controls */
  uint8_t state;                                  /* of the ordering walk */
  bool is_merge, is_next_iteration;
  hr_node_t* node; /* once added */
} hr_import_node_t;

typedef struct {
  hr_graph_t* g;
  const hr_import_options_t* options;
  hr_arena_t arena; /* of this import: new names */
  HR_VEC(hr_import_node_t) nodes;
  HR_VEC(hr_import_input_t) inputs;
  HR_VEC(hr_cursor_t) attrs; /* map entries */
  HR_VEC(hr_cursor_t) libraries;
  hr_map_t by_name; /* GraphDef name to index */
  HR_VEC(int32_t) order;
  int32_t producer, min_consumer;
  HR_VEC(int32_t) bad_consumers;
  uint8_t* map_used;        /* input_map entries that an input used */
  hr_map_t mapped;          /* name to its first input_map entry */
  int32_t* map_next;        /* by input_map entry: the next of the same name; -1 */
  hr_map_t controls_mapped; /* name to control_map entry */
  bool renames;             /* some node's new_name differs from its name */
} hr_import_t;

HR_MUST_USE hr_status_t hr_import_scan(hr_import_t* im, const void* data, size_t size);
/* Makes the tables of the options' maps; before anything is looked up in them. */
HR_MUST_USE hr_status_t hr_import_index_maps(hr_import_t* im);
HR_MUST_USE hr_status_t hr_import_link(hr_import_t* im);
HR_MUST_USE hr_status_t hr_import_add_nodes(hr_import_t* im, hr_import_results_t* results);
/* Whether the producer's op list says that attr `name` of `op` has `value` as its default. */
HR_MUST_USE hr_status_t hr_import_attr_is_default(hr_import_t* im, hr_str_t op, hr_str_t name, hr_cursor_t value, bool* out);
/* The input_map entry for an endpoint; -1. */
int32_t hr_import_find_mapped(const hr_import_t* im, hr_str_t name, int32_t index);
#endif
