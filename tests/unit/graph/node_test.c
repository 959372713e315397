/* SPDX-License-Identifier: Apache-2.0 */
/* Adding nodes: what is inferred, what is refused with which words, and that a refusal changes nothing. */
#define HR_TEST_LEAKS_CHECKED
#include "test.h"
#include "graph/edges.h"
#include "graph/names.h"
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

/* The whole message of a refusal. */
static void check_message(hr_status_t status, const char* want) {
  HR_CHECK_STR(status ? hr_status_message(status) : "", want);
  hr_status_release(status);
}

static hr_status_t try_add(hr_graph_t* g, const char* op, const char* name, int count, const hr_value_t* inputs, hr_node_t** out) {
  hr_node_desc_t desc = {.op = hr_str(op), .name = hr_str(name), .inputs = inputs, .input_count = count};
  return hr_graph_add(g, &desc, out);
}

HR_TEST(endpoints_are_checked_one_by_one) {
  static const struct {
    int index;
    bool far;
    const char* want;
  } rows[] = {
      {0, false, ""},
      {1, false, ""},
      {-1, false, "node 'n' (Pack): input 1 wants output -1 of node 'two' (IdentityN), which has 2 outputs"},
      {2, false, "node 'n' (Pack): input 1 wants output 2 of node 'two' (IdentityN), which has 2 outputs"},
      {0, true, "node 'n' (Pack): input 1 comes from node 'two' of another graph"},
  };
  for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k) {
    hr_graph_t *g = fixture_graph(), *other = fixture_graph();
    hr_node_t *x = fixture_placeholder(g, "x", HR_F32, -1, NULL), *n = NULL, *two[2];
    for (int i = 0; i < 2; ++i) {
      hr_node_t* y = i ? fixture_placeholder(other, "x", HR_F32, -1, NULL) : x;
      two[i] = fixture_add(i ? other : g, "IdentityN", "two", HR_VALUES(fixture_out(y, 0), fixture_out(y, 0)), HR_NO_ATTRS);
    }
    hr_value_t in[] = {fixture_out(x, 0), fixture_out(two[rows[k].far], rows[k].index)};
    check_message(try_add(g, "Pack", "n", 2, in, &n), rows[k].want);
    HR_CHECK((n != NULL) == (rows[k].want[0] == 0));
    HR_CHECK_OK(hr_graph_validate(g));
    hr_graph_destroy(g);
    hr_graph_destroy(other);
  }
}

HR_TEST(types_of_inputs_fit_or_are_refused_by_name) {
  hr_graph_t* g = fixture_graph();
  hr_node_t *f = fixture_placeholder(g, "f", HR_F32, -1, NULL), *i = fixture_placeholder(g, "i", HR_I32, -1, NULL), *n = NULL;
  hr_node_t* v =
      fixture_add(g, "VariableV2", "v", 0, NULL, HR_ATTRS(hr_at_type("dtype", HR_F32), hr_at_shape("shape", &hr_pshape_unknown)));
  hr_value_t value[] = {fixture_out(f, 0), fixture_out(f, 0)}, wrong[] = {fixture_out(f, 0), fixture_out(i, 0)},
             ref_wrong[] = {fixture_out(i, 0), fixture_out(v, 0)}, first_wrong[] = {HR_NO_VALUE, fixture_out(f, 0)};
  check_message(try_add(g, "Assign", "n", 2, value, &n), "node 'n' (Assign): input 0 ref is float (from 'f:0') but float_ref is expected");
  check_message(try_add(g, "Add", "n", 2, wrong, &n), "node 'n' (Add): input 1 y is int32 (from 'i:0') but float is expected");
  check_message(try_add(g, "Add", "n", 2, ref_wrong, &n), "node 'n' (Add): input 1 y is float_ref (from 'v:0') but int32 is expected");
  check_message(try_add(g, "Add", "n", 2, first_wrong, &n), "node 'n' (Add): input 0 is missing");
  hr_node_t* sum = fixture_add2(g, "Add", "sum", f, v); /* a reference serves as a value */
  check_message(hr_graph_set_input(g, sum, 0, fixture_out(i, 0)), "node 'sum' (Add): input 0 is int32 (from 'i:0') but float is expected");
  HR_CHECK_OK(hr_graph_validate(g));
  hr_graph_destroy(g);
}

