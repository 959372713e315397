/* SPDX-License-Identifier: Apache-2.0 */
/* A request is its caller's (peer) until it is answered; the list is the peer's. `handle` and `cancelled` are called on turns of the
 * loop only, one after the other, so a cancellation never meets a handler that has not returned.
 *
 * A peer that has calls under way and is not heard of is asked, twice, and cut when it does not answer: a frozen process holds nothing
 * here. Time counts from when this process asked, so one that was frozen itself does not take the others' silence for theirs. */
#include "dist/near_listener.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/alloc.h"
#include "base/clock.h"
#include "dist/near_channel.h"
#include "dist/near_link.h"

enum { BACKLOG = 128, PEERS_MOST = 4096, QUIET_MS = 5000, ASK_MS = 2000, ASKS = 2, AGAIN_MS = 200 };
#define NS_OF_MS(ms) ((ms) * INT64_C(1000000))

typedef struct near_peer near_peer_t;
typedef struct near_request {
  hr_request_t base;
  near_peer_t* peer;      /* a reference to its link */
  uint64_t number;
  bool is_told, is_cancelling, has_replied; /* guarded by the peer's mu, like what follows */
  pthread_t canceller;
  struct near_request *next, *previous;
  char method[];
} near_request_t;

struct near_peer {
  hr_near_link_t link;
  hr_near_listener_t* listener; /* a reference */
  char name[32];
  bool ticks;             /* the loop's, like below: a tick will come */
  int asks;               /* pings since it was last heard of */
  int64_t asked_ns;
  hr_mutex_t mu;
  hr_cond_t changed;
  near_request_t* requests; /* guarded by mu */
  near_peer_t *next, *previous; /* the listener's, guarded by its mu */
};

struct hr_near_listener {
  hr_near_source_t source;
  _Atomic int refs;
  int fd;
  hr_listener_limits_t limits;
  void (*handle)(void* arg, hr_request_t* request);
  void* arg;
  hr_mutex_t mu;          /* guards what follows; inside of a peer's */
  hr_cond_t changed;
  near_peer_t* peers;
  int32_t peer_count, callers; /* connections; those with requests */
  int64_t unanswered;
  bool is_refusing;
};

static void release_listener(hr_near_listener_t* l) {
  if (atomic_fetch_sub_explicit(&l->refs, 1, memory_order_acq_rel) != 1) return;
  if (l->fd >= 0) (void)close(l->fd);
  hr_cond_deinit(&l->changed);
  hr_mutex_deinit(&l->mu);
  hr_free(l);
}

/* --- requests ------------------------------------------------------------------------------------------------------------------------- */

/* mu of the peer is held. False: too many callers at a time. */
static bool link_request(near_request_t* r) {
  near_peer_t* p = r->peer;
  hr_near_listener_t* l = p->listener;
  hr_mutex_lock(&l->mu);
  const bool fits = p->requests || l->limits.max_connections <= 0 || l->callers < l->limits.max_connections;
  if (fits) {
    if (!p->requests) ++l->callers;
    ++l->unanswered;
    r->next = p->requests;
    if (r->next) r->next->previous = r;
    p->requests = r;
  }
  hr_mutex_unlock(&l->mu);
  return fits;
}

static void unlink_request(near_request_t* r) {
  near_peer_t* p = r->peer;
  hr_near_listener_t* l = p->listener;
  if (r->next) r->next->previous = r->previous;
  if (r->previous) r->previous->next = r->next;
  else p->requests = r->next;
  hr_mutex_lock(&l->mu);
  if (!p->requests) --l->callers;
  if (--l->unanswered == 0) hr_cond_wake_all(&l->changed);
  hr_mutex_unlock(&l->mu);
}

static void send_answer(near_peer_t* p, uint64_t number, hr_status_t take_status, hr_message_t* take_response) {
  hr_near_head_t head = hr_near_head(number, HR_NEAR_ANSWER);
  head.code = (uint8_t)hr_status_code(take_status);
  if (take_status && take_response) hr_message_deinit(take_response);
  const hr_str_t text = take_status ? hr_str(hr_status_message(take_status)) : HR_STR("");
  (void)hr_near_link_send(&p->link, head, text, take_status ? NULL : take_response); /* broken: to nobody */
  hr_status_release(take_status);
}

static void free_request(near_request_t* r) {
  near_peer_t* p = r->peer;
  hr_message_deinit(&r->base.message);
  hr_free(r);
  hr_near_link_release(&p->link);
}

