/* SPDX-License-Identifier: Apache-2.0 */
/* One golden case, run every way; see case_run.h. A way is a fresh session (random streams begin anew), `_init`, then one run. */
#include "golden/case_run.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "golden/api.h"
#include "golden/devices.h"
#include "golden/match.h"

enum { MAX_INPUTS = 64 };

typedef struct {
  const golden_case_t* c;
  const golden_options_t* options;
  TF_Graph* graph;
  TF_Status* status;
  int inputs;
  TF_Output input[MAX_INPUTS];
  TF_Tensor* value[MAX_INPUTS];
  TF_Output fetch[GOLDEN_MAX_NAMES], grad[GOLDEN_MAX_NAMES];
  char* why;
  size_t why_size, why_used;
  int bad;
} trial_t;

__attribute__((format(printf, 3, 4))) static void complain(trial_t* t, const char* way, const char* format, ...) {
  va_list args;
  va_start(args, format);
  t->bad++;
  if (t->why_used < t->why_size) t->why_used += (size_t)snprintf(t->why + t->why_used, t->why_size - t->why_used, "  %s: ", way);
  if (t->why_used < t->why_size) t->why_used += (size_t)vsnprintf(t->why + t->why_used, t->why_size - t->why_used, format, args);
  if (t->why_used < t->why_size) t->why_used += (size_t)snprintf(t->why + t->why_used, t->why_size - t->why_used, "\n");
  va_end(args);
}

static const char* code_name(TF_Code code) {
  static const char* names[] = {"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
                                "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE",
                                "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED"};
  return (unsigned)code < sizeof names / sizeof *names ? names[code] : "no such code";
}

static int has_failed(const trial_t* t) { return api.TF_GetCode(t->status) != TF_OK; }
static int wants_error(const trial_t* t) { return *t->c->error != 0; }

static void complain_status(trial_t* t, const char* way, const char* what) {
  complain(t, way, "%s: %s: %s", what, code_name(api.TF_GetCode(t->status)), api.TF_Message(t->status));
}

/* The status must be the error that the case wants. */
static void judge_error(trial_t* t, const char* way) {
  const char* name = code_name(api.TF_GetCode(t->status));
  if (strcmp(name, t->c->error)) complain(t, way, "ends with %s (%s), not %s", name, api.TF_Message(t->status), t->c->error);
}

static int import_graph(trial_t* t) {
  size_t size = t->c->size;
  char* spread = t->options->devices ? golden_devices_give((const char*)t->c->graph, size, t->options->devices, &size) : NULL;
  TF_Buffer* bytes = api.TF_NewBufferFromString(spread ? spread : (const char*)t->c->graph, size);
  free(spread);
  TF_ImportGraphDefOptions* options = api.TF_NewImportGraphDefOptions();
  api.TF_GraphImportGraphDef(t->graph, bytes, options, t->status);
  api.TF_DeleteImportGraphDefOptions(options);
  api.TF_DeleteBuffer(bytes);
  if (!has_failed(t)) {
    if (wants_error(t) && !strcmp(t->c->error_at, "build")) complain(t, "import", "succeeds, must fail with %s", t->c->error);
    return !t->bad;
  }
  if (strstr(api.TF_Message(t->status), "not registered")) complain(t, "import", "no such op: %s", api.TF_Message(t->status));
  else if (wants_error(t)) judge_error(t, "import");
  else complain_status(t, "import", "failed");
  return 0;
}

static int find_output(trial_t* t, const char* endpoint, TF_Output* out) {
  char name[512];
  const char* colon = strrchr(endpoint, ':');
  snprintf(name, sizeof name, "%.*s", colon ? (int)(colon - endpoint) : (int)strlen(endpoint), endpoint);
  out->oper = api.TF_GraphOperationByName(t->graph, name);
  out->index = colon ? atoi(colon + 1) : 0;
  if (out->oper && out->index < api.TF_OperationNumOutputs(out->oper)) return 1;
  complain(t, "import", "no endpoint %s in the graph", endpoint);
  return 0;
}

