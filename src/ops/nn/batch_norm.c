/* SPDX-License-Identifier: Apache-2.0 */
/* FusedBatchNorm V1 to V3: y = (x - mean) / sqrt(variance + epsilon) scale + offset per channel. Training takes mean and variance of the
 * batch, and gives them out (the variance times N / (N - 1)), blended into the given ones when exponential_avg_factor is not 1; the reserve
 * spaces hold mean and the plain variance for the gradient. half and bfloat16 data are computed in float.
 *
 * An empty batch has no mean and no variance: NaN. Where TensorFlow leaves memory as it was, there are zeros here: outputs 1 to 4 of
 * inference on an empty batch, and its reserve spaces. */
#include "ops/nn/batch_norm.h"
#include <math.h>
#include <string.h>
#include "base/isa.h"
#include "op/grad_ctx.h"
#include "op/infer.h"
#include "op/kernel_ctx.h"
#include "ops/math/matmul/epilogue.h"

extern const hr_op_t hr_op_FusedBatchNorm, hr_op_FusedBatchNormV2, hr_op_FusedBatchNormV3, hr_op_FusedBatchNormGrad,
    hr_op_FusedBatchNormGradV2, hr_op_FusedBatchNormGradV3;
HR_ISA_TABLES(hr_batch_norm_vec_t, hr_batch_norm_vec);

/* 1. shapes */
static bool norm_channels_first(const hr_node_attrs_t* attrs) { return hr_attrs_str(attrs, "data_format").data[1] == 'C'; }
static int norm_rank(const hr_node_attrs_t* attrs) { return (int)hr_attrs_str(attrs, "data_format").size; } /* a letter an axis */

static hr_status_t merge_vectors(hr_infer_t* s, int first, int last, int64_t* channels) {
  for (int i = first; i < last; ++i) {
    const hr_pshape_t* v;
    HR_TRY(hr_infer_want_rank(s, i, 1, &v));
    HR_TRY(hr_status_note(hr_infer_merge_dim(*channels, hr_infer_dim(v, 0), channels), "channels and length of input %d: ", i));
  }
  return NULL;
}

static hr_status_t infer_norm(hr_infer_t* s) {
  const hr_node_attrs_t* attrs = hr_infer_attrs(s);
  const hr_pshape_t* x;
  const int rank = norm_rank(attrs), axis = norm_channels_first(attrs) ? 1 : rank - 1;
  HR_TRY(hr_infer_want_rank(s, 0, rank, &x));
  int64_t dims[5], channels = hr_infer_dim(x, axis);
  HR_TRY(merge_vectors(s, 1, hr_attrs_bool(attrs, "is_training") ? 3 : 5, &channels));
  for (int i = 0; i < rank; ++i) dims[i] = i == axis ? channels : hr_infer_dim(x, i);
  HR_TRY(hr_infer_set_dims(s, 0, rank, dims));
  for (int i = 1; i < 5; ++i) HR_TRY(hr_infer_set_vector(s, i, channels));
  if (hr_infer_output_count(s) == 6) hr_infer_set(s, 5, &hr_pshape_scalar);
  return NULL;
}

static hr_status_t infer_norm_grad(hr_infer_t* s) { /* y_backprop; x; scale; reserve_space_1; reserve_space_2 ... */
  const hr_node_attrs_t* attrs = hr_infer_attrs(s);
  const hr_pshape_t *dy, *x, *both;
  const int rank = norm_rank(attrs), axis = norm_channels_first(attrs) ? 1 : rank - 1;
  HR_TRY(hr_infer_want_rank(s, 0, rank, &dy));
  HR_TRY(hr_infer_want_rank(s, 1, rank, &x));
  HR_TRY(hr_status_note(hr_infer_merge(s, dy, x, &both), "y_backprop and x: "));
  int64_t dims[5], channels = hr_infer_dim(both, axis);
  HR_TRY(merge_vectors(s, 2, 5, &channels));
  for (int i = 0; i < rank; ++i) dims[i] = i == axis ? channels : hr_infer_dim(both, i);
  HR_TRY(hr_infer_set_dims(s, 0, rank, dims));
  for (int i = 1; i < 3; ++i) HR_TRY(hr_infer_set_vector(s, i, channels));
  for (int i = 3; i < 5; ++i) HR_TRY(hr_infer_set_vector(s, i, 0));
  return NULL;
}

