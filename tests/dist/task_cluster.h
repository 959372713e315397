/* SPDX-License-Identifier: Apache-2.0 */
/* A cluster of our tasks in one process, on the transport within the process: each a worker and a master behind one listener. What arrives
 * over the transport is recorded in the form of recorded exchanges (exchange.h). */
#ifndef HR_TESTS_DIST_TASK_CLUSTER_H
#define HR_TESTS_DIST_TASK_CLUSTER_H
#include "base/vec.h"
#include "dist/exchange.h"
#include "dist/master.h"

typedef struct task_cluster task_cluster_t;
typedef struct {
  task_cluster_t* all;
  const char* job;
  int index;
  char address[64];
  hr_cluster_t* cluster;
  hr_worker_t* worker;
  hr_master_t* master;
  hr_listener_t* listener;
  atomic_bool is_dead;      /* what it still has to say is lost */
  atomic_bool is_frozen;    /* takes calls and does not answer them */
  atomic_int withheld;      /* calls that came while it was frozen: so many */
  HR_VEC(hr_request_t*) kept; /* and these; guarded by the cluster's mu */
} task_t;

struct task_cluster {
  task_t tasks[4];
  int count;
  int64_t heartbeat_ms;
  const hr_transport_t* transport;
  char* server_def;         /* of tasks[0] */
  hr_mutex_t mu;
  HR_VEC(hr_exchange_t) calls; /* in order of arrival; own bytes; guarded by mu */
};

/* Jobs by task, e.g. {"worker", "ps"}: task 0 of each, or 1, 2... where a job repeats. tasks[0] is the one whose master is called. */
bool task_cluster_start(task_cluster_t* c, const char* const* jobs, int count, int64_t heartbeat_ms);
void task_cluster_stop(task_cluster_t* c);
/* The listener goes, and with it all its calls: what the death of a process looks like to others. */
void task_cluster_kill(task_cluster_t* c, int task);
/* One call to the master of tasks[0], waited for. */
hr_status_t task_cluster_call(task_cluster_t* c, hr_master_method_t method, hr_str_t request, hr_strbuf_t* out_response);
void task_cluster_forget(task_cluster_t* c); /* what was recorded */
int task_cluster_count(task_cluster_t* c, const char* callee, const char* method);
size_t task_cluster_bytes(task_cluster_t* c, const char* callee, const char* method); /* of requests and responses */
#endif
