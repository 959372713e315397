/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of leaky_relu.c, compiled once per instruction set; the compiler makes the vectors. */
#include "ops/elementwise/leaky_relu.h"
#include "base/simd.h"

#define LOOP(suffix, T)                                                                                   \
  static void leaky_##suffix(const void* gs, const void* xs, void* outs, int64_t n, float alpha) {        \
    const T a = (T)alpha;                                                                                 \
    for (int64_t i = 0; i < n; ++i) {                                                                     \
      const T g = ((const T*)gs)[i];                                                                      \
      ((T*)outs)[i] = ((const T*)xs)[i] > 0 ? g : g * a;                                                  \
    }                                                                                                     \
  }
LOOP(f32, float)
LOOP(f64, double)

const hr_leaky_vec_t HR_ISA_NAME(hr_leaky_vec) = {leaky_f32, leaky_f64};
