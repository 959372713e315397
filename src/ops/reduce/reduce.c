/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions over axes: Sum, Mean, Prod, Max, Min, All, Any. An op is a row of reduce.def.
 *
 * The input's axes are merged into alternating kept and reduced runs. A last run that is reduced is joined row by row, one that is kept
 * column by column into a line of accumulators. Work is split by kept elements where there are enough of them, else by reduced ones with
 * one line of accumulators a chunk, joined in order: the result depends on the shape, not on the number of threads. Long sums go block by
 * block, which keeps float error small. */
#include "ops/reduce/reduce.h"
#include <math.h>
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/elementwise/cast.h"
#include "ops/reduce/axes.h"

/* 1. kernel */
typedef enum { NOTHING, MEAN } finish_t;
typedef struct { int step; finish_t finish; } row_t; /* a kernel row's own constant */
typedef struct {
  const hr_reduce_step_t* step;
  hr_dtype_t type, acc_type; /* acc_type: float for half and bfloat16, int64 for the mean of narrower integers */
  hr_loop1_t widen, narrow;  /* type to acc_type and back, where they differ */
  size_t size, acc_size;
  finish_t finish;
  bool keep_dims;
  bool wide_sum; /* a sum in float: long rows are summed up in double */
} reduce_t;

static void widen_f16(const void* x, void* y, int64_t n) { hr_loop_widen(false, x, y, n); }
static void widen_bf16(const void* x, void* y, int64_t n) { hr_loop_widen(true, x, y, n); }
static void narrow_f16(const void* x, void* y, int64_t n) { hr_loop_narrow(false, x, y, n); }
static void narrow_bf16(const void* x, void* y, int64_t n) { hr_loop_narrow(true, x, y, n); }

static hr_status_t reduce_prepare(hr_prepare_ctx_t* p, void* prepared) {
  const row_t* row = p->kernel->arg;
  reduce_t* r = prepared;
  r->type = (hr_dtype_t)p->input_types[0];
  r->acc_type = r->type == HR_F16 || r->type == HR_BF16                                          ? HR_F32
                : row->finish == MEAN && hr_dtype_in(r->type, HR_M_INTEGER) && r->type != HR_U64 ? HR_I64
                                                                                                 : r->type;
  const hr_cast_table_t* casts = HR_ISA_PICK(hr_cast_vec);
  r->widen = r->type == HR_F16 ? widen_f16 : r->type == HR_BF16 ? widen_bf16 : (*casts)[r->type][r->acc_type];
  r->narrow = r->type == HR_F16 ? narrow_f16 : r->type == HR_BF16 ? narrow_bf16 : (*casts)[r->acc_type][r->type];
  r->size = hr_dtype_size(r->type);
  r->acc_size = hr_dtype_size(r->acc_type);
  r->step = &(*HR_ISA_PICK(hr_reduce_vec))[row->step][r->acc_type];
  r->finish = row->finish;
  r->wide_sum = row->step == STEP_Sum && r->acc_type == HR_F32;
  r->keep_dims = hr_attrs_bool(p->attrs, "keep_dims");
  return r->step->row ? NULL : HR_ERROR(UNIMPLEMENTED, "op '%s' has no kernel for %s on CPU", p->op_name, hr_dtype_name((int)r->type));
}

enum { BLOCK = 1024 };

/* Float sums of short blocks, joined in double: what is left when large values cancel is still right. */
static double sum_blocks(const reduce_t* r, const char* x, int64_t n) {
  enum { SHORT = 256 };
  float wide[SHORT];
  double sum = 0;
  for (int64_t i = 0; i < n; i += SHORT) {
    const int64_t m = n - i < SHORT ? n - i : SHORT;
    const void* from = x + (size_t)i * r->size;
    float part = 0;
    if (r->type != r->acc_type) {
      r->widen(from, wide, m);
      from = wide;
    }
    r->step->row(from, m, &part);
    sum += (double)part;
  }
  return sum;
}

static void join_row(const reduce_t* r, const char* x, int64_t n, void* acc) {
  int64_t wide[BLOCK];
  char part[16];
  if (r->wide_sum && n > BLOCK) {
    *(float*)acc = (float)((double)*(float*)acc + sum_blocks(r, x, n));
    return;
  }
  for (int64_t i = 0; i < n; i += BLOCK) {
    const int64_t m = n - i < BLOCK ? n - i : BLOCK;
    const void* from = x + (size_t)i * r->size;
    if (r->type != r->acc_type) {
      r->widen(from, wide, m);
      from = wide;
    }
    if (n <= BLOCK) {
      r->step->row(from, m, acc);
    } else {
      r->step->start(part, 1);
      r->step->row(from, m, part);
      r->step->column(part, 1, acc);
    }
  }
}

