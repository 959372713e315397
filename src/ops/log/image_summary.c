/* SPDX-License-Identifier: Apache-2.0 */
/* ImageSummary: the first images of a batch as PNG files in a Summary. Images of floats are scaled, each for itself: 0 to 255 where none is
 * negative, else so that 0 becomes 128 and the largest magnitude 1 or 255. A pixel that is not finite has the color `bad_color`. */
#include <float.h>
#include <math.h>
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/image/png_codec.h"
#include "ops/log/summary.h"
#include "ops/log/text.h"

extern const hr_op_t hr_op_ImageSummary;
enum { IMAGE_HEIGHT = 1, IMAGE_WIDTH, IMAGE_COLORSPACE, IMAGE_FILE };

static hr_status_t infer(hr_infer_t* s) {
  HR_TRY(hr_infer_want_rank(s, 0, 0, NULL));
  return hr_infer_scalars(s);
}

/* 1. attrs */
typedef struct {
  int64_t most;
  const hr_tensor_t* bad_color; /* a vector of bytes */
} image_summary_t;

static hr_status_t prepare(hr_prepare_ctx_t* p, void* prepared) {
  image_summary_t* m = prepared;
  char text[HR_SHAPE_TEXT];
  m->most = hr_attrs_int(p->attrs, "max_images");
  m->bad_color = hr_attrs_tensor(p->attrs, "bad_color");
  if (m->bad_color->dtype != HR_U8)
    return HR_ERROR(INVALID_ARGUMENT, "bad_color must be uint8, got %s", hr_dtype_name((int)m->bad_color->dtype));
  if (m->bad_color->shape.rank != 1)
    return HR_ERROR(INVALID_ARGUMENT, "bad_color must be a vector, got shape %s", hr_shape_format(&m->bad_color->shape, text));
  return NULL;
}

/* 2. floats as bytes */
static double rounded(hr_dtype_t type, double v) { /* as the image's type holds it: sums are TensorFlow's, to the bit */
  return type == HR_F64 ? v : type == HR_F32 ? (double)(float)v : (double)hr_f16_to_f32(hr_f16_from_f32((float)v));
}

static bool is_finite_pixel(const hr_tensor_t* t, int64_t at, int64_t channels) {
  for (int64_t c = 0; c < channels; ++c)
    if (!isfinite(hr_log_number(t, at + c))) return false;
  return true;
}

static void scale_of(const hr_tensor_t* t, int64_t begin, int64_t end, int64_t channels, double* scale, double* offset) {
  const float least_seen = 1e-6f;
  float low = INFINITY, high = -INFINITY;
  for (int64_t at = begin; at < end; at += channels)
    for (int64_t c = 0; c < channels && is_finite_pixel(t, at, channels); ++c) {
      const float v = (float)hr_log_number(t, at + c);
      if (v < low) low = v;
      if (v > high) high = v;
    }
  const float most = low < 0 ? fmaxf(fabsf(low), fabsf(high)) : high, range = low < 0 ? 127.0f : 255.0f;
  *scale = rounded(t->dtype, most < least_seen ? 0 : (double)(range / most));
  *offset = low < 0 ? 128 : 0;
}

static void scale_image(const hr_tensor_t* t, int64_t begin, int64_t end, int64_t channels, const uint8_t* bad, uint8_t* to) {
  double scale, offset;
  scale_of(t, begin, end, channels, &scale, &offset);
  for (int64_t at = begin; at < end; at += channels, to += channels) {
    const bool good = is_finite_pixel(t, at, channels);
    for (int64_t c = 0; c < channels; ++c) {
      const double v = good ? rounded(t->dtype, rounded(t->dtype, hr_log_number(t, at + c) * scale) + offset) : bad[c];
      to[c] = v <= 0 ? 0 : v >= 255 ? 255 : (uint8_t)v;
    }
  }
}

