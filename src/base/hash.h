/* SPDX-License-Identifier: Apache-2.0 */
/* 64-bit hash for tables (not stable across versions) and checksums that formats fix. */
#ifndef HR_BASE_HASH_H
#define HR_BASE_HASH_H
#include <stddef.h>
#include <stdint.h>

uint64_t hr_hash(const void* data, size_t size, uint64_t seed);
uint64_t hr_hash_mix(uint64_t a, uint64_t b); /* order matters */
uint32_t hr_hash_crc32c(uint32_t crc, const void* data, size_t size); /* Castagnoli; start with 0; continues a running value */
uint32_t hr_hash_crc32c_portable(uint32_t crc, const void* data, size_t size); /* the same without the instruction; tests */
static inline uint32_t hr_hash_crc32c_mask(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }
static inline uint32_t hr_hash_crc32c_unmask(uint32_t masked) {
  uint32_t rot = masked - 0xa282ead8u;
  return (rot >> 17) | (rot << 15);
}
#endif
