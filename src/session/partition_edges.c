/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of _Send and _Recv. A value is sent once to each part; a reference's value each time it is read, since it may change in between.
 * That a node has ended is told by an empty constant that waits for it and an Identity that is waited for. */
#include "op/node_class.h"
#include "session/partition_state.h"

static hr_status_t arena_text(hr_partition_state_t* s, hr_strbuf_t* take, hr_str_t* out) {
  const bool ok = !take->failed && hr_arena_str(&s->p->graph->arena, hr_strbuf_view(take), out);
  hr_strbuf_deinit(take);
  return ok ? NULL : hr_status_out_of_memory();
}

hr_status_t hr_partition_add(hr_partition_state_t* s, const hr_node_desc_t* desc, hr_str_t base, int64_t number, const hr_node_t* like,
                             hr_node_t** out) {
  hr_node_desc_t d = *desc;
  hr_strbuf_t b;
  hr_strbuf_init(&b);
  hr_strbuf_format(&b, "%.*s%s%lld", HR_STR_ARG(base), s->suffix, (long long)number);
  HR_TRY(arena_text(s, &b, &d.name));
  HR_TRY(hr_vec_reserve(&s->part_of, 1));
  HR_TRY(hr_vec_reserve(&s->first_transfer, 1));
  HR_TRY(hr_program_add(s->p, &d, like, out));
  s->part_of.data[s->part_of.count++] = s->part_of.data[like->id];
  s->first_transfer.data[s->first_transfer.count++] = -1;
  return NULL;
}

/* The attrs that both ends share, as the rendezvous' key wants them. Their values lie where the program's do, so they are not copied. */
typedef struct {
  hr_named_attr_t attrs[7];
  const hr_device_t *from, *to;
  bool host;
} ends_t;

static hr_status_t describe_ends(hr_partition_state_t* s, const hr_node_t* src, const hr_node_t* dst, int32_t edge, ends_t* out) {
  hr_strbuf_t b;
  hr_str_t name;
  hr_strbuf_init(&b);
  hr_strbuf_format(&b, "edge_%d_%.*s", (int)edge, HR_STR_ARG(src->name));
  HR_TRY(arena_text(s, &b, &name));
  out->from = s->devices->devices[hr_place_of(s->p, src)];
  out->to = s->devices->devices[hr_place_of(s->p, dst)];
  out->host = src->attrs.def->node_class == HR_NODE_LOOP_COND;
  out->attrs[1] = hr_at("tensor_name", HR_AT_SCALAR(HR_ATTR_STRING, s, name));
  out->attrs[2] = hr_at_str("send_device", out->from->name);
  out->attrs[3] = hr_at_int("send_device_incarnation", (int64_t)out->from->incarnation);
  out->attrs[4] = hr_at_str("recv_device", out->to->name);
  out->attrs[5] = hr_at("_src", HR_AT_SCALAR(HR_ATTR_STRING, s, src->name));
  out->attrs[6] = hr_at("_dst", HR_AT_SCALAR(HR_ATTR_STRING, s, dst->name));
  return NULL;
}

static hr_status_t add_pair(hr_partition_state_t* s, hr_value_t v, const hr_node_t* src, hr_node_t* dst, int32_t edge, hr_node_t** out) {
  ends_t e;
  hr_node_t* send;
  HR_TRY(describe_ends(s, src, dst, edge, &e));
  const int type = (int)hr_dtype_base(hr_value_type(v));
  hr_node_desc_t d = {.op = e.host ? HR_STR("_HostSend") : HR_STR("_Send"), .inputs = &v, .input_count = 1, .attrs = e.attrs,
                      .attr_count = 7, .attrs_kept = true};
  e.attrs[0] = hr_at_type("T", type);
  HR_TRY(hr_partition_add(s, &d, src->name, s->next_name++, src, &send));
  HR_TRY(hr_vec_push(&s->sequence, send));
  const hr_control_loop_t* loop = hr_partition_loop_of(s, src, dst);
  d = (hr_node_desc_t){.op = e.host ? HR_STR("_HostRecv") : HR_STR("_Recv"), .attrs = e.attrs, .attr_count = 7, .attrs_kept = true,
                       .controls = loop ? &loop->merge : NULL, .control_count = loop ? 1 : 0};
  e.attrs[0] = hr_at_type("tensor_type", type);
  HR_TRY(hr_partition_add(s, &d, src->name, s->next_name++, dst, out));
  (*out)->shapes[0] = hr_value_shape(v);
  return hr_vec_push(&s->sequence, *out);
}

