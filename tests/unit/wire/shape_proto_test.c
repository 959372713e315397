/* SPDX-License-Identifier: Apache-2.0 */
/* TensorShapeProto both ways. */
#include "wire/shape_proto.h"
#define HR_TEST_LEAKS_CHECKED
#include "test.h"
#define SPAN(text) hr_cursor_make(text, sizeof(text) - 1)

HR_TEST(known_shapes_come_back) {
  static const int64_t dims[] = {2, 0, INT64_C(1) << 40};
  hr_shape_t s, back;
  hr_writer_t w = {0};
  HR_REQUIRE_OK(hr_shape_make(3, dims, &s));
  hr_shape_proto_encode(&s, &w);
  HR_REQUIRE_OK(hr_shape_proto_decode(hr_cursor_make(w.data, w.size), &back));
  HR_CHECK(hr_shape_equal(&s, &back));
  hr_strbuf_deinit(&w);
}

HR_TEST(a_scalar_is_no_bytes) {
  hr_shape_t s;
  HR_REQUIRE_OK(hr_shape_proto_decode(hr_cursor_make(NULL, 0), &s));
  HR_CHECK_EQ_I64(s.rank, 0);
}

HR_TEST(partial_shapes_come_back) {
  hr_arena_t arena;
  hr_arena_init(&arena);
  static const int64_t dims[] = {-1, 3};
  const hr_pshape_t *s = NULL, *back = NULL;
  hr_writer_t w = {0};
  if (HR_CHECK_OK(hr_pshape_make(&arena, 2, dims, &s))) hr_shape_proto_encode_partial(s, &w);
  HR_CHECK_OK(hr_shape_proto_decode_partial(&arena, hr_cursor_make(w.data, w.size), &back));
  HR_CHECK(back && hr_pshape_equal(s, back));
  w.size = 0;
  hr_shape_proto_encode_partial(&hr_pshape_unknown, &w);
  HR_CHECK_OK(hr_shape_proto_decode_partial(&arena, hr_cursor_make(w.data, w.size), &back));
  HR_CHECK_EQ_I64(back->rank, -1);
  hr_strbuf_deinit(&w);
  hr_arena_deinit(&arena);
}

HR_TEST(names_of_dims_are_ignored) {
  hr_shape_t s;
  HR_REQUIRE_OK(hr_shape_proto_decode(SPAN("\x12\x06\x12\x02xy\x08\x07"), &s));
  HR_CHECK_EQ_I64(s.rank, 1);
  HR_CHECK_EQ_I64(s.dims[0], 7);
}

HR_TEST(refuses_bad_shapes) {
  hr_shape_t s;
  hr_writer_t w = {0};
  HR_CHECK_CODE(hr_shape_proto_decode(SPAN("\x18\x01"), &s), HR_INVALID_ARGUMENT, "fully known");
  HR_CHECK_CODE(hr_shape_proto_decode(SPAN("\x12\x02\x08\x01\x18\x01"), &s), HR_INVALID_ARGUMENT, "unknown rank must not");
  HR_CHECK_CODE(hr_shape_proto_decode(SPAN("\x12\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), &s), HR_INVALID_ARGUMENT, "");
  for (int i = 0; i < 300; ++i) hr_strbuf_add(&w, "\x12\x00", 2);
  HR_CHECK_CODE(hr_shape_proto_decode(hr_cursor_make(w.data, w.size), &s), HR_INVALID_ARGUMENT, "more than 254");
  HR_CHECK_CODE(hr_shape_proto_decode(hr_cursor_make(w.data, 40), &s), HR_UNIMPLEMENTED, "");
  hr_strbuf_deinit(&w);
}

HR_TEST(shapes_byte_for_byte) {
  static const struct { int rank; int64_t dims[3]; const char* bytes; size_t size; } rows[] = {
    {0, {0}, "", 0}, {1, {5}, "\x12\x02\x08\x05", 4}, {1, {0}, "\x12\x00", 2},
    {3, {1, 0, 300}, "\x12\x02\x08\x01\x12\x00\x12\x03\x08\xac\x02", 11},
    {2, {-1, 2}, "\x12\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x12\x02\x08\x02", 17}, {-1, {0}, "\x18\x01", 2},
  };
  hr_arena_t arena;
  hr_arena_init(&arena);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    const hr_pshape_t *s = NULL, *back = NULL;
    hr_shape_t known;
    hr_writer_t w = {0};
    HR_CHECK_OK(hr_pshape_make(&arena, rows[i].rank, rows[i].dims, &s));
    hr_shape_proto_encode_partial(s, &w);
    HR_CHECK(w.size == rows[i].size && (w.size == 0 || !memcmp(w.data, rows[i].bytes, w.size)));
    HR_CHECK_OK(hr_shape_proto_decode_partial(&arena, hr_cursor_make(rows[i].bytes, rows[i].size), &back));
    HR_CHECK(back && hr_pshape_equal(s, back));
    if (hr_pshape_to_shape(s, &known)) {
      w.size = 0;
      hr_shape_proto_encode(&known, &w);
      HR_CHECK(w.size == rows[i].size && (w.size == 0 || !memcmp(w.data, rows[i].bytes, w.size)));
    }
    hr_strbuf_deinit(&w);
  }
  hr_arena_deinit(&arena);
}

HR_TEST(fields_that_mean_nothing_here) {
  hr_shape_t s;
  HR_CHECK_OK(hr_shape_proto_decode(SPAN("\x18\x00\x12\x02\x08\x03"), &s)); /* unknown_rank: false */
  HR_CHECK(s.rank == 1 && s.dims[0] == 3);
  HR_CHECK_OK(hr_shape_proto_decode(SPAN("\x18\x01\x18\x00"), &s)); /* the last says so */
  HR_CHECK_EQ_I64(s.rank, 0);
  HR_CHECK_OK(hr_shape_proto_decode(SPAN("\x10\x05\x1a\x01\x01\x12\x04\x08\x03\x08\x04"), &s));
  HR_CHECK(s.rank == 1 && s.dims[0] == 4);
  HR_CHECK_OK(hr_shape_proto_decode(SPAN("\x12\x02\x10\x03"), &s));
  HR_CHECK(s.rank == 1 && s.dims[0] == 0);
}

HR_TEST(at_most_254_dimensions) {
  hr_arena_t arena;
  const hr_pshape_t* s = NULL;
  hr_writer_t w = {0};
  hr_arena_init(&arena);
  for (int i = 0; i < 255; ++i) hr_strbuf_add(&w, "\x12\x02\x08\x01", 4);
  HR_CHECK_OK(hr_shape_proto_decode_partial(&arena, hr_cursor_make(w.data, 254 * 4), &s));
  HR_CHECK(s && s->rank == 254 && s->dims[0] == 1 && s->dims[253] == 1);
  HR_CHECK_CODE(hr_shape_proto_decode_partial(&arena, hr_cursor_make(w.data, 255 * 4), &s), HR_INVALID_ARGUMENT,
                "shape has more than 254 dimensions");
  hr_strbuf_add(&w, "\x18\x01", 2);
  HR_CHECK_CODE(hr_shape_proto_decode_partial(&arena, hr_cursor_make(w.data + 253 * 4, 2 * 4 + 2), &s), HR_INVALID_ARGUMENT,
                "shape of unknown rank must not have dimensions, has 2");
  hr_strbuf_deinit(&w);
  hr_arena_deinit(&arena);
}

HR_TEST_MAIN()