static void join_columns(const reduce_t* r, const char* x, int64_t n, char* acc) {
  int64_t wide[BLOCK];
  if (r->type == r->acc_type) {
    r->step->column(x, n, acc);
    return;
  }
  for (int64_t i = 0; i < n; i += BLOCK) {
    const int64_t m = n - i < BLOCK ? n - i : BLOCK;
    r->widen(x + (size_t)i * r->size, wide, m);
    r->step->column(wide, m, acc + (size_t)i * r->acc_size);
  }
}

/* The nest: kept runs give the output's position, reduced runs are walked for each. */
typedef struct {
  const reduce_t* r;
  hr_reduce_runs_t runs;
  int64_t strides[HR_MAX_RANK];
  int64_t line;            /* length of the last run where it is kept, else 1: outputs joined at a time */
  int64_t last;            /* length of the last run where it is reduced, else 1 */
  const char* x;
  char* acc;               /* outputs in acc_type */
  char* parts;             /* split by reduced positions: one set of outputs a chunk */
} nest_t;

/* Offset in x of position `at` counted over the runs (without the last) that are (or are not) reduced. */
static int64_t offset_of(const nest_t* n, bool reduced, int64_t at) {
  int64_t offset = 0;
  for (int d = n->runs.rank - 2; d >= 0; --d) {
    if (n->runs.reduced[d] != reduced) continue;
    offset += at % n->runs.dims[d] * n->strides[d];
    at /= n->runs.dims[d];
  }
  return offset;
}

/* Joins reduced positions [begin, end) of one line of outputs. In blocks with accumulators of their own when there are many, so that a long
 * float sum is a sum of sums. */
static void join_line(const nest_t* n, int64_t kept_offset, int64_t begin, int64_t end, char* acc) {
  for (int64_t at = begin; at < end; ++at) {
    const char* x = n->x + (size_t)(kept_offset + offset_of(n, true, at)) * n->r->size;
    if (n->last > 1 || n->line == 1) join_row(n->r, x, n->last, acc);
    else join_columns(n->r, x, n->line, acc);
  }
}

static int64_t reduced_positions(const nest_t* n) { return n->runs.reduced_count / n->last; }

static hr_status_t kept_chunk(void* arg, int64_t begin, int64_t end, int chunk) {
  const nest_t* n = arg;
  (void)chunk;
  for (int64_t line = begin; line < end; ++line)
    join_line(n, offset_of(n, false, line), 0, reduced_positions(n), n->acc + (size_t)(line * n->line) * n->r->acc_size);
  return NULL;
}

static hr_status_t reduced_chunk(void* arg, int64_t begin, int64_t end, int chunk) {
  const nest_t* n = arg;
  const int64_t lines = n->runs.kept_count / n->line;
  char* part = n->parts + (size_t)(chunk * n->runs.kept_count) * n->r->acc_size;
  n->r->step->start(part, n->runs.kept_count);
  for (int64_t line = 0; line < lines; ++line)
    join_line(n, offset_of(n, false, line), begin, end, part + (size_t)(line * n->line) * n->r->acc_size);
  return NULL;
}

static hr_status_t sum_part_chunk(void* arg, int64_t begin, int64_t end, int chunk) { /* likewise, a float sum: parts are doubles */
  const nest_t* n = arg;
  ((double*)n->parts)[chunk] = sum_blocks(n->r, n->x + (size_t)begin * n->r->size, end - begin);
  return NULL;
}

static hr_status_t row_part_chunk(void* arg, int64_t begin, int64_t end, int chunk) { /* one long row: chunks of it */
  const nest_t* n = arg;
  char* part = n->parts + (size_t)chunk * n->r->acc_size;
  n->r->step->start(part, 1);
  join_row(n->r, n->x + (size_t)begin * n->r->size, end - begin, part);
  return NULL;
}

static hr_status_t join_parts(hr_kernel_ctx_t* k, nest_t* n, int64_t items, double cost, hr_pool_fn_t fn) {
  hr_tensor_t parts;
  hr_shape_t shape = hr_shape_matrix(HR_POOL_MAX_CHUNKS, n->runs.kept_count);
  const int chunks = hr_pool_chunks(items, cost, k->threads);
  shape.dims[0] = chunks;
  HR_TRY(hr_temp(k, n->r->acc_type, &shape, &parts));
  n->parts = parts.data;
  hr_status_t status = hr_pool_run(k->threads, items, cost, fn, n);
  for (int c = 0; !status && c < chunks; ++c)
    n->r->step->column(n->parts + (size_t)(c * n->runs.kept_count) * n->r->acc_size, n->runs.kept_count, n->acc);
  hr_tensor_release(&parts);
  return status;
}

