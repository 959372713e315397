/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that were defined at run time, as the files of capi/ share them. */
#ifndef HR_CAPI_OP_DEF_H
#define HR_CAPI_OP_DEF_H
#include "capi/handles.h"
#include "op/infer.h"
#include "tensorflow/c/ops.h"

struct TF_ShapeInferenceContext {
  hr_infer_t* in;
};

typedef void (*hr_capi_shape_fn_t)(TF_ShapeInferenceContext* ctx, TF_Status* status);

/* Names of ops registered by this thread from now on are collected, for TF_LoadLibrary; returns what was collecting before. */
typedef struct {
  HR_VEC(char*) names; /* each to be freed with hr_free */
  hr_status_t failure;
} hr_capi_op_recorder_t;
hr_capi_op_recorder_t* hr_capi_record_ops(hr_capi_op_recorder_t* recorder);
#endif
