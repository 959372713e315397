/* SPDX-License-Identifier: Apache-2.0 */
/* What flows into a value, summed: dense gradients by AddN, slices by joining their rows (duplicate indices stand for sums), a mixture
 * by making the slices dense first. Every gradient is checked against its value's type and static shape when it arrives. */
#include "graph/grad_pass.h"

/* --- arriving ---------------------------------------------------------------------------------------------------------------------- */
hr_grad_sum_t* hr_grad_accumulate_sum(const hr_grad_pass_t* p, hr_value_t v) {
  hr_grad_sum_t* sums = p->info[v.node->id].sums;
  return sums && sums[v.index].count > 0 ? &sums[v.index] : NULL;
}

/* The type a gradient must have; INVALID: not known (a handle without information). */
static hr_dtype_t wanted_dtype(hr_value_t into) {
  hr_dtype_t type = hr_dtype_base(hr_value_type(into));
  if (type != HR_RESOURCE && type != HR_VARIANT) return type;
  return into.node->handles ? into.node->handles[into.index].dtype : HR_DTYPE_INVALID;
}

static const hr_pshape_t* wanted_shape(hr_value_t into) {
  hr_dtype_t type = hr_dtype_base(hr_value_type(into));
  if (type != HR_RESOURCE && type != HR_VARIANT) return hr_value_shape(into);
  const hr_pshape_t* shape = into.node->handles ? into.node->handles[into.index].shape : NULL;
  return shape ? shape : &hr_pshape_unknown;
}

static hr_status_t check_gradient_dtype(hr_value_t into, hr_value_t gradient) {
  hr_dtype_t wanted = wanted_dtype(into), type = hr_dtype_base(hr_value_type(gradient));
  if (wanted == HR_DTYPE_INVALID || wanted == type || type == HR_VARIANT) return NULL;
  return HR_ERROR(INVALID_ARGUMENT, "the gradient of '%s:%d' must be %s, not %s ('%s:%d')", into.node->name.data, (int)into.index,
                  hr_dtype_name(wanted), hr_dtype_name(type), gradient.node->name.data, (int)gradient.index);
}

static bool shapes_agree(const hr_pshape_t* a, const hr_pshape_t* b) {
  if (a->rank < 0 || b->rank < 0) return true;
  if (a->rank != b->rank) return false;
  for (int32_t i = 0; i < a->rank; ++i)
    if (a->dims[i] >= 0 && b->dims[i] >= 0 && a->dims[i] != b->dims[i]) return false;
  return true;
}

static hr_status_t shape_disagreement(hr_value_t into, hr_value_t gradient, const hr_pshape_t* shape) {
  char text_a[HR_SHAPE_TEXT], text_b[HR_SHAPE_TEXT];
  return HR_ERROR(INVALID_ARGUMENT, "the gradient '%s:%d' of '%s:%d' has shape %s, which is not the value's shape %s",
                  gradient.node->name.data, (int)gradient.index, into.node->name.data, (int)into.index,
                  hr_pshape_format(hr_value_shape(gradient), text_a), hr_pshape_format(shape, text_b));
}

/* A gradient has its value's shape: what the value's says more, the new node's learns. */
static hr_status_t agree_on_shape(hr_grad_pass_t* p, hr_value_t into, hr_value_t gradient) {
  const hr_pshape_t *wanted = wanted_shape(into), *shape = hr_value_shape(gradient);
  if (hr_dtype_base(hr_value_type(gradient)) == HR_VARIANT) return NULL; /* a list: its shape is not its elements' */
  if (!shapes_agree(wanted, shape)) return shape_disagreement(into, gradient, wanted);
  if (gradient.node->id < p->info_count) return NULL;
  return hr_graph_refine_shape(p->g, gradient, wanted);
}