static hr_status_t sum_long_row(hr_kernel_ctx_t* k, nest_t* n, double cost) {
  double parts[HR_POOL_MAX_CHUNKS] = {0}, sum = 0;
  n->parts = (char*)parts;
  HR_TRY(hr_pool_run(k->threads, n->last, cost, sum_part_chunk, n));
  for (int c = 0; c < HR_POOL_MAX_CHUNKS; ++c) sum += parts[c];
  *(float*)n->acc = (float)sum;
  return NULL;
}

static hr_status_t run_nest(hr_kernel_ctx_t* k, nest_t* n) {
  const double element_ns = 0.25;
  const int64_t lines = n->runs.kept_count / n->line, positions = reduced_positions(n);
  if (lines > 1) return hr_parallel(k, lines, element_ns * (double)(n->runs.reduced_count * n->line) + 5, kept_chunk, n);
  if (positions > 1 && n->runs.kept_count <= 65536)
    return join_parts(k, n, positions, element_ns * (double)(n->line * n->last) + 5, reduced_chunk);
  if (n->line == 1 && positions == 1 && n->r->wide_sum) return sum_long_row(k, n, element_ns);
  if (n->line == 1 && positions == 1) return join_parts(k, n, n->last, element_ns, row_part_chunk);
  return kept_chunk(n, 0, lines, 0);
}

/* MEAN: each result over the number of elements; integers divide toward zero. Of nothing: NaN, but 0 of integers and complex numbers. */
#define DIVIDE(T, values, zero)                                                                                         \
  do {                                                                                                                  \
    for (int64_t i = 0; i < (values); ++i) ((T*)acc)[i] = (T)n ? (T)(((T*)acc)[i] / (T)n) : (T)(zero);                  \
  } while (0)
static void divide(hr_dtype_t type, void* acc, int64_t count, int64_t n) {
  switch (type) {
    case HR_F32: DIVIDE(float, count, NAN); break;
    case HR_F64: DIVIDE(double, count, NAN); break;
    case HR_C64: DIVIDE(float, 2 * count, 0); break;
    case HR_C128: DIVIDE(double, 2 * count, 0); break;
    case HR_I64: DIVIDE(int64_t, count, 0); break;
    default: DIVIDE(uint64_t, count, 0); break;
  }
}

static hr_status_t reduce_into(hr_kernel_ctx_t* k, const hr_tensor_t* x, uint32_t mask, hr_tensor_t* acc) {
  const reduce_t* r = hr_prepared(k);
  nest_t n = {.r = r, .x = x->data, .acc = acc->data};
  hr_reduce_collapse(&x->shape, mask, &n.runs);
  r->step->start(acc->data, acc->count);
  if (x->count > 0) {
    const int last = n.runs.rank - 1;
    n.line = last >= 0 && !n.runs.reduced[last] ? n.runs.dims[last] : 1;
    n.last = last >= 0 && n.runs.reduced[last] ? n.runs.dims[last] : 1;
    int64_t stride = 1;
    for (int d = last; d >= 0; --d) n.strides[d] = stride, stride *= n.runs.dims[d];
    HR_TRY(run_nest(k, &n));
  }
  if (r->finish == MEAN) divide(r->acc_type, acc->data, acc->count, n.runs.reduced_count);
  return NULL;
}

static hr_status_t reduce(hr_kernel_ctx_t* k) {
  const reduce_t* r = hr_prepared(k);
  const hr_tensor_t* x = hr_input(k, 0);
  uint32_t mask;
  hr_shape_t shape;
  hr_tensor_t *out, acc;
  HR_TRY(hr_reduce_mask(hr_input(k, 1), x->shape.rank, &mask));
  hr_reduce_shape(&x->shape, mask, r->keep_dims, &shape);
  if (hr_shape_count(&shape) == x->count && x->count > 0 && r->finish == NOTHING)
    return hr_output_alias(k, 0, 0, &shape); /* each stands alone */
  HR_TRY(hr_output(k, 0, &shape, &out));
  if (r->type == r->acc_type) return reduce_into(k, x, mask, out);
  HR_TRY(hr_temp(k, r->acc_type, &shape, &acc));
  hr_status_t status = reduce_into(k, x, mask, &acc);
  if (!status) r->narrow(acc.data, out->data, out->count);
  hr_tensor_release(&acc);
  return status;
}

