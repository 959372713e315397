/* SPDX-License-Identifier: Apache-2.0 */
/* The backward walk on small graphs, over ops defined here (facts and gradients only; nothing runs): which nodes it emits, where it
 * ends, how it sums, what it refuses. */
#include "graph/grad.h"
#include "op/infer_fns.h"
#include "test.h"

/* --- ops ---------------------------------------------------------------------------------------------------------------------------- */
static void grad_add(hr_grad_ctx_t* g) {
  for (int i = 0; i < 2; ++i)
    if (hr_grad_wanted(g, i))
      hr_grad_give(g, i, hr_emit_reduce_to(g, hr_grad_upstream(g, 0), hr_grad_input(g, i), hr_grad_input(g, 1 - i)));
}
static void grad_mul(hr_grad_ctx_t* g) {
  for (int i = 0; i < 2; ++i) {
    if (!hr_grad_wanted(g, i)) continue;
    hr_value_t d = hr_emit_mul(g, hr_grad_upstream(g, 0), hr_grad_input(g, 1 - i));
    hr_grad_give(g, i, hr_emit_reduce_to(g, d, hr_grad_input(g, i), hr_grad_input(g, 1 - i)));
  }
}
static void grad_neg(hr_grad_ctx_t* g) { hr_grad_give(g, 0, hr_emit_neg(g, hr_grad_upstream(g, 0))); }
static void grad_cast(hr_grad_ctx_t* g) {
  hr_grad_give(g, 0, hr_emit_cast(g, hr_grad_upstream(g, 0), hr_grad_dtype(g, hr_grad_input(g, 0))));
}
static void grad_two(hr_grad_ctx_t* g) { /* asks for both upstreams */
  hr_grad_give(g, 0, hr_emit_add(g, hr_grad_upstream(g, 0), hr_grad_upstream(g, 1)));
}
static void grad_rows(hr_grad_ctx_t* g) { /* like a gather */
  hr_value_t x = hr_grad_input(g, 0);
  hr_grad_give_slices(g, 0, hr_grad_input(g, 1), hr_grad_upstream(g, 0), hr_emit_shape(g, x));
}
static void grad_read(hr_grad_ctx_t* g) { hr_grad_give(g, 0, hr_grad_upstream(g, 0)); }
static void grad_wrong_type(hr_grad_ctx_t* g) { hr_grad_give(g, 0, hr_emit_const_i32(g, 1)); }
static void grad_wrong_shape(hr_grad_ctx_t* g) {
  int64_t dims[] = {9, 9};
  hr_grad_give(g, 0, hr_emit2(g, "Fill", hr_emit_const_i32s(g, dims, 2), hr_emit_const_like(g, hr_grad_input(g, 0), 1)));
}

static hr_status_t infer_fill(hr_infer_t* s) {
  const hr_pshape_t* shape = NULL;
  HR_TRY(hr_infer_const_as_shape(s, 0, &shape));
  hr_infer_set(s, 0, shape);
  return NULL;
}
static hr_status_t infer_const(hr_infer_t* s) {
  const hr_pshape_t* shape = NULL;
  HR_TRY(hr_pshape_from_shape(hr_infer_arena(s), &hr_attrs_tensor(hr_infer_attrs(s), "value")->shape, &shape));
  hr_infer_set(s, 0, shape);
  return NULL;
}
static hr_status_t infer_rows(hr_infer_t* s) {
  int64_t dims[] = {hr_infer_dim(hr_infer_input(s, 1), 0), hr_infer_dim(hr_infer_input(s, 0), 1)};
  return hr_infer_set_dims(s, 0, 2, dims);
}
static hr_status_t infer_handle(hr_infer_t* s) {
  hr_infer_set(s, 0, &hr_pshape_scalar);
  hr_infer_set_handle(s, 0, hr_attrs_type(hr_infer_attrs(s), "dtype"), hr_attrs_shape(hr_infer_attrs(s), "shape"));
  return NULL;
}
static hr_status_t infer_read(hr_infer_t* s) {
  hr_dtype_t dtype;
  const hr_pshape_t* shape;
  hr_infer_handle(s, 0, &dtype, &shape);
  hr_infer_set(s, 0, shape ? shape : &hr_pshape_unknown);
  return NULL;
}

