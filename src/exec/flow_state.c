/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a step: blocks and loops by frame, used again, and the ring of ready sites. The ring always has room for every site of
 * every open block, so making something ready cannot fail. */
#include "base/alloc.h"
#include "exec/flow.h"

/* --- blocks ------------------------------------------------------------------------------------------------------------------------- */

static size_t padded(size_t bytes) { return (bytes + 63) & ~(size_t)63; }

static hr_flow_block_t* block_create(const hr_flow_frame_t* f) {
  const size_t head = padded(sizeof(hr_flow_block_t)), counts = padded(f->count_bytes);
  const size_t slots = padded((size_t)f->slot_count * sizeof(hr_slot_t)), children = (size_t)f->child_count * sizeof(hr_flow_loop_t*);
  char* memory = hr_alloc_aligned(head + counts + slots + padded(children) + 64, 64);
  if (!memory) return NULL;
  memset(memory, 0, head + counts + slots + padded(children));
  hr_flow_block_t* b = (hr_flow_block_t*)(void*)memory;
  b->counters = (hr_flow_counter_t*)(void*)(memory + head);
  b->uses = (int32_t*)(void*)(b->counters + f->site_count);
  b->slots = (hr_slot_t*)(void*)(memory + head + counts);
  b->children = (hr_flow_loop_t**)(void*)(memory + head + counts + slots);
  for (int32_t i = 0; i < f->constant_count; ++i) hr_tensor_share(f->constants[i], &b->slots[f->first_constant + i].value);
  return b;
}

static void block_destroy(const hr_flow_frame_t* f, hr_flow_block_t* b) {
  if (!b) return;
  for (int32_t i = 0; i < f->constant_count; ++i) hr_tensor_release(&b->slots[f->first_constant + i].value);
  hr_free(b);
}

/* Room in the ring for so many sites more. */
static bool reserve_ready(hr_flow_run_t* r, int32_t sites) {
  const int64_t most = r->ready_most + sites;
  uint32_t room = r->ready ? r->ready_mask + 1 : 0;
  if (most <= room) {
    r->ready_most = most;
    return true;
  }
  if (most > INT32_MAX / 2) return false;
  uint32_t bigger = room ? room : 64, count = 0;
  while (bigger < most) bigger *= 2;
  hr_flow_ready_t* ready = hr_alloc_array(bigger, sizeof *ready);
  if (!ready) return false;
  while (r->ready_head != r->ready_tail) ready[count++] = r->ready[r->ready_head++ & r->ready_mask];
  hr_free(r->ready);
  r->ready = ready;
  r->ready_mask = bigger - 1;
  r->ready_head = 0;
  r->ready_tail = count;
  r->ready_most = most;
  return true;
}

hr_flow_block_t* hr_flow_block_take(hr_flow_run_t* r, hr_flow_loop_t* l, int64_t iteration) {
  const hr_flow_frame_t* f = l->info;
  hr_flow_block_t** free_list = &r->free_blocks[f - r->flow->frames];
  hr_flow_block_t* b = *free_list;
  if (!reserve_ready(r, f->site_count)) return NULL;
  if (b) *free_list = b->next;
  else b = block_create(f);
  if (!b) {
    r->ready_most -= f->site_count;
    return NULL;
  }
  memcpy(b->counters, f->counters, f->count_bytes);
  b->loop = l;
  b->iteration = iteration;
  b->outstanding = 0;
  return b;
}

void hr_flow_block_give(hr_flow_run_t* r, hr_flow_block_t* b) {
  const hr_flow_frame_t* f = b->loop->info;
  for (int32_t i = f->first_invariant; i < f->first_temporary; ++i) b->slots[i].value.buffer = NULL; /* lent */
  for (int32_t i = f->first_temporary; i < f->slot_count; ++i)
    if (b->slots[i].value.buffer) hr_tensor_release(&b->slots[i].value);
  hr_flow_block_t** free_list = &r->free_blocks[f - r->flow->frames];
  b->next = *free_list;
  *free_list = b;
  r->ready_most -= f->site_count;
}

/* --- loops -------------------------------------------------------------------------------------------------------------------------- */

static hr_flow_loop_t* loop_create(const hr_flow_frame_t* f) {
  const size_t ring = (size_t)f->ring_mask + 1;
  const size_t bytes = padded(sizeof(hr_flow_loop_t)) + ring * sizeof(hr_flow_block_t*) +
                       (size_t)(f->next_count + f->invariant_count) * sizeof(hr_slot_t) + 2 * (size_t)f->next_count * sizeof(int32_t) +
                       (size_t)f->invariant_count + (size_t)f->exit_count;
  char* memory = hr_alloc_zero(bytes);
  if (!memory) return NULL;
  hr_flow_loop_t* l = (hr_flow_loop_t*)(void*)memory;
  l->info = f;
  l->ring = (hr_flow_block_t**)(void*)(memory + padded(sizeof *l));
  l->parked_values = (hr_slot_t*)(void*)(l->ring + ring);
  l->invariants = l->parked_values + f->next_count;
  l->parked = (int32_t*)(void*)(l->invariants + f->invariant_count);
  l->died = l->parked + f->next_count;
  l->arrived = (uint8_t*)(l->died + f->next_count);
  l->exited = (bool*)(l->arrived + f->invariant_count);
  return l;
}

