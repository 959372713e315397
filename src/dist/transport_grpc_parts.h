/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of libheadrace_grpc.so: a completion queue as the engine of both sides.
 *
 * Everything that gRPC ends is a tag; a tag's first member is the function to call, on a thread of the queue's. */
#ifndef HR_DIST_TRANSPORT_GRPC_PARTS_H
#define HR_DIST_TRANSPORT_GRPC_PARTS_H
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <pthread.h>
#include "dist/transport_grpc.h"

extern const hr_transport_grpc_host_t* hr_transport_grpc_host;
#define GRPC_PART_ERROR(code, ...) hr_transport_grpc_host->error(HR_##code, __FILE__, __LINE__, __VA_ARGS__)

typedef struct hr_transport_grpc_tag {
  void (*ended)(struct hr_transport_grpc_tag* self, bool ok);
} hr_transport_grpc_tag_t;

HR_MUST_USE hr_status_t hr_transport_grpc_queue(grpc_completion_queue** out); /* the process's, which is never shut down */
bool hr_transport_grpc_is_thread(void); /* whether the caller is such a thread */

/* Message <-> byte buffer, without copies of large slices. Neither takes the message's memory on failure. */
grpc_byte_buffer* hr_transport_grpc_pack(hr_message_t* take_message);
HR_MUST_USE hr_status_t hr_transport_grpc_unpack(grpc_byte_buffer* take_buffer, hr_message_t* out);

static inline grpc_arg hr_transport_grpc_int_arg(const char* name, int value) {
  grpc_arg a;
  a.type = GRPC_ARG_INTEGER;
  a.key = (char*)(uintptr_t)name;
  a.value.integer = value;
  return a;
}
/* Of channels and servers alike: what nobody looks at costs each call nothing. Compressed messages are still read. */
#define GRPC_PART_ARGS                                                                                                              \
  hr_transport_grpc_int_arg(GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, -1), hr_transport_grpc_int_arg(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, 4 << 20), \
    hr_transport_grpc_int_arg(GRPC_ARG_ENABLE_CHANNELZ, 0), hr_transport_grpc_int_arg(GRPC_ARG_ENABLE_PER_MESSAGE_COMPRESSION, 0)
char* hr_transport_grpc_text(hr_str_t s); /* a copy with a NUL; host->free; NULL: out of memory */

/* transport_grpc_client.c, transport_grpc_server.c: the table's rows */
hr_status_t hr_transport_grpc_connect(hr_str_t address, const hr_tls_t* tls, hr_channel_t** out);
void hr_transport_grpc_disconnect(hr_channel_t* c);
void hr_transport_grpc_call(hr_channel_t* c, const char* method, hr_message_t* take_request, int64_t deadline_ms, bool wait_for_ready,
                            hr_call_t* user);
void hr_transport_grpc_cancel(hr_call_t* user);
hr_status_t hr_transport_grpc_listen(hr_str_t host, int port, const hr_tls_t* tls, const hr_listener_limits_t* limits,
                                     void (*handle)(void* arg, hr_request_t* request), void* arg, hr_listener_t** out, int* out_port);
void hr_transport_grpc_reply(hr_request_t* request, hr_status_t take_status, hr_message_t* take_response);
void hr_transport_grpc_stop(hr_listener_t* l, int64_t grace_ms);
#endif
