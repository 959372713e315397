/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs as a whole: life, look-up, shapes, export, changes to edges. Everything that moves is read and written under the graph's lock. */
#include "capi/handles.h"

#include "graph/const_eval.h"
#include "graph/import.h"
#include "op/op_def.h"
#include "wire/shape_proto.h"

TF_Graph* TF_NewGraph(void) {
  hr_graph_t* g = NULL;
  hr_status_release(hr_graph_create(&g));
  return hr_capi_to_graph(g);
}

void TF_DeleteGraph(TF_Graph* graph) {
  if (graph) hr_graph_release(hr_capi_graph(graph));
}

TF_Operation* TF_GraphOperationByName(TF_Graph* graph, const char* oper_name) {
  if (!graph || !oper_name) return NULL;
  hr_graph_t* g = hr_capi_graph(graph);
  hr_mutex_lock(&g->mu);
  hr_node_t* node = hr_graph_find(g, hr_str(oper_name));
  hr_mutex_unlock(&g->mu);
  return hr_capi_to_operation(node);
}

TF_Operation* TF_GraphNextOperation(TF_Graph* graph, size_t* pos) {
  hr_node_t* node = NULL;
  if (!graph || !pos) return NULL;
  hr_graph_t* g = hr_capi_graph(graph);
  hr_mutex_lock(&g->mu);
  while (!node && *pos < (size_t)g->nodes.count) node = g->nodes.data[(*pos)++];
  hr_mutex_unlock(&g->mu);
  return hr_capi_to_operation(node);
}

/* --- shapes ---------------------------------------------------------------------------------------------------------------------- */
static hr_status_t graph_set_shape(hr_graph_t* g, hr_value_t v, const int64_t* dims, int num_dims) {
  const hr_pshape_t* shape;
  if (!g) return hr_capi_null("the graph");
  if (num_dims > 0 && !dims) return hr_capi_null("the array of dims");
  HR_TRY(hr_capi_check_value(g, v));
  hr_mutex_lock(&g->mu);
  hr_status_t status = hr_pshape_make(&g->arena, num_dims < 0 ? -1 : num_dims, dims, &shape);
  if (!status) status = hr_graph_refine_shape(g, v, shape);
  hr_mutex_unlock(&g->mu);
  return status;
}

void TF_GraphSetTensorShape(TF_Graph* graph, TF_Output output, const int64_t* dims, const int num_dims, TF_Status* status) {
  hr_capi_report(status, graph_set_shape(hr_capi_graph(graph), hr_capi_value(output), dims, num_dims));
}

/* The shape is immutable, so it may be read after the lock is given back. */
static hr_status_t graph_get_shape(hr_graph_t* g, hr_value_t v, const hr_pshape_t** out) {
  if (!g) return hr_capi_null("the graph");
  HR_TRY(hr_capi_check_value(g, v));
  hr_mutex_lock(&g->mu);
  *out = hr_value_shape(v);
  hr_mutex_unlock(&g->mu);
  return NULL;
}

int TF_GraphGetTensorNumDims(TF_Graph* graph, TF_Output output, TF_Status* status) {
  const hr_pshape_t* shape = &hr_pshape_unknown;
  hr_capi_report(status, graph_get_shape(hr_capi_graph(graph), hr_capi_value(output), &shape));
  return shape->rank;
}

void TF_GraphGetTensorShape(TF_Graph* graph, TF_Output output, int64_t* dims, int num_dims, TF_Status* status) {
  const hr_pshape_t* shape = NULL;
  hr_status_t outcome = graph_get_shape(hr_capi_graph(graph), hr_capi_value(output), &shape);
  if (!outcome && shape->rank >= 0) {
    if (shape->rank != num_dims) outcome = HR_ERROR(INVALID_ARGUMENT, "the output has %d dims, room was made for %d", shape->rank,
        num_dims);
    for (int i = 0; !outcome && i < num_dims; ++i) dims[i] = shape->dims[i];
  }
  hr_capi_report(status, outcome);
}

unsigned char TF_TryEvaluateConstant(TF_Graph* graph, TF_Output output, TF_Tensor** result, TF_Status* status) {
  hr_graph_t* g = hr_capi_graph(graph);
  const hr_tensor_t* value = NULL;
  if (result) *result = NULL;
  hr_status_t outcome = !g || !result ? hr_capi_null(g ? "the result" : "the graph") : hr_capi_check_value(g, hr_capi_value(output));
  if (!outcome) {
    hr_mutex_lock(&g->mu);
    outcome = hr_const_eval(g, hr_capi_value(output), &value);
    if (!outcome && value) outcome = hr_capi_share_tensor(value, result);
    hr_mutex_unlock(&g->mu);
  }
  hr_capi_report(status, outcome);
  return !outcome && value;
}

/* --- export ----------------------------------------------------------------------------------------------------------------------- */
void TF_GraphToGraphDef(TF_Graph* graph, TF_Buffer* output_graph_def, TF_Status* status) {
  hr_graph_t* g = hr_capi_graph(graph);
  char* data = NULL;
  size_t size = 0;
  hr_status_t outcome = g ? hr_capi_check_buffer(output_graph_def) : hr_capi_null("the graph");
  if (!outcome) {
    hr_mutex_lock(&g->mu);
    outcome = hr_export_graph_def(g, 0, &data, &size);
    hr_mutex_unlock(&g->mu);
  }
  if (!outcome) outcome = hr_capi_fill_buffer(output_graph_def, data, size);
  hr_capi_report(status, outcome);
}

