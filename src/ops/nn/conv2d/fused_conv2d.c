/* SPDX-License-Identifier: Apache-2.0 */
/* _FusedConv2D: Conv2D, then what fused_ops names in this order: BiasAdd or FusedBatchNorm (inference), Add (a residual), an activation.
 * Batch norm is one pass over the result after the convolution; the others are inside it where the dense library serves. */
#include <string.h>
#include "ops/math/matmul/epilogue.h"
#include "ops/nn/conv2d/conv2d.h"

extern const hr_op_t hr_op__FusedConv2D;

typedef struct {
  hr_conv2d_prepared_t conv; /* first: unprepare is Conv2D's */
  hr_epilogue_t epilogue;
} fused_prepared_t;

static hr_status_t prepare_fused(hr_prepare_ctx_t* p, void* prepared) {
  fused_prepared_t* m = prepared;
  HR_TRY(hr_conv2d_prepare(p, &m->conv));
  HR_TRY(hr_epilogue_parse(p->attrs, p->input_count - 2, &m->epilogue));
  const hr_str_t format = hr_attrs_str(p->attrs, "filter_format");
  if (!hr_str_is(format, "HWIO")) return HR_ERROR(UNIMPLEMENTED, "filter_format '%.*s'", HR_STR_ARG(format));
  return NULL;
}

static hr_status_t check_vectors(hr_kernel_ctx_t* k, int count, int64_t n) {
  for (int i = 2; i < 2 + count; ++i) {
    HR_TRY(hr_want_vector(k, i, "per-channel argument"));
    if (hr_input(k, i)->count != n)
      return HR_ERROR(INVALID_ARGUMENT, "input %d has %lld elements for %lld channels", i, (long long)hr_input(k, i)->count, (long long)n);
  }
  return NULL;
}

/* The output, holding the residual when there is one (taken over in place if this is its last use). */
static hr_status_t start_output(hr_kernel_ctx_t* k, const hr_shape_t* shape, int residual, hr_tensor_t** out) {
  if (residual < 0) return hr_output(k, 0, shape, out);
  const hr_tensor_t* r = hr_input(k, residual);
  char text[2][HR_SHAPE_TEXT];
  if (!hr_shape_equal(&r->shape, shape))
    return HR_ERROR(INVALID_ARGUMENT, "the addend is %s, the result %s", hr_shape_format(&r->shape, text[0]),
                    hr_shape_format(shape, text[1]));
  const void* data = r->data;
  const size_t bytes = hr_tensor_bytes(r);
  HR_TRY(hr_output_take(k, 0, residual, shape, out));
  if ((*out)->data != data) memcpy((*out)->data, data, bytes);
  return NULL;
}

static hr_status_t run_norm(hr_kernel_ctx_t* k, const fused_prepared_t* m, const hr_dnn_conv_t* d, const void* residual, hr_tensor_t* y) {
  const void* const args[4] = {hr_input(k, 2)->data, hr_input(k, 3)->data, hr_input(k, 4)->data, hr_input(k, 5)->data};
  const hr_shape_t shape = hr_shape_matrix(2, d->out_c);
  hr_tensor_t both;
  HR_TRY(hr_temp(k, y->dtype, &shape, &both));
  char *scale = both.data, *bias = scale + (size_t)d->out_c * hr_dtype_size(y->dtype);
  hr_epilogue_fold_norm(y->dtype, args, d->out_c, m->epilogue.epsilon, scale, bias);
  const int64_t pixels = d->out_h * d->out_w;
  const hr_epilogue_run_t run = {.y = y->data,
                                 .scale = scale,
                                 .bias = bias,
                                 .add = residual,
                                 .rows = d->nchw ? d->batch * d->out_c : d->batch * pixels,
                                 .n = d->out_c,
                                 .inner = d->nchw ? pixels : 0,
                                 .activation = m->epilogue.activation,
                                 .alpha = m->epilogue.alpha};
  hr_status_t status = y->count ? hr_epilogue_apply(k, y->dtype, &run) : NULL;
  hr_tensor_release(&both);
  return status;
}

static hr_status_t compute_fused(hr_kernel_ctx_t* k) {
  fused_prepared_t* m = hr_prepared(k);
  const hr_epilogue_t* e = &m->epilogue;
  const hr_tensor_t *data = hr_input(k, 0), *filter = hr_input(k, 1);
  hr_dnn_conv_t d;
  HR_TRY(hr_conv2d_geometry(&m->conv.window, &data->shape, &filter->shape, &d));
  const int vectors = e->batch_norm ? 4 : e->bias ? 1 : 0, residual = e->add ? 2 + vectors : -1;
  HR_TRY(check_vectors(k, vectors, d.out_c));
  const hr_shape_t shape = hr_conv2d_shape(&d, true);
  hr_tensor_t* y;
  if (e->batch_norm) {
    const char* add = residual < 0 ? NULL : hr_input(k, residual)->data;
    if (residual >= 0 && !hr_shape_equal(&hr_input(k, residual)->shape, &shape))
      return HR_ERROR(INVALID_ARGUMENT, "the addend has another shape");
    HR_TRY(hr_output(k, 0, &shape, &y));
    HR_TRY(hr_conv2d_run(k, &d, &(hr_conv2d_operands_t){data, filter, NULL, y}, &m->conv));
    return run_norm(k, m, &d, add, y);
  }
  d.bias = e->bias;
  d.sum = e->add;
  d.activation = e->activation;
  d.alpha = e->alpha;
  HR_TRY(start_output(k, &shape, residual, &y));
  return hr_conv2d_run(k, &d, &(hr_conv2d_operands_t){data, filter, e->bias ? hr_input(k, 2)->data : NULL, y}, &m->conv);
}

const hr_op_t hr_op__FusedConv2D = {
    .name = "_FusedConv2D",
    .sig = "input: T; filter: T; args: TArgs; host_args: num_host_args * float -> output: T",
    .attrs =
        "T: type{half,float,double,int8,qint8}; TArgs: list(type) >= 1; num_args: int >= 0; num_host_args: int >= 0 = 0; strides: "
        "list(int); "
        "padding: string{'SAME','VALID','EXPLICIT'}; explicit_paddings: list(int) = []; data_format: string{'NHWC','NCHW','NCHW_VECT_C'} = "
        "'NHWC'; "
        "filter_format: string{'HWIO','OIHW','OIHW_VECT_I'} = 'HWIO'; dilations: list(int) = [1,1,1,1]; use_cudnn_on_gpu: bool = true; "
        "fused_ops: list(string) = []; epsilon: float = 0.0001; leakyrelu_alpha: float = 0.2",
    .shape = hr_conv2d_infer,
    .grad = hr_grad_none,
    HR_KERNELS({.where = {{"T", HR_M(F32) | HR_M(F64)}},
                .prepared_bytes = sizeof(fused_prepared_t),
                .prepare = prepare_fused,
                .unprepare = hr_conv2d_unprepare,
                .compute = compute_fused}),
    .doc = "Conv2D, then what fused_ops names: bias or batch norm, a residual, an activation",
    HR_HERE};
