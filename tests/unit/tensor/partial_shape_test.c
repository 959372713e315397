/* SPDX-License-Identifier: Apache-2.0 */
/* Partial shapes: making, merging, accepting, text. */
#define HR_TEST_LEAKS_CHECKED
#include "tensor/partial_shape.h"
#include "test.h"

#define DIMS(...) (int64_t[]){__VA_ARGS__}

HR_TEST(making) {
  hr_arena_t a;
  const hr_pshape_t* s = NULL;
  hr_shape_t full;
  int64_t ones[254];
  for (int i = 0; i < 254; ++i) ones[i] = 1;
  hr_arena_init(&a);
  HR_CHECK_OK(hr_pshape_make(&a, -1, NULL, &s));
  HR_CHECK(s == &hr_pshape_unknown && !hr_pshape_is_known(s) && !hr_pshape_to_shape(s, &full));
  HR_CHECK_OK(hr_pshape_make(&a, 0, NULL, &s));
  HR_CHECK(hr_pshape_is_known(s) && hr_pshape_to_shape(s, &full) && full.rank == 0);
  HR_CHECK_OK(hr_pshape_make(&a, 254, ones, &s));
  HR_CHECK(hr_pshape_is_known(s) && !hr_pshape_to_shape(s, &full));
  HR_CHECK_CODE(hr_pshape_make(&a, 255, ones, &s), HR_INVALID_ARGUMENT, "255");
  HR_CHECK_CODE(hr_pshape_make(&a, -2, ones, &s), HR_INVALID_ARGUMENT, "-2");
  HR_CHECK_CODE(hr_pshape_make(&a, 1, DIMS(-2), &s), HR_INVALID_ARGUMENT, "-2");
  HR_CHECK_CODE(hr_pshape_make(&a, 3, DIMS(INT64_MAX, -1, 2), &s), HR_INVALID_ARGUMENT, "overflow");
  hr_arena_deinit(&a);
}

HR_TEST(merging_and_accepting) {
  hr_arena_t a;
  const hr_pshape_t *x, *y, *m;
  char text[HR_SHAPE_TEXT];
  hr_arena_init(&a);
  HR_REQUIRE_OK(hr_pshape_make(&a, 2, DIMS(-1, 3), &x));
  HR_REQUIRE_OK(hr_pshape_make(&a, 2, DIMS(2, -1), &y));
  HR_REQUIRE_OK(hr_pshape_merge(&a, x, y, &m));
  HR_CHECK_STR(hr_pshape_format(m, text), "[2,3]");
  HR_CHECK_OK(hr_pshape_merge(&a, x, m, &y));
  HR_CHECK(y == m);
  HR_CHECK_OK(hr_pshape_merge(&a, &hr_pshape_unknown, x, &y));
  HR_CHECK(y == x && hr_pshape_equal(x, y) && !hr_pshape_equal(x, m) && !hr_pshape_equal(x, &hr_pshape_unknown));
  HR_CHECK_CODE(hr_pshape_merge(&a, x, &hr_pshape_scalar, &y), HR_INVALID_ARGUMENT, "[?,3] and []");
  HR_REQUIRE_OK(hr_pshape_make(&a, 2, DIMS(2, 4), &y));
  HR_CHECK_CODE(hr_pshape_merge(&a, x, y, &m), HR_INVALID_ARGUMENT, "[2,4]");
  hr_shape_t s = hr_shape_matrix(7, 3), t = hr_shape_matrix(7, 4);
  HR_CHECK(hr_pshape_accepts(x, &s) && !hr_pshape_accepts(x, &t) && hr_pshape_accepts(&hr_pshape_unknown, &t) &&
           !hr_pshape_accepts(&hr_pshape_scalar, &s));
  hr_arena_deinit(&a);
}

HR_TEST(text) {
  hr_arena_t a;
  const hr_pshape_t* s;
  char text[HR_SHAPE_TEXT];
  int64_t dims[254];
  hr_arena_init(&a);
  HR_CHECK_STR(hr_pshape_format(&hr_pshape_unknown, text), "<unknown>");
  HR_CHECK_STR(hr_pshape_format(&hr_pshape_scalar, text), "[]");
  for (int i = 0; i < 254; ++i) dims[i] = i ? -1 : INT64_MAX;
  for (int rank = 1; rank <= 254; ++rank) {
    HR_REQUIRE_OK(hr_pshape_make(&a, rank, dims, &s));
    size_t size = strlen(hr_pshape_format(s, text));
    HR_CHECK(size < HR_SHAPE_TEXT && text[size - 1] == ']');
  }
  hr_arena_deinit(&a);
}

