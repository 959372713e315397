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

/* --- byte for byte ------------------------------------------------------------------------------------------------------------------ */
#define MINUS2 "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"
typedef enum { AS_VARINT, AS_WORD, AS_PAIR, AS_BYTE } wire_form_t;
/* Facts of tensor.proto, written down once more: the field, the form, and the bytes of an element whose every byte is 0xff (signed: 0xfe
 * and 0xff above, so -2). */
static const struct {
  hr_dtype_t dtype;
  int field;
  wire_form_t form;
  int parts, size;
  const char* packed;
} tensor_facts[] = {
  {HR_F32, 5, AS_WORD, 1, 4, "\xfe\xff\xff\xff"}, {HR_F64, 6, AS_PAIR, 1, 8, "\xfe\xff\xff\xff\xff\xff\xff\xff"},
  {HR_I32, 7, AS_VARINT, 1, 4, MINUS2}, {HR_U8, 7, AS_VARINT, 1, 1, "\xfe\x01"}, {HR_I16, 7, AS_VARINT, 1, 2, MINUS2},
  {HR_I8, 7, AS_VARINT, 1, 1, MINUS2}, {HR_C64, 9, AS_WORD, 2, 8, "\xfe\xff\xff\xff\xff\xff\xff\xff"},
  {HR_I64, 10, AS_VARINT, 1, 8, MINUS2},
  {HR_QI8, 7, AS_VARINT, 1, 1, MINUS2}, {HR_QU8, 7, AS_VARINT, 1, 1, "\xfe\x01"}, {HR_QI32, 7, AS_VARINT, 1, 4, MINUS2},
  {HR_BF16, 13, AS_VARINT, 1, 2, "\xfe\xff\x03"}, {HR_QI16, 7, AS_VARINT, 1, 2, MINUS2}, {HR_QU16, 7, AS_VARINT, 1, 2, "\xfe\xff\x03"},
  {HR_U16, 7, AS_VARINT, 1, 2, "\xfe\xff\x03"},
  {HR_C128, 12, AS_PAIR, 2, 16, "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"},
  {HR_F16, 13, AS_VARINT, 1, 2, "\xfe\xff\x03"},
  {HR_U32, 16, AS_VARINT, 1, 4, "\xfe\xff\xff\xff\x0f"}, {HR_U64, 17, AS_VARINT, 1, 8, MINUS2}, {HR_F8_E5M2, 18, AS_BYTE, 1, 1, "\xfe"},
  {HR_F8_E4M3FN, 18, AS_BYTE, 1, 1, "\xfe"}, {HR_F8_E4M3FNUZ, 18, AS_BYTE, 1, 1, "\xfe"}, {HR_F8_E4M3B11FNUZ, 18, AS_BYTE, 1, 1, "\xfe"},
  {HR_F8_E5M2FNUZ, 18, AS_BYTE, 1, 1, "\xfe"}, {HR_I4, 7, AS_VARINT, 1, 1, MINUS2}, {HR_U4, 7, AS_VARINT, 1, 1, "\xfe\x01"},
  {HR_I2, 7, AS_VARINT, 1, 1, MINUS2}, {HR_U2, 7, AS_VARINT, 1, 1, "\xfe\x01"}, {HR_F4_E2M1FN, 18, AS_BYTE, 1, 1, "\xfe"},
};
enum { FACT_COUNT = sizeof tensor_facts / sizeof *tensor_facts };

HR_TEST(one_element_is_written_in_its_field) {
  for (int i = 0; i < FACT_COUNT; ++i) {
    const hr_shape_t scalar = hr_shape_scalar(), one = hr_shape_vector(1);
    for (int rank = 0; rank < 2; ++rank) {
      hr_tensor_t t = {0};
      hr_writer_t w = {0}, wanted = {0};
      HR_REQUIRE_OK(hr_tensor_create(tensor_facts[i].dtype, rank ? &one : &scalar, &t));
      HR_CHECK_EQ_U64(hr_tensor_bytes(&t), tensor_facts[i].size);
      memset(t.data, 0xff, (size_t)tensor_facts[i].size);
      *(uint8_t*)t.data = 0xfe;
      HR_CHECK_OK(hr_tensor_proto_encode(&t, &w));
      hr_writer_u64(&wanted, 1, tensor_facts[i].dtype);
      hr_writer_bytes(&wanted, 2, "\x12\x02\x08\x01", rank ? 4 : 0);
      hr_writer_bytes(&wanted, (uint32_t)tensor_facts[i].field, tensor_facts[i].packed, strlen(tensor_facts[i].packed));
      if (!HR_CHECK(hr_str_equal(hr_strbuf_view(&w), hr_strbuf_view(&wanted)))) printf("  %s\n", hr_dtype_name(tensor_facts[i].dtype));
      hr_tensor_release(&t);
      hr_strbuf_deinit(&w);
      hr_strbuf_deinit(&wanted);
    }
  }
}

