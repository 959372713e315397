/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a master, shared by the files master*.c.
 *
 * A call holds the session that it names, so closing may go on beside it: the session ends the call's step and waits for it. Lock order:
 * master.mu, then session.mu; neither is held while a step runs or a worker is called. */
#ifndef HR_DIST_MASTER_STATE_H
#define HR_DIST_MASTER_STATE_H
#include "base/map.h"
#include "dist/cluster_backend.h"
#include "dist/master.h"
#include "dist/message_builder.h"
#include "dist/message_reader.h"
#include "dist/request_ids.h"

typedef struct hr_master_callable hr_master_callable_t;
typedef struct hr_master_partial hr_master_partial_t;

typedef struct hr_master_session {
  _Atomic int refs;
  hr_master_t* master;
  hr_cluster_backend_t* backend;   /* one reference; its handle is the session's */
  hr_graph_t* graph;               /* one reference */
  hr_session_t* session;
  hr_mutex_t mu;                   /* guards what follows, and extending the graph */
  int64_t version;
  int64_t last_callable, next_partial;
  hr_master_callable_t* callables; /* a list each */
  hr_master_partial_t* partials;
} hr_master_session_t;

struct hr_master {
  hr_master_options_t options;     /* its texts are the master's own */
  char* default_config;
  hr_cluster_t* cluster;
  hr_heartbeat_t* heartbeat;
  hr_request_ids_t ids;
  hr_cancel_t stopping;            /* parent of every call's token */
  hr_mutex_t mu;
  hr_cond_t idle;
  hr_map_t sessions;               /* handle to hr_master_session_t, a reference each; guarded by mu, like all below */
  int64_t calls, steps;            /* inside */
  int32_t opening;                 /* sessions being made */
  bool is_stopping;
  char* address;                   /* published under it; guarded by the list's lock in master.c, like the next */
  hr_master_t* next_published;
};

/* --- sessions: master_session.c ------------------------------------------------------------------------------------------------------- */
/* One more reference. ABORTED: no such session (any more). */
HR_MUST_USE hr_status_t hr_master_session_find(hr_master_t* m, hr_str_t handle, hr_master_session_t** out);
void hr_master_session_release(hr_master_session_t* s); /* accepts NULL */
void hr_master_session_close_all(hr_master_t* m);
/* Against max_steps; RESOURCE_EXHAUSTED. */
HR_MUST_USE hr_status_t hr_master_session_begin_step(hr_master_t* m);
void hr_master_session_end_step(hr_master_t* m);

/* --- master_callable.c, master_partial.c ---------------------------------------------------------------------------------------------- */
void hr_master_callable_destroy_all(hr_master_session_t* s);
void hr_master_partial_destroy_all(hr_master_session_t* s);

/* --- methods: the request is read, the response made ---------------------------------------------------------------------------------- */
typedef struct {
  hr_master_t* m;
  const hr_message_t* request;
  hr_cancel_t* cancel;
  hr_message_builder_t response;
} hr_master_job_t;
HR_MUST_USE hr_status_t hr_master_create_session(hr_master_job_t* j);
HR_MUST_USE hr_status_t hr_master_extend_session(hr_master_job_t* j);
HR_MUST_USE hr_status_t hr_master_close_session(hr_master_job_t* j);
HR_MUST_USE hr_status_t hr_master_list_devices(hr_master_job_t* j);
HR_MUST_USE hr_status_t hr_master_reset(hr_master_job_t* j);
HR_MUST_USE hr_status_t hr_master_run_step(hr_master_job_t* j);
HR_MUST_USE hr_status_t hr_master_partial_run_setup(hr_master_job_t* j);
HR_MUST_USE hr_status_t hr_master_make_callable(hr_master_job_t* j);
HR_MUST_USE hr_status_t hr_master_run_callable(hr_master_job_t* j);
HR_MUST_USE hr_status_t hr_master_release_callable(hr_master_job_t* j);

/* --- what requests name: master_names.c ----------------------------------------------------------------------------------------------- */
/* A request's feeds, fetches and targets by name, and as nodes. Memory of `arena`; feed values are owned. */
typedef struct {
  hr_arena_t arena;
  HR_VEC(hr_str_t) feed_names;
  HR_VEC(hr_str_t) fetch_names;
  HR_VEC(hr_str_t) target_names;
  HR_VEC(hr_tensor_t) feed_values;
  hr_value_t *feeds, *fetches;
  hr_node_t** targets;
} hr_master_names_t;
void hr_master_names_init(hr_master_names_t* n);
void hr_master_names_deinit(hr_master_names_t* n);
/* Appends a name, in the arena. `names`: one of the three. */
HR_MUST_USE hr_status_t hr_master_names_read(hr_master_names_t* n, hr_message_reader_t span, hr_str_t* out);
/* Finds nodes. NOT_FOUND names what is not in the graph. */
HR_MUST_USE hr_status_t hr_master_names_find(hr_master_names_t* n, hr_graph_t* g);
static inline hr_run_t hr_master_names_run(const hr_master_names_t* n) {
  return (hr_run_t){n->feeds, n->feed_values.data, (int32_t)n->feed_names.count, n->fetches, (int32_t)n->fetch_names.count, n->targets,
                    (int32_t)n->target_names.count};
}
#endif
