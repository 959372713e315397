/* SPDX-License-Identifier: Apache-2.0 */
/* BiasAdd: value + bias along the channels (the last axis, or axis 1 in NCHW), and BiasAddGrad: the sum over all other axes. The sum's
 * grouping depends on the shape alone, so its bits do not depend on threads. */
#include "ops/nn/bias.h"
#include <string.h>
#include "base/isa.h"
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "op/kernel_ctx.h"

extern const hr_op_t hr_op_BiasAdd, hr_op_BiasAddV1, hr_op_BiasAddGrad;
HR_ISA_TABLES(hr_bias_vec_t, hr_bias_vec);

/* 1. shapes */
static bool channels_first(const hr_node_attrs_t* attrs) {
  return hr_attrs_find(attrs, "data_format") && hr_str_is(hr_attrs_str(attrs, "data_format"), "NCHW");
}

static int least_rank(const hr_node_attrs_t* attrs) { return channels_first(attrs) ? 3 : 2; } /* channels first: of an image */

static hr_status_t infer_add(hr_infer_t* s) {
  const hr_pshape_t *value, *bias;
  HR_TRY(hr_infer_want_rank_at_least(s, 0, least_rank(hr_infer_attrs(s)), &value));
  HR_TRY(hr_infer_want_rank(s, 1, 1, &bias));
  int64_t channels;
  HR_TRY(
      hr_status_note(hr_infer_merge_dim(hr_infer_dim(value, channels_first(hr_infer_attrs(s)) ? 1 : -1), hr_infer_dim(bias, 0), &channels),
                     "channels of value and length of bias: "));
  hr_infer_set(s, 0, value);
  return NULL;
}

static hr_status_t infer_grad(hr_infer_t* s) {
  const hr_pshape_t* dy;
  HR_TRY(hr_infer_want_rank_at_least(s, 0, least_rank(hr_infer_attrs(s)), &dy));
  return hr_infer_set_vector(s, 0, hr_infer_dim(dy, channels_first(hr_infer_attrs(s)) ? 1 : -1));
}

/* 2. kernels */
typedef struct {
  bool channels_first;
} bias_prepared_t;

static hr_status_t prepare_bias(hr_prepare_ctx_t* p, void* prepared) {
  ((bias_prepared_t*)prepared)->channels_first = channels_first(p->attrs);
  return NULL;
}

static const hr_bias_rows_t* rows_of(hr_dtype_t t) {
  const hr_bias_vec_t* v = HR_ISA_PICK(hr_bias_vec);
  switch (t) {
    case HR_F32:
    case HR_C64: return &v->f32;
    case HR_F64:
    case HR_C128: return &v->f64;
    case HR_F16: return &v->f16;
    case HR_BF16: return &v->bf16;
    default: break;
  }
  const size_t size = hr_dtype_size(t);
  return size == 1 ? &v->u8 : size == 2 ? &v->u16 : size == 4 ? &v->u32 : &v->u64;
}

typedef struct {
  const hr_bias_rows_t* rows;
  const char *x, *bias;
  char *y, *sums; /* of the gradient: partial sums, one line of channels * lanes for each part */
  int64_t outer, channels, inner, lanes;
  int64_t part; /* outer places of one part */
} bias_job_t;

static hr_status_t start_job(hr_kernel_ctx_t* k, bias_job_t* j) {
  const bias_prepared_t* m = hr_prepared(k);
  const hr_tensor_t* x = hr_input(k, 0);
  HR_TRY(hr_want_rank_at_least(k, 0, "Input tensor must be at least 2D: ", 2));
  const int axis = m->channels_first ? 1 : x->shape.rank - 1;
  *j = (bias_job_t){.rows = rows_of(x->dtype),
                    .x = x->data,
                    .outer = hr_shape_count_range(&x->shape, 0, axis),
                    .channels = x->shape.dims[axis],
                    .inner = hr_shape_count_range(&x->shape, axis + 1, x->shape.rank),
                    .lanes = hr_dtype_in(x->dtype, HR_M_COMPLEX) ? 2 : 1};
  return NULL;
}

static hr_status_t add_part(void* arg, int64_t begin, int64_t end, int chunk) { /* outer places; of planes: outer * channels */
  (void)chunk;
  const bias_job_t* j = arg;
  const int64_t size = j->rows->size, width = (j->inner == 1 ? j->channels : j->inner) * j->lanes;
  if (j->inner == 1) {
    j->rows->add_rows(j->x + begin * width * size, j->bias, end - begin, width, j->y + begin * width * size);
    return NULL;
  }
  for (int64_t i = begin; i < end; ++i)
    j->rows->add_plane(j->x + i * width * size, j->bias + i % j->channels * j->lanes * size, j->inner, j->lanes, j->y + i * width * size);
  return NULL;
}

static hr_status_t bias_add(hr_kernel_ctx_t* k) {
  const hr_tensor_t *x = hr_input(k, 0), *bias = hr_input(k, 1);
  bias_job_t j;
  char text[HR_SHAPE_TEXT];
  hr_tensor_t* y;
  HR_TRY(start_job(k, &j));
  HR_TRY(hr_want_vector(k, 1, "Biases must be 1D: "));
  if (bias->count != j.channels)
    return HR_ERROR(INVALID_ARGUMENT, "Must provide as many biases as the last dimension of the input tensor: [%lld] vs. %s, %lld channels",
                    (long long)bias->count, hr_shape_format(&x->shape, text), (long long)j.channels);
  j.bias = bias->data;
  HR_TRY(hr_output_take(k, 0, 0, &x->shape, &y));
  if (y->count == 0) return NULL;
  j.y = y->data;
  const int64_t items = j.inner == 1 ? j.outer : j.outer * j.channels;
  return hr_parallel(k, items, 1.0 + (double)(y->count / items) * 0.15, add_part, &j);
}

