/* SPDX-License-Identifier: Apache-2.0 */
/* What a session stands on. Everything above (signatures, plan cache, passes, placement) is one for all: a local session runs its parts in
 * this process; a master's session (dist/) registers them with workers. And, at another seam, a session whose master is elsewhere: a
 * factory claims its target and answers in its place. */
#ifndef HR_SESSION_BACKEND_H
#define HR_SESSION_BACKEND_H
#include "rt/device.h"
#include "session/runner.h"
#include "session/session.h"

/* Given to hr_session_create through its options; outlives the session. NULL there: local. */
typedef struct hr_session_backend {
  hr_device_set_t* (*devices)(struct hr_session_backend* b); /* borrowed; the same at each call */
  /* The program is placed; the runner partitions it as it needs. Takes the program over, also on failure. */
  hr_status_t (*create_runner)(struct hr_session_backend* b, hr_program_t* take_program, hr_runner_t** out);
  void (*closed)(struct hr_session_backend* b); /* the session has no step left and its runners are gone */
} hr_session_backend_t;

/* A session whose master is elsewhere: the functions of session.h call these when hr_session_t has one. Thread-safe. */
typedef struct hr_remote_session hr_remote_session_t;
typedef struct {
  /* Ends at the latest when options->cancel does or the session is closed; run->feed_values are borrowed for the call. */
  hr_status_t (*run)(hr_remote_session_t* r, hr_graph_t* graph, const hr_run_options_t* options, const hr_run_t* run,
                     hr_tensor_t* out_fetches, char** out_metadata, size_t* out_metadata_size);
  hr_status_t (*partial_setup)(hr_remote_session_t* r, hr_graph_t* graph, const hr_run_t* signature, char** out_handle); /* hr_free */
  hr_status_t (*partial_step)(hr_remote_session_t* r, const char* handle, const hr_run_t* part, hr_tensor_t* out_fetches);
  hr_status_t (*list_devices)(hr_remote_session_t* r, hr_device_set_t** out);
  hr_status_t (*close)(hr_remote_session_t* r); /* once; ends the calls that are inside */
  void (*destroy)(hr_remote_session_t* r);
} hr_remote_session_table_t;
struct hr_remote_session {
  const hr_remote_session_table_t* table;
};

/* Session factories by target; the list is in manifest/. */
typedef struct {
  const char* prefix; /* "grpc://" */
  /* config: the ConfigProto's bytes */
  hr_status_t (*create)(const hr_session_options_t* options, hr_str_t config, hr_remote_session_t** out);
  hr_status_t (*reset)(hr_str_t target, const hr_str_t* containers, int count); /* TF_Reset, Session.reset */
} hr_session_factory_t;
extern const hr_session_factory_t* const hr_session_factories[]; /* NULL-terminated */
#endif
