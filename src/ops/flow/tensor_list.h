/* SPDX-License-Identifier: Apache-2.0 */
/* A list of tensors as a value: what the one element of a list's variant tensor refers to (tensor/handle.h). The handle knows the element
 * type and what all elements' shapes have in common. Lists are values: an op that changes one works on a copy, which shares the elements,
 * or in place where nobody else holds the list. */
#ifndef HR_OPS_FLOW_TENSOR_LIST_H
#define HR_OPS_FLOW_TENSOR_LIST_H
#include "op/kernel_ctx.h"

typedef struct {
  int64_t count, room;
  int64_t most;       /* how many there may be; -1: any number */
  hr_tensor_t* items; /* without buffer: not set, which reads as zeros */
} hr_tensor_list_t;

typedef union { /* a partial shape of a kernel's own */
  hr_pshape_t s;
  int64_t space[1 + HR_MAX_RANK];
} hr_tensor_list_shape_t;

bool hr_tensor_list_is(const hr_handle_t* h); /* accepts NULL */
static inline hr_tensor_list_t* hr_tensor_list_in(const hr_handle_t* h) { return h->object; }
HR_MUST_USE hr_status_t hr_tensor_list_create(hr_dtype_t dtype, const hr_pshape_t* shape, int64_t count, int64_t most, hr_handle_t** out);
/* The list of an input; INVALID_ARGUMENT for what is none, or for one of other elements (dtype INVALID: any). Borrowed. */
HR_MUST_USE hr_status_t hr_tensor_list_input(const hr_kernel_ctx_t* k, int input, hr_dtype_t dtype, hr_handle_t** out);
/* An output of its own. */
HR_MUST_USE hr_status_t hr_tensor_list_output(hr_kernel_ctx_t* k, int index, hr_handle_t* take_list);
/* An output that starts as the input's list and may be changed, with room for `count` elements. Borrowed. */
HR_MUST_USE hr_status_t hr_tensor_list_edit(hr_kernel_ctx_t* k, int index, int input, hr_dtype_t dtype, int64_t count, hr_handle_t** out);
HR_MUST_USE hr_status_t hr_tensor_list_copy(const hr_handle_t* from, int64_t count, hr_handle_t** out);
/* Sets an element to a share of the value; INVALID_ARGUMENT for another type or a shape that does not fit: `tried` begins that message. */
HR_MUST_USE hr_status_t hr_tensor_list_set(hr_handle_t* h, int64_t at, const hr_tensor_t* value, const char* tried);
/* The element, zeros if it was not set: its shape must be known then from the list, the value `stated` of an element_shape input and, with
 * `like_others`, other elements. */
HR_MUST_USE hr_status_t hr_tensor_list_get(const hr_handle_t* h, int64_t at, const hr_tensor_t* stated, bool like_others,
                                           hr_tensor_t* out);
/* Takes in what the list's shape says, and those of the set ones of `count` elements at which[i]; NULL: of all. */
HR_MUST_USE hr_status_t hr_tensor_list_merge_shapes(const hr_handle_t* h, int64_t count, const int64_t* which,
                                                    hr_tensor_list_shape_t* into);

/* An element_shape input: a vector, or the scalar -1 for unknown. */
HR_MUST_USE hr_status_t hr_tensor_list_shape_read(const hr_tensor_t* t, hr_tensor_list_shape_t* out);
void hr_tensor_list_shape_of(const hr_pshape_t* s, hr_tensor_list_shape_t* out);
HR_MUST_USE hr_status_t hr_tensor_list_shape_merge(hr_tensor_list_shape_t* into, int rank, const int64_t* dims);
#endif
