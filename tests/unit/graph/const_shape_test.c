/* SPDX-License-Identifier: Apache-2.0 */
/* Integer vectors read as shapes: every slice against a plain reckoning, what is joined and packed, and each bound exactly. */
#define HR_TEST_LEAKS_CHECKED
#include "test.h"
#include "graph/const_eval.h"
#include "op/infer_fns.h"
#include "unit/graph/graph_fixture.h"

static hr_status_t infer_shape_n(hr_infer_t* s) {
  for (int i = 0; i < hr_infer_output_count(s); ++i) HR_TRY(hr_infer_set_vector(s, i, hr_infer_input(s, i)->rank));
  return NULL;
}
static const hr_op_t more_ops[] = {
    {.name = "Cast", .sig = "x: SrcT -> y: DstT", .attrs = "SrcT: type; DstT: type", .doc = "", HR_HERE, .shape = hr_infer_same},
    {.name = "ShapeN",
     .sig = "input: N * T -> output: N * out_type",
     .attrs = "N: int >= 1; T: type; out_type: type = int32",
     .doc = "",
     HR_HERE,
     .shape = infer_shape_n},
};

static hr_graph_t* graph(void) {
  static bool registered;
  for (int i = 0; i < 2 && !registered; ++i) HR_CHECK_OK(hr_registry_add(&more_ops[i]));
  registered = true;
  return fixture_graph();
}

/* A new name each time: nodes of these tests are known by their pointers. */
static const char* fresh(void) { /* good for a number of calls: arguments are evaluated in no order of their own */
  static int count;
  static char texts[16][24];
  char* text = texts[++count % 16];
  snprintf(text, sizeof *texts, "n%d", count);
  return text;
}

static hr_node_t* vector(hr_graph_t* g, int count, const int64_t* values) { return fixture_const_i32(g, fresh(), count, values); }
static hr_node_t* number(hr_graph_t* g, int64_t value) { return vector(g, -1, &value); }
static hr_node_t* of_dims(hr_graph_t* g, int rank, const int64_t* dims) { return fixture_placeholder(g, fresh(), HR_F32, rank, dims); }
static hr_node_t* shape_of(hr_graph_t* g, int rank, const int64_t* dims) {
  return fixture_add1(g, "Shape", fresh(), of_dims(g, rank, dims));
}

static void check_value(hr_graph_t* g, hr_value_t v, int rank, const int64_t* dims, const char* what) {
  const hr_pshape_t* s = NULL;
  HR_REQUIRE_OK(hr_const_eval_as_shape(g, v, &s));
  bool good = HR_CHECK_EQ_I64(s->rank, rank);
  for (int i = 0; i < rank && good; ++i) good = HR_CHECK_EQ_I64(s->dims[i], dims[i]);
  if (!good) printf("in %s\n", what);
}
static void check_dims(hr_graph_t* g, hr_node_t* n, int rank, const int64_t* dims, const char* what) {
  HR_REQUIRE(n);
  check_value(g, fixture_out(n, 0), rank, dims, what);
}

/* --- the vector's own length --------------------------------------------------------------------------------------------------------- */
HR_TEST(of_an_unknown_vector_the_length_may_be_known) {
  static const struct {
    int rank;
    int64_t dims[2];
    int want;
  } rows[] = {{1, {0}, 0},   {1, {1}, 1},  {1, {3}, 3},     {1, {254}, 254}, {1, {255}, -1},
              {1, {-1}, -1}, {0, {0}, -1}, {2, {3, 4}, -1}, {-1, {0}, -1}};
  int64_t unknown[254];
  for (int i = 0; i < 254; ++i) unknown[i] = -1;
  hr_graph_t* g = graph();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
    check_dims(g, fixture_placeholder(g, fresh(), HR_I32, rows[i].rank, rows[i].dims), rows[i].want, unknown, "length");
  hr_graph_destroy(g);
}

