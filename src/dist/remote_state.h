/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a remote session, shared by the files remote_*.c. */
#ifndef HR_DIST_REMOTE_STATE_H
#define HR_DIST_REMOTE_STATE_H
#include "dist/message_builder.h"
#include "dist/message_reader.h"
#include "dist/remote.h"
#include "dist/remote_call.h"

typedef struct {
  hr_remote_session_t base;
  hr_remote_peer_t peer;
  char *target, *config;      /* own bytes */
  size_t config_size;
  int64_t timeout_ms;         /* operation_timeout_in_ms */
  hr_cancel_t closing;        /* parent of every call's token */
  hr_mutex_t mu;              /* guards what follows; held while the master's graph is brought up to date */
  char* handle;               /* NULL: no session yet */
  int64_t sent, version;      /* nodes and functions sent; the graph's version there */
  int64_t sent_functions;
} hr_remote_t;

/* remote_graph.c: the master has a session with all of `graph` (NULL: with what it has). */
HR_MUST_USE hr_status_t hr_remote_extend(hr_remote_t* r, hr_graph_t* graph, hr_cancel_t* cancel);

/* A call's token: ends with the session's closing and with the caller's. */
typedef struct {
  hr_cancel_t own;
  hr_cancel_link_t closing, caller;
} hr_remote_token_t;
void hr_remote_token_init(hr_remote_token_t* t, hr_remote_t* r, hr_cancel_t* caller);
void hr_remote_token_deinit(hr_remote_token_t* t);

/* remote_step.c */
HR_MUST_USE hr_status_t hr_remote_run(hr_remote_session_t* base, hr_graph_t* graph, const hr_run_options_t* options, const hr_run_t* run,
                                      hr_tensor_t* out_fetches, char** out_metadata, size_t* out_metadata_size);
HR_MUST_USE hr_status_t hr_remote_partial_setup(hr_remote_session_t* base, hr_graph_t* graph, const hr_run_t* signature, char** out_handle);
HR_MUST_USE hr_status_t hr_remote_partial_step(hr_remote_session_t* base, const char* handle, const hr_run_t* part,
                                               hr_tensor_t* out_fetches);
#endif
