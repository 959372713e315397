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

HR_TEST_MAIN()
