/* SPDX-License-Identifier: Apache-2.0 */
/* Finding regions. From each expensive site a stretch is played through: every site goes to the lane where it would end first, and after
 * each one the time of the lanes is compared with that of one thread whose kernels split over all cores. The stretch ends where most was
 * won; if that is enough, it is a region.
 *
 * Only edges between two sites of a region need a wait. What orders nodes without side effects through a node without a site (NoOp) is
 * not kept: nobody could tell. */
#include "exec/cost.h"
#include "exec/lanes.h"

enum { SITE_FREE, SITE_HOME, SITE_WALL }; /* any lane; lane 0; not in a region */
enum { EXPENSIVE_NS = 40000, FORK_NS = 10000, SYNC_NS = 700, LEAST_GAIN_NS = 40000 };
enum { STARTS = 4, IDLE_EXPENSIVE = 6, IDLE_SITES = 512 }; /* starts that are tried for a region; how far to look for more gain */
static const double LEAST_SHARE = 0.12; /* of the time without lanes that must be won: estimates are no better */

typedef struct {
  int64_t begin, end;
  double gain;
  bool guessed;
} stretch_t;

typedef struct {
  const hr_lanes_request_t* r;
  hr_plan_t* p;
  int cores, lanes, threads; /* threads: of each lane */
  int32_t* place;            /* by node id: index in the order; -1 */
  int32_t* maker;            /* by value: its site; -1: none */
  int32_t* last_site;        /* by index in the order; -1: none */
  hr_cost_t* costs;          /* by site, like what follows */
  uint8_t* kinds;
  int8_t* lane;
  double* end_ns;            /* in the play */
  int64_t* expensive;        /* sites, in order */
  int64_t expensive_count;
} planner_t;

/* --- what sites are ------------------------------------------------------------------------------------------------------------------- */

static const hr_node_t* site_node(const planner_t* s, int64_t site) { return s->r->order[s->p->sites[site].node]; }
static bool site_is_deref(const planner_t* s, int64_t site) { return s->p->sites[site].site.compute == hr_plan_deref; }

static bool node_is_marked(const hr_node_t* n) { /* touches references, or calls functions */
  for (int32_t i = 0; i < n->input_count; ++i)
    if (hr_dtype_is_ref(n->input_types[i])) return true;
  for (int32_t i = 0; i < n->output_count; ++i)
    if (hr_dtype_is_ref(n->output_types[i])) return true;
  const hr_op_def_t* def = n->attrs.def;
  for (int i = 0; i < def->attr_count; ++i)
    if (def->attrs[i].kind == HR_ATTR_FUNC) return true;
  return false;
}

static int site_kind(const planner_t* s, int64_t site) {
  const hr_node_t* n = site_node(s, site);
  const hr_op_def_t* def = n->attrs.def;
  if (site_is_deref(s, site)) return SITE_HOME;
  if (def->op->flags & (HR_OP_BLOCKING | HR_OP_SIDE_EFFECT)) return SITE_WALL;
  if (def->op->flags & HR_OP_STATEFUL) return n->input_count == 0 || hr_str_is(def->name, "ReadVariableOp") ? SITE_HOME : SITE_WALL;
  if (def->node_class != HR_NODE_ORDINARY && def->node_class != HR_NODE_IDENTITY) return SITE_WALL;
  return node_is_marked(n) ? SITE_WALL : SITE_FREE;
}

static hr_cost_t site_cost(const planner_t* s, hr_cost_memo_t* memo, int64_t site) {
  return site_is_deref(s, site) ? (hr_cost_t){.alone_ns = 100} : hr_cost_of(memo, site_node(s, site));
}

static bool is_expensive(hr_cost_t c) { return c.alone_ns >= EXPENSIVE_NS; }

/* --- the play ------------------------------------------------------------------------------------------------------------------------- */

typedef void (*site_dep_fn_t)(planner_t* s, int64_t site, int64_t on, void* arg);

