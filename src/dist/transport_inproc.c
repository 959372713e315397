/* SPDX-License-Identifier: Apache-2.0 */
/* Calls within the process: two threads serve one queue of calls with work to do. One lock for everything: this is for tests.
 *
 * A call has two halves that end on their own. The client's: waiting for a listener or an answer -> ended (`done` is queued). The server's:
 * handled -> replied; a client that ends first makes it `cancelled`. It is freed when both halves are over. */
#include "dist/transport_inproc.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/sync.h"
#include "base/thread.h"

enum { WORK_HANDLE = 1, WORK_DONE = 2, WORK_CANCEL = 4 };

typedef struct inproc_call {
  hr_request_t request;
  hr_call_t* user;
  hr_channel_t* channel;
  hr_listener_t* listener;       /* NULL: waits for one, or has replied */
  char* method;
  int64_t deadline_ns;
  hr_status_t status;
  hr_message_t response;
  int refs;                      /* the client's half, the server's half, the queue */
  int work;                      /* WORK_ bits to be done */
  bool is_queued, has_ended, is_handling, has_replied;
  pthread_t canceller;
  bool is_cancelling;
  struct inproc_call *next_work, *next, *previous; /* next, previous: all calls whose client waits */
} inproc_call_t;

struct hr_channel {
  char* address;
  hr_listener_t* connected;      /* counted there; only compared */
  int64_t in_flight;             /* calls whose `done` has not returned */
  bool is_gone;                  /* the last of them frees it */
  hr_channel_t *next, *previous;
};
struct hr_listener {
  char* address;
  void (*handle)(void* arg, hr_request_t* request);
  void* arg;
  hr_listener_limits_t limits;
  int32_t connections;
  int64_t unanswered, handling;
  bool is_stopping, is_stopped;  /* stopped: the last answer frees it */
  hr_listener_t *next, *previous;
};

static hr_mutex_t mu = HR_MUTEX_INIT; /* guards all above and below */
static hr_cond_t work_cond, change_cond;
static inproc_call_t *work_first, *work_last, *calls;
static hr_listener_t* listeners;
static hr_channel_t* channels;
static int last_port = 20000;
static _Thread_local bool is_transport_thread;
static hr_once_t start_once = HR_ONCE_INIT;
static hr_status_t start_failure;

#define LINK(list, item) \
  ((item)->next = (list), (item)->previous = NULL, (void)((list) && ((list)->previous = (item))), (void)((list) = (item)))
#define UNLINK(list, item)                                      \
  do {                                                          \
    if ((item)->next) (item)->next->previous = (item)->previous; \
    if ((item)->previous) (item)->previous->next = (item)->next; \
    else (list) = (item)->next;                                 \
  } while (0)

/* --- halves; mu is held --------------------------------------------------------------------------------------------------------------- */

static void call_unref(inproc_call_t* c) {
  if (--c->refs) return;
  hr_message_deinit(&c->request.message);
  hr_message_deinit(&c->response);
  hr_status_release(c->status);
  hr_free(c->method);
  hr_free(c);
}

static void push_work(inproc_call_t* c, int work) {
  c->work |= work;
  if (c->is_queued) return;
  c->is_queued = true;
  ++c->refs;
  c->next_work = NULL;
  if (work_last) work_last->next_work = c;
  else work_first = c;
  work_last = c;
  hr_cond_wake_one(&work_cond);
}

static void end_client(inproc_call_t* c, hr_status_t take_status, hr_message_t* take_response) {
  if (c->has_ended) {
    hr_status_release(take_status);
    if (take_response) hr_message_deinit(take_response);
    return;
  }
  c->has_ended = true;
  UNLINK(calls, c);
  c->status = take_status;
  if (take_response) {
    if (!take_status) c->response = *take_response;
    else hr_message_deinit(take_response);
    *take_response = (hr_message_t){0};
  }
  push_work(c, WORK_DONE);
  if (c->listener && !c->has_replied) push_work(c, WORK_CANCEL);
}

