/* SPDX-License-Identifier: Apache-2.0 */
/* A call is in the table until somebody ends it; who takes it out, under mu, is the one who ends it. `done` is called on a turn of the
 * loop's only, so whoever cancels may hold locks that it takes.
 *
 * A call's number is its place in the table and, above that, how often the place was used: an answer that comes too late finds nothing,
 * unless 268 million calls have used its place since. */
#include "dist/near_channel.h"
#include <string.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/alloc.h"
#include "base/clock.h"
#include "dist/near_link.h"

enum { PLACE_BITS = 20, PLACES_MOST = 1 << PLACE_BITS, USES_MOST = (1 << 28) - 1, NOWHERE = UINT32_MAX >> 1 };

typedef struct near_call {
  hr_errand_t errand; /* ends it, where its status is `why` */
  hr_call_t* user;
  hr_near_channel_t* channel;
  int64_t deadline_ns;
  uint64_t number;
  bool is_out;        /* of the table; guarded by the channel's mu */
  hr_status_t why;
} near_call_t;

typedef struct {
  near_call_t* call;  /* NULL: free */
  uint32_t uses, next_free;
} place_t;

struct hr_near_channel {
  hr_near_link_t link;
  int port;
  hr_mutex_t mu;      /* guards what follows */
  hr_cond_t ended;
  place_t* places;
  uint32_t count, room, free;
  int64_t in_flight;  /* calls whose `done` has not returned */
  bool is_closed;     /* no more calls */
};

/* --- the table; mu is held ------------------------------------------------------------------------------------------------------------ */

static bool add_place(hr_near_channel_t* c) {
  if (c->count == c->room) {
    const uint32_t room = c->room ? c->room * 2 : 16;
    place_t* more = room > PLACES_MOST ? NULL : hr_alloc_resize(c->places, room * sizeof *more);
    if (!more) return false;
    c->places = more;
    c->room = room;
  }
  c->places[c->count] = (place_t){.next_free = c->free};
  c->free = c->count++;
  return true;
}

static bool put_call(hr_near_channel_t* c, near_call_t* call) {
  if (c->free == NOWHERE && !add_place(c)) return false;
  place_t* p = &c->places[c->free];
  call->number = (uint64_t)(++p->uses & USES_MOST) << PLACE_BITS | c->free;
  c->free = p->next_free;
  p->call = call;
  ++c->in_flight;
  return true;
}

static void take_out(near_call_t* call) {
  hr_near_channel_t* c = call->channel;
  const uint32_t at = (uint32_t)call->number & (PLACES_MOST - 1);
  c->places[at].call = NULL;
  c->places[at].next_free = c->free;
  c->free = at;
  call->is_out = true;
}

static near_call_t* take_numbered(hr_near_channel_t* c, uint64_t number) {
  const uint32_t at = (uint32_t)number & (PLACES_MOST - 1);
  near_call_t* call = at < c->count ? c->places[at].call : NULL;
  if (!call || call->number != number) return NULL;
  take_out(call);
  return call;
}

/* --- ending: on a turn ----------------------------------------------------------------------------------------------------- */

static void end_call(near_call_t* call, hr_status_t take_status, hr_message_t* take_response) {
  hr_near_channel_t* c = call->channel;
  call->user->done(call->user, take_status, take_status ? NULL : take_response);
  hr_free(call);
  hr_mutex_lock(&c->mu);
  --c->in_flight;
  hr_cond_wake_all(&c->ended);
  hr_mutex_unlock(&c->mu);
  hr_near_link_release(&c->link);
}

static void end_posted(hr_errand_t* e) {
  near_call_t* call = (near_call_t*)(void*)((char*)e - offsetof(near_call_t, errand));
  end_call(call, call->why, NULL);
}

/* mu is held, the call is out. */
static void end_soon(near_call_t* call, hr_status_t take_why) {
  call->why = take_why;
  call->errand.run = end_posted;
  hr_near_loop_post(&call->errand);
}

static hr_near_channel_t* channel_of(hr_near_link_t* link) {
  return (hr_near_channel_t*)((char*)link - offsetof(hr_near_channel_t, link));
}

static void answer_came(hr_near_link_t* self, const hr_near_head_t* head, hr_str_t text, hr_message_t* take_message) {
  hr_near_channel_t* c = channel_of(self);
  if (head->kind != HR_NEAR_ANSWER) return;
  hr_mutex_lock(&c->mu);
  near_call_t* call = take_numbered(c, hr_near_number(head));
  hr_mutex_unlock(&c->mu);
  if (!call) return; /* its caller has given up */
  if (head->code) end_call(call, hr_status_create((hr_code_t)head->code, __FILE__, __LINE__, "%.*s", HR_STR_ARG(text)), NULL);
  else end_call(call, NULL, take_message);
}

/* mu is held. No calls from here on, and those there are end soon. */
static void end_all(hr_near_channel_t* c, hr_status_t take_why) {
  c->is_closed = true;
  for (uint32_t i = 0; i < c->count; ++i) {
    near_call_t* call = c->places[i].call;
    if (!call) continue;
    take_out(call);
    end_soon(call, hr_status_retain(take_why));
  }
  hr_status_release(take_why);
}

static void channel_closed(hr_near_link_t* self) {
  hr_near_channel_t* c = channel_of(self);
  hr_mutex_lock(&c->mu);
  end_all(c, HR_ERROR(UNAVAILABLE, "the server at 127.0.0.1:%d has closed the connection", c->port));
  hr_mutex_unlock(&c->mu);
}

/* The server hears that nobody waits any more. */
static void send_cancel(hr_near_channel_t* c, uint64_t number) {
  (void)hr_near_link_send(&c->link, hr_near_head(number, HR_NEAR_CANCEL), HR_STR(""), NULL);
}

