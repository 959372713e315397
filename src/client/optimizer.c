/* SPDX-License-Identifier: Apache-2.0 */
/* An optimizer: the row of its rule, and the hyperparameters that were set. */
#include "client/optimizer.h"

#define HYPERS(...) {__VA_ARGS__}
#define SLOTS(...) {__VA_ARGS__}
#define NO_SLOTS {{0}}
#define HYPER(name, node, value) {name, node, value, HYPER_NODE}
#define REQUIRED(name, node) {name, node, 0, HYPER_REQUIRED}
#define NUMBER(name, value) {name, NULL, value, HYPER_NUMBER}
#define SLOT(name, initial, value, number) {name, initial, value, number}
static const hr_optimizer_row_t rows[] = {
#define OPTIMIZER(Rule, op, inputs, sparse, flag, variant, hypers, ...) {#Rule, op, inputs, sparse, flag, variant, hypers, __VA_ARGS__},
#include "client/optimizers.def"
};
enum { ROW_COUNT = sizeof rows / sizeof *rows };

int hr_optimizer_hyper(const hr_optimizer_row_t* row, const char* name, size_t size) {
  for (int i = 0; i < OPTIMIZER_HYPERS && row->hypers[i].kind; ++i)
    if (strlen(row->hypers[i].name) == size && !memcmp(row->hypers[i].name, name, size)) return i;
  return -1;
}

double hr_optimizer_number(const HR_Optimizer* o, const char* name) {
  const int i = hr_optimizer_hyper(o->row, name, strlen(name));
  return i < 0 ? 0 : o->set[i].is_set ? o->set[i].number : o->row->hypers[i].value;
}

static const hr_optimizer_row_t* find_row(const char* rule) {
  for (int i = 0; i < ROW_COUNT; ++i)
    if (!strcmp(rows[i].rule, rule)) return &rows[i];
  return NULL;
}

static hr_status_t unknown_rule(const char* rule) {
  hr_strbuf_t known;
  hr_strbuf_init(&known);
  for (int i = 0; i < ROW_COUNT; ++i)
    if (find_row(rows[i].rule) == &rows[i]) hr_strbuf_format(&known, "%s%s", i ? ", " : "", rows[i].rule);
  hr_status_t status = HR_ERROR(INVALID_ARGUMENT, "no optimizer '%s'; there are %.*s", rule, HR_STR_ARG(hr_strbuf_view(&known)));
  hr_strbuf_deinit(&known);
  return status;
}

HR_Optimizer* HR_NewOptimizer(TF_Graph* graph, const char* rule, const char* name, TF_Status* status) {
  const hr_optimizer_row_t* row = rule ? find_row(rule) : NULL;
  HR_Optimizer* o = NULL;
  if (!graph || !row) {
    hr_capi_report(status, !graph ? hr_capi_null("the graph") : !rule ? hr_capi_null("the rule") : unknown_rule(rule));
    return NULL;
  }
  const char* called = name && *name ? name : rule;
  if ((o = hr_alloc_zero(sizeof *o)) && (o->name = hr_alloc_copy(called, strlen(called)))) {
    o->row = row;
    o->graph = hr_graph_retain(hr_capi_graph(graph));
    hr_capi_report(status, NULL);
    return o;
  }
  hr_free(o);
  hr_capi_report(status, hr_status_out_of_memory());
  return NULL;
}

void HR_DeleteOptimizer(HR_Optimizer* o) {
  if (!o) return;
  for (int64_t i = 0; i < o->slots.count; ++i) hr_free(o->slots.data[i]);
  hr_vec_deinit(&o->slots);
  hr_graph_release(o->graph);
  hr_free(o->name);
  hr_free(o->slot_scope);
  hr_free(o->scope);
  hr_free(o);
}

/* A copy of a scope without its last slash; *out stays as it was on failure. */
static hr_status_t take_scope(const char* scope, char** out) {
  const size_t n = strlen(scope);
  char* copy = n && scope[n - 1] == '/' ? hr_alloc_copy(scope, n - 1) : NULL;
  if (n && scope[n - 1] != '/') return HR_ERROR(INVALID_ARGUMENT, "scope '%s' does not end in '/'", scope);
  if (n && !copy) return hr_status_out_of_memory();
  hr_free(*out);
  *out = copy;
  return NULL;
}

void HR_OptimizerSetScope(HR_Optimizer* o, const char* slot_prefix, const char* scope, TF_Status* status) {
  hr_status_t failed = !o ? hr_capi_null("the optimizer") : !slot_prefix || !scope ? hr_capi_null("the scope") : NULL;
  if (!failed) failed = take_scope(slot_prefix, &o->slot_scope);
  if (!failed) failed = take_scope(scope, &o->scope);
  hr_capi_report(status, failed);
}

/* The index of what is set, or a failure that names what there is. */
static hr_status_t find_hyper(HR_Optimizer* o, const char* name, int* out) {
  if (!o) return hr_capi_null("the optimizer");
  if (!name) return hr_capi_null("the hyperparameter's name");
  if ((*out = hr_optimizer_hyper(o->row, name, strlen(name))) < 0)
    return HR_ERROR(INVALID_ARGUMENT, "%s has no hyperparameter '%s'", o->row->rule, name);
  return o->slots.count ? HR_ERROR(FAILED_PRECONDITION, "hyperparameter '%s' is set after the optimizer was applied", name) : NULL;
}

/* The rows of a rule differ in their ops and slots, not in their hyperparameters. */
static void choose_row(HR_Optimizer* o, const char* hyperparameter, bool second) {
  if (strcmp(hyperparameter, o->row->variant) != 0) return;
  o->row = find_row(o->row->rule) + second;
}

void HR_OptimizerSetFloat(HR_Optimizer* o, const char* name, double value, TF_Status* status) {
  int i;
  hr_status_t failed = find_hyper(o, name, &i);
  if (!failed) {
    o->set[i].number = value;
    o->set[i].tensor = HR_NO_VALUE;
    o->set[i].is_set = true;
    choose_row(o, name, value != 0);
  }
  hr_capi_report(status, failed);
}

void HR_OptimizerSetTensor(HR_Optimizer* o, const char* name, TF_Output scalar, TF_Status* status) {
  int i;
  hr_status_t failed = find_hyper(o, name, &i);
  if (!failed && o->row->hypers[i].kind == HYPER_NUMBER) failed = HR_ERROR(INVALID_ARGUMENT, "hyperparameter '%s' must be a number", name);
  if (!failed) {
    hr_mutex_lock(&o->graph->mu);
    failed = hr_capi_check_value(o->graph, hr_capi_value(scalar));
    hr_mutex_unlock(&o->graph->mu);
  }
  if (!failed) {
    o->set[i].tensor = hr_capi_value(scalar);
    o->set[i].is_set = true;
    choose_row(o, name, true);
  }
  hr_capi_report(status, failed);
}

int HR_OptimizerSlotCount(const HR_Optimizer* o) { return o ? (int)o->slots.count : 0; }

const HR_Variable* HR_OptimizerSlot(const HR_Optimizer* o, int index, const char** slot_name, TF_Output* of_variable) {
  if (!o || index < 0 || index >= o->slots.count) return NULL;
  const hr_optimizer_slot_t* s = o->slots.data[index];
  if (slot_name) *slot_name = s->name;
  if (of_variable) *of_variable = s->of;
  return &s->variable;
}
