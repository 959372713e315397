/* SPDX-License-Identifier: Apache-2.0 */
/* From nodes to sites and slots of the general path; flow_edges.c adds who tells whom.
 *
 * Nodes that cost a site nothing: feeds and constants lie in their slots, and an Identity, or the LoopCond of a scalar, that waits for
 * nothing but its input is its input: whoever reads or waits for it reads and waits for that. A constant that waits for a node, as those
 * inside a loop do, is read from its slot by whoever also waits for that node. Only a Merge must be told of each input, so what it reads
 * stays a site. */
#include "exec/flow_plan.h"
#include "base/alloc.h"

enum { MOST_PARALLEL = 64, MOST_CONTROLS_HANDED_ON = 2, MOST_LOOKED_AT = 8 };

static hr_status_t nothing(hr_kernel_ctx_t* k) {
  (void)k;
  return NULL;
}

int hr_flow_class(const hr_node_t* n) { return n->attrs.def->node_class; }

hr_status_t hr_flow_is_needed(hr_node_t* const* nodes, int64_t count, bool* out) {
  *out = false;
  for (int64_t i = 0; i < count && !*out; ++i) {
    const hr_kernel_t* kernel;
    const hr_op_def_t* def = nodes[i]->attrs.def;
    *out = hr_node_class_is_control_flow(def->node_class);
    bool starts = false;
    for (int j = 0; j < def->op->kernel_count; ++j) starts |= def->op->kernels[j].start != NULL;
    if (*out || !starts) continue;
    HR_TRY(hr_registry_kernel(def, nodes[i]->attrs.values, &kernel));
    *out = kernel->start != NULL;
  }
  return NULL;
}

/* --- which nodes are sites ---------------------------------------------------------------------------------------------------------- */

hr_value_t hr_flow_real(const flow_build_t* b, hr_value_t v) { return b->real[v.node->id].node ? b->real[v.node->id] : v; }

static bool is_source(const hr_node_t* n) { return hr_flow_class(n) == HR_NODE_ARG || hr_plan_is_constant(n); }

/* A LoopCond wants a scalar; a Switch looks at that itself. */
static bool shape_will_be_checked(const hr_node_t* n) {
  if (hr_value_shape(n->inputs[0])->rank == 0) return true;
  for (int64_t i = 0; i < n->consumers.count; ++i)
    if (hr_flow_class(n->consumers.data[i].node) != HR_NODE_SWITCH || n->consumers.data[i].input != 1) return false;
  return n->consumers.count > 0;
}

static bool node_is_its_input(const hr_node_t* n) {
  const int class = hr_flow_class(n);
  if ((class != HR_NODE_IDENTITY && class != HR_NODE_LOOP_COND) || n->control_count > 0) return false;
  if (class == HR_NODE_LOOP_COND && !shape_will_be_checked(n)) return false;
  return !hr_dtype_is_ref(hr_value_type(n->inputs[0]));
}

static bool input_needs_read(const hr_node_t* n, int32_t i) {
  return hr_dtype_is_ref(hr_value_type(n->inputs[i])) && !hr_dtype_is_ref(n->input_types[i]);
}

static hr_status_t look_at_inputs(flow_build_t* b, const hr_node_t* n) {
  for (int32_t j = 0; j < n->input_count; ++j) {
    if (!n->inputs[j].node || b->base[n->inputs[j].node->id] < 0)
      return HR_ERROR(INTERNAL, "input %d of node '%s' is not part of the plan", j, n->name.data);
    b->read_count += input_needs_read(n, j);
  }
  if (node_is_its_input(n)) b->real[n->id] = hr_flow_real(b, n->inputs[0]);
  return NULL;
}

static void mark_known(flow_build_t* b, bool has_merges) { /* what the answers below depend on */
  for (int64_t i = 0; has_merges && i < b->desc->node_count; ++i) {
    const hr_node_t* n = b->order[i];
    if (hr_node_class_is_merge(hr_flow_class(n)))
      for (int32_t j = 0; j < n->input_count; ++j) b->marks[hr_flow_real(b, n->inputs[j]).node->id] |= FLOW_READ_BY_MERGE;
  }
  for (int32_t i = 0; i < b->desc->fetch_count; ++i) b->marks[hr_flow_real(b, b->desc->fetches[i]).node->id] |= FLOW_FETCHED;
  for (int32_t i = 0; i < b->desc->feed_count; ++i) b->marks[b->desc->feeds[i].node->id] |= FLOW_FED;
}

