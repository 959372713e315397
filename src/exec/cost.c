/* SPDX-License-Identifier: Apache-2.0 */
/* A row an op: how its work grows with its shapes, and what one unit takes. Ops without a row count as element-wise. The numbers were
 * measured on one core with AVX-512; only their ratios matter, and those are much the same elsewhere. */
#include "exec/cost.h"
#include <math.h>
#include <string.h>

typedef enum {
  COST_ELEMENTS,       /* of the largest input or output */
  COST_NOTHING,        /* whatever the shapes: a call's cost */
  COST_FIXED,          /* the size is in the bytes of a string */
  COST_PRODUCT,        /* multiplications of a matrix product; inputs a and b */
  COST_CONVOLUTION,    /* the same of a convolution; inputs data and filter, output data */
  COST_CONV_DATA,      /* inputs sizes, filter, gradient */
  COST_CONV_FILTER,    /* inputs data, sizes, gradient; output filter */
  COST_SORT,           /* n log n */
} cost_kind_t;

typedef struct {
  const char* op;
  cost_kind_t kind;
  float unit_ns;
  float team_ns;
} cost_row_t;

enum { ALONE, /* does not split */ PRODUCT_TEAM = 30000, BATCH_TEAM = 12000, CONV_TEAM = 8000, POOL_TEAM = 4000 };
static const float MULTIPLY_NS = 0.019f;

