/* SPDX-License-Identifier: Apache-2.0 */
/* What gradients are written with: the helpers (scale, reduce_to, reshape_like...) over the table of primitives that graph/ gives.
 * Errors stick in the context: after the first every helper gives the null value and emits nothing. Helpers look at static shapes
 * first, so that a graph with known shapes gets no node that a dynamic one would need. */
#include "op/grad_ctx.h"
#include "op/grad_state.h"

void hr_grad_fail(hr_grad_ctx_t* g, hr_status_t take_status) { hr_status_merge(&g->failure, take_status); }

static void bad_grad_use(hr_grad_ctx_t* g, const char* what) {
  if (!g->failure) hr_grad_fail(g, HR_ERROR(INTERNAL, "gradient of op '%.*s': %s", HR_STR_ARG(g->attrs->def->name), what));
}

/* --- the node being differentiated ------------------------------------------------------------------------------------------------ */
int hr_grad_input_count(const hr_grad_ctx_t* g) { return g->input_count; }
int hr_grad_output_count(const hr_grad_ctx_t* g) { return g->output_count; }
const hr_node_attrs_t* hr_grad_attrs(const hr_grad_ctx_t* g) { return g->attrs; }
bool hr_grad_has_upstream(const hr_grad_ctx_t* g, int i) { return g->table->has_upstream(g, i); }
hr_str_t hr_grad_source(const hr_grad_ctx_t* g) { return g->table->source(g); }
bool hr_grad_wanted(const hr_grad_ctx_t* g, int input) { return g->table->wanted(g, input); }

hr_value_t hr_grad_input(hr_grad_ctx_t* g, int i) {
  if (i >= 0 && i < g->input_count) return g->table->input(g, i);
  bad_grad_use(g, "asks for an input that is not there");
  return HR_NO_VALUE;
}

hr_value_t hr_grad_output(hr_grad_ctx_t* g, int i) {
  if (i >= 0 && i < g->output_count) return g->table->output(g, i);
  bad_grad_use(g, "asks for an output that is not there");
  return HR_NO_VALUE;
}

hr_value_t hr_grad_upstream(hr_grad_ctx_t* g, int i) {
  hr_value_t v = HR_NO_VALUE;
  if (g->failure) return v;
  hr_status_t status = g->table->upstream(g, i, &v);
  if (!status) return v;
  hr_grad_fail(g, status);
  return HR_NO_VALUE;
}

bool hr_grad_upstream_slices(hr_grad_ctx_t* g, int i, hr_value_t* indices, hr_value_t* values, hr_value_t* dense_shape) {
  return !g->failure && g->table->upstream_slices(g, i, indices, values, dense_shape);
}

void hr_grad_give(hr_grad_ctx_t* g, int input, hr_value_t gradient) {
  if (g->failure) return;
  if (!gradient.node || input < 0 || input >= g->input_count) {
    bad_grad_use(g, gradient.node ? "gives for an input that is not there" : "gives the null value");
    return;
  }
  hr_grad_fail(g, g->table->give(g, input, gradient));
}

void hr_grad_give_slices(hr_grad_ctx_t* g, int input, hr_value_t indices, hr_value_t values, hr_value_t dense_shape) {
  if (g->failure) return;
  if (!indices.node || !values.node || !dense_shape.node || input < 0 || input >= g->input_count) {
    bad_grad_use(g, "gives incomplete slices");
    return;
  }
  hr_grad_fail(g, g->table->give_slices(g, input, indices, values, dense_shape));
}

/* --- static knowledge ------------------------------------------------------------------------------------------------------------- */
hr_dtype_t hr_grad_dtype(hr_grad_ctx_t* g, hr_value_t v) { return v.node ? hr_dtype_base(g->table->dtype(g, v)) : HR_DTYPE_INVALID; }
const hr_pshape_t* hr_grad_shape(hr_grad_ctx_t* g, hr_value_t v) { return v.node ? g->table->shape(g, v) : &hr_pshape_unknown; }

const hr_tensor_t* hr_grad_const(hr_grad_ctx_t* g, hr_value_t v) {
  const hr_tensor_t* t = NULL;
  if (g->failure || !v.node) return NULL;
  hr_status_t status = g->table->constant(g, v, &t);
  if (!status) return t;
  hr_grad_fail(g, status);
  return NULL;
}

static bool is_static_same(hr_grad_ctx_t* g, hr_value_t a, hr_value_t b) {
  const hr_pshape_t *x = hr_grad_shape(g, a), *y = hr_grad_shape(g, b);
  return (a.node == b.node && a.index == b.index) || (hr_pshape_is_known(x) && hr_pshape_equal(x, y));
}

