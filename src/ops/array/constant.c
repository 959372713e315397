/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors made from attrs or from sizes: Const, Fill, ZerosLike, OnesLike. The executor hands a Const's tensor out without running it. */
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "op/kernel_ctx.h"
#include "ops/flow/variant_math.h"

extern const hr_op_t hr_op_Const, hr_op_Fill, hr_op_ZerosLike, hr_op_OnesLike;

/* 1. shapes */
static hr_status_t infer_const(hr_infer_t* s) {
  const hr_node_attrs_t* attrs = hr_infer_attrs(s);
  const hr_tensor_t* value = hr_attrs_tensor(attrs, "value");
  if (value->dtype != hr_attrs_type(attrs, "dtype"))
    return HR_ERROR(INVALID_ARGUMENT, "attr 'value' is of type %s, attr 'dtype' says %s", hr_dtype_name((int)value->dtype),
                    hr_dtype_name((int)hr_attrs_type(attrs, "dtype")));
  return hr_infer_set_dims(s, 0, value->shape.rank, value->shape.dims);
}

static hr_status_t infer_fill(hr_infer_t* s) {
  HR_TRY(hr_infer_want_rank(s, 0, 1, NULL));
  HR_TRY(hr_infer_want_rank(s, 1, 0, NULL));
  return hr_infer_shape_given(s);
}

/* 2. kernels */
static hr_status_t constant_prepare(hr_prepare_ctx_t* p, void* prepared) {
  *(const hr_tensor_t**)prepared = hr_attrs_tensor(p->attrs, "value");
  return NULL;
}
static hr_status_t constant(hr_kernel_ctx_t* k) {
  hr_output_share(k, 0, *(const hr_tensor_t**)hr_prepared(k));
  return NULL;
}

/* Writes one element over [begin, end), doubling what is already written. */
typedef struct { char* to; const void* value; size_t size; } splat_t;
static hr_status_t splat_chunk(void* arg, int64_t begin, int64_t end, int chunk) {
  const splat_t* s = arg;
  char* to = s->to + (size_t)begin * s->size;
  size_t done = s->size, all = (size_t)(end - begin) * s->size;
  (void)chunk;
  memcpy(to, s->value, s->size);
  for (; done < all; done *= 2) memcpy(to + done, to, done * 2 <= all ? done : all - done);
  return NULL;
}

/* Where no shape function saw them, one size may come as a scalar and the value as a vector of one. */
static hr_status_t fill_shape(const hr_kernel_ctx_t* k, hr_shape_t* out) {
  const hr_tensor_t *dims = hr_input(k, 0), *value = hr_input(k, 1);
  int64_t only;
  if (value->shape.rank != 1 || value->count != 1) HR_TRY(hr_want_scalar(k, 1, "value must represent a scalar, got shape "));
  if (dims->shape.rank == 0) {
    HR_TRY(hr_tensor_scalar_i64(dims, "dims", &only));
    return hr_shape_make(1, &only, out);
  }
  HR_TRY(hr_want_vector(k, 0, "dims must represent a vector, got shape "));
  return hr_tensor_to_shape(dims, out);
}

static hr_status_t fill(hr_kernel_ctx_t* k) {
  const hr_tensor_t* value = hr_input(k, 1);
  hr_shape_t shape;
  hr_tensor_t* out;
  HR_TRY(fill_shape(k, &shape));
  HR_TRY(hr_output(k, 0, &shape, &out));
  if (!hr_dtype_is_plain(value->dtype)) {
    for (int64_t i = 0; i < out->count; ++i) HR_TRY(hr_tensor_copy_elements(out, i, value, 0, 1));
    return NULL;
  }
  splat_t s = {out->data, value->data, hr_dtype_size(value->dtype)};
  return hr_parallel(k, out->count, 0.3, splat_chunk, &s);
}

static hr_status_t zeros_like(hr_kernel_ctx_t* k) {
  const hr_tensor_t* x = hr_input(k, 0);
  hr_tensor_t* y;
  if (!hr_dtype_is_plain(x->dtype)) { /* empty strings */
    if (x->dtype != HR_STRING) return HR_ERROR(UNIMPLEMENTED, "zeros like a tensor of %s", hr_dtype_name((int)x->dtype));
    return hr_output(k, 0, &x->shape, &y);
  }
  HR_TRY(hr_output_take(k, 0, 0, &x->shape, &y));
  memset(y->data, 0, hr_tensor_bytes(y));
  return NULL;
}

