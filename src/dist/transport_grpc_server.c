/* SPDX-License-Identifier: Apache-2.0 */
/* A listener: one gRPC server. Some calls are always asked for ahead; each that arrives goes
 *
 *   asked -> reading -> handled ........ -> replying -> over
 *                           \-> closed (the caller has gone: `cancelled`, once, unless it was answered)
 *
 * Reading, waiting for the close and replying are tags of their own; the call is freed when all three are over. */
#include <errno.h>
#include <grpc/byte_buffer.h>
#include <grpc/slice.h>
#include <grpc/support/alloc.h>
#include <grpc/support/time.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include "dist/transport_grpc_parts.h"

enum { CALLS_AHEAD = 16, MESSAGE_BYTES_MOST = 3072 }; /* of a status: trailers are limited to 8 KiB */

typedef struct server_call server_call_t;
typedef struct {
  hr_transport_grpc_tag_t tag;
  server_call_t* call;
} call_tag_t;

struct server_call {
  hr_request_t request;
  call_tag_t asked, read, closed, sent;
  hr_listener_t* listener;
  grpc_call* call;
  grpc_call_details details;
  grpc_metadata_array metadata, head;
  grpc_byte_buffer *received, *answer;
  char* peer;
  int was_cancelled;                 /* written by gRPC before `closed` ends */
  atomic_int refs;                   /* tags pending, and the handler's */
  pthread_mutex_t mu;
  pthread_cond_t changed;
  bool is_handled, has_replied, is_cancelling, has_gone;
  pthread_t canceller;
  uint64_t peer_id;
  server_call_t *next, *previous;    /* of the listener's, guarded by its mu */
};

struct hr_listener {
  hr_transport_grpc_tag_t shut;      /* the server's end */
  grpc_server* server;
  grpc_completion_queue* queue;      /* borrowed */
  void (*handle)(void* arg, hr_request_t* request);
  void* arg;
  hr_listener_limits_t limits;
  atomic_int refs;                   /* the owner's, each call's, the server's until it is shut */
  pthread_mutex_t mu;
  pthread_cond_t changed;
  server_call_t* calls;              /* that were handed on and not answered */
  int64_t unanswered, handling;
  bool is_stopping, is_shut;
  struct peer_count { uint64_t id; int64_t calls; }* peers; /* with unanswered calls; limits.max_connections of them; NULL: no limit */
};

/* --- life ---------------------------------------------------------------------------------------------------------------------------- */

static void release_listener(hr_listener_t* l) {
  if (atomic_fetch_sub(&l->refs, 1) != 1) return;
  pthread_cond_destroy(&l->changed);
  pthread_mutex_destroy(&l->mu);
  hr_transport_grpc_host->free(l->peers);
  hr_transport_grpc_host->free(l);
}

static void release_call(server_call_t* c) {
  if (atomic_fetch_sub(&c->refs, 1) != 1) return;
  hr_transport_grpc_host->message_deinit(&c->request.message);
  if (c->received) grpc_byte_buffer_destroy(c->received);
  if (c->answer) grpc_byte_buffer_destroy(c->answer);
  if (c->peer) gpr_free(c->peer);
  if (c->call) grpc_call_unref(c->call);
  grpc_call_details_destroy(&c->details);
  grpc_metadata_array_destroy(&c->metadata);
  pthread_cond_destroy(&c->changed);
  pthread_mutex_destroy(&c->mu);
  release_listener(c->listener);
  hr_transport_grpc_host->free(c);
}

/* What tells peers apart: FNV-1a of address and port. gRPC does not let a server count its connections, so those with calls are. */
static uint64_t peer_id(const char* peer) {
  uint64_t h = 0xcbf29ce484222325u;
  for (; peer && *peer; ++peer) h = (h ^ (uint8_t)*peer) * 0x100000001b3u;
  return h;
}

/* False when this caller is one too many. l->mu is held. */
static bool count_peer(hr_listener_t* l, uint64_t id, int change) {
  struct peer_count* free_place = NULL;
  for (int32_t i = 0; l->peers && i < l->limits.max_connections; ++i) {
    struct peer_count* p = &l->peers[i];
    if (p->calls && p->id == id) {
      p->calls += change;
      return true;
    }
    if (!p->calls) free_place = p;
  }
  if (!l->peers) return true;
  if (!free_place || change < 0) return false;
  *free_place = (struct peer_count){id, 1};
  return true;
}

