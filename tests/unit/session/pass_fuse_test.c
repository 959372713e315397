/* SPDX-License-Identifier: Apache-2.0 */
/* Before and after: products and convolutions with what follows them become one node, with the same values; what is read elsewhere stays.
 */
#define HR_TEST_LEAKS_CHECKED
#include <math.h>
#include "unit/session/program_maker.h"

static hr_tensor_t noise(int rank, const int64_t* dims, unsigned seed) {
  hr_tensor_t t = {0};
  hr_shape_t s = {.rank = rank};
  for (int i = 0; i < rank; ++i) s.dims[i] = dims[i];
  maker_must(hr_tensor_create(HR_F32, &s, &t), "noise");
  for (int64_t i = 0; i < t.count; ++i)
    ((float*)t.data)[i] = (float)((seed = seed * 1664525u + 1013904223u) >> 8) / (float)(1 << 24) - 0.4f;
  return t;
}
#define NOISE(seed, ...) noise((int)(sizeof((int64_t[]){__VA_ARGS__}) / 8), (int64_t[]){__VA_ARGS__}, seed)

static hr_value_t noise_const(hr_graph_t* g, const char* name, hr_tensor_t take) {
  hr_value_t v = maker_const_of(g, name, &take);
  hr_tensor_release(&take);
  return v;
}

static hr_value_t shaped(hr_graph_t* g, const char* name, int rank, const int64_t* dims) {
  const hr_pshape_t* made = NULL;
  hr_shape_t shape = {.rank = rank};
  for (int i = 0; i < rank; ++i) shape.dims[i] = dims[i];
  maker_must(hr_pshape_from_shape(&g->arena, &shape, &made), "a shape");
  return maker_placeholder(g, name, HR_F32, made);
}
#define SHAPED(g, name, ...) shaped(g, name, (int)(sizeof((int64_t[]){__VA_ARGS__}) / 8), (int64_t[]){__VA_ARGS__})

static hr_value_t convolve(hr_graph_t* g, const char* name, hr_value_t x, hr_value_t filter) {
  static const int64_t ones[] = {1, 1, 1, 1};
  hr_value_t in[] = {x, filter};
  hr_named_attr_t at[] = {hr_at_ints("strides", ones, 4), hr_at_str("padding", "SAME")};
  return maker_node(g, "Conv2D", name, 2, in, 2, at);
}

static hr_value_t normalize(hr_graph_t* g, const char* name, hr_value_t x, const hr_value_t vectors[4]) {
  hr_value_t in[] = {x, vectors[0], vectors[1], vectors[2], vectors[3]};
  hr_named_attr_t at[] = {hr_at_bool("is_training", false), hr_at_float("epsilon", 0.01f)};
  return maker_node(g, "FusedBatchNormV3", name, 5, in, 2, at);
}

static hr_tensor_t run_once(hr_graph_t* g, bool fusion, hr_value_t feed, const hr_tensor_t* value, hr_value_t fetch) {
  hr_session_options_t o;
  hr_session_t* s = NULL;
  hr_tensor_t out = {0};
  hr_session_options_init(&o);
  o.fusion = fusion;
  maker_must(hr_session_create(g, &o, &s), "a session");
  hr_run_t run = {.feeds = &feed, .feed_values = value, .feed_count = 1, .fetches = &fetch, .fetch_count = 1};
  maker_must(hr_session_run(s, NULL, &run, &out, NULL, NULL), "a run");
  hr_session_destroy(s);
  return out;
}

static void check_same_values(hr_graph_t* g, hr_value_t feed, hr_tensor_t take_value, hr_value_t fetch) {
  hr_tensor_t a = run_once(g, false, feed, &take_value, fetch), b = run_once(g, true, feed, &take_value, fetch);
  HR_REQUIRE(a.count == b.count && a.count > 0);
  double worst = 0, size = 0;
  for (int64_t i = 0; i < a.count; ++i) {
    worst = fmax(worst, fabs((double)((float*)a.data)[i] - (double)((float*)b.data)[i]));
    size = fmax(size, fabs((double)((float*)a.data)[i]));
  }
  HR_CHECK(worst <= 1e-5 * fmax(size, 1));
  HR_CHECK(size > 0);
  hr_tensor_release(&a);
  hr_tensor_release(&b);
  hr_tensor_release(&take_value);
}