/* Values 1, 2, 3... in the field of the dtype, one by one with wire type `wire`, or packed. */
static void put_parts(hr_writer_t* w, int i, int wire, int count) {
  const uint32_t field = (uint32_t)tensor_facts[i].field;
  hr_writer_mark_t mark = {0};
  if (wire == HR_WIRE_SPAN) mark = hr_writer_begin(w, field, 0);
  for (int k = 1; k <= count; ++k) {
    const wire_form_t form = wire == HR_WIRE_VARINT ? AS_VARINT : wire == HR_WIRE_FIXED32 ? AS_WORD : AS_PAIR;
    if (wire != HR_WIRE_SPAN) hr_writer_tag(w, field, wire);
    switch (wire == HR_WIRE_SPAN ? tensor_facts[i].form : form) {
      case AS_VARINT: hr_writer_varint(w, (uint64_t)k); break;
      case AS_WORD: hr_writer_fixed32_raw(w, (uint32_t)k); break;
      case AS_PAIR: hr_writer_fixed64_raw(w, (uint64_t)k); break;
      case AS_BYTE: hr_strbuf_add(w, &(char){(char)k}, 1); break;
    }
  }
  if (wire == HR_WIRE_SPAN) hr_writer_end(w, mark, 0);
}

/* What four elements are when `count` parts of them are given: element by element, the last again, zeros without any. */
static void check_parts(const hr_tensor_t* t, int i, int count) {
  const int parts = tensor_facts[i].parts, elements = count / parts < 4 ? count / parts : 4;
  const size_t size = (size_t)(tensor_facts[i].size / parts);
  for (int k = 0; k < 4 * parts; ++k) {
    const int element = k / parts < elements ? k / parts : elements - 1;
    uint64_t got = 0;
    memcpy(&got, (const char*)t->data + (size_t)k * size, size);
    if (!HR_CHECK_EQ_U64(got, elements ? element * parts + k % parts + 1 : 0)) printf("  %s, %d given\n", hr_dtype_name(t->dtype), count);
  }
}

HR_TEST(values_of_every_type_few_many_packed_or_not) {
  static const int wires[] = {HR_WIRE_VARINT, HR_WIRE_FIXED32, HR_WIRE_FIXED64, HR_WIRE_SPAN};
  for (int i = 0; i < FACT_COUNT; ++i)
    for (int way = 0; way < 4; ++way)
      for (int count = 0; count <= 10; ++count) {
        const bool is_own = wires[way] == HR_WIRE_SPAN || (wires[way] == HR_WIRE_VARINT && tensor_facts[i].form == AS_VARINT) ||
                            (wires[way] == HR_WIRE_FIXED32 && tensor_facts[i].form == AS_WORD) ||
                            (wires[way] == HR_WIRE_FIXED64 && tensor_facts[i].form == AS_PAIR);
        hr_writer_t w = {0};
        hr_tensor_t t = {0};
        put_parts(&w, i, wires[way], count);
        if (HR_CHECK_OK(decode(tensor_facts[i].dtype, 4, w.data, w.size, &t))) check_parts(&t, i, is_own ? count : 0);
        hr_tensor_release(&t);
        hr_strbuf_deinit(&w);
      }
}

HR_TEST(packed_values_in_several_parts) {
  hr_tensor_t t = {0};
  static const float wanted[] = {1, 2, 1};
  HR_REQUIRE_OK(DECODE(HR_F32, 3, "\x2a\x08\0\0\x80\x3f\0\0\0\x40\x2a\x08\0\0\x80\x3f\0\0\0\x40\x2a\x04\0\0\0\x40", &t));
  HR_CHECK(!memcmp(t.data, wanted, sizeof wanted));
  hr_tensor_release(&t);
  HR_REQUIRE_OK(DECODE(HR_STRING, 2, "", &t));
  for (int i = 0; i < 2; ++i) HR_CHECK(hr_str_is(hr_tstring_get((hr_tstring_t*)t.data + i), ""));
  hr_tensor_release(&t);
}

HR_TEST(packed_fixed_values_are_whole) {
  hr_tensor_t t = {0};
  HR_CHECK_CODE(DECODE(HR_F32, 2, "\x2a\x07" "abcdefg", &t), HR_INVALID_ARGUMENT, "packed values at byte 2: 7 bytes are no multiple of 4");
  HR_CHECK_CODE(DECODE(HR_F64, 2, "\x32\x04" "abcd", &t), HR_INVALID_ARGUMENT, "packed values at byte 2: 4 bytes are no multiple of 8");
  HR_CHECK_CODE(DECODE(HR_C64, 2, "\x4a\x05" "abcde", &t), HR_INVALID_ARGUMENT, "packed values at byte 2: 5 bytes are no multiple of 4");
  HR_CHECK_CODE(DECODE(HR_I32, 2, "\x3a\x02\x01\x80", &t), HR_INVALID_ARGUMENT, "at byte 3: a varint runs past the end");
}

