/* SPDX-License-Identifier: Apache-2.0 */
/* Axes run backwards: Reverse (a flag per axis), ReverseV2 (a list of axes), ReverseSequence (per entry of the batch axis the first
 * seq_lengths[b] positions of the sequence axis). */
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/array/move.h"
#include "tensor/iterate.h"

extern const hr_op_t hr_op_Reverse, hr_op_ReverseV2, hr_op_ReverseSequence;

enum { MOST_FLAGS = 8 }; /* axes that Reverse takes, as in TensorFlow; the other two have no such limit */

/* 1. the rules */
/* The listed axes as a mask. */
static hr_status_t listed_axes(const hr_tensor_t* list, int rank, uint32_t* out_mask) {
  uint32_t mask = 0;
  for (int64_t i = 0; i < list->count; ++i) {
    int64_t wanted;
    int axis;
    HR_TRY(hr_tensor_i64_at(list, i, &wanted));
    HR_TRY(hr_shape_axis(wanted, rank, &axis));
    if (mask >> axis & 1) return HR_ERROR(INVALID_ARGUMENT, "axis %d specified more than once", axis);
    mask |= UINT32_C(1) << axis;
  }
  *out_mask = mask;
  return NULL;
}

static hr_status_t sequence_axes(int64_t seq_value, int64_t batch_value, int rank, int* seq, int* batch) {
  if (seq_value < 0 || seq_value >= rank)
    return HR_ERROR(INVALID_ARGUMENT, "seq_dim must be < input rank (%lld vs. %d) and not negative", (long long)seq_value, rank);
  if (batch_value < 0 || batch_value >= rank)
    return HR_ERROR(INVALID_ARGUMENT, "batch_dim must be < input rank (%lld vs. %d) and >= 0", (long long)batch_value, rank);
  *seq = (int)seq_value;
  *batch = (int)batch_value;
  if (*seq == *batch) return HR_ERROR(INVALID_ARGUMENT, "batch_dim == seq_dim == %d, but they must differ", *seq);
  return NULL;
}

/* 2. shapes */
static hr_status_t infer_flags(hr_infer_t* s) {
  const hr_pshape_t* x = hr_infer_input(s, 0);
  HR_TRY(hr_infer_want_rank(s, 1, 1, NULL));
  HR_TRY(hr_infer_want_rank_at_most(s, 0, MOST_FLAGS));
  const int64_t length = hr_infer_dim(hr_infer_input(s, 1), 0);
  if (x->rank >= 0 && length >= 0 && x->rank != length)
    return HR_ERROR(INVALID_ARGUMENT, "dims has %lld flags for an input of rank %d", (long long)length, x->rank);
  return hr_infer_same(s);
}

static hr_status_t infer_list(hr_infer_t* s) {
  const hr_pshape_t* x = hr_infer_input(s, 0);
  const hr_tensor_t* list = hr_infer_const(s, 1);
  uint32_t mask;
  HR_TRY(hr_infer_want_rank(s, 1, 1, NULL));
  if (list && x->rank >= 0 && x->rank <= HR_MAX_RANK) HR_TRY(listed_axes(list, x->rank, &mask));
  return hr_infer_same(s);
}

static hr_status_t infer_sequence(hr_infer_t* s) {
  const hr_pshape_t *x = hr_infer_input(s, 0), *lengths;
  int seq, batch;
  int64_t merged, dims[254];
  HR_TRY(hr_infer_want_rank(s, 1, 1, &lengths));
  hr_infer_set(s, 0, x);
  if (x->rank < 0 || x->rank > 254) return NULL;
  HR_TRY(sequence_axes(hr_attrs_int(hr_infer_attrs(s), "seq_dim"), hr_attrs_int(hr_infer_attrs(s), "batch_dim"), x->rank, &seq, &batch));
  HR_TRY(hr_infer_merge_dim(x->dims[batch], hr_infer_dim(lengths, 0), &merged));
  for (int d = 0; d < x->rank; ++d) dims[d] = d == batch ? merged : x->dims[d];
  return hr_infer_set_dims(s, 0, x->rank, dims);
}

