/* SPDX-License-Identifier: Apache-2.0 */
/* Many elements at once: TensorArrayGather (Pack) stacks elements, TensorArrayScatter (Unpack) writes the rows of a tensor,
 * TensorArrayConcat joins elements along their first axis, TensorArraySplit writes pieces of a tensor. Rows and pieces that are written
 * share the tensor's memory. */
#include <inttypes.h>
#include "base/alloc.h"
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/flow/tensor_array.h"
#include "ops/flow/tensor_array_flow.h"

extern const hr_op_t hr_op_TensorArrayGather, hr_op_TensorArrayGatherV2, hr_op_TensorArrayGatherV3, hr_op_TensorArrayPack,
    hr_op_TensorArrayScatter, hr_op_TensorArrayScatterV2, hr_op_TensorArrayScatterV3, hr_op_TensorArrayUnpack, hr_op_TensorArrayConcat,
    hr_op_TensorArrayConcatV2, hr_op_TensorArrayConcatV3, hr_op_TensorArraySplit, hr_op_TensorArraySplitV2, hr_op_TensorArraySplitV3;

/* 1. shapes */
static hr_status_t set_rows(hr_infer_t* s, int64_t rows, const hr_pshape_t* rest) { /* [rows] + rest */
  int64_t dims[HR_MAX_RANK + 1];
  if (rest->rank < 0 || rest->rank >= HR_MAX_RANK) return hr_infer_any(s);
  dims[0] = rows;
  memcpy(dims + 1, rest->dims, (size_t)rest->rank * sizeof *dims);
  return hr_infer_set_dims(s, 0, rest->rank + 1, dims);
}

static hr_status_t infer_gather(hr_infer_t* s) {
  const hr_pshape_t* indices;
  HR_TRY(hr_infer_want_rank(s, 1, 1, &indices));
  HR_TRY(hr_flow_infer_flow(s, 2));
  return set_rows(s, hr_infer_dim(indices, 0), hr_attrs_shape(hr_infer_attrs(s), "element_shape"));
}

static hr_status_t infer_pack(hr_infer_t* s) {
  HR_TRY(hr_flow_infer_flow(s, 1));
  return set_rows(s, -1, hr_attrs_shape(hr_infer_attrs(s), "element_shape"));
}

static hr_status_t infer_concat(hr_infer_t* s) {
  HR_TRY(hr_flow_infer_flow(s, 1));
  HR_TRY(set_rows(s, -1, hr_attrs_shape(hr_infer_attrs(s), "element_shape_except0")));
  return hr_infer_set_vector(s, 1, -1);
}

static hr_status_t infer_scatter(hr_infer_t* s) {
  hr_dtype_t dtype;
  const hr_pshape_t *shape, *value, *merged;
  HR_TRY(hr_infer_want_rank(s, 1, 1, NULL));
  HR_TRY(hr_infer_want_rank_at_least(s, 2, 1, &value));
  hr_infer_handle(s, 0, &dtype, &shape);
  if (shape && shape->rank >= 0 && value->rank >= 0) {
    HR_TRY(hr_pshape_make(hr_infer_arena(s), value->rank - 1, value->dims + 1, &value));
    HR_TRY(hr_infer_merge(s, shape, value, &merged));
  }
  return hr_flow_infer_flow_out(s, 3);
}

static hr_status_t infer_unpack(hr_infer_t* s) {
  HR_TRY(hr_infer_want_rank_at_least(s, 1, 1, NULL));
  return hr_flow_infer_flow_out(s, 2);
}

static hr_status_t infer_split(hr_infer_t* s) { /* the rank of the value is the kernel's to check, as in TensorFlow */
  HR_TRY(hr_infer_want_rank(s, 2, 1, NULL));
  return hr_flow_infer_flow_out(s, 3);
}

/* 2. kernels that read */
typedef struct {
  hr_kernel_ctx_t* k;
  hr_tensor_array_t* array;
  const hr_pshape_t* known; /* attr element_shape or element_shape_except0 */
  hr_tensor_t* values;
  int64_t count;
} reading_t;

