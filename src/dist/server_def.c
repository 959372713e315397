/* SPDX-License-Identifier: Apache-2.0 */
/* ServerDef = 4 default_session_config, 5 protocol, 6 port. ConfigProto = 1 device_count (map string, int32). */
#include "dist/server_def.h"
#include "wire/cursor.h"

static hr_status_t read_device_count(hr_cursor_t entry, hr_server_def_t* out) {
  hr_str_t type = HR_STR("");
  int64_t count = 0;
  while (!hr_cursor_is_done(&entry)) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&entry, &f));
    if (f.key == HR_KEY_SPAN(1)) type = hr_cursor_str(f.span);
    else if (f.key == HR_KEY_VARINT(2)) count = (int64_t)f.value;
  }
  if (hr_str_is(type, "CPU") && count > 0 && count <= INT32_MAX) out->cpu_devices = (int32_t)count;
  return NULL;
}

static hr_status_t read_config(hr_server_def_t* out) {
  hr_cursor_t c = hr_cursor_make(out->default_config.data, out->default_config.size);
  while (!hr_cursor_is_done(&c)) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&c, &f));
    if (f.key == HR_KEY_SPAN(1)) HR_TRY(read_device_count(f.span, out));
  }
  return NULL;
}

hr_status_t hr_server_def_decode(const void* data, size_t size, hr_server_def_t* out) {
  hr_cursor_t c = hr_cursor_make(data, size);
  int64_t port = 0;
  *out = (hr_server_def_t){.protocol = HR_STR(""), .default_config = HR_STR("")};
  while (!hr_cursor_is_done(&c)) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&c, &f));
    switch (f.key) {
      case HR_KEY_SPAN(4): out->default_config = hr_cursor_str(f.span); break;
      case HR_KEY_SPAN(5): out->protocol = hr_cursor_str(f.span); break;
      case HR_KEY_VARINT(6): port = (int64_t)f.value; break;
    }
  }
  if (port < 0 || port > 65535)
    return HR_ERROR(INVALID_ARGUMENT, "port %lld; a port is 1 to 65535, or 0: as the cluster says", (long long)port);
  out->port = (int32_t)port;
  if (out->protocol.size == 0) out->protocol = HR_STR("grpc");
  return read_config(out);
}

hr_status_t hr_server_def_split(hr_str_t address, hr_str_t* out_host, int* out_port) {
  size_t colon = address.size;
  while (colon && address.data[colon - 1] != ':') --colon;
  int64_t port;
  if (colon == 0 || !hr_str_parse_i64(hr_str_slice(address, colon, address.size), &port) || port < 0 || port > 65535)
    return HR_ERROR(INVALID_ARGUMENT, "address '%.*s'; host:port was expected", HR_STR_ARG(address));
  *out_host = hr_str_slice(address, 0, colon - 1);
  *out_port = (int)port;
  return NULL;
}
