/* SPDX-License-Identifier: Apache-2.0 */
/* Running results along an axis: Cumsum, Cumprod and CumulativeLogsumexp.
 *   y_i = x_0 + ... + x_i; exclusive: without x_i (the first is 0, 1 or -infinity); reverse: from the end.
 * half and bfloat16 run in float, each result rounded once. */
#include <complex.h>
#include <float.h>
#include <math.h>
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/elementwise/loops.h"

extern const hr_op_t hr_op_Cumsum, hr_op_Cumprod, hr_op_CumulativeLogsumexp;

/* 1. shape: the input's; the axis is a scalar inside the rank */
static hr_status_t infer(hr_infer_t* s) {
  const hr_pshape_t* x = hr_infer_input(s, 0);
  const hr_tensor_t* value = hr_infer_const(s, 1);
  int64_t wanted;
  int axis;
  HR_TRY(hr_infer_want_rank(s, 1, 0, NULL));
  if (value && x->rank >= 0) {
    HR_TRY(hr_tensor_scalar_i64(value, "axis", &wanted));
    HR_TRY(hr_status_note(hr_shape_axis(wanted, x->rank, &axis), "ScanOp: Expected scan axis in the range [%d, %d), but got %lld: ",
                          -x->rank, x->rank, (long long)wanted));
  }
  return hr_infer_same(s);
}

/* 2. kernel: one item is one block of neighbouring elements, walked along the axis together; x is read before y, which may be x, is written
 */
enum { BLOCK = 64 };
typedef struct {
  const void* x;
  void* y;
  int64_t axis_size, inner, blocks; /* blocks per outer position */
  bool exclusive, reverse;
} running_t;
typedef void (*running_loop_t)(const running_t* r, int64_t first, int64_t n);

/* log(exp a + exp b) without overflow; -infinity stands for log 0 where the row begins. */
static double log_sum_exp(double a, double b) {
  const double top = a > b ? a : b, low = a > b ? b : a;
  if (isnan(a) || isnan(b)) return NAN;
  return top == low && isinf(top) ? top : top + log1p(exp(low - top));
}

#define LOOP(name, T, A, get, put, begin, join)                                            \
  static void name(const running_t* r, int64_t first, int64_t n) {                         \
    const int64_t step = r->reverse ? -r->inner : r->inner;                                \
    const T* x = (const T*)r->x + first;                                                   \
    T* y = (T*)r->y + first;                                                               \
    A acc[BLOCK];                                                                          \
    for (int64_t j = 0; j < n; ++j) acc[j] = (A)(begin);                                   \
    for (int64_t i = 0, at = r->reverse ? (r->axis_size - 1) * r->inner : 0; i < r->axis_size; ++i, at += step) \
      for (int64_t j = 0; j < n; ++j) {                                                    \
        const A a = acc[j], b = get(x[at + j]), both = (A)(join);                          \
        y[at + j] = put(r->exclusive ? a : both);                                          \
        acc[j] = both;                                                                     \
      }                                                                                    \
  }
