/* SPDX-License-Identifier: Apache-2.0 */
/* A task: one listener for both services. A request becomes a call of the worker's or the master's, and its answer the request's.
 *
 *   created -> serving -> stopped      calls that come before `serving` are kept until then, later ones are refused
 *
 * Safe by default: loopback only, no files, bounded. */
#include "dist/server.h"
#include "base/alloc.h"
#include "base/log.h"
#include "base/options.h"
#include "base/vec.h"
#include "dist/master.h"
#include "dist/server_def.h"
#include "dist/tls.h"
#include "dist/worker.h"

typedef enum { SERVER_CREATED, SERVER_SERVING, SERVER_STOPPED } server_state_t;

enum { STOP_MS = 300, KEPT_CALLS = 1024 };

struct hr_server {
  hr_server_options_t options; /* texts are the caller's until create returns */
  const hr_transport_t* transport;
  hr_listener_t* listener;
  hr_cluster_t* cluster;
  hr_worker_t* worker;
  hr_master_t* master;
  char* target;
  int port;
  hr_mutex_t mu;
  hr_cond_t changed;
  server_state_t state;        /* guarded by mu, like what follows */
  bool is_ended;               /* stopping is over */
  HR_VEC(hr_request_t*) kept;  /* came before `serving` */
};

/* --- options ---------------------------------------------------------------------------------------------------------------------- */

void hr_server_options_init(hr_server_options_t* o) {
  const hr_options_t* e = hr_options();
  *o = (hr_server_options_t){.bind = hr_str(e->server_bind),
                             .insecure = e->server_insecure != 0,
                             .root = hr_str(e->server_root),
                             .max_message_bytes = INT32_MAX,
                             .max_graph_nodes = INT64_C(16) << 20,
                             .max_peer_bytes = INT64_C(8) << 30,
                             .max_sessions = 1024,
                             .max_steps = 1024,
                             .max_connections = 1024,
                             .heartbeat_ms = HR_MASTER_HEARTBEAT_MS,
                             .control_deadline_ms = HR_MASTER_CONTROL_MS};
}

static bool is_loopback(hr_str_t host) {
  return hr_str_is(host, "localhost") || hr_str_is(host, "::1") || hr_str_is(host, "[::1]") || hr_str_has_prefix(host, HR_STR("127."));
}

static hr_status_t choose_tls(hr_server_options_t* o) {
  const hr_tls_t* own;
  if (o->tls.certificate.size || o->tls.ca.size) return NULL;
  HR_TRY(hr_tls_of_environment(&own));
  o->tls = *own;
  return NULL;
}

static hr_status_t check_options(hr_server_options_t* o) {
  if (o->bind.size == 0) o->bind = HR_STR("127.0.0.1");
  HR_TRY(choose_tls(o));
  if (is_loopback(o->bind) || o->tls.certificate.size || o->insecure) return NULL;
  return HR_ERROR(INVALID_ARGUMENT,
                  "the server would listen on %.*s without TLS, so that anyone there may run graphs: give it a certificate, or allow it "
                  "(--insecure, HEADRACE_SERVER_INSECURE=1)",
                  HR_STR_ARG(o->bind));
}

/* --- requests --------------------------------------------------------------------------------------------------------------------- */

typedef struct {
  union {
    hr_worker_call_t worker;
    hr_master_call_t master;
  } call; /* first: a call is cast back */
  hr_request_t* request;
  const hr_transport_t* transport;
  hr_worker_t* w;
} served_t;

static void worker_done(hr_worker_call_t* self, hr_status_t take_status, hr_message_t* take_response) {
  served_t* s = (served_t*)self;
  s->transport->reply(s->request, take_status, take_response); /* waits for a `cancelled` that runs */
  hr_free(s);
}
static void master_done(hr_master_call_t* self, hr_status_t take_status, hr_message_t* take_response) {
  served_t* s = (served_t*)self;
  s->transport->reply(s->request, take_status, take_response); /* likewise */
  hr_master_call_deinit(self);
  hr_free(s);
}
static void worker_cancelled(hr_request_t* r) {
  served_t* s = r->arg;
  hr_worker_cancel(s->w, &s->call.worker);
}
static void master_cancelled(hr_request_t* r) {
  served_t* s = r->arg;
  hr_master_cancel(&s->call.master);
}

static int find_method(hr_str_t name, const char* const* names, int count) {
  for (int i = 0; i < count; ++i)
    if (hr_str_is(name, names[i])) return i;
  return -1;
}

