/* SPDX-License-Identifier: Apache-2.0 */
/* The oldest interface: a session that holds its graph, and names in place of endpoints. It is a TF_Session on a graph of its own. */
#include "capi/session.h"
#include "graph/import.h"

struct TF_DeprecatedSession {
  TF_Session* session;
  hr_graph_t* graph; /* one share */
};

TF_DeprecatedSession* TF_NewDeprecatedSession(const TF_SessionOptions* options, TF_Status* status) {
  TF_DeprecatedSession* s = hr_alloc_zero(sizeof *s);
  hr_status_t outcome = s ? hr_graph_create(&s->graph) : hr_status_out_of_memory();
  if (!outcome) outcome = hr_capi_session_create(s->graph, options, &s->session);
  if (outcome && s) {
    hr_graph_release(s->graph);
    hr_free(s);
    s = NULL;
  }
  hr_capi_report(status, outcome);
  return s;
}

void TF_CloseDeprecatedSession(TF_DeprecatedSession* session, TF_Status* status) {
  if (session) TF_CloseSession(session->session, status);
  else hr_capi_report(status, hr_capi_null("the session"));
}

void TF_DeleteDeprecatedSession(TF_DeprecatedSession* session, TF_Status* status) {
  if (session) {
    TF_DeleteSession(session->session, NULL);
    hr_graph_release(session->graph);
    hr_free(session);
  }
  hr_capi_report(status, NULL);
}

void TF_ExtendGraph(TF_DeprecatedSession* session, const void* proto, size_t proto_len, TF_Status* status) {
  hr_import_options_t options = {.prefix = HR_STR(""), .default_device = HR_STR(""), .keep_shapes_attr = true};
  hr_import_results_t results = {0};
  hr_status_t outcome = session ? NULL : hr_capi_null("the session");
  if (!outcome) {
    hr_mutex_lock(&session->graph->mu);
    outcome = hr_import_graph_def(session->graph, proto, proto ? proto_len : 0, &options, &results);
    hr_mutex_unlock(&session->graph->mu);
  }
  hr_import_results_deinit(&results);
  hr_capi_report(status, outcome);
}

/* --- names to endpoints -------------------------------------------------------------------------------------------------------------- */
typedef struct {
  TF_Output* inputs;
  TF_Output* outputs;
  TF_Operation** targets;
  void* block;
} names_t;

/* "x" is output 0 of x, "x:2" output 2. The caller locks the graph. */
static hr_status_t names_find(hr_graph_t* g, const char* text, bool is_operation, TF_Output* out) {
  hr_str_t name = hr_capi_str(text);
  int64_t index = 0, colon = hr_str_find(name, ':');
  if (!is_operation && colon >= 0) {
    if (!hr_str_parse_i64(hr_str_slice(name, (size_t)colon + 1, name.size), &index) || index < 0 || index > INT32_MAX)
      return HR_ERROR(INVALID_ARGUMENT, "'%.*s' names no endpoint: write 'node' or 'node:output'", HR_STR_ARG(name));
    name = hr_str_slice(name, 0, (size_t)colon);
  }
  hr_node_t* node = hr_graph_find(g, name);
  if (!node) return HR_ERROR(NOT_FOUND, "the graph has no node '%.*s'", HR_STR_ARG(name));
  *out = (TF_Output){hr_capi_to_operation(node), (int)index};
  return is_operation ? NULL : hr_capi_check_value(g, hr_capi_value(*out));
}