/* --- constants ------------------------------------------------------------------------------------------------------------------------ */
HR_TEST(constants_are_shapes_or_refused) {
  hr_graph_t* g = graph();
  const hr_pshape_t* s = NULL;
  int64_t many[255], grid[] = {1, 2, 3, 4};
  for (int i = 0; i < 255; ++i) many[i] = 1;
  check_dims(g, vector(g, 0, many), 0, NULL, "no elements");
  check_dims(g, vector(g, 3, (const int64_t[]){0, -1, 5}), 3, (const int64_t[]){0, -1, 5}, "three elements");
  check_dims(g, vector(g, 254, many), 254, many, "254 elements");
  check_dims(g, number(g, -1), -1, NULL, "scalar -1");
  HR_CHECK_CODE(hr_const_eval_as_shape(g, fixture_out(fixture_const_i32(g, "many", 255, many), 0), &s), HR_INVALID_ARGUMENT,
                "'many:0' cannot be a shape: it has rank 1 and 255 elements");
  HR_CHECK_CODE(hr_const_eval_as_shape(g, fixture_out(fixture_const_i32(g, "below", 3, (const int64_t[]){1, 2, -2}), 0), &s),
                HR_INVALID_ARGUMENT, "element 2 of the shape 'below:0' is -2; it must be -1 or more");
  for (int64_t only = -2; only <= 1; ++only) {
    char name[16], text[96];
    if (only == -1) continue;
    snprintf(name, sizeof name, "only%d", (int)only + 2);
    snprintf(text, sizeof text, "'%s:0' is the scalar %d; a shape is a vector, or the scalar -1", name, (int)only);
    HR_CHECK_CODE(hr_const_eval_as_shape(g, fixture_out(fixture_const_i32(g, name, -1, &only), 0), &s), HR_INVALID_ARGUMENT, text);
  }
  hr_tensor_t t = {0};
  HR_CHECK_OK(hr_tensor_from_i64_vec(HR_I32, grid, 4, &t));
  t.shape = (hr_shape_t){.rank = 2, .dims = {2, 2}};
  fixture_add(g, "Const", "grid", 0, NULL, HR_ATTRS(hr_at_type("dtype", HR_I32), hr_at_tensor("value", &t)));
  hr_tensor_release(&t);
  HR_CHECK_CODE(hr_const_eval_as_shape(g, fixture_out(hr_graph_find(g, HR_STR("grid")), 0), &s), HR_INVALID_ARGUMENT,
                "'grid:0' cannot be a shape: it has rank 2 and 4 elements");
  hr_graph_destroy(g);
}

static hr_node_t* constant_of(hr_graph_t* g, hr_dtype_t type, int count) {
  hr_tensor_t t = {0};
  hr_shape_t shape = hr_shape_vector(count);
  HR_CHECK_OK(hr_tensor_create(type, &shape, &t));
  memset(t.data, 0, (size_t)count * hr_dtype_size(type));
  hr_node_t* n = fixture_add(g, "Const", fresh(), 0, NULL, HR_ATTRS(hr_at_type("dtype", type), hr_at_tensor("value", &t)));
  hr_tensor_release(&t);
  return n;
}

HR_TEST(only_whole_numbers_are_read) {
  hr_graph_t* g = graph();
  check_dims(g, constant_of(g, HR_F32, 2), 2, (const int64_t[]){-1, -1}, "floats");
  check_dims(g, constant_of(g, HR_I64, 2), 2, (const int64_t[]){0, 0}, "int64");
  hr_graph_destroy(g);
}

/* --- slices --------------------------------------------------------------------------------------------------------------------------- */
typedef struct {
  hr_node_t *begin, *end, *stride;
  int64_t begin_mask, end_mask, shrink, ellipsis, new_axis;
} slice_t;

