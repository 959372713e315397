/* SPDX-License-Identifier: Apache-2.0 */
/* Cast: y[i] = (DstT)x[i]. Floats to integers drop the fraction; anything to bool asks whether it is not zero; complex numbers give their
 * real part. half, bfloat16, 8-bit floats and complex types go block by block through float or double; with Truncate a narrower float drops
 * bits instead of rounding. Integers of 4 bits lie in a byte each, which holds their value: larger ones wrap. */
#include "ops/elementwise/cast.h"
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/elementwise/float8.h"

extern const hr_op_t hr_op_Cast;

/* 1. kernel */
typedef struct {
  hr_dtype_t from, to;
  hr_dtype_t from_c, to_c; /* the C number types in between */
  hr_loop1_t middle;       /* from_c to to_c */
  bool truncate;
} cast_t;

static hr_dtype_t c_type(hr_dtype_t t) { /* the C number type that holds every value of t */
  switch (t) {
    case HR_F16: case HR_BF16: case HR_C64: return HR_F32;
    case HR_F8_E5M2: case HR_F8_E4M3FN: case HR_F8_E4M3FNUZ: case HR_F8_E4M3B11FNUZ: case HR_F8_E5M2FNUZ: return HR_F32;
    case HR_C128: return HR_F64;
    case HR_QI8: case HR_I4: return HR_I8;
    case HR_QU8: case HR_U4: return HR_U8;
    case HR_QI16: return HR_I16;
    case HR_QU16: return HR_U16;
    case HR_QI32: return HR_I32;
    default: return t;
  }
}

static hr_status_t cast_prepare(hr_prepare_ctx_t* p, void* prepared) {
  cast_t* c = prepared;
  c->from = hr_attrs_type(p->attrs, "SrcT");
  c->to = hr_attrs_type(p->attrs, "DstT");
  c->truncate =
      hr_attrs_bool(p->attrs, "Truncate") && !(c->from == HR_F64 && c->to == HR_BF16); /* TensorFlow rounds that pair all the same */
  c->from_c = c_type(c->from);
  c->to_c = hr_dtype_in(c->to, HR_M_FLOAT8) && c->from_c == HR_F64 ? HR_F64 : c_type(c->to); /* rounded once */
  c->middle = (*HR_ISA_PICK(hr_cast_vec))[c->from_c][c->to_c];
  if (c->middle || c->from == c->to) return NULL;
  return HR_ERROR(UNIMPLEMENTED, "cast %s to %s is not supported", hr_dtype_name((int)c->from), hr_dtype_name((int)c->to));
}

typedef union {
  float f32[2 * HR_LOOP_BLOCK];
  double f64[2 * HR_LOOP_BLOCK];
  uint64_t any[HR_LOOP_BLOCK];
  uint8_t bytes[HR_LOOP_BLOCK];
} block_t;
#define THROUGH_BLOCKS (HR_M(F16) | HR_M(BF16) | HR_M_FLOAT8 | HR_M_COMPLEX)
#define NIBBLES (HR_M(I4) | HR_M(U4))

/* n elements of `from` as elements of from_c. */
static const void* unpack(const cast_t* c, const void* xs, int64_t at, int64_t n, block_t* block) {
  switch (c->from) {
    case HR_F16: case HR_BF16:
      hr_loop_widen(c->from == HR_BF16, (const uint16_t*)xs + at, block->f32, n);
      return block;
    case HR_F8_E5M2: case HR_F8_E4M3FN: case HR_F8_E4M3FNUZ: case HR_F8_E4M3B11FNUZ: case HR_F8_E5M2FNUZ:
      hr_float8_decode(c->from, (const uint8_t*)xs + at, block->f32, n);
      return block;
    case HR_C64:
      for (int64_t i = 0; i < n; ++i) block->f32[i] = ((const hr_c64_t*)xs)[at + i].re;
      return block;
    case HR_C128:
      for (int64_t i = 0; i < n; ++i) block->f64[i] = ((const hr_c128_t*)xs)[at + i].re;
      return block;
    default: return (const char*)xs + (size_t)at * hr_dtype_size(c->from);
  }
}

static void truncate_narrow(bool bf16, float* x, int64_t n) { /* toward zero: the bits that the narrow type lacks are cleared */
  for (int64_t i = 0; i < n; ++i) {
    uint32_t u;
    memcpy(&u, &x[i], 4);
    if ((u & 0x7fffffffu) <= 0x7f800000u) u &= bf16 ? 0xffff0000u : 0xffffe000u;
    memcpy(&x[i], &u, 4);
  }
}

static void pack_float8(const cast_t* c, block_t* block, uint8_t* ys, int64_t n) {
  if (c->to_c == HR_F32)
    for (int64_t i = n - 1; i >= 0; --i)
      block->f64[i] = (double)block->f32[i]; /* from the end: each float is read before doubles reach it */
  if (c->truncate) hr_float8_truncate(c->to, block->f64, n);
  hr_float8_encode(c->to, block->f64, ys, n);
}