/* --- emitting --------------------------------------------------------------------------------------------------------------------- */
hr_value_t hr_emit(hr_grad_ctx_t* g, const char* op, int input_count, const hr_value_t* inputs, int attr_count,
                   const hr_named_attr_t* attrs) {
  hr_value_t v = HR_NO_VALUE;
  if (g->failure) return v;
  for (int i = 0; i < input_count; ++i) {
    if (inputs[i].node) continue;
    bad_grad_use(g, "emits a node with a null input");
    return v;
  }
  hr_status_t status = g->table->emit(g, op, input_count, inputs, attr_count, attrs, &v);
  if (!status) return v;
  hr_grad_fail(g, status);
  return HR_NO_VALUE;
}

void hr_emit_control(hr_grad_ctx_t* g, hr_value_t from, hr_value_t to) {
  if (!g->failure && from.node && to.node) hr_grad_fail(g, g->table->control(g, from, to));
}

hr_value_t hr_emit_const(hr_grad_ctx_t* g, const hr_tensor_t* t) {
  return hr_emit(g, "Const", 0, NULL, HR_ATTRS(hr_at_tensor("value", t), hr_at_type("dtype", (int)t->dtype)));
}

/* Emits and lets go of a tensor just made. */
static hr_value_t emit_own_const(hr_grad_ctx_t* g, hr_status_t take_status, hr_tensor_t* take_tensor) {
  hr_value_t v = HR_NO_VALUE;
  if (take_status) hr_grad_fail(g, take_status);
  else v = hr_emit_const(g, take_tensor);
  hr_tensor_release(take_tensor);
  return v;
}

hr_value_t hr_emit_const_like(hr_grad_ctx_t* g, hr_value_t like, double value) {
  hr_tensor_t t = {0};
  if (g->failure) return HR_NO_VALUE;
  return emit_own_const(g, hr_tensor_from_number(hr_grad_dtype(g, like), value, &t), &t);
}

hr_value_t hr_emit_const_i32(hr_grad_ctx_t* g, int32_t value) {
  hr_tensor_t t = {0};
  if (g->failure) return HR_NO_VALUE;
  return emit_own_const(g, hr_tensor_from_i32(value, &t), &t);
}

static hr_value_t emit_int_vector(hr_grad_ctx_t* g, const int64_t* values, int count) { /* int64 only where int32 cannot hold them */
  hr_tensor_t t = {0};
  hr_dtype_t dtype = HR_I32;
  if (g->failure) return HR_NO_VALUE;
  for (int i = 0; i < count; ++i)
    if (values[i] > INT32_MAX || values[i] < INT32_MIN) dtype = HR_I64;
  return emit_own_const(g, hr_tensor_from_i64_vec(dtype, values, count, &t), &t);
}

hr_value_t hr_emit_const_i32s(hr_grad_ctx_t* g, const int64_t* values, int count) { return emit_int_vector(g, values, count); }

hr_value_t hr_emit_scale(hr_grad_ctx_t* g, hr_value_t a, double factor) {
  if (factor == 1) return a;
  return factor == -1 ? hr_emit_neg(g, a) : hr_emit_mul(g, a, hr_emit_const_like(g, a, factor));
}

hr_value_t hr_emit_one_minus(hr_grad_ctx_t* g, hr_value_t a) { return hr_emit_sub(g, hr_emit_const_like(g, a, 1), a); }
hr_value_t hr_emit_conj(hr_grad_ctx_t* g, hr_value_t a) {
  return hr_dtype_in(hr_grad_dtype(g, a), HR_M_COMPLEX) ? hr_emit1(g, "Conj", a) : a;
}

hr_value_t hr_emit_zeros_like(hr_grad_ctx_t* g, hr_value_t a) { return hr_emit1(g, "ZerosLike", a); }

hr_value_t hr_emit_cast(hr_grad_ctx_t* g, hr_value_t a, hr_dtype_t to) {
  return hr_grad_dtype(g, a) == to ? a : hr_emit(g, "Cast", 1, &a, HR_ATTRS(hr_at_type("DstT", (int)to)));
}

hr_value_t hr_emit_shape(hr_grad_ctx_t* g, hr_value_t a) {
  const hr_pshape_t* shape = hr_grad_shape(g, a);
  return hr_pshape_is_known(shape) ? emit_int_vector(g, shape->dims, shape->rank) : hr_emit1(g, "Shape", a);
}

hr_value_t hr_emit_sum(hr_grad_ctx_t* g, hr_value_t a, hr_value_t axes, bool keep_dims) {
  return hr_emit(g, "Sum", HR_VALUES(a, axes), HR_ATTRS(hr_at_bool("keep_dims", keep_dims)));
}

hr_value_t hr_emit_reshape_like(hr_grad_ctx_t* g, hr_value_t a, hr_value_t like) {
  return is_static_same(g, a, like) ? a : hr_emit_reshape(g, a, hr_emit_shape(g, like));
}

/* --- undoing a broadcast ---------------------------------------------------------------------------------------------------------- */
typedef enum { AXIS_KEPT, AXIS_SUMMED, AXIS_UNSURE } axis_fate_t;

