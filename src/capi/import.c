/* SPDX-License-Identifier: Apache-2.0 */
/* Importing GraphDefs: options collected, results kept in the arrays that clients are shown. */
#include "capi/handles.h"

#include "graph/import.h"

struct TF_ImportGraphDefOptions {
  hr_arena_t arena; /* texts */
  hr_str_t prefix, default_device;
  bool uniquify_names, uniquify_prefix;
  HR_VEC(struct { hr_endpoint_t from; hr_value_t to; }) inputs;
  HR_VEC(struct { hr_str_t from; hr_node_t* to; }) controls;
  HR_VEC(hr_node_t*) dependencies;
  HR_VEC(hr_endpoint_t) outputs;
  HR_VEC(hr_str_t) nodes;
  hr_status_t failure; /* sticky: reported by the import */
};

struct TF_ImportGraphDefResults {
  hr_import_results_t results;
  hr_arena_t arena;
  const char** unused_names;
  int* unused_indices;
};

TF_ImportGraphDefOptions* TF_NewImportGraphDefOptions(void) {
  TF_ImportGraphDefOptions* o = hr_alloc_zero(sizeof *o);
  if (!o) return NULL;
  hr_arena_init(&o->arena);
  o->prefix = o->default_device = HR_STR("");
  return o;
}

void TF_DeleteImportGraphDefOptions(TF_ImportGraphDefOptions* opts) {
  if (!opts) return;
  hr_vec_deinit(&opts->inputs);
  hr_vec_deinit(&opts->controls);
  hr_vec_deinit(&opts->dependencies);
  hr_vec_deinit(&opts->outputs);
  hr_vec_deinit(&opts->nodes);
  hr_status_release(opts->failure);
  hr_arena_deinit(&opts->arena);
  hr_free(opts);
}

static hr_str_t import_keep_text(TF_ImportGraphDefOptions* o, const char* text) {
  hr_str_t kept = HR_STR("");
  if (!hr_arena_str(&o->arena, hr_capi_str(text), &kept)) hr_status_merge(&o->failure, hr_status_out_of_memory());
  return kept;
}

void TF_ImportGraphDefOptionsSetPrefix(TF_ImportGraphDefOptions* opts, const char* prefix) { opts->prefix = import_keep_text(opts,
                                       prefix); }
void TF_ImportGraphDefOptionsSetDefaultDevice(TF_ImportGraphDefOptions* opts, const char* device) {
  opts->default_device = import_keep_text(opts, device);
}
void TF_ImportGraphDefOptionsSetUniquifyNames(TF_ImportGraphDefOptions* opts, unsigned char uniquify_names) {
  opts->uniquify_names = uniquify_names != 0;
}
void TF_ImportGraphDefOptionsSetUniquifyPrefix(TF_ImportGraphDefOptions* opts, unsigned char uniquify_prefix) {
  opts->uniquify_prefix = uniquify_prefix != 0;
}

/* "x:1" is output 1 of x, unless an index is given too. */
static hr_endpoint_t import_endpoint(TF_ImportGraphDefOptions* o, const char* name, int index) {
  return (hr_endpoint_t){import_keep_text(o, name), index};
}

void TF_ImportGraphDefOptionsAddInputMapping(TF_ImportGraphDefOptions* opts, const char* src_name, int src_index, TF_Output dst) {
  hr_status_merge(&opts->failure, hr_capi_check_value(NULL, hr_capi_value(dst)));
  hr_status_merge(&opts->failure, hr_vec_reserve(&opts->inputs, 1));
  if (opts->failure) return;
  opts->inputs.data[opts->inputs.count].from = import_endpoint(opts, src_name, src_index);
  opts->inputs.data[opts->inputs.count++].to = hr_capi_value(dst);
}

