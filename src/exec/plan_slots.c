/* SPDX-License-Identifier: Apache-2.0 */
/* Sites and slots: every node that has something to do becomes a site, every value gets a slot, and slots are used again once their
 * value's last use is past.
 *
 * A site's outputs get their slots before its inputs give theirs back, because a kernel that works in place moves a value from one slot to
 * another. An ordinary consumer of a variable's reference reads it through a site of its own right before it, so that each consumer sees
 * the value as of its own turn; a fetched reference is read right after the site that made it.
 *
 * In a region (exec/lanes.h) a slot that a lane gives back is only that lane's until the region ends; and a value of which several lanes
 * read the last has a slot, and a reference, for each of them, so that none of them has to know when the others are done. */
#include "exec/lanes.h"

enum { VALUE_TEMPORARY, VALUE_FEED, VALUE_CONSTANT };

typedef struct {
  int32_t slot;     /* -1: none yet */
  int32_t last;     /* last site that reads it; -1: none */
  uint8_t kind;
  bool is_ref, fetched;
} plan_value_t;

typedef struct {
  hr_plan_t* p;
  hr_arena_t* scratch;
  const hr_plan_desc_t* desc;
  hr_node_t* const* order;
  int32_t* base;          /* by node id: its first value; -1: not of the plan */
  plan_value_t* values;
  int32_t value_count, value_limit;
  int64_t site_limit;
  int32_t* fetch_values;
  int32_t* free_slots;
  int32_t free_count;
  struct lane_slots* lanes; /* of the region now; NULL outside */
} slots_t;

/* Of a region; the arrays by value and lane serve one region after another, since what they hold are sites and values of one region. */
typedef struct lane_slots {
  hr_region_t* region;
  int lane, lanes;
  int32_t* last; /* the lane's last site that reads a value which ends in the region; that + 1; 0: none */
  int32_t* slot; /* where that lane finds it, if several read it; that + 1 */
  int32_t *freed[HR_LANES_MOST], freed_count[HR_LANES_MOST];
} lane_slots_t;

/* --- numbering ------------------------------------------------------------------------------------------------------------------- */

static bool node_has_site(const hr_node_t* n) {
  int class = n->attrs.def->node_class;
  return class != HR_NODE_NO_OP && class != HR_NODE_CONTROL_TRIGGER && class != HR_NODE_ARG && !hr_plan_is_constant(n);
}

static bool input_needs_deref(const hr_node_t* n, int32_t i) {
  return hr_dtype_is_ref(hr_value_type(n->inputs[i])) && !hr_dtype_is_ref(n->input_types[i]);
}

static void number_node(slots_t* s, const hr_node_t* n) {
  if (s->base[n->id] >= 0) return;
  s->base[n->id] = s->value_limit;
  s->value_limit += n->output_count;
}

static hr_status_t number_values(slots_t* s, int64_t id_limit) {
  const hr_plan_desc_t* d = s->desc;
  s->base = hr_arena_array(s->scratch, (size_t)id_limit, sizeof *s->base);
  if (!s->base) return hr_status_out_of_memory();
  for (int64_t i = 0; i < id_limit; ++i) s->base[i] = -1;
  for (int32_t i = 0; i < d->feed_count; ++i) number_node(s, d->feeds[i].node);
  for (int64_t i = 0; i < d->node_count; ++i) number_node(s, s->order[i]);
  s->value_count = s->value_limit; /* values of dereferences come after */
  for (int64_t i = 0; i < d->node_count; ++i) {
    const hr_node_t* n = s->order[i];
    if (!node_has_site(n)) continue;
    s->site_limit++;
    for (int32_t j = 0; j < n->input_count; ++j) {
      if (!n->inputs[j].node || s->base[n->inputs[j].node->id] < 0)
        return HR_ERROR(INTERNAL, "input %d of node '%s' is not part of the plan", j, n->name.data);
      s->value_limit += input_needs_deref(n, j);
    }
  }
  s->value_limit += d->fetch_count;
  s->site_limit += s->value_limit - s->value_count;
  s->values = hr_arena_array(s->scratch, (size_t)s->value_limit, sizeof *s->values);
  if (!s->values) return hr_status_out_of_memory();
  for (int32_t i = 0; i < s->value_limit; ++i) s->values[i] = (plan_value_t){.slot = -1, .last = -1};
  return NULL;
}

