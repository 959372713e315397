/* SPDX-License-Identifier: Apache-2.0 */
/* Bincount: bins[v] is how often v occurs in arr, or the sum of the weights where it does. Values of size or more are left out; negative
 * ones are INVALID_ARGUMENT. weights has arr's number of elements or none. */
#include "op/infer_fns.h"
#include "op/kernel_ctx.h"

extern const hr_op_t hr_op_Bincount;

/* 1. shape */
static hr_status_t infer(hr_infer_t* s) {
  const hr_tensor_t* value = hr_infer_const(s, 1);
  int64_t size = -1;
  HR_TRY(hr_infer_want_rank(s, 1, 0, NULL));
  if (value) {
    HR_TRY(hr_tensor_scalar_i64(value, "size", &size));
    if (size < 0) return HR_ERROR(INVALID_ARGUMENT, "size (%lld) must be non-negative", (long long)size);
  }
  return hr_infer_set_vector(s, 0, size);
}

/* 2. kernel */
#define COUNT(T, U)                                                                        \
  for (int64_t i = 0; i < arr->count; ++i) {                                               \
    const int32_t v = values[i];                                                           \
    if (v < size) ((T*)bins->data)[v] = (T)((U)((T*)bins->data)[v] + (weighted ? (U)((const T*)weights->data)[i] : (U)1)); \
  }

static hr_status_t bincount(hr_kernel_ctx_t* k) {
  const hr_tensor_t *arr = hr_input(k, 0), *weights = hr_input(k, 2);
  const int32_t* values = arr->data;
  const bool weighted = weights->count > 0;
  int64_t size;
  hr_tensor_t* bins;
  HR_TRY(hr_want_scalar(k, 1, "size Shape must be rank 0 but is rank 1 or more: "));
  HR_TRY(hr_tensor_scalar_i64(hr_input(k, 1), "size", &size));
  if (size < 0) return HR_ERROR(INVALID_ARGUMENT, "size (%lld) must be non-negative", (long long)size);
  if (weighted && weights->count != arr->count)
    return HR_ERROR(INVALID_ARGUMENT, "there are %lld weights for %lld values", (long long)weights->count, (long long)arr->count);
  for (int64_t i = 0; i < arr->count; ++i)
    if (values[i] < 0) return HR_ERROR(INVALID_ARGUMENT, "Input arr must be non-negative! Value %lld is %d", (long long)i, (int)values[i]);
  const hr_shape_t shape = hr_shape_vector(size);
  HR_TRY(hr_output(k, 0, &shape, &bins));
  if (size == 0) return NULL;
  memset(bins->data, 0, hr_tensor_bytes(bins));
  switch (bins->dtype) {
    case HR_F32: COUNT(float, float) break;
    case HR_F64: COUNT(double, double) break;
    case HR_I32: COUNT(int32_t, uint32_t) break;
    default: COUNT(int64_t, uint64_t) break;
  }
  return NULL;
}

/* 3. definition */
const hr_op_t hr_op_Bincount = {.name = "Bincount",
                                .sig = "arr: int32; size: int32; weights: T -> bins: T",
                                .attrs = "T: type{int32,int64,float,double}",
                                .shape = infer,
                                HR_KERNELS({.where = {{"T", HR_M_INDEX | HR_M(F32) | HR_M(F64)}}, .host_inputs = 2, .compute = bincount}),
                                .doc = "how often each value occurs, or the sum of the weights where it does",
                                HR_HERE};
