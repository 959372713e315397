/* SPDX-License-Identifier: Apache-2.0 */
/* Cross entropy of softmax(features) with a distribution for each row:
 *   loss_i     = sum_j labels_ij (log sum_k exp(features_ik) - features_ij)
 *   backprop_ij = softmax(features_i)_j - labels_ij        (d loss_i / d features_ij when the labels of the row add up to 1)
 * Features and labels broadcast, and are a matrix together. The maximum of a row is taken out first. half and bfloat16 are computed in
 * float. */
#include "ops/nn/softmax_xent.h"
#include "op/infer_fns.h"
#include "ops/nn/xent_rows.h"

extern const hr_op_t hr_op_SoftmaxCrossEntropyWithLogits;

/* 1. shape */
static hr_status_t infer(hr_infer_t* s) {
  const hr_pshape_t *in[2], *both;
  for (int i = 0; i < 2; ++i) { /* unknown: no more than a matrix */
    in[i] = hr_infer_input(s, i);
    if (in[i]->rank < 0) HR_TRY(hr_infer_unknown_of_rank(s, 2, &in[i]));
  }
  HR_TRY(hr_infer_broadcast_partial(s, in[0], in[1], &both));
  if (both->rank != 2) return HR_ERROR(INVALID_ARGUMENT, "shape must be rank 2 but is rank %d: logits and labels broadcast", both->rank);
  hr_infer_set(s, 1, both);
  return hr_infer_set_vector(s, 0, hr_infer_dim(both, 0));
}

/* 2. kernel */
static hr_status_t xent_prepare(hr_prepare_ctx_t* p, void* prepared) {
  (void)p;
  *(const hr_xent_vec_t**)prepared = HR_ISA_PICK(hr_xent_vec);
  return NULL;
}

typedef struct {
  const hr_xent_vec_t* vec;
  hr_xent_matrix_t x, labels;
  void *loss, *back;
  hr_dtype_t type;
  int64_t width;
} xent_t;

static hr_status_t xent_chunk(void* arg, int64_t begin, int64_t end, int chunk) {
  const xent_t* c = arg;
  const bool direct = (c->type == HR_F32 || c->type == HR_F64) && c->x.columns == c->width && c->labels.columns == c->width;
  hr_tensor_t scratch = {0};
  const hr_shape_t shape = hr_shape_matrix(3, direct ? 0 : c->width);
  (void)chunk;
  HR_TRY(hr_tensor_create(c->type == HR_F64 ? HR_F64 : HR_F32, &shape, &scratch));
  const size_t row_bytes = (size_t)shape.dims[1] * hr_dtype_size(scratch.dtype);
  char* room = scratch.data;
  for (int64_t r = begin; r < end; ++r) {
    const void *x = hr_xent_row(&c->x, r, c->width, room), *labels = hr_xent_row(&c->labels, r, c->width, room + row_bytes);
    void* back = hr_xent_back_row(c->type, c->back, r, c->width, room + 2 * row_bytes);
    if (c->type == HR_F64) {
      ((double*)c->loss)[r] = c->vec->dense_f64(x, labels, back, c->width);
      continue;
    }
    float loss = c->vec->dense_f32(x, labels, back, c->width);
    if (c->type == HR_F32) ((float*)c->loss)[r] = loss;
    hr_xent_store(c->type, &loss, c->loss, r, 1);
    hr_xent_store(c->type, back, c->back, r * c->width, c->width);
  }
  hr_tensor_release(&scratch);
  return NULL;
}

static hr_xent_matrix_t matrix_of(const hr_tensor_t* t) { /* a vector is a row, a scalar an element */
  const int rank = t->shape.rank;
  return (hr_xent_matrix_t){t->data, t->dtype, rank > 1 ? t->shape.dims[0] : 1, rank > 0 ? t->shape.dims[rank - 1] : 1};
}

static hr_status_t xent(hr_kernel_ctx_t* k) {
  const hr_tensor_t *x = hr_input(k, 0), *labels = hr_input(k, 1);
  hr_shape_t both, rows;
  hr_tensor_t *loss, *back;
  hr_status_t status = hr_shape_broadcast(&x->shape, &labels->shape, &both);
  if (status) {
    char a[HR_SHAPE_TEXT], b[HR_SHAPE_TEXT];
    return hr_status_note(status, "logits and labels must be broadcastable: logits_size=%s labels_size=%s: ",
                          hr_shape_format(&x->shape, a), hr_shape_format(&labels->shape, b));
  }
  if (both.rank != 2) return HR_ERROR(INVALID_ARGUMENT, "logits and labels must be 2-D, or broadcast to that, not rank %d", both.rank);
  rows = hr_shape_vector(both.dims[0]);
  xent_t c = {*(const hr_xent_vec_t**)hr_prepared(k), matrix_of(x), matrix_of(labels), NULL, NULL, x->dtype, both.dims[1]};
  HR_TRY(hr_output(k, 0, &rows, &loss));
  if (hr_shape_equal(&x->shape, &both)) HR_TRY(hr_output_take(k, 1, 0, &both, &back));
  else HR_TRY(hr_output(k, 1, &both, &back));
  if (back->count == 0) { /* no classes: nothing is lost */
    if (loss->count) memset(loss->data, 0, hr_tensor_bytes(loss));
    return NULL;
  }
  c.loss = loss->data;
  c.back = back->data;
  return hr_parallel(k, rows.dims[0], 2.5 * (double)c.width + 20, xent_chunk, &c);
}

/* 3. gradient: as for any product with backprop; labels get -dy log softmax(features) */
static void give(hr_grad_ctx_t* g, int input, hr_value_t v) {
  if (v.node) hr_grad_give(g, input, hr_emit_reduce_to(g, v, hr_grad_input(g, input), hr_grad_input(g, 1 - input)));
}
static void grad_xent(hr_grad_ctx_t* g) {
  if (hr_grad_wanted(g, 0)) give(g, 0, hr_xent_grad_features(g));
  if (!hr_grad_wanted(g, 1) || !hr_grad_has_upstream(g, 0)) return;
  hr_value_t logs = hr_emit1(g, "LogSoftmax", hr_grad_input(g, 0));
  give(g, 1, hr_emit_mul(g, hr_xent_column(g, hr_grad_upstream(g, 0)), hr_emit_neg(g, logs)));
}

/* 4. definition */
const hr_op_t hr_op_SoftmaxCrossEntropyWithLogits = {
    .name = "SoftmaxCrossEntropyWithLogits",
    .sig = "features: T; labels: T -> loss: T; backprop: T",
    .attrs = "T: type{half,bfloat16,float,double}",
    .shape = infer,
    .grad = grad_xent,
    HR_KERNELS({.where = {{"T", HR_M_REAL_FLOAT}}, .prepared_bytes = sizeof(void*), .prepare = xent_prepare, .compute = xent}),
    .doc = "cross entropy of softmax(features) with labels, a distribution for each row",
    HR_HERE};