static bool node_has_site(const flow_build_t* b, const hr_node_t* n) {
  if (b->real[n->id].node) return false;
  if (!is_source(n)) return true;
  if (b->marks[n->id] & FLOW_READ_BY_MERGE) return true;
  if (b->desc->keep_values && b->marks[n->id] & FLOW_FED) return true; /* its arrival is an event */
  if (hr_flow_class(n) == HR_NODE_ARG || n->control_count == 0) return false;
  if (n->control_count > MOST_CONTROLS_HANDED_ON || b->marks[n->id] & FLOW_FETCHED) return true;
  for (int32_t i = 0; i < n->control_count; ++i)
    if (b->base[n->controls[i]->id] < 0 || is_source(hr_flow_real(b, (hr_value_t){n->controls[i], 0}).node)) return true;
  return false;
}

/* --- values ------------------------------------------------------------------------------------------------------------------------- */

static hr_status_t number_nodes(flow_build_t* b) {
  const hr_plan_desc_t* d = b->desc;
  const int64_t id_limit = b->id_limit;
  bool has_merges = false;
  b->base = hr_arena_array(b->scratch, (size_t)id_limit, sizeof *b->base);
  b->site_of = hr_arena_array(b->scratch, (size_t)id_limit, sizeof *b->site_of);
  b->real = hr_arena_array(b->scratch, (size_t)id_limit, sizeof *b->real);
  b->marks = hr_arena_array(b->scratch, (size_t)id_limit, 1);
  if (!b->base || !b->site_of || !b->real || !b->marks) return hr_status_out_of_memory();
  for (int64_t i = 0; i < id_limit; ++i) b->base[i] = b->site_of[i] = -1;
  for (int64_t i = 0; i < d->feed_count + d->node_count; ++i) {
    const hr_node_t* n = i < d->feed_count ? d->feeds[i].node : b->order[i - d->feed_count];
    if (b->base[n->id] >= 0) continue;
    b->base[n->id] = b->value_count;
    b->value_count += n->output_count;
  }
  for (int64_t i = 0; i < d->node_count; ++i) {
    HR_TRY(look_at_inputs(b, b->order[i]));
    has_merges |= hr_node_class_is_merge(hr_flow_class(b->order[i]));
  }
  mark_known(b, has_merges);
  return NULL;
}

/* Room for the values of nodes, of reads of references, of fetched references and constants. */
static hr_status_t make_values(flow_build_t* b) {
  const hr_plan_desc_t* d = b->desc;
  const int32_t limit = b->value_count + d->fetch_count + b->read_count;
  b->values = hr_arena_array(b->scratch, (size_t)limit, sizeof *b->values);
  if (!b->values) return hr_status_out_of_memory();
  for (int32_t i = 0; i < limit; ++i) b->values[i] = (flow_value_t){.slot = -1, .use = -1, .maker = -1};
  for (int64_t i = 0; i < d->node_count; ++i) {
    const hr_node_t* n = b->order[i];
    const bool invariant = hr_node_class_is_enter(hr_flow_class(n)) && hr_attrs_bool(&n->attrs, "is_constant");
    for (int32_t j = 0; j < n->output_count; ++j) {
      flow_value_t* v = &b->values[b->base[n->id] + j];
      v->frame = hr_frames_of_output(&b->frames, n);
      v->kind = hr_plan_is_constant(n) ? FLOW_CONSTANT_VALUE : invariant ? FLOW_INVARIANT : FLOW_TEMPORARY;
      v->constant = v->kind == FLOW_CONSTANT_VALUE ? hr_plan_constant(n) : NULL;
      v->is_ref = hr_dtype_is_ref(n->output_types[j]);
    }
  }
  for (int32_t i = 0; i < d->feed_count; ++i) {
    flow_value_t* v = &b->values[b->base[d->feeds[i].node->id] + d->feeds[i].index];
    *v = (flow_value_t){.slot = i, .use = -1, .maker = -1, .kind = FLOW_FEED};
  }
  return NULL;
}

static int32_t value_of(const flow_build_t* b, hr_value_t v) {
  hr_value_t real = hr_flow_real(b, v);
  return b->base[real.node->id] + real.index;
}

static int32_t new_value(flow_build_t* b, int32_t frame) {
  b->values[b->value_count].kind = FLOW_TEMPORARY;
  b->values[b->value_count].frame = frame;
  return b->value_count++;
}

/* --- sites; their inputs and outputs hold values until slots are known -------------------------------------------------------------- */

static const hr_flow_rare_t ordinary = {.index = -1};

