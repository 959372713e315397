/* SPDX-License-Identifier: Apache-2.0 */
/* A master: the sessions that clients open on this task. Each is a session like a local one (same signatures, same plan cache, same passes)
 * that stands on the devices of the whole cluster: its steps run as partitions on workers (cluster_runner.h).
 *
 * Methods take and give serialized protos (master.proto). hr_master_call is asynchronous: `done` comes once, on a thread that may block;
 * hr_master_run is the same for a caller in this process that waits anyway. Thread-safe. */
#ifndef HR_DIST_MASTER_H
#define HR_DIST_MASTER_H
#include "dist/cluster.h"
#include "base/errand.h"
#include "dist/worker.h"
#include "rt/cancel.h"

typedef struct hr_master hr_master_t;
enum { HR_MASTER_HEARTBEAT_MS = 10000, HR_MASTER_CONTROL_MS = 5000 }; /* unless options say otherwise */

typedef enum {
#define HR_MASTER_METHOD(name) HR_MASTER_##name,
#include "dist/master_method.def"
#undef HR_MASTER_METHOD
  HR_MASTER_METHOD_COUNT
} hr_master_method_t;
extern const char* const hr_master_method_names[HR_MASTER_METHOD_COUNT]; /* "CreateSession" */

typedef struct {
  hr_cluster_t* cluster;         /* one more reference is taken */
  hr_worker_t* worker;           /* this task's; outlives the master */
  hr_str_t default_config;       /* ServerDef.default_session_config, serialized ConfigProto: under what a client asks for */
  int64_t heartbeat_ms;          /* a task of a running step that answers nothing for so long is dead; 0: HR_MASTER_HEARTBEAT_MS */
  int64_t control_deadline_ms;   /* of registering, cleaning up and so on; 0: HR_MASTER_CONTROL_MS */
  int64_t max_graph_nodes;       /* of one session's graph; 0: no limit. Likewise the two below */
  int32_t max_sessions, max_steps;
} hr_master_options_t;

typedef struct hr_master_call {
  hr_master_method_t method;
  hr_message_t request;          /* the master's once the call is made */
  void (*done)(struct hr_master_call* self, hr_status_t take_status, hr_message_t* take_response);
  hr_str_t peer;                 /* for the log; "" : this process */
  hr_cancel_t cancel;            /* the master's; see hr_master_cancel */
  hr_master_t* master;           /* likewise */
  hr_errand_t errand;            /* likewise */
} hr_master_call_t;              /* memory of the caller until done */

HR_MUST_USE hr_status_t hr_master_create(const hr_master_options_t* options, hr_master_t** out);
void hr_master_call(hr_master_t* m, hr_master_call_t* call);
/* The caller gave up: a step ends, a wait for missing tasks too; `done` still comes. From before hr_master_call returns until `done` has
 * ended the call. */
void hr_master_cancel(hr_master_call_t* call);
/* In `done`, when nobody can cancel any more, before the call's memory goes. */
void hr_master_call_deinit(hr_master_call_t* call);
/* The same on the calling thread. `cancel`: NULL, or ends the call. */
HR_MUST_USE hr_status_t hr_master_run(hr_master_t* m, hr_master_method_t method, hr_message_t* take_request, hr_cancel_t* cancel,
                                      hr_message_t* out_response);
/* Lets sessions of this process whose target is `address` ("host:port") call the master by function, until it stops. */
HR_MUST_USE hr_status_t hr_master_publish(hr_master_t* m, hr_str_t address);
/* hr_master_run on the master published under `address`; *out_found false: there is none, and nothing was taken. */
HR_MUST_USE hr_status_t hr_master_run_local(hr_str_t address, hr_master_method_t method, hr_message_t* take_request, hr_cancel_t* cancel,
                                            hr_message_t* out_response, bool* out_found);
/* Ends every call and closes every session, within a second whatever died; later calls are UNAVAILABLE. */
void hr_master_stop(hr_master_t* m);
void hr_master_destroy(hr_master_t* m); /* stops; waits for the calls inside; accepts NULL */
#endif