/* 3. kernel */
static hr_status_t check(hr_kernel_ctx_t* k) {
  const hr_shape_t* s = &hr_input(k, 1)->shape;
  const image_summary_t* m = hr_prepared(k);
  char text[HR_SHAPE_TEXT];
  HR_TRY(hr_want_scalar(k, 0, "Tag must be a scalar, not of shape "));
  const int64_t channels = s->rank == 4 ? s->dims[3] : 0;
  if (channels != 1 && channels != 3 && channels != 4)
    return HR_ERROR(INVALID_ARGUMENT, "Tensor must be 4-D with last dim 1, 3, or 4, not %s", hr_shape_format(s, text));
  if (s->dims[1] > INT32_MAX || s->dims[2] > INT32_MAX)
    return HR_ERROR(INVALID_ARGUMENT, "an image is larger than 32-bit numbers count: %s", hr_shape_format(s, text));
  if (hr_input(k, 1)->dtype != HR_U8 && m->bad_color->count < channels)
    return HR_ERROR(INVALID_ARGUMENT, "expected depth <= bad_color.size, got depth = %lld, bad_color.size = %lld", (long long)channels,
                    (long long)m->bad_color->count);
  return NULL;
}

static hr_status_t add_image(hr_str_t tag, int64_t number, const hr_shape_t* s, const void* pixels, hr_writer_t* w) {
  const hr_png_size_t size = {s->dims[1], s->dims[2], (int)s->dims[3], 8};
  hr_strbuf_t name, file;
  hr_strbuf_init(&name);
  hr_strbuf_init(&file);
  hr_strbuf_add_str(&name, tag);
  if (number < 0) hr_strbuf_format(&name, "/image");
  else hr_strbuf_format(&name, "/image/%lld", (long long)number);
  hr_status_t status = hr_png_encode(&size, pixels, -1, &file);
  const size_t most = file.size + name.size + 100;
  hr_writer_mark_t value = hr_writer_begin(w, HR_SUMMARY_VALUE, most);
  hr_writer_str(w, HR_VALUE_TAG, hr_strbuf_view(&name));
  hr_writer_mark_t image = hr_writer_begin(w, HR_VALUE_IMAGE, most);
  hr_writer_u64(w, IMAGE_HEIGHT, (uint64_t)size.height);
  hr_writer_u64(w, IMAGE_WIDTH, (uint64_t)size.width);
  hr_writer_u64(w, IMAGE_COLORSPACE, (uint64_t)size.channels);
  hr_writer_str(w, IMAGE_FILE, hr_strbuf_view(&file));
  hr_writer_end(w, image, most);
  hr_writer_end(w, value, most);
  w->failed |= name.failed || file.failed;
  hr_strbuf_deinit(&name);
  hr_strbuf_deinit(&file);
  return status;
}

static hr_status_t image_summary(hr_kernel_ctx_t* k) {
  const image_summary_t* m = hr_prepared(k);
  const hr_tensor_t* t = hr_input(k, 1);
  const hr_shape_t* s = &t->shape;
  hr_tensor_t bytes = {0};
  hr_writer_t w;
  hr_status_t status = NULL;
  HR_TRY(check(k));
  const hr_str_t tag = hr_tstring_get(hr_input(k, 0)->data);
  const int64_t count = s->dims[0] < m->most ? s->dims[0] : m->most, each = s->dims[1] * s->dims[2] * s->dims[3];
  const hr_shape_t one = hr_shape_vector(each);
  hr_strbuf_init(&w);
  if (t->dtype != HR_U8) status = hr_temp(k, HR_U8, &one, &bytes);
  for (int64_t i = 0; !status && i < count; ++i) {
    if (t->dtype != HR_U8) scale_image(t, i * each, (i + 1) * each, s->dims[3], m->bad_color->data, bytes.data);
    const void* pixels = t->dtype == HR_U8 ? (const uint8_t*)t->data + i * each : (const uint8_t*)bytes.data;
    status = add_image(tag, m->most > 1 ? i : -1, s, pixels, &w);
  }
  hr_tensor_release(&bytes);
  return hr_summary_output(k, status, &w);
}

/* 4. definition */
const hr_op_t hr_op_ImageSummary = {
    .name = "ImageSummary",
    .sig = "tag: string; tensor: T -> summary: string",
    .attrs = "max_images: int >= 1 = 3; T: type{uint8,float,half,double} = float; bad_color: tensor = uint8[255,0,0,255]",
    .flags = HR_OP_SIDE_EFFECT,
    .shape = infer,
    .grad = hr_grad_none,
    HR_KERNELS({.host_inputs = 3,
                .host_outputs = 1,
                .prepared_bytes = sizeof(image_summary_t),
                .prepare = prepare,
                .compute = image_summary}),
    .doc = "a summary of images",
    HR_HERE};
