/* SPDX-License-Identifier: Apache-2.0 */
/* Byte buffers. The struct is the client's to read and write; the library fills empty ones only. */
#include "capi/handles.h"

static void buffer_free(void* data, size_t length) {
  (void)length;
  hr_free(data);
}

TF_Buffer* TF_NewBuffer(void) { return hr_alloc_zero(sizeof(TF_Buffer)); }

TF_Buffer* TF_NewBufferFromString(const void* proto, size_t proto_len) {
  TF_Buffer* b = TF_NewBuffer();
  char* copy = b ? hr_alloc_copy(proto ? proto : "", proto ? proto_len : 0) : NULL;
  if (!copy) {
    hr_free(b);
    return NULL;
  }
  *b = (TF_Buffer){copy, proto ? proto_len : 0, buffer_free};
  return b;
}

void TF_DeleteBuffer(TF_Buffer* buffer) {
  if (!buffer) return;
  if (buffer->data_deallocator) buffer->data_deallocator((void*)(uintptr_t)buffer->data, buffer->length);
  hr_free(buffer);
}

TF_Buffer TF_GetBuffer(TF_Buffer* buffer) { return buffer ? *buffer : (TF_Buffer){0}; }

hr_status_t hr_capi_check_buffer(const TF_Buffer* b) {
  if (!b) return hr_capi_null("the output buffer");
  if (b->data) return HR_ERROR(INVALID_ARGUMENT, "the output buffer holds %zu bytes already; pass an empty one", b->length);
  return NULL;
}

hr_status_t hr_capi_fill_buffer(TF_Buffer* b, char* take_data, size_t size) {
  hr_status_t status = hr_capi_check_buffer(b);
  if (status) {
    hr_free(take_data);
    return status;
  }
  *b = (TF_Buffer){take_data, size, buffer_free};
  return NULL;
}

hr_status_t hr_capi_fill_buffer_from(TF_Buffer* b, hr_writer_t* w) {
  char* data = NULL;
  size_t size = 0;
  HR_TRY(hr_strbuf_take(w, &data, &size));
  return hr_capi_fill_buffer(b, data, size);
}

TF_Buffer* hr_capi_hand_over(hr_writer_t* take_w, hr_status_t take_status, TF_Status* status) {
  TF_Buffer* b = take_status ? NULL : TF_NewBuffer();
  if (!take_status) take_status = b ? hr_capi_fill_buffer_from(b, take_w) : hr_status_out_of_memory();
  if (take_status) {
    TF_DeleteBuffer(b);
    b = NULL;
  }
  hr_strbuf_deinit(take_w);
  hr_capi_report(status, take_status);
  return b;
}