/* 2. gradients */
#define X hr_grad_input(g, 0)
#define AXES hr_grad_input(g, 1)
static bool keeps(hr_grad_ctx_t* g) { return hr_attrs_bool(hr_grad_attrs(g), "keep_dims"); }

/* The axes as a mask, when they and the rank are known now. */
static bool known_axes(hr_grad_ctx_t* g, int* out_rank, uint32_t* out_mask) {
  const hr_tensor_t* axes = hr_grad_const(g, AXES);
  *out_rank = hr_grad_shape(g, X)->rank;
  if (!axes || *out_rank < 0 || *out_rank > HR_MAX_RANK) return false;
  hr_status_t status = hr_reduce_mask(axes, *out_rank, out_mask);
  if (status) hr_grad_fail(g, status);
  return !status;
}

/* The shape that keep_dims would have given, as a run-time value. */
static hr_value_t kept_shape(hr_grad_ctx_t* g) {
  hr_value_t shape = hr_emit_shape(g, X), rank = hr_emit1(g, "Size", shape), axes = hr_emit_cast(g, AXES, HR_I32);
  hr_value_t flat = hr_emit_reshape(g, axes, hr_emit_const_i32s(g, (const int64_t[]){-1}, 1));
  hr_value_t positive = hr_emit2(g, "FloorMod", hr_emit_add(g, flat, rank), rank);
  hr_value_t counts = hr_emit3(g, "UnsortedSegmentSum", hr_emit1(g, "OnesLike", positive), positive, rank);
  return hr_emit3(g, "SelectV2", hr_emit2(g, "Greater", counts, hr_emit_const_i32(g, 0)), hr_emit_const_i32(g, 1), shape);
}

/* `v`, shaped like the output, with the reduced axes put back at size 1. */
static hr_value_t with_axes(hr_grad_ctx_t* g, hr_value_t v) {
  int rank;
  uint32_t mask;
  if (keeps(g)) return v;
  if (!known_axes(g, &rank, &mask)) return hr_emit_reshape(g, v, kept_shape(g));
  const hr_pshape_t* x = hr_grad_shape(g, X);
  int64_t dims[HR_MAX_RANK];
  int open = 0;
  for (int i = 0; i < rank; ++i) open += (dims[i] = mask >> i & 1 ? 1 : x->dims[i]) < 0;
  if (open <= 1) return hr_emit_reshape(g, v, hr_emit_const_i32s(g, dims, rank));
  for (int i = 0; i < rank; ++i)
    if (mask >> i & 1) v = hr_emit2(g, "ExpandDims", v, hr_emit_const_i32(g, i));
  return v;
}

static hr_value_t spread(hr_grad_ctx_t* g, hr_value_t v) {
  const hr_value_t shape = hr_emit_shape(g, X); /* arguments are made in no order of their own */
  return hr_emit2(g, "BroadcastTo", with_axes(g, v), shape);
}

static void grad_sum(hr_grad_ctx_t* g) { hr_grad_give(g, 0, spread(g, hr_grad_upstream(g, 0))); }

static void grad_mean(hr_grad_ctx_t* g) { /* dy / number of elements, spread */
  hr_value_t dy = hr_grad_upstream(g, 0);
  const hr_pshape_t *x = hr_grad_shape(g, X), *y = hr_grad_shape(g, hr_grad_output(g, 0));
  hr_shape_t xs, ys;
  if (hr_pshape_to_shape(x, &xs) && hr_pshape_to_shape(y, &ys) && hr_shape_count(&ys) > 0) {
    hr_grad_give(g, 0, spread(g, hr_emit_div(g, dy, hr_emit_const_like(g, dy, (double)(hr_shape_count(&xs) / hr_shape_count(&ys))))));
    return;
  }
  hr_value_t many = hr_emit1(g, "Size", X), few = hr_emit1(g, "Size", hr_grad_output(g, 0));
  hr_value_t count = hr_emit2(g, "FloorDiv", many, hr_emit2(g, "Maximum", few, hr_emit_const_i32(g, 1)));
  hr_grad_give(g, 0, spread(g, hr_emit_div(g, dy, hr_emit_cast(g, count, hr_grad_dtype(g, dy)))));
}

