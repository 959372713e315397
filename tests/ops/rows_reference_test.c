/* SPDX-License-Identifier: Apache-2.0 */
/* Ops on the rows of a matrix against plain loops: every row of up to four elements that few values make (ties, NaN, infinities), rows
 * around the widths at which kernels change their way, along the last axis and along another one. */
#include <math.h>
#include "ops/run_op.h"

enum { MOST_WIDTH = 70, SHORT = 4, RANDOM_ROWS = 37, MOST_ROWS = 700 };
static const double floats[] = {0, 1, -2, NAN, INFINITY, -INFINITY}, wholes[] = {0, 1, 5, 3, 4, 2};
static const TF_DataType types[] = {TF_FLOAT,  TF_DOUBLE, TF_HALF,  TF_BFLOAT16, TF_INT8,  TF_UINT8,
                                    TF_INT16,  TF_UINT16, TF_INT32, TF_UINT32,   TF_INT64, TF_UINT64};
enum { TYPES = sizeof types / sizeof *types };
static const int widths[] = {1, 2, 3, 4, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65};
enum { WIDTHS = sizeof widths / sizeof *widths };

static bool is_float(TF_DataType t) { return t == TF_FLOAT || t == TF_DOUBLE || t == TF_HALF || t == TF_BFLOAT16; }

typedef struct {
  TF_DataType type;
  int rows, width;
  double x[MOST_ROWS][MOST_WIDTH];
} table_t;
static table_t table;

/* All rows of a short width over the first `values` values; of a longer one some, mostly of few values. */
static void table_make(TF_DataType type, int width, int values) {
  const double* from = is_float(type) ? floats : wholes;
  int all = 1;
  for (int i = 0; i < width && width <= SHORT; ++i) all *= values;
  table.type = type;
  table.width = width;
  table.rows = width <= SHORT && all <= MOST_ROWS ? all : RANDOM_ROWS;
  uint32_t seed = 12345u + (uint32_t)width;
  for (int r = 0; r < table.rows; ++r)
    for (int i = 0, word = r; i < width; ++i, word /= values) {
      seed = seed * 1664525u + 1013904223u;
      const int pick = width <= SHORT ? word % values : (int)(seed >> 16) % (r % 3 ? 100 : values);
      table.x[r][i] = pick < values ? from[pick] : pick;
    }
}

/* As [rows, width], or, `across`, as [width, rows]. */
static TF_Tensor* table_tensor(bool across) {
  TF_Tensor* t = across ? RUN_TENSOR(table.type, table.width, table.rows) : RUN_TENSOR(table.type, table.rows, table.width);
  for (int r = 0; r < table.rows; ++r)
    for (int i = 0; i < table.width; ++i) run_put(t, across ? i * table.rows + r : r * table.width + i, table.x[r][i]);
  return t;
}

/* --- the extreme's place -------------------------------------------------------------------------------------------------------------- */

static double extreme_place(const double* x, int n, bool largest) {
  double top = isnan(x[0]) ? (largest ? -INFINITY : INFINITY) : x[0];
  int best = 0;
  for (int i = 1; i < n; ++i)
    if (largest ? x[i] > top : x[i] < top) top = x[i], best = i;
  return best;
}

static void check_extremes(void) {
  static double want[MOST_ROWS];
  for (int form = 0; form < 8; ++form) {
    const bool largest = form & 1, across = form & 2, narrow = form & 4;
    for (int r = 0; r < table.rows; ++r) want[r] = extreme_place(table.x[r], table.width, largest);
    TF_Tensor* x = table_tensor(across);
    run_op_t got = RUN_OP(largest ? "ArgMax" : "ArgMin", narrow ? "output_type=int32" : "", x, run_scalar(TF_INT32, !across));
    run_check(&got, 0, narrow ? TF_INT32 : TF_INT64, table.rows, want, 0, largest ? "ArgMax" : "ArgMin");
    run_free(&got);
  }
}

HR_TEST(the_first_of_the_extremes) {
  for (int t = 0; t < TYPES; ++t)
    for (int w = 0; w < WIDTHS; ++w) {
      table_make(types[t], widths[w], is_float(types[t]) ? 5 : 4);
      check_extremes();
    }
}

