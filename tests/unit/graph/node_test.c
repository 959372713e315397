/* SPDX-License-Identifier: Apache-2.0 */
/* Adding nodes: what is inferred, what is refused with which words, and that a refusal changes nothing. */
#define HR_TEST_LEAKS_CHECKED
#include "test.h"
#include "graph/validate.h"
#include "unit/graph/graph_fixture.h"

HR_TEST(infers_types_and_fills_defaults) {
  hr_graph_t* g = fixture_graph();
  hr_node_t* x = fixture_placeholder(g, "x", HR_F32, 2, (const int64_t[]){2, 3});
  hr_node_t* y = fixture_placeholder(g, "y", HR_F32, 1, (const int64_t[]){3});
  hr_node_t* z = fixture_add2(g, "Add", "z", x, y);
  HR_REQUIRE(z);
  HR_CHECK_EQ_I64(hr_attrs_type(&z->attrs, "T"), HR_F32);
  HR_CHECK_EQ_I64(z->output_types[0], HR_F32);
  HR_CHECK_EQ_I64(z->shapes[0]->rank, 2);
  HR_CHECK(hr_graph_find(g, HR_STR("z")) == z && z->id == 2);
  HR_CHECK_EQ_I64(x->consumers.count, 1);
  HR_CHECK(x->consumers.data[0].node == z && y->consumers.data[0].input == 1);
  hr_node_t* r = fixture_add2(g, "Reshape", "r", z, fixture_const_i32(g, "c", 2, (const int64_t[]){3, 2}));
  HR_REQUIRE(r);
  HR_CHECK_EQ_I64(hr_attrs_type(&r->attrs, "Tshape"), HR_I32);
  HR_CHECK_EQ_I64(r->shapes[0]->dims[0], 3);
  HR_CHECK_OK(hr_graph_validate(g));
  hr_graph_destroy(g);
}

HR_TEST(infers_list_lengths) {
  hr_graph_t* g = fixture_graph();
  hr_node_t* a = fixture_const_i32(g, "a", -1, (const int64_t[]){7});
  hr_node_t* x = fixture_placeholder(g, "x", HR_F32, 0, NULL);
  hr_node_t* pack = fixture_add(g, "Pack", "pack", HR_VALUES(fixture_out(a, 0), fixture_out(a, 0), fixture_out(a, 0)), HR_NO_ATTRS);
  HR_REQUIRE(pack);
  HR_CHECK_EQ_I64(hr_attrs_int(&pack->attrs, "N"), 3);
  HR_CHECK_EQ_I64(a->consumers.count, 3);
  hr_node_t* many = fixture_add(g, "IdentityN", "many", HR_VALUES(fixture_out(a, 0), fixture_out(x, 0)), HR_NO_ATTRS);
  HR_REQUIRE(many);
  HR_CHECK(many->output_count == 2 && many->output_types[0] == HR_I32 && many->output_types[1] == HR_F32);
  hr_node_t* split = fixture_add(g, "Split", "split", HR_VALUES(fixture_out(a, 0), fixture_out(x, 0)), HR_ATTRS(hr_at_int("num_split", 4)));
  HR_REQUIRE(split);
  HR_CHECK_EQ_I64(split->output_count, 4);
  hr_node_t* two = NULL;
  hr_value_t ins[] = {fixture_out(a, 0), fixture_out(x, 0), fixture_out(x, 0)};
  hr_node_desc_t desc = {
      .op = HR_STR("TwoLists"), .name = HR_STR("two"), .inputs = ins, .input_count = 3, .input_lists = (const int32_t[]){1, 2}};
  HR_CHECK_OK(hr_graph_add(g, &desc, &two));
  desc.name = HR_STR("guess");
  desc.input_lists = NULL;
  HR_CHECK_CODE(hr_graph_add(g, &desc, &two), HR_INVALID_ARGUMENT, "cannot tell");
  desc.input_lists = (const int32_t[]){1, 1};
  HR_CHECK_CODE(hr_graph_add(g, &desc, &two), HR_INVALID_ARGUMENT, "3 inputs given but 2 wanted");
  HR_CHECK_OK(hr_graph_validate(g));
  hr_graph_destroy(g);
}

typedef struct {
  const char *op, *name;
  int input_count;
  int attr_count;
  hr_named_attr_t attrs[2];
  hr_code_t code;
  const char* text;
} refusal_t;

#define NO_ATTR hr_at_int("", 0) /* fills the row; attr_count is 0 */

