/* SPDX-License-Identifier: Apache-2.0 */
/* ArgMax and ArgMin: the index along an axis of the largest (smallest) element; of equal ones the first. NaN never wins: an element does
 * when it is greater (less) than the best so far, which starts at minus (plus) infinity where the first is NaN. */
#include <math.h>
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/elementwise/loops.h"

extern const hr_op_t hr_op_ArgMax, hr_op_ArgMin;

/* 1. shape: the input's without the axis */
static hr_status_t infer(hr_infer_t* s) {
  const hr_pshape_t* x = hr_infer_input(s, 0);
  const hr_tensor_t* axis_value = hr_infer_const(s, 1);
  int64_t wanted, dims[HR_MAX_RANK];
  const hr_pshape_t* open;
  int axis;
  HR_TRY(hr_infer_want_rank(s, 1, 0, NULL));
  if (x->rank < 0 || x->rank > HR_MAX_RANK) return NULL;
  if (!axis_value) {
    HR_TRY(hr_infer_unknown_of_rank(s, x->rank > 0 ? x->rank - 1 : 0, &open));
    hr_infer_set(s, 0, open);
    return NULL;
  }
  HR_TRY(hr_tensor_scalar_i64(axis_value, "dimension", &wanted));
  HR_TRY(hr_shape_axis(wanted, x->rank, &axis));
  for (int i = 0, n = 0; i < x->rank; ++i)
    if (i != axis) dims[n++] = x->dims[i];
  return hr_infer_set_dims(s, 0, x->rank - 1, dims);
}

/* 2. kernel: one item is one block of at most BLOCK neighbouring outputs, walked along the axis together */
enum { BLOCK = 256 };
typedef struct {
  const void* x;
  int64_t axis_size, inner, blocks; /* blocks per outer position */
  int64_t* best;                    /* the indices, one an output */
} arg_t;
typedef void (*arg_loop_t)(const arg_t* a, int64_t from, int64_t to, int64_t n);

#define START(v, worst) ((v) == (v) ? (v) : (worst))
/* x[from + i * inner + j], j < n: the winner's i for each j, to best[to + j] */
#define LOOP(name, T, V, get, worst, wins)                                                      \
  static void name(const arg_t* a, int64_t from, int64_t to, int64_t n) {                  \
    const T* x = (const T*)a->x + from;                                                    \
    int64_t* best = a->best + to;                                                          \
    V top[BLOCK];                                                                          \
    for (int64_t j = 0; j < n; ++j) top[j] = START(get(x[j]), worst), best[j] = 0;         \
    for (int64_t i = 1; i < a->axis_size; ++i) {                                           \
      x += a->inner;                                                                       \
      for (int64_t j = 0; j < n; ++j) {                                                    \
        const V v = get(x[j]);                                                             \
        const bool won = v wins top[j];                                                    \
        top[j] = won ? v : top[j];                                                         \
        best[j] = won ? i : best[j];                                                       \
      }                                                                                    \
    }                                                                                      \
  }
/* A row of its own: the extreme first (a loop that vectorizes), then its first place. */
#define ROW(name, T, V, get, worst, wins)                                                       \
  static void name##_row(const arg_t* a, int64_t from, int64_t to, int64_t n) {            \
    const T* x = (const T*)a->x + from;                                                    \
    (void)n;                                                                               \
    const V start = START(get(x[0]), worst);                                               \
    V tops[16];                                                                            \
    int64_t i = 0, found = 0;                                                              \
    for (int j = 0; j < 16; ++j) tops[j] = start;                                          \
    for (; i + 16 <= a->axis_size; i += 16)                                                \
      for (int j = 0; j < 16; ++j) {                                                       \
        const V v = get(x[i + j]);                                                         \
        tops[j] = v wins tops[j] ? v : tops[j];                                            \
      }                                                                                    \
    for (; i < a->axis_size; ++i) {                                                        \
      const V v = get(x[i]);                                                               \
      tops[0] = v wins tops[0] ? v : tops[0];                                              \
    }                                                                                      \
    for (int j = 1; j < 16; ++j) tops[0] = tops[j] wins tops[0] ? tops[j] : tops[0];       \
    if (tops[0] wins start)                                                                \
      while (get(x[found]) != tops[0]) ++found;                                            \
    a->best[to] = found;                                                                   \
  }
