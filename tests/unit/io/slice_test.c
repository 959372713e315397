/* SPDX-License-Identifier: Apache-2.0 */
/* Slices: text, messages, keys with known bytes, geometry and copying. */
#include "io/slice.h"
#define HR_TEST_LEAKS_CHECKED
#include "test.h"

HR_TEST(text_comes_back) {
  static const char* const texts[] = {"", "-", "0,5:-", "3,1:-:7,100"};
  for (size_t i = 0; i < 4; ++i) {
    hr_slice_t s;
    hr_strbuf_t out = {0};
    HR_CHECK_OK(hr_slice_parse(hr_str(texts[i]), &s));
    hr_slice_format(&s, &out);
    HR_CHECK_VIEW(hr_strbuf_view(&out), texts[i]);
    hr_strbuf_deinit(&out);
  }
}

HR_TEST(bad_text_is_refused) {
  static const char* const texts[] = {"x", "1", "1,", ",1", "-1,2", "0,0", "1,2,3", "0,5:", "0,99999999999999999999"};
  hr_slice_t s;
  hr_shape_t full;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) HR_CHECK_CODE(hr_slice_parse(hr_str(texts[i]), &s), HR_INVALID_ARGUMENT,
      texts[i]);
  HR_CHECK_CODE(hr_slice_parse_spec(HR_STR("10 4"), &full, &s), HR_INVALID_ARGUMENT, "slice '4'");
  HR_CHECK_CODE(hr_slice_parse_spec(HR_STR("-"), &full, &s), HR_INVALID_ARGUMENT, "not of the form");
  HR_CHECK_CODE(hr_slice_parse_spec(HR_STR("10 x -:-"), &full, &s), HR_INVALID_ARGUMENT, "'x' is not a size");
  HR_CHECK_CODE(hr_slice_parse_spec(HR_STR("10 4 0,5"), &full, &s), HR_INVALID_ARGUMENT, "2 sizes and 1 ranges");
  HR_CHECK_CODE(hr_slice_parse_spec(HR_STR("10 4 6,5:-"), &full, &s), HR_INVALID_ARGUMENT, "reaches out of shape [10,4]");
}

HR_TEST(a_spec_is_shape_and_slice) {
  hr_slice_t s;
  hr_shape_t full, part;
  HR_REQUIRE_OK(hr_slice_parse_spec(HR_STR("10 4 2,5:-"), &full, &s));
  HR_REQUIRE_OK(hr_slice_shape(&s, &full, &part));
  HR_CHECK(full.dims[0] == 10 && full.dims[1] == 4 && part.dims[0] == 5 && part.dims[1] == 4);
  HR_CHECK(!hr_slice_is_all(&s, &full));
  HR_REQUIRE_OK(hr_slice_parse_spec(HR_STR("10 4 0,10:-"), &full, &s));
  HR_CHECK(hr_slice_is_all(&s, &full));
}

HR_TEST(messages_come_back) {
  hr_slice_t s, back;
  hr_writer_t w = {0};
  HR_CHECK_OK(hr_slice_parse(HR_STR("0,5:-:2,1"), &s));
  hr_slice_encode(&s, &w);
  HR_CHECK_OK(hr_slice_decode(hr_cursor_make(w.data, w.size), &back));
  HR_CHECK_EQ_I64(back.rank, 3);
  for (int i = 0; i < 3; ++i) HR_CHECK(s.start[i] == back.start[i] && s.length[i] == back.length[i]);
  HR_CHECK_CODE(hr_slice_decode(hr_cursor_make("\x0a\x02\x08\x01", 4), &back), HR_INVALID_ARGUMENT, "start 1 and length -1");
  hr_strbuf_deinit(&w);
}

