/* SPDX-License-Identifier: Apache-2.0 */
/* Names and attrs are TensorFlow's: a feed of x:0 is _recv_x_0, a fetch of y:0 is _send_y_0, and the edge is called "x:0". */
#include "dist/cluster_graph.h"
#include "graph/import.h"
#include "rt/rendezvous_key.h"

typedef struct {
  hr_program_t* program;
  hr_cluster_graph_t* out;
  const hr_device_t* client;
  hr_node_t** sends; /* by fetch; memory of the program's arena, like all below */
  hr_node_t** recvs; /* by feed */
} rewrite_t;

static hr_status_t arena_format(hr_program_t* p, hr_str_t* out, const char* format, const char* name, int index) {
  hr_strbuf_t b;
  hr_strbuf_init(&b);
  const size_t at = strlen(format);
  hr_strbuf_add(&b, format, at);
  hr_strbuf_format(&b, at ? "%s_%d" : "%s:%d", name, index);
  const bool kept = !b.failed && hr_arena_str(&p->graph->arena, hr_strbuf_view(&b), out);
  hr_strbuf_deinit(&b);
  return kept ? NULL : hr_status_out_of_memory();
}

static hr_status_t add_terminal(rewrite_t* w, bool is_send, hr_value_t source, hr_value_t value, hr_node_t** out) {
  hr_program_t* p = w->program;
  hr_str_t name, edge;
  HR_TRY(arena_format(p, &name, is_send ? "_send_" : "_recv_", source.node->name.data, source.index));
  HR_TRY(arena_format(p, &edge, "", source.node->name.data, source.index));
  const hr_named_attr_t attrs[] = {
    hr_at_type(is_send ? "T" : "tensor_type", hr_dtype_base(hr_value_type(value))),
    hr_at_str("tensor_name", edge.data),
    hr_at_str("send_device", w->client->name),
    hr_at_int("send_device_incarnation", (int64_t)w->client->incarnation),
    hr_at_str("recv_device", w->client->name),
    hr_at_bool("client_terminated", true),
  };
  const hr_node_desc_t d = {.op = is_send ? HR_STR("_Send") : HR_STR("_Recv"), .name = name, .inputs = &value,
                            .input_count = is_send ? 1 : 0, .attrs = attrs, .attr_count = sizeof attrs / sizeof *attrs};
  HR_TRY(hr_program_add(p, &d, value.node, out));
  p->device_of.data[(*out)->id] = 0;
  (*out)->device = hr_str(w->client->name);
  return NULL;
}

static hr_status_t receive_feeds(rewrite_t* w) {
  hr_program_t* p = w->program;
  for (int32_t i = 0; i < p->feed_count; ++i) {
    HR_TRY(add_terminal(w, false, p->source_feeds[i], p->feeds[i], &w->recvs[i]));
    HR_TRY(hr_program_replace(p, p->feeds[i], (hr_value_t){w->recvs[i], 0}));
    HR_TRY(hr_program_replace_control(p, p->feeds[i].node, w->recvs[i]));
  }
  return NULL;
}

/* The program then ends in its sends. */
static hr_status_t send_fetches(rewrite_t* w) {
  hr_program_t* p = w->program;
  hr_node_t** targets = hr_arena_array(&p->graph->arena, (size_t)p->target_count + (size_t)p->fetch_count, sizeof *targets);
  if (!targets) return hr_status_out_of_memory();
  for (int32_t i = 0; i < p->fetch_count; ++i) {
    HR_TRY(add_terminal(w, true, p->source_fetches[i], p->fetches[i], &w->sends[i]));
    targets[p->target_count + i] = w->sends[i];
    p->asked.data[w->sends[i]->id] |= HR_ASKED_TARGET;
  }
  if (p->target_count) memcpy(targets, p->targets, (size_t)p->target_count * sizeof *targets);
  p->targets = targets;
  p->target_count += p->fetch_count;
  p->fetch_count = 0;
  return hr_program_finish(p);
}

/* --- parts ---------------------------------------------------------------------------------------------------------------------------- */

