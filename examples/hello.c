/* SPDX-License-Identifier: Apache-2.0 */
/* Two numbers are added: cc hello.c -lheadrace && ./a.out */
#include <stdio.h>
#include "headrace/client.h"

int main(void) {
  TF_Status* s = TF_NewStatus();
  TF_Graph* graph = TF_NewGraph();
  TF_Output ab[] = {HR_ConstFloat(graph, "a", 10, s), HR_ConstFloat(graph, "b", 32, s)}, sum = HR_Op(graph, "AddV2", "sum", ab, 2, s);
  TF_Session* session = TF_NewSession(graph, TF_NewSessionOptions(), s);
  TF_Tensor* result = NULL;
  TF_SessionRun(session, NULL, NULL, NULL, 0, &sum, &result, 1, NULL, 0, NULL, s);
  if (TF_GetCode(s) != TF_OK) return fprintf(stderr, "%s\n", TF_Message(s)), 1;
  printf("%g\n", (double)*(float*)TF_TensorData(result));
  return 0;
}
