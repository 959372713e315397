/* SPDX-License-Identifier: Apache-2.0 */
/* Applying gradients: `<name>/update_<variable>/...` for each variable, what belongs to all (Adam's powers), the step count, and one
 * operation `<name>` that runs them. */
#include <stdio.h>
#include "client/optimizer.h"

/* 1. the inputs of an update */
static hr_value_t as_type(hr_build_t* b, hr_value_t x, hr_dtype_t dtype) {
  if (b->status || (hr_dtype_t)hr_value_type(x) == dtype) return x;
  return hr_build(b, "Cast", NULL, HR_VALUES(x), HR_ATTRS(hr_at_type("DstT", (int)dtype)));
}

hr_value_t hr_optimizer_hyper_value(hr_build_t* b, const hr_optimizer_update_t* u, const char* name) {
  const int i = hr_optimizer_hyper(u->optimizer->row, name, strlen(name));
  return as_type(b, u->hypers[i], (hr_dtype_t)u->variable->dtype);
}

static hr_value_t input_of_word(hr_build_t* b, const hr_optimizer_update_t* u, hr_str_t word, const char* op) {
  char name[64];
  snprintf(name, sizeof name, "%.*s", HR_STR_ARG(word));
  if (!strcmp(name, "var")) return hr_capi_value(u->variable->handle);
  if (!strcmp(name, "grad")) return u->grad;
  if (*name == '@') return hr_capi_value(hr_optimizer_find(u->optimizer, name + 1, u->variable)->handle);
  if (*name != '#') return hr_optimizer_hyper_value(b, u, name);
  const HR_Variable* power = hr_optimizer_find(u->optimizer, name + 1, NULL);
  char read[96];
  snprintf(read, sizeof read, "%s/ReadVariableOp", op);
  return as_type(b, hr_client_read(b, power, read), (hr_dtype_t)u->variable->dtype);
}

hr_node_t* hr_optimizer_update_op(hr_build_t* b, const hr_optimizer_update_t* u) {
  const hr_optimizer_row_t* row = u->optimizer->row;
  hr_value_t inputs[OPTIMIZER_INPUTS];
  int count = 0;
  char op[64];
  hr_str_t rest = hr_str(row->inputs), word;
  snprintf(op, sizeof op, "%s%sApply%s", u->variable->is_resource ? "Resource" : "", u->indices.node ? "Sparse" : "", row->op);
  while (!b->status && hr_str_split(&rest, ' ', &word)) {
    inputs[count++] = input_of_word(b, u, word, op);
    if (u->indices.node && hr_str_is(word, "grad")) inputs[count++] = u->indices;
  }
  const hr_named_attr_t flag = hr_at_bool(row->flag, hr_optimizer_number(u->optimizer, row->flag) != 0);
  return hr_build(b, op, NULL, count, inputs, *row->flag ? 1 : 0, &flag).node;
}

/* 2. one variable */
static hr_node_t* update_variable(hr_build_t* b, hr_optimizer_update_t* u, const char* scope) {
  const hr_node_t* var = hr_capi_node(u->variable->handle.oper);
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hr_strbuf_format(&text, "%s/update_%.*s", scope, HR_STR_ARG(var->name));
  if (text.failed) hr_build_fail(b, hr_status_out_of_memory());
  b->scope = hr_strbuf_view(&text);
  b->beside = var;
  hr_node_t* node = b->status ? NULL : u->indices.node ? hr_optimizer_update_sparse(b, u) : hr_optimizer_update_op(b, u);
  b->beside = NULL;
  b->scope = HR_STR("");
  hr_strbuf_deinit(&text);
  return node;
}

/* 3. what follows the updates */
typedef struct {
  HR_Optimizer* optimizer;
  const HR_Gradient* gradients;
  const HR_Variable* variables;
  int count;
  const HR_Variable* global_step;
  hr_str_t scope;
  hr_optimizer_update_t update; /* hyperparameters; the rest per variable */
  hr_node_t** done;             /* updates, then what follows them */
  int done_count;
} apply_t;

static bool has_gradient(const HR_Gradient* g) { return g->is_slices ? g->values.oper != NULL : g->dense.oper != NULL; }

/* power *= beta, once `updates` of a->done have read it. For handles TensorFlow's client makes a read after each assignment: so is it here,
 * since the seeds of later random operations depend on how many operations there are. */
