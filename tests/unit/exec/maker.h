/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs by hand, for tests of exec and session: one call a node; a failure stops the program, since no test can go on without its graph.
 */
#ifndef HR_TESTS_MAKER_H
#define HR_TESTS_MAKER_H
#include "graph/graph.h"
#include "test.h"

static inline void maker_must(hr_status_t s, const char* what) {
  if (!s) return;
  printf("cannot make %s: %s\n", what, hr_status_message(s));
  fflush(stdout);
  abort();
}

static inline hr_value_t maker_node(hr_graph_t* g, const char* op, const char* name, int inputs, const hr_value_t* in, int attrs,
                                    const hr_named_attr_t* at) {
  hr_node_desc_t d = {.op = hr_str(op), .name = hr_str(name), .inputs = in, .input_count = inputs, .attrs = at, .attr_count = attrs};
  hr_node_t* n = NULL;
  maker_must(hr_graph_add(g, &d, &n), name);
  return (hr_value_t){n, 0};
}
static inline hr_graph_t* maker_graph(void) {
  hr_graph_t* g = NULL;
  maker_must(hr_graph_create(&g), "a graph");
  return g;
}
static inline hr_tensor_t maker_f32(float v) {
  hr_tensor_t t = {0};
  maker_must(hr_tensor_from_f32(v, &t), "a scalar");
  return t;
}
static inline hr_tensor_t maker_vec(int64_t n, float first) { /* first, first + 1, ... */
  hr_tensor_t t = {0};
  hr_shape_t s = hr_shape_vector(n);
  maker_must(hr_tensor_create(HR_F32, &s, &t), "a vector");
  for (int64_t i = 0; i < n; ++i) ((float*)t.data)[i] = first + (float)i;
  return t;
}
static inline float maker_get(const hr_tensor_t* t) { return t->count > 0 ? ((const float*)t->data)[0] : NAN; }
static inline hr_value_t maker_const_of(hr_graph_t* g, const char* name, const hr_tensor_t* t) {
  hr_named_attr_t at[] = {hr_at_tensor("value", t), hr_at_type("dtype", (int)t->dtype)};
  return maker_node(g, "Const", name, 0, NULL, 2, at);
}
static inline hr_value_t maker_const(hr_graph_t* g, const char* name, float v) {
  hr_tensor_t t = maker_f32(v);
  hr_value_t out = maker_const_of(g, name, &t);
  hr_tensor_release(&t);
  return out;
}
static inline hr_value_t maker_placeholder(hr_graph_t* g, const char* name, int dtype, const hr_pshape_t* shape) {
  hr_named_attr_t at[] = {hr_at_type("dtype", dtype), hr_at_shape("shape", shape)};
  return maker_node(g, "Placeholder", name, 0, NULL, shape ? 2 : 1, at);
}
static inline hr_value_t maker_1(hr_graph_t* g, const char* op, const char* name, hr_value_t a) {
  return maker_node(g, op, name, 1, &a, 0, NULL);
}
static inline hr_value_t maker_2(hr_graph_t* g, const char* op, const char* name, hr_value_t a, hr_value_t b) {
  hr_value_t in[] = {a, b};
  return maker_node(g, op, name, 2, in, 0, NULL);
}
static inline hr_value_t maker_variable(hr_graph_t* g, const char* name, const hr_pshape_t* shape) { /* a float reference variable */
  hr_named_attr_t at[] = {hr_at_shape("shape", shape), hr_at_type("dtype", HR_F32)};
  return maker_node(g, "VariableV2", name, 0, NULL, 2, at);
}
static inline hr_value_t maker_handle(hr_graph_t* g, const char* name, const hr_pshape_t* shape) { /* a float resource variable */
  hr_named_attr_t at[] = {hr_at_shape("shape", shape), hr_at_type("dtype", HR_F32)};
  return maker_node(g, "VarHandleOp", name, 0, NULL, 2, at);
}
static inline hr_value_t maker_read(hr_graph_t* g, const char* name, hr_value_t handle) {
  hr_named_attr_t at[] = {hr_at_type("dtype", HR_F32)};
  return maker_node(g, "ReadVariableOp", name, 1, &handle, 1, at);
}
static inline void maker_wait(hr_graph_t* g, hr_value_t node, hr_value_t waits_for) {
  maker_must(hr_graph_add_control(g, node.node, waits_for.node), "a control edge");
}
#endif
