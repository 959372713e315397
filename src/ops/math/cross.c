/* SPDX-License-Identifier: Apache-2.0 */
/* Cross: the cross product of vectors of three along the last axis. Integers wrap; half and bfloat16 are computed in float. */
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "op/kernel_ctx.h"

extern const hr_op_t hr_op_Cross;

/* 1. shape */
static hr_status_t infer(hr_infer_t* s) {
  const hr_pshape_t *a, *b, *shape;
  int64_t last;
  HR_TRY(hr_infer_want_rank_at_least(s, 0, 1, &a));
  HR_TRY(hr_infer_want_rank_at_least(s, 1, 1, &b));
  HR_TRY(hr_infer_merge(s, a, b, &shape));
  HR_TRY(hr_status_note(hr_infer_merge_dim(hr_infer_dim(shape, -1), 3, &last), "vectors along the last axis: "));
  hr_infer_set(s, 0, shape);
  return NULL;
}

/* 2. kernel */
typedef void (*cross_fn)(const void* a, const void* b, void* y, int64_t count);

/* Unsigned arithmetic for integers of either sign: the low bits are the same, and nothing overflows. */
#define CROSS(name, T, W, WIDE, NARROW)                                              \
  static void name(const void* a_, const void* b_, void* y_, int64_t count) {        \
    const T *a = a_, *b = b_;                                                        \
    T* y = y_;                                                                       \
    for (; count > 0; --count, a += 3, b += 3, y += 3) {                             \
      const W u0 = WIDE(a[0]), u1 = WIDE(a[1]), u2 = WIDE(a[2]);                     \
      const W v0 = WIDE(b[0]), v1 = WIDE(b[1]), v2 = WIDE(b[2]);                     \
      y[0] = NARROW(u1 * v2 - u2 * v1);                                              \
      y[1] = NARROW(u2 * v0 - u0 * v2);                                              \
      y[2] = NARROW(u0 * v1 - u1 * v0);                                              \
    }                                                                                \
  }
#define SAME(x) (x)
#define LOW8(x) ((uint8_t)(x))
#define LOW16(x) ((uint16_t)(x))
CROSS(cross_f32, float, float, SAME, SAME)
CROSS(cross_f64, double, double, SAME, SAME)
CROSS(cross_f16, hr_f16_t, float, hr_f16_to_f32, hr_f16_from_f32)
CROSS(cross_bf16, hr_bf16_t, float, hr_bf16_to_f32, hr_bf16_from_f32)
CROSS(cross_8, uint8_t, uint32_t, SAME, LOW8)
CROSS(cross_16, uint16_t, uint32_t, SAME, LOW16)
CROSS(cross_32, uint32_t, uint32_t, SAME, SAME)
CROSS(cross_64, uint64_t, uint64_t, SAME, SAME)

static cross_fn cross_of(hr_dtype_t t) {
  switch (t) {
    case HR_F32: return cross_f32;
    case HR_F64: return cross_f64;
    case HR_F16: return cross_f16;
    case HR_BF16: return cross_bf16;
    default: break;
  }
  const size_t size = hr_dtype_size(t);
  return size == 1 ? cross_8 : size == 2 ? cross_16 : size == 4 ? cross_32 : cross_64;
}

typedef struct {
  cross_fn fn;
  int64_t bytes; /* of a vector */
  const char *a, *b;
  char* y;
} cross_job_t;

static hr_status_t cross_part(void* arg, int64_t begin, int64_t end, int chunk) {
  (void)chunk;
  const cross_job_t* j = arg;
  j->fn(j->a + begin * j->bytes, j->b + begin * j->bytes, j->y + begin * j->bytes, end - begin);
  return NULL;
}

static hr_status_t cross(hr_kernel_ctx_t* k) {
  const hr_tensor_t *a = hr_input(k, 0), *b = hr_input(k, 1);
  char text[HR_SHAPE_TEXT];
  hr_tensor_t* y;
  HR_TRY(hr_want_same_shape(k, 0, 1));
  HR_TRY(hr_want_rank_at_least(k, 0, "Input must be at least 1D: ", 1));
  if (a->shape.dims[a->shape.rank - 1] != 3)
    return HR_ERROR(FAILED_PRECONDITION, "Cross-products are only defined for 3-element vectors: %s", hr_shape_format(&a->shape, text));
  HR_TRY(hr_output(k, 0, &a->shape, &y));
  cross_job_t j = {cross_of(a->dtype), 3 * (int64_t)hr_dtype_size(a->dtype), a->data, b->data, y->data};
  return hr_parallel(k, y->count / 3, 4.0, cross_part, &j);
}

/* 3. gradient: (a x b) dy = a (b x dy) = b (dy x a) */
static void grad_cross(hr_grad_ctx_t* g) {
  hr_value_t a = hr_grad_input(g, 0), b = hr_grad_input(g, 1), dy = hr_grad_upstream(g, 0);
  if (hr_grad_wanted(g, 0)) hr_grad_give(g, 0, hr_emit2(g, "Cross", b, dy));
  if (hr_grad_wanted(g, 1)) hr_grad_give(g, 1, hr_emit2(g, "Cross", dy, a));
}

/* 4. definition */
const hr_op_t hr_op_Cross = {.name = "Cross",
                             .sig = "a: T; b: T -> product: T",
                             .attrs = "T: type{float,double,int32,uint8,int16,int8,int64,bfloat16,uint16,half,uint32,uint64}",
                             .shape = infer,
                             .grad = grad_cross,
                             HR_KERNELS(HR_CPU("T", HR_M_REAL, cross)),
                             .doc = "cross products of vectors of three",
                             HR_HERE};
