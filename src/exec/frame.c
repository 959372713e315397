/* SPDX-License-Identifier: Apache-2.0 */
/* Frames: the slots of one step, leased from their plan. A thread mostly gets back the frame that it used last, by one exchange;
 * a list behind a mutex takes the rest. There are never more frames than steps that ran at once. */
#include "base/alloc.h"
#include "exec/flow.h"
#include "exec/plan_state.h"

static atomic_uint next_thread;
static _Thread_local unsigned thread_number; /* 0: not numbered yet */

static unsigned quick_index(void) {
  if (!thread_number) thread_number = atomic_fetch_add_explicit(&next_thread, 1, memory_order_relaxed) + 1;
  return thread_number % HR_PLAN_QUICK;
}

static hr_frame_t* frame_create(const hr_plan_t* p) {
  if (p->flow) {
    hr_flow_run_t* r = hr_flow_run_create(p);
    return r ? &r->base : NULL;
  }
  size_t head = (sizeof(hr_frame_t) + 63) & ~(size_t)63;
  size_t bytes;
  if (!hr_size_mul((size_t)p->slot_count, sizeof(hr_slot_t), &bytes) || !hr_size_add(bytes, head, &bytes)) return NULL;
  hr_frame_t* f = hr_alloc_aligned(bytes, 64);
  if (!f) return NULL;
  memset(f, 0, bytes);
  f->slots = (hr_slot_t*)((char*)f + head);
  for (int32_t i = 0; i < p->constant_count; ++i) hr_tensor_share(p->constants[i], &f->slots[p->feed_count + i].value);
  return f;
}

static void frame_destroy(const hr_plan_t* p, hr_frame_t* f) {
  if (!f) return;
  if (p->flow) {
    hr_flow_run_destroy((hr_flow_run_t*)f);
    return;
  }
  for (int32_t i = 0; i < p->constant_count; ++i) hr_tensor_release(&f->slots[p->feed_count + i].value);
  hr_free(f);
}

/* One that another thread left: parts of a step run on whatever thread is free. */
static hr_frame_t* frame_of_others(hr_plan_t* p) {
  hr_frame_t* f = NULL;
  for (int i = 0; i < HR_PLAN_QUICK && !f; ++i)
    if (atomic_load_explicit(&p->quick[i].frame, memory_order_relaxed))
      f = atomic_exchange_explicit(&p->quick[i].frame, NULL, memory_order_acquire);
  return f;
}

hr_frame_t* hr_plan_lease_frame(hr_plan_t* p) {
  hr_frame_t* f = atomic_exchange_explicit(&p->quick[quick_index()].frame, NULL, memory_order_acquire);
  if (f) return f;
  hr_mutex_lock(&p->mu);
  f = p->frames;
  if (f) p->frames = f->next;
  hr_mutex_unlock(&p->mu);
  if (!f) f = frame_of_others(p);
  return f ? f : frame_create(p);
}

void hr_plan_return_frame(hr_plan_t* p, hr_frame_t* f) {
  hr_frame_t* none = NULL;
  if (atomic_compare_exchange_strong_explicit(&p->quick[quick_index()].frame, &none, f, memory_order_release, memory_order_relaxed)) return;
  hr_mutex_lock(&p->mu);
  f->next = p->frames;
  p->frames = f;
  hr_mutex_unlock(&p->mu);
}

void hr_plan_destroy_frames(hr_plan_t* p) {
  for (int i = 0; i < HR_PLAN_QUICK; ++i) frame_destroy(p, atomic_load_explicit(&p->quick[i].frame, memory_order_acquire));
  while (p->frames) {
    hr_frame_t* next = p->frames->next;
    frame_destroy(p, p->frames);
    p->frames = next;
  }
}

void hr_frame_sweep(const hr_plan_t* p, hr_frame_t* f) {
  for (int32_t i = hr_plan_first_temporary(p); i < p->slot_count; ++i) hr_tensor_release(&f->slots[i].value);
}
