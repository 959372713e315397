/* SPDX-License-Identifier: Apache-2.0 */
/* Our matrix product against a triple loop in double: every family of types, instruction set, transposition, accumulation. Operands are
 * small integers, so every type but bfloat16 is exact. */
#include "ops/math/matmul/gemm.h"
#include <complex.h>
#include "base/isa.h"
#include "test.h"

typedef double complex number_t;

static number_t read_number(hr_dtype_t t, const void* p, int64_t i) {
  switch (t) {
    case HR_F32: return ((const float*)p)[i];
    case HR_F64: return ((const double*)p)[i];
    case HR_F16: return hr_f16_to_f32(((const hr_f16_t*)p)[i]);
    case HR_BF16: return hr_bf16_to_f32(((const hr_bf16_t*)p)[i]);
    case HR_I8: return ((const int8_t*)p)[i];
    case HR_U8: return ((const uint8_t*)p)[i];
    case HR_I16: return ((const int16_t*)p)[i];
    case HR_U16: return ((const uint16_t*)p)[i];
    case HR_I32: return ((const int32_t*)p)[i];
    case HR_U32: return ((const uint32_t*)p)[i];
    case HR_I64: return (double)((const int64_t*)p)[i];
    case HR_U64: return (double)((const uint64_t*)p)[i];
    case HR_C64: return ((const hr_c64_t*)p)[i].re + ((const hr_c64_t*)p)[i].im * I;
    default: return ((const hr_c128_t*)p)[i].re + ((const hr_c128_t*)p)[i].im * I;
  }
}

static void write_number(hr_dtype_t t, void* p, int64_t i, int v) {
  switch (t) {
    case HR_F32: ((float*)p)[i] = (float)v; break;
    case HR_F64: ((double*)p)[i] = v; break;
    case HR_F16: ((hr_f16_t*)p)[i] = hr_f16_from_f32((float)v); break;
    case HR_BF16: ((hr_bf16_t*)p)[i] = hr_bf16_from_f32((float)v); break;
    case HR_I8:
    case HR_U8: ((int8_t*)p)[i] = (int8_t)v; break;
    case HR_I16:
    case HR_U16: ((int16_t*)p)[i] = (int16_t)v; break;
    case HR_I32:
    case HR_U32: ((int32_t*)p)[i] = v; break;
    case HR_I64:
    case HR_U64: ((int64_t*)p)[i] = v; break;
    case HR_C64: ((hr_c64_t*)p)[i] = (hr_c64_t){(float)v, (float)(v * 3 % 4)}; break;
    default: ((hr_c128_t*)p)[i] = (hr_c128_t){v, v * 3 % 4}; break;
  }
}

static bool numbers_agree(hr_dtype_t t, number_t got, number_t want) {
  const int64_t whole = (int64_t)creal(want);
  switch (t) { /* integers wrap */
    case HR_I8: return (int8_t)whole == (int8_t)creal(got);
    case HR_U8: return (uint8_t)whole == (uint8_t)creal(got);
    case HR_I16: return (int16_t)whole == (int16_t)creal(got);
    case HR_U16: return (uint16_t)whole == (uint16_t)creal(got);
    case HR_U32: return (uint32_t)whole == (uint32_t)creal(got);
    case HR_U64: return cabs(got - want) < 1e-9 || creal(want) < 0.0; /* beyond what a double holds */
    case HR_BF16: return cabs(got - want) <= 0.01 * cabs(want) + 0.01;
    case HR_F16: return cabs(got - want) <= 0.001 * cabs(want) + 0.001;
    default: return cabs(got - want) < 1e-9;
  }
}

