/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors: type, shape and a dense row-major block of elements, counted by reference underneath.
 *
 * A TF_Tensor may be read by many threads; whoever writes its elements, sets its shape or deletes it must be the only one using it.
 * A tensor that a run returned may share its elements with the graph (a constant) or a variable: treat it as read-only, or copy it. */
#ifndef TENSORFLOW_C_TF_TENSOR_H_
#define TENSORFLOW_C_TF_TENSOR_H_
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/tf_datatype.h"
#include "tensorflow/c/tf_status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TF_AllocatorAttributes {
  size_t struct_size; /* TF_ALLOCATOR_ATTRIBUTES_STRUCT_SIZE */
  TF_Bool on_host;
} TF_AllocatorAttributes;
#define TF_ALLOCATOR_ATTRIBUTES_STRUCT_SIZE TF_OFFSET_OF_END(TF_AllocatorAttributes, on_host)

typedef struct TF_Tensor TF_Tensor;

/* A TF_RESOURCE is a scalar whose memory is a serialized ResourceHandleProto, read at once; a TF_VARIANT cannot be made (NULL). Others:
 * wraps the caller's memory of len bytes; deallocator(data, len, arg) runs once, when nothing uses the memory any more (perhaps in
 * another thread, or inside this call when the data had to be copied because it is not aligned to its element). Until then the
 * bytes must stay as they are. NULL, with the memory still the caller's, for a type or shape that is none, too small a len, or no
 * memory; a NULL deallocator leaves the memory to the caller. */
TF_CAPI_EXPORT TF_Tensor* TF_NewTensor(TF_DataType dtype, const int64_t* dims, int num_dims, void* data, size_t len,
                                       void (*deallocator)(void* data, size_t len, void* arg), void* deallocator_arg);

/* The alignment, in bytes, of tensors that the library allocates: 64. Memory of less alignment is accepted everywhere. */
TF_CAPI_EXPORT size_t TF_TensorDefaultAlignment(void);

/* A tensor with memory of its own: uninitialised, except strings, which are empty. len is at least the elements' size (for
 * TF_STRING 24 bytes an element). NULL for a type or shape that is none, too small a len, or no memory. */
TF_CAPI_EXPORT TF_Tensor* TF_AllocateTensor(TF_DataType dtype, const int64_t* dims, int num_dims, size_t len);

/* The tensor itself when nobody else holds its memory (it may then be written in place), else NULL and nothing changed. The handle
 * given is the one passed in: delete it once. */
TF_CAPI_EXPORT TF_Tensor* TF_TensorMaybeMove(TF_Tensor* tensor);

/* Accepts NULL. */
TF_CAPI_EXPORT void TF_DeleteTensor(TF_Tensor* tensor);

TF_CAPI_EXPORT TF_DataType TF_TensorType(const TF_Tensor* tensor); /* the element type */

/* Gives the tensor another shape of as many elements, in place; ignored when the count differs. */
TF_CAPI_EXPORT void TF_SetShape(TF_Tensor* tensor, const int64_t* dims, int num_dims);

TF_CAPI_EXPORT int TF_NumDims(const TF_Tensor* tensor); /* 0 for a scalar */

/* Extent of one axis, 0 <= dim_index < TF_NumDims; -1 for another index. */
TF_CAPI_EXPORT int64_t TF_Dim(const TF_Tensor* tensor, int dim_index);

TF_CAPI_EXPORT size_t TF_TensorByteSize(const TF_Tensor* tensor); /* elements x bytes of one; strings: 24 each */

/* The elements; never NULL, also when there are none. */
TF_CAPI_EXPORT void* TF_TensorData(const TF_Tensor* tensor);

TF_CAPI_EXPORT int64_t TF_TensorElementCount(const TF_Tensor* tensor); /* product of the dims */

/* Makes `to` show `from`'s bytes as another type and shape; shares. INVALID_ARGUMENT when the byte sizes differ or a type owns memory. */
TF_CAPI_EXPORT void TF_TensorBitcastFrom(const TF_Tensor* from, TF_DataType type, TF_Tensor* to, const int64_t* new_dims,
                                         int num_new_dims, TF_Status* status);

/* Whether the elements lie at a multiple of TF_TensorDefaultAlignment. */
TF_CAPI_EXPORT bool TF_TensorIsAligned(const TF_Tensor* tensor);

#ifdef __cplusplus
}
#endif
#endif