enum { SUM_PARTS = 64, SUM_ROWS = 64 }; /* at most, at least */

static hr_status_t sum_parts(void* arg, int64_t begin, int64_t end, int chunk) {
  (void)chunk;
  const bias_job_t* j = arg;
  const int64_t line = j->channels * j->lanes, size = j->rows->size, wide = j->rows->wide;
  for (int64_t p = begin; p < end; ++p) {
    char* sums = j->sums + p * line * wide;
    const int64_t first = p * j->part, last = first + j->part < j->outer ? first + j->part : j->outer;
    memset(sums, 0, (size_t)(line * wide));
    if (j->inner == 1) {
      j->rows->sum_rows(j->x + first * line * size, last - first, line, sums);
      continue;
    }
    for (int64_t i = first * j->channels; i < last * j->channels; ++i)
      j->rows->sum_plane(j->x + i * j->inner * j->lanes * size, j->inner, j->lanes, sums + i % j->channels * j->lanes * wide);
  }
  return NULL;
}

static hr_status_t bias_add_grad(hr_kernel_ctx_t* k) {
  const hr_tensor_t* dy = hr_input(k, 0);
  bias_job_t j;
  hr_tensor_t* out;
  hr_tensor_t sums = {0};
  HR_TRY(start_job(k, &j));
  const hr_shape_t shape = hr_shape_vector(j.channels);
  HR_TRY(hr_output(k, 0, &shape, &out));
  if (out->count == 0) return NULL;
  const int64_t least = j.inner == 1 ? SUM_ROWS : 1, even = (j.outer + SUM_PARTS - 1) / SUM_PARTS;
  j.part = even > least ? even : least;
  const int64_t parts = j.outer ? (j.outer + j.part - 1) / j.part : 0, line = j.channels * j.lanes;
  hr_shape_t scratch = hr_shape_matrix(parts + 1, line * j.rows->wide);
  HR_TRY(hr_shape_check(&scratch));
  HR_TRY(hr_temp(k, HR_U8, &scratch, &sums));
  char* total = (char*)sums.data + parts * line * j.rows->wide;
  j.sums = sums.data;
  hr_status_t status = hr_parallel(k, parts, 10.0 + (double)(dy->count / (parts ? parts : 1)) * 0.15, sum_parts, &j);
  memset(total, 0, (size_t)(line * j.rows->wide));
  for (int64_t p = 0; p < parts; ++p) j.rows->add_sums(j.sums + p * line * j.rows->wide, line, total);
  j.rows->finish(total, line, out->data);
  hr_tensor_release(&sums);
  return status;
}

/* 3. gradients */
static hr_named_attr_t format_of(hr_grad_ctx_t* g) { return hr_at_str("data_format", channels_first(hr_grad_attrs(g)) ? "NCHW" : "NHWC"); }

static void grad_of_add(hr_grad_ctx_t* g) {
  hr_value_t dy = hr_grad_upstream(g, 0);
  if (hr_grad_wanted(g, 0)) hr_grad_give(g, 0, dy);
  if (hr_grad_wanted(g, 1)) hr_grad_give(g, 1, hr_emit(g, "BiasAddGrad", HR_VALUES(dy), HR_ATTRS(format_of(g))));
}

static void grad_of_grad(hr_grad_ctx_t* g) { /* every place of a channel receives the channel's gradient */
  hr_value_t zeros = hr_emit_zeros_like(g, hr_grad_input(g, 0));
  hr_grad_give(g, 0, hr_emit(g, "BiasAdd", HR_VALUES(zeros, hr_grad_upstream(g, 0)), HR_ATTRS(format_of(g))));
}

/* 4. definitions */
#define BIAS_TYPES                                                                                                                      \
  "T: "                                                                                                                                 \
  "type{float,double,int32,uint8,int16,int8,complex64,int64,qint8,quint8,qint32,bfloat16,qint16,quint16,uint16,complex128,half,uint32," \
  "uint64}"
#define BIAS_ROW(fn) \
  HR_KERNELS({.where = {{"T", HR_M_NUMBER}}, .prepared_bytes = sizeof(bias_prepared_t), .prepare = prepare_bias, .compute = fn})

const hr_op_t hr_op_BiasAdd = {.name = "BiasAdd",
                               .sig = "value: T; bias: T -> output: T",
                               .attrs = BIAS_TYPES "; data_format: string{'NHWC','NCHW'} = 'NHWC'",
                               .shape = infer_add,
                               .grad = grad_of_add,
                               BIAS_ROW(bias_add),
                               .doc = "value + bias along the channels",
                               HR_HERE};
const hr_op_t hr_op_BiasAddV1 = {.name = "BiasAddV1",
                                 .sig = "value: T; bias: T -> output: T",
                                 .attrs = BIAS_TYPES,
                                 .shape = infer_add,
                                 .grad = grad_of_add,
                                 BIAS_ROW(bias_add),
                                 .doc = "value + bias along the last axis",
                                 HR_HERE};
const hr_op_t hr_op_BiasAddGrad = {.name = "BiasAddGrad",
                                   .sig = "out_backprop: T -> output: T",
                                   .attrs = BIAS_TYPES "; data_format: string{'NHWC','NCHW'} = 'NHWC'",
                                   .shape = infer_grad,
                                   .grad = grad_of_grad,
                                   BIAS_ROW(bias_add_grad),
                                   .doc = "sum over all axes but the channels",
                                   HR_HERE};
