/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates: not how large they are, which is measured now and then, but what they depend on: sizes, whatever way an op has them; which ops
 * split and from when on; what is guessed. */
#define HR_TEST_LEAKS_CHECKED
#include "exec/cost.h"
#include "unit/exec/maker.h"

enum { MOST_IN = 3 };
typedef struct { int32_t rank; int64_t dims[4]; } dims_t; /* laid out as hr_pshape_t */
#define DIMS(...) ((dims_t){(int32_t)(sizeof((int64_t[]){__VA_ARGS__}) / 8), {__VA_ARGS__}})
static const dims_t no_rank = {-1, {0}};

static const hr_pshape_t* shape_of(const dims_t* d) { return d->rank < 0 ? &hr_pshape_unknown : (const hr_pshape_t*)(const void*)d; }

/* A node of op with these inputs and the shape of its first output, which need not follow from them. */
static hr_cost_t cost_with(const char* op, int inputs, const dims_t* in, dims_t out, int attr_count, const hr_named_attr_t* attrs,
                           hr_cost_memo_t* memo) {
  hr_graph_t* g = maker_graph();
  hr_value_t values[MOST_IN];
  hr_node_t* n = NULL;
  for (int i = 0; i < inputs; ++i) values[i] = maker_placeholder(g, (const char*[]){"a", "b", "c"}[i], HR_F32, shape_of(&in[i]));
  const hr_node_desc_t d = {.op = hr_str(op), .name = HR_STR("n"), .inputs = values, .input_count = inputs, .attrs = attrs,
                            .attr_count = attr_count, .skip_shapes = true};
  maker_must(hr_graph_add(g, &d, &n), op);
  for (int32_t i = 0; i < n->output_count; ++i) n->shapes[i] = shape_of(&out);
  hr_cost_memo_t own = {0};
  const hr_cost_t cost = hr_cost_of(memo ? memo : &own, n);
  hr_graph_destroy(g);
  return cost;
}
static hr_cost_t cost_of(const char* op, dims_t in, dims_t out) { return cost_with(op, 1, &in, out, 0, NULL, NULL); }
/* Of a node without inputs, which is all that the estimate looks at. */
static hr_cost_t bare_cost(const char* op, dims_t out) {
  const hr_op_def_t* def = NULL;
  const hr_pshape_t* shapes[] = {shape_of(&out)};
  hr_cost_memo_t memo = {0};
  hr_graph_t* g = maker_graph(); /* ops are registered with the first */
  maker_must(hr_registry_find(hr_str(op), &def), op);
  const hr_node_t n = {.attrs = {.def = def}, .output_count = 1, .shapes = shapes};
  const hr_cost_t cost = hr_cost_of(&memo, &n);
  hr_graph_destroy(g);
  return cost;
}
static double product_ns(const char* op, dims_t a, dims_t b, dims_t y) {
  return (double)cost_with(op, 2, (dims_t[]){a, b}, y, 0, NULL, NULL).alone_ns;
}

static double call_ns(void) { return (double)cost_of("Identity", DIMS(5), DIMS(5)).alone_ns; } /* of an op that does nothing */
#define CHECK_CLOSE(a, b) HR_CHECK_NEAR(a, b, 1e-5 * fabs((double)(b)))

HR_TEST(elements_of_the_largest_value_count) {
  const double call = call_ns(), one = (double)cost_of("Erf", DIMS(1000), DIMS(1000)).alone_ns - call;
  HR_CHECK(call > 0 && one > 0);
  CHECK_CLOSE((double)cost_of("Erf", DIMS(3000), DIMS(3000)).alone_ns - call, 3 * one);
  CHECK_CLOSE((double)cost_of("Erf", DIMS(10, 20, 15), DIMS(1)).alone_ns - call, 3 * one); /* the input is larger */
  CHECK_CLOSE((double)cost_of("Erf", DIMS(1), DIMS(30, 100)).alone_ns - call, 3 * one);    /* the output is */
  CHECK_CLOSE((double)cost_of("Erf", no_rank, DIMS(1000)).alone_ns - call, one);
  HR_CHECK_EQ_F64(cost_of("Erf", no_rank, no_rank).alone_ns, call);
  HR_CHECK_EQ_F64(cost_of("Erf", DIMS(0), DIMS(0)).alone_ns, call);
  HR_CHECK_EQ_F64(cost_of("Squeeze", DIMS(1000000), DIMS(1000000)).alone_ns, call);
  HR_CHECK_EQ_F64(cost_of("Shape", DIMS(1000000), DIMS(1)).alone_ns, call);
  HR_CHECK(bare_cost("DecodePng", DIMS(1)).alone_ns == bare_cost("DecodePng", DIMS(9, 9, 3)).alone_ns); /* its size is in its bytes */
  HR_CHECK((double)bare_cost("DecodePng", DIMS(1)).alone_ns > 10 * call);
}