HR_TEST(devices_and_names_lie_whole_next_to_each_other) {
  static const char device[] = "/job:worker/replica:0/task:0/device:CPU:0";
  hr_graph_t* g = fixture_graph();
  hr_node_t* nodes[80];
  for (int k = 0; k < 80; ++k) { /* each size, so that texts end where their block ends; each device twice, the second time shared */
    char name[64];
    snprintf(name, sizeof name, "n%d%.*s", k, k / 2, "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz");
    hr_node_desc_t desc = {.op = HR_STR("NoOp"), .name = hr_str(name), .device = {device, (size_t)k / 2}};
    HR_REQUIRE_OK(hr_graph_add(g, &desc, &nodes[k]));
  }
  for (int k = 0; k < 80; ++k) {
    char name[64];
    snprintf(name, sizeof name, "n%d%.*s", k, k / 2, "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz");
    HR_CHECK_VIEW(nodes[k]->name, name);
    HR_CHECK(hr_str_equal(nodes[k]->device, (hr_str_t){device, (size_t)k / 2}));
    HR_CHECK(nodes[k]->name.data[nodes[k]->name.size] == 0 && nodes[k]->device.data[nodes[k]->device.size] == 0);
    if (k & 1) HR_CHECK(nodes[k]->device.data == nodes[k - 1]->device.data);
  }
  hr_graph_destroy(g);
}

HR_TEST(long_names_are_cut_in_messages) {
  static char name[700], want[900];
  hr_graph_t* g = fixture_graph();
  hr_node_t* n = NULL;
  memset(name, 'a', sizeof name - 1);
  snprintf(want, sizeof want, "node '%.*s' (%.*s): op type not registered '%s'", 500, name, 200, name, "");
  hr_status_t status = try_add(g, name, name, 0, NULL, &n);
  HR_CHECK(status && !strncmp(hr_status_message(status), want, strlen(want) - 1));
  hr_status_release(status);
  name[0] = '-';
  snprintf(want, sizeof want, "illegal node name '%.200s': names match [A-Za-z0-9.][A-Za-z0-9_.\\-/>]*", name);
  check_message(hr_names_check(hr_str(name), false), want);
  check_message(hr_names_check(HR_STR(""), true), "the node has no name");
  hr_graph_destroy(g);
}

HR_TEST(control_inputs_are_kept_once_and_in_order) {
  enum { MOST = 20 };
  hr_graph_t* g = fixture_graph();
  hr_node_t *nodes[MOST], *twice[2 * MOST], *n = NULL;
  for (int k = 0; k < MOST; ++k) {
    char name[16];
    snprintf(name, sizeof name, "c%d", k);
    nodes[k] = fixture_add(g, "NoOp", name, 0, NULL, HR_NO_ATTRS);
  }
  for (int k = 0; k < 2 * MOST; ++k) twice[k] = nodes[k % MOST];
  for (int count = 0; count <= 2 * MOST; ++count) {
    char name[16];
    snprintf(name, sizeof name, "w%d", count);
    hr_node_desc_t desc = {.op = HR_STR("NoOp"), .name = hr_str(name), .controls = twice, .control_count = count};
    HR_REQUIRE_OK(hr_graph_add(g, &desc, &n));
    HR_CHECK_EQ_I64(n->control_count, count < MOST ? count : MOST);
    for (int k = 0; k < n->control_count; ++k)
      HR_CHECK(n->controls[k] == nodes[k] && nodes[k]->control_consumers.data[nodes[k]->control_consumers.count - 1] == n);
  }
  twice[1] = NULL;
  hr_node_desc_t desc = {.op = HR_STR("NoOp"), .name = HR_STR("w"), .controls = twice, .control_count = 2};
  check_message(hr_graph_add(g, &desc, &n), "node 'w' (NoOp): control input 1 is missing");
  hr_graph_t* other = fixture_graph();
  twice[0] = fixture_add(other, "NoOp", "far", 0, NULL, HR_NO_ATTRS);
  check_message(hr_graph_add(g, &desc, &n), "node 'w' (NoOp): control input 0 is a node of another graph");
  HR_CHECK_OK(hr_graph_validate(g));
  hr_graph_destroy(other);
  hr_graph_destroy(g);
}