/* The answer is on its way before the listener may end. A `cancelled` that replies leaves the request to who called it. */
void hr_near_listener_reply(hr_request_t* request, hr_status_t take_status, hr_message_t* take_response) {
  near_request_t* r = (near_request_t*)request;
  near_peer_t* p = r->peer;
  hr_mutex_lock(&p->mu);
  while (r->is_cancelling && !pthread_equal(r->canceller, pthread_self())) hr_cond_wait(&p->changed, &p->mu);
  r->is_told = true; /* from here on nobody hears of a cancellation: who replies may be gone when it comes */
  hr_mutex_unlock(&p->mu);
  send_answer(p, r->number, take_status, take_response);
  hr_mutex_lock(&p->mu);
  unlink_request(r);
  r->has_replied = true;
  const bool is_free = !r->is_cancelling;
  hr_mutex_unlock(&p->mu);
  if (is_free) free_request(r);
}

/* On a turn; mu of the peer is held, and given up meanwhile. */
static void tell_cancelled(near_request_t* r) {
  near_peer_t* p = r->peer;
  void (*cancelled)(hr_request_t*) = r->base.cancelled;
  r->is_told = true;
  if (!cancelled) return;
  r->base.cancelled = NULL;
  r->is_cancelling = true;
  r->canceller = pthread_self();
  hr_mutex_unlock(&p->mu);
  cancelled(&r->base);
  hr_mutex_lock(&p->mu);
  r->is_cancelling = false;
  hr_cond_wake_all(&p->changed);
  if (!r->has_replied) return;
  hr_mutex_unlock(&p->mu);
  free_request(r);
  hr_mutex_lock(&p->mu);
}

static void tell_peer(near_peer_t* p) {
  hr_mutex_lock(&p->mu);
  for (;;) { /* the list changes meanwhile */
    near_request_t* r = p->requests;
    while (r && r->is_told) r = r->next;
    if (!r) break;
    tell_cancelled(r);
  }
  hr_mutex_unlock(&p->mu);
}

/* --- frames: on a turn ----------------------------------------------------------------------------------------------------- */

static near_peer_t* peer_of(hr_near_link_t* link) { return (near_peer_t*)((char*)link - offsetof(near_peer_t, link)); }

static void keep_ticking(near_peer_t* p) {
  if (p->ticks) return;
  p->ticks = true;
  hr_near_loop_wake_by(p->link.heard_ns + NS_OF_MS(QUIET_MS));
}

static bool is_refusing(hr_near_listener_t* l) {
  hr_mutex_lock(&l->mu);
  const bool is = l->is_refusing;
  hr_mutex_unlock(&l->mu);
  return is;
}

static void call_came(near_peer_t* p, const hr_near_head_t* head, hr_str_t method, hr_message_t* take_message) {
  hr_near_listener_t* l = p->listener;
  near_request_t* r = hr_alloc_zero(sizeof *r + method.size + 1);
  if (!r) {
    send_answer(p, hr_near_number(head), hr_status_out_of_memory(), NULL);
    return;
  }
  if (method.size) memcpy(r->method, method.data, method.size);
  r->base = (hr_request_t){.method = {r->method, method.size}, .peer = hr_str(p->name), .message = *take_message, .via = p};
  *take_message = (hr_message_t){0};
  r->peer = p;
  r->number = hr_near_number(head);
  hr_near_link_retain(&p->link);
  hr_mutex_lock(&p->mu);
  const bool fits = link_request(r);
  hr_mutex_unlock(&p->mu);
  if (!fits) {
    const int32_t most = l->limits.max_connections;
    send_answer(p, r->number, HR_ERROR(RESOURCE_EXHAUSTED, "too many callers at a time, the limit is %d", most), NULL);
    free_request(r);
  } else if (is_refusing(l)) {
    hr_near_listener_reply(&r->base, HR_ERROR(UNAVAILABLE, "the server has stopped"), NULL);
  } else {
    keep_ticking(p);
    l->handle(l->arg, &r->base);
  }
}

static void cancel_came(near_peer_t* p, uint64_t number) {
  hr_mutex_lock(&p->mu);
  near_request_t* r = p->requests;
  while (r && r->number != number) r = r->next;
  if (r && !r->is_told) tell_cancelled(r);
  hr_mutex_unlock(&p->mu);
}

static void frame_came(hr_near_link_t* self, const hr_near_head_t* head, hr_str_t text, hr_message_t* take_message) {
  near_peer_t* p = peer_of(self);
  if (head->kind == HR_NEAR_CALL) call_came(p, head, text, take_message);
  else if (head->kind == HR_NEAR_CANCEL) cancel_came(p, hr_near_number(head));
}

