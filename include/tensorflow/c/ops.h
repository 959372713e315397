/* SPDX-License-Identifier: Apache-2.0 */
/* Defining an op at run time: its signature, and the shape function that runs when a node of it is added.
 *
 *   TF_OpDefinitionBuilder* b = TF_NewOpDefinitionBuilder("Cube");
 *   TF_OpDefinitionBuilderAddAttr(b, "T: {float, double}");
 *   TF_OpDefinitionBuilderAddInput(b, "x: T");
 *   TF_OpDefinitionBuilderAddOutput(b, "y: T");
 *   TF_RegisterOpDefinition(b, status);
 *
 * Specs are written as TensorFlow's op definitions are: "name: type", "name: N * T", "name: Ref(T)"; "name: {float, int32} = DT_FLOAT",
 * "name: int >= 1 = 3", "name: list(string)", "name: type". A kernel comes from kernels.h, a gradient from headrace/op.h.
 *
 * Shape and dimension handles are small objects of the caller's, filled by the functions that take one as `result`; a result must have
 * been made by TF_NewShapeHandle or TF_NewDimensionHandle. Handles are only meaningful inside one call of the shape function. */
#ifndef TENSORFLOW_C_OPS_H_
#define TENSORFLOW_C_OPS_H_
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/tf_datatype.h"
#include "tensorflow/c/tf_status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TF_DimensionHandle TF_DimensionHandle;
typedef struct TF_OpDefinitionBuilder TF_OpDefinitionBuilder;
typedef struct TF_ShapeHandle TF_ShapeHandle;
typedef struct TF_ShapeInferenceContext TF_ShapeInferenceContext;

/* op_name begins with a capital letter. The builder goes to TF_RegisterOpDefinition or TF_DeleteOpDefinitionBuilder. */
TF_CAPI_EXPORT TF_OpDefinitionBuilder* TF_NewOpDefinitionBuilder(const char* op_name);
/* Consumes the builder, also on failure. INVALID_ARGUMENT for specs that do not parse, ALREADY_EXISTS for a name that is taken. */
TF_CAPI_EXPORT void TF_RegisterOpDefinition(TF_OpDefinitionBuilder* builder, TF_Status* status);
TF_CAPI_EXPORT void TF_DeleteOpDefinitionBuilder(TF_OpDefinitionBuilder* builder); /* one that was not registered */
TF_CAPI_EXPORT void TF_OpDefinitionBuilderAddAttr(TF_OpDefinitionBuilder* builder, const char* attr_spec);     /* before what names it */
TF_CAPI_EXPORT void TF_OpDefinitionBuilderAddInput(TF_OpDefinitionBuilder* builder, const char* input_spec);   /* in order */
TF_CAPI_EXPORT void TF_OpDefinitionBuilderAddOutput(TF_OpDefinitionBuilder* builder, const char* output_spec); /* in order */
TF_CAPI_EXPORT void TF_OpDefinitionBuilderSetIsCommutative(TF_OpDefinitionBuilder* builder, bool is_commutative); /* op(a, b) is op(b, a) */
TF_CAPI_EXPORT void TF_OpDefinitionBuilderSetIsAggregate(TF_OpDefinitionBuilder* builder, bool is_aggregate);     /* like AddN */
/* Results depend on more than inputs and attrs: never folded, merged or shared; kernels live as long as their session. */
TF_CAPI_EXPORT void TF_OpDefinitionBuilderSetIsStateful(TF_OpDefinitionBuilder* builder, bool is_stateful);
/* Reference inputs may be variables without a value. */
TF_CAPI_EXPORT void TF_OpDefinitionBuilderSetAllowsUninitializedInput(TF_OpDefinitionBuilder* builder, bool allows_uninitialized_input);
/* Refused in graphs of this version or later, for this reason. */
TF_CAPI_EXPORT void TF_OpDefinitionBuilderDeprecated(TF_OpDefinitionBuilder* builder, int version, const char* explanation);
/* Called for every node added: sets each output's shape, or leaves it unknown, or fails through status. */
TF_CAPI_EXPORT void TF_OpDefinitionBuilderSetShapeInferenceFunction(TF_OpDefinitionBuilder* builder,
                                                                    void (*shape_inference_func)(TF_ShapeInferenceContext* ctx,
                                                                                                 TF_Status* status));