#define OP(symbol, ...) static const hr_op_t symbol = {__VA_ARGS__}
OP(op_add, .name = "AddV2", .sig = "x: T; y: T -> z: T", .attrs = "T: type", .shape = hr_infer_broadcasted, .grad = grad_add);
OP(op_addn, .name = "AddN", .sig = "inputs: N * T -> sum: T", .attrs = "N: int >= 1; T: type", .shape = hr_infer_merged);
OP(op_cast, .name = "Cast", .sig = "x: SrcT -> y: DstT", .attrs = "SrcT: type; DstT: type", .shape = hr_infer_same, .grad = grad_cast);
OP(op_concat, .name = "ConcatV2", .sig = "values: N * T; axis: int32 -> output: T", .attrs = "N: int >= 2; T: type", .shape = hr_infer_any);
OP(op_const, .name = "Const", .sig = "-> output: dtype", .attrs = "value: tensor; dtype: type", .shape = infer_const);
OP(op_fill, .name = "Fill", .sig = "dims: index_type; value: T -> output: T", .attrs = "T: type; index_type: type = int32",
   .shape = infer_fill);
OP(op_handle, .name = "VarHandleOp", .sig = "-> resource: resource", .attrs = "dtype: type; shape: shape", .flags = HR_OP_STATEFUL,
   .shape = infer_handle);
OP(op_identity, .name = "Identity", .sig = "input: T -> output: T", .attrs = "T: type", .shape = hr_infer_same);
OP(op_mul, .name = "Mul", .sig = "x: T; y: T -> z: T", .attrs = "T: type", .shape = hr_infer_broadcasted, .grad = grad_mul);
OP(op_neg, .name = "Neg", .sig = "x: T -> y: T", .attrs = "T: type", .shape = hr_infer_same, .grad = grad_neg);
OP(op_no_grad, .name = "NoGrad", .sig = "x: T -> y: T", .attrs = "T: type", .shape = hr_infer_same);
OP(op_placeholder, .name = "Placeholder", .sig = "-> output: dtype", .attrs = "dtype: type; shape: shape = ?", .shape = hr_infer_from_attr);
OP(op_read, .name = "ReadVariableOp", .sig = "resource: resource -> value: dtype", .attrs = "dtype: type", .shape = infer_read,
   .grad = grad_read);
OP(op_rows, .name = "Rows", .sig = "x: T; i: int32 -> y: T", .attrs = "T: type", .shape = infer_rows, .grad = grad_rows);
OP(op_segment, .name = "UnsortedSegmentSum", .sig = "data: T; ids: I; n: int32 -> y: T", .attrs = "T: type; I: type",
   .shape = hr_infer_any);
OP(op_shape, .name = "Shape", .sig = "x: T -> y: int32", .attrs = "T: type", .shape = hr_infer_any);
OP(op_step, .name = "Step", .sig = "x: T -> y: T", .attrs = "T: type", .shape = hr_infer_same, .grad = hr_grad_none);
OP(op_switch, .name = "Switch", .sig = "data: T; pred: bool -> a: T; b: T", .attrs = "T: type", .shape = hr_infer_same);
OP(op_two, .name = "Two", .sig = "x: T -> y: T; z: T", .attrs = "T: type", .shape = hr_infer_same, .grad = grad_two);
OP(op_variable, .name = "VariableV2", .sig = "-> ref: Ref(dtype)", .attrs = "dtype: type; shape: shape", .flags = HR_OP_STATEFUL,
   .shape = hr_infer_from_attr);
OP(op_wrong_shape, .name = "WrongShape", .sig = "x: T -> y: T", .attrs = "T: type", .shape = hr_infer_same, .grad = grad_wrong_shape);
OP(op_wrong_type, .name = "WrongType", .sig = "x: T -> y: T", .attrs = "T: type", .shape = hr_infer_same, .grad = grad_wrong_type);
OP(op_zeros, .name = "ZerosLike", .sig = "x: T -> y: T", .attrs = "T: type", .shape = hr_infer_same);

__attribute__((constructor)) static void install_ops(void) {
  static const hr_op_t* const ops[] = {&op_add,      &op_addn,     &op_cast,        &op_concat,     &op_const,       &op_fill,
                                       &op_identity, &op_mul,      &op_neg,         &op_no_grad,    &op_placeholder, &op_read,
                                       &op_rows,     &op_shape,    &op_step,        &op_switch,     &op_two,         &op_segment,
                                       &op_handle,   &op_variable, &op_wrong_shape, &op_wrong_type, &op_zeros};
  hr_registry_set_manifest(ops, sizeof ops / sizeof *ops);
}

