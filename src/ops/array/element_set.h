/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of elements of a tensor by value, for Unique and ListDiff: -0 is 0, NaN is no element's equal, strings compare by text. An item is
 * `outer` runs of `inner` elements (a slice along an axis); one element when both are 1. */
#ifndef HR_OPS_ARRAY_ELEMENT_SET_H
#define HR_OPS_ARRAY_ELEMENT_SET_H
#include "tensor/tensor.h"

typedef struct {
  const hr_tensor_t* t;       /* borrowed */
  int64_t outer, inner, step; /* step: elements from one outer run to the next */
} hr_element_items_t;

typedef struct {
  hr_element_items_t items;
  int64_t* slots; /* item + 1, or 0 */
  uint64_t mask;
} hr_element_set_t;

/* Room for `most` items. */
HR_MUST_USE hr_status_t hr_element_set_init(hr_element_set_t* s, const hr_element_items_t* items, int64_t most);
void hr_element_set_deinit(hr_element_set_t* s);
/* The item of the set that equals item `i` of `other` (of the same type and sizes); -1: none. */
int64_t hr_element_set_find(const hr_element_set_t* s, const hr_element_items_t* other, int64_t i);
/* Finds, or adds item i of its own items; gives the one in the set. */
int64_t hr_element_set_add(hr_element_set_t* s, int64_t i);
#endif
