/* SPDX-License-Identifier: Apache-2.0 */
/* Shape functions that many ops share; each is named in the op's row. */
#ifndef HR_OP_INFER_FNS_H
#define HR_OP_INFER_FNS_H
#include "op/infer.h"
hr_status_t hr_infer_same(hr_infer_t*);        /* every output like input 0; handles too */
hr_status_t hr_infer_merged(hr_infer_t*);      /* every output like all inputs merged */
hr_status_t hr_infer_broadcasted(hr_infer_t*); /* every output: inputs 0 and 1 broadcast */
hr_status_t hr_infer_scalars(hr_infer_t*);     /* every output a scalar */
hr_status_t hr_infer_none(hr_infer_t*);        /* no outputs */
hr_status_t hr_infer_any(hr_infer_t*);         /* outputs unknown: only where TensorFlow promises nothing either */
hr_status_t hr_infer_from_attr(hr_infer_t*);   /* every output: attr "shape" */
hr_status_t hr_infer_shape_given(hr_infer_t*); /* output 0: as the value of input 0, a vector, says */
/* dst = broadcast of two partial shapes. */
HR_MUST_USE hr_status_t hr_infer_broadcast_partial(hr_infer_t*, const hr_pshape_t* a, const hr_pshape_t* b, const hr_pshape_t** out);
#endif
