/* SPDX-License-Identifier: Apache-2.0 */
/* An integer vector read as a shape, as far as it is known: through Shape, Pack, ConcatV2, StridedSlice, Identity and Cast of partly known
 * shapes. Elements that are not known are -1; a vector of known length but unknown content still gives the rank. Depth and work are
 * bounded. */
#include "graph/const_eval.h"

enum { CONST_SHAPE_DEPTH = 12, CONST_SHAPE_VISITS = 64, CONST_SHAPE_MOST = 254 };

typedef struct {
  hr_graph_t* g;
  int visits; /* left */
} as_shape_t;

/* dims of a vector; rank -1: not even its length is known */
typedef struct {
  int rank;
  int64_t dims[CONST_SHAPE_MOST];
} as_dims_t;

static hr_status_t as_shape_of(as_shape_t* a, hr_value_t v, int depth, as_dims_t* out);

static bool as_op_is(hr_value_t v, const char* name) { return hr_str_is(v.node->attrs.def->name, name); }

static void as_from_pshape(const hr_pshape_t* s, as_dims_t* out) {
  out->rank = s->rank; /* no shape has more dims than there is room for */
  for (int i = 0; i < out->rank; ++i) out->dims[i] = s->dims[i];
}

/* Nothing but the vector's own shape is known. */
static void as_from_length(hr_value_t v, as_dims_t* out) {
  const hr_pshape_t* s = hr_value_shape(v);
  out->rank = s->rank == 1 && s->dims[0] >= 0 && s->dims[0] <= CONST_SHAPE_MOST ? (int)s->dims[0] : -1;
  for (int i = 0; i < out->rank; ++i) out->dims[i] = -1;
}

static hr_status_t as_from_tensor(hr_value_t v, const hr_tensor_t* t, as_dims_t* out) {
  out->rank = -1;
  if (t->shape.rank == 0) { /* a scalar -1 stands for a shape of which nothing is known */
    int64_t only;
    HR_TRY(hr_tensor_i64_at(t, 0, &only));
    return only == -1 ? NULL
                      : HR_ERROR(INVALID_ARGUMENT, "'%s:%d' is the scalar %lld; a shape is a vector, or the scalar -1", v.node->name.data,
                                 (int)v.index, (long long)only);
  }
  if (t->shape.rank != 1 || t->count > CONST_SHAPE_MOST)
    return HR_ERROR(INVALID_ARGUMENT, "'%s:%d' cannot be a shape: it has rank %d and %lld elements", v.node->name.data, (int)v.index,
                    (int)t->shape.rank, (long long)t->count);
  out->rank = (int)t->count;
  for (int i = 0; i < out->rank; ++i) {
    HR_TRY(hr_tensor_i64_at(t, i, &out->dims[i]));
    if (out->dims[i] < -1)
      return HR_ERROR(INVALID_ARGUMENT, "element %d of the shape '%s:%d' is %lld; it must be -1 or more", i, v.node->name.data,
                      (int)v.index, (long long)out->dims[i]);
  }
  return NULL;
}

/* --- StridedSlice ---------------------------------------------------------------------------------------------------------------- */
static hr_status_t as_const_i64(as_shape_t* a, hr_value_t v, bool* out_known, int64_t* out) {
  const hr_tensor_t* t = NULL;
  *out_known = false;
  HR_TRY(hr_const_eval(a->g, v, &t));
  if (!t || t->count != 1 || (t->dtype != HR_I32 && t->dtype != HR_I64)) return NULL;
  *out_known = true;
  return hr_tensor_i64_at(t, 0, out);
}

typedef struct {
  int64_t begin, end, stride;
  bool shrinks;
} as_slice_t;

static int64_t as_clamp(int64_t i, int64_t low, int64_t high) { return i < low ? low : i > high ? high : i; }

/* The slice's bounds over a vector of n elements; false unless they are constants and plain. */
static hr_status_t as_read_slice(as_shape_t* a, const hr_node_t* n, int64_t length, as_slice_t* s, bool* out_known) {
  bool begin_known, end_known, stride_known;
  int64_t begin_mask = hr_attrs_int(&n->attrs, "begin_mask"), end_mask = hr_attrs_int(&n->attrs, "end_mask");
  *out_known = false;
  s->shrinks = hr_attrs_int(&n->attrs, "shrink_axis_mask") & 1;
  if (hr_attrs_int(&n->attrs, "ellipsis_mask") || hr_attrs_int(&n->attrs, "new_axis_mask")) return NULL;
  HR_TRY(as_const_i64(a, n->inputs[1], &begin_known, &s->begin));
  HR_TRY(as_const_i64(a, n->inputs[2], &end_known, &s->end));
  HR_TRY(as_const_i64(a, n->inputs[3], &stride_known, &s->stride));
  if (!begin_known || !stride_known || s->stride == 0 || (!end_known && !s->shrinks && !(end_mask & 1))) return NULL;
  *out_known = true;
  s->stride = as_clamp(s->stride, -CONST_SHAPE_MOST, CONST_SHAPE_MOST); /* one such step leaves the vector, and cannot overflow */
  if (s->shrinks) {
    s->begin += s->begin < 0 ? length : 0;
    *out_known = s->begin >= 0 && s->begin < length;
    return NULL;
  }
  int64_t low = s->stride > 0 ? 0 : -1, high = s->stride > 0 ? length : length - 1;
  s->begin = begin_mask & 1 ? (s->stride > 0 ? low : high) : as_clamp(s->begin < 0 ? s->begin + length : s->begin, low, high);
  s->end = end_mask & 1 ? (s->stride > 0 ? high : low) : as_clamp(s->end < 0 ? s->end + length : s->end, low, high);
  return NULL;
}

