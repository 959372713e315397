/* SPDX-License-Identifier: Apache-2.0 */
/* Running shape functions: what they see of many inputs and of what handles lead to, what is kept, refined and given up. */
#define HR_TEST_LEAKS_CHECKED
#include "test.h"
#include "graph/shapes.h"
#include "graph/validate.h"
#include "op/infer_fns.h"
#include "unit/graph/graph_fixture.h"

/* Output i is like input N - 1 - i, the value behind it too. */
static hr_status_t infer_turned(hr_infer_t* s) {
  const int count = hr_infer_input_count(s);
  for (int i = 0; i < count; ++i) {
    hr_dtype_t type = HR_DTYPE_INVALID;
    const hr_pshape_t* shape = NULL;
    hr_infer_set(s, i, hr_infer_input(s, count - 1 - i));
    hr_infer_handle(s, count - 1 - i, &type, &shape);
    if (shape) hr_infer_set_handle(s, i, type, shape);
  }
  return NULL;
}
static hr_status_t infer_half(hr_infer_t* s) { /* sets the first output, then refuses */
  hr_infer_set(s, 0, &hr_pshape_scalar);
  return HR_ERROR(INVALID_ARGUMENT, "it does not like that");
}
static hr_status_t infer_no_memory(hr_infer_t* s) { return (void)s, hr_status_out_of_memory(); }
static hr_status_t infer_refuses(hr_infer_t* s) { return (void)s, HR_ERROR(INVALID_ARGUMENT, "never"); }
static hr_status_t infer_second_handle(hr_infer_t* s) {
  hr_infer_set_handle(s, 1, HR_I64, &hr_pshape_scalar);
  return NULL;
}

#define TEST_OP(op_name, signature, more, fn) \
  { .name = op_name, .sig = signature, .attrs = more, .doc = "", HR_HERE, .shape = fn }
static const hr_op_t test_ops[] = {
    TEST_OP("STurned", "x: N * T -> y: N * T", "N: int >= 1; T: type", infer_turned),
    TEST_OP("SHalf", "-> y: float; z: float", "", infer_half),
    TEST_OP("SNoMemory", "-> y: float", "", infer_no_memory),
    TEST_OP("SRefuses", "->", "", infer_refuses),
    TEST_OP("SSecond", "-> y: float; z: resource", "", infer_second_handle),
    TEST_OP("SVariant", "-> y: float; z: variant", "", infer_second_handle),
    TEST_OP("SNone", "-> y: float; z: resource", "", hr_infer_any),
    TEST_OP("SNothing", "->", "", NULL),
    TEST_OP("SUnsaid", "x: T -> y: T", "T: type", NULL),
};

static hr_graph_t* graph(void) {
  static bool registered;
  for (size_t i = 0; i < sizeof test_ops / sizeof *test_ops && !registered; ++i) HR_CHECK_OK(hr_registry_add(&test_ops[i]));
  registered = true;
  return fixture_graph();
}

/* As many as one run has room for, and more. */
HR_TEST(shapes_of_many_inputs) {
  static const int counts[] = {1, 2, 15, 16, 17, 40};
  for (size_t k = 0; k < sizeof counts / sizeof *counts; ++k) {
    hr_graph_t* g = graph();
    hr_value_t in[40];
    for (int i = 0; i < counts[k]; ++i) {
      char name[16];
      snprintf(name, sizeof name, "x%d", i);
      in[i] = fixture_out(fixture_placeholder(g, name, HR_F32, 1, (const int64_t[]){i}), 0);
    }
    hr_node_t* n = fixture_add(g, "STurned", "n", counts[k], in, HR_NO_ATTRS);
    HR_REQUIRE(n && n->handles == NULL);
    for (int i = 0; i < counts[k]; ++i) HR_CHECK(n->shapes[i]->rank == 1 && n->shapes[i]->dims[0] == counts[k] - 1 - i);
    hr_graph_destroy(g);
  }
}

