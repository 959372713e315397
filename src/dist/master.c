/* SPDX-License-Identifier: Apache-2.0 */
/* The master's life, and the road of a call: counted in, given a token that ends with the caller's and the master's, handed to its method,
 * counted out. */
#include "base/alloc.h"
#include "base/errand.h"
#include "dist/master_state.h"

const char* const hr_master_method_names[HR_MASTER_METHOD_COUNT] = {
#define HR_MASTER_METHOD(name) #name,
#include "dist/master_method.def"
#undef HR_MASTER_METHOD
};

typedef hr_status_t (*method_fn_t)(hr_master_job_t* j);
static const method_fn_t methods[HR_MASTER_METHOD_COUNT] = {
  [HR_MASTER_CreateSession] = hr_master_create_session,
  [HR_MASTER_ExtendSession] = hr_master_extend_session,
  [HR_MASTER_PartialRunSetup] = hr_master_partial_run_setup,
  [HR_MASTER_RunStep] = hr_master_run_step,
  [HR_MASTER_CloseSession] = hr_master_close_session,
  [HR_MASTER_ListDevices] = hr_master_list_devices,
  [HR_MASTER_Reset] = hr_master_reset,
  [HR_MASTER_MakeCallable] = hr_master_make_callable,
  [HR_MASTER_RunCallable] = hr_master_run_callable,
  [HR_MASTER_ReleaseCallable] = hr_master_release_callable,
};

/* --- calls ---------------------------------------------------------------------------------------------------------------------------- */

static hr_status_t enter_master(hr_master_t* m) {
  hr_mutex_lock(&m->mu);
  const bool open = !m->is_stopping;
  if (open) ++m->calls;
  hr_mutex_unlock(&m->mu);
  return open ? NULL : HR_ERROR(UNAVAILABLE, "the server is stopping");
}

static void leave_master(hr_master_t* m) {
  hr_mutex_lock(&m->mu);
  if (--m->calls == 0) hr_cond_wake_all(&m->idle);
  hr_mutex_unlock(&m->mu);
}

static hr_status_t run_method(hr_master_t* m, hr_master_method_t method, const hr_message_t* request, hr_cancel_t* cancel,
                              hr_message_t* out_response) {
  hr_cancel_t own;
  hr_cancel_init(&own);
  hr_cancel_link_t stopping, caller;
  hr_cancel_link(&stopping, &m->stopping, &own);
  hr_cancel_link(&caller, cancel, &own);
  hr_master_job_t j = {.m = m, .request = request, .cancel = &own};
  hr_message_builder_init(&j.response);
  hr_status_t status = methods[method](&j);
  if (!status) status = hr_message_builder_take(&j.response, out_response);
  else hr_message_builder_deinit(&j.response);
  hr_cancel_unlink(&caller);
  hr_cancel_unlink(&stopping);
  hr_cancel_deinit(&own);
  return status;
}

hr_status_t hr_master_run(hr_master_t* m, hr_master_method_t method, hr_message_t* take_request, hr_cancel_t* cancel,
                          hr_message_t* out_response) {
  hr_status_t status = enter_master(m);
  if (!status) {
    status = run_method(m, method, take_request, cancel, out_response);
    leave_master(m);
  }
  hr_message_deinit(take_request);
  return status;
}

/* Counted in until `done` has returned: what it uses is there. */
static void run_call(hr_errand_t* errand) {
  hr_master_call_t* call = (hr_master_call_t*)(void*)((char*)errand - offsetof(hr_master_call_t, errand));
  hr_master_t* m = call->master;
  hr_message_t response = {0};
  hr_status_t status = run_method(m, call->method, &call->request, &call->cancel, &response);
  hr_message_deinit(&call->request);
  call->done(call, status, status ? NULL : &response);
  hr_message_deinit(&response);
  leave_master(m);
}

void hr_master_call(hr_master_t* m, hr_master_call_t* call) {
  call->master = m;
  hr_cancel_init(&call->cancel);
  call->errand.run = run_call;
  hr_status_t status = enter_master(m);
  const bool entered = !status;
  if (entered && !(status = hr_errand_start(&call->errand))) return;
  hr_message_deinit(&call->request);
  call->done(call, status, NULL);
  if (entered) leave_master(m);
}

