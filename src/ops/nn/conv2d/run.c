/* SPDX-License-Identifier: Apache-2.0 */
/* One convolution of a kernel: by the dense library where it can (packing a constant filter at its first use), else plain. half and
 * bfloat16 are widened to float, computed, and rounded once. */
#include <string.h>
#include "ops/math/matmul/epilogue.h"
#include "ops/nn/conv2d/conv2d.h"

/* The dense library serves this type and it is there. */
static bool has_dnn(hr_dtype_t dtype) { return dtype == HR_F32 && hr_dnn() != NULL; }

static double conv_work(const hr_dnn_conv_t* d) {
  return (double)d->batch * (double)d->out_h * (double)d->out_w * (double)d->out_c * (double)d->k_h * (double)d->k_w *
         (double)(d->in_c / d->groups);
}

/* The pack of a constant filter for this primitive; NULL: none is needed, or it is another's (a step with other shapes). */
static hr_status_t find_pack(const hr_dnn_t* dnn, hr_dnn_prim_t* prim, hr_conv2d_prepared_t* m, const float* filter, int threads,
                             const hr_dnn_pack_t** out) {
  hr_dnn_pack_t *pack = atomic_load_explicit(&m->pack, memory_order_acquire), *none = NULL;
  *out = NULL;
  if (!pack) {
    HR_TRY(dnn->pack(prim, filter, threads, &pack));
    if (pack && !atomic_compare_exchange_strong(&m->pack, &none, pack)) { /* another step was first; its pack is as good */
      dnn->unpack(pack);
      pack = none;
    }
  }
  if (pack && dnn->pack_fits(pack, prim)) *out = pack;
  return NULL;
}

static hr_status_t run_prim(const hr_dnn_t* dnn, hr_dnn_prim_t* prim, const float* a, const float* b, const float* bias, float* c,
                            hr_conv2d_prepared_t* m, bool packs, int threads) {
  const hr_dnn_pack_t* pack = NULL;
  if (packs && m && m->constant_filter) HR_TRY(find_pack(dnn, prim, m, b, threads, &pack));
  return pack ? dnn->run_packed(prim, a, pack, bias, c, threads) : dnn->run(prim, a, b, bias, c, threads);
}

static hr_status_t run_dnn(hr_kernel_ctx_t* k, const hr_dnn_conv_t* d, const float* a, const float* b, const float* bias, float* c,
                           hr_conv2d_prepared_t* m, bool* out_served) {
  const hr_dnn_t* dnn = hr_dnn();
  const int threads = conv_work(d) < 200000.0 ? 1 : k->threads;
  hr_dnn_prim_t* prim = NULL;
  hr_status_t status = dnn->conv(d, threads, &prim);
  *out_served = hr_status_code(status) != HR_UNIMPLEMENTED;
  if (!*out_served) {
    hr_status_release(status);
    return NULL;
  }
  if (!status) status = run_prim(dnn, prim, a, b, bias, c, m, d->kind != HR_DNN_CONV_FILTER, threads);
  if (prim) dnn->release(prim);
  return status;
}

static hr_status_t apply_epilogue(hr_kernel_ctx_t* k, const hr_dnn_conv_t* d, hr_dtype_t dtype, const void* bias, const void* add,
                                  void* c) {
  if (!bias && !add && d->activation == HR_DNN_NONE) return NULL;
  const int64_t pixels = d->out_h * d->out_w;
  const hr_epilogue_run_t run = {.y = c,
                                 .bias = bias,
                                 .add = add,
                                 .rows = d->nchw ? d->batch * d->out_c : d->batch * pixels,
                                 .n = d->out_c,
                                 .inner = d->nchw ? pixels : 0,
                                 .activation = d->activation,
                                 .alpha = d->alpha};
  return hr_epilogue_apply(k, dtype, &run);
}

/* Plain, with what the dense library would have fused: a residual in c is set aside first. */
static hr_status_t run_plain(hr_kernel_ctx_t* k, const hr_dnn_conv_t* d, hr_dtype_t dtype, const void* a, const void* b, const void* bias,
                             void* c) {
  hr_tensor_t residual = {0};
  const hr_shape_t shape = hr_conv2d_shape(d, true);
  if (d->sum) {
    HR_TRY(hr_temp(k, dtype, &shape, &residual));
    memcpy(residual.data, c, hr_tensor_bytes(&residual));
  }
  hr_status_t status = hr_conv2d_plain(k, d, dtype, a, b, c);
  if (!status) status = apply_epilogue(k, d, dtype, bias, d->sum ? residual.data : NULL, c);
  hr_tensor_release(&residual);
  return status;
}

static hr_status_t run_typed(hr_kernel_ctx_t* k, const hr_dnn_conv_t* d, hr_dtype_t dtype, const void* a, const void* b, const void* bias,
                             void* c, hr_conv2d_prepared_t* m) {
  bool served = false;
  const bool whole = d->batch && d->in_c && d->in_h && d->in_w && d->out_c && d->out_h && d->out_w && d->k_h && d->k_w;
  if (whole && has_dnn(dtype)) HR_TRY(run_dnn(k, d, a, b, bias, c, m, &served));
  return served ? NULL : run_plain(k, d, dtype, a, b, bias, c);
}

static hr_status_t run_narrow(hr_kernel_ctx_t* k, const hr_dnn_conv_t* d, const hr_conv2d_operands_t* o) {
  hr_tensor_t a = {0}, b = {0}, c = {0};
  hr_status_t status;
  if ((status = hr_epilogue_widen(k, o->a, &a))) goto done;
  if ((status = hr_epilogue_widen(k, o->b, &b))) goto done;
  if ((status = hr_temp(k, HR_F32, &o->c->shape, &c))) goto done;
  if ((status = run_typed(k, d, HR_F32, a.data, b.data, NULL, c.data, NULL))) goto done;
  status = hr_epilogue_narrow(k, c.data, o->c);
done:
  hr_tensor_release(&a);
  hr_tensor_release(&b);
  hr_tensor_release(&c);
  return status;
}

hr_status_t hr_conv2d_run(hr_kernel_ctx_t* k, const hr_dnn_conv_t* d, const hr_conv2d_operands_t* o, hr_conv2d_prepared_t* prepared) {
  if (o->c->count == 0) return NULL;
  if (o->c->dtype == HR_F16 || o->c->dtype == HR_BF16) return run_narrow(k, d, o);
  return run_typed(k, d, o->c->dtype, o->a->data, o->b->data, o->bias, o->c->data, prepared);
}