HR_TEST(batch_norm_residual_and_relu_go_into_the_convolution) {
  hr_graph_t* g = maker_graph();
  hr_value_t x = SHAPED(g, "x", 2, 5, 5, 3), w = noise_const(g, "w", NOISE(1, 3, 3, 3, 3)), v[4];
  const char* names[] = {"scale", "offset", "mean", "variance"};
  for (int i = 0; i < 4; ++i) v[i] = noise_const(g, names[i], NOISE(2 + (unsigned)i, 3));
  hr_tensor_t variance = NOISE(9, 3);
  for (int i = 0; i < 3; ++i) ((float*)variance.data)[i] += 1;
  v[3] = noise_const(g, "variances", variance);
  hr_value_t conv = convolve(g, "conv", x, w), norm = normalize(g, "norm", conv, v), sum = maker_2(g, "AddV2", "sum", x, norm),
             y = maker_1(g, "Relu", "y", sum);
  hr_program_t p = maker_program(g, 1, &x, 1, &y, NULL);
  maker_pass(&p, hr_pass_fuse);
  HR_CHECK_EQ_I64(maker_live_of(&p, "_FusedConv2D"), 1);
  HR_CHECK_EQ_I64(p.live_count, 4); /* the feed, filter, bias, the fused node */
  hr_program_deinit(&p);
  check_same_values(g, x, NOISE(5, 2, 5, 5, 3), y);
  hr_graph_destroy(g);
}

HR_TEST(a_bias_in_either_form_goes_into_the_product) {
  hr_graph_t* g = maker_graph();
  hr_value_t x = SHAPED(g, "x", 4, 6), w = noise_const(g, "w", NOISE(1, 6, 5)), b = noise_const(g, "b", NOISE(2, 5));
  hr_value_t m = maker_2(g, "MatMul", "m", x, w), sum = maker_2(g, "AddV2", "sum", b, m), h = maker_1(g, "Relu6", "h", sum);
  hr_value_t w2 = noise_const(g, "w2", NOISE(3, 5, 5)), n = maker_2(g, "MatMul", "n", h, w2), y = maker_2(g, "BiasAdd", "y", n, b);
  hr_program_t p = maker_program(g, 1, &x, 1, &y, NULL);
  maker_pass(&p, hr_pass_fuse);
  HR_CHECK_EQ_I64(maker_live_of(&p, "_FusedMatMul"), 2);
  HR_CHECK_EQ_I64(p.live_count, 6);
  hr_program_deinit(&p);
  check_same_values(g, x, NOISE(5, 4, 6), y);
  hr_graph_destroy(g);
}

HR_TEST(what_is_read_twice_or_fetched_or_broadcast_stays) {
  hr_graph_t* g = maker_graph();
  hr_value_t x = SHAPED(g, "x", 5, 5), w = noise_const(g, "w", NOISE(1, 5, 5)), one = noise_const(g, "one", NOISE(2, 1));
  hr_value_t b = noise_const(g, "b", NOISE(3, 5));
  hr_value_t m1 = maker_2(g, "MatMul", "m1", x, w), a1 = maker_2(g, "AddV2", "a1", m1, one); /* a scalar in disguise */
  hr_value_t m2 = maker_2(g, "MatMul", "m2", a1, w), a2 = maker_2(g, "AddV2", "a2", m2, b),
             again = maker_2(g, "Mul", "again", m2, a2);                                                           /* m2 read twice */
  hr_value_t m3 = maker_2(g, "MatMul", "m3", again, w), a3 = maker_2(g, "AddV2", "a3", m3, b), fetch[] = {m3, a3}; /* m3 fetched */
  hr_program_t p = maker_program(g, 1, &x, 2, fetch, NULL);
  maker_pass(&p, hr_pass_fuse);
  HR_CHECK_EQ_I64(maker_live_of(&p, "_FusedMatMul"), 0);
  hr_program_deinit(&p);
  hr_graph_destroy(g);
}