/* 3. kernels */
static hr_status_t reverse_axes(hr_kernel_ctx_t* k, uint32_t mask) {
  const hr_tensor_t* x = hr_input(k, 0);
  hr_tensor_t* y;
  int64_t steps[HR_MAX_RANK];
  hr_move_t m = {.rank = 0};
  bool moves = false;
  for (int d = 0; d < x->shape.rank; ++d) moves = moves || (mask >> d & 1 && x->shape.dims[d] > 1);
  if (!moves) {
    hr_shape_t same;
    hr_shape_copy(&same, &x->shape);
    return hr_output_alias(k, 0, 0, &same);
  }
  HR_TRY(hr_output(k, 0, &x->shape, &y));
  hr_iterate_strides(&x->shape, steps);
  for (int d = 0; d < x->shape.rank; ++d) {
    const bool back = mask >> d & 1;
    if (back) m.from_start += (x->shape.dims[d] - 1) * steps[d];
    HR_TRY(hr_move_axis(&m, x->shape.dims[d], steps[d], back ? -steps[d] : steps[d]));
  }
  return hr_move_run(k, &m, y, x);
}

static hr_status_t reverse_flags(hr_kernel_ctx_t* k) {
  const hr_tensor_t *x = hr_input(k, 0), *flags = hr_input(k, 1);
  uint32_t mask = 0;
  if (x->shape.rank == 0) return reverse_axes(k, 0); /* whatever the flags */
  HR_TRY(hr_want_vector(k, 1, "dims"));
  if (x->shape.dims[0] == 0) return HR_ERROR(INVALID_ARGUMENT, "Invalid input first dimension. Found 0; ReverseV2 takes such an input");
  if (flags->count != x->shape.rank)
    return HR_ERROR(INVALID_ARGUMENT, "dims has %lld flags for an input of rank %d", (long long)flags->count, (int)x->shape.rank);
  if (x->shape.rank > MOST_FLAGS)
    return HR_ERROR(UNIMPLEMENTED, "reverse of rank %d; at most %d is supported, ReverseV2 takes more", (int)x->shape.rank, MOST_FLAGS);
  for (int d = 0; d < x->shape.rank; ++d) mask |= (uint32_t)((const bool*)flags->data)[d] << d;
  return reverse_axes(k, mask);
}

static hr_status_t reverse_list(hr_kernel_ctx_t* k) {
  uint32_t mask;
  if (hr_input(k, 0)->shape.rank == 0 || hr_input(k, 0)->count == 0) return reverse_axes(k, 0); /* whatever the axes */
  HR_TRY(hr_want_vector(k, 1, "axis"));
  HR_TRY(listed_axes(hr_input(k, 1), hr_input(k, 0)->shape.rank, &mask));
  return reverse_axes(k, mask);
}

typedef struct {
  int64_t seq, batch;
} sequence_t;
static hr_status_t sequence_prepare(hr_prepare_ctx_t* p, void* prepared) {
  *(sequence_t*)prepared = (sequence_t){hr_attrs_int(p->attrs, "seq_dim"), hr_attrs_int(p->attrs, "batch_dim")};
  return NULL;
}

/* Entry `at` of the batch axis: positions [from, to) of the sequence axis, backwards or as they are. */
static hr_status_t move_positions(hr_kernel_ctx_t* k, hr_tensor_t* y, int seq, int batch, int64_t at, int64_t from, int64_t to, bool back) {
  const hr_tensor_t* x = hr_input(k, 0);
  int64_t steps[HR_MAX_RANK];
  if (from == to) return NULL;
  hr_iterate_strides(&x->shape, steps);
  hr_move_t m = {.to_start = at * steps[batch] + from * steps[seq], .from_start = at * steps[batch] + (back ? to - 1 : from) * steps[seq]};
  for (int d = 0; d < x->shape.rank; ++d)
    if (d != batch) HR_TRY(hr_move_axis(&m, d == seq ? to - from : x->shape.dims[d], steps[d], d == seq && back ? -steps[d] : steps[d]));
  return hr_move_run(k, &m, y, x);
}