/* --- building ------------------------------------------------------------------------------------------------------------------------- */
static hr_value_t add_node(hr_graph_t* g, const char* op, const char* name, int input_count, const hr_value_t* inputs, int attr_count,
                           const hr_named_attr_t* attrs) {
  hr_node_desc_t desc = {.op = hr_str(op),
                         .name = hr_str(name),
                         .device = HR_STR(""),
                         .inputs = inputs,
                         .input_count = input_count,
                         .attrs = attrs,
                         .attr_count = attr_count};
  hr_node_t* node = NULL;
  if (!HR_CHECK_OK(hr_graph_add(g, &desc, &node))) abort();
  return (hr_value_t){node, 0};
}

static const hr_pshape_t* shape_of(hr_graph_t* g, int rank, const int64_t* dims) {
  const hr_pshape_t* s = NULL;
  if (!HR_CHECK_OK(hr_pshape_make(&g->arena, rank, dims, &s))) abort();
  return s;
}
#define DIMS(...) \
  (int)(sizeof((int64_t[]){__VA_ARGS__}) / 8), (int64_t[]) { __VA_ARGS__ }

static hr_value_t input_of(hr_graph_t* g, const char* name, hr_dtype_t type, const hr_pshape_t* shape) {
  return add_node(g, "Placeholder", name, 0, NULL, HR_ATTRS(hr_at_type("dtype", type), hr_at_shape("shape", shape)));
}
static hr_value_t unary_of(hr_graph_t* g, const char* op, const char* name, hr_value_t x) {
  return add_node(g, op, name, 1, &x, HR_NO_ATTRS);
}
static hr_value_t binary_of(hr_graph_t* g, const char* op, const char* name, hr_value_t x, hr_value_t y) {
  return add_node(g, op, name, HR_VALUES(x, y), HR_NO_ATTRS);
}

static hr_status_t derive(hr_graph_t* g, hr_value_t y, hr_value_t x, hr_gradient_t* out) {
  hr_grad_request_t r = {.prefix = HR_STR(""), .ys = &y, .y_count = 1, .xs = &x, .x_count = 1};
  return hr_grad_build(g, &r, out);
}

static int count_ops(const hr_graph_t* g, const char* op, int64_t from) {
  int n = 0;
  for (int64_t i = from; i < g->nodes.count; ++i) n += hr_str_is(g->nodes.data[i]->attrs.def->name, op);
  return n;
}
static bool is_op(hr_value_t v, const char* op) { return v.node && hr_str_is(v.node->attrs.def->name, op); }
static bool same_value(hr_value_t a, hr_value_t b) { return a.node == b.node && a.index == b.index; }

#define GRAPH                                       \
  hr_graph_t* g = NULL;                             \
  hr_gradient_t d = {0};                            \
  (void)d;                                          \
  HR_REQUIRE_OK(hr_graph_create(&g));               \
  const hr_pshape_t* m23 = shape_of(g, DIMS(2, 3)); \
  hr_value_t x = input_of(g, "x", HR_F32, m23)

/* --- tests ---------------------------------------------------------------------------------------------------------------------------- */
HR_TEST(a_chain_gives_one_gradient_node_each_under_telling_names) {
  GRAPH;
  hr_value_t y = unary_of(g, "Neg", "scope/y", x), z = unary_of(g, "Neg", "z", y);
  int64_t before = g->nodes.count;
  HR_REQUIRE_OK(derive(g, z, x, &d));
  HR_REQUIRE(is_op(d.dense, "Neg"));
  HR_CHECK_VIEW(d.dense.node->name, "gradients/scope/y_grad/Neg");
  HR_CHECK(is_op(d.dense.node->inputs[0], "Neg") && is_op(d.dense.node->inputs[0].node->inputs[0], "Fill"));
  HR_CHECK(hr_pshape_equal(hr_value_shape(d.dense), m23));
  HR_CHECK_EQ_I64(g->nodes.count - before, 5); /* two Neg, Fill, its shape and its one */
  HR_REQUIRE_OK(derive(g, z, x, &d));
  HR_CHECK_VIEW(d.dense.node->name, "gradients_1/scope/y_grad/Neg");
  hr_graph_destroy(g);
}