/* The value of the Const named by the stem and k; NULL if there is no such node. */
static TF_Tensor* take_const(trial_t* t, const char* stem, int k, TF_Output* out) {
  char name[64];
  TF_Tensor* value = NULL;
  snprintf(name, sizeof name, "%s_%d", stem, k);
  TF_Output o = {api.TF_GraphOperationByName(t->graph, name), 0};
  if (out) *out = o;
  if (!o.oper) return NULL;
  api.TF_OperationGetAttrTensor(o.oper, "value", &value, t->status);
  if (has_failed(t)) complain_status(t, name, "value");
  return value;
}

static int find_all(trial_t* t) {
  int good = 1;
  for (int i = 0; i < t->c->fetch.count; i++) good &= find_output(t, t->c->fetch.name[i], &t->fetch[i]);
  for (int i = 0; i < t->c->grad.count; i++) good &= find_output(t, t->c->grad.name[i], &t->grad[i]);
  while (t->inputs < MAX_INPUTS && (t->value[t->inputs] = take_const(t, "in", t->inputs, &t->input[t->inputs]))) t->inputs++;
  return good && !t->bad;
}

static TF_Session* open_session(trial_t* t, const char* way) {
  TF_SessionOptions* options = api.TF_NewSessionOptions();
  static const char soft[] = "\x0a\x07\x0a\x03\x43PU\x10\x02\x38\x01"; /* device_count: CPU, 2; allow_soft_placement */
  if (t->options->devices && !t->options->config) api.TF_SetConfig(options, soft, sizeof soft - 1, t->status);
  if (t->options->config) api.TF_SetConfig(options, t->options->config, t->options->config_size, t->status);
  if (t->options->target) api.TF_SetTarget(options, t->options->target);
  TF_Session* session = api.TF_NewSession(t->graph, options, t->status);
  api.TF_DeleteSessionOptions(options);
  if (has_failed(t)) complain_status(t, way, "new session");
  return session;
}

static void close_session(TF_Session* session) {
  TF_Status* status = api.TF_NewStatus(); /* the trial's keeps the run's end */
  api.TF_CloseSession(session, status);
  api.TF_DeleteSession(session, status);
  api.TF_DeleteStatus(status);
}

static void run_once(trial_t* t, TF_Session* s, int fed, TF_Output* fetch, TF_Tensor** out, int fetches, const TF_Operation* target) {
  api.TF_SessionRun(s, NULL, t->input, t->value, fed ? t->inputs : 0, fetch, out, fetches, &target, target ? 1 : 0, NULL, t->status);
}

/* A fresh session, `_init`, then the fetches: t->status is the end of whichever failed first. */
static void run_session(trial_t* t, const char* way, int fed, TF_Output* fetch, TF_Tensor** out, int fetches) {
  TF_Session* session = open_session(t, way);
  if (has_failed(t)) return;
  for (int i = 0; i < t->c->init.count && !has_failed(t); i++) {
    const TF_Operation* target = api.TF_GraphOperationByName(t->graph, t->c->init.name[i]);
    if (target) run_once(t, session, fed, NULL, NULL, 0, target);
    else complain(t, way, "no node %s in the graph", t->c->init.name[i]);
  }
  if (!has_failed(t)) run_once(t, session, fed, fetch, out, fetches, NULL);
  close_session(session);
}

static void compare_value(trial_t* t, const char* way, const char* what, const char* endpoint, const TF_Tensor* got,
                          const TF_Tensor* want) {
  char why[600];
  if (!want) return;
  if (!got) complain(t, way, "%s %s: no tensor", what, endpoint);
  else if (!golden_match(got, want, t->c->match, t->c->rtol, t->c->atol, why, sizeof why))
    complain(t, way, "%s %s: %s", what, endpoint, why);
}

/* What shape inference knew of an endpoint must not contradict the value's shape. */
static void check_inferred(trial_t* t, int k, const TF_Tensor* want) {
  int64_t dims[32];
  int rank = api.TF_GraphGetTensorNumDims(t->graph, t->fetch[k], t->status);
  if (has_failed(t) || rank < 0 || !want) return;
  if (rank != api.TF_NumDims(want)) {
    complain(t, "inference", "%s has rank %d, not %d", t->c->fetch.name[k], rank, api.TF_NumDims(want));
    return;
  }
  if (rank > 32) return;
  api.TF_GraphGetTensorShape(t->graph, t->fetch[k], dims, rank, t->status);
  for (int i = 0; i < rank && !has_failed(t); i++)
    if (dims[i] >= 0 && dims[i] != api.TF_Dim(want, i))
      complain(t, "inference", "%s has dimension %d of %lld, not %lld", t->c->fetch.name[k], i, (long long)dims[i],
               (long long)api.TF_Dim(want, i));
}

