/* SPDX-License-Identifier: Apache-2.0 */
/* THE readiness rule: who may run, and who is dead.
 *
 * An ordinary site runs when every value and every node it waits for has been told of; it is dead when one of them is (a ControlTrigger
 * never). A Merge's counter begins at 1 plus 2 for each control edge: the first live input takes the 1 away, and it runs at 0; it is dead
 * when all inputs are, or one from an Enter is, and only the 1 is left. Dead nodes tell everybody behind them, but for NextIteration, which
 * stops what is dead, and Exit, which is dead once, when its loop is done and never let a value out.
 *
 * An iteration is over when nothing of it is ready, running or an open loop, and the one before it is over; the first also waits for all
 * Enters. With so many iterations open as the loop allows, values for the next one are parked until the oldest is over.
 *
 * Where a loop sends values to another part, a dead NextIteration tells the next iteration after all, if there is one: the other part has
 * begun it too and waits to hear that what it receives there is dead. */
#include "exec/flow.h"
#include "rt/rendezvous_key.h"

/* --- telling ------------------------------------------------------------------------------------------------------------------------ */

static inline void push_ready(hr_flow_run_t* r, hr_flow_block_t* b, int32_t site, bool dead) { /* room was made with the block */
  r->ready[r->ready_tail++ & r->ready_mask] = (hr_flow_ready_t){b, site, dead};
}

/* True: it is ready, and *dead says how. */
static bool tell_merge(const hr_flow_run_t* r, hr_flow_counter_t* c, const hr_flow_edge_t* e, bool* dead) {
  const int32_t inputs = r->flow->sites[e->site].rare->data_inputs;
  const bool won = !(c->pending & 1); /* a live input has come, or it was dead */
  if (e->kind == HR_EDGE_MERGE_CONTROL) {
    c->pending -= 2;
    *dead = !won && c->dead >= inputs;
    if (c->pending != 1 || !*dead) return c->pending == 0;
    c->pending = 0;
    return true;
  }
  if (won) return false;
  if (!*dead) {
    c->pending &= ~1;
    c->dead = ~e->input; /* who won: see hr_flow_merge_winner */
    return c->pending == 0;
  }
  c->dead = e->kind == HR_EDGE_MERGE_ENTER ? inputs : c->dead + 1;
  if (c->pending != 1 || c->dead < inputs) return false;
  c->pending = 0; /* decided: whatever comes later is too late */
  return true;
}

static bool tell_special(hr_flow_run_t* r, hr_flow_block_t* b, const hr_flow_edge_t* e, bool dead) {
  hr_flow_counter_t* c = &b->counters[e->counter];
  if (e->kind == HR_EDGE_EXIT ? dead : !tell_merge(r, c, e, &dead)) return false;
  push_ready(r, b, e->site, dead);
  return true;
}

/* Tells the edges from `e` to `end`; returns how many sites became ready. */
static inline int32_t tell(hr_flow_run_t* r, hr_flow_block_t* b, const hr_flow_edge_t* e, const hr_flow_edge_t* end, bool dead) {
  int32_t count = 0;
  for (; e < end; ++e) {
    if (e->kind != HR_EDGE_PLAIN) {
      count += tell_special(r, b, e, dead);
      continue;
    }
    hr_flow_counter_t* c = &b->counters[e->counter];
    c->dead += dead;
    if (--c->pending > 0) continue;
    push_ready(r, b, e->site, c->dead > 0);
    ++count;
  }
  return count;
}

static inline int32_t tell_all(hr_flow_run_t* r, hr_flow_block_t* b, const hr_flow_site_t* s, bool dead) {
  return tell(r, b, s->edges, s->edges + s->edge_count, dead);
}

/* --- iterations --------------------------------------------------------------------------------------------------------------------- */

static hr_flow_block_t* block_at(const hr_flow_loop_t* l, int64_t iteration) { return l->ring[iteration & l->info->ring_mask]; }

static int32_t lend_invariant(hr_flow_run_t* r, hr_flow_block_t* b, int32_t index) {
  const hr_flow_loop_t* l = b->loop;
  const hr_flow_site_t* s = &r->flow->sites[l->info->invariants[index]];
  const bool dead = l->arrived[index] == HR_INVARIANT_DEAD;
  if (!dead && s->site->out[0] >= 0) {
    hr_slot_t* to = &b->slots[s->site->out[0]];
    hr_tensor_lend(&l->invariants[index].value, &to->value);
    to->ref = l->invariants[index].ref;
  }
  return tell_all(r, b, s, dead);
}

static int32_t tell_died(hr_flow_run_t* r, hr_flow_block_t* b, const hr_flow_site_t* s) {
  int32_t count = 0;
  for (const hr_flow_edge_t *e = s->edges, *end = e + s->edge_count; e < end; ++e) {
    hr_flow_counter_t* c = &b->counters[e->counter];
    if (e->kind != HR_EDGE_MERGE || r->flow->sites[e->site].rare->data_inputs != 2 || !(c->pending & 1)) continue;
    c->dead = 2;
    if (c->pending != 1) continue;
    c->pending = 0;
    push_ready(r, b, e->site, true);
    ++count;
  }
  return count;
}

