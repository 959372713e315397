/* SPDX-License-Identifier: Apache-2.0 */
/* Golden cases as input generators for tests of every op: a case becomes a graph through the C API, is run, differentiated, torn down.
 *
 * Any call may meet an allocation that a test makes fail: each then ends with a code, and op_case_close frees what there is. */
#ifndef HR_TESTS_OPS_CASES_H
#define HR_TESTS_OPS_CASES_H
#include <stdbool.h>
#include "golden/match.h"
#include "golden/record.h"

enum { OP_CASE_MAX_INPUTS = 64 };

typedef struct {
  const golden_case_t* c;
  TF_Status* status;
  TF_Graph* graph;
  TF_Session* session;
  int inputs;
  TF_Output input[OP_CASE_MAX_INPUTS];
  TF_Tensor* value[OP_CASE_MAX_INPUTS];
  TF_Output fetch[GOLDEN_MAX_NAMES], grad[GOLDEN_MAX_NAMES], dy[GOLDEN_MAX_NAMES];
  TF_Tensor *out[GOLDEN_MAX_NAMES], *dx[GOLDEN_MAX_NAMES];
} op_case_t;

/* The folder of <Op>.tfrecord files; unpacked from the archive once a build. */
const char* op_case_folder(void);
/* Calls visit(case, number, arg) for each case of op; false when there is no file. */
bool op_case_each(const char* op, void (*visit)(const golden_case_t* c, int number, void* arg), void* arg);

/* Each gives TF_OK or what went wrong (also in status, where there is one). */
TF_Code op_case_open(op_case_t* t, const golden_case_t* c); /* import, endpoints, gradients where the case asks for some, session */
TF_Code op_case_init(op_case_t* t);                         /* `_init` */
TF_Code op_case_run(op_case_t* t, TF_Tensor* const* fed);   /* fills out (NULL before); fed: input's values or NULL */
TF_Code op_case_run_grad(op_case_t* t);                     /* fills dx, where dy is */
void op_case_forget(op_case_t* t);                          /* frees out and dx */
void op_case_close(op_case_t* t);
TF_Tensor* op_case_const(op_case_t* t, const char* stem, int k); /* the value of a Const; NULL: no such node */
bool op_case_is_stateful(const op_case_t* t);               /* some node is: runs depend on one another */
/* Whether the values are those that the case wants, gradients too where they were run; `why` says what is not. */
bool op_case_is_right(op_case_t* t, char* why, size_t why_size);
#endif