static void expect_key(const char* name, size_t name_size, const char* slice, const char* want, size_t want_size) {
  hr_slice_t s;
  hr_strbuf_t key = {0};
  HR_CHECK_OK(hr_slice_parse(hr_str(slice), &s));
  hr_slice_encode_key((hr_str_t){name, name_size}, &s, &key);
  HR_CHECK(hr_str_equal(hr_strbuf_view(&key), (hr_str_t){want, want_size}));
  hr_strbuf_deinit(&key);
}
#define EXPECT_KEY(name, slice, want) expect_key(name, sizeof(name) - 1, slice, want, sizeof(want) - 1)

HR_TEST(keys_are_ordered_code) {
  EXPECT_KEY("parted", "4,3:0,2", "\x00parted\x00\x01\x01\x02\x84\x83\x80\x82"); /* as in the golden checkpoint */
  EXPECT_KEY("a\0b\xff", "-", "\x00" "a\x00\xff" "b\xff\x00\x00\x01\x01\x01\x80\x7f");
  EXPECT_KEY("v", "63,64", "\x00v\x00\x01\x01\x01\xbf\xc0\x40");
  EXPECT_KEY("v", "8191,8192", "\x00v\x00\x01\x01\x01\xdf\xff\xe0\x20\x00");
  EXPECT_KEY("v", "", "\x00v\x00\x01\x00");
}

HR_TEST(keys_sort_as_their_numbers) {
  hr_strbuf_t last = {0};
  for (int64_t v = 0; v >= 0 && v < INT64_MAX / 3; v = v * 3 + 1) {
    hr_slice_t s = {1, {v}, {1}};
    hr_strbuf_t key = {0};
    hr_slice_encode_key(HR_STR("v"), &s, &key);
    HR_CHECK(hr_str_compare(hr_strbuf_view(&last), hr_strbuf_view(&key)) < 0);
    hr_strbuf_deinit(&last);
    last = key;
  }
  hr_strbuf_deinit(&last);
}

HR_TEST(copies_what_two_slices_share) {
  hr_shape_t full = hr_shape_matrix(4, 5), shape;
  hr_slice_t from, to;
  hr_tensor_t src = {0}, dst = {0};
  int64_t n = 0;
  HR_CHECK_OK(hr_slice_parse(HR_STR("1,3:1,3"), &from));
  HR_CHECK_OK(hr_slice_parse(HR_STR("0,3:2,3"), &to));
  HR_CHECK_OK(hr_slice_shape(&from, &full, &shape));
  HR_REQUIRE_OK(hr_tensor_create(HR_I32, &shape, &src));
  HR_CHECK_OK(hr_slice_shape(&to, &full, &shape));
  HR_REQUIRE_OK(hr_tensor_create_zero(HR_I32, &shape, &dst));
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) ((int32_t*)src.data)[i * 3 + j] = (i + 1) * 10 + j + 1; /* row and column in the whole */
  HR_CHECK_OK(hr_slice_copy(&full, &from, &src, &to, &dst, &n));
  HR_CHECK_EQ_I64(n, 4);
  static const int32_t want[9] = {0, 0, 0, 12, 13, 0, 22, 23, 0};
  HR_CHECK(memcmp(dst.data, want, sizeof want) == 0);
  HR_CHECK_OK(hr_slice_parse(HR_STR("0,1:0,1"), &to));
  HR_CHECK(!hr_slice_overlaps(&from, &to, &full));
  hr_tensor_release(&src);
  hr_tensor_release(&dst);
}


/* --- borders -------------------------------------------------------------------------------------------------------------------- */

HR_TEST(all_of_each_dimension_and_no_more) {
  for (int rank = 0; rank <= 3; ++rank) {
    hr_slice_t s = {7, {7, 7, 7, 7}, {7, 7, 7, 7}};
    hr_slice_all(rank, &s);
    HR_CHECK_EQ_I64(s.rank, rank);
    for (int i = 0; i < 4; ++i) HR_CHECK(s.start[i] == (i < rank ? 0 : 7) && s.length[i] == (i < rank ? -1 : 7));
  }
}

