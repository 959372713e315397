/* SPDX-License-Identifier: Apache-2.0 */
/* One call from a client to a master, waited for: by function when the master is in this process, else over a channel. A server that is not
 * there yet is waited for where a session is made; where there was one, its server has died. UNAVAILABLE is tried again, up to ten times
 * with growing pauses, as TensorFlow's client does; everything ends at the deadline and with the caller's cancellation. */
#ifndef HR_DIST_REMOTE_CALL_H
#define HR_DIST_REMOTE_CALL_H
#include "dist/master.h"

typedef struct {
  const hr_transport_t* transport;
  hr_channel_t* channel;
  hr_str_t address;
  bool shortcut;                 /* a master of this process is called by function */
} hr_remote_peer_t;

typedef struct {
  hr_master_method_t method;
  hr_status_t (*make)(void* arg, hr_message_t* out); /* the request, anew for each attempt */
  void* arg;
  int64_t deadline_ms;           /* of all attempts together; 0: none */
  bool once;                     /* no second attempt */
  hr_cancel_t* cancel;           /* NULL: none */
} hr_remote_call_t;
HR_MUST_USE hr_status_t hr_remote_call_run(const hr_remote_peer_t* peer, const hr_remote_call_t* call, hr_message_t* out_response);
#endif
