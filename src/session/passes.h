/* SPDX-License-Identifier: Apache-2.0 */
/* The passes that pipeline.c lists; each is one file. All run in time linear in nodes and edges. */
#ifndef HR_SESSION_PASSES_H
#define HR_SESSION_PASSES_H
#include "session/program.h"

HR_MUST_USE hr_status_t hr_pass_inline(hr_program_t* p, const hr_session_options_t* o);
HR_MUST_USE hr_status_t hr_pass_reread(hr_program_t* p, const hr_session_options_t* o);
HR_MUST_USE hr_status_t hr_pass_identity(hr_program_t* p, const hr_session_options_t* o);
HR_MUST_USE hr_status_t hr_pass_narrow(hr_program_t* p, const hr_session_options_t* o);
HR_MUST_USE hr_status_t hr_pass_cse(hr_program_t* p, const hr_session_options_t* o);
HR_MUST_USE hr_status_t hr_pass_fold(hr_program_t* p, const hr_session_options_t* o);
HR_MUST_USE hr_status_t hr_pass_fuse(hr_program_t* p, const hr_session_options_t* o);
HR_MUST_USE hr_status_t hr_pass_sum(hr_program_t* p, const hr_session_options_t* o);
#endif