/* --- ends of nodes -------------------------------------------------------------------------------------------------------------------- */

static hr_status_t add_signal(hr_partition_state_t* s, hr_node_t* src, hr_node_t** out) {
  const hr_shape_t none = hr_shape_vector(0);
  hr_tensor_t empty = {0};
  HR_TRY(hr_tensor_create(HR_F32, &none, &empty));
  const hr_named_attr_t attrs[] = {hr_at_type("dtype", HR_F32), hr_at_tensor("value", &empty)};
  const hr_node_desc_t d = {.op = HR_STR("Const"), .controls = &src, .control_count = 1, .attrs = attrs, .attr_count = 2};
  hr_status_t status = hr_partition_add(s, &d, src->name, s->next_name++, src, out);
  if (!status) status = hr_pshape_from_shape(&s->p->graph->arena, &none, &(*out)->shapes[0]);
  hr_tensor_release(&empty);
  return status ? status : hr_vec_push(&s->sequence, *out);
}

static hr_status_t add_control_pair(hr_partition_state_t* s, hr_node_t* src, hr_node_t* dst, int32_t edge, hr_node_t** out) {
  hr_node_t *signal, *recv;
  HR_TRY(add_signal(s, src, &signal));
  HR_TRY(add_pair(s, (hr_value_t){signal, 0}, src, dst, edge, &recv));
  const hr_value_t input = {recv, 0};
  const hr_named_attr_t type = hr_at_type("T", HR_F32);
  const hr_node_desc_t d = {.op = HR_STR("Identity"), .inputs = &input, .input_count = 1, .attrs = &type, .attr_count = 1};
  HR_TRY(hr_partition_add(s, &d, src->name, s->next_name++, dst, out));
  (*out)->shapes[0] = recv->shapes[0];
  return hr_vec_push(&s->sequence, *out);
}

/* --- sharing -------------------------------------------------------------------------------------------------------------------------- */

static hr_node_t* find_transfer(const hr_partition_state_t* s, const hr_node_t* src, int32_t output, int32_t part) {
  for (int32_t i = s->first_transfer.data[src->id]; i >= 0; i = s->transfers.data[i].next)
    if (s->transfers.data[i].output == output && s->transfers.data[i].part == part) return s->transfers.data[i].end;
  return NULL;
}

static hr_status_t keep_transfer(hr_partition_state_t* s, const hr_node_t* src, int32_t output, int32_t part, hr_node_t* end) {
  if (s->transfers.count >= INT32_MAX) return HR_ERROR(RESOURCE_EXHAUSTED, "too many values cross devices");
  HR_TRY(hr_vec_push(&s->transfers, ((hr_transfer_t){output, part, s->first_transfer.data[src->id], end})));
  s->first_transfer.data[src->id] = (int32_t)(s->transfers.count - 1);
  return NULL;
}

/* A reference's value is read where its reader would have read it: after all that the reader waits for. (Where there is control flow the
 * send waits for nothing: what it would wait for may be dead, or of another iteration.) */
static hr_status_t send_in_turn(hr_partition_state_t* s, hr_node_t* send, const hr_node_t* src, const hr_node_t* dst) {
  if (s->has_frames) return NULL;
  for (int32_t i = 0; i < dst->input_count + dst->control_count; ++i) {
    hr_node_t* other = i < dst->input_count ? dst->inputs[i].node : dst->controls[i - dst->input_count];
    if (other == src || other->id == send->id) continue;
    if (s->part_of.data[other->id] != s->part_of.data[send->id])
      HR_TRY(hr_partition_bring(s, other, HR_EDGE_CONTROL, send, s->next_edge++, &other));
    HR_TRY(hr_graph_add_control(s->p->graph, send, other));
  }
  return NULL;
}

hr_status_t hr_partition_bring(hr_partition_state_t* s, hr_node_t* src, int32_t output, hr_node_t* dst, int32_t edge, hr_node_t** out) {
  const int32_t part = s->part_of.data[dst->id];
  const bool is_ref = output >= 0 && hr_dtype_is_ref(src->output_types[output]);
  if (!is_ref && (*out = find_transfer(s, src, output, part))) return NULL;
  if (output == HR_EDGE_CONTROL) HR_TRY(add_control_pair(s, src, dst, edge, out));
  else HR_TRY(add_pair(s, (hr_value_t){src, output}, src, dst, edge, out));
  if (!is_ref) return keep_transfer(s, src, output, part, *out);
  return send_in_turn(s, s->sequence.data[s->sequence.count - 2], src, dst);
}