static int32_t value_of(const slots_t* s, hr_value_t v) { return s->base[v.node->id] + v.index; }

static hr_status_t place_feeds_and_constants(slots_t* s) {
  hr_plan_t* p = s->p;
  const hr_plan_desc_t* d = s->desc;
  for (int32_t i = 0; i < d->feed_count; ++i) {
    plan_value_t* v = &s->values[value_of(s, d->feeds[i])];
    v->kind = VALUE_FEED;
    v->slot = i;
  }
  for (int64_t i = 0; i < d->node_count; ++i) p->constant_count += hr_plan_is_constant(s->order[i]);
  p->constants = hr_arena_array(&p->arena, (size_t)p->constant_count, sizeof *p->constants);
  if (!p->constants) return hr_status_out_of_memory();
  int32_t next = 0;
  for (int64_t i = 0; i < d->node_count; ++i) {
    if (!hr_plan_is_constant(s->order[i])) continue;
    plan_value_t* v = &s->values[s->base[s->order[i]->id]];
    if (v->kind == VALUE_TEMPORARY) { /* else it is fed */
      v->kind = VALUE_CONSTANT;
      v->slot = d->feed_count + next;
    }
    p->constants[next++] = hr_plan_constant(s->order[i]);
  }
  p->slot_count = d->feed_count + p->constant_count;
  return NULL;
}

/* --- sites; inputs and outputs hold values until the slots are known -------------------------------------------------------------- */

static hr_plan_site_t* add_site(slots_t* s, const hr_node_t* n, int64_t node, int32_t in_count, int32_t out_count) {
  size_t in = (size_t)in_count, out = (size_t)out_count;
  int32_t* block = hr_arena_alloc(&s->p->arena, (2 * in + out + 1) * sizeof(int32_t) + in + out);
  if (!block) return NULL;
  hr_plan_site_t* site = &s->p->sites[s->p->site_count++];
  uint8_t* bytes = (uint8_t*)(block + 2 * in + out + 1);
  memset(bytes, 0, in + out);
  site->drops = block + in + out;
  site->node = (int32_t)node;
  site->site = (hr_site_t){.node_name = n->name.data, .op_name = n->attrs.def->name.data, .in = block, .out = block + in, .in_flags = bytes,
                           .out_types = bytes + in, .in_count = in_count, .out_count = out_count};
  return site;
}

static hr_status_t add_deref(slots_t* s, const hr_node_t* for_node, int64_t node, hr_value_t ref, int32_t* out_value) {
  hr_plan_site_t* site = add_site(s, for_node, node, 1, 1);
  if (!site) return hr_status_out_of_memory();
  *out_value = s->value_count++;
  ((int32_t*)site->site.in)[0] = value_of(s, ref);
  ((int32_t*)site->site.out)[0] = *out_value;
  ((uint8_t*)site->site.out_types)[0] = (uint8_t)hr_dtype_base(hr_value_type(ref));
  site->site.compute = hr_plan_deref;
  return NULL;
}

/* An input read twice by one node is dereferenced once. */
static hr_status_t input_value(slots_t* s, const hr_node_t* n, int64_t node, int32_t i, const int32_t* in_values, int32_t* out) {
  *out = value_of(s, n->inputs[i]);
  if (s->values[*out].kind == VALUE_FEED || !input_needs_deref(n, i)) {
    if (s->values[*out].kind != VALUE_FEED || !hr_dtype_is_ref(n->input_types[i])) return NULL;
    return HR_ERROR(INVALID_ARGUMENT, "input %d of node '%s' (%s) must be a reference to a variable, but it is fed", i, n->name.data,
                    n->attrs.def->name.data);
  }
  for (int32_t j = 0; j < i; ++j) {
    if (n->inputs[j].node == n->inputs[i].node && n->inputs[j].index == n->inputs[i].index && input_needs_deref(n, j)) {
      *out = in_values[j];
      return NULL;
    }
  }
  return add_deref(s, n, node, n->inputs[i], out);
}

