/* SPDX-License-Identifier: Apache-2.0 */
/* Philox 4x32-10 with a call a lane, compiled once per instruction set. */
#include "ops/random/philox.h"
#include <immintrin.h>
#include <tgmath.h>
#include "base/simd_f32.h"
#include "ops/random/box_muller.inc"
#include "base/simd_f64.h"
#include "ops/random/box_muller.inc"

typedef uint32_t word_v __attribute__((vector_size(HR_SIMD_BYTES)));
typedef uint64_t wide_v __attribute__((vector_size(HR_SIMD_BYTES)));
enum { LANES = HR_SIMD_BYTES / 4 };

#if HR_SIMD_BYTES == 64
#define MULTIPLY_EVEN(a, b) ((wide_v)_mm512_mul_epu32((__m512i)(a), (__m512i)(b)))
#elif HR_SIMD_BYTES == 32
#define MULTIPLY_EVEN(a, b) ((wide_v)_mm256_mul_epu32((__m256i)(a), (__m256i)(b)))
#else
#define MULTIPLY_EVEN(a, b) ((wide_v)_mm_mul_epu32((__m128i)(a), (__m128i)(b)))
#endif

/* The high and low halves of x times a word that stands in all lanes of `by`. */
static inline void multiply(word_v x, word_v by, word_v* high, word_v* low) {
  const wide_v even = MULTIPLY_EVEN(x, by), odd = MULTIPLY_EVEN((wide_v)x >> 32, by), half = (wide_v){0} + 0xffffffffu;
  *low = (word_v)((even & half) | odd << 32);
  *high = (word_v)(even >> 32 | (odd & ~half));
}

static void load_counters(const hr_rng_t* from, const uint64_t* offsets, int64_t n, uint32_t c[4][LANES]) {
  const uint64_t low = from->counter[0] | (uint64_t)from->counter[1] << 32, high = from->counter[2] | (uint64_t)from->counter[3] << 32;
  for (int64_t i = 0; i < LANES; ++i) {
    const uint64_t offset = i < n ? offsets[i] : 0, l = low + offset, h = high + (l < low);
    c[0][i] = (uint32_t)l;
    c[1][i] = (uint32_t)(l >> 32);
    c[2][i] = (uint32_t)h;
    c[3][i] = (uint32_t)(h >> 32);
  }
}

static void ten_rounds(const hr_rng_t* from, uint32_t words[4][LANES]) {
  const word_v m0 = (word_v){0} + 0xd2511f53u, m1 = (word_v){0} + 0xcd9e8d57u;
  uint32_t k0 = from->key[0], k1 = from->key[1];
  word_v c[4];
  memcpy(c, words, sizeof c);
  for (int i = 0; i < 10; ++i, k0 += 0x9e3779b9u, k1 += 0xbb67ae85u) {
    word_v high0, low0, high1, low1;
    multiply(c[0], m0, &high0, &low0);
    multiply(c[2], m1, &high1, &low1);
    c[0] = high1 ^ c[1] ^ k0;
    c[1] = low1;
    c[2] = high0 ^ c[3] ^ k1;
    c[3] = low0;
  }
  memcpy(words, c, sizeof c);
}

static void philox_words(const hr_rng_t* from, const uint64_t* offsets, int64_t calls, uint32_t* out) {
  uint32_t words[4][LANES];
  for (int64_t i = 0; i < calls; i += LANES) {
    const int64_t n = calls - i < LANES ? calls - i : LANES;
    load_counters(from, offsets + i, n, words);
    ten_rounds(from, words);
    uint32_t* to = out + 4 * i;
    for (int64_t j = 0; j < n; ++j)
      for (int w = 0; w < 4; ++w) to[4 * j + w] = words[w][j];
  }
}

static inline float unit_f32(uint32_t word) {
  const uint32_t bits = 127u << 23 | (word & 0x7fffffu);
  float f;
  memcpy(&f, &bits, 4);
  return f - 1;
}
static inline double unit_f64(uint32_t high, uint32_t low) {
  const uint64_t bits = (uint64_t)1023 << 52 | (uint64_t)(high & 0xfffffu) << 32 | low;
  double d;
  memcpy(&d, &bits, 8);
  return d - 1;
}

static void uniform_f32(const uint32_t* words, int64_t calls, float* out) {
  for (int64_t i = 0; i < 4 * calls; ++i) out[i] = unit_f32(words[i]);
}
static void uniform_f64(const uint32_t* words, int64_t calls, double* out) {
  for (int64_t i = 0; i < 2 * calls; ++i) out[i] = unit_f64(words[2 * i], words[2 * i + 1]);
}

#define TWO_PI 6.283185307179586476925286766559
#define NEAR_ZERO 1.0e-7 /* the least that a logarithm is taken of */
static void normal_f32(const uint32_t* words, int64_t calls, float* out) {
  float u[2 * HR_PHILOX_BLOCK], v[2 * HR_PHILOX_BLOCK];
  for (int64_t i = 0; i < 2 * calls; ++i) {
    const float x = unit_f32(words[2 * i]);
    u[i] = x < (float)NEAR_ZERO ? (float)NEAR_ZERO : x;
    v[i] = (float)(TWO_PI * (double)unit_f32(words[2 * i + 1]));
  }
  box_muller_f32(u, v, 2 * calls, out);
}
static void normal_f64(const uint32_t* words, int64_t calls, double* out) {
  double u[HR_PHILOX_BLOCK], v[HR_PHILOX_BLOCK];
  for (int64_t i = 0; i < calls; ++i) {
    const double x = unit_f64(words[4 * i], words[4 * i + 1]);
    u[i] = x < NEAR_ZERO ? NEAR_ZERO : x;
    v[i] = TWO_PI * unit_f64(words[4 * i + 2], words[4 * i + 3]);
  }
  box_muller_f64(u, v, calls, out);
}

const hr_philox_vec_t HR_ISA_NAME(hr_philox_vec) = {philox_words, uniform_f32, uniform_f64, normal_f32, normal_f64};