static bool link_unanswered(server_call_t* c) {
  hr_listener_t* l = c->listener;
  c->peer_id = l->peers ? peer_id(c->peer) : 0;
  pthread_mutex_lock(&l->mu);
  if (!count_peer(l, c->peer_id, 1)) {
    pthread_mutex_unlock(&l->mu);
    return false;
  }
  c->next = l->calls;
  if (c->next) c->next->previous = c;
  l->calls = c;
  ++l->unanswered;
  pthread_mutex_unlock(&l->mu);
  return true;
}

static void unlink_unanswered(server_call_t* c) {
  hr_listener_t* l = c->listener;
  pthread_mutex_lock(&l->mu);
  if (c->next) c->next->previous = c->previous;
  if (c->previous) c->previous->next = c->next;
  else l->calls = c->next;
  c->next = c->previous = NULL;
  --l->unanswered;
  (void)count_peer(l, c->peer_id, -1);
  pthread_cond_broadcast(&l->changed);
  pthread_mutex_unlock(&l->mu);
}

/* --- answering ------------------------------------------------------------------------------------------------------------------------ */

static void send_ended(hr_transport_grpc_tag_t* self, bool ok) {
  (void)ok;
  release_call(((call_tag_t*)self)->call);
}

static grpc_slice details_of(hr_status_t status) {
  const char* text = hr_transport_grpc_host->message_of(status);
  const size_t size = strlen(text);
  return grpc_slice_from_copied_buffer(text, size < MESSAGE_BYTES_MOST ? size : MESSAGE_BYTES_MOST);
}

/* One batch: the message, if there is one, and the status. Uses up the reference of the handler's. */
static void send_answer(server_call_t* c, hr_status_t take_status, hr_message_t* take_response) {
  grpc_op ops[3];
  memset(ops, 0, sizeof ops);
  size_t count = 0;
  ops[count++].op = GRPC_OP_SEND_INITIAL_METADATA;
  if (!take_status) {
    hr_message_t none = {0};
    c->answer = hr_transport_grpc_pack(take_response ? take_response : &none);
    if (!c->answer) take_status = hr_transport_grpc_host->out_of_memory();
  } else if (take_response)
    hr_transport_grpc_host->message_deinit(take_response);
  if (c->answer) {
    ops[count].op = GRPC_OP_SEND_MESSAGE;
    ops[count++].data.send_message.send_message = c->answer;
  }
  grpc_slice details = details_of(take_status);
  ops[count].op = GRPC_OP_SEND_STATUS_FROM_SERVER;
  ops[count].data.send_status_from_server.status = (grpc_status_code)hr_transport_grpc_host->code_of(take_status);
  if (take_status) ops[count].data.send_status_from_server.status_details = &details;
  ++count;
  hr_transport_grpc_host->status_release(take_status);
  if (grpc_call_start_batch(c->call, ops, count, &c->sent, NULL) != GRPC_CALL_OK) {
    grpc_call_cancel(c->call, NULL);
    release_call(c);
  }
  grpc_slice_unref(details);
}

void hr_transport_grpc_reply(hr_request_t* request, hr_status_t take_status, hr_message_t* take_response) {
  server_call_t* c = (server_call_t*)request;
  pthread_mutex_lock(&c->mu);
  while (c->is_cancelling && !pthread_equal(c->canceller, pthread_self())) pthread_cond_wait(&c->changed, &c->mu);
  c->has_replied = true;
  pthread_mutex_unlock(&c->mu);
  hr_transport_grpc_host->message_deinit(&c->request.message);
  /* the answer is on its way before the listener may end */
  atomic_fetch_add(&c->refs, 1);
  send_answer(c, take_status, take_response);
  unlink_unanswered(c);
  release_call(c);
}

/* Tells the handler that its caller has gone; once, and not before it has returned. */
static void tell_cancelled(server_call_t* c) {
  pthread_mutex_lock(&c->mu);
  c->has_gone = true;
  void (*cancelled)(hr_request_t*) = c->is_handled && !c->has_replied && !c->is_cancelling ? c->request.cancelled : NULL;
  c->request.cancelled = cancelled ? NULL : c->request.cancelled;
  c->is_cancelling |= cancelled != NULL;
  if (cancelled) c->canceller = pthread_self();
  pthread_mutex_unlock(&c->mu);
  if (!cancelled) return;
  cancelled(&c->request);
  pthread_mutex_lock(&c->mu);
  c->is_cancelling = false;
  pthread_cond_broadcast(&c->changed);
  pthread_mutex_unlock(&c->mu);
}

