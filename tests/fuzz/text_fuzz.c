/* SPDX-License-Identifier: Apache-2.0 */
/* Text of a GraphDef: what parses must print, and the print must parse to the same bytes. Bytes that are no text are tried as wire
 * bytes. */
#include <stdlib.h>
#include "wire/text.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ProtobufCMessageDescriptor* type = hr_messages_find(HR_STR("GraphDef"));
  hr_writer_t bytes = {0}, again = {0};
  hr_strbuf_t text = {0};
  ProtobufCMessage* message = NULL;
  hr_status_t status = hr_text_parse(type, (hr_str_t){(const char*)data, size}, &bytes);
  if (!status) {
    if (hr_text_format(type, bytes.data, bytes.size, &text) || hr_text_parse(type, hr_strbuf_view(&text), &again)) abort();
    if (!hr_str_equal(hr_strbuf_view(&bytes), hr_strbuf_view(&again))) abort();
  }
  hr_status_release(status);
  text.size = 0;
  hr_status_release(hr_text_format(type, data, size, &text));
  hr_status_release(hr_messages_unpack(type, data, size, &message));
  hr_messages_free(message);
  hr_strbuf_deinit(&text);
  hr_strbuf_deinit(&bytes);
  hr_strbuf_deinit(&again);
  return 0;
}
