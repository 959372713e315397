/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions: options, life, shared containers. Running is run.c. */
#include "capi/session.h"

#include "headrace/session.h"

TF_SessionOptions* TF_NewSessionOptions(void) {
  TF_SessionOptions* o = hr_alloc_zero(sizeof *o);
  if (o) hr_session_options_init(&o->options);
  return o;
}

void TF_DeleteSessionOptions(TF_SessionOptions* options) {
  if (!options) return;
  if (options->options.resources) hr_resources_release(options->options.resources);
  hr_free(options->target);
  hr_free(options->config);
  hr_free(options);
}

void TF_SetTarget(TF_SessionOptions* options, const char* target) {
  if (!options) return;
  hr_free(options->target);
  options->target = hr_alloc_copy(target ? target : "", hr_capi_str(target).size);
  options->no_memory = !options->target;
}

void TF_SetConfig(TF_SessionOptions* options, const void* proto, size_t proto_len, TF_Status* status) {
  hr_session_options_t fresh;
  if (!options) {
    hr_capi_report(status, hr_capi_null("the options"));
    return;
  }
  hr_session_options_init(&fresh);
  char* config = NULL;
  hr_status_t outcome = hr_session_options_decode(&fresh, proto, proto ? proto_len : 0);
  if (!outcome && !(config = hr_alloc_copy(proto ? proto : "", proto ? proto_len : 0))) outcome = hr_status_out_of_memory();
  if (!outcome) {
    hr_free(options->config);
    options->config = config;
    options->config_size = proto ? proto_len : 0;
    fresh.resources = options->options.resources;
    options->options = fresh;
  }
  hr_capi_report(status, outcome);
}

void HR_ShareContainers(TF_SessionOptions* options, TF_Session* session) {
  if (!options) return;
  hr_resources_t* shared = session ? hr_session_share_resources(session->session) : NULL;
  if (options->options.resources) hr_resources_release(options->options.resources);
  options->options.resources = shared;
}

static void session_clear(TF_Session* session, hr_str_t container) { /* a closed one has nothing to clear */
  hr_resources_t* rs = hr_session_share_resources(session->session);
  if (rs) hr_resources_clear(rs, container);
  hr_resources_release(rs);
}

void HR_ClearContainer(TF_Session* session, const char* container) {
  if (session) session_clear(session, hr_capi_str(container));
}

/* --- life ------------------------------------------------------------------------------------------------------------------------- */
static struct {
  hr_mutex_t mu;
  TF_Session* first; /* for TF_Reset */
} session_list = {HR_MUTEX_INIT, NULL};

static void session_enlist(TF_Session* s) {
  hr_mutex_lock(&session_list.mu);
  s->next = session_list.first;
  if (s->next) s->next->previous = s;
  session_list.first = s;
  hr_mutex_unlock(&session_list.mu);
}

static void session_delist(TF_Session* s) {
  hr_mutex_lock(&session_list.mu);
  if (s->previous) s->previous->next = s->next;
  else session_list.first = s->next;
  if (s->next) s->next->previous = s->previous;
  hr_mutex_unlock(&session_list.mu);
}

static hr_status_t session_effective_options(const TF_SessionOptions* given, hr_session_options_t* out) {
  hr_session_options_init(out);
  if (given) *out = given->options;
  if (given && given->no_memory) return hr_status_out_of_memory();
  out->target = given && given->target ? hr_str(given->target) : HR_STR("");
  out->config = given && given->config ? (hr_str_t){given->config, given->config_size} : HR_STR("");
  return NULL;
}

hr_status_t hr_capi_session_create(hr_graph_t* graph, const TF_SessionOptions* options, TF_Session** out) {
  hr_session_options_t effective;
  TF_Session* s = NULL;
  hr_status_t status = session_effective_options(options, &effective);
  if (!status && !(s = hr_alloc_zero(sizeof *s))) status = hr_status_out_of_memory();
  if (!status) status = hr_session_create(graph, &effective, &s->session);
  if (status) {
    hr_free(s);
    return status;
  }
  session_enlist(s);
  *out = s;
  return NULL;
}

TF_Session* TF_NewSession(TF_Graph* graph, const TF_SessionOptions* opts, TF_Status* status) {
  TF_Session* s = NULL;
  hr_capi_report(status, hr_capi_session_create(hr_capi_graph(graph), opts, &s));
  return s;
}

void TF_CloseSession(TF_Session* session, TF_Status* status) {
  hr_capi_report(status, session ? hr_session_close(session->session) : hr_capi_null("the session"));
}

void TF_DeleteSession(TF_Session* session, TF_Status* status) {
  if (session) {
    session_delist(session);
    hr_session_destroy(session->session);
    hr_free(session);
  }
  hr_capi_report(status, NULL);
}

void TF_ExtendSession(TF_Session* session, TF_Status* status) { hr_capi_report(status, session ? NULL : hr_capi_null("the session")); }

/* --- containers of all sessions ------------------------------------------------------------------------------------------------------ */
static void reset_local(const char** containers, int count) {
  hr_mutex_lock(&session_list.mu);
  for (TF_Session* s = session_list.first; s; s = s->next) {
    if (!count) session_clear(s, HR_STR(""));
    for (int i = 0; i < count; ++i) session_clear(s, hr_capi_str(containers[i]));
  }
  hr_mutex_unlock(&session_list.mu);
}

static hr_status_t reset_containers(hr_str_t target, const char** containers, int count) {
  bool done = false;
  hr_str_t* names = hr_alloc_array((size_t)count + 1, sizeof *names);
  if (!names) return hr_status_out_of_memory();
  for (int i = 0; i < count; ++i) names[i] = hr_capi_str(containers[i]);
  hr_status_t status = hr_session_reset(target, names, count, &done);
  hr_free(names);
  if (!done) reset_local(containers, count);
  return status;
}

void TF_Reset(const TF_SessionOptions* opt, const char** containers, int ncontainers, TF_Status* status) {
  hr_session_options_t effective;
  hr_status_t outcome = session_effective_options(opt, &effective);
  if (!outcome) outcome = hr_capi_check_count(ncontainers, containers, "containers");
  if (!outcome) outcome = reset_containers(effective.target, containers, ncontainers);
  hr_capi_report(status, outcome);
}
