/* SPDX-License-Identifier: Apache-2.0 */
/* Adding operations: descriptions and their end. */
#include "capi/description.h"

/* One description waits here for its next use: a single slot serves the usual case, one thread building, without a lock. */
static _Atomic(TF_OperationDescription*) description_spare;

static void description_destroy(TF_OperationDescription* d) {
  hr_attr_keeper_deinit(&d->tensors);
  hr_vec_deinit(&d->inputs);
  hr_vec_deinit(&d->lists);
  hr_vec_deinit(&d->controls);
  hr_vec_deinit(&d->attrs);
  hr_vec_deinit(&d->colocations);
  hr_arena_deinit(&d->arena);
  hr_free(d);
}

static TF_OperationDescription* description_take(void) {
  TF_OperationDescription* d = atomic_exchange_explicit(&description_spare, NULL, memory_order_acquire);
  if (d) return d;
  d = hr_alloc_zero(sizeof *d);
  if (d) hr_arena_init(&d->arena);
  return d;
}

static void description_give_back(TF_OperationDescription* d) {
  TF_OperationDescription* none = NULL;
  hr_attr_keeper_deinit(&d->tensors);
  hr_arena_reset(&d->arena);
  d->inputs.count = d->lists.count = d->controls.count = d->attrs.count = d->colocations.count = 0;
  d->has_list = false;
  d->device = HR_STR("");
  hr_status_release(d->failure);
  d->failure = NULL;
  if (!atomic_compare_exchange_strong_explicit(&description_spare, &none, d, memory_order_release,
      memory_order_relaxed)) description_destroy(d);
}

void hr_description_fail(TF_OperationDescription* d, hr_status_t take_status) {
  if (d) hr_status_merge(&d->failure, take_status);
  else hr_status_release(take_status);
}

static void description_keep_text(TF_OperationDescription* d, const char* text, hr_str_t* out) {
  if (!hr_arena_str(&d->arena, hr_capi_str(text), out)) {
    *out = HR_STR("");
    hr_description_fail(d, hr_status_out_of_memory());
  }
}

TF_OperationDescription* TF_NewOperation(TF_Graph* graph, const char* op_type, const char* oper_name) {
  TF_OperationDescription* d = description_take();
  if (!d) return NULL;
  d->graph = hr_capi_graph(graph);
  description_keep_text(d, op_type, &d->op);
  description_keep_text(d, oper_name, &d->name);
  d->device = HR_STR("");
  return d;
}

TF_OperationDescription* TF_NewOperationLocked(TF_Graph* graph, const char* op_type, const char* oper_name) {
  return TF_NewOperation(graph, op_type, oper_name);
}

void TF_SetDevice(TF_OperationDescription* desc, const char* device) {
  if (desc) description_keep_text(desc, device, &desc->device);
}

/* --- edges ----------------------------------------------------------------------------------------------------------------------- */
static hr_status_t description_add_value(TF_OperationDescription* d, TF_Output input) {
  hr_value_t v = hr_capi_value(input);
  HR_TRY(hr_capi_check_value(d->graph, v));
  return hr_vec_push(&d->inputs, v);
}

void TF_AddInput(TF_OperationDescription* desc, TF_Output input) {
  if (!desc) return;
  hr_description_fail(desc, description_add_value(desc, input));
  hr_description_fail(desc, hr_vec_push(&desc->lists, 1));
}

void TF_AddInputList(TF_OperationDescription* desc, const TF_Output* inputs, int num_inputs) {
  if (!desc) return;
  hr_status_t status = hr_capi_check_count(num_inputs, inputs, "inputs");
  for (int i = 0; i < num_inputs && !status; ++i) status = description_add_value(desc, inputs[i]);
  hr_description_fail(desc, status);
  hr_description_fail(desc, hr_vec_push(&desc->lists, num_inputs));
  desc->has_list = true;
}

void TF_AddControlInput(TF_OperationDescription* desc, TF_Operation* input) {
  if (!desc) return;
  if (!input) hr_description_fail(desc, hr_capi_null("a control input"));
  else hr_description_fail(desc, hr_vec_push(&desc->controls, hr_capi_node(input)));
}