static hr_listener_t* find_listener(const char* address) {
  for (hr_listener_t* l = listeners; l; l = l->next)
    if (!strcmp(l->address, address)) return l;
  return NULL;
}

static void channel_free(hr_channel_t* c) {
  UNLINK(channels, c);
  hr_free(c->address);
  hr_free(c);
}

static void listener_free(hr_listener_t* l) {
  hr_free(l->address);
  hr_free(l);
}

static void end_server(inproc_call_t* c, hr_status_t take_status, hr_message_t* take_response) {
  hr_listener_t* l = c->listener;
  c->has_replied = true;
  c->listener = NULL;
  end_client(c, take_status, take_response);
  if (--l->unanswered == 0 && l->is_stopped) listener_free(l);
  hr_cond_wake_all(&change_cond);
  call_unref(c);
}

static hr_status_t check_limits(hr_listener_t* l, inproc_call_t* c) {
  const size_t size = hr_message_size(&c->request.message);
  if (l->limits.max_message_bytes && size > (size_t)l->limits.max_message_bytes)
    return HR_ERROR(RESOURCE_EXHAUSTED, "a message of %zu bytes, the limit is %lld", size, (long long)l->limits.max_message_bytes);
  if (c->channel->connected == l) return NULL;
  if (l->limits.max_connections && l->connections >= l->limits.max_connections)
    return HR_ERROR(RESOURCE_EXHAUSTED, "too many connections, the limit is %d", l->limits.max_connections);
  c->channel->connected = l;
  ++l->connections;
  return NULL;
}

static void deliver(inproc_call_t* c, hr_listener_t* l) {
  hr_status_t status = check_limits(l, c);
  if (status) {
    end_client(c, status, NULL);
    return;
  }
  c->listener = l;
  ++c->refs;
  ++l->unanswered;
  push_work(c, WORK_HANDLE);
}

static int64_t expire_deadlines(void) { /* the next deadline */
  const int64_t now = hr_clock_now_ns();
  int64_t next = INT64_MAX;
  for (inproc_call_t *c = calls, *after; c; c = after) {
    after = c->next;
    if (c->deadline_ns <= now) end_client(c, HR_ERROR(DEADLINE_EXCEEDED, "deadline exceeded: %s", c->method), NULL);
    else if (c->deadline_ns < next) next = c->deadline_ns;
  }
  return next;
}

/* --- threads; each gives mu up while it calls ------------------------------------------------------------------------------------- */

static void run_cancelled(inproc_call_t* c) {
  if (c->has_replied || !c->request.cancelled || c->is_cancelling) return;
  void (*cancelled)(hr_request_t*) = c->request.cancelled;
  c->request.cancelled = NULL;
  c->is_cancelling = true;
  c->canceller = pthread_self();
  hr_mutex_unlock(&mu);
  cancelled(&c->request);
  hr_mutex_lock(&mu);
  c->is_cancelling = false;
  hr_cond_wake_all(&change_cond);
}

static void run_handle(inproc_call_t* c) {
  hr_listener_t* l = c->listener;
  if (l->is_stopping) {
    end_server(c, HR_ERROR(UNAVAILABLE, "the server at %s has stopped", l->address), NULL);
    return;
  }
  c->is_handling = true;
  ++l->handling;
  hr_mutex_unlock(&mu);
  l->handle(l->arg, &c->request);
  hr_mutex_lock(&mu);
  --l->handling;
  c->is_handling = false;
  hr_cond_wake_all(&change_cond);
}

static void run_done(inproc_call_t* c) {
  hr_call_t* user = c->user;
  hr_status_t status = c->status;
  hr_message_t response = c->response;
  hr_channel_t* channel = c->channel;
  c->status = NULL;
  c->response = (hr_message_t){0};
  user->state = NULL;
  hr_mutex_unlock(&mu);
  user->done(user, status, status ? NULL : &response);
  hr_message_deinit(&response);
  hr_mutex_lock(&mu);
  if (--channel->in_flight == 0 && channel->is_gone) channel_free(channel);
  hr_cond_wake_all(&change_cond);
  call_unref(c);
}