static void each_dep(planner_t* s, int64_t site, int64_t begin, site_dep_fn_t fn, void* arg) {
  const hr_site_t* at = &s->p->sites[site].site;
  const hr_node_t* n = site_node(s, site);
  for (int32_t i = 0; i < at->in_count; ++i)
    if (s->maker[at->in[i]] >= begin) fn(s, site, s->maker[at->in[i]], arg);
  for (int32_t i = 0; i < n->control_count; ++i) {
    const int32_t node = s->place[n->controls[i]->id];
    if (node >= 0 && s->last_site[node] >= begin) fn(s, site, s->last_site[node], arg);
  }
}

static void find_ready(planner_t* s, int64_t site, int64_t on, void* arg) {
  double* ready = arg;
  (void)site;
  for (int l = 0; l < s->lanes; ++l) {
    const double at = s->end_ns[on] + (s->lane[on] == l ? 0 : SYNC_NS + (double)s->costs[on].move_ns);
    if (at > ready[l]) ready[l] = at;
  }
}

/* The lane where it ends first; of equals the first. */
static double play_site(planner_t* s, int64_t site, int64_t begin, double* io_busy) {
  double ready[HR_LANES_MOST];
  memcpy(ready, io_busy, sizeof ready);
  each_dep(s, site, begin, find_ready, ready);
  int best = 0;
  for (int l = 1; l < s->lanes && s->kinds[site] == SITE_FREE; ++l)
    if (ready[l] < ready[best]) best = l;
  s->lane[site] = (int8_t)best;
  return s->end_ns[site] = io_busy[best] = ready[best] + hr_cost_beside(s->costs[site], s->threads);
}

static stretch_t play(planner_t* s, int64_t begin, int64_t limit) {
  double busy[HR_LANES_MOST] = {0}, longest = 0, alone = 0;
  stretch_t best = {.begin = begin, .end = begin};
  bool guessed = false;
  int idle = 0;
  for (int64_t i = begin; i < limit && s->kinds[i] != SITE_WALL; ++i) {
    const double end = play_site(s, i, begin, busy);
    if (end > longest) longest = end;
    alone += hr_cost_on(s->costs[i], s->r->desc->threads);
    guessed |= s->costs[i].guessed;
    const double gain = alone - longest - FORK_NS;
    if (gain > best.gain && gain >= LEAST_SHARE * alone) {
      best = (stretch_t){begin, i + 1, gain, guessed};
      idle = 0;
    }
    idle += is_expensive(s->costs[i]);
    if (idle > IDLE_EXPENSIVE || i - best.end > IDLE_SITES) break;
  }
  return best;
}

/* All regions for this number of lanes, each the best of a few starts. Returns what they win. */
static double find_stretches(planner_t* s, stretch_t* out, int64_t* out_count) {
  double total = 0;
  int64_t at = 0;
  *out_count = 0;
  for (int64_t e = 0; e < s->expensive_count; ++e) {
    if (s->expensive[e] < at) continue;
    stretch_t best = play(s, s->expensive[e], s->p->site_count);
    for (int64_t more = 1; best.gain > 0 && more < STARTS && e + more < s->expensive_count; ++more) {
      const stretch_t later = play(s, s->expensive[e + more], s->p->site_count);
      if (later.gain > best.gain) best = later;
    }
    if (best.gain < LEAST_GAIN_NS) continue;
    out[(*out_count)++] = best;
    total += best.gain;
    at = best.end;
  }
  return total;
}

/* --- regions -------------------------------------------------------------------------------------------------------------------------- */

typedef struct {
  hr_region_t* region;
  const int32_t* turn; /* by site of the region: which of its lane's it is, from 1 */
  int32_t need[HR_LANES_MOST];
} waits_t;

static void find_need(planner_t* s, int64_t site, int64_t on, void* arg) {
  waits_t* w = arg;
  const int32_t turn = w->turn[on - w->region->begin];
  if (s->lane[on] != s->lane[site] && turn > w->need[s->lane[on]]) w->need[s->lane[on]] = turn;
}