/* Every op with a row costs otherwise than one without; these are the first, the last, and some of each kind. */
HR_TEST(ops_are_found_by_name) {
  static const char* const rows[] = {"Acos", "Acosh", "All", "ArgMax", "Cumsum", "Lgamma", "Softmax", "Sum", "Tan", "Zeta"};
  const float other = cost_of("Neg", DIMS(100000), DIMS(100000)).alone_ns;
  hr_cost_memo_t memo = {0};
  const dims_t in[] = {DIMS(100000)};
  for (int round = 0; round < 2; ++round) { /* what one memo remembers of one op is not another's */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
      hr_graph_t* g = maker_graph();
      const hr_op_def_t* def = NULL;
      if (HR_CHECK_OK(hr_registry_find(hr_str(rows[i]), &def)) && def->input_count == 1) {
        const float alone = cost_with(rows[i], 1, in, in[0], 0, NULL, &memo).alone_ns;
        if (!HR_CHECK(alone != other)) printf("  %s\n", rows[i]);
        HR_CHECK(alone == cost_of(rows[i], in[0], in[0]).alone_ns);
      }
      hr_graph_destroy(g);
    }
    HR_CHECK(cost_with("Neg", 1, in, in[0], 0, NULL, &memo).alone_ns == other);
    HR_CHECK(cost_with("Abs", 1, in, in[0], 0, NULL, &memo).alone_ns == other);
  }
}

HR_TEST(a_product_costs_its_multiplications) {
  const double call = call_ns(), one = product_ns("MatMul", DIMS(10, 20), DIMS(20, 30), DIMS(10, 30)) - call;
  HR_CHECK(one > 0);
  CHECK_CLOSE(product_ns("MatMul", DIMS(20, 20), DIMS(20, 30), DIMS(20, 30)) - call, 2 * one);
  CHECK_CLOSE(product_ns("MatMul", DIMS(10, 40), DIMS(40, 30), DIMS(10, 30)) - call, 2 * one);
  CHECK_CLOSE(product_ns("MatMul", DIMS(10, 20), DIMS(20, 60), DIMS(10, 60)) - call, 2 * one);
  CHECK_CLOSE(product_ns("MatMul", DIMS(20, 10), DIMS(30, 20), DIMS(10, 30)) - call, one); /* both transposed */
  CHECK_CLOSE(product_ns("BatchMatMulV2", DIMS(4, 10, 20), DIMS(4, 20, 30), DIMS(4, 10, 30)) - call, 4 * one);
  CHECK_CLOSE(product_ns("BatchMatMulV2", DIMS(4, 7, 10, 20), DIMS(4, 7, 20, 30), DIMS(4, 7, 10, 30)) - call, 28 * one);
  HR_CHECK_EQ_F64(product_ns("MatMul", DIMS(10, 20), DIMS(20, 30), no_rank), call);
  HR_CHECK_EQ_F64(product_ns("MatMul", DIMS(10, 0), DIMS(0, 30), DIMS(10, 30)), call);
  HR_CHECK_EQ_F64(product_ns("MatMul", DIMS(0, 20), DIMS(20, 30), DIMS(0, 30)), call);
}