HR_TEST(a_truth_is_one) {
  hr_tensor_t t = {0};
  HR_REQUIRE_OK(DECODE(HR_BOOL, 5, "\x5a\x04\x00\x02\x80\x02\x58\x00", &t)); /* packed 0, 2, 256; then 0, which is repeated */
  HR_CHECK(!memcmp(t.data, "\0\1\1\0\0", 5));
  hr_tensor_release(&t);
  HR_REQUIRE_OK(DECODE(HR_BOOL, 3, "\x22\x03\x02\x00\xff", &t));
  HR_CHECK(!memcmp(t.data, "\1\0\1", 3));
  hr_tensor_release(&t);
  HR_REQUIRE_OK(DECODE(HR_U8, 3, "\x22\x03\x02\x00\xff", &t));
  HR_CHECK(!memcmp(t.data, "\2\0\xff", 3));
  hr_tensor_release(&t);
}

static hr_status_t decode_within(size_t limit, const char* bytes, size_t size, hr_tensor_t* out) {
  return hr_tensor_proto_decode(hr_cursor_make(bytes, size), limit, out);
}
#define WITHIN(limit, bytes) decode_within(limit, bytes, sizeof bytes - 1, &t)

HR_TEST(memory_is_in_proportion_or_within_the_limit) { /* 16 bytes for one of the message */
  hr_tensor_t t = {0};
  HR_CHECK_OK(WITHIN(0, "\x08\x01\x12\x04\x12\x02\x08\x20")); /* 32 floats, 8 bytes */
  hr_tensor_release(&t);
  HR_CHECK_CODE(WITHIN(0, "\x08\x01\x12\x04\x12\x02\x08\x21"), HR_RESOURCE_EXHAUSTED,
                "tensor of shape [33] and type float takes 132 bytes, its message of 8 bytes may make 128 at most");
  HR_CHECK_OK(WITHIN(160, "\x08\x01\x12\x04\x12\x02\x08\x28")); /* 40 floats */
  hr_tensor_release(&t);
  HR_CHECK_CODE(WITHIN(159, "\x08\x01\x12\x04\x12\x02\x08\x28"), HR_RESOURCE_EXHAUSTED,
                "takes 160 bytes, its message of 8 bytes may make 159 at most");
  HR_CHECK_OK(WITHIN(8, "\x08\x07\x12\x04\x12\x02\x08\x03\x42\x04" "abcd")); /* repeated twice */
  HR_CHECK(hr_str_is(hr_tstring_get((hr_tstring_t*)t.data + 2), "abcd"));
  hr_tensor_release(&t);
  HR_CHECK_CODE(WITHIN(7, "\x08\x07\x12\x04\x12\x02\x08\x03\x42\x04" "abcd"), HR_RESOURCE_EXHAUSTED,
                "repeating a string of 4 bytes 2 times");
  HR_CHECK_OK(WITHIN(0, "\x08\x07\x12\x04\x12\x02\x08\x01\x42\x04" "abcd"));
  hr_tensor_release(&t);
  HR_CHECK(t.buffer == NULL);
}

HR_TEST(known_dtypes_to_the_last) {
  hr_tensor_t t = {0};
  char bytes[] = {0x08, (char)(HR_DTYPE_COUNT - 1)};
  HR_CHECK_OK(decode_within(LIMIT, bytes, 2, &t));
  HR_CHECK_EQ_I64(t.dtype, HR_DTYPE_COUNT - 1);
  hr_tensor_release(&t);
  ++bytes[1];
  HR_CHECK_CODE(decode_within(LIMIT, bytes, 2, &t), HR_INVALID_ARGUMENT, "tensor has no known dtype: ");
}

