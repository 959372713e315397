/* SPDX-License-Identifier: Apache-2.0 */
/* Calls to other tasks: one batch each. A channel reconnects by itself, at most a
 * second apart; it shares no connection with another channel. */
#include <errno.h>
#include <grpc/byte_buffer.h>
#include <grpc/slice.h>
#include <grpc/support/alloc.h>
#include <grpc/support/time.h>
#include "dist/transport_grpc_parts.h"

typedef struct client_call {
  hr_transport_grpc_tag_t tag;
  hr_call_t* user;
  hr_channel_t* channel;
  grpc_call* call;
  grpc_byte_buffer *request, *response;
  grpc_metadata_array head, tail;
  grpc_status_code code;
  grpc_slice details;
  struct client_call *next, *previous; /* of the channel's, guarded by its mu */
} client_call_t;

struct hr_channel {
  grpc_channel* channel;
  grpc_completion_queue* queue; /* borrowed */
  pthread_mutex_t mu;
  pthread_cond_t ended;
  client_call_t* calls; /* whose `done` has not returned */
  int64_t in_flight;
  bool is_gone;         /* the last call frees it */
};

/* --- channels ------------------------------------------------------------------------------------------------------------------------ */

static hr_status_t make_credentials(const hr_tls_t* tls, grpc_channel_credentials** out) {
  if (!tls || (!tls->ca.size && !tls->certificate.size)) {
    *out = grpc_insecure_credentials_create();
    return NULL;
  }
  char* ca = tls->ca.size ? hr_transport_grpc_text(tls->ca) : NULL;
  char* key = hr_transport_grpc_text(tls->key);
  char* certificate = hr_transport_grpc_text(tls->certificate);
  hr_status_t status = NULL;
  if (!key || !certificate || (tls->ca.size && !ca)) status = hr_transport_grpc_host->out_of_memory();
  else {
    grpc_ssl_pem_key_cert_pair pair = {key, certificate};
    *out = grpc_ssl_credentials_create(ca, tls->certificate.size ? &pair : NULL, NULL, NULL);
    if (!*out) status = GRPC_PART_ERROR(INVALID_ARGUMENT, "the certificates do not make TLS credentials");
  }
  hr_transport_grpc_host->free(ca);
  hr_transport_grpc_host->free(key);
  hr_transport_grpc_host->free(certificate);
  return status;
}

static grpc_channel* create_channel(const char* address, grpc_channel_credentials* credentials) {
  grpc_arg args[] = {
    hr_transport_grpc_int_arg(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, -1),
    hr_transport_grpc_int_arg(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100),
    hr_transport_grpc_int_arg(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1000), /* also how long one attempt may take */
    hr_transport_grpc_int_arg(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000),
    hr_transport_grpc_int_arg(GRPC_ARG_ENABLE_HTTP_PROXY, 0),
    hr_transport_grpc_int_arg(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1),
    hr_transport_grpc_int_arg(GRPC_ARG_ENABLE_RETRIES, 0),
    hr_transport_grpc_int_arg(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1),
    GRPC_PART_ARGS,
  };
  const grpc_channel_args list = {sizeof args / sizeof *args, args};
  return grpc_channel_create(address, credentials, &list);
}

static void free_channel(hr_channel_t* c) {
  if (c->channel) grpc_channel_destroy(c->channel);
  pthread_cond_destroy(&c->ended);
  pthread_mutex_destroy(&c->mu);
  hr_transport_grpc_host->free(c);
}

hr_status_t hr_transport_grpc_connect(hr_str_t address, const hr_tls_t* tls, hr_channel_t** out) {
  grpc_completion_queue* queue;
  HR_TRY(hr_transport_grpc_queue(&queue));
  grpc_channel_credentials* credentials = NULL;
  HR_TRY(make_credentials(tls, &credentials));
  hr_channel_t* c = hr_transport_grpc_host->alloc(sizeof *c);
  char* text = hr_transport_grpc_text(address);
  if (c) {
    c->queue = queue;
    pthread_mutex_init(&c->mu, NULL);
    pthread_cond_init(&c->ended, NULL);
    if (text) c->channel = create_channel(text, credentials);
    if (!c->channel) free_channel(c), c = NULL;
  }
  hr_transport_grpc_host->free(text);
  grpc_channel_credentials_release(credentials);
  if (!c) return hr_transport_grpc_host->out_of_memory();
  *out = c;
  return NULL;
}

void hr_transport_grpc_disconnect(hr_channel_t* c) {
  if (!c) return;
  const int64_t own = hr_transport_grpc_is_thread() ? INT64_MAX : 0;
  pthread_mutex_lock(&c->mu);
  for (client_call_t* call = c->calls; call; call = call->next)
    grpc_call_cancel_with_status(call->call, GRPC_STATUS_CANCELLED, "the channel was closed", NULL);
  while (c->in_flight > own) pthread_cond_wait(&c->ended, &c->mu);
  c->is_gone = true;
  const bool is_free = c->in_flight == 0;
  pthread_mutex_unlock(&c->mu);
  if (is_free) free_channel(c);
}

/* --- calls --------------------------------------------------------------------------------------------------------------------------- */

static void link_call(client_call_t* c) {
  hr_channel_t* channel = c->channel;
  pthread_mutex_lock(&channel->mu);
  c->next = channel->calls;
  if (c->next) c->next->previous = c;
  channel->calls = c;
  ++channel->in_flight;
  pthread_mutex_unlock(&channel->mu);
}

