/* SPDX-License-Identifier: Apache-2.0 */
/* A place of the result lies at place * scale of the image, scale being in / out, or (in - 1) / (out - 1) with align_corners, which lets
 * the corners meet; half_pixel_centers takes pixels as areas: (place + 0.5) * scale - 0.5. In float, as the results must be
 * TensorFlow's. */
#include "ops/image/resize.h"

hr_status_t hr_resize_prepare_any(hr_prepare_ctx_t* p, void* prepared) {
  *(hr_resize_t*)prepared = (hr_resize_t){hr_attrs_bool(p->attrs, "align_corners"), hr_attrs_bool(p->attrs, "half_pixel_centers")};
  return NULL;
}

hr_status_t hr_resize_prepare(hr_prepare_ctx_t* p, void* prepared) {
  const hr_resize_t* r = prepared;
  HR_TRY(hr_resize_prepare_any(p, prepared));
  if (!r->align_corners || !r->half_pixel_centers) return NULL;
  return HR_ERROR(INVALID_ARGUMENT, "If half_pixel_centers is True, align_corners must be False.");
}

float hr_resize_scale(const hr_resize_t* r, int64_t in, int64_t out) {
  return r->align_corners && out > 1 ? (float)(in - 1) / (float)(out - 1) : (float)in / (float)out;
}

hr_status_t hr_resize_read_size(hr_kernel_ctx_t* k, const char* what, int64_t out[2]) {
  const hr_tensor_t* size = hr_input(k, 1);
  char text[HR_SHAPE_TEXT];
  if (size->shape.rank != 1 || size->count != 2)
    return HR_ERROR(INVALID_ARGUMENT, "size must be a vector of two elements, not of shape %s", hr_shape_format(&size->shape, text));
  for (int i = 0; i < 2; ++i) {
    HR_TRY(hr_tensor_i64_at(size, i, &out[i]));
    if (out[i] < 1) return HR_ERROR(INVALID_ARGUMENT, "%s must be positive, but one is %lld", what, (long long)out[i]);
  }
  return NULL;
}

hr_status_t hr_resize_shape(hr_kernel_ctx_t* k, hr_shape_t* out) {
  const hr_shape_t* image = &hr_input(k, 0)->shape;
  char text[HR_SHAPE_TEXT];
  int64_t size[2];
  HR_TRY(hr_want_rank(k, 0, "input must be 4-dimensional: ", 4));
  HR_TRY(hr_resize_read_size(k, "output dimensions", size));
  for (int i = 1; i < 4; ++i)
    if (image->dims[i] == 0 || image->dims[i] > INT32_MAX)
      return HR_ERROR(INVALID_ARGUMENT, "%s: %s",
                      image->dims[i] ? "an image is larger than 32-bit numbers count" : i == 3 ? "image must have at least one channel"
                      : "input image must be of non-zero size", hr_shape_format(image, text));
  hr_shape_copy(out, image);
  out->dims[1] = size[0];
  out->dims[2] = size[1];
  return hr_shape_check(out);
}

hr_status_t hr_resize_infer(hr_infer_t* s) {
  const hr_pshape_t *image, *size;
  const hr_tensor_t* value = hr_infer_const(s, 1);
  int64_t two, dims[4];
  HR_TRY(hr_infer_want_rank(s, 0, 4, &image));
  HR_TRY(hr_infer_want_rank(s, 1, 1, &size));
  HR_TRY(hr_status_note(hr_infer_merge_dim(hr_infer_dim(size, 0), 2, &two), "elements of size: "));
  for (int i = 0; i < 4; ++i) dims[i] = i == 1 || i == 2 ? -1 : hr_infer_dim(image, i);
  for (int i = 0; i < 2 && value; ++i) {
    HR_TRY(hr_tensor_i64_at(value, i, &dims[i + 1]));
    if (dims[i + 1] < 0) dims[i + 1] = -1; /* the kernel refuses it */
  }
  return hr_infer_set_dims(s, 0, 4, dims);
}

void hr_resize_give_grad(hr_grad_ctx_t* g, const char* op, hr_value_t like) {
  const hr_node_attrs_t* attrs = hr_grad_attrs(g);
  hr_grad_give(g, 0, hr_emit(g, op, HR_VALUES(hr_grad_upstream(g, 0), like),
                             HR_ATTRS(hr_at_bool("align_corners", hr_attrs_bool(attrs, "align_corners")),
                                      hr_at_bool("half_pixel_centers", hr_attrs_bool(attrs, "half_pixel_centers")))));
}
