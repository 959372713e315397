/* SPDX-License-Identifier: Apache-2.0 */
/* Values and shapes known while the graph is built, and what must not count as known. */
#define HR_TEST_LEAKS_CHECKED
#include "test.h"
#include "graph/const_eval.h"
#include "op/infer_fns.h"
#include "op/kernel_ctx.h"
#include "unit/graph/graph_fixture.h"

static const int64_t one = 1, zero = 0, two = 2;

/* --- ops and kernels of these tests --------------------------------------------------------------------------------------------------- */
/* 100 times the number of elements, by what was prepared from the constant and the static shape. */
typedef struct {
  int64_t count, checked;
} prepared_t;
static int unprepared;

static hr_status_t count_prepare(hr_prepare_ctx_t* p, void* memory) {
  prepared_t* out = memory;
  HR_CHECK(out->count == 0 && out->checked == 0);
  HR_CHECK_STR(p->node_name, "counted");
  HR_CHECK_STR(p->op_name, "TestCount");
  HR_CHECK(p->input_count == 2 && p->output_count == 2 && p->attrs->def->attr_count == 1 && p->kernel->prepare == count_prepare);
  HR_CHECK(p->input_types[0] == HR_I32 && p->input_types[1] == HR_F32);
  HR_CHECK(p->output_types[0] == HR_I64 && p->output_types[1] == HR_BOOL);
  HR_CHECK(p->input_shapes[0]->rank == 1 && p->input_shapes[0]->dims[0] == 3 && p->input_shapes[1]->rank == 0);
  HR_CHECK(p->output_shapes[0]->rank == 0 && p->output_shapes[1]->rank == -1);
  HR_CHECK(p->constants[0]->count == 3 && p->constants[1]->count == 1);
  out->count = 100 * p->constants[0]->count;
  return hr_attrs_bool(p->attrs, "refuse") ? HR_ERROR(INVALID_ARGUMENT, "it is refused") : NULL;
}
static void count_unprepare(void* memory) { unprepared += (int)((prepared_t*)memory)->count; }

static hr_status_t count_compute(hr_kernel_ctx_t* k) {
  hr_tensor_t* out;
  hr_shape_t scalar = hr_shape_scalar();
  HR_CHECK(hr_input_count(k) == 2 && hr_output_count(k) == 2 && k->threads == 1 && !hr_is_cancelled(k));
  HR_CHECK(hr_output_dtype(k, 0) == HR_I64 && hr_output_dtype(k, 1) == HR_BOOL && hr_output_wanted(k, 1));
  HR_CHECK(hr_input(k, 0)->dtype == HR_I32 && hr_input(k, 1)->dtype == HR_F32);
  HR_CHECK_STR(k->site->node_name, "counted");
  HR_CHECK_STR(k->site->op_name, "TestCount");
  HR_TRY(hr_output_take(k, 0, 0, &scalar, &out)); /* inputs are shared: never taken */
  *(int64_t*)out->data = ((const prepared_t*)hr_prepared(k))->count;
  HR_TRY(hr_output(k, 1, &scalar, &out));
  *(bool*)out->data = true;
  return NULL;
}

