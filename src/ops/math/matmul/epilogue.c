/* SPDX-License-Identifier: Apache-2.0 */
/* Reading fused_ops, and the passes over memory that the vector side (epilogue.vec.c) does in pieces. */
#include "ops/math/matmul/epilogue.h"
#include <math.h>
#include "base/isa.h"

HR_ISA_TABLES(hr_epilogue_vec_t, hr_epilogue_vec);

static const struct {
  const char* name;
  hr_dnn_act_t act;
} activation_names[] = {{"Relu", HR_DNN_RELU}, {"Relu6", HR_DNN_RELU6},     {"Elu", HR_DNN_ELU},
                        {"Tanh", HR_DNN_TANH}, {"Sigmoid", HR_DNN_SIGMOID}, {"LeakyRelu", HR_DNN_LEAKY_RELU}};

static bool find_activation(hr_str_t name, hr_dnn_act_t* out) {
  for (size_t i = 0; i < sizeof activation_names / sizeof *activation_names; ++i) {
    if (!hr_str_is(name, activation_names[i].name)) continue;
    *out = activation_names[i].act;
    return true;
  }
  return false;
}

hr_status_t hr_epilogue_parse(const hr_node_attrs_t* attrs, int arg_count, hr_epilogue_t* out) {
  int count = 0;
  const hr_str_t* ops = hr_attrs_strs(attrs, "fused_ops", &count);
  *out = (hr_epilogue_t){.alpha = hr_attrs_float(attrs, "leakyrelu_alpha"), .epsilon = hr_attrs_float(attrs, "epsilon")};
  int at = 0;
  if (at < count && hr_str_is(ops[at], "BiasAdd"))
    out->bias = true, ++at;
  else if (at < count && hr_str_is(ops[at], "FusedBatchNorm"))
    out->batch_norm = true, ++at;
  if (at < count && hr_str_is(ops[at], "Add")) out->add = true, ++at;
  if (at < count && find_activation(ops[at], &out->activation)) ++at;
  if (at < count) return HR_ERROR(UNIMPLEMENTED, "fused_ops has '%.*s' in place %d, which is not fused there", HR_STR_ARG(ops[at]), at);
  if (count == 0) return HR_ERROR(INVALID_ARGUMENT, "fused_ops is empty; a fused node names what it fuses");
  const int want = (out->bias ? 1 : 0) + (out->batch_norm ? 4 : 0) + (out->add ? 1 : 0);
  if (arg_count != want) return HR_ERROR(INVALID_ARGUMENT, "%d further inputs for fused_ops that want %d", arg_count, want);
  return NULL;
}

typedef struct {
  const hr_epilogue_run_t* run;
  void (*rows)(const hr_epilogue_run_t* run, int64_t begin, int64_t end);
} epilogue_job_t;

static hr_status_t apply_rows(void* arg, int64_t begin, int64_t end, int chunk) {
  (void)chunk;
  const epilogue_job_t* job = arg;
  job->rows(job->run, begin, end);
  return NULL;
}

hr_status_t hr_epilogue_apply(hr_kernel_ctx_t* k, hr_dtype_t dtype, const hr_epilogue_run_t* run) {
  const hr_epilogue_vec_t* vec = HR_ISA_PICK(hr_epilogue_vec);
  epilogue_job_t job = {run, dtype == HR_F64 ? vec->rows_f64 : vec->rows_f32};
  return hr_parallel(k, run->rows, (double)(run->inner ? run->inner : run->n) * 0.25 + 2.0, apply_rows, &job);
}

void hr_epilogue_fold_norm(hr_dtype_t dtype, const void* const args[4], int64_t n, float epsilon, void* out_scale, void* out_bias) {
  for (int64_t j = 0; j < n; ++j) { /* scale, offset, mean, variance */
    if (dtype == HR_F64) {
      const double* const* v = (const double* const*)args;
      const double s = v[0][j] / sqrt(v[3][j] + (double)epsilon);
      ((double*)out_scale)[j] = s;
      ((double*)out_bias)[j] = v[1][j] - v[2][j] * s;
    } else {
      const float* const* v = (const float* const*)args;
      const float s = v[0][j] / sqrtf(v[3][j] + epsilon);
      ((float*)out_scale)[j] = s;
      ((float*)out_bias)[j] = v[1][j] - v[2][j] * s;
    }
  }
}

typedef struct {
  const void* from;
  void* to;
  hr_dtype_t type; /* the narrow one */
  const hr_epilogue_vec_t* vec;
} convert_job_t;

static hr_status_t widen_part(void* arg, int64_t begin, int64_t end, int chunk) {
  (void)chunk;
  const convert_job_t* job = arg;
  job->vec->widen(job->type, (const uint16_t*)job->from + begin, (float*)job->to + begin, end - begin);
  return NULL;
}

static hr_status_t narrow_part(void* arg, int64_t begin, int64_t end, int chunk) {
  (void)chunk;
  const convert_job_t* job = arg;
  job->vec->narrow(job->type, (const float*)job->from + begin, (uint16_t*)job->to + begin, end - begin);
  return NULL;
}

hr_status_t hr_epilogue_widen(hr_kernel_ctx_t* k, const hr_tensor_t* from, hr_tensor_t* out) {
  HR_TRY(hr_temp(k, HR_F32, &from->shape, out));
  convert_job_t job = {from->data, out->data, from->dtype, HR_ISA_PICK(hr_epilogue_vec)};
  hr_status_t status = hr_parallel(k, from->count, 0.2, widen_part, &job);
  if (status) hr_tensor_release(out);
  return status;
}

hr_status_t hr_epilogue_narrow(hr_kernel_ctx_t* k, const float* from, hr_tensor_t* to) {
  convert_job_t job = {from, to->data, to->dtype, HR_ISA_PICK(hr_epilogue_vec)};
  return hr_parallel(k, to->count, 0.3, narrow_part, &job);
}
