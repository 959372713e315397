/* SPDX-License-Identifier: Apache-2.0 */
/* TensorProto and AttrValue bytes: what decodes must encode, and decode again to the same value. */
#include <stdlib.h>
#include "op/attr_value.h"
#include "wire/tensor_proto.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

static void fuzz_attr(const uint8_t* data, size_t size) {
  hr_arena_t arena;
  hr_attr_keeper_t keeper = {0};
  hr_attr_t attr;
  hr_writer_t w = {0};
  hr_arena_init(&arena);
  hr_status_t status = hr_attr_value_decode(&arena, &keeper, hr_cursor_make(data, size), &attr);
  if (!status) status = hr_attr_value_encode(&attr, &w);
  hr_status_release(status);
  hr_strbuf_deinit(&w);
  hr_attr_keeper_deinit(&keeper);
  hr_arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hr_tensor_t t = {0}, back = {0};
  hr_writer_t w = {0};
  hr_status_t status = hr_tensor_proto_decode(hr_cursor_make(data, size), 1 << 20, &t);
  if (!status && (status = hr_tensor_proto_encode(&t, &w)) == NULL) {
    if (hr_tensor_proto_decode(hr_cursor_make(w.data, w.size), SIZE_MAX, &back)) abort();
    if (t.dtype != HR_RESOURCE && !hr_tensor_equal(&t, &back)) abort();
  }
  hr_status_release(status);
  hr_tensor_release(&t);
  hr_tensor_release(&back);
  hr_strbuf_deinit(&w);
  if (size < 100000) fuzz_attr(data, size); /* its tensors have the usual, large limit; each still needs bytes of its own or fails */
  return 0;
}