HR_TEST(ranks_at_the_limit) {
  hr_strbuf_t text = {0};
  hr_slice_t s;
  hr_shape_t full;
  for (int i = 0; i < HR_MAX_RANK; ++i) hr_strbuf_add_str(&text, i ? HR_STR(":0,1") : HR_STR("0,1"));
  if (HR_CHECK_OK(hr_slice_parse(hr_strbuf_view(&text), &s))) HR_CHECK_EQ_I64(s.rank, HR_MAX_RANK);
  hr_strbuf_add(&text, ":-", 2);
  HR_CHECK_CODE(hr_slice_parse(hr_strbuf_view(&text), &s), HR_UNIMPLEMENTED, "dimensions");
  text.size = 0;
  for (int i = 0; i <= HR_MAX_RANK; ++i) hr_strbuf_add(&text, "1 ", 2);
  hr_strbuf_add(&text, "-", 1);
  HR_CHECK_CODE(hr_slice_parse_spec(hr_strbuf_view(&text), &full, &s), HR_UNIMPLEMENTED, "dimensions");
  text.size = 0;
  for (int i = 0; i <= HR_MAX_RANK; ++i) hr_strbuf_add(&text, "\x0a\x00", 2);
  HR_CHECK_CODE(hr_slice_decode(hr_cursor_make(text.data, text.size), &s), HR_UNIMPLEMENTED, "dimensions");
  if (HR_CHECK_OK(hr_slice_decode(hr_cursor_make(text.data, text.size - 2), &s))) HR_CHECK_EQ_I64(s.rank, HR_MAX_RANK);
  hr_strbuf_deinit(&text);
}

/* A part of a tensor of shape [10,4,6]: what of it is shown, whether it is everything, its size or what is wrong with it. */
HR_TEST(parts_of_a_shape) {
  static const struct { hr_slice_t s; const char* text; bool is_all; const char* shape; } rows[] = {
      {{3, {0, 0, 0}, {-1, -1, -1}}, "-:-:-", true, "[10,4,6]"},
      {{3, {0, 0, 0}, {10, 4, 6}}, "0,10:0,4:0,6", true, "[10,4,6]"},
      {{3, {0, 0, 0}, {9, 4, 6}}, "0,9:0,4:0,6", false, "[9,4,6]"},
      {{3, {0, 0, 0}, {10, 3, -1}}, "0,10:0,3:-", false, "[10,3,6]"},
      {{3, {0, 0, 0}, {10, 4, 5}}, "0,10:0,4:0,5", false, "[10,4,5]"},
      {{3, {1, 0, 0}, {9, -1, -1}}, "1,9:-:-", false, "[9,4,6]"},
      {{3, {0, 0, 6}, {-1, -1, 0}}, "-:-:6,0", false, "[10,4,0]"},
      {{3, {0, 4, 0}, {-1, 0, -1}}, "-:4,0:-", false, "[10,0,6]"},
      {{3, {0, 0, 5}, {-1, -1, 2}}, "-:-:5,2", false, "slice [5, +2) of dimension 2 reaches out of shape [10,4,6]"},
      {{3, {0, 5, 0}, {-1, 0, -1}}, "-:5,0:-", false, "slice [5, +0) of dimension 1 reaches out of shape [10,4,6]"},
      {{3, {-1, 0, 0}, {1, -1, -1}}, "-1,1:-:-", false, "slice [-1, +1) of dimension 0 reaches out of shape [10,4,6]"},
      {{3, {1, 0, 0}, {INT64_MAX, -1, -1}}, NULL, false, "of dimension 0 reaches out of shape [10,4,6]"},
      {{3, {INT64_MAX, 0, 0}, {1, -1, -1}}, NULL, false, "of dimension 0 reaches out of shape [10,4,6]"},
      {{2, {0, 0}, {-1, -1}}, "-:-", true, "slice of 2 dimensions for a tensor of shape [10,4,6]"},
  };
  const int64_t dims[] = {10, 4, 6};
  hr_shape_t full, part;
  HR_REQUIRE_OK(hr_shape_make(3, dims, &full));
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    char text[HR_SHAPE_TEXT];
    hr_strbuf_t out = {0};
    hr_slice_format(&rows[i].s, &out);
    if (rows[i].text) HR_CHECK_VIEW(hr_strbuf_view(&out), rows[i].text);
    hr_strbuf_deinit(&out);
    hr_status_t status = hr_slice_shape(&rows[i].s, &full, &part);
    if (*rows[i].shape != '[') HR_CHECK_CODE(status, HR_INVALID_ARGUMENT, rows[i].shape);
    else if (HR_CHECK_OK(status)) HR_CHECK_STR(hr_shape_format(&part, text), rows[i].shape);
    if (rows[i].s.rank == 3) HR_CHECK(hr_slice_is_all(&rows[i].s, &full) == rows[i].is_all);
  }
}

