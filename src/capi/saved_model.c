/* SPDX-License-Identifier: Apache-2.0 */
/* TF_LoadSessionFromSavedModel: open, import, make a session, restore. */
#include "session/saved_model.h"

#include "capi/session.h"
#include "graph/import.h"

static hr_status_t model_import(hr_graph_t* g, const hr_saved_model_t* m) {
  hr_import_options_t options = {.prefix = HR_STR(""), .default_device = HR_STR(""), .keep_shapes_attr = true};
  hr_import_results_t results = {0};
  hr_str_t bytes = hr_cursor_str(m->graph_def);
  hr_mutex_lock(&g->mu);
  hr_status_t status = g->nodes.count ? HR_ERROR(INVALID_ARGUMENT,
                                                 "the graph to load a model into has %lld operations already; pass an empty one",
                                                 (long long)g->nodes.count)
                                      : hr_import_graph_def(g, bytes.data, bytes.size, &options, &results);
  hr_mutex_unlock(&g->mu);
  hr_import_results_deinit(&results);
  return status;
}

static hr_status_t model_hand_over(const hr_saved_model_t* m, TF_Buffer* out) {
  hr_str_t bytes = hr_cursor_str(m->meta_graph);
  char* copy = hr_alloc_copy(bytes.data, bytes.size);
  return copy ? hr_capi_fill_buffer(out, copy, bytes.size) : hr_status_out_of_memory();
}

static hr_status_t model_load(const TF_SessionOptions* session_options, const TF_Buffer* run_options, const char* dir,
                              const char* const* tags,
                              int tag_count, TF_Graph* graph, TF_Buffer* meta_graph_def, TF_Session** out) {
  hr_saved_model_t m;
  hr_run_options_t options = {0};
  TF_Session* s = NULL;
  if (!dir || !graph) return hr_capi_null(dir ? "the graph" : "the model's directory");
  HR_TRY(hr_capi_check_count(tag_count, tags, "tags"));
  if (meta_graph_def) HR_TRY(hr_capi_check_buffer(meta_graph_def));
  if (run_options) HR_TRY(hr_run_options_decode(&options, run_options->data, run_options->data ? run_options->length : 0));
  HR_TRY(hr_saved_model_open(dir, tags, tag_count, &m));
  hr_status_t status = model_import(hr_capi_graph(graph), &m);
  if (!status) status = hr_capi_session_create(hr_capi_graph(graph), session_options, &s);
  if (!status) status = hr_saved_model_restore(&m, s->session, &options);
  if (!status && meta_graph_def) status = model_hand_over(&m, meta_graph_def);
  hr_saved_model_deinit(&m);
  if (status && s) TF_DeleteSession(s, NULL);
  if (!status) *out = s;
  return status ? hr_status_note(status, "loading the model in '%s': ", dir) : NULL;
}

TF_Session* TF_LoadSessionFromSavedModel(const TF_SessionOptions* session_options, const TF_Buffer* run_options, const char* export_dir,
                                         const char* const* tags, int tags_len, TF_Graph* graph, TF_Buffer* meta_graph_def,
                                         TF_Status* status) {
  TF_Session* s = NULL;
  hr_capi_report(status, model_load(session_options, run_options, export_dir, tags, tags_len, graph, meta_graph_def, &s));
  return s;
}