void TF_ImportGraphDefOptionsRemapControlDependency(TF_ImportGraphDefOptions* opts, const char* src_name, TF_Operation* dst) {
  if (!dst) hr_status_merge(&opts->failure, hr_capi_null("the operation of a remapped control dependency"));
  hr_status_merge(&opts->failure, hr_vec_reserve(&opts->controls, 1));
  if (opts->failure) return;
  opts->controls.data[opts->controls.count].from = import_keep_text(opts, src_name);
  opts->controls.data[opts->controls.count++].to = hr_capi_node(dst);
}

void TF_ImportGraphDefOptionsAddControlDependency(TF_ImportGraphDefOptions* opts, TF_Operation* oper) {
  if (!oper) hr_status_merge(&opts->failure, hr_capi_null("the operation of a control dependency"));
  else hr_status_merge(&opts->failure, hr_vec_push(&opts->dependencies, hr_capi_node(oper)));
}

void TF_ImportGraphDefOptionsAddReturnOutput(TF_ImportGraphDefOptions* opts, const char* oper_name, int index) {
  hr_endpoint_t e = import_endpoint(opts, oper_name, index);
  hr_status_merge(&opts->failure, hr_vec_push(&opts->outputs, e));
}
int TF_ImportGraphDefOptionsNumReturnOutputs(const TF_ImportGraphDefOptions* opts) { return (int)opts->outputs.count; }

void TF_ImportGraphDefOptionsAddReturnOperation(TF_ImportGraphDefOptions* opts, const char* oper_name) {
  hr_str_t name = import_keep_text(opts, oper_name);
  hr_status_merge(&opts->failure, hr_vec_push(&opts->nodes, name));
}
int TF_ImportGraphDefOptionsNumReturnOperations(const TF_ImportGraphDefOptions* opts) { return (int)opts->nodes.count; }

/* --- the import -------------------------------------------------------------------------------------------------------------------- */
static hr_import_options_t import_options(const TF_ImportGraphDefOptions* o) {
  hr_import_options_t out = {.prefix = HR_STR(""), .default_device = HR_STR(""), .keep_shapes_attr = true};
  if (!o) return out;
  out.prefix = o->prefix;
  out.default_device = o->default_device;
  out.uniquify_names = o->uniquify_names;
  out.uniquify_prefix = o->uniquify_prefix;
  out.input_map = (void*)o->inputs.data;
  out.input_map_count = (int32_t)o->inputs.count;
  out.control_map = (void*)o->controls.data;
  out.control_map_count = (int32_t)o->controls.count;
  out.control_dependencies = o->dependencies.data;
  out.control_dependency_count = (int32_t)o->dependencies.count;
  out.return_outputs = o->outputs.data;
  out.return_output_count = (int32_t)o->outputs.count;
  out.return_nodes = o->nodes.data;
  out.return_node_count = (int32_t)o->nodes.count;
  return out;
}

static hr_status_t import_run(hr_graph_t* g, const TF_Buffer* graph_def, const TF_ImportGraphDefOptions* o, hr_import_results_t* out) {
  if (!g || !graph_def) return hr_capi_null(g ? "the GraphDef" : "the graph");
  if (o && o->failure) return hr_status_retain(o->failure);
  hr_import_options_t options = import_options(o);
  hr_mutex_lock(&g->mu);
  hr_status_t status = hr_import_graph_def(g, graph_def->data, graph_def->data ? graph_def->length : 0, &options, out);
  hr_mutex_unlock(&g->mu);
  return status;
}

static hr_status_t import_list_unused(TF_ImportGraphDefResults* r, const TF_ImportGraphDefOptions* o) {
  size_t count = (size_t)r->results.unused_map.count;
  r->unused_names = hr_arena_array(&r->arena, count, sizeof *r->unused_names);
  r->unused_indices = hr_arena_array(&r->arena, count, sizeof *r->unused_indices);
  if (!r->unused_names || !r->unused_indices) return hr_status_out_of_memory();
  for (size_t i = 0; i < count; ++i) {
    hr_endpoint_t from = o->inputs.data[r->results.unused_map.data[i]].from;
    hr_str_t name;
    if (!hr_arena_str(&r->arena, from.node, &name)) return hr_status_out_of_memory();
    r->unused_names[i] = name.data;
    r->unused_indices[i] = from.index;
  }
  return NULL;
}

