/* SPDX-License-Identifier: Apache-2.0 */
/* LRN, local response normalization over channels, with the window W(j) of the channels within `depth_radius` of j:
 *
 *   norm[j] = bias + alpha sum over i in W(j) of x[i]^2,   y[j] = x[j] norm[j]^-beta
 *
 * and LRNGrad: dx[i] = dy[i] norm[i]^-beta - 2 alpha beta x[i] sum over j in W(i) of dy[j] y[j] / norm[j]. half and bfloat16 are computed
 * in float. */
#include "ops/nn/lrn.h"
#include <string.h>
#include "op/grad_ctx.h"
#include "op/infer.h"
#include "op/kernel_ctx.h"
#include "ops/math/matmul/epilogue.h"

extern const hr_op_t hr_op_LRN, hr_op_LRNGrad;

/* 1. shapes */
static hr_status_t infer(hr_infer_t* s) { /* all inputs merged, of rank 4 */
  const hr_pshape_t* shape;
  HR_TRY(hr_infer_want_rank(s, 0, 4, &shape));
  for (int i = 1; i < hr_infer_input_count(s); ++i) {
    const hr_pshape_t* other;
    HR_TRY(hr_infer_want_rank(s, i, 4, &other));
    HR_TRY(hr_infer_merge(s, shape, other, &shape));
  }
  hr_infer_set(s, 0, shape);
  return NULL;
}

/* 2. kernels */
static hr_status_t prepare(hr_prepare_ctx_t* p, void* prepared) {
  const int64_t radius = hr_attrs_int(p->attrs, "depth_radius");
  if (radius < 0 || radius > INT32_MAX)
    return HR_ERROR(INVALID_ARGUMENT, "depth_radius = %lld; 0 to %d was expected", (long long)radius, INT32_MAX);
  *(hr_lrn_t*)prepared = (hr_lrn_t){0, radius, hr_attrs_float(p->attrs, "bias"), hr_attrs_float(p->attrs, "alpha"),
                                    hr_attrs_float(p->attrs, "beta")};
  return NULL;
}

typedef struct {
  hr_lrn_t lrn;
  const hr_lrn_vec_t* vec;
  const float *dy, *x, *y; /* dy: NULL in the forward op */
  float *out, *scratch;
} job_t;

static hr_status_t rows(void* arg, int64_t begin, int64_t end, int chunk) {
  const job_t* j = arg;
  const int64_t at = begin * j->lrn.depth;
  float* scratch = j->scratch + chunk * hr_lrn_scratch(&j->lrn);
  if (j->dy) j->vec->backward(&j->lrn, j->dy + at, j->x + at, j->y + at, end - begin, scratch, j->out + at);
  else j->vec->forward(&j->lrn, j->x + at, end - begin, scratch, j->out + at);
  return NULL;
}

static hr_status_t run(hr_kernel_ctx_t* k, job_t* j, int64_t count) {
  const double cost = 20 + (double)j->lrn.depth * (1.5 + 0.1 * (double)j->lrn.radius) * (j->dy ? 2 : 1);
  const int64_t places = count / j->lrn.depth;
  const hr_shape_t shape = hr_shape_matrix(hr_pool_chunks(places, cost, k->threads), hr_lrn_scratch(&j->lrn));
  hr_tensor_t scratch;
  HR_TRY(hr_shape_check(&shape));
  HR_TRY(hr_temp(k, HR_F32, &shape, &scratch));
  memset(scratch.data, 0, hr_tensor_bytes(&scratch));
  j->scratch = scratch.data;
  hr_status_t status = hr_parallel(k, places, cost, rows, j);
  hr_tensor_release(&scratch);
  return status;
}

/* Input i in float: itself, or a wider copy. */
static hr_status_t open_input(hr_kernel_ctx_t* k, int i, hr_tensor_t* out) {
  if (hr_input(k, i)->dtype != HR_F32) return hr_epilogue_widen(k, hr_input(k, i), out);
  hr_tensor_share(hr_input(k, i), out);
  return NULL;
}