HR_TEST(parts_overlap_where_all_dimensions_do) {
  static const struct { const char *a, *b; bool overlap; } rows[] = {
      {"-:-:-", "-:-:-", true},         {"0,5:-:-", "5,5:-:-", false}, {"0,6:-:-", "5,5:-:-", true},   {"-:0,2:-", "-:2,2:-", false},
      {"-:2,2:-", "-:0,2:-", false},    {"-:0,3:-", "-:2,2:-", true},  {"-:-:3,3", "-:-:0,3", false},  {"-:-:3,3", "-:-:0,4", true},
      {"1,1:1,1:1,1", "1,1:1,1:1,1", true}, {"2,1:0,4:-", "0,9:3,1:5,1", true},
  };
  const int64_t dims[] = {10, 4, 6};
  hr_shape_t full, scalar = hr_shape_scalar();
  hr_slice_t a, b;
  HR_REQUIRE_OK(hr_shape_make(3, dims, &full));
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    HR_CHECK_OK(hr_slice_parse(hr_str(rows[i].a), &a));
    HR_CHECK_OK(hr_slice_parse(hr_str(rows[i].b), &b));
    HR_CHECK(hr_slice_overlaps(&a, &b, &full) == rows[i].overlap);
    HR_CHECK(hr_slice_overlaps(&b, &a, &full) == rows[i].overlap);
  }
  hr_slice_all(0, &a);
  HR_CHECK(hr_slice_overlaps(&a, &a, &scalar));
}

/* Bytes of TensorSliceProto: extent 1 {start 1, length 2}, all of a dimension an extent without fields. */
HR_TEST(messages_have_known_bytes) {
  static const struct { const char* bytes; size_t size; hr_slice_t s; } rows[] = {
      {"", 0, {0, {0}, {0}}},
      {"\x0a\x00", 2, {1, {0}, {-1}}},
      {"\x0a\x02\x10\x05", 4, {1, {0}, {5}}},
      {"\x0a\x02\x10\x00", 4, {1, {0}, {0}}},
      {"\x0a\x04\x08\x01\x10\x01", 6, {1, {1}, {1}}},
      {"\x0a\x02\x10\x01\x0a\x00\x0a\x04\x08\x03\x10\x02", 12, {3, {0, 0, 3}, {1, -1, 2}}},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_writer_t w = {0};
    hr_slice_t back;
    hr_slice_encode(&rows[i].s, &w);
    HR_CHECK(hr_str_equal(hr_strbuf_view(&w), (hr_str_t){rows[i].bytes, rows[i].size}));
    if (HR_CHECK_OK(hr_slice_decode(hr_cursor_make(rows[i].bytes, rows[i].size), &back))) HR_CHECK_EQ_I64(back.rank, rows[i].s.rank);
    for (int k = 0; k < back.rank; ++k) HR_CHECK(back.start[k] == rows[i].s.start[k] && back.length[k] == rows[i].s.length[k]);
    hr_strbuf_deinit(&w);
  }
}