TF_ImportGraphDefResults* TF_GraphImportGraphDefWithResults(TF_Graph* graph, const TF_Buffer* graph_def,
                                                            const TF_ImportGraphDefOptions* options,
                                                            TF_Status* status) {
  TF_ImportGraphDefResults* r = hr_alloc_zero(sizeof *r);
  if (!r) {
    hr_capi_report(status, hr_status_out_of_memory());
    return NULL;
  }
  hr_arena_init(&r->arena);
  hr_status_t outcome = import_run(hr_capi_graph(graph), graph_def, options, &r->results);
  if (!outcome) outcome = import_list_unused(r, options);
  if (outcome) {
    TF_DeleteImportGraphDefResults(r);
    r = NULL;
  }
  hr_capi_report(status, outcome);
  return r;
}

TF_ImportGraphDefResults* TF_GraphImportGraphDefWithResultsNoSerialization(TF_Graph* graph, const TF_Buffer* graph_def,
                                                                           const TF_ImportGraphDefOptions* options, TF_Status* status) {
  return TF_GraphImportGraphDefWithResults(graph, graph_def, options, status);
}

void TF_GraphImportGraphDefWithReturnOutputs(TF_Graph* graph, const TF_Buffer* graph_def, const TF_ImportGraphDefOptions* options,
                                             TF_Output* return_outputs, int num_return_outputs, TF_Status* status) {
  hr_import_results_t results = {0};
  int wanted = options ? (int)options->outputs.count : 0;
  hr_status_t outcome = NULL;
  if (num_return_outputs != wanted)
    outcome = HR_ERROR(INVALID_ARGUMENT, "the options ask for %d return outputs, room was made for %d", wanted, num_return_outputs);
  if (!outcome) outcome = hr_capi_check_count(num_return_outputs, return_outputs, "return outputs");
  if (!outcome) outcome = import_run(hr_capi_graph(graph), graph_def, options, &results);
  for (int i = 0; !outcome && i < wanted; ++i) return_outputs[i] = hr_capi_to_output(results.outputs.data[i]);
  hr_import_results_deinit(&results);
  hr_capi_report(status, outcome);
}

void TF_GraphImportGraphDef(TF_Graph* graph, const TF_Buffer* graph_def, const TF_ImportGraphDefOptions* options, TF_Status* status) {
  hr_import_results_t results = {0};
  hr_status_t outcome = import_run(hr_capi_graph(graph), graph_def, options, &results);
  hr_import_results_deinit(&results);
  hr_capi_report(status, outcome);
}

/* --- results ------------------------------------------------------------------------------------------------------------------------ */
void TF_DeleteImportGraphDefResults(TF_ImportGraphDefResults* results) {
  if (!results) return;
  hr_import_results_deinit(&results->results);
  hr_arena_deinit(&results->arena);
  hr_free(results);
}

void TF_ImportGraphDefResultsReturnOutputs(TF_ImportGraphDefResults* results, int* num_outputs, TF_Output** outputs) {
  *num_outputs = (int)results->results.outputs.count;
  *outputs = (TF_Output*)results->results.outputs.data; /* the same layout: handles.h */
}

void TF_ImportGraphDefResultsReturnOperations(TF_ImportGraphDefResults* results, int* num_opers, TF_Operation*** opers) {
  *num_opers = (int)results->results.nodes.count;
  *opers = (TF_Operation**)results->results.nodes.data;
}

void TF_ImportGraphDefResultsMissingUnusedInputMappings(TF_ImportGraphDefResults* results, int* num_missing_unused_input_mappings,
                                                        const char*** src_names, int** src_indexes) {
  *num_missing_unused_input_mappings = (int)results->results.unused_map.count;
  *src_names = results->unused_names;
  *src_indexes = results->unused_indices;
}
