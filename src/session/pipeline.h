/* SPDX-License-Identifier: Apache-2.0 */
/* The road from a graph to what a runner runs: copy what is needed, rewrite feeds, optimise. THE order of passes is an array in pipeline.c.
 */
#ifndef HR_SESSION_PIPELINE_H
#define HR_SESSION_PIPELINE_H
#include "session/place.h"

typedef hr_status_t (*hr_pass_fn_t)(hr_program_t* p, const hr_session_options_t* o);
typedef struct {
  const char* name;
  hr_pass_fn_t run;
  bool (*is_on)(const hr_session_options_t* o);
} hr_pass_t;
const hr_pass_t* hr_pipeline_passes(int* out_count);

/* Takes source->mu while it copies. The source must outlive the program, which is placed, optimised and finished. */
HR_MUST_USE hr_status_t hr_pipeline_run(hr_graph_t* source, const hr_prune_request_t* request, const hr_session_options_t* options,
                                        const hr_placing_t* placing, hr_program_t* out);
#endif