HR_TEST(given_upstream_and_prefix_are_used) {
  GRAPH;
  hr_value_t y = unary_of(g, "Neg", "y", x), up = input_of(g, "up", HR_F32, &hr_pshape_unknown);
  hr_grad_request_t r = {.prefix = HR_STR("mine"), .ys = &y, .y_count = 1, .xs = &x, .x_count = 1, .upstream = &up};
  int64_t before = g->nodes.count;
  HR_REQUIRE_OK(hr_grad_build(g, &r, &d));
  HR_CHECK_VIEW(d.dense.node->name, "mine/y_grad/Neg");
  HR_CHECK(same_value(d.dense.node->inputs[0], up));
  HR_CHECK_EQ_I64(g->nodes.count - before, 1);
  HR_CHECK(hr_pshape_equal(hr_value_shape(d.dense), m23)); /* learnt from x */
  hr_value_t wrong = input_of(g, "wrong", HR_F64, &hr_pshape_unknown);
  r.upstream = &wrong;
  HR_CHECK_CODE(hr_grad_build(g, &r, &d), HR_INVALID_ARGUMENT, "must be float, not double");
  hr_value_t tall = input_of(g, "tall", HR_F32, shape_of(g, DIMS(4, 3)));
  r.upstream = &tall;
  HR_CHECK_CODE(hr_grad_build(g, &r, &d), HR_INVALID_ARGUMENT, "[4,3]");
  input_of(g, "taken", HR_F32, m23);
  r.prefix = HR_STR("taken");
  r.upstream = &up;
  HR_CHECK_CODE(hr_grad_build(g, &r, &d), HR_INVALID_ARGUMENT, "'taken'");
  hr_graph_destroy(g);
}

HR_TEST(several_uses_are_added) {
  GRAPH;
  hr_value_t a = unary_of(g, "Neg", "a", x), b = unary_of(g, "Neg", "b", x), c = binary_of(g, "AddV2", "c", a, b);
  hr_value_t e = binary_of(g, "AddV2", "e", c, x);
  int64_t before = g->nodes.count;
  HR_REQUIRE_OK(derive(g, e, x, &d));
  HR_REQUIRE(is_op(d.dense, "AddN"));
  HR_CHECK_EQ_I64(d.dense.node->input_count, 3);
  HR_CHECK_VIEW(d.dense.node->name, "gradients/AddN");
  HR_CHECK_EQ_I64(count_ops(g, "AddN", before), 1);
  HR_CHECK_EQ_I64(count_ops(g, "Sum", before), 0); /* equal static shapes: nothing to reduce */
  hr_graph_destroy(g);
}

HR_TEST(only_what_leads_to_x_is_emitted) {
  GRAPH;
  hr_value_t w = input_of(g, "w", HR_F32, m23), xw = binary_of(g, "Mul", "xw", x, w), deep = unary_of(g, "Neg", "deep", w);
  hr_value_t y = binary_of(g, "Mul", "y", xw, deep);
  int64_t before = g->nodes.count;
  HR_REQUIRE_OK(derive(g, y, x, &d));
  HR_CHECK(is_op(d.dense, "Mul"));
  HR_CHECK_EQ_I64(count_ops(g, "Mul", before), 2);
  HR_CHECK_EQ_I64(count_ops(g, "Neg", before), 0);
  hr_graph_destroy(g);
}

HR_TEST(unreachable_x_and_undifferentiable_ops_give_none_and_emit_nothing) {
  GRAPH;
  hr_value_t w = input_of(g, "w", HR_F32, m23), s = unary_of(g, "Step", "s", x), y = unary_of(g, "Neg", "y", s);
  int64_t before = g->nodes.count;
  HR_REQUIRE_OK(derive(g, y, w, &d));
  HR_CHECK(!d.dense.node && !d.is_slices);
  HR_CHECK_EQ_I64(g->nodes.count, before);
  HR_REQUIRE_OK(derive(g, y, x, &d));
  HR_CHECK(!d.dense.node);
  hr_graph_destroy(g);
}

HR_TEST(y_itself_and_a_value_in_the_middle_are_xs_too) {
  GRAPH;
  hr_value_t y = unary_of(g, "Neg", "y", x), z = unary_of(g, "Neg", "z", y);
  hr_value_t xs[] = {z, y, x};
  hr_gradient_t ds[3];
  hr_grad_request_t r = {.prefix = HR_STR(""), .ys = &z, .y_count = 1, .xs = xs, .x_count = 3};
  HR_REQUIRE_OK(hr_grad_build(g, &r, ds));
  HR_CHECK(is_op(ds[0].dense, "Fill"));
  HR_CHECK(is_op(ds[1].dense, "Neg") && same_value(ds[1].dense.node->inputs[0], ds[0].dense));
  HR_CHECK(is_op(ds[2].dense, "Neg") && same_value(ds[2].dense.node->inputs[0], ds[1].dense));
  hr_graph_destroy(g);
}

