/* SPDX-License-Identifier: Apache-2.0 */
/* The seam to libheadrace_grpc.so: what that object needs of us, and the one symbol it exports. It links nothing of ours. */
#ifndef HR_DIST_TRANSPORT_GRPC_H
#define HR_DIST_TRANSPORT_GRPC_H
#include "base/log.h"
#include "dist/transport.h"

enum { HR_TRANSPORT_GRPC_ABI = 2 };
typedef struct {
  int abi;
  hr_status_t (*error)(hr_code_t code, const char* file, int line, const char* format, ...) HR_PRINTF(4, 5);
  hr_status_t (*out_of_memory)(void);
  hr_code_t (*code_of)(hr_status_t status);
  const char* (*message_of)(hr_status_t status);
  void (*status_release)(hr_status_t status);
  void* (*alloc)(size_t bytes);      /* zeroed */
  void (*free)(void* block);
  void (*message_deinit)(hr_message_t* m);
  void (*log)(hr_log_level_t level, const char* format, ...) HR_PRINTF(2, 3);
} hr_transport_grpc_host_t;
typedef const hr_transport_t* (*hr_transport_grpc_open_fn)(const hr_transport_grpc_host_t* host); /* NULL: another abi */
#define HR_TRANSPORT_GRPC_OPEN "hr_transport_grpc_open"
#endif
