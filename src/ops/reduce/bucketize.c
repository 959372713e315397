/* SPDX-License-Identifier: Apache-2.0 */
/* Bucketize: for each element how many of the ascending boundaries are less than or equal to it. Boundaries that descend are
 * INVALID_ARGUMENT. */
#include "base/alloc.h"
#include "op/infer_fns.h"
#include "op/kernel_ctx.h"

extern const hr_op_t hr_op_Bucketize;

/* 1. kernel */
typedef struct { float* boundaries; int count; } buckets_t;

static hr_status_t bucketize_prepare(hr_prepare_ctx_t* p, void* prepared) {
  const hr_attr_t* list = hr_attrs_find(p->attrs, "boundaries");
  buckets_t* b = prepared;
  for (int i = 1; i < list->count; ++i)
    if (list->u.fs[i] < list->u.fs[i - 1])
      return HR_ERROR(INVALID_ARGUMENT, "Expected sorted boundaries, but boundary %d is less than the one before", i);
  b->boundaries = hr_alloc_array((size_t)list->count + 1, sizeof(float));
  if (!b->boundaries) return hr_status_out_of_memory();
  for (int i = 0; i < list->count; ++i) b->boundaries[i] = list->u.fs[i];
  b->count = (int)list->count;
  return NULL;
}
static void bucketize_unprepare(void* prepared) { hr_free(((buckets_t*)prepared)->boundaries); }

static int32_t bucket_of(const buckets_t* b, double x) { /* boundaries <= x; NaN is above all */
  int low = 0, high = b->count;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (x < (double)b->boundaries[middle]) high = middle;
    else low = middle + 1;
  }
  return low;
}

typedef struct { const buckets_t* b; const hr_tensor_t* x; int32_t* y; } bucketize_t;
static hr_status_t bucketize_chunk(void* arg, int64_t begin, int64_t end, int chunk) {
  const bucketize_t* c = arg;
  const void* x = c->x->data;
  (void)chunk;
  switch (c->x->dtype) {
    case HR_F32: for (int64_t i = begin; i < end; ++i) c->y[i] = bucket_of(c->b, (double)((const float*)x)[i]); break;
    case HR_F64: for (int64_t i = begin; i < end; ++i) c->y[i] = bucket_of(c->b, ((const double*)x)[i]); break;
    case HR_I32: for (int64_t i = begin; i < end; ++i) c->y[i] = bucket_of(c->b, (double)((const int32_t*)x)[i]); break;
    default: for (int64_t i = begin; i < end; ++i) c->y[i] = bucket_of(c->b, (double)((const int64_t*)x)[i]); break;
  }
  return NULL;
}

static hr_status_t bucketize(hr_kernel_ctx_t* k) {
  const hr_tensor_t* x = hr_input(k, 0);
  hr_tensor_t* y;
  HR_TRY(hr_output(k, 0, &x->shape, &y));
  bucketize_t c = {hr_prepared(k), x, y->data};
  return hr_parallel(k, y->count, 10.0, bucketize_chunk, &c);
}

/* 2. definition */
const hr_op_t hr_op_Bucketize = {.name = "Bucketize",
                                 .sig = "input: T -> output: int32",
                                 .attrs = "T: type{int32,int64,float,double}; boundaries: list(float)",
                                 .shape = hr_infer_same,
                                 HR_KERNELS({.where = {{"T", HR_M_INDEX | HR_M(F32) | HR_M(F64)}},
                                             .prepared_bytes = sizeof(buckets_t),
                                             .prepare = bucketize_prepare,
                                             .unprepare = bucketize_unprepare,
                                             .compute = bucketize}),
                                 .doc = "how many of the ascending boundaries are at or below each element",
                                 HR_HERE};
