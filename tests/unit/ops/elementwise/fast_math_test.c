/* SPDX-License-Identifier: Apache-2.0 */
/* exp and tanh of floats against libm, for lengths around the vector width, on every instruction set of this machine; elements past the end
 * stay. */
#include <math.h>
#include "ops/elementwise/unary.h"
#include "test.h"

static const hr_unary_table_t* table_of(hr_isa_t isa) {
  return isa == HR_ISA_AVX512 ? &hr_unary_vec_avx512 : isa == HR_ISA_AVX2 ? &hr_unary_vec_avx2 : &hr_unary_vec_sse2;
}

static bool is_near(float got, double want, double relative) {
  if (isnan(want)) return isnan(got);
  const double exact = (double)(float)want;
  return (isinf(exact) || exact == 0) ? (double)got == exact : fabs((double)got - want) <= relative * fabs(want) + 1e-44;
}

static void check_lengths(int op, double (*truth)(double), double relative) {
  static const int lengths[] = {1, 3, 15, 16, 17, 63, 64, 65, 1000, 3001};
  static float x[3002], y[3002];
  for (int isa = 0; isa <= (int)hr_isa_best(); ++isa)
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; ++l) {
      const int n = lengths[l];
      int wrong = 0;
      for (int i = 0; i < n; ++i) x[i] = (float)(-110 + 200.0 * i / n) / (i % 3 ? 10 : 1);
      y[n] = 42;
      (*table_of((hr_isa_t)isa))[op][HR_F32](x, y, n);
      for (int i = 0; i < n; ++i) wrong += !is_near(y[i], truth((double)x[i]), relative);
      HR_CHECK_EQ_I64(wrong, 0);
      HR_CHECK(y[n] == 42);
    }
}

HR_TEST(exp_of_floats) { check_lengths(UNARY_Exp, exp, 2e-7); }
HR_TEST(tanh_of_floats) { check_lengths(UNARY_Tanh, tanh, 5e-7); }

HR_TEST(special_values) {
  const float x[] = {NAN, INFINITY, -INFINITY, 0, 88.8f, -104.5f, 1e-40f, -1e-40f};
  float y[8];
  for (int isa = 0; isa <= (int)hr_isa_best(); ++isa) {
    (*table_of((hr_isa_t)isa))[UNARY_Exp][HR_F32](x, y, 8);
    HR_CHECK(isnan(y[0]) && isinf(y[1]) && y[2] == 0 && y[3] == 1 && isinf(y[4]) && y[5] == 0 && y[6] == 1 && y[7] == 1);
    (*table_of((hr_isa_t)isa))[UNARY_Tanh][HR_F32](x, y, 8);
    HR_CHECK(isnan(y[0]) && y[1] == 1 && y[2] == -1 && y[3] == 0 && y[4] == 1 && y[5] == -1 && y[6] == x[6] && y[7] == x[7]);
  }
}

HR_TEST_MAIN()
