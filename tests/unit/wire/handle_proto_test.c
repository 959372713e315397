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

HR_TEST_MAIN()
