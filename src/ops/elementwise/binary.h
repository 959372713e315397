/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by binary.c and its bodies: the ops' indices and the tables of loops. A loop comes in three forms by how its operands
 * advance, since broadcasting leaves only these for an inner loop: both step, x stays, y stays. */
#ifndef HR_OPS_ELEMENTWISE_BINARY_H
#define HR_OPS_ELEMENTWISE_BINARY_H
#include "base/isa.h"
#include "ops/elementwise/loops.h"

enum {
#define BINARY(Name, ...) BINARY_##Name,
#include "ops/elementwise/no_rows.h"
#include "ops/elementwise/binary.def"
  BINARY_COUNT
};
enum { LOOP_BOTH, LOOP_X_STAYS, LOOP_Y_STAYS, LOOP_FORMS };
typedef hr_loop2_t hr_binary_loops_t[LOOP_FORMS];
typedef hr_binary_loops_t hr_binary_table_t[BINARY_COUNT][HR_DTYPE_COUNT];
HR_ISA_TABLES(hr_binary_table_t, hr_binary_vec); /* ARITH, FLOAT and INTEGER rows */
extern const hr_binary_table_t hr_binary_scalar; /* SCALAR, NEXT and COMPLEX rows */

/* Defines the three forms of a loop over single elements of type T: x and y are the operands in `expr`. */
#define HR_LOOP2_FORM(Name, suffix, T, R, form, xi, yi, expr)                                \
  static void Name##_##suffix##form(const void* xs, const void* ys, void* zs, int64_t n) {   \
    for (int64_t i = 0; i < n; ++i) {                                                        \
      const T x = ((const T*)xs)[xi], y = ((const T*)ys)[yi];                                \
      ((R*)zs)[i] = (R)(expr);                                                               \
    }                                                                                        \
  }
#define HR_LOOP2(Name, suffix, T, R, expr)                  \
  HR_LOOP2_FORM(Name, suffix, T, R, , i, i, expr)           \
  HR_LOOP2_FORM(Name, suffix, T, R, _x_stays, 0, i, expr)   \
  HR_LOOP2_FORM(Name, suffix, T, R, _y_stays, i, 0, expr)
#define HR_LOOP2_FORMS(Name, suffix) {Name##_##suffix, Name##_##suffix##_x_stays, Name##_##suffix##_y_stays}

/* The forms for half and bfloat16 on top of the float ones. */
#define HR_LOOP2_NARROW(Name, suffix, is_bf16)                                                 \
  static void Name##_##suffix(const void* xs, const void* ys, void* zs, int64_t n) {           \
    hr_loop2_narrow(Name##_f32, is_bf16, xs, ys, zs, n);                                       \
  }                                                                                            \
  static void Name##_##suffix##_x_stays(const void* xs, const void* ys, void* zs, int64_t n) { \
    hr_loop2_narrow_x_stays(Name##_f32_x_stays, is_bf16, xs, ys, zs, n);                       \
  }                                                                                            \
  static void Name##_##suffix##_y_stays(const void* xs, const void* ys, void* zs, int64_t n) { \
    hr_loop2_narrow_y_stays(Name##_f32_y_stays, is_bf16, xs, ys, zs, n);                       \
  }
#endif
