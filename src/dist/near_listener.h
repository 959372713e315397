/* SPDX-License-Identifier: Apache-2.0 */
/* The serving end of links: hears processes of this user on this machine that would call a port by the loopback interface. */
#ifndef HR_DIST_NEAR_LISTENER_H
#define HR_DIST_NEAR_LISTENER_H
#include "dist/transport.h"

typedef struct hr_near_listener hr_near_listener_t;
/* As the transport's `listen`. UNAVAILABLE: callers come by the port alone. */
HR_MUST_USE hr_status_t hr_near_listener_open(int port, const hr_listener_limits_t* limits,
                                              void (*handle)(void* arg, hr_request_t* request), void* arg, hr_near_listener_t** out);
void hr_near_listener_reply(hr_request_t* request, hr_status_t take_status, hr_message_t* take_response); /* as the transport's */
/* The transport's `stop` in two halves: no more `handle` after the first, which tells all; the second waits until then, cuts, frees. */
void hr_near_listener_refuse(hr_near_listener_t* l);
void hr_near_listener_close(hr_near_listener_t* l, int64_t until_ns);
#endif
