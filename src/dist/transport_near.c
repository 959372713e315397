/* SPDX-License-Identifier: Apache-2.0 */
/* A channel tries the near server when it is called, at most every now and then while there is none: one that is started later is found,
 * and one that has gone is left. What a call goes by is decided when it starts and kept in it (`via`).
 *
 * A listener binds its port first. So whoever has the near name of a port has the port, and a relay's port has no near name: what must go
 * through a relay does. */
#include "dist/transport_near.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/options.h"
#include "base/sync.h"
#include "dist/near_channel.h"
#include "dist/near_listener.h"
#include "dist/near_loop.h"

enum { NEAR_MOST = 8, TRY_AGAIN_MS = 20 };

struct hr_channel {
  hr_channel_t* far;             /* NULL: not needed yet; guarded by mu, like what follows */
  hr_mutex_t mu;
  int port;                      /* of a server that may be near; 0: may not */
  hr_near_channel_t* near;       /* NULL: none */
  hr_near_channel_t* left[NEAR_MOST]; /* closed ones, whose last calls are ending */
  int left_count;
  int64_t tried_ns;
  char address[];
};
struct hr_listener {
  hr_listener_t* far;
  hr_near_listener_t* near;      /* NULL: none */
};

static const hr_transport_t* far_table;

static bool is_near_wanted(const hr_tls_t* tls) {
  return hr_options()->near && !(tls && (tls->certificate.size || tls->ca.size));
}

/* --- client --------------------------------------------------------------------------------------------------------------------------- */

/* The port of an address that only the loopback interface leads to; 0: another. */
static int port_of_near(hr_str_t address) {
  int64_t port = 0;
  size_t at = address.size;
  while (at > 0 && address.data[at - 1] != ':') --at;
  if (at == 0) return 0;
  const hr_str_t host = hr_str_slice(address, 0, at - 1);
  if (!hr_str_is(host, "127.0.0.1") && !hr_str_is(host, "localhost")) return 0;
  return hr_str_parse_i64(hr_str_slice(address, at, address.size), &port) && port > 0 && port < 65536 ? (int)port : 0;
}

static void free_near_channel(hr_channel_t* c) {
  hr_mutex_deinit(&c->mu);
  hr_free(c);
}

static hr_status_t near_connect(hr_str_t address, const hr_tls_t* tls, hr_channel_t** out) {
  hr_channel_t* c = hr_alloc_zero(sizeof *c + address.size + 1);
  if (!c) return hr_status_out_of_memory();
  memcpy(c->address, address.data, address.size);
  c->port = is_near_wanted(tls) ? port_of_near(address) : 0;
  hr_mutex_init(&c->mu);
  hr_status_t status = c->port ? NULL : far_table->connect(address, tls, &c->far);
  if (status) free_near_channel(c);
  else *out = c;
  return status;
}

static void near_disconnect(hr_channel_t* c) {
  if (!c) return;
  for (int i = 0; i < c->left_count; ++i) hr_near_channel_close(c->left[i]);
  if (c->near) hr_near_channel_close(c->near);
  if (c->far && !hr_near_loop_is_lost()) far_table->disconnect(c->far);
  free_near_channel(c);
}

/* mu is held. A closed one whose calls have not all ended is kept until they have. */
static void leave_near(hr_channel_t* c) {
  int kept = 0;
  for (int i = 0; i < c->left_count; ++i) {
    if (hr_near_channel_is_idle(c->left[i])) hr_near_channel_close(c->left[i]);
    else c->left[kept++] = c->left[i];
  }
  c->left_count = kept;
  if (!c->near || hr_near_channel_is_open(c->near) || kept == NEAR_MOST) return;
  c->left[c->left_count++] = c->near;
  c->near = NULL;
  c->tried_ns = 0;
}

/* mu is held. */
static void seek_near(hr_channel_t* c) {
  if (c->near && hr_near_channel_is_open(c->near)) return;
  leave_near(c);
  const int64_t now = hr_clock_now_ns();
  if (c->near || (c->tried_ns && now - c->tried_ns < TRY_AGAIN_MS * INT64_C(1000000))) return;
  c->tried_ns = now;
  c->near = hr_near_channel_open(c->port);
}

