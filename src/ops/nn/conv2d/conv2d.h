/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the convolution ops: the geometry that a node's attrs and shapes give, and the two ways to compute it. The geometry is the dense
 * library's description (dnn/dnn.h), which the plain code uses too. */
#ifndef HR_OPS_NN_CONV2D_CONV2D_H
#define HR_OPS_NN_CONV2D_CONV2D_H
#include "dnn/dnn.h"
#include "op/infer.h"
#include "op/kernel_ctx.h"
#include "ops/nn/window.h"
#include <stdatomic.h>

typedef struct { /* prepared memory of every convolution kernel */
  hr_window_t window;
  bool constant_filter;         /* the filter never changes while this plan lives: worth packing */
  _Atomic(hr_dnn_pack_t*) pack; /* made by the first step that comes by */
} hr_conv2d_prepared_t;
HR_MUST_USE hr_status_t hr_conv2d_prepare(hr_prepare_ctx_t* p, void* prepared); /* input 1 is the filter of forward and data gradient */
void hr_conv2d_unprepare(void* prepared);

/* From full shapes; INVALID_ARGUMENT for ranks, depths, groups and windows that do not go together. */
HR_MUST_USE hr_status_t hr_conv2d_geometry(const hr_window_t* w, const hr_shape_t* data, const hr_shape_t* filter, hr_dnn_conv_t* out);
hr_shape_t hr_conv2d_shape(const hr_dnn_conv_t* d, bool out); /* of data or output, in the node's format */
HR_MUST_USE hr_status_t hr_conv2d_check_out(const hr_dnn_conv_t* d, const hr_shape_t* out_backprop);

/* Shape functions. */
hr_status_t hr_conv2d_infer(hr_infer_t* s);
hr_status_t hr_conv2d_infer_input(hr_infer_t* s);
hr_status_t hr_conv2d_infer_filter(hr_infer_t* s);

/* Computes d (its kind, bias, sum and activation) for a type: operands as in hr_dnn_t.run. half and bfloat16 pass through float (then
 * without bias, sum and activation). `prepared` (may be NULL) lends its pack. */
typedef struct {
  const hr_tensor_t *a, *b;
  const void* bias;
  hr_tensor_t* c;
} hr_conv2d_operands_t;
HR_MUST_USE hr_status_t hr_conv2d_run(hr_kernel_ctx_t* k, const hr_dnn_conv_t* d, const hr_conv2d_operands_t* o,
                                      hr_conv2d_prepared_t* prepared);

/* The plain floor, by patches and our own matrix product: float, double, int32. No bias, sum or activation. */
HR_MUST_USE hr_status_t hr_conv2d_plain(hr_kernel_ctx_t* k, const hr_dnn_conv_t* d, hr_dtype_t dtype, const void* a, const void* b,
                                        void* c);

/* patches.c: rows of patches [pixels, k_h * k_w * in_c / groups] of one image and group, for output pixels [begin, end). */
void hr_conv2d_gather(const hr_dnn_conv_t* d, size_t size, const char* image, int64_t group, int64_t begin, int64_t end, char* patches);
/* Adds patches back to an image. */
void hr_conv2d_scatter(const hr_dnn_conv_t* d, hr_dtype_t dtype, const char* patches, int64_t group, int64_t begin, int64_t end,
                       char* image);
#endif