HR_TEST(control_edges_come_and_go) {
  hr_graph_t *g = fixture_graph(), *other = fixture_graph();
  hr_node_t *a[4], *n = fixture_add(g, "NoOp", "n", 0, NULL, HR_NO_ATTRS), *far = fixture_add(other, "NoOp", "far", 0, NULL, HR_NO_ATTRS);
  for (int k = 0; k < 4; ++k) a[k] = fixture_add(g, "NoOp", (const char*[]){"a", "b", "c", "d"}[k], 0, NULL, HR_NO_ATTRS);
  for (int count = 0; count <= 4; ++count) {
    for (int k = 0; k < count; ++k) HR_CHECK_OK(hr_graph_add_control(g, n, a[k]));
    HR_CHECK_EQ_I64(n->control_count, count);
    for (int k = 0; k < count; ++k) HR_CHECK(n->controls[k] == a[k] && a[k]->control_consumers.count == 1);
    HR_CHECK_OK(hr_graph_validate(g));
    hr_graph_remove_controls(n);
    HR_CHECK_EQ_I64(n->control_count, 0);
    for (int k = 0; k < 4; ++k) HR_CHECK_EQ_I64(a[k]->control_consumers.count, 0);
  }
  check_message(hr_graph_add_control(g, n, far), "node 'n': a control edge cannot join two graphs");
  check_message(hr_graph_add_control(g, far, n), "node 'far': a control edge cannot join two graphs");
  check_message(hr_graph_add_control(g, n, n), "node 'n' cannot wait for itself");
  hr_graph_destroy(g);
  hr_graph_destroy(other);
}

HR_TEST(inputs_are_replaced_within_bounds) {
  hr_graph_t *g = fixture_graph(), *other = fixture_graph();
  hr_node_t *x = fixture_placeholder(g, "x", HR_F32, -1, NULL), *y = fixture_placeholder(g, "y", HR_F32, -1, NULL),
            *z = fixture_add2(g, "Add", "z", x, x), *far = fixture_placeholder(other, "far", HR_F32, -1, NULL);
  check_message(hr_graph_set_input(g, z, -1, fixture_out(y, 0)), "node 'z' (Add): there is no input -1");
  check_message(hr_graph_set_input(g, z, 2, fixture_out(y, 0)), "node 'z' (Add): there is no input 2");
  check_message(hr_graph_set_input(other, z, 0, fixture_out(far, 0)), "node 'z' (Add): there is no input 0");
  check_message(hr_graph_set_input(g, z, 0, HR_NO_VALUE), "node 'z' (Add): input 0 is missing");
  check_message(hr_graph_set_input(g, z, 1, fixture_out(far, 0)), "node 'z' (Add): input 1 comes from node 'far' of another graph");
  check_message(hr_graph_set_input(g, z, 1, fixture_out(y, 1)),
                "node 'z' (Add): input 1 wants output 1 of node 'y' (Placeholder), which has 1 outputs");
  HR_CHECK(z->inputs[0].node == x && z->inputs[1].node == x && y->consumers.count == 0 && x->consumers.count == 2);
  HR_CHECK_OK(hr_graph_set_input(g, z, 1, fixture_out(y, 0)));
  HR_CHECK(z->inputs[1].node == y && x->consumers.count == 1 && y->consumers.count == 1 && y->consumers.data[0].input == 1);
  HR_CHECK_OK(hr_graph_set_input(g, z, 0, fixture_out(y, 0)));
  HR_CHECK(x->consumers.count == 0 && y->consumers.count == 2 && y->consumers.data[1].input == 0);
  HR_CHECK_OK(hr_graph_validate(g));
  hr_graph_destroy(g);
  hr_graph_destroy(other);
}

