/* SPDX-License-Identifier: Apache-2.0 */
/* Finds w and b of y = w x + b from noisy points by gradient descent: cc linear_regression.c -lheadrace && ./a.out */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "headrace/client.h"

enum { POINTS = 100, STEPS = 200 };
static TF_Status* status;
static TF_Graph* graph;

static void must(void) {
  if (TF_GetCode(status) == TF_OK) return;
  fprintf(stderr, "%s\n", TF_Message(status));
  exit(1);
}
static TF_Output op(const char* name, TF_Output a, TF_Output b) { return HR_Op(graph, name, NULL, (TF_Output[]){a, b}, 2, status); }
static TF_Output constant(const float* values) {
  const int64_t n = POINTS;
  TF_Tensor* t = TF_AllocateTensor(TF_FLOAT, &n, 1, POINTS * sizeof *values);
  memcpy(TF_TensorData(t), values, POINTS * sizeof *values);
  TF_Output out = HR_Const(graph, NULL, t, status);
  TF_DeleteTensor(t);
  return out;
}

int main(void) {
  float x[POINTS], y[POINTS];
  for (int i = 0; i < POINTS; ++i) {
    x[i] = (float)i / POINTS;
    y[i] = 3 * x[i] - 1 + 0.02f * ((float)(i * 37 % 11) - 5) / 5;
  }
  status = TF_NewStatus();
  graph = TF_NewGraph();
  HR_Variable wb[2]; /* w and b */
  HR_NewVariable(graph, "w", HR_ConstFloat(graph, NULL, 0, status), 0, &wb[0], status);
  HR_NewVariable(graph, "b", HR_ConstFloat(graph, NULL, 0, status), 0, &wb[1], status);
  must();
  TF_Output guess = op("AddV2", op("Mul", wb[0].read, constant(x)), wb[1].read);
  TF_Output loss = op("Mean", op("SquaredDifference", guess, constant(y)), HR_ConstInt32s(graph, NULL, (int32_t[]){0}, 1, status));
  HR_Optimizer* descent = HR_NewOptimizer(graph, "GradientDescent", NULL, status);
  HR_OptimizerSetFloat(descent, "learning_rate", 0.5, status);
  const TF_Operation* train = HR_OptimizerMinimize(descent, loss, wb, 2, NULL, status);
  const TF_Operation* init = HR_InitializeAll(graph, "init", wb, 2, status);
  must();
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_Session* session = TF_NewSession(graph, options, status);
  TF_SessionRun(session, NULL, NULL, NULL, 0, NULL, NULL, 0, &init, 1, NULL, status);
  must();
  for (int i = 0; i < STEPS; ++i) TF_SessionRun(session, NULL, NULL, NULL, 0, NULL, NULL, 0, &train, 1, NULL, status);
  const TF_Output wanted[] = {wb[0].read, wb[1].read, loss};
  TF_Tensor* got[3] = {NULL};
  TF_SessionRun(session, NULL, NULL, NULL, 0, wanted, got, 3, NULL, 0, NULL, status);
  must();
  printf("y = %.3f x %+.3f, loss %.6f\n", (double)*(float*)TF_TensorData(got[0]), (double)*(float*)TF_TensorData(got[1]), (double)*(float*)TF_TensorData(got[2]));
  for (int i = 0; i < 3; ++i) TF_DeleteTensor(got[i]);
  HR_DeleteOptimizer(descent);
  TF_DeleteSessionOptions(options);
  TF_DeleteSession(session, status);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(status);
  return 0;
}