enum { VERSION_PRODUCER = 1, VERSION_MIN_CONSUMER = 2, VERSION_BAD_CONSUMERS = 3 };

void TF_GraphVersions(TF_Graph* graph, TF_Buffer* output_version_def, TF_Status* status) {
  hr_graph_t* g = hr_capi_graph(graph);
  hr_writer_t w;
  hr_status_t outcome = g ? hr_capi_check_buffer(output_version_def) : hr_capi_null("the graph");
  hr_strbuf_init(&w);
  if (!outcome) {
    hr_mutex_lock(&g->mu);
    hr_writer_i64(&w, VERSION_PRODUCER, g->producer);
    if (g->min_consumer) hr_writer_i64(&w, VERSION_MIN_CONSUMER, g->min_consumer);
    for (int64_t i = 0; i < g->bad_consumers.count; ++i) hr_writer_i64(&w, VERSION_BAD_CONSUMERS, g->bad_consumers.data[i]);
    hr_mutex_unlock(&g->mu);
    outcome = hr_capi_fill_buffer_from(output_version_def, &w);
  }
  hr_strbuf_deinit(&w);
  hr_capi_report(status, outcome);
}

void TF_GraphGetOpDef(TF_Graph* graph, const char* op_name, TF_Buffer* output_op_def, TF_Status* status) {
  hr_graph_t* g = hr_capi_graph(graph);
  hr_writer_t w;
  hr_strbuf_init(&w);
  hr_status_t outcome = g && op_name ? hr_capi_check_buffer(output_op_def) : hr_capi_null(g ? "the op's name" : "the graph");
  if (!outcome) {
    hr_mutex_lock(&g->mu);
    hr_function_t* function = hr_function_find(g, hr_str(op_name)); /* functions are called like ops */
    if (function) hr_strbuf_add_str(&w, function->signature);
    hr_mutex_unlock(&g->mu);
    const hr_op_def_t* def = NULL;
    if (!function) outcome = hr_registry_find(hr_str(op_name), &def);
    if (def) outcome = hr_op_def_encode(def, &w);
    if (!outcome) outcome = hr_capi_fill_buffer_from(output_op_def, &w);
  }
  hr_strbuf_deinit(&w);
  hr_capi_report(status, outcome);
}

/* --- changes ----------------------------------------------------------------------------------------------------------------------- */
static hr_status_t graph_check_node(const hr_graph_t* g, const hr_node_t* node) {
  if (!g || !node) return hr_capi_null(g ? "the operation" : "the graph");
  if (node->graph != g) return HR_ERROR(INVALID_ARGUMENT, "operation '%s' belongs to another graph", node->name.data);
  return NULL;
}

static hr_status_t graph_update_edge(hr_graph_t* g, hr_value_t from, hr_node_t* node, int input) {
  HR_TRY(graph_check_node(g, node));
  HR_TRY(hr_capi_check_value(g, from));
  if (input < 0 || input >= node->input_count)
    return HR_ERROR(OUT_OF_RANGE, "operation '%s' has %d inputs, there is no input %d", node->name.data, node->input_count, input);
  hr_mutex_lock(&g->mu);
  hr_status_t status = hr_graph_set_input(g, node, input, from);
  hr_mutex_unlock(&g->mu);
  return status;
}

void TF_UpdateEdge(TF_Graph* graph, TF_Output new_src, TF_Input dst, TF_Status* status) {
  hr_capi_report(status, graph_update_edge(hr_capi_graph(graph), hr_capi_value(new_src), hr_capi_node(dst.oper), dst.index));
}

void TF_AddOperationControlInput(TF_Graph* graph, TF_Operation* op, TF_Operation* input) {
  hr_graph_t* g = hr_capi_graph(graph);
  hr_status_t status = graph_check_node(g, hr_capi_node(op));
  if (!status) status = graph_check_node(g, hr_capi_node(input));
  if (!status) {
    hr_mutex_lock(&g->mu);
    status = hr_graph_add_control(g, hr_capi_node(op), hr_capi_node(input));
    hr_mutex_unlock(&g->mu);
  }
  hr_status_release(status);
}

void TF_SetRequestedDevice(TF_Graph* graph, TF_Operation* op, const char* device) {
  hr_graph_t* g = hr_capi_graph(graph);
  hr_str_t text;
  hr_status_t status = graph_check_node(g, hr_capi_node(op));
  if (!status) {
    hr_mutex_lock(&g->mu);
    if (hr_arena_str(&g->arena, hr_capi_str(device), &text)) hr_capi_node(op)->device = text;
    hr_mutex_unlock(&g->mu);
  }
  hr_status_release(status);
}

void TF_SetRequireShapeInferenceFns(TF_Graph* graph, bool require) {
  (void)graph;
  (void)require;
}

void TF_SetFullType(TF_Graph* graph, TF_Operation* op, const TF_Buffer* full_type_proto) {
  (void)graph;
  (void)op;
  (void)full_type_proto;
}
