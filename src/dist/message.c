/* SPDX-License-Identifier: Apache-2.0 */
/* Messages: slices with owners. Nothing here copies a body but join. */
#include "base/alloc.h"
#include "dist/transport.h"

hr_status_t hr_message_of_bytes(char* take_bytes, size_t size, hr_message_t* out) {
  *out = (hr_message_t){0};
  return hr_message_add(out, (hr_slice_t){take_bytes, size, hr_free, take_bytes});
}

static void release_slice(const hr_slice_t* s) {
  if (s->release) s->release(s->owner);
}

hr_status_t hr_message_add(hr_message_t* m, hr_slice_t take_slice) {
  /* room grows by doubling: full exactly when the count is 0 or a power of two */
  if ((m->count & (m->count - 1)) == 0) {
    const size_t room = m->count ? (size_t)m->count * 2 : 1;
    hr_slice_t* more = m->count > INT32_MAX / 4 ? NULL : hr_alloc_resize(m->slices, room * sizeof *more);
    if (!more) {
      release_slice(&take_slice);
      return hr_status_out_of_memory();
    }
    m->slices = more;
  }
  m->slices[m->count++] = take_slice;
  return NULL;
}

size_t hr_message_size(const hr_message_t* m) {
  size_t size = 0;
  for (int32_t i = 0; i < m->count; ++i) size += m->slices[i].size;
  return size;
}

hr_status_t hr_message_join(const hr_message_t* m, char** out_bytes, size_t* out_size) {
  const size_t size = hr_message_size(m);
  char* bytes = hr_alloc(size + 1);
  if (!bytes) return hr_status_out_of_memory();
  size_t at = 0;
  for (int32_t i = 0; i < m->count; ++i) {
    if (m->slices[i].size) memcpy(bytes + at, m->slices[i].data, m->slices[i].size);
    at += m->slices[i].size;
  }
  bytes[at] = 0;
  *out_bytes = bytes;
  *out_size = size;
  return NULL;
}

void hr_message_deinit(hr_message_t* m) {
  for (int32_t i = 0; i < m->count; ++i) release_slice(&m->slices[i]);
  hr_free(m->slices);
  *m = (hr_message_t){0};
}