static void check_product(hr_dtype_t t, int64_t m, int64_t n, int64_t k, bool ta, bool tb, bool accumulate) {
  const size_t size = hr_dtype_size(t);
  void *a = hr_alloc_zero((size_t)(m * k) * size + 1), *b = hr_alloc_zero((size_t)(k * n) * size + 1),
       *c = hr_alloc_zero((size_t)(m * n) * size + 1);
  const int low = t == HR_U8 || t == HR_U16 || t == HR_U32 || t == HR_U64 ? 0 : -2;
  for (int64_t i = 0; i < m * k; ++i) write_number(t, a, i, rand() % 5 + low);
  for (int64_t i = 0; i < k * n; ++i) write_number(t, b, i, rand() % 5 + low);
  for (int64_t i = 0; i < m * n; ++i) write_number(t, c, i, 1);
  const number_t start = accumulate && m * n > 0 ? read_number(t, c, 0) : 0.0;
  const hr_gemm_t g = {.m = m,
                       .n = n,
                       .k = k,
                       .a = a,
                       .b = b,
                       .c = c,
                       .a_row = ta ? 1 : k,
                       .a_col = ta ? m : 1,
                       .b_row = tb ? 1 : n,
                       .b_col = tb ? k : 1,
                       .c_row = n,
                       .a_type = t,
                       .b_type = t,
                       .c_type = t,
                       .conj_a = ta,
                       .conj_b = tb,
                       .accumulate = accumulate};
  HR_CHECK(hr_gemm_run(&g, 2) == NULL);
  int wrong = 0;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      number_t want = start;
      for (int64_t p = 0; p < k; ++p) {
        const number_t x = read_number(t, a, i * g.a_row + p * g.a_col), y = read_number(t, b, p * g.b_row + j * g.b_col);
        want += (ta ? conj(x) : x) * (tb ? conj(y) : y);
      }
      if (!numbers_agree(t, read_number(t, c, i * n + j), want)) ++wrong;
    }
  }
  if (wrong)
    hr_test_fail(__FILE__, __LINE__, "%s %lldx%lldx%lld ta=%d tb=%d add=%d isa=%s: %d elements are wrong", hr_dtype_name(t), (long long)m,
                 (long long)n, (long long)k, ta, tb, accumulate, hr_isa_name(hr_isa()), wrong);
  hr_free(a);
  hr_free(b);
  hr_free(c);
}

HR_TEST(products_of_every_type) {
  static const int64_t sizes[][3] = {{1, 1, 1}, {1, 40, 300},  {7, 33, 5}, {13, 65, 17}, {130, 70, 270},
                                     {3, 1, 9}, {250, 300, 9}, {4, 5, 0},  {0, 3, 2}};
  static const hr_dtype_t types[] = {HR_F32, HR_F64, HR_F16, HR_BF16, HR_I8,  HR_U8,  HR_I16,
                                     HR_U16, HR_I32, HR_U32, HR_I64,  HR_U64, HR_C64, HR_C128};
  for (int isa = 0; isa <= (int)hr_isa_best(); ++isa) {
    hr_isa_force((hr_isa_t)isa);
    for (size_t t = 0; t < sizeof types / sizeof *types; ++t)
      for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s)
        for (int mode = 0; mode < 8; ++mode) check_product(types[t], sizes[s][0], sizes[s][1], sizes[s][2], mode & 1, mode & 2, mode & 4);
  }
  hr_isa_force(hr_isa_best());
}

HR_TEST(threads_do_not_change_bits) {
  enum { M = 300, N = 310, K = 600 };
  float *a = hr_alloc_zero(M * K * 4), *b = hr_alloc_zero(K * N * 4), *c = hr_alloc_zero(2 * M * N * 4);
  for (int i = 0; i < M * K; ++i) a[i] = (float)rand() / 1e9f - 1.0f;
  for (int i = 0; i < K * N; ++i) b[i] = (float)rand() / 1e9f - 1.0f;
  for (int i = 0; i < 2; ++i) {
    const hr_gemm_t g = {.m = M,
                         .n = N,
                         .k = K,
                         .a = a,
                         .b = b,
                         .c = c + i * M * N,
                         .a_row = K,
                         .a_col = 1,
                         .b_row = N,
                         .b_col = 1,
                         .c_row = N,
                         .a_type = HR_F32,
                         .b_type = HR_F32,
                         .c_type = HR_F32};
    HR_CHECK(hr_gemm_run(&g, i ? 4 : 1) == NULL);
  }
  HR_CHECK(memcmp(c, c + M * N, M * N * 4) == 0);
  hr_free(a);
  hr_free(b);
  hr_free(c);
}

HR_TEST_MAIN()
