/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions over every set of axes and segments of every kind against plain loops, of sizes around blocks and chunks, on every instruction
 * set, with one thread and two. Numbers are small and whole: sums are right in any order. */
#include <math.h>
#include "base/isa.h"
#include "base/pool.h"
#include "ops/run_op.h"

enum { MOST = 300000, SUM, MEAN, PROD, MAX, MIN, KINDS };
static double numbers[MOST], wanted[MOST];
static const char* const reductions[KINDS] = {[SUM] = "Sum", [MEAN] = "Mean", [PROD] = "Prod", [MAX] = "Max", [MIN] = "Min"};

static bool is_float(TF_DataType t) { return t == TF_FLOAT || t == TF_DOUBLE || t == TF_HALF || t == TF_BFLOAT16; }

static double start_of(int kind) { return kind == PROD ? 1 : kind == MAX ? -INFINITY : kind == MIN ? INFINITY : 0; }
static double joined(int kind, double a, double b) {
  return kind == PROD ? a * b : kind == MAX ? fmax(a, b) : kind == MIN ? fmin(a, b) : a + b;
}

/* Few numbers that are not one in products, few that are not zero in long narrow sums. */
static void fill_numbers(int kind, int64_t count, TF_DataType t) {
  const bool narrow = t == TF_HALF || t == TF_BFLOAT16 || t == TF_INT8;
  for (int64_t i = 0; i < count; ++i) {
    const int pick = (int)(i * 7 % 23);
    numbers[i] = kind == PROD ? (i % 997 == 5 ? 2 : 1) : narrow && count > 200 ? (i % 211 == 3) : pick % 9 - (t == TF_UINT16 ? 0 : 4);
  }
}

typedef struct {
  int rank;
  int64_t dims[4];
} shape_t;

static int64_t count_of(const shape_t* s) {
  int64_t n = 1;
  for (int i = 0; i < s->rank; ++i) n *= s->dims[i];
  return n;
}

/* Where element i goes; the number of results in *results. */
static int64_t place_of(const shape_t* s, int mask, int64_t i, int64_t* results) {
  int64_t place = 0, step = 1;
  for (int a = s->rank - 1; a >= 0; --a) {
    const int64_t at = i % s->dims[a];
    i /= s->dims[a];
    if (mask >> a & 1) continue;
    place += at * step;
    step *= s->dims[a];
  }
  *results = step;
  return place;
}

static void check_reduction(const shape_t* s, int mask, int kind, TF_DataType t) {
  int64_t axes[4], dims[5], results = 0, count = count_of(s);
  int n = 0;
  char what[80];
  fill_numbers(kind, count, t);
  place_of(s, mask, 0, &results);
  for (int64_t i = 0; i < results; ++i) wanted[i] = start_of(kind);
  for (int64_t i = 0; i < count; ++i) {
    double* to = &wanted[place_of(s, mask, i, &results)];
    *to = joined(kind, *to, numbers[i]);
  }
  for (int64_t i = 0; i < results && kind == MEAN; ++i) {
    wanted[i] /= (double)(count / results);
    if (!is_float(t)) wanted[i] = trunc(wanted[i]);
  }
  for (int a = 0; a < s->rank; ++a)
    if (mask >> a & 1) axes[n++] = a - (a % 2 ? s->rank : 0);
  for (int a = 0; a <= s->rank; ++a) dims[a] = a < s->rank ? s->dims[a] : -1;
  TF_Tensor* x = run_tensor(t, dims);
  for (int64_t i = 0; i < count; ++i) run_put(x, i, numbers[i]);
  snprintf(what, sizeof what, "%s of type %d over mask %d of %d axes, first %d", reductions[kind], (int)t, mask, s->rank, (int)s->dims[0]);
  run_op_t got = RUN_OP(reductions[kind], n % 2 ? "keep_dims=true" : "", x, run_ints(TF_INT32, n, axes));
  if (got.count) HR_CHECK(TF_NumDims(got.out[0]) == (n % 2 ? s->rank : s->rank - n));
  const double rounding = t == TF_HALF ? 1e-3 : t == TF_BFLOAT16 ? 8e-3 : t == TF_FLOAT ? 1e-7 : 1e-15;
  run_check(&got, 0, t, results, wanted, kind == MEAN && is_float(t) ? rounding : 0, what);
  run_free(&got);
}

