/* SPDX-License-Identifier: Apache-2.0 */
/* The hash map against a plain array, through random additions and removals. */
#define HR_TEST_LEAKS_CHECKED
#include "base/map.h"
#include "test.h"

enum { KEYS = 500 };
static char names[KEYS][16];
static hr_str_t name_of(int i) {
  if (i) snprintf(names[i], sizeof names[i], "key%d", i); /* key 0 is the empty text */
  return hr_str(names[i]);
}

HR_TEST(empty_map) {
  hr_map_t m;
  hr_map_init(&m);
  int64_t at = 0;
  HR_CHECK(!hr_map_find(&m, HR_STR("x"), NULL) && !hr_map_remove(&m, HR_STR("x")));
  HR_CHECK(!hr_map_find_ptr(&m, &m, NULL) && !hr_map_remove_ptr(&m, &m) && !hr_map_next(&m, &at));
  hr_map_deinit(&m);
}

HR_TEST(reserved_room_is_used) {
  hr_map_t m;
  hr_map_init(&m);
  HR_CHECK_OK(hr_map_set(&m, name_of(0), 1));
  HR_CHECK_OK(hr_map_reserve(&m, KEYS - 1));
  const hr_map_entry_t* entries = m.entries;
  for (int i = 1; i < KEYS; ++i) HR_CHECK_OK(hr_map_set(&m, name_of(i), (uintptr_t)i + 1));
  HR_CHECK(m.entries == entries && m.count == KEYS && m.capacity == 1024);
  uintptr_t value = 0;
  for (int i = 0; i < KEYS; ++i) HR_CHECK(hr_map_find(&m, name_of(i), &value) && value == (uintptr_t)i + 1);
  HR_CHECK_OK(hr_map_reserve(&m, 0));
  HR_CHECK(m.entries == entries);
  HR_CHECK_CODE(hr_map_reserve(&m, INT64_MAX), HR_RESOURCE_EXHAUSTED, "memory");
  hr_map_deinit(&m);
}

HR_TEST(random_walk_agrees_with_a_model) {
  hr_map_t m;
  hr_map_init(&m);
  uintptr_t model[KEYS] = {0};
  int64_t count = 0;
  unsigned random = 7;
  for (int step = 0; step < 20000; ++step) {
    random = random * 1664525u + 1013904223u;
    int i = (int)((random >> 8) % KEYS);
    if (random >> 30) {
      count += !model[i];
      model[i] = (uintptr_t)step + 1;
      HR_CHECK_OK(hr_map_set(&m, name_of(i), (uintptr_t)step + 1));
    } else {
      HR_CHECK(hr_map_remove(&m, name_of(i)) == (model[i] != 0));
      count -= model[i] != 0;
      model[i] = 0;
    }
  }
  HR_CHECK_EQ_I64(m.count, count);
  for (int i = 0; i < KEYS; ++i) {
    uintptr_t v = 0;
    HR_CHECK(hr_map_find(&m, name_of(i), &v) == (model[i] != 0) && v == model[i]);
  }
  int64_t at = 0, seen = 0;
  while (hr_map_next(&m, &at)) ++seen;
  HR_CHECK_EQ_I64(seen, count);
  hr_map_deinit(&m);
}

HR_TEST(add_does_not_replace) {
  hr_map_t m;
  hr_map_init(&m);
  bool added = false;
  uintptr_t v = 0;
  HR_CHECK_OK(hr_map_add(&m, HR_STR("a"), 1, &added));
  HR_CHECK(added);
  HR_CHECK_OK(hr_map_add(&m, HR_STR("a"), 2, &added));
  HR_CHECK(!added && hr_map_find(&m, HR_STR("a"), &v) && v == 1);
  HR_CHECK_OK(hr_map_set(&m, HR_STR("a"), 3));
  HR_CHECK(hr_map_find(&m, HR_STR("a"), &v) && v == 3);
  HR_CHECK_OK(hr_map_set(&m, (hr_str_t){"a\0b", 3}, 4));
  HR_CHECK(hr_map_find(&m, HR_STR("a"), &v) && v == 3 && m.count == 2);
  hr_map_deinit(&m);
}

