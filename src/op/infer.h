/* SPDX-License-Identifier: Apache-2.0 */
/* What a shape function sees: partial shapes of the inputs, the values of inputs that are constant, attrs; and what it sets. Runs when a
 * node is added. Shapes are immutable and shared by pointer; new ones live in the graph's arena. */
#ifndef HR_OP_INFER_H
#define HR_OP_INFER_H
#include "op/op.h"
#include "op/sig.h"
#include "tensor/tensor.h"

int hr_infer_input_count(const hr_infer_t*);
int hr_infer_output_count(const hr_infer_t*);
const hr_pshape_t* hr_infer_input(const hr_infer_t*, int i);     /* never NULL */
hr_dtype_t hr_infer_input_dtype(const hr_infer_t*, int i);
/* The input's value if it is known now (a constant, or computed from constants and known shapes); else NULL. Borrowed for this call. */
const hr_tensor_t* hr_infer_const(hr_infer_t*, int i);
/* An integer vector input read as a shape, as far as known: its constant value, or built from Shape, Pack, ConcatV2, StridedSlice...
 * of partly known shapes; -1 elements are unknown dims. Unknown rank when nothing is known. */
HR_MUST_USE hr_status_t hr_infer_const_as_shape(hr_infer_t*, int i, const hr_pshape_t** out);
/* Sets the outputs to what function f's body gives for the inputs from `first` on (their values count too); unknown where it does not tell.
 * What a body refuses is no error: it may never run. */
HR_MUST_USE hr_status_t hr_infer_set_called(hr_infer_t*, const hr_func_attr_t* f, int first);
/* The same for arguments of these shapes; `out` has room for as many as the node has outputs. */
HR_MUST_USE hr_status_t hr_infer_called(hr_infer_t*, const hr_func_attr_t* f, const hr_pshape_t* const* shapes, const hr_pshape_t** out);
const hr_pshape_t* hr_infer_output(const hr_infer_t*, int output); /* what is set so far */
void hr_infer_set(hr_infer_t*, int output, const hr_pshape_t* shape);

/* Making shapes. Out of memory and overflow are statuses. */
hr_arena_t* hr_infer_arena(hr_infer_t*);
HR_MUST_USE hr_status_t hr_infer_set_dims(hr_infer_t*, int output, int64_t rank, const int64_t* dims); /* makes and sets */
HR_MUST_USE hr_status_t hr_infer_set_vector(hr_infer_t*, int output, int64_t n);                        /* n -1: unknown */
HR_MUST_USE hr_status_t hr_infer_unknown_of_rank(hr_infer_t*, int rank, const hr_pshape_t** out);

/* Checks; INVALID_ARGUMENT names input and shapes. *out (may be NULL) has what is known after the check. */
HR_MUST_USE hr_status_t hr_infer_want_rank(hr_infer_t*, int input, int rank, const hr_pshape_t** out);
HR_MUST_USE hr_status_t hr_infer_want_rank_at_least(hr_infer_t*, int input, int rank, const hr_pshape_t** out);
HR_MUST_USE hr_status_t hr_infer_want_rank_at_most(hr_infer_t*, int input, int rank);
HR_MUST_USE hr_status_t hr_infer_merge(hr_infer_t*, const hr_pshape_t* a, const hr_pshape_t* b, const hr_pshape_t** out);
/* The larger knowledge of two dims (-1 unknown); INVALID_ARGUMENT when they differ. */
HR_MUST_USE hr_status_t hr_infer_merge_dim(int64_t a, int64_t b, int64_t* out);
static inline int64_t hr_infer_dim(const hr_pshape_t* s, int64_t i) { /* negative i counts from the end; -1 when unknown */
  if (s->rank < 0) return -1;
  if (i < 0) i += s->rank;
  return i >= 0 && i < s->rank ? s->dims[i] : -1;
}

/* Attrs by name: the getters of shape, prepare and gradient contexts alike (op/attrs_of.h) work on hr_infer_attrs(). */
const struct hr_node_attrs* hr_infer_attrs(const hr_infer_t*);

/* Types and shapes behind resource handles. dtype INVALID, shape NULL when unknown. */
void hr_infer_handle(const hr_infer_t*, int input, hr_dtype_t* out_dtype, const hr_pshape_t** out_shape);
void hr_infer_set_handle(hr_infer_t*, int output, hr_dtype_t dtype, const hr_pshape_t* shape);
#endif