static hr_plan_site_t* add_site(flow_build_t* b, const hr_node_t* n, int64_t node, int32_t in_count, int32_t out_count) {
  if (in_count > b->f->widest) b->f->widest = in_count;
  const size_t in = (size_t)in_count, out = (size_t)out_count, numbers = 5 * in + 3 * out; /* for the lists that flow.h speaks of */
  int32_t* block = hr_arena_alloc(&b->p->arena, numbers * sizeof(int32_t) + in + out);
  if (!block) return NULL;
  memset(block, 0, numbers * sizeof(int32_t) + in + out);
  hr_plan_site_t* site = &b->p->sites[b->p->site_count];
  hr_flow_site_t* s = &b->f->sites[b->p->site_count++];
  uint8_t* bytes = (uint8_t*)(block + numbers);
  site->node = (int32_t)node;
  site->site = (hr_site_t){.node_name = n->name.data,
                           .op_name = n->attrs.def->name.data,
                           .in = block,
                           .out = block + in,
                           .in_flags = bytes,
                           .out_types = bytes + in,
                           .in_count = in_count,
                           .out_count = out_count};
  *s = (hr_flow_site_t){.site = &site->site, .rare = &ordinary, .action = HR_FLOW_COMPUTE};
  return site;
}

static hr_flow_rare_t* rare_of(flow_build_t* b, hr_flow_site_t* s) { /* its own, to be filled; NULL: out of memory */
  if (s->rare != &ordinary) return (hr_flow_rare_t*)s->rare;
  hr_flow_rare_t* rare = hr_arena_array(&b->p->arena, 1, sizeof *rare);
  if (!rare) return NULL;
  *rare = ordinary;
  s->rare = rare;
  return rare;
}

/* The values of inputs that are references read as values lie in slots of the site's own. */
static hr_status_t add_reads(flow_build_t* b, const hr_node_t* n, hr_flow_site_t* s, int32_t* in) {
  int32_t count = 0;
  for (int32_t i = 0; i < n->input_count; ++i) count += input_needs_read(n, i);
  hr_flow_read_t* reads = count ? hr_arena_array(&b->p->arena, (size_t)count, sizeof *reads) : NULL;
  hr_flow_rare_t* rare = count ? rare_of(b, s) : NULL;
  if (count && (!reads || !rare)) return hr_status_out_of_memory();
  if (count) rare->reads = reads;
  for (int32_t i = 0; i < n->input_count; ++i) {
    const flow_value_t* v = &b->values[in[i]];
    if (v->kind == FLOW_FEED) {
      if (!hr_dtype_is_ref(n->input_types[i])) continue;
      return HR_ERROR(INVALID_ARGUMENT, "input %d of node '%s' (%s) must be a reference to a variable, but it is fed", i, n->name.data,
                      n->attrs.def->name.data);
    }
    if (!input_needs_read(n, i)) continue;
    for (int32_t j = 0; j < rare->read_count && input_needs_read(n, i); ++j)
      if (reads[j].ref == in[i]) in[i] = reads[j].value;
    if (b->values[in[i]].kind == FLOW_TEMPORARY && !b->values[in[i]].is_ref) continue; /* found among them */
    reads[rare->read_count].ref = in[i];
    in[i] = reads[rare->read_count++].value = new_value(b, s->frame);
  }
  return NULL;
}

static void set_action(hr_plan_site_t* site, hr_flow_site_t* s, const hr_node_t* n) {
  switch (hr_flow_class(n)) {
    case HR_NODE_SWITCH:
    case HR_NODE_REF_SWITCH: s->action = HR_FLOW_SWITCH; break;
    case HR_NODE_SWITCH_N: s->action = HR_FLOW_SWITCH_N; break;
    case HR_NODE_MERGE:
    case HR_NODE_REF_MERGE: s->action = HR_FLOW_MERGE; break;
    case HR_NODE_ENTER:
    case HR_NODE_REF_ENTER: s->action = HR_FLOW_ENTER; break;
    case HR_NODE_EXIT:
    case HR_NODE_REF_EXIT: s->action = HR_FLOW_EXIT; break;
    case HR_NODE_NEXT_ITERATION:
    case HR_NODE_REF_NEXT_ITERATION: s->action = HR_FLOW_NEXT; break;
    case HR_NODE_CONTROL_TRIGGER:
      s->ignores_dead = true;
      s->action = HR_FLOW_NOTHING;
      break;
    case HR_NODE_NO_OP:
    case HR_NODE_ARG: s->action = HR_FLOW_NOTHING; break;
    case HR_NODE_SEND:
    case HR_NODE_HOST_SEND: s->runs_dead = true; break;
    case HR_NODE_RECV:
    case HR_NODE_HOST_RECV: s->runs_dead = s->may_be_unset = true; break;
    default: break;
  }
  if (s->action == HR_FLOW_NOTHING) site->site.compute = nothing; /* wants no kernel */
}

