/* SPDX-License-Identifier: Apache-2.0 */
/* Changes to nodes after the fact: attrs that no op reads ("_..."), control inputs, and what is known behind resource handles. */
#include "capi/handles.h"
#include "op/attr_value.h"
#include "graph/edges.h"
#include "wire/shape_proto.h"

static hr_status_t attr_check_change(const hr_graph_t* g, const hr_node_t* node, const char* name) {
  if (!g || !node || !name) return hr_capi_null(!g ? "the graph" : !node ? "the operation" : "the attr's name");
  if (node->graph != g) return HR_ERROR(INVALID_ARGUMENT, "operation '%s' belongs to another graph", node->name.data);
  if (name[0] != '_')
    return HR_ERROR(UNIMPLEMENTED, "attr '%s' of operation '%s' cannot be changed: only those whose names begin with '_' can", name,
                    node->name.data);
  return NULL;
}

/* The node's other attrs without that name, with room for one more; old arrays stay in the arena for readers. The caller locks. */
static hr_status_t attr_copy_extras(hr_graph_t* g, const hr_node_t* node, hr_str_t name, hr_named_attr_t** out, int32_t* out_count) {
  hr_named_attr_t* fresh = hr_arena_array(&g->arena, (size_t)node->attrs.extra_count + 1, sizeof *fresh);
  if (!fresh) return hr_status_out_of_memory();
  *out = fresh;
  *out_count = 0;
  for (int32_t i = 0; i < node->attrs.extra_count; ++i)
    if (!hr_str_equal(node->attrs.extras[i].name, name)) fresh[(*out_count)++] = node->attrs.extras[i];
  return NULL;
}

static hr_status_t attr_replace(hr_graph_t* g, hr_node_t* node, const char* name, const TF_Buffer* value) {
  hr_named_attr_t* extras = NULL;
  int32_t count = 0;
  HR_TRY(attr_copy_extras(g, node, hr_str(name), &extras, &count));
  if (value) {
    hr_cursor_t span = hr_cursor_make(value->data, value->data ? value->length : 0);
    HR_TRY(hr_attr_value_decode(&g->arena, &g->tensors, span, &extras[count].value));
    if (!hr_arena_str(&g->arena, hr_str(name), &extras[count].name)) return hr_status_out_of_memory();
    ++count;
  }
  node->attrs.extras = extras;
  node->attrs.extra_count = count;
  return NULL;
}

static void attr_change(TF_Graph* graph, TF_Operation* op, const char* name, const TF_Buffer* value, TF_Status* status) {
  hr_graph_t* g = hr_capi_graph(graph);
  hr_status_t outcome = attr_check_change(g, hr_capi_node(op), name);
  if (!outcome) {
    hr_mutex_lock(&g->mu);
    outcome = attr_replace(g, hr_capi_node(op), name, value);
    hr_mutex_unlock(&g->mu);
  }
  hr_capi_report(status, outcome);
}

void TF_SetAttr(TF_Graph* graph, TF_Operation* op, const char* attr_name, TF_Buffer* attr_value_proto, TF_Status* status) {
  if (attr_value_proto) attr_change(graph, op, attr_name, attr_value_proto, status);
  else hr_capi_report(status, hr_capi_null("the attr's value"));
}

void TF_ClearAttr(TF_Graph* graph, TF_Operation* op, const char* attr_name, TF_Status* status) { attr_change(graph, op, attr_name, NULL,
                  status); }

void TF_RemoveAllControlInputs(TF_Graph* graph, TF_Operation* op) {
  hr_graph_t* g = hr_capi_graph(graph);
  hr_node_t* node = hr_capi_node(op);
  if (!g || !node || node->graph != g) return;
  hr_mutex_lock(&g->mu);
  for (int32_t i = 0; i < node->control_count; ++i) hr_edges_remove_control(node->controls[i], node);
  node->control_count = 0;
  hr_mutex_unlock(&g->mu);
}

/* --- behind handles: CppShapeInferenceResult.HandleData ------------------------------------------------------------------------------ */
enum { HANDLE_IS_SET = 1, HANDLE_ENTRY = 2, ENTRY_SHAPE = 1, ENTRY_DTYPE = 2 };