static void check_small(void) {
  static const shape_t shapes[] = {{1, {7}}, {2, {3, 4}}, {3, {2, 3, 4}}, {3, {2, 1, 3}}, {4, {2, 3, 1, 5}}, {4, {3, 2, 2, 3}}};
  static const TF_DataType types[] = {TF_FLOAT, TF_DOUBLE, TF_HALF, TF_INT8, TF_UINT16, TF_INT32, TF_INT64};
  for (int k = 0; k < 6; ++k)
    for (int mask = 0; mask < 1 << shapes[k].rank; ++mask)
      for (int t = 0; t < 7; ++t)
        for (int kind = SUM; kind < KINDS; ++kind) check_reduction(&shapes[k], mask, kind, types[t]);
}

static void check_large(void) { /* blocks of 256, 512 and 1024; rows and columns; many results; chunks of reduced places */
  static const shape_t shapes[] = {{1, {255}},     {1, {257}},       {1, {1024}},    {1, {1025}},      {1, {2049}},
                                   {1, {100003}},  {2, {3, 1025}},   {2, {1025, 3}}, {2, {2, 1024}},   {2, {700, 33}},
                                   {2, {2, 66000}}, {3, {30, 40, 17}}, {3, {70, 3, 65}}, {3, {2, 2500, 2}}};
  static const TF_DataType types[] = {TF_FLOAT, TF_HALF, TF_INT32};
  for (int k = 0; k < 14; ++k)
    for (int mask = 1; mask < 1 << shapes[k].rank; ++mask)
      for (int t = 0; t < 3; ++t) check_reduction(&shapes[k], mask, SUM + (k + mask + t) % 2 * 3, types[t]);
}

HR_TEST(every_set_of_axes) { check_small(); }
HR_TEST(blocks_and_chunks) { each_machine(check_large); }

HR_TEST(long_sums_of_floats_that_cancel) { /* parts are added up in double */
  static const int64_t lengths[] = {1500, 5000, 100000};
  for (int k = 0; k < 3; ++k) {
    const int64_t n = lengths[k];
    TF_Tensor* x = RUN_TENSOR(TF_FLOAT, n);
    for (int64_t i = 0; i < n; ++i) run_put(x, i, i < 300 ? 0x1p24 : i >= n - 300 ? -0x1p24 : i == n / 2);
    run_op_t got = RUN_OP("Sum", "", x, run_scalar(TF_INT32, 0));
    run_check(&got, 0, TF_FLOAT, 1, (const double[]){1}, 0, "a sum that cancels");
    run_free(&got);
  }
}

/* --- segments ------------------------------------------------------------------------------------------------------------------------ */

enum { ROWS = 11, SEGMENTS = 7 };
static const int64_t ascending[ROWS] = {0, 0, 1, 3, 3, 3, 3, 4, 6, 6, 6}, any_order[ROWS] = {4, -1, 0, 6, 4, 2, -3, 0, 4, 6, 6};
static const int64_t picks[ROWS] = {3, 0, 3, 5, 1, 1, 2, 4, 0, 5, 3};

/* wanted: each segment's rows joined; `empty` where there are none. */
static void join_plainly(int kind, bool root, const int64_t* ids, const int64_t* rows, int64_t inner, double empty, bool whole) {
  for (int64_t s = 0; s < SEGMENTS; ++s)
    for (int64_t j = 0; j < inner; ++j) {
      double v = start_of(kind);
      int n = 0;
      for (int64_t i = 0; i < ROWS; ++i)
        if (ids[i] == s) v = joined(kind, v, numbers[(rows ? rows[i] : i) * inner + j]), ++n;
      if (kind == MEAN && n) v = v / (root ? sqrt(n) : n);
      wanted[s * inner + j] = n ? (whole ? trunc(v) : v) : empty;
    }
}

static TF_Tensor* rows_tensor(TF_DataType t, int64_t rows, int64_t inner) {
  TF_Tensor* x = RUN_TENSOR(t, rows, inner);
  for (int64_t i = 0; i < rows * inner; ++i) run_put(x, i, numbers[i]);
  return x;
}

static double lowest_of(TF_DataType t) {
  if (t == TF_INT8 || t == TF_INT32) return t == TF_INT8 ? -128 : INT32_MIN;
  return t == TF_FLOAT ? -0x1.fffffep127 : t == TF_HALF ? -65504 : -0x1.fffffffffffffp1023;
}
static double highest_of(TF_DataType t) { return t == TF_INT8 ? 127 : t == TF_INT32 ? INT32_MAX : -lowest_of(t); }

