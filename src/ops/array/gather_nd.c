/* SPDX-License-Identifier: Apache-2.0 */
/* GatherNd: output[i...] = params[indices[i..., 0], ..., indices[i..., n-1], ...], whole slices when n is less than the rank. An index out
 * of range is INVALID_ARGUMENT, or gives zeros under bad_indices_policy "IGNORE". ResourceGatherNd reads a variable. */
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "op/kernel_ctx.h"
#include "ops/state/variable.h"
#include "tensor/iterate.h"

extern const hr_op_t hr_op_GatherNd, hr_op_ResourceGatherNd;

/* 1. shape */
static hr_status_t infer_picked(hr_infer_t* s, const hr_pshape_t* params) {
  const hr_pshape_t* indices;
  int64_t dims[508];
  int rank = 0;
  HR_TRY(hr_infer_want_rank_at_least(s, 1, 1, &indices));
  const int64_t n = hr_infer_dim(indices, -1);
  if (params->rank >= 0 && n > params->rank)
    return HR_ERROR(INVALID_ARGUMENT, "indices.shape[-1] must be <= params.rank, but saw %lld for rank %d", (long long)n, params->rank);
  if (params->rank < 0 || indices->rank < 0 || n < 0) return NULL;
  for (int d = 0; d < indices->rank - 1; ++d) dims[rank++] = indices->dims[d];
  for (int d = (int)n; d < params->rank; ++d) dims[rank++] = params->dims[d];
  return hr_infer_set_dims(s, 0, rank, dims);
}

static hr_status_t infer(hr_infer_t* s) {
  const hr_pshape_t* params;
  HR_TRY(hr_infer_want_rank_at_least(s, 0, 0, &params));
  return infer_picked(s, params);
}
static hr_status_t infer_of_variable(hr_infer_t* s) {
  hr_dtype_t held;
  const hr_pshape_t* params;
  hr_infer_handle(s, 0, &held, &params);
  return params ? infer_picked(s, params) : NULL;
}

/* 2. kernel */
static hr_status_t policy_prepare(hr_prepare_ctx_t* p, void* prepared) {
  hr_str_t policy = hr_attrs_str(p->attrs, "bad_indices_policy");
  *(bool*)prepared = hr_str_is(policy, "IGNORE");
  if (*(bool*)prepared || policy.size == 0 || hr_str_is(policy, "DEFAULT") || hr_str_is(policy, "ERROR")) return NULL;
  return HR_ERROR(INVALID_ARGUMENT, "bad_indices_policy is '%.*s', should be DEFAULT, ERROR or IGNORE", HR_STR_ARG(policy));
}

typedef struct {
  const hr_tensor_t *params, *indices;
  hr_tensor_t* out;
  int n;
  int64_t steps[HR_MAX_RANK], block; /* elements of a slice */
  bool ignores;
} pick_t;

static hr_status_t bad_tuple(const pick_t* p, int64_t i) {
  char place[HR_SHAPE_TEXT], tuple[HR_SHAPE_TEXT], whole[HR_SHAPE_TEXT];
  hr_shape_t outer = p->indices->shape, at = {.rank = p->n};
  outer.rank -= 1;
  for (int d = 0; d < p->n; ++d) HR_TRY(hr_tensor_i64_at(p->indices, i * p->n + d, &at.dims[d]));
  return HR_ERROR(INVALID_ARGUMENT, "indices%s = %s does not index into param shape %s", hr_shape_format_place(&outer, i, place),
                  hr_shape_format(&at, tuple), hr_shape_format(&p->params->shape, whole));
}

/* Where slice i begins, in elements; -1: out of range. */
static hr_status_t slice_start(const pick_t* p, int64_t i, int64_t* out) {
  int64_t at, start = 0;
  for (int d = 0; d < p->n; ++d) {
    HR_TRY(hr_tensor_i64_at(p->indices, i * p->n + d, &at));
    if (at < 0 || at >= p->params->shape.dims[d]) {
      if (!p->ignores)
        return bad_tuple(p, i);
      *out = -1;
      return NULL;
    }
    start += at * p->steps[d];
  }
  *out = start;
  return NULL;
}

static hr_status_t pick_chunk(void* arg, int64_t begin, int64_t end, int chunk) {
  const pick_t* p = arg;
  const size_t element = hr_dtype_size(p->out->dtype), bytes = (size_t)p->block * element;
  (void)chunk;
  for (int64_t i = begin; i < end; ++i) {
    int64_t start = -1;
    char* to = (char*)p->out->data + (size_t)i * bytes;
    HR_TRY(slice_start(p, i, &start));
    if (!hr_dtype_is_plain(p->out->dtype)) {
      if (start >= 0) HR_TRY(hr_tensor_copy_elements(p->out, i * p->block, p->params, start, p->block));
    } else if (start >= 0) {
      if (bytes) memcpy(to, (const char*)p->params->data + (size_t)start * element, bytes);
    } else {
      memset(to, 0, bytes);
    }
  }
  return NULL;
}