/* Axis `axis` of an operand whose dim there is `own`, -1 unknown (a missing leading axis counts as 1): what is known of it in the
 * gradient and in the other operand decides. A dim of 1 is summed unless the gradient's is 1 too; summing 1 is harmless. */
static axis_fate_t axis_fate(int64_t own, int64_t in_gradient, int64_t in_other) {
  if (own == 1) return in_gradient == 1 || (in_gradient < 0 && in_other == 1) ? AXIS_KEPT : AXIS_SUMMED;
  return own > 1 || own == 0 || in_other == 1 || in_gradient == 1 ? AXIS_KEPT : AXIS_UNSURE;
}

/* The dim of a shape aligned at the right to `rank` axes: 1 where the shape has no such axis, -1 when unknown. */
static int64_t aligned_dim(const hr_pshape_t* s, int rank, int axis) {
  if (s->rank < 0) return -1;
  return axis < rank - s->rank ? 1 : s->dims[axis - (rank - s->rank)];
}

typedef struct {
  int rank, lead;         /* of the gradient; axes that `like` does not have */
  int count, lead_count;  /* axes to sum; those among the leading */
  bool all_ones;          /* every axis to sum has one element: nothing to add up */
  int64_t axes[254];
} broadcast_axes_t;

/* False when static knowledge does not decide. */
static bool find_broadcast_axes(const hr_pshape_t* gradient, const hr_pshape_t* like, const hr_pshape_t* other, broadcast_axes_t* out) {
  if (like->rank < 0 || (gradient->rank < 0 && other->rank < 0)) return false;
  out->rank = gradient->rank >= 0 ? gradient->rank : other->rank > like->rank ? other->rank : like->rank;
  if (out->rank < like->rank || out->rank < other->rank) return false;
  out->lead = out->rank - like->rank;
  out->count = out->lead_count = 0;
  out->all_ones = true;
  for (int i = 0; i < out->rank; ++i) {
    int64_t in_gradient = gradient->rank >= 0 ? gradient->dims[i] : -1, in_other = aligned_dim(other, out->rank, i);
    axis_fate_t fate = i < out->lead ? AXIS_SUMMED : axis_fate(aligned_dim(like, out->rank, i), in_gradient, in_other);
    if (fate == AXIS_UNSURE) return false;
    if (fate == AXIS_SUMMED) out->axes[out->count++] = i;
    if (fate == AXIS_SUMMED && in_gradient != 1) out->all_ones = false;
    if (i < out->lead) ++out->lead_count;
  }
  return true;
}

/* Only leading axes, or only axes that `like` has with dim 1: one Sum does it. Both: the Sum, then its result takes like's shape. */
static hr_value_t sum_static(hr_grad_ctx_t* g, hr_value_t gradient, hr_value_t like, const broadcast_axes_t* b) {
  if (b->count == 0) return gradient;
  if (b->all_ones) return hr_emit_reshape(g, gradient, hr_emit_shape(g, like));
  hr_value_t axes = hr_emit_const_i32s(g, b->axes, b->count);
  if (b->lead == 0) return hr_emit_sum(g, gradient, axes, true);
  hr_value_t sum = hr_emit_sum(g, gradient, axes, false);
  return b->count == b->lead_count ? sum : hr_emit_reshape(g, sum, hr_emit_shape(g, like));
}

/* The dynamic path needs both shapes in one integer type. */
static hr_value_t sum_dynamic(hr_grad_ctx_t* g, hr_value_t gradient, hr_value_t like, hr_value_t other) {
  hr_value_t own = hr_emit_shape(g, like), others = hr_emit_shape(g, other);
  hr_dtype_t type = hr_grad_dtype(g, own) == HR_I64 || hr_grad_dtype(g, others) == HR_I64 ? HR_I64 : HR_I32;
  own = hr_emit_cast(g, own, type);
  hr_value_t axes = hr_emit2(g, "BroadcastGradientArgs", own, hr_emit_cast(g, others, type));
  return hr_emit_reshape(g, hr_emit_sum(g, gradient, axes, false), own);
}

hr_value_t hr_emit_reduce_to(hr_grad_ctx_t* g, hr_value_t gradient, hr_value_t like, hr_value_t other) {
  broadcast_axes_t axes;
  if (g->failure || is_static_same(g, gradient, like) || is_static_same(g, like, other)) return gradient;
  const hr_pshape_t *gradient_shape = hr_grad_shape(g, gradient), *other_shape = hr_grad_shape(g, other);
  if (other_shape->rank == 0) return gradient; /* a scalar broadcasts nobody */
  if (find_broadcast_axes(gradient_shape, hr_grad_shape(g, like), other_shape, &axes)) return sum_static(g, gradient, like, &axes);
  return sum_dynamic(g, gradient, like, other);
}