HR_TEST(stops_end_the_flow_but_may_be_xs) {
  GRAPH;
  hr_value_t y = unary_of(g, "Neg", "y", x), z = binary_of(g, "Mul", "z", y, x);
  hr_value_t xs[] = {x, y};
  hr_gradient_t ds[2];
  hr_grad_request_t r = {.prefix = HR_STR(""), .ys = &z, .y_count = 1, .xs = xs, .x_count = 2, .stops = &y, .stop_count = 1};
  int64_t before = g->nodes.count;
  HR_REQUIRE_OK(hr_grad_build(g, &r, ds));
  HR_CHECK(is_op(ds[0].dense, "Mul") && is_op(ds[1].dense, "Mul"));
  HR_CHECK_EQ_I64(count_ops(g, "Neg", before), 0);
  HR_CHECK_EQ_I64(count_ops(g, "AddN", before), 0);
  hr_graph_destroy(g);
}

HR_TEST(missing_gradients_are_not_found_only_on_a_path) {
  GRAPH;
  hr_value_t w = input_of(g, "w", HR_F32, m23), n = unary_of(g, "NoGrad", "n", x), y = binary_of(g, "AddV2", "y", n, w);
  HR_CHECK_CODE(derive(g, y, x, &d), HR_NOT_FOUND, "no gradient defined for operation 'n' (op type: NoGrad)");
  HR_CHECK_OK(derive(g, y, w, &d));
  HR_CHECK(d.dense.node != NULL);
  hr_graph_destroy(g);
}

HR_TEST(integers_carry_no_gradient) {
  GRAPH;
  hr_value_t i = add_node(g, "Cast", "i", 1, &x, HR_ATTRS(hr_at_type("DstT", HR_I32)));
  hr_value_t f = add_node(g, "Cast", "f", 1, &i, HR_ATTRS(hr_at_type("DstT", HR_F32)));
  hr_value_t h = add_node(g, "Cast", "h", 1, &x, HR_ATTRS(hr_at_type("DstT", HR_F64)));
  HR_REQUIRE_OK(derive(g, f, x, &d));
  HR_CHECK(!d.dense.node);
  HR_REQUIRE_OK(derive(g, i, x, &d));
  HR_CHECK(!d.dense.node);
  HR_REQUIRE_OK(derive(g, f, i, &d)); /* nor has an integer x any */
  HR_CHECK(!d.dense.node);
  HR_REQUIRE_OK(derive(g, h, x, &d));
  HR_CHECK(is_op(d.dense, "Cast") && hr_value_type(d.dense) == HR_F32);
  hr_graph_destroy(g);
}

HR_TEST(ones_take_the_shape_of_y_at_run_time_when_it_is_not_known) {
  GRAPH;
  hr_value_t u = input_of(g, "u", HR_F32, &hr_pshape_unknown), s = input_of(g, "s", HR_F32, &hr_pshape_scalar),
             y = unary_of(g, "Neg", "y", u);
  hr_value_t z = unary_of(g, "Neg", "z", s);
  HR_REQUIRE_OK(derive(g, y, u, &d));
  HR_REQUIRE(is_op(d.dense, "Neg") && is_op(d.dense.node->inputs[0], "Fill"));
  HR_CHECK(is_op(d.dense.node->inputs[0].node->inputs[0], "Shape"));
  HR_REQUIRE_OK(derive(g, z, s, &d));
  HR_CHECK(is_op(d.dense, "Neg") && is_op(d.dense.node->inputs[0], "Const"));
  (void)x;
  hr_graph_destroy(g);
}

HR_TEST(complex_ys_want_their_upstream) {
  GRAPH;
  hr_value_t c = input_of(g, "c", HR_C64, m23), y = unary_of(g, "Neg", "y", c);
  HR_CHECK_CODE(derive(g, y, c, &d), HR_INVALID_ARGUMENT, "complex");
  (void)x;
  hr_graph_destroy(g);
}