HR_TEST(refuses_and_stays_unchanged) {
  hr_graph_t* g = fixture_graph();
  hr_node_t* x = fixture_placeholder(g, "x", HR_F32, -1, NULL);
  hr_node_t* i = fixture_const_i32(g, "i", -1, (const int64_t[]){1});
  hr_value_t ins[] = {fixture_out(x, 0), fixture_out(i, 0)};
  const refusal_t refusals[] = {
      {"Nope", "n", 0, 0, {NO_ATTR}, HR_NOT_FOUND, "Nope"},
      {"Add", "n", 2, 0, {NO_ATTR}, HR_INVALID_ARGUMENT, "input 1 y is int32 (from 'i:0') but float is expected"},
      {"Add", "n", 1, 0, {NO_ATTR}, HR_INVALID_ARGUMENT, "1 inputs given but 2 wanted"},
      {"Identity", "n", 2, 0, {NO_ATTR}, HR_INVALID_ARGUMENT, "2 inputs given but 1 wanted"},
      {"Identity", "x", 1, 0, {NO_ATTR}, HR_INVALID_ARGUMENT, "duplicate node name"},
      {"Identity", "_x", 1, 0, {NO_ATTR}, HR_INVALID_ARGUMENT, "illegal node name '_x'"},
      {"Identity", "a b", 1, 0, {NO_ATTR}, HR_INVALID_ARGUMENT, "illegal node name"},
      {"Identity", "", 1, 0, {NO_ATTR}, HR_INVALID_ARGUMENT, "no name"},
      {"Identity", "n", 1, 1, {hr_at_int("foo", 1)}, HR_INVALID_ARGUMENT, "no attr 'foo'"},
      {"Identity", "n", 1, 1, {hr_at_int("T", 1)}, HR_INVALID_ARGUMENT, "T"},
      {"Placeholder", "n", 0, 0, {NO_ATTR}, HR_INVALID_ARGUMENT, "attr 'dtype' (type) is missing"},
      {"Add", "n", 2, 1, {hr_at_type("T", HR_STRING)}, HR_INVALID_ARGUMENT, "T"},
      {"Old", "n", 0, 0, {NO_ATTR}, HR_UNIMPLEMENTED, "removed in version 20; use NoOp"},
      {"Assign", "n", 2, 0, {NO_ATTR}, HR_INVALID_ARGUMENT, "float_ref is expected"},
      {"Split", "n", 2, 1, {hr_at_int("num_split", INT64_MAX)}, HR_INVALID_ARGUMENT, "0 to 1000000 are supported"},
  };
  for (size_t k = 0; k < sizeof refusals / sizeof *refusals; ++k) {
    const refusal_t* r = &refusals[k];
    hr_node_t* n = NULL;
    hr_node_desc_t desc = {.op = hr_str(r->op),
                           .name = hr_str(r->name),
                           .inputs = ins,
                           .input_count = r->input_count,
                           .attrs = r->attrs,
                           .attr_count = r->attr_count};
    if (!HR_CHECK_CODE(hr_graph_add(g, &desc, &n), r->code, r->text)) printf("in case %d (%s)\n", (int)k, r->op);
    HR_CHECK(n == NULL && g->nodes.count == 2 && x->consumers.count == 0 && g->by_name.count == 2);
  }
  HR_CHECK_OK(hr_graph_validate(g));
  hr_graph_destroy(g);
}

HR_TEST(refuses_endpoints_that_are_not_there) {
  hr_graph_t *g = fixture_graph(), *other = fixture_graph();
  hr_node_t *x = fixture_placeholder(g, "x", HR_F32, -1, NULL), *far = fixture_placeholder(other, "far", HR_F32, -1, NULL), *n = NULL;
  hr_value_t in = fixture_out(x, 5);
  hr_node_desc_t desc = {.op = HR_STR("Identity"), .name = HR_STR("n"), .inputs = &in, .input_count = 1};
  HR_CHECK_CODE(hr_graph_add(g, &desc, &n), HR_INVALID_ARGUMENT,
                "node 'n' (Identity): input 0 wants output 5 of node 'x' (Placeholder), which has 1 outputs");
  in = fixture_out(far, 0);
  HR_CHECK_CODE(hr_graph_add(g, &desc, &n), HR_INVALID_ARGUMENT, "another graph");
  in = HR_NO_VALUE;
  HR_CHECK_CODE(hr_graph_add(g, &desc, &n), HR_INVALID_ARGUMENT, "missing");
  in = fixture_out(x, 0);
  desc.controls = &far;
  desc.control_count = 1;
  HR_CHECK_CODE(hr_graph_add(g, &desc, &n), HR_INVALID_ARGUMENT, "another graph");
  hr_graph_destroy(g);
  hr_graph_destroy(other);
}