HR_TEST(shapes_of_values_in_between_are_asked_of_the_fused_node) {
  hr_graph_t* g = maker_graph();
  hr_value_t x = SHAPED(g, "x", 4, 6), w = noise_const(g, "w", NOISE(1, 6, 5)), b = noise_const(g, "b", NOISE(2, 5));
  hr_value_t m = maker_2(g, "MatMul", "m", x, w), sum = maker_2(g, "AddV2", "sum", m, b), shape = maker_1(g, "Shape", "shape", m),
             fetch[] = {sum, shape};
  hr_program_t p = maker_program(g, 1, &x, 2, fetch, NULL);
  maker_pass(&p, hr_pass_fuse);
  HR_CHECK_EQ_I64(maker_live_of(&p, "_FusedMatMul"), 1);
  HR_CHECK_EQ_I64(maker_live_of(&p, "MatMul"), 0);
  HR_CHECK(hr_str_is(maker_live(&p, "shape")->inputs[0].node->attrs.def->name, "_FusedMatMul"));
  hr_program_deinit(&p);
  hr_graph_destroy(g);
}

HR_TEST(a_shape_that_an_operand_needs_keeps_its_product) { /* else the fused node would wait for itself */
  hr_graph_t* g = maker_graph();
  hr_value_t x = SHAPED(g, "x", 4, 6), w = noise_const(g, "w", NOISE(1, 6, 2)), m = maker_2(g, "MatMul", "m", x, w),
             shape = maker_1(g, "Shape", "shape", m);
  hr_named_attr_t at[] = {hr_at_type("SrcT", HR_I32), hr_at_type("DstT", HR_F32)};
  hr_value_t b = maker_node(g, "Cast", "b", 1, &shape, 2, at), sum = maker_2(g, "AddV2", "sum", m, b);
  hr_program_t p = maker_program(g, 1, &x, 1, &sum, NULL);
  maker_pass(&p, hr_pass_fuse);
  HR_CHECK_EQ_I64(maker_live_of(&p, "_FusedMatMul"), 0);
  hr_program_deinit(&p);
  check_same_values(g, x, NOISE(5, 4, 6), sum);
  hr_graph_destroy(g);
}

/* --- what is fused and what is not: a row each ---------------------------------------------------------------------------------------- */

typedef struct {
  hr_graph_t* g;
  hr_value_t x, w, m, b, other; /* m: the product or convolution; b: a vector as long as its last axis; other: of m's shape */
  bool conv;
} base_t;

static base_t product_base(void) { /* square, so that everything has one shape */
  base_t s = {.g = maker_graph()};
  s.x = SHAPED(s.g, "x", 5, 5);
  s.w = noise_const(s.g, "w", NOISE(1, 5, 5));
  s.b = noise_const(s.g, "b", NOISE(2, 5));
  s.m = maker_2(s.g, "MatMul", "m", s.x, s.w);
  s.other = maker_1(s.g, "Abs", "other", s.x);
  return s;
}

static base_t conv_base(const char* format) {
  static const int64_t ones[] = {1, 1, 1, 1};
  base_t s = {.g = maker_graph(), .conv = true};
  s.x = SHAPED(s.g, "x", 3, 3, 3, 3);
  s.w = noise_const(s.g, "w", NOISE(1, 3, 3, 3, 3));
  s.b = noise_const(s.g, "b", NOISE(2, 3));
  hr_value_t in[] = {s.x, s.w};
  hr_named_attr_t at[] = {hr_at_ints("strides", ones, 4), hr_at_str("padding", "SAME"), hr_at_str("data_format", format)};
  s.m = maker_node(s.g, "Conv2D", "m", 2, in, 3, at);
  s.other = maker_1(s.g, "Abs", "other", s.x);
  return s;
}

/* How many fused nodes there are when y is fetched, what they stand for, joined by commas. */
static void check_fused(base_t* s, hr_value_t y, const char* wanted) {
  hr_program_t p = maker_program(s->g, 1, &s->x, 1, &y, NULL);
  char text[128] = "";
  maker_pass(&p, hr_pass_fuse);
  for (int64_t i = 0; i < p.live_count; ++i) {
    const hr_attr_t* ops = hr_str_has_prefix(p.live[i]->attrs.def->name, HR_STR("_Fused")) ? hr_attrs_find(&p.live[i]->attrs,
                     "fused_ops") : NULL;
    for (int32_t j = 0; ops && j < ops->count; ++j) {
      strncat(text, ops->u.ss[j].data, ops->u.ss[j].size);
      strcat(text, ",");
    }
  }
  if (!HR_CHECK_STR(text, wanted)) printf("  %s\n", y.node->name.data);
  hr_program_deinit(&p);
  hr_graph_destroy(s->g);
}

