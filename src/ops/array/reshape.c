/* SPDX-License-Identifier: Apache-2.0 */
/* The same elements under another shape: Reshape, ExpandDims, Squeeze. The output is the input's memory, no element is touched. */
#include "base/alloc.h"
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "op/kernel_ctx.h"

extern const hr_op_t hr_op_Reshape, hr_op_ExpandDims, hr_op_Squeeze;

/* 1. the rules, for shape functions (partial dims, -1 unknown) and kernels alike */

/* The size that stands for -1, where the others that are not 0 multiply to `known`. Beside a size of 0 that was asked for, sizes of 0 in
 * `from` do not count either: [0,6] as [0,-1,3] is [0,2,3]. */
static hr_status_t open_size(const hr_shape_t* from, int64_t known, bool asks_zero, int64_t* out) {
  int64_t count = 1;
  bool left_out = false;
  for (int i = 0; i < from->rank; ++i) {
    if (from->dims[i] == 0 && asks_zero) left_out = true;
    else if (!hr_i64_mul(count, from->dims[i], &count)) return HR_ERROR(INVALID_ARGUMENT, "the sizes of the input are "
                    "too large to share out");
  }
  *out = count / known;
  if (!left_out && *out * known != count)
    return HR_ERROR(INVALID_ARGUMENT, "Input to reshape is a tensor with %lld values, but the requested shape requires a multiple of %lld",
                    (long long)count, (long long)known);
  return NULL;
}

/* Fills in the one -1 of a wanted shape from the input's; INVALID_ARGUMENT as the messages say. */
static hr_status_t resolve_dims(const hr_shape_t* from, hr_shape_t* wanted) {
  int64_t known = 1, open = -1;
  const int64_t count = hr_shape_count(from);
  bool asks_zero = false;
  for (int i = 0; i < wanted->rank; ++i) {
    if (wanted->dims[i] == -1) {
      if (open >= 0) return HR_ERROR(INVALID_ARGUMENT, "Only one input size may be -1, not both %lld and %d", (long long)open, i);
      open = i;
    } else if (wanted->dims[i] < 0) {
      return HR_ERROR(INVALID_ARGUMENT, "Size %d must be non-negative, not %lld", i, (long long)wanted->dims[i]);
    } else if (wanted->dims[i] == 0) {
      asks_zero = true;
    } else if (!hr_i64_mul(known, wanted->dims[i], &known)) {
      return HR_ERROR(INVALID_ARGUMENT, "the new shape has more elements than can be counted");
    }
  }
  char text[HR_SHAPE_TEXT];
  if (open >= 0) {
    HR_TRY(open_size(from, known, asks_zero, &wanted->dims[open]));
    known *= wanted->dims[open];
  }
  if (asks_zero) known = 0;
  if (known != count)
    return HR_ERROR(INVALID_ARGUMENT, "Input to reshape is a tensor with %lld values, but the requested shape has %lld: %s",
                    (long long)count, (long long)known, hr_shape_format(wanted, text));
  return hr_shape_check(wanted);
}

/* One size may come as a scalar where no shape function saw it. */
static hr_status_t read_dims(const hr_tensor_t* t, hr_shape_t* out) {
  if (t->shape.rank > 1) {
    char text[HR_SHAPE_TEXT];
    return HR_ERROR(INVALID_ARGUMENT, "sizes input must be 1-D, not of shape %s", hr_shape_format(&t->shape, text));
  }
  if (t->count >= 254)
    return HR_ERROR(INVALID_ARGUMENT, "too many dimensions: must be < 254, but received %lld", (long long)t->count);
  if (t->count > HR_MAX_RANK)
    return HR_ERROR(UNIMPLEMENTED, "a shape of rank %lld; at most %d is supported", (long long)t->count, HR_MAX_RANK);
  out->rank = (int32_t)t->count;
  for (int i = 0; i < out->rank; ++i) HR_TRY(hr_tensor_i64_at(t, i, &out->dims[i]));
  return NULL;
}