static hr_node_t* finish_power(hr_build_t* b, apply_t* a, const char* power_name, const char* beta, int updates) {
  const HR_Variable* power = hr_optimizer_find(a->optimizer, power_name, NULL);
  hr_value_t by = a->update.hypers[hr_optimizer_hyper(a->optimizer->row, beta, strlen(beta))];
  b->after = a->done;
  b->after_count = updates;
  hr_value_t now = hr_client_read(b, power, NULL);
  b->beside = hr_capi_node(power->handle.oper);
  if (power->is_resource) b->after_count = 0; /* the read waits */
  hr_value_t next = hr_build2(b, "Mul", "mul", now, as_type(b, by, HR_F32));
  b->after_count = 0;
  hr_node_t* node = b->status ? NULL : hr_client_assign(b, power, next);
  if (power->is_resource && !b->status) {
    hr_node_t* kept = a->done[updates];
    a->done[updates] = node;
    b->after_count = updates + 1;
    hr_client_read(b, power, NULL);
    b->after_count = 0;
    a->done[updates] = kept;
  }
  b->beside = NULL;
  return node;
}

static void finish_powers(hr_build_t* b, apply_t* a) { /* powers move on once all have read them */
  if (b->status || a->optimizer->row->sparse != COMPOSED) return;
  const int updates = a->done_count;
  b->scope = a->scope;
  a->done[a->done_count++] = finish_power(b, a, "beta1_power", "beta1", updates);
  if (!b->status) a->done[a->done_count++] = finish_power(b, a, "beta2_power", "beta2", updates);
  b->scope = HR_STR("");
}

static hr_node_t* count_step(hr_build_t* b, const apply_t* a, hr_node_t* updated) {
  const HR_Variable* step = a->global_step;
  b->beside = hr_capi_node(step->handle.oper);
  b->after = &updated;
  b->after_count = 1;
  b->scope = a->scope;
  hr_value_t by = hr_build_number(b, step->is_resource ? "Const" : "value", (hr_dtype_t)step->dtype, 1);
  b->after_count = 0;
  b->scope = HR_STR("");
  hr_node_t* node =
      hr_build2(b, step->is_resource ? "AssignAddVariableOp" : "AssignAdd", a->scope.data, hr_capi_value(step->handle), by).node;
  b->beside = NULL;
  return node;
}

static hr_node_t* group_all(hr_build_t* b, apply_t* a) {
  if (b->status) return NULL;
  const bool counts = a->global_step && a->global_step->handle.oper;
  b->after = a->done;
  b->after_count = a->done_count;
  if (counts) b->scope = a->scope;
  hr_node_t* group = hr_build_group(b, counts ? "update" : a->scope.data);
  b->after_count = 0;
  b->scope = HR_STR("");
  return counts && !b->status ? count_step(b, a, group) : group;
}

/* 4. all variables */
static void make_hypers(hr_build_t* b, apply_t* a) {
  const hr_optimizer_row_t* row = a->optimizer->row;
  b->scope = a->scope;
  for (int i = 0; i < OPTIMIZER_HYPERS && row->hypers[i].kind && !b->status; ++i) {
    const hr_hyper_t* h = &row->hypers[i];
    if (a->optimizer->set[i].tensor.node) a->update.hypers[i] = a->optimizer->set[i].tensor;
    else if (h->kind != HYPER_NUMBER)
      a->update.hypers[i] = hr_build_number(b, h->node, HR_F32, a->optimizer->set[i].is_set ? a->optimizer->set[i].number : h->value);
  }
  b->scope = HR_STR("");
}

/* Checks, and gives the variable whose name comes first: Adam's powers lie beside it. */
static const HR_Variable* check_all(hr_build_t* b, const apply_t* a) {
  const HR_Variable* first = NULL;
  for (int i = 0; i < a->count && !b->status; ++i) {
    const HR_Gradient* g = &a->gradients[i];
    if (!has_gradient(g)) continue;
    if (!hr_client_check(b, &a->variables[i], "a variable")) break;
    if (!hr_build_owns(b, g->is_slices ? g->values : g->dense, "a gradient") ||
        (g->is_slices && !hr_build_owns(b, g->indices, "a gradient's indices")))
      break;
    if (!first || hr_str_compare(hr_capi_node(a->variables[i].handle.oper)->name, hr_capi_node(first->handle.oper)->name) < 0)
      first = &a->variables[i];
  }
  if (!b->status && !first) hr_build_fail(b, HR_ERROR(INVALID_ARGUMENT, "no variable has a gradient"));
  if (!b->status && a->global_step && a->global_step->handle.oper) hr_client_check(b, a->global_step, "the global step");
  return first;
}