static hr_status_t pick_from(hr_kernel_ctx_t* k, const hr_tensor_t* params, bool ignores) {
  pick_t p = {.params = params, .indices = hr_input(k, 1), .ignores = ignores};
  const hr_shape_t *x = &p.params->shape, *i = &p.indices->shape;
  hr_shape_t shape = hr_shape_scalar();
  char text[HR_SHAPE_TEXT];
  HR_TRY(hr_want_rank_at_least(k, 1, "indices", 1));
  const int64_t n = i->dims[i->rank - 1];
  if (n > x->rank)
    return HR_ERROR(INVALID_ARGUMENT, "index innermost dimension length must be <= params rank; saw: %lld vs. %d", (long long)n,
                    (int)x->rank);
  p.n = (int)n;
  for (int d = 0; d < i->rank - 1; ++d) HR_TRY(hr_shape_append(&shape, i->dims[d]));
  const int64_t slices = hr_shape_count(&shape);
  for (int d = p.n; d < x->rank; ++d) HR_TRY(hr_shape_append(&shape, x->dims[d]));
  if (slices > 0 && p.params->count == 0)
    return HR_ERROR(INVALID_ARGUMENT, "Requested more than 0 entries, but params is empty.  Params shape: %s",
                    hr_shape_format(x, text));
  hr_iterate_strides(x, p.steps);
  p.block = hr_shape_count_range(x, p.n, x->rank);
  HR_TRY(hr_output(k, 0, &shape, &p.out));
  return hr_parallel(k, slices, 5.0 + 4.0 * p.n + 0.1 * (double)p.block * (double)hr_dtype_size(p.out->dtype), pick_chunk, &p);
}

static hr_status_t gather_nd(hr_kernel_ctx_t* k) { return pick_from(k, hr_input(k, 0), *(bool*)hr_prepared(k)); }
static hr_status_t resource_gather_nd(hr_kernel_ctx_t* k) {
  hr_variable_t* v;
  hr_tensor_t value;
  HR_TRY(hr_variable_input(k, 0, &v));
  if (!hr_variable_has_value(v)) return HR_ERROR(NOT_FOUND, "variable '%.*s' has no value to gather from", HR_STR_ARG(v->name));
  HR_TRY(hr_variable_read(v, &value));
  hr_status_t status = value.dtype == hr_output_dtype(k, 0)
                           ? pick_from(k, &value, false)
                           : HR_ERROR(INVALID_ARGUMENT, "variable '%.*s' holds %s, not %s", HR_STR_ARG(v->name),
                                      hr_dtype_name((int)value.dtype), hr_dtype_name((int)hr_output_dtype(k, 0)));
  hr_tensor_release(&value);
  return status;
}

/* 3. gradient: slices when rows of the first axis are picked, else ScatterNd */
static hr_value_t as_first(hr_grad_ctx_t* g, hr_value_t x) { return hr_emit2(g, "ExpandDims", x, hr_emit_const_i32(g, 0)); }

static hr_value_t summed_over_first(hr_grad_ctx_t* g, hr_value_t x, int count) {
  int64_t axes[HR_MAX_RANK];
  if (count > HR_MAX_RANK) count = HR_MAX_RANK;
  for (int d = 0; d < count; ++d) axes[d] = d;
  return count ? hr_emit_sum(g, x, hr_emit_const_i32s(g, axes, count), false) : x;
}
static void grad_by_shape(hr_grad_ctx_t* g, const char* shape_op) {
  hr_value_t x = hr_grad_input(g, 0), indices = hr_grad_input(g, 1), dy = hr_grad_upstream(g, 0);
  const hr_dtype_t type = hr_grad_dtype(g, indices) == HR_I64 ? HR_I64 : HR_I32;
  const hr_pshape_t* i = hr_grad_shape(g, indices);
  if (i->rank > 0 && i->dims[i->rank - 1] == 0) { /* all of x each time: ScatterNd refuses tuples without elements */
    hr_grad_give(g, 0, summed_over_first(g, dy, i->rank - 1));
    return;
  }
  hr_value_t shape = hr_emit(g, shape_op, 1, &x, HR_ATTRS(hr_at_type("out_type", (int)type)));
  indices = hr_emit_cast(g, indices, type);
  if (i->rank == 2 && i->dims[1] == 1)
    hr_grad_give_slices(g, 0, hr_emit(g, "Squeeze", 1, &indices, HR_ATTRS(hr_at_ints("squeeze_dims", (const int64_t[]){-1}, 1))), dy,
                        shape);
  else if (i->rank == 1) /* one tuple: ScatterNd would take a vector for a list of them */
    hr_grad_give(g, 0, hr_emit3(g, "ScatterNd", as_first(g, indices), as_first(g, dy), shape));
  else
    hr_grad_give(g, 0, hr_emit3(g, "ScatterNd", indices, dy, shape));
}

static void grad(hr_grad_ctx_t* g) { grad_by_shape(g, "Shape"); }
static void grad_of_variable(hr_grad_ctx_t* g) { grad_by_shape(g, "VariableShape"); }

/* 4. definitions */
const hr_op_t hr_op_GatherNd = {.name = "GatherNd",
                                .sig = "params: Tparams; indices: Tindices -> output: Tparams",
                                .attrs = "Tparams: type; Tindices: type{int16,int32,int64}; bad_indices_policy: string = ''",
                                .shape = infer,
                                .grad = grad,
                                HR_KERNELS({.prepared_bytes = sizeof(bool), .prepare = policy_prepare, .compute = gather_nd}),
                                .doc = "slices of params by index tuples",
                                HR_HERE};

const hr_op_t hr_op_ResourceGatherNd = {.name = "ResourceGatherNd",
                                        .sig = "resource: resource; indices: Tindices -> output: dtype",
                                        .attrs = "dtype: type; Tindices: type{int32,int64}",
                                        .flags = HR_OP_STATEFUL,
                                        .shape = infer_of_variable,
                                        .grad = grad_of_variable,
                                        HR_KERNELS({.host_inputs = 1, .compute = resource_gather_nd}),
                                        .doc = "slices of a variable by index tuples",
                                        HR_HERE};