/* The three convolutions of a layer multiply the same numbers. */
HR_TEST(a_convolution_and_its_gradients_cost_the_same) {
  static const int64_t ones[] = {1, 1, 1, 1};
  const hr_named_attr_t at[] = {hr_at_ints("strides", ones, 4), hr_at_str("padding", "SAME"), hr_at_type("T", HR_F32)};
  const dims_t x = DIMS(2, 9, 9, 3), w = DIMS(5, 3, 3, 8), y = DIMS(2, 9, 9, 8);
  const double call = call_ns(), forward = (double)cost_with("Conv2D", 2, (dims_t[]){x, w}, y, 3, at, NULL).alone_ns;
  CHECK_CLOSE((double)cost_with("Conv2D", 2, (dims_t[]){x, DIMS(5, 6, 3, 8)}, y, 3, at, NULL).alone_ns - call, 2 * (forward - call));
  CHECK_CLOSE((double)cost_with("Conv2D", 2, (dims_t[]){x, DIMS(10, 3, 3, 8)}, y, 3, at, NULL).alone_ns - call, 2 * (forward - call));
  CHECK_CLOSE((double)cost_with("Conv2D", 2, (dims_t[]){x, DIMS(5, 3, 6, 8)}, y, 3, at, NULL).alone_ns - call, 2 * (forward - call));
  CHECK_CLOSE((double)cost_with("Conv2D", 2, (dims_t[]){x, w}, DIMS(2, 9, 18, 8), 3, at, NULL).alone_ns - call, 2 * (forward - call));
  HR_CHECK_EQ_F64(cost_with("Conv2D", 2, (dims_t[]){x, no_rank}, y, 3, at, NULL).alone_ns, call);
  hr_graph_t* g = maker_graph();
  hr_value_t sizes = maker_placeholder(g, "sizes", HR_I32, NULL), vw = maker_placeholder(g, "w", HR_F32, shape_of(&w)),
             vy = maker_placeholder(g, "y", HR_F32, shape_of(&y)), vx = maker_placeholder(g, "x", HR_F32, shape_of(&x));
  const hr_value_t of_data[] = {sizes, vw, vy}, of_filter[] = {vx, sizes, vy};
  hr_value_t data = maker_node(g, "Conv2DBackpropInput", "data", 3, of_data, 2, at),
             filter = maker_node(g, "Conv2DBackpropFilter", "filter", 3, of_filter, 2, at);
  data.node->shapes[0] = shape_of(&x);
  filter.node->shapes[0] = shape_of(&w);
  hr_cost_memo_t memo = {0};
  CHECK_CLOSE(hr_cost_of(&memo, data.node).alone_ns, forward);
  CHECK_CLOSE(hr_cost_of(&memo, filter.node).alone_ns, forward);
  hr_graph_destroy(g);
}

HR_TEST(sorting_costs_more_for_each_of_many) {
  const double call = call_ns();
  double ns[3];
  for (int i = 0; i < 3; ++i) ns[i] = (double)bare_cost("TopKV2", DIMS(1000 << i)).alone_ns - call;
  HR_CHECK(ns[1] > 2 * ns[0] && ns[1] < 2.5 * ns[0] && ns[2] > 2 * ns[1] && ns[2] < 2.4 * ns[1]);
}

HR_TEST(unknown_sizes_are_guessed_and_said_to_be) {
  const hr_cost_t known = cost_of("Erf", DIMS(HR_COST_BATCH, 50), DIMS(HR_COST_BATCH, 50)),
                  guess = cost_of("Erf", DIMS(-1, 50), DIMS(-1, 50));
  HR_CHECK(!known.guessed && guess.guessed);
  HR_CHECK(known.alone_ns == guess.alone_ns && known.move_ns == guess.move_ns);
  HR_CHECK(!cost_of("Erf", no_rank, no_rank).guessed);
  HR_CHECK(cost_with("MatMul", 2, (dims_t[]){DIMS(-1, 20), DIMS(20, 30)}, DIMS(-1, 30), 0, NULL, NULL).guessed);
  CHECK_CLOSE(product_ns("MatMul", DIMS(-1, 20), DIMS(20, 30), DIMS(-1, 30)),
              product_ns("MatMul", DIMS(HR_COST_BATCH, 20), DIMS(20, 30), DIMS(HR_COST_BATCH, 30)));
}

