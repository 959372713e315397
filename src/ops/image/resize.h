/* SPDX-License-Identifier: Apache-2.0 */
/* What the ops that resize images [batch, height, width, channels] share: how a place along one axis of the result lies in the image, the
 * checks of shapes, the shape functions. */
#ifndef HR_OPS_IMAGE_RESIZE_H
#define HR_OPS_IMAGE_RESIZE_H
#include "op/grad_ctx.h"
#include "op/infer.h"
#include "op/kernel_ctx.h"

typedef struct { /* prepared memory: the attrs */
  bool align_corners, half_pixel_centers;
} hr_resize_t;
HR_MUST_USE hr_status_t hr_resize_prepare(hr_prepare_ctx_t* p, void* prepared); /* refuses both at once */
HR_MUST_USE hr_status_t hr_resize_prepare_any(hr_prepare_ctx_t* p, void* prepared);

float hr_resize_scale(const hr_resize_t* r, int64_t in, int64_t out); /* places of the image for one of the result */
/* Place `i` of the result, in places of the image, that lie at 0.5, 1.5... when `centred`, else at 0, 1... */
static inline float hr_resize_place(const hr_resize_t* r, int64_t i, float scale, bool centred) {
  return r->half_pixel_centers ? ((float)i + 0.5f) * scale - (centred ? 0.0f : 0.5f) : (float)i * scale;
}

/* The result's shape: the image's batch and channels, height and width as input 1 says. */
HR_MUST_USE hr_status_t hr_resize_shape(hr_kernel_ctx_t* k, hr_shape_t* out);
/* Input 1: two sizes above 0; `what` begins the message. */
HR_MUST_USE hr_status_t hr_resize_read_size(hr_kernel_ctx_t* k, const char* what, int64_t out[2]);
hr_status_t hr_resize_infer(hr_infer_t* s);
/* Gives input 0 the gradient that `op` makes of the upstream one and `like`, with the node's attrs. */
void hr_resize_give_grad(hr_grad_ctx_t* g, const char* op, hr_value_t like);
#endif