static int64_t channel_tick(hr_near_link_t* self, int64_t now_ns) {
  hr_near_channel_t* c = channel_of(self);
  int64_t next = INT64_MAX;
  hr_mutex_lock(&c->mu);
  for (uint32_t i = 0; i < c->count; ++i) {
    near_call_t* call = c->places[i].call;
    if (!call) continue;
    if (call->deadline_ns <= now_ns) {
      take_out(call);
      send_cancel(c, call->number);
      end_soon(call, HR_ERROR(DEADLINE_EXCEEDED, "deadline exceeded: no answer from the server at 127.0.0.1:%d", c->port));
    } else if (call->deadline_ns < next) next = call->deadline_ns;
  }
  hr_mutex_unlock(&c->mu);
  return next;
}

static void destroy_channel(hr_near_link_t* self) {
  hr_near_channel_t* c = channel_of(self);
  hr_near_link_deinit(&c->link);
  hr_free(c->places);
  hr_cond_deinit(&c->ended);
  hr_mutex_deinit(&c->mu);
  hr_free(c);
}

static const hr_near_role_t channel_role = {
  .frame = answer_came, .closed = channel_closed, .tick = channel_tick, .destroy = destroy_channel};

/* --- opening -------------------------------------------------------------------------------------------------------------------------- */

size_t hr_near_channel_name(int port, struct sockaddr_un* out) {
  *out = (struct sockaddr_un){.sun_family = AF_UNIX};
  const int size = snprintf(out->sun_path + 1, sizeof out->sun_path - 1, "headrace-1-%u-%d", (unsigned)geteuid(), port);
  return offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)size;
}

/* A socket whose other end is a process of this user's; -1: none. */
static int connect_near(int port) {
  struct sockaddr_un name;
  const socklen_t size = (socklen_t)hr_near_channel_name(port, &name);
  struct ucred peer;
  socklen_t peer_size = sizeof peer;
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  if (!connect(fd, (const struct sockaddr*)&name, size) && !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_size) &&
      peer.uid == geteuid())
    return fd;
  (void)close(fd);
  return -1;
}

hr_near_channel_t* hr_near_channel_open(int port) {
  const int fd = connect_near(port);
  if (fd < 0) return NULL;
  hr_status_t status = hr_near_loop_start(false);
  hr_near_channel_t* c = status ? NULL : hr_alloc_zero(sizeof *c);
  hr_status_release(status);
  if (!c) {
    (void)close(fd);
    return NULL;
  }
  c->port = port;
  c->free = NOWHERE;
  hr_mutex_init(&c->mu);
  hr_cond_init(&c->ended);
  status = hr_near_link_init(&c->link, fd, &channel_role, INT64_MAX);
  if (!status) status = hr_near_link_begin(&c->link);
  if (!status) return c;
  hr_status_release(status);
  hr_near_link_release(&c->link);
  return NULL;
}

bool hr_near_channel_is_open(hr_near_channel_t* c) { return !hr_near_loop_is_lost() && !hr_near_link_is_broken(&c->link); }

bool hr_near_channel_is_idle(hr_near_channel_t* c) {
  hr_mutex_lock(&c->mu);
  const bool is_idle = c->in_flight == 0;
  hr_mutex_unlock(&c->mu);
  return is_idle;
}

void hr_near_channel_close(hr_near_channel_t* c) {
  const bool waits = !hr_near_loop_has_turn() && !hr_near_loop_is_lost();
  hr_mutex_lock(&c->mu);
  end_all(c, HR_ERROR(CANCELLED, "the channel was closed"));
  while (waits && c->in_flight) hr_cond_wait(&c->ended, &c->mu);
  hr_mutex_unlock(&c->mu);
  hr_near_link_cut(&c->link);
  hr_near_link_release(&c->link);
}

/* --- calls ---------------------------------------------------------------------------------------------------------------------------- */

/* It may end from here on. */
static bool begin_call(hr_near_channel_t* c, near_call_t* call, uint64_t* out_number) {
  hr_mutex_lock(&c->mu);
  const bool begun = !c->is_closed && !hr_near_loop_is_lost() && put_call(c, call);
  if (begun) hr_near_link_retain(&c->link);
  *out_number = call->number;
  hr_mutex_unlock(&c->mu);
  return begun;
}

bool hr_near_channel_call(hr_near_channel_t* c, const char* method, hr_message_t* take_request, int64_t deadline_ms, hr_call_t* user) {
  near_call_t* call = hr_alloc(sizeof *call);
  if (!call) return false;
  const int64_t deadline_ns = deadline_ms > 0 ? hr_clock_now_ns() + deadline_ms * 1000000 : INT64_MAX;
  *call = (near_call_t){.user = user, .channel = c, .deadline_ns = deadline_ns};
  user->state = call;
  uint64_t number;
  hr_near_link_retain(&c->link); /* the caller's may go with the call */
  const bool begun = begin_call(c, call, &number);
  if (begun) {
    /* broken meanwhile: `closed` ends it */
    (void)hr_near_link_send(&c->link, hr_near_head(number, HR_NEAR_CALL), hr_str(method), take_request);
    if (deadline_ns != INT64_MAX) hr_near_loop_wake_by(deadline_ns);
  } else hr_free(call);
  hr_near_link_release(&c->link);
  return begun;
}

void hr_near_channel_cancel(hr_call_t* user) {
  near_call_t* call = user->state;
  hr_near_channel_t* c = call->channel;
  hr_mutex_lock(&c->mu);
  if (!call->is_out) {
    take_out(call);
    send_cancel(c, call->number);
    end_soon(call, HR_ERROR(CANCELLED, "cancelled by its caller"));
  }
  hr_mutex_unlock(&c->mu);
}
