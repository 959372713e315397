/* SPDX-License-Identifier: Apache-2.0 */
/* Changed copies of a golden case's tensors: an index too far, a dimension more or fewer, nothing at all. Changes are drawn from a state
 * that changed_start sets: the same text and seed give the same changes on every machine. */
#ifndef HR_TESTS_OPS_CHANGED_H
#define HR_TESTS_OPS_CHANGED_H
#include <stdint.h>
#include "tensorflow/c/c_api.h"

void changed_start(const char* text, uint64_t seed);
uint64_t changed_random(void);
int changed_below(int64_t n);
int changed_dims(const TF_Tensor* t, int64_t* dims); /* the shape, changed; its rank, 16 at most for tensors of rank 10 and below */
TF_Tensor* changed_tensor(const TF_Tensor* t);       /* NULL: a handle, or nothing could be made */
#endif