static hr_status_t check_rest(const reading_t* r, int64_t i, int from, const hr_pshape_t* known, const hr_shape_t* first) {
  char text[HR_SHAPE_TEXT], other[HR_SHAPE_TEXT];
  const hr_shape_t* shape = &r->values[i].shape;
  hr_shape_t rest;
  if (shape->rank < from)
    return HR_ERROR(INVALID_ARGUMENT, "Concat saw a scalar shape at index %" PRId64 " but requires at least vectors", i);
  HR_TRY(hr_shape_make(shape->rank - from, shape->dims + from, &rest));
  if (!hr_pshape_accepts(known, &rest))
    return HR_ERROR(INVALID_ARGUMENT,
                    from ? "TensorArray was passed element_shape_except0 %s but index %" PRId64
                           " has (excepting dimension 0) shape: %s which does not match"
                         : "TensorArray was passed element_shape %s which does not match the Tensor at index %" PRId64 ": %s",
                    hr_pshape_format(known, other), i, hr_shape_format(&rest, text));
  if (!hr_shape_equal(&rest, first))
    return HR_ERROR(INVALID_ARGUMENT,
                    from ? "TensorArray has inconsistent shapes.  Index 0 has (excepting dimension 0) shape: %s but index "
                           "%" PRId64 " has (excepting dimension 0) shape: %s"
                         : "TensorArray has inconsistent shapes.  Index 0 has shape: %s but index %" PRId64 " has shape: %s",
                    hr_shape_format(first, other), i, hr_shape_format(&rest, text));
  return NULL;
}

/* The shape of what is stacked (axis_of 0: a new first axis) or joined (axis_of 1: the elements' first). */
static hr_status_t joined_shape(const reading_t* r, int axis_of, hr_shape_t* out) {
  int64_t dims[HR_MAX_RANK + 1], rows = axis_of ? 0 : r->count;
  hr_shape_t rest;
  char text[HR_SHAPE_TEXT];
  if (r->count == 0) {
    if (!hr_pshape_to_shape(r->known, &rest))
      return HR_ERROR(UNIMPLEMENTED,
                      "TensorArray has size zero, but element shape%s %s is not fully defined. Currently only static shapes are supported "
                      "when %s zero-size TensorArrays (attr element_shape)",
                      axis_of ? "_except0" : "", hr_pshape_format(r->known, text), axis_of ? "concatenating" : "packing");
  } else {
    const hr_shape_t* first = &r->values[0].shape;
    if (first->rank < axis_of) return HR_ERROR(INVALID_ARGUMENT, "Concat saw a scalar shape at index 0 but requires at least vectors");
    HR_TRY(hr_shape_make(first->rank - axis_of, first->dims + axis_of, &rest));
  }
  for (int64_t i = 0; i < r->count; ++i) {
    HR_TRY(check_rest(r, i, axis_of, r->known, &rest));
    if (axis_of && __builtin_add_overflow(rows, r->values[i].shape.dims[0], &rows))
      return HR_ERROR(INVALID_ARGUMENT, "the elements are too many rows");
  }
  dims[0] = rows;
  memcpy(dims + 1, rest.dims, (size_t)rest.rank * sizeof *dims);
  return hr_shape_make(rest.rank + 1, dims, out);
}

static hr_status_t copy_values(const reading_t* r, hr_tensor_t* out) {
  int64_t at = 0;
  const size_t size = hr_dtype_size(out->dtype);
  for (int64_t i = 0; i < r->count; ++i) {
    const hr_tensor_t* v = &r->values[i];
    if (!hr_dtype_is_plain(out->dtype))
      HR_TRY(hr_tensor_copy_elements(out, at, v, 0, v->count));
    else if (v->count)
      memcpy((char*)out->data + (size_t)at * size, v->data, (size_t)v->count * size);
    at += v->count;
  }
  return NULL;
}

