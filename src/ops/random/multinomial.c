/* SPDX-License-Identifier: Apache-2.0 */
/* Multinomial: for each row of logits, samples of class j with probability exp(logit_j) / sum exp(logit). A row's running sums of exp(logit
 * - max) are searched for a uniform number times their total; logits that are not finite have probability 0. One stream of doubles goes
 * through all rows.
 *
 * A row without a finite logit has no right answer: INVALID_ARGUMENT, where TensorFlow gives a class that does not exist. */
#include <math.h>
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/elementwise/loops.h"
#include "ops/random/generator.h"

extern const hr_op_t hr_op_Multinomial;

static hr_status_t infer_multinomial(hr_infer_t* s) {
  const hr_pshape_t* logits;
  int64_t n = -1;
  HR_TRY(hr_infer_want_rank(s, 0, 2, &logits));
  HR_TRY(hr_infer_want_rank(s, 1, 0, NULL));
  const hr_tensor_t* known = hr_infer_const(s, 1);
  if (known) HR_TRY(hr_tensor_scalar_i64(known, "num_samples", &n));
  if (known && n < 0) return HR_ERROR(INVALID_ARGUMENT, "num_samples should be non-negative, got %lld", (long long)n);
  const int64_t dims[] = {hr_infer_dim(logits, 0), n};
  return hr_infer_set_dims(s, 0, 2, dims);
}

static void widen_row(const hr_tensor_t* logits, int64_t row, int64_t n, double* out) {
  float narrow[HR_LOOP_BLOCK];
  const int64_t from = row * n;
  for (int64_t i = 0; i < n; ++i) {
    if (logits->dtype == HR_F64) {
      out[i] = ((const double*)logits->data)[from + i];
    } else if (logits->dtype == HR_F32) {
      out[i] = (double)((const float*)logits->data)[from + i];
    } else {
      hr_loop_widen(logits->dtype == HR_BF16, (const uint16_t*)logits->data + from + i, narrow, 1);
      out[i] = (double)narrow[0];
    }
  }
}

static double sum_up(double* row, int64_t n) { /* to running sums; the total */
  double most = -INFINITY, total = 0;
  for (int64_t i = 0; i < n; ++i)
    if (isfinite(row[i]) && row[i] > most) most = row[i];
  for (int64_t i = 0; i < n; ++i) {
    if (isfinite(row[i])) total += exp(row[i] - most);
    row[i] = total;
  }
  return total;
}

static int64_t first_above(const double* sums, int64_t n, double v) { /* v is below the last sum, but for rounding */
  int64_t low = 0, high = n - 1;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (sums[middle] > v) high = middle;
    else low = middle + 1;
  }
  return low;
}

static hr_status_t sample_rows(const hr_tensor_t* logits, double* row, hr_words_t* words, hr_tensor_t* out) {
  const int64_t classes = logits->shape.dims[1], samples = out->shape.dims[1];
  for (int64_t b = 0; b < out->shape.dims[0]; ++b) {
    widen_row(logits, b, classes, row);
    const double total = sum_up(row, classes);
    if (!(total > 0)) return HR_ERROR(INVALID_ARGUMENT, "row %lld of the logits has no finite number", (long long)b);
    for (int64_t i = 0; i < samples; ++i) {
      const int64_t class = first_above(row, classes, hr_words_next_double(words) * total);
      if (out->dtype == HR_I64) ((int64_t*)out->data)[b * samples + i] = class;
      else ((int32_t*)out->data)[b * samples + i] = (int32_t)class;
    }
  }
  return NULL;
}

static hr_status_t multinomial(hr_kernel_ctx_t* k) {
  const hr_tensor_t* logits = hr_input(k, 0);
  hr_tensor_t *out, row;
  int64_t n, dims[2];
  hr_shape_t shape;
  HR_TRY(hr_want_rank(k, 0, "logits should be a matrix, got shape ", 2));
  HR_TRY(hr_want_scalar(k, 1, "num_samples should be a scalar, got shape "));
  HR_TRY(hr_tensor_i64_at(hr_input(k, 1), 0, &n));
  if (n < 0) return HR_ERROR(INVALID_ARGUMENT, "num_samples should be non-negative, got %lld", (long long)n);
  if (logits->shape.dims[1] < 1) return HR_ERROR(INVALID_ARGUMENT, "num_classes should be positive, got 0");
  dims[0] = logits->shape.dims[0];
  dims[1] = n;
  HR_TRY(hr_shape_make(2, dims, &shape));
  HR_TRY(hr_output(k, 0, &shape, &out));
  if (out->count == 0) return NULL;
  const hr_shape_t row_shape = hr_shape_vector(logits->shape.dims[1]);
  HR_TRY(hr_temp(k, HR_F64, &row_shape, &row));
  const uint64_t numbers = (uint64_t)dims[0] * (((uint64_t)n + 3) / 4 * 4);
  hr_words_t words = hr_words_of(hr_generator_take(hr_state(k), numbers * 2 * 256));
  hr_status_t status = sample_rows(logits, row.data, &words, out);
  hr_tensor_release(&row);
  return status;
}

const hr_op_t hr_op_Multinomial = {
    .name = "Multinomial",
    .sig = "logits: T; num_samples: int32 -> output: output_dtype",
    .attrs = HR_SEED_ATTRS
    "; T: type{float,double,int32,uint8,int16,int8,int64,bfloat16,uint16,half,uint32,uint64}; output_dtype: type{int32,int64} = int64",
    .flags = HR_OP_STATEFUL,
    .shape = infer_multinomial,
    .grad = hr_grad_none,
    HR_KERNELS({.where = {{"T", HR_M_REAL_FLOAT}}, .host_inputs = 2, HR_GENERATOR_STATE, .compute = multinomial}),
    .doc = "class numbers drawn by unnormalized log probabilities",
    HR_HERE};