static void free_tensors(TF_Tensor** tensors, int count) {
  for (int i = 0; i < count; i++)
    if (tensors[i]) api.TF_DeleteTensor(tensors[i]);
}

static void try_values(trial_t* t, int fed) {
  TF_Tensor* out[GOLDEN_MAX_NAMES] = {0};
  const char* way = fed ? "fed" : "as it is";
  int before = t->bad;
  run_session(t, way, fed, t->fetch, out, t->c->fetch.count);
  if (t->bad != before) goto done;
  if (wants_error(t)) {
    judge_error(t, way);
  } else if (has_failed(t)) {
    complain_status(t, way, "run");
  } else {
    for (int k = 0; k < t->c->fetch.count; k++) {
      TF_Tensor* want = take_const(t, "want", k, NULL);
      if (!want) complain(t, way, "the case has no want_%d", k);
      compare_value(t, way, "value of", t->c->fetch.name[k], out[k], want);
      if (!fed) check_inferred(t, k, want);
      free_tensors(&want, 1);
    }
  }
done:
  free_tensors(out, t->c->fetch.count);
  api.TF_SetStatus(t->status, TF_OK, "");
}

/* Gradient endpoints of sum over k of fetch_k * seed_k; oper NULL where none flows. */
static int add_gradients(trial_t* t, TF_Output* out) {
  TF_Output y[GOLDEN_MAX_NAMES], dx[GOLDEN_MAX_NAMES];
  int n = 0;
  for (int k = 0; k < t->c->fetch.count; k++) {
    char name[64];
    snprintf(name, sizeof name, "seed_%d", k);
    dx[n] = (TF_Output){api.TF_GraphOperationByName(t->graph, name), 0};
    y[n] = t->fetch[k];
    n += dx[n].oper != NULL;
  }
  api.TF_AddGradients(t->graph, y, n, t->grad, t->c->grad.count, dx, t->status, out);
  if (has_failed(t)) complain_status(t, "gradient", "TF_AddGradients");
  return !has_failed(t);
}

static void try_gradient_run(trial_t* t, int fed, TF_Output* dy) {
  TF_Output fetch[GOLDEN_MAX_NAMES];
  TF_Tensor *out[GOLDEN_MAX_NAMES] = {0}, *want[GOLDEN_MAX_NAMES] = {0};
  int of[GOLDEN_MAX_NAMES], n = 0, before = t->bad;
  const char* way = fed ? "gradient, fed" : "gradient";
  for (int i = 0; i < t->c->grad.count; i++) {
    want[i] = take_const(t, "want_grad", i, NULL);
    if (!want[i] != !dy[i].oper && !fed)
      complain(t, way, "by %s: %s", t->c->grad.name[i], want[i] ? "none, there must be one" : "there is one, must be none");
    if (want[i] && dy[i].oper) fetch[n] = dy[of[n] = i], n++;
  }
  if (n) run_session(t, way, fed, fetch, out, n);
  if (t->bad == before && has_failed(t)) complain_status(t, way, "run");
  for (int i = 0; i < n && t->bad == before; i++) compare_value(t, way, "by", t->c->grad.name[of[i]], out[i], want[of[i]]);
  free_tensors(out, n);
  free_tensors(want, t->c->grad.count);
  api.TF_SetStatus(t->status, TF_OK, "");
}

int golden_case_run(const golden_case_t* c, const golden_options_t* options, char* why, size_t why_size) {
  trial_t t = {.c = c, .options = options, .why = why, .why_size = why_size};
  TF_Output dy[GOLDEN_MAX_NAMES] = {0};
  *why = 0;
  t.graph = api.TF_NewGraph();
  t.status = api.TF_NewStatus();
  if (import_graph(&t) && find_all(&t)) {
    try_values(&t, 0);
    if (t.inputs) try_values(&t, 1);
    if (c->grad.count && options->gradients && add_gradients(&t, dy)) {
      try_gradient_run(&t, 0, dy);
      if (t.inputs) try_gradient_run(&t, 1, dy);
    }
  }
  free_tensors(t.value, t.inputs);
  api.TF_DeleteGraph(t.graph);
  api.TF_DeleteStatus(t.status);
  return !t.bad;
}