HR_TEST(what_many_handles_lead_to) {
  static const int counts[] = {1, 2, 8, 15, 16, 17, 40};
  for (size_t k = 0; k < sizeof counts / sizeof *counts; ++k) {
    hr_graph_t* g = graph();
    hr_value_t in[40];
    for (int i = 0; i < counts[k]; ++i) {
      char name[16];
      snprintf(name, sizeof name, "x%d", i);
      hr_node_t* like = fixture_placeholder(g, name, HR_F32, 1, (const int64_t[]){i});
      name[0] = 'h';
      hr_node_t* handle = fixture_add(g, "VarHandleOp", name, 0, NULL,
                                      HR_ATTRS(hr_at_type("dtype", i & 1 ? HR_I32 : HR_F32), hr_at_shape("shape", like->shapes[0])));
      if (i == counts[k] / 2) handle->handles = NULL; /* of one nothing is known */
      in[i] = fixture_out(handle, 0);
    }
    hr_node_t* n = fixture_add(g, "STurned", "n", counts[k], in, HR_NO_ATTRS);
    HR_REQUIRE(n && (n->handles != NULL) == (counts[k] > 1));
    for (int i = 0; i < counts[k] && n->handles; ++i) {
      const int from = counts[k] - 1 - i;
      if (from == counts[k] / 2)
        HR_CHECK(n->handles[i].dtype == HR_DTYPE_INVALID && n->handles[i].shape == NULL);
      else
        HR_CHECK(n->handles[i].dtype == (from & 1 ? HR_I32 : HR_F32) && n->handles[i].shape->dims[0] == from);
    }
    hr_graph_destroy(g);
  }
}

HR_TEST(handles_of_some_outputs) {
  static const char* const ops[] = {"SSecond", "SVariant", "SNone"};
  for (int k = 0; k < 3; ++k) {
    hr_graph_t* g = graph();
    hr_node_t* n = fixture_add(g, ops[k], "n", 0, NULL, HR_NO_ATTRS);
    HR_REQUIRE(n && (n->handles != NULL) == (k < 2));
    if (n->handles) HR_CHECK(n->handles[0].dtype == HR_DTYPE_INVALID && n->handles[1].dtype == HR_I64 && n->handles[1].shape->rank == 0);
    hr_graph_destroy(g);
  }
}

HR_TEST(refusals_count_or_are_left_to_the_kernel) {
  static const struct {
    const char* op;
    const char* error;
    const char* tried;
  } rows[] = {
      {"SHalf", "node 'n' (SHalf): it does not like that", ""},
      {"SRefuses", "node 'n' (SRefuses): never", ""}, /* also where there are no outputs */
      {"SNothing", "", ""},
      {"SNone", "", ""},
  };
  for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k)
    for (int tries = 0; tries < 3; ++tries) { /* the whole check, a mere try, none */
      hr_graph_t* g = graph();
      hr_node_t* n = NULL;
      hr_node_desc_t desc = {.op = hr_str(rows[k].op), .name = HR_STR("n"), .try_shapes = tries == 1, .skip_shapes = tries == 2};
      hr_status_t status = hr_graph_add(g, &desc, &n);
      HR_CHECK_STR(status ? hr_status_message(status) : "", tries ? rows[k].tried : rows[k].error);
      hr_status_release(status);
      for (int i = 0; n && i < n->output_count; ++i) HR_CHECK(n->shapes[i] == &hr_pshape_unknown);
      hr_graph_destroy(g);
    }
  hr_graph_t* g = graph();
  hr_node_t* n = NULL;
  hr_node_desc_t desc = {.op = HR_STR("SNoMemory"), .name = HR_STR("n"), .try_shapes = true};
  HR_CHECK_CODE(hr_graph_add(g, &desc, &n), HR_RESOURCE_EXHAUSTED, "");
  n = fixture_add1(g, "SUnsaid", "unsaid", fixture_placeholder(g, "x", HR_F32, 0, NULL)); /* an op without a shape function */
  HR_CHECK(n && n->shapes[0] == &hr_pshape_unknown);
  hr_graph_destroy(g);
}