static hr_flow_block_t* open_iteration(hr_flow_run_t* r, hr_flow_loop_t* l) {
  const int64_t iteration = l->oldest + l->open;
  hr_flow_block_t* b = hr_flow_block_take(r, l, iteration);
  if (!b) {
    hr_flow_fail(r, NULL, hr_status_out_of_memory());
    return NULL;
  }
  l->ring[iteration & l->info->ring_mask] = b;
  l->open++;
  for (int32_t i = 0; i < l->info->invariant_count; ++i)
    if (l->arrived[i] != HR_INVARIANT_MISSING) b->outstanding += lend_invariant(r, b, i);
  for (int32_t i = 0; i < l->died_count; ++i) b->outstanding += tell_died(r, b, &r->flow->sites[l->died[i]]);
  l->died_count = 0;
  return b;
}

static void unpark(hr_flow_run_t* r, hr_flow_loop_t* l) {
  hr_flow_block_t* b = open_iteration(r, l);
  if (!b) return;
  for (int32_t i = 0; i < l->parked_count; ++i) {
    const hr_flow_site_t* s = &r->flow->sites[l->parked[i]];
    hr_slot_t* from = &l->parked_values[s->rare->index];
    if (s->site->out[0] >= 0) {
      hr_slot_t* to = &b->slots[s->site->out[0]];
      hr_tensor_move(&from->value, &to->value);
      to->ref = from->ref;
    } else {
      hr_tensor_release(&from->value);
    }
    b->outstanding += tell_all(r, b, s, false);
  }
  l->parked_count = 0;
}

static void close_oldest(hr_flow_run_t* r, hr_flow_loop_t* l) {
  hr_flow_block_give(r, block_at(l, l->oldest));
  l->oldest++;
  l->open--;
  if (l->parked_count > 0) unpark(r, l);
}

/* Exits that never let a value out are dead, now that none will come. */
static int32_t tell_dead_exits(hr_flow_run_t* r, const hr_flow_loop_t* l) {
  int32_t count = 0;
  for (int32_t i = 0; i < l->info->exit_count; ++i)
    if (!l->exited[i]) count += tell_all(r, l->parent, &r->flow->sites[l->info->exits[i]], true);
  return count;
}

/* Nothing is outstanding in b: closes what is over, outwards. */
static void settle(hr_flow_run_t* r, hr_flow_block_t* b) {
  while (!r->status && b->outstanding == 0) {
    hr_flow_loop_t* l = b->loop;
    if (l == &r->root || b->iteration != l->oldest || l->enters_left > 0) return;
    close_oldest(r, l);
    if (r->status) return;
    if (l->open > 0) {
      b = block_at(l, l->oldest);
      continue;
    }
    b = l->parent;
    b->outstanding += tell_dead_exits(r, l) - 1;
    hr_flow_loop_give(r, l);
  }
}

/* --- sites that ran ----------------------------------------------------------------------------------------------------------------- */

static inline void drop_inputs(hr_flow_block_t* b, const hr_flow_site_t* s) {
  const int32_t* drops = hr_flow_drops(s);
  const hr_flow_use_t* uses = hr_flow_uses(s);
  for (int32_t i = 0; i < s->drop_count; ++i) hr_tensor_release(&b->slots[drops[i]].value);
  for (int32_t i = 0; i < s->use_count; ++i)
    if (--b->uses[uses[i].use] == 0) hr_tensor_release(&b->slots[uses[i].slot].value);
}

/* One outstanding site less, `more` more. */
static inline void count_outstanding(hr_flow_run_t* r, hr_flow_block_t* b, int32_t more) {
  b->outstanding += more - 1;
  if (b->outstanding == 0) settle(r, b);
}

void hr_flow_ran(hr_flow_run_t* r, hr_flow_block_t* b, const hr_flow_site_t* s) {
  drop_inputs(b, s);
  count_outstanding(r, b, tell_all(r, b, s, false));
}

static void next_died(hr_flow_run_t* r, const hr_flow_block_t* b, const hr_flow_site_t* s) {
  hr_flow_loop_t* l = b->loop;
  if (b->iteration + 1 < l->oldest + l->open) {
    hr_flow_block_t* next = block_at(l, b->iteration + 1);
    next->outstanding += tell_died(r, next, s);
  } else {
    l->died[l->died_count++] = (int32_t)(s - r->flow->sites);
  }
}

void hr_flow_died(hr_flow_run_t* r, hr_flow_block_t* b, const hr_flow_site_t* s) {
  int32_t more = 0;
  drop_inputs(b, s);
  if (s->action == HR_FLOW_ENTER) {
    hr_flow_entered(r, b, s, true);
    return;
  }
  if (s->action == HR_FLOW_NEXT && r->flow->sends) next_died(r, b, s);
  if (s->action != HR_FLOW_EXIT && s->action != HR_FLOW_NEXT) more = tell_all(r, b, s, true);
  count_outstanding(r, b, more);
}