#define SAME(v) (v)
#define HALF(v) hr_f16_to_f32((hr_f16_t){v})
#define BRAIN(v) hr_bf16_to_f32((hr_bf16_t){v})
#define BOTH(name, T, V, get, least, most)                                    \
  LOOP(name##_max, T, V, get, least, >) ROW(name##_max, T, V, get, least, >)  \
  LOOP(name##_min, T, V, get, most, <) ROW(name##_min, T, V, get, most, <)
BOTH(f32, float, float, SAME, -(float)INFINITY, (float)INFINITY)
BOTH(f64, double, double, SAME, -(float)INFINITY, (float)INFINITY)
BOTH(i8, int8_t, int8_t, SAME, 0, 0)
BOTH(u8, uint8_t, uint8_t, SAME, 0, 0)
BOTH(i16, int16_t, int16_t, SAME, 0, 0)
BOTH(u16, uint16_t, uint16_t, SAME, 0, 0)
BOTH(i32, int32_t, int32_t, SAME, 0, 0)
BOTH(u32, uint32_t, uint32_t, SAME, 0, 0)
BOTH(i64, int64_t, int64_t, SAME, 0, 0)
BOTH(u64, uint64_t, uint64_t, SAME, 0, 0)
BOTH(f16, uint16_t, float, HALF, -(float)INFINITY, (float)INFINITY)
BOTH(bf16, uint16_t, float, BRAIN, -(float)INFINITY, (float)INFINITY)

typedef arg_loop_t arg_table_t[HR_DTYPE_COUNT][2]; /* by type; [1]: rows (inner size 1) */
#define ENTRY(ID, name) [HR_##ID] = {name, name##_row},
static const arg_table_t max_loops = {ENTRY(F32, f32_max) ENTRY(F64, f64_max) ENTRY(I8, i8_max) ENTRY(U8, u8_max) ENTRY(I16, i16_max)
                                          ENTRY(U16, u16_max) ENTRY(I32, i32_max) ENTRY(U32, u32_max) ENTRY(I64, i64_max)
                                              ENTRY(U64, u64_max) ENTRY(F16, f16_max) ENTRY(BF16, bf16_max) ENTRY(BOOL, u8_max)};
static const arg_table_t min_loops = {ENTRY(F32, f32_min) ENTRY(F64, f64_min) ENTRY(I8, i8_min) ENTRY(U8, u8_min) ENTRY(I16, i16_min)
                                          ENTRY(U16, u16_min) ENTRY(I32, i32_min) ENTRY(U32, u32_min) ENTRY(I64, i64_min)
                                              ENTRY(U64, u64_min) ENTRY(F16, f16_min) ENTRY(BF16, bf16_min) ENTRY(BOOL, u8_min)};

typedef struct { arg_t a; arg_loop_t loop; } span_t;
static hr_status_t arg_chunk(void* arg, int64_t begin, int64_t end, int chunk) {
  const span_t* s = arg;
  const arg_t* a = &s->a;
  (void)chunk;
  for (int64_t t = begin; t < end; ++t) {
    const int64_t outer = t / a->blocks, at = t % a->blocks * BLOCK, left = a->inner - at;
    s->loop(a, outer * a->axis_size * a->inner + at, outer * a->inner + at, left < BLOCK ? left : BLOCK);
  }
  return NULL;
}

static void store_indices(const int64_t* from, const hr_tensor_t* to) { /* an index past the output type wraps, as TensorFlow's */
  for (int64_t i = 0; i < to->count; ++i) {
    if (to->dtype == HR_I32) ((int32_t*)to->data)[i] = (int32_t)from[i];
    else ((uint16_t*)to->data)[i] = (uint16_t)from[i];
  }
}

static hr_status_t arg_extreme(hr_kernel_ctx_t* k) {
  const hr_tensor_t* x = hr_input(k, 0);
  hr_shape_t shape = hr_shape_scalar();
  hr_tensor_t *y, wide;
  int64_t wanted;
  int axis;
  HR_TRY(hr_want_scalar(k, 1, "dim must be a scalar, but received tensor of shape: "));
  HR_TRY(hr_tensor_scalar_i64(hr_input(k, 1), "dimension", &wanted));
  HR_TRY(hr_shape_axis(wanted, x->shape.rank, &axis));
  for (int i = 0; i < x->shape.rank; ++i)
    if (i != axis) shape.dims[shape.rank++] = x->shape.dims[i];
  char text[HR_SHAPE_TEXT];
  if (x->shape.dims[axis] == 0)
    return HR_ERROR(INVALID_ARGUMENT, "Reduction axis %d is empty in shape %s", axis, hr_shape_format(&x->shape, text));
  HR_TRY(hr_output(k, 0, &shape, &y));
  if (y->count == 0) return NULL;
  const bool direct = y->dtype == HR_I64;
  if (direct) wide = *y;
  else HR_TRY(hr_temp(k, HR_I64, &shape, &wide));
  span_t s = {{x->data, x->shape.dims[axis], hr_shape_count_range(&x->shape, axis + 1, x->shape.rank), 0, wide.data}, NULL};
  s.a.blocks = (s.a.inner + BLOCK - 1) / BLOCK;
  s.loop = (*(const arg_table_t*)hr_kernel_arg(k))[x->dtype][s.a.inner == 1];
  const int64_t width = s.a.inner < BLOCK ? s.a.inner : BLOCK;
  hr_status_t status =
      hr_parallel(k, hr_shape_count_range(&x->shape, 0, axis) * s.a.blocks, 0.5 * (double)(s.a.axis_size * width) + 10, arg_chunk, &s);
  if (!direct) {
    if (!status) store_indices(wide.data, y);
    hr_tensor_release(&wide);
  }
  return status;
}

/* 3. gradient: none flows through an index */
static void grad_flat(hr_grad_ctx_t* g) { (void)g; }

/* 4. definitions */
#define TYPES "float,double,int32,uint8,int16,int8,int64,bfloat16,uint16,half,uint32,uint64,qint8,quint8,qint32,qint16,quint16,bool"
#define ARG(Name, index_types, output_types, table, text)                                                              \
  const hr_op_t hr_op_##Name = {                                                                                       \
      .name = #Name,                                                                                                   \
      .sig = "input: T; dimension: Tidx -> output: output_type",                                                       \
      .attrs = "T: type{" TYPES "}; Tidx: type{" index_types "} = int32; output_type: type{" output_types "} = int64", \
      .shape = infer,                                                                                                  \
      .grad = grad_flat,                                                                                               \
      HR_KERNELS({.where = {{"T", HR_M_REAL | HR_M(BOOL)}}, .host_inputs = 2, .compute = arg_extreme, .arg = &table}), \
      .doc = text,                                                                                                     \
      HR_HERE};
ARG(ArgMax, "int16,int32,int64", "int16,uint16,int32,int64", max_loops, "index of the largest element along an axis, the first of equals")
ARG(ArgMin, "int32,int64", "int32,int64", min_loops, "index of the smallest element along an axis, the first of equals")