static void do_work(inproc_call_t* c) {
  int work = c->work;
  c->work = 0;
  if (work & WORK_HANDLE) {
    run_handle(c);
    work |= c->work & WORK_CANCEL; /* it came while the handler ran */
    c->work &= ~WORK_CANCEL;
  }
  if (work & WORK_CANCEL) {
    if (c->is_handling) c->work |= WORK_CANCEL; /* the handler's thread sees to it */
    else run_cancelled(c);
  }
  if (work & WORK_DONE) run_done(c);
  call_unref(c);
}

static void serve(void* arg) {
  (void)arg;
  is_transport_thread = true;
  hr_mutex_lock(&mu);
  for (;;) {
    const int64_t next = expire_deadlines();
    inproc_call_t* c = work_first;
    if (!c) {
      (void)hr_cond_wait_until(&work_cond, &mu, next);
      continue;
    }
    work_first = c->next_work;
    if (!work_first) work_last = NULL;
    c->is_queued = false;
    do_work(c);
  }
}

static void start_threads(void) {
  hr_cond_init(&work_cond);
  hr_cond_init(&change_cond);
  for (int i = 0; i < 2 && !start_failure; ++i) {
    hr_thread_t thread;
    start_failure = hr_thread_start(&thread, "hr-inproc", serve, NULL);
    if (!start_failure) pthread_detach(thread.t);
  }
}

/* --- client --------------------------------------------------------------------------------------------------------------------------- */

static hr_status_t inproc_connect(hr_str_t address, const hr_tls_t* tls, hr_channel_t** out) {
  (void)tls;
  hr_once_run(&start_once, start_threads);
  if (start_failure) return hr_status_retain(start_failure);
  hr_channel_t* c = hr_alloc_zero(sizeof *c);
  if (!c || !(c->address = hr_alloc_copy(address.data, address.size))) {
    hr_free(c);
    return hr_status_out_of_memory();
  }
  hr_mutex_lock(&mu);
  LINK(channels, c);
  hr_mutex_unlock(&mu);
  *out = c;
  return NULL;
}

static void inproc_disconnect(hr_channel_t* c) {
  if (!c) return;
  hr_mutex_lock(&mu);
  for (inproc_call_t *call = calls, *after; call; call = after) {
    after = call->next;
    if (call->channel == c) end_client(call, HR_ERROR(CANCELLED, "the channel to %s was closed", c->address), NULL);
  }
  const int64_t own = is_transport_thread ? 1 : 0;
  while (c->in_flight > own) hr_cond_wait(&change_cond, &mu);
  for (hr_listener_t* l = listeners; l; l = l->next)
    if (l == c->connected) --l->connections;
  c->is_gone = true;
  if (!c->in_flight) channel_free(c);
  hr_mutex_unlock(&mu);
}

static void inproc_call(hr_channel_t* channel, const char* method, hr_message_t* take_request, int64_t deadline_ms, bool wait_for_ready,
                        hr_call_t* user) {
  inproc_call_t* c = hr_alloc_zero(sizeof *c);
  if (!c || !(c->method = hr_alloc_copy(method, strlen(method)))) {
    hr_free(c);
    hr_message_deinit(take_request);
    user->state = NULL;
    user->done(user, hr_status_out_of_memory(), NULL);
    return;
  }
  c->request = (hr_request_t){.method = hr_str(c->method), .peer = HR_STR("inproc:0"), .message = *take_request};
  *take_request = (hr_message_t){0};
  c->user = user;
  c->channel = channel;
  c->refs = 1;
  c->deadline_ns = deadline_ms > 0 ? hr_clock_now_ns() + deadline_ms * 1000000 : INT64_MAX;
  hr_mutex_lock(&mu);
  user->state = c;
  ++channel->in_flight;
  LINK(calls, c);
  hr_listener_t* l = find_listener(channel->address);
  if (l) deliver(c, l);
  else if (!wait_for_ready) end_client(c, HR_ERROR(UNAVAILABLE, "nobody listens at %s", channel->address), NULL);
  else hr_cond_wake_one(&work_cond); /* a new deadline */
  hr_mutex_unlock(&mu);
}