static hr_status_t add_part(hr_grad_pass_t* p, hr_value_t into, const hr_grad_part_t* part) {
  hr_grad_info_t* info = &p->info[into.node->id];
  if (!info->sums) info->sums = hr_arena_array(&p->arena, (size_t)into.node->output_count, sizeof *info->sums);
  hr_grad_part_t* copy = hr_arena_alloc(&p->arena, sizeof *copy);
  if (!info->sums || !copy) return hr_status_out_of_memory();
  *copy = *part;
  copy->next = NULL;
  hr_grad_sum_t* sum = &info->sums[into.index];
  if (sum->last)
    sum->last->next = copy;
  else
    sum->first = copy;
  sum->last = copy;
  ++sum->count;
  return NULL;
}

hr_status_t hr_grad_accumulate_dense(hr_grad_pass_t* p, hr_value_t into, hr_value_t gradient) {
  if (!hr_grad_paths_lead_to_x(p, into)) return NULL;
  HR_TRY(check_gradient_dtype(into, gradient));
  HR_TRY(agree_on_shape(p, into, gradient));
  hr_grad_part_t part = {.dense = gradient};
  return add_part(p, into, &part);
}

hr_status_t hr_grad_accumulate_slices(hr_grad_pass_t* p, hr_value_t into, hr_value_t indices, hr_value_t values, hr_value_t dense_shape) {
  if (!hr_grad_paths_lead_to_x(p, into)) return NULL;
  HR_TRY(check_gradient_dtype(into, values));
  bool are_integers =
      hr_dtype_in(hr_dtype_base(hr_value_type(indices)), HR_M_INDEX) && hr_dtype_in(hr_dtype_base(hr_value_type(dense_shape)), HR_M_INDEX);
  if (!are_integers)
    return HR_ERROR(INVALID_ARGUMENT, "the indices and dense shape of slices must be int32 or int64, not %s and %s",
                    hr_dtype_name(hr_value_type(indices)), hr_dtype_name(hr_value_type(dense_shape)));
  hr_grad_part_t part = {.is_slices = true, .indices = indices, .values = values, .dense_shape = dense_shape};
  return add_part(p, into, &part);
}

/* --- slices to dense --------------------------------------------------------------------------------------------------------------- */
static hr_value_t emit_row_count(hr_grad_ctx_t* g, hr_value_t dense_shape) { /* dense_shape[0], a constant when known */
  const hr_tensor_t* shape = hr_grad_const(g, dense_shape);
  int64_t rows = 0;
  if (shape && shape->count > 0) {
    hr_status_t status = hr_tensor_i64_at(shape, 0, &rows);
    if (status) hr_grad_fail(g, status);
    if (rows <= INT32_MAX) return hr_emit_const_i32(g, (int32_t)rows);
  }
  int64_t zero = 0, one = 1;
  hr_value_t begin = hr_emit_const_i32s(g, &zero, 1), end = hr_emit_const_i32s(g, &one, 1);
  return hr_emit(g, "StridedSlice", HR_VALUES(dense_shape, begin, end, end), HR_ATTRS(hr_at_int("shrink_axis_mask", 1)));
}

hr_status_t hr_grad_accumulate_densify(hr_grad_call_t* c, hr_grad_part_t* part) {
  hr_grad_ctx_t* g = &c->base;
  if (part->dense.node) return NULL;
  part->dense = hr_emit3(g, "UnsortedSegmentSum", part->values, part->indices, emit_row_count(g, part->dense_shape));
  hr_status_t status = g->failure; /* handed to the caller, who makes it stick again if it has a context */
  g->failure = NULL;
  return status;
}

/* --- merging ----------------------------------------------------------------------------------------------------------------------- */
static hr_value_t emit_joined(hr_grad_ctx_t* g, const hr_value_t* rows, int count) { /* along axis 0 */
  hr_value_t* inputs = hr_arena_array(&((hr_grad_call_t*)(void*)g)->pass->arena, (size_t)count + 1, sizeof *inputs);
  if (!inputs) {
    hr_grad_fail(g, hr_status_out_of_memory());
    return HR_NO_VALUE;
  }
  memcpy(inputs, rows, (size_t)count * sizeof *inputs);
  inputs[count] = hr_emit_const_i32(g, 0);
  return hr_emit(g, "ConcatV2", count + 1, inputs, HR_NO_ATTRS);
}