static hr_status_t as_sliced(as_shape_t* a, hr_value_t v, int depth, as_dims_t* out) {
  as_slice_t s;
  bool known = false;
  as_dims_t from;
  HR_TRY(as_shape_of(a, v.node->inputs[0], depth + 1, &from));
  if (from.rank >= 0) HR_TRY(as_read_slice(a, v.node, from.rank, &s, &known));
  if (!known || s.shrinks) {
    as_from_length(v, out);
    return NULL;
  }
  out->rank = 0;
  for (int64_t i = s.begin; s.stride > 0 ? i < s.end : i > s.end; i += s.stride) out->dims[out->rank++] = from.dims[i];
  return NULL;
}

/* One element of a shape: a scalar constant, or Shape(x)[i]. -1: not known. */
static hr_status_t as_scalar(as_shape_t* a, hr_value_t v, int depth, int64_t* out) {
  bool known;
  *out = -1;
  while (depth < CONST_SHAPE_DEPTH && v.node && (as_op_is(v, "Identity") || as_op_is(v, "Cast"))) {
    v = v.node->inputs[0];
    ++depth;
  }
  if (!v.node || depth >= CONST_SHAPE_DEPTH) return NULL;
  HR_TRY(as_const_i64(a, v, &known, out));
  if (known && *out < -1) *out = -1;
  if (known || !as_op_is(v, "StridedSlice")) return NULL;
  as_slice_t s;
  as_dims_t from;
  HR_TRY(as_shape_of(a, v.node->inputs[0], depth + 1, &from));
  if (from.rank < 0) return NULL;
  HR_TRY(as_read_slice(a, v.node, from.rank, &s, &known));
  if (known && s.shrinks) *out = from.dims[s.begin];
  return NULL;
}

/* --- Pack, ConcatV2 -------------------------------------------------------------------------------------------------------------- */
static hr_status_t as_packed(as_shape_t* a, hr_value_t v, int depth, as_dims_t* out) {
  const hr_node_t* n = v.node;
  as_from_length(v, out);
  if (n->input_count > CONST_SHAPE_MOST || hr_value_shape(v)->rank != 1) return NULL;
  out->rank = n->input_count;
  for (int i = 0; i < n->input_count; ++i) HR_TRY(as_scalar(a, n->inputs[i], depth + 1, &out->dims[i]));
  return NULL;
}

static hr_status_t as_joined(as_shape_t* a, hr_value_t v, int depth, as_dims_t* out) {
  const hr_node_t* n = v.node;
  out->rank = 0;
  for (int i = 0; i + 1 < n->input_count; ++i) {
    as_dims_t part;
    HR_TRY(as_shape_of(a, n->inputs[i], depth + 1, &part));
    if (part.rank < 0 || out->rank + part.rank > CONST_SHAPE_MOST) {
      as_from_length(v, out);
      return NULL;
    }
    memcpy(out->dims + out->rank, part.dims, (size_t)part.rank * sizeof *part.dims);
    out->rank += part.rank;
  }
  return NULL;
}

static hr_status_t as_shape_of(as_shape_t* a, hr_value_t v, int depth, as_dims_t* out) {
  const hr_tensor_t* known = NULL;
  out->rank = -1;
  if (!v.node) return NULL;
  HR_TRY(hr_const_eval(a->g, v, &known));
  if (known && (known->dtype == HR_I32 || known->dtype == HR_I64)) return as_from_tensor(v, known, out);
  if (depth < CONST_SHAPE_DEPTH && --a->visits > 0) {
    if (as_op_is(v, "Identity") || as_op_is(v, "Cast")) return as_shape_of(a, v.node->inputs[0], depth + 1, out);
    if ((as_op_is(v, "Shape") || as_op_is(v, "ShapeN")) && v.node->inputs[v.index].node) {
      as_from_pshape(hr_value_shape(v.node->inputs[v.index]), out);
      return NULL;
    }
    if (as_op_is(v, "Pack")) return as_packed(a, v, depth, out);
    if (as_op_is(v, "ConcatV2")) return as_joined(a, v, depth, out);
    if (as_op_is(v, "StridedSlice")) return as_sliced(a, v, depth, out);
  }
  as_from_length(v, out);
  return NULL;
}

hr_status_t hr_const_eval_as_shape(hr_graph_t* g, hr_value_t v, const hr_pshape_t** out) {
  as_shape_t a = {.g = g, .visits = CONST_SHAPE_VISITS};
  as_dims_t dims;
  HR_TRY(as_shape_of(&a, v, 0, &dims));
  return hr_pshape_make(&g->arena, dims.rank, dims.rank > 0 ? dims.dims : NULL, out);
}
