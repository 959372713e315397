/* SPDX-License-Identifier: Apache-2.0 */
/* One step, for TF_SessionRun, callables and partial runs: tensors in, tensors out.
 *
 * Small counts use the stack, so that a one-op step allocates nothing here but the handle it returns. */
#include "capi/session.h"
#include <stdio.h>

#include "headrace/session.h"

enum { RUN_ON_STACK = 8 };

struct HR_Cancellation {
  hr_cancel_t cancel;
};
struct HR_Callable {
  hr_callable_t* callable;
  int input_count, output_count;
};

typedef hr_status_t (*run_fn_t)(void* what, const hr_run_options_t* options, const hr_run_t* run, hr_tensor_t* out, char** out_metadata,
                                size_t* out_metadata_size);

/* A client may write what it fetched: nothing may then adopt that memory when it is fed. */
static inline void run_finish_output(hr_tensor_t* t) {
  if (hr_buffer_is_alone(t->buffer)) t->buffer->read_only = true;
}

/* The counts and arrays; without values. */
static hr_status_t run_check(const hr_capi_run_t* r) {
  HR_TRY(hr_capi_check_count(r->input_count, r->inputs, "inputs"));
  HR_TRY(hr_capi_check_count(r->output_count, r->outputs, "outputs"));
  return hr_capi_check_count(r->target_count, r->targets, "targets");
}

static hr_run_t run_signature(const hr_capi_run_t* r) {
  return (hr_run_t){.feeds = (const hr_value_t*)r->inputs,
                    .feed_count = r->input_count,
                    .fetches = (const hr_value_t*)r->outputs,
                    .fetch_count = r->output_count,
                    .targets = (hr_node_t* const*)r->targets,
                    .target_count = r->target_count};
}

static hr_status_t run_borrow_inputs(const hr_capi_run_t* r, hr_tensor_t* feeds) {
  for (int i = 0; i < r->input_count; ++i) {
    if (!r->input_values[i]) return HR_ERROR(INVALID_ARGUMENT, "the value of input %d is NULL", i);
    hr_tensor_lend(&r->input_values[i]->value, &feeds[i]);
  }
  return NULL;
}

/* Handles first, so that nothing can fail once the step has run. */
static hr_status_t run_make_outputs(const hr_capi_run_t* r) {
  for (int i = 0; i < r->output_count; ++i) {
    if (!(r->output_values[i] = hr_alloc(sizeof(TF_Tensor)))) return hr_status_out_of_memory();
    r->output_values[i]->value.buffer = NULL;
  }
  return NULL;
}

static void run_drop_outputs(const hr_capi_run_t* r) {
  for (int i = 0; i < r->output_count; ++i) {
    hr_free(r->output_values[i]);
    r->output_values[i] = NULL;
  }
}

static hr_status_t run_with(run_fn_t fn, void* what, const hr_run_options_t* options, const hr_capi_run_t* r, hr_tensor_t* feeds,
                            hr_tensor_t* fetches, char** out_metadata, size_t* out_metadata_size) {
  hr_run_t run = run_signature(r);
  run.feed_values = feeds;
  HR_TRY(run_borrow_inputs(r, feeds));
  HR_TRY(run_make_outputs(r));
  if (r->output_count == 1) { /* straight into the handle */
    HR_TRY(fn(what, options, &run, &r->output_values[0]->value, out_metadata, out_metadata_size));
  } else {
    HR_TRY(fn(what, options, &run, fetches, out_metadata, out_metadata_size));
    for (int i = 0; i < r->output_count; ++i) hr_tensor_move(&fetches[i], &r->output_values[i]->value);
  }
  for (int i = 0; i < r->output_count; ++i) run_finish_output(&r->output_values[i]->value);
  return NULL;
}

static hr_status_t run_sized(run_fn_t fn, void* what, const hr_run_options_t* options, const hr_capi_run_t* r, char** out_metadata,
                             size_t* out_metadata_size) {
  hr_tensor_t few[RUN_ON_STACK];
  if (r->input_count + (int64_t)r->output_count <= RUN_ON_STACK)
    return run_with(fn, what, options, r, few, few + r->input_count, out_metadata, out_metadata_size);
  hr_tensor_t* many = hr_alloc_array((size_t)r->input_count + (size_t)r->output_count, sizeof *many);
  if (!many) return hr_status_out_of_memory();
  hr_status_t status = run_with(fn, what, options, r, many, many + r->input_count, out_metadata, out_metadata_size);
  hr_free(many);
  return status;
}

