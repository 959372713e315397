/* SPDX-License-Identifier: Apache-2.0 */
/* TF_Server, and headrace/server.h's options. */
#include "headrace/server.h"
#include "base/alloc.h"
#include "capi/handles.h"
#include "dist/server.h"

struct TF_Server {
  hr_server_t* server;
};
struct HR_ServerOptions { /* texts: own bytes */
  char *bind, *root, *certificate, *key, *ca;
  bool has_bind, has_root, insecure;
  int64_t limits[8]; /* 0: the default */
};

/* --- options ------------------------------------------------------------------------------------------------------------------------ */

HR_ServerOptions* HR_NewServerOptions(void) { return hr_alloc_zero(sizeof(HR_ServerOptions)); }

void HR_DeleteServerOptions(HR_ServerOptions* o) {
  if (!o) return;
  char* const texts[] = {o->bind, o->root, o->certificate, o->key, o->ca};
  for (int i = 0; i < 5; ++i) hr_free(texts[i]);
  hr_free(o);
}

static hr_status_t set_text(char** place, const char* text) {
  const hr_str_t s = hr_capi_str(text);
  char* copy = hr_alloc_copy(s.data, s.size);
  if (!copy) return hr_status_out_of_memory();
  hr_free(*place);
  *place = copy;
  return NULL;
}

static hr_status_t set_bind(HR_ServerOptions* o, const char* host, bool insecure) {
  if (!o) return hr_capi_null("options");
  HR_TRY(set_text(&o->bind, host));
  o->has_bind = true;
  o->insecure = insecure;
  return NULL;
}
void HR_ServerSetBind(HR_ServerOptions* options, const char* host, unsigned char insecure, TF_Status* status) {
  hr_capi_report(status, set_bind(options, host, insecure != 0));
}

static hr_status_t set_tls(HR_ServerOptions* o, const char* certificate, const char* key, const char* ca) {
  if (!o) return hr_capi_null("options");
  if (!certificate || !key) return hr_capi_null(certificate ? "key" : "certificate");
  HR_TRY(set_text(&o->certificate, certificate));
  HR_TRY(set_text(&o->key, key));
  return set_text(&o->ca, ca);
}
void HR_ServerSetTls(HR_ServerOptions* options, const char* certificate, const char* key, const char* ca, TF_Status* status) {
  hr_capi_report(status, set_tls(options, certificate, key, ca));
}

static hr_status_t set_root(HR_ServerOptions* o, const char* folder) {
  if (!o) return hr_capi_null("options");
  o->has_root = true;
  return set_text(&o->root, folder);
}
void HR_ServerSetRoot(HR_ServerOptions* options, const char* folder, TF_Status* status) {
  hr_capi_report(status, set_root(options, folder));
}

static hr_status_t set_limit(HR_ServerOptions* o, int limit, int64_t value) {
  if (!o) return hr_capi_null("options");
  if (limit < 0 || limit > (int)HR_SERVER_CONTROL_MS) return HR_ERROR(INVALID_ARGUMENT, "there is no server limit %d", limit);
  if (value < 1) return HR_ERROR(INVALID_ARGUMENT, "server limit %d would be %lld; it is at least 1", limit, (long long)value);
  o->limits[limit] = value;
  return NULL;
}
void HR_ServerSetLimit(HR_ServerOptions* options, HR_ServerLimit limit, int64_t value, TF_Status* status) {
  hr_capi_report(status, set_limit(options, (int)limit, value));
}

/* --- servers -------------------------------------------------------------------------------------------------------------------------- */

static void take_limit(int64_t* place, int64_t limit) {
  if (limit) *place = limit;
}
static void take_small(int32_t* place, int64_t limit) {
  if (limit) *place = limit > INT32_MAX ? INT32_MAX : (int32_t)limit;
}

static void take_options(hr_server_options_t* out, const HR_ServerOptions* o) {
  if (o->has_bind) {
    out->bind = hr_str(o->bind);
    out->insecure = o->insecure;
  }
  if (o->has_root) out->root = hr_str(o->root);
  if (o->certificate) out->tls = (hr_tls_t){hr_str(o->certificate), hr_str(o->key), hr_str(o->ca)};
  take_limit(&out->max_message_bytes, o->limits[HR_SERVER_MESSAGE_BYTES]);
  take_limit(&out->max_peer_bytes, o->limits[HR_SERVER_PEER_BYTES]);
  take_limit(&out->max_graph_nodes, o->limits[HR_SERVER_GRAPH_NODES]);
  take_small(&out->max_sessions, o->limits[HR_SERVER_SESSIONS]);
  take_small(&out->max_steps, o->limits[HR_SERVER_STEPS]);
  take_small(&out->max_connections, o->limits[HR_SERVER_CONNECTIONS]);
  take_limit(&out->heartbeat_ms, o->limits[HR_SERVER_HEARTBEAT_MS]);
  take_limit(&out->control_deadline_ms, o->limits[HR_SERVER_CONTROL_MS]);
}

static hr_status_t new_server(const void* def, size_t size, const HR_ServerOptions* o, TF_Server** out) {
  hr_server_options_t options;
  if (!def && size) return hr_capi_null("server definition");
  hr_server_options_init(&options);
  if (o) take_options(&options, o);
  TF_Server* s = hr_alloc_zero(sizeof *s);
  if (!s) return hr_status_out_of_memory();
  hr_status_t status = hr_server_create(def, size, &options, &s->server);
  if (status) hr_free(s);
  else *out = s;
  return status;
}

TF_Server* HR_NewServer(const void* server_def, size_t size, const HR_ServerOptions* options, TF_Status* status) {
  TF_Server* s = NULL;
  hr_capi_report(status, new_server(server_def, size, options, &s));
  return s;
}

TF_Server* TF_NewServer(const void* proto, size_t proto_len, TF_Status* status) { return HR_NewServer(proto, proto_len, NULL, status); }

void TF_ServerStart(TF_Server* server, TF_Status* status) {
  hr_capi_report(status, server ? hr_server_start(server->server) : hr_capi_null("server"));
}
void TF_ServerStop(TF_Server* server, TF_Status* status) {
  hr_capi_report(status, server ? hr_server_stop(server->server) : hr_capi_null("server"));
}
void TF_ServerJoin(TF_Server* server, TF_Status* status) {
  if (server) hr_server_join(server->server);
  hr_capi_report(status, server ? NULL : hr_capi_null("server"));
}
const char* TF_ServerTarget(TF_Server* server) { return server ? hr_server_target(server->server) : ""; }
void TF_DeleteServer(TF_Server* server) {
  if (!server) return;
  hr_server_destroy(server->server);
  hr_free(server);
}
