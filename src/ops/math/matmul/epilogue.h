/* SPDX-License-Identifier: Apache-2.0 */
/* What fused products and convolutions do to their result before they store it: scale, bias, a residual, an activation. Read from the attrs
 * that TensorFlow's optimiser writes (`fused_ops`), given to the dense library where it can do them, else applied in one pass here. */
#ifndef HR_OPS_MATH_MATMUL_EPILOGUE_H
#define HR_OPS_MATH_MATMUL_EPILOGUE_H
#include "dnn/dnn.h"
#include "op/kernel_ctx.h"

typedef struct {
  bool bias, add, batch_norm; /* args in this order: bias; bias, addend; scale, offset, mean, variance */
  hr_dnn_act_t activation;
  float alpha, epsilon;
} hr_epilogue_t;

/* From fused_ops, epsilon and leakyrelu_alpha. UNIMPLEMENTED names a fusion that is not known; INVALID_ARGUMENT a wrong count of args. */
HR_MUST_USE hr_status_t hr_epilogue_parse(const hr_node_attrs_t* attrs, int arg_count, hr_epilogue_t* out);

/* y = activation(y * scale[j] + bias[j] + add) over rows of `n`; NULL operands are left out. NCHW: each row has `inner` elements of one
 * channel, rows count batch * n. */
typedef struct {
  void* y;
  const void *scale, *bias, *add;
  int64_t rows, n;
  int64_t inner; /* 0: channels are adjacent */
  hr_dnn_act_t activation;
  float alpha;
} hr_epilogue_run_t;
HR_MUST_USE hr_status_t hr_epilogue_apply(hr_kernel_ctx_t* k, hr_dtype_t dtype, const hr_epilogue_run_t* run); /* float and double */
/* Batch norm's four vectors as scale and bias of `dtype` (float or double): out_scale and out_bias have n elements. */
void hr_epilogue_fold_norm(hr_dtype_t dtype, const void* const args[4], int64_t n, float epsilon, void* out_scale, void* out_bias);

/* half and bfloat16 to float and back, over the pool. */
HR_MUST_USE hr_status_t hr_epilogue_widen(hr_kernel_ctx_t* k, const hr_tensor_t* from, hr_tensor_t* out); /* a temporary of float */
HR_MUST_USE hr_status_t hr_epilogue_narrow(hr_kernel_ctx_t* k, const float* from, hr_tensor_t* to);

typedef struct { /* the vector side, epilogue.vec.c: rows [begin, end) */
  void (*rows_f32)(const hr_epilogue_run_t* run, int64_t begin, int64_t end);
  void (*rows_f64)(const hr_epilogue_run_t* run, int64_t begin, int64_t end);
  void (*widen)(hr_dtype_t from_type, const void* from, float* to, int64_t count);
  void (*narrow)(hr_dtype_t to_type, const float* from, void* to, int64_t count);
} hr_epilogue_vec_t;
#endif