#define MINUS_ONE "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
#define MINUS_TWO "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"
HR_TEST(bad_extents_are_refused) {
  hr_slice_t s;
#define REFUSE(bytes, says) HR_CHECK_CODE(hr_slice_decode(hr_cursor_make(bytes, sizeof bytes - 1), &s), HR_INVALID_ARGUMENT, says)
  REFUSE("\x0a\x0d\x08" MINUS_ONE "\x10\x05", "slice extent with start -1 and length 5");
  REFUSE("\x0a\x0b\x10" MINUS_TWO, "slice extent with start 0 and length -2");
  REFUSE("\x0a\x0d\x08\x02\x10" MINUS_ONE, "slice extent with start 2 and length -1");
  HR_CHECK_OK(hr_slice_decode(hr_cursor_make("\x12\x00\x0a\x0b\x10" MINUS_ONE, 15), &s)); /* a field it does not know; all of it */
  HR_CHECK(s.rank == 1 && s.start[0] == 0 && s.length[0] == -1);
}

HR_TEST(keys_of_the_largest_numbers) {
#define HEAD "\x00v\x00\x01\x01\x01"
  static const struct { int64_t v; const char* key; size_t size; } rows[] = {
      {0, HEAD "\x80\x80", 8},
      {-64, HEAD "\x40\x40", 8},
      {-65, HEAD "\x3f\xbf\x3f\xbf", 10},
      {64, HEAD "\xc0\x40\xc0\x40", 10},
      {(INT64_C(1) << 55) - 1, HEAD "\xff\x7f\xff\xff\xff\xff\xff\xff" "\xff\x7f\xff\xff\xff\xff\xff\xff", 22},
      {(INT64_C(1) << 62) - 1, HEAD "\xff\xbf\xff\xff\xff\xff\xff\xff\xff" "\xff\xbf\xff\xff\xff\xff\xff\xff\xff", 24},
      {-(INT64_C(1) << 62), HEAD "\x00\x40\x00\x00\x00\x00\x00\x00\x00" "\x00\x40\x00\x00\x00\x00\x00\x00\x00", 24},
      {INT64_C(1) << 62, HEAD "\xff\xc0\x40\x00\x00\x00\x00\x00\x00\x00" "\xff\xc0\x40\x00\x00\x00\x00\x00\x00\x00", 26},
      {INT64_MAX, HEAD "\xff\xc0\x7f\xff\xff\xff\xff\xff\xff\xff" "\xff\xc0\x7f\xff\xff\xff\xff\xff\xff\xff", 26},
      {INT64_MIN, HEAD "\x00\x3f\x80\x00\x00\x00\x00\x00\x00\x00" "\x00\x3f\x80\x00\x00\x00\x00\x00\x00\x00", 26},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    const hr_slice_t s = {1, {rows[i].v}, {rows[i].v}};
    hr_strbuf_t key = {0};
    hr_slice_encode_key(HR_STR("v"), &s, &key);
    if (!HR_CHECK(hr_str_equal(hr_strbuf_view(&key), (hr_str_t){rows[i].key, rows[i].size}))) printf("  row %zu\n", i);
    hr_strbuf_deinit(&key);
  }
}

/* --- copying, compared with a walk over the whole ---------------------------------------------------------------------------------- */
enum { COPY_RANK = 3 };
static const int64_t copy_dims[COPY_RANK] = {4, 5, 3};

static bool copy_index(const hr_slice_t* s, const int64_t at[COPY_RANK], int64_t* out) {
  *out = 0;
  for (int i = 0; i < COPY_RANK; ++i) {
    const int64_t length = s->length[i] < 0 ? copy_dims[i] : s->length[i], k = at[i] - s->start[i];
    if (k < 0 || k >= length) return false;
    *out = *out * length + k;
  }
  return true;
}