/* True: it is under way, or has ended. Under mu, so that the near channel is there; `done` never comes from within. */
static bool call_near(hr_channel_t* c, const char* method, hr_message_t* take_request, int64_t deadline_ms, hr_call_t* user) {
  hr_mutex_lock(&c->mu);
  seek_near(c);
  user->via = c->near;
  const bool is_called = c->near && hr_near_channel_call(c->near, method, take_request, deadline_ms, user);
  hr_mutex_unlock(&c->mu);
  return is_called;
}

/* The threads of gRPC are not in the child of a fork either: a call would hang there. */
static hr_status_t find_far(hr_channel_t* c, hr_channel_t** out) {
  if (hr_near_loop_is_lost()) return HR_ERROR(UNAVAILABLE, "this process was forked off one that calls tasks");
  hr_mutex_lock(&c->mu);
  hr_status_t status = c->far ? NULL : far_table->connect(hr_str(c->address), NULL, &c->far);
  *out = c->far;
  hr_mutex_unlock(&c->mu);
  return status;
}

static void near_call(hr_channel_t* c, const char* method, hr_message_t* take_request, int64_t deadline_ms, bool wait_for_ready,
                      hr_call_t* user) {
  if (c->port && call_near(c, method, take_request, deadline_ms, user)) return;
  hr_channel_t* far = NULL;
  user->via = NULL;
  hr_status_t status = find_far(c, &far);
  if (!status) {
    far_table->call(far, method, take_request, deadline_ms, wait_for_ready, user);
    return;
  }
  hr_message_deinit(take_request);
  user->state = NULL;
  user->done(user, status, NULL);
}

static void near_cancel(hr_call_t* user) {
  if (user->via) hr_near_channel_cancel(user);
  else far_table->cancel(user);
}

/* --- server --------------------------------------------------------------------------------------------------------------------------- */

static bool is_heard_by_loopback(hr_str_t host) {
  static const char* const hosts[] = {"127.0.0.1", "localhost", "0.0.0.0", "::", "[::]"};
  for (size_t i = 0; i < sizeof hosts / sizeof *hosts; ++i)
    if (hr_str_is(host, hosts[i])) return true;
  return false;
}

static hr_status_t near_listen(hr_str_t host, int port, const hr_tls_t* tls, const hr_listener_limits_t* limits,
                               void (*handle)(void* arg, hr_request_t* request), void* arg, hr_listener_t** out, int* out_port) {
  hr_listener_t* l = hr_alloc_zero(sizeof *l);
  if (!l) return hr_status_out_of_memory();
  hr_status_t status = far_table->listen(host, port, tls, limits, handle, arg, &l->far, out_port);
  if (status) {
    hr_free(l);
    return status;
  }
  if (is_near_wanted(tls) && is_heard_by_loopback(host)) status = hr_near_listener_open(*out_port, limits, handle, arg, &l->near);
  if (status) hr_log(HR_LOG_INFO, "tasks of this machine are served over gRPC: %s", hr_status_message(status));
  hr_status_release(status);
  *out = l;
  return NULL;
}

static void near_reply(hr_request_t* request, hr_status_t take_status, hr_message_t* take_response) {
  if (request->via) hr_near_listener_reply(request, take_status, take_response);
  else far_table->reply(request, take_status, take_response);
}

static void near_stop(hr_listener_t* l, int64_t grace_ms) {
  if (!l) return;
  const int64_t until = hr_clock_now_ns() + grace_ms * 1000000;
  if (l->near) hr_near_listener_refuse(l->near);
  far_table->stop(l->far, grace_ms);
  if (l->near) hr_near_listener_close(l->near, until);
  hr_free(l);
}

const hr_transport_t* hr_transport_near_over(const hr_transport_t* far) {
  static const hr_transport_t table = {"grpc",      near_connect, near_disconnect, near_call,
                                       near_cancel, near_listen,  near_reply,      near_stop};
  far_table = far;
  return &table;
}