static hr_status_t run_checked(run_fn_t fn, void* what, const TF_Buffer* run_options, hr_cancel_t* cancel, const hr_capi_run_t* r,
                               TF_Buffer* run_metadata) {
  hr_run_options_t options = {0};
  char* metadata = NULL;
  size_t metadata_size = 0;
  HR_TRY(hr_capi_check_count(r->output_count, r->output_values, "output slots"));
  for (int i = 0; i < r->output_count; ++i) r->output_values[i] = NULL;
  HR_TRY(hr_capi_check_count(r->input_count, r->input_values, "input values"));
  if (run_metadata && run_metadata->data) return HR_ERROR(INVALID_ARGUMENT, "the buffer for run metadata must be empty");
  if (run_options) HR_TRY(hr_run_options_decode(&options, run_options->data, run_options->data ? run_options->length : 0));
  options.cancel = cancel;
  hr_status_t status = run_sized(fn, what, &options, r, run_metadata ? &metadata : NULL, run_metadata ? &metadata_size : NULL);
  if (status) {
    run_drop_outputs(r);
    hr_free(metadata);
    return status;
  }
  return metadata ? hr_capi_fill_buffer(run_metadata, metadata, metadata_size) : NULL;
}

/* --- sessions ------------------------------------------------------------------------------------------------------------------------ */
static hr_status_t run_session(void* what, const hr_run_options_t* options, const hr_run_t* run, hr_tensor_t* out, char** out_metadata,
                               size_t* out_metadata_size) {
  return hr_session_run(what, options, run, out, out_metadata, out_metadata_size);
}

hr_status_t hr_capi_run(TF_Session* s, const TF_Buffer* run_options, hr_cancel_t* cancel, const hr_capi_run_t* r, TF_Buffer* run_metadata) {
  if (!s) return hr_capi_null("the session");
  HR_TRY(run_check(r));
  return run_checked(run_session, s->session, run_options, cancel, r, run_metadata);
}

void TF_SessionRun(TF_Session* session, const TF_Buffer* run_options, const TF_Output* inputs, TF_Tensor* const* input_values, int ninputs,
                   const TF_Output* outputs, TF_Tensor** output_values, int noutputs, const TF_Operation* const* target_opers, int ntargets,
                   TF_Buffer* run_metadata, TF_Status* status) {
  HR_SessionRun(session, run_options, NULL, inputs, input_values, ninputs, outputs, output_values, noutputs, target_opers, ntargets,
                run_metadata, status);
}

void HR_SessionRun(TF_Session* session, const TF_Buffer* run_options, HR_Cancellation* cancel, const TF_Output* inputs,
                   TF_Tensor* const* input_values, int ninputs, const TF_Output* outputs, TF_Tensor** output_values, int noutputs,
                   const TF_Operation* const* target_opers, int ntargets, TF_Buffer* run_metadata, TF_Status* status) {
  hr_capi_run_t r = {inputs, input_values, ninputs, outputs, output_values, noutputs, target_opers, ntargets};
  hr_capi_report(status, hr_capi_run(session, run_options, cancel ? &cancel->cancel : NULL, &r, run_metadata));
}

/* --- cancellation -------------------------------------------------------------------------------------------------------------------- */
HR_Cancellation* HR_NewCancellation(void) {
  HR_Cancellation* c = hr_alloc_zero(sizeof *c);
  if (c) hr_cancel_init(&c->cancel);
  return c;
}

void HR_DeleteCancellation(HR_Cancellation* c) {
  if (!c) return;
  hr_cancel_deinit(&c->cancel);
  hr_free(c);
}

void HR_Cancel(HR_Cancellation* c) {
  if (c) hr_cancel_start(&c->cancel, hr_status_cancelled());
}

/* --- callables ----------------------------------------------------------------------------------------------------------------------- */
HR_Callable* HR_NewCallable(TF_Session* session, const TF_Output* inputs, int ninputs, const TF_Output* outputs, int noutputs,
                            const TF_Operation* const* target_opers, int ntargets, TF_Status* status) {
  hr_capi_run_t r = {.inputs = inputs, .input_count = ninputs, .outputs = outputs, .output_count = noutputs, .targets = target_opers,
                     .target_count = ntargets};
  HR_Callable* c = NULL;
  hr_status_t outcome = session ? run_check(&r) : hr_capi_null("the session");
  if (!outcome && !(c = hr_alloc_zero(sizeof *c))) outcome = hr_status_out_of_memory();
  if (!outcome) {
    hr_run_t signature = run_signature(&r);
    outcome = hr_session_make_callable(session->session, &signature, &c->callable);
    c->input_count = ninputs;
    c->output_count = noutputs;
  }
  if (outcome) {
    hr_free(c);
    c = NULL;
  }
  hr_capi_report(status, outcome);
  return c;
}

void HR_DeleteCallable(HR_Callable* callable) {
  if (!callable) return;
  hr_callable_destroy(callable->callable);
  hr_free(callable);
}

static hr_status_t run_callable(void* what, const hr_run_options_t* options, const hr_run_t* run, hr_tensor_t* out, char** out_metadata,
                                size_t* out_metadata_size) {
  return hr_callable_run(what, options, run->feed_values, out, out_metadata, out_metadata_size);
}

