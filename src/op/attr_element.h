/* SPDX-License-Identifier: Apache-2.0 */
/* How large the elements of a list attr are: for those that make such arrays (op/attr.c has the sizes). */
#ifndef HR_OP_ATTR_ELEMENT_H
#define HR_OP_ATTR_ELEMENT_H
#include "op/attr.h"

size_t hr_attr_element_size(hr_attr_kind_t kind);
#endif
