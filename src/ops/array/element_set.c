/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing over item numbers; at most half full. Elements are compared as canonical 64-bit keys. */
#include "ops/array/element_set.h"
#include "base/alloc.h"
#include "base/hash.h"

/* Equal elements have equal keys; false for NaN. Not for strings. */
static inline bool element_key(const hr_tensor_t* t, int64_t i, uint64_t* out) {
  const size_t size = hr_dtype_size(t->dtype);
  uint64_t bits = 0;
  memcpy(&bits, (const char*)t->data + (size_t)i * size, size <= 8 ? size : 8);
  const uint64_t infinity = t->dtype == HR_F32    ? 0x7f800000
                            : t->dtype == HR_F64  ? UINT64_C(0x7ff0000000000000)
                            : t->dtype == HR_F16  ? 0x7c00
                            : t->dtype == HR_BF16 ? 0x7f80
                                                  : 0;
  if (infinity) {
    const uint64_t magnitude = bits & ((UINT64_C(1) << (8 * size - 1)) - 1);
    if (magnitude > infinity) return false;
    if (magnitude == 0) bits = 0;
  }
  *out = bits;
  return true;
}

static inline int64_t element_at(const hr_element_items_t* a, int64_t item, int64_t outer, int64_t inner) {
  return outer * a->step + item * a->inner + inner;
}

static bool item_hash(const hr_element_items_t* a, int64_t item, uint64_t* out) { /* false: equal to nothing */
  uint64_t hash = 0x9e3779b97f4a7c15u, key;
  for (int64_t o = 0; o < a->outer; ++o)
    for (int64_t i = 0; i < a->inner; ++i) {
      const int64_t at = element_at(a, item, o, i);
      if (a->t->dtype == HR_STRING) {
        hr_str_t text = hr_tstring_get((const hr_tstring_t*)a->t->data + at);
        key = hr_hash(text.data, text.size, 0);
      } else if (!element_key(a->t, at, &key)) {
        return false;
      }
      hash = hr_hash_mix(hash, key);
    }
  *out = hash;
  return true;
}

static bool items_equal(const hr_element_items_t* a, int64_t x, const hr_element_items_t* b, int64_t y) {
  uint64_t p = 0, q = 0;
  for (int64_t o = 0; o < a->outer; ++o)
    for (int64_t i = 0; i < a->inner; ++i) {
      const int64_t m = element_at(a, x, o, i), n = element_at(b, y, o, i);
      if (a->t->dtype == HR_STRING) {
        if (!hr_str_equal(hr_tstring_get((const hr_tstring_t*)a->t->data + m), hr_tstring_get((const hr_tstring_t*)b->t->data + n)))
          return false;
      } else if (!element_key(a->t, m, &p) || !element_key(b->t, n, &q) || p != q) {
        return false;
      }
    }
  return true;
}

hr_status_t hr_element_set_init(hr_element_set_t* s, const hr_element_items_t* items, int64_t most) {
  uint64_t slots = 16;
  while (slots / 2 < (uint64_t)most) slots *= 2;
  s->items = *items;
  s->mask = slots - 1;
  s->slots = hr_alloc_array(slots, sizeof *s->slots);
  return s->slots ? NULL : hr_status_out_of_memory();
}

void hr_element_set_deinit(hr_element_set_t* s) { hr_free(s->slots); }

/* The slot that holds item i's equal, or the free one where it belongs; NULL: it has no equal. */
static int64_t* find_slot(const hr_element_set_t* s, const hr_element_items_t* other, int64_t i) {
  uint64_t at;
  if (!item_hash(other, i, &at)) return NULL;
  for (;; ++at) {
    int64_t* slot = &s->slots[at & s->mask];
    if (!*slot || items_equal(&s->items, *slot - 1, other, i)) return slot;
  }
}

int64_t hr_element_set_find(const hr_element_set_t* s, const hr_element_items_t* other, int64_t i) {
  const int64_t* slot = find_slot(s, other, i);
  return slot ? *slot - 1 : -1;
}

int64_t hr_element_set_add(hr_element_set_t* s, int64_t i) {
  int64_t* slot = find_slot(s, &s->items, i);
  if (!slot) return i;
  if (!*slot) *slot = i + 1;
  return *slot - 1;
}
