/* SPDX-License-Identifier: Apache-2.0 */
/* Plans and nodes as text, for tests that compare what was decided with what is recorded. */
#ifndef HR_TESTS_PLAN_TEXT_H
#define HR_TESTS_PLAN_TEXT_H
#include "exec/flow.h"
#include "exec/lanes.h"
#include "unit/exec/maker.h"

/* --- a plan as text ------------------------------------------------------------------------------------------------------------------- */

static inline void put_list(hr_strbuf_t* b, const char* what, const int32_t* values, int32_t count) {
  if (!count) return;
  hr_strbuf_format(b, " %s", what);
  for (int32_t i = 0; i < count; ++i) hr_strbuf_format(b, i ? ",%d" : "%d", (int)values[i]);
}

static inline void put_ends(hr_strbuf_t* b, const hr_site_t* s) {
  hr_strbuf_format(b, "  %s %s", s->node_name, s->op_name);
  for (int32_t i = 0; i < s->in_count; ++i) hr_strbuf_format(b, i ? ",%d/%d" : " in %d/%d", (int)s->in[i], (int)s->in_flags[i]);
  put_list(b, "out", s->out, s->out_count);
}

static inline void put_lane(hr_strbuf_t* b, const hr_lane_site_t* l) {
  hr_strbuf_format(b, " lane %d%s", (int)l->lane, l->awaited ? "!" : "");
  for (int i = 0; i < l->wait_count; ++i) hr_strbuf_format(b, " after %d:%d", (int)l->waits[i].lane, (int)l->waits[i].count);
  for (int i = 0; i < l->share_count; ++i) hr_strbuf_format(b, " share %d>%d", (int)l->shares[i].from, (int)l->shares[i].to);
}

static inline void put_straight(hr_strbuf_t* b, const hr_plan_t* p) {
  for (int64_t i = 0; i < p->site_count; ++i) {
    const hr_plan_site_t* s = &p->sites[i];
    for (int64_t r = 0; p->lanes && r < p->lanes->region_count; ++r) {
      const hr_region_t* g = &p->lanes->regions[r];
      if (i != g->begin) continue;
      hr_strbuf_format(b, "  region of %lld, batch %lld", (long long)(g->end - g->begin), (long long)g->least_batch);
      for (int32_t e = 0; e < g->entry_count; ++e) hr_strbuf_format(b, " share %d>%d", (int)g->entry[e].from, (int)g->entry[e].to);
      hr_strbuf_format(b, "\n");
    }
    put_ends(b, &s->site);
    put_list(b, "drop", s->drops, s->drop_count);
    for (int64_t r = 0; p->lanes && r < p->lanes->region_count; ++r) {
      const hr_region_t* g = &p->lanes->regions[r];
      if (i >= g->begin && i < g->end) put_lane(b, &g->sites[i - g->begin]);
    }
    hr_strbuf_format(b, "\n");
  }
}

static inline void put_flow_site(hr_strbuf_t* b, const hr_flow_site_t* s) {
  const hr_flow_rare_t* r = s->rare;
  put_ends(b, s->site);
  put_list(b, "drop", hr_flow_drops(s), s->drop_count);
  put_list(b, "use", hr_flow_in_use(s), s->site->in_count);
  put_list(b, "ends", hr_flow_ends(s), s->site->out_count);
  put_list(b, "wants", hr_flow_wanted(s), s->wanted_count);
  for (int32_t i = 0; i < s->use_count; ++i) hr_strbuf_format(b, " last %d:%d", (int)hr_flow_uses(s)[i].slot, (int)hr_flow_uses(s)[i].use);
  for (int32_t i = 0; i < r->read_count; ++i) hr_strbuf_format(b, " read %d>%d", (int)r->reads[i].ref, (int)r->reads[i].value);
  for (int32_t i = 0; i < r->fetch_count; ++i) hr_strbuf_format(b, " fetch %d>%d", (int)r->fetches[i].ref, (int)r->fetches[i].value);
  for (int32_t i = 0; i < s->edge_count; ++i)
    hr_strbuf_format(b, " >%d.%d.%d.%d", (int)s->edges[i].site, (int)s->edges[i].counter, (int)s->edges[i].input, (int)s->edges[i].kind);
  hr_strbuf_format(b, " frame %d action %d counter %d%s%s%s%s", (int)s->frame, (int)s->action, (int)s->counter, s->runs_dead ? " dead" : "",
                   s->ignores_dead ? " ignores" : "", s->may_be_unset ? " unset" : "", s->uses_spare ? " spare" : "");
  if (r->told) hr_strbuf_format(b, " told %d", (int)r->told->out_count);
  if (s->action >= HR_FLOW_MERGE && s->action <= HR_FLOW_NEXT)
    hr_strbuf_format(b, " opens %d child %d index %d data %d", (int)r->opens, (int)r->child, (int)r->index, (int)r->data_inputs);
  hr_strbuf_format(b, "\n");
}