static void handle_write(const hr_handle_info_t* info, hr_writer_t* w) {
  if (!info || info->dtype == HR_DTYPE_INVALID) return;
  hr_writer_bool(w, HANDLE_IS_SET, true);
  hr_writer_mark_t entry = hr_writer_begin(w, HANDLE_ENTRY, 64);
  hr_writer_mark_t shape = hr_writer_begin(w, ENTRY_SHAPE, 32);
  hr_shape_proto_encode_partial(info->shape ? info->shape : &hr_pshape_unknown, w);
  hr_writer_end(w, shape, 32);
  hr_writer_i64(w, ENTRY_DTYPE, (int64_t)info->dtype);
  hr_writer_end(w, entry, 64);
}

TF_Buffer* TF_GetHandleShapeAndType(TF_Graph* graph, TF_Output output) {
  hr_graph_t* g = hr_capi_graph(graph);
  hr_writer_t w;
  TF_Buffer* b = g ? TF_NewBuffer() : NULL;
  hr_strbuf_init(&w);
  hr_status_t status = b ? hr_capi_check_value(g, hr_capi_value(output)) : hr_status_out_of_memory();
  if (!status) {
    hr_mutex_lock(&g->mu);
    const hr_handle_info_t* handles = hr_capi_node(output.oper)->handles;
    if (handles) handle_write(&handles[output.index], &w);
    hr_mutex_unlock(&g->mu);
    if (w.size || w.failed) status = hr_capi_fill_buffer_from(b, &w);
  }
  hr_strbuf_deinit(&w);
  if (status) {
    TF_DeleteBuffer(b);
    b = NULL;
  }
  hr_status_release(status);
  return b;
}

static hr_status_t handle_read_entry(hr_arena_t* arena, hr_cursor_t span, hr_handle_info_t* out) {
  hr_field_t field;
  while (!hr_cursor_is_done(&span)) {
    HR_TRY(hr_cursor_next(&span, &field));
    if (field.key == HR_KEY_SPAN(ENTRY_SHAPE)) HR_TRY(hr_shape_proto_decode_partial(arena, field.span, &out->shape));
    if (field.key == HR_KEY_VARINT(ENTRY_DTYPE)) {
      if (!hr_dtype_is_valid((int)field.value)) return HR_ERROR(INVALID_ARGUMENT, "%d is no element type", (int)field.value);
      out->dtype = (hr_dtype_t)field.value;
    }
  }
  return NULL;
}

static hr_status_t handle_set(hr_graph_t* g, hr_node_t* node, int index, hr_cursor_t span) {
  hr_handle_info_t info = {HR_DTYPE_INVALID, &hr_pshape_unknown};
  hr_field_t field;
  int entries = 0;
  while (!hr_cursor_is_done(&span)) {
    HR_TRY(hr_cursor_next(&span, &field));
    if (field.key != HR_KEY_SPAN(HANDLE_ENTRY)) continue;
    if (entries++) return HR_ERROR(UNIMPLEMENTED, "a handle to more than one value cannot be described yet");
    HR_TRY(handle_read_entry(&g->arena, field.span, &info));
  }
  if (!node->handles && !(node->handles = hr_arena_array(&g->arena, (size_t)node->output_count, sizeof *node->handles)))
    return hr_status_out_of_memory();
  node->handles[index] = info;
  return NULL;
}

void TF_SetHandleShapeAndType(TF_Graph* graph, TF_Output output, const void* proto, size_t proto_len, TF_Status* status) {
  hr_graph_t* g = hr_capi_graph(graph);
  hr_status_t outcome = g ? hr_capi_check_value(g, hr_capi_value(output)) : hr_capi_null("the graph");
  if (!outcome) {
    hr_mutex_lock(&g->mu);
    outcome = handle_set(g, hr_capi_node(output.oper), output.index, hr_cursor_make(proto, proto ? proto_len : 0));
    hr_mutex_unlock(&g->mu);
  }
  hr_capi_report(status, outcome);
}
