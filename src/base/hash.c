/* SPDX-License-Identifier: Apache-2.0 */
/* A multiply-and-fold hash for tables, and CRC-32C with the processor's instruction where there is one. */
#include "base/hash.h"
#include <string.h>
#include "base/sync.h"

/* Odd constants with balanced bits: the fractions of the square roots of 2, 3 and 5. */
static const uint64_t ROOT2 = 0x6a09e667f3bcc909u, ROOT3 = 0xbb67ae8584caa73bu, ROOT5 = 0x3c6ef372fe94f82bu;

__extension__ typedef unsigned __int128 wide_t;

static inline uint64_t fold_multiply(uint64_t a, uint64_t b) {
  wide_t product = (wide_t)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t load64(const unsigned char* p) {
  uint64_t v;
  memcpy(&v, p, 8);
  return v;
}

static inline uint64_t load32(const unsigned char* p) {
  uint32_t v;
  memcpy(&v, p, 4);
  return v;
}

/* The last 0 to 16 bytes as two words; overlapping reads instead of a byte loop. */
static inline void load_tail(const unsigned char* p, size_t size, uint64_t* a, uint64_t* b) {
  if (size >= 8) {
    *a = load64(p);
    *b = load64(p + size - 8);
  } else if (size >= 4) {
    *a = load32(p);
    *b = load32(p + size - 4);
  } else if (size) {
    *a = (uint64_t)p[0] << 16 | (uint64_t)p[size / 2] << 8 | p[size - 1];
    *b = 0;
  } else {
    *a = *b = 0;
  }
}

uint64_t hr_hash(const void* data, size_t size, uint64_t seed) {
  const unsigned char* p = data;
  uint64_t state = seed ^ ROOT2, a, b;
  size_t left = size;
  for (; left > 16; left -= 16, p += 16) state = fold_multiply(load64(p) ^ ROOT3, load64(p + 8) ^ state);
  load_tail(p, left, &a, &b);
  return fold_multiply(ROOT5 ^ size, fold_multiply(a ^ ROOT3, b ^ state));
}

uint64_t hr_hash_mix(uint64_t a, uint64_t b) { return fold_multiply(fold_multiply(a ^ ROOT3, ROOT2) + b, ROOT5) ^ a; }

/* crc_table[0] advances by one byte; crc_table[k] by that byte and k zero bytes. */
static uint32_t crc_table[8][256];

static void crc_table_fill(void) {
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (0x82f63b78u & (0u - (crc & 1)));
    crc_table[0][i] = crc;
  }
  for (uint32_t i = 0; i < 256; ++i)
    for (int k = 1; k < 8; ++k) crc_table[k][i] = crc_table[k - 1][i] >> 8 ^ crc_table[0][crc_table[k - 1][i] & 255];
}

static uint32_t crc_by_table(uint32_t crc, const unsigned char* p, size_t size) {
  static hr_once_t once = HR_ONCE_INIT;
  hr_once_run(&once, crc_table_fill);
  for (; size >= 8; size -= 8, p += 8) {
    uint64_t v = load64(p) ^ crc;
    crc = 0;
    for (int k = 0; k < 8; ++k) crc ^= crc_table[7 - k][v >> (8 * k) & 255];
  }
  for (; size; --size) crc = crc >> 8 ^ crc_table[0][(crc ^ *p++) & 255];
  return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t crc_by_instruction(uint32_t crc, const unsigned char* p, size_t size) {
  uint64_t wide = crc;
  for (; size >= 8; size -= 8, p += 8) wide = __builtin_ia32_crc32di(wide, load64(p));
  crc = (uint32_t)wide;
  for (; size; --size) crc = __builtin_ia32_crc32qi(crc, *p++);
  return crc;
}
static int has_crc_instruction(void) { return __builtin_cpu_supports("sse4.2"); }
#else
static uint32_t crc_by_instruction(uint32_t crc, const unsigned char* p, size_t size) { return crc_by_table(crc, p, size); }
static int has_crc_instruction(void) { return 0; }
#endif

uint32_t hr_hash_crc32c(uint32_t crc, const void* data, size_t size) {
  return ~(has_crc_instruction() ? crc_by_instruction : crc_by_table)(~crc, data, size);
}

uint32_t hr_hash_crc32c_portable(uint32_t crc, const void* data, size_t size) { return ~crc_by_table(~crc, data, size); }
