/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor handles. What a client can still reach is never written by a kernel: its memory is marked read-only, so a run that would adopt
 * it copies instead. Memory that is not aligned to its element is copied at once (kernels load whole elements). */
#include "capi/handles.h"

#include "wire/handle_proto.h"
#include "wire/tensor_proto.h"

enum { TENSOR_ALIGNMENT = 64 };

TF_Tensor* hr_capi_wrap_tensor(hr_tensor_t* take_value) {
  TF_Tensor* t = hr_alloc(sizeof *t);
  if (t) hr_tensor_move(take_value, &t->value);
  return t;
}

hr_status_t hr_capi_share_tensor(const hr_tensor_t* value, TF_Tensor** out) {
  TF_Tensor* t = hr_alloc(sizeof *t);
  if (!t) return hr_status_out_of_memory();
  hr_tensor_share(value, &t->value);
  *out = t;
  return NULL;
}

hr_status_t hr_capi_shape(const int64_t* dims, int num_dims, hr_shape_t* out) {
  HR_TRY(hr_capi_check_count(num_dims, dims, "dims"));
  return hr_shape_make(num_dims, dims, out);
}

/* A type and shape that make a tensor of at most `len` bytes. */
static hr_status_t tensor_check(TF_DataType dtype, const int64_t* dims, int num_dims, size_t len, hr_shape_t* out_shape) {
  size_t need;
  if ((int)dtype <= 0 || (int)dtype >= HR_DTYPE_COUNT) return HR_ERROR(INVALID_ARGUMENT, "%d is no element type", (int)dtype);
  HR_TRY(hr_capi_shape(dims, num_dims, out_shape));
  if (!hr_size_mul((size_t)hr_shape_count(out_shape), hr_dtype_size((hr_dtype_t)dtype), &need) || need > len)
    return HR_ERROR(INVALID_ARGUMENT, "%zu bytes are too few for the shape", len);
  return NULL;
}

static size_t tensor_element_alignment(hr_dtype_t dtype) {
  size_t size = hr_dtype_size(dtype);
  if (dtype == HR_STRING) return 8;
  if (dtype == HR_C64 || dtype == HR_C128) return size / 2;
  return size ? size : 1;
}

typedef struct {
  void (*deallocator)(void* data, size_t len, void* arg);
  void* arg;
} tensor_owner_t;

static void tensor_free_foreign(void* data, size_t bytes, void* arg) {
  tensor_owner_t* owner = arg;
  if (owner->deallocator) owner->deallocator(data, bytes, owner->arg);
  hr_free(owner);
}

static hr_status_t tensor_borrow(hr_dtype_t dtype, const hr_shape_t* shape, void* data, size_t len, tensor_owner_t owner, TF_Tensor** out) {
  TF_Tensor* t = hr_alloc(sizeof *t);
  tensor_owner_t* kept = t ? hr_alloc(sizeof *kept) : NULL;
  hr_status_t status = kept ? NULL : hr_status_out_of_memory();
  if (status) goto done;
  *kept = owner;
  if ((status = hr_tensor_borrow(dtype, shape, data, len, true, tensor_free_foreign, kept, &t->value))) goto done;
  *out = t;
  return NULL;
done:
  hr_free(kept);
  hr_free(t);
  return status;
}

static hr_status_t tensor_copy_foreign(hr_dtype_t dtype, const hr_shape_t* shape, const void* data, TF_Tensor** out) {
  hr_tensor_t value;
  HR_TRY(hr_tensor_create(dtype, shape, &value));
  value.buffer->read_only = true;
  if (hr_tensor_bytes(&value)) memcpy(value.data, data, hr_tensor_bytes(&value));
  *out = hr_capi_wrap_tensor(&value);
  if (*out) return NULL;
  hr_tensor_release(&value);
  return hr_status_out_of_memory();
}

/* As in TensorFlow a resource comes as a scalar whose memory is a serialized ResourceHandleProto: a client's bytes are never taken for
 * pointers. */
