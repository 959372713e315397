/* SPDX-License-Identifier: Apache-2.0 */
/* Who tells whom: for each site the edges from each of its outputs, then those from the site as such; and how many each waits for.
 *
 * Who needs two values of one producer is told once, except a Merge, which counts its inputs. */
#include "exec/flow_plan.h"
#include "op/node_class.h"

typedef struct {
  flow_build_t* b;
  int32_t* first;        /* by site: its first entry; an entry is an output, or (the last) the site as such */
  int32_t* begin;        /* by entry: where its edges begin, while they are stored where the next goes */
  int32_t* stamp;        /* by entry: the last site told from it, plus 1 */
  int32_t* site_stamp;   /* by site: the last one told of any output, where all outputs live and die together */
  int32_t* pending;      /* by site */
  hr_flow_edge_t* edges; /* NULL: only counted */
} edges_t;

static bool outputs_differ(const hr_flow_site_t* s) {
  return s->action == HR_FLOW_SWITCH || s->action == HR_FLOW_SWITCH_N || s->may_be_unset;
}

static void add_edge(edges_t* e, int32_t from, int32_t output, int32_t to, int32_t input, int32_t kind) {
  const int32_t entry = e->first[from] + output;
  if (!e->edges) {
    e->begin[entry + 1]++;
    e->pending[to] += kind == HR_EDGE_PLAIN ? 1 : kind == HR_EDGE_MERGE_CONTROL ? 2 : 0;
    return;
  }
  const hr_flow_site_t* s = &e->b->f->sites[to];
  if (kind == HR_EDGE_PLAIN && s->action == HR_FLOW_EXIT && e->pending[to] == 1) kind = HR_EDGE_EXIT;
  e->edges[e->begin[entry]++] = (hr_flow_edge_t){.site = to, .counter = s->counter, .input = input, .kind = kind};
}

/* `to` waits for output `output` of site `from`; for the site as such when that is its out_count. */
static void wait_for_site(edges_t* e, int32_t from, int32_t output, int32_t to, int32_t kind) {
  const hr_flow_site_t* s = &e->b->f->sites[from];
  const int32_t entry = e->first[from] + output;
  if (e->stamp[entry] == to + 1 || (output == s->site->out_count && e->site_stamp[from] == to + 1)) return;
  e->stamp[entry] = to + 1;
  if (output < s->site->out_count && !outputs_differ(s)) e->site_stamp[from] = to + 1;
  add_edge(e, from, output, to, -1, kind);
}

static void wait_for_node(edges_t* e, const hr_node_t* n, int32_t to, int32_t kind);

static void wait_for_value(edges_t* e, hr_value_t v, int32_t to, int32_t kind) {
  const hr_value_t real = hr_flow_real(e->b, v);
  const int32_t site = e->b->site_of[real.node->id];
  if (site >= 0) wait_for_site(e, site, real.index, to, kind);
  else if (hr_plan_is_constant(real.node) && !(e->b->marks[real.node->id] & FLOW_FED))
    for (int32_t i = 0; i < real.node->control_count; ++i) wait_for_node(e, real.node->controls[i], to, kind);
}

/* A constant's own producers are sites (flow_plan.c sees to it), so this goes one step deep. */
static void wait_for_node(edges_t* e, const hr_node_t* n, int32_t to, int32_t kind) {
  const int32_t site = e->b->site_of[n->id];
  if (site >= 0) wait_for_site(e, site, e->b->f->sites[site].site->out_count, to, kind);
  else if (e->b->base[n->id] >= 0 && n->output_count > 0)
    wait_for_value(e, (hr_value_t){(hr_node_t*)n, 0}, to, kind);
}

static void wait_for_input(edges_t* e, const hr_node_t* n, int32_t input, int32_t to) {
  const hr_value_t v = n->inputs[input], real = hr_flow_real(e->b, v);
  if (e->b->f->sites[to].action != HR_FLOW_MERGE) wait_for_value(e, v, to, HR_EDGE_PLAIN);
  else add_edge(e, e->b->site_of[real.node->id], real.index, to, input,
                hr_node_class_is_enter(hr_flow_class(v.node)) ? HR_EDGE_MERGE_ENTER : HR_EDGE_MERGE);
}

static void each_edge(edges_t* e) {
  const flow_build_t* b = e->b;
  memset(e->stamp, 0, ((size_t)e->first[b->p->site_count] + 1) * sizeof *e->stamp);
  memset(e->site_stamp, 0, (size_t)b->p->site_count * sizeof *e->site_stamp);
  /* first: a fetched reference is read as soon as it is there */
  for (int32_t i = 0; i < b->extra_count; ++i) wait_for_value(e, b->extra[i].of, b->extra[i].site, HR_EDGE_PLAIN);
  for (int64_t i = 0; i < b->desc->node_count; ++i) {
    const hr_node_t* n = b->order[i];
    const int32_t to = b->site_of[n->id];
    if (to < 0) continue;
    const bool merge = b->f->sites[to].action == HR_FLOW_MERGE;
    for (int32_t j = 0; j < n->input_count; ++j) wait_for_input(e, n, j, to);
    for (int32_t j = 0; j < n->control_count; ++j) wait_for_node(e, n->controls[j], to, merge ? HR_EDGE_MERGE_CONTROL : HR_EDGE_PLAIN);
  }
}