/* n elements of to_c from the block as elements of `to`. */
static void pack(const cast_t* c, block_t* block, void* ys, int64_t at, int64_t n) {
  switch (c->to) {
    case HR_F16: case HR_BF16:
      if (c->truncate) truncate_narrow(c->to == HR_BF16, block->f32, n);
      hr_loop_narrow(c->to == HR_BF16, block->f32, (uint16_t*)ys + at, n);
      break;
    case HR_F8_E5M2: case HR_F8_E4M3FN: case HR_F8_E4M3FNUZ: case HR_F8_E4M3B11FNUZ: case HR_F8_E5M2FNUZ:
      pack_float8(c, block, (uint8_t*)ys + at, n);
      break;
    case HR_I4:
      for (int64_t i = 0; i < n; ++i) ((int8_t*)ys)[at + i] = (int8_t)((block->bytes[i] & 15) - (block->bytes[i] & 8) * 2);
      break;
    case HR_U4:
      for (int64_t i = 0; i < n; ++i) ((uint8_t*)ys)[at + i] = block->bytes[i] & 15;
      break;
    case HR_C64:
      for (int64_t i = 0; i < n; ++i) ((hr_c64_t*)ys)[at + i] = (hr_c64_t){block->f32[i], 0};
      break;
    default:
      for (int64_t i = 0; i < n; ++i) ((hr_c128_t*)ys)[at + i] = (hr_c128_t){block->f64[i], 0};
      break;
  }
}

typedef struct { const cast_t* c; const void* x; void* y; } span_t;
static hr_status_t direct_chunk(void* arg, int64_t begin, int64_t end, int chunk) {
  const span_t* s = arg;
  (void)chunk;
  s->c->middle((const char*)s->x + (size_t)begin * hr_dtype_size(s->c->from), (char*)s->y + (size_t)begin * hr_dtype_size(s->c->to),
               end - begin);
  return NULL;
}
static hr_status_t block_chunk(void* arg, int64_t begin, int64_t end, int chunk) {
  const span_t* s = arg;
  const cast_t* c = s->c;
  const bool packs = c->to != c->to_c && hr_dtype_in(c->to, THROUGH_BLOCKS | NIBBLES);
  block_t in, out;
  (void)chunk;
  for (int64_t i = begin; i < end; i += HR_LOOP_BLOCK) {
    const int64_t n = end - i < HR_LOOP_BLOCK ? end - i : HR_LOOP_BLOCK;
    const void* xs = unpack(c, s->x, i, n, &in);
    c->middle(xs, packs ? (void*)&out : (char*)s->y + (size_t)i * hr_dtype_size(c->to), n);
    if (packs) pack(c, &out, s->y, i, n);
  }
  return NULL;
}
/* complex to complex keeps both parts */
static void complex_parts(const cast_t* c, const void* x, void* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    if (c->from == HR_C64) ((hr_c128_t*)y)[i] = (hr_c128_t){((const hr_c64_t*)x)[i].re, ((const hr_c64_t*)x)[i].im};
    else ((hr_c64_t*)y)[i] = (hr_c64_t){(float)((const hr_c128_t*)x)[i].re, (float)((const hr_c128_t*)x)[i].im};
  }
}
static void real_is_not_zero(const cast_t* c, const void* x, bool* y, int64_t n) { /* as to other types, the imaginary part is dropped */
  for (int64_t i = 0; i < n; ++i) y[i] = c->from == HR_C64 ? ((const hr_c64_t*)x)[i].re != 0 : ((const hr_c128_t*)x)[i].re != 0;
}

static hr_status_t cast(hr_kernel_ctx_t* k) {
  const cast_t* c = hr_prepared(k);
  const hr_tensor_t* x = hr_input(k, 0);
  hr_tensor_t* y;
  if (c->from == c->to) {
    hr_output_share(k, 0, x);
    return NULL;
  }
  HR_TRY(hr_output(k, 0, &x->shape, &y));
  if (hr_dtype_in(c->from, HR_M_COMPLEX) && hr_dtype_in(c->to, HR_M_COMPLEX | HR_M(BOOL))) {
    if (c->to == HR_BOOL) real_is_not_zero(c, x->data, y->data, x->count);
    else complex_parts(c, x->data, y->data, x->count);
    return NULL;
  }
  span_t s = {c, x->data, y->data};
  const bool blocks = hr_dtype_in(c->from, THROUGH_BLOCKS) || hr_dtype_in(c->to, THROUGH_BLOCKS | NIBBLES);
  return hr_parallel(k, x->count, 0.6, blocks ? block_chunk : direct_chunk, &s);
}

/* 2. gradient: dy cast back, between floating and complex types */
static void grad_cast(hr_grad_ctx_t* g) {
  const hr_dtypes_t smooth = HR_M_REAL_FLOAT | HR_M_COMPLEX;
  const hr_dtype_t from = hr_attrs_type(hr_grad_attrs(g), "SrcT"), to = hr_attrs_type(hr_grad_attrs(g), "DstT");
  if (hr_dtype_in(from, smooth) && hr_dtype_in(to, smooth)) hr_grad_give(g, 0, hr_emit_cast(g, hr_grad_upstream(g, 0), from));
}

/* 3. definition */
const hr_op_t hr_op_Cast = {.name = "Cast",
                            .sig = "x: SrcT -> y: DstT",
                            .attrs = "SrcT: type; DstT: type; Truncate: bool = false",
                            .shape = hr_infer_same,
                            .grad = grad_cast,
                            HR_KERNELS({.prepared_bytes = sizeof(cast_t), .prepare = cast_prepare, .compute = cast}),
                            .doc = "each element converted to another type",
                            HR_HERE};