static hr_status_t add_node(flow_build_t* b, const hr_node_t* n, int64_t node) {
  hr_plan_site_t* site = add_site(b, n, node, n->input_count, n->output_count);
  if (!site) return hr_status_out_of_memory();
  hr_flow_site_t* s = &b->f->sites[b->p->site_count - 1];
  b->site_of[n->id] = (int32_t)(b->p->site_count - 1);
  s->frame = b->frames.of_node[n->id] >= 0 ? b->frames.of_node[n->id] : 0;
  set_action(site, s, n);
  if (s->action == HR_FLOW_MERGE) {
    hr_flow_rare_t* rare = rare_of(b, s);
    if (!rare) return hr_status_out_of_memory();
    rare->data_inputs = n->input_count;
  }
  if (is_source(n) || (b->marks[n->id] & FLOW_FED && node < 0)) {
    s->action = HR_FLOW_NOTHING;
    site->site.compute = nothing;
  }
  int32_t* in = (int32_t*)site->site.in;
  for (int32_t i = 0; i < n->input_count; ++i) in[i] = value_of(b, n->inputs[i]);
  HR_TRY(add_reads(b, n, s, in));
  for (int32_t i = 0; i < n->input_count; ++i)
    if (b->values[in[i]].frame != s->frame)
      return HR_ERROR(INVALID_ARGUMENT, "input %d of node '%s' (%s) is fed, but the node is inside a loop", i, n->name.data,
                      n->attrs.def->name.data);
  for (int32_t i = 0; i < n->output_count; ++i) {
    ((int32_t*)site->site.out)[i] = b->base[n->id] + i;
    ((uint8_t*)site->site.out_types)[i] = (uint8_t)hr_dtype_base(n->output_types[i]);
  }
  return NULL;
}

/* A fed node that is not of the plan becomes a site where somebody must be told of it. */
static hr_status_t add_feed(flow_build_t* b, int32_t feed) {
  const hr_node_t* n = b->desc->feeds[feed].node;
  const bool told = b->desc->keep_values || b->marks[n->id] & FLOW_READ_BY_MERGE;
  if (told && b->site_of[n->id] < 0 && b->frames.of_node[n->id] < 0) {
    hr_plan_site_t* site = add_site(b, n, -1, 0, n->output_count);
    if (!site) return hr_status_out_of_memory();
    b->site_of[n->id] = (int32_t)(b->p->site_count - 1);
    b->f->sites[b->p->site_count - 1].action = HR_FLOW_NOTHING;
    site->site.compute = nothing;
    for (int32_t j = 0; j < n->output_count; ++j) ((int32_t*)site->site.out)[j] = b->base[n->id] + j;
  }
  if (b->f->feed_sites) b->f->feed_sites[feed] = b->site_of[n->id];
  return NULL;
}

static hr_status_t add_nodes(flow_build_t* b) {
  const hr_plan_desc_t* d = b->desc;
  const size_t limit = (size_t)d->node_count + (size_t)d->feed_count + (size_t)d->fetch_count;
  b->p->sites = hr_arena_array(&b->p->arena, limit, sizeof *b->p->sites);
  b->f->sites = hr_arena_array(&b->p->arena, limit, sizeof *b->f->sites);
  if (d->keep_values) b->f->feed_sites = hr_arena_array(&b->p->arena, (size_t)d->feed_count, sizeof *b->f->feed_sites);
  if (!b->p->sites || !b->f->sites || (d->keep_values && !b->f->feed_sites)) return hr_status_out_of_memory();
  for (int64_t i = 0; i < d->node_count; ++i)
    if (node_has_site(b, b->order[i])) HR_TRY(add_node(b, b->order[i], i));
  for (int32_t i = 0; i < d->feed_count; ++i) HR_TRY(add_feed(b, i));
  return NULL;
}

/* --- fetches ------------------------------------------------------------------------------------------------------------------------ */

static hr_status_t index_nodes(flow_build_t* b) {
  if (b->site_node) return NULL;
  b->site_node = hr_arena_array(b->scratch, (size_t)b->id_limit, sizeof *b->site_node);
  if (!b->site_node) return hr_status_out_of_memory();
  for (int64_t i = 0; i < b->desc->node_count; ++i) b->site_node[b->order[i]->id] = (int32_t)i;
  return NULL;
}