/* --- a call arrives --------------------------------------------------------------------------------------------------------------- */

static void ask_for_call(hr_listener_t* l);

static void closed(hr_transport_grpc_tag_t* self, bool ok) {
  (void)ok;
  server_call_t* c = ((call_tag_t*)self)->call;
  if (c->was_cancelled) tell_cancelled(c);
  release_call(c);
}

/* A short slice holds its bytes itself: the text lives as long as *s. */
static hr_str_t text_of(const grpc_slice* s) {
  return (hr_str_t){(const char*)GRPC_SLICE_START_PTR(*s), GRPC_SLICE_LENGTH(*s)};
}

static void hand_on(server_call_t* c) {
  hr_listener_t* l = c->listener;
  c->request.method = text_of(&c->details.method);
  c->request.peer = (hr_str_t){c->peer, c->peer ? strlen(c->peer) : 0};
  atomic_fetch_add(&c->refs, 2); /* the handler's, and this function's */
  if (!link_unanswered(c)) {
    send_answer(c, GRPC_PART_ERROR(RESOURCE_EXHAUSTED, "too many callers at a time, the limit is %d", l->limits.max_connections), NULL);
    release_call(c);
    return;
  }
  pthread_mutex_lock(&l->mu);
  const bool is_stopping = l->is_stopping;
  if (!is_stopping) ++l->handling;
  pthread_mutex_unlock(&l->mu);
  if (is_stopping) hr_transport_grpc_reply(&c->request, GRPC_PART_ERROR(UNAVAILABLE, "the server has stopped"), NULL);
  else {
    l->handle(l->arg, &c->request);
    pthread_mutex_lock(&c->mu);
    c->is_handled = true;
    const bool has_gone = c->has_gone;
    pthread_mutex_unlock(&c->mu);
    if (has_gone) tell_cancelled(c);
    pthread_mutex_lock(&l->mu);
    --l->handling;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->mu);
  }
  release_call(c);
}

static void refuse(server_call_t* c, hr_status_t take_status) {
  atomic_fetch_add(&c->refs, 1);
  send_answer(c, take_status, NULL);
}

static void read_ended(hr_transport_grpc_tag_t* self, bool ok) {
  server_call_t* c = ((call_tag_t*)self)->call;
  grpc_byte_buffer* received = c->received;
  c->received = NULL;
  if (!ok || !received) refuse(c, GRPC_PART_ERROR(INTERNAL, "a call without a message")); /* also a message above the limit */
  else {
    hr_status_t status = hr_transport_grpc_unpack(received, &c->request.message);
    if (status) refuse(c, status);
    else hand_on(c);
  }
  release_call(c);
}

static bool start_reading(server_call_t* c) {
  grpc_op close, read;
  memset(&close, 0, sizeof close);
  memset(&read, 0, sizeof read);
  close.op = GRPC_OP_RECV_CLOSE_ON_SERVER;
  close.data.recv_close_on_server.cancelled = &c->was_cancelled;
  read.op = GRPC_OP_RECV_MESSAGE;
  read.data.recv_message.recv_message = &c->received;
  atomic_fetch_add(&c->refs, 1);
  if (grpc_call_start_batch(c->call, &close, 1, &c->closed, NULL) != GRPC_CALL_OK) {
    release_call(c);
    return false;
  }
  atomic_fetch_add(&c->refs, 1);
  if (grpc_call_start_batch(c->call, &read, 1, &c->read, NULL) == GRPC_CALL_OK) return true;
  release_call(c);
  return false;
}

static void arrived(hr_transport_grpc_tag_t* self, bool ok) {
  server_call_t* c = ((call_tag_t*)self)->call;
  if (ok) {
    ask_for_call(c->listener);
    c->peer = grpc_call_get_peer(c->call);
    if (!start_reading(c)) grpc_call_cancel(c->call, NULL);
  }
  release_call(c);
}