static hr_status_t add_node(slots_t* s, int64_t node) {
  const hr_node_t* n = s->order[node];
  int32_t* in_values = hr_arena_alloc(s->scratch, (size_t)n->input_count * sizeof *in_values);
  if (!in_values) return hr_status_out_of_memory();
  for (int32_t i = 0; i < n->input_count; ++i) HR_TRY(input_value(s, n, node, i, in_values, &in_values[i]));
  hr_plan_site_t* site = add_site(s, n, node, n->input_count, n->output_count);
  if (!site) return hr_status_out_of_memory();
  if (n->input_count) memcpy((int32_t*)site->site.in, in_values, (size_t)n->input_count * sizeof *in_values);
  for (int32_t i = 0; i < n->output_count; ++i) {
    ((int32_t*)site->site.out)[i] = s->base[n->id] + i;
    ((uint8_t*)site->site.out_types)[i] = (uint8_t)hr_dtype_base(n->output_types[i]);
    s->values[s->base[n->id] + i].is_ref = hr_dtype_is_ref(n->output_types[i]);
  }
  return NULL;
}

static hr_status_t resolve_fetches(slots_t* s) {
  const hr_plan_desc_t* d = s->desc;
  s->fetch_values = hr_arena_array(s->scratch, (size_t)d->fetch_count, sizeof *s->fetch_values);
  if (!s->fetch_values) return hr_status_out_of_memory();
  for (int32_t i = 0; i < d->fetch_count; ++i) {
    if (s->base[d->fetches[i].node->id] < 0)
      return HR_ERROR(INTERNAL, "fetch %d, of node '%s', is not part of the plan", i, d->fetches[i].node->name.data);
    s->fetch_values[i] = value_of(s, d->fetches[i]);
  }
  return NULL;
}

/* A node's fetched references are read at once. */
static hr_status_t add_fetch_derefs(slots_t* s, int64_t node) {
  const hr_node_t* n = s->order[node];
  bool has_ref = false;
  for (int32_t i = 0; i < n->output_count; ++i) has_ref |= hr_dtype_is_ref(n->output_types[i]);
  for (int32_t i = 0; has_ref && i < s->desc->fetch_count; ++i) {
    hr_value_t v = s->desc->fetches[i];
    if (v.node == n && hr_dtype_is_ref(hr_value_type(v)) && s->values[value_of(s, v)].kind == VALUE_TEMPORARY)
      HR_TRY(add_deref(s, n, node, v, &s->fetch_values[i]));
  }
  return NULL;
}

static hr_status_t add_sites(slots_t* s) {
  s->p->sites = hr_arena_array(&s->p->arena, (size_t)s->site_limit, sizeof *s->p->sites);
  if (!s->p->sites) return hr_status_out_of_memory();
  for (int64_t i = 0; i < s->desc->node_count; ++i) {
    if (!node_has_site(s->order[i])) continue;
    HR_TRY(add_node(s, i));
    HR_TRY(add_fetch_derefs(s, i));
  }
  return NULL;
}

/* --- slots ------------------------------------------------------------------------------------------------------------------------- */

static void find_last_uses(slots_t* s) {
  for (int64_t i = 0; i < s->p->site_count; ++i) {
    const hr_site_t* site = &s->p->sites[i].site;
    for (int32_t j = 0; j < site->in_count; ++j) s->values[site->in[j]].last = (int32_t)i;
  }
  for (int32_t i = 0; i < s->desc->fetch_count; ++i) s->values[s->fetch_values[i]].fetched = true;
}

static int32_t take_slot(slots_t* s) {
  lane_slots_t* l = s->lanes;
  if (l && l->freed_count[l->lane] > 0) return l->freed[l->lane][--l->freed_count[l->lane]];
  return s->free_count > 0 ? s->free_slots[--s->free_count] : s->p->slot_count++;
}

