/* SPDX-License-Identifier: Apache-2.0 */
/* Which library computes a product, on how many threads. */
#include "ops/math/matmul/product.h"

/* Below this many multiplications our own code is as fast as a call of the dense library; below the second, one thread is. */
static const double own_limit = 6000.0, single_limit = 200000.0;

static double product_size(const hr_product_t* p) { return (double)p->m * (double)p->n * (double)p->k; }

static hr_gemm_t gemm_of(const hr_product_t* p) {
  return (hr_gemm_t){.m = p->m,
                     .n = p->n,
                     .k = p->k,
                     .a = p->a,
                     .b = p->b,
                     .c = p->c,
                     .a_row = p->transpose_a ? 1 : p->k,
                     .a_col = p->transpose_a ? p->m : 1,
                     .b_row = p->transpose_b ? 1 : p->n,
                     .b_col = p->transpose_b ? p->k : 1,
                     .c_row = p->n,
                     .a_type = p->a_type,
                     .b_type = p->b_type,
                     .c_type = p->c_type,
                     .conj_a = p->conj_a,
                     .conj_b = p->conj_b};
}

static hr_status_t multiply(hr_kernel_ctx_t* k, const hr_product_t* p) {
  const hr_gemm_t g = gemm_of(p);
  hr_tensor_t steps = {0};
  hr_gemm_batch_t batch = {p->batch, p->a_at, p->b_at, p->m * p->n};
  if (p->batch > 1 && (!p->a_at || !p->b_at)) { /* the plain case in the general one's terms */
    const hr_shape_t shape = hr_shape_matrix(2, p->batch);
    HR_TRY(hr_temp(k, HR_I64, &shape, &steps));
    int64_t *a_at = steps.data, *b_at = a_at + p->batch;
    for (int64_t i = 0; i < p->batch; ++i) a_at[i] = i * p->m * p->k, b_at[i] = i * p->k * p->n;
    if (!p->a_at) batch.a_at = a_at;
    if (!p->b_at) batch.b_at = b_at;
  }
  hr_status_t status = hr_gemm_run_batch(&g, &batch, k->threads);
  hr_tensor_release(&steps);
  return status;
}

static hr_status_t run_own(hr_kernel_ctx_t* k, const hr_product_t* p) {
  const hr_shape_t shape = hr_shape_matrix(p->batch * p->m, p->n);
  hr_product_t apart = *p;
  hr_tensor_t product = {0};
  if (p->sum) {
    HR_TRY(hr_temp(k, HR_F32, &shape, &product));
    apart.c = product.data;
  }
  hr_status_t status = multiply(k, &apart);
  if (!status && (p->sum || p->bias || p->activation != HR_DNN_NONE)) {
    const hr_epilogue_run_t run = {.y = p->c,
                                   .bias = p->bias,
                                   .add = product.data,
                                   .rows = p->batch * p->m,
                                   .n = p->n,
                                   .activation = p->activation,
                                   .alpha = p->alpha};
    status = hr_epilogue_apply(k, HR_F32, &run);
  }
  hr_tensor_release(&product);
  return status;
}

static hr_status_t run_dnn(hr_kernel_ctx_t* k, const hr_product_t* p, const hr_dnn_t* dnn, bool* out_served) {
  hr_dnn_matmul_t d = {.batch = p->batch,
                       .m = p->m,
                       .n = p->n,
                       .k = p->k,
                       .transpose_a = p->transpose_a,
                       .transpose_b = p->transpose_b,
                       .stride_a = p->m * p->k,
                       .stride_b = p->k * p->n,
                       .stride_c = p->m * p->n,
                       .bias = p->bias != NULL,
                       .sum = p->sum,
                       .activation = p->activation,
                       .alpha = p->alpha};
  const bool spread = p->a_at || p->b_at;
  if (spread) d.batch = 1;
  const int threads = product_size(p) * (double)d.batch < single_limit ? 1 : k->threads;
  hr_dnn_prim_t* prim = NULL;
  hr_status_t status = dnn->matmul(&d, threads, &prim);
  *out_served = hr_status_code(status) != HR_UNIMPLEMENTED;
  if (!*out_served) {
    hr_status_release(status);
    return NULL;
  }
  for (int64_t i = 0; !status && i < (spread ? p->batch : 1); ++i) {
    const float *a = (const float*)p->a + (p->a_at ? p->a_at[i] : i * d.stride_a),
                *b = (const float*)p->b + (p->b_at ? p->b_at[i] : i * d.stride_b);
    status = dnn->run(prim, a, b, p->bias, (float*)p->c + i * d.stride_c, threads);
  }
  if (prim) dnn->release(prim);
  return status;
}

hr_status_t hr_product_run(hr_kernel_ctx_t* k, const hr_product_t* p) {
  if (p->m == 0 || p->n == 0 || p->batch == 0) return NULL;
  const bool floats = p->a_type == HR_F32 && p->b_type == HR_F32 && p->c_type == HR_F32;
  if (floats && p->k > 0 && product_size(p) > own_limit) {
    const hr_dnn_t* dnn = hr_dnn();
    bool served = false;
    if (dnn) HR_TRY(run_dnn(k, p, dnn, &served));
    if (served) return NULL;
  }
  return run_own(k, p);
}
