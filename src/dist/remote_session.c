/* SPDX-License-Identifier: Apache-2.0 */
/* A remote session's life, its devices, and Reset. */
#include "base/alloc.h"
#include "base/vec.h"
#include "dist/remote_state.h"
#include "dist/tls.h"

enum { CLOSE_MS = 900, RESET_MS = 10000 };

void hr_remote_token_init(hr_remote_token_t* t, hr_remote_t* r, hr_cancel_t* caller) {
  hr_cancel_init(&t->own);
  hr_cancel_link(&t->closing, &r->closing, &t->own);
  hr_cancel_link(&t->caller, caller, &t->own);
}

void hr_remote_token_deinit(hr_remote_token_t* t) {
  hr_cancel_unlink(&t->caller);
  hr_cancel_unlink(&t->closing);
  hr_cancel_deinit(&t->own);
}

/* --- devices -------------------------------------------------------------------------------------------------------------------------- */

static hr_status_t make_handle_request(void* arg, hr_message_t* out) { /* ListDevices and CloseSession: 1 session_handle */
  hr_message_builder_t b;
  hr_message_builder_init(&b);
  hr_writer_str(&b.bytes, 1, hr_str(((hr_remote_t*)arg)->handle));
  return hr_message_builder_take(&b, out);
}

static hr_status_t read_device(hr_device_set_t* set, hr_cursor_t c, bool is_remote) {
  hr_str_t name = HR_STR("");
  uint64_t incarnation = 0;
  int64_t memory = 0;
  while (!hr_cursor_is_done(&c)) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&c, &f));
    switch (f.key) {
      case HR_KEY_SPAN(1): name = hr_cursor_str(f.span); break;
      case HR_KEY_VARINT(4): memory = (int64_t)f.value; break;
      case HR_KEY_FIXED64(6): incarnation = f.value; break;
    }
  }
  return hr_device_set_add(set, name, incarnation, memory, is_remote);
}

static hr_status_t read_devices(const hr_message_t* response, hr_device_set_t* set) {
  hr_strbuf_t scratch;
  hr_strbuf_init(&scratch);
  hr_cursor_t c;
  hr_status_t status = hr_message_reader_flat(hr_message_reader_make(response), &scratch, &c);
  while (!status && !hr_cursor_is_done(&c)) {
    hr_field_t f;
    if ((status = hr_cursor_next(&c, &f))) break;
    if (f.key == HR_KEY_SPAN(1) || f.key == HR_KEY_SPAN(2)) status = read_device(set, f.span, f.key == HR_KEY_SPAN(2));
  }
  hr_strbuf_deinit(&scratch);
  return status;
}

static hr_status_t remote_list_devices(hr_remote_session_t* base, hr_device_set_t** out) {
  hr_remote_t* r = (hr_remote_t*)base;
  hr_remote_token_t token;
  hr_remote_token_init(&token, r, NULL);
  hr_message_t response = {0};
  hr_device_set_t* set = NULL;
  hr_status_t status = hr_remote_extend(r, NULL, &token.own);
  const hr_remote_call_t call = {.method = HR_MASTER_ListDevices, .make = make_handle_request, .arg = r, .deadline_ms = r->timeout_ms,
                                 .cancel = &token.own};
  if (!status) status = hr_remote_call_run(&r->peer, &call, &response);
  if (!status) status = hr_device_set_create(&set);
  if (!status) status = read_devices(&response, set);
  hr_message_deinit(&response);
  hr_remote_token_deinit(&token);
  if (!status) *out = set;
  else hr_device_set_release(set);
  return status;
}

/* --- life ----------------------------------------------------------------------------------------------------------------------------- */

/* A server that is dead, frozen or new has nothing that could still be closed: what its session meant to say has been said by its steps. */
static hr_status_t forgive_silence(hr_status_t take_status) {
  const hr_code_t code = hr_status_code(take_status);
  if (code != HR_DEADLINE_EXCEEDED && code != HR_UNAVAILABLE) return take_status;
  hr_status_release(take_status);
  return NULL;
}

/* The steps inside end first (their servers are told); then the session there. */
static hr_status_t remote_close(hr_remote_session_t* base) {
  hr_remote_t* r = (hr_remote_t*)base;
  hr_cancel_start(&r->closing, HR_ERROR(CANCELLED, "the step was cancelled: the session was closed"));
  hr_mutex_lock(&r->mu); /* a CreateSession under way has ended by now */
  const bool has_session = r->handle != NULL;
  hr_mutex_unlock(&r->mu);
  if (!has_session) return NULL;
  const hr_remote_call_t call = {.method = HR_MASTER_CloseSession, .make = make_handle_request, .arg = r, .once = true,
                                 .deadline_ms = r->timeout_ms > 0 && r->timeout_ms < CLOSE_MS ? r->timeout_ms : CLOSE_MS};
  hr_message_t response = {0};
  hr_status_t status = hr_remote_call_run(&r->peer, &call, &response);
  hr_message_deinit(&response);
  return forgive_silence(status);
}

