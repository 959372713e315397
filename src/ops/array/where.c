/* SPDX-License-Identifier: Apache-2.0 */
/* Where: the indices of the elements that are not zero, a row each, in row-major order. NaN is not zero, -0 is. */
#include "op/infer_fns.h"
#include "op/kernel_ctx.h"

extern const hr_op_t hr_op_Where;

/* 1. shape: [?, rank] */
static hr_status_t infer(hr_infer_t* s) {
  const int64_t dims[2] = {-1, hr_infer_input(s, 0)->rank};
  return hr_infer_set_dims(s, 0, 2, dims);
}

/* 2. kernel */
typedef struct {
  size_t element;
  uint64_t low, high;
} truth_t; /* the bits that tell zero from the rest: signs of floats are left out */

static truth_t truth_of(hr_dtype_t type) {
  const uint64_t all = UINT64_MAX, no_sign = all >> 1;
  truth_t t = {hr_dtype_size(type), all, all};
  if (type == HR_F64) t.low = no_sign;
  if (type == HR_C128) t.low = t.high = no_sign;
  if (type == HR_F32) t.low = 0x7fffffff;
  if (type == HR_C64) t.low = UINT64_C(0x7fffffff7fffffff);
  if (type == HR_F16 || type == HR_BF16) t.low = 0x7fff;
  return t;
}

static inline bool is_true(const truth_t* t, const char* at) {
  uint64_t low = 0, high = 0;
  if (t->element == 1) return *at != 0;
  if (t->element == 16) {
    memcpy(&low, at, 8);
    memcpy(&high, at + 8, 8);
  } else {
    memcpy(&low, at, t->element);
  }
  return ((low & t->low) | (high & t->high)) != 0;
}

static hr_status_t where(hr_kernel_ctx_t* k) {
  const hr_tensor_t* x = hr_input(k, 0);
  const truth_t truth = truth_of(x->dtype);
  const int rank = x->shape.rank;
  int64_t count = 0, index[HR_MAX_RANK] = {0};
  hr_tensor_t* out;
  HR_TRY(hr_want_rank_at_least(k, 0, "input", 1)); /* as TensorFlow: a scalar has no index */
  for (int64_t i = 0; i < x->count; ++i) count += is_true(&truth, (const char*)x->data + (size_t)i * truth.element);
  const hr_shape_t shape = hr_shape_matrix(count, rank);
  HR_TRY(hr_output(k, 0, &shape, &out));
  int64_t* row = out->data;
  for (int64_t i = 0; i < x->count; ++i) {
    if (is_true(&truth, (const char*)x->data + (size_t)i * truth.element))
      for (int d = 0; d < rank; ++d) *row++ = index[d];
    for (int d = rank - 1; d >= 0; --d) {
      if (++index[d] < x->shape.dims[d]) break;
      index[d] = 0;
    }
  }
  return NULL;
}

/* 3. definition */
#define WHERE_TYPES                                                                                                                       \
  "float,double,int32,uint8,int16,int8,complex64,int64,qint8,quint8,qint32,bfloat16,qint16,quint16,uint16,complex128,half,uint32,uint64," \
  "bool"
const hr_op_t hr_op_Where = {.name = "Where",
                             .sig = "input: T -> index: int64",
                             .attrs = "T: type{" WHERE_TYPES "} = bool",
                             .shape = infer,
                             HR_KERNELS(HR_CPU("T", HR_M_NUMBER | HR_M(BOOL), where)),
                             .doc = "the indices of the elements that are not zero",
                             HR_HERE};