static void give_slot(slots_t* s, int32_t slot) {
  lane_slots_t* l = s->lanes;
  if (l) l->freed[l->lane][l->freed_count[l->lane]++] = slot;
  else s->free_slots[s->free_count++] = slot;
}

static void place_outputs(slots_t* s, hr_plan_site_t* site) {
  int32_t* out = (int32_t*)site->site.out;
  bool spare = false;
  for (int32_t j = 0; j < site->site.out_count; ++j) {
    plan_value_t* v = &s->values[out[j]];
    bool wanted = v->kind == VALUE_TEMPORARY && (v->fetched || v->last >= 0);
    if (wanted) v->slot = take_slot(s);
    spare |= !wanted;
    out[j] = wanted ? v->slot : -1;
  }
  if (spare) ((int32_t*)site->drops)[site->drop_count++] = -1 - (s->lanes ? s->lanes->lane : 0); /* the lane's spare, by its lane */
}

static int32_t times_read(const hr_site_t* site, int32_t value) {
  int32_t times = 0;
  for (int32_t j = 0; j < site->in_count; ++j) times += site->in[j] == value;
  return times;
}

static bool ends_in_region(const slots_t* s, const plan_value_t* v) {
  return v->kind == VALUE_TEMPORARY && !v->is_ref && !v->fetched && v->last >= 0 && v->last < s->lanes->region->end;
}

static int32_t* lane_last(const lane_slots_t* l, int32_t value) { return l->last + (size_t)value * (size_t)l->lanes; }
static int32_t* lane_slot(const lane_slots_t* l, int32_t value) { return l->slot + (size_t)value * (size_t)l->lanes; }

static int lanes_reading(const lane_slots_t* l, int32_t value) {
  int count = 0;
  for (int lane = 0; lane < l->lanes; ++lane) count += lane_last(l, value)[lane] > l->region->begin;
  return count;
}

static bool is_shared(const slots_t* s, int32_t value) { return s->lanes && lanes_reading(s->lanes, value) > 1; }

/* Each lane releases its own slot of a shared value, and none may take the value over. */
static void end_shared_input(slots_t* s, int64_t index, int32_t j) {
  hr_plan_site_t* site = &s->p->sites[index];
  lane_slots_t* l = s->lanes;
  const int32_t value = site->site.in[j], slot = lane_slot(l, value)[l->lane] - 1;
  if (lane_last(l, value)[l->lane] != index + 1) return;
  ((uint8_t*)site->site.in_flags)[j] = HR_IN_RELEASE;
  for (int32_t before = 0; before < j; ++before)
    if (site->site.in[before] == value) return; /* released once, however often this site reads it */
  ((int32_t*)site->drops)[site->drop_count++] = slot;
  give_slot(s, slot);
}

static void end_input(slots_t* s, int64_t index, int32_t j) {
  hr_plan_site_t* site = &s->p->sites[index];
  plan_value_t* v = &s->values[site->site.in[j]];
  if (v->last != index || v->kind != VALUE_TEMPORARY || v->fetched || s->desc->keep_values) return;
  if (!v->is_ref) {
    ((uint8_t*)site->site.in_flags)[j] = times_read(&site->site, site->site.in[j]) == 1 ? HR_IN_TAKE | HR_IN_RELEASE : HR_IN_RELEASE;
    ((int32_t*)site->drops)[site->drop_count++] = v->slot;
  }
  give_slot(s, v->slot);
  v->last = -1; /* given back once, however often this site reads it */
}

static void place_inputs(slots_t* s, int64_t index) {
  hr_site_t* site = &s->p->sites[index].site;
  for (int32_t j = 0; j < site->in_count; ++j)
    if (is_shared(s, site->in[j])) end_shared_input(s, index, j);
    else end_input(s, index, j);
  for (int32_t j = 0; j < site->in_count; ++j) {
    const int32_t value = site->in[j];
    ((int32_t*)site->in)[j] = is_shared(s, value) ? lane_slot(s->lanes, value)[s->lanes->lane] - 1 : s->values[value].slot;
  }
}