/* 2. kernels */
typedef struct {
  bool channels_first, training;
  float epsilon, factor;
} norm_prepared_t;

static hr_status_t prepare_norm(hr_prepare_ctx_t* p, void* prepared) {
  norm_prepared_t* m = prepared;
  m->channels_first = norm_channels_first(p->attrs);
  m->training = hr_attrs_bool(p->attrs, "is_training");
  m->epsilon = hr_attrs_float(p->attrs, "epsilon");
  m->factor = hr_attrs_find(p->attrs, "exponential_avg_factor") ? hr_attrs_float(p->attrs, "exponential_avg_factor") : 1.0f;
  return NULL;
}

enum { PARTS = 64, PART_ROWS = 64 }; /* of a sum: at most, at least */

typedef struct {
  const hr_batch_norm_vec_t* vec;
  const float *x, *dy;
  float* y;
  int64_t outer, channels, inner; /* [outer, channels, inner]; inner 1: channels last */
  int64_t part, parts;            /* outer places of one part of a sum */
  double* sums;                   /* [parts, 2, channels] */
  const float *pivot, *a, *b, *c; /* per channel; what they mean depends on the pass */
} norm_job_t;

static norm_job_t norm_job(const norm_prepared_t* m, const hr_tensor_t* x) {
  norm_job_t j = {.vec = HR_ISA_PICK(hr_batch_norm_vec)};
  const int axis = m->channels_first ? 1 : x->shape.rank - 1;
  j.outer = hr_shape_count_range(&x->shape, 0, axis);
  j.channels = x->shape.dims[axis];
  j.inner = m->channels_first ? hr_shape_count_range(&x->shape, 2, x->shape.rank) : 1;
  const int64_t least = m->channels_first ? 1 : PART_ROWS, even = (j.outer + PARTS - 1) / PARTS;
  j.part = even > least ? even : least;
  j.parts = (j.outer + j.part - 1) / j.part;
  return j;
}

static hr_status_t sum_part(void* arg, int64_t begin, int64_t end, int chunk) { /* statistics of x, or of dy and x */
  (void)chunk;
  const norm_job_t* j = arg;
  for (int64_t p = begin; p < end; ++p) {
    double *s1 = j->sums + 2 * p * j->channels, *s2 = s1 + j->channels;
    const int64_t first = p * j->part, last = first + j->part < j->outer ? first + j->part : j->outer;
    memset(s1, 0, (size_t)(2 * j->channels) * sizeof *s1);
    if (j->inner == 1) {
      const float* x = j->x + first * j->channels;
      if (j->dy)
        j->vec->grad_stats_rows(j->dy + first * j->channels, x, j->pivot, last - first, j->channels, s1, s2);
      else
        j->vec->stats_rows(x, j->pivot, last - first, j->channels, s1, s2);
      continue;
    }
    for (int64_t i = first * j->channels; i < last * j->channels; ++i) {
      const int64_t c = i % j->channels;
      if (j->dy)
        j->vec->grad_stats_plane(j->dy + i * j->inner, j->x + i * j->inner, j->pivot[c], j->inner, s1 + c, s2 + c);
      else
        j->vec->stats_plane(j->x + i * j->inner, j->pivot[c], j->inner, s1 + c, s2 + c);
    }
  }
  return NULL;
}

/* Sums of all parts, added in order, into the first part's place. */
static hr_status_t sum_all(hr_kernel_ctx_t* k, norm_job_t* j) {
  const double cost = (double)j->part * (double)j->channels * (double)j->inner * 0.2;
  HR_TRY(hr_parallel(k, j->parts, cost, sum_part, j));
  for (int64_t p = 1; p < j->parts; ++p)
    for (int64_t c = 0; c < 2 * j->channels; ++c) j->sums[c] += j->sums[2 * p * j->channels + c];
  return NULL;
}

