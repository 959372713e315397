/* SPDX-License-Identifier: Apache-2.0 */
/* Strided and broadcast iteration: the one place that collapses axes and walks operands, shared by element-wise, transpose, slice,
 * pad, reduce and broadcast kernels. */
#ifndef HR_TENSOR_ITERATE_H
#define HR_TENSOR_ITERATE_H
#include "tensor/shape.h"

enum { HR_ITERATE_OPERANDS = 4 };

/* A nest of loops over up to HR_MAX_RANK axes, outermost first, adjacent axes merged where all operands allow it. Strides count
 * elements; 0 repeats an operand along an axis. The last axis is the inner loop. */
typedef struct {
  int rank; /* >= 1 after making: a scalar is one axis of size 1 */
  int operands;
  int64_t dims[HR_MAX_RANK];
  int64_t strides[HR_ITERATE_OPERANDS][HR_MAX_RANK];
} hr_iterate_t;

/* From an output shape and operands that broadcast to it (operand shapes must; checked before by hr_shape_broadcast). Operand 0 is usually
 * the output itself. */
void hr_iterate_broadcast(hr_iterate_t* it, const hr_shape_t* out, int operands, const hr_shape_t* const* shapes);
/* From explicit strides (elements) over dims. */
void hr_iterate_strided(hr_iterate_t* it, int rank, const int64_t* dims, int operands, const int64_t* const* strides);
int64_t hr_iterate_rows(const hr_iterate_t* it); /* iterations of all loops but the inner one */
/* Offsets of the operands at the start of row r, 0 <= r < rows. */
void hr_iterate_seek(const hr_iterate_t* it, int64_t row, int64_t index[HR_MAX_RANK], int64_t offset[HR_ITERATE_OPERANDS]);
/* To the next row; cheap. */
void hr_iterate_step(const hr_iterate_t* it, int64_t index[HR_MAX_RANK], int64_t offset[HR_ITERATE_OPERANDS]);
/* Row-major strides of a shape, in elements. */
void hr_iterate_strides(const hr_shape_t* s, int64_t strides[HR_MAX_RANK]);
#endif
