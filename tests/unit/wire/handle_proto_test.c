/* SPDX-License-Identifier: Apache-2.0 */
/* ResourceHandleProto both ways. */
#include "wire/handle_proto.h"
#define HR_TEST_LEAKS_CHECKED
#include "test.h"

HR_TEST(a_handle_comes_back) {
  hr_arena_t arena;
  hr_arena_init(&arena);
  const hr_pshape_t* shape = NULL;
  hr_handle_t *h = hr_handle_create(HR_STR("/cpu:0"), HR_STR("box"), HR_STR("v"), HR_STR("Var")), *back = NULL;
  hr_writer_t w = {0};
  HR_REQUIRE(h);
  h->type_hash = 77;
  HR_CHECK_OK(hr_pshape_make(&arena, 2, (int64_t[]){-1, 5}, &shape));
  HR_CHECK_OK(hr_handle_set_value(h, HR_F32, shape));
  hr_handle_proto_encode(h, &w);
  if (HR_CHECK_OK(hr_handle_proto_decode(hr_cursor_make(w.data, w.size), &back))) {
    HR_CHECK(hr_str_is(back->device, "/cpu:0"));
    HR_CHECK(hr_str_is(back->container, "box"));
    HR_CHECK(hr_str_is(back->name, "v"));
    HR_CHECK(hr_str_is(back->type_name, "Var"));
    HR_CHECK_EQ_I64(back->type_hash, 77);
    HR_CHECK_EQ_I64(back->dtype, HR_F32);
    HR_CHECK(back->shape && hr_pshape_equal(back->shape, shape));
  }
  hr_handle_release(back);
  hr_handle_release(h);
  hr_strbuf_deinit(&w);
  hr_arena_deinit(&arena);
}

HR_TEST(refuses_unknown_value_types) {
  hr_handle_t* h = NULL;
  HR_CHECK_CODE(hr_handle_proto_decode(hr_cursor_make("\x32\x02\x08\x7f", 4), &h), HR_INVALID_ARGUMENT, "unknown dtype 127");
}

HR_TEST(handles_byte_for_byte) {
  static const struct { const char* bytes; size_t size; const char *device, *container, *name, *type; uint64_t hash; } rows[] = {
    {"", 0, "", "", "", "", 0},         {"\x0a\x01" "d", 3, "d", "", "", "", 0}, {"\x12\x01" "c", 3, "", "c", "", "", 0},
    {"\x1a\x01n", 3, "", "", "n", "", 0}, {"\x20\xac\x02", 3, "", "", "", "", 300}, {"\x2a\x01t", 3, "", "", "", "t", 0},
    {"\x0a\x01" "d\x12\x01" "c\x1a\x01n\x20\x07\x2a\x01t", 14, "d", "c", "n", "t", 7},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_handle_t* h = NULL;
    hr_writer_t w = {0};
    HR_REQUIRE_OK(hr_handle_proto_decode(hr_cursor_make(rows[i].bytes, rows[i].size), &h));
    HR_CHECK_VIEW(h->device, rows[i].device);
    HR_CHECK_VIEW(h->container, rows[i].container);
    HR_CHECK_VIEW(h->name, rows[i].name);
    HR_CHECK_VIEW(h->type_name, rows[i].type);
    HR_CHECK_EQ_U64(h->type_hash, rows[i].hash);
    HR_CHECK_EQ_I64(h->dtype, HR_DTYPE_INVALID);
    hr_handle_proto_encode(h, &w);
    HR_CHECK(w.size == rows[i].size && (!w.size || !memcmp(w.data, rows[i].bytes, w.size)));
    hr_strbuf_deinit(&w);
    hr_handle_release(h);
  }
}

HR_TEST(what_a_handle_holds) { /* of several the first */
  static const char first[] = "\x32\x08\x08\x03\x12\x04\x12\x02\x08\x05";
  static const char both[] = "\x32\x08\x08\x03\x12\x04\x12\x02\x08\x05\x32\x02\x08\x01";
  hr_handle_t* h = NULL;
  hr_writer_t w = {0};
  HR_REQUIRE_OK(hr_handle_proto_decode(hr_cursor_make(both, sizeof both - 1), &h));
  HR_CHECK(h->dtype == HR_I32 && h->shape && h->shape->rank == 1 && h->shape->dims[0] == 5);
  hr_handle_proto_encode(h, &w);
  HR_CHECK(w.size == sizeof first - 1 && !memcmp(w.data, first, w.size));
  hr_handle_release(h);
  w.size = 0;
  HR_REQUIRE_OK(hr_handle_proto_decode(hr_cursor_make("\x32\x06\x12\x02\x18\x01\x08\x02", 8), &h));
  HR_CHECK(h->dtype == HR_F64 && h->shape && h->shape->rank == -1);
  const hr_pshape_t* kept = h->shape;
  h->shape = NULL; /* nothing known */
  hr_handle_proto_encode(h, &w);
  h->shape = kept;
  HR_CHECK(w.size == 8 && !memcmp(w.data, "\x32\x06\x08\x02\x12\x02\x18\x01", 8));
  hr_handle_release(h);
  hr_strbuf_deinit(&w);
  w = (hr_writer_t){0};
  hr_handle_proto_encode(NULL, &w);
  HR_CHECK_EQ_U64(w.size, 0);
  char bytes[] = {0x32, 0x02, 0x08, (char)(HR_DTYPE_COUNT - 1)};
  HR_REQUIRE_OK(hr_handle_proto_decode(hr_cursor_make(bytes, 4), &h));
  HR_CHECK_EQ_I64(h->dtype, HR_DTYPE_COUNT - 1);
  hr_handle_release(h);
  ++bytes[3];
  HR_CHECK_CODE(hr_handle_proto_decode(hr_cursor_make(bytes, 4), &h), HR_INVALID_ARGUMENT, "holds a value of unknown dtype");
}

HR_TEST_MAIN()
