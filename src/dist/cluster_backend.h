/* SPDX-License-Identifier: Apache-2.0 */
/* What a master's session stands on: the devices of the tasks that take part, and a session on each of those tasks' workers. Refcounted: by
 * the session, and by what is still cleaned up behind it. */
#ifndef HR_DIST_CLUSTER_BACKEND_H
#define HR_DIST_CLUSTER_BACKEND_H
#include "dist/fanout.h"
#include "dist/heartbeat.h"
#include "rt/cancel.h"
#include "session/backend.h"
#include "wire/writer.h"

typedef struct hr_cluster_backend {
  hr_session_backend_t base;
  _Atomic int refs;
  hr_cluster_t* cluster;         /* one reference */
  hr_worker_t* worker;
  hr_heartbeat_t* heartbeat;     /* the master's, or of the session's own cluster */
  hr_heartbeat_t* own_heartbeat; /* NULL: the master's is used */
  int64_t control_deadline_ms;
  hr_device_set_t* devices;      /* device 0: the client device, this task's first CPU */
  int32_t* task_of_device;
  int32_t* tasks;                /* that take part; this one first */
  int32_t task_count;
  char handle[17];
  char* config;                  /* serialized ConfigProto */
  size_t config_size;
  hr_mutex_t naming;
  int64_t next_name;             /* of partition's nodes; guarded by naming */
  hr_mutex_t mu;
  hr_cond_t clean;
  int32_t cleanups;              /* guarded by mu: steps whose CleanupGraph calls are in flight */
} hr_cluster_backend_t;

typedef struct {
  hr_cluster_t* cluster;
  hr_worker_t* worker;
  hr_heartbeat_t* heartbeat;
  int64_t control_deadline_ms;
  hr_str_t config;               /* ConfigProto: device_filters, isolate_session_state, share_cluster_devices_in_session, cluster_def */
  hr_str_t target;               /* the client's name of this master; says which task of a cluster_def it is */
  int64_t heartbeat_ms;          /* of a session with a cluster of its own */
} hr_cluster_backend_options_t;

/* Asks every task what devices it has, waiting for those that are not there yet (with a line in the log every 10 s) until `cancel`; then
 * opens a session on each. */
HR_MUST_USE hr_status_t hr_cluster_backend_create(const hr_cluster_backend_options_t* options, hr_cancel_t* cancel,
                                                  hr_cluster_backend_t** out);
void hr_cluster_backend_release(hr_cluster_backend_t* b); /* accepts NULL */
/* Which of the cluster's tasks the filters leave in (no filters: all), this one always and first. An array of the cluster's size. */
void hr_cluster_backend_select(const hr_cluster_t* cluster, const hr_str_t* filters, int32_t filter_count, int32_t* out_tasks,
                               int32_t* out_count);
/* The devices of `tasks`, this task's first; task_of_device: hr_alloc'ed, by device. `renames`: tasks go by other names in the cluster than
 * those they were started under. */
HR_MUST_USE hr_status_t hr_cluster_backend_discover(hr_cluster_t* cluster, hr_worker_t* worker, const int32_t* tasks, int32_t count,
                                                    bool renames, hr_cancel_t* cancel, hr_device_set_t** out, int32_t** out_task_of_device);
/* Calls that nobody waits for but the session's end, and that not for long. */
void hr_cluster_backend_leave(hr_cluster_backend_t* b, hr_fanout_t* take_cleanup);
/* A field `number` of DeviceAttributes. */
void hr_cluster_backend_write_device(hr_writer_t* w, uint32_t number, const hr_device_t* d);
#endif