/* The dims to squeeze as a bit mask; axes beyond the rank are INVALID_ARGUMENT. */
static hr_status_t squeeze_mask(const int64_t* axes, int count, int rank, uint32_t* out_mask) {
  uint32_t mask = 0;
  for (int i = 0; i < count; ++i) {
    int axis;
    HR_TRY(hr_status_note(hr_shape_axis(axes[i], rank, &axis), "Tried to squeeze dim index %lld for tensor with %d dimensions: ",
                          (long long)axes[i], rank));
    mask |= UINT32_C(1) << axis;
  }
  *out_mask = mask;
  return NULL;
}

/* 2. shapes */
static hr_status_t infer_reshape(hr_infer_t* s) {
  const hr_pshape_t *from = hr_infer_input(s, 0), *to;
  HR_TRY(hr_infer_want_rank(s, 1, 1, NULL));
  HR_TRY(hr_infer_const_as_shape(s, 1, &to));
  hr_shape_t wanted, known;
  if (to->rank >= 0 && to->rank <= HR_MAX_RANK && hr_infer_const(s, 1) &&
      hr_pshape_to_shape(from, &known)) { /* everything is known: check it */
    HR_TRY(read_dims(hr_infer_const(s, 1), &wanted));
    HR_TRY(resolve_dims(&known, &wanted));
    return hr_infer_set_dims(s, 0, wanted.rank, wanted.dims);
  }
  hr_infer_set(s, 0, to);
  return NULL;
}

static hr_status_t infer_expand(hr_infer_t* s) {
  const hr_pshape_t* x = hr_infer_input(s, 0);
  const hr_tensor_t* axis_value = hr_infer_const(s, 1);
  int64_t wanted;
  int axis;
  if (x->rank < 0 || !axis_value) {
    const hr_pshape_t* unknown;
    if (x->rank < 0) return NULL;
    HR_TRY(hr_infer_unknown_of_rank(s, x->rank + 1, &unknown));
    hr_infer_set(s, 0, unknown);
    return NULL;
  }
  HR_TRY(hr_tensor_scalar_i64(axis_value, "axis", &wanted));
  HR_TRY(hr_shape_axis(wanted, x->rank + 1, &axis));
  if (x->rank >= HR_MAX_RANK) return HR_ERROR(UNIMPLEMENTED, "a shape of rank %d; at most %d is supported", x->rank + 1, HR_MAX_RANK);
  int64_t dims[HR_MAX_RANK];
  for (int i = 0; i <= x->rank; ++i) dims[i] = i < axis ? x->dims[i] : i == axis ? 1 : x->dims[i - 1];
  return hr_infer_set_dims(s, 0, x->rank + 1, dims);
}

static hr_status_t infer_squeeze(hr_infer_t* s) {
  const hr_pshape_t* x = hr_infer_input(s, 0);
  int count, rank = 0;
  const int64_t* axes = hr_attrs_ints(hr_infer_attrs(s), "squeeze_dims", &count);
  uint32_t mask;
  if (x->rank < 0 || x->rank > HR_MAX_RANK) return NULL;
  HR_TRY(squeeze_mask(axes, count, x->rank, &mask));
  int64_t dims[HR_MAX_RANK];
  for (int i = 0; i < x->rank; ++i) {
    bool named = mask >> i & 1;
    if (named && x->dims[i] > 1)
      return HR_ERROR(INVALID_ARGUMENT, "Can not squeeze dim[%d], expected a dimension of 1, got %lld", i, (long long)x->dims[i]);
    if (named && x->dims[i] == 0) return HR_ERROR(INVALID_ARGUMENT, "Can not squeeze dim[%d], expected a dimension of 1, got 0", i);
    if (count == 0 && x->dims[i] < 0) return NULL; /* it may or may not be 1: even the rank is open */
    if (named || (count == 0 && x->dims[i] == 1)) continue;
    dims[rank++] = x->dims[i];
  }
  return hr_infer_set_dims(s, 0, rank, dims);
}