static hr_status_t sum_i32(hr_kernel_ctx_t* k) { /* of all elements */
  hr_tensor_t* out;
  int32_t sum = 0;
  for (int64_t i = 0; i < hr_input(k, 0)->count; ++i) sum += ((const int32_t*)hr_input(k, 0)->data)[i];
  HR_TRY(hr_output(k, 0, &(hr_shape_t){.rank = 0}, &out));
  *(int32_t*)out->data = sum;
  return NULL;
}
static hr_status_t sum_twice(hr_kernel_ctx_t* k) {
  hr_tensor_t* out;
  HR_TRY(sum_i32(k));
  HR_TRY(hr_output(k, 1, &(hr_shape_t){.rank = 0}, &out));
  *(int32_t*)out->data = 7;
  return NULL;
}
static hr_status_t fill_i32(hr_kernel_ctx_t* k) { /* as many as the input says */
  hr_tensor_t* out;
  hr_shape_t shape = hr_shape_vector(*(const int32_t*)hr_input(k, 0)->data);
  HR_TRY(hr_output(k, 0, &shape, &out));
  memset(out->data, 0, (size_t)out->count * 4);
  return NULL;
}
static hr_status_t no_memory(hr_kernel_ctx_t* k) { return (void)k, hr_status_out_of_memory(); }
static hr_status_t sets_nothing(hr_kernel_ctx_t* k) { return (void)k, NULL; }
static hr_status_t sets_a_reference(hr_kernel_ctx_t* k) {
  HR_TRY(sum_i32(k));
  hr_output_slot(k, 0)->ref = (hr_variable_t*)(void*)k;
  return NULL;
}
static hr_status_t infer_first_scalar(hr_infer_t* s) { return hr_infer_set(s, 0, &hr_pshape_scalar), NULL; }

#define TEST_OP(op_name, signature, more, ...) \
  { .name = op_name, .sig = signature, .attrs = more, .doc = "", HR_HERE, .shape = hr_infer_any, __VA_ARGS__ }
#define ONE_TO_ONE "x: int32 -> y: int32"
static const hr_op_t test_ops[] = {
    {.name = "TestCount",
     .sig = "x: int32; f: float -> n: int64; b: bool",
     .attrs = "refuse: bool = false",
     .doc = "",
     HR_HERE,
     .shape = infer_first_scalar,
     HR_KERNELS({.prepared_bytes = sizeof(prepared_t), .prepare = count_prepare, .unprepare = count_unprepare, .compute = count_compute})},
    TEST_OP("TestSum", ONE_TO_ONE, "", HR_KERNELS(HR_CPU_ANY(sum_i32))),
    TEST_OP("TestSumTwice", "x: int32 -> y: int32; z: int32", "", HR_KERNELS(HR_CPU_ANY(sum_twice))),
    TEST_OP("TestFill", ONE_TO_ONE, "", HR_KERNELS(HR_CPU_ANY(fill_i32))),
    TEST_OP("TestNoMemory", ONE_TO_ONE, "", HR_KERNELS(HR_CPU_ANY(no_memory))),
    TEST_OP("TestSetsNothing", ONE_TO_ONE, "", HR_KERNELS(HR_CPU_ANY(sets_nothing))),
    TEST_OP("TestReference", ONE_TO_ONE, "", HR_KERNELS(HR_CPU_ANY(sets_a_reference))),
    TEST_OP("TestState", ONE_TO_ONE, "", HR_KERNELS({.state_bytes = 8, .compute = sum_i32})),
    TEST_OP("TestCreates", ONE_TO_ONE, "", HR_KERNELS({.create_state = count_prepare, .compute = sum_i32})),
    TEST_OP("TestStateful", ONE_TO_ONE, "", .flags = HR_OP_STATEFUL, HR_KERNELS(HR_CPU_ANY(sum_i32))),
    TEST_OP("TestBlocking", ONE_TO_ONE, "", .flags = HR_OP_BLOCKING, HR_KERNELS(HR_CPU_ANY(sum_i32))),
    TEST_OP("TestSource", "-> y: int32", "", HR_KERNELS(HR_CPU_ANY(sets_nothing))),
    TEST_OP("TestResource", "x: int32 -> y: resource", "", HR_KERNELS(HR_CPU_ANY(sum_i32))),
    TEST_OP("TestVariant", "x: int32 -> y: variant", "", HR_KERNELS(HR_CPU_ANY(sum_i32))),
    TEST_OP("TestSecondResource", "x: int32 -> y: int32; z: resource", "", HR_KERNELS(HR_CPU_ANY(sum_twice))),
    TEST_OP("TestOfRef", "x: Ref(int32) -> y: int32", "", HR_KERNELS(HR_CPU_ANY(sum_i32))),
    TEST_OP("TestToRef", "x: int32 -> y: Ref(int32)", "", HR_KERNELS(HR_CPU_ANY(sum_i32))),
    TEST_OP("PlaceholderWithDefault", ONE_TO_ONE, "", HR_KERNELS(HR_CPU_ANY(sum_i32))),
    TEST_OP("Rank", "input: T -> output: int32", "T: type", .flags = 0),
    TEST_OP("Size", "input: T -> output: out_type", "T: type; out_type: type{int32,int64} = int32", .flags = 0),
    TEST_OP("ShapeN", "input: N * T -> output: N * out_type", "N: int; T: type; out_type: type{int32,int64} = int32", .flags = 0),
    TEST_OP("Shapes", "input: T -> output: int32", "T: type", .flags = 0), /* not the same though they begin alike */
    TEST_OP("Siz", "input: T -> output: int32", "T: type", .flags = 0),
};

