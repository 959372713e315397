/* SPDX-License-Identifier: Apache-2.0 */
/* A case's op once more in the case's graph, with one attr changed (see changed.h): another number, string, type or shape, a longer or
 * shorter list. */
#ifndef HR_TESTS_OPS_CHANGED_ATTR_H
#define HR_TESTS_OPS_CHANGED_ATTR_H
#include "op/op_def.h"
#include "ops/cases.h"

/* NULL, with status saying why, when the op refuses the attr; *other: the op has no attr that can be changed, or is not there. */
TF_Operation* changed_attr_node(op_case_t* t, const hr_op_def_t* def, int number, bool* other);
#endif
