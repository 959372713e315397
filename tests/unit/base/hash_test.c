/* SPDX-License-Identifier: Apache-2.0 */
/* The table hash: spread and dependence on every byte; CRC-32C against published values and its own twin. */
#include "base/hash.h"
#include "test.h"

HR_TEST(every_byte_and_the_length_matter) {
  char text[70] = {0};
  for (size_t size = 0; size < 70; ++size) {
    uint64_t h = hr_hash(text, size, 0);
    HR_CHECK(h != hr_hash(text, size, 1));
    if (size) HR_CHECK(h != hr_hash(text, size - 1, 0));
    for (size_t i = 0; i < size; ++i) {
      text[i] = 1;
      HR_CHECK(hr_hash(text, size, 0) != h);
      text[i] = 0;
    }
  }
  HR_CHECK_EQ_U64(hr_hash(NULL, 0, 0), hr_hash("x", 0, 0));
}

HR_TEST(low_bits_are_spread) {
  enum { SLOTS = 256, ITEMS = 256 * 64 };
  int hits[2][SLOTS] = {{0}};
  for (uint64_t i = 0; i < ITEMS; ++i) {
    ++hits[0][hr_hash(&i, sizeof i, 0) % SLOTS];
    ++hits[1][hr_hash_mix(i * 64, 1) % SLOTS];
  }
  for (int i = 0; i < SLOTS; ++i) HR_CHECK(hits[0][i] > 20 && hits[0][i] < 120 && hits[1][i] > 20 && hits[1][i] < 120);
  HR_CHECK(hr_hash_mix(1, 2) != hr_hash_mix(2, 1));
}

HR_TEST(crc32c_published_values) { /* RFC 3720, B.4 */
  unsigned char data[32] = {0};
  HR_CHECK_EQ_U64(hr_hash_crc32c(0, data, 32), 0x8a9136aa);
  memset(data, 0xff, 32);
  HR_CHECK_EQ_U64(hr_hash_crc32c(0, data, 32), 0x62a8ab43);
  for (int i = 0; i < 32; ++i) data[i] = (unsigned char)i;
  HR_CHECK_EQ_U64(hr_hash_crc32c(0, data, 32), 0x46dd794e);
  HR_CHECK_EQ_U64(hr_hash_crc32c(0, "123456789", 9), 0xe3069283);
  HR_CHECK_EQ_U64(hr_hash_crc32c(0, NULL, 0), 0);
}

HR_TEST(crc32c_twins_and_pieces_agree) {
  unsigned char data[300];
  for (int i = 0; i < 300; ++i) data[i] = (unsigned char)(i * 37 + i / 7);
  for (size_t begin = 0; begin < 9; ++begin)
    for (size_t size = 0; begin + size <= 300; size += 1 + size / 9) {
      uint32_t whole = hr_hash_crc32c(0, data + begin, size);
      HR_CHECK_EQ_U64(whole, hr_hash_crc32c_portable(0, data + begin, size));
      HR_CHECK_EQ_U64(whole, hr_hash_crc32c(hr_hash_crc32c(0, data + begin, size / 3), data + begin + size / 3, size - size / 3));
    }
  uint32_t crc = hr_hash_crc32c(0, data, 300);
  HR_CHECK(hr_hash_crc32c_mask(crc) != crc && hr_hash_crc32c_unmask(hr_hash_crc32c_mask(crc)) == crc);
}

/* Texts hash alike on all machines and from one version to the next: handles carry such numbers from one process to another. */
HR_TEST(known_values) {
  uint8_t bytes[64];
  uint64_t all = 0;
  for (int i = 0; i < 64; ++i) bytes[i] = (uint8_t)(i * 37 + 11);
  for (size_t size = 0; size <= 64; ++size) all = hr_hash_mix(all, hr_hash(bytes, size, size * 3));
  HR_CHECK_EQ_U64(hr_hash("", 0, 0), UINT64_C(0x1eb244682e62ca05));
  HR_CHECK_EQ_U64(all, UINT64_C(0xae0c02a106991e31));
}

HR_TEST_MAIN()
