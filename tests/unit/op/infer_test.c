/* SPDX-License-Identifier: Apache-2.0 */
/* The shape function's view: checks and their words, values as shapes, sticky look-up failures, and the shared shape functions. */
#include "op/infer_fns.h"
#include "op/infer_state.h"
#include "test.h"

typedef struct {
  hr_infer_t s; /* first */
  hr_arena_t arena;
  hr_op_t op;
  hr_op_def_t def;
  hr_node_attrs_t attrs;
  hr_attr_t values[1];
  int32_t types[4];
  const hr_pshape_t *in[4], *out[2];
  hr_dtype_t in_handle[4], out_handle[2];
  const hr_pshape_t *in_handle_shape[4], *out_handle_shape[2];
  const hr_tensor_t* constant; /* of input 0 */
  bool look_up_fails;
} infer_bench_t;

static hr_status_t bench_constant(void* arg, int input, const hr_tensor_t** out) {
  infer_bench_t* b = arg;
  if (b->look_up_fails) return HR_ERROR(ABORTED, "look-up of input %d failed", input);
  *out = input == 0 ? b->constant : NULL;
  return NULL;
}
static hr_status_t bench_as_shape(void* arg, int input, const hr_pshape_t** out) {
  infer_bench_t* b = arg;
  *out = b->in[input];
  return NULL;
}

static void bench_begin(infer_bench_t* b, hr_shape_fn_t fn, int inputs, int outputs) {
  memset(b, 0, sizeof *b);
  hr_arena_init(&b->arena);
  b->op = (hr_op_t){.name = "Tested", .sig = "->", .attrs = "shape: shape", .shape = fn};
  if (!HR_CHECK_OK(hr_sig_parse(&b->arena, &b->op, &b->def))) abort();
  b->values[0] = hr_at_shape("shape", &hr_pshape_scalar).value;
  b->attrs = (hr_node_attrs_t){.def = &b->def, .values = b->values};
  for (int i = 0; i < 4; ++i) {
    b->in[i] = &hr_pshape_unknown;
    b->types[i] = HR_F32 + HR_DTYPE_REF;
  }
  for (int i = 0; i < 2; ++i) b->out[i] = &hr_pshape_unknown;
  b->s = (hr_infer_t){.arena = &b->arena,
                      .attrs = &b->attrs,
                      .input_count = inputs,
                      .output_count = outputs,
                      .input_types = b->types,
                      .output_types = b->types,
                      .input_shapes = b->in,
                      .output_shapes = b->out,
                      .input_handle_types = b->in_handle,
                      .input_handle_shapes = b->in_handle_shape,
                      .output_handle_types = b->out_handle,
                      .output_handle_shapes = b->out_handle_shape,
                      .constant = bench_constant,
                      .as_shape = bench_as_shape,
                      .arg = b};
}
static void bench_end(infer_bench_t* b) { hr_arena_deinit(&b->arena); }
static const hr_pshape_t* shape_of(infer_bench_t* b, int rank, const int64_t* dims) {
  const hr_pshape_t* s = NULL;
  if (!HR_CHECK_OK(hr_pshape_make(&b->arena, rank, dims, &s))) abort();
  return s;
}
#define DIMS(...) \
  (int)(sizeof((int64_t[]){__VA_ARGS__}) / 8), (int64_t[]) { __VA_ARGS__ }
static bool check_shape(const hr_pshape_t* s, const char* wanted) {
  char text[HR_SHAPE_TEXT];
  return HR_CHECK_STR(hr_pshape_format(s, text), wanted);
}

