/* SPDX-License-Identifier: Apache-2.0 */
/* One op on tensors of numbers, for tests that compare it with a plain computation: run_op feeds the inputs (so that kernels alone see
 * them), frees them and gives the outputs. */
#ifndef HR_TESTS_OPS_RUN_OP_H
#define HR_TESTS_OPS_RUN_OP_H
#include "base/half.h"
#include "base/isa.h"
#include "base/pool.h"
#include "ops/text.h"
#include "test.h"

enum { RUN_MOST = 8 };
typedef struct {
  TF_Tensor* out[RUN_MOST];
  int count;
} run_op_t;

static double run_number(const TF_Tensor* t, int64_t i) {
  const void* p = TF_TensorData(t);
  switch (TF_TensorType(t)) {
    case TF_FLOAT: case TF_COMPLEX64: return (double)((const float*)p)[i];
    case TF_DOUBLE: case TF_COMPLEX128: return ((const double*)p)[i];
    case TF_HALF: return (double)hr_f16_to_f32(((const hr_f16_t*)p)[i]);
    case TF_BFLOAT16: return (double)hr_bf16_to_f32(((const hr_bf16_t*)p)[i]);
    case TF_INT32: return ((const int32_t*)p)[i];
    case TF_UINT32: return ((const uint32_t*)p)[i];
    case TF_INT64: return (double)((const int64_t*)p)[i];
    case TF_UINT64: return (double)((const uint64_t*)p)[i];
    case TF_INT16: return ((const int16_t*)p)[i];
    case TF_UINT16: return ((const uint16_t*)p)[i];
    case TF_INT8: return ((const int8_t*)p)[i];
    case TF_UINT8: return ((const uint8_t*)p)[i];
    default: return ((const bool*)p)[i];
  }
}

static void run_put(TF_Tensor* t, int64_t i, double v) {
  if (TF_TensorType(t) == TF_HALF) ((hr_f16_t*)TF_TensorData(t))[i] = hr_f16_from_f32((float)v);
  else if (TF_TensorType(t) == TF_BFLOAT16) ((hr_bf16_t*)TF_TensorData(t))[i] = hr_bf16_from_f32((float)v);
  else text_store(TF_TensorType(t), TF_TensorData(t), (size_t)i, v);
}

/* Up to five dimensions, ended by a negative one; elements are not set. */
static TF_Tensor* run_tensor(TF_DataType type, const int64_t* dims) {
  int rank = 0;
  int64_t count = 1;
  for (; rank < 5 && dims[rank] >= 0; ++rank) count *= dims[rank];
  return TF_AllocateTensor(type, dims, rank, (size_t)count * TF_DataTypeSize(type));
}
#define RUN_TENSOR(type, ...) run_tensor(type, (const int64_t[]){__VA_ARGS__, -1})

UNUSED static TF_Tensor* run_ints(TF_DataType type, int count, const int64_t* values) {
  TF_Tensor* t = RUN_TENSOR(type, count);
  for (int i = 0; i < count; ++i) run_put(t, i, (double)values[i]);
  return t;
}
UNUSED static TF_Tensor* run_scalar(TF_DataType type, double value) {
  TF_Tensor* t = run_tensor(type, (const int64_t[]){-1});
  run_put(t, 0, value);
  return t;
}

static void run_attrs(TF_OperationDescription* d, const char* attrs) {
  for (const char* at = attrs; *at; at += strcspn(at, ";"), at += strspn(at, "; ")) {
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "="), at);
    text_attr(d, name, at + strcspn(at, "=") + 1);
  }
}

/* Takes the inputs over. A failure is a failure of the test; then there are no outputs. */
static run_op_t run_op(const char* op, const char* attrs, int inputs, TF_Tensor* const* value) {
  TF_Graph* g = TF_NewGraph();
  TF_Status* s = TF_NewStatus();
  TF_Output in[RUN_MOST], fetch[RUN_MOST];
  run_op_t r = {.count = 0};
  for (int i = 0; i < inputs; ++i) {
    char name[16];
    snprintf(name, sizeof name, "in_%d", i);
    TF_OperationDescription* p = TF_NewOperation(g, "Placeholder", name);
    TF_SetAttrType(p, "dtype", TF_TensorType(value[i]));
    in[i] = (TF_Output){TF_FinishOperation(p, s), 0};
  }
  TF_OperationDescription* d = TF_NewOperation(g, op, "node");
  for (int i = 0; i < inputs; ++i) TF_AddInput(d, in[i]);
  run_attrs(d, attrs);
  TF_Operation* node = TF_FinishOperation(d, s);
  const int outputs = node ? TF_OperationNumOutputs(node) : 0;
  for (int i = 0; i < outputs && i < RUN_MOST; ++i) fetch[i] = (TF_Output){node, i};
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_Session* session = TF_GetCode(s) == TF_OK ? TF_NewSession(g, options, s) : NULL;
  if (session) TF_SessionRun(session, NULL, in, value, inputs, fetch, r.out, outputs, NULL, 0, NULL, s);
  if (TF_GetCode(s) == TF_OK) r.count = outputs;
  else hr_test_fail(__FILE__, __LINE__, "%s (%s): %s", op, attrs, TF_Message(s));
  if (session) TF_DeleteSession(session, s);
  TF_DeleteSessionOptions(options);
  for (int i = 0; i < inputs; ++i) TF_DeleteTensor(value[i]);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
  return r;
}
#define RUN_OP(op, attrs, ...) \
  run_op(op, attrs, (int)(sizeof((TF_Tensor*[]){__VA_ARGS__}) / sizeof(TF_Tensor*)), (TF_Tensor*[]){__VA_ARGS__})

static void run_free(run_op_t* r) {
  for (int i = 0; i < r->count; ++i) TF_DeleteTensor(r->out[i]);
}

/* Whether output `o` is of this type, has `count` numbers, and they are `want` to the given part of each; the first that is not is told. */
static bool run_check(const run_op_t* r, int o, TF_DataType type, int64_t count, const double* want, double tolerance, const char* what) {
  if (o >= r->count) return false; /* told already */
  const bool is_complex = type == TF_COMPLEX64 || type == TF_COMPLEX128;
  if (TF_TensorType(r->out[o]) != type || TF_TensorElementCount(r->out[o]) * (is_complex ? 2 : 1) != count)
    return hr_test_fail(__FILE__, __LINE__, "%s: output %d is of type %d and %lld elements", what, o, (int)TF_TensorType(r->out[o]),
                        (long long)TF_TensorElementCount(r->out[o]));
  for (int64_t i = 0; i < count; ++i) {
    const double got = run_number(r->out[o], i);
    if (got == want[i] || (isnan(got) && isnan(want[i])) || fabs(got - want[i]) <= tolerance * fabs(want[i])) continue;
    return hr_test_fail(__FILE__, __LINE__, "%s: number %lld of output %d is %.9g, not %.9g", what, (long long)i, o, got, want[i]);
  }
  return true;
}
/* On each instruction set that this machine has, with one thread or two. */
UNUSED static void each_machine(void (*check)(void)) {
  const hr_isa_t before = hr_isa();
  for (int isa = 0; isa <= (int)hr_isa_best(); ++isa) {
    hr_isa_force((hr_isa_t)isa);
    hr_pool_set_threads(1 + isa % 2);
    check();
  }
  hr_pool_set_threads(0);
  hr_isa_force(before);
}
#endif