typedef struct { uint8_t bytes[16]; } element_t;
static hr_status_t ones_prepare(hr_prepare_ctx_t* p, void* prepared) { /* the bits of 1 */
  element_t* e = prepared;
  const hr_dtype_t type = hr_attrs_type(p->attrs, "T");
  const float f = 1;
  const double d = 1;
  const uint16_t half_one = 0x3c00, bf16_one = 0x3f80;
  const void* bits = type == HR_F32 || type == HR_C64 ? (const void*)&f : type == HR_F64 || type == HR_C128 ? (const void*)&d
                     : type == HR_F16 ? (const void*)&half_one : type == HR_BF16 ? (const void*)&bf16_one : NULL;
  if (bits) memcpy(e->bytes, bits, type == HR_F64 || type == HR_C128 ? 8 : type == HR_F32 || type == HR_C64 ? 4 : 2);
  else e->bytes[0] = 1; /* integers are little-endian */
  return NULL;
}
static hr_status_t ones_like(hr_kernel_ctx_t* k) {
  const hr_tensor_t* x = hr_input(k, 0);
  hr_tensor_t* y;
  HR_TRY(hr_output_take(k, 0, 0, &x->shape, &y));
  splat_t s = {y->data, hr_prepared(k), hr_dtype_size(y->dtype)};
  return hr_parallel(k, y->count, 0.3, splat_chunk, &s);
}

/* 3. gradient: of the value, the sum of dy */
static void grad_fill(hr_grad_ctx_t* g) {
  hr_value_t dy = hr_grad_upstream(g, 0);
  if (!hr_grad_wanted(g, 1)) return;
  hr_value_t all = hr_emit3(g, "Range", hr_emit_const_i32(g, 0), hr_emit1(g, "Rank", dy), hr_emit_const_i32(g, 1));
  hr_grad_give(g, 1, hr_emit_sum(g, dy, all, false));
}

/* 4. definitions */
const hr_op_t hr_op_Const = {.name = "Const",
                             .sig = "-> output: dtype",
                             .attrs = "value: tensor; dtype: type",
                             .shape = infer_const,
                             .grad = hr_grad_none,
                             HR_KERNELS({.prepared_bytes = sizeof(hr_tensor_t*), .prepare = constant_prepare, .compute = constant}),
                             .doc = "the attr's value",
                             HR_HERE};

const hr_op_t hr_op_Fill = {.name = "Fill",
                            .sig = "dims: index_type; value: T -> output: T",
                            .attrs = "T: type; index_type: type{int32,int64} = int32",
                            .shape = infer_fill,
                            .grad = grad_fill,
                            HR_KERNELS({.host_inputs = 1, .compute = fill}),
                            .doc = "a tensor of the given shape with one value everywhere",
                            HR_HERE};

const hr_op_t hr_op_ZerosLike = {.name = "ZerosLike",
                                 .sig = "x: T -> y: T",
                                 .attrs = "T: type",
                                 .shape = hr_infer_same,
                                 .grad = hr_grad_none,
                                 HR_KERNELS(HR_CPU("T", HR_M(VARIANT), hr_variant_math_zeros_like), HR_CPU_ANY(zeros_like)),
                                 .doc = "zeros in the input's shape",
                                 HR_HERE};

#define ONES_TYPES "bfloat16,half,float,double,int8,uint8,int16,uint16,int32,uint32,int64,uint64,complex64,complex128,bool"
const hr_op_t hr_op_OnesLike = {
    .name = "OnesLike",
    .sig = "x: T -> y: T",
    .attrs = "T: type{" ONES_TYPES "}",
    .shape = hr_infer_same,
    .grad = hr_grad_none,
    HR_KERNELS(
        {.where = {{"T", HR_M_NUMBER | HR_M(BOOL)}}, .prepared_bytes = sizeof(element_t), .prepare = ones_prepare, .compute = ones_like}),
    .doc = "ones in the input's shape",
    HR_HERE};