HR_TEST(checks_know_and_say_what_is_wrong) {
  infer_bench_t b;
  const hr_pshape_t* out = NULL;
  bench_begin(&b, hr_infer_none, 3, 1);
  b.in[0] = shape_of(&b, DIMS(2, 3));
  HR_CHECK_OK(hr_infer_want_rank(&b.s, 0, 2, &out));
  HR_CHECK(out == b.in[0]);
  HR_CHECK_OK(hr_infer_want_rank(&b.s, 1, 2, &out));
  check_shape(out, "[?,?]");
  HR_CHECK_CODE(hr_infer_want_rank(&b.s, 0, 1, NULL), HR_INVALID_ARGUMENT, "shape must be rank 1 but is rank 2: input 0 has shape [2,3]");
  HR_CHECK_CODE(hr_infer_want_rank_at_least(&b.s, 0, 3, &out), HR_INVALID_ARGUMENT, "at least rank 3");
  HR_CHECK_OK(hr_infer_want_rank_at_least(&b.s, 0, 2, &out));
  HR_CHECK_OK(hr_infer_want_rank_at_most(&b.s, 0, 2));
  HR_CHECK_CODE(hr_infer_want_rank_at_most(&b.s, 0, 1), HR_INVALID_ARGUMENT, "at most rank 1");
  int64_t dim = 0;
  HR_CHECK_OK(hr_infer_merge_dim(-1, 3, &dim));
  HR_CHECK_EQ_I64(dim, 3);
  HR_CHECK_CODE(hr_infer_merge_dim(2, 3, &dim), HR_INVALID_ARGUMENT, "dimensions must be equal, but are 2 and 3");
  HR_CHECK_CODE(hr_infer_merge_dim(0, 1, &dim), HR_INVALID_ARGUMENT, "dimensions must be equal, but are 0 and 1");
  HR_CHECK_CODE(hr_infer_merge_dim(1, 0, &dim), HR_INVALID_ARGUMENT, "dimensions must be equal, but are 1 and 0");
  HR_CHECK_OK(hr_infer_merge_dim(0, -1, &dim));
  HR_CHECK_EQ_I64(dim, 0);
  HR_CHECK_EQ_I64(hr_infer_dim(b.in[0], -1), 3);
  HR_CHECK_EQ_I64(hr_infer_dim(b.in[0], 2), -1);
  HR_CHECK_EQ_I64(hr_infer_input_dtype(&b.s, 0), HR_F32);
  HR_CHECK_CODE(hr_infer_set_dims(&b.s, 0, 1, (int64_t[]){-2}), HR_INVALID_ARGUMENT, "");
  bench_end(&b);
}

HR_TEST(values_as_shapes) {
  infer_bench_t b;
  const hr_pshape_t* out = NULL;
  hr_tensor_t t = {0};
  bench_begin(&b, hr_infer_none, 2, 1);
  HR_REQUIRE_OK(hr_tensor_from_i64_vec(HR_I32, (int64_t[]){2, -1}, 2, &t));
  b.constant = &t;
  HR_CHECK_OK(hr_infer_const_as_shape(&b.s, 0, &out));
  check_shape(out, "[2,?]");
  b.in[1] = shape_of(&b, DIMS(-1, 7));
  HR_CHECK_OK(hr_infer_const_as_shape(&b.s, 1, &out)); /* not constant: partly known by other means */
  check_shape(out, "[?,7]");
  hr_tensor_release(&t);
  HR_REQUIRE_OK(hr_tensor_from_i64_vec(HR_I64, (int64_t[]){2, -3}, 2, &t));
  HR_CHECK_CODE(hr_infer_const_as_shape(&b.s, 0, &out), HR_INVALID_ARGUMENT, "-3");
  hr_tensor_release(&t);
  HR_REQUIRE_OK(hr_tensor_from_i32(-1, &t));
  HR_CHECK_OK(hr_infer_const_as_shape(&b.s, 0, &out));
  check_shape(out, "<unknown>");
  hr_tensor_release(&t);
  HR_REQUIRE_OK(hr_tensor_from_i32(4, &t));
  HR_CHECK_CODE(hr_infer_const_as_shape(&b.s, 0, &out), HR_INVALID_ARGUMENT, "4");
  hr_tensor_release(&t);
  bench_end(&b);
}

static hr_status_t look_twice(hr_infer_t* s) {
  HR_CHECK(hr_infer_const(s, 0) == NULL);
  HR_CHECK(hr_infer_const(s, 1) == NULL);
  return HR_ERROR(INTERNAL, "what followed from it");
}

HR_TEST(a_failing_look_up_sticks) {
  infer_bench_t b;
  bench_begin(&b, look_twice, 2, 1);
  b.look_up_fails = true;
  HR_CHECK_CODE(hr_infer_run(&b.s), HR_ABORTED, "look-up of input 0");
  bench_end(&b);
}

static hr_status_t run_fn(infer_bench_t* b, hr_shape_fn_t fn) {
  b->op.shape = fn;
  return hr_infer_run(&b->s);
}

HR_TEST(shared_functions) {
  infer_bench_t b;
  bench_begin(&b, NULL, 2, 2);
  b.in[0] = shape_of(&b, DIMS(2, -1));
  b.in[1] = shape_of(&b, DIMS(-1, 3));
  b.in_handle[0] = HR_F64;
  b.in_handle_shape[0] = b.in[1];
  HR_CHECK_OK(run_fn(&b, NULL));
  check_shape(b.out[0], "<unknown>");
  HR_CHECK_OK(run_fn(&b, hr_infer_same));
  HR_CHECK(b.out[0] == b.in[0] && b.out[1] == b.in[0] && b.out_handle[1] == HR_F64 && b.out_handle_shape[1] == b.in[1]);
  HR_CHECK_OK(run_fn(&b, hr_infer_merged));
  check_shape(b.out[1], "[2,3]");
  HR_CHECK_OK(run_fn(&b, hr_infer_scalars));
  check_shape(b.out[0], "[]");
  HR_CHECK_OK(run_fn(&b, hr_infer_any));
  check_shape(b.out[0], "<unknown>");
  HR_CHECK_OK(run_fn(&b, hr_infer_from_attr));
  check_shape(b.out[0], "[]");
  b.in[1] = shape_of(&b, DIMS(5, 3));
  HR_CHECK_CODE(run_fn(&b, hr_infer_merged), HR_INVALID_ARGUMENT, "input 1 does not agree");
  bench_end(&b);
}

