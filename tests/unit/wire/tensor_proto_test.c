/* SPDX-License-Identifier: Apache-2.0 */
/* TensorProto: every dtype both ways, the value rules, and messages that lie about sizes. */
#include "wire/tensor_proto.h"
#include "base/alloc.h"
#define HR_TEST_LEAKS_CHECKED
#include "test.h"
#include "wire/shape_proto.h"

#define LIMIT ((size_t)1 << 20)

/* dtype and a vector shape of n elements (n < 0: scalar), then `rest`. */
static hr_status_t decode(int dtype, int64_t n, const char* rest, size_t rest_size, hr_tensor_t* out) {
  hr_writer_t w = {0};
  hr_shape_t shape = n < 0 ? hr_shape_scalar() : hr_shape_vector(n);
  hr_strbuf_add(&w, rest, rest_size); /* values first: the order of fields must not matter */
  hr_writer_i64(&w, 1, dtype);
  hr_writer_mark_t mark = hr_writer_begin(&w, 2, 0);
  hr_shape_proto_encode(&shape, &w);
  hr_writer_end(&w, mark, 0);
  hr_status_t status = hr_tensor_proto_decode(hr_cursor_make(w.data, w.size), LIMIT, out);
  hr_strbuf_deinit(&w);
  return status;
}
#define DECODE(dtype, n, rest, out) decode(dtype, n, rest, sizeof(rest) - 1, out)

HR_TEST(every_plain_dtype_comes_back) {
  for (int dtype = 1; dtype < HR_DTYPE_COUNT; ++dtype) {
    if (!hr_dtype_is_plain((hr_dtype_t)dtype)) continue;
    for (int64_t n = 0; n < 4; ++n) {
      hr_shape_t shape = hr_shape_vector(n);
      hr_tensor_t t = {0}, back = {0};
      hr_writer_t w = {0};
      HR_REQUIRE_OK(hr_tensor_create((hr_dtype_t)dtype, &shape, &t));
      for (size_t i = 0; i < hr_tensor_bytes(&t); ++i) ((uint8_t*)t.data)[i] = dtype == HR_BOOL ? i & 1 : (uint8_t)(0x91 + 37 * i);
      HR_CHECK_OK(hr_tensor_proto_encode(&t, &w));
      HR_CHECK_OK(hr_tensor_proto_decode(hr_cursor_make(w.data, w.size), LIMIT, &back));
      HR_CHECK(hr_tensor_equal(&t, &back));
      hr_tensor_release(&t);
      hr_tensor_release(&back);
      hr_strbuf_deinit(&w);
    }
  }
}

HR_TEST(strings_come_back) {
  hr_shape_t shape = hr_shape_vector(3);
  hr_tensor_t t = {0}, back = {0};
  hr_writer_t w = {0};
  HR_REQUIRE_OK(hr_tensor_create(HR_STRING, &shape, &t));
  HR_CHECK_OK(hr_tstring_set((hr_tstring_t*)t.data, HR_STR("one")));
  HR_CHECK_OK(hr_tstring_set((hr_tstring_t*)t.data + 2, HR_STR("a string that is longer than fits inside the element")));
  HR_CHECK_OK(hr_tensor_proto_encode(&t, &w));
  HR_CHECK_OK(hr_tensor_proto_decode(hr_cursor_make(w.data, w.size), LIMIT, &back));
  HR_CHECK(hr_tensor_equal(&t, &back));
  hr_tensor_release(&t);
  hr_tensor_release(&back);
  hr_strbuf_deinit(&w);
}

HR_TEST(the_last_value_repeats) {
  hr_tensor_t t = {0};
  HR_REQUIRE_OK(DECODE(HR_I32, 4, "\x38\x07\x38\x09", &t));
  HR_CHECK_EQ_I64(((int32_t*)t.data)[0], 7);
  HR_CHECK_EQ_I64(((int32_t*)t.data)[1], 9);
  HR_CHECK_EQ_I64(((int32_t*)t.data)[3], 9);
  hr_tensor_release(&t);
  HR_REQUIRE_OK(DECODE(HR_STRING, 3, "\x42\x02hi", &t));
  HR_CHECK(hr_str_is(hr_tstring_get((hr_tstring_t*)t.data + 2), "hi"));
  hr_tensor_release(&t);
  HR_REQUIRE_OK(DECODE(HR_C64, 2, "\x4a\x08\x00\x00\x80\x3f\x00\x00\x00\x40", &t));
  HR_CHECK_NEAR(((hr_c64_t*)t.data)[1].im, 2, 0);
  hr_tensor_release(&t);
}

HR_TEST(no_value_is_zero_and_too_many_are_ignored) {
  hr_tensor_t t = {0};
  HR_REQUIRE_OK(DECODE(HR_F64, 2, "", &t));
  HR_CHECK_NEAR(((double*)t.data)[1], 0, 0);
  hr_tensor_release(&t);
  HR_REQUIRE_OK(DECODE(HR_F32, 1, "\x2a\x08\x00\x00\x80\x3f\x00\x00\x00\x40", &t));
  HR_CHECK_NEAR(*(float*)t.data, 1, 0);
  hr_tensor_release(&t);
}

HR_TEST(packed_and_unpacked_mix) {
  hr_tensor_t t = {0};
  HR_REQUIRE_OK(DECODE(HR_I64, 4, "\x50\x01\x52\x02\x02\x03\x50\x04", &t));
  for (int i = 0; i < 4; ++i) HR_CHECK_EQ_I64(((int64_t*)t.data)[i], i + 1);
  hr_tensor_release(&t);
}