HR_TEST(an_output_that_nothing_flowed_into_is_zeros_when_asked_for) {
  GRAPH;
  hr_value_t two = unary_of(g, "Two", "two", x), second = {two.node, 1};
  int64_t before = g->nodes.count;
  HR_REQUIRE_OK(derive(g, second, x, &d));
  HR_REQUIRE(is_op(d.dense, "AddV2"));
  HR_CHECK(is_op(d.dense.node->inputs[0], "ZerosLike") && is_op(d.dense.node->inputs[1], "Fill"));
  HR_CHECK_EQ_I64(count_ops(g, "ZerosLike", before), 1);
  hr_graph_destroy(g);
}

HR_TEST(slices_stay_slices_or_become_dense) {
  GRAPH;
  hr_value_t i = input_of(g, "i", HR_I32, shape_of(g, DIMS(5))), id = unary_of(g, "Identity", "id", x),
             y = binary_of(g, "Rows", "y", id, i);
  hr_grad_request_t r = {.prefix = HR_STR(""), .ys = &y, .y_count = 1, .xs = &x, .x_count = 1, .keep_slices = true};
  HR_REQUIRE_OK(hr_grad_build(g, &r, &d));
  HR_CHECK(d.is_slices && !d.dense.node && same_value(d.indices, i));
  HR_CHECK(is_op(d.values, "Fill") && is_op(d.dense_shape, "Const"));
  r.keep_slices = false;
  HR_REQUIRE_OK(hr_grad_build(g, &r, &d));
  HR_CHECK(!d.is_slices && is_op(d.dense, "UnsortedSegmentSum"));
  HR_CHECK(is_op(d.dense.node->inputs[2], "Const"));
  hr_graph_destroy(g);
}

HR_TEST(slices_are_joined_and_mixed_with_dense) {
  GRAPH;
  hr_value_t i = input_of(g, "i", HR_I32, shape_of(g, DIMS(2))), a = binary_of(g, "Rows", "a", x, i), b = binary_of(g, "Rows", "b", x, i);
  hr_value_t y = binary_of(g, "AddV2", "y", a, b), z = binary_of(g, "AddV2", "z", y, x);
  hr_grad_request_t r = {.prefix = HR_STR(""), .ys = &y, .y_count = 1, .xs = &x, .x_count = 1, .keep_slices = true};
  HR_REQUIRE_OK(hr_grad_build(g, &r, &d));
  HR_CHECK(d.is_slices && is_op(d.indices, "ConcatV2") && is_op(d.values, "ConcatV2"));
  r.ys = &z;
  int64_t before = g->nodes.count;
  HR_REQUIRE_OK(hr_grad_build(g, &r, &d));
  HR_CHECK(!d.is_slices && is_op(d.dense, "AddN"));
  HR_CHECK_EQ_I64(count_ops(g, "UnsortedSegmentSum", before), 2);
  hr_graph_destroy(g);
}

HR_TEST(variables_of_both_kinds_are_xs) {
  GRAPH;
  hr_value_t ref = add_node(g, "VariableV2", "v", 0, NULL, HR_ATTRS(hr_at_type("dtype", HR_F32), hr_at_shape("shape", m23)));
  hr_value_t read = unary_of(g, "Identity", "v/read", ref), y = binary_of(g, "Mul", "y", read, x);
  HR_REQUIRE_OK(derive(g, y, ref, &d));
  HR_CHECK(is_op(d.dense, "Mul") && hr_value_type(d.dense) == HR_F32);
  hr_value_t handle = add_node(g, "VarHandleOp", "h", 0, NULL, HR_ATTRS(hr_at_type("dtype", HR_F32), hr_at_shape("shape", m23)));
  hr_value_t r1 = add_node(g, "ReadVariableOp", "r1", 1, &handle, HR_ATTRS(hr_at_type("dtype", HR_F32)));
  hr_value_t r2 = add_node(g, "ReadVariableOp", "r2", 1, &handle, HR_ATTRS(hr_at_type("dtype", HR_F32)));
  hr_value_t z = binary_of(g, "Mul", "z", r1, r2);
  HR_REQUIRE_OK(derive(g, z, handle, &d));
  HR_CHECK(is_op(d.dense, "AddN") && d.dense.node->input_count == 2);
  hr_graph_destroy(g);
}