static hr_graph_t* graph(void) {
  static bool registered;
  for (size_t i = 0; i < sizeof test_ops / sizeof *test_ops && !registered; ++i) HR_CHECK_OK(hr_registry_add(&test_ops[i]));
  registered = true;
  return fixture_graph();
}

static const hr_tensor_t* known(hr_graph_t* g, hr_node_t* n, int output) {
  const hr_tensor_t* t = NULL;
  HR_CHECK_OK(hr_const_eval(g, fixture_out(n, output), &t));
  return t;
}

/* --- one node ------------------------------------------------------------------------------------------------------------------------- */
static hr_node_t* counted(hr_graph_t* g, bool refuse) {
  hr_tensor_t t = {0};
  HR_CHECK_OK(hr_tensor_from_f32(1, &t));
  hr_node_t* f = fixture_add(g, "Const", "f", 0, NULL, HR_ATTRS(hr_at_type("dtype", HR_F32), hr_at_tensor("value", &t)));
  hr_tensor_release(&t);
  hr_node_t* c = fixture_const_i32(g, "c", 3, (const int64_t[]){4, 5, 6});
  return fixture_add(g, "TestCount", "counted", HR_VALUES(fixture_out(c, 0), fixture_out(f, 0)), HR_ATTRS(hr_at_bool("refuse", refuse)));
}

HR_TEST(a_node_runs_with_all_that_a_plan_would_give_it) {
  for (int refuse = 0; refuse < 2; ++refuse) {
    hr_graph_t* g = graph();
    hr_node_t* n = counted(g, refuse);
    const hr_tensor_t* inputs[] = {n->inputs[0].node->constant, n->inputs[1].node->constant};
    hr_tensor_t outputs[2] = {{0}, {0}};
    unprepared = 0;
    if (refuse) {
      HR_CHECK_CODE(hr_const_eval_node(n, inputs, outputs), HR_INVALID_ARGUMENT, "node 'counted' (TestCount): it is refused");
    } else {
      HR_CHECK_OK(hr_const_eval_node(n, inputs, outputs));
      HR_CHECK(outputs[0].dtype == HR_I64 && outputs[0].count == 1 && *(const int64_t*)outputs[0].data == 300);
      HR_CHECK(outputs[1].dtype == HR_BOOL && *(const bool*)outputs[1].data);
      HR_CHECK(((const int32_t*)inputs[0]->data)[2] == 6);
    }
    HR_CHECK_EQ_I64(unprepared, refuse ? 0 : 300);
    for (int i = 0; i < 2; ++i) hr_tensor_release(&outputs[i]);
    hr_graph_destroy(g);
  }
}

