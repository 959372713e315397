/* SPDX-License-Identifier: Apache-2.0 */
/* GraphDef and the graph. Import decodes straight into nodes (no recursion, no 2 GB limit); it is all or nothing. */
#ifndef HR_GRAPH_IMPORT_H
#define HR_GRAPH_IMPORT_H
#include "graph/graph.h"

typedef struct { hr_str_t node; int32_t index; } hr_endpoint_t; /* index -1: control */
typedef struct {
  hr_str_t prefix;                           /* "" : none; names become prefix/name */
  bool uniquify_names, uniquify_prefix;
  struct { hr_endpoint_t from; hr_value_t to; }* input_map;   /* inputs named `from` in the GraphDef come from `to` */
  int32_t input_map_count;
  struct { hr_str_t from; hr_node_t* to; }* control_map;
  int32_t control_map_count;
  hr_node_t* const* control_dependencies;
  int32_t control_dependency_count;
  const hr_endpoint_t* return_outputs;
  int32_t return_output_count;
  const hr_str_t* return_nodes;
  int32_t return_node_count;
  hr_str_t default_device;
  size_t most_inflated;                      /* bytes of all constants beyond what the GraphDef brings; 0: only the usual limit of each */
  bool internal;                             /* a part that a master made: names may start with '_' */
  bool extends;                              /* inputs that the GraphDef does not have are the graph's own nodes */
  bool keep_shapes_attr;                     /* honour "_output_shapes" */
  bool try_shapes;                           /* a node whose shape function refuses it fails the steps that run it, not the import */
  hr_str_t producer_ops; /* serialized OpList of the producer (MetaInfoDef.stripped_op_list); attrs that our ops lack are
                            dropped where they have the default it states; "" : such attrs are INVALID_ARGUMENT */
} hr_import_options_t;
typedef struct {
  HR_VEC(hr_value_t) outputs;                /* return_outputs, in order */
  HR_VEC(hr_node_t*) nodes;                  /* return_nodes */
  HR_VEC(int32_t) unused_map;                /* indices of input_map entries that nothing used and the GraphDef does not have */
  HR_VEC(hr_node_t*) added;                  /* all nodes added, in GraphDef order */
} hr_import_results_t;
void hr_import_results_deinit(hr_import_results_t* r);
HR_MUST_USE hr_status_t hr_import_graph_def(hr_graph_t* g, const void* data, size_t size, const hr_import_options_t* options,
                                            hr_import_results_t* out);
/* Serialized GraphDef; caller frees with hr_free. Nodes from `first_id` on. */
HR_MUST_USE hr_status_t hr_export_graph_def(hr_graph_t* g, int32_t first_id, char** out_data, size_t* out_size);
HR_MUST_USE hr_status_t hr_export_node_def(const hr_node_t* node, char** out_data, size_t* out_size);
/* A part of a graph for another task, which may be of another release: these nodes, without attrs that have their default; the library of
 * `library`, whose mu the caller holds. */
HR_MUST_USE hr_status_t hr_export_part(hr_node_t* const* nodes, int64_t count, const hr_graph_t* library, char** out_data,
                                       size_t* out_size);
#endif
