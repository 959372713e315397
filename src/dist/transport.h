/* SPDX-License-Identifier: Apache-2.0 */
/* Calls between tasks: unary, asynchronous, a deadline each. Two implementations, one table: gRPC (C core, in libheadrace_grpc.so, loaded
 * when the first server or remote session asks; near peers are called without it, transport_near.h) and a twin within the process, for
 * tests.
 *
 * A message is slices; a tensor's body travels as a slice of its own that shares the tensor's memory, so sending copies nothing. */
#ifndef HR_DIST_TRANSPORT_H
#define HR_DIST_TRANSPORT_H
#include "base/status.h"
#include "base/str.h"

typedef struct hr_slice { /* bytes with an owner */
  const void* data;
  size_t size;
  void (*release)(void* owner); /* NULL: static */
  void* owner;
} hr_slice_t;
typedef struct hr_message {
  hr_slice_t* slices; /* in order; hr_alloc'ed when not NULL, with room for the power of two at or above `count` */
  int32_t count;
} hr_message_t;
/* Takes hr_alloc'ed bytes, also on failure. */
HR_MUST_USE hr_status_t hr_message_of_bytes(char* take_bytes, size_t size, hr_message_t* out);
HR_MUST_USE hr_status_t hr_message_add(hr_message_t* m, hr_slice_t take_slice);
HR_MUST_USE hr_status_t hr_message_join(const hr_message_t* m, char** out_bytes, size_t* out_size); /* flat, and a NUL; hr_free it */
size_t hr_message_size(const hr_message_t* m);
void hr_message_deinit(hr_message_t* m);

typedef struct { /* PEM text; all empty: no TLS. With `ca` on a server clients must show a certificate (mutual TLS) */
  hr_str_t certificate, key, ca;
} hr_tls_t;

/* --- client ------------------------------------------------------------------------------------------------------------------------- */
typedef struct hr_channel hr_channel_t; /* to one address; refcounted; reconnects by itself; thread-safe */

/* One call. `done` is called exactly once, on a thread of the transport's (do not block there for long). */
typedef struct hr_call { /* the caller's memory until `done` */
  void (*done)(struct hr_call* self, hr_status_t take_status, hr_message_t* take_response);
  void *state, *via; /* of the transport */
} hr_call_t;

/* --- server ------------------------------------------------------------------------------------------------------------------------- */
typedef struct hr_listener hr_listener_t;
typedef struct hr_request {      /* one call that arrived */
  hr_str_t method;               /* "/tensorflow.WorkerService/RunGraph" */
  hr_str_t peer;                 /* "ipv4:127.0.0.1:41234" */
  hr_message_t message;          /* the receiver's; deinit or take it */
  /* Set by the handler before it returns, or NULL: the caller gave up. Called at most once, never after `reply` has returned. */
  void (*cancelled)(struct hr_request* self);
  void* arg;                     /* the handler's */
  void* via;                     /* the transport's */
} hr_request_t;

typedef struct {
  int64_t max_message_bytes;     /* of one request; 0: 2^31 - 1 */
  int32_t max_connections;       /* 0: no limit */
} hr_listener_limits_t;

typedef struct hr_transport {
  const char* protocol;          /* "grpc" */
  /* address "host:port". The channel connects when first called and keeps trying. */
  hr_status_t (*connect)(hr_str_t address, const hr_tls_t* tls, hr_channel_t** out);
  /* Gives the reference up; calls in flight end with CANCELLED first: it waits for their `done`, unless called from one. */
  void (*disconnect)(hr_channel_t* c);
  /* deadline_ms: 0: none. wait_for_ready: a peer that is not there yet is waited for, else the call ends with UNAVAILABLE. */
  void (*call)(hr_channel_t* c, const char* method, hr_message_t* take_request, int64_t deadline_ms, bool wait_for_ready, hr_call_t* call);
  void (*cancel)(hr_call_t* call); /* done still comes; safe until it has */
  /* port 0: any; *out_port says which. `handle` is called on the listener's threads, must not block, and answers by `reply`, at once or
   * later. */
  hr_status_t (*listen)(hr_str_t host, int port, const hr_tls_t* tls, const hr_listener_limits_t* limits,
                        void (*handle)(void* arg, hr_request_t* request), void* arg, hr_listener_t** out, int* out_port);
  /* The request is gone afterwards. Not with a lock held that `cancelled` takes: a `cancelled` that runs is waited for. */
  void (*reply)(hr_request_t* request, hr_status_t take_status, hr_message_t* take_response);
  /* No new calls; those in flight are told `cancelled`, waited for at most grace_ms, then cut. No `handle` runs afterwards; a request that
   * has not been answered may still be, to nobody. Not from a thread of the listener's. */
  void (*stop)(hr_listener_t* l, int64_t grace_ms);
} hr_transport_t;

/* gRPC alone, also between processes that "grpc" would let call each other without it. */
HR_MUST_USE hr_status_t hr_transport_far(const hr_transport_t** out);
/* UNIMPLEMENTED names the protocol, or says that libheadrace_grpc.so is missing. "inproc" is the twin; its addresses are any text. */
HR_MUST_USE hr_status_t hr_transport_find(hr_str_t protocol, const hr_transport_t** out);
/* A node asks for this device: one of another task's says that gRPC will be wanted soon, and it is opened on a thread of its own, once. */
void hr_transport_prepare(hr_str_t device);
/* Blocks until the answer; for control calls. */
HR_MUST_USE hr_status_t hr_transport_call_sync(const hr_transport_t* t, hr_channel_t* c, const char* method, hr_message_t* take_request,
                                               int64_t deadline_ms, bool wait_for_ready, hr_message_t* out_response);
#endif
