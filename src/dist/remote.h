/* SPDX-License-Identifier: Apache-2.0 */
/* The client's side: sessions whose target is "grpc://host:port". What goes over the wire is what TensorFlow's client sends, so the master
 * may be of either make. The graph goes with the first step (CreateSession), what is added later with the next (ExtendSession). */
#ifndef HR_DIST_REMOTE_H
#define HR_DIST_REMOTE_H
#include "session/backend.h"

extern const hr_session_factory_t hr_remote_grpc;
extern const hr_session_factory_t hr_remote_inproc; /* "inproc://": servers within the process, for tests */
#endif