HR_TEST(broadcasting_of_partly_known_shapes) {
  static const struct {
    int rank_a;
    int64_t a[3];
    int rank_b;
    int64_t b[3];
    const char* wanted;
  } rows[] = {{2, {2, 3}, 1, {3}, "[2,3]"},
              {1, {3}, 2, {2, 3}, "[2,3]"},
              {2, {2, 1}, 2, {1, 3}, "[2,3]"},
              {2, {-1, 3}, 2, {2, 3}, "[2,3]"},
              {2, {-1, 3}, 2, {1, 3}, "[?,3]"},
              {2, {-1, 3}, 2, {-1, 1}, "[?,3]"},
              {0, {0}, 3, {4, -1, 2}, "[4,?,2]"},
              {-1, {0}, 1, {3}, "<unknown>"},
              {0, {0}, -1, {0}, "<unknown>"},
              {2, {0, 3}, 1, {1}, "[0,3]"},
              {1, {-1}, 1, {0}, "[0]"},
              {3, {1, 1, 1}, 1, {7}, "[1,1,7]"},
              {1, {2}, 1, {3}, NULL},
              {2, {2, 3}, 2, {3, 3}, NULL},
              {1, {0}, 1, {2}, NULL},
              {1, {2}, 1, {0}, NULL},
              {1, {0}, 1, {-1}, "[0]"},
              {1, {0}, 1, {0}, "[0]"},
              {1, {1}, 1, {-1}, "[?]"},
              {1, {-1}, 1, {1}, "[?]"},
              {-1, {0}, 0, {0}, "<unknown>"},
              {1, {3}, -1, {0}, "<unknown>"},
              {-1, {0}, -1, {0}, "<unknown>"},
              {0, {0}, 0, {0}, "[]"},
              {3, {4, -1, 2}, 0, {0}, "[4,?,2]"},
              {3, {2, 1, 3}, 3, {2, 5, 3}, "[2,5,3]"},
              {3, {2, 5, 3}, 3, {4, 5, 3}, NULL},
              {3, {2, 5, 3}, 3, {2, 5, 4}, NULL},
              {2, {5, 3}, 3, {2, 1, 3}, "[2,5,3]"},
              {1, {3}, 3, {2, 5, 3}, "[2,5,3]"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    infer_bench_t b;
    bench_begin(&b, hr_infer_broadcasted, 2, 1);
    b.in[0] = shape_of(&b, rows[i].rank_a, rows[i].a);
    b.in[1] = shape_of(&b, rows[i].rank_b, rows[i].b);
    hr_status_t status = hr_infer_run(&b.s);
    if (!rows[i].wanted)
      HR_CHECK_CODE(status, HR_INVALID_ARGUMENT, "incompatible shapes for broadcasting");
    else if (HR_CHECK_OK(status))
      check_shape(b.out[0], rows[i].wanted);
    bench_end(&b);
  }
}

/* A shape is shared where nothing is added to it. */
HR_TEST(a_shape_that_broadcasting_keeps_is_shared) {
  infer_bench_t b;
  bench_begin(&b, hr_infer_broadcasted, 2, 2);
  b.in[0] = shape_of(&b, DIMS(2, -1, 3));
  b.in[1] = shape_of(&b, DIMS(1, 3));
  HR_CHECK_OK(hr_infer_run(&b.s));
  HR_CHECK(b.out[0] == b.in[0] && b.out[1] == b.in[0]);
  b.in[1] = b.in[0];
  HR_CHECK_OK(hr_infer_run(&b.s));
  HR_CHECK(b.out[0] == b.in[0]);
  bench_end(&b);
}

HR_TEST(ranks_of_nothing_and_of_one) {
  infer_bench_t b;
  const hr_pshape_t* out = NULL;
  bench_begin(&b, hr_infer_none, 3, 1);
  b.in[0] = &hr_pshape_scalar;
  b.in[1] = shape_of(&b, DIMS(-1));
  HR_CHECK_CODE(hr_infer_want_rank(&b.s, 0, 1, &out), HR_INVALID_ARGUMENT, "shape must be rank 1 but is rank 0: input 0 has shape []");
  HR_CHECK_CODE(hr_infer_want_rank_at_least(&b.s, 0, 1, &out), HR_INVALID_ARGUMENT, "shape must be at least rank 1 but is rank 0");
  HR_CHECK_CODE(hr_infer_want_rank(&b.s, 1, 0, &out), HR_INVALID_ARGUMENT, "shape must be rank 0 but is rank 1: input 1 has shape [?]");
  HR_CHECK_CODE(hr_infer_want_rank_at_most(&b.s, 1, 0), HR_INVALID_ARGUMENT, "shape must be at most rank 0 but is rank 1");
  HR_CHECK(!hr_infer_want_rank(&b.s, 0, 0, &out) && out == b.in[0]);
  HR_CHECK(!hr_infer_want_rank_at_least(&b.s, 2, 5, &out) && out == &hr_pshape_unknown);
  HR_CHECK(!hr_infer_want_rank(&b.s, 2, 0, &out) && out == &hr_pshape_scalar);
  HR_CHECK_OK(hr_infer_want_rank(&b.s, 2, 254, &out));
  HR_CHECK(out->rank == 254 && out->dims[0] == -1 && out->dims[253] == -1);
  HR_CHECK_CODE(hr_infer_want_rank(&b.s, 2, 255, &out), HR_INVALID_ARGUMENT, "a shape of rank 255: at most 254 is possible");
  HR_CHECK_OK(hr_infer_set_vector(&b.s, 0, -1));
  check_shape(b.out[0], "[?]");
  HR_CHECK_OK(hr_infer_set_vector(&b.s, 0, 7));
  check_shape(b.out[0], "[7]");
  HR_CHECK_OK(hr_infer_const_as_shape(&b.s, 0, &out)); /* no value is known: what else is */
  HR_CHECK(out == b.in[0]);
  b.s.as_shape = NULL;
  HR_CHECK(!hr_infer_const_as_shape(&b.s, 0, &out) && out == &hr_pshape_unknown);
  b.s.constant = NULL;
  HR_CHECK(hr_infer_const(&b.s, 0) == NULL);
  bench_end(&b);
}

HR_TEST(values_of_every_form_as_shapes) {
  int64_t ones[255];
  for (int i = 0; i < 255; ++i) ones[i] = 1;
  for (int n = 0; n <= 255; n += n == 2 ? 252 : 1) {
    infer_bench_t b;
    const hr_pshape_t* out = NULL;
    hr_tensor_t t = {0};
    bench_begin(&b, hr_infer_shape_given, 1, 1);
    HR_REQUIRE_OK(hr_tensor_from_i64_vec(HR_I64, ones, n, &t));
    b.constant = &t;
    hr_status_t status = hr_infer_const_as_shape(&b.s, 0, &out);
    if (n > 254) HR_CHECK_CODE(status, HR_INVALID_ARGUMENT, "a shape of rank 255: at most 254 is possible");
    else HR_CHECK(HR_CHECK_OK(status) && out->rank == n);
    if (n < 3) HR_CHECK(HR_CHECK_OK(hr_infer_run(&b.s)) && b.out[0]->rank == n);
    hr_tensor_release(&t);
    bench_end(&b);
  }
  static const struct { int64_t scalar; bool good; } rows[] = {{-1, true}, {-2, false}, {0, false}, {1, false}};
  for (int i = 0; i < 4; ++i) {
    infer_bench_t b;
    const hr_pshape_t* out = NULL;
    hr_tensor_t t = {0};
    bench_begin(&b, hr_infer_shape_given, 1, 1);
    HR_REQUIRE_OK(hr_tensor_from_i32((int32_t)rows[i].scalar, &t));
    b.constant = &t;
    hr_status_t status = hr_infer_const_as_shape(&b.s, 0, &out);
    if (rows[i].good) HR_CHECK(HR_CHECK_OK(status) && out == &hr_pshape_unknown);
    else HR_CHECK_CODE(status, HR_INVALID_ARGUMENT, "a shape given as a scalar must be -1, not");
    HR_CHECK_CODE(hr_infer_run(&b.s), HR_INVALID_ARGUMENT, "a shape must be a vector");
    hr_tensor_release(&t);
    bench_end(&b);
  }
  infer_bench_t b;
  hr_tensor_t t = {0};
  bench_begin(&b, hr_infer_shape_given, 1, 1);
  b.in[0] = shape_of(&b, DIMS(-1, 4)); /* known in part by other means */
  HR_CHECK_OK(hr_infer_run(&b.s));
  HR_CHECK(b.out[0] == b.in[0]);
  HR_REQUIRE_OK(hr_tensor_from_i64_vec(HR_I64, (int64_t[]){3, -1}, 2, &t));
  b.constant = &t;
  HR_CHECK_CODE(hr_infer_run(&b.s), HR_INVALID_ARGUMENT, "dimension 1 of the shape is -1");
  hr_tensor_release(&t);
  bench_end(&b);
}

HR_TEST_MAIN()