/* What a lane has waited for once it needs not wait for again. */
static hr_status_t add_waits(planner_t* s, hr_region_t* g, const int32_t* turn) {
  int32_t known[HR_LANES_MOST][HR_LANES_MOST] = {{0}};
  for (int64_t i = g->begin; i < g->end; ++i) {
    hr_lane_site_t* at = &g->sites[i - g->begin];
    waits_t w = {.region = g, .turn = turn};
    each_dep(s, i, g->begin, find_need, &w);
    hr_lane_wait_t found[HR_LANES_MOST];
    for (int l = 0; l < s->lanes; ++l) {
      if (w.need[l] <= known[at->lane][l]) continue;
      known[at->lane][l] = w.need[l];
      found[at->wait_count++] = (hr_lane_wait_t){l, w.need[l]};
      g->sites[g->lists[l][w.need[l] - 1]].awaited = true;
    }
    hr_lane_wait_t* waits = hr_arena_array(&s->p->arena, (size_t)at->wait_count, sizeof *waits);
    if (!waits) return hr_status_out_of_memory();
    if (at->wait_count) memcpy(waits, found, (size_t)at->wait_count * sizeof *waits);
    at->waits = waits;
  }
  return NULL;
}

static int64_t least_batch(const stretch_t* t) {
  const double per_item = (t->gain + FORK_NS) / HR_COST_BATCH;
  return t->guessed ? (int64_t)((FORK_NS + LEAST_GAIN_NS) / per_item) + 1 : 0;
}

static hr_status_t make_region(planner_t* s, const stretch_t* t, hr_region_t* out) {
  const size_t count = (size_t)(t->end - t->begin);
  hr_region_t g = {.begin = t->begin, .end = t->end, .least_batch = least_batch(t)};
  play(s, t->begin, t->end); /* once more, for the lanes of this stretch */
  g.sites = hr_arena_array(&s->p->arena, count, sizeof *g.sites);
  int32_t* turn = hr_arena_array(s->r->scratch, count, sizeof *turn);
  if (!g.sites || !turn) return hr_status_out_of_memory();
  for (size_t i = 0; i < count; ++i) {
    g.sites[i] = (hr_lane_site_t){.lane = s->lane[t->begin + (int64_t)i]};
    turn[i] = ++g.counts[g.sites[i].lane];
  }
  for (int l = 0; l < s->lanes; ++l) {
    g.lists[l] = hr_arena_array(&s->p->arena, (size_t)g.counts[l], sizeof *g.lists[l]);
    if (!g.lists[l]) return hr_status_out_of_memory();
  }
  for (size_t i = 0; i < count; ++i) g.lists[g.sites[i].lane][turn[i] - 1] = (int32_t)i;
  *out = g;
  return add_waits(s, out, turn);
}

static int32_t find_batch_feed(const hr_plan_desc_t* d) {
  for (int32_t i = 0; i < d->feed_count; ++i) {
    const hr_pshape_t* shape = hr_value_shape(d->feeds[i]);
    if (shape->rank > 0 && shape->dims[0] < 0) return i;
  }
  return -1;
}

static hr_status_t make_lanes(planner_t* s, const stretch_t* found, int64_t count) {
  struct hr_lanes* l = hr_arena_alloc(&s->p->arena, sizeof *l);
  if (!l) return hr_status_out_of_memory();
  *l = (struct hr_lanes){.lanes = s->lanes, .threads = s->threads, .batch_feed = find_batch_feed(s->r->desc), .region_count = count};
  l->regions = hr_arena_array(&s->p->arena, (size_t)count, sizeof *l->regions);
  if (!l->regions) return hr_status_out_of_memory();
  for (int64_t i = 0; i < count; ++i) HR_TRY(make_region(s, &found[i], &l->regions[i]));
  s->p->lanes = l;
  return NULL;
}

