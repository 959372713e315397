/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of train.def's rules: n elements of a variable and its slots, in place. */
#ifndef HR_OPS_TRAIN_UPDATE_H
#define HR_OPS_TRAIN_UPDATE_H
#include <stdbool.h>
#include "base/isa.h"
#include "tensor/dtype.h"

enum {
#define RULE(Name, ...) RULE_##Name,
#define REAL_RULE(Name, ...) RULE_##Name,
#include "ops/train/no_rows.h"
#include "ops/train/train.def"
  RULE_COUNT
};
enum { HR_UPDATE_VARIABLES = 4, HR_UPDATE_HYPER = 6 };

/* What a step does beyond its rule: the rule's bool attr; whether the elements are a row that an index names, and one of several elements.
 * TensorFlow has other formulas for these: the same in plain cases, not where something is 0, infinite or NaN. */
typedef struct { bool flag, in_row, in_long_row; } hr_update_how_t;
/* at: the variable and its slots; hyper: hyperparameters of the element type (float for 16-bit floats). */
typedef void (*hr_update_t)(void* const* at, const void* grad, const void* hyper, hr_update_how_t how, int64_t n);
typedef hr_update_t hr_update_table_t[RULE_COUNT][2];
HR_ISA_TABLES(hr_update_table_t, hr_update_vec); /* [rule][0] float, [1] double */
extern const hr_update_table_t hr_update_complex; /* [0] complex64, [1] complex128; NULL for real rules */

/* Runs a float loop over half or bfloat16 variables (`count` of them) and gradients. */
void hr_update_narrow(hr_update_t loop, bool bf16, int count, void* const* at, const void* grad, const void* hyper, hr_update_how_t how,
                      int64_t n);
/* Ftrl and FtrlV2 (has_shrinkage) on them, rounding at each operation. */
void hr_update_ftrl_narrow(bool bf16, bool has_shrinkage, void* const* at, const void* grad, const void* hyper, hr_update_how_t how,
                           int64_t n);
#endif