static void call_refused(hr_near_link_t* self, const hr_near_head_t* head) {
  if (head->kind != HR_NEAR_CALL) return;
  send_answer(peer_of(self), hr_near_number(head),
              HR_ERROR(RESOURCE_EXHAUSTED, "a message of %llu bytes, the limit is %lld", (unsigned long long)head->bytes,
                       (long long)self->most_bytes),
              NULL);
}

/* --- peers ---------------------------------------------------------------------------------------------------------------------------- */

static void peer_closed(hr_near_link_t* self) {
  near_peer_t* p = peer_of(self);
  hr_near_listener_t* l = p->listener;
  hr_mutex_lock(&l->mu);
  if (p->next) p->next->previous = p->previous;
  if (p->previous) p->previous->next = p->next;
  else l->peers = p->next;
  --l->peer_count;
  hr_mutex_unlock(&l->mu);
  tell_peer(p);
}

static int64_t peer_tick(hr_near_link_t* self, int64_t now_ns) {
  near_peer_t* p = peer_of(self);
  hr_mutex_lock(&p->mu);
  p->ticks = p->requests != NULL;
  hr_mutex_unlock(&p->mu);
  if (!p->ticks) return INT64_MAX;
  if (self->heard_ns > p->asked_ns) p->asks = 0;
  if (now_ns - self->heard_ns < NS_OF_MS(QUIET_MS)) return self->heard_ns + NS_OF_MS(QUIET_MS);
  if (p->asks && now_ns - p->asked_ns < NS_OF_MS(ASK_MS)) return p->asked_ns + NS_OF_MS(ASK_MS);
  if (p->asks == ASKS) hr_near_link_cut(self);
  else (void)hr_near_link_send(self, (hr_near_head_t){.kind = HR_NEAR_PING}, HR_STR(""), NULL);
  ++p->asks;
  p->asked_ns = now_ns;
  return now_ns + NS_OF_MS(ASK_MS);
}

static void destroy_peer(hr_near_link_t* self) {
  near_peer_t* p = peer_of(self);
  hr_near_link_deinit(&p->link);
  if (p->listener) release_listener(p->listener);
  hr_cond_deinit(&p->changed);
  hr_mutex_deinit(&p->mu);
  hr_free(p);
}

static const hr_near_role_t peer_role = {frame_came, call_refused, peer_closed, peer_tick, destroy_peer};

/* mu is held. */
static bool join_listener(hr_near_listener_t* l, near_peer_t* p) {
  if (l->is_refusing || l->peer_count >= PEERS_MOST) return false;
  p->listener = l;
  atomic_fetch_add_explicit(&l->refs, 1, memory_order_relaxed);
  p->next = l->peers;
  if (p->next) p->next->previous = p;
  l->peers = p;
  ++l->peer_count;
  return true;
}

static void accept_peer(hr_near_listener_t* l, int take_fd) {
  struct ucred who;
  socklen_t size = sizeof who;
  const bool is_own = !getsockopt(take_fd, SOL_SOCKET, SO_PEERCRED, &who, &size) && who.uid == geteuid();
  near_peer_t* p = is_own ? hr_alloc_zero(sizeof *p) : NULL;
  if (!p) {
    (void)close(take_fd);
    return;
  }
  hr_mutex_init(&p->mu);
  hr_cond_init(&p->changed);
  (void)snprintf(p->name, sizeof p->name, "near:%d", (int)who.pid);
  const int64_t most = l->limits.max_message_bytes > 0 ? l->limits.max_message_bytes : INT32_MAX;
  hr_status_t status = hr_near_link_init(&p->link, take_fd, &peer_role, most);
  p->link.heard_ns = hr_clock_now_ns();
  hr_mutex_lock(&l->mu);
  const bool joins = !status && join_listener(l, p);
  hr_mutex_unlock(&l->mu);
  if (joins && (status = hr_near_link_begin(&p->link))) peer_closed(&p->link);
  hr_status_release(status); /* it finds the connection closed, and calls the port */
  hr_near_link_release(&p->link);
}

/* Out of descriptors: those who wait are let in when there are some again. */
static int64_t accept_peers(hr_near_source_t* self, int64_t now_ns) {
  hr_near_listener_t* l = (hr_near_listener_t*)((char*)self - offsetof(hr_near_listener_t, source));
  for (;;) {
    const int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) accept_peer(l, fd);
    else if (errno == EAGAIN || errno == EWOULDBLOCK) return INT64_MAX;
    else if (errno != EINTR && errno != ECONNABORTED) return now_ns + NS_OF_MS(AGAIN_MS);
  }
}