/* --- all of it ------------------------------------------------------------------------------------------------------------------------ */

static void set_lanes(planner_t* s, int lanes) {
  const int kernel_threads = s->r->desc->threads, share = s->cores / lanes;
  s->lanes = lanes;
  s->threads = share < kernel_threads ? share : kernel_threads;
  if (s->threads < 1) s->threads = 1;
}

static hr_status_t choose_lanes(planner_t* s) {
  stretch_t* found = hr_arena_array(s->r->scratch, (size_t)s->expensive_count, sizeof *found);
  if (!found) return hr_status_out_of_memory();
  double best = 0;
  int64_t count = 0;
  int lanes = 0;
  const int most = s->r->desc->lanes < HR_LANES_MOST ? s->r->desc->lanes : HR_LANES_MOST;
  for (int tried = 2; tried <= most; tried *= 2) {
    set_lanes(s, tried);
    const double gain = find_stretches(s, found, &count);
    if (gain <= best * 1.05) continue; /* more lanes must win more */
    best = gain;
    lanes = tried;
  }
  if (!lanes) return NULL;
  set_lanes(s, lanes);
  find_stretches(s, found, &count);
  return make_lanes(s, found, count);
}

static hr_status_t fill_planner(planner_t* s, hr_cost_memo_t* memo) {
  const hr_lanes_request_t* r = s->r;
  const size_t sites = (size_t)s->p->site_count, nodes = (size_t)r->desc->node_count;
  s->place = hr_arena_array(r->scratch, (size_t)r->id_limit, sizeof *s->place);
  s->maker = hr_arena_array(r->scratch, (size_t)r->value_count, sizeof *s->maker);
  s->last_site = hr_arena_array(r->scratch, nodes, sizeof *s->last_site);
  s->costs = hr_arena_array(r->scratch, sites, sizeof *s->costs);
  s->kinds = hr_arena_array(r->scratch, sites, sizeof *s->kinds);
  s->lane = hr_arena_array(r->scratch, sites, sizeof *s->lane);
  s->end_ns = hr_arena_array(r->scratch, sites, sizeof *s->end_ns);
  s->expensive = hr_arena_array(r->scratch, (size_t)s->expensive_count, sizeof *s->expensive);
  if (!s->place || !s->maker || !s->last_site || !s->costs || !s->kinds || !s->lane || !s->end_ns || !s->expensive)
    return hr_status_out_of_memory();
  for (int64_t i = 0; i < r->id_limit; ++i) s->place[i] = -1;
  for (size_t i = 0; i < nodes; ++i) s->place[r->order[i]->id] = (int32_t)i;
  for (int32_t i = 0; i < r->value_count; ++i) s->maker[i] = -1;
  for (size_t i = 0; i < nodes; ++i) s->last_site[i] = -1;
  int64_t next = 0;
  for (int64_t i = 0; i < s->p->site_count; ++i) {
    const hr_site_t* site = &s->p->sites[i].site;
    for (int32_t j = 0; j < site->out_count; ++j) s->maker[site->out[j]] = (int32_t)i;
    s->last_site[s->p->sites[i].node] = (int32_t)i;
    s->costs[i] = site_cost(s, memo, i);
    s->kinds[i] = (uint8_t)site_kind(s, i);
    if (is_expensive(s->costs[i])) s->expensive[next++] = i;
  }
  return NULL;
}

hr_status_t hr_lanes_plan(const hr_lanes_request_t* r) {
  hr_cost_memo_t memo = {0};
  planner_t s = {.r = r, .p = r->plan};
  s.cores = r->desc->threads > r->desc->lanes ? r->desc->threads : r->desc->lanes;
  for (int64_t i = 0; i < s.p->site_count; ++i) s.expensive_count += is_expensive(site_cost(&s, &memo, i));
  if (s.expensive_count < 2) return NULL;
  HR_TRY(fill_planner(&s, &memo));
  return choose_lanes(&s);
}