static hr_message_t take_message(hr_request_t* r) {
  hr_message_t m = r->message;
  r->message = (hr_message_t){0};
  return m;
}

static void call_worker(hr_server_t* server, served_t* s, int method) {
  hr_request_t* r = s->request;
  r->cancelled = worker_cancelled;
  s->w = server->worker;
  s->call.worker =
      (hr_worker_call_t){.method = (hr_worker_method_t)method, .request = take_message(r), .done = worker_done, .peer = r->peer};
  hr_worker_call(server->worker, &s->call.worker);
}

static void call_master(hr_server_t* server, served_t* s, int method) {
  hr_request_t* r = s->request;
  r->cancelled = master_cancelled;
  s->call.master =
      (hr_master_call_t){.method = (hr_master_method_t)method, .request = take_message(r), .done = master_done, .peer = r->peer};
  hr_master_call(server->master, &s->call.master);
}

static void serve(hr_server_t* server, hr_request_t* r) {
  static const char worker[] = "/tensorflow.WorkerService/", master[] = "/tensorflow.MasterService/";
  int worker_method = -1, master_method = -1;
  if (hr_str_has_prefix(r->method, HR_STR(worker)))
    worker_method = find_method(hr_str_slice(r->method, sizeof worker - 1, r->method.size), hr_worker_method_names, HR_WORKER_METHOD_COUNT);
  else if (hr_str_has_prefix(r->method, HR_STR(master)))
    master_method = find_method(hr_str_slice(r->method, sizeof master - 1, r->method.size), hr_master_method_names, HR_MASTER_METHOD_COUNT);
  if (worker_method < 0 && master_method < 0) {
    server->transport->reply(r, HR_ERROR(UNIMPLEMENTED, "no method %.*s here", HR_STR_ARG(hr_str_slice(r->method, 0, 200))), NULL);
    return;
  }
  served_t* s = hr_alloc_zero(sizeof *s);
  if (!s) {
    server->transport->reply(r, hr_status_out_of_memory(), NULL);
    return;
  }
  s->request = r;
  s->transport = server->transport;
  r->arg = s;
  if (worker_method >= 0) call_worker(server, s, worker_method);
  else call_master(server, s, master_method);
}

static void kept_cancelled(hr_request_t* r) { (void)r; } /* it is answered when the server starts or stops */

static void handle(void* arg, hr_request_t* r) {
  hr_server_t* server = arg;
  hr_status_t status = NULL;
  hr_mutex_lock(&server->mu);
  const server_state_t state = server->state;
  if (state == SERVER_CREATED) {
    r->cancelled = kept_cancelled;
    status = server->kept.count < KEPT_CALLS ? hr_vec_push(&server->kept, r) : HR_ERROR(UNAVAILABLE, "the server has not been started");
  }
  hr_mutex_unlock(&server->mu);
  if (state == SERVER_STOPPED) status = HR_ERROR(UNAVAILABLE, "the server has stopped");
  if (status) server->transport->reply(r, status, NULL);
  else if (state == SERVER_SERVING) serve(server, r);
}

static void serve_kept(hr_server_t* server, bool refuse) {
  for (;;) {
    hr_mutex_lock(&server->mu);
    hr_request_t* r = server->kept.count ? server->kept.data[--server->kept.count] : NULL;
    hr_mutex_unlock(&server->mu);
    if (!r) return;
    if (refuse) server->transport->reply(r, HR_ERROR(UNAVAILABLE, "the server has stopped"), NULL);
    else serve(server, r);
  }
}

/* --- life ------------------------------------------------------------------------------------------------------------------------- */

static hr_status_t make_text(hr_str_t host, int port, const char* prefix, char** out) {
  hr_strbuf_t b;
  size_t size;
  hr_strbuf_init(&b);
  hr_strbuf_format(&b, "%s%.*s:%d", prefix, HR_STR_ARG(host), port);
  return hr_strbuf_take(&b, out, &size);
}

/* Binds the port and settles the cluster, in which this task has the address that it has got. */
static hr_status_t bind_server(hr_server_t* s, const void* def, size_t size, const hr_server_def_t* d) {
  hr_cluster_t* listed = NULL;
  HR_TRY(hr_cluster_create(def, size, s->transport, &s->options.tls, HR_STR(""), &listed));
  hr_str_t host;
  int port;
  char* own = NULL;
  hr_status_t status = hr_server_def_split(listed->tasks[listed->self].address, &host, &port);
  if (d->port) port = d->port;
  const hr_listener_limits_t limits = {s->options.max_message_bytes, s->options.max_connections};
  if (!status)
    status = s->transport->listen(s->options.bind, port, &s->options.tls, &limits, handle, s, &s->listener, &s->port);
  if (!status) status = make_text(host, s->port, "", &own);
  if (!status) status = make_text(host, s->port, "grpc://", &s->target);
  if (!status) status = hr_cluster_create(def, size, s->transport, &s->options.tls, hr_str(own), &s->cluster);
  hr_free(own);
  hr_cluster_release(listed);
  return status;
}

