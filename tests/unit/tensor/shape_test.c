/* SPDX-License-Identifier: Apache-2.0 */
/* Checked shapes: overflow, ranks, axes, broadcasting. */
#include "tensor/shape.h"
#include "test.h"

#define DIMS(...) (int64_t[]){__VA_ARGS__}
static hr_shape_t make(int rank, const int64_t* dims) {
  hr_shape_t s = hr_shape_scalar();
  HR_CHECK_OK(hr_shape_make(rank, dims, &s));
  return s;
}

HR_TEST(checks) {
  hr_shape_t s;
  HR_CHECK_CODE(hr_shape_make(2, DIMS(3, -1), &s), HR_INVALID_ARGUMENT, "dimension 1 of the shape is -1");
  HR_CHECK_CODE(hr_shape_make(2, DIMS(INT64_MAX, 2), &s), HR_INVALID_ARGUMENT, "too many elements");
  HR_CHECK_CODE(hr_shape_make(3, DIMS(INT64_MAX, 2, 0), &s), HR_INVALID_ARGUMENT, "too many elements");
  HR_CHECK_CODE(hr_shape_make(17, DIMS(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), &s), HR_UNIMPLEMENTED, "17");
  HR_CHECK_CODE(hr_shape_make(-1, NULL, &s), HR_INVALID_ARGUMENT, "-1");
  HR_CHECK_OK(hr_shape_make(2, DIMS(INT64_MAX, 1), &s));
  HR_CHECK_EQ_I64(hr_shape_count(&s), INT64_MAX);
  HR_CHECK_OK(hr_shape_make(0, NULL, &s));
  HR_CHECK_EQ_I64(hr_shape_count(&s), 1);
}

HR_TEST(append) {
  hr_shape_t s = hr_shape_scalar();
  for (int i = 0; i < 16; ++i) HR_CHECK_OK(hr_shape_append(&s, 2));
  HR_CHECK_CODE(hr_shape_append(&s, 1), HR_UNIMPLEMENTED, "17");
  HR_CHECK_EQ_I64(hr_shape_count_range(&s, 3, 6), 8);
  s.rank = 2;
  HR_CHECK_CODE(hr_shape_append(&s, -4), HR_INVALID_ARGUMENT, "-4");
  HR_CHECK_EQ_I64(s.rank, 2);
  s.dims[1] = INT64_MIN;
  HR_CHECK_CODE(hr_shape_check(&s), HR_INVALID_ARGUMENT, "");
}

HR_TEST(axes) {
  int axis = 9;
  HR_CHECK_OK(hr_shape_axis(-3, 3, &axis));
  HR_CHECK_EQ_I64(axis, 0);
  HR_CHECK_OK(hr_shape_axis(2, 3, &axis));
  HR_CHECK_EQ_I64(axis, 2);
  HR_CHECK_CODE(hr_shape_axis(3, 3, &axis), HR_INVALID_ARGUMENT, "axis 3");
  HR_CHECK_CODE(hr_shape_axis(INT64_MIN, 3, &axis), HR_INVALID_ARGUMENT, "3 dimensions");
  HR_CHECK_CODE(hr_shape_axis(0, 0, &axis), HR_INVALID_ARGUMENT, "0 dimensions");
}

HR_TEST(broadcast) {
  static const struct { int ra, rb, rank; int64_t a[3], b[3], out[3];
  } rows[] = {{0, 0, 0, {0}, {0}, {0}},
              {2, 1, 2, {2, 3}, {3}, {2, 3}},
              {1, 3, 3, {3}, {4, 2, 1}, {4, 2, 3}},
              {2, 2, 2, {1, 0}, {5, 1}, {5, 0}},
              {0, 2, 2, {0}, {2, 0}, {2, 0}}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_shape_t a = make(rows[i].ra, rows[i].a), b = make(rows[i].rb, rows[i].b), want = make(rows[i].rank, rows[i].out);
    HR_CHECK_OK(hr_shape_broadcast(&a, &b, &a)); /* in place */
    HR_CHECK(hr_shape_equal(&a, &want));
  }
  hr_shape_t a = hr_shape_matrix(2, 3), b = hr_shape_vector(2), c = hr_shape_matrix(INT64_C(1) << 40, 1),
             d = hr_shape_vector(INT64_C(1) << 40);
  HR_CHECK_CODE(hr_shape_broadcast(&a, &b, &a), HR_INVALID_ARGUMENT, "[2,3] vs. [2]");
  HR_CHECK_CODE(hr_shape_broadcast(&c, &d, &a), HR_INVALID_ARGUMENT, "too many");
}

HR_TEST(text) {
  char text[HR_SHAPE_TEXT];
  hr_shape_t s = hr_shape_scalar();
  HR_CHECK_STR(hr_shape_format(&s, text), "[]");
  s = make(3, DIMS(2, 0, 13));
  HR_CHECK_STR(hr_shape_format(&s, text), "[2,0,13]");
  s.rank = HR_MAX_RANK;
  for (int i = 0; i < HR_MAX_RANK; ++i) s.dims[i] = INT64_MIN;
  HR_CHECK(strlen(hr_shape_format(&s, text)) < HR_SHAPE_TEXT);
}

HR_TEST(which_dimension_is_too_many) {
  static const struct { int rank; int64_t dims[3]; const char* says; } rows[] = {
      {2, {INT64_MAX, 2}, "its first 2 dimensions up to 2 overflow int64"},
      {3, {0, INT64_MAX, 3}, "its first 3 dimensions up to 3 overflow int64"},
      {3, {INT64_MAX, 0, 1}, NULL},
      {3, {INT64_C(1) << 62, 0, 1}, NULL},
      {3, {3, 4, -5}, "dimension 2 of the shape is -5, must be >= 0"},
  };
  hr_shape_t s;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_status_t status = hr_shape_make(rows[i].rank, rows[i].dims, &s);
    if (rows[i].says) HR_CHECK_CODE(status, HR_INVALID_ARGUMENT, rows[i].says);
    else if (HR_CHECK_OK(status)) HR_CHECK_EQ_I64(s.rank, 3);
  }
}

HR_TEST(places_of_elements) {
  char text[HR_SHAPE_TEXT] = "old";
  const hr_shape_t scalar = hr_shape_scalar(), row = hr_shape_vector(7), box = make(3, DIMS(2, 3, 4)), thin = make(3, DIMS(3, 1, 2));
  HR_CHECK_STR(hr_shape_format_place(&scalar, 0, text), "");
  HR_CHECK_STR(hr_shape_format_place(&row, 6, text), "[6]");
  HR_CHECK_STR(hr_shape_format_place(&box, 0, text), "[0,0,0]");
  HR_CHECK_STR(hr_shape_format_place(&box, 17, text), "[1,1,1]");
  HR_CHECK_STR(hr_shape_format_place(&box, 23, text), "[1,2,3]");
  HR_CHECK_STR(hr_shape_format_place(&thin, 5, text), "[2,0,1]");
}

HR_TEST_MAIN()