static inline void put_frame(hr_strbuf_t* b, const hr_flow_frame_t* f) {
  hr_strbuf_format(b, "  frame '%.*s' in %d.%d parallel %d/%d slots %d constants %d+%d invariants %d temporaries %d", HR_STR_ARG(f->name),
                   (int)f->parent, (int)f->child_index, (int)f->parallel, (int)f->ring_mask, (int)f->slot_count, (int)f->first_constant,
                   (int)f->constant_count, (int)f->first_invariant, (int)f->first_temporary);
  hr_strbuf_format(b, " sites %d uses %d children %d enters %d nexts %d", (int)f->site_count, (int)f->use_count, (int)f->child_count,
                   (int)f->enter_count, (int)f->next_count);
  put_list(b, "exits", f->exits, f->exit_count);
  put_list(b, "invariant", f->invariants, f->invariant_count);
  for (int32_t i = 0; i < f->site_count; ++i)
    hr_strbuf_format(b, i ? ",%d" : " counters %d", (int)(f->counters[i].pending * 10 + f->counters[i].dead));
  put_list(b, "readers", f->uses, f->use_count);
  hr_strbuf_format(b, "\n");
}

static inline void put_plan(hr_strbuf_t* b, const hr_plan_t* p) {
  hr_strbuf_format(b, "plan: %d feeds, %d constants, %d slots, spare %d", (int)p->feed_count, (int)p->constant_count, (int)p->slot_count,
                   (int)p->spare);
  put_list(b, "fetches", p->fetch_slots, p->fetch_count);
  hr_strbuf_format(b, "\n");
  if (!p->flow) put_straight(b, p);
  for (int32_t i = 0; p->flow && i < p->flow->frame_count; ++i) put_frame(b, &p->flow->frames[i]);
  for (int64_t i = 0; p->flow && i < p->site_count; ++i) put_flow_site(b, &p->flow->sites[i]);
  if (p->flow) {
    put_list(b, " roots", p->flow->roots, p->flow->root_count);
    put_list(b, "arrivals", p->flow->feed_sites, p->flow->feed_sites ? p->feed_count : 0);
    hr_strbuf_format(b, " widest %d%s%s\n", (int)p->flow->widest, p->flow->calls ? " calls" : "", p->flow->sends ? " sends" : "");
  }
  for (int64_t i = 0; p->site_needs && i < p->site_count * p->need_words; ++i)
    hr_strbuf_format(b, i ? " %llx" : "  needs %llx", (unsigned long long)p->site_needs[i]);
  for (int64_t i = 0; p->fetch_needs && i < (int64_t)p->fetch_count * p->need_words; ++i)
    hr_strbuf_format(b, i ? " %llx" : "  for fetches %llx", (unsigned long long)p->fetch_needs[i]);
  if (p->site_needs) hr_strbuf_format(b, "\n");
}

/* --- nodes as text -------------------------------------------------------------------------------------------------------------------- */

static inline void put_node(hr_strbuf_t* b, const hr_node_t* n) {
  hr_strbuf_format(b, "  %s %s", n->name.data, n->attrs.def->name.data);
  for (int32_t i = 0; i < n->input_count; ++i)
    hr_strbuf_format(b, n->inputs[i].index ? " %s:%d" : " %s", n->inputs[i].node->name.data, (int)n->inputs[i].index);
  for (int32_t i = 0; i < n->control_count; ++i) hr_strbuf_format(b, " ^%s", n->controls[i]->name.data);
  if (hr_attrs_find(&n->attrs, "tensor_name")) hr_strbuf_format(b, " [%.*s]", HR_STR_ARG(hr_attrs_str(&n->attrs, "tensor_name")));
  hr_strbuf_format(b, "\n");
}
#endif
