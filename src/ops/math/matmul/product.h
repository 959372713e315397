/* SPDX-License-Identifier: Apache-2.0 */
/* One matrix product of a kernel: the dense library for float32 that is large enough, else our own. */
#ifndef HR_OPS_MATH_MATMUL_PRODUCT_H
#define HR_OPS_MATH_MATMUL_PRODUCT_H
#include "op/kernel_ctx.h"
#include "ops/math/matmul/epilogue.h"
#include "ops/math/matmul/gemm.h"

typedef struct {
  const void *a, *b;
  void* c;
  int64_t m, n, k;
  bool transpose_a, transpose_b; /* a is stored [k, m], b is stored [n, k] */
  bool conj_a, conj_b;
  hr_dtype_t a_type, b_type, c_type;
  int64_t batch;              /* products; c's lie one after the other */
  const int64_t *a_at, *b_at; /* where each one's operands start, in elements; NULL: one after the other */
  bool sum;                   /* c holds what is added to the product; only of float32 products, like what follows */
  const float* bias;          /* only of float32 products; n elements, or NULL */
  hr_dnn_act_t activation;    /* likewise */
  float alpha;
} hr_product_t;
HR_MUST_USE hr_status_t hr_product_run(hr_kernel_ctx_t* k, const hr_product_t* p);
#endif