static hr_status_t give_joined(const reading_t* r, int axis_of) {
  hr_shape_t shape;
  hr_tensor_t *out, *lengths;
  HR_TRY(joined_shape(r, axis_of, &shape));
  if (!axis_of && r->count == 1) { /* the one element is the result's only row */
    hr_tensor_t row;
    HR_TRY(hr_tensor_reshape(&r->values[0], &shape, &row));
    hr_output_move(r->k, 0, &row);
    return NULL;
  }
  HR_TRY(hr_output(r->k, 0, &shape, &out));
  HR_TRY(copy_values(r, out));
  if (!axis_of) return NULL;
  shape = hr_shape_vector(r->count);
  HR_TRY(hr_output(r->k, 1, &shape, &lengths));
  for (int64_t i = 0; i < r->count; ++i) ((int64_t*)lengths->data)[i] = r->values[i].shape.dims[0];
  return NULL;
}

static hr_status_t read_joined(reading_t* r, const int32_t* indices, int axis_of) {
  r->values = hr_alloc_array((size_t)r->count + 1, sizeof *r->values);
  if (!r->values) return hr_status_out_of_memory();
  hr_status_t status = axis_of ? NULL : hr_tensor_array_merge_shape(r->array, r->known);
  if (!status) status = hr_tensor_array_read_many(r->array, indices, r->count, r->values);
  if (!status) status = give_joined(r, axis_of);
  for (int64_t i = 0; i < r->count; ++i) hr_tensor_release(&r->values[i]);
  hr_free(r->values);
  return status;
}

typedef enum { BY_INDICES, ALL_STACKED, ALL_JOINED } reading_kind_t;
static hr_status_t known_prepare(hr_prepare_ctx_t* p, void* prepared) {
  const bool joins = (reading_kind_t)(intptr_t)p->kernel->arg == ALL_JOINED;
  *(const hr_pshape_t**)prepared = hr_attrs_shape(p->attrs, joins ? "element_shape_except0" : "element_shape");
  return NULL;
}

static hr_status_t read_all(hr_kernel_ctx_t* k, hr_tensor_array_t* a) {
  const reading_kind_t kind = (reading_kind_t)(intptr_t)hr_kernel_arg(k);
  reading_t r = {.k = k, .array = a, .known = *(const hr_pshape_t**)hr_prepared(k)};
  HR_TRY(hr_flow_check_dtype(k, a));
  if (kind == BY_INDICES) {
    HR_TRY(hr_flow_want_rank(k, 1, "Expected indices to be a vector, but received shape", 1, 1));
    r.count = hr_input(k, 1)->count;
    return read_joined(&r, hr_input(k, 1)->data, 0);
  }
  HR_TRY(hr_tensor_array_pack_size(a, &r.count));
  return read_joined(&r, NULL, kind == ALL_JOINED);
}

static hr_status_t read_batch(hr_kernel_ctx_t* k) {
  hr_tensor_array_t* a;
  HR_TRY(hr_tensor_array_input(k, &a));
  hr_status_t status = read_all(k, a);
  hr_tensor_array_release(a);
  return status;
}

/* 3. kernels that write */
static hr_status_t write_piece(hr_tensor_array_t* a, int64_t index, const hr_tensor_t* value, int64_t begin, int64_t end, bool is_row,
                               hr_sum_loop_t loop) {
  hr_tensor_t piece, row;
  hr_shape_t shape;
  HR_TRY(hr_tensor_rows(value, begin, end, &piece));
  if (!is_row) {
    hr_status_t status = hr_tensor_array_write(a, index, &piece, loop);
    hr_tensor_release(&piece);
    return status;
  }
  hr_status_t status = hr_shape_make(value->shape.rank - 1, value->shape.dims + 1, &shape);
  if (!status) status = hr_tensor_reshape(&piece, &shape, &row);
  hr_tensor_release(&piece);
  if (status) return status;
  status = hr_tensor_array_write(a, index, &row, loop);
  hr_tensor_release(&row);
  return status;
}