void HR_CallableRun(HR_Callable* callable, const TF_Buffer* run_options, HR_Cancellation* cancel, TF_Tensor* const* input_values,
                    TF_Tensor** output_values, TF_Buffer* run_metadata, TF_Status* status) {
  hr_status_t outcome;
  if (!callable) {
    outcome = hr_capi_null("the callable");
  } else {
    hr_capi_run_t r = {.input_values = input_values, .input_count = callable->input_count, .output_values = output_values,
                       .output_count = callable->output_count};
    outcome = run_checked(run_callable, callable->callable, run_options, cancel ? &cancel->cancel : NULL, &r, run_metadata);
  }
  hr_capi_report(status, outcome);
}

/* --- partial runs -------------------------------------------------------------------------------------------------------------------- */
/* A handle is a text that clients may copy: it is looked up by what it says. */
typedef struct run_partial {
  struct run_partial* next;
  hr_partial_run_t* partial;
  char text[32];
} run_partial_t;

static struct {
  hr_mutex_t mu;
  run_partial_t* first;
  uint64_t made;
} run_partials = {HR_MUTEX_INIT, NULL, 0};

hr_status_t hr_capi_partial_setup(TF_Session* s, const hr_capi_run_t* r, const char** out_handle) {
  if (!s || !out_handle) return hr_capi_null(s ? "the place for the handle" : "the session");
  *out_handle = NULL;
  HR_TRY(run_check(r));
  run_partial_t* p = hr_alloc_zero(sizeof *p);
  if (!p) return hr_status_out_of_memory();
  hr_run_t signature = run_signature(r);
  hr_status_t status = hr_session_partial_setup(s->session, &signature, &p->partial);
  if (status) {
    hr_free(p);
    return status;
  }
  hr_mutex_lock(&run_partials.mu);
  snprintf(p->text, sizeof p->text, "partial_run;%llu", (unsigned long long)++run_partials.made);
  p->next = run_partials.first;
  run_partials.first = p;
  hr_mutex_unlock(&run_partials.mu);
  *out_handle = p->text;
  return NULL;
}

/* The link that holds the handle's entry, or the last one. The caller locks. */
static run_partial_t** run_find_partial(const char* handle) {
  run_partial_t** at = &run_partials.first;
  while (*at && (*at)->text != handle && strcmp((*at)->text, handle)) at = &(*at)->next;
  return at;
}

static hr_status_t run_partial_step(void* what, const hr_run_options_t* options, const hr_run_t* run, hr_tensor_t* out, char** out_metadata,
                                    size_t* out_metadata_size) {
  (void)options;
  (void)out_metadata;
  (void)out_metadata_size;
  return hr_partial_run_step(what, run, out);
}

hr_status_t hr_capi_partial_run(const char* handle, const hr_capi_run_t* r) {
  if (!handle) return hr_capi_null("the handle");
  HR_TRY(run_check(r));
  hr_mutex_lock(&run_partials.mu);
  run_partial_t* p = *run_find_partial(handle);
  hr_mutex_unlock(&run_partials.mu);
  if (!p) return HR_ERROR(INVALID_ARGUMENT, "'%.40s' is no handle of a partial run under way", handle);
  return run_checked(run_partial_step, p->partial, NULL, NULL, r, NULL);
}

void TF_DeletePRunHandle(const char* handle) {
  if (!handle) return;
  hr_mutex_lock(&run_partials.mu);
  run_partial_t** at = run_find_partial(handle);
  run_partial_t* p = *at;
  if (p) *at = p->next;
  hr_mutex_unlock(&run_partials.mu);
  if (!p) return;
  hr_partial_run_destroy(p->partial);
  hr_free(p);
}

void TF_SessionPRunSetup(TF_Session* session, const TF_Output* inputs, int ninputs, const TF_Output* outputs, int noutputs,
                         const TF_Operation* const* target_opers, int ntargets, const char** handle, TF_Status* status) {
  hr_capi_run_t r = {inputs, NULL, ninputs, outputs, NULL, noutputs, target_opers, ntargets};
  hr_capi_report(status, hr_capi_partial_setup(session, &r, handle));
}

void TF_SessionPRun(TF_Session* session, const char* handle, const TF_Output* inputs, TF_Tensor* const* input_values, int ninputs,
                    const TF_Output* outputs, TF_Tensor** output_values, int noutputs, const TF_Operation* const* target_opers,
                    int ntargets, TF_Status* status) {
  hr_capi_run_t r = {inputs, input_values, ninputs, outputs, output_values, noutputs, target_opers, ntargets};
  hr_capi_report(status, session ? hr_capi_partial_run(handle, &r) : hr_capi_null("the session"));
}
