/* SPDX-License-Identifier: Apache-2.0 */
/* The protobuf writer against bytes known to be right, and nested lengths of every width with right and wrong expectations. */
#include "wire/writer.h"
#include "base/alloc.h"
#define HR_TEST_LEAKS_CHECKED
#include "test.h"
#include "wire/cursor.h"

HR_TEST(writes_each_kind_of_field) {
  hr_writer_t w = {0};
  hr_writer_u64(&w, 1, 150);
  hr_writer_i64(&w, 2, -1);
  hr_writer_bool(&w, 3, true);
  hr_writer_f32(&w, 4, 1.0f);
  hr_writer_f64(&w, 5, -2.0);
  hr_writer_fixed32(&w, 6, 0x01020304);
  hr_writer_str(&w, 16, HR_STR("hi"));
  static const char want[] =
      "\x08\x96\x01\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x18\x01\x25\x00\x00\x80\x3f\x29\x00\x00\x00\x00\x00\x00\x00\xc0"
                             "\x35\x04\x03\x02\x01\x82\x01\x02hi";
  HR_REQUIRE(w.size == sizeof want - 1);
  HR_CHECK(memcmp(w.data, want, w.size) == 0);
  hr_strbuf_deinit(&w);
}

HR_TEST(nested_lengths_fit_whatever_was_expected) {
  static const size_t sizes[] = {0, 1, 127, 128, 300, 16383, 16384, 2097152};
  for (size_t i = 0; i < 8; ++i)
    for (size_t j = 0; j < 8; ++j) {
      hr_writer_t w = {0};
      hr_writer_mark_t outer = hr_writer_begin(&w, 1, sizes[j]), inner = hr_writer_begin(&w, 2, sizes[j]);
      char* body = hr_writer_room(&w, sizes[i]);
      HR_REQUIRE(body || sizes[i] == 0);
      if (sizes[i]) memset(body, 'x', sizes[i]), body[sizes[i] - 1] = 'e';
      hr_writer_end(&w, inner, sizes[j]);
      hr_writer_end(&w, outer, sizes[j]);
      hr_writer_bool(&w, 3, true);
      hr_cursor_t c = hr_cursor_make(w.data, w.size);
      hr_field_t f, g, last;
      HR_REQUIRE_OK(hr_cursor_next(&c, &f));
      HR_REQUIRE_OK(hr_cursor_next(&c, &last));
      HR_CHECK_EQ_I64(last.key, HR_KEY_VARINT(3));
      HR_CHECK(hr_cursor_is_done(&c));
      HR_REQUIRE_OK(hr_cursor_next(&f.span, &g));
      HR_CHECK(hr_cursor_is_done(&f.span));
      HR_CHECK_EQ_I64(g.key, HR_KEY_SPAN(2));
      HR_CHECK_EQ_I64(hr_cursor_left(&g.span), sizes[i]);
      if (sizes[i]) HR_CHECK_EQ_I64(g.span.end[-1], 'e');
      hr_strbuf_deinit(&w);
    }
}

HR_TEST(out_of_memory_sticks) {
  hr_writer_t w = {0};
  hr_alloc_fail_at(1, true);
  hr_writer_mark_t mark = hr_writer_begin(&w, 1, 0);
  hr_writer_u64(&w, 1, 1);
  HR_CHECK(hr_writer_room(&w, 100) == NULL);
  hr_writer_end(&w, mark, 0);
  hr_alloc_fail_at(0, false);
  hr_writer_u64(&w, 1, 1);
  HR_CHECK(w.failed);
  hr_strbuf_deinit(&w);
}

static void expect(hr_writer_t* w, const char* bytes, size_t size) { /* and begins anew */
  HR_CHECK_EQ_U64(w->size, size);
  HR_CHECK(w->size == size && memcmp(w->data, bytes, size) == 0 && w->data[size] == 0);
  hr_strbuf_deinit(w);
  *w = (hr_writer_t){0};
}
#define EXPECT(bytes) expect(&w, bytes, sizeof bytes - 1)

HR_TEST(varints_and_words_at_their_limits) {
  hr_writer_t w = {0};
  hr_writer_varint(&w, 0);
  hr_writer_varint(&w, 127);
  hr_writer_varint(&w, 128);
  hr_writer_varint(&w, 16383);
  hr_writer_varint(&w, 16384);
  EXPECT("\x00\x7f\x80\x01\xff\x7f\x80\x80\x01");
  hr_writer_varint(&w, UINT64_C(1) << 63);
  hr_writer_varint(&w, UINT64_MAX);
  EXPECT("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  hr_writer_fixed64(&w, 1, UINT64_C(0x8877665544332211));
  hr_writer_fixed32(&w, 15, 0x84030201);
  hr_writer_fixed32_raw(&w, 5);
  EXPECT("\x09\x11\x22\x33\x44\x55\x66\x77\x88\x7d\x01\x02\x03\x84\x05\0\0\0");
  hr_writer_tag(&w, 536870911, 5);
  hr_writer_bytes(&w, 2, NULL, 0);
  hr_writer_bool(&w, 1, false);
  EXPECT("\xfd\xff\xff\xff\x0f\x12\x00\x08\x00");
}

HR_TEST(room_is_zeros_of_any_size) {
  static const size_t sizes[] = {0, 1, 63, 64, 65, 127, 128, 129, 1000};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    hr_writer_t w = {0};
    hr_writer_varint(&w, 7);
    char* at = hr_writer_room(&w, sizes[i]);
    HR_REQUIRE(at == w.data + 1 && w.size == sizes[i] + 1);
    for (size_t k = 0; k < sizes[i]; ++k) HR_CHECK_EQ_I64(at[k], 0);
    hr_strbuf_deinit(&w);
  }
}

HR_TEST(nested_bytes_whatever_was_expected) {
  static const size_t expected[] = {0, 127, 128, 16384};
  hr_writer_t w = {0};
  for (int i = 0; i < 4; ++i) {
    hr_writer_mark_t outer = hr_writer_begin(&w, 1, expected[i]), inner = hr_writer_begin(&w, 2, expected[3 - i]);
    hr_writer_bool(&w, 3, true);
    hr_writer_end(&w, inner, expected[3 - i]);
    hr_writer_end(&w, outer, expected[i]);
    EXPECT("\x0a\x04\x12\x02\x18\x01");
  }
  hr_writer_mark_t mark = hr_writer_begin(&w, 1, 0);
  for (int i = 0; i < 64; ++i) hr_writer_bool(&w, 3, i & 1);
  hr_writer_end(&w, mark, 0);
  HR_CHECK(w.size == 3 + 128 && !memcmp(w.data, "\x0a\x80\x01\x18\x00\x18\x01", 7) && !memcmp(w.data + 127, "\x18\x00\x18\x01", 5));
  hr_strbuf_deinit(&w);
}

HR_TEST_MAIN()