typedef enum { TO_INDICES, ROW_BY_ROW, PIECES } writing_kind_t;
static hr_status_t scatter_rows(hr_kernel_ctx_t* k, hr_tensor_array_t* a, hr_sum_loop_t loop) {
  const hr_tensor_t *indices = hr_input(k, 1), *value = hr_input(k, 2);
  HR_TRY(hr_flow_want_rank(k, 1, "Expected indices to be a vector, but received shape", 1, 1));
  HR_TRY(hr_flow_want_rank(k, 2, "Input value for unpack must be at least a vector but received shape", 1, HR_MAX_RANK));
  if (indices->count != value->shape.dims[0])
    return HR_ERROR(INVALID_ARGUMENT, "Expected len(indices) == values.shape[0], but saw: %" PRId64 " vs. %" PRId64, indices->count,
                    value->shape.dims[0]);
  int64_t most = -1;
  for (int64_t i = 0; i < indices->count; ++i)
    if (((const int32_t*)indices->data)[i] > most) most = ((const int32_t*)indices->data)[i];
  HR_TRY(hr_tensor_array_reach(a, most));
  for (int64_t i = 0; i < indices->count; ++i) HR_TRY(write_piece(a, ((const int32_t*)indices->data)[i], value, i, i + 1, true, loop));
  return NULL;
}

static hr_status_t unpack_rows(hr_kernel_ctx_t* k, hr_tensor_array_t* a, hr_sum_loop_t loop) {
  const hr_tensor_t* value = hr_input(k, 1);
  HR_TRY(hr_flow_want_rank(k, 1, "Input value for unpack must be at least a vector but received shape", 1, HR_MAX_RANK));
  const int64_t count = value->shape.dims[0];
  HR_TRY(hr_tensor_array_fit(a, count, true));
  for (int64_t i = 0; i < count; ++i) HR_TRY(write_piece(a, i, value, i, i + 1, true, loop));
  return NULL;
}

static hr_status_t check_lengths(hr_kernel_ctx_t* k) {
  const hr_tensor_t *value = hr_input(k, 1), *lengths = hr_input(k, 2);
  const int64_t* n = lengths->data;
  int64_t total = 0;
  char text[HR_SHAPE_TEXT];
  HR_TRY(hr_flow_want_rank(k, 1, "Expected value to be at least a vector, but received shape", 1, HR_MAX_RANK));
  HR_TRY(hr_flow_want_rank(k, 2, "Expected lengths to be a vector, received shape", 1, 1));
  for (int64_t i = 0; i < lengths->count; ++i)
    if (n[i] < 0 || __builtin_add_overflow(total, n[i], &total))
      return HR_ERROR(INVALID_ARGUMENT, "lengths[%" PRId64 "] is %" PRId64 ": lengths are rows of value", i, n[i]);
  if (total != value->shape.dims[0])
    return HR_ERROR(INVALID_ARGUMENT,
                    "Expected sum of lengths to be equal to values.shape[0], but sum of lengths is %" PRId64 " and value's shape is: %s",
                    total, hr_shape_format(&value->shape, text));
  return NULL;
}

static hr_status_t split_pieces(hr_kernel_ctx_t* k, hr_tensor_array_t* a, hr_sum_loop_t loop) {
  const hr_tensor_t *value = hr_input(k, 1), *lengths = hr_input(k, 2);
  int64_t at = 0;
  HR_TRY(check_lengths(k));
  HR_TRY(hr_tensor_array_fit(a, lengths->count, true));
  for (int64_t i = 0; i < lengths->count; ++i) {
    const int64_t n = ((const int64_t*)lengths->data)[i];
    HR_TRY(write_piece(a, i, value, at, at + n, false, loop));
    at += n;
  }
  return NULL;
}