HR_TEST(ops_are_refused_from_the_version_that_removed_them) {
  for (int producer = 19; producer <= 21; ++producer) {
    hr_graph_t* g = fixture_graph();
    hr_node_t* n = NULL;
    char want[128] = "";
    g->producer = producer;
    if (producer >= 20)
      snprintf(want, sizeof want, "node 'n' (Old): the op is not available in GraphDef version %d: it was removed in version 20; use NoOp",
               producer);
    check_message(try_add(g, "Old", "n", 0, NULL, &n), want);
    hr_graph_destroy(g);
  }
}

HR_TEST(a_refusal_takes_no_memory) {
  hr_graph_t* g = fixture_graph();
  hr_node_t *x = fixture_placeholder(g, "x", HR_F32, -1, NULL), *n = NULL;
  hr_value_t in[] = {fixture_out(x, 0), HR_NO_VALUE};
  hr_tensor_t t = {0};
  HR_CHECK_OK(hr_tensor_from_i32(3, &t));
  const hr_named_attr_t attrs[] = {hr_at_tensor("value", &t), hr_at_type("dtype", HR_F32)};
  hr_node_desc_t desc = {.op = HR_STR("Const"), .name = HR_STR("c"), .attrs = attrs, .attr_count = 2};
  const char* next = g->arena.next;
  const int64_t tensors = g->tensors.count;
  check_message(try_add(g, "Add", "n", 2, in, &n), "node 'n' (Add): input 1 is missing");
  HR_CHECK(g->arena.next == next);
  check_message(hr_graph_add(g, &desc, &n), "node 'c' (Const): attr 'value' is a int32 tensor but attr 'dtype' is float");
  HR_CHECK(g->arena.next == next && g->tensors.count == tensors && t.buffer->refs == 1);
  hr_tensor_release(&t);
  hr_graph_destroy(g);
}

HR_TEST(attrs_of_nobody_are_kept_in_order) {
  hr_graph_t* g = fixture_graph();
  for (int count = 0; count <= 3; ++count) {
    const hr_named_attr_t attrs[] = {hr_at_str("_first", "1"), hr_at_int("_second", 2), hr_at_bool("_third", true)};
    char name[8];
    snprintf(name, sizeof name, "n%d", count);
    hr_node_t* n = fixture_add(g, "NoOp", name, 0, NULL, count, attrs);
    HR_CHECK_EQ_I64(n->attrs.extra_count, count);
    for (int k = 0; k < count; ++k)
      HR_CHECK(hr_str_equal(n->attrs.extras[k].name, attrs[k].name) && hr_attr_equal(&n->attrs.extras[k].value, &attrs[k].value) &&
               n->attrs.extras[k].name.data != attrs[k].name.data);
  }
  hr_graph_destroy(g);
}

HR_TEST(which_names_are_legal) {
  hr_graph_t* g = fixture_graph();
  for (int c = 1; c < 256; ++c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'), first = letter || (c >= '0' && c <= '9') || c == '.';
    const bool later = first || c == '_' || c == '-' || c == '/' || c == '>';
    const char alone[] = {(char)c}, behind[] = {'x', (char)c}, between[] = {'x', (char)c, 'x'}, before[] = {(char)c, 'x'};
    HR_CHECK(hr_graph_name_is_legal((hr_str_t){alone, 1}) == first && hr_graph_name_is_legal((hr_str_t){before, 2}) == first);
    HR_CHECK(hr_graph_name_is_legal((hr_str_t){behind, 2}) == later && hr_graph_name_is_legal((hr_str_t){between, 3}) == later);
    for (int internal = 0; internal < 2; ++internal) {
      hr_status_t status = hr_names_check((hr_str_t){before, 2}, internal);
      HR_CHECK((status == NULL) == (first || (internal && c == '_')));
      hr_status_release(status);
    }
  }
  HR_CHECK(!hr_graph_name_is_legal(HR_STR("")));
  hr_graph_destroy(g);
}