static hr_status_t apply_part(void* arg, int64_t begin, int64_t end, int chunk) {
  (void)chunk;
  const norm_job_t* j = arg;
  if (j->inner == 1) {
    const int64_t at = begin * j->channels;
    if (j->dy)
      j->vec->grad_apply_rows(j->dy + at, j->x + at, j->pivot, j->a, j->b, j->c, end - begin, j->channels, j->y + at);
    else
      j->vec->apply_rows(j->x + at, j->pivot, j->a, j->b, end - begin, j->channels, j->y + at);
    return NULL;
  }
  for (int64_t i = begin; i < end; ++i) {
    const int64_t c = i % j->channels, at = i * j->inner;
    if (j->dy)
      j->vec->grad_apply_plane(j->dy + at, j->x + at, j->pivot[c], j->a[c], j->b[c], j->c[c], j->inner, j->y + at);
    else
      j->vec->apply_plane(j->x + at, j->pivot[c], j->a[c], j->b[c], j->inner, j->y + at);
  }
  return NULL;
}

static hr_status_t apply_all(hr_kernel_ctx_t* k, norm_job_t* j) {
  if (j->inner == 1) return hr_parallel(k, j->outer, (double)j->channels * 0.2, apply_part, j);
  return hr_parallel(k, j->outer * j->channels, (double)j->inner * 0.2, apply_part, j);
}

/* What is found at run time may be an image where a volume was announced, and the other way round: channels are first or last in both. */
static hr_status_t want_images(hr_kernel_ctx_t* k, int input) {
  return hr_input(k, input)->shape.rank == 5 ? NULL : hr_want_rank(k, input, "input", 4);
}

static hr_status_t want_channels(hr_kernel_ctx_t* k, int first, int last, const char* const* names, int64_t channels) {
  for (int i = first; i < last; ++i) {
    const char* name = names[i - first];
    if (hr_input(k, i)->shape.rank != 1)
      return hr_status_note(hr_want_vector(k, i, name), "%s must be 1-dimensional, a value for each channel: ", name);
    if (hr_input(k, i)->count != channels)
      return HR_ERROR(INVALID_ARGUMENT, "%s must have the same number of elements as the channels of x, got %lld and %lld", name,
                      (long long)hr_input(k, i)->count, (long long)channels);
  }
  return NULL;
}

/* Mean and plain variance of the batch. The pivot (the first value of each channel, where it is finite) keeps the squares small. */
static hr_status_t batch_stats(hr_kernel_ctx_t* k, norm_job_t* j, float* mean, float* variance) {
  const double count = (double)j->outer * (double)j->inner;
  for (int64_t c = 0; c < j->channels; ++c) mean[c] = isfinite(j->x[c * j->inner]) ? j->x[c * j->inner] : 0;
  j->pivot = mean;
  HR_TRY(sum_all(k, j));
  for (int64_t c = 0; c < j->channels; ++c) {
    const double d = j->sums[c] / count, square = j->sums[j->channels + c] / count - d * d;
    mean[c] = (float)((double)mean[c] + d);
    variance[c] = square < 0.0 ? 0.0f : (float)square; /* NaN stays */
  }
  return NULL;
}

typedef struct {
  float *mean, *variance, *saved_mean, *saved_variance;
} norm_out_t;

static hr_status_t norm_outputs(hr_kernel_ctx_t* k, int64_t channels, norm_out_t* out) {
  const hr_shape_t vector = hr_shape_vector(channels), scalar = hr_shape_scalar();
  float** const to[4] = {&out->mean, &out->variance, &out->saved_mean, &out->saved_variance};
  hr_tensor_t* t;
  for (int i = 0; i < 4; ++i) {
    HR_TRY(hr_output(k, 1 + i, &vector, &t));
    memset(t->data, 0, hr_tensor_bytes(t));
    *to[i] = t->data;
  }
  if (hr_output_count(k) < 6) return NULL;
  HR_TRY(hr_output(k, 5, &scalar, &t));
  memset(t->data, 0, hr_tensor_bytes(t));
  return NULL;
}

static void stats_of_nothing(const norm_out_t* o, int64_t channels) {
  for (int64_t c = 0; c < channels; ++c) o->mean[c] = o->variance[c] = NAN;
}