HR_TEST(a_missing_input_is_not_known) {
  hr_graph_t* g = graph();
  hr_node_t* n = NULL;
  hr_value_t in[] = {fixture_out(fixture_placeholder(g, "x", HR_F32, 0, NULL), 0), HR_NO_VALUE};
  hr_node_desc_t desc = {.op = HR_STR("STurned"), .name = HR_STR("n"), .inputs = in, .input_count = 2, .allow_missing_inputs = true};
  HR_REQUIRE_OK(hr_graph_add(g, &desc, &n));
  HR_CHECK(n->shapes[0]->rank == -1 && n->shapes[1]->rank == 0);
  desc.op = HR_STR("Reshape"); /* asks for the value */
  desc.name = HR_STR("r");
  HR_REQUIRE_OK(hr_graph_add(g, &desc, &n));
  HR_CHECK_EQ_I64(n->shapes[0]->rank, -1);
  hr_graph_destroy(g);
}

HR_TEST(shapes_are_refined_within_bounds) {
  hr_graph_t *g = graph(), *other = graph();
  hr_arena_t arena;
  const hr_pshape_t* shape = NULL;
  hr_arena_init(&arena);
  HR_CHECK_OK(hr_pshape_make(&arena, 2, (const int64_t[]){5, -1}, &shape));
  hr_node_t *x = fixture_placeholder(g, "x", HR_F32, 2, (const int64_t[]){-1, -1}),
            *far = fixture_placeholder(other, "x", HR_F32, -1, NULL);
  hr_node_t* two = fixture_add(g, "IdentityN", "two", HR_VALUES(fixture_out(x, 0), fixture_out(x, 0)), HR_NO_ATTRS);
  static const struct {
    int index;
    bool far;
    const char* want;
  } rows[] = {{-1, false, "node 'two' has 2 outputs, not one of number -1"},
              {0, false, ""},
              {1, false, ""},
              {2, false, "node 'two' has 2 outputs, not one of number 2"},
              {0, true, "node 'x' has 1 outputs, not one of number 0"}};
  for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k) {
    hr_status_t status = hr_graph_refine_shape(g, fixture_out(rows[k].far ? far : two, rows[k].index), shape);
    HR_CHECK_STR(status ? hr_status_message(status) : "", rows[k].want);
    hr_status_release(status);
  }
  HR_CHECK_OK(hr_graph_refine_shape(g, fixture_out(x, 0), shape));
  const hr_pshape_t* kept = x->shapes[0];
  HR_CHECK(kept != shape && two->shapes[1] != shape);
  HR_CHECK_OK(hr_graph_refine_shape(g, fixture_out(x, 0), shape)); /* nothing new */
  HR_CHECK(x->shapes[0] == kept);
  hr_arena_deinit(&arena);
  HR_CHECK(kept->rank == 2 && kept->dims[0] == 5 && kept->dims[1] == -1 && two->shapes[0]->dims[0] == 5);
  hr_graph_destroy(g);
  hr_graph_destroy(other);
}

HR_TEST(stated_shapes_apply_to_each_output) {
  hr_graph_t* g = graph();
  const hr_pshape_t *a = fixture_placeholder(g, "a", HR_F32, 1, (const int64_t[]){3})->shapes[0],
                    *b = fixture_placeholder(g, "b", HR_F32, 1, (const int64_t[]){4})->shapes[0], *both[] = {a, b}, *clash[] = {a, a};
  hr_node_t* x = fixture_placeholder(g, "x", HR_F32, -1, NULL);
  const hr_named_attr_t attrs[] = {hr_at_int("_other", 1), hr_at("_output_shapes", HR_AT_LIST(HR_ATTR_SHAPE, shapes, both, 2)),
                                   hr_at("_output_shapes", HR_AT_LIST(HR_ATTR_SHAPE, shapes, clash, 2))};
  hr_node_t* n = fixture_add(g, "IdentityN", "n", HR_VALUES(fixture_out(x, 0), fixture_out(x, 0)), 2, attrs);
  HR_CHECK_EQ_I64(n->shapes[0]->rank, -1);
  HR_CHECK_OK(hr_shapes_apply_attr(g, n));
  HR_CHECK(n->shapes[0]->dims[0] == 3 && n->shapes[1]->dims[0] == 4);
  n = fixture_add(g, "IdentityN", "m", HR_VALUES(fixture_out(x, 0), fixture_out(x, 0)), 3, attrs);
  HR_CHECK_CODE(hr_shapes_apply_attr(g, n), HR_INVALID_ARGUMENT, "shape of 'm:1': ");
  hr_graph_destroy(g);
}

HR_TEST_MAIN()