static void inproc_cancel(hr_call_t* user) {
  hr_mutex_lock(&mu);
  inproc_call_t* c = user->state;
  if (c) end_client(c, HR_ERROR(CANCELLED, "cancelled: %s", c->method), NULL);
  hr_mutex_unlock(&mu);
}

/* --- server --------------------------------------------------------------------------------------------------------------------------- */

static hr_status_t listener_create(hr_str_t host, int port, const hr_listener_limits_t* limits, hr_listener_t** out) {
  hr_listener_t* l = hr_alloc_zero(sizeof *l);
  hr_strbuf_t address;
  size_t size;
  hr_strbuf_init(&address);
  hr_strbuf_format(&address, "%.*s:%d", HR_STR_ARG(host), port);
  if (!l) {
    hr_strbuf_deinit(&address);
    return hr_status_out_of_memory();
  }
  hr_status_t status = hr_strbuf_take(&address, &l->address, &size);
  if (limits) l->limits = *limits;
  if (status) hr_free(l);
  else *out = l;
  return status;
}

static hr_status_t inproc_listen(hr_str_t host, int port, const hr_tls_t* tls, const hr_listener_limits_t* limits,
                                 void (*handle)(void* arg, hr_request_t* request), void* arg, hr_listener_t** out, int* out_port) {
  (void)tls;
  hr_once_run(&start_once, start_threads);
  if (start_failure) return hr_status_retain(start_failure);
  hr_mutex_lock(&mu);
  if (port == 0) port = ++last_port;
  hr_listener_t* l = NULL;
  hr_status_t status = listener_create(host, port, limits, &l);
  if (!status && find_listener(l->address)) status = HR_ERROR(UNAVAILABLE, "somebody listens at %s already", l->address);
  if (status) {
    if (l) listener_free(l);
    hr_mutex_unlock(&mu);
    return status;
  }
  l->handle = handle;
  l->arg = arg;
  *out = l;
  *out_port = port;
  LINK(listeners, l);
  for (inproc_call_t *c = calls, *after; c; c = after) {
    after = c->next;
    if (!c->listener && !c->has_replied && !strcmp(c->channel->address, l->address)) deliver(c, l);
  }
  hr_mutex_unlock(&mu);
  return NULL;
}

static void inproc_reply(hr_request_t* request, hr_status_t take_status, hr_message_t* take_response) {
  inproc_call_t* c = (inproc_call_t*)request;
  hr_mutex_lock(&mu);
  while (c->is_cancelling && !pthread_equal(c->canceller, pthread_self())) hr_cond_wait(&change_cond, &mu);
  end_server(c, take_status, take_response);
  hr_mutex_unlock(&mu);
}

static void inproc_stop(hr_listener_t* l, int64_t grace_ms) {
  if (!l) return;
  const int64_t until = hr_clock_now_ns() + grace_ms * 1000000;
  hr_mutex_lock(&mu);
  UNLINK(listeners, l);
  l->is_stopping = true;
  for (hr_channel_t* c = channels; c; c = c->next)
    if (c->connected == l) c->connected = NULL;
  for (inproc_call_t* c = calls; c; c = c->next)
    if (c->listener == l) push_work(c, WORK_CANCEL);
  while (l->unanswered && hr_cond_wait_until(&change_cond, &mu, until)) continue;
  for (inproc_call_t *c = calls, *after; c; c = after) {
    after = c->next;
    if (c->listener == l) end_client(c, HR_ERROR(UNAVAILABLE, "the server at %s has stopped", l->address), NULL);
  }
  while (l->handling) hr_cond_wait(&change_cond, &mu);
  l->is_stopped = true;
  if (!l->unanswered) listener_free(l);
  hr_mutex_unlock(&mu);
}

const hr_transport_t hr_transport_inproc = {"inproc", inproc_connect, inproc_disconnect, inproc_call, inproc_cancel,
                                            inproc_listen, inproc_reply, inproc_stop};