HR_TEST(wrong_gradients_are_refused_naming_the_node) {
  GRAPH;
  hr_value_t t = unary_of(g, "WrongType", "t", x), s = unary_of(g, "WrongShape", "s", x);
  HR_CHECK_CODE(derive(g, t, x, &d), HR_INVALID_ARGUMENT, "gradient of node 't' (WrongType)");
  HR_CHECK_CODE(derive(g, s, x, &d), HR_INVALID_ARGUMENT, "[9,9]");
  hr_graph_destroy(g);
}

HR_TEST(endpoints_of_the_request_are_checked) {
  GRAPH;
  hr_graph_t* other = NULL;
  HR_REQUIRE_OK(hr_graph_create(&other));
  hr_value_t far = input_of(other, "far", HR_F32, m23), high = {x.node, 3};
  HR_CHECK_CODE(derive(g, x, far, &d), HR_INVALID_ARGUMENT, "another graph");
  HR_CHECK_CODE(derive(g, high, x, &d), HR_INVALID_ARGUMENT, "output 3");
  HR_CHECK_CODE(derive(g, HR_NO_VALUE, x, &d), HR_INVALID_ARGUMENT, "y 0 is missing");
  const hr_value_t upstreams[] = {far, {x.node, 1}, {x.node, -1}};
  for (int i = 0; i < 3; ++i) {
    hr_grad_request_t r = {.prefix = HR_STR("p"), .ys = &x, .y_count = 1, .xs = &x, .x_count = 1, .upstream = &upstreams[i]};
    HR_CHECK_CODE(hr_grad_build(g, &r, &d), HR_INVALID_ARGUMENT, "upstream gradient 0 is output");
  }
  hr_graph_destroy(other);
  hr_graph_destroy(g);
}

static hr_status_t negate_upstream(void* arg, hr_grad_ctx_t* c, const hr_node_t* node, bool* out_handled) {
  *out_handled = hr_str_is(node->name, (const char*)arg);
  if (*out_handled) hr_grad_give(c, 0, hr_emit_neg(c, hr_grad_upstream(c, 0)));
  return NULL;
}

HR_TEST(overrides_come_first) {
  GRAPH;
  hr_value_t n = unary_of(g, "NoGrad", "n", x), y = unary_of(g, "Identity", "y", n);
  hr_grad_request_t r = {
      .prefix = HR_STR(""), .ys = &y, .y_count = 1, .xs = &x, .x_count = 1, .override = negate_upstream, .override_arg = "n"};
  HR_REQUIRE_OK(hr_grad_build(g, &r, &d));
  HR_CHECK(is_op(d.dense, "Neg"));
  hr_graph_destroy(g);
}

HR_TEST(a_chain_deeper_than_the_stack) {
  GRAPH;
  enum { DEEP = 20000 };
  char name[32];
  hr_value_t y = x;
  for (int i = 0; i < DEEP; ++i) {
    snprintf(name, sizeof name, "n%d", i);
    y = unary_of(g, "Neg", name, y);
  }
  int64_t before = g->nodes.count;
  HR_REQUIRE_OK(derive(g, y, x, &d));
  HR_CHECK_EQ_I64(count_ops(g, "Neg", before), DEEP);
  hr_graph_destroy(g);
}

static hr_status_t build_and_drop(void) {
  hr_graph_t* g = NULL;
  hr_gradient_t d;
  HR_TRY(hr_graph_create(&g));
  hr_named_attr_t attrs[] = {hr_at_type("dtype", HR_F32)};
  hr_node_desc_t desc = {.op = HR_STR("Placeholder"), .name = HR_STR("x"), .device = HR_STR(""), .attrs = attrs, .attr_count = 1};
  hr_node_t *x = NULL, *y = NULL;
  hr_status_t status = hr_graph_add(g, &desc, &x);
  hr_value_t inputs[] = {{x, 0}, {x, 0}};
  desc = (hr_node_desc_t){.op = HR_STR("Mul"), .name = HR_STR("y"), .device = HR_STR(""), .inputs = inputs, .input_count = 2};
  if (!status) status = hr_graph_add(g, &desc, &y);
  hr_value_t up = {x, 0}, yv = {y, 0};
  hr_grad_request_t r = {.prefix = HR_STR(""), .ys = &yv, .y_count = 1, .xs = inputs, .x_count = 1, .upstream = &up};
  if (!status) status = hr_grad_build(g, &r, &d);
  hr_graph_destroy(g);
  return status;
}

HR_TEST(out_of_memory_is_a_status) { HR_TEST_EVERY_ALLOCATION_FAILS(build_and_drop); }

HR_TEST_MAIN()
