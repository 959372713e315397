/* SPDX-License-Identifier: Apache-2.0 */
/* An embedder's program, built against the installed headers and library: adds 2 and 3 in a session and exits with 0 if that is 5. */
#include <stdio.h>
#include <string.h>
#include <tensorflow/c/c_api.h>

static TF_Output add_node(TF_Graph* g, TF_Status* s, const char* type, const char* name, const TF_Output* inputs, int count,
                          TF_Tensor* value) {
  TF_OperationDescription* d = TF_NewOperation(g, type, name);
  for (int i = 0; i < count; i++) TF_AddInput(d, inputs[i]);
  if (value) {
    TF_SetAttrType(d, "dtype", TF_TensorType(value));
    TF_SetAttrTensor(d, "value", value, s);
  }
  TF_Output out = {TF_FinishOperation(d, s), 0};
  return out;
}

static TF_Tensor* make_scalar(float x) {
  TF_Tensor* t = TF_AllocateTensor(TF_FLOAT, NULL, 0, sizeof x);
  memcpy(TF_TensorData(t), &x, sizeof x);
  return t;
}

int main(void) {
  TF_Status* s = TF_NewStatus();
  TF_Graph* g = TF_NewGraph();
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_Tensor *two = make_scalar(2), *three = make_scalar(3), *sum = NULL;
  TF_Output in[2] = {add_node(g, s, "Const", "two", NULL, 0, two), add_node(g, s, "Const", "three", NULL, 0, three)};
  TF_Output add = add_node(g, s, "AddV2", "sum", in, 2, NULL);
  TF_Session* session = TF_NewSession(g, options, s);
  if (session) TF_SessionRun(session, NULL, NULL, NULL, 0, &add, &sum, 1, NULL, 0, NULL, s);
  int good = TF_GetCode(s) == TF_OK && sum && *(float*)TF_TensorData(sum) == 5;
  printf("%s: %s\n", TF_Version(), good ? "2 + 3 = 5" : TF_Message(s));
  if (session) TF_DeleteSession(session, s);
  TF_DeleteTensor(sum);
  TF_DeleteTensor(two);
  TF_DeleteTensor(three);
  TF_DeleteSessionOptions(options);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
  return !good;
}
