/* SPDX-License-Identifier: Apache-2.0 */
/* DecodePng: a PNG file as an image [height, width, channels]. EncodePng: an image, or a batch [..., height, width, channels] of them, as
 * PNG files. Other formats, which TensorFlow's DecodePng reads too, are UNIMPLEMENTED. */
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
  const hr_pshape_t* images;
  HR_TRY(hr_infer_want_rank_at_least(s, 0, 3, &images));
  return images->rank < 0 ? NULL : hr_infer_set_dims(s, 0, images->rank - 3, images->dims);
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

static hr_status_t encode_one(const hr_png_size_t* size, const char* pixels, int compression, hr_tstring_t* out) {
  hr_strbuf_t file;
  hr_strbuf_init(&file);
  hr_status_t status = hr_png_encode(size, pixels, compression, &file);
  if (!status) status = hr_tstring_set(out, hr_strbuf_view(&file));
  hr_strbuf_deinit(&file);
  return status;
}

static hr_status_t encode(hr_kernel_ctx_t* k) {
  const hr_tensor_t* images = hr_input(k, 0);
  hr_shape_t batch;
  hr_tensor_t* out;
  HR_TRY(hr_want_rank_at_least(k, 0, "image", 3));
  HR_TRY(hr_shape_make(images->shape.rank - 3, images->shape.dims, &batch));
  const int64_t* dims = images->shape.dims + batch.rank;
  if (dims[2] < 1 || dims[2] > 4)
    return HR_ERROR(INVALID_ARGUMENT, "an image of %lld channels; 1 to 4 were expected", (long long)dims[2]);
  const hr_png_size_t size = {dims[0], dims[1], (int)dims[2], images->dtype == HR_U16 ? 16 : 8};
  HR_TRY(hr_output(k, 0, &batch, &out));
  const size_t bytes = out->count ? hr_tensor_bytes(images) / (size_t)out->count : 0;
  for (int64_t i = 0; i < out->count; ++i)
    HR_TRY(encode_one(&size, (const char*)images->data + (size_t)i * bytes, (int)*(int64_t*)hr_prepared(k), (hr_tstring_t*)out->data + i));
  return NULL;
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
    .doc = "images as PNG files",
    HR_HERE};