void hr_master_cancel(hr_master_call_t* call) { hr_cancel_start(&call->cancel, HR_ERROR(CANCELLED, "the client gave up")); }

/* --- masters of this process ---------------------------------------------------------------------------------------------------------- */

static hr_mutex_t published_mu = HR_MUTEX_INIT; /* outside of master.mu */
static hr_master_t* published;

hr_status_t hr_master_publish(hr_master_t* m, hr_str_t address) {
  char* text = hr_alloc_copy(address.data, address.size);
  if (!text) return hr_status_out_of_memory();
  hr_mutex_lock(&published_mu);
  m->address = text;
  m->next_published = published;
  published = m;
  hr_mutex_unlock(&published_mu);
  return NULL;
}

static void withdraw(hr_master_t* m) {
  hr_mutex_lock(&published_mu);
  hr_master_t** at = &published;
  while (*at && *at != m) at = &(*at)->next_published;
  if (*at) *at = m->next_published;
  hr_free(m->address);
  m->address = NULL;
  hr_mutex_unlock(&published_mu);
}

hr_status_t hr_master_run_local(hr_str_t address, hr_master_method_t method, hr_message_t* take_request, hr_cancel_t* cancel,
                                hr_message_t* out_response, bool* out_found) {
  hr_mutex_lock(&published_mu);
  hr_master_t* m = published;
  while (m && !hr_str_is(address, m->address)) m = m->next_published;
  hr_status_t status = m ? enter_master(m) : NULL;
  hr_mutex_unlock(&published_mu);
  *out_found = m != NULL;
  if (!m) return NULL;
  if (!status) {
    status = run_method(m, method, take_request, cancel, out_response);
    leave_master(m);
  }
  hr_message_deinit(take_request);
  return status;
}

void hr_master_call_deinit(hr_master_call_t* call) { hr_cancel_deinit(&call->cancel); }

/* --- life ----------------------------------------------------------------------------------------------------------------------------- */

static hr_status_t fill_master(hr_master_t* m, const hr_master_options_t* o) {
  m->options = *o;
  if (m->options.heartbeat_ms <= 0) m->options.heartbeat_ms = HR_MASTER_HEARTBEAT_MS;
  if (m->options.control_deadline_ms <= 0) m->options.control_deadline_ms = HR_MASTER_CONTROL_MS;
  m->default_config = hr_alloc_copy(o->default_config.data, o->default_config.size);
  if (!m->default_config) return hr_status_out_of_memory();
  m->options.default_config.data = m->default_config;
  return hr_heartbeat_create(o->cluster, m->options.heartbeat_ms, &m->heartbeat);
}

static void free_master(hr_master_t* m) {
  hr_heartbeat_destroy(m->heartbeat);
  hr_request_ids_deinit(&m->ids);
  hr_map_deinit(&m->sessions);
  hr_cancel_deinit(&m->stopping);
  hr_cond_deinit(&m->idle);
  hr_mutex_deinit(&m->mu);
  hr_cluster_release(m->cluster);
  hr_free(m->default_config);
  hr_free(m);
}

hr_status_t hr_master_create(const hr_master_options_t* options, hr_master_t** out) {
  hr_master_t* m = hr_alloc_zero(sizeof *m);
  if (!m) return hr_status_out_of_memory();
  m->cluster = hr_cluster_retain(options->cluster);
  hr_mutex_init(&m->mu);
  hr_cond_init(&m->idle);
  hr_cancel_init(&m->stopping);
  hr_map_init(&m->sessions);
  hr_request_ids_init(&m->ids);
  hr_status_t status = fill_master(m, options);
  if (status) free_master(m);
  else *out = m;
  return status;
}

void hr_master_stop(hr_master_t* m) {
  withdraw(m);
  hr_mutex_lock(&m->mu);
  m->is_stopping = true;
  hr_mutex_unlock(&m->mu);
  hr_cancel_start(&m->stopping, HR_ERROR(UNAVAILABLE, "the server was stopped"));
  hr_master_session_close_all(m);
  hr_mutex_lock(&m->mu);
  while (m->calls) hr_cond_wait(&m->idle, &m->mu);
  hr_mutex_unlock(&m->mu);
  hr_master_session_close_all(m); /* one that was being made */
}

void hr_master_destroy(hr_master_t* m) {
  if (!m) return;
  hr_master_stop(m);
  free_master(m);
}