static hr_status_t add_pointers(void) {
  static int things[200];
  hr_map_t m;
  hr_map_init(&m);
  hr_status_t status = hr_map_set_ptr(&m, NULL, 77);
  for (int i = 0; i < 200 && !status; ++i) status = hr_map_set_ptr(&m, &things[i], (uintptr_t)i);
  uintptr_t v = 0;
  if (!status) {
    HR_CHECK(hr_map_find_ptr(&m, NULL, &v) && v == 77);
    HR_CHECK(hr_map_remove_ptr(&m, &things[5]) && !hr_map_find_ptr(&m, &things[5], NULL));
    for (int i = 6; i < 200; ++i) HR_CHECK(hr_map_find_ptr(&m, &things[i], &v) && v == (uintptr_t)i);
  }
  hr_map_deinit(&m);
  return status;
}
HR_TEST(pointers_with_every_allocation_failing) { HR_TEST_EVERY_ALLOCATION_FAILS(add_pointers); }

HR_TEST(texts_are_compared_not_their_places) {
  static char once[3][4] = {"a", "b", ""}, again[3][4] = {"a", "b", ""};
  hr_map_t m;
  uintptr_t value = 0;
  bool added = true;
  hr_map_init(&m);
  for (int i = 0; i < 3; ++i) HR_CHECK_OK(hr_map_set(&m, hr_str(once[i]), (uintptr_t)i));
  for (int i = 0; i < 3; ++i) HR_CHECK(hr_map_find(&m, hr_str(again[i]), &value) && value == (uintptr_t)i);
  HR_CHECK_OK(hr_map_set(&m, hr_str(again[0]), 7));
  HR_CHECK_OK(hr_map_add(&m, hr_str(again[1]), 8, &added));
  HR_CHECK(m.count == 3 && !added && hr_map_find(&m, hr_str(once[0]), &value) && value == 7 && hr_map_find(&m, hr_str(once[1]), &value) &&
           value == 1);
  HR_CHECK(hr_map_remove(&m, hr_str(again[2])) && m.count == 2 && !hr_map_find(&m, hr_str(once[2]), NULL));
  hr_map_deinit(&m);
}

HR_TEST(pointers_are_compared_by_their_places) {
  static char same[2][4] = {"a", "a"};
  hr_map_t m;
  uintptr_t value = 0;
  hr_map_init(&m);
  HR_CHECK_OK(hr_map_set_ptr(&m, same[0], 1));
  HR_CHECK_OK(hr_map_set_ptr(&m, same[1], 2));
  HR_CHECK_OK(hr_map_set_ptr(&m, same[0], 3));
  HR_CHECK(m.count == 2 && hr_map_find_ptr(&m, same[0], &value) && value == 3 && hr_map_find_ptr(&m, same[1], &value) && value == 2);
  HR_CHECK(hr_map_remove_ptr(&m, same[0]) && !hr_map_find_ptr(&m, same[0], NULL) && hr_map_find_ptr(&m, same[1], NULL));
  hr_map_deinit(&m);
}

HR_TEST(room_reserved_in_an_empty_map) {
  for (int n = 0; n <= 100; ++n) {
    hr_map_t m;
    hr_map_init(&m);
    HR_CHECK_OK(hr_map_reserve(&m, n));
    const hr_map_entry_t* entries = m.entries;
    for (int i = 0; i < n; ++i) HR_CHECK_OK(hr_map_set(&m, name_of(i), (uintptr_t)i));
    HR_CHECK(m.entries == entries && m.count == n);
    for (int i = 0; i < n; ++i) HR_CHECK(hr_map_find(&m, name_of(i), NULL));
    hr_map_deinit(&m);
  }
}

HR_TEST_MAIN()
