/* SPDX-License-Identifier: Apache-2.0 */
/* What an operation is and how it is connected. In-edges and types never move under a reader; lists of consumers do, so those are
 * read under the graph's lock. */
#include "capi/handles.h"
#include "graph/import.h"

const char* TF_OperationName(TF_Operation* oper) { return oper ? hr_capi_node(oper)->name.data : ""; }
const char* TF_OperationOpType(TF_Operation* oper) { return oper ? hr_capi_node(oper)->attrs.def->op->name : ""; }
int TF_OperationNumOutputs(TF_Operation* oper) { return oper ? hr_capi_node(oper)->output_count : 0; }
int TF_OperationNumInputs(TF_Operation* oper) { return oper ? hr_capi_node(oper)->input_count : 0; }

const char* TF_OperationDevice(TF_Operation* oper) {
  const char* device = oper ? hr_capi_node(oper)->device.data : NULL;
  return device ? device : "";
}

static bool inspect_is_output(TF_Output o) { return o.oper && o.index >= 0 && o.index < hr_capi_node(o.oper)->output_count; }
static bool inspect_is_input(TF_Input i) { return i.oper && i.index >= 0 && i.index < hr_capi_node(i.oper)->input_count; }

TF_DataType TF_OperationOutputType(TF_Output oper_out) {
  return inspect_is_output(oper_out) ? (TF_DataType)hr_value_type(hr_capi_value(oper_out)) : (TF_DataType)0;
}
TF_DataType TF_OperationInputType(TF_Input oper_in) {
  return inspect_is_input(oper_in) ? (TF_DataType)hr_capi_node(oper_in.oper)->input_types[oper_in.index] : (TF_DataType)0;
}

static hr_status_t inspect_list_length(TF_Operation* oper, const char* arg_name, bool outputs, int* out) {
  if (!oper || !arg_name) return hr_capi_null(oper ? "the argument's name" : "the operation");
  const hr_node_attrs_t* attrs = &hr_capi_node(oper)->attrs;
  int count = outputs ? attrs->def->output_count : attrs->def->input_count;
  const hr_arg_def_t* args = outputs ? attrs->def->outputs : attrs->def->inputs;
  for (int i = 0; i < count; ++i)
    if (hr_str_is(args[i].name, arg_name)) return hr_sig_arg_length(attrs->def, attrs->values, outputs, i, out);
  return HR_ERROR(INVALID_ARGUMENT, "op '%.*s' has no %s '%s'", HR_STR_ARG(attrs->def->name), outputs ? "output" : "input", arg_name);
}

int TF_OperationOutputListLength(TF_Operation* oper, const char* arg_name, TF_Status* status) {
  int length = -1;
  hr_capi_report(status, inspect_list_length(oper, arg_name, true, &length));
  return length;
}
int TF_OperationInputListLength(TF_Operation* oper, const char* arg_name, TF_Status* status) {
  int length = -1;
  hr_capi_report(status, inspect_list_length(oper, arg_name, false, &length));
  return length;
}

TF_Output TF_OperationInput(TF_Input oper_in) {
  return inspect_is_input(oper_in) ? hr_capi_to_output(hr_capi_node(oper_in.oper)->inputs[oper_in.index]) : (TF_Output){NULL, -1};
}

void TF_OperationAllInputs(TF_Operation* oper, TF_Output* inputs, int max_inputs) {
  for (int i = 0; oper && i < max_inputs && i < hr_capi_node(oper)->input_count; ++i)
    inputs[i] = hr_capi_to_output(hr_capi_node(oper)->inputs[i]);
}

/* --- edges out ------------------------------------------------------------------------------------------------------------------------ */
/* Counts an output's consumers, and writes as many as fit; returns how many were met or, with an array, written. */
static int inspect_consumers(TF_Output o, TF_Input* out, int most) {
  int found = 0;
  if (!inspect_is_output(o)) return 0;
  hr_node_t* node = hr_capi_node(o.oper);
  hr_mutex_lock(&node->graph->mu);
  for (int64_t i = 0; i < node->consumers.count && (!out || found < most); ++i) {
    if (node->consumers.data[i].output != o.index) continue;
    if (out) out[found] = (TF_Input){hr_capi_to_operation(node->consumers.data[i].node), node->consumers.data[i].input};
    ++found;
  }
  hr_mutex_unlock(&node->graph->mu);
  return found;
}

int TF_OperationOutputNumConsumers(TF_Output oper_out) { return inspect_consumers(oper_out, NULL, 0); }
int TF_OperationOutputConsumers(TF_Output oper_out, TF_Input* consumers, int max_consumers) {
  return consumers ? inspect_consumers(oper_out, consumers, max_consumers) : 0;
}

int TF_OperationNumControlInputs(TF_Operation* oper) { return oper ? hr_capi_node(oper)->control_count : 0; }

int TF_OperationGetControlInputs(TF_Operation* oper, TF_Operation** control_inputs, int max_control_inputs) {
  int count = 0;
  if (!oper) return 0;
  hr_node_t* node = hr_capi_node(oper);
  hr_mutex_lock(&node->graph->mu);
  for (; count < node->control_count && count < max_control_inputs; ++count)
    control_inputs[count] = hr_capi_to_operation(node->controls[count]);
  hr_mutex_unlock(&node->graph->mu);
  return count;
}

int TF_OperationNumControlOutputs(TF_Operation* oper) {
  if (!oper) return 0;
  hr_node_t* node = hr_capi_node(oper);
  hr_mutex_lock(&node->graph->mu);
  int count = (int)node->control_consumers.count;
  hr_mutex_unlock(&node->graph->mu);
  return count;
}

int TF_OperationGetControlOutputs(TF_Operation* oper, TF_Operation** control_outputs, int max_control_outputs) {
  int count = 0;
  if (!oper) return 0;
  hr_node_t* node = hr_capi_node(oper);
  hr_mutex_lock(&node->graph->mu);
  for (; count < node->control_consumers.count && count < max_control_outputs; ++count)
    control_outputs[count] = hr_capi_to_operation(node->control_consumers.data[count]);
  hr_mutex_unlock(&node->graph->mu);
  return count;
}

void TF_OperationToNodeDef(TF_Operation* oper, TF_Buffer* output_node_def, TF_Status* status) {
  char* data = NULL;
  size_t size = 0;
  hr_status_t outcome = oper ? hr_capi_check_buffer(output_node_def) : hr_capi_null("the operation");
  if (!outcome) {
    hr_graph_t* graph = hr_capi_node(oper)->graph;
    hr_mutex_lock(&graph->mu);
    outcome = hr_export_node_def(hr_capi_node(oper), &data, &size);
    hr_mutex_unlock(&graph->mu);
  }
  if (!outcome) outcome = hr_capi_fill_buffer(output_node_def, data, size);
  hr_capi_report(status, outcome);
}