static hr_status_t make_tables(edges_t* e) {
  const flow_build_t* b = e->b;
  const size_t sites = (size_t)b->p->site_count;
  e->first = hr_arena_array(b->scratch, sites + 1, sizeof *e->first);
  e->pending = hr_arena_array(b->scratch, sites, sizeof *e->pending);
  e->site_stamp = hr_arena_array(b->scratch, sites, sizeof *e->site_stamp);
  if (!e->first || !e->pending || !e->site_stamp) return hr_status_out_of_memory();
  for (size_t i = 0; i < sites; ++i) e->first[i + 1] = e->first[i] + b->f->sites[i].site->out_count + 1;
  e->begin = hr_arena_array(b->scratch, (size_t)e->first[sites] + 2, sizeof *e->begin);
  e->stamp = hr_arena_array(b->scratch, (size_t)e->first[sites] + 2, sizeof *e->stamp);
  return e->begin && e->stamp ? NULL : hr_status_out_of_memory();
}

static bool waits_for_feed(const flow_build_t* b, int32_t site) {
  for (int32_t i = 0; b->f->feed_sites && i < b->desc->feed_count; ++i)
    if (b->f->feed_sites[i] == site) return true;
  return false;
}

static hr_status_t find_roots(edges_t* e) {
  hr_flow_t* f = e->b->f;
  f->roots = hr_arena_array(&e->b->p->arena, (size_t)e->b->p->site_count, sizeof *f->roots);
  if (!f->roots) return hr_status_out_of_memory();
  for (int32_t i = 0; i < e->b->p->site_count; ++i) {
    const hr_flow_site_t* s = &f->sites[i];
    if (s->action == HR_FLOW_MERGE || e->pending[i] > 0 || waits_for_feed(e->b, i)) continue;
    if (s->frame != 0) return HR_ERROR(INTERNAL, "node '%s' is inside a loop but waits for nothing", s->site->node_name);
    f->roots[f->root_count++] = i;
  }
  return NULL;
}

hr_status_t hr_flow_build_edges(flow_build_t* b) {
  edges_t e = {.b = b};
  HR_TRY(make_tables(&e));
  each_edge(&e);
  const int32_t entries = e.first[b->p->site_count];
  for (int32_t i = 0; i < entries; ++i) {
    if (e.begin[i + 1] > INT32_MAX - e.begin[i]) return HR_ERROR(RESOURCE_EXHAUSTED, "the graph has too many edges for one plan");
    e.begin[i + 1] += e.begin[i];
  }
  e.edges = hr_arena_array(&b->p->arena, (size_t)e.begin[entries], sizeof *e.edges);
  if (!e.edges) return hr_status_out_of_memory();
  for (int64_t i = 0; i < b->p->site_count; ++i) { /* beginnings are right now, and move while the edges are stored */
    hr_flow_site_t* s = &b->f->sites[i];
    const int32_t first = e.first[i], begin = e.begin[first];
    s->edges = e.edges + begin;
    s->edge_count = e.begin[e.first[i + 1]] - begin;
    for (int32_t j = 0; j < s->site->out_count; ++j) ((int32_t*)hr_flow_ends(s))[j] = e.begin[first + j + 1] - begin;
  }
  each_edge(&e);
  b->pending = e.pending;
  return find_roots(&e);
}

hr_status_t hr_flow_make_counters(flow_build_t* b) {
  hr_flow_t* f = b->f;
  for (int32_t i = 0; i < f->frame_count; ++i) {
    hr_flow_frame_t* frame = &f->frames[i];
    frame->count_bytes = (size_t)frame->site_count * sizeof(hr_flow_counter_t) + (size_t)frame->use_count * sizeof(int32_t);
    frame->counters = hr_arena_array(&b->p->arena, 1, frame->count_bytes);
    if (!frame->counters) return hr_status_out_of_memory();
    frame->uses = (int32_t*)(void*)(frame->counters + frame->site_count);
  }
  for (int64_t i = 0; i < b->p->site_count; ++i) {
    const hr_flow_site_t* s = &f->sites[i];
    f->frames[s->frame].counters[s->counter].pending = b->pending[i] + (s->action == HR_FLOW_MERGE);
  }
  for (int32_t i = 0; i < b->value_count; ++i)
    if (b->values[i].use >= 0) f->frames[b->values[i].frame].uses[b->values[i].use] = b->values[i].readers;
  return NULL;
}
