/* SPDX-License-Identifier: Apache-2.0 */
/* An op library of somebody else: op "TestCube" (y = x^3 + bias), its shape function, kernel and gradient, through the public headers. */
#include "headrace/op.h"
#include "tensorflow/c/kernels.h"
#include "tensorflow/c/ops.h"

#include <stdlib.h>

static void cube_shape(TF_ShapeInferenceContext* ctx, TF_Status* status) {
  TF_ShapeHandle* shape = TF_NewShapeHandle();
  TF_ShapeInferenceContextGetInput(ctx, 0, shape, status);
  if (TF_GetCode(status) == TF_OK) TF_ShapeInferenceContextWithRankAtMost(ctx, shape, 2, shape, status);
  if (TF_GetCode(status) == TF_OK) TF_ShapeInferenceContextSetOutput(ctx, 0, shape, status);
  TF_DeleteShapeHandle(shape);
}

static void* cube_create(TF_OpKernelConstruction* ctx) {
  TF_Status* status = TF_NewStatus();
  float* bias = malloc(sizeof *bias);
  TF_OpKernelConstruction_GetAttrFloat(ctx, "bias", bias, status);
  if (TF_GetCode(status) != TF_OK) TF_OpKernelConstruction_Failure(ctx, status);
  TF_DeleteStatus(status);
  return bias;
}

static void cube_compute(void* kernel, TF_OpKernelContext* ctx) {
  TF_Status* status = TF_NewStatus();
  TF_Tensor *x = NULL, *y = NULL;
  int64_t dims[8];
  TF_GetInput(ctx, 0, &x, status);
  if (TF_GetCode(status) == TF_OK) {
    for (int i = 0; i < TF_NumDims(x); ++i) dims[i] = TF_Dim(x, i);
    y = TF_AllocateOutput(ctx, 0, TF_FLOAT, dims, TF_NumDims(x), TF_TensorByteSize(x), status);
  }
  if (TF_GetCode(status) == TF_OK) {
    const float* from = TF_TensorData(x);
    float* to = TF_TensorData(y);
    for (int64_t i = 0; i < TF_TensorElementCount(x); ++i) to[i] = from[i] * from[i] * from[i] + *(float*)kernel;
  } else {
    TF_OpKernelContext_Failure(ctx, status);
  }
  TF_DeleteTensor(x);
  TF_DeleteTensor(y);
  TF_DeleteStatus(status);
}

static void cube_grad(HR_GradContext* g) { /* 3 x^2 dy */
  TF_Output square = HR_Emit1(g, "Square", HR_GradInput(g, 0));
  HR_GradGive(g, 0, HR_Emit2(g, "Mul", HR_EmitScale(g, square, 3), HR_GradUpstream(g, 0)));
}

void TF_InitKernel(void) {
  TF_Status* status = TF_NewStatus();
  TF_OpDefinitionBuilder* op = TF_NewOpDefinitionBuilder("TestCube");
  TF_OpDefinitionBuilderAddAttr(op, "bias: float = 0.0");
  TF_OpDefinitionBuilderAddInput(op, "x: float");
  TF_OpDefinitionBuilderAddOutput(op, "y: float");
  TF_OpDefinitionBuilderSetShapeInferenceFunction(op, cube_shape);
  TF_RegisterOpDefinition(op, status);
  if (TF_GetCode(status) == TF_OK)
    TF_RegisterKernelBuilder("TestCube", TF_NewKernelBuilder("TestCube", "CPU", cube_create, cube_compute, free), status);
  if (TF_GetCode(status) == TF_OK) HR_RegisterGradient("TestCube", cube_grad, status);
  TF_DeleteStatus(status);
}
