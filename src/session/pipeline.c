/* SPDX-License-Identifier: Apache-2.0 */
/* THE pass order. A pass must leave a program that computes the same values and keeps every side effect; a failing pass fails the run
 * (out of memory, a bug), it does not fall back in silence. */
#include "session/pipeline.h"
#include "base/pool.h"
#include "session/passes.h"

static bool always(const hr_session_options_t* o) {
  (void)o;
  return true;
}

static hr_status_t place(hr_program_t* p, const hr_session_options_t* o) {
  (void)o;
  return p->placing ? hr_place_program(p, p->placing) : NULL;
}

static bool identity_is_on(const hr_session_options_t* o) { return o->opt_level >= 0; }
static bool cse_is_on(const hr_session_options_t* o) { return o->common_subexpressions; }
static bool fold_is_on(const hr_session_options_t* o) { return o->constant_folding; }
static bool fuse_is_on(const hr_session_options_t* o) { return o->fusion; }

static const hr_pass_t passes[] = {
  {"inline", hr_pass_inline, always}, /* first: every pass sees the nodes of functions as if the client had written them */
  {"place", place, always},
  {"reread", hr_pass_reread, always}, /* placed: what moved to another device is a copy; before passes that count readers */
  {"identity", hr_pass_identity, identity_is_on}, /* first: what is behind identities becomes comparable */
  {"narrow", hr_pass_narrow, fuse_is_on},          /* before common subexpressions: many narrowed products read one slice */
  {"cse", hr_pass_cse, cse_is_on},                /* before folding: nothing is folded twice */
  {"fold", hr_pass_fold, fold_is_on},
  {"fuse", hr_pass_fuse, fuse_is_on}, /* wants constants, and hides what others look for */
  {"sum", hr_pass_sum, fuse_is_on},   /* what is left of products after it */
  {0},
};

static hr_status_t run_passes(hr_program_t* p, const hr_session_options_t* o) {
  for (const hr_pass_t* pass = passes; pass->name; ++pass) {
    if (!pass->is_on(o)) continue;
    hr_status_t status = pass->run(p, o);
    if (status && pass->run == place) return status; /* its messages are the client's to read */
    if (status) return hr_status_note(status, "pass %s: ", pass->name);
  }
  return hr_program_finish(p);
}

/* Unset, the second follows the first: who asks for one thread gets one. */
static void set_threads(hr_program_t* p, const hr_session_options_t* o) {
  p->threads = o->intra_op_threads > 0 ? o->intra_op_threads : hr_pool_threads();
  p->lanes = o->inter_op_threads ? o->inter_op_threads : p->threads;
}

hr_status_t hr_pipeline_run(hr_graph_t* source, const hr_prune_request_t* request, const hr_session_options_t* options,
                            const hr_placing_t* placing, hr_program_t* out) {
  hr_program_t p = {0};
  hr_mutex_lock(&source->mu);
  hr_status_t status = hr_program_create(source, request, &p);
  hr_mutex_unlock(&source->mu);
  if (status) return status;
  p.placing = placing;
  set_threads(&p, options);
  if ((status = run_passes(&p, options))) hr_program_deinit(&p);
  else *out = p;
  out->placing = NULL;
  return status;
}