/* --- slots in a region ---------------------------------------------------------------------------------------------------------------- */

static void find_lane_uses(slots_t* s) {
  const lane_slots_t* l = s->lanes;
  for (int64_t i = l->region->begin; i < l->region->end; ++i) {
    const hr_site_t* site = &s->p->sites[i].site;
    const int lane = l->region->sites[i - l->region->begin].lane;
    for (int32_t j = 0; j < site->in_count; ++j)
      if (ends_in_region(s, &s->values[site->in[j]])) lane_last(l, site->in[j])[lane] = (int32_t)i + 1;
  }
}

/* A slot for each lane that reads `value`; the first of them gets the value's own. */
static int32_t share_value(slots_t* s, int32_t value, hr_lane_share_t* out) {
  const lane_slots_t* l = s->lanes;
  const int32_t own = s->values[value].slot;
  int32_t count = 0;
  bool first = true;
  for (int lane = 0; lane < l->lanes; ++lane) {
    if (lane_last(l, value)[lane] <= l->region->begin) continue;
    const int32_t slot = first ? own : take_slot(s);
    lane_slot(l, value)[lane] = slot + 1;
    if (!first) out[count++] = (hr_lane_share_t){own, slot};
    first = false;
  }
  return count;
}

static hr_status_t share_outputs(slots_t* s, hr_lane_site_t* in_lane, const int32_t* values, int32_t count) {
  int32_t extra = 0;
  for (int32_t j = 0; j < count; ++j) extra += lanes_reading(s->lanes, values[j]);
  hr_lane_share_t* shares = hr_arena_array(&s->p->arena, (size_t)extra, sizeof *shares);
  if (!shares) return hr_status_out_of_memory();
  in_lane->shares = shares;
  for (int32_t j = 0; j < count; ++j)
    if (is_shared(s, values[j])) in_lane->share_count += share_value(s, values[j], shares + in_lane->share_count);
  return NULL;
}

/* What was made before the region and is read by several lanes for the last time. */
static hr_status_t share_entry(slots_t* s, int32_t input_count) {
  const lane_slots_t* l = s->lanes;
  hr_lane_share_t* shares = hr_arena_array(s->scratch, (size_t)input_count * (size_t)l->lanes, sizeof *shares);
  hr_region_t* region = l->region;
  if (!shares) return hr_status_out_of_memory();
  for (int64_t i = region->begin; i < region->end; ++i) {
    const hr_site_t* site = &s->p->sites[i].site;
    for (int32_t j = 0; j < site->in_count; ++j) {
      const int32_t v = site->in[j];
      if (s->values[v].slot < 0 || !is_shared(s, v) || lane_slot(l, v)[region->sites[i - region->begin].lane]) continue;
      region->entry_count += share_value(s, v, shares + region->entry_count);
    }
  }
  region->entry = hr_arena_array(&s->p->arena, (size_t)region->entry_count, sizeof *region->entry);
  if (!region->entry) return hr_status_out_of_memory();
  if (region->entry_count) memcpy(region->entry, shares, (size_t)region->entry_count * sizeof *shares);
  return NULL;
}

static hr_status_t place_lane_site(slots_t* s, int64_t index) {
  hr_plan_site_t* site = &s->p->sites[index];
  hr_lane_site_t* in_lane = &s->lanes->region->sites[index - s->lanes->region->begin];
  const int32_t count = site->site.out_count;
  int32_t* values = hr_arena_array(s->scratch, (size_t)count, sizeof *values);
  if (!values) return hr_status_out_of_memory();
  s->lanes->lane = in_lane->lane;
  if (count) memcpy(values, site->site.out, (size_t)count * sizeof *values);
  place_outputs(s, site);
  HR_TRY(share_outputs(s, in_lane, values, count));
  place_inputs(s, index);
  return NULL;
}

