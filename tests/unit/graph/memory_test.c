/* SPDX-License-Identifier: Apache-2.0 */
/* Every allocation of what changes a graph may fail, those out of its arena too. The graph stays legal, and the failure is told as one of
 * memory. */
#define HR_TEST_LEAKS_CHECKED
#include "unit/graph/graph_text.h"

#include "graph/const_eval.h"
#include "graph/edges.h"
#include "graph/function_body.h"
#include "graph/grow.h"
#include "graph/validate.h"

static const char surroundings[] =
    "library { function { signature { name: 'f' input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' type: DT_FLOAT } } "
    "node_def { name: 'c' op: 'NoOp' } node_def { name: 'a' op: 'Identity' input: 'x' " F32 ATTR("_class",
                                                                                                 "list { s: ['loc:@c', 'loc:@a'] }")
        ATTR("_g", "func { name: 'g' attr { key: 'k' value { i: 1 } } }") "} node_def { name: 'r' op: 'VariableV2' " TYPE("dtype",
                                                                                                                          "DT_FLOAT")
            ATTR("shape", "shape {}") "} ret { key: 'y' value: 'a:output:0' } } function { signature { name: 'g' } } } " NODE(
                OP("x", "Placeholder") TYPE("dtype", "DT_FLOAT") ATTR("shape", "shape { dim { size: -1 } dim { size: 3 } }"))
                NODE(OP("s", "Shape") IN("x") F32) NODE(OP("v", "VarHandleOp") TYPE("dtype", "DT_FLOAT") ATTR("shape", "shape {}"))
                    NODE(OP("w", "While") IN("x") IN("v") ATTR("cond", "func { name: 'f' }") ATTR("body", "func { name: 'g' }")
                             ATTR("T", "list { type: [DT_FLOAT, DT_RESOURCE] }")) NODE(OP("n", "NoOp")) NODE(OP("m", "NoOp"));

static hr_node_t* find(const hr_graph_t* g, const char* name) { return hr_graph_find(g, hr_str(name)); }

static hr_status_t add_nodes(hr_graph_t* g) {
  hr_node_t *n = NULL, *twice[20];
  const hr_str_t texts[] = {HR_STR("loc:@x"), HR_STR("loc:@n")};
  const hr_named_attr_t attrs[] = {hr_at_type("T", HR_F32), hr_at("_class", HR_AT_LIST(HR_ATTR_STRING, ss, texts, 2)),
                                   hr_at_str("_note", "a note")};
  for (int i = 0; i < 20; ++i) twice[i] = find(g, i & 1 ? "n" : "m");
  hr_value_t in[] = {{find(g, "x"), 0}, {find(g, "x"), 0}, {find(g, "x"), 0}};
  hr_node_desc_t d = {.op = HR_STR("AddN"),
                      .name = HR_STR("sum"),
                      .device = HR_STR("/cpu:0"),
                      .inputs = in,
                      .input_count = 3,
                      .attrs = attrs,
                      .attr_count = 3,
                      .controls = twice,
                      .control_count = 20};
  HR_TRY(hr_graph_add(g, &d, &n));
  d = (hr_node_desc_t){.op = HR_STR("IdentityN"), .name = HR_STR("many"), .inputs = in, .input_count = 3};
  HR_TRY(hr_graph_add(g, &d, &n));
  HR_TRY(hr_graph_add_control(g, n, find(g, "n")));
  return hr_graph_set_input(g, n, 0, (hr_value_t){find(g, "sum"), 0});
}

static hr_status_t add_body(hr_graph_t* g) {
  hr_arena_t arena;
  hr_function_body_t body;
  hr_value_t x = {find(g, "x"), 0};
  hr_function_body_request_t r = {.function = hr_function_find(g, HR_STR("f")),
                                  .inputs = &x,
                                  .input_count = 1,
                                  .prefix = HR_STR("p"),
                                  .twin = HR_STR("t"),
                                  .start = find(g, "n")};
  hr_arena_init(&arena);
  hr_status_t status = hr_function_body_add(g, &r, &arena, &body);
  hr_arena_deinit(&arena);
  return status;
}

static hr_writer_t imported;
static hr_status_t add_import(hr_graph_t* g) {
  hr_import_options_t o = {.prefix = HR_STR("p"), .uniquify_names = true, .keep_shapes_attr = true};
  return hr_import_graph_def(g, imported.data, imported.size, &o, NULL);
}

static hr_status_t grow(hr_graph_t* g) {
  HR_TRY(hr_graph_append_loop_input(g, find(g, "w"), (hr_value_t){find(g, "x"), 0}));
  HR_TRY(hr_edges_reserve(g, find(g, "x"), 5, 5));
  hr_str_t name;
  HR_TRY(hr_graph_unique_name(g, HR_STR("x"), &name));
  return hr_graph_unique_name(g, HR_STR("new"), &name);
}

static hr_status_t evaluate(hr_graph_t* g) {
  const hr_pshape_t* shape = NULL;
  const hr_tensor_t* t = NULL;
  hr_node_t* n = NULL;
  HR_TRY(hr_const_eval_as_shape(g, (hr_value_t){find(g, "s"), 0}, &shape));
  hr_value_t s = {find(g, "s"), 0};
  hr_node_desc_t d = {.op = HR_STR("Size"), .name = HR_STR("size"), .inputs = &s, .input_count = 1};
  HR_TRY(hr_graph_add(g, &d, &n));
  hr_value_t both[] = {{n, 0}, {n, 0}};
  d = (hr_node_desc_t){.op = HR_STR("Add"), .name = HR_STR("sum"), .inputs = both, .input_count = 2};
  HR_TRY(hr_graph_add(g, &d, &n));
  return hr_const_eval(g, (hr_value_t){n, 0}, &t);
}

static void check(hr_status_t (*body)(hr_graph_t*)) {
  hr_writer_t bytes = text_bytes("GraphDef", surroundings);
  bool failed = true;
  for (int64_t n = 1; failed; ++n) {
    hr_graph_t* g = NULL;
    HR_CHECK_OK(hr_graph_create(&g));
    HR_CHECK_OK(hr_import_graph_def(g, bytes.data, bytes.size, NULL, NULL));
    hr_alloc_fail_at(n, false);
    hr_status_t status = body(g);
    failed = hr_alloc_has_failed();
    hr_alloc_fail_at(0, false);
    if (!HR_CHECK(!status || (failed && hr_status_code(status) == HR_RESOURCE_EXHAUSTED)))
      printf("allocation %d: %s\n", (int)n, hr_status_message(status));
    hr_status_release(status);
    HR_CHECK_OK(hr_graph_validate(g));
    hr_graph_destroy(g);
  }
  hr_strbuf_deinit(&bytes);
}

HR_TEST(adding_nodes) { check(add_nodes); }
HR_TEST(adding_bodies) { check(add_body); }
HR_TEST(growing) { check(grow); }
HR_TEST(evaluating) { check(evaluate); }

HR_TEST(importing) {
  imported = text_bytes("GraphDef",
                        NODE(OP("x", "Placeholder") TYPE("dtype", "DT_FLOAT") ATTR("_output_shapes", "list { shape { dim { size: 3 } } }"))
                            NODE(OP("n", "NoOp") IN("^x") ATTR("_class", "list { s: ['loc:@x', 'loc:@q'] }")));
  check(add_import);
  hr_strbuf_deinit(&imported);
}

HR_TEST_MAIN()
