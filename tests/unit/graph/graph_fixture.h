/* SPDX-License-Identifier: Apache-2.0 */
/* A small op list of the tests' own (so that graph tests do not depend on which ops the product has), and short ways to build graphs. */
#ifndef HR_TESTS_UNIT_GRAPH_GRAPH_FIXTURE_H
#define HR_TESTS_UNIT_GRAPH_GRAPH_FIXTURE_H
#include "graph/graph.h"
#include "graph/import.h"
#include "wire/writer.h"

hr_graph_t* fixture_graph(void); /* a new graph */

/* Adds; NULL inputs end. Fails the running test and gives NULL when the graph refuses. */
hr_node_t* fixture_add(hr_graph_t* g, const char* op, const char* name, int input_count, const hr_value_t* inputs, int attr_count,
                       const hr_named_attr_t* attrs);
hr_node_t* fixture_placeholder(hr_graph_t* g, const char* name, hr_dtype_t type, int rank, const int64_t* dims);
hr_node_t* fixture_const_i32(hr_graph_t* g, const char* name, int count, const int64_t* values); /* count -1: a scalar of values[0] */
hr_node_t* fixture_add1(hr_graph_t* g, const char* op, const char* name, hr_node_t* x);
hr_node_t* fixture_add2(hr_graph_t* g, const char* op, const char* name, hr_node_t* x, hr_node_t* y);
static inline hr_value_t fixture_out(hr_node_t* n, int index) { return (hr_value_t){n, index}; }

/* A GraphDef in the making: fixture_def_node(&w, "Add", "z", "x y:1 ^c", "T", HR_F32); type attr name NULL: none. */
void fixture_def_node(hr_writer_t* w, const char* op, const char* name, const char* inputs, const char* type_attr, int type);
void fixture_def_versions(hr_writer_t* w, int producer, int min_consumer, int bad_consumer);
hr_status_t fixture_import(hr_graph_t* g, const hr_writer_t* w, const hr_import_options_t* options, hr_import_results_t* out);
#endif