static hr_status_t place_region(slots_t* s, lane_slots_t* l, hr_region_t* region) {
  int32_t inputs = 0;
  for (int64_t i = region->begin; i < region->end; ++i) inputs += s->p->sites[i].site.in_count;
  l->region = region;
  for (int lane = 0; lane < l->lanes; ++lane) {
    l->freed[lane] = hr_arena_array(s->scratch, (size_t)inputs, sizeof *l->freed[lane]);
    if (!l->freed[lane]) return hr_status_out_of_memory();
    l->freed_count[lane] = 0;
  }
  l->lane = 0;
  s->lanes = l;
  find_lane_uses(s);
  HR_TRY(share_entry(s, inputs));
  for (int64_t i = region->begin; i < region->end; ++i) HR_TRY(place_lane_site(s, i));
  s->lanes = NULL;
  for (int lane = 0; lane < l->lanes; ++lane)
    while (l->freed_count[lane] > 0) give_slot(s, l->freed[lane][--l->freed_count[lane]]);
  return NULL;
}

static hr_status_t place_sites(slots_t* s) {
  hr_plan_t* p = s->p;
  lane_slots_t lanes = {.lanes = p->lanes ? p->lanes->lanes : 1};
  if (p->lanes) {
    lanes.last = hr_arena_array(s->scratch, (size_t)s->value_count * (size_t)lanes.lanes, sizeof *lanes.last);
    lanes.slot = hr_arena_array(s->scratch, (size_t)s->value_count * (size_t)lanes.lanes, sizeof *lanes.slot);
    if (!lanes.last || !lanes.slot) return hr_status_out_of_memory();
  }
  int64_t next = 0;
  for (int64_t i = 0; i < p->site_count;) {
    hr_region_t* region = p->lanes && next < p->lanes->region_count ? &p->lanes->regions[next] : NULL;
    if (region && i == region->begin) {
      HR_TRY(place_region(s, &lanes, region));
      i = region->end;
      ++next;
      continue;
    }
    place_outputs(s, &p->sites[i]);
    place_inputs(s, i++);
  }
  p->spare = p->slot_count;
  p->slot_count += lanes.lanes;
  return NULL;
}

static hr_status_t place_values(slots_t* s) {
  hr_plan_t* p = s->p;
  const hr_plan_desc_t* d = s->desc;
  size_t room = (size_t)s->value_limit; /* of free slots; lanes have slots of their own for the inputs that they share */
  for (int64_t i = 0; p->lanes && i < p->site_count; ++i) room += (size_t)p->sites[i].site.in_count;
  s->free_slots = hr_arena_array(s->scratch, room, sizeof *s->free_slots);
  p->fetch_slots = hr_arena_array(&p->arena, (size_t)d->fetch_count, sizeof *p->fetch_slots);
  if (!s->free_slots || !p->fetch_slots) return hr_status_out_of_memory();
  HR_TRY(place_sites(s));
  for (int64_t i = 0; i < p->site_count; ++i)
    for (int32_t j = 0; j < p->sites[i].drop_count; ++j)
      if (p->sites[i].drops[j] < 0) ((int32_t*)p->sites[i].drops)[j] = p->spare - 1 - p->sites[i].drops[j];
  for (int32_t i = 0; i < d->fetch_count; ++i) p->fetch_slots[i] = s->values[s->fetch_values[i]].slot;
  return NULL;
}

hr_status_t hr_plan_assign_slots(hr_plan_t* p, hr_arena_t* scratch, const hr_plan_desc_t* desc, hr_node_t* const* order, int64_t id_limit) {
  slots_t s = {.p = p, .scratch = scratch, .desc = desc, .order = order};
  HR_TRY(number_values(&s, id_limit));
  HR_TRY(place_feeds_and_constants(&s));
  HR_TRY(resolve_fetches(&s));
  HR_TRY(add_sites(&s));
  find_last_uses(&s);
  if (desc->lanes > 1 && !desc->keep_values) {
    const hr_lanes_request_t lanes = {p, scratch, desc, order, id_limit, s.value_count};
    HR_TRY(hr_lanes_plan(&lanes));
  }
  return place_values(&s);
}