static hr_node_t* slice(hr_graph_t* g, hr_node_t* x, const slice_t* s) {
  return fixture_add(
      g, "StridedSlice", fresh(), HR_VALUES(fixture_out(x, 0), fixture_out(s->begin, 0), fixture_out(s->end, 0), fixture_out(s->stride, 0)),
      HR_ATTRS(hr_at_int("begin_mask", s->begin_mask), hr_at_int("end_mask", s->end_mask), hr_at_int("shrink_axis_mask", s->shrink),
               hr_at_int("ellipsis_mask", s->ellipsis), hr_at_int("new_axis_mask", s->new_axis)));
}

/* Python's x[begin:end:stride]: the elements i = begin, begin + stride, ... that lie in the vector and before end. */
static int sliced(int length, const int64_t* x, int begin, int end, int stride, bool no_begin, bool no_end, int64_t* out) {
  int count = 0;
  if (begin < 0) begin += length;
  if (end < 0) end += length;
  if (no_begin) begin = stride > 0 ? 0 : length - 1;
  if (no_end) end = stride > 0 ? length : -1;
  while (stride > 0 && begin < 0) ++begin; /* numpy clamps the first element into the vector */
  while (stride < 0 && begin > length - 1) --begin;
  for (int i = begin; stride > 0 ? i < end : i > end; i += stride)
    if (i >= 0 && i < length) out[count++] = x[i];
  return count;
}

HR_TEST(every_slice_of_a_shape) {
  enum { REACH = 6 };
  const int64_t dims[4] = {-1, 7, 9, 4};
  hr_graph_t* g = graph();
  hr_node_t *numbers[2 * REACH + 1], *x[5];
  for (int64_t i = -REACH; i <= REACH; ++i) numbers[i + REACH] = vector(g, 1, &i);
  x[4] = shape_of(g, 4, dims);
  x[1] = slice(g, x[4], &(slice_t){numbers[REACH], numbers[REACH + 1], numbers[REACH + 1], 0, 0, 0, 0, 0});
  for (int length = 1; length <= 4; length += 3)
    for (int at = 0; at < 13 * 13 * 6 * 4; ++at) {
      static const int strides[] = {-3, -2, -1, 1, 2, 5};
      int begin = at % 13 - REACH, end = at / 13 % 13 - REACH, stride = strides[at / 169 % 6], masks = at / 1014;
      int64_t want[4];
      char what[64];
      int count = sliced(length, dims, begin, end, stride, masks & 1, masks >> 1, want);
      snprintf(what, sizeof what, "[%d:%d:%d] of %d with masks %d", begin, end, stride, length, masks);
      hr_node_t* n = slice(
          g, x[length],
          &(slice_t){numbers[begin + REACH], numbers[end + REACH], numbers[stride + REACH], masks & 1 ? 1 : 2, masks & 2 ? 1 : 2, 0, 0, 0});
      check_dims(g, n, count, want, what);
    }
  hr_graph_destroy(g);
}

HR_TEST(one_element_of_a_shape) {
  const int64_t dims[3] = {5, -1, 9}, one = 1, zero = 0;
  hr_graph_t* g = graph();
  hr_node_t* shape = shape_of(g, 3, dims);
  hr_node_t *unknown = fixture_placeholder(g, fresh(), HR_I32, 1, &one), *step = vector(g, 1, &one), *none = vector(g, 1, &zero);
  for (int64_t at = -5; at <= 5; ++at) {
    int64_t want = at >= -3 && at < 3 ? dims[(at + 3) % 3] : -1;
    hr_node_t* n = slice(g, shape, &(slice_t){vector(g, 1, &at), unknown, step, 0, 0, 1, 0, 0});
    hr_node_t* pack = fixture_add(g, "Pack", fresh(), HR_VALUES(fixture_out(n, 0), fixture_out(number(g, 8), 0)), HR_NO_ATTRS);
    check_dims(g, pack, 2, (const int64_t[]){want, 8}, "an element");
    check_dims(g, n, -1, NULL, "one element is no vector");
  }
  const slice_t not_known[] = {{unknown, step, step, 0, 0, 1, 0, 0}, {step, step, unknown, 0, 0, 1, 0, 0},
                               {step, step, none, 0, 0, 1, 0, 0},    {none, step, step, 0, 0, 0, 0, 0},
                               {none, step, step, 0, 0, 1, 1, 0},    {none, step, step, 0, 0, 1, 0, 1},
                               {none, step, step, 0, 0, 2, 0, 0}};
  for (size_t i = 0; i < sizeof not_known / sizeof *not_known; ++i) {
    hr_node_t* pack = fixture_add1(g, "Pack", fresh(), slice(g, shape, &not_known[i]));
    check_dims(g, pack, 1, (const int64_t[]){-1}, "not known");
  }
  hr_graph_destroy(g);
}