static void blend_stats(const norm_prepared_t* m, const float* old_mean, const float* old_variance, double count, int64_t channels,
                        norm_out_t* o) {
  const float f = m->factor, unbias = count > 1.0 ? (float)(count / (count - 1.0)) : 1.0f;
  for (int64_t c = 0; c < channels; ++c) {
    const float variance = o->saved_variance[c] * unbias;
    o->mean[c] = f == 1.0f ? o->saved_mean[c] : (1.0f - f) * old_mean[c] + f * o->saved_mean[c];
    o->variance[c] = f == 1.0f ? variance : (1.0f - f) * old_variance[c] + f * variance;
  }
}

/* x (float) to y (float): statistics if training, then the pass over the data. `work`: room for channels floats. */
static hr_status_t run_norm(hr_kernel_ctx_t* k, const norm_prepared_t* m, norm_job_t* j, norm_out_t* o, float* work) {
  const float *scale = hr_input(k, 1)->data, *offset = hr_input(k, 2)->data, *mean = hr_input(k, 3)->data, *variance = hr_input(k, 4)->data;
  if (m->training) {
    HR_TRY(batch_stats(k, j, o->saved_mean, o->saved_variance));
    blend_stats(m, mean, variance, (double)j->outer * (double)j->inner, j->channels, o);
    mean = o->saved_mean;
    variance = o->saved_variance;
  } else { /* given back as they are, as TensorFlow's kernels do */
    memcpy(o->mean, mean, (size_t)j->channels * sizeof *mean);
    memcpy(o->variance, variance, (size_t)j->channels * sizeof *variance);
  }
  for (int64_t c = 0; c < j->channels; ++c) work[c] = scale[c] / sqrtf(variance[c] + m->epsilon);
  j->pivot = mean;
  j->a = work;
  j->b = offset;
  return apply_all(k, j);
}

static hr_status_t norm_scratch(hr_kernel_ctx_t* k, const norm_job_t* j, hr_tensor_t* out) { /* the sums, then four vectors of floats */
  const hr_shape_t shape = hr_shape_matrix(2 * j->parts + 4, j->channels);
  HR_TRY(hr_shape_check(&shape));
  return hr_temp(k, HR_F64, &shape, out);
}

static hr_status_t fused_norm(hr_kernel_ctx_t* k) {
  static const char* const names[] = {"scale", "offset", "mean", "variance"};
  const norm_prepared_t* m = hr_prepared(k);
  const hr_tensor_t* x = hr_input(k, 0);
  hr_tensor_t scratch = {0}, wide = {0};
  hr_tensor_t* y;
  norm_out_t o;
  hr_status_t status;
  HR_TRY(want_images(k, 0));
  norm_job_t j = norm_job(m, x);
  const bool unread = m->training && m->factor == 1.0f; /* mean and variance may then have any length */
  HR_TRY(want_channels(k, 1, unread ? 3 : 5, names, j.channels));
  for (int i = 3; i < 5 && unread; ++i) HR_TRY(hr_status_note(hr_want_vector(k, i, names[i - 1]), "must be 1-dimensional: "));
  const bool narrow = x->dtype != HR_F32;
  HR_TRY(norm_outputs(k, j.channels, &o));
  HR_TRY(hr_output(k, 0, &x->shape, &y));
  if (x->count == 0) {
    if (m->training) stats_of_nothing(&o, j.channels);
    return NULL;
  }
  if ((status = norm_scratch(k, &j, &scratch))) goto done;
  if (narrow && (status = hr_epilogue_widen(k, x, &wide))) goto done;
  j.x = narrow ? wide.data : x->data;
  j.y = narrow ? wide.data : y->data;
  j.sums = scratch.data;
  if ((status = run_norm(k, m, &j, &o, (float*)(j.sums + 2 * j.parts * j.channels)))) goto done;
  if (narrow) status = hr_epilogue_narrow(k, wide.data, y);
done:
  hr_tensor_release(&scratch);
  hr_tensor_release(&wide);
  return status;
}

