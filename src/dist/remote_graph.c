/* SPDX-License-Identifier: Apache-2.0 */
/* CreateSessionRequest = 1 graph_def, 2 config, 3 target; the response = 1 session_handle, 2 graph_version. ExtendSessionRequest = 1
 * session_handle, 2 graph_def, 3 current_graph_version; the response = 4 new_graph_version. */
#include "base/alloc.h"
#include "dist/remote_state.h"
#include "graph/import.h"

typedef struct {
  const hr_remote_t* remote;
  const char* graph_def;
  size_t graph_def_size;
} graph_request_t;

static hr_status_t make_request(void* arg, hr_message_t* out) {
  const graph_request_t* q = arg;
  const hr_remote_t* r = q->remote;
  char* def = hr_alloc_copy(q->graph_def, q->graph_def_size); /* the next attempt needs the bytes too */
  if (!def) return hr_status_out_of_memory();
  hr_message_builder_t b;
  hr_message_builder_init(&b);
  if (r->handle) hr_writer_str(&b.bytes, 1, hr_str(r->handle));
  hr_message_builder_span(&b, r->handle ? 2 : 1, def, q->graph_def_size);
  if (!r->handle) {
    hr_writer_bytes(&b.bytes, 2, r->config, r->config_size);
    hr_writer_str(&b.bytes, 3, hr_str(r->target));
  } else if (r->version) {
    hr_writer_i64(&b.bytes, 3, r->version);
  }
  return hr_message_builder_take(&b, out);
}

static hr_status_t read_response(hr_remote_t* r, const hr_message_t* response) {
  hr_strbuf_t scratch;
  hr_strbuf_init(&scratch);
  hr_cursor_t c;
  hr_str_t handle = HR_STR("");
  int64_t version = 0;
  hr_status_t status = hr_message_reader_flat(hr_message_reader_make(response), &scratch, &c);
  while (!status && !hr_cursor_is_done(&c)) {
    hr_field_t f;
    if ((status = hr_cursor_next(&c, &f))) break;
    if (f.key == HR_KEY_SPAN(1)) handle = hr_cursor_str(f.span);
    if (f.key == HR_KEY_VARINT(r->handle ? 4 : 2)) version = (int64_t)f.value;
  }
  if (!status && !r->handle && !(r->handle = hr_alloc_copy(handle.data, handle.size))) status = hr_status_out_of_memory();
  if (!status) r->version = version;
  hr_strbuf_deinit(&scratch);
  return status;
}

/* Nodes from r->sent on, always with a library, if an empty one: TensorFlow's client has it. */
static hr_status_t export_news(hr_remote_t* r, hr_graph_t* g, hr_strbuf_t* out, int64_t* out_nodes, int64_t* out_functions) {
  static const char empty_library[] = {0x12, 0};
  hr_mutex_lock(&g->mu);
  *out_nodes = g->nodes.count;
  *out_functions = g->functions.count;
  char* data = NULL;
  size_t size = 0;
  const bool has_library = g->functions.count > 0;
  hr_status_t status = hr_export_graph_def(g, (int32_t)r->sent, &data, &size);
  hr_mutex_unlock(&g->mu);
  if (status) return status;
  hr_strbuf_add(out, data, size);
  if (!has_library) hr_strbuf_add(out, empty_library, sizeof empty_library);
  hr_free(data);
  return out->failed ? hr_status_out_of_memory() : NULL;
}

static bool is_up_to_date(const hr_remote_t* r, hr_graph_t* graph) {
  if (!r->handle) return false;
  if (!graph) return true;
  hr_mutex_lock(&graph->mu);
  const bool same = graph->nodes.count == r->sent && graph->functions.count == r->sent_functions;
  hr_mutex_unlock(&graph->mu);
  return same;
}

static hr_status_t send_news(hr_remote_t* r, hr_graph_t* graph, hr_cancel_t* cancel) {
  hr_strbuf_t def;
  hr_strbuf_init(&def);
  int64_t nodes = 0, functions = 0;
  hr_message_t response = {0};
  hr_status_t status = graph ? export_news(r, graph, &def, &nodes, &functions) : NULL;
  graph_request_t q = {r, def.data, def.size};
  const hr_remote_call_t call = {.method = r->handle ? HR_MASTER_ExtendSession : HR_MASTER_CreateSession, .make = make_request, .arg = &q,
                                 .deadline_ms = r->timeout_ms, .cancel = cancel};
  if (!status) status = hr_remote_call_run(&r->peer, &call, &response);
  if (!status) status = read_response(r, &response);
  if (!status) {
    r->sent = nodes;
    r->sent_functions = functions;
  }
  hr_message_deinit(&response);
  hr_strbuf_deinit(&def);
  return status;
}

hr_status_t hr_remote_extend(hr_remote_t* r, hr_graph_t* graph, hr_cancel_t* cancel) {
  hr_mutex_lock(&r->mu);
  hr_status_t status = is_up_to_date(r, graph) ? NULL : send_news(r, graph, cancel);
  hr_mutex_unlock(&r->mu);
  return status;
}
