/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients with all that TF_AddGradients lacks: where to stop, sparse results, gradients of the caller's own for chosen operations.
 *
 * A gradient of a gather is naturally a few rows of a large table: with keep_slices it comes as (indices, values, dense_shape), where
 * row values[j] belongs to row indices[j] and rows that occur twice add up; without, it is made dense. */
#ifndef HEADRACE_GRADIENTS_H_
#define HEADRACE_GRADIENTS_H_
#include "headrace/op.h"
#include "tensorflow/c/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct HR_Gradient {
  TF_Output dense;                         /* {NULL, -1} when it came as slices, or when no y depends on this x */
  TF_Output indices, values, dense_shape;  /* of slices, else {NULL, -1} */
  TF_Bool is_slices;
} HR_Gradient;

/* Differentiates one operation in place of its registered gradient: reads and emits through ctx as in headrace/op.h. Returns 0, having
 * emitted nothing, to leave the operation to its own gradient. The graph is locked meanwhile: only functions that take ctx, and those
 * that look at an operation, may be called. A failure goes to HR_GradFail. */
typedef TF_Bool (*HR_GradientOverride)(void* arg, HR_GradContext* ctx, TF_Operation* oper);

typedef struct HR_GradientRequest {
  size_t struct_size;          /* HR_GRADIENT_REQUEST_STRUCT_SIZE; what it does not cover counts as zero */
  const char* prefix;          /* name scope of the new operations, made unique; NULL or "": "gradients" */
  const TF_Output* ys;         /* the sum of all of them is differentiated */
  int y_count;
  const TF_Output* xs;
  int x_count;
  const TF_Output* upstream;   /* dL/dy, one a y; NULL, or entries with oper NULL: ones */
  const TF_Output* stops;      /* taken as constants: nothing flows through them */
  int stop_count;
  TF_Bool keep_slices;
  HR_GradientOverride override;
  void* override_arg;
} HR_GradientRequest;
#define HR_GRADIENT_REQUEST_STRUCT_SIZE TF_OFFSET_OF_END(HR_GradientRequest, override_arg)

/* Fills out[0 .. x_count). INVALID_ARGUMENT for endpoints of another graph; a failure names an operation on the way that has no
 * gradient. On failure operations added so far stay in the graph, unused. */
TF_CAPI_EXPORT void HR_AddGradients(TF_Graph* graph, const HR_GradientRequest* request, HR_Gradient* out, TF_Status* status);

#ifdef __cplusplus
}
#endif
#endif