static hr_status_t tensor_of_handle(TF_DataType dtype, int num_dims, const void* data, size_t len, TF_Tensor** out) {
  const hr_shape_t scalar = hr_shape_scalar();
  hr_tensor_t value;
  if (dtype != TF_RESOURCE) return HR_ERROR(UNIMPLEMENTED, "a variant cannot be made of bytes");
  if (num_dims != 0) return HR_ERROR(INVALID_ARGUMENT, "a resource of bytes must be a scalar, not of rank %d", num_dims);
  HR_TRY(hr_tensor_create(HR_RESOURCE, &scalar, &value));
  hr_status_t status = hr_handle_proto_decode(hr_cursor_make(data, data ? len : 0), value.data);
  if (!status && !(*out = hr_capi_wrap_tensor(&value))) status = hr_status_out_of_memory();
  if (status) hr_tensor_release(&value);
  return status;
}

TF_Tensor* TF_NewTensor(TF_DataType dtype, const int64_t* dims, int num_dims, void* data, size_t len,
                        void (*deallocator)(void* data, size_t len, void* arg), void* deallocator_arg) {
  TF_Tensor* out = NULL;
  hr_shape_t shape;
  if (dtype == TF_RESOURCE || dtype == TF_VARIANT) {
    hr_status_t failed = tensor_of_handle(dtype, num_dims, data, len, &out);
    if (!failed && deallocator) deallocator(data, len, deallocator_arg);
    hr_status_release(failed);
    return out;
  }
  hr_status_t status = tensor_check(dtype, dims, num_dims, len, &shape);
  if (!status && !data && hr_shape_count(&shape)) status = hr_capi_null("a tensor's memory");
  if (!status) {
    bool fits = (uintptr_t)data % tensor_element_alignment((hr_dtype_t)dtype) == 0 && data;
    if (fits || dtype == TF_STRING) {
      status = tensor_borrow((hr_dtype_t)dtype, &shape, data, len, (tensor_owner_t){deallocator, deallocator_arg}, &out);
    } else {
      status = tensor_copy_foreign((hr_dtype_t)dtype, &shape, data, &out);
      if (!status && deallocator) deallocator(data, len, deallocator_arg);
    }
  }
  hr_status_release(status);
  return out;
}

TF_Tensor* TF_AllocateTensor(TF_DataType dtype, const int64_t* dims, int num_dims, size_t len) {
  TF_Tensor* t = NULL;
  hr_shape_t shape;
  hr_tensor_t value;
  hr_status_t status = tensor_check(dtype, dims, num_dims, len, &shape);
  if (!status && !(status = hr_tensor_create((hr_dtype_t)dtype, &shape, &value))) {
    value.buffer->read_only = true; /* the client may write it between runs */
    t = hr_capi_wrap_tensor(&value);
    if (!t) hr_tensor_release(&value);
  }
  hr_status_release(status);
  return t;
}

size_t TF_TensorDefaultAlignment(void) { return TENSOR_ALIGNMENT; }

TF_Tensor* TF_TensorMaybeMove(TF_Tensor* tensor) {
  if (!tensor || !tensor->value.buffer || tensor->value.buffer->free_fn) return NULL;
  return atomic_load_explicit(&tensor->value.buffer->refs, memory_order_acquire) == 1 ? tensor : NULL;
}

void TF_DeleteTensor(TF_Tensor* tensor) {
  if (!tensor) return;
  hr_tensor_release(&tensor->value);
  hr_free(tensor);
}

TF_DataType TF_TensorType(const TF_Tensor* tensor) { return (TF_DataType)tensor->value.dtype; }
int TF_NumDims(const TF_Tensor* tensor) { return tensor->value.shape.rank; }
size_t TF_TensorByteSize(const TF_Tensor* tensor) { return hr_tensor_bytes(&tensor->value); }
int64_t TF_TensorElementCount(const TF_Tensor* tensor) { return tensor->value.count; }