static void free_call(client_call_t* c) {
  hr_channel_t* channel = c->channel;
  pthread_mutex_lock(&channel->mu);
  if (c->next) c->next->previous = c->previous;
  if (c->previous) c->previous->next = c->next;
  else channel->calls = c->next;
  grpc_call_unref(c->call);
  const bool is_last = --channel->in_flight == 0 && channel->is_gone;
  pthread_cond_broadcast(&channel->ended);
  pthread_mutex_unlock(&channel->mu);
  if (is_last) free_channel(channel);
  if (c->request) grpc_byte_buffer_destroy(c->request);
  grpc_metadata_array_destroy(&c->head);
  grpc_metadata_array_destroy(&c->tail);
  grpc_slice_unref(c->details);
  hr_transport_grpc_host->free(c);
}

/* gRPC's numbers are TensorFlow's. A stream that the peer's death cut off is a peer that is not there. */
static hr_status_t status_of(grpc_status_code code, grpc_slice details) {
  const char* text = (const char*)GRPC_SLICE_START_PTR(details);
  const int size = (int)GRPC_SLICE_LENGTH(details);
  if (code == GRPC_STATUS_OK) return NULL;
  if (code == GRPC_STATUS_UNKNOWN && size == 14 && !memcmp(text, "Stream removed", 14)) code = GRPC_STATUS_UNAVAILABLE;
  if ((int)code < 0 || (int)code > 16) code = GRPC_STATUS_UNKNOWN;
  return hr_transport_grpc_host->error((hr_code_t)code, __FILE__, __LINE__, "%.*s", size, text);
}

static void call_ended(hr_transport_grpc_tag_t* self, bool ok) {
  (void)ok; /* the status says more */
  client_call_t* c = (client_call_t*)self;
  hr_status_t status = status_of(c->code, c->details);
  hr_message_t response = {0};
  if (status || !c->response) {
    if (c->response) grpc_byte_buffer_destroy(c->response);
    if (!status) status = GRPC_PART_ERROR(INTERNAL, "an answer without a message");
  } else
    status = hr_transport_grpc_unpack(c->response, &response);
  c->user->done(c->user, status, status ? NULL : &response);
  hr_transport_grpc_host->message_deinit(&response);
  free_call(c);
}

static bool start_batch(client_call_t* c, bool wait_for_ready) {
  grpc_op ops[6];
  memset(ops, 0, sizeof ops);
  ops[0].op = GRPC_OP_SEND_INITIAL_METADATA;
  ops[0].flags = GRPC_INITIAL_METADATA_WAIT_FOR_READY_EXPLICITLY_SET | (wait_for_ready ? GRPC_INITIAL_METADATA_WAIT_FOR_READY : 0);
  ops[1].op = GRPC_OP_SEND_MESSAGE;
  ops[1].data.send_message.send_message = c->request;
  ops[2].op = GRPC_OP_SEND_CLOSE_FROM_CLIENT;
  ops[3].op = GRPC_OP_RECV_INITIAL_METADATA;
  ops[3].data.recv_initial_metadata.recv_initial_metadata = &c->head;
  ops[4].op = GRPC_OP_RECV_MESSAGE;
  ops[4].data.recv_message.recv_message = &c->response;
  ops[5].op = GRPC_OP_RECV_STATUS_ON_CLIENT;
  ops[5].data.recv_status_on_client.trailing_metadata = &c->tail;
  ops[5].data.recv_status_on_client.status = &c->code;
  ops[5].data.recv_status_on_client.status_details = &c->details;
  return grpc_call_start_batch(c->call, ops, 6, &c->tag, NULL) == GRPC_CALL_OK;
}

static client_call_t* make_call(hr_channel_t* channel, const char* method, hr_message_t* take_request, int64_t deadline_ms,
                                hr_call_t* user) {
  client_call_t* c = hr_transport_grpc_host->alloc(sizeof *c);
  grpc_byte_buffer* request = hr_transport_grpc_pack(take_request);
  if (!c || !request) {
    if (request) grpc_byte_buffer_destroy(request);
    hr_transport_grpc_host->free(c);
    return NULL;
  }
  gpr_timespec deadline = gpr_inf_future(GPR_CLOCK_MONOTONIC);
  if (deadline_ms > 0) deadline = gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(deadline_ms, GPR_TIMESPAN));
  grpc_slice path = grpc_slice_from_copied_string(method);
  c->tag.ended = call_ended;
  c->user = user;
  c->channel = channel;
  c->request = request;
  c->details = grpc_empty_slice();
  grpc_metadata_array_init(&c->head);
  grpc_metadata_array_init(&c->tail);
  c->call = grpc_channel_create_call(channel->channel, NULL, GRPC_PROPAGATE_DEFAULTS, channel->queue, path, NULL, deadline, NULL);
  grpc_slice_unref(path);
  return c;
}

void hr_transport_grpc_call(hr_channel_t* channel, const char* method, hr_message_t* take_request, int64_t deadline_ms, bool wait_for_ready,
                            hr_call_t* user) {
  client_call_t* c = make_call(channel, method, take_request, deadline_ms, user);
  user->state = c;
  if (!c) {
    user->done(user, hr_transport_grpc_host->out_of_memory(), NULL);
    return;
  }
  link_call(c);
  if (start_batch(c, wait_for_ready)) return; /* c may be gone already */
  user->done(user, GRPC_PART_ERROR(INTERNAL, "gRPC refuses to start the call %s", method), NULL);
  free_call(c);
}

void hr_transport_grpc_cancel(hr_call_t* user) {
  client_call_t* c = user->state;
  if (c) grpc_call_cancel(c->call, NULL);
}
