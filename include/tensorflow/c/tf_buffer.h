/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes with an owner: how serialized messages go in and out.
 *
 * The struct is open. A client may fill the three fields of a buffer from TF_NewBuffer itself. A function that returns bytes through
 * a TF_Buffer* wants an empty one (data NULL) unless its contract says that it replaces what is there. */
#ifndef TENSORFLOW_C_TF_BUFFER_H_
#define TENSORFLOW_C_TF_BUFFER_H_
#include <stddef.h>
#include "tensorflow/c/c_api_macros.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TF_Buffer {
  const void* data;
  size_t length;
  void (*data_deallocator)(void* data, size_t length); /* NULL: the bytes are not the buffer's to free */
} TF_Buffer;

/* A buffer that owns a copy of the bytes. NULL when out of memory. */
TF_CAPI_EXPORT TF_Buffer* TF_NewBufferFromString(const void* proto, size_t proto_len);

/* An empty buffer: data NULL, length 0, no deallocator. NULL when out of memory. */
TF_CAPI_EXPORT TF_Buffer* TF_NewBuffer(void);

/* Calls the deallocator when there is one, then frees the struct. Accepts NULL. */
TF_CAPI_EXPORT void TF_DeleteBuffer(TF_Buffer* buffer);

/* The fields by value, for languages that cannot read them; nothing is copied. A NULL buffer gives an empty one. */
TF_CAPI_EXPORT TF_Buffer TF_GetBuffer(TF_Buffer* buffer);

#ifdef __cplusplus
}
#endif
#endif