HR_TEST(strings_as_many_as_there_are) {
  hr_tensor_t t = {0};
  HR_REQUIRE_OK(DECODE(HR_STRING, 3, "\x42\x01" "a\x42\x00\x42\x02" "bc\x42\x01" "d\x40\x05", &t)); /* one too many, and a number */
  HR_CHECK(hr_str_is(hr_tstring_get((hr_tstring_t*)t.data), "a") && hr_str_is(hr_tstring_get((hr_tstring_t*)t.data + 1), ""));
  HR_CHECK(hr_str_is(hr_tstring_get((hr_tstring_t*)t.data + 2), "bc"));
  hr_tensor_release(&t);
  HR_REQUIRE_OK(DECODE(HR_STRING, 3, "\x22\x03\x00\x00\x00", &t)); /* as content: three empty ones */
  hr_tensor_release(&t);
  HR_CHECK_CODE(DECODE(HR_STRING, 4, "\x22\x03\x00\x00\x00", &t), HR_INVALID_ARGUMENT, "tensor_content has 3 bytes for 4 strings");
  HR_CHECK_CODE(DECODE(HR_STRING, 2, "\x22\x04\x01\x02xy", &t), HR_INVALID_ARGUMENT, "string 1 of tensor_content runs past the end");
  HR_CHECK_CODE(DECODE(HR_STRING, 1, "\x22\x04\x01xyz", &t), HR_INVALID_ARGUMENT, "tensor_content has 2 bytes more than its strings");
  HR_CHECK_CODE(DECODE(HR_STRING, 2, "\x22\x02\x80\x80", &t), HR_INVALID_ARGUMENT, "a varint runs past the end");
  HR_CHECK(t.buffer == NULL);
}

HR_TEST(handles_as_many_as_there_are) {
  hr_tensor_t t = {0};
  HR_REQUIRE_OK(DECODE(HR_RESOURCE, 2, "\x72\x03\x1a\x01" "a\x72\x03\x1a\x01" "b\x72\x03\x1a\x01" "c\x70\x05", &t));
  HR_CHECK(hr_str_is(((hr_handle_t**)t.data)[0]->name, "a") && hr_str_is(((hr_handle_t**)t.data)[1]->name, "b"));
  hr_tensor_release(&t);
  HR_REQUIRE_OK(DECODE(HR_RESOURCE, 3, "\x72\x03\x1a\x01" "a", &t));
  for (int i = 0; i < 3; ++i) HR_CHECK(hr_str_is(((hr_handle_t**)t.data)[i]->name, "a"));
  hr_tensor_release(&t);
  HR_REQUIRE_OK(DECODE(HR_RESOURCE, 2, "", &t));
  HR_CHECK(((hr_handle_t**)t.data)[0] == NULL && ((hr_handle_t**)t.data)[1] == NULL);
  hr_tensor_release(&t);
  HR_CHECK_CODE(DECODE(HR_RESOURCE, 1, "\x72\x02\x32\x05", &t), HR_INVALID_ARGUMENT, "");
  HR_CHECK(t.buffer == NULL);
}

static void expect_encoded(const hr_tensor_t* t, const char* bytes, size_t size) {
  hr_writer_t w = {0};
  HR_CHECK_OK(hr_tensor_proto_encode(t, &w));
  HR_CHECK(w.size == size && !memcmp(w.data, bytes, size));
  HR_CHECK(hr_tensor_proto_expected(t) >= hr_tensor_bytes(t));
  hr_strbuf_deinit(&w);
}
#define ENCODED(bytes) expect_encoded(&t, bytes, sizeof bytes - 1)

HR_TEST(many_are_content_none_is_nothing) {
  hr_tensor_t t = {0};
  hr_shape_t two = hr_shape_vector(2), none = hr_shape_vector(0);
  HR_REQUIRE_OK(hr_tensor_create(HR_I16, &two, &t));
  memcpy(t.data, "\1\2\3\4", 4);
  ENCODED("\x08\x05\x12\x04\x12\x02\x08\x02\x22\x04\1\2\3\4");
  hr_tensor_release(&t);
  HR_REQUIRE_OK(hr_tensor_create(HR_I16, &none, &t));
  ENCODED("\x08\x05\x12\x02\x12\x00");
  hr_tensor_release(&t);
  HR_REQUIRE_OK(hr_tensor_create(HR_STRING, &two, &t));
  HR_CHECK_OK(hr_tstring_set((hr_tstring_t*)t.data + 1, HR_STR("xy")));
  ENCODED("\x08\x07\x12\x04\x12\x02\x08\x02\x42\x00\x42\x02xy");
  hr_tensor_release(&t);
  HR_REQUIRE_OK(DECODE(HR_RESOURCE, 2, "\x72\x03\x1a\x01" "a\x72\x03\x1a\x01" "b", &t));
  ENCODED("\x08\x14\x12\x04\x12\x02\x08\x02\x72\x03\x1a\x01" "a\x72\x03\x1a\x01" "b");
  hr_tensor_release(&t);
  HR_REQUIRE_OK(hr_tensor_create(HR_VARIANT, &none, &t));
  ENCODED("\x08\x15\x12\x02\x12\x00");
  hr_tensor_release(&t);
  HR_REQUIRE_OK(DECODE(HR_VARIANT, 0, "", &t));
  hr_tensor_release(&t);
}

HR_TEST_MAIN()