static hr_status_t names_resolve(TF_DeprecatedSession* session, const char** inputs, int input_count, const char** outputs,
                                 int output_count, const char** targets, int target_count, names_t* out) {
  if (!session) return hr_capi_null("the session");
  hr_graph_t* g = session->graph;
  TF_Output target;
  HR_TRY(hr_capi_check_count(input_count, inputs, "inputs"));
  HR_TRY(hr_capi_check_count(output_count, outputs, "outputs"));
  HR_TRY(hr_capi_check_count(target_count, targets, "targets"));
  size_t values = (size_t)input_count + (size_t)output_count;
  out->block = hr_alloc_array(values + (size_t)target_count + 1, sizeof(TF_Output));
  if (!out->block) return hr_status_out_of_memory();
  out->inputs = out->block;
  out->outputs = out->inputs + input_count;
  out->targets = (TF_Operation**)(out->outputs + output_count);
  hr_status_t status = NULL;
  hr_mutex_lock(&g->mu);
  for (int i = 0; i < input_count && !status; ++i) status = names_find(g, inputs[i], false, &out->inputs[i]);
  for (int i = 0; i < output_count && !status; ++i) status = names_find(g, outputs[i], false, &out->outputs[i]);
  for (int i = 0; i < target_count && !status; ++i)
    if (!(status = names_find(g, targets[i], true, &target))) out->targets[i] = target.oper;
  hr_mutex_unlock(&g->mu);
  return status;
}

static void names_take_inputs(TF_Tensor** inputs, int count) {
  for (int i = 0; inputs && i < count; ++i) {
    TF_DeleteTensor(inputs[i]);
    inputs[i] = NULL;
  }
}

void TF_Run(TF_DeprecatedSession* session, const TF_Buffer* run_options, const char** input_names, TF_Tensor** inputs, int ninputs,
            const char** output_names, TF_Tensor** outputs, int noutputs, const char** target_oper_names, int ntargets,
            TF_Buffer* run_metadata,
            TF_Status* status) {
  names_t n = {0};
  for (int i = 0; outputs && i < noutputs; ++i) outputs[i] = NULL;
  hr_status_t outcome = names_resolve(session, input_names, ninputs, output_names, noutputs, target_oper_names, ntargets, &n);
  if (!outcome) {
    hr_capi_run_t r = {n.inputs, inputs, ninputs, n.outputs, outputs, noutputs, (const TF_Operation* const*)n.targets, ntargets};
    outcome = hr_capi_run(session->session, run_options, NULL, &r, run_metadata);
  }
  hr_free(n.block);
  names_take_inputs(inputs, ninputs);
  hr_capi_report(status, outcome);
}

void TF_PRunSetup(TF_DeprecatedSession* session, const char** input_names, int ninputs, const char** output_names, int noutputs,
                  const char** target_oper_names, int ntargets, const char** handle, TF_Status* status) {
  names_t n = {0};
  if (handle) *handle = NULL;
  hr_status_t outcome = names_resolve(session, input_names, ninputs, output_names, noutputs, target_oper_names, ntargets, &n);
  if (!outcome) {
    hr_capi_run_t r = {n.inputs, NULL, ninputs, n.outputs, NULL, noutputs, (const TF_Operation* const*)n.targets, ntargets};
    outcome = hr_capi_partial_setup(session->session, &r, handle);
  }
  hr_free(n.block);
  hr_capi_report(status, outcome);
}

void TF_PRun(TF_DeprecatedSession* session, const char* handle, const char** input_names, TF_Tensor** inputs, int ninputs,
             const char** output_names, TF_Tensor** outputs, int noutputs, const char** target_oper_names, int ntargets,
             TF_Status* status) {
  names_t n = {0};
  for (int i = 0; outputs && i < noutputs; ++i) outputs[i] = NULL;
  hr_status_t outcome = names_resolve(session, input_names, ninputs, output_names, noutputs, target_oper_names, ntargets, &n);
  if (!outcome) {
    hr_capi_run_t r = {n.inputs, inputs, ninputs, n.outputs, outputs, noutputs, (const TF_Operation* const*)n.targets, ntargets};
    outcome = hr_capi_partial_run(handle, &r);
  }
  hr_free(n.block);
  names_take_inputs(inputs, ninputs);
  hr_capi_report(status, outcome);
}

TF_DeviceList* TF_DeprecatedSessionListDevices(TF_DeprecatedSession* session, TF_Status* status) {
  return TF_SessionListDevices(session ? session->session : NULL, status);
}