static void copy_one(const char* from_text, const char* to_text) {
  hr_slice_t from, to;
  hr_shape_t full, shape;
  hr_tensor_t src = {0}, dst = {0};
  int64_t copied = -1, wanted = 0, a, b;
  int32_t want[4 * 5 * 3] = {0};
  HR_CHECK_OK(hr_shape_make(COPY_RANK, copy_dims, &full));
  HR_CHECK_OK(hr_slice_parse(hr_str(from_text), &from));
  HR_CHECK_OK(hr_slice_parse(hr_str(to_text), &to));
  HR_CHECK_OK(hr_slice_shape(&from, &full, &shape));
  HR_REQUIRE_OK(hr_tensor_create(HR_I32, &shape, &src));
  HR_CHECK_OK(hr_slice_shape(&to, &full, &shape));
  HR_REQUIRE_OK(hr_tensor_create_zero(HR_I32, &shape, &dst));
  for (int64_t i = 0; i < src.count; ++i) ((int32_t*)src.data)[i] = (int32_t)i + 1;
  for (int64_t i = 0; i < 4 * 5 * 3; ++i) {
    const int64_t at[COPY_RANK] = {i / 15, i / 3 % 5, i % 3};
    if (!copy_index(&from, at, &a) || !copy_index(&to, at, &b)) continue;
    want[b] = (int32_t)a + 1;
    ++wanted;
  }
  HR_CHECK_OK(hr_slice_copy(&full, &from, &src, &to, &dst, &copied));
  HR_CHECK_EQ_I64(copied, wanted);
  if (!HR_CHECK(memcmp(dst.data, want, hr_tensor_bytes(&dst)) == 0)) printf("  from %s to %s\n", from_text, to_text);
  hr_tensor_release(&src);
  hr_tensor_release(&dst);
}

HR_TEST(copies_of_three_dimensions) {
  static const char* const parts[] = {"-:-:-", "1,2:-:-", "-:1,3:-", "-:-:1,1", "1,3:2,3:1,2", "0,2:0,4:0,2", "3,1:4,1:2,1", "0,1:-:-"};
  enum { PARTS = sizeof parts / sizeof *parts };
  for (int a = 0; a < PARTS; ++a)
    for (int b = 0; b < PARTS; ++b) copy_one(parts[a], parts[b]);
}

HR_TEST(copies_of_strings_and_of_scalars) {
  hr_shape_t full = hr_shape_vector(4), scalar = hr_shape_scalar(), three = hr_shape_vector(3);
  hr_slice_t from, to, one;
  hr_tensor_t src = {0}, dst = {0};
  int64_t n = 0;
  HR_CHECK_OK(hr_slice_parse(HR_STR("1,3"), &from));
  HR_CHECK_OK(hr_slice_parse(HR_STR("0,3"), &to));
  HR_REQUIRE_OK(hr_tensor_create(HR_STRING, &three, &src));
  HR_REQUIRE_OK(hr_tensor_create_zero(HR_STRING, &three, &dst));
  for (int i = 0; i < 3; ++i)
    HR_CHECK_OK(hr_tstring_set((hr_tstring_t*)src.data + i, hr_str_slice(HR_STR("onetwosix"), (size_t)i * 3, (size_t)i * 3 + 3)));
  HR_CHECK_OK(hr_slice_copy(&full, &from, &src, &to, &dst, &n));
  HR_CHECK_EQ_I64(n, 2);
  static const char* const want[] = {"", "one", "two"};
  for (int i = 0; i < 3; ++i) HR_CHECK_VIEW(hr_tstring_get((hr_tstring_t*)dst.data + i), want[i]);
  hr_tensor_release(&src);
  hr_tensor_release(&dst);
  hr_slice_all(0, &one);
  HR_REQUIRE_OK(hr_tensor_from_i32(5, &src));
  HR_REQUIRE_OK(hr_tensor_create_zero(HR_I32, &scalar, &dst));
  HR_CHECK_OK(hr_slice_copy(&scalar, &one, &src, &one, &dst, &n));
  HR_CHECK(n == 1 && *(int32_t*)dst.data == 5);
  hr_tensor_release(&src);
  hr_tensor_release(&dst);
}

HR_TEST_MAIN()
