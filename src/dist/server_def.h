/* SPDX-License-Identifier: Apache-2.0 */
/* What a server itself reads of a ServerDef; the tasks are cluster.h's. Also makes one. */
#ifndef HR_DIST_SERVER_DEF_H
#define HR_DIST_SERVER_DEF_H
#include "base/str.h"

typedef struct {
  hr_str_t protocol;       /* "" : "grpc". Borrowed from the bytes, like the next */
  hr_str_t default_config; /* serialized ConfigProto */
  int32_t port;            /* 0: as the cluster says */
  int32_t cpu_devices;     /* default_config's device_count["CPU"]; 0: not said */
} hr_server_def_t;
HR_MUST_USE hr_status_t hr_server_def_decode(const void* data, size_t size, hr_server_def_t* out);
/* "host:port" taken apart; the port is 0 to 65535. INVALID_ARGUMENT. */
HR_MUST_USE hr_status_t hr_server_def_split(hr_str_t address, hr_str_t* out_host, int* out_port);
#endif
