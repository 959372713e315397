/* SPDX-License-Identifier: Apache-2.0 */
/* Half and bfloat16: every bit pattern there and back, and rounding at the edges. */
#include "base/half.h"
#include "test.h"

static uint16_t f16(float f) { return hr_f16_from_f32(f).bits; }
static uint16_t bf16(float f) { return hr_bf16_from_f32(f).bits; }

HR_TEST(every_half_survives) {
  for (uint32_t u = 0; u < 65536; ++u) {
    float f = hr_f16_to_f32((hr_f16_t){(uint16_t)u});
    bool nan = (u & 0x7fff) > 0x7c00;
    HR_CHECK(isnan(f) == nan);
    if (!nan && f16(f) != u) hr_test_fail(__FILE__, __LINE__, "0x%04x came back as 0x%04x", u, f16(f));
    if (nan) HR_CHECK((f16(f) & 0x7fff) > 0x7c00);
  }
}

HR_TEST(half_values) {
  HR_CHECK_EQ_F64(hr_f16_to_f32((hr_f16_t){0x3c00}), 1);
  HR_CHECK_EQ_F64(hr_f16_to_f32((hr_f16_t){0xc000}), -2);
  HR_CHECK_EQ_F64(hr_f16_to_f32((hr_f16_t){0x7bff}), 65504);
  HR_CHECK_EQ_F64(hr_f16_to_f32((hr_f16_t){1}), ldexp(1, -24));
  HR_CHECK(signbit(hr_f16_to_f32((hr_f16_t){0x8000})));
}

HR_TEST(half_rounds_to_nearest_even) {
  for (uint32_t u = 0; u < 0x7bff; ++u) { /* halfway between neighbours goes to the even one; a bit past goes where it is nearer */
    float low = hr_f16_to_f32((hr_f16_t){(uint16_t)u}), high = hr_f16_to_f32((hr_f16_t){(uint16_t)(u + 1)});
    float middle = low + (high - low) / 2;
    HR_CHECK_EQ_U64(f16(middle), u % 2 ? u + 1 : u);
    HR_CHECK_EQ_U64(f16(nextafterf(middle, 0)), u);
    HR_CHECK_EQ_U64(f16(nextafterf(middle, 1e9f)), u + 1);
  }
  HR_CHECK_EQ_U64(f16(65519.99f), 0x7bff);
  HR_CHECK_EQ_U64(f16(65520.0f), 0x7c00);
  HR_CHECK_EQ_U64(f16(-1e30f), 0xfc00);
  HR_CHECK_EQ_U64(f16(INFINITY), 0x7c00);
  HR_CHECK_EQ_U64(f16(-0.0f), 0x8000);
  HR_CHECK_EQ_U64(f16(1e-30f), 0);
}

HR_TEST(bfloat16) {
  for (uint32_t u = 0; u < 65536; ++u) {
    float f = hr_bf16_to_f32((hr_bf16_t){(uint16_t)u});
    if (isnan(f))
      HR_CHECK((bf16(f) & 0x7fff) > 0x7f80);
    else
      HR_CHECK_EQ_U64(bf16(f), u);
  }
  HR_CHECK_EQ_U64(bf16(1.0f + 0x1p-8f), 0x3f80);
  HR_CHECK_EQ_U64(bf16(1.0f + 3 * 0x1p-8f), 0x3f82);
  HR_CHECK_EQ_U64(bf16(3.4e38f), 0x7f80);
}

HR_TEST(nan_keeps_the_top_of_its_payload) {
  static const struct {
    uint32_t bits;
    uint16_t half;
  } rows[] = {{0x7fc00000u, 0x7e00}, {0x7fc02000u, 0x7e01}, {0x7fffffffu, 0x7fff},
              {0xffc04000u, 0xfe02}, {0x7f800001u, 0x7e00}, {0x7fa00000u, 0x7f00}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    float f;
    memcpy(&f, &rows[i].bits, 4);
    HR_CHECK_EQ_U64(f16(f), rows[i].half);
  }
}

HR_TEST_MAIN()