static void check_required(hr_build_t* b, const HR_Optimizer* o) {
  for (int i = 0; i < OPTIMIZER_HYPERS && !b->status; ++i)
    if (o->row->hypers[i].kind == HYPER_REQUIRED && !o->set[i].is_set)
      hr_build_fail(b, HR_ERROR(INVALID_ARGUMENT, "%s needs the hyperparameter '%s'", o->row->rule, o->row->hypers[i].name));
}

static void make_updates(hr_build_t* b, apply_t* a) {
  for (int i = 0; i < a->count && !b->status; ++i) {
    const HR_Gradient* g = &a->gradients[i];
    if (!has_gradient(g)) continue;
    a->update.variable = &a->variables[i];
    a->update.grad = hr_capi_value(g->is_slices ? g->values : g->dense);
    a->update.indices = g->is_slices ? hr_capi_value(g->indices) : HR_NO_VALUE;
    a->done[a->done_count++] = update_variable(b, &a->update, a->scope.data);
  }
}

static hr_node_t* apply_all(hr_build_t* b, apply_t* a, const char* name) {
  const HR_Variable* first = check_all(b, a);
  check_required(b, a->optimizer);
  if (b->status) return NULL;
  if (!(a->done = hr_alloc_array((size_t)a->count + 2, sizeof *a->done))) hr_build_fail(b, hr_status_out_of_memory());
  hr_optimizer_make_powers(b, a->optimizer, first);
  for (int i = 0; i < a->count && !b->status; ++i)
    if (has_gradient(&a->gradients[i])) hr_optimizer_make_slots(b, a->optimizer, &a->variables[i]);
  a->scope = hr_build_unique(b, a->optimizer->scope ? a->optimizer->scope : "", name && *name ? name : a->optimizer->name);
  if (!b->status) make_hypers(b, a);
  make_updates(b, a);
  finish_powers(b, a);
  hr_node_t* group = group_all(b, a);
  hr_free(a->done);
  return group;
}

TF_Operation* HR_OptimizerApply(HR_Optimizer* o, const HR_Gradient* gradients, const HR_Variable* variables, int count,
                                const HR_Variable* global_step, const char* name, TF_Status* status) {
  hr_build_t b = hr_build_begin(o ? hr_capi_to_graph(o->graph) : NULL);
  if (!b.status) hr_build_fail(&b, hr_capi_check_count(count, gradients, "gradients"));
  if (!b.status) hr_build_fail(&b, hr_capi_check_count(count, variables, "variables"));
  apply_t a = {.optimizer = o, .gradients = gradients, .variables = variables, .count = count, .global_step = global_step};
  a.update.optimizer = o;
  hr_node_t* node = b.status ? NULL : apply_all(&b, &a, name);
  if (b.status) node = NULL;
  hr_build_end(&b, status);
  return hr_capi_to_operation(node);
}

TF_Operation* HR_OptimizerMinimize(HR_Optimizer* o, TF_Output loss, const HR_Variable* variables, int count, const HR_Variable* global_step,
                                   TF_Status* status) {
  hr_status_t failed = !o ? hr_capi_null("the optimizer") : hr_capi_check_count(count, variables, "variables");
  TF_Output* xs = NULL;
  HR_Gradient* gradients = NULL;
  TF_Operation* op = NULL;
  if (!failed && count) {
    xs = hr_alloc_array((size_t)count, sizeof *xs);
    gradients = hr_alloc_array((size_t)count, sizeof *gradients);
    if (!xs || !gradients) failed = hr_status_out_of_memory();
  }
  for (int i = 0; i < count && !failed; ++i) xs[i] = variables[i].handle;
  hr_capi_report(status, failed);
  if (!failed) {
    const HR_GradientRequest r = {
        .struct_size = HR_GRADIENT_REQUEST_STRUCT_SIZE, .ys = &loss, .y_count = 1, .xs = xs, .x_count = count, .keep_slices = 1};
    HR_AddGradients(hr_capi_to_graph(o->graph), &r, gradients, status);
    if (TF_GetCode(status) == TF_OK) op = HR_OptimizerApply(o, gradients, variables, count, global_step, NULL, status);
  }
  hr_free(xs);
  hr_free(gradients);
  return op;
}