int64_t TF_Dim(const TF_Tensor* tensor, int dim_index) {
  return dim_index >= 0 && dim_index < tensor->value.shape.rank ? tensor->value.shape.dims[dim_index] : -1;
}

void* TF_TensorData(const TF_Tensor* tensor) {
  static _Alignas(TENSOR_ALIGNMENT) char nothing[TENSOR_ALIGNMENT];
  return tensor->value.data ? tensor->value.data : nothing;
}

bool TF_TensorIsAligned(const TF_Tensor* tensor) { return (uintptr_t)TF_TensorData(tensor) % TENSOR_ALIGNMENT == 0; }

void TF_SetShape(TF_Tensor* tensor, const int64_t* dims, int num_dims) {
  hr_shape_t shape;
  hr_status_t status = tensor ? hr_capi_shape(dims, num_dims, &shape) : hr_capi_null("the tensor");
  if (!status && hr_shape_count(&shape) == tensor->value.count) hr_shape_copy(&tensor->value.shape, &shape);
  hr_status_release(status);
}

static hr_status_t tensor_bitcast(const TF_Tensor* from, TF_DataType type, TF_Tensor* to, const int64_t* dims, int num_dims) {
  hr_shape_t shape;
  hr_tensor_t value;
  size_t need = 0;
  if (!from || !to) return hr_capi_null("a tensor");
  if ((int)type <= 0 || (int)type >= HR_DTYPE_COUNT || !hr_dtype_is_plain((hr_dtype_t)type) || !hr_dtype_is_plain(from->value.dtype))
    return HR_ERROR(INVALID_ARGUMENT, "elements of type %s cannot be read as type %s", hr_dtype_name((int)from->value.dtype),
                    hr_dtype_name((int)type));
  HR_TRY(hr_capi_shape(dims, num_dims, &shape));
  if (!hr_size_mul((size_t)hr_shape_count(&shape), hr_dtype_size((hr_dtype_t)type), &need) || need != hr_tensor_bytes(&from->value))
    return HR_ERROR(INVALID_ARGUMENT, "the tensor has %zu bytes, the new type and shape want another number",
                    hr_tensor_bytes(&from->value));
  hr_tensor_share(&from->value, &value);
  value.dtype = (hr_dtype_t)type;
  value.count = hr_shape_count(&shape);
  hr_shape_copy(&value.shape, &shape);
  hr_tensor_release(&to->value);
  hr_tensor_move(&value, &to->value);
  return NULL;
}

void TF_TensorBitcastFrom(const TF_Tensor* from, TF_DataType type, TF_Tensor* to, const int64_t* new_dims, int num_new_dims,
                          TF_Status* status) {
  hr_capi_report(status, tensor_bitcast(from, type, to, new_dims, num_new_dims));
}

static hr_status_t tensor_from_proto(const TF_Buffer* from, TF_Tensor* to) {
  hr_tensor_t value = {0};
  if (!from || !to) return hr_capi_null(from ? "the tensor" : "the buffer");
  HR_TRY(hr_tensor_proto_decode(hr_cursor_make(from->data, from->length), HR_TENSOR_PROTO_SPLAT_LIMIT, &value));
  hr_tensor_release(&to->value);
  hr_tensor_move(&value, &to->value);
  return NULL;
}

void TF_TensorFromProto(const TF_Buffer* from, TF_Tensor* to, TF_Status* status) { hr_capi_report(status, tensor_from_proto(from, to)); }

size_t TF_DataTypeSize(TF_DataType dt) {
  hr_dtype_t t = (hr_dtype_t)dt;
  if ((int)dt <= 0 || (int)dt >= HR_DTYPE_COUNT) return 0;
  return t == HR_STRING || t == HR_RESOURCE || t == HR_VARIANT ? 0 : hr_dtype_size(t);
}
