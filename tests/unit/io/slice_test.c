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

HR_TEST_MAIN()
