/* SPDX-License-Identifier: Apache-2.0 */
/* Keys are text because other tasks read them; frame ids are hashes because both sides of an edge compute them for themselves. */
#include "rt/rendezvous_key.h"
#include "rt/device_name.h"

/* --- text --------------------------------------------------------------------------------------------------------------------------- */

void hr_rendezvous_key_format(const hr_rendezvous_key_t* key, hr_strbuf_t* out) {
  hr_strbuf_format(out, "%.*s;%016llx;%.*s;%.*s;%llu:%lld", HR_STR_ARG(key->source), (unsigned long long)key->incarnation,
                   HR_STR_ARG(key->destination), HR_STR_ARG(key->edge), (unsigned long long)key->frame_id, (long long)key->iteration);
}

static bool parse_hex(hr_str_t s, uint64_t* out) {
  uint64_t value = 0;
  if (s.size != 16) return false;
  for (size_t i = 0; i < s.size; ++i) {
    const char c = s.data[i];
    if (c >= '0' && c <= '9')
      value = value << 4 | (uint64_t)(c - '0');
    else if (c >= 'a' && c <= 'f')
      value = value << 4 | (uint64_t)(c - 'a' + 10);
    else
      return false;
  }
  *out = value;
  return true;
}

static bool parse_u64(hr_str_t s, uint64_t* out) { /* frame ids use all 64 bits */
  uint64_t value = 0;
  for (size_t i = 0; i < s.size; ++i) {
    if (s.data[i] < '0' || s.data[i] > '9') return false;
    if (__builtin_mul_overflow(value, 10u, &value) || __builtin_add_overflow(value, (uint64_t)(s.data[i] - '0'), &value)) return false;
  }
  *out = value;
  return s.size > 0;
}

static bool parse_frame(hr_str_t s, hr_rendezvous_key_t* out) {
  const int64_t colon = hr_str_find(s, ':');
  if (colon < 0 || !parse_u64(hr_str_slice(s, 0, (size_t)colon), &out->frame_id)) return false;
  return hr_str_parse_i64(hr_str_slice(s, (size_t)colon + 1, s.size), &out->iteration) && out->iteration >= 0;
}

static bool is_full_device(hr_str_t text) {
  hr_device_name_t n;
  hr_status_t status = hr_device_name_parse(text, &n);
  if (status) {
    hr_status_release(status);
    return false;
  }
  return hr_device_name_is_full(&n);
}

hr_status_t hr_rendezvous_key_parse(hr_str_t text, hr_rendezvous_key_t* out) {
  enum { PARTS = 5 };
  hr_str_t parts[PARTS], rest = text, part;
  hr_rendezvous_key_t key = {0};
  int count = 0;
  for (; hr_str_split(&rest, ';', &part); ++count)
    if (count < PARTS) parts[count] = part;
  if (count == PARTS && is_full_device(parts[0]) && parse_hex(parts[1], &key.incarnation) && is_full_device(parts[2]) &&
      parts[3].size > 0 && parse_frame(parts[4], &key)) {
    key.source = parts[0];
    key.destination = parts[2];
    key.edge = parts[3];
    *out = key;
    return NULL;
  }
  return HR_ERROR(INVALID_ARGUMENT,
                  "malformed rendezvous key '%.*s'; right would be SOURCE DEVICE;16 HEX DIGITS;DESTINATION DEVICE;EDGE NAME;"
                  "FRAME:ITERATION",
                  HR_STR_ARG(text));
}

/* --- frame ids ---------------------------------------------------------------------------------------------------------------------- */

static uint64_t load_little_endian(const unsigned char* p, size_t bytes) {
  uint64_t v = 0;
  for (size_t i = 0; i < bytes; ++i) v |= (uint64_t)p[i] << (8 * i);
  return v;
}

/* MurmurHash64A of the frame's name. */
static uint64_t hash_name(hr_str_t name) {
  const uint64_t multiplier = UINT64_C(0xc6a4a7935bd1e995), seed = UINT64_C(0xDECAFCAFFE);
  const int shift = 47;
  const unsigned char* p = (const unsigned char*)name.data;
  size_t left = name.size;
  uint64_t h = seed ^ (uint64_t)name.size * multiplier;
  for (; left >= 8; left -= 8, p += 8) {
    uint64_t k = load_little_endian(p, 8) * multiplier;
    k = (k ^ k >> shift) * multiplier;
    h = (h ^ k) * multiplier;
  }
  if (left > 0) h = (h ^ load_little_endian(p, left)) * multiplier;
  h = (h ^ h >> shift) * multiplier;
  return h ^ h >> shift;
}

static uint64_t combine(uint64_t a, uint64_t b) { return a ^ (b + UINT64_C(0x9e3779b97f4a7800) + (a << 10) + (a >> 4)); }

uint64_t hr_rendezvous_frame_id(uint64_t parent_id, int64_t iteration, hr_str_t frame_name) {
  return combine(parent_id, combine((uint64_t)iteration, hash_name(frame_name)));
}
