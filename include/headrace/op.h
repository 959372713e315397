/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients for ops defined outside the library (tensorflow/c/ops.h, kernels.h), from a shared library of one's own.
 *
 *   static void cube_grad(HR_GradContext* g) {            // y = x^3: dx = 3 x^2 dy
 *     TF_Output x = HR_GradInput(g, 0);
 *     TF_Output square = HR_Emit1(g, "Square", x);
 *     HR_GradGive(g, 0, HR_Emit2(g, "Mul", HR_EmitScale(g, square, 3), HR_GradUpstream(g, 0)));
 *   }
 *   HR_RegisterGradient("Cube", cube_grad, status);
 *
 * A gradient is an emitter: dL/d(outputs) come in, it adds operations to the graph and gives dL/d(inputs). Errors stick: after the first
 * failure every function gives the null value {NULL, -1} (which all accept) and the whole call fails with that status, so formulas need
 * no checks. The graph is locked while a gradient runs: no function of the C API that takes the graph may be called from it. */
#ifndef HEADRACE_OP_H_
#define HEADRACE_OP_H_
#include "tensorflow/c/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hr_grad_ctx HR_GradContext; /* lives for the call */
typedef void (*HR_GradFunction)(HR_GradContext* ctx);

/* For an op registered at run time. NOT_FOUND for an unknown op, ALREADY_EXISTS when it has one. function NULL: "not differentiable". */
TF_CAPI_EXPORT void HR_RegisterGradient(const char* op_name, HR_GradFunction function, TF_Status* status);

/* --- the operation being differentiated ---------------------------------------------------------------------------------------------- */
TF_CAPI_EXPORT int HR_GradNumInputs(const HR_GradContext* ctx);
TF_CAPI_EXPORT int HR_GradNumOutputs(const HR_GradContext* ctx);
TF_CAPI_EXPORT TF_Output HR_GradInput(HR_GradContext* ctx, int i);     /* the value that input i has */
TF_CAPI_EXPORT TF_Output HR_GradOutput(HR_GradContext* ctx, int i);
TF_CAPI_EXPORT TF_Bool HR_GradHasUpstream(const HR_GradContext* ctx, int i); /* a gradient reaches output i */
TF_CAPI_EXPORT TF_Output HR_GradUpstream(HR_GradContext* ctx, int i);  /* dL/d(output i), dense; zeros when none reaches it */
/* The same as slices when it came so (1), else 0 and nothing written. */
TF_CAPI_EXPORT TF_Bool HR_GradUpstreamSlices(HR_GradContext* ctx, int i, TF_Output* indices, TF_Output* values, TF_Output* dense_shape);
TF_CAPI_EXPORT TF_Bool HR_GradWanted(const HR_GradContext* ctx, int input); /* somebody asks for it: else skip dear work */
/* dL/d(input); once for an input. An input that gets none has no gradient. */
TF_CAPI_EXPORT void HR_GradGive(HR_GradContext* ctx, int input, TF_Output gradient);
/* sparse */
TF_CAPI_EXPORT void HR_GradGiveSlices(HR_GradContext* ctx, int input, TF_Output indices, TF_Output values, TF_Output dense_shape);
TF_CAPI_EXPORT void HR_GradFail(HR_GradContext* ctx, TF_Code code, const char* message); /* sticks; code not TF_OK */

/* Attrs of the operation by name; 0, "" or -1 for a name or kind that it has not. */
TF_CAPI_EXPORT int64_t HR_GradAttrInt(const HR_GradContext* ctx, const char* name);
TF_CAPI_EXPORT float HR_GradAttrFloat(const HR_GradContext* ctx, const char* name);
TF_CAPI_EXPORT TF_Bool HR_GradAttrBool(const HR_GradContext* ctx, const char* name);
TF_CAPI_EXPORT TF_DataType HR_GradAttrType(const HR_GradContext* ctx, const char* name);
TF_CAPI_EXPORT TF_StringView HR_GradAttrString(const HR_GradContext* ctx, const char* name);
/* How many ints; *out (may be NULL) points to them, for the call. */
TF_CAPI_EXPORT int HR_GradAttrInts(const HR_GradContext* ctx, const char* name, const int64_t** out);

