/* SPDX-License-Identifier: Apache-2.0 */
/* The calling end of a link: calls under way, each with a number, ended by its answer, its deadline, its caller, or the link's end. */
#ifndef HR_DIST_NEAR_CHANNEL_H
#define HR_DIST_NEAR_CHANNEL_H
#include "dist/transport.h"

typedef struct hr_near_channel hr_near_channel_t;
/* Where servers of this machine hear those who call its port by the loopback interface: the name, after a NUL, of an abstract socket. Of
 * the address's length in bytes. */
struct sockaddr_un;
size_t hr_near_channel_name(int port, struct sockaddr_un* out);
/* To a server of this user's that serves this port on this machine. NULL: there is none (or it is busy). */
hr_near_channel_t* hr_near_channel_open(int port);
bool hr_near_channel_is_open(hr_near_channel_t* c);
bool hr_near_channel_is_idle(hr_near_channel_t* c); /* every `done` has returned */
/* As the transport's `call`. False: the link was closed already; nothing is taken. */
bool hr_near_channel_call(hr_near_channel_t* c, const char* method, hr_message_t* take_request, int64_t deadline_ms, hr_call_t* user);
void hr_near_channel_cancel(hr_call_t* user);
void hr_near_channel_close(hr_near_channel_t* c); /* as the transport's `disconnect` */
#endif