static void grad_extreme(hr_grad_ctx_t* g) { /* shared out evenly among the elements that reach the extreme */
  hr_value_t y = with_axes(g, hr_grad_output(g, 0)), dy = with_axes(g, hr_grad_upstream(g, 0));
  hr_value_t hits = hr_emit_cast(g, hr_emit2(g, "Equal", y, X), hr_grad_dtype(g, dy));
  hr_value_t count = hr_emit_sum(g, hits, AXES, true);
  hr_grad_give(g, 0, hr_emit_mul(g, hr_emit_div(g, hits, count), dy));
}

static hr_value_t cumprod(hr_grad_ctx_t* g, hr_value_t v, bool reverse) {
  return hr_emit(g, "Cumprod", HR_VALUES(v, hr_emit_const_i32(g, 0)),
                 HR_ATTRS(hr_at_bool("exclusive", true), hr_at_bool("reverse", reverse)));
}

/* The product of all others, without dividing (an element may be 0): the reduced axes are brought to the front as one, products from the
 * left and from the right multiplied, and the axes put back. */
static void grad_prod(hr_grad_ctx_t* g) {
  hr_value_t zero = hr_emit_const_i32(g, 0), flat = hr_emit_const_i32s(g, (const int64_t[]){-1}, 1), rank = hr_emit1(g, "Rank", X);
  hr_value_t all = hr_emit3(g, "Range", zero, rank, hr_emit_const_i32(g, 1));
  hr_value_t axes = hr_emit2(g, "FloorMod", hr_emit_reshape(g, hr_emit_cast(g, AXES, HR_I32), flat), rank);
  hr_value_t others = hr_emit2(g, "ListDiff", all, axes);
  hr_value_t order = hr_emit3(g, "ConcatV2", axes, others, zero), back = hr_emit1(g, "InvertPermutation", order);
  hr_value_t front = hr_emit2(g, "Transpose", X, order), shape = hr_emit_shape(g, X);
  hr_value_t first = hr_emit2(g, "Prod", hr_emit3(g, "GatherV2", shape, axes, zero), zero);
  hr_value_t second = hr_emit2(g, "Prod", hr_emit3(g, "GatherV2", shape, others, zero), zero);
  hr_value_t matrix = hr_emit_reshape(g, front, hr_emit(g, "Pack", HR_VALUES(first, second), HR_NO_ATTRS));
  hr_value_t products = hr_emit_mul(g, hr_emit_conj(g, cumprod(g, matrix, false)), hr_emit_conj(g, cumprod(g, matrix, true)));
  hr_value_t placed = hr_emit2(g, "Transpose", hr_emit_reshape(g, products, hr_emit_shape(g, front)), back);
  hr_grad_give(g, 0, hr_emit_mul(g, hr_emit_reshape_like(g, placed, X), spread(g, hr_grad_upstream(g, 0))));
}

/* 3. definitions */
#define STEP_Mean STEP_Sum
#define KERNEL(Name, attr, mask)                  \
  HR_KERNELS({.where = {{attr, mask}},            \
              .host_inputs = 2,                   \
              .prepared_bytes = sizeof(reduce_t), \
              .prepare = reduce_prepare,          \
              .compute = reduce,                  \
              .arg = &row_##Name})
#define REDUCE(Name, allowed, mask, finish, gradient)                                                                        \
  static const row_t row_##Name = {STEP_##Name, finish};                                                                     \
  extern const hr_op_t hr_op_##Name;                                                                                         \
  const hr_op_t hr_op_##Name = {                                                                                             \
      .name = #Name, .sig = "input: T; reduction_indices: Tidx -> output: T",                                                \
      .attrs = "keep_dims: bool = false; T: type{" allowed "}; Tidx: type{int32,int64} = int32", .shape = hr_reduce_infer,   \
      .grad = grad_##gradient, KERNEL(Name, "T", mask), .doc = #Name " over the named axes", HR_HERE};
#define QUESTION(Name)                                                                                                       \
  static const row_t row_##Name = {STEP_##Name, NOTHING};                                                                    \
  extern const hr_op_t hr_op_##Name;                                                                                         \
  const hr_op_t hr_op_##Name = {                                                                                             \
      .name = #Name, .sig = "input: bool; reduction_indices: Tidx -> output: bool",                                          \
      .attrs = "keep_dims: bool = false; Tidx: type{int32,int64} = int32", .shape = hr_reduce_infer, KERNEL(Name, NULL, 0),  \
      .doc = #Name " of the bools along the named axes", HR_HERE};
#include "ops/reduce/no_rows.h"
#include "ops/reduce/reduce.def"
