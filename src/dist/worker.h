/* SPDX-License-Identifier: Apache-2.0 */
/* A worker: this task's devices, sessions, registered graphs and the rendezvous of its steps. The services call it by message, the
 * task's own master by function, with the same messages, so that one path is tested.
 *
 * Methods take and give serialized protos (worker.proto). All are asynchronous: `done` comes once, on any thread. */
#ifndef HR_DIST_WORKER_H
#define HR_DIST_WORKER_H
#include "dist/transport.h"
#include "rt/device.h"

typedef struct hr_worker hr_worker_t;

typedef enum {
#define HR_WORKER_METHOD(name) HR_WORKER_##name,
#include "dist/worker_method.def"
#undef HR_WORKER_METHOD
  HR_WORKER_METHOD_COUNT
} hr_worker_method_t;

typedef struct hr_worker_call {
  hr_worker_method_t method;
  hr_message_t request;          /* owned */
  void (*done)(struct hr_worker_call* self, hr_status_t take_status, hr_message_t* take_response);
  hr_str_t peer;                 /* for limits; "" : this task */
  void* state;                   /* the worker's while it runs */
} hr_worker_call_t;              /* memory of the caller until done */

void hr_worker_call(hr_worker_t* w, hr_worker_call_t* call);
/* The caller gave up: the step of a RunGraph ends, the wait of a RecvTensor too; done still comes. */
void hr_worker_cancel(hr_worker_t* w, hr_worker_call_t* call);
const hr_device_set_t* hr_worker_devices(const hr_worker_t* w);
#endif