/* 3. kernels */
static hr_status_t reshape(hr_kernel_ctx_t* k) {
  hr_shape_t shape;
  HR_TRY(read_dims(hr_input(k, 1), &shape));
  HR_TRY(resolve_dims(&hr_input(k, 0)->shape, &shape));
  return hr_output_alias(k, 0, 0, &shape);
}

static hr_status_t expand(hr_kernel_ctx_t* k) {
  const hr_shape_t* x = &hr_input(k, 0)->shape;
  hr_shape_t shape = hr_shape_scalar();
  int64_t wanted;
  int axis;
  HR_TRY(hr_tensor_scalar_i64(hr_input(k, 1), "'dim' must be a tensor with a single value, not of shape ", &wanted));
  HR_TRY(hr_status_note(hr_shape_axis(wanted, x->rank + 1, &axis), "Tried to expand dim index %lld for tensor with %d dimensions: ",
                        (long long)wanted, (int)x->rank));
  for (int i = 0; i <= x->rank; ++i) HR_TRY(hr_shape_append(&shape, i < axis ? x->dims[i] : i == axis ? 1 : x->dims[i - 1]));
  return hr_output_alias(k, 0, 0, &shape);
}

typedef struct { const int64_t* axes; int count; } squeeze_t;
static hr_status_t squeeze_prepare(hr_prepare_ctx_t* p, void* prepared) {
  squeeze_t* q = prepared;
  q->axes = hr_attrs_ints(p->attrs, "squeeze_dims", &q->count);
  return NULL;
}
static hr_status_t squeeze(hr_kernel_ctx_t* k) {
  const squeeze_t* q = hr_prepared(k);
  const hr_shape_t* x = &hr_input(k, 0)->shape;
  hr_shape_t shape = hr_shape_scalar();
  uint32_t mask;
  HR_TRY(squeeze_mask(q->axes, q->count, x->rank, &mask));
  for (int i = 0; i < x->rank; ++i) {
    bool named = mask >> i & 1;
    if (named && x->dims[i] != 1)
      return HR_ERROR(INVALID_ARGUMENT, "Can not squeeze dim[%d], expected a dimension of 1, got %lld", i, (long long)x->dims[i]);
    if (!named && !(q->count == 0 && x->dims[i] == 1)) HR_TRY(hr_shape_append(&shape, x->dims[i]));
  }
  return hr_output_alias(k, 0, 0, &shape);
}

/* 4. gradient: dy in the input's shape */
static void grad(hr_grad_ctx_t* g) { hr_grad_give(g, 0, hr_emit_reshape_like(g, hr_grad_upstream(g, 0), hr_grad_input(g, 0))); }

/* 5. definitions */
const hr_op_t hr_op_Reshape = {
    .name = "Reshape", .sig = "tensor: T; shape: Tshape -> output: T", .attrs = "T: type; Tshape: type{int32,int64} = int32",
    .shape = infer_reshape, .grad = grad,
    HR_KERNELS({.host_inputs = 2, .compute = reshape}), .doc = "the same elements in another shape; one size may be -1", HR_HERE};

const hr_op_t hr_op_ExpandDims = {
    .name = "ExpandDims", .sig = "input: T; dim: Tdim -> output: T", .attrs = "T: type; Tdim: type{int32,int64} = int32",
    .shape = infer_expand, .grad = grad,
    HR_KERNELS({.host_inputs = 2, .compute = expand}), .doc = "a dimension of size 1 put in at an axis", HR_HERE};

const hr_op_t hr_op_Squeeze = {
    .name = "Squeeze", .sig = "input: T -> output: T", .attrs = "T: type; squeeze_dims: list(int) >= 0 = []",
    .shape = infer_squeeze, .grad = grad,
    HR_KERNELS({.prepared_bytes = sizeof(squeeze_t), .prepare = squeeze_prepare, .compute = squeeze}),
    .doc = "dimensions of size 1 taken out: the named ones, or all", HR_HERE};