static hr_value_t emit_flat_indices(hr_grad_ctx_t* g, hr_value_t indices) { /* a vector */
  int64_t all = -1;
  return hr_grad_shape(g, indices)->rank == 1 ? indices : hr_emit_reshape(g, indices, hr_emit_const_i32s(g, &all, 1));
}

/* Rows to join are counted along one axis: values of indices that are not a vector lose the axes that the indices have more. */
static hr_value_t emit_flat_values(hr_grad_ctx_t* g, const hr_grad_part_t* part) {
  if (hr_grad_shape(g, part->indices)->rank == 1) return part->values;
  int64_t all = -1, one = 1, most = INT32_MAX;
  hr_value_t first = hr_emit_const_i32s(g, &one, 1),
             row = hr_emit(g, "StridedSlice", HR_VALUES(part->dense_shape, first, hr_emit_const_i32s(g, &most, 1), first),
                           HR_ATTRS(hr_at_int("end_mask", 1)));
  hr_value_t lead = hr_emit_cast(g, hr_emit_const_i32s(g, &all, 1), hr_grad_dtype(g, row));
  return hr_emit_reshape(g, part->values, emit_joined(g, (const hr_value_t[]){lead, row}, 2));
}

static bool index_types_differ(const hr_grad_sum_t* sum) {
  for (const hr_grad_part_t* part = sum->first; part; part = part->next)
    if (hr_dtype_base(hr_value_type(part->indices)) != hr_dtype_base(hr_value_type(sum->first->indices))) return true;
  return false;
}

static void join_slices(hr_grad_ctx_t* g, const hr_grad_sum_t* sum, hr_value_t* indices, hr_value_t* values, hr_grad_part_t* out) {
  bool widen = index_types_differ(sum);
  int count = 0;
  for (const hr_grad_part_t* part = sum->first; part; part = part->next, ++count) {
    hr_value_t flat = emit_flat_indices(g, part->indices);
    indices[count] = widen ? hr_emit_cast(g, flat, HR_I64) : flat;
    values[count] = emit_flat_values(g, part);
  }
  *out = (hr_grad_part_t){.is_slices = true, .dense_shape = sum->first->dense_shape};
  out->indices = emit_joined(g, indices, count);
  out->values = emit_joined(g, values, count);
}

static hr_status_t add_dense(hr_grad_call_t* c, const hr_grad_sum_t* sum, hr_value_t* inputs, hr_grad_part_t* out) {
  int count = 0;
  for (hr_grad_part_t* part = sum->first; part; part = part->next) {
    HR_TRY(hr_grad_accumulate_densify(c, part));
    inputs[count++] = part->dense;
  }
  *out = (hr_grad_part_t){.dense = hr_emit(&c->base, "AddN", count, inputs, HR_NO_ATTRS)};
  return NULL;
}

static bool all_are_slices(const hr_grad_sum_t* sum) {
  for (const hr_grad_part_t* part = sum->first; part; part = part->next)
    if (!part->is_slices) return false;
  return true;
}

hr_status_t hr_grad_accumulate_merge(hr_grad_pass_t* p, hr_grad_sum_t* sum) {
  if (sum->count <= 1) return NULL;
  hr_value_t* room = hr_arena_array(&p->arena, 2 * (size_t)sum->count, sizeof *room);
  hr_grad_part_t* merged = hr_arena_array(&p->arena, 1, sizeof *merged);
  if (!room || !merged) return hr_status_out_of_memory();
  hr_grad_call_t c;
  hr_grad_emit_begin(&c, p, NULL);
  hr_status_t status = NULL;
  if (all_are_slices(sum))
    join_slices(&c.base, sum, room, room + sum->count, merged);
  else
    status = add_dense(&c, sum, room, merged);
  hr_status_merge(&status, c.base.failure);
  if (status) return status;
  sum->first = sum->last = merged;
  sum->count = 1;
  return NULL;
}
