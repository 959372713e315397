/* SPDX-License-Identifier: Apache-2.0 */
/* Sites that run elsewhere: asynchronous kernels, and kernels that may wait, on threads of their own. Each call has its own context; when
 * it has ended it goes to a list that the step's thread looks at, and sleeps on when nothing else is left to do. The step cannot end before
 * all its calls have: a failure or a cancellation cancels the step's own token, which ends whatever registered with it. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/errand.h"
#include "exec/flow.h"

typedef struct flow_call {
  hr_async_t async; /* first */
  hr_errand_t job;
  struct flow_call* next; /* among the ended, or the free ones */
  hr_flow_run_t* run;
  hr_flow_block_t* block;
  const hr_flow_site_t* site;
  hr_kernel_ctx_t k;
  hr_slot_t spare;
  hr_status_t status;
  bool dead;
  int64_t start_ns, end_ns;
} flow_call_t;

struct hr_flow_calls {
  int64_t under_way;       /* begun and not taken back; the step's thread only */
  flow_call_t* free_calls; /* likewise */
  hr_mutex_t mu;
  hr_cond_t changed;
  flow_call_t *ended, **last; /* guarded by mu, oldest first */
  bool cancelled;             /* guarded by mu: the parent's token was */
  bool told;                  /* the step's thread has heard of it */
  atomic_bool any;            /* something ended or was cancelled */
  hr_step_t step;             /* as the kernels see it */
  hr_step_t* parent;
  hr_cancel_t cancel;
  hr_cancel_entry_t entry;
  bool registered;
};

struct hr_flow_calls* hr_flow_calls_create(void) {
  struct hr_flow_calls* c = hr_alloc_zero(sizeof *c);
  if (!c) return NULL;
  hr_mutex_init(&c->mu);
  hr_cond_init(&c->changed);
  return c;
}

void hr_flow_calls_destroy(struct hr_flow_calls* c) {
  if (!c) return;
  while (c->free_calls) {
    flow_call_t* next = c->free_calls->next;
    hr_free(c->free_calls);
    c->free_calls = next;
  }
  hr_cond_deinit(&c->changed);
  hr_mutex_deinit(&c->mu);
  hr_free(c);
}

/* --- the step's own token ----------------------------------------------------------------------------------------------------------- */

static void parent_cancelled(void* arg) {
  struct hr_flow_calls* c = arg;
  hr_cancel_start(&c->cancel, hr_cancel_why(c->parent->cancel));
  hr_mutex_lock(&c->mu);
  c->cancelled = true;
  atomic_store_explicit(&c->any, true, memory_order_release);
  hr_cond_wake_all(&c->changed);
  hr_mutex_unlock(&c->mu);
}

hr_step_t* hr_flow_calls_begin(hr_flow_run_t* r, hr_step_t* step) {
  struct hr_flow_calls* c = r->calls;
  hr_cancel_init(&c->cancel);
  c->parent = step;
  c->step = *step;
  c->step.cancel = &c->cancel;
  c->step.waits = NULL;
  c->under_way = 0;
  c->ended = NULL;
  c->last = &c->ended;
  c->cancelled = c->told = false;
  atomic_store_explicit(&c->any, false, memory_order_relaxed);
  c->entry = (hr_cancel_entry_t){.callback = parent_cancelled, .arg = c};
  c->registered = hr_cancel_register(step->cancel, &c->entry);
  if (!c->registered) parent_cancelled(c);
  return &c->step;
}

void hr_flow_calls_end(hr_flow_run_t* r) {
  struct hr_flow_calls* c = r->calls;
  if (c->registered) hr_cancel_deregister(c->parent->cancel, &c->entry);
  hr_cancel_deinit(&c->cancel);
}

void hr_flow_calls_cancel(hr_flow_run_t* r, hr_status_t take_why) { hr_cancel_start(&r->calls->cancel, take_why); }

/* --- calls -------------------------------------------------------------------------------------------------------------------------- */

static void call_ended(hr_async_t* self, hr_status_t take_status) {
  flow_call_t* call = (flow_call_t*)self;
  struct hr_flow_calls* c = call->run->calls;
  call->status = take_status;
  call->end_ns = call->start_ns ? hr_clock_now_ns() : 0;
  call->next = NULL;
  hr_mutex_lock(&c->mu);
  *c->last = call;
  c->last = &call->next;
  atomic_store_explicit(&c->any, true, memory_order_release);
  hr_cond_wake_all(&c->changed);
  hr_mutex_unlock(&c->mu);
}

static void run_waiting_kernel(hr_errand_t* self) {
  flow_call_t* call = (flow_call_t*)((char*)self - offsetof(flow_call_t, job));
  call_ended(&call->async, call->k.site->compute(&call->k));
}

void hr_flow_call(hr_flow_run_t* r, hr_flow_block_t* b, const hr_flow_site_t* s, bool dead) {
  struct hr_flow_calls* c = r->calls;
  flow_call_t* call = c->free_calls;
  if (call) c->free_calls = call->next;
  else call = hr_alloc_zero(sizeof *call);
  if (!call) {
    hr_flow_fail(r, s->site, hr_status_out_of_memory());
    return;
  }
  call->async.finish = call_ended;
  call->job.run = run_waiting_kernel;
  call->run = r;
  call->block = b;
  call->site = s;
  call->status = NULL;
  call->dead = dead;
  call->start_ns = r->step->observer ? hr_clock_now_ns() : 0;
  call->k = (hr_kernel_ctx_t){.site = s->site,
                              .slots = b->slots,
                              .step = r->step,
                              .threads = r->step->threads,
                              .frame_id = b->loop->frame_id,
                              .iteration = b->iteration,
                              .is_dead = dead,
                              .spare = &call->spare};
  c->under_way++;
  if (s->action == HR_FLOW_START) {
    s->site->kernel->start(&call->k, &call->async);
    return;
  }
  hr_status_t status = hr_errand_start(&call->job);
  if (status) call_ended(&call->async, status);
}

bool hr_flow_calls_ended(const hr_flow_run_t* r) { return atomic_load_explicit(&r->calls->any, memory_order_acquire); }

/* All that have ended. With `wait`: sleeps until one has, or the step is cancelled. */
static flow_call_t* take_ended(struct hr_flow_calls* c, bool wait) {
  hr_mutex_lock(&c->mu);
  while (wait && !c->ended && c->under_way > 0 && (!c->cancelled || c->told)) hr_cond_wait(&c->changed, &c->mu);
  flow_call_t* ended = c->ended;
  c->ended = NULL;
  c->last = &c->ended;
  c->told = c->cancelled;
  atomic_store_explicit(&c->any, false, memory_order_relaxed);
  hr_mutex_unlock(&c->mu);
  return ended;
}

bool hr_flow_calls_take(hr_flow_run_t* r, bool wait) {
  struct hr_flow_calls* c = r->calls;
  if (c->under_way == 0) return false;
  for (flow_call_t *call = take_ended(c, wait), *next; call; call = next) {
    next = call->next;
    c->under_way--;
    hr_flow_finish(r, call->block, call->site, &call->k, call->dead, call->status, call->start_ns, call->end_ns);
    hr_tensor_release(&call->spare.value);
    call->next = c->free_calls;
    c->free_calls = call;
  }
  return true;
}