/* A site of its own that reads the reference, or hands the constant on. Who it waits for is found in flow_edges.c. */
static hr_status_t add_fetch_site(flow_build_t* b, hr_value_t v, int32_t value, int32_t* out) {
  HR_TRY(index_nodes(b));
  hr_plan_site_t* site = add_site(b, v.node, b->site_node[v.node->id], 1, 1);
  if (!site) return hr_status_out_of_memory();
  hr_flow_site_t* s = &b->f->sites[b->p->site_count - 1];
  const bool constant = b->values[value].kind == FLOW_CONSTANT_VALUE;
  *out = new_value(b, 0);
  ((int32_t*)site->site.in)[0] = value;
  ((int32_t*)site->site.out)[0] = *out;
  ((uint8_t*)site->site.out_types)[0] = (uint8_t)hr_dtype_base(hr_value_type(v));
  s->action = constant ? HR_FLOW_CONSTANT : HR_FLOW_COMPUTE;
  site->site.compute = constant ? nothing : hr_plan_deref;
  b->extra[b->extra_count++] = (flow_extra_t){(int32_t)(b->p->site_count - 1), v};
  return NULL;
}

static hr_status_t read_at_once(flow_build_t* b, hr_flow_site_t* s, int32_t ref, int32_t* out) {
  hr_flow_rare_t* rare = rare_of(b, s);
  hr_flow_read_t* all = rare ? hr_arena_array(&b->p->arena, (size_t)rare->fetch_count + 1, sizeof *all) : NULL;
  if (!all) return hr_status_out_of_memory();
  if (rare->fetch_count) memcpy(all, rare->fetches, (size_t)rare->fetch_count * sizeof *all);
  *out = new_value(b, 0);
  all[rare->fetch_count++] = (hr_flow_read_t){ref, *out};
  rare->fetches = all;
  return NULL;
}

static hr_status_t resolve_fetch(flow_build_t* b, int32_t i) {
  hr_value_t v = hr_flow_real(b, b->desc->fetches[i]);
  if (b->base[v.node->id] < 0) return HR_ERROR(INTERNAL, "fetch %d, of node '%s', is not part of the plan", i, v.node->name.data);
  int32_t value = b->base[v.node->id] + v.index, site = b->site_of[v.node->id];
  if (b->values[value].frame != 0)
    return HR_ERROR(INVALID_ARGUMENT, "'%s:%d' cannot be fetched: it is inside the loop '%.*s'; fetch what an Exit of it gives",
                    b->desc->fetches[i].node->name.data, b->desc->fetches[i].index,
                    HR_STR_ARG(b->frames.frames.data[b->values[value].frame].name));
  if (b->values[value].kind != FLOW_FEED && hr_dtype_is_ref(hr_value_type(v))) {
    if (b->f->sites[site].action == HR_FLOW_COMPUTE) HR_TRY(read_at_once(b, &b->f->sites[site], value, &value));
    else HR_TRY(add_fetch_site(b, v, value, &value));
  } else if (b->values[value].kind == FLOW_CONSTANT_VALUE && v.node->control_count > 0) {
    HR_TRY(add_fetch_site(b, v, value, &value));
  }
  b->values[value].fetched = true;
  b->fetch_values[i] = value;
  return NULL;
}

static hr_status_t resolve_fetches(flow_build_t* b) {
  const size_t count = (size_t)b->desc->fetch_count;
  b->fetch_values = hr_arena_array(b->scratch, count, sizeof *b->fetch_values);
  b->extra = hr_arena_array(b->scratch, count, sizeof *b->extra);
  if (!b->fetch_values || !b->extra) return hr_status_out_of_memory();
  for (int32_t i = 0; i < b->desc->fetch_count; ++i) HR_TRY(resolve_fetch(b, i));
  return NULL;
}

/* --- frames ------------------------------------------------------------------------------------------------------------------------- */

static hr_status_t make_frames(flow_build_t* b) {
  hr_flow_t* f = b->f;
  f->frame_count = (int32_t)b->frames.frames.count;
  f->frames = hr_arena_array(&b->p->arena, (size_t)f->frame_count, sizeof *f->frames);
  if (!f->frames) return hr_status_out_of_memory();
  for (int32_t i = 0; i < f->frame_count; ++i) {
    const hr_frame_info_t* from = &b->frames.frames.data[i];
    hr_flow_frame_t* to = &f->frames[i];
    to->parent = from->parent;
    to->enter_count = from->enter_count;
    to->parallel = from->parallel_iterations < MOST_PARALLEL ? from->parallel_iterations : MOST_PARALLEL;
    while (to->ring_mask + 1 < to->parallel) to->ring_mask = 2 * to->ring_mask + 1;
    if (!hr_arena_str(&b->p->arena, from->name, &to->name)) return hr_status_out_of_memory();
    if (i > 0) to->child_index = f->frames[from->parent].child_count++;
  }
  return NULL;
}