HR_TEST(a_name_that_is_wanted_often_gets_the_next_number) {
  hr_graph_t* g = fixture_graph();
  hr_str_t name;
  for (int k = 0; k < 12; ++k) {
    char want[16];
    HR_CHECK_OK(hr_graph_unique_name(g, HR_STR("n"), &name));
    snprintf(want, sizeof want, k ? "n_%d" : "n", k);
    HR_CHECK_VIEW(name, want);
    HR_CHECK_EQ_I64(name.data[name.size], 0);
    hr_node_desc_t desc = {.op = HR_STR("NoOp"), .name = name};
    hr_node_t* n = NULL;
    HR_CHECK_OK(hr_graph_add(g, &desc, &n));
  }
  HR_CHECK_OK(hr_graph_unique_name(g, HR_STR("n"), &name)); /* given out: the next wish gets another, whether or not it was used */
  HR_CHECK_VIEW(name, "n_12");
  HR_CHECK_OK(hr_graph_unique_name(g, HR_STR("n"), &name));
  HR_CHECK_VIEW(name, "n_13");
  HR_CHECK_OK(hr_graph_unique_name(g, HR_STR("n_3"), &name));
  HR_CHECK_VIEW(name, "n_3_1");
  hr_graph_destroy(g);
}

/* --- consumer lists ------------------------------------------------------------------------------------------------------------------- */
/* "z:0<-1 ...": consumer, its input, the output that it reads */
static void check_consumers(const hr_node_t* n, const char* want) {
  char text[256] = "";
  size_t at = 0;
  for (int32_t k = 0; k < n->consumers.count; ++k)
    at += (size_t)snprintf(text + at, sizeof text - at, "%s:%d<-%d ", n->consumers.data[k].node->name.data, (int)n->consumers.data[k].input,
                           (int)n->consumers.data[k].output);
  for (int32_t k = 0; k < n->control_consumers.count; ++k)
    at += (size_t)snprintf(text + at, sizeof text - at, "^%s ", n->control_consumers.data[k]->name.data);
  HR_CHECK_STR(text, want);
}

HR_TEST(edges_are_found_wherever_they_stand) {
  hr_graph_t* g = fixture_graph();
  hr_node_t *x = fixture_placeholder(g, "x", HR_F32, -1, NULL), *c[4];
  for (int k = 0; k < 4; ++k) c[k] = fixture_add(g, "NoOp", (const char*[]){"a", "b", "c", "d"}[k], 0, NULL, HR_NO_ATTRS);
  HR_CHECK(x->consumers.capacity == 0 && x->control_consumers.capacity == 0);
  for (int k = 0; k < 4; ++k) {
    HR_CHECK_OK(hr_edges_add(g, fixture_out(x, k), c[k], 10 + k));
    HR_CHECK_OK(hr_edges_add_control(g, x, c[k]));
    HR_CHECK_EQ_I64(x->consumers.capacity, k < 2 ? 2 : 4);
  }
  check_consumers(x, "a:10<-0 b:11<-1 c:12<-2 d:13<-3 ^a ^b ^c ^d ");
  hr_edges_move(fixture_out(x, 7), c[1], 11);
  hr_edges_move(fixture_out(x, 8), c[1], 10); /* that is no edge, */
  hr_edges_move(fixture_out(x, 8), c[0], 11); /* nor is that */
  hr_edges_remove(fixture_out(x, 0), c[1], 10);
  hr_edges_remove(fixture_out(x, 0), c[0], 11);
  check_consumers(x, "a:10<-0 b:11<-7 c:12<-2 d:13<-3 ^a ^b ^c ^d ");
  hr_edges_move(fixture_out(x, 5), c[0], 10);
  hr_edges_move(fixture_out(x, 6), c[3], 13);
  check_consumers(x, "a:10<-5 b:11<-7 c:12<-2 d:13<-6 ^a ^b ^c ^d ");
  hr_edges_remove(fixture_out(x, 7), c[1], 11); /* in the middle, */
  hr_edges_remove_control(x, c[2]);
  check_consumers(x, "a:10<-5 c:12<-2 d:13<-6 ^a ^b ^d ");
  hr_edges_remove(fixture_out(x, 5), c[0], 10); /* first, */
  hr_edges_remove_control(x, c[0]);
  check_consumers(x, "c:12<-2 d:13<-6 ^b ^d ");
  hr_edges_remove(fixture_out(x, 6), c[3], 13); /* last, */
  hr_edges_remove_control(x, c[3]);
  hr_edges_remove_control(x, c[3]); /* and what is not there */
  check_consumers(x, "c:12<-2 ^b ");
  hr_edges_remove(fixture_out(x, 2), c[2], 12);
  hr_edges_remove_control(x, c[1]);
  check_consumers(x, "");
  hr_graph_destroy(g);
}

