/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of rows.def: small cases written out, for ops without golden ones. */
#ifndef HR_TESTS_OPS_ROWS_H
#define HR_TESTS_OPS_ROWS_H
#include <stdbool.h>
#include <stddef.h>
#include "tensorflow/c/c_api.h"

int op_row_total(void);
int op_row_count(const char* op); /* how many are about op */
const char* op_row_op(int row);
int op_row_line(int row);
bool op_row_run(int row, char* why, size_t why_size); /* whether it gives what it wants; `why` says what is not */
#endif
