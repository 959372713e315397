/* SPDX-License-Identifier: Apache-2.0 */
/* The object behind TensorArrays: a row of tensors of one type, each written once and (clear_after_read) read once. A gradient's array
 * adds up what is written to one place, and an unwritten place whose shape is known reads as zeros. Values are shared with their writers
 * and readers, never copied. Thread-safe. */
#ifndef HR_OPS_FLOW_TENSOR_ARRAY_H
#define HR_OPS_FLOW_TENSOR_ARRAY_H
#include "base/vec.h"
#include "ops/flow/step_object.h"

typedef struct hr_tensor_array hr_tensor_array_t;
typedef void (*hr_sum_loop_t)(const void* x, const void* y, void* sum, int64_t n);

typedef struct {
  hr_dtype_t dtype;
  int64_t size;
  const hr_pshape_t* element_shape;
  bool is_dynamic, clears, is_identical; /* dynamic_size, clear_after_read, identical_element_shapes */
} hr_tensor_array_form_t;

HR_MUST_USE hr_status_t hr_tensor_array_create(const hr_tensor_array_form_t* form, hr_tensor_array_t** out);
/* The array that input 0 names, a reference of the caller's. */
HR_MUST_USE hr_status_t hr_tensor_array_input(const hr_kernel_ctx_t* k, hr_tensor_array_t** out);
static inline void hr_tensor_array_release(hr_tensor_array_t* a) { hr_resource_release((hr_resource_t*)a); }
static inline hr_flow_object_t* hr_tensor_array_object(hr_tensor_array_t* a) { return (hr_flow_object_t*)a; }
hr_dtype_t hr_tensor_array_dtype(const hr_tensor_array_t* a);

/* Of every call: INVALID_ARGUMENT says what was against the rules, and nothing changed. */
/* Shares `t`. loop: adds (a gradient's array only; NULL: the type has no sum). */
HR_MUST_USE hr_status_t hr_tensor_array_write(hr_tensor_array_t* a, int64_t index, const hr_tensor_t* t, hr_sum_loop_t loop);
HR_MUST_USE hr_status_t hr_tensor_array_read(hr_tensor_array_t* a, int64_t index, hr_tensor_t* out);
/* Several at once; `indices` NULL: 0..count-1. values: zeroed by the caller, who releases them whatever the status. */
HR_MUST_USE hr_status_t hr_tensor_array_read_many(hr_tensor_array_t* a, const int32_t* indices, int64_t count, hr_tensor_t* values);
HR_MUST_USE hr_status_t hr_tensor_array_size(hr_tensor_array_t* a, int64_t* out);
/* For a write of places 0..count-1: an array that may grow does, another must have `count` (exactly, if so asked). */
HR_MUST_USE hr_status_t hr_tensor_array_fit(hr_tensor_array_t* a, int64_t count, bool exactly);
HR_MUST_USE hr_status_t hr_tensor_array_reach(hr_tensor_array_t* a, int64_t index); /* the array has it, or may grow */
/* How many elements a pack or concat takes: all; a gradient's array as many as the forward one was filled with (split, unpack), or had when
 * it was packed. */
HR_MUST_USE hr_status_t hr_tensor_array_pack_size(hr_tensor_array_t* a, int64_t* out);
/* What a reader knows of all elements narrows what is known (unwritten ones may be read as zeros then). */
HR_MUST_USE hr_status_t hr_tensor_array_merge_shape(hr_tensor_array_t* a, const hr_pshape_t* shape);
HR_MUST_USE hr_status_t hr_tensor_array_close(hr_tensor_array_t* a);
/* The gradient array of `a` for `source`, a reference of the caller's. Made at the first call, from which on `a` grows no more; `add` then
 * gives it to the step, seen by nobody before. prepend: dims in front of each element's. */
HR_MUST_USE hr_status_t hr_tensor_array_gradient(hr_tensor_array_t* a, hr_str_t source, const hr_shape_t* prepend,
                                                 hr_status_t (*add)(void* arg, hr_tensor_array_t* made), void* arg, bool* out_made,
                                                 hr_tensor_array_t** out);
#endif
