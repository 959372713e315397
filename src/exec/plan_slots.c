/* SPDX-License-Identifier: Apache-2.0 */
/* Sites and slots: every node that has something to do becomes a site, every value gets a slot, and slots are used again once their
 * value's last use is past.
 *
 * A site's outputs get their slots before its inputs give theirs back, because a kernel that works in place moves a value from one slot to
 * another. An ordinary consumer of a variable's reference reads it through a site of its own right before it, so that each consumer sees
 * the value as of its own turn; a fetched reference is read right after the site that made it. */
#include "exec/plan_state.h"

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
} slots_t;

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

static int32_t take_slot(slots_t* s) { return s->free_count > 0 ? s->free_slots[--s->free_count] : s->p->slot_count++; }

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
  if (spare) ((int32_t*)site->drops)[site->drop_count++] = -1; /* the spare; its number is known at the end */
}

static int32_t times_read(const hr_site_t* site, int32_t value) {
  int32_t times = 0;
  for (int32_t j = 0; j < site->in_count; ++j) times += site->in[j] == value;
  return times;
}

static void place_inputs(slots_t* s, int64_t index) {
  hr_plan_site_t* site = &s->p->sites[index];
  uint8_t* flags = (uint8_t*)site->site.in_flags;
  for (int32_t j = 0; j < site->site.in_count; ++j) {
    plan_value_t* v = &s->values[site->site.in[j]];
    if (v->last != index || v->kind != VALUE_TEMPORARY || v->fetched || s->desc->keep_values) continue;
    if (!v->is_ref) {
      flags[j] = times_read(&site->site, site->site.in[j]) == 1 ? HR_IN_TAKE | HR_IN_RELEASE : HR_IN_RELEASE;
      ((int32_t*)site->drops)[site->drop_count++] = v->slot;
    }
    s->free_slots[s->free_count++] = v->slot;
    v->last = -1; /* given back once, however often this site reads it */
  }
  for (int32_t j = 0; j < site->site.in_count; ++j) ((int32_t*)site->site.in)[j] = s->values[site->site.in[j]].slot;
}

static hr_status_t place_values(slots_t* s) {
  hr_plan_t* p = s->p;
  const hr_plan_desc_t* d = s->desc;
  s->free_slots = hr_arena_array(s->scratch, (size_t)s->value_limit, sizeof *s->free_slots);
  p->fetch_slots = hr_arena_array(&p->arena, (size_t)d->fetch_count, sizeof *p->fetch_slots);
  if (!s->free_slots || !p->fetch_slots) return hr_status_out_of_memory();
  find_last_uses(s);
  for (int64_t i = 0; i < p->site_count; ++i) {
    place_outputs(s, &p->sites[i]);
    place_inputs(s, i);
  }
  p->spare = p->slot_count++;
  for (int64_t i = 0; i < p->site_count; ++i)
    for (int32_t j = 0; j < p->sites[i].drop_count; ++j)
      if (p->sites[i].drops[j] < 0) ((int32_t*)p->sites[i].drops)[j] = p->spare;
  for (int32_t i = 0; i < d->fetch_count; ++i) p->fetch_slots[i] = s->values[s->fetch_values[i]].slot;
  return NULL;
}

hr_status_t hr_plan_assign_slots(hr_plan_t* p, hr_arena_t* scratch, const hr_plan_desc_t* desc, hr_node_t* const* order, int64_t id_limit) {
  slots_t s = {.p = p, .scratch = scratch, .desc = desc, .order = order};
  HR_TRY(number_values(&s, id_limit));
  HR_TRY(place_feeds_and_constants(&s));
  HR_TRY(resolve_fetches(&s));
  HR_TRY(add_sites(&s));
  return place_values(&s);
}