static void ask_for_call(hr_listener_t* l) {
  server_call_t* c = hr_transport_grpc_host->alloc(sizeof *c);
  if (!c) {
    hr_transport_grpc_host->log(HR_LOG_ERROR, "out of memory: a listener serves one call less at a time");
    return;
  }
  const call_tag_t tags[] = {{{arrived}, c}, {{read_ended}, c}, {{closed}, c}, {{send_ended}, c}};
  c->asked = tags[0];
  c->read = tags[1];
  c->closed = tags[2];
  c->sent = tags[3];
  c->listener = l;
  atomic_init(&c->refs, 1);
  pthread_mutex_init(&c->mu, NULL);
  pthread_cond_init(&c->changed, NULL);
  grpc_call_details_init(&c->details);
  grpc_metadata_array_init(&c->metadata);
  atomic_fetch_add(&l->refs, 1);
  if (grpc_server_request_call(l->server, &c->call, &c->details, &c->metadata, l->queue, l->queue, &c->asked) != GRPC_CALL_OK)
    release_call(c);
}

/* --- listening -------------------------------------------------------------------------------------------------------------------- */

static hr_status_t make_server_credentials(const hr_tls_t* tls, grpc_server_credentials** out) {
  if (!tls || !tls->certificate.size) {
    *out = grpc_insecure_server_credentials_create();
    return NULL;
  }
  char* ca = tls->ca.size ? hr_transport_grpc_text(tls->ca) : NULL;
  char* key = hr_transport_grpc_text(tls->key);
  char* certificate = hr_transport_grpc_text(tls->certificate);
  hr_status_t status = NULL;
  if (!key || !certificate || (tls->ca.size && !ca)) status = hr_transport_grpc_host->out_of_memory();
  else {
    grpc_ssl_pem_key_cert_pair pair = {key, certificate};
    *out = grpc_ssl_server_credentials_create_ex(ca, &pair, 1,
                                                 ca ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                                                    : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE,
                                                 NULL);
    if (!*out) status = GRPC_PART_ERROR(INVALID_ARGUMENT, "the certificate and key do not make TLS credentials");
  }
  hr_transport_grpc_host->free(ca);
  hr_transport_grpc_host->free(key);
  hr_transport_grpc_host->free(certificate);
  return status;
}

/* A caller that does not answer pings for some seconds is dead or frozen: its calls end. */
static grpc_server* create_server(const hr_listener_limits_t* limits) {
  const int64_t most = limits->max_message_bytes;
  grpc_arg args[] = {
    hr_transport_grpc_int_arg(GRPC_ARG_ALLOW_REUSEPORT, 0),
    hr_transport_grpc_int_arg(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, most > 0 && most < INT32_MAX ? (int)most : INT32_MAX),
    hr_transport_grpc_int_arg(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 10000),
    hr_transport_grpc_int_arg(GRPC_ARG_KEEPALIVE_TIME_MS, 5000),
    hr_transport_grpc_int_arg(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 4000),
    hr_transport_grpc_int_arg(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0),
    hr_transport_grpc_int_arg(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1),
    hr_transport_grpc_int_arg(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 1000),
    GRPC_PART_ARGS,
  };
  const grpc_channel_args list = {sizeof args / sizeof *args, args};
  return grpc_server_create(&list, NULL);
}

static hr_status_t bind_port(hr_listener_t* l, hr_str_t host, int port, grpc_server_credentials* credentials, int* out_port) {
  char address[300];
  const bool is_v6 = memchr(host.data, ':', host.size) && host.data[0] != '[';
  if (snprintf(address, sizeof address, is_v6 ? "[%.*s]:%d" : "%.*s:%d", HR_STR_ARG(host), port) >= (int)sizeof address)
    return GRPC_PART_ERROR(INVALID_ARGUMENT, "a host name of %zu bytes", host.size);
  *out_port = grpc_server_add_http2_port(l->server, address, credentials);
  if (*out_port > 0) return NULL;
  return GRPC_PART_ERROR(UNAVAILABLE, "cannot listen at %s: the port is taken, or the address is not this machine's", address);
}

static void shut_ended(hr_transport_grpc_tag_t* self, bool ok) {
  (void)ok;
  hr_listener_t* l = (hr_listener_t*)self;
  grpc_server_destroy(l->server);
  pthread_mutex_lock(&l->mu);
  l->is_shut = true;
  pthread_cond_broadcast(&l->changed);
  pthread_mutex_unlock(&l->mu);
  release_listener(l);
}