static hr_status_t write_batch(hr_kernel_ctx_t* k) {
  const writing_kind_t kind = (writing_kind_t)(intptr_t)hr_kernel_arg(k);
  const hr_sum_loop_t loop = *(hr_sum_loop_t*)hr_prepared(k);
  hr_tensor_array_t* a;
  HR_TRY(hr_tensor_array_input(k, &a));
  hr_status_t status = kind == TO_INDICES ? scatter_rows(k, a, loop) : kind == PIECES ? split_pieces(k, a, loop) : unpack_rows(k, a, loop);
  hr_tensor_array_release(a);
  if (!status) hr_output_share(k, 0, hr_input(k, hr_input_count(k) - 1));
  return status;
}

/* 4. gradients: what was read is written to the gradient's array, what was written is read from it */
static void grad_gather(hr_grad_ctx_t* g) {
  hr_value_t flow, array = hr_flow_gradient_array(g, hr_grad_input(g, 2), &flow);
  hr_grad_give(g, 2,
               hr_flow_emit(g, "TensorArrayScatter", HR_VALUES(array, hr_grad_input(g, 1), hr_grad_upstream(g, 0), flow), HR_NO_ATTRS));
}

static void grad_scatter(hr_grad_ctx_t* g) {
  const hr_named_attr_t type = hr_at_type("dtype", (int)hr_grad_dtype(g, hr_grad_input(g, 2)));
  hr_value_t flow, upstream = hr_grad_upstream(g, 0), array = hr_flow_gradient_array(g, upstream, &flow);
  if (hr_grad_wanted(g, 2))
    hr_grad_give(g, 2, hr_flow_emit(g, "TensorArrayGather", HR_VALUES(array, hr_grad_input(g, 1), flow), HR_ATTRS(type)));
  hr_grad_give(g, 3, upstream);
}

static void grad_concat(hr_grad_ctx_t* g) {
  if (!hr_grad_has_upstream(g, 0)) return;
  hr_value_t flow, array = hr_flow_gradient_array(g, hr_grad_input(g, 1), &flow);
  hr_grad_give(g, 1,
               hr_flow_emit(g, "TensorArraySplit", HR_VALUES(array, hr_grad_upstream(g, 0), hr_grad_output(g, 1), flow), HR_NO_ATTRS));
}

static void grad_split(hr_grad_ctx_t* g) {
  const hr_named_attr_t type = hr_at_type("dtype", (int)hr_grad_dtype(g, hr_grad_input(g, 1)));
  hr_value_t flow, upstream = hr_grad_upstream(g, 0), array = hr_flow_gradient_array(g, upstream, &flow);
  if (hr_grad_wanted(g, 1)) hr_grad_give(g, 1, hr_flow_emit(g, "TensorArrayConcat", HR_VALUES(array, flow), HR_ATTRS(type)));
  hr_grad_give(g, 3, upstream);
}

/* 5. definitions */
#define AS_ARG(kind) (const void*)(intptr_t)kind
#define READS(name, kind)           \
  static const hr_kernel_t name = { \
      .host_inputs = 7, .prepared_bytes = sizeof(void*), .prepare = known_prepare, .compute = read_batch, .arg = AS_ARG(kind)}
#define WRITES(name, kind)                                                  \
  static const hr_kernel_t name = {.host_inputs = 1 | 2 | 8,                \
                                   .host_outputs = 1,                       \
                                   .prepared_bytes = sizeof(hr_sum_loop_t), \
                                   .prepare = hr_flow_sum_prepare,          \
                                   .compute = write_batch,                  \
                                   .arg = AS_ARG(kind)}
READS(reads_indices, BY_INDICES);
READS(reads_stacked, ALL_STACKED);
READS(reads_joined, ALL_JOINED);
WRITES(writes_indices, TO_INDICES);
WRITES(writes_rows, ROW_BY_ROW);
WRITES(writes_pieces, PIECES);
#define OP(Name, Sig, Attrs, Flags, Shape, Grad, Kernels, Doc, ...) \
  const hr_op_t hr_op_##Name = {.name = #Name,                      \
                                .sig = Sig,                         \
                                .attrs = Attrs,                     \
                                .flags = Flags,                     \
                                .shape = Shape,                     \
                                .grad = Grad,                       \
                                .kernels = &(Kernels),              \
                                .kernel_count = 1,                  \
                                .doc = Doc,                         \
                                HR_HERE,                            \
                                __VA_ARGS__}
