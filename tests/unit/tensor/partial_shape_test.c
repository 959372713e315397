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

HR_TEST_MAIN()