/* dy, x (float) to dx (float), d_scale, d_offset. */
static hr_status_t run_norm_grad(hr_kernel_ctx_t* k, const norm_prepared_t* m, norm_job_t* j, float* d_scale, float* d_offset,
                                 float* work) {
  const float *scale = hr_input(k, 2)->data, *mean = hr_input(k, 3)->data, *variance = hr_input(k, 4)->data;
  float *a = work, *b = a + j->channels, *c = b + j->channels;
  const double count = (double)j->outer * (double)j->inner;
  j->pivot = mean;
  HR_TRY(sum_all(k, j));
  for (int64_t i = 0; i < j->channels; ++i) {
    const double r = 1.0 / sqrt((double)variance[i] + (double)m->epsilon);
    d_offset[i] = (float)j->sums[i];
    d_scale[i] = (float)(j->sums[j->channels + i] * r);
    a[i] = (float)((double)scale[i] * r);
    b[i] = m->training ? (float)(j->sums[i] / count) : 0.0f;
    c[i] = m->training ? (float)(j->sums[j->channels + i] / count * r * r) : 0.0f;
  }
  j->a = a;
  j->b = b;
  j->c = c;
  if (!m->training) { /* dx = a dy, whatever x is: (dy - 0) a + 0 */
    j->x = j->dy;
    j->dy = NULL;
    j->pivot = j->b = c;
  }
  return apply_all(k, j);
}

static hr_status_t grad_outputs(hr_kernel_ctx_t* k, const hr_shape_t* shape, int64_t channels, hr_tensor_t** dx, float** d_scale,
                                float** d_offset) {
  const hr_shape_t vector = hr_shape_vector(channels), none = hr_shape_vector(0);
  hr_tensor_t* t;
  HR_TRY(hr_output(k, 0, shape, dx));
  for (int i = 1; i < 5; ++i) {
    HR_TRY(hr_output(k, i, i < 3 ? &vector : &none, &t));
    memset(t->data, 0, hr_tensor_bytes(t));
    if (i == 1) *d_scale = t->data;
    if (i == 2) *d_offset = t->data;
  }
  return NULL;
}

static hr_status_t fused_norm_grad(hr_kernel_ctx_t* k) {
  static const char* const names[] = {"scale", "reserve_space_1", "reserve_space_2"};
  const norm_prepared_t* m = hr_prepared(k);
  const hr_tensor_t *dy = hr_input(k, 0), *x = hr_input(k, 1);
  hr_tensor_t scratch = {0}, wide_dy = {0}, wide_x = {0};
  hr_tensor_t* dx;
  float *d_scale = NULL, *d_offset = NULL;
  hr_status_t status;
  char text[2][HR_SHAPE_TEXT];
  HR_TRY(want_images(k, 0));
  HR_TRY(want_images(k, 1));
  if (!hr_shape_equal(&x->shape, &dy->shape))
    return HR_ERROR(INVALID_ARGUMENT, "x and y_backprop must have same shape, but x has shape %s and y_backprop has shape %s",
                    hr_shape_format(&x->shape, text[0]), hr_shape_format(&dy->shape, text[1]));
  norm_job_t j = norm_job(m, x);
  HR_TRY(want_channels(k, 2, 5, names, j.channels));
  HR_TRY(grad_outputs(k, &x->shape, j.channels, &dx, &d_scale, &d_offset));
  if (x->count == 0) return NULL;
  const bool narrow = x->dtype != HR_F32;
  if ((status = norm_scratch(k, &j, &scratch))) goto done;
  if (narrow && (status = hr_epilogue_widen(k, dy, &wide_dy))) goto done;
  if (narrow && (status = hr_epilogue_widen(k, x, &wide_x))) goto done;
  j.dy = narrow ? wide_dy.data : dy->data;
  j.x = narrow ? wide_x.data : x->data;
  j.y = narrow ? wide_dy.data : dx->data;
  j.sums = scratch.data;
  if ((status = run_norm_grad(k, m, &j, d_scale, d_offset, (float*)(j.sums + 2 * j.parts * j.channels)))) goto done;
  if (narrow) status = hr_epilogue_narrow(k, wide_dy.data, dx);
done:
  hr_tensor_release(&scratch);
  hr_tensor_release(&wide_dy);
  hr_tensor_release(&wide_x);
  return status;
}

