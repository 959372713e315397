/* SPDX-License-Identifier: Apache-2.0 */
/* Values and shapes known while the graph is built, and what must not count as known. */
#define HR_TEST_LEAKS_CHECKED
#include "test.h"
#include "graph/const_eval.h"
#include "unit/graph/graph_fixture.h"

static const int64_t one = 1, zero = 0, two = 2;

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
