/* SPDX-License-Identifier: Apache-2.0 */
/* FarmHash's Fingerprint64: one mixing of words for each range of lengths; over 64 bytes, blocks of 64 with seven words of state, the last
 * block being the text's last 64 bytes. Words are little-endian. */
#include "ops/string/fingerprint.h"

static const uint64_t prime_0 = 0xc3a5c85c97cb3127u, prime_1 = 0xb492b66fbe98f273u, prime_2 = 0x9ae16a3b2f90404fu;

static uint64_t word(const char* at) {
  uint64_t v;
  memcpy(&v, at, sizeof v);
  return v;
}
static uint64_t half_word(const char* at) {
  uint32_t v;
  memcpy(&v, at, sizeof v);
  return v;
}
static uint64_t turn(uint64_t v, int by) { return v >> by | v << (64 - by); }
static uint64_t fold(uint64_t v) { return v ^ v >> 47; }
static uint64_t join(uint64_t u, uint64_t v, uint64_t factor) { return fold((v ^ fold((u ^ v) * factor)) * factor) * factor; }

static uint64_t up_to_16(const char* s, uint64_t n) {
  const uint64_t factor = prime_2 + 2 * n;
  if (n >= 8) {
    const uint64_t a = word(s) + prime_2, b = word(s + n - 8);
    return join(turn(b, 37) * factor + a, (turn(a, 25) + b) * factor, factor);
  }
  if (n >= 4) return join(n + (half_word(s) << 3), half_word(s + n - 4), factor);
  if (n == 0) return prime_2;
  const uint64_t first = (unsigned char)s[0], middle = (unsigned char)s[n >> 1], last = (unsigned char)s[n - 1];
  return fold((first + (middle << 8)) * prime_2 ^ (n + (last << 2)) * prime_0) * prime_2;
}

static uint64_t up_to_32(const char* s, uint64_t n) {
  const uint64_t factor = prime_2 + 2 * n;
  const uint64_t a = word(s) * prime_1, b = word(s + 8), c = word(s + n - 8) * factor, d = word(s + n - 16) * prime_2;
  return join(turn(a + b, 43) + turn(c, 30) + d, a + turn(b + prime_2, 18) + c, factor);
}

static uint64_t up_to_64(const char* s, uint64_t n) {
  const uint64_t factor = prime_2 + 2 * n;
  const uint64_t a = word(s) * prime_2, b = word(s + 8), c = word(s + n - 8) * factor, d = word(s + n - 16) * prime_2;
  const uint64_t y = turn(a + b, 43) + turn(c, 30) + d, z = join(y, a + turn(b + prime_2, 18) + c, factor);
  const uint64_t e = word(s + 16) * factor, f = word(s + 24);
  const uint64_t g = (y + word(s + n - 32)) * factor, h = (z + word(s + n - 24)) * factor;
  return join(turn(e + f, 43) + turn(g, 30) + h, e + turn(f + a, 18) + g, factor);
}

typedef struct {
  uint64_t a, b;
} pair_t;
typedef struct {
  uint64_t x, y, z;
  pair_t v, w;
} state_t;

static pair_t pair_mix(const char* s, uint64_t a, uint64_t b) { /* 32 bytes */
  a += word(s);
  b = turn(b + a + word(s + 24), 21);
  const uint64_t c = a;
  a += word(s + 8) + word(s + 16);
  b += turn(a, 44);
  return (pair_t){a + word(s + 24), b + c};
}

/* One block; the last one has another factor and weight. */
static void block_mix(state_t* t, const char* s, uint64_t factor, uint64_t weight) {
  t->x = turn(t->x + t->y + t->v.a + word(s + 8), 37) * factor;
  t->y = turn(t->y + t->v.b + word(s + 48), 42) * factor;
  t->x ^= t->w.b * weight;
  t->y += t->v.a * weight + word(s + 40);
  t->z = turn(t->z + t->w.a, 33) * factor;
  t->v = pair_mix(s, t->v.b * factor, t->x + t->w.a);
  t->w = pair_mix(s + 32, t->z + t->w.b, t->y + word(s + 16));
  const uint64_t z = t->z;
  t->z = t->x;
  t->x = z;
}

static uint64_t over_64(const char* s, uint64_t n) {
  const uint64_t seed = 81, rest = (n - 1) & 63;
  const char *end = s + (n - 1) / 64 * 64, *last = s + n - 64;
  state_t t = {.x = seed * prime_2 + word(s), .y = seed * prime_1 + 113};
  t.z = fold(t.y * prime_2 + 113) * prime_2;
  for (; s != end; s += 64) block_mix(&t, s, prime_1, 1);
  const uint64_t factor = prime_1 + ((t.z & 0xff) << 1);
  t.w.a += rest;
  t.v.a += t.w.a;
  t.w.a += t.v.a;
  block_mix(&t, last, factor, 9);
  return join(join(t.v.a, t.w.a, factor) + fold(t.y) * prime_0 + t.z, join(t.v.b, t.w.b, factor) + t.x, factor);
}

uint64_t hr_fingerprint(hr_str_t text) {
  if (text.size <= 16) return up_to_16(text.data, text.size);
  if (text.size <= 32) return up_to_32(text.data, text.size);
  return text.size <= 64 ? up_to_64(text.data, text.size) : over_64(text.data, text.size);
}