HR_TEST(what_comes_over_is_the_outputs) {
  const double one = (double)cost_of("Erf", DIMS(7), DIMS(1000)).move_ns;
  HR_CHECK(one > 0);
  CHECK_CLOSE((double)cost_of("Erf", DIMS(1000000), DIMS(2000)).move_ns, 2 * one);
  hr_graph_t* g = maker_graph();
  const dims_t half = DIMS(500);
  hr_value_t in[] = {maker_placeholder(g, "axis", HR_I32, &hr_pshape_scalar), maker_placeholder(g, "x", HR_F32, NULL)};
  const hr_named_attr_t parts = hr_at_int("num_split", 4);
  hr_value_t split = maker_node(g, "Split", "split", 2, in, 1, &parts);
  for (int32_t i = 0; i < 4; ++i) split.node->shapes[i] = shape_of(&half);
  hr_cost_memo_t memo = {0};
  CHECK_CLOSE((double)hr_cost_of(&memo, split.node).move_ns, 2 * one); /* all four */
  hr_graph_destroy(g);
}

HR_TEST(large_kernels_split_and_some_never) {
  static const char* const never[] = {"DecodePng", "EncodePng", "OneHot", "ReverseV2", "SelectV2", "SegmentSum",
                                      "Unique",    "UnsortedSegmentSum", "Where"};
  const hr_cost_t large = cost_of("Erf", DIMS(1000000), DIMS(1000000)), small = cost_of("Erf", DIMS(1000), DIMS(1000));
  HR_CHECK_EQ_F64(hr_cost_on(small, 8), small.alone_ns);
  HR_CHECK_EQ_F64(hr_cost_on(large, 1), large.alone_ns);
  HR_CHECK_EQ_F64(hr_cost_on(large, 0), large.alone_ns);
  HR_CHECK(large.team_ns > 0);
  CHECK_CLOSE(hr_cost_on(large, 2), (double)large.alone_ns / 2 + (double)large.team_ns);
  CHECK_CLOSE(hr_cost_on(large, 8), (double)large.alone_ns / 8 + (double)large.team_ns);
  for (size_t i = 0; i < sizeof never / sizeof *never; ++i) {
    const hr_cost_t c = bare_cost(never[i], DIMS(1000, 1000));
    if (!HR_CHECK(hr_cost_on(c, 8) == (double)c.alone_ns && c.alone_ns > 100000)) printf("  %s\n", never[i]);
  }
}

HR_TEST(splitting_is_never_worse_than_not) { /* from where it is tried: a team that costs more than it saves is not formed */
  hr_cost_t c = {.alone_ns = 40000, .beside_ns = 60000, .team_ns = 30000};
  HR_CHECK_EQ_F64(hr_cost_on(c, 2), 40000);
  HR_CHECK_EQ_F64(hr_cost_on(c, 8), 35000);
  HR_CHECK_EQ_F64(hr_cost_beside(c, 2), 60000);
  HR_CHECK_EQ_F64(hr_cost_beside(c, 8), 37500);
  c.team_ns = 0;
  HR_CHECK_EQ_F64(hr_cost_on(c, 8), 40000);
}

HR_TEST(larger_products_need_less_of_a_team) {
  const dims_t a = DIMS(300, 300), b = DIMS(1000, 1000);
  const hr_cost_t some = cost_with("MatMul", 2, (dims_t[]){DIMS(50, 50), DIMS(50, 50)}, DIMS(50, 50), 0, NULL, NULL),
                  more = cost_with("MatMul", 2, (dims_t[]){a, a}, a, 0, NULL, NULL),
                  most = cost_with("MatMul", 2, (dims_t[]){b, b}, b, 0, NULL, NULL);
  HR_CHECK(some.team_ns > more.team_ns && more.team_ns > most.team_ns && most.team_ns > 0);
  CHECK_CLOSE((double)most.team_ns * (double)most.alone_ns * (double)most.alone_ns,
              (double)more.team_ns * (double)more.alone_ns * (double)more.alone_ns);
}

HR_TEST(kernels_that_only_pass_memory_on_get_less_of_it_beside_others) {
  const hr_cost_t cheap = cost_of("Neg", DIMS(1000000), DIMS(1000000)), little = cost_of("Neg", DIMS(100), DIMS(100)),
                  dear = cost_of("Erf", DIMS(1000000), DIMS(1000000)), product = cost_of("Identity", DIMS(1000000), DIMS(1000000));
  HR_CHECK(cheap.beside_ns > cheap.alone_ns && little.beside_ns == little.alone_ns);
  HR_CHECK(dear.beside_ns == dear.alone_ns && product.beside_ns == product.alone_ns);
}
HR_TEST_MAIN()
