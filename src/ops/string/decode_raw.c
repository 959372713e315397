/* SPDX-License-Identifier: Apache-2.0 */
/* DecodeRaw: the bytes of each string as elements of a type, along a new last axis. All strings have one length. */
#include <string.h>
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "op/kernel_ctx.h"

extern const hr_op_t hr_op_DecodeRaw;

static hr_status_t infer(hr_infer_t* s) {
  const hr_pshape_t* in = hr_infer_input(s, 0);
  int64_t dims[254];
  if (in->rank < 0 || in->rank >= 254) return NULL;
  for (int d = 0; d < in->rank; ++d) dims[d] = in->dims[d];
  dims[in->rank] = -1;
  return hr_infer_set_dims(s, 0, in->rank + 1, dims);
}

static hr_status_t prepare(hr_prepare_ctx_t* p, void* prepared) {
  *(bool*)prepared = hr_attrs_bool(p->attrs, "little_endian");
  return NULL;
}

/* Bytes of each string; 0 when there are none. */
static hr_status_t common_size(const hr_tensor_t* in, hr_dtype_t type, int64_t* out) {
  const hr_tstring_t* strings = in->data;
  const size_t size = in->count ? hr_tstring_get(strings).size : 0;
  for (int64_t i = 1; i < in->count; ++i)
    if (hr_tstring_get(strings + i).size != size)
      return HR_ERROR(INVALID_ARGUMENT, "DecodeRaw requires input strings to all be the same size, but element %lld has size %zu != %zu",
                      (long long)i, hr_tstring_get(strings + i).size, size);
  if (size % hr_dtype_size(type) != 0)
    return HR_ERROR(INVALID_ARGUMENT, "Input to DecodeRaw has length %zu that is not a multiple of %zu, the size of %s", size,
                    hr_dtype_size(type), hr_dtype_name((int)type));
  *out = (int64_t)size;
  return NULL;
}

/* To the machine's order; the parts of a complex number are numbers of their own. */
static void swap_bytes(unsigned char* bytes, size_t count, size_t width) {
  for (; count > 0; --count, bytes += width)
    for (size_t i = 0; i < width / 2; ++i) {
      const unsigned char low = bytes[i];
      bytes[i] = bytes[width - 1 - i];
      bytes[width - 1 - i] = low;
    }
}

static hr_status_t decode_raw(hr_kernel_ctx_t* k) {
  const hr_tensor_t* in = hr_input(k, 0);
  const hr_dtype_t type = hr_output_dtype(k, 0);
  const size_t element = hr_dtype_size(type), width = hr_dtype_in(type, HR_M_COMPLEX) ? element / 2 : element;
  hr_shape_t shape;
  hr_tensor_t* out;
  int64_t size = 0;
  HR_TRY(common_size(in, type, &size));
  hr_shape_copy(&shape, &in->shape);
  HR_TRY(hr_shape_append(&shape, size / (int64_t)element));
  HR_TRY(hr_output(k, 0, &shape, &out));
  for (int64_t i = 0; i < in->count && size > 0; ++i)
    memcpy((char*)out->data + i * size, hr_tstring_get((const hr_tstring_t*)in->data + i).data, (size_t)size);
  unsigned char* bytes = out->data;
  for (int64_t i = 0; type == HR_BOOL && i < out->count; ++i) bytes[i] = bytes[i] != 0; /* no other bytes are bools */
  if (!*(const bool*)hr_prepared(k)) swap_bytes(out->data, (size_t)(in->count * size) / width, width);
  return NULL;
}

const hr_op_t hr_op_DecodeRaw = {
    .name = "DecodeRaw",
    .sig = "bytes: string -> output: out_type",
    .attrs = "out_type: type{half,float,double,int32,uint16,uint8,int16,int8,int64,complex64,complex128,bool,bfloat16}; "
             "little_endian: bool = true",
    .shape = infer,
    .grad = hr_grad_none,
    HR_KERNELS({.host_inputs = 1, .prepared_bytes = sizeof(bool), .prepare = prepare, .compute = decode_raw}),
    .doc = "the bytes of strings as elements of a type",
    HR_HERE};