HR_TEST(references_serve_as_values) {
  hr_graph_t* g = fixture_graph();
  hr_node_t* v = fixture_add(g, "VariableV2", "v", 0, NULL, HR_ATTRS(hr_at_type("dtype", HR_F32), hr_at_shape("shape", &hr_pshape_scalar)));
  HR_REQUIRE(v);
  HR_CHECK_EQ_I64(v->output_types[0], HR_F32 + HR_DTYPE_REF);
  hr_node_t* read = fixture_add1(g, "Identity", "read", v);
  HR_REQUIRE(read);
  HR_CHECK_EQ_I64(read->output_types[0], HR_F32);
  hr_node_t* assign = fixture_add2(g, "Assign", "assign", v, read);
  HR_REQUIRE(assign);
  HR_CHECK_EQ_I64(assign->output_types[0], HR_F32 + HR_DTYPE_REF);
  HR_CHECK_OK(hr_graph_validate(g));
  hr_graph_destroy(g);
}

HR_TEST(controls_are_folded) {
  hr_graph_t* g = fixture_graph();
  hr_node_t *a = fixture_add(g, "NoOp", "a", 0, NULL, HR_NO_ATTRS), *b = fixture_add(g, "NoOp", "b", 0, NULL, HR_NO_ATTRS), *n = NULL;
  hr_node_t* controls[40];
  for (int i = 0; i < 40; ++i) controls[i] = i % 2 ? a : b;
  for (int count = 4; count <= 40; count += 36) {
    char name[8];
    snprintf(name, sizeof name, "n%d", count);
    hr_node_desc_t desc = {.op = HR_STR("NoOp"), .name = hr_str(name), .controls = controls, .control_count = count};
    HR_CHECK_OK(hr_graph_add(g, &desc, &n));
    HR_CHECK(n->control_count == 2 && n->controls[0] == b && n->controls[1] == a);
  }
  HR_CHECK_OK(hr_graph_add_control(g, n, a));
  HR_CHECK_EQ_I64(n->control_count, 2);
  HR_CHECK_OK(hr_graph_add_control(g, a, b));
  HR_CHECK_EQ_I64(a->control_count, 1);
  HR_CHECK_CODE(hr_graph_add_control(g, a, a), HR_INVALID_ARGUMENT, "itself");
  HR_CHECK_OK(hr_graph_validate(g));
  hr_graph_destroy(g);
}

HR_TEST(inputs_can_be_replaced) {
  hr_graph_t* g = fixture_graph();
  hr_node_t *x = fixture_placeholder(g, "x", HR_F32, -1, NULL), *y = fixture_placeholder(g, "y", HR_F32, -1, NULL);
  hr_node_t *i = fixture_const_i32(g, "i", -1, (const int64_t[]){1}), *z = fixture_add2(g, "Add", "z", x, x);
  hr_node_t* many = fixture_add(g, "IdentityN", "many", HR_VALUES(fixture_out(x, 0), fixture_out(y, 0)), HR_NO_ATTRS);
  HR_CHECK_OK(hr_graph_set_input(g, z, 0, fixture_out(y, 0)));
  HR_CHECK_OK(hr_graph_set_input(g, z, 1, fixture_out(many, 0)));
  HR_CHECK_OK(hr_graph_set_input(g, z, 1, fixture_out(many, 1)));
  HR_CHECK_OK(hr_graph_validate(g));
  HR_CHECK_CODE(hr_graph_set_input(g, z, 1, fixture_out(i, 0)), HR_INVALID_ARGUMENT, "node 'z' (Add): input 1 is int32");
  HR_CHECK_CODE(hr_graph_set_input(g, z, 2, fixture_out(x, 0)), HR_INVALID_ARGUMENT, "no input 2");
  HR_CHECK_OK(hr_graph_validate(g));
  hr_graph_destroy(g);
}