void hr_flow_ran_partly(hr_flow_run_t* r, hr_flow_block_t* b, const hr_flow_site_t* s, int32_t alive) {
  const hr_flow_edge_t* e = s->edges;
  int32_t more = 0;
  drop_inputs(b, s);
  for (int32_t i = 0; i < s->site->out_count; ++i) {
    const hr_flow_edge_t* end = s->edges + hr_flow_ends(s)[i];
    more += tell(r, b, e, end, i != alive);
    e = end;
  }
  more += tell(r, b, e, s->edges + s->edge_count, false);
  count_outstanding(r, b, more);
}

void hr_flow_hand_over(hr_flow_block_t* b, const hr_flow_site_t* s, int32_t input, hr_slot_t* to) {
  const int32_t use = hr_flow_in_use(s)[input];
  hr_slot_t* from = &b->slots[s->site->in[input]];
  to->ref = from->ref;
  if (s->site->in_flags[input] & HR_IN_TAKE || (use >= 0 && b->uses[use] == 1)) hr_tensor_move(&from->value, &to->value);
  else hr_tensor_share(&from->value, &to->value);
}

static hr_flow_loop_t* loop_of(hr_flow_run_t* r, hr_flow_block_t* b, const hr_flow_site_t* s) {
  hr_flow_loop_t* l = b->children[s->rare->child];
  if (l) return l;
  l = hr_flow_loop_take(r, b, s->rare->opens);
  if (!l) {
    hr_flow_fail(r, s->site, hr_status_out_of_memory());
    return NULL;
  }
  l->frame_id = hr_rendezvous_frame_id(b->loop->frame_id, b->iteration, l->info->name);
  b->children[s->rare->child] = l;
  b->outstanding++;
  return l;
}

/* A constant Enter's value is the loop's own; every iteration that is open or will be gets it lent. */
static void enter_invariant(hr_flow_run_t* r, hr_flow_block_t* b, hr_flow_loop_t* l, const hr_flow_site_t* s, bool dead) {
  l->arrived[s->rare->index] = dead ? HR_INVARIANT_DEAD : HR_INVARIANT_LIVE;
  if (!dead) hr_flow_hand_over(b, s, 0, &l->invariants[s->rare->index]);
  for (int64_t i = l->oldest; i < l->oldest + l->open; ++i)
    block_at(l, i)->outstanding += lend_invariant(r, block_at(l, i), s->rare->index);
}

void hr_flow_entered(hr_flow_run_t* r, hr_flow_block_t* b, const hr_flow_site_t* s, bool dead) {
  hr_flow_loop_t* l = loop_of(r, b, s);
  if (!l) return;
  if (s->rare->index >= 0) {
    enter_invariant(r, b, l, s, dead);
  } else {
    hr_flow_block_t* first = block_at(l, 0);
    if (!dead && s->site->out[0] >= 0) hr_flow_hand_over(b, s, 0, &first->slots[s->site->out[0]]);
    first->outstanding += tell_all(r, first, s, dead);
  }
  if (!dead) drop_inputs(b, s); /* who died has dropped them */
  b->outstanding--;
  l->enters_left--;
  settle(r, block_at(l, l->oldest)); /* keeps b open, or closes it when the loop is over already */
}

void hr_flow_exited(hr_flow_run_t* r, hr_flow_block_t* b, const hr_flow_site_t* s) {
  hr_flow_loop_t* l = b->loop;
  if (!l->exited[s->rare->index]) {
    l->exited[s->rare->index] = true;
    if (s->site->out[0] >= 0) hr_flow_hand_over(b, s, 0, &l->parent->slots[s->site->out[0]]);
    l->parent->outstanding += tell_all(r, l->parent, s, false);
  }
  drop_inputs(b, s);
  count_outstanding(r, b, 0);
}

void hr_flow_went_on(hr_flow_run_t* r, hr_flow_block_t* b, const hr_flow_site_t* s) {
  hr_flow_loop_t* l = b->loop;
  hr_flow_block_t* next = NULL;
  if (b->iteration + 1 < l->oldest + l->open) next = block_at(l, b->iteration + 1);
  else if (l->open < l->info->parallel) next = open_iteration(r, l);
  if (r->status) return;
  if (next) {
    if (s->site->out[0] >= 0) hr_flow_hand_over(b, s, 0, &next->slots[s->site->out[0]]);
    next->outstanding += tell_all(r, next, s, false);
  } else {
    hr_flow_hand_over(b, s, 0, &l->parked_values[s->rare->index]);
    l->parked[l->parked_count++] = (int32_t)(s - r->flow->sites);
  }
  drop_inputs(b, s);
  count_outstanding(r, b, 0);
}

void hr_flow_activate_feed(hr_flow_run_t* r, int32_t feed) {
  push_ready(r, r->root_block, r->flow->feed_sites[feed], false);
  r->root_block->outstanding++;
}

void hr_flow_activate_roots(hr_flow_run_t* r) {
  for (int32_t i = 0; i < r->flow->root_count; ++i) push_ready(r, r->root_block, r->flow->roots[i], false);
  r->root_block->outstanding = r->flow->root_count;
}
