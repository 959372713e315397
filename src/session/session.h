/* SPDX-License-Identifier: Apache-2.0 */
/* A session: runs parts of a graph, here or, with a target that a factory claims (session/backend.h), where its master is.
 *
 * Thread-safe: any number of threads may run, extend the graph, close. The session keeps its graph alive.
 * A run's road: signature -> cached plan, else pipeline.h (copy what is needed, optimise) -> runner.h. */
#ifndef HR_SESSION_SESSION_H
#define HR_SESSION_SESSION_H
#include "graph/graph.h"
#include "rt/device.h"
#include "rt/cancel.h"
#include "rt/resource.h"

typedef struct hr_session hr_session_t;

typedef struct {                    /* decoded ConfigProto (the fields that mean something here) */
  hr_str_t target;                  /* "" : local */
  int32_t intra_op_threads;         /* 0: the process's */
  int32_t inter_op_threads;         /* nodes of a step that run at once where that pays; 1 and below 0: none; 0: as many as intra */
  int64_t timeout_ms;               /* operation_timeout_in_ms; 0: none */
  int32_t opt_level;                /* 0: L1 (default), -1: L0 */
  bool constant_folding, common_subexpressions, fusion; /* switches; all true by default */
  int64_t max_folded_bytes;         /* 10 MiB */
  bool allow_soft_placement;        /* a node that asks for a device that is not there runs on the CPU */
  bool log_device_placement;        /* a line on stdout for each node that is placed */
  hr_resources_t* resources;        /* share another session's containers; NULL: its own */
  hr_str_t config;                  /* the ConfigProto's bytes, borrowed for the creation: what a remote session sends on */
  int32_t cpu_devices;              /* device_count["CPU"]; 0: one */
  struct hr_session_backend* backend; /* session/backend.h: what the session stands on; NULL: this process's devices */
} hr_session_options_t;
void hr_session_options_init(hr_session_options_t* o);
/* Serialized ConfigProto over what is there; INVALID_ARGUMENT for bytes that do not parse. */
HR_MUST_USE hr_status_t hr_session_options_decode(hr_session_options_t* o, const void* data, size_t size);

HR_MUST_USE hr_status_t hr_session_create(hr_graph_t* graph, const hr_session_options_t* options, hr_session_t** out);
/* Cancels running steps, waits for them, frees plans and resources. Running a closed session is CANCELLED. */
HR_MUST_USE hr_status_t hr_session_close(hr_session_t* s);
void hr_session_destroy(hr_session_t* s);
hr_graph_t* hr_session_graph(hr_session_t* s);
HR_MUST_USE hr_status_t hr_session_list_devices(hr_session_t* s, hr_device_set_t** out); /* a reference of the caller's */
/* TF_Reset where the target's master is elsewhere; *out_done says whether a session factory claims the target. */
HR_MUST_USE hr_status_t hr_session_reset(hr_str_t target, const hr_str_t* containers, int count, bool* out_done);
hr_resources_t* hr_session_share_resources(hr_session_t* s); /* a reference of the caller's; NULL when s is NULL or closed */

typedef struct {                    /* decoded RunOptions, and what the caller wants back */
  int64_t timeout_ms;               /* 0: the session's */
  int32_t trace_level;              /* 0: none */
  bool output_partition_graphs;
  hr_cancel_t* cancel;              /* a caller's own token (cancel one step from another thread); NULL */
} hr_run_options_t;
HR_MUST_USE hr_status_t hr_run_options_decode(hr_run_options_t* o, const void* data, size_t size);

/* One step. Feeds are borrowed for the call; fetches are the caller's to release. Duplicates among fetches are fine.
 * out_metadata: serialized RunMetadata (free with hr_free) when not NULL. */
typedef struct {
  const hr_value_t* feeds;
  const hr_tensor_t* feed_values;
  int32_t feed_count;
  const hr_value_t* fetches;
  int32_t fetch_count;
  hr_node_t* const* targets;
  int32_t target_count;
} hr_run_t;
HR_MUST_USE hr_status_t hr_session_run(hr_session_t* s, const hr_run_options_t* options, const hr_run_t* run, hr_tensor_t* out_fetches,
                                       char** out_metadata, size_t* out_metadata_size);

/* A prepared signature: looks nothing up and hashes nothing at each run. */
typedef struct hr_callable hr_callable_t;
HR_MUST_USE hr_status_t hr_session_make_callable(hr_session_t* s, const hr_run_t* signature, hr_callable_t** out); /* feed_values ignored */
HR_MUST_USE hr_status_t hr_callable_run(hr_callable_t* c, const hr_run_options_t* options, const hr_tensor_t* feed_values,
                                        hr_tensor_t* out_fetches, char** out_metadata, size_t* out_metadata_size);
void hr_callable_destroy(hr_callable_t* c);

/* Incremental runs (TF_SessionPRunSetup/TF_SessionPRun). */
typedef struct hr_partial_run hr_partial_run_t;
HR_MUST_USE hr_status_t hr_session_partial_setup(hr_session_t* s, const hr_run_t* signature, hr_partial_run_t** out);
HR_MUST_USE hr_status_t hr_partial_run_step(hr_partial_run_t* p, const hr_run_t* part, hr_tensor_t* out_fetches);
void hr_partial_run_destroy(hr_partial_run_t* p);
#endif