static hr_value_t bias_add(base_t* s, hr_value_t v, const char* format) {
  hr_value_t in[] = {v, s->b};
  hr_named_attr_t at = hr_at_str("data_format", format);
  return maker_node(s->g, "BiasAdd", "bias", 2, in, 1, &at);
}
static hr_value_t leaky(base_t* s, hr_value_t v) {
  hr_named_attr_t at = hr_at_float("alpha", 0.3f);
  return maker_node(s->g, "LeakyRelu", "leaky", 1, &v, 1, &at);
}

HR_TEST(what_follows_a_product) {
  base_t s;
  s = product_base(), check_fused(&s, maker_1(s.g, "Relu", "y", s.m), "Relu,");
  s = product_base(), check_fused(&s, maker_1(s.g, "Relu6", "y", s.m), "Relu6,");
  s = product_base(), check_fused(&s, leaky(&s, s.m), "LeakyRelu,");
  s = product_base(), check_fused(&s, maker_1(s.g, "Elu", "y", s.m), "");
  s = product_base(), check_fused(&s, maker_2(s.g, "AddV2", "y", s.m, s.b), "BiasAdd,");
  s = product_base(), check_fused(&s, maker_2(s.g, "Add", "y", s.b, s.m), "BiasAdd,");
  s = product_base(), check_fused(&s, maker_2(s.g, "Sub", "y", s.m, s.b), "");
  s = product_base(), check_fused(&s, bias_add(&s, s.m, "NHWC"), "BiasAdd,");
  s = product_base(), check_fused(&s, maker_2(s.g, "AddV2", "y", s.m, s.other), ""); /* a matrix is no bias */
  s = product_base(), check_fused(&s, maker_2(s.g, "AddV2", "y", s.m, noise_const(s.g, "row", NOISE(3, 1, 5))), "");
  s = product_base(), check_fused(&s, maker_1(s.g, "Relu", "y", bias_add(&s, s.m, "NHWC")), "BiasAdd,Relu,");
  s = product_base(), check_fused(&s, maker_1(s.g, "Relu", "y", maker_1(s.g, "Relu", "z", s.m)), "Relu,");
}

HR_TEST(what_follows_a_convolution) {
  base_t s;
  s = conv_base("NHWC"), check_fused(&s, maker_1(s.g, "Relu", "y", s.m), ""); /* the fused one wants an operand */
  s = conv_base("NHWC"), check_fused(&s, maker_1(s.g, "Relu", "y", bias_add(&s, s.m, "NHWC")), "BiasAdd,Relu,");
  s = conv_base("NHWC"), check_fused(&s, maker_2(s.g, "AddV2", "y", s.b, s.m), "BiasAdd,");
  s = conv_base("NHWC"), check_fused(&s, bias_add(&s, s.m, "NCHW"), "");
  s = conv_base("NCHW"), check_fused(&s, bias_add(&s, s.m, "NCHW"), "BiasAdd,");
  s = conv_base("NCHW"), check_fused(&s, bias_add(&s, s.m, "NHWC"), "");
  s = conv_base("NCHW"), check_fused(&s, maker_2(s.g, "AddV2", "y", s.m, s.b), ""); /* the last axis is no channel */
  s = conv_base("NHWC"), check_fused(&s, maker_2(s.g, "AddV2", "y", s.m, s.other), "Add,");
  s = conv_base("NHWC"), check_fused(&s, maker_2(s.g, "AddV2", "y", s.other, s.m), "Add,");
  s = conv_base("NHWC"), check_fused(&s, maker_2(s.g, "Sub", "y", s.m, s.other), "");
  s = conv_base("NHWC"), check_fused(&s, maker_2(s.g, "AddV2", "y", s.m, noise_const(s.g, "one", NOISE(3, 1, 3, 3, 3))), "");
  s = conv_base("NHWC"), check_fused(&s, maker_1(s.g, "Relu", "y", maker_2(s.g, "Add", "z", s.other, bias_add(&s, s.m, "NHWC"))),
                                     "BiasAdd,Add,Relu,");
}

