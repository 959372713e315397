/* SPDX-License-Identifier: Apache-2.0 */
/* A TFRecord file; the first byte chooses the coding. */
#include "io/record.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hr_stream_t* stream = NULL;
  hr_record_reader_t* r = NULL;
  hr_str_t s;
  if (size == 0) return 0;
  hr_status_t status = hr_stream_open_memory(data + 1, size - 1, (hr_stream_coding_t)(data[0] % 3), &stream);
  if (!status) status = hr_record_reader_open_stream(stream, &r);
  while (!status) status = hr_record_reader_next(r, &s);
  hr_status_release(status);
  hr_record_reader_close(r);
  return 0;
}
