/* SPDX-License-Identifier: Apache-2.0 */
/* Which feeds each site and each fetch depends on, along data and control edges: what tells an incremental run how far it may go. */
#include "exec/plan_state.h"

typedef struct {
  uint64_t* bits;  /* by node id, `words` each */
  size_t words;
} needs_t;

static uint64_t* node_bits(const needs_t* s, const hr_node_t* n) { return s->bits + (size_t)n->id * s->words; }

static bool add_bits(uint64_t* to, const uint64_t* from, size_t words) { /* whether there was anything new */
  uint64_t more = 0;
  for (size_t i = 0; i < words; ++i) {
    more |= from[i] & ~to[i];
    to[i] |= from[i];
  }
  return more != 0;
}

static bool gather_node(const needs_t* s, const hr_node_t* n) {
  uint64_t* own = node_bits(s, n);
  bool more = false;
  for (int32_t i = 0; i < n->input_count; ++i) more |= add_bits(own, node_bits(s, n->inputs[i].node), s->words);
  for (int32_t i = 0; i < n->control_count; ++i) more |= add_bits(own, node_bits(s, n->controls[i]), s->words);
  return more;
}

hr_status_t hr_plan_find_needs(hr_plan_t* p, hr_arena_t* scratch, const hr_plan_desc_t* desc, hr_node_t* const* order, int64_t id_limit) {
  needs_t s = {.words = ((size_t)desc->feed_count + 63) / 64};
  size_t nodes;
  if (!hr_size_mul((size_t)id_limit, s.words, &nodes)) return hr_status_out_of_memory();
  s.bits = hr_arena_array(scratch, nodes, sizeof *s.bits);
  p->site_needs = hr_arena_array(&p->arena, (size_t)p->site_count * s.words, sizeof *p->site_needs);
  p->fetch_needs = hr_arena_array(&p->arena, (size_t)p->fetch_count * s.words, sizeof *p->fetch_needs);
  if (!s.bits || !p->site_needs || !p->fetch_needs) return hr_status_out_of_memory();
  p->need_words = (int32_t)s.words;
  for (int32_t i = 0; i < desc->feed_count; ++i) node_bits(&s, desc->feeds[i].node)[i / 64] |= UINT64_C(1) << (i % 64);
  for (bool more = true; more; more = more && p->flow) { /* once is enough unless loops go back */
    more = false;
    for (int64_t i = 0; i < desc->node_count; ++i) more |= gather_node(&s, order[i]);
  }
  for (int64_t i = 0; i < p->site_count && !p->flow; ++i)
    add_bits(p->site_needs + (size_t)i * s.words, node_bits(&s, order[p->sites[i].node]), s.words);
  for (int32_t i = 0; i < desc->fetch_count; ++i)
    add_bits(p->fetch_needs + (size_t)i * s.words, node_bits(&s, desc->fetches[i].node), s.words);
  return NULL;
}