void TF_ColocateWith(TF_OperationDescription* desc, TF_Operation* op) {
  if (!desc) return;
  if (!op) {
    hr_description_fail(desc, hr_capi_null("the operation to colocate with"));
    return;
  }
  hr_str_t name = hr_capi_node(op)->name;
  char* text = hr_arena_alloc(&desc->arena, name.size + 5);
  if (!text) {
    hr_description_fail(desc, hr_status_out_of_memory());
    return;
  }
  memcpy(text, "loc:@", 5);
  memcpy(text + 5, name.data, name.size);
  hr_description_fail(desc, hr_vec_push(&desc->colocations, ((hr_str_t){text, name.size + 5})));
}

/* --- attrs ----------------------------------------------------------------------------------------------------------------------- */
void hr_description_add_attr(TF_OperationDescription* d, const char* name, const hr_attr_t* value) {
  hr_str_t key = hr_capi_str(name);
  for (int64_t i = 0; i < d->attrs.count; ++i) {
    if (!hr_str_equal(d->attrs.data[i].name, key)) continue;
    if (!hr_attr_equal(&d->attrs.data[i].value, value))
      hr_description_fail(d, HR_ERROR(INVALID_ARGUMENT, "attr '%s' was given twice with different values", name));
    return;
  }
  description_keep_text(d, name, &key);
  hr_description_fail(d, hr_vec_push(&d->attrs, ((hr_named_attr_t){key, *value})));
}

/* "_class" is the attr of that name, if the client set it, and the colocations, each once, sorted. */
static hr_status_t description_add_class(TF_OperationDescription* d) {
  hr_attr_t* given = NULL;
  for (int64_t i = 0; i < d->attrs.count; ++i)
    if (hr_str_is(d->attrs.data[i].name, "_class")) given = &d->attrs.data[i].value;
  if (given && given->kind == HR_ATTR_STRING && given->is_list)
    for (int32_t i = 0; i < given->count; ++i) HR_TRY(hr_vec_push(&d->colocations, given->u.ss[i]));
  int64_t unique = 0;
  for (int64_t i = 0; i < d->colocations.count; ++i) {
    hr_str_t text = d->colocations.data[i];
    int64_t at = unique;
    while (at > 0 && hr_str_compare(d->colocations.data[at - 1], text) > 0) --at;
    if (at > 0 && hr_str_equal(d->colocations.data[at - 1], text)) continue;
    memmove(&d->colocations.data[at + 1], &d->colocations.data[at], (size_t)(unique - at) * sizeof text);
    d->colocations.data[at] = text;
    ++unique;
  }
  hr_attr_t value = {HR_ATTR_STRING, true, (int32_t)unique, {.ss = d->colocations.data}};
  if (!given) return hr_vec_push(&d->attrs, ((hr_named_attr_t){HR_STR("_class"), value}));
  *given = value;
  return NULL;
}

/* --- the end --------------------------------------------------------------------------------------------------------------------- */
static hr_status_t description_finish(TF_OperationDescription* d, hr_node_t** out) {
  if (d->failure) return hr_status_note(hr_status_retain(d->failure), "node '%.*s' (%.*s): ", HR_STR_ARG(d->name), HR_STR_ARG(d->op));
  if (!d->graph) return hr_capi_null("the graph");
  if (d->colocations.count) HR_TRY(description_add_class(d));
  hr_node_desc_t node = {
      .op = d->op,
      .name = d->name,
      .device = d->device,
      .inputs = d->inputs.data,
      .input_count = (int32_t)d->inputs.count,
      .input_lists = d->has_list ? d->lists.data : NULL,
      .controls = d->controls.data,
      .control_count = (int32_t)d->controls.count,
      .attrs = d->attrs.data,
      .attr_count = (int32_t)d->attrs.count,
  };
  hr_mutex_lock(&d->graph->mu);
  hr_status_t status = hr_graph_add(d->graph, &node, out);
  hr_mutex_unlock(&d->graph->mu);
  return status;
}

TF_Operation* TF_FinishOperation(TF_OperationDescription* desc, TF_Status* status) {
  hr_node_t* node = NULL;
  if (!desc) {
    hr_capi_report(status, hr_status_out_of_memory()); /* the only way to have none */
    return NULL;
  }
  hr_capi_report(status, description_finish(desc, &node));
  description_give_back(desc);
  return hr_capi_to_operation(node);
}

TF_Operation* TF_FinishOperationLocked(TF_OperationDescription* desc, TF_Status* status) { return TF_FinishOperation(desc, status); }