/* 3. gradients */
static void norm_grad(hr_grad_ctx_t* g, const char* op, bool third) {
  const bool training = hr_attrs_bool(hr_grad_attrs(g), "is_training");
  const hr_value_t in[6] = {hr_grad_upstream(g, 0),
                            hr_grad_input(g, 0),
                            hr_grad_input(g, 1),
                            training ? hr_grad_output(g, 3) : hr_grad_input(g, 3),
                            training ? hr_grad_output(g, 4) : hr_grad_input(g, 4),
                            third ? hr_grad_output(g, 5) : HR_NO_VALUE};
  const hr_named_attr_t attrs[3] = {hr_at("epsilon", *hr_attrs_find(hr_grad_attrs(g), "epsilon")),
                                    hr_at("data_format", *hr_attrs_find(hr_grad_attrs(g), "data_format")),
                                    hr_at_bool("is_training", training)};
  hr_value_t d = hr_emit(g, op, third ? 6 : 5, in, 3, attrs);
  for (int i = 0; i < 3; ++i) hr_grad_give(g, i, hr_emit_nth(d, i));
}
static void norm_grad_v1(hr_grad_ctx_t* g) { norm_grad(g, "FusedBatchNormGrad", false); }
static void norm_grad_v2(hr_grad_ctx_t* g) { norm_grad(g, "FusedBatchNormGradV2", false); }
static void norm_grad_v3(hr_grad_ctx_t* g) { norm_grad(g, "FusedBatchNormGradV3", true); }

/* The gradient's gradient, from the formula. With r = 1 / sqrt(v + eps), z = x - mean, per channel the upstream A of dx, B of d_scale and C
 * of d_offset, s the scale, a bar for the mean over the batch, S = mean(dy z), Q = mean(A z): training   d dy = s r (A - mean A - r^2 Q z)
 * + B r z + C d x  = (B r - s r^3 Q)(dy - mean dy) - s r^3 S (A - mean A) - r^3 z (s (mean(A dy) - mean A mean dy) - 3 s r^2 S Q + B S) d s
 * = r sum(A (dy - mean dy - r^2 S z)) (mean and v are the batch's own, taken from x again, since they move with it) inference  d dy = s r A
 * + B r z + C,  d x = B r dy,  d s = r sum(A dy) */
typedef struct {
  hr_grad_ctx_t* g;
  hr_value_t axes, column; /* the axes of a mean; the shape of a channel vector that broadcasts */
  hr_value_t dy, z, r, s, A, B, C;
} second_t;

static hr_value_t mul(const second_t* t, hr_value_t a, hr_value_t b) { return hr_emit_mul(t->g, a, b); }
static hr_value_t sub(const second_t* t, hr_value_t a, hr_value_t b) { return hr_emit_sub(t->g, a, b); }
static hr_value_t mean_of(const second_t* t, hr_value_t a) {
  return hr_emit(t->g, "Mean", HR_VALUES(a, t->axes), HR_ATTRS(hr_at_bool("keep_dims", true)));
}
static hr_value_t as_float(hr_grad_ctx_t* g, hr_value_t v) { return hr_grad_dtype(g, v) == HR_F32 ? v : hr_emit_cast(g, v, HR_F32); }
static hr_value_t channel(const second_t* t, hr_value_t v) { return hr_emit_reshape(t->g, v, t->column); }

static second_t start_second(hr_grad_ctx_t* g) {
  const hr_node_attrs_t* attrs = hr_grad_attrs(g);
  const int rank = norm_rank(attrs);
  const bool first = norm_channels_first(attrs);
  int64_t axes[4], column[5];
  for (int i = 0, n = 0; i < rank; ++i) {
    const bool is_channel = i == (first ? 1 : rank - 1);
    if (!is_channel) axes[n++] = i;
    column[i] = is_channel ? -1 : 1;
  }
  second_t t = {.g = g, .axes = hr_emit_const_i32s(g, axes, rank - 1), .column = hr_emit_const_i32s(g, column, rank)};
  t.dy = as_float(g, hr_grad_input(g, 0));
  const bool training = hr_attrs_bool(attrs, "is_training");
  hr_value_t x = as_float(g, hr_grad_input(g, 1));
  t.z = sub(&t, x, training ? mean_of(&t, x) : channel(&t, hr_grad_input(g, 3)));
  hr_value_t variance = training ? mean_of(&t, hr_emit_square(g, t.z)) : channel(&t, hr_grad_input(g, 4));
  t.r = hr_emit1(g, "Rsqrt", hr_emit_add(g, variance, hr_emit_const_like(g, variance, (double)hr_attrs_float(attrs, "epsilon"))));
  t.s = channel(&t, hr_grad_input(g, 2));
  t.A = as_float(g, hr_grad_upstream(g, 0));
  t.B = channel(&t, hr_grad_upstream(g, 1));
  t.C = channel(&t, hr_grad_upstream(g, 2));
  return t;
}