static hr_status_t staff_server(hr_server_t* s, const hr_server_def_t* d) {
  const hr_server_options_t* o = &s->options;
  const hr_worker_options_t worker = {.cluster = s->cluster,
                                      .cpu_devices = d->cpu_devices,
                                      .is_confined = true,
                                      .root = o->root,
                                      .max_graph_nodes = o->max_graph_nodes,
                                      .max_peer_bytes = o->max_peer_bytes,
                                      .max_sessions = o->max_sessions,
                                      .max_steps = o->max_steps};
  HR_TRY(hr_worker_create(&worker, &s->worker));
  const hr_master_options_t master = {.cluster = s->cluster,
                                      .worker = s->worker,
                                      .default_config = d->default_config,
                                      .heartbeat_ms = o->heartbeat_ms,
                                      .control_deadline_ms = o->control_deadline_ms,
                                      .max_graph_nodes = o->max_graph_nodes,
                                      .max_sessions = o->max_sessions,
                                      .max_steps = o->max_steps};
  return hr_master_create(&master, &s->master);
}

hr_status_t hr_server_create(const void* server_def, size_t size, const hr_server_options_t* options, hr_server_t** out) {
  hr_server_def_t def;
  HR_TRY(hr_server_def_decode(server_def, size, &def));
  hr_server_t* s = hr_alloc_zero(sizeof *s);
  if (!s) return hr_status_out_of_memory();
  hr_mutex_init(&s->mu);
  hr_cond_init(&s->changed);
  if (options) s->options = *options;
  else hr_server_options_init(&s->options);
  hr_status_t status = check_options(&s->options);
  if (!status) status = hr_transport_find(def.protocol, &s->transport);
  if (!status) status = bind_server(s, server_def, size, &def);
  if (!status) status = staff_server(s, &def);
  if (status) hr_server_destroy(s);
  else *out = s;
  return status;
}

hr_status_t hr_server_start(hr_server_t* s) {
  hr_mutex_lock(&s->mu);
  const server_state_t was = s->state;
  if (was == SERVER_CREATED) s->state = SERVER_SERVING;
  hr_mutex_unlock(&s->mu);
  if (was == SERVER_STOPPED) return HR_ERROR(FAILED_PRECONDITION, "the server has stopped; a new one is needed");
  if (was != SERVER_CREATED) return NULL;
  serve_kept(s, false);
  return hr_master_publish(s->master, hr_str(s->target + sizeof "grpc://" - 1));
}

hr_status_t hr_server_stop(hr_server_t* s) {
  hr_mutex_lock(&s->mu);
  const server_state_t was = s->state;
  s->state = SERVER_STOPPED;
  while (was == SERVER_STOPPED && !s->is_ended) hr_cond_wait(&s->changed, &s->mu);
  hr_mutex_unlock(&s->mu);
  if (was == SERVER_STOPPED) return NULL;
  serve_kept(s, true);
  if (s->master) hr_master_stop(s->master);
  if (s->worker) hr_worker_stop(s->worker, STOP_MS);
  if (s->listener) s->transport->stop(s->listener, STOP_MS);
  hr_mutex_lock(&s->mu);
  s->listener = NULL;
  s->is_ended = true;
  hr_cond_wake_all(&s->changed);
  hr_mutex_unlock(&s->mu);
  return NULL;
}

void hr_server_join(hr_server_t* s) {
  hr_mutex_lock(&s->mu);
  while (!s->is_ended) hr_cond_wait(&s->changed, &s->mu);
  hr_mutex_unlock(&s->mu);
}

const char* hr_server_target(const hr_server_t* s) { return s->target; }

void hr_server_destroy(hr_server_t* s) {
  if (!s) return;
  hr_status_release(hr_server_stop(s));
  hr_master_destroy(s->master);
  hr_worker_release(s->worker);
  hr_cluster_release(s->cluster);
  hr_vec_deinit(&s->kept);
  hr_free(s->target);
  hr_cond_deinit(&s->changed);
  hr_mutex_deinit(&s->mu);
  hr_free(s);
}