/* --- rows in order -------------------------------------------------------------------------------------------------------------------- */

/* Whether a comes before b, the largest first, NaN before all, of equal ones the one that stood first. */
static bool is_above(const double* x, int a, int b) {
  if (isnan(x[a]) || isnan(x[b])) return isnan(x[a]) && (!isnan(x[b]) || a < b);
  return x[a] != x[b] ? x[a] > x[b] : a < b;
}

static void order_row(const double* x, int n, int* order) {
  for (int i = 0; i < n; ++i) {
    int at = i;
    for (; at > 0 && is_above(x, i, order[at - 1]); --at) order[at] = order[at - 1];
    order[at] = i;
  }
}

static void check_top(int k) {
  static double values[MOST_ROWS * MOST_WIDTH], places[MOST_ROWS * MOST_WIDTH];
  for (int r = 0; r < table.rows; ++r) {
    int order[MOST_WIDTH];
    order_row(table.x[r], table.width, order);
    for (int i = 0; i < k; ++i) {
      values[r * k + i] = table.x[r][order[i]];
      places[r * k + i] = order[i];
    }
  }
  run_op_t got = RUN_OP("TopKV2", k % 2 ? "" : "index_type=int64", table_tensor(false), run_scalar(TF_INT32, k));
  run_check(&got, 0, table.type, table.rows * k, values, 0, "TopKV2");
  run_check(&got, 1, k % 2 ? TF_INT32 : TF_INT64, table.rows * k, places, 0, "TopKV2");
  run_free(&got);
}

static void check_nth(int n, bool reverse) {
  static double want[MOST_ROWS];
  for (int r = 0; r < table.rows; ++r) {
    int order[MOST_WIDTH];
    order_row(table.x[r], table.width, order);
    want[r] = table.x[r][order[reverse ? n : table.width - 1 - n]];
  }
  run_op_t got = RUN_OP("NthElement", reverse ? "reverse=true" : "", table_tensor(false), run_scalar(TF_INT32, n));
  run_check(&got, 0, table.type, table.rows, want, 0, reverse ? "NthElement from above" : "NthElement");
  run_free(&got);
}

HR_TEST(the_largest_in_order) {
  for (int t = 0; t < TYPES; ++t)
    for (int w = 0; w < WIDTHS; w += t ? 3 : 1) {
      const int width = widths[w], step = width > SHORT ? 7 : 1;
      table_make(types[t], width, is_float(types[t]) ? 5 : 4);
      for (int k = 0; k <= width; k += step) check_top(k);
      for (int n = 0; n < width; n += step) check_nth(n, false), check_nth(n, true);
      check_top(width);
      check_nth(width - 1, false);
      check_nth(width - 1, true);
    }
}

HR_TEST(whether_a_class_is_among_the_first) {
  static double want[MOST_ROWS];
  for (int width = 1; width <= SHORT; ++width) {
    table_make(TF_FLOAT, width, 5);
    for (int target = -1; target <= width; ++target)
      for (int k = 0; k <= width + 1; ++k) {
        int64_t targets[MOST_ROWS];
        for (int r = 0; r < table.rows; ++r) {
          bool good = target >= 0 && target < width;
          int above = 0;
          for (int i = 0; good && i < width; ++i) good = isfinite(table.x[r][i]);
          for (int i = 0; good && i < width; ++i) above += table.x[r][i] > table.x[r][target];
          want[r] = good && above < k;
          targets[r] = target;
        }
        run_op_t got = RUN_OP("InTopKV2", "", table_tensor(false), run_ints(TF_INT64, table.rows, targets), run_scalar(TF_INT64, k));
        run_check(&got, 0, TF_BOOL, table.rows, want, 0, "InTopKV2");
        run_free(&got);
      }
  }
}

/* --- running results ------------------------------------------------------------------------------------------------------------------ */

static double wrapped(TF_DataType type, double v) { /* small numbers alone go past a byte */
  return type == TF_INT8 ? (double)(int8_t)(int64_t)v : type == TF_UINT8 ? (double)(uint8_t)(int64_t)v : v;
}