static void check_segments(TF_DataType t, int64_t inner) {
  static const char* const sorted[KINDS] = {[SUM] = "SegmentSum", [MEAN] = "SegmentMean", [PROD] = "SegmentProd", [MAX] = "SegmentMax",
                                            [MIN] = "SegmentMin"};
  static const char* const unsorted[KINDS] = {[SUM] = "UnsortedSegmentSum", [PROD] = "UnsortedSegmentProd", [MAX] = "UnsortedSegmentMax",
                                              [MIN] = "UnsortedSegmentMin"};
  const double close = t == TF_HALF ? 1e-3 : t == TF_FLOAT ? 1.2e-7 : 0;
  for (int64_t i = 0; i < ROWS * inner; ++i) numbers[i] = (double)(i * 5 % 7) - 3;
  for (int kind = SUM; kind < KINDS; ++kind) {
    join_plainly(kind, false, ascending, NULL, inner, kind == PROD ? 1 : 0, !is_float(t));
    run_op_t got = RUN_OP(sorted[kind], "", rows_tensor(t, ROWS, inner), run_ints(TF_INT32, ROWS, ascending));
    run_check(&got, 0, t, SEGMENTS * inner, wanted, kind == MEAN ? close : 0, sorted[kind]);
    run_free(&got);
    if (!unsorted[kind]) continue;
    const double empty = kind == PROD ? 1 : kind == MAX ? lowest_of(t) : kind == MIN ? highest_of(t) : 0;
    join_plainly(kind, false, any_order, NULL, inner, empty, false);
    got = RUN_OP(unsorted[kind], "", rows_tensor(t, ROWS, inner), run_ints(TF_INT64, ROWS, any_order), run_scalar(TF_INT32, SEGMENTS));
    run_check(&got, 0, t, SEGMENTS * inner, wanted, 0, unsorted[kind]);
    run_free(&got);
  }
}

static void check_picked(TF_DataType t, int64_t inner, const char* op, int kind, bool root) {
  const double close = t == TF_HALF ? 1e-3 : t == TF_FLOAT ? 2e-7 : 1e-15;
  char name[60];
  for (int64_t i = 0; i < ROWS * inner; ++i) numbers[i] = (double)(i * 5 % 7) - 3;
  join_plainly(kind, root, ascending, picks, inner, 0, false);
  snprintf(name, sizeof name, "SparseSegment%s", op);
  run_op_t got = RUN_OP(name, "", rows_tensor(t, 6, inner), run_ints(TF_INT32, ROWS, picks), run_ints(TF_INT32, ROWS, ascending));
  run_check(&got, 0, t, SEGMENTS * inner, wanted, close, name);
  run_free(&got);
  snprintf(name, sizeof name, "SparseSegment%sWithNumSegments", op);
  for (int64_t i = 0; i < 2 * inner; ++i) wanted[SEGMENTS * inner + i] = 0;
  got = RUN_OP(name, "", rows_tensor(t, 6, inner), run_ints(TF_INT64, ROWS, picks), run_ints(TF_INT32, ROWS, ascending),
               run_scalar(TF_INT32, SEGMENTS + 2));
  run_check(&got, 0, t, (SEGMENTS + 2) * inner, wanted, close, name);
  run_free(&got);
  memset(wanted, 0, (size_t)(6 * inner) * sizeof *wanted);
  for (int i = 0; i < ROWS; ++i) {
    int n = 0;
    for (int j = 0; j < ROWS; ++j) n += ascending[j] == ascending[i];
    const double scale = kind == SUM ? 1 : 1 / (root ? sqrt(n) : n);
    for (int64_t j = 0; j < inner; ++j) wanted[picks[i] * inner + j] += numbers[ascending[i] * inner + j] * scale;
  }
  snprintf(name, sizeof name, "SparseSegment%sGrad", op);
  got = RUN_OP(name, "", rows_tensor(t, SEGMENTS, inner), run_ints(TF_INT32, ROWS, picks), run_ints(TF_INT32, ROWS, ascending),
               run_scalar(TF_INT32, 6));
  for (int64_t i = 0; got.count && i < 6 * inner; ++i)
    HR_CHECK(fabs(run_number(got.out[0], i) - wanted[i]) <= (t == TF_HALF ? 5e-3 : 2e-6)); /* sums cancel */
  run_free(&got);
}

static void check_all_segments(void) {
  static const int64_t inners[] = {1, 3, 31, 32, 33, 511, 512, 513};
  static const TF_DataType types[] = {TF_FLOAT, TF_DOUBLE, TF_HALF, TF_INT8, TF_INT32};
  for (int i = 0; i < 8; ++i)
    for (int t = 0; t < 5; ++t) {
      check_segments(types[t], inners[i]);
      if (!is_float(types[t])) continue;
      check_picked(types[t], inners[i], "Sum", SUM, false);
      check_picked(types[t], inners[i], "Mean", MEAN, false);
      check_picked(types[t], inners[i], "SqrtN", MEAN, true);
    }
}
HR_TEST(rows_joined_by_segment) { each_machine(check_all_segments); }

HR_TEST_MAIN()