#define GATHER(Name, handle, Flags, ...)                                                                                         \
  OP(Name, "handle: " handle "; indices: int32; flow_in: float -> value: dtype", "dtype: type; element_shape: shape = ?", Flags, \
     infer_gather, grad_gather, reads_indices, "value[i] = array[indices[i]]", __VA_ARGS__)
#define SCATTER(Name, handle, Flags, ...)                                                                                      \
  OP(Name, "handle: " handle "; indices: int32; value: T; flow_in: float -> flow_out: float", "T: type", Flags, infer_scatter, \
     grad_scatter, writes_indices, "array[indices[i]] = value[i]", __VA_ARGS__)
#define CONCAT(Name, handle, Flags, ...)                                                                                                 \
  OP(Name, "handle: " handle "; flow_in: float -> value: dtype; lengths: int64", "dtype: type; element_shape_except0: shape = ?", Flags, \
     infer_concat, grad_concat, reads_joined, "all elements joined along their first axis, and how long each was", __VA_ARGS__)
#define SPLIT(Name, handle, Flags, ...)                                                                                                  \
  OP(Name, "handle: " handle "; value: T; lengths: int64; flow_in: float -> flow_out: float", "T: type", Flags, infer_split, grad_split, \
     writes_pieces, "array[i] = the next lengths[i] rows of value", __VA_ARGS__)
GATHER(TensorArrayGather, "Ref(string)", HR_OP_SIDE_EFFECT, .deprecated = 16, .deprecated_why = "Use TensorArrayGatherV3");
GATHER(TensorArrayGatherV2, "string", HR_OP_SIDE_EFFECT, .deprecated = 26, .deprecated_why = "Use TensorArrayGatherV3");
GATHER(TensorArrayGatherV3, "resource", HR_OP_STATEFUL, );
SCATTER(TensorArrayScatter, "Ref(string)", HR_OP_SIDE_EFFECT, .deprecated = 19, .deprecated_why = "Use TensorArrayGradV3");
SCATTER(TensorArrayScatterV2, "string", HR_OP_SIDE_EFFECT, .deprecated = 26, .deprecated_why = "Use TensorArrayScatterV3");
SCATTER(TensorArrayScatterV3, "resource", HR_OP_STATEFUL, );
CONCAT(TensorArrayConcat, "Ref(string)", HR_OP_SIDE_EFFECT, .deprecated = 16, .deprecated_why = "Use TensorArrayGradV3");
CONCAT(TensorArrayConcatV2, "string", HR_OP_SIDE_EFFECT, );
CONCAT(TensorArrayConcatV3, "resource", HR_OP_STATEFUL, );
SPLIT(TensorArraySplit, "Ref(string)", HR_OP_SIDE_EFFECT, .deprecated = 16, .deprecated_why = "Use TensorArraySplitV3");
SPLIT(TensorArraySplitV2, "string", HR_OP_SIDE_EFFECT, .deprecated = 26, .deprecated_why = "Use TensorArraySplitV3");
SPLIT(TensorArraySplitV3, "resource", HR_OP_STATEFUL, );
OP(TensorArrayPack, "handle: Ref(string); flow_in: float -> value: dtype", "dtype: type; element_shape: shape = ?", HR_OP_SIDE_EFFECT,
   infer_pack, NULL, reads_stacked, "all elements as rows", .deprecated = 16, .deprecated_why = "Use TensorArrayGatherV3 with RangeOp");
OP(TensorArrayUnpack, "handle: Ref(string); value: T; flow_in: float -> flow_out: float", "T: type", HR_OP_SIDE_EFFECT, infer_unpack, NULL,
   writes_rows, "array[i] = value[i] for all rows", .deprecated = 20, .deprecated_why = "Use TensorArrayScatterV3 with RangeOp");
