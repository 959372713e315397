/* SPDX-License-Identifier: Apache-2.0 */
/* From a sparse index list (with an ellipsis, new axes and shrunk ones) to one begin, stride and size per input axis, in two passes:
 * entries are laid out over the axes, then each axis is resolved against its size. A list without ellipsis has one at its end. */
#include "ops/array/strided_slice.h"

typedef struct { /* of one axis */
  int64_t begin, end, stride;
  bool begin_masked, end_masked, shrinks;
} entry_t;

enum { NEW_AXIS = -1, MOST_ENTRIES = 32 };

typedef struct {
  entry_t axes[HR_MAX_RANK];
  int out_count, out_from[HR_MAX_RANK + MOST_ENTRIES]; /* the axis that each output axis comes from */
} layout_t;

void hr_strided_slice_masks(const hr_node_attrs_t* attrs, hr_strided_masks_t* out) {
  out->begin = hr_attrs_int(attrs, "begin_mask");
  out->end = hr_attrs_int(attrs, "end_mask");
  out->ellipsis = hr_attrs_int(attrs, "ellipsis_mask");
  out->new_axis = hr_attrs_int(attrs, "new_axis_mask");
  out->shrink_axis = hr_attrs_int(attrs, "shrink_axis_mask");
}

static hr_status_t check_lists(const hr_tensor_t* begin, const hr_tensor_t* end, const hr_tensor_t* strides) {
  if (strides->shape.rank != 1 || (begin && !hr_shape_equal(&begin->shape, &strides->shape)) ||
      (end && !hr_shape_equal(&end->shape, &strides->shape)))
    return HR_ERROR(INVALID_ARGUMENT, "Expected begin, end, and strides to be 1D equal size tensors; strides has rank %d and %lld elements",
                    (int)strides->shape.rank, (long long)strides->count);
  if (strides->count >= MOST_ENTRIES)
    return HR_ERROR(INVALID_ARGUMENT, "%lld index entries; fewer than %d are allowed", (long long)strides->count, MOST_ENTRIES);
  return NULL;
}

static hr_status_t read_entry(const hr_tensor_t* t, int i, int64_t* out) {
  *out = 0;
  return t ? hr_tensor_i64_at(t, i, out) : NULL;
}

/* Axes up to `until` are taken whole. */
static void take_whole(layout_t* l, int* axis, int until) {
  for (; *axis < until; ++*axis) {
    l->axes[*axis] = (entry_t){.stride = 1, .begin_masked = true, .end_masked = true};
    l->out_from[l->out_count++] = *axis;
  }
}

static hr_status_t lay_out(const hr_strided_masks_t* m, const hr_tensor_t* begin, const hr_tensor_t* end, const hr_tensor_t* strides,
                           int rank, layout_t* l) {
  const int count = (int)strides->count;
  int axis = 0, ellipsis = -1, new_after = 0;
  l->out_count = 0;
  if (m->ellipsis & (m->ellipsis - 1)) /* whether or not the list has so many entries */
    return HR_ERROR(INVALID_ARGUMENT, "Multiple ellipses in slice spec not allowed (ellipsis_mask is %lld)", (long long)m->ellipsis);
  for (int i = 0; i < count; ++i) {
    if (ellipsis >= 0 && m->new_axis >> i & 1) ++new_after;
    if (m->ellipsis >> i & 1) ellipsis = i;
  }
  for (int i = 0; i < count; ++i) {
    if (m->ellipsis >> i & 1) {
      const int until = rank - (count - i) + 1 + new_after;
      take_whole(l, &axis, until < rank ? until : rank);
    } else if (m->new_axis >> i & 1) {
      l->out_from[l->out_count++] = NEW_AXIS;
    } else {
      if (axis == rank)
        return HR_ERROR(INVALID_ARGUMENT, "%sIndex out of range using input dim %d; input has only %d dims (entry %d of the indices)",
                        rank == 0 ? "Attempting to slice scalar input. " : "", axis, rank, i);
      entry_t* e = &l->axes[axis];
      *e = (entry_t){.begin_masked = m->begin >> i & 1, .end_masked = m->end >> i & 1, .shrinks = m->shrink_axis >> i & 1};
      HR_TRY(read_entry(begin, i, &e->begin));
      HR_TRY(read_entry(end, i, &e->end));
      HR_TRY(read_entry(strides, i, &e->stride));
      if (!e->shrinks) l->out_from[l->out_count++] = axis;
      ++axis;
    }
  }
  take_whole(l, &axis, rank); /* no ellipsis, or one that left axes over */
  return NULL;
}

/* A bound as an index: counted from the end when negative, and clamped. */
static int64_t bound(int64_t at, int64_t dim, int64_t stride) {
  const int64_t low = stride > 0 ? 0 : -1, high = stride > 0 ? dim : dim - 1;
  if (at < 0) at += dim;
  return at < low ? low : at > high ? high : at;
}

static hr_status_t resolve_axis(const entry_t* e, int axis, int64_t dim, bool bounds_known, int64_t* out_begin, int64_t* out_size) {
  if (e->stride == 0) return HR_ERROR(INVALID_ARGUMENT, "strides[%d] must be non-zero", axis);
  if (e->shrinks && e->stride < 0)
    return HR_ERROR(INVALID_ARGUMENT, "only stride 1 allowed on non-range indexing; the stride of axis %d is %lld", axis,
                    (long long)e->stride);
  *out_begin = -1;
  *out_size = e->shrinks ? 1 : -1;
  if (dim < 0) return NULL;
  if (e->shrinks) {
    const int64_t at = e->begin < 0 ? e->begin + dim : e->begin;
    if (!bounds_known) return NULL;
    if (at < 0 || at >= dim)
      return HR_ERROR(INVALID_ARGUMENT, "slice index %lld of dimension %d out of bounds. The size is %lld", (long long)e->begin, axis,
                      (long long)dim);
    *out_begin = at;
    return NULL;
  }
  if (!bounds_known && !(e->begin_masked && e->end_masked)) return NULL;
  const bool up = e->stride > 0;
  const int64_t begin = e->begin_masked ? (up ? 0 : dim - 1) : bound(e->begin, dim, e->stride);
  const int64_t end = e->end_masked ? (up ? dim : -1) : bound(e->end, dim, e->stride);
  const int64_t length = up ? end - begin : begin - end; /* in steps of |stride|; a stride of INT64_MIN has no absolute value */
  *out_begin = begin;
  *out_size = length <= 0 ? 0 : up ? (length - 1) / e->stride + 1 : 1 - (length - 1) / e->stride;
  return NULL;
}

hr_status_t hr_strided_slice_parse(const hr_strided_masks_t* masks, const hr_tensor_t* begin, const hr_tensor_t* end,
                                   const hr_tensor_t* strides, int rank, const int64_t* dims, hr_strided_t* out) {
  layout_t l;
  HR_TRY(check_lists(begin, end, strides));
  if (rank > HR_MAX_RANK) return HR_ERROR(UNIMPLEMENTED, "slices of rank %d; at most %d is supported", rank, HR_MAX_RANK);
  HR_TRY(lay_out(masks, begin, end, strides, rank, &l));
  out->rank = rank;
  for (int i = 0; i < rank; ++i) {
    HR_TRY(resolve_axis(&l.axes[i], i, dims[i], begin && end, &out->begin[i], &out->size[i]));
    out->stride[i] = l.axes[i].stride;
  }
  out->out_rank = l.out_count;
  for (int i = 0; i < l.out_count; ++i) out->out_dims[i] = l.out_from[i] == NEW_AXIS ? 1 : out->size[l.out_from[i]];
  return NULL;
}