static const cost_row_t rows[] = { /* sorted by name */
  {"Acos", COST_ELEMENTS, 2.3f, POOL_TEAM},
  {"Acosh", COST_ELEMENTS, 2.3f, POOL_TEAM},
  {"All", COST_ELEMENTS, 0.1f, POOL_TEAM},
  {"Any", COST_ELEMENTS, 0.1f, POOL_TEAM},
  {"ArgMax", COST_ELEMENTS, 0.45f, POOL_TEAM},
  {"ArgMin", COST_ELEMENTS, 0.45f, POOL_TEAM},
  {"Asin", COST_ELEMENTS, 2.3f, POOL_TEAM},
  {"Asinh", COST_ELEMENTS, 2.3f, POOL_TEAM},
  {"Atan", COST_ELEMENTS, 2.3f, POOL_TEAM},
  {"Atanh", COST_ELEMENTS, 2.3f, POOL_TEAM},
  {"AvgPool", COST_ELEMENTS, 1.8f, POOL_TEAM},
  {"AvgPoolGrad", COST_ELEMENTS, 1.8f, POOL_TEAM},
  {"BatchMatMul", COST_PRODUCT, MULTIPLY_NS, BATCH_TEAM},
  {"BatchMatMulV2", COST_PRODUCT, MULTIPLY_NS, BATCH_TEAM},
  {"BatchMatMulV3", COST_PRODUCT, MULTIPLY_NS, BATCH_TEAM},
  {"Betainc", COST_ELEMENTS, 60.0f, POOL_TEAM},
  {"Bincount", COST_ELEMENTS, 1.0f, ALONE},
  {.op = "BroadcastGradientArgs", .kind = COST_NOTHING},
  {.op = "ConcatOffset", .kind = COST_NOTHING},
  {"Conv2D", COST_CONVOLUTION, MULTIPLY_NS, CONV_TEAM},
  {"Conv2DBackpropFilter", COST_CONV_FILTER, MULTIPLY_NS, CONV_TEAM},
  {"Conv2DBackpropInput", COST_CONV_DATA, MULTIPLY_NS, CONV_TEAM},
  {"Cosh", COST_ELEMENTS, 2.3f, POOL_TEAM},
  {"Cumprod", COST_ELEMENTS, 3.5f, POOL_TEAM},
  {"Cumsum", COST_ELEMENTS, 3.5f, POOL_TEAM},
  {"DecodePng", COST_FIXED, 200000.0f, ALONE},
  {"Digamma", COST_ELEMENTS, 15.0f, POOL_TEAM},
  {"EncodePng", COST_ELEMENTS, 30.0f, ALONE},
  {"Erf", COST_ELEMENTS, 2.3f, POOL_TEAM},
  {"Erfc", COST_ELEMENTS, 2.3f, POOL_TEAM},
  {.op = "ExpandDims", .kind = COST_NOTHING},
  {"Expm1", COST_ELEMENTS, 2.3f, POOL_TEAM},
  {"Gather", COST_ELEMENTS, 0.3f, POOL_TEAM},
  {"GatherNd", COST_ELEMENTS, 2.0f, POOL_TEAM},
  {"GatherV2", COST_ELEMENTS, 0.3f, POOL_TEAM},
  {.op = "Identity", .kind = COST_NOTHING},
  {"Igamma", COST_ELEMENTS, 60.0f, POOL_TEAM},
  {"Igammac", COST_ELEMENTS, 60.0f, POOL_TEAM},
  {"Lgamma", COST_ELEMENTS, 15.0f, POOL_TEAM},
  {"ListDiff", COST_ELEMENTS, 60.0f, ALONE},
  {"Log1p", COST_ELEMENTS, 2.3f, POOL_TEAM},
  {"LogSoftmax", COST_ELEMENTS, 0.45f, POOL_TEAM},
  {"MatMul", COST_PRODUCT, MULTIPLY_NS, PRODUCT_TEAM},
  {"Max", COST_ELEMENTS, 0.1f, POOL_TEAM},
  {"MaxPool", COST_ELEMENTS, 0.4f, POOL_TEAM},
  {"MaxPoolGrad", COST_ELEMENTS, 0.4f, POOL_TEAM},
  {"Mean", COST_ELEMENTS, 0.1f, POOL_TEAM},
  {"Min", COST_ELEMENTS, 0.1f, POOL_TEAM},
  {"NthElement", COST_ELEMENTS, 10.0f, POOL_TEAM},
  {"OneHot", COST_ELEMENTS, 0.5f, ALONE},
  {.op = "PlaceholderWithDefault", .kind = COST_NOTHING},
  {"Polygamma", COST_ELEMENTS, 60.0f, POOL_TEAM},
  {"Pow", COST_ELEMENTS, 2.3f, POOL_TEAM},
  {.op = "PreventGradient", .kind = COST_NOTHING},
  {"Prod", COST_ELEMENTS, 0.1f, POOL_TEAM},
  {.op = "Rank", .kind = COST_NOTHING},
  {.op = "Reshape", .kind = COST_NOTHING},
  {"ReverseV2", COST_ELEMENTS, 0.5f, ALONE},
  {"ScatterNd", COST_ELEMENTS, 2.0f, ALONE},
  {"SegmentMax", COST_ELEMENTS, 1.0f, ALONE},
  {"SegmentMean", COST_ELEMENTS, 1.0f, ALONE},
  {"SegmentMin", COST_ELEMENTS, 1.0f, ALONE},
  {"SegmentProd", COST_ELEMENTS, 1.0f, ALONE},
  {"SegmentSum", COST_ELEMENTS, 1.0f, ALONE},
  {"Select", COST_ELEMENTS, 2.0f, ALONE},
  {"SelectV2", COST_ELEMENTS, 2.0f, ALONE},
  {.op = "Shape", .kind = COST_NOTHING},
  {.op = "ShapeN", .kind = COST_NOTHING},
  {"Sinh", COST_ELEMENTS, 2.3f, POOL_TEAM},
  {.op = "Size", .kind = COST_NOTHING},
  {.op = "Snapshot", .kind = COST_NOTHING},
  {"Softmax", COST_ELEMENTS, 0.45f, POOL_TEAM},
  {.op = "Squeeze", .kind = COST_NOTHING},
  {.op = "StopGradient", .kind = COST_NOTHING},
  {"Sum", COST_ELEMENTS, 0.1f, POOL_TEAM},
  {"Tan", COST_ELEMENTS, 2.3f, POOL_TEAM},
  {"TopK", COST_SORT, 4.0f, POOL_TEAM},
  {"TopKV2", COST_SORT, 4.0f, POOL_TEAM},
  {"Unique", COST_ELEMENTS, 60.0f, ALONE},
  {"UniqueV2", COST_ELEMENTS, 60.0f, ALONE},
  {"UniqueWithCounts", COST_ELEMENTS, 60.0f, ALONE},
  {"UniqueWithCountsV2", COST_ELEMENTS, 60.0f, ALONE},
  {"UnsortedSegmentMax", COST_ELEMENTS, 2.0f, ALONE},
  {"UnsortedSegmentMin", COST_ELEMENTS, 2.0f, ALONE},
  {"UnsortedSegmentProd", COST_ELEMENTS, 2.0f, ALONE},
  {"UnsortedSegmentSum", COST_ELEMENTS, 2.0f, ALONE},
  {"Where", COST_ELEMENTS, 6.0f, ALONE},
  {"Zeta", COST_ELEMENTS, 60.0f, POOL_TEAM},
  {"_FusedConv2D", COST_CONVOLUTION, MULTIPLY_NS, CONV_TEAM},
  {"_FusedMatMul", COST_PRODUCT, MULTIPLY_NS, PRODUCT_TEAM},
};
static const cost_row_t other = {"", COST_ELEMENTS, 0.2f, POOL_TEAM};
static const double CALL_NS = 300, SPLIT_FROM_NS = 32000; /* of any kernel; what the pool leaves on one thread */

/* Larger products are cut ever more evenly. What another core made must come over: nanoseconds an element. */
static const double WHOLE_PRODUCT_NS = 250000, MOVE_NS = 0.16;
/* Kernels that do little with each element and have more of them than the cache holds get less of the memory beside others. */
static const float STREAM_UNIT_NS = 0.5f, STREAM_FACTOR = 1.5f;
static const double STREAM_FROM_NS = 10000;

static const cost_row_t* search_row(const char* op) {
  size_t low = 0, high = sizeof rows / sizeof *rows;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    const int order = strcmp(rows[middle].op, op);
    if (order == 0) return &rows[middle];
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return &other;
}

static const cost_row_t* find_row(hr_cost_memo_t* memo, const hr_op_def_t* def) {
  const size_t at = ((uintptr_t)def / sizeof *def) % HR_COST_RECENT;
  if (memo->def[at] != def) {
    memo->def[at] = def;
    memo->row[at] = search_row(def->op->name);
  }
  return memo->row[at];
}