static const hr_pshape_t* make(hr_arena_t* a, int rank, const int64_t* dims) {
  const hr_pshape_t* s = &hr_pshape_unknown;
  HR_CHECK_OK(hr_pshape_make(a, rank, dims, &s));
  return s;
}

HR_TEST(what_is_refused_and_why) {
  static const struct { int rank; int64_t dims[4]; const char* says; } rows[] = {
      {3, {-1, -1, -2}, "dimension 2 of a shape is -2, should be >= -1"},
      {3, {INT64_MAX, 0, 2}, "a shape has too many elements: its first 3 dimensions overflow int64"},
      {4, {INT64_MAX, 2, -1, 1}, "a shape has too many elements: its first 2 dimensions overflow int64"},
      {4, {INT64_MAX, 1, 0, -1}, NULL},
  };
  hr_arena_t a;
  const hr_pshape_t* s;
  hr_arena_init(&a);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_status_t status = hr_pshape_make(&a, rows[i].rank, rows[i].dims, &s);
    if (rows[i].says) HR_CHECK_CODE(status, HR_INVALID_ARGUMENT, rows[i].says);
    else HR_CHECK_OK(status);
  }
  HR_CHECK(make(&a, 0, NULL) == &hr_pshape_scalar);
  hr_arena_deinit(&a);
}

HR_TEST(known_where_each_dimension_is) {
  static const struct { int64_t dims[3]; bool known; } rows[] = {
      {{2, 3, 4}, true}, {{0, 0, 0}, true}, {{-1, 3, 4}, false}, {{2, -1, 4}, false}, {{2, 3, -1}, false}};
  hr_arena_t a;
  hr_shape_t full;
  int64_t ones[HR_MAX_RANK + 1];
  for (int i = 0; i <= HR_MAX_RANK; ++i) ones[i] = 1 + (i < 10) * i;
  hr_arena_init(&a);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    const hr_pshape_t* s = make(&a, 3, rows[i].dims);
    HR_CHECK(hr_pshape_is_known(s) == rows[i].known && hr_pshape_to_shape(s, &full) == rows[i].known);
    if (rows[i].known) HR_CHECK(full.rank == 3 && memcmp(full.dims, rows[i].dims, sizeof rows[i].dims) == 0);
  }
  HR_CHECK(hr_pshape_to_shape(make(&a, HR_MAX_RANK, ones), &full) && memcmp(full.dims, ones, sizeof full.dims) == 0);
  HR_CHECK(!hr_pshape_to_shape(make(&a, HR_MAX_RANK + 1, ones), &full));
  hr_arena_deinit(&a);
}