static void init_monotonic(pthread_cond_t* c) {
  pthread_condattr_t attr;
  pthread_condattr_init(&attr);
  pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  pthread_cond_init(c, &attr);
  pthread_condattr_destroy(&attr);
}

hr_status_t hr_transport_grpc_listen(hr_str_t host, int port, const hr_tls_t* tls, const hr_listener_limits_t* limits,
                                     void (*handle)(void* arg, hr_request_t* request), void* arg, hr_listener_t** out, int* out_port) {
  static const hr_listener_limits_t no_limits;
  grpc_completion_queue* queue;
  HR_TRY(hr_transport_grpc_queue(&queue));
  grpc_server_credentials* credentials = NULL;
  HR_TRY(make_server_credentials(tls, &credentials));
  hr_listener_t* l = hr_transport_grpc_host->alloc(sizeof *l);
  if (!l) {
    grpc_server_credentials_release(credentials);
    return hr_transport_grpc_host->out_of_memory();
  }
  l->shut.ended = shut_ended;
  l->handle = handle;
  l->arg = arg;
  l->limits = limits ? *limits : no_limits;
  if (l->limits.max_connections > 0) l->peers = hr_transport_grpc_host->alloc((size_t)l->limits.max_connections * sizeof *l->peers);
  atomic_init(&l->refs, 2);
  pthread_mutex_init(&l->mu, NULL);
  init_monotonic(&l->changed);
  l->server = create_server(&l->limits);
  l->queue = queue;
  grpc_server_register_completion_queue(l->server, l->queue, NULL);
  hr_status_t status = bind_port(l, host, port, credentials, out_port);
  grpc_server_credentials_release(credentials);
  if (status) {
    hr_transport_grpc_stop(l, 0);
    return status;
  }
  grpc_server_start(l->server);
  for (int i = 0; i < CALLS_AHEAD; ++i) ask_for_call(l);
  *out = l;
  return NULL;
}

/* Waits until `until` (monotonic) for what `is_over` says; mu is held. */
static void wait_for(hr_listener_t* l, bool (*is_over)(const hr_listener_t* l), const struct timespec* until) {
  while (!is_over(l) && pthread_cond_timedwait(&l->changed, &l->mu, until) != ETIMEDOUT) continue;
}
static bool all_answered(const hr_listener_t* l) { return l->unanswered == 0; }
static bool is_shut(const hr_listener_t* l) { return l->is_shut; }

static struct timespec after_ms(int64_t ms) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  t.tv_sec += ms / 1000;
  t.tv_nsec += ms % 1000 * 1000000;
  if (t.tv_nsec >= 1000000000) ++t.tv_sec, t.tv_nsec -= 1000000000;
  return t;
}

/* Each call that waits is held while it is told: the list may change meanwhile, so it is walked from its head, by a mark. */
static void tell_all(hr_listener_t* l) {
  for (;;) {
    pthread_mutex_lock(&l->mu);
    server_call_t* c = l->calls;
    for (; c; c = c->next) {
      pthread_mutex_lock(&c->mu);
      const bool is_untold = !c->has_gone;
      c->has_gone = true;
      pthread_mutex_unlock(&c->mu);
      if (is_untold) break;
    }
    if (c) atomic_fetch_add(&c->refs, 1);
    pthread_mutex_unlock(&l->mu);
    if (!c) return;
    tell_cancelled(c);
    release_call(c);
  }
}

void hr_transport_grpc_stop(hr_listener_t* l, int64_t grace_ms) {
  enum { CUT_MS = 500 }; /* connections that do not close in this time are left to end by themselves */
  if (!l) return;
  pthread_mutex_lock(&l->mu);
  l->is_stopping = true;
  pthread_mutex_unlock(&l->mu);
  grpc_server_shutdown_and_notify(l->server, l->queue, &l->shut);
  tell_all(l);
  struct timespec until = after_ms(grace_ms);
  pthread_mutex_lock(&l->mu);
  wait_for(l, all_answered, &until);
  const bool cut = !l->is_shut;
  pthread_mutex_unlock(&l->mu);
  if (cut) grpc_server_cancel_all_calls(l->server);
  until = after_ms(CUT_MS);
  pthread_mutex_lock(&l->mu);
  while (l->handling) pthread_cond_wait(&l->changed, &l->mu);
  wait_for(l, is_shut, &until);
  pthread_mutex_unlock(&l->mu);
  release_listener(l);
}