static bool crosses_frames(const hr_flow_site_t* s) {
  return s->action == HR_FLOW_ENTER || s->action == HR_FLOW_EXIT || s->action == HR_FLOW_NEXT;
}

static hr_status_t number_site(flow_build_t* b, hr_flow_site_t* s) {
  hr_flow_t* f = b->f;
  hr_flow_frame_t* frame = &f->frames[s->frame];
  s->counter = frame->site_count++;
  f->sends |= s->frame > 0 && s->runs_dead && !s->may_be_unset;
  if (!crosses_frames(s)) return NULL;
  hr_flow_rare_t* rare = rare_of(b, s);
  if (!rare) return hr_status_out_of_memory();
  if (s->action == HR_FLOW_EXIT) {
    rare->index = frame->exit_count++;
  } else if (s->action == HR_FLOW_NEXT) {
    rare->index = frame->next_count++;
  } else {
    const flow_value_t* out = &b->values[s->site->out[0]];
    rare->opens = out->frame;
    rare->child = f->frames[rare->opens].child_index;
    if (out->kind == FLOW_INVARIANT) rare->index = f->frames[rare->opens].invariant_count++;
  }
  return NULL;
}

static hr_status_t place_sites_in_frames(flow_build_t* b) {
  hr_flow_t* f = b->f;
  for (int32_t i = 0; i < b->p->site_count; ++i) HR_TRY(number_site(b, &f->sites[i]));
  for (int32_t i = 0; i < f->frame_count; ++i) {
    hr_flow_frame_t* frame = &f->frames[i];
    frame->exits = hr_arena_array(&b->p->arena, (size_t)frame->exit_count, sizeof *frame->exits);
    frame->invariants = hr_arena_array(&b->p->arena, (size_t)frame->invariant_count, sizeof *frame->invariants);
    if (!frame->exits || !frame->invariants) return hr_status_out_of_memory();
  }
  for (int32_t i = 0; i < b->p->site_count; ++i) {
    const hr_flow_site_t* s = &f->sites[i];
    if (s->action == HR_FLOW_EXIT) ((int32_t*)f->frames[s->frame].exits)[s->rare->index] = i;
    if (s->action == HR_FLOW_ENTER && s->rare->index >= 0)
      ((int32_t*)f->frames[s->rare->opens].invariants)[s->rare->index] = i;
  }
  return NULL;
}

/* --- slots -------------------------------------------------------------------------------------------------------------------------- */

static void count_readers(flow_build_t* b) {
  for (int32_t i = 0; i < b->p->site_count; ++i) {
    const hr_flow_site_t* s = &b->f->sites[i];
    for (int32_t j = 0; j < s->site->out_count; ++j) b->values[s->site->out[j]].maker = i;
    for (int32_t j = 0; j < s->site->in_count; ++j) {
      flow_value_t* v = &b->values[s->site->in[j]];
      if (v->last_reader == i + 1) continue; /* one site counts once */
      v->last_reader = i + 1;
      v->readers++;
    }
    for (int32_t j = 0; j < s->rare->read_count; ++j) b->values[s->rare->reads[j].ref].readers++;
    for (int32_t j = 0; j < s->rare->fetch_count; ++j) b->values[s->rare->fetches[j].ref].readers++;
  }
}

static bool is_wanted(const flow_value_t* v) { return v->readers > 0 || v->fetched; }

/* The site that makes input i; -1: none does, or it made an input before. */
static int32_t maker_of(const flow_build_t* b, const hr_site_t* site, int32_t i) {
  const int32_t maker = b->values[site->in[i]].maker;
  for (int32_t j = 0; j < i; ++j)
    if (b->values[site->in[j]].maker == maker) return -1;
  return maker;
}

/* A slot that is empty for good when a site begins: of a value all of whose readers make inputs of the site, which it waits for. -1: none
 * is found. So a chain has a handful of slots, however long it is. (Wide sites are not looked at: that would take too long.) */