/* --- what is known of a value -------------------------------------------------------------------------------------------------------- */
TF_CAPI_EXPORT TF_DataType HR_GradDataType(HR_GradContext* ctx, TF_Output value);
TF_CAPI_EXPORT int HR_GradNumDims(HR_GradContext* ctx, TF_Output value);            /* -1: unknown */
TF_CAPI_EXPORT int64_t HR_GradDim(HR_GradContext* ctx, TF_Output value, int axis);  /* -1: unknown */

/* --- emitting ------------------------------------------------------------------------------------------------------------------------ */
/* One attr for HR_Emit: type attrs that follow from the inputs may be left out. */
typedef struct HR_Attr {
  const char* name;
  TF_AttrType kind;    /* STRING, INT, FLOAT, BOOL, TYPE, SHAPE or TENSOR: says which field below counts */
  TF_Bool is_list;     /* INT and TYPE only: `ints`, `count` */
  int64_t i;           /* INT, BOOL, TYPE */
  float f;
  const char* s;
  const int64_t* ints; /* SHAPE: the dims, `count` of them (-1: unknown rank) */
  int count;
  const TF_Tensor* tensor;
} HR_Attr;

/* Adds an operation and gives its output 0; output k is {result.oper, k}. */
TF_CAPI_EXPORT TF_Output HR_Emit(HR_GradContext* ctx, const char* op, int input_count, const TF_Output* inputs, int attr_count,
                                 const HR_Attr* attrs);
TF_CAPI_EXPORT void HR_EmitControl(HR_GradContext* ctx, TF_Output from, TF_Output to);             /* to's operation runs after from's */
TF_CAPI_EXPORT TF_Output HR_EmitConst(HR_GradContext* ctx, const TF_Tensor* value);                /* copies */
TF_CAPI_EXPORT TF_Output HR_EmitConstLike(HR_GradContext* ctx, TF_Output like, double value);      /* a scalar of like's type */
TF_CAPI_EXPORT TF_Output HR_EmitConstInts(HR_GradContext* ctx, const int64_t* values, int count);  /* an int32 vector */
TF_CAPI_EXPORT TF_Output HR_EmitScale(HR_GradContext* ctx, TF_Output a, double factor);            /* a * factor */
TF_CAPI_EXPORT TF_Output HR_EmitZerosLike(HR_GradContext* ctx, TF_Output a);
TF_CAPI_EXPORT TF_Output HR_EmitShape(HR_GradContext* ctx, TF_Output a);                           /* an int32 vector */
TF_CAPI_EXPORT TF_Output HR_EmitCast(HR_GradContext* ctx, TF_Output a, TF_DataType to);
TF_CAPI_EXPORT TF_Output HR_EmitSum(HR_GradContext* ctx, TF_Output a, TF_Output axes, TF_Bool keep_dims);
TF_CAPI_EXPORT TF_Output HR_EmitReshapeLike(HR_GradContext* ctx, TF_Output a, TF_Output like);     /* a in like's shape */
/* Undoes broadcasting of two operands: sums `gradient` to the shape of `like`; `other` is the other operand. */
TF_CAPI_EXPORT TF_Output HR_EmitReduceTo(HR_GradContext* ctx, TF_Output gradient, TF_Output like, TF_Output other);

static inline TF_Output HR_Emit1(HR_GradContext* ctx, const char* op, TF_Output a) { return HR_Emit(ctx, op, 1, &a, 0, NULL); }
static inline TF_Output HR_Emit2(HR_GradContext* ctx, const char* op, TF_Output a, TF_Output b) {
  TF_Output inputs[2];
  inputs[0] = a;
  inputs[1] = b;
  return HR_Emit(ctx, op, 2, inputs, 0, NULL);
}

#ifdef __cplusplus
}
#endif
#endif