/* --- inside a shape function -------------------------------------------------------------------------------------------------------- */
TF_CAPI_EXPORT int64_t TF_ShapeInferenceContextNumInputs(TF_ShapeInferenceContext* ctx); /* lists counted out */
TF_CAPI_EXPORT TF_ShapeHandle* TF_NewShapeHandle(void);                                  /* unknown rank; TF_DeleteShapeHandle */
/* The shape of input i into handle; INVALID_ARGUMENT for an input that is none. */
TF_CAPI_EXPORT void TF_ShapeInferenceContextGetInput(TF_ShapeInferenceContext* ctx, int i, TF_ShapeHandle* handle, TF_Status* status);
/* copies */
TF_CAPI_EXPORT void TF_ShapeInferenceContextSetOutput(TF_ShapeInferenceContext* ctx, int i, TF_ShapeHandle* handle, TF_Status* status);
TF_CAPI_EXPORT TF_ShapeHandle* TF_ShapeInferenceContextScalar(TF_ShapeInferenceContext* ctx);                      /* new: delete it */
TF_CAPI_EXPORT TF_ShapeHandle* TF_ShapeInferenceContextVectorFromSize(TF_ShapeInferenceContext* ctx, size_t size); /* new: delete it */
TF_CAPI_EXPORT TF_DimensionHandle* TF_NewDimensionHandle(void);                                                    /* unknown */
TF_CAPI_EXPORT void TF_ShapeInferenceContext_GetAttrType(TF_ShapeInferenceContext* ctx, const char* attr_name, TF_DataType* val,
                                                         TF_Status* status); /* of the node */
TF_CAPI_EXPORT int64_t TF_ShapeInferenceContextRank(TF_ShapeInferenceContext* ctx, TF_ShapeHandle* handle); /* -1: unknown */
TF_CAPI_EXPORT int TF_ShapeInferenceContextRankKnown(TF_ShapeInferenceContext* ctx, TF_ShapeHandle* handle);
/* result: the shape, its rank now known to be `rank`; INVALID_ARGUMENT when it is another. */
TF_CAPI_EXPORT void TF_ShapeInferenceContextWithRank(TF_ShapeInferenceContext* ctx, TF_ShapeHandle* handle, int64_t rank,
                                                     TF_ShapeHandle* result, TF_Status* status);
TF_CAPI_EXPORT void TF_ShapeInferenceContextWithRankAtLeast(TF_ShapeInferenceContext* ctx, TF_ShapeHandle* handle, int64_t rank,
                                                            TF_ShapeHandle* result, TF_Status* status); /* result: the shape */
TF_CAPI_EXPORT void TF_ShapeInferenceContextWithRankAtMost(TF_ShapeInferenceContext* ctx, TF_ShapeHandle* handle, int64_t rank,
                                                           TF_ShapeHandle* result, TF_Status* status); /* result: the shape */
/* Dim i (negative: from the end) into result; unknown when the rank is, or for a dim that is not there. */
TF_CAPI_EXPORT void TF_ShapeInferenceContextDim(TF_ShapeInferenceContext* ctx, TF_ShapeHandle* shape_handle, int64_t i,
                                                TF_DimensionHandle* result);
/* Dims [start, end) into result; negative ones count from the end, end beyond the rank is the rank. */
TF_CAPI_EXPORT void TF_ShapeInferenceContextSubshape(TF_ShapeInferenceContext* ctx, TF_ShapeHandle* shape_handle, int64_t start,
                                                     int64_t end, TF_ShapeHandle* result, TF_Status* status);
TF_CAPI_EXPORT void TF_ShapeInferenceContextSetUnknownShape(TF_ShapeInferenceContext* ctx, TF_Status* status); /* for every output */
TF_CAPI_EXPORT int TF_DimensionHandleValueKnown(TF_DimensionHandle* dim_handle);
TF_CAPI_EXPORT int64_t TF_DimensionHandleValue(TF_DimensionHandle* dim_handle); /* -1: unknown */
/* first's dims, then second's; unknown rank when either is. */
TF_CAPI_EXPORT void TF_ShapeInferenceContextConcatenateShapes(TF_ShapeInferenceContext* ctx, TF_ShapeHandle* first, TF_ShapeHandle* second,
                                                              TF_ShapeHandle* result, TF_Status* status);
TF_CAPI_EXPORT void TF_DeleteShapeHandle(TF_ShapeHandle* handle);         /* accepts NULL */
TF_CAPI_EXPORT void TF_DeleteDimensionHandle(TF_DimensionHandle* handle); /* accepts NULL */

#ifdef __cplusplus
}
#endif
#endif
