/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the tasks that take part in running steps are alive: while there is such a step, each is asked for its status every third of the
 * heartbeat, and given two thirds to answer. One that does not is dead, or frozen, which is the same to who waits. A step costs two short
 * locks; without steps nothing is asked. */
#ifndef HR_DIST_HEARTBEAT_H
#define HR_DIST_HEARTBEAT_H
#include "dist/cluster.h"

typedef struct hr_heartbeat hr_heartbeat_t;

typedef struct hr_heartbeat_watch { /* memory of the watcher's while it watches */
  const int32_t* tasks;             /* of the cluster; its own is skipped */
  int32_t count;
  /* A task is gone: UNAVAILABLE, naming it; the watcher's. Perhaps more than once. Must not call this file's functions. */
  void (*dead)(struct hr_heartbeat_watch* self, int32_t task, hr_status_t take_why);
  struct hr_heartbeat_watch *next, *previous;
} hr_heartbeat_watch_t;

HR_MUST_USE hr_status_t hr_heartbeat_create(hr_cluster_t* cluster, int64_t heartbeat_ms, hr_heartbeat_t** out);
void hr_heartbeat_destroy(hr_heartbeat_t* h); /* nobody watches any more; accepts NULL */
HR_MUST_USE hr_status_t hr_heartbeat_add(hr_heartbeat_t* h, hr_heartbeat_watch_t* w);
void hr_heartbeat_remove(hr_heartbeat_t* h, hr_heartbeat_watch_t* w); /* `dead` neither runs nor will */
#endif
