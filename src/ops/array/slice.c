/* SPDX-License-Identifier: Apache-2.0 */
/* Slice: size[d] elements from begin[d] on along each axis; a size of -1 means all that remain. A slice that is one block of memory shares
 * the input's. */
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/array/move.h"

extern const hr_op_t hr_op_Slice;

/* 1. the rule: the size along one axis; dim -1 (unknown) gives -1 for a size of -1 */
static hr_status_t slice_size(int axis, int64_t dim, int64_t begin, int64_t size, int64_t* out) {
  if (begin < 0 || (dim >= 0 && begin > dim))
    return HR_ERROR(INVALID_ARGUMENT, "Expected begin[%d] in [0, %lld], but got %lld", axis, (long long)dim, (long long)begin);
  if (size < -1 || (dim >= 0 && size > dim - begin))
    return HR_ERROR(INVALID_ARGUMENT, "Expected size[%d] in [0, %lld], but got %lld (-1 takes all that is left)", axis,
                    (long long)(dim < 0 ? INT64_MAX : dim - begin),
                    (long long)size);
  *out = size >= 0 ? size : dim < 0 ? -1 : dim - begin;
  return NULL;
}

/* 2. shape */
static hr_status_t infer(hr_infer_t* s) {
  const hr_pshape_t *x = hr_infer_input(s, 0), *list, *sizes_shape;
  const hr_tensor_t *begin = hr_infer_const(s, 1), *size = hr_infer_const(s, 2);
  HR_TRY(hr_infer_want_rank(s, 1, 1, &list));
  HR_TRY(hr_infer_want_rank(s, 2, 1, &sizes_shape));
  HR_TRY(hr_infer_merge(s, list, sizes_shape, &list));
  const int64_t length = hr_infer_dim(list, 0);
  if (x->rank >= 0 && length >= 0 && x->rank != length)
    return HR_ERROR(INVALID_ARGUMENT, "Expected begin and size arguments to be 1-D tensors with an element per axis: "
                    "%lld for rank %d", (long long)length, x->rank);
  const int64_t rank = x->rank >= 0 ? x->rank : length;
  if (rank < 0 || rank > 254) return NULL;
  int64_t dims[254], b = 0, n = -1;
  const hr_pshape_t* partial = &hr_pshape_unknown; /* sizes made of partly known shapes */
  if (!size) HR_TRY(hr_infer_const_as_shape(s, 2, &partial));
  for (int d = 0; d < rank; ++d) {
    const int64_t dim = hr_infer_dim(x, d);
    dims[d] = partial->rank == rank ? partial->dims[d] : -1;
    if (begin) HR_TRY(hr_tensor_i64_at(begin, d, &b));
    if (size) HR_TRY(hr_tensor_i64_at(size, d, &n));
    if (begin && size)
      HR_TRY(slice_size(d, dim, b, n, &dims[d]));
    else if (size)
      dims[d] = n < 0 ? -1 : n;
    if (dims[d] < 0 && dim == 0) dims[d] = 0;
  }
  return hr_infer_set_dims(s, 0, rank, dims);
}

/* 3. kernel */
static hr_status_t slice(hr_kernel_ctx_t* k) {
  const hr_tensor_t *x = hr_input(k, 0), *begins = hr_input(k, 1), *sizes = hr_input(k, 2);
  int64_t begin[HR_MAX_RANK], size[HR_MAX_RANK], one[HR_MAX_RANK];
  hr_shape_t shape;
  HR_TRY(hr_want_vector(k, 1, "Expected begin to be a 1-D tensor, but got shape "));
  HR_TRY(hr_want_vector(k, 2, "Expected size to be a 1-D tensor, but got shape "));
  if (begins->count != x->shape.rank || sizes->count != x->shape.rank)
    return HR_ERROR(INVALID_ARGUMENT, "Expected begin and size arguments to be 1-D tensors of size %d, but got shapes [%lld] and "
                    "[%lld] instead",
                    (int)x->shape.rank, (long long)begins->count, (long long)sizes->count);
  for (int d = 0; d < x->shape.rank; ++d) {
    HR_TRY(hr_tensor_i64_at(begins, d, &begin[d]));
    HR_TRY(hr_tensor_i64_at(sizes, d, &size[d]));
    HR_TRY(slice_size(d, x->shape.dims[d], begin[d], size[d], &size[d]));
    one[d] = 1;
  }
  HR_TRY(hr_shape_make(x->shape.rank, size, &shape));
  return hr_move_box(k, &shape, begin, one, size);
}

/* 4. gradient: dy, with zeros around it */
static hr_value_t known_paddings(hr_grad_ctx_t* g, const hr_tensor_t* begin, const hr_pshape_t* x, const hr_pshape_t* y) {
  hr_tensor_t t;
  const hr_shape_t shape = hr_shape_matrix(x->rank, 2);
  hr_status_t status = hr_tensor_create(HR_I64, &shape, &t);
  if (status) {
    hr_grad_fail(g, status);
    return HR_NO_VALUE;
  }
  for (int d = 0; d < x->rank && !status; ++d) {
    int64_t* pair = (int64_t*)t.data + 2 * d;
    status = hr_tensor_i64_at(begin, d, &pair[0]);
    pair[1] = x->dims[d] - y->dims[d] - pair[0];
  }
  if (status) hr_grad_fail(g, status);
  hr_value_t v = hr_emit_const(g, &t);
  hr_tensor_release(&t);
  return v;
}

static hr_value_t computed_paddings(hr_grad_ctx_t* g, hr_value_t begin) { /* columns begin and shape(x) - shape(dy) - begin */
  const hr_named_attr_t type = hr_at_type("out_type", (int)hr_grad_dtype(g, begin));
  hr_value_t x = hr_grad_input(g, 0), y = hr_grad_output(g, 0);
  hr_value_t whole = hr_emit(g, "Shape", 1, &x, 1, &type), part = hr_emit(g, "Shape", 1, &y, 1, &type);
  hr_value_t after = hr_emit_sub(g, hr_emit_sub(g, whole, part), begin);
  return hr_emit(g, "Pack", HR_VALUES(begin, after), HR_ATTRS(hr_at_int("axis", 1)));
}

static void grad(hr_grad_ctx_t* g) {
  const hr_tensor_t* begin = hr_grad_const(g, hr_grad_input(g, 1));
  const hr_pshape_t *x = hr_grad_shape(g, hr_grad_input(g, 0)), *y = hr_grad_shape(g, hr_grad_output(g, 0));
  const bool known = begin && hr_pshape_is_known(x) && hr_pshape_is_known(y);
  hr_grad_give(
      g, 0, hr_emit2(g, "Pad", hr_grad_upstream(g, 0), known ? known_paddings(g, begin, x, y) : computed_paddings(g, hr_grad_input(g, 1))));
}

/* 5. definition */
const hr_op_t hr_op_Slice = {.name = "Slice",
                             .sig = "input: T; begin: Index; size: Index -> output: T",
                             .attrs = "T: type; Index: type{int32,int64}",
                             .shape = infer,
                             .grad = grad,
                             HR_KERNELS({.host_inputs = 6, .compute = slice}),
                             .doc = "a box of elements",
                             HR_HERE};