hr_flow_loop_t* hr_flow_loop_take(hr_flow_run_t* r, hr_flow_block_t* parent, int32_t frame) {
  hr_flow_loop_t* l = r->free_loops[frame];
  if (l) r->free_loops[frame] = l->next;
  else l = loop_create(&r->flow->frames[frame]);
  if (!l) return NULL;
  const hr_flow_frame_t* f = l->info;
  hr_flow_block_t* first = hr_flow_block_take(r, l, 0);
  if (!first) {
    l->next = r->free_loops[frame];
    r->free_loops[frame] = l;
    return NULL;
  }
  l->parent = parent;
  l->oldest = 0;
  l->open = 1;
  l->ring[0] = first;
  l->enters_left = f->enter_count;
  l->parked_count = l->died_count = 0;
  memset(l->arrived, HR_INVARIANT_MISSING, (size_t)f->invariant_count);
  memset(l->exited, 0, (size_t)f->exit_count);
  l->previous = NULL;
  l->next = r->open;
  if (r->open) r->open->previous = l;
  r->open = l;
  return l;
}

void hr_flow_loop_give(hr_flow_run_t* r, hr_flow_loop_t* l) {
  const hr_flow_frame_t* f = l->info;
  const int32_t frame = (int32_t)(f - r->flow->frames);
  for (; l->open > 0; l->open--, l->oldest++) hr_flow_block_give(r, l->ring[l->oldest & f->ring_mask]);
  for (int32_t i = 0; i < f->next_count; ++i) hr_tensor_release(&l->parked_values[i].value);
  for (int32_t i = 0; i < f->invariant_count; ++i) hr_tensor_release(&l->invariants[i].value);
  if (l->previous) l->previous->next = l->next;
  else r->open = l->next;
  if (l->next) l->next->previous = l->previous;
  l->parent->children[f->child_index] = NULL;
  l->next = r->free_loops[frame];
  r->free_loops[frame] = l;
}

/* --- runs --------------------------------------------------------------------------------------------------------------------------- */

hr_flow_run_t* hr_flow_run_create(const hr_plan_t* p) {
  const hr_flow_t* flow = p->flow;
  hr_flow_run_t* r = hr_alloc_zero(sizeof *r);
  if (!r) return NULL;
  r->flow = flow;
  r->root.info = &flow->frames[0];
  r->free_loops = hr_alloc_array((size_t)flow->frame_count, sizeof *r->free_loops);
  r->free_blocks = hr_alloc_array((size_t)flow->frame_count, sizeof *r->free_blocks);
  r->last_flags = hr_alloc_zero((size_t)flow->widest + 1);
  bool ok = r->free_loops && r->free_blocks && r->last_flags && reserve_ready(r, flow->frames[0].site_count) &&
            (r->root_block = block_create(&flow->frames[0])) && (!flow->calls || (r->calls = hr_flow_calls_create()));
  if (!ok) {
    hr_flow_run_destroy(r);
    return NULL;
  }
  r->root_block->loop = &r->root;
  r->base.slots = r->root_block->slots;
  return r;
}

void hr_flow_run_destroy(hr_flow_run_t* r) {
  if (!r) return;
  for (int32_t i = 0; i < r->flow->frame_count && r->free_loops && r->free_blocks; ++i) {
    while (r->free_loops[i]) {
      hr_flow_loop_t* next = r->free_loops[i]->next;
      hr_free(r->free_loops[i]);
      r->free_loops[i] = next;
    }
    while (r->free_blocks[i]) {
      hr_flow_block_t* next = r->free_blocks[i]->next;
      block_destroy(&r->flow->frames[i], r->free_blocks[i]);
      r->free_blocks[i] = next;
    }
  }
  block_destroy(&r->flow->frames[0], r->root_block);
  hr_flow_calls_destroy(r->calls);
  hr_free(r->free_loops);
  hr_free(r->free_blocks);
  hr_free(r->last_flags);
  hr_free(r->ready);
  hr_free(r);
}

void hr_flow_reset(hr_flow_run_t* r) {
  const hr_flow_frame_t* f = &r->flow->frames[0];
  memcpy(r->root_block->counters, f->counters, f->count_bytes);
  r->root_block->outstanding = 0;
  r->ready_head = r->ready_tail = 0;
  r->status = NULL;
}

void hr_flow_clear(hr_flow_run_t* r) {
  while (r->open) hr_flow_loop_give(r, r->open); /* inner ones were opened later and stand first */
}
