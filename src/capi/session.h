/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions among the files of capi/. */
#ifndef HR_CAPI_SESSION_H
#define HR_CAPI_SESSION_H
#include "capi/handles.h"

/* graph NULL: a session without one. */
HR_MUST_USE hr_status_t hr_capi_session_create(hr_graph_t* graph, const TF_SessionOptions* options, TF_Session** out);

/* What is fed, fetched and run, as a client says it. */
typedef struct {
  const TF_Output* inputs;
  TF_Tensor* const* input_values;
  int input_count;
  const TF_Output* outputs;
  TF_Tensor** output_values;
  int output_count;
  const TF_Operation* const* targets;
  int target_count;
} hr_capi_run_t;
HR_MUST_USE hr_status_t hr_capi_run(TF_Session* s, const TF_Buffer* run_options, hr_cancel_t* cancel, const hr_capi_run_t* r,
                                    TF_Buffer* run_metadata);
HR_MUST_USE hr_status_t hr_capi_partial_setup(TF_Session* s, const hr_capi_run_t* r, const char** out_handle);
HR_MUST_USE hr_status_t hr_capi_partial_run(const char* handle, const hr_capi_run_t* r);
#endif
