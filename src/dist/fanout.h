/* SPDX-License-Identifier: Apache-2.0 */
/* One call each to several workers of a cluster, all in flight at once: this task's own by function, the others over their channels. The
 * caller waits for all, or leaves them alone (hr_fanout_detach). */
#ifndef HR_DIST_FANOUT_H
#define HR_DIST_FANOUT_H
#include "dist/cluster.h"
#include "dist/worker.h"
#include "rt/cancel.h"

typedef struct hr_fanout hr_fanout_t;
typedef struct {
  hr_call_t wire;          /* one of these two is in use */
  hr_worker_call_t own;
  hr_fanout_t* fanout;
  int32_t task;            /* index in the cluster */
  bool is_own;
  bool has_begun, has_ended; /* guarded by the fan-out's mu */
  bool is_settled;         /* of `replied`'s */
  hr_status_t status;      /* once it has ended; the fan-out's */
  hr_message_t response;
} hr_fanout_call_t;

struct hr_fanout {
  hr_cluster_t* cluster;   /* one reference */
  hr_worker_t* worker;
  /* When set: called once for each call when it has ended, before it counts as ended, on any thread; may cancel. */
  void (*replied)(hr_fanout_t* f, hr_fanout_call_t* call);
  bool may_block;          /* this task's own step runs within hr_fanout_start: start it last */
  void (*ended)(void* arg); /* when set: all have ended and the fan-out, which had been detached, is gone */
  void* arg;               /* of the caller's */
  hr_mutex_t mu;
  hr_cond_t all_ended;
  int32_t count, left;     /* left: calls that have not ended, and one for who holds the fan-out */
  bool is_cancelled;
  hr_cancel_t* obeyed;     /* NULL: none */
  hr_cancel_entry_t entry;
  bool is_linked;
  hr_fanout_call_t calls[];
};

HR_MUST_USE hr_status_t hr_fanout_create(hr_cluster_t* cluster, hr_worker_t* worker, int32_t count, hr_fanout_t** out);
/* Call `index` of the fan-out, once each. A failure to start is the call's status. deadline_ms 0: none (this task's own has none). */
void hr_fanout_start(hr_fanout_t* f, int32_t index, int32_t task, hr_worker_method_t method, hr_message_t* take_request,
                     int64_t deadline_ms, bool wait_for_ready);
/* Until all that were started have ended; false: the deadline (monotonic; INT64_MAX: none) passed first. */
bool hr_fanout_wait(hr_fanout_t* f, int64_t deadline_ns);
void hr_fanout_cancel(hr_fanout_t* f);  /* calls that have not ended end soon, later ones at once */
/* A cancellation of `cancel` is one of the fan-out, until `finish` has returned. */
void hr_fanout_obey(hr_fanout_t* f, hr_cancel_t* cancel);
/* Waits. Why it was cancelled by whom it obeys; else the first failure in the order of the calls, naming its task. */
HR_MUST_USE hr_status_t hr_fanout_finish(hr_fanout_t* f);
void hr_fanout_destroy(hr_fanout_t* f); /* after all have ended; accepts NULL */
void hr_fanout_detach(hr_fanout_t* f);  /* the fan-out destroys itself when all have ended */
#endif