static int32_t reuse_slot(flow_build_t* b, int32_t index) {
  const hr_site_t* site = b->f->sites[index].site;
  const int32_t ask = ++b->asks;
  for (int32_t i = 0; i < site->in_count && site->in_count <= MOST_LOOKED_AT; ++i) {
    const int32_t reader = maker_of(b, site, i);
    if (reader < 0 || b->f->sites[reader].action == HR_FLOW_MERGE) continue; /* a Merge does not wait for all that it reads */
    const hr_site_t* before = b->f->sites[reader].site;
    for (int32_t j = 0; j < before->in_count && before->in_count <= MOST_LOOKED_AT; ++j) {
      flow_value_t* v = &b->values[before->in[j]];
      if (v->kind != FLOW_TEMPORARY || v->is_ref || v->fetched || v->slot < 0 || v->passed_on) continue;
      if (v->ask != ask) v->ask = ask, v->reader = -1, v->done = 0;
      if (v->reader == reader) continue;
      v->reader = reader;
      if (++v->done < v->readers) continue;
      v->passed_on = true;
      return v->slot;
    }
  }
  return -1;
}

static void place_temporary(flow_build_t* b, flow_value_t* v) {
  hr_flow_frame_t* frame = &b->f->frames[v->frame];
  const bool again = v->maker >= 0 && b->f->frame_count == 1 && !b->desc->keep_values && b->f->sites[v->maker].action != HR_FLOW_MERGE;
  if (again) v->slot = reuse_slot(b, v->maker);
  if (v->slot < 0) v->slot = frame->slot_count++;
  if (v->readers > 1 && !v->fetched && !v->is_ref) v->use = frame->use_count++;
}

static hr_status_t place_values(flow_build_t* b) {
  hr_flow_t* f = b->f;
  f->frames[0].slot_count = b->desc->feed_count;
  for (int kind = FLOW_CONSTANT_VALUE; kind <= FLOW_TEMPORARY; ++kind) {
    for (int32_t i = 0; i < f->frame_count; ++i) {
      hr_flow_frame_t* frame = &f->frames[i];
      if (kind == FLOW_CONSTANT_VALUE) frame->first_constant = frame->slot_count;
      if (kind == FLOW_INVARIANT) frame->first_invariant = frame->slot_count;
      if (kind == FLOW_TEMPORARY) frame->first_temporary = frame->slot_count;
    }
    for (int32_t i = 0; i < b->value_count; ++i) {
      flow_value_t* v = &b->values[i];
      if (v->kind != kind || !is_wanted(v)) continue;
      if (kind == FLOW_TEMPORARY) {
        place_temporary(b, v);
        continue;
      }
      v->slot = f->frames[v->frame].slot_count++;
      f->frames[v->frame].constant_count += kind == FLOW_CONSTANT_VALUE;
    }
  }
  for (int32_t i = 0; i < f->frame_count; ++i) {
    f->frames[i].constants = hr_arena_array(&b->p->arena, (size_t)f->frames[i].constant_count, sizeof *f->frames[i].constants);
    if (!f->frames[i].constants) return hr_status_out_of_memory();
  }
  for (int32_t i = 0; i < b->value_count; ++i) {
    const flow_value_t* v = &b->values[i];
    hr_flow_frame_t* frame = &f->frames[v->frame];
    if (v->kind == FLOW_CONSTANT_VALUE && v->slot >= 0) frame->constants[v->slot - frame->first_constant] = v->constant;
  }
  return NULL;
}

/* Input j, when the slots of all values are known. `times`: how often the site reads its value; negative once that has been dealt with. */
static void place_input(flow_build_t* b, hr_flow_site_t* s, int32_t j) {
  flow_value_t* v = &b->values[s->site->in[j]];
  const bool first = v->times > 0, once = v->times == 1 || v->times == -1;
  const bool merge = s->action == HR_FLOW_MERGE; /* drops the one it took by itself */
  if (first) v->times = -v->times;
  ((int32_t*)hr_flow_in_use(s))[j] = once || s->action != HR_FLOW_COMPUTE ? v->use : -1;
  if (v->kind != FLOW_TEMPORARY || v->fetched || v->is_ref) return;
  if (v->readers == 1) ((uint8_t*)s->site->in_flags)[j] = once ? HR_IN_TAKE | HR_IN_RELEASE : HR_IN_RELEASE;
  if (merge || !first) return;
  if (v->readers == 1) ((int32_t*)hr_flow_drops(s))[s->drop_count++] = v->slot;
  else ((hr_flow_use_t*)hr_flow_uses(s))[s->use_count++] = (hr_flow_use_t){v->slot, v->use};
}

static void place_inputs(flow_build_t* b, hr_flow_site_t* s) {
  int32_t* in = (int32_t*)s->site->in;
  for (int32_t j = 0; j < s->site->in_count; ++j) b->values[in[j]].times = 0;
  for (int32_t j = 0; j < s->site->in_count; ++j) b->values[in[j]].times++;
  for (int32_t j = 0; j < s->site->in_count; ++j) place_input(b, s, j);
  for (int32_t j = 0; j < s->site->in_count; ++j) in[j] = b->values[in[j]].slot;
}