HR_TEST(shapes_are_refined_and_contradictions_refused) {
  hr_graph_t* g = fixture_graph();
  hr_node_t* x = fixture_placeholder(g, "x", HR_F32, 2, (const int64_t[]){-1, 3});
  hr_arena_t arena;
  const hr_pshape_t *fits = NULL, *clash = NULL;
  hr_arena_init(&arena);
  HR_CHECK_OK(hr_pshape_make(&arena, 2, (const int64_t[]){5, -1}, &fits));
  HR_CHECK_OK(hr_pshape_make(&arena, 2, (const int64_t[]){6, 3}, &clash));
  HR_CHECK_OK(hr_graph_refine_shape(g, fixture_out(x, 0), fits));
  HR_CHECK_CODE(hr_graph_refine_shape(g, fixture_out(x, 0), clash), HR_INVALID_ARGUMENT, "x:0");
  HR_CHECK_CODE(hr_graph_refine_shape(g, fixture_out(x, 1), fits), HR_INVALID_ARGUMENT, "1 outputs");
  hr_node_t* u = fixture_placeholder(g, "u", HR_F32, -1, NULL);
  HR_CHECK_OK(hr_graph_refine_shape(g, fixture_out(u, 0), fits));
  hr_arena_deinit(&arena);
  HR_CHECK(x->shapes[0]->dims[0] == 5 && x->shapes[0]->dims[1] == 3);
  HR_CHECK(u->shapes[0]->rank == 2 && u->shapes[0]->dims[0] == 5);
  hr_graph_destroy(g);
}

HR_TEST(handles_carry_type_and_shape) {
  hr_graph_t* g = fixture_graph();
  hr_node_t* p = fixture_placeholder(g, "p", HR_F32, 1, (const int64_t[]){4});
  hr_node_t* h = fixture_add(g, "VarHandleOp", "h", 0, NULL, HR_ATTRS(hr_at_type("dtype", HR_F32), hr_at_shape("shape", p->shapes[0])));
  HR_REQUIRE(h && h->handles);
  HR_CHECK_EQ_I64(h->handles[0].dtype, HR_F32);
  hr_node_t* r = fixture_add(g, "ReadVariableOp", "r", HR_VALUES(fixture_out(h, 0)), HR_ATTRS(hr_at_type("dtype", HR_F32)));
  HR_REQUIRE(r);
  HR_CHECK(r->shapes[0]->rank == 1 && r->shapes[0]->dims[0] == 4);
  hr_graph_destroy(g);
}

HR_TEST(names_become_unique) {
  hr_graph_t* g = fixture_graph();
  hr_str_t name;
  fixture_add(g, "NoOp", "a", 0, NULL, HR_NO_ATTRS);
  HR_CHECK_OK(hr_graph_unique_name(g, HR_STR("b"), &name));
  HR_CHECK_VIEW(name, "b");
  HR_CHECK_OK(hr_graph_unique_name(g, HR_STR("a"), &name));
  HR_CHECK_VIEW(name, "a_1");
  fixture_add(g, "NoOp", "a_1", 0, NULL, HR_NO_ATTRS);
  fixture_add(g, "NoOp", "a_2", 0, NULL, HR_NO_ATTRS);
  HR_CHECK_OK(hr_graph_unique_name(g, HR_STR("a"), &name));
  HR_CHECK_VIEW(name, "a_3");
  HR_CHECK(hr_graph_name_is_legal(HR_STR("A.b_c-d/e>f")) && !hr_graph_name_is_legal(HR_STR("-a")) &&
           !hr_graph_name_is_legal(HR_STR("a:0")));
  hr_graph_destroy(g);
}

static hr_status_t build_small_graph(void) {
  hr_graph_t* g = NULL;
  hr_node_t *c = NULL, *n = NULL;
  hr_tensor_t t = {0};
  HR_TRY(hr_graph_create(&g));
  hr_status_t status = hr_tensor_from_i64_vec(HR_I32, (const int64_t[]){2, 3}, 2, &t);
  hr_named_attr_t attrs[] = {hr_at_type("dtype", HR_I32), hr_at_tensor("value", &t), hr_at_str("_note", "kept")};
  hr_node_desc_t desc = {.op = HR_STR("Const"), .name = HR_STR("c"), .attrs = attrs, .attr_count = 3};
  if (!status) status = hr_graph_add(g, &desc, &c);
  for (int i = 0; !status && i < 3; ++i) {
    char name[8];
    snprintf(name, sizeof name, "n%d", i);
    hr_value_t ins[] = {{c, 0}, {c, 0}};
    hr_node_desc_t add = {.op = HR_STR("Add"), .name = hr_str(name), .inputs = ins, .input_count = 2, .controls = &c, .control_count = 1};
    status = hr_graph_add(g, &add, &n);
  }
  hr_tensor_release(&t);
  if (!status) status = hr_graph_validate(g);
  hr_graph_destroy(g);
  return status;
}

HR_TEST(every_allocation_may_fail) {
  hr_graph_destroy(fixture_graph());
  HR_TEST_EVERY_ALLOCATION_FAILS(build_small_graph);
}

HR_TEST_MAIN()
