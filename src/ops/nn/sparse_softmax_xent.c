/* SPDX-License-Identifier: Apache-2.0 */
/* Cross entropy of softmax(features) with the right class of each row:
 *   loss_i     = log sum_k exp(features_ik) - features_i,label_i
 *   backprop_i = softmax(features_i) with 1 taken from place label_i
 * A label outside [0, classes) is INVALID_ARGUMENT. half and bfloat16 are computed in float. */
#include "op/infer_fns.h"
#include "ops/nn/softmax_xent.h"
#include "ops/nn/xent_rows.h"

extern const hr_op_t hr_op_SparseSoftmaxCrossEntropyWithLogits;

/* 1. shape */
static hr_status_t infer(hr_infer_t* s) {
  const hr_pshape_t *x, *labels;
  int64_t rows;
  HR_TRY(hr_infer_want_rank(s, 0, 2, &x));
  HR_TRY(hr_infer_want_rank(s, 1, 1, &labels));
  HR_TRY(hr_infer_merge_dim(hr_infer_dim(x, 0), hr_infer_dim(labels, 0), &rows));
  HR_TRY(hr_infer_set_dims(s, 1, 2, (const int64_t[]){rows, hr_infer_dim(x, 1)}));
  return hr_infer_set_vector(s, 0, rows);
}

/* 2. kernel */
static hr_status_t sparse_prepare(hr_prepare_ctx_t* p, void* prepared) {
  (void)p;
  *(const hr_xent_vec_t**)prepared = HR_ISA_PICK(hr_xent_vec);
  return NULL;
}

typedef struct {
  const hr_xent_vec_t* vec;
  hr_xent_matrix_t x;
  const hr_tensor_t* labels;
  void *loss, *back;
} sparse_t;

static inline int64_t label_at(const hr_tensor_t* labels, int64_t i) {
  return labels->dtype == HR_I32 ? ((const int32_t*)labels->data)[i] : ((const int64_t*)labels->data)[i];
}

static hr_status_t sparse_chunk(void* arg, int64_t begin, int64_t end, int chunk) {
  const sparse_t* c = arg;
  const hr_dtype_t type = c->x.type;
  const int64_t width = c->x.columns;
  hr_tensor_t scratch = {0};
  const hr_shape_t shape = hr_shape_matrix(2, type == HR_F32 || type == HR_F64 ? 0 : width);
  (void)chunk;
  HR_TRY(hr_tensor_create(HR_F32, &shape, &scratch));
  for (int64_t r = begin; r < end; ++r) {
    const void* x = hr_xent_row(&c->x, r, width, scratch.data);
    void* back = hr_xent_back_row(type, c->back, r, width, (float*)scratch.data + shape.dims[1]);
    if (type == HR_F64) {
      ((double*)c->loss)[r] = c->vec->sparse_f64(x, label_at(c->labels, r), back, width);
      continue;
    }
    float loss = c->vec->sparse_f32(x, label_at(c->labels, r), back, width);
    if (type == HR_F32) ((float*)c->loss)[r] = loss;
    hr_xent_store(type, &loss, c->loss, r, 1);
    hr_xent_store(type, back, c->back, r * width, width);
  }
  hr_tensor_release(&scratch);
  return NULL;
}

static hr_status_t sparse_xent(hr_kernel_ctx_t* k) {
  const hr_tensor_t *x = hr_input(k, 0), *labels = hr_input(k, 1);
  hr_tensor_t *loss, *back;
  HR_TRY(hr_want_rank(k, 0, "logits", 2));
  HR_TRY(hr_want_rank(k, 1, "labels", 1));
  const int64_t rows = x->shape.dims[0], width = x->shape.dims[1];
  if (labels->count != rows)
    return HR_ERROR(INVALID_ARGUMENT, "logits and labels must have the same first dimension, got logits shape [%lld,%lld] and "
                    "labels shape [%lld]",
                    (long long)rows, (long long)width, (long long)labels->count);
  if (width == 0) return HR_ERROR(INVALID_ARGUMENT, "Must have at least one class, but got logits shape [%lld,0]", (long long)rows);
  for (int64_t i = 0; i < rows; ++i)
    if (label_at(labels, i) < 0 || label_at(labels, i) >= width)
      return HR_ERROR(INVALID_ARGUMENT, "Received a label value of %lld which is outside the valid range of [0, %lld) (row %lld)",
                      (long long)label_at(labels, i), (long long)width, (long long)i);
  HR_TRY(hr_output(k, 0, &labels->shape, &loss));
  HR_TRY(hr_output_take(k, 1, 0, &x->shape, &back));
  sparse_t c = {*(const hr_xent_vec_t**)hr_prepared(k), {x->data, x->dtype, rows, width}, labels, loss->data, back->data};
  return hr_parallel(k, rows, 2.0 * (double)width + 20, sparse_chunk, &c);
}

/* 3. gradient: features only */
static void grad_sparse(hr_grad_ctx_t* g) {
  hr_value_t v = hr_grad_wanted(g, 0) ? hr_xent_grad_features(g) : HR_NO_VALUE;
  if (v.node) hr_grad_give(g, 0, v);
}

/* 4. definition */
const hr_op_t hr_op_SparseSoftmaxCrossEntropyWithLogits = {
    .name = "SparseSoftmaxCrossEntropyWithLogits", .sig = "features: T; labels: Tlabels -> loss: T; backprop: T",
    .attrs = "T: type{half,bfloat16,float,double}; Tlabels: type{int32,int64} = int64", .shape = infer, .grad = grad_sparse,
    HR_KERNELS({.where = {{"T", HR_M_REAL_FLOAT}}, .prepared_bytes = sizeof(void*), .prepare = sparse_prepare, .compute = sparse_xent}),
    .doc = "cross entropy of softmax(features) with one class for each row", HR_HERE};