/* --- sizes; unknown ones are guessed -------------------------------------------------------------------------------------------------- */

static double cost_dim(const hr_pshape_t* s, int32_t i, bool* io_guessed) { /* i below 0: from the end */
  if (i < 0) i += s->rank;
  if (s->rank < 0 || i < 0 || i >= s->rank) return 1;
  if (s->dims[i] >= 0) return (double)s->dims[i];
  *io_guessed = true;
  return HR_COST_BATCH;
}

static double cost_count(const hr_pshape_t* s, bool* io_guessed) { /* of a shape without a rank: 0 */
  double count = s->rank < 0 ? 0 : 1;
  for (int32_t i = 0; i < s->rank; ++i) count *= cost_dim(s, i, io_guessed);
  return count;
}

static const hr_pshape_t* cost_input(const hr_node_t* n, int32_t i) {
  return i < n->input_count ? hr_value_shape(n->inputs[i]) : &hr_pshape_unknown;
}

static const hr_pshape_t* cost_output(const hr_node_t* n, int32_t i) { return i < n->output_count ? n->shapes[i] : &hr_pshape_unknown; }

static double largest_count(const hr_node_t* n, bool* io_guessed) {
  double most = 0;
  for (int32_t i = 0; i < n->input_count; ++i) most = fmax(most, cost_count(cost_input(n, i), io_guessed));
  for (int32_t i = 0; i < n->output_count; ++i) most = fmax(most, cost_count(cost_output(n, i), io_guessed));
  return most;
}

/* mk, kn and mn multiplied are the square of mnk, whatever is transposed. */
static double product_units(const hr_node_t* n, bool* io_guessed) {
  const hr_pshape_t* y = cost_output(n, 0);
  const double result = cost_count(y, io_guessed), matrix = cost_dim(y, -1, io_guessed) * cost_dim(y, -2, io_guessed);
  if (y->rank < 2 || result <= 0) return 0;
  return sqrt(cost_count(cost_input(n, 0), io_guessed) * cost_count(cost_input(n, 1), io_guessed) * matrix);
}

/* `out`: the data that is as large as the result of the forward convolution; filter [h, w, in, out]. */
static double convolution_units(const hr_pshape_t* out, const hr_pshape_t* filter, bool* io_guessed) {
  if (filter->rank != 4) return 0;
  return cost_count(out, io_guessed) * cost_dim(filter, 0, io_guessed) * cost_dim(filter, 1, io_guessed) * cost_dim(filter, 2, io_guessed);
}

static double cost_units(const hr_node_t* n, cost_kind_t kind, bool* io_guessed) {
  switch (kind) {
    case COST_ELEMENTS: return largest_count(n, io_guessed);
    case COST_NOTHING: return 0;
    case COST_FIXED: return 1;
    case COST_PRODUCT: return product_units(n, io_guessed);
    case COST_CONVOLUTION: return convolution_units(cost_output(n, 0), cost_input(n, 1), io_guessed);
    case COST_CONV_DATA: return convolution_units(cost_input(n, 2), cost_input(n, 1), io_guessed);
    case COST_CONV_FILTER: return convolution_units(cost_input(n, 2), cost_output(n, 0), io_guessed);
    case COST_SORT: {
      const double count = largest_count(n, io_guessed);
      return count * log2(count + 2);
    }
  }
  return 0;
}

static double output_count(const hr_node_t* n, bool* io_guessed) {
  double count = 0;
  for (int32_t i = 0; i < n->output_count; ++i) count += cost_count(cost_output(n, i), io_guessed);
  return count;
}

hr_cost_t hr_cost_of(hr_cost_memo_t* memo, const hr_node_t* n) {
  const cost_row_t* row = find_row(memo, n->attrs.def);
  bool guessed = false;
  const double alone = CALL_NS + cost_units(n, row->kind, &guessed) * (double)row->unit_ns;
  hr_cost_t cost = {.alone_ns = (float)alone, .team_ns = row->team_ns, .move_ns = (float)(output_count(n, &guessed) * MOVE_NS)};
  if (row->kind == COST_PRODUCT && alone > WHOLE_PRODUCT_NS) cost.team_ns *= (float)(WHOLE_PRODUCT_NS * WHOLE_PRODUCT_NS / (alone * alone));
  cost.beside_ns = cost.alone_ns;
  if (row->kind == COST_ELEMENTS && row->unit_ns <= STREAM_UNIT_NS && alone > STREAM_FROM_NS) cost.beside_ns *= STREAM_FACTOR;
  cost.guessed = guessed;
  return cost;
}

static double cost_split(double alone, double team, int threads) {
  if (threads <= 1 || team == 0 || alone < SPLIT_FROM_NS) return alone;
  return fmin(alone, alone / threads + team);
}

double hr_cost_on(hr_cost_t c, int threads) { return cost_split((double)c.alone_ns, (double)c.team_ns, threads); }
double hr_cost_beside(hr_cost_t c, int threads) { return cost_split((double)c.beside_ns, (double)c.team_ns, threads); }
