/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients: TF_AddGradients and the call that does more. Both lock the graph for the whole walk. */
#include "graph/grad.h"

#include "capi/handles.h"
#include "headrace/gradients.h"

typedef struct {
  HR_GradientOverride fn;
  void* arg;
} gradient_override_t;

static hr_status_t gradient_call_override(void* arg, hr_grad_ctx_t* ctx, const hr_node_t* node, bool* out_handled) {
  const gradient_override_t* o = arg;
  *out_handled = o->fn(o->arg, ctx, hr_capi_to_operation((hr_node_t*)(uintptr_t)node)) != 0;
  return NULL;
}

static hr_status_t gradient_check_values(const hr_graph_t* g, const TF_Output* values, int count, bool may_be_null, const char* what) {
  HR_TRY(hr_capi_check_count(count, values, what));
  for (int i = 0; i < count; ++i) {
    if (may_be_null && !values[i].oper) continue;
    hr_status_t status = hr_capi_check_value(g, hr_capi_value(values[i]));
    if (status) return hr_status_note(status, "%s %d: ", what, i);
  }
  return NULL;
}

static hr_status_t gradient_check(const hr_graph_t* g, const HR_GradientRequest* r, const void* out) {
  if (!g) return hr_capi_null("the graph");
  HR_TRY(gradient_check_values(g, r->ys, r->y_count, false, "y"));
  HR_TRY(gradient_check_values(g, r->xs, r->x_count, false, "x"));
  HR_TRY(gradient_check_values(g, r->stops, r->stop_count, false, "stop"));
  if (r->upstream) HR_TRY(gradient_check_values(g, r->upstream, r->y_count, true, "upstream gradient"));
  return hr_capi_check_count(r->x_count, out, "results");
}

static hr_status_t gradient_build(hr_graph_t* g, const HR_GradientRequest* r, HR_Gradient* out) {
  HR_TRY(gradient_check(g, r, out));
  gradient_override_t override = {r->override, r->override_arg};
  hr_grad_request_t request = {
      .prefix = hr_capi_str(r->prefix),
      .ys = (const hr_value_t*)r->ys,
      .y_count = r->y_count,
      .xs = (const hr_value_t*)r->xs,
      .x_count = r->x_count,
      .upstream = (const hr_value_t*)r->upstream,
      .stops = (const hr_value_t*)r->stops,
      .stop_count = r->stop_count,
      .keep_slices = r->keep_slices != 0,
      .override = r->override ? gradient_call_override : NULL,
      .override_arg = &override,
  };
  hr_gradient_t* results = hr_alloc_array((size_t)r->x_count, sizeof *results);
  if (!results && r->x_count) return hr_status_out_of_memory();
  hr_mutex_lock(&g->mu);
  hr_status_t status = hr_grad_build(g, &request, results);
  hr_mutex_unlock(&g->mu);
  for (int i = 0; !status && i < r->x_count; ++i) {
    const hr_gradient_t* d = &results[i];
    out[i] = (HR_Gradient){.dense = hr_capi_to_output(d->dense), .is_slices = d->is_slices};
    out[i].indices = hr_capi_to_output(d->is_slices ? d->indices : HR_NO_VALUE);
    out[i].values = hr_capi_to_output(d->is_slices ? d->values : HR_NO_VALUE);
    out[i].dense_shape = hr_capi_to_output(d->is_slices ? d->dense_shape : HR_NO_VALUE);
  }
  hr_free(results);
  return status;
}

void HR_AddGradients(TF_Graph* graph, const HR_GradientRequest* request, HR_Gradient* out, TF_Status* status) {
  HR_GradientRequest whole = {0};
  hr_status_t outcome = NULL;
  if (!request) outcome = hr_capi_null("the request");
  else if (request->struct_size < offsetof(HR_GradientRequest, upstream) || request->struct_size > sizeof whole + 4096)
    outcome = HR_ERROR(INVALID_ARGUMENT, "the request's struct_size is %zu, it should be %zu", request->struct_size,
                       (size_t)HR_GRADIENT_REQUEST_STRUCT_SIZE);
  if (!outcome) {
    memcpy(&whole, request, request->struct_size < sizeof whole ? request->struct_size : sizeof whole);
    outcome = gradient_build(hr_capi_graph(graph), &whole, out);
  }
  hr_capi_report(status, outcome);
}

void TF_AddGradientsWithPrefix(TF_Graph* g, const char* prefix, TF_Output* y, int ny, TF_Output* x, int nx, TF_Output* dx,
                               TF_Status* status,
                               TF_Output* dy) {
  HR_GradientRequest request = {.prefix = prefix, .ys = y, .y_count = ny, .xs = x, .x_count = nx, .upstream = dx};
  hr_status_t outcome = hr_capi_check_count(nx, dy, "results");
  HR_Gradient* results = NULL;
  if (!outcome && nx && !(results = hr_alloc_array((size_t)nx, sizeof *results))) outcome = hr_status_out_of_memory();
  if (!outcome) outcome = gradient_build(hr_capi_graph(g), &request, results);
  for (int i = 0; !outcome && i < nx; ++i) dy[i] = results[i].dense;
  hr_free(results);
  hr_capi_report(status, outcome);
}

void TF_AddGradients(TF_Graph* g, TF_Output* y, int ny, TF_Output* x, int nx, TF_Output* dx, TF_Status* status, TF_Output* dy) {
  TF_AddGradientsWithPrefix(g, NULL, y, ny, x, nx, dx, status, dy);
}
