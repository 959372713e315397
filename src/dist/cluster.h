/* SPDX-License-Identifier: Apache-2.0 */
/* The tasks of a cluster, as a ServerDef lists them: name, address, and a channel to each, opened when first asked for and shared by all
 * who call that task (the master's steps, the worker's RecvTensor). Refcounted; thread-safe. */
#ifndef HR_DIST_CLUSTER_H
#define HR_DIST_CLUSTER_H
#include <stdatomic.h>
#include "base/sync.h"
#include "dist/transport.h"

typedef struct {
  hr_str_t job;
  int32_t index;
  hr_str_t name;               /* "/job:worker/replica:0/task:3"; NUL-terminated */
  hr_str_t address;            /* "host:port" */
  hr_channel_t* channel;       /* guarded by mu; NULL: not asked for yet */
} hr_cluster_task_t;

typedef struct hr_cluster {
  _Atomic int refs;
  hr_cluster_task_t* tasks;    /* sorted by job, then index; all that the ServerDef's ClusterDef lists */
  int32_t count;
  int32_t self;                /* this process's task */
  hr_str_t protocol;           /* "grpc" */
  const hr_transport_t* transport;
  hr_tls_t tls;                /* own bytes */
  hr_mutex_t mu;
  struct hr_cluster_text { struct hr_cluster_text* next; char text[]; }* texts; /* what the names above point to */
} hr_cluster_t;

/* From a serialized ServerDef: its ClusterDef, job_name, task_index. INVALID_ARGUMENT names what is wrong (a task that is not in the
 * cluster, an index twice). own_address "" : what the ClusterDef says. */
HR_MUST_USE hr_status_t hr_cluster_create(const void* server_def, size_t size, const hr_transport_t* transport, const hr_tls_t* tls,
                                          hr_str_t own_address, hr_cluster_t** out);
hr_cluster_t* hr_cluster_retain(hr_cluster_t* c);
void hr_cluster_release(hr_cluster_t* c); /* accepts NULL */
/* The task that a task's or device's full name is of; -1: none of the cluster. */
int32_t hr_cluster_find(const hr_cluster_t* c, hr_str_t name);
/* Borrowed: lives as long as the cluster. */
HR_MUST_USE hr_status_t hr_cluster_channel(hr_cluster_t* c, int32_t task, hr_channel_t** out);
#endif
