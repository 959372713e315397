/* SPDX-License-Identifier: Apache-2.0 */
/* InTopK: whether fewer than k predictions of a row are greater than the target's: equal ones count as in. False where the target is no
 * class, where its prediction is not finite, or where a prediction that is not finite stands in the row. */
#include <math.h>
#include "op/infer_fns.h"
#include "op/kernel_ctx.h"

extern const hr_op_t hr_op_InTopK, hr_op_InTopKV2;

/* 1. shape */
static hr_status_t infer(hr_infer_t* s) {
  const hr_pshape_t *predictions, *targets;
  int64_t rows;
  HR_TRY(hr_infer_want_rank(s, 0, 2, &predictions));
  HR_TRY(hr_infer_want_rank(s, 1, 1, &targets));
  if (hr_infer_input_count(s) == 3) HR_TRY(hr_infer_want_rank(s, 2, 0, NULL));
  HR_TRY(hr_infer_merge_dim(hr_infer_dim(predictions, 0), hr_infer_dim(targets, 0), &rows));
  return hr_infer_set_vector(s, 0, rows);
}

/* 2. kernel */
static bool is_in(const float* row, int64_t classes, int64_t target, int64_t k) {
  int64_t above = 0;
  if (target < 0 || target >= classes || !isfinite(row[target])) return false;
  for (int64_t i = 0; i < classes; ++i) {
    if (!isfinite(row[i])) return false;
    above += row[i] > row[target];
  }
  return above < k;
}

static hr_status_t in_prepare(hr_prepare_ctx_t* p, void* prepared) {
  *(int64_t*)prepared = p->input_count == 2 ? hr_attrs_int(p->attrs, "k") : -1;
  return NULL;
}

static hr_status_t in_top_k(hr_kernel_ctx_t* ctx) {
  const hr_tensor_t *predictions = hr_input(ctx, 0), *targets = hr_input(ctx, 1);
  int64_t k = *(const int64_t*)hr_prepared(ctx);
  hr_tensor_t* out;
  HR_TRY(hr_want_rank(ctx, 0, "predictions must be 2-dimensional, not of shape ", 2));
  HR_TRY(hr_want_vector(ctx, 1, "targets must be 1-dimensional, not of shape "));
  if (hr_input_count(ctx) == 3) {
    HR_TRY(hr_want_scalar(ctx, 2, "k"));
    HR_TRY(hr_tensor_scalar_i64(hr_input(ctx, 2), "k", &k));
  }
  const int64_t rows = predictions->shape.dims[0], classes = predictions->shape.dims[1];
  if (targets->count != rows)
    return HR_ERROR(INVALID_ARGUMENT, "First dimension of predictions %lld must match length of targets %lld", (long long)rows,
                    (long long)targets->count);
  HR_TRY(hr_output(ctx, 0, &targets->shape, &out));
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t target = targets->dtype == HR_I32 ? ((const int32_t*)targets->data)[r] : ((const int64_t*)targets->data)[r];
    ((bool*)out->data)[r] = is_in((const float*)predictions->data + r * classes, classes, target, k);
  }
  return NULL;
}

/* 3. definitions */
#define IN_KERNEL {.where = {{"T", HR_M_INDEX}}, .prepared_bytes = sizeof(int64_t), .prepare = in_prepare, .compute = in_top_k}
const hr_op_t hr_op_InTopK = {.name = "InTopK",
                              .sig = "predictions: float; targets: T -> precision: bool",
                              .attrs = "k: int; T: type{int32,int64} = int32",
                              .shape = infer,
                              HR_KERNELS(IN_KERNEL),
                              .doc = "whether the target is among the k largest predictions of its row",
                              HR_HERE};
const hr_op_t hr_op_InTopKV2 = {.name = "InTopKV2",
                                .sig = "predictions: float; targets: T; k: T -> precision: bool",
                                .attrs = "T: type{int32,int64} = int32",
                                .shape = infer,
                                HR_KERNELS(IN_KERNEL),
                                .doc = "whether the target is among the k largest predictions of its row",
                                HR_HERE};