static void listener_ready(hr_near_source_t* self, uint32_t events) {
  (void)events;
  const int64_t again = accept_peers(self, hr_clock_now_ns());
  if (again != INT64_MAX) hr_near_loop_wake_by(again);
}

/* --- life ----------------------------------------------------------------------------------------------------------------------------- */

static hr_status_t bind_listener(hr_near_listener_t* l, int port) {
  struct sockaddr_un name;
  const socklen_t size = (socklen_t)hr_near_channel_name(port, &name);
  l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (l->fd < 0 || bind(l->fd, (const struct sockaddr*)&name, size) || listen(l->fd, BACKLOG))
    return HR_ERROR(UNAVAILABLE, "no socket for tasks of this machine beside port %d: %s", port, strerrordesc_np(errno));
  return hr_near_loop_add(&l->source, l->fd);
}

hr_status_t hr_near_listener_open(int port, const hr_listener_limits_t* limits, void (*handle)(void* arg, hr_request_t* request),
                                  void* arg, hr_near_listener_t** out) {
  static const hr_listener_limits_t no_limits;
  HR_TRY(hr_near_loop_start(true));
  hr_near_listener_t* l = hr_alloc_zero(sizeof *l);
  if (!l) return hr_status_out_of_memory();
  atomic_init(&l->refs, 1);
  l->source = (hr_near_source_t){.ready = listener_ready, .tick = accept_peers};
  l->limits = limits ? *limits : no_limits;
  l->handle = handle;
  l->arg = arg;
  hr_mutex_init(&l->mu);
  hr_cond_init(&l->changed);
  hr_status_t status = bind_listener(l, port);
  if (status) release_listener(l);
  else *out = l;
  return status;
}

typedef struct { /* something the loop is to do, and its end */
  hr_errand_t errand;
  hr_near_listener_t* listener;
  hr_mutex_t mu;
  hr_cond_t ended;
  bool is_done;
} loop_job_t;

static void run_on_loop(hr_near_listener_t* l, void (*run)(hr_errand_t* e)) {
  loop_job_t job = {.errand = {.run = run}, .listener = l};
  if (hr_near_loop_is_lost()) return;
  hr_mutex_init(&job.mu);
  hr_cond_init(&job.ended);
  hr_near_loop_post(&job.errand);
  hr_mutex_lock(&job.mu);
  while (!job.is_done) hr_cond_wait(&job.ended, &job.mu);
  hr_mutex_unlock(&job.mu);
  hr_cond_deinit(&job.ended);
  hr_mutex_deinit(&job.mu);
}

static void end_job(loop_job_t* job) {
  hr_mutex_lock(&job->mu);
  job->is_done = true;
  hr_cond_wake_all(&job->ended);
  hr_mutex_unlock(&job->mu);
}

/* Peers leave on turns only, so the list stays together meanwhile. */
static void refuse_all(hr_errand_t* e) {
  loop_job_t* job = (loop_job_t*)(void*)((char*)e - offsetof(loop_job_t, errand));
  hr_near_listener_t* l = job->listener;
  hr_near_loop_remove(&l->source, l->fd);
  (void)close(l->fd);
  l->fd = -1;
  hr_mutex_lock(&l->mu);
  l->is_refusing = true;
  near_peer_t* p = l->peers;
  hr_mutex_unlock(&l->mu);
  for (; p; p = p->next) tell_peer(p);
  end_job(job);
}

static void cut_all(hr_errand_t* e) {
  loop_job_t* job = (loop_job_t*)(void*)((char*)e - offsetof(loop_job_t, errand));
  hr_mutex_lock(&job->listener->mu);
  for (near_peer_t* p = job->listener->peers; p; p = p->next) hr_near_link_cut(&p->link);
  hr_mutex_unlock(&job->listener->mu);
  end_job(job);
}

void hr_near_listener_refuse(hr_near_listener_t* l) { run_on_loop(l, refuse_all); }

void hr_near_listener_close(hr_near_listener_t* l, int64_t until_ns) {
  hr_mutex_lock(&l->mu);
  while (l->unanswered && hr_cond_wait_until(&l->changed, &l->mu, until_ns)) continue;
  hr_mutex_unlock(&l->mu);
  run_on_loop(l, cut_all);
  release_listener(l);
}