static void place_outputs(flow_build_t* b, hr_flow_site_t* s) {
  int32_t* out = (int32_t*)s->site->out;
  for (int32_t j = 0; j < s->site->out_count; ++j) {
    const flow_value_t* v = &b->values[out[j]];
    const bool own = v->kind == FLOW_TEMPORARY || v->kind == FLOW_INVARIANT;
    out[j] = own ? v->slot : -1; /* feeds and constants lie there already */
    s->uses_spare |= out[j] < 0;
    if (out[j] >= 0 && !v->is_ref) ((int32_t*)hr_flow_wanted(s))[s->wanted_count++] = j;
  }
}

static void place_reads(const flow_build_t* b, const hr_flow_read_t* reads, int32_t count) {
  for (int32_t j = 0; j < count; ++j) {
    hr_flow_read_t* read = (hr_flow_read_t*)&reads[j];
    *read = (hr_flow_read_t){b->values[read->ref].slot, b->values[read->value].slot};
  }
}

static hr_status_t place_sites(flow_build_t* b) {
  for (int64_t i = 0; i < b->p->site_count; ++i) {
    hr_flow_site_t* s = &b->f->sites[i];
    place_inputs(b, s);
    place_outputs(b, s);
    place_reads(b, s->rare->reads, s->rare->read_count);
    place_reads(b, s->rare->fetches, s->rare->fetch_count);
    if (!crosses_frames(s)) continue;
    hr_flow_rare_t* rare = rare_of(b, s);
    hr_site_t* told = hr_arena_array(&b->p->arena, 1, sizeof *told);
    if (!rare || !told) return hr_status_out_of_memory();
    *told = *s->site;
    told->out_count = 0;
    rare->told = told;
  }
  return NULL;
}

static hr_status_t finish_plan(flow_build_t* b) {
  hr_plan_t* p = b->p;
  const hr_flow_frame_t* root = &b->f->frames[0];
  p->constant_count = root->constant_count;
  p->constants = root->constants;
  p->slot_count = b->f->frames[0].slot_count;
  p->spare = p->slot_count++;
  b->f->frames[0].slot_count = p->slot_count;
  p->fetch_slots = hr_arena_array(&p->arena, (size_t)b->desc->fetch_count, sizeof *p->fetch_slots);
  if (!p->fetch_slots) return hr_status_out_of_memory();
  for (int32_t i = 0; i < b->desc->fetch_count; ++i) p->fetch_slots[i] = b->values[b->fetch_values[i]].slot;
  return NULL;
}

static hr_status_t build(flow_build_t* b) {
  HR_TRY(number_nodes(b));
  HR_TRY(make_values(b));
  HR_TRY(make_frames(b));
  HR_TRY(add_nodes(b));
  HR_TRY(resolve_fetches(b));
  HR_TRY(place_sites_in_frames(b));
  HR_TRY(hr_flow_build_edges(b));
  count_readers(b);
  HR_TRY(place_values(b));
  HR_TRY(hr_flow_make_counters(b));
  HR_TRY(place_sites(b));
  return finish_plan(b);
}

hr_status_t hr_flow_build(hr_plan_t* p, hr_arena_t* scratch, const hr_plan_desc_t* desc, hr_node_t* const* order, int64_t id_limit) {
  flow_build_t b = {.p = p, .scratch = scratch, .desc = desc, .order = order, .id_limit = id_limit};
  b.f = p->flow = hr_arena_array(&p->arena, 1, sizeof *p->flow);
  if (!b.f) return hr_status_out_of_memory();
  HR_TRY(hr_frames_find(order, desc->node_count, id_limit, &b.frames));
  hr_status_t status = build(&b);
  hr_frames_deinit(&b.frames);
  return status;
}

void hr_flow_choose_actions(hr_plan_t* p, hr_node_t* const* order) {
  for (int64_t i = 0; i < p->site_count; ++i) {
    hr_flow_site_t* s = &p->flow->sites[i];
    if (s->action != HR_FLOW_COMPUTE || !s->site->kernel) continue;
    if (s->site->kernel->start) s->action = HR_FLOW_START;
    else if (order[p->sites[i].node]->attrs.def->op->flags & HR_OP_BLOCKING) s->action = HR_FLOW_WAIT;
    p->flow->calls |= s->action != HR_FLOW_COMPUTE;
  }
}
