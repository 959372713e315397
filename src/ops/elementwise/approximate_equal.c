/* SPDX-License-Identifier: Apache-2.0 */
/* ApproximateEqual: |x - y| <= tolerance for each element of two tensors of one shape (no broadcasting). False where either is NaN. */
#include <math.h>
#include "op/infer_fns.h"
#include "op/kernel_ctx.h"

extern const hr_op_t hr_op_ApproximateEqual;

/* 1. kernel */
static hr_status_t near_prepare(hr_prepare_ctx_t* p, void* prepared) {
  *(float*)prepared = hr_attrs_float(p->attrs, "tolerance");
  return NULL;
}

typedef struct { const hr_tensor_t *x, *y; bool* z; float tolerance; } near_t;
static hr_status_t near_chunk(void* arg, int64_t begin, int64_t end, int chunk) {
  const near_t* c = arg;
  (void)chunk;
  if (c->x->dtype == HR_F32)
    for (int64_t i = begin; i < end; ++i) c->z[i] = fabsf(((const float*)c->x->data)[i] - ((const float*)c->y->data)[i]) <= c->tolerance;
  else
    for (int64_t i = begin; i < end; ++i)
      c->z[i] = fabs(((const double*)c->x->data)[i] - ((const double*)c->y->data)[i]) <= (double)c->tolerance;
  return NULL;
}

static hr_status_t approximate_equal(hr_kernel_ctx_t* k) {
  hr_tensor_t* z;
  HR_TRY(hr_want_same_shape(k, 0, 1));
  HR_TRY(hr_output(k, 0, &hr_input(k, 0)->shape, &z));
  near_t c = {hr_input(k, 0), hr_input(k, 1), z->data, *(const float*)hr_prepared(k)};
  return hr_parallel(k, z->count, 0.5, near_chunk, &c);
}

/* 2. definition */
const hr_op_t hr_op_ApproximateEqual = {
    .name = "ApproximateEqual",
    .sig = "x: T; y: T -> z: bool",
    .attrs =
        "T: "
        "type{float,double,int32,uint8,int16,int8,complex64,int64,qint8,quint8,qint32,bfloat16,qint16,quint16,uint16,complex128,half,"
        "uint32,uint64}; "
        "tolerance: float = 1e-05",
    .flags = HR_OP_COMMUTATIVE,
    .shape = hr_infer_merged,
    .grad = hr_grad_none,
    HR_KERNELS(
        {.where = {{"T", HR_M(F32) | HR_M(F64)}}, .prepared_bytes = sizeof(float), .prepare = near_prepare, .compute = approximate_equal}),
    .doc = "|x - y| <= tolerance",
    HR_HERE};