HR_TEST(room_for_edges_is_made_once) {
  static const struct {
    int have, extra, capacity;
  } rows[] = {{0, 0, 0}, {0, 1, 2}, {0, 2, 2}, {0, 3, 3}, {2, 1, 4}, {2, 2, 4}, {2, 3, 5}, {3, 1, 4}, {3, 2, 8}};
  for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k) {
    hr_graph_t* g = fixture_graph();
    hr_node_t *x = fixture_placeholder(g, "x", HR_F32, -1, NULL), *n = fixture_add(g, "NoOp", "n", 0, NULL, HR_NO_ATTRS);
    for (int i = 0; i < rows[k].have; ++i) {
      HR_CHECK_OK(hr_edges_add(g, fixture_out(x, 0), n, i));
      HR_CHECK_OK(hr_edges_add_control(g, x, n));
    }
    HR_CHECK_OK(hr_edges_reserve(g, x, rows[k].extra, 0));
    HR_CHECK_EQ_I64(x->consumers.capacity, rows[k].capacity);
    HR_CHECK_OK(hr_edges_reserve(g, x, 0, rows[k].extra));
    HR_CHECK_EQ_I64(x->control_consumers.capacity, rows[k].capacity);
    for (int i = 0; i < rows[k].have; ++i) HR_CHECK(x->consumers.data[i].node == n && x->consumers.data[i].input == i);
    HR_CHECK_CODE(hr_edges_reserve(g, x, INT64_C(1) << 33, 0), HR_RESOURCE_EXHAUSTED, "");
    hr_graph_destroy(g);
  }
}

/* Of a node whose edges cannot all be made none is. */
HR_TEST(edges_are_linked_together_or_not_at_all) {
  hr_graph_t* g = fixture_graph();
  hr_node_t *p[4], *n = NULL;
  for (int k = 0; k < 4; ++k) p[k] = fixture_placeholder(g, (const char*[]){"p", "q", "r", "s"}[k], HR_F32, -1, NULL);
  hr_value_t in[] = {fixture_out(p[0], 0), fixture_out(p[1], 0), fixture_out(p[0], 0)};
  hr_node_desc_t desc = {.op = HR_STR("Pack"), .name = HR_STR("n"), .inputs = in, .input_count = 3, .controls = p + 1, .control_count = 3};
  HR_REQUIRE_OK(hr_graph_add(g, &desc, &n));
  check_consumers(p[0], "n:0<-0 n:2<-0 ");
  check_consumers(p[1], "n:1<-0 ^n ");
  hr_edges_unlink(n);
  for (int k = 0; k < 4; ++k) check_consumers(p[k], "");
  for (int k = 0; k < 4; ++k) { /* no room can be made at p[k]: its list is as long as a list can be */
    p[k]->consumers.count = p[k]->consumers.capacity = k < 2 ? INT32_MAX : p[k]->consumers.capacity;
    p[k]->control_consumers.count = p[k]->control_consumers.capacity = k < 2 ? p[k]->control_consumers.capacity : INT32_MAX;
    if (k == 1) p[1]->control_consumers.count = 0;
    HR_CHECK_CODE(hr_edges_link(g, n), HR_RESOURCE_EXHAUSTED, "");
    p[k]->consumers.count = p[k]->consumers.capacity = p[k]->control_consumers.count = p[k]->control_consumers.capacity = 0;
    for (int i = 0; i < 4; ++i) check_consumers(p[i], "");
  }
  HR_CHECK_OK(hr_edges_link(g, n));
  HR_CHECK_OK(hr_graph_validate(g));
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