static void remote_destroy(hr_remote_session_t* base) {
  hr_remote_t* r = (hr_remote_t*)base;
  if (r->peer.channel) r->peer.transport->disconnect(r->peer.channel);
  hr_mutex_deinit(&r->mu);
  hr_cancel_deinit(&r->closing);
  hr_free(r->handle);
  hr_free(r->target);
  hr_free(r->config);
  hr_free(r);
}

static const hr_remote_session_table_t remote_table = {
  .run = hr_remote_run,
  .partial_setup = hr_remote_partial_setup,
  .partial_step = hr_remote_partial_step,
  .list_devices = remote_list_devices,
  .close = remote_close,
  .destroy = remote_destroy,
};

/* RPCOptions (ConfigProto's 13) = 1 use_rpc_for_inprocess_master. */
static hr_status_t wants_shortcut(hr_cursor_t config, bool* out) {
  *out = true;
  while (!hr_cursor_is_done(&config)) {
    hr_field_t f, g;
    HR_TRY(hr_cursor_next(&config, &f));
    for (hr_cursor_t c = f.span; f.key == HR_KEY_SPAN(13) && !hr_cursor_is_done(&c);) {
      HR_TRY(hr_cursor_next(&c, &g));
      if (g.key == HR_KEY_VARINT(1)) *out = g.value == 0;
    }
  }
  return NULL;
}

/* "grpc://host:port" to a peer; the target's bytes must stay. */
static hr_status_t open_peer(hr_str_t target, hr_remote_peer_t* out) {
  size_t at = 0;
  while (at + 3 <= target.size && memcmp(target.data + at, "://", 3) != 0) ++at;
  const hr_str_t protocol = hr_str_slice(target, 0, at), address = hr_str_slice(target, at + 3, target.size);
  if (address.size == 0) return HR_ERROR(INVALID_ARGUMENT, "session target '%.*s' names no host and port", HR_STR_ARG(target));
  HR_TRY(hr_transport_find(protocol, &out->transport));
  const hr_tls_t* tls = NULL;
  HR_TRY(hr_tls_of_environment(&tls));
  out->address = address;
  return out->transport->connect(address, tls, &out->channel);
}

static hr_status_t fill_remote(hr_remote_t* r, const hr_session_options_t* options, hr_str_t config) {
  r->target = hr_alloc_copy(options->target.data, options->target.size);
  r->config = hr_alloc_copy(config.data, config.size);
  r->config_size = config.size;
  r->timeout_ms = options->timeout_ms;
  if (!r->target || !r->config) return hr_status_out_of_memory();
  HR_TRY(open_peer(hr_str(r->target), &r->peer));
  return wants_shortcut(hr_cursor_make(config.data, config.size), &r->peer.shortcut);
}

static hr_status_t remote_create(const hr_session_options_t* options, hr_str_t config, hr_remote_session_t** out) {
  hr_remote_t* r = hr_alloc_zero(sizeof *r);
  if (!r) return hr_status_out_of_memory();
  r->base.table = &remote_table;
  hr_mutex_init(&r->mu);
  hr_cancel_init(&r->closing);
  hr_status_t status = fill_remote(r, options, config);
  if (status) remote_destroy(&r->base);
  else *out = &r->base;
  return status;
}

/* --- Reset ---------------------------------------------------------------------------------------------------------------------------- */

typedef struct {
  const hr_str_t* containers;
  int count;
} reset_request_t;

static hr_status_t make_reset_request(void* arg, hr_message_t* out) {
  const reset_request_t* q = arg;
  hr_message_builder_t b;
  hr_message_builder_init(&b);
  for (int i = 0; i < q->count; ++i) hr_writer_str(&b.bytes, 1, q->containers[i]);
  return hr_message_builder_take(&b, out);
}

static hr_status_t remote_reset(hr_str_t target, const hr_str_t* containers, int count) {
  hr_remote_peer_t peer = {.shortcut = true};
  HR_TRY(open_peer(target, &peer));
  reset_request_t q = {containers, count};
  const hr_remote_call_t call = {.method = HR_MASTER_Reset, .make = make_reset_request, .arg = &q, .deadline_ms = RESET_MS};
  hr_message_t response = {0};
  hr_status_t status = hr_remote_call_run(&peer, &call, &response);
  hr_message_deinit(&response);
  peer.transport->disconnect(peer.channel);
  return status;
}

const hr_session_factory_t hr_remote_grpc = {"grpc://", remote_create, remote_reset};
const hr_session_factory_t hr_remote_inproc = {"inproc://", remote_create, remote_reset};