/* Two shapes (rank -1: unknown): whether they are equal, what both know together ("": they contradict), and whether that is one of them. */
HR_TEST(two_shapes) {
  static const struct { int ra; int64_t a[3]; int rb; int64_t b[3]; bool equal; const char* merged; char shared; } rows[] = {
      {3, {2, 3, 4}, 3, {2, 3, 4}, true, "[2,3,4]", 'a'},
      {3, {-1, 0, -1}, 3, {-1, 0, -1}, true, "[?,0,?]", 'a'},
      {3, {2, 3, 4}, 3, {5, 3, 4}, false, "", 0},
      {3, {2, 3, 4}, 3, {2, 5, 4}, false, "", 0},
      {3, {2, 3, 4}, 3, {2, 3, 5}, false, "", 0},
      {3, {0, 3, 4}, 3, {1, 3, 4}, false, "", 0},
      {3, {1, 3, 4}, 3, {0, 3, 4}, false, "", 0},
      {3, {2, -1, -1}, 3, {2, 3, -1}, false, "[2,3,?]", 'b'},
      {3, {2, 3, 0}, 3, {-1, -1, 0}, false, "[2,3,0]", 'a'},
      {3, {0, -1, 4}, 3, {-1, 3, 4}, false, "[0,3,4]", 0},
      {3, {-1, 3, 4}, 3, {0, -1, 4}, false, "[0,3,4]", 0},
      {3, {2, -1, 4}, 3, {2, 3, -1}, false, "[2,3,4]", 0},
      {0, {0}, 0, {0}, true, "[]", 'a'},
      {0, {0}, 1, {-1}, false, "", 0},
      {1, {-1}, 0, {0}, false, "", 0},
      {2, {-1, -1}, 3, {-1, -1, -1}, false, "", 0},
      {-1, {0}, 0, {0}, false, "[]", 'b'},
      {0, {0}, -1, {0}, false, "[]", 'a'},
      {-1, {0}, 1, {-1}, false, "[?]", 'b'},
      {1, {-1}, -1, {0}, false, "[?]", 'a'},
      {-1, {0}, -1, {0}, true, "<unknown>", 'a'},
  };
  hr_arena_t arena;
  hr_arena_init(&arena);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    char text[HR_SHAPE_TEXT];
    const hr_pshape_t *a = make(&arena, rows[i].ra, rows[i].a), *b = make(&arena, rows[i].rb, rows[i].b), *m = NULL;
    bool good = HR_CHECK(hr_pshape_equal(a, b) == rows[i].equal);
    hr_status_t status = hr_pshape_merge(&arena, a, b, &m);
    if (!*rows[i].merged) good &= HR_CHECK_CODE(status, HR_INVALID_ARGUMENT, "contradict each other");
    else if (HR_CHECK_OK(status))
      good &= HR_CHECK_STR(hr_pshape_format(m, text), rows[i].merged) && HR_CHECK((m == a ? 'a' : m == b ? 'b' : 0) == rows[i].shared);
    if (!good) printf("  row %zu\n", i);
  }
  hr_arena_deinit(&arena);
}

HR_TEST(what_a_promise_accepts) {
  static const struct { int rank; int64_t promise[3]; int of; int64_t shape[3]; bool yes; } rows[] = {
      {-1, {0}, 3, {1, 2, 3}, true},       {-1, {0}, 0, {0}, true},           {0, {0}, 0, {0}, true},
      {0, {0}, 1, {1}, false},             {1, {-1}, 0, {0}, false},          {3, {-1, -1, -1}, 3, {0, 1, 2}, true},
      {3, {0, 1, 2}, 3, {0, 1, 2}, true},  {3, {0, 1, 2}, 3, {1, 1, 2}, false}, {3, {1, 0, 2}, 3, {1, 1, 2}, false},
      {3, {1, 1, 0}, 3, {1, 1, 2}, false}, {2, {-1, 7}, 2, {4, 7}, true},     {2, {7, -1}, 2, {4, 7}, false},
  };
  hr_arena_t a;
  hr_arena_init(&a);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_shape_t s;
    HR_CHECK_OK(hr_shape_make(rows[i].of, rows[i].shape, &s));
    if (!HR_CHECK(hr_pshape_accepts(make(&a, rows[i].rank, rows[i].promise), &s) == rows[i].yes)) printf("  row %zu\n", i);
  }
  hr_arena_deinit(&a);
}

/* A long text is cut where another dimension with its comma and the end (",...]") might not find room: 27 bytes before the limit. */
HR_TEST(long_texts_are_cut) {
  static const int64_t firsts[] = {-1, 10};
  int64_t dims[254];
  char text[HR_SHAPE_TEXT], want[2 * HR_SHAPE_TEXT];
  hr_arena_t a;
  hr_arena_init(&a);
  for (int i = 0; i < 254; ++i) dims[i] = -1;
  for (int k = 0; k < 2; ++k) {
    dims[0] = firsts[k];
    size_t at = (size_t)snprintf(want, sizeof want, k ? "[10" : "[?");
    while (at + 27 <= HR_SHAPE_TEXT) at += (size_t)snprintf(want + at, 3, ",?");
    snprintf(want + at, 7, ",...]");
    HR_CHECK_STR(hr_pshape_format(make(&a, 254, dims), text), want);
  }
  const int fits = (HR_SHAPE_TEXT - 27) / 2;
  dims[0] = -1;
  HR_CHECK_EQ_I64(strlen(hr_pshape_format(make(&a, fits, dims), text)), 2 * fits + 1);
  hr_arena_deinit(&a);
}

HR_TEST_MAIN()
