/* SPDX-License-Identifier: Apache-2.0 */
/* A worker: this task's devices, sessions, registered graphs and the rendezvous of its steps. The services call it by message, the
 * task's own master by function, with the same messages, so that one path is tested.
 *
 * Methods take and give serialized protos (worker.proto). All are asynchronous: `done` comes once, on any thread, also before
 * hr_worker_call has returned. */
#ifndef HR_DIST_WORKER_H
#define HR_DIST_WORKER_H
#include "dist/cluster.h"
#include "rt/device.h"

typedef struct hr_worker hr_worker_t;
#define HR_WORKER_MOST_INFLATED ((size_t)1 << 30) /* bytes of a graph's constants that its message only claims ("a million zeros") */
/* In the message of a failure that follows from another one elsewhere: masters report it while they know no other. TensorFlow's word. */
#define HR_DERIVED_MARK "[_Derived_]"

typedef enum {
#define HR_WORKER_METHOD(name) HR_WORKER_##name,
#include "dist/worker_method.def"
#undef HR_WORKER_METHOD
  HR_WORKER_METHOD_COUNT
} hr_worker_method_t;
extern const char* const hr_worker_method_names[HR_WORKER_METHOD_COUNT]; /* "GetStatus" */

typedef struct {
  hr_cluster_t* cluster;         /* one more reference is taken */
  int32_t cpu_devices;           /* 0: one */
  bool is_confined;              /* graphs touch files below `root` only; "" : none. Else any */
  hr_str_t root;
  int64_t max_graph_nodes;       /* of all graphs registered in one session; 0: no limit. Likewise below */
  int64_t max_peer_bytes;        /* of requests of one peer that are being answered */
  int32_t max_sessions, max_steps;
  int64_t master_beat_ms;        /* a master is silent when it does not answer within it; 0: 30 s */
} hr_worker_options_t;
HR_MUST_USE hr_status_t hr_worker_create(const hr_worker_options_t* options, hr_worker_t** out);
/* Ends every step and wait, waits at most grace_ms for their `done`; later calls are UNAVAILABLE. */
void hr_worker_stop(hr_worker_t* w, int64_t grace_ms);
/* Stops and gives up the caller's reference; calls that have not ended (a kernel that does not) keep the rest alive. Accepts NULL. */
void hr_worker_release(hr_worker_t* w);

/* A field of ours, which others skip. In a RunGraphRequest: the master would like to know whether it can do without a CleanupGraph; in the
 * response: it can, nothing is left of the step here. */
enum { HR_WORKER_SETTLED = 1000 };

typedef struct hr_worker_call {
  hr_worker_method_t method;
  hr_message_t request;          /* the worker's once the call is made */
  void (*done)(struct hr_worker_call* self, hr_status_t take_status, hr_message_t* take_response);
  hr_str_t peer;                 /* for limits; "" : this task */
  /* When set: the caller's thread may block, and runs the step of a RunGraph; called first, since `cancel` is safe from then on. */
  void (*begun)(struct hr_worker_call* self);
  void* state;                   /* the worker's while it runs */
} hr_worker_call_t;              /* memory of the caller until done */

void hr_worker_call(hr_worker_t* w, hr_worker_call_t* call);
/* The caller gave up: the step of a RunGraph ends, the wait of a RecvTensor too; `done` still comes, perhaps from within. From when
 * `begun` was called or hr_worker_call has returned until `done` has. */
void hr_worker_cancel(hr_worker_t* w, hr_worker_call_t* call);
const hr_device_set_t* hr_worker_devices(const hr_worker_t* w);
#endif