HR_TEST(half_and_bfloat16_are_bit_patterns) {
  hr_tensor_t t = {0};
  HR_REQUIRE_OK(DECODE(HR_F16, -1, "\x6a\x02\x80\x78", &t));
  HR_CHECK_NEAR(hr_f16_to_f32(*(hr_f16_t*)t.data), 1, 0);
  hr_tensor_release(&t);
  HR_REQUIRE_OK(DECODE(HR_BF16, -1, "\x68\x80\x7f", &t));
  HR_CHECK_NEAR(hr_bf16_to_f32(*(hr_bf16_t*)t.data), 1, 0);
  hr_tensor_release(&t);
}

HR_TEST(string_content_is_lengths_then_bytes) {
  hr_tensor_t t = {0};
  HR_REQUIRE_OK(DECODE(HR_STRING, 2, "\x22\x05\x01\x02" "abc", &t));
  HR_CHECK(hr_str_is(hr_tstring_get((hr_tstring_t*)t.data), "a"));
  HR_CHECK(hr_str_is(hr_tstring_get((hr_tstring_t*)t.data + 1), "bc"));
  hr_tensor_release(&t);
  HR_CHECK_CODE(DECODE(HR_STRING, 2, "\x22\x05\x01\x03" "abc", &t), HR_INVALID_ARGUMENT, "runs past");
  HR_CHECK_CODE(DECODE(HR_STRING, 2, "\x22\x05\x01\x01" "abc", &t), HR_INVALID_ARGUMENT, "1 bytes more");
}

HR_TEST(lies_are_refused_before_memory_is_taken) {
  hr_tensor_t t = {0};
  HR_CHECK_CODE(DECODE(HR_F32, INT64_C(1) << 40, "", &t), HR_RESOURCE_EXHAUSTED, "takes 4398046511104 bytes");
  HR_CHECK_CODE(DECODE(HR_C128, INT64_C(1) << 62, "", &t), HR_INVALID_ARGUMENT, "larger than memory");
  HR_CHECK_CODE(DECODE(HR_F32, 3, "\x22\x04" "abcd", &t), HR_INVALID_ARGUMENT, "tensor_content has 4 bytes, shape [3] of float needs 12");
  HR_CHECK_CODE(DECODE(HR_STRING, 1000000, "\x22\x04" "abcd", &t), HR_INVALID_ARGUMENT, "for 1000000 strings");
  HR_CHECK_CODE(DECODE(0, 1, "", &t), HR_INVALID_ARGUMENT, "no known dtype: 0");
  HR_CHECK_CODE(DECODE(101, 1, "", &t), HR_INVALID_ARGUMENT, "no known dtype: 101");
  HR_CHECK_CODE(DECODE(HR_F32, 2, "\x2a\x03" "abc", &t), HR_INVALID_ARGUMENT, "no multiple of 4");
  HR_CHECK_CODE(DECODE(HR_VARIANT, 1, "", &t), HR_UNIMPLEMENTED, "variant");
  HR_CHECK(t.buffer == NULL);
}

HR_TEST(repeating_a_long_string_is_bounded) {
  hr_writer_t w = {0};
  hr_tensor_t t = {0};
  hr_writer_tag(&w, 8, 2);
  hr_writer_varint(&w, 5000);
  memset(hr_writer_room(&w, 5000), 'x', 5000);
  HR_CHECK_CODE(decode(HR_STRING, 3000, w.data, w.size, &t), HR_RESOURCE_EXHAUSTED, "repeating a string of 5000 bytes 2999 times");
  hr_strbuf_deinit(&w);
}

HR_TEST(a_resource_handle_comes_back) {
  hr_tensor_t t = {0}, back = {0};
  hr_writer_t w = {0};
  HR_REQUIRE_OK(DECODE(HR_RESOURCE, -1, "\x72\x05\x1a\x03" "abc", &t));
  HR_CHECK(hr_str_is((*(hr_handle_t**)t.data)->name, "abc"));
  HR_CHECK_OK(hr_tensor_proto_encode(&t, &w));
  HR_CHECK_OK(hr_tensor_proto_decode(hr_cursor_make(w.data, w.size), LIMIT, &back));
  HR_CHECK(back.data && hr_str_is((*(hr_handle_t**)back.data)->name, "abc"));
  hr_tensor_release(&t);
  hr_tensor_release(&back);
  hr_strbuf_deinit(&w);
}

static hr_status_t decode_and_encode(void) {
  static const char bytes[] = "\x08\x07\x12\x04\x12\x02\x08\x03\x42\x1e" "a string of thirty characters.";
  hr_tensor_t t = {0};
  hr_writer_t w = {0};
  HR_TRY(hr_tensor_proto_decode(hr_cursor_make(bytes, sizeof bytes - 1), LIMIT, &t));
  hr_status_t status = hr_tensor_proto_encode(&t, &w);
  if (!status && w.failed) status = hr_status_out_of_memory();
  hr_tensor_release(&t);
  hr_strbuf_deinit(&w);
  return status;
}
HR_TEST(survives_each_failing_allocation) { HR_TEST_EVERY_ALLOCATION_FAILS(decode_and_encode); }

HR_TEST_MAIN()