static void give_second(const second_t* t, hr_value_t d_dy, hr_value_t d_x, hr_value_t d_s) {
  hr_grad_ctx_t* g = t->g;
  const hr_dtype_t type = hr_grad_dtype(g, hr_grad_input(g, 0));
  hr_grad_give(g, 0, type == HR_F32 ? d_dy : hr_emit_cast(g, d_dy, type));
  hr_grad_give(g, 1, type == HR_F32 ? d_x : hr_emit_cast(g, d_x, type));
  hr_grad_give(g, 2, hr_emit_reshape(g, d_s, hr_emit_shape(g, hr_grad_input(g, 2))));
}

static void second_inference(const second_t* t) {
  hr_value_t Br = mul(t, t->B, t->r);
  hr_value_t d_dy = hr_emit_add(t->g, hr_emit_add(t->g, mul(t, mul(t, t->s, t->r), t->A), mul(t, Br, t->z)), t->C);
  give_second(t, d_dy, mul(t, Br, t->dy), mul(t, t->r, hr_emit_sum(t->g, mul(t, t->A, t->dy), t->axes, true)));
}

static void second_training(const second_t* t) {
  hr_grad_ctx_t* g = t->g;
  hr_value_t r2 = hr_emit_square(g, t->r), r3 = mul(t, r2, t->r), sr3 = mul(t, t->s, r3), Br = mul(t, t->B, t->r);
  hr_value_t mean_dy = mean_of(t, t->dy), mean_A = mean_of(t, t->A), S = mean_of(t, mul(t, t->dy, t->z)),
             Q = mean_of(t, mul(t, t->A, t->z));
  hr_value_t dy0 = sub(t, t->dy, mean_dy), A0 = sub(t, t->A, mean_A);
  hr_value_t d_dy = mul(t, mul(t, t->s, t->r), sub(t, A0, mul(t, mul(t, r2, Q), t->z)));
  d_dy = hr_emit_add(g, hr_emit_add(g, d_dy, mul(t, Br, t->z)), t->C);
  hr_value_t inner = mul(t, t->s, sub(t, mean_of(t, mul(t, t->A, t->dy)), mul(t, mean_A, mean_dy)));
  inner = sub(t, inner, hr_emit_scale(g, mul(t, mul(t, t->s, r2), mul(t, S, Q)), 3.0));
  inner = hr_emit_add(g, inner, mul(t, t->B, S));
  hr_value_t d_x = sub(t, mul(t, sub(t, Br, mul(t, sr3, Q)), dy0), mul(t, mul(t, sr3, S), A0));
  d_x = sub(t, d_x, mul(t, mul(t, r3, inner), t->z));
  hr_value_t d_s = mul(t, t->r, hr_emit_sum(g, mul(t, t->A, sub(t, dy0, mul(t, mul(t, r2, S), t->z))), t->axes, true));
  give_second(t, d_dy, d_x, d_s);
}

static void norm_grad_grad(hr_grad_ctx_t* g) {
  const second_t t = start_second(g);
  if (hr_attrs_bool(hr_grad_attrs(g), "is_training"))
    second_training(&t);
  else
    second_inference(&t);
}

/* 4. definitions */
#define NORM_ROWS(set, fn) \
  HR_KERNELS({.where = {{"T", set}}, .prepared_bytes = sizeof(norm_prepared_t), .prepare = prepare_norm, .compute = fn})
#define NORM_ROWS_U(fn) \
  HR_KERNELS(           \
      {.where = {{"T", NORM_DATA}, {"U", HR_M(F32)}}, .prepared_bytes = sizeof(norm_prepared_t), .prepare = prepare_norm, .compute = fn})
#define NORM_DATA  (HR_M(F32) | HR_M(F16) | HR_M(BF16))
#define FORMATS_2D "data_format: string{'NHWC','NCHW'} = 'NHWC'; is_training: bool = true"
#define FORMATS_3D "data_format: string{'NHWC','NCHW','NDHWC','NCDHW'} = 'NHWC'; is_training: bool = true"
#define EPSILON    "epsilon: float = 0.0001; "
#define FACTOR     "exponential_avg_factor: float = 1; "