HR_TEST(kernels_that_cannot_run_alone) {
  static const struct {
    const char* op;
    hr_code_t code;
    const char* text;
  } rows[] = {
      {"TestState", HR_UNIMPLEMENTED, "node 'n' (TestState) keeps state and cannot run outside a session"},
      {"TestCreates", HR_UNIMPLEMENTED, "node 'n' (TestCreates) keeps state and cannot run outside a session"},
      {"TestSetsNothing", HR_INTERNAL, "node 'n' (TestSetsNothing): the kernel did not set output 0"},
      {"TestReference", HR_INTERNAL, "node 'n' (TestReference): the kernel did not set output 0"},
      {"Rank", HR_UNIMPLEMENTED, "Rank"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_graph_t* g = graph();
    hr_node_t *c = fixture_const_i32(g, "c", 2, (const int64_t[]){1, 2}), *n = fixture_add1(g, rows[i].op, "n", c);
    const hr_tensor_t* inputs[] = {c->constant};
    hr_tensor_t outputs[1] = {{0}};
    HR_CHECK_CODE(hr_const_eval_node(n, inputs, outputs), rows[i].code, rows[i].text);
    HR_CHECK(known(g, n, 0) == NULL || !strcmp(rows[i].op, "Rank"));
    hr_graph_destroy(g);
  }
}

/* --- what counts as known ------------------------------------------------------------------------------------------------------------- */
HR_TEST(which_nodes_follow_from_their_inputs) {
  static const struct {
    const char* op;
    bool want;
  } rows[] = {
      {"TestSum", true},
      {"TestSumTwice", true},
      {"TestStateful", false},
      {"TestBlocking", false},
      {"TestResource", false},
      {"TestVariant", false},
      {"TestSecondResource", false},
      {"PlaceholderWithDefault", false},
      {"TestToRef", false},
      {"Shapes", false},
      {"Siz", false},
      {"Enter", false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_graph_t* g = graph();
    hr_node_t* c = fixture_const_i32(g, "c", 2, (const int64_t[]){4, 5});
    hr_node_t* n = fixture_add(g, rows[i].op, "n", HR_VALUES(fixture_out(c, 0)), strcmp(rows[i].op, "Enter") ? 0 : 1,
                               (const hr_named_attr_t[]){hr_at_str("frame_name", "f")});
    hr_node_t* over = n->output_types[0] == HR_I32 ? fixture_add1(g, "TestSum", "over", n) : NULL; /* the same asked for from above */
    if (over) HR_CHECK((known(g, over, 0) != NULL) == rows[i].want);
    if (!HR_CHECK((known(g, n, 0) != NULL) == rows[i].want && (n->constant != NULL) == rows[i].want)) printf("%s\n", rows[i].op);
    if (n->constant) HR_CHECK_EQ_I64(*(const int32_t*)n->constant->data, 9);
    if (n->output_count > 1) HR_CHECK(known(g, n, 1) == NULL);
    hr_graph_destroy(g);
  }
  hr_graph_t* g = graph();
  HR_CHECK(known(g, fixture_add(g, "TestSource", "source", 0, NULL, HR_NO_ATTRS), 0) == NULL);
  hr_node_t* v = fixture_add(g, "VariableV2", "v", 0, NULL, HR_ATTRS(hr_at_type("dtype", HR_I32), hr_at_shape("shape", &hr_pshape_scalar)));
  v->constant = fixture_const_i32(g, "c", 1, &one)->constant; /* even then: a reference is no value */
  HR_CHECK(known(g, fixture_add1(g, "TestOfRef", "of_ref", v), 0) == NULL);
  hr_graph_destroy(g);
}

HR_TEST(only_small_values_are_reckoned_with) {
  static int64_t many[4097];
  for (int count = 4096; count <= 4097; ++count) {
    hr_graph_t* g = graph();
    const int64_t size = count;
    hr_node_t* c = fixture_const_i32(g, "c", count, many);
    hr_node_t* sum = fixture_add1(g, "TestSum", "sum", c);
    HR_CHECK((known(g, sum, 0) != NULL) == (count == 4096)); /* of an input */
    hr_node_t* fill = fixture_add1(g, "TestFill", "fill", fixture_const_i32(g, "n", -1, &size));
    HR_CHECK((known(g, fill, 0) != NULL) == (count == 4096)); /* of the result */
    hr_node_t* stated = fixture_add1(g, "TestSum", "stated", fixture_const_i32(g, "k", -1, &one));
    stated->shapes[0] = fixture_placeholder(g, "like", HR_I32, 1, &size)->shapes[0];
    HR_CHECK((known(g, stated, 0) != NULL) == (count == 4096)); /* of what the result will be */
    hr_graph_destroy(g);
  }
}

HR_TEST(the_second_output_is_never_kept) {
  hr_graph_t* g = graph();
  hr_node_t* twice = fixture_add1(g, "TestSumTwice", "twice", fixture_const_i32(g, "c", 2, (const int64_t[]){4, 5}));
  hr_node_t* sum = fixture_add(g, "TestSum", "sum", HR_VALUES(fixture_out(twice, 1)), HR_NO_ATTRS);
  HR_CHECK(known(g, sum, 0) == NULL && known(g, twice, 1) == NULL);
  HR_CHECK(known(g, twice, 0) && known(g, twice, 1) == NULL && known(g, sum, 0) == NULL);
  hr_graph_destroy(g);
}

HR_TEST(want_of_memory_is_an_error_and_no_other_failure_is) {
  hr_graph_t* g = graph();
  const hr_tensor_t* t = NULL;
  hr_node_t* c = fixture_const_i32(g, "c", 1, &one);
  HR_CHECK_CODE(hr_const_eval(g, fixture_out(fixture_add1(g, "TestNoMemory", "n", c), 0), &t), HR_RESOURCE_EXHAUSTED, "");
  HR_CHECK(known(g, fixture_add1(g, "Fails", "f", c), 0) == NULL);
  hr_graph_destroy(g);
}

/* A node counts when it is looked into: the one asked about and 255 more. */
HR_TEST(two_hundred_and_fifty_six_nodes_are_looked_into) {
  for (int length = 255; length <= 257; ++length) {
    hr_graph_t* g = graph();
    hr_node_t* n = fixture_const_i32(g, "c", -1, &two);
    for (int i = 0; i < length; ++i) {
      char name[16];
      snprintf(name, sizeof name, "n%d", i);
      n = fixture_add1(g, "TestSum", name, n);
    }
    HR_CHECK((known(g, n, 0) != NULL) == (length <= 256));
    hr_graph_destroy(g);
  }
}

/* --- Shape, ShapeN, Size, Rank -------------------------------------------------------------------------------------------------------- */
HR_TEST(facts_of_static_shapes) {
  static const struct {
    int rank;
    int64_t dims[2];
    int type;
    bool shape, size;
  } rows[] = {
      {0, {0}, HR_I32, true, true},
      {1, {0}, HR_I64, true, true},
      {2, {2, 3}, HR_I32, true, true},
      {2, {2, 3}, HR_I64, true, true},
      {2, {-1, 3}, HR_I32, false, false},
      {-1, {0}, HR_I32, false, false},
      {1, {INT32_MAX}, HR_I32, true, true},
      {2, {(int64_t)INT32_MAX + 1, 1}, HR_I32, false, false},
      {2, {1, (int64_t)INT32_MAX + 1}, HR_I32, false, false},
      {2, {0, (int64_t)INT32_MAX + 1}, HR_I32, false, false}, /* a dim too large, although the size is not */
      {2, {1, (int64_t)INT32_MAX + 1}, HR_I64, true, true},
      {2, {1 << 16, 1 << 15}, HR_I32, true, false},
      {2, {1 << 16, 1 << 15}, HR_I64, true, true},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_graph_t* g = graph();
    hr_node_t* x = fixture_placeholder(g, "x", HR_F32, rows[i].rank, rows[i].dims);
    hr_node_t* y = fixture_placeholder(g, "y", HR_F32, 1, &one);
#define WITH_TYPE HR_ATTRS(hr_at_type("out_type", rows[i].type))
    hr_node_t *shape = fixture_add(g, "Shape", "shape", HR_VALUES(fixture_out(x, 0)), WITH_TYPE),
              *size = fixture_add(g, "Size", "size", HR_VALUES(fixture_out(x, 0)), WITH_TYPE), *rank = fixture_add1(g, "Rank", "rank", x),
              *two_shapes = fixture_add(g, "ShapeN", "two", HR_VALUES(fixture_out(x, 0), fixture_out(y, 0)), WITH_TYPE);
    const hr_tensor_t *second = known(g, two_shapes, 1), *first = known(g, two_shapes, 0), *s = known(g, shape, 0), *n = known(g, size, 0),
                      *r = known(g, rank, 0);
    int64_t value = 0;
    HR_CHECK((s != NULL) == rows[i].shape && (first != NULL) == rows[i].shape && (n != NULL) == rows[i].size);
    HR_CHECK((r != NULL) == (rows[i].rank >= 0) && r == rank->constant && s == shape->constant && n == size->constant);
    HR_CHECK(two_shapes->constant == first && second && second->count == 1 && second->dtype == (hr_dtype_t)rows[i].type);
    for (int k = 0; s && k < rows[i].rank; ++k) {
      HR_CHECK_OK(hr_tensor_i64_at(s, k, &value));
      HR_CHECK_EQ_I64(value, rows[i].dims[k]);
      HR_CHECK_OK(hr_tensor_i64_at(first, k, &value));
      HR_CHECK_EQ_I64(value, rows[i].dims[k]);
    }
    if (s) HR_CHECK(s->shape.rank == 1 && s->count == rows[i].rank && s->dtype == (hr_dtype_t)rows[i].type);
    if (n) HR_CHECK(n->shape.rank == 0 && n->dtype == (hr_dtype_t)rows[i].type);
    int64_t want = 1;
    for (int k = 0; k < rows[i].rank; ++k) want *= rows[i].dims[k];
    if (n) HR_CHECK_OK(hr_tensor_i64_at(n, 0, &value));
    if (n) HR_CHECK_EQ_I64(value, want);
    if (r) HR_CHECK(r->shape.rank == 0 && *(const int32_t*)r->data == rows[i].rank);
    hr_graph_destroy(g);
  }
}

HR_TEST(arithmetic_on_static_shapes_is_known) {
  hr_graph_t* g = fixture_graph();
  const hr_tensor_t* t = NULL;
  hr_node_t* x = fixture_placeholder(g, "x", HR_F32, 2, (const int64_t[]){4, 5});
  hr_node_t* shape = fixture_add1(g, "Shape", "shape", x);
  hr_node_t* sum = fixture_add2(g, "Add", "sum", shape, fixture_const_i32(g, "c", 2, (const int64_t[]){10, 20}));
  HR_CHECK_OK(hr_const_eval(g, fixture_out(sum, 0), &t));
  HR_REQUIRE(t && t->count == 2);
  HR_CHECK_EQ_I64(((const int32_t*)t->data)[0], 14);
  HR_CHECK_EQ_I64(((const int32_t*)t->data)[1], 25);
  HR_CHECK(sum->constant == t);
  hr_graph_destroy(g);
}

HR_TEST(what_is_fed_or_fails_is_not_known) {
  hr_graph_t* g = fixture_graph();
  const hr_tensor_t* t = NULL;
  hr_node_t* x = fixture_placeholder(g, "x", HR_I32, 1, (const int64_t[]){2});
  hr_node_t* c = fixture_const_i32(g, "c", 2, (const int64_t[]){1, 2});
  hr_node_t* nodes[] = {x, fixture_add2(g, "Add", "sum", x, c), fixture_add1(g, "Fails", "fails", c),
                        fixture_add1(g, "Identity", "no_kernel", c)};
  for (int i = 0; i < 4; ++i) {
    HR_CHECK_OK(hr_const_eval(g, fixture_out(nodes[i], 0), &t));
    HR_CHECK(t == NULL && nodes[i]->constant == NULL);
  }
  hr_graph_destroy(g);
}

HR_TEST(deep_chains_end_at_the_bound) {
  hr_graph_t* g = fixture_graph();
  const hr_tensor_t* t = NULL;
  hr_node_t* n = fixture_const_i32(g, "c", 2, (const int64_t[]){1, 2});
  for (int i = 0; i < 5000; ++i) {
    char name[16];
    snprintf(name, sizeof name, "n%d", i);
    n = fixture_add2(g, "Add", name, n, n);
  }
  HR_CHECK_OK(hr_const_eval(g, fixture_out(n, 0), &t));
  HR_CHECK(t == NULL);
  hr_graph_destroy(g);
}

static hr_node_t* slice(hr_graph_t* g, const char* name, hr_node_t* x, int64_t begin, int64_t end, int64_t stride, int64_t shrink) {
  char names[3][32];
  for (int i = 0; i < 3; ++i) snprintf(names[i], sizeof names[i], "%s_%d", name, i);
  hr_node_t *b = fixture_const_i32(g, names[0], 1, &begin), *e = fixture_const_i32(g, names[1], 1, &end),
            *s = fixture_const_i32(g, names[2], 1, &stride);
  return fixture_add(g, "StridedSlice", name, HR_VALUES(fixture_out(x, 0), fixture_out(b, 0), fixture_out(e, 0), fixture_out(s, 0)),
                     HR_ATTRS(hr_at_int("shrink_axis_mask", shrink)));
}

static void check_dims(hr_graph_t* g, hr_node_t* n, int rank, const int64_t* dims) {
  const hr_pshape_t* s = NULL;
  HR_REQUIRE_OK(hr_const_eval_as_shape(g, fixture_out(n, 0), &s));
  HR_REQUIRE(HR_CHECK_EQ_I64(s->rank, rank));
  for (int i = 0; i < rank; ++i) HR_CHECK_EQ_I64(s->dims[i], dims[i]);
}

HR_TEST(partly_known_shapes) {
  hr_graph_t* g = fixture_graph();
  hr_node_t* x = fixture_placeholder(g, "x", HR_F32, 3, (const int64_t[]){-1, 7, 9});
  hr_node_t* shape = fixture_add1(g, "Shape", "shape", x);
  check_dims(g, shape, 3, (const int64_t[]){-1, 7, 9});
  check_dims(g, slice(g, "tail", shape, 1, 3, 1, 0), 2, (const int64_t[]){7, 9});
  check_dims(g, slice(g, "back", shape, -1, -4, -1, 0), 3, (const int64_t[]){9, 7, -1});
  hr_node_t *batch = slice(g, "batch", shape, 0, 1, 1, 1), *middle = slice(g, "middle", shape, 1, 2, 1, 1);
  hr_node_t* pack = fixture_add(
      g, "Pack", "pack", HR_VALUES(fixture_out(batch, 0), fixture_out(middle, 0), fixture_out(fixture_const_i32(g, "k", -1, &two), 0)),
      HR_NO_ATTRS);
  check_dims(g, pack, 3, (const int64_t[]){-1, 7, 2});
  hr_node_t* axis = fixture_const_i32(g, "axis", -1, &zero);
  hr_node_t* join =
      fixture_add(g, "ConcatV2", "join",
                  HR_VALUES(fixture_out(pack, 0), fixture_out(fixture_const_i32(g, "one", 1, &one), 0), fixture_out(axis, 0)), HR_NO_ATTRS);
  check_dims(g, join, 4, (const int64_t[]){-1, 7, 2, 1});
  hr_node_t* r = fixture_add2(g, "Reshape", "r", x, join);
  HR_CHECK_EQ_I64(r->shapes[0]->rank, 4);
  hr_node_t* p = fixture_placeholder(g, "p", HR_I32, 1, &two);
  check_dims(g, p, 2, (const int64_t[]){-1, -1});
  hr_node_t* q = fixture_placeholder(g, "q", HR_I32, -1, NULL);
  check_dims(g, q, -1, NULL);
  const hr_pshape_t* s = NULL;
  hr_node_t* bad = fixture_const_i32(g, "bad", 1, (const int64_t[]){-2});
  HR_CHECK_CODE(hr_const_eval_as_shape(g, fixture_out(bad, 0), &s), HR_INVALID_ARGUMENT, "element 0 of the shape 'bad:0' is -2");
  hr_graph_destroy(g);
}

HR_TEST_MAIN()