static hr_status_t compute(hr_kernel_ctx_t* k, hr_tensor_t* out) {
  const hr_shape_t* shape = &out->shape;
  const int count = hr_input_count(k);
  hr_tensor_t in[3] = {{0}}, wide = {0};
  hr_status_t status = NULL;
  job_t j = {.lrn = *(const hr_lrn_t*)hr_prepared(k), .vec = HR_ISA_PICK(hr_lrn_vec)};
  j.lrn.depth = shape->dims[3];
  if (j.lrn.radius > j.lrn.depth) j.lrn.radius = j.lrn.depth; /* no window is larger */
  for (int i = 0; !status && i < count; ++i) status = open_input(k, i, &in[i]);
  if (!status && out->dtype != HR_F32) status = hr_temp(k, HR_F32, shape, &wide);
  j.dy = count == 3 ? in[0].data : NULL;
  j.x = in[count == 3].data;
  j.y = in[2].data;
  j.out = wide.data ? wide.data : out->data;
  if (!status) status = run(k, &j, out->count);
  if (!status && out->dtype != HR_F32) status = hr_epilogue_narrow(k, wide.data, out);
  for (int i = 0; i < count; ++i) hr_tensor_release(&in[i]);
  hr_tensor_release(&wide);
  return status;
}

static hr_status_t lrn(hr_kernel_ctx_t* k) {
  hr_tensor_t* y;
  HR_TRY(hr_want_rank(k, 0, "in must be 4-dimensional: ", 4));
  HR_TRY(hr_output(k, 0, &hr_input(k, 0)->shape, &y));
  return y->count ? compute(k, y) : NULL;
}

static hr_status_t lrn_grad(hr_kernel_ctx_t* k) {
  hr_tensor_t* dx;
  HR_TRY(hr_want_rank(k, 0, "inputs must be 4-dimensional: ", 4));
  HR_TRY(hr_want_same_shape(k, 0, 1));
  HR_TRY(hr_want_same_shape(k, 0, 2));
  HR_TRY(hr_output(k, 0, &hr_input(k, 0)->shape, &dx));
  return dx->count ? compute(k, dx) : NULL;
}

/* 3. gradient */
static void grad_lrn(hr_grad_ctx_t* g) {
  static const char* const names[] = {"depth_radius", "bias", "alpha", "beta"};
  hr_named_attr_t attrs[4];
  for (int i = 0; i < 4; ++i) attrs[i] = hr_at(names[i], *hr_attrs_find(hr_grad_attrs(g), names[i]));
  hr_grad_give(g, 0, hr_emit(g, "LRNGrad", HR_VALUES(hr_grad_upstream(g, 0), hr_grad_input(g, 0), hr_grad_output(g, 0)), 4, attrs));
}

/* 4. definitions */
#define LRN_ATTRS                                                                                             \
  "depth_radius: int = 5; bias: float = 1; alpha: float = 1; beta: float = 0.5; T: type{half,bfloat16,float}" \
  " = float"
#define LRN_ROW(fn)                                                   \
  HR_KERNELS({.where = {{"T", HR_M(F16) | HR_M(BF16) | HR_M(F32)}},   \
              .prepared_bytes = sizeof(hr_lrn_t),                     \
              .prepare = prepare,                                     \
              .compute = fn})

const hr_op_t hr_op_LRN = {.name = "LRN",
                           .sig = "input: T -> output: T",
                           .attrs = LRN_ATTRS,
                           .shape = infer,
                           .grad = grad_lrn,
                           LRN_ROW(lrn),
                           .doc = "x (bias + alpha sum of squares of nearby channels)^-beta",
                           HR_HERE};

const hr_op_t hr_op_LRNGrad = {.name = "LRNGrad",
                               .sig = "input_grads: T; input_image: T; output_image: T -> output: T",
                               .attrs = LRN_ATTRS,
                               .shape = infer,
                               LRN_ROW(lrn_grad),
                               .doc = "gradient of LRN with respect to its input",
                               HR_HERE};
