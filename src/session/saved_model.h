/* SPDX-License-Identifier: Apache-2.0 */
/* A SavedModel directory: finding the MetaGraphDef for a set of tags, and bringing a session on its graph into the saved state. */
#ifndef HR_SESSION_SAVED_MODEL_H
#define HR_SESSION_SAVED_MODEL_H
#include "session/session.h"
#include "wire/cursor.h"

typedef struct {
  char* dir;
  char* bytes; /* the whole SavedModel; the spans below lie in it */
  size_t size;
  hr_cursor_t meta_graph, graph_def, saver_def; /* empty when absent */
} hr_saved_model_t;

/* Reads saved_model.pb, else saved_model.pbtxt. NOT_FOUND: neither is there, or no MetaGraphDef has exactly these tags. */
HR_MUST_USE hr_status_t hr_saved_model_open(const char* dir, const char* const* tags, int tag_count, hr_saved_model_t* out);
void hr_saved_model_deinit(hr_saved_model_t* m);
/* Restores variables (if the model has any) and runs the initialiser; the session's graph holds graph_def. Asset tensors are fed. */
HR_MUST_USE hr_status_t hr_saved_model_restore(const hr_saved_model_t* m, hr_session_t* s, const hr_run_options_t* options);
#endif