/* One thing more that is done to the product or to its bias keeps them apart. */
HR_TEST(what_waits_or_is_waited_for_or_asked_for_is_left) {
  for (int how = 0; how < 6; ++how) {
    base_t s = product_base();
    hr_value_t y = maker_2(s.g, "AddV2", "y", s.m, s.b), fetch[] = {y, s.other};
    if (how == 1) maker_wait(s.g, s.m, s.other);
    if (how == 2) maker_wait(s.g, y, s.other);
    if (how == 3) maker_wait(s.g, s.other, s.m);
    hr_node_t* target = how == 4 ? s.m.node : NULL;
    if (how == 5) fetch[1] = s.m;
    const int64_t fused = maker_left(s.g, s.x, 2, fetch, target, hr_pass_fuse, "_FusedMatMul");
    if (!HR_CHECK_EQ_I64(fused, how == 0)) printf("  way %d\n", how);
    hr_graph_destroy(s.g);
  }
}

HR_TEST(only_floats_are_fused) {
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F64, NULL), y = maker_1(g, "Relu", "y", maker_2(g, "MatMul", "m", x, x));
  HR_CHECK_EQ_I64(maker_left(g, x, 1, &y, NULL, hr_pass_fuse, "_FusedMatMul"), 0);
  hr_graph_destroy(g);
}

/* Batch norm goes in only when all that it scales by is known, and nothing but its first output is read. */
HR_TEST(norms_that_cannot_be_folded_stay) {
  for (int how = 0; how < 8; ++how) {
    base_t s = conv_base("NHWC");
    hr_value_t v[4], root = s.m;
    for (int i = 0; i < 4; ++i) v[i] = noise_const(s.g, (const char*[]){"scale", "offset", "mean", "variance"}[i], NOISE(4 + (unsigned)i,
        3));
    if (how == 1) v[0] = SHAPED(s.g, "open", 3);
    if (how == 2) v[3] = SHAPED(s.g, "open", 3);
    if (how == 3) {
      hr_value_t in[] = {s.x, SHAPED(s.g, "filter", 3, 3, 3, 3)};
      root = convolve(s.g, "m2", in[0], in[1]);
    }
    if (how == 4) root = bias_add(&s, s.m, "NHWC");                                            /* a known bias goes in with it */
    if (how == 5) root = maker_2(s.g, "AddV2", "sum", s.m, SHAPED(s.g, "open", 3));            /* another ends the chain */
    hr_value_t in[] = {root, v[0], v[1], v[2], v[3]};
    hr_named_attr_t at[] = {hr_at_bool("is_training", how == 6), hr_at_float("epsilon", 0.01f)};
    hr_value_t n = maker_node(s.g, "FusedBatchNormV3", "n", 5, in, 2, at), fetch[] = {n, how == 7 ? hr_emit_nth(n, 1) : s.other};
    hr_value_t feeds[] = {s.x, how == 1 || how == 2 ? v[how == 1 ? 0 : 3] : s.x};
    hr_node_t* open = NULL;
    (void)feeds, (void)open;
    const int64_t norms = maker_left(s.g, s.x, 2, fetch, NULL, hr_pass_fuse, "FusedBatchNormV3");
    if (!HR_CHECK_EQ_I64(norms, how != 0 && how != 4)) printf("  way %d\n", how);
    hr_graph_destroy(s.g);
  }
}

HR_TEST(a_bias_before_the_norm_is_scaled_with_it) {
  base_t s = conv_base("NHWC");
  hr_value_t v[4];
  for (int i = 0; i < 4; ++i) {
    hr_tensor_t t = NOISE(4 + (unsigned)i, 3);
    for (int j = 0; j < 3; ++j) ((float*)t.data)[j] += i == 3 ? 1 : 0;
    v[i] = noise_const(s.g, (const char*[]){"scale", "offset", "mean", "variance"}[i], t);
  }
  hr_value_t y = leaky(&s, normalize(s.g, "n", bias_add(&s, s.m, "NHWC"), v));
  check_same_values(s.g, s.x, NOISE(5, 3, 3, 3, 3), y);
  check_fused(&s, y, "BiasAdd,LeakyRelu,");
}

HR_TEST(flags_and_slopes_come_along) {
  for (int way = 0; way < 4; ++way) {
    base_t s = product_base();
    hr_value_t in[] = {s.x, s.w};
    hr_named_attr_t at[] = {hr_at_bool("transpose_a", way & 1), hr_at_bool("transpose_b", way & 2)};
    hr_value_t y = leaky(&s, maker_2(s.g, "AddV2", "sum", maker_node(s.g, "MatMul", "t", 2, in, 2, at), s.b));
    check_same_values(s.g, s.x, NOISE(5, 5, 5), y);
    hr_graph_destroy(s.g);
  }
}
HR_TEST_MAIN()