static hr_status_t make_key(rewrite_t* w, hr_value_t source, hr_str_t* out) {
  hr_str_t edge;
  HR_TRY(arena_format(w->program, &edge, "", source.node->name.data, source.index));
  const hr_str_t device = hr_str(w->client->name);
  const hr_rendezvous_key_t key = {.source = device, .destination = device, .edge = edge, .incarnation = w->client->incarnation};
  hr_strbuf_t b;
  hr_strbuf_init(&b);
  hr_rendezvous_key_format(&key, &b);
  const bool kept = !b.failed && hr_arena_str(&w->program->graph->arena, hr_strbuf_view(&b), out);
  hr_strbuf_deinit(&b);
  return kept ? NULL : hr_status_out_of_memory();
}

static bool is_live(const hr_program_t* p, const hr_node_t* n) {
  for (int64_t i = 0; i < p->live_count; ++i)
    if (p->live[i] == n) return true;
  return false;
}

static hr_status_t make_keys(rewrite_t* w, int32_t fetch_count) {
  const hr_program_t* p = w->program;
  hr_cluster_graph_t* out = w->out;
  out->feed_keys = hr_arena_array(&p->graph->arena, (size_t)p->feed_count, sizeof *out->feed_keys);
  out->fetch_keys = hr_arena_array(&p->graph->arena, (size_t)fetch_count, sizeof *out->fetch_keys);
  if (!out->feed_keys || !out->fetch_keys) return hr_status_out_of_memory();
  out->feed_count = p->feed_count;
  out->fetch_count = fetch_count;
  for (int32_t i = 0; i < p->feed_count; ++i)
    if (is_live(p, w->recvs[i])) HR_TRY(make_key(w, p->source_feeds[i], &out->feed_keys[i]));
  for (int32_t i = 0; i < fetch_count; ++i) HR_TRY(make_key(w, p->source_fetches[i], &out->fetch_keys[i]));
  return NULL;
}

static hr_status_t export_parts(rewrite_t* w, const hr_partition_t* partition) {
  const hr_program_t* p = w->program;
  hr_cluster_graph_t* out = w->out;
  out->parts = hr_alloc_array((size_t)partition->count + 1, sizeof *out->parts);
  if (!out->parts) return hr_status_out_of_memory();
  out->client_part = -1;
  hr_graph_t* library = (hr_graph_t*)(uintptr_t)p->source;
  for (int32_t i = 0; i < partition->count; ++i) {
    const hr_part_t* part = &partition->parts[i];
    hr_cluster_part_t* to = &out->parts[out->part_count++];
    to->device = part->device;
    if (hr_device_same_task(p->devices->devices[part->device], w->client)) out->client_part = i;
    hr_mutex_lock(&library->mu);
    hr_status_t status = hr_export_part(part->nodes, part->node_count, library, &to->graph_def, &to->graph_def_size);
    hr_mutex_unlock(&library->mu);
    HR_TRY(status);
  }
  return NULL;
}

hr_status_t hr_cluster_graph_create(hr_program_t* p, int64_t* number, hr_cluster_graph_t* out, hr_partition_t* out_partition) {
  *out = (hr_cluster_graph_t){.client_part = -1};
  const int32_t fetch_count = p->fetch_count;
  rewrite_t w = {.program = p, .out = out, .client = p->devices->devices[0]};
  w.recvs = hr_arena_array(&p->graph->arena, (size_t)p->feed_count, sizeof *w.recvs);
  w.sends = hr_arena_array(&p->graph->arena, (size_t)fetch_count, sizeof *w.sends);
  if (!w.recvs || !w.sends) return hr_status_out_of_memory();
  HR_TRY(receive_feeds(&w));
  HR_TRY(send_fetches(&w));
  HR_TRY(make_keys(&w, fetch_count));
  HR_TRY(hr_partition_program(p, p->devices, HR_PARTITION_BY_TASK, "_S", number, out_partition));
  return export_parts(&w, out_partition);
}

void hr_cluster_graph_deinit(hr_cluster_graph_t* g) {
  for (int32_t i = 0; i < g->part_count; ++i) hr_free(g->parts[i].graph_def);
  hr_free(g->parts);
  *g = (hr_cluster_graph_t){0};
}
