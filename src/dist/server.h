/* SPDX-License-Identifier: Apache-2.0 */
/* A task of a cluster: one listener that serves MasterService and WorkerService, one worker (this process's devices, variables, graphs),
 * one master (sessions). ServerDef as in TensorFlow; what it lacks (binding, TLS, limits, file root) is hr_server_options_t. */
#ifndef HR_DIST_SERVER_H
#define HR_DIST_SERVER_H
#include "dist/transport.h"

typedef struct {
  hr_str_t bind;               /* host to listen on; "" : 127.0.0.1. Another one without TLS is refused unless `insecure` */
  bool insecure;
  hr_tls_t tls;                /* empty: the environment's (dist/tls.h) */
  hr_str_t root;               /* the one folder that graphs from the network may touch; "" : none */
  int64_t max_message_bytes, max_graph_nodes, max_peer_bytes;
  int32_t max_sessions, max_steps, max_connections;
  int64_t heartbeat_ms;        /* a peer that does not answer for so long is dead; 10000 */
  int64_t control_deadline_ms; /* of each control call; 5000 */
} hr_server_options_t;
void hr_server_options_init(hr_server_options_t* o); /* the defaults; environment variables HEADRACE_* over them */

typedef struct hr_server hr_server_t;
/* server_def: serialized ServerDef. Binds the port (ServerDef.port, else that of the cluster's entry for this task; 0: any), does not serve
 * yet: calls wait until it does. */
HR_MUST_USE hr_status_t hr_server_create(const void* server_def, size_t size, const hr_server_options_t* options, hr_server_t** out);
HR_MUST_USE hr_status_t hr_server_start(hr_server_t* s);
HR_MUST_USE hr_status_t hr_server_stop(hr_server_t* s); /* within a second: running steps are cancelled */
void hr_server_join(hr_server_t* s);                    /* until stopped */
const char* hr_server_target(const hr_server_t* s);     /* grpc://host:port */
void hr_server_destroy(hr_server_t* s);                 /* stops; accepts NULL */
#endif