static void check_running(bool product, bool exclusive, bool reverse, bool across) {
  static double want[MOST_ROWS * MOST_WIDTH];
  char attrs[64];
  snprintf(attrs, sizeof attrs, "exclusive=%s; reverse=%s", exclusive ? "true" : "false", reverse ? "true" : "false");
  for (int r = 0; r < table.rows; ++r) {
    double so_far = product;
    for (int step = 0; step < table.width; ++step) {
      const int i = reverse ? table.width - 1 - step : step;
      const double before = so_far;
      so_far = wrapped(table.type, product ? so_far * table.x[r][i] : so_far + table.x[r][i]);
      want[across ? i * table.rows + r : r * table.width + i] = exclusive ? before : so_far;
    }
  }
  run_op_t got = RUN_OP(product ? "Cumprod" : "Cumsum", attrs, table_tensor(across), run_scalar(TF_INT32, across ? -2 : 1));
  run_check(&got, 0, table.type, table.rows * table.width, want, 0, product ? "Cumprod" : "Cumsum");
  run_free(&got);
}

HR_TEST(running_sums_and_products) {
  for (int t = 0; t < TYPES; ++t)
    for (int width = 1; width <= 17; width += width < 4 ? 1 : 13) {
      table_make(types[t], width, 3);
      for (int r = 0; r < table.rows; ++r)
        for (int i = 0; i < width; ++i) table.x[r][i] = (r * 7 + i * 3) % 11 == 0 ? 2 : (r + i) % 2; /* exact in every type */
      for (int form = 0; form < 16; ++form) check_running(form & 1, form & 2, form & 4, form & 8);
    }
}

static void check_running_logs(bool exclusive, bool reverse, TF_DataType type, double tolerance) {
  static const double x[] = {0.5, -3, -INFINITY, 2, 2, 1.25, -0.75};
  enum { N = sizeof x / sizeof *x };
  double want[N], sum = 0;
  char attrs[64];
  snprintf(attrs, sizeof attrs, "exclusive=%s; reverse=%s", exclusive ? "true" : "false", reverse ? "true" : "false");
  TF_Tensor* t = RUN_TENSOR(type, N);
  for (int i = 0; i < N; ++i) run_put(t, i, x[i]);
  for (int step = 0; step < N; ++step) {
    const int i = reverse ? N - 1 - step : step;
    if (exclusive) want[i] = log(sum);
    sum += exp(x[i]);
    if (!exclusive) want[i] = log(sum);
  }
  run_op_t got = RUN_OP("CumulativeLogsumexp", attrs, t, run_scalar(TF_INT32, 0));
  run_check(&got, 0, type, N, want, tolerance, "CumulativeLogsumexp");
  run_free(&got);
}

HR_TEST(running_logarithms_of_sums) {
  for (int form = 0; form < 4; ++form) {
    check_running_logs(form & 1, form & 2, TF_FLOAT, 5e-7);
    check_running_logs(form & 1, form & 2, TF_DOUBLE, 1e-15);
    check_running_logs(form & 1, form & 2, TF_HALF, 2e-3);
  }
}

/* --- counts --------------------------------------------------------------------------------------------------------------------------- */

HR_TEST(counts_and_weights_of_values) {
  static const int64_t values[] = {3, 0, 2, 3, 7, 3, 1, 0};
  static const TF_DataType kinds[] = {TF_FLOAT, TF_DOUBLE, TF_INT32, TF_INT64};
  for (int k = 0; k < 4; ++k)
    for (int size = 0; size <= 9; ++size)
      for (int weighted = 0; weighted < 2; ++weighted) {
        double want[9] = {0};
        TF_Tensor* weights = RUN_TENSOR(kinds[k], weighted ? 8 : 0);
        for (int i = 0; i < 8 && weighted; ++i) run_put(weights, i, 10 + i);
        for (int i = 0; i < 8; ++i)
          if (values[i] < size) want[values[i]] += weighted ? 10 + i : 1;
        run_op_t got = RUN_OP("Bincount", "", run_ints(TF_INT32, 8, values), run_scalar(TF_INT32, size), weights);
        run_check(&got, 0, kinds[k], size, want, 0, "Bincount");
        run_free(&got);
      }
}

HR_TEST_MAIN()
