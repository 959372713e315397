/* SPDX-License-Identifier: Apache-2.0 */
/* DecodePng: a PNG file as an image [height, width, channels]. EncodePng: an image [height, width, channels] as a PNG file. Other formats,
 * which TensorFlow's DecodePng reads too, are UNIMPLEMENTED. */
#include "op/infer_fns.h"
#include "op/kernel_ctx.h"
#include "ops/image/png_codec.h"

extern const hr_op_t hr_op_DecodePng, hr_op_EncodePng;

/* 1. shapes */
static hr_status_t check_channels(int64_t channels) {
  if (channels == 0 || channels == 1 || channels == 3 || channels == 4) return NULL;
  return HR_ERROR(INVALID_ARGUMENT, "channels is %lld; 0, 1, 3 or 4 was expected", (long long)channels);
}

static hr_status_t infer_decode(hr_infer_t* s) {
  const int64_t channels = hr_attrs_int(hr_infer_attrs(s), "channels"), dims[] = {-1, -1, channels > 0 ? channels : -1};
  HR_TRY(check_channels(channels));
  HR_TRY(hr_infer_want_rank(s, 0, 0, NULL));
  return hr_infer_set_dims(s, 0, 3, dims);
}

static hr_status_t infer_encode(hr_infer_t* s) {
  HR_TRY(hr_infer_want_rank(s, 0, 3, NULL));
  return hr_infer_scalars(s);
}

/* 2. kernels */
static hr_status_t decode_prepare(hr_prepare_ctx_t* p, void* prepared) {
  *(int64_t*)prepared = hr_attrs_int(p->attrs, "channels");
  return check_channels(*(int64_t*)prepared);
}

static hr_status_t make_image(void* arg, const hr_png_size_t* size, void** out) {
  const int64_t dims[] = {size->height, size->width, size->channels};
  hr_shape_t shape;
  hr_tensor_t* t;
  HR_TRY(hr_shape_make(3, dims, &shape));
  HR_TRY(hr_output(arg, 0, &shape, &t));
  *out = t->data;
  return NULL;
}

static const char* other_format(hr_str_t file) {
  if (hr_str_has_prefix(file, HR_STR("\xff\xd8\xff"))) return "JPEG";
  if (hr_str_has_prefix(file, HR_STR("GIF8"))) return "GIF";
  return hr_str_has_prefix(file, HR_STR("BM")) ? "BMP" : NULL;
}

static hr_status_t decode(hr_kernel_ctx_t* k) {
  HR_TRY(hr_want_scalar(k, 0, "contents"));
  const hr_str_t file = hr_tstring_get(hr_input(k, 0)->data);
  const char* other = other_format(file);
  if (other) return HR_ERROR(UNIMPLEMENTED, "the contents are a %s file; only PNG is read", other);
  return hr_png_decode(file, (int)*(int64_t*)hr_prepared(k), hr_output_dtype(k, 0) == HR_U16 ? 16 : 8, make_image, k);
}

static hr_status_t encode_prepare(hr_prepare_ctx_t* p, void* prepared) {
  const int64_t compression = hr_attrs_int(p->attrs, "compression");
  if (compression < -1 || compression > 9)
    return HR_ERROR(INVALID_ARGUMENT, "compression is %lld; -1 to 9 was expected", (long long)compression);
  *(int64_t*)prepared = compression;
  return NULL;
}

static hr_status_t encode(hr_kernel_ctx_t* k) {
  const hr_tensor_t* image = hr_input(k, 0);
  const hr_shape_t scalar = hr_shape_scalar();
  hr_strbuf_t file;
  hr_tensor_t* out;
  HR_TRY(hr_want_rank(k, 0, "image", 3));
  const int64_t channels = image->shape.dims[2];
  if (channels < 1 || channels > 4)
    return HR_ERROR(INVALID_ARGUMENT, "an image of %lld channels; 1 to 4 were expected", (long long)channels);
  const hr_png_size_t size = {image->shape.dims[0], image->shape.dims[1], (int)channels, image->dtype == HR_U16 ? 16 : 8};
  hr_strbuf_init(&file);
  hr_status_t status = hr_png_encode(&size, image->data, (int)*(int64_t*)hr_prepared(k), &file);
  if (!status) status = hr_output(k, 0, &scalar, &out);
  if (!status) status = hr_tstring_set(out->data, hr_strbuf_view(&file));
  hr_strbuf_deinit(&file);
  return status;
}

/* 3. definitions */
const hr_op_t hr_op_DecodePng = {
    .name = "DecodePng",
    .sig = "contents: string -> image: dtype",
    .attrs = "channels: int = 0; dtype: type{uint8,uint16} = uint8",
    .shape = infer_decode,
    HR_KERNELS({.host_inputs = 1, .prepared_bytes = sizeof(int64_t), .prepare = decode_prepare, .compute = decode}),
    .doc = "the image of a PNG file",
    HR_HERE};

const hr_op_t hr_op_EncodePng = {
    .name = "EncodePng",
    .sig = "image: T -> contents: string",
    .attrs = "compression: int = -1; T: type{uint8,uint16} = uint8",
    .shape = infer_encode,
    HR_KERNELS({.host_outputs = 1, .prepared_bytes = sizeof(int64_t), .prepare = encode_prepare, .compute = encode}),
    .doc = "an image as a PNG file",
    HR_HERE};