/* The slice's own shape is not known here, so what cannot be read is unknown altogether. */
HR_TEST(slices_with_bounds_that_are_not_known) {
  const int64_t dims[3] = {5, -1, 9}, one = 1, zero = 0, two[2] = {0, 0}, far[] = {INT64_MAX, INT64_MIN, 254, 255, -254, -255};
  hr_graph_t* g = graph();
  hr_node_t *shape = shape_of(g, 3, dims), *unknown = fixture_placeholder(g, fresh(), HR_I32, 1, &one), *a = vector(g, 1, &one),
            *o = vector(g, 1, &zero), *pair = vector(g, 2, two);
  const struct {
    slice_t s;
    int want;
  } rows[] = {
      {{a, a, a, 0, 1, 0, 0, 0}, 2},        {{a, unknown, a, 0, 1, 0, 0, 0}, 2},  {{a, unknown, a, 0, 0, 0, 0, 0}, -1},
      {{a, unknown, a, 0, 2, 0, 0, 0}, -1}, {{unknown, a, a, 0, 0, 0, 0, 0}, -1}, {{unknown, a, a, 1, 1, 0, 0, 0}, -1},
      {{a, a, unknown, 0, 1, 0, 0, 0}, -1}, {{a, a, o, 0, 1, 0, 0, 0}, -1},       {{a, a, a, 0, 1, 0, 1, 0}, -1},
      {{a, a, a, 0, 1, 0, 0, 1}, -1},       {{pair, a, a, 0, 1, 0, 0, 0}, -1},    {{a, pair, a, 0, 0, 0, 0, 0}, -1},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
    check_dims(g, slice(g, shape, &rows[i].s), rows[i].want, (const int64_t[]){-1, 9}, "bounds");
  hr_node_t* nothing = fixture_placeholder(g, fresh(), HR_I32, -1, NULL);
  check_dims(g, slice(g, nothing, &(slice_t){o, a, a, 0, 0, 0, 0, 0}), -1, NULL, "of a vector that is not known");
  check_dims(g, fixture_add1(g, "Pack", fresh(), slice(g, nothing, &(slice_t){o, a, a, 0, 0, 1, 0, 0})), 1, (const int64_t[]){-1},
             "nor its element");
  for (size_t i = 0; i < sizeof far / sizeof *far; ++i) { /* a step that leaves the vector at once, however long */
    hr_tensor_t t = {0};
    HR_CHECK_OK(hr_tensor_from_i64_vec(HR_I64, &far[i], 1, &t));
    hr_node_t *stride = fixture_add(g, "Const", fresh(), 0, NULL, HR_ATTRS(hr_at_type("dtype", HR_I64), hr_at_tensor("value", &t))), *at[2];
    hr_tensor_release(&t);
    for (int64_t k = 0; k < 2; ++k) {
      HR_CHECK_OK(hr_tensor_from_i64_vec(HR_I64, (const int64_t[]){2 * k}, 1, &t));
      at[k] = fixture_add(g, "Const", fresh(), 0, NULL, HR_ATTRS(hr_at_type("dtype", HR_I64), hr_at_tensor("value", &t)));
      hr_tensor_release(&t);
    }
    check_dims(g, slice(g, shape, &(slice_t){at[far[i] < 0], at[far[i] > 0], stride, 0, 1, 0, 0, 0}), 1,
               (const int64_t[]){far[i] > 0 ? 5 : 9}, "far");
  }
  hr_graph_destroy(g);
}

/* --- what is packed and joined -------------------------------------------------------------------------------------------------------- */
static hr_node_t* through(hr_graph_t* g, hr_node_t* n, int count) { /* as many nodes that only hand it on */
  for (int i = 0; i < count; ++i)
    n = i & 1 ? fixture_add(g, "Cast", fresh(), HR_VALUES(fixture_out(n, 0)), HR_ATTRS(hr_at_type("DstT", HR_I32)))
              : fixture_add1(g, "Identity", fresh(), n);
  return n;
}

HR_TEST(vectors_are_followed_twelve_deep) {
  const int64_t dims[3] = {-1, 7, 9}, unknown[3] = {-1, -1, -1};
  hr_graph_t* g = graph();
  hr_node_t* shape = shape_of(g, 3, dims);
  for (int depth = 0; depth <= 14; ++depth) check_dims(g, through(g, shape, depth), 3, depth < 12 ? dims : unknown, "a chain");
  for (int depth = 0; depth <= 14; ++depth) {
    hr_node_t* pack = fixture_add1(g, "Pack", fresh(), through(g, number(g, 6), depth));
    check_dims(g, pack, 1, depth < 11 ? (const int64_t[]){6} : unknown, "an element");
  }
  /* each kind counts one more */
  const int64_t zero = 0, one = 1;
  hr_node_t *at = vector(g, 1, &zero), *step = vector(g, 1, &one), *axis = number(g, 0);
  for (int depth = 8; depth <= 11; ++depth) {
    hr_node_t* chain = through(g, shape, depth);
    check_dims(g, slice(g, chain, &(slice_t){step, step, step, 0, 1, 0, 0, 0}), 2, depth < 11 ? dims + 1 : unknown, "a slice");
    hr_node_t* join =
        fixture_add(g, "ConcatV2", fresh(), HR_VALUES(fixture_out(chain, 0), fixture_out(at, 0), fixture_out(axis, 0)), HR_NO_ATTRS);
    check_dims(g, join, 4, depth < 11 ? (const int64_t[]){-1, 7, 9, 0} : (const int64_t[]){-1, -1, -1, 0}, "a join");
    hr_node_t* pack = fixture_add1(g, "Pack", fresh(), slice(g, chain, &(slice_t){step, at, step, 0, 0, 1, 0, 0}));
    check_dims(g, pack, 1, depth < 10 ? dims + 1 : unknown, "an element of a slice");
  }
  hr_graph_destroy(g);
}

HR_TEST(elements_of_packs) {
  hr_graph_t* g = graph();
  const int64_t six = 6;
  hr_node_t *below = number(g, -5), *minus = number(g, -1), *free_number = fixture_placeholder(g, fresh(), HR_I32, 0, NULL);
  hr_node_t* pack = fixture_add(g, "Pack", fresh(),
                                HR_VALUES(fixture_out(number(g, 3), 0), fixture_out(below, 0), fixture_out(minus, 0),
                                          fixture_out(number(g, 0), 0), fixture_out(free_number, 0)),
                                HR_NO_ATTRS);
  check_dims(g, pack, 5, (const int64_t[]){3, -1, -1, 0, -1}, "a pack");
  /* vectors packed are no vector, numbers with a point no dims */
  pack = fixture_add1(g, "Pack", fresh(), vector(g, 1, &six));
  pack->shapes[0] = of_dims(g, 2, (const int64_t[]){1, 1})->shapes[0];
  check_dims(g, pack, -1, NULL, "a pack of vectors");
  check_dims(g, fixture_add1(g, "Pack", fresh(), constant_of(g, HR_F32, 1)), 1, (const int64_t[]){-1}, "a pack of floats");
  hr_value_t many[255];
  int64_t want[254];
  for (int i = 0; i < 255; ++i) many[i] = fixture_out(minus, 0);
  for (int i = 0; i < 254; ++i) want[i] = i ? -1 : 3;
  many[0] = fixture_out(number(g, 3), 0);
  check_dims(g, fixture_add(g, "Pack", fresh(), 254, many, HR_NO_ATTRS), 254, want, "the largest pack");
  check_dims(g, fixture_add(g, "Pack", fresh(), 255, many, HR_NO_ATTRS), -1, NULL, "a pack that is too large");
  hr_graph_destroy(g);
}

HR_TEST(parts_that_are_joined) {
  hr_graph_t* g = graph();
  int64_t dims[254];
  for (int i = 0; i < 254; ++i) dims[i] = i == 253 ? 8 : -1;
  hr_node_t *most = shape_of(g, 253, dims), *one = shape_of(g, 1, dims + 253), *none = shape_of(g, 0, NULL), *axis = number(g, 0);
  hr_node_t* free_vector = fixture_placeholder(g, fresh(), HR_I32, 1, (const int64_t[]){-1});
#define JOIN(...) fixture_add(g, "ConcatV2", fresh(), HR_VALUES(__VA_ARGS__, fixture_out(axis, 0)), HR_NO_ATTRS)
  check_dims(g, JOIN(fixture_out(one, 0), fixture_out(one, 0)), 2, (const int64_t[]){8, 8}, "two");
  check_dims(g, JOIN(fixture_out(none, 0), fixture_out(none, 0)), 0, NULL, "nothing");
  check_dims(g, JOIN(fixture_out(most, 0), fixture_out(one, 0)), 254, dims, "the longest");
  check_dims(g, JOIN(fixture_out(most, 0), fixture_out(one, 0), fixture_out(one, 0)), -1, NULL, "too long");
  check_dims(g, JOIN(fixture_out(one, 0), fixture_out(free_vector, 0)), -1, NULL, "one is not known");
  hr_graph_destroy(g);
}

/* The join is one of the 63 nodes that are looked at, so of parts that are no constants 62 count. */
HR_TEST(sixty_three_nodes_are_looked_at) {
  enum { PARTS = 80 };
  hr_graph_t* g = graph();
  hr_node_t* x = shape_of(g, 2, (const int64_t[]){-1, 1});
  hr_value_t parts[PARTS + 1];
  int64_t want[2 * PARTS];
  for (int i = 0; i < PARTS; ++i) parts[i] = fixture_out(x, 0);
  parts[PARTS] = fixture_out(number(g, 0), 0);
  for (int i = 0; i < 2 * PARTS; ++i) want[i] = i & 1 && i < 2 * 62 ? 1 : -1;
  check_dims(g, fixture_add(g, "ConcatV2", fresh(), PARTS + 1, parts, HR_NO_ATTRS), 2 * PARTS, want, "many parts");
  hr_graph_destroy(g);
}

HR_TEST(each_output_of_shape_n) {
  hr_graph_t* g = graph();
  hr_node_t *a = of_dims(g, 2, (const int64_t[]){-1, 3}), *b = of_dims(g, 1, (const int64_t[]){-1});
  hr_node_t* n = fixture_add(g, "ShapeN", fresh(), HR_VALUES(fixture_out(a, 0), fixture_out(b, 0)), HR_NO_ATTRS);
  check_value(g, fixture_out(n, 0), 2, (const int64_t[]){-1, 3}, "the first");
  check_value(g, fixture_out(n, 1), 1, (const int64_t[]){-1}, "the second");
  hr_graph_destroy(g);
}

HR_TEST_MAIN()