#define SAME(v) (v)
#define FROM_F16(v) hr_f16_to_f32((hr_f16_t){v})
#define TO_F16(v) hr_f16_from_f32(v).bits
#define FROM_BF16(v) hr_bf16_to_f32((hr_bf16_t){v})
#define TO_BF16(v) hr_bf16_from_f32(v).bits
#define FLOATS(op, low16, low_bf16, low32, low64, join)                                    \
  LOOP(op##_f16, uint16_t, float, FROM_F16, TO_F16, low16, join)                           \
  LOOP(op##_bf16, uint16_t, float, FROM_BF16, TO_BF16, low_bf16, join)                     \
  LOOP(op##_f32, float, float, SAME, SAME, low32, join)                                    \
  LOOP(op##_f64, double, double, SAME, SAME, low64, join)
#define INTEGER(name, T, U, begin, join) LOOP(name, T, U, (U), (T), begin, join) /* arithmetic wraps in the unsigned twin */
#define NUMBERS(op, begin, join, wide_join)                                                \
  FLOATS(op, begin, begin, begin, begin, join)                                             \
  INTEGER(op##_i8, int8_t, uint8_t, begin, join)                                           \
  INTEGER(op##_u8, uint8_t, uint8_t, begin, join)                                          \
  INTEGER(op##_i16, int16_t, uint16_t, begin, wide_join)                                   \
  INTEGER(op##_u16, uint16_t, uint16_t, begin, wide_join)                                  \
  INTEGER(op##_i32, int32_t, uint32_t, begin, join)                                        \
  INTEGER(op##_u32, uint32_t, uint32_t, begin, join)                                       \
  INTEGER(op##_i64, int64_t, uint64_t, begin, join)                                        \
  INTEGER(op##_u64, uint64_t, uint64_t, begin, join)                                       \
  LOOP(op##_c64, float complex, float complex, SAME, SAME, begin, join)                    \
  LOOP(op##_c128, double complex, double complex, SAME, SAME, begin, join)
NUMBERS(sum, 0, a + b, a + b)
NUMBERS(product, 1, a * b, (uint32_t)a * (uint32_t)b) /* uint16 times itself would overflow int */
FLOATS(logs, -INFINITY, -INFINITY, -INFINITY, -INFINITY, log_sum_exp((double)a, (double)b))

#define FLOAT_ROW(op) [HR_F16] = op##_f16, [HR_BF16] = op##_bf16, [HR_F32] = op##_f32, [HR_F64] = op##_f64
#define NUMBER_ROW(op)                                                                                                               \
  FLOAT_ROW(op), [HR_I8] = op##_i8, [HR_U8] = op##_u8, [HR_I16] = op##_i16, [HR_U16] = op##_u16, [HR_I32] = op##_i32, [HR_U32] = op##_u32, \
  [HR_I64] = op##_i64, [HR_U64] = op##_u64, [HR_C64] = op##_c64, [HR_C128] = op##_c128
typedef running_loop_t running_table_t[HR_DTYPE_COUNT];
static const running_table_t sums = {NUMBER_ROW(sum)}, products = {NUMBER_ROW(product)}, log_sums = {FLOAT_ROW(logs)};

typedef struct { running_t r; running_loop_t loop; } span_t;
static hr_status_t running_chunk(void* arg, int64_t begin, int64_t end, int chunk) {
  const span_t* s = arg;
  const running_t* r = &s->r;
  (void)chunk;
  for (int64_t t = begin; t < end; ++t) {
    const int64_t at = t % r->blocks * BLOCK, left = r->inner - at;
    s->loop(r, t / r->blocks * r->axis_size * r->inner + at, left < BLOCK ? left : BLOCK);
  }
  return NULL;
}

typedef struct { bool exclusive, reverse; } direction_t;
static hr_status_t running_prepare(hr_prepare_ctx_t* p, void* prepared) {
  direction_t* d = prepared;
  d->exclusive = hr_attrs_bool(p->attrs, "exclusive");
  d->reverse = hr_attrs_bool(p->attrs, "reverse");
  return NULL;
}

static hr_status_t running(hr_kernel_ctx_t* k) {
  const direction_t* d = hr_prepared(k);
  const hr_tensor_t* x = hr_input(k, 0);
  const hr_dtype_t type = x->dtype;
  hr_tensor_t* y;
  int64_t wanted;
  int axis;
  HR_TRY(hr_want_scalar(k, 1, "axis"));
  HR_TRY(hr_tensor_scalar_i64(hr_input(k, 1), "axis", &wanted));
  HR_TRY(hr_status_note(hr_shape_axis(wanted, x->shape.rank, &axis), "ScanOp: Expected scan axis in the range [%d, %d), but got %lld: ",
                        -x->shape.rank, x->shape.rank, (long long)wanted));
  const hr_shape_t shape = x->shape;
  HR_TRY(hr_output_take(k, 0, 0, &shape, &y));
  if (y->count == 0) return NULL;
  span_t s = {{x->data, y->data, shape.dims[axis], hr_shape_count_range(&shape, axis + 1, shape.rank), 0, d->exclusive, d->reverse},
              (*(const running_table_t*)hr_kernel_arg(k))[type]};
  s.r.blocks = (s.r.inner + BLOCK - 1) / BLOCK;
  const int64_t width = s.r.inner < BLOCK ? s.r.inner : BLOCK;
  return hr_parallel(k, hr_shape_count_range(&shape, 0, axis) * s.r.blocks, (double)(s.r.axis_size * width) + 10, running_chunk, &s);
}

/* 3. gradients */
#define X hr_grad_input(g, 0)
#define AXIS hr_grad_input(g, 1)
static hr_value_t again(hr_grad_ctx_t* g, const char* op, hr_value_t v, bool turn) { /* the op along the same axis, turned round or not */
  const bool exclusive = hr_attrs_bool(hr_grad_attrs(g), "exclusive"), reverse = hr_attrs_bool(hr_grad_attrs(g), "reverse");
  return hr_emit(g, op, HR_VALUES(v, AXIS), HR_ATTRS(hr_at_bool("exclusive", exclusive), hr_at_bool("reverse", reverse != turn)));
}
static void grad_cumsum(hr_grad_ctx_t* g) { hr_grad_give(g, 0, again(g, "Cumsum", hr_grad_upstream(g, 0), true)); }

static void grad_cumprod(
    hr_grad_ctx_t* g) { /* the running sum from the other side of y dy, over x. As TensorFlow: 0 where x is 0, and no conjugates */
  hr_value_t back = again(g, "Cumsum", hr_emit_mul(g, hr_grad_output(g, 0), hr_grad_upstream(g, 0)), true);
  hr_grad_give(g, 0, hr_emit2(g, "DivNoNan", back, X));
}

/* With positive and negative parts of dy apart, each in logarithms: exp(x + running logsumexp of (log dy - y)). */
static hr_value_t log_part(hr_grad_ctx_t* g, hr_value_t dy) {
  const hr_dtype_t type = hr_grad_dtype(g, dy);
  const double lowest = type == HR_F16 ? -65504 : type == HR_BF16 ? -0x1.fep127 : type == HR_F32 ? -FLT_MAX : -DBL_MAX;
  hr_value_t zero = hr_emit_const_like(g, dy, 0);
  hr_value_t logs = hr_emit3(g, "SelectV2", hr_emit2(g, "Greater", dy, zero), hr_emit1(g, "Log", dy), hr_emit_const_like(g, dy, lowest));
  hr_value_t run = again(g, "CumulativeLogsumexp", hr_emit_sub(g, logs, hr_grad_output(g, 0)), true);
  return hr_emit1(g, "Exp", hr_emit_add(g, run, X));
}
static void grad_logs(hr_grad_ctx_t* g) {
  hr_value_t dy = hr_grad_upstream(g, 0);
  hr_grad_give(g, 0, hr_emit_sub(g, log_part(g, dy), log_part(g, hr_emit_neg(g, dy))));
}

/* 4. definitions */
#define ALL \
  "float,double,int32,uint8,int16,int8,complex64,int64,qint8,quint8,qint32,bfloat16,qint16,quint16,uint16,complex128,half,uint32,uint64"
#define RUNNING(Name, allowed, mask, table, gradient, text)                                                                          \
  const hr_op_t hr_op_##Name = {                                                                                                     \
      .name = #Name, .sig = "x: T; axis: Tidx -> out: T",                                                                            \
      .attrs = "exclusive: bool = false; reverse: bool = false; T: type{" allowed "}; Tidx: type{int32,int64} = int32", .shape = infer, \
      .grad = gradient,                                                                                                              \
      HR_KERNELS({.where = {{"T", mask}}, .host_inputs = 2, .prepared_bytes = sizeof(direction_t), .prepare = running_prepare,       \
                  .compute = running, .arg = &table}),                                                                               \
      .doc = text, HR_HERE};
RUNNING(Cumsum, ALL, HR_M_NUMBER, sums, grad_cumsum, "running sums along an axis")
RUNNING(Cumprod, ALL, HR_M_NUMBER, products, grad_cumprod, "running products along an axis")
RUNNING(CumulativeLogsumexp, "bfloat16,half,float,double", HR_M_REAL_FLOAT, log_sums, grad_logs, "running log(sum(exp x)) along an axis")