static hr_status_t reverse_sequence(hr_kernel_ctx_t* k) {
  const hr_tensor_t *x = hr_input(k, 0), *lengths = hr_input(k, 1);
  const sequence_t* q = hr_prepared(k);
  int seq, batch;
  hr_tensor_t* y;
  HR_TRY(hr_want_vector(k, 1, "seq_lengths must be 1-dim, not of shape "));
  HR_TRY(sequence_axes(q->seq, q->batch, x->shape.rank, &seq, &batch));
  if (lengths->count != x->shape.dims[batch])
    return HR_ERROR(INVALID_ARGUMENT, "Length of seq_lengths != input.dims(%d), (%lld vs. %lld)", batch, (long long)lengths->count,
                    (long long)x->shape.dims[batch]);
  for (int64_t b = 0; b < lengths->count; ++b) {
    int64_t length;
    HR_TRY(hr_tensor_i64_at(lengths, b, &length));
    if (length < 0 || length > x->shape.dims[seq])
      return length < 0 ? HR_ERROR(INVALID_ARGUMENT, "seq_lens(%lld) < 0: it is %lld", (long long)b, (long long)length)
                        : HR_ERROR(INVALID_ARGUMENT, "seq_lens(%lld) > input.dims(%d): %lld > %lld", (long long)b, seq, (long long)length,
                                   (long long)x->shape.dims[seq]);
  }
  HR_TRY(hr_output(k, 0, &x->shape, &y));
  for (int64_t b = 0; b < lengths->count; ++b) {
    int64_t length;
    HR_TRY(hr_tensor_i64_at(lengths, b, &length));
    HR_TRY(move_positions(k, y, seq, batch, b, 0, length, true));
    HR_TRY(move_positions(k, y, seq, batch, b, length, x->shape.dims[seq], false));
  }
  return NULL;
}

/* 4. gradients: dy reversed the same way */
static void grad_flags(hr_grad_ctx_t* g) { hr_grad_give(g, 0, hr_emit2(g, "Reverse", hr_grad_upstream(g, 0), hr_grad_input(g, 1))); }
static void grad_list(hr_grad_ctx_t* g) { hr_grad_give(g, 0, hr_emit2(g, "ReverseV2", hr_grad_upstream(g, 0), hr_grad_input(g, 1))); }
static void grad_sequence(hr_grad_ctx_t* g) {
  const hr_node_attrs_t* attrs = hr_grad_attrs(g);
  hr_grad_give(
      g, 0,
      hr_emit(g, "ReverseSequence", HR_VALUES(hr_grad_upstream(g, 0), hr_grad_input(g, 1)),
              HR_ATTRS(hr_at_int("seq_dim", hr_attrs_int(attrs, "seq_dim")), hr_at_int("batch_dim", hr_attrs_int(attrs, "batch_dim")))));
}

/* 5. definitions */
#define REVERSIBLE "uint8,int8,uint16,int16,int32,uint32,int64,uint64,bool,bfloat16,half,float,double,complex64,complex128,string"
const hr_op_t hr_op_Reverse = {.name = "Reverse",
                               .sig = "tensor: T; dims: bool -> output: T",
                               .attrs = "T: type{" REVERSIBLE "}",
                               .shape = infer_flags,
                               .grad = grad_flags,
                               HR_KERNELS({.host_inputs = 2, .compute = reverse_flags}),
                               .doc = "the flagged axes run backwards",
                               HR_HERE};

const hr_op_t hr_op_ReverseV2 = {.name = "ReverseV2",
                                 .sig = "tensor: T; axis: Tidx -> output: T",
                                 .attrs = "Tidx: type{int32,int64} = int32; T: type{" REVERSIBLE "}",
                                 .shape = infer_list,
                                 .grad = grad_list,
                                 HR_KERNELS({.host_inputs = 2, .compute = reverse_list}),
                                 .doc = "the listed axes run backwards",
                                 HR_HERE};

const hr_op_t hr_op_ReverseSequence = {
    .name = "ReverseSequence",
    .sig = "input: T; seq_lengths: Tlen -> output: T",
    .attrs = "seq_dim: int; batch_dim: int = 0; T: type; Tlen: type{int32,int64} = int64",
    .shape = infer_sequence,
    .grad = grad_sequence,
    HR_KERNELS({.prepared_bytes = sizeof(sequence_t), .prepare = sequence_prepare, .compute = reverse_sequence}),
    .doc = "the first seq_lengths[b] positions of entry b run backwards",
    HR_HERE};
