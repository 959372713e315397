/* SPDX-License-Identifier: Apache-2.0 */
/* What a server reads of a ServerDef, and addresses taken apart. */
#define HR_TEST_LEAKS_CHECKED
#include "dist/server_def.h"
#include "test.h"

#define BYTES(text) text, sizeof(text) - 1

HR_TEST(nothing_said) {
  hr_server_def_t d = {.port = 7, .cpu_devices = 7};
  HR_REQUIRE_OK(hr_server_def_decode("", 0, &d));
  HR_CHECK_VIEW(d.protocol, "grpc");
  HR_CHECK_EQ_U64(d.default_config.size, 0);
  HR_CHECK_EQ_I64(d.port, 0);
  HR_CHECK_EQ_I64(d.cpu_devices, 0);
}

HR_TEST(fields) { /* protocol "grpcs", port 300, and a default config: device_count of CPU and others, and a field that is not read */
  hr_server_def_t d;
  HR_REQUIRE_OK(hr_server_def_decode(BYTES("\x2a\x05grpcs\x30\xac\x02\x22\x14\x0a\x07\x0a\x03"
                                           "CPU\x10\x03\x0a\x07\x0a\x03GPU\x10\x05\x10\x09"), &d));
  HR_CHECK_VIEW(d.protocol, "grpcs");
  HR_CHECK_EQ_I64(d.port, 300);
  HR_CHECK_EQ_U64(d.default_config.size, 20);
  HR_CHECK_EQ_I64(d.cpu_devices, 3);
}

HR_TEST(counts_of_devices) {
  hr_server_def_t d;
  HR_REQUIRE_OK(hr_server_def_decode(BYTES("\x22\x09\x0a\x07\x0a\x03" "CPU\x10\x01"), &d));
  HR_CHECK_EQ_I64(d.cpu_devices, 1);
  HR_REQUIRE_OK(hr_server_def_decode(BYTES("\x22\x09\x0a\x07\x0a\x03" "CPU\x10\x00"), &d));
  HR_CHECK_EQ_I64(d.cpu_devices, 0);
  HR_REQUIRE_OK(hr_server_def_decode(BYTES("\x22\x0d\x0a\x0b\x0a\x03" "CPU\x10\xff\xff\xff\xff\x07"), &d)); /* 2^31 - 1 */
  HR_CHECK_EQ_I64(d.cpu_devices, INT32_MAX);
  HR_REQUIRE_OK(hr_server_def_decode(BYTES("\x22\x0d\x0a\x0b\x0a\x03" "CPU\x10\x80\x80\x80\x80\x08"), &d)); /* 2^31: not a count */
  HR_CHECK_EQ_I64(d.cpu_devices, 0);
}

HR_TEST(ports) {
  hr_server_def_t d;
  HR_REQUIRE_OK(hr_server_def_decode(BYTES("\x30\xff\xff\x03"), &d));
  HR_CHECK_EQ_I64(d.port, 65535);
  HR_CHECK_CODE(hr_server_def_decode(BYTES("\x30\x80\x80\x04"), &d), HR_INVALID_ARGUMENT, "port 65536; a port is 1 to 65535");
  HR_CHECK_CODE(hr_server_def_decode(BYTES("\x30\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), &d), HR_INVALID_ARGUMENT, "port -1;");
}

HR_TEST(damage) {
  hr_server_def_t d;
  HR_CHECK_CODE(hr_server_def_decode(BYTES("\x2a\x05grp"), &d), HR_INVALID_ARGUMENT, "");
  HR_CHECK_CODE(hr_server_def_decode(BYTES("\x22\x02\x0a\x07"), &d), HR_INVALID_ARGUMENT, "");
  HR_CHECK_CODE(hr_server_def_decode(BYTES("\x22\x04\x0a\x02\x0a\x03"), &d), HR_INVALID_ARGUMENT, "");
}

HR_TEST(addresses) {
  static const struct { const char *address, *host; int port; } rows[] = {
      {"a:1", "a", 1}, {"127.0.0.1:65535", "127.0.0.1", 65535}, {":0", "", 0}, {"[::1]:2222", "[::1]", 2222}, {"a:b:3", "a:b", 3}};
  static const char* const bad[] = {"", "a", "a:", "a:-1", "a:65536", "a:1x", "1"};
  hr_str_t host;
  int port;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    if (!HR_CHECK_OK(hr_server_def_split(hr_str(rows[i].address), &host, &port))) continue;
    HR_CHECK_VIEW(host, rows[i].host);
    HR_CHECK_EQ_I64(port, rows[i].port);
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i)
    HR_CHECK_CODE(hr_server_def_split(hr_str(bad[i]), &host, &port), HR_INVALID_ARGUMENT, "host:port was expected");
}
HR_TEST_MAIN()