const hr_op_t hr_op_FusedBatchNorm = {
    .name = "FusedBatchNorm",
    .sig =
        "x: T; scale: T; offset: T; mean: T; variance: T -> y: T; batch_mean: T; batch_variance: T; reserve_space_1: T; reserve_space_2: T",
    .attrs = "T: type{float}; " EPSILON FACTOR FORMATS_2D,
    .shape = infer_norm,
    .grad = norm_grad_v1,
    NORM_ROWS(HR_M(F32), fused_norm),
    .doc = "(x - mean) / sqrt(variance + epsilon) scale + offset per channel",
    HR_HERE};
const hr_op_t hr_op_FusedBatchNormV2 = {
    .name = "FusedBatchNormV2",
    .sig =
        "x: T; scale: U; offset: U; mean: U; variance: U -> y: T; batch_mean: U; batch_variance: U; reserve_space_1: U; reserve_space_2: U",
    .attrs = "T: type{half,bfloat16,float}; U: type{float}; " EPSILON FACTOR FORMATS_2D,
    .shape = infer_norm,
    .grad = norm_grad_v2,
    NORM_ROWS_U(fused_norm),
    .doc = "FusedBatchNorm of narrow data with float parameters",
    HR_HERE};
const hr_op_t hr_op_FusedBatchNormV3 = {.name = "FusedBatchNormV3",
                                        .sig =
                                            "x: T; scale: U; offset: U; mean: U; variance: U -> y: T; batch_mean: U; batch_variance: U; "
                                            "reserve_space_1: U; reserve_space_2: U; "
                                            "reserve_space_3: U",
                                        .attrs = "T: type{half,bfloat16,float}; U: type{bfloat16,float}; " EPSILON FACTOR FORMATS_3D,
                                        .shape = infer_norm,
                                        .grad = norm_grad_v3,
                                        NORM_ROWS_U(fused_norm),
                                        .doc = "FusedBatchNormV2 of images or volumes, with a third reserve space",
                                        HR_HERE};
const hr_op_t hr_op_FusedBatchNormGrad = {
    .name = "FusedBatchNormGrad",
    .sig =
        "y_backprop: T; x: T; scale: T; reserve_space_1: T; reserve_space_2: T -> x_backprop: T; scale_backprop: T; offset_backprop: T; "
        "reserve_space_3: T; reserve_space_4: T",
    .attrs = "T: type{float}; " EPSILON FORMATS_2D,
    .shape = infer_norm_grad,
    .grad = norm_grad_grad,
    NORM_ROWS(HR_M(F32), fused_norm_grad),
    .doc = "gradient of FusedBatchNorm",
    HR_HERE};
const hr_op_t hr_op_FusedBatchNormGradV2 = {.name = "FusedBatchNormGradV2",
                                            .sig =
                                                "y_backprop: T; x: T; scale: float; reserve_space_1: U; reserve_space_2: U -> x_backprop: "
                                                "T; scale_backprop: U; offset_backprop: U; "
                                                "reserve_space_3: U; reserve_space_4: U",
                                            .attrs = "T: type{half,bfloat16,float}; U: type{float}; " EPSILON FORMATS_2D,
                                            .shape = infer_norm_grad,
                                            .grad = norm_grad_grad,
                                            NORM_ROWS_U(fused_norm_grad),
                                            .doc = "gradient of FusedBatchNormV2",
                                            HR_HERE};
const hr_op_t hr_op_FusedBatchNormGradV3 = {.name = "FusedBatchNormGradV3",
                                            .sig =
                                                "y_backprop: T; x: T; scale: float; reserve_space_1: U; reserve_space_2: U; "
                                                "reserve_space_3: U -> x_backprop: T; scale_backprop: U; "
                                                "offset_backprop: U; reserve_space_4: U; reserve_space_5: U",
                                            .attrs = "T: type{half,bfloat16,float}; U: type{float}; " EPSILON FORMATS_3D,
                                            .shape = infer_norm_grad,
                                            .grad = norm_grad_grad,
                                            NORM_ROWS_U(fused_norm_grad),
                                            .doc = "gradient of FusedBatchNormV3",
                                            HR_HERE};
