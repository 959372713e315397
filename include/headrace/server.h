/* SPDX-License-Identifier: Apache-2.0 */
/* Servers beyond tensorflow/c/c_api.h's TF_Server: where they listen, TLS, what graphs that come over the network may do.
 *
 * Without options a server listens on 127.0.0.1 alone, lets such graphs touch no file, and has the limits below. The environment's
 * HEADRACE_SERVER_BIND, HEADRACE_SERVER_INSECURE, HEADRACE_SERVER_ROOT, HEADRACE_TLS_CERT, HEADRACE_TLS_KEY and HEADRACE_TLS_CA are
 * defaults for both kinds. */
#ifndef HEADRACE_SERVER_H_
#define HEADRACE_SERVER_H_
#include "tensorflow/c/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif
typedef struct HR_ServerOptions HR_ServerOptions;
TF_CAPI_EXPORT HR_ServerOptions* HR_NewServerOptions(void);                 /* NULL: out of memory */
TF_CAPI_EXPORT void HR_DeleteServerOptions(HR_ServerOptions* options);      /* accepts NULL; servers made with it do not need it */

/* The address to listen on. One that is not loopback needs TLS, or `insecure` not 0: whoever reaches the port may run graphs. */
TF_CAPI_EXPORT void HR_ServerSetBind(HR_ServerOptions* options, const char* host, unsigned char insecure, TF_Status* status);
/* PEM texts. ca, which may be NULL, is the authority of the other side; a server that has one asks clients for certificates. The same serve
 * for its calls to other tasks. */
TF_CAPI_EXPORT void HR_ServerSetTls(HR_ServerOptions* options, const char* certificate, const char* key, const char* ca, TF_Status* status);
/* The one folder below which graphs from the network may read and write files. NULL or "": none. */
TF_CAPI_EXPORT void HR_ServerSetRoot(HR_ServerOptions* options, const char* folder, TF_Status* status);

typedef enum HR_ServerLimit {
  HR_SERVER_MESSAGE_BYTES = 0,  /* of one request: 2^31 - 1 */
  HR_SERVER_PEER_BYTES = 1,     /* of one caller's requests that are being answered: 8 GiB */
  HR_SERVER_GRAPH_NODES = 2,    /* of one session: 16 Mi */
  HR_SERVER_SESSIONS = 3,       /* 1024 */
  HR_SERVER_STEPS = 4,          /* at a time: 1024 */
  HR_SERVER_CONNECTIONS = 5,    /* callers with a call at a time: 1024 */
  HR_SERVER_HEARTBEAT_MS = 6,   /* a task of a running step that is silent for so long is dead: 10000 */
  HR_SERVER_CONTROL_MS = 7      /* of each call between tasks that is not a step: 5000 */
} HR_ServerLimit;
/* INVALID_ARGUMENT for a value below 1. */
TF_CAPI_EXPORT void HR_ServerSetLimit(HR_ServerOptions* options, HR_ServerLimit limit, int64_t value, TF_Status* status);

/* TF_NewServer with options. The server is then used and deleted like any other. */
TF_CAPI_EXPORT TF_Server* HR_NewServer(const void* server_def, size_t size, const HR_ServerOptions* options, TF_Status* status);
#ifdef __cplusplus
}
#endif
#endif
