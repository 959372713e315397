/* SPDX-License-Identifier: Apache-2.0 */
/* Tile: the input repeated multiples[d] times along each axis d. */
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/array/move.h"
#include "tensor/iterate.h"

extern const hr_op_t hr_op_Tile;

/* 1. the rule: one size of the output */
static hr_status_t tiled_size(const hr_tensor_t* multiples, int axis, int64_t dim, int64_t* out_multiple, int64_t* out) {
  HR_TRY(hr_tensor_i64_at(multiples, axis, out_multiple));
  if (*out_multiple < 0) return HR_ERROR(INVALID_ARGUMENT, "Expected multiples[%d] >= 0, but got %lld", axis, (long long)*out_multiple);
  if (dim >= 0 && __builtin_mul_overflow(dim, *out_multiple, out))
    return HR_ERROR(INVALID_ARGUMENT, "axis %d of size %lld, %lld times, is longer than can be counted", axis, (long long)dim,
                    (long long)*out_multiple);
  if (dim < 0) *out = -1;
  return NULL;
}

/* 2. shape */
static hr_status_t infer(hr_infer_t* s) {
  const hr_pshape_t *x = hr_infer_input(s, 0), *partial;
  const hr_tensor_t* multiples = hr_infer_const(s, 1);
  int64_t dims[254], times;
  HR_TRY(hr_infer_want_rank(s, 1, 1, NULL));
  const int64_t length = hr_infer_dim(hr_infer_input(s, 1), 0), rank = x->rank >= 0 ? x->rank : length;
  if (x->rank >= 0 && length >= 0 && x->rank != length)
    return HR_ERROR(INVALID_ARGUMENT, "Expected multiples argument to have an element per axis, but it has %lld for "
                    "rank %d", (long long)length, x->rank);
  if (rank < 0 || rank > 254) return NULL;
  HR_TRY(multiples ? NULL : hr_infer_const_as_shape(s, 1, &partial));
  for (int d = 0; d < rank; ++d) {
    const int64_t dim = hr_infer_dim(x, d);
    if (multiples)
      HR_TRY(tiled_size(multiples, d, dim, &times, &dims[d]));
    else
      dims[d] = partial->rank == rank && partial->dims[d] >= 0 && dim >= 0
                    ? (__builtin_mul_overflow(dim, partial->dims[d], &times) ? -1 : times)
                    : -1;
  }
  return hr_infer_set_dims(s, 0, rank, dims);
}

/* 3. kernel */
static hr_status_t tile(hr_kernel_ctx_t* k) {
  const hr_tensor_t *x = hr_input(k, 0), *multiples = hr_input(k, 1);
  const int rank = x->shape.rank;
  int64_t times[HR_MAX_RANK], to[HR_MAX_RANK], from[HR_MAX_RANK];
  hr_shape_t shape = {.rank = rank};
  hr_tensor_t* y;
  hr_move_t m = {.rank = 0};
  HR_TRY(hr_want_vector(k, 1, "Expected multiples to be 1-D, but got shape "));
  if (multiples->count != rank)
    return HR_ERROR(INVALID_ARGUMENT, "Expected multiples argument to be a vector of length %d but got length %lld", rank,
                    (long long)multiples->count);
  for (int d = 0; d < rank; ++d) HR_TRY(tiled_size(multiples, d, x->shape.dims[d], &times[d], &shape.dims[d]));
  HR_TRY(hr_shape_check(&shape));
  if (hr_shape_equal(&shape, &x->shape)) return hr_output_alias(k, 0, 0, &shape);
  HR_TRY(hr_output(k, 0, &shape, &y));
  hr_iterate_strides(&shape, to);
  hr_iterate_strides(&x->shape, from);
  for (int d = 0; d < rank; ++d) {
    HR_TRY(hr_move_axis(&m, times[d], to[d] * x->shape.dims[d], 0));
    HR_TRY(hr_move_axis(&m, x->shape.dims[d], to[d], from[d]));
  }
  return hr_move_run(k, &m, y, x);
}

/* 4. gradient: dy as [m0, n0, m1, n1, ...] summed over the m */
static void grad(hr_grad_ctx_t* g) {
  hr_value_t dy = hr_grad_upstream(g, 0), x = hr_grad_input(g, 0), multiples = hr_grad_input(g, 1), split, axes;
  const hr_pshape_t* shape = hr_grad_shape(g, x);
  const hr_tensor_t* times = hr_grad_const(g, multiples);
  const hr_dtype_t type = hr_grad_dtype(g, multiples);
  int64_t pairs[2 * HR_MAX_RANK], evens[HR_MAX_RANK];
  if (times && hr_pshape_is_known(shape) && shape->rank <= HR_MAX_RANK && type == HR_I32) {
    for (int d = 0; d < shape->rank; ++d) {
      hr_status_t status = hr_tensor_i64_at(times, d, &pairs[2 * d]);
      if (status) {
        hr_grad_fail(g, status);
        return;
      }
      pairs[2 * d + 1] = shape->dims[d];
      evens[d] = 2 * d;
    }
    if (shape->rank == 0) {
      hr_grad_give(g, 0, dy);
      return;
    }
    split = hr_emit_const_i32s(g, pairs, 2 * shape->rank);
    axes = hr_emit_const_i32s(g, evens, shape->rank);
  } else {
    hr_value_t sizes = hr_emit(g, "Shape", 1, &x, HR_ATTRS(hr_at_type("out_type", (int)type)));
    hr_value_t both = hr_emit(g, "Pack", HR_VALUES(multiples, sizes), HR_ATTRS(hr_at_int("axis", 1)));
    split = hr_emit_reshape(g, both, hr_emit_const_i32s(g, (const int64_t[]){-1}, 1));
    axes = hr_emit3(g, "Range", hr_emit_const_i32(g, 0), hr_emit1(g, "Size", split), hr_emit_const_i32(g, 2));
  }
  hr_grad_give(g, 0, hr_emit_sum(g, hr_emit_reshape(g, dy, split), axes, false));
}

/* 5. definition */
const hr_op_t hr_op_Tile = {.name = "Tile",
                            .sig = "input: T; multiples: Tmultiples -> output: T",
                            .attrs = "T: type; Tmultiples: type{int32,int64} = int32",
                            .shape = infer,
                            .grad = grad,
                            HR_KERNELS({.host_inputs = 2, .compute = tile}),
                            .doc = "the input repeated along each axis",
                            HR_HERE};
