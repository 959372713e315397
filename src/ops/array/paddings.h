/* SPDX-License-Identifier: Apache-2.0 */
/* The paddings input of Pad, MirrorPad and theirs: a matrix of {before, after} per axis, none negative. */
#ifndef HR_OPS_ARRAY_PADDINGS_H
#define HR_OPS_ARRAY_PADDINGS_H
#include "op/infer.h"

typedef struct {
  int64_t before[HR_MAX_RANK], after[HR_MAX_RANK];
  hr_shape_t padded; /* the shape with the frame */
} hr_paddings_t;

HR_MUST_USE hr_status_t hr_paddings_read(const hr_tensor_t* paddings, const hr_shape_t* shape, hr_paddings_t* out);
/* Shape function: input 0 with the frame that input 1 says, as far as known. */
HR_MUST_USE hr_status_t hr_paddings_infer(hr_infer_t* s);
/* The reverse: input 0 is the one with the frame. */
HR_MUST_USE hr_status_t hr_paddings_infer_without(hr_infer_t* s);
#endif
