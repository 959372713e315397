/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors: making, sharing, slicing, cloning, comparing, small values, text. */
#define HR_TEST_LEAKS_CHECKED
#include "tensor/tensor.h"
#include "test.h"

HR_TEST(refusals) {
  hr_tensor_t t;
  hr_shape_t s = hr_shape_vector(3), huge = hr_shape_vector(INT64_MAX), big = hr_shape_vector(INT64_C(1) << 50);
  HR_CHECK_CODE(hr_tensor_create((hr_dtype_t)0, &s, &t), HR_INVALID_ARGUMENT, "element type 0");
  HR_CHECK_CODE(hr_tensor_create((hr_dtype_t)101, &s, &t), HR_INVALID_ARGUMENT, "float_ref");
  HR_CHECK_CODE(hr_tensor_create(HR_F64, &huge, &t), HR_RESOURCE_EXHAUSTED, "[9223372036854775807]");
  HR_CHECK_CODE(hr_tensor_create(HR_F32, &big, &t), HR_RESOURCE_EXHAUSTED, "float");
  char memory[11];
  HR_CHECK_CODE(hr_tensor_borrow(HR_F32, &s, memory, 11, false, NULL, NULL, &t), HR_INVALID_ARGUMENT, "needs 12");
}

HR_TEST(sharing_moving_rows) {
  hr_tensor_t t, u, v;
  hr_shape_t s = hr_shape_matrix(3, 2), flat = hr_shape_vector(6), wrong = hr_shape_vector(5);
  HR_REQUIRE_OK(hr_tensor_create_zero(HR_I32, &s, &t));
  for (int i = 0; i < 6; ++i) HR_CHECK_EQ_I64(((int32_t*)t.data)[i], 0);
  ((int32_t*)t.data)[3] = 7;
  HR_REQUIRE_OK(hr_tensor_rows(&t, 1, 3, &u));
  HR_CHECK(u.count == 4 && u.shape.dims[0] == 2 && ((int32_t*)u.data)[1] == 7 && !hr_buffer_is_alone(t.buffer));
  HR_CHECK_CODE(hr_tensor_rows(&t, 2, 4, &v), HR_INVALID_ARGUMENT, "[3,2]");
  HR_CHECK_CODE(hr_tensor_rows(&t, -1, 2, &v), HR_INVALID_ARGUMENT, "rows");
  HR_REQUIRE_OK(hr_tensor_reshape(&t, &flat, &v));
  HR_CHECK(v.shape.rank == 1 && v.data == t.data);
  hr_tensor_release(&v);
  HR_CHECK_CODE(hr_tensor_reshape(&t, &wrong, &v), HR_INVALID_ARGUMENT, "[5]");
  hr_tensor_move(&t, &v);
  HR_CHECK(t.buffer == NULL && v.buffer != NULL);
  hr_tensor_release(&t);
  hr_tensor_release(&u);
  hr_tensor_release(&v);
}

static hr_status_t clone_all(void) {
  static const hr_dtype_t types[] = {HR_F32, HR_STRING, HR_RESOURCE};
  hr_shape_t s = hr_shape_vector(3);
  for (int i = 0; i < 3; ++i) {
    hr_tensor_t t = {0}, u = {0};
    hr_status_t status = hr_tensor_create_zero(types[i], &s, &t);
    if (!status && types[i] == HR_STRING) status = hr_tstring_set((hr_tstring_t*)t.data + 1, HR_STR("rather long so that it has a body"));
    if (!status && types[i] == HR_RESOURCE) {
      ((hr_handle_t**)t.data)[0] = hr_handle_create(HR_STR("d"), HR_STR("c"), HR_STR("n"), HR_STR("t"));
      if (!((hr_handle_t**)t.data)[0]) status = hr_status_out_of_memory();
    }
    if (!status) status = hr_tensor_clone(&t, &u);
    if (!status) HR_CHECK(hr_tensor_equal(&t, &u) && t.data != u.data);
    hr_tensor_release(&t);
    hr_tensor_release(&u);
    HR_TRY(status);
  }
  return NULL;
}
HR_TEST(clones_with_every_allocation_failing) { HR_TEST_EVERY_ALLOCATION_FAILS(clone_all); }

HR_TEST(copying_elements) {
  hr_tensor_t t, u;
  int64_t values[] = {1, 2, 3};
  HR_REQUIRE_OK(hr_tensor_from_i64_vec(HR_I64, values, 3, &t));
  HR_REQUIRE_OK(hr_tensor_clone(&t, &u));
  HR_CHECK_OK(hr_tensor_copy_elements(&t, 1, &u, 0, 2));
  HR_CHECK_EQ_I64(((int64_t*)t.data)[2], 2);
  HR_CHECK(!hr_tensor_equal(&t, &u));
  HR_CHECK_CODE(hr_tensor_copy_elements(&t, 2, &u, 0, 2), HR_INVALID_ARGUMENT, "cannot copy");
  HR_CHECK_CODE(hr_tensor_copy_elements(&t, INT64_MAX, &u, 0, INT64_MAX), HR_INVALID_ARGUMENT, "");
  HR_CHECK_CODE(hr_tensor_copy_elements(&t, 0, &u, -1, 1), HR_INVALID_ARGUMENT, "");
  hr_tensor_release(&u);
  HR_REQUIRE_OK(hr_tensor_from_f32(1, &u));
  HR_CHECK_CODE(hr_tensor_copy_elements(&t, 0, &u, 0, 1), HR_INVALID_ARGUMENT, "float");
  hr_tensor_release(&t);
  hr_tensor_release(&u);
}

HR_TEST(small_values) {
  hr_tensor_t t;
  int64_t v = 0, values[] = {2, 3, INT64_C(1) << 40};
  hr_shape_t s;
  hr_str_t text;
  HR_CHECK_CODE(hr_tensor_from_i64_vec(HR_I32, values, 3, &t), HR_INVALID_ARGUMENT, "does not fit int32");
  HR_CHECK_CODE(hr_tensor_from_i64_vec(HR_F32, values, 3, &t), HR_INVALID_ARGUMENT, "float");
  HR_REQUIRE_OK(hr_tensor_from_i64_vec(HR_I32, values, 2, &t));
  HR_CHECK_OK(hr_tensor_to_shape(&t, &s));
  HR_CHECK(s.rank == 2 && s.dims[1] == 3);
  HR_CHECK_CODE(hr_tensor_scalar_i64(&t, "the size", &v), HR_INVALID_ARGUMENT, "the size must be a scalar, not shape [2]");
  HR_CHECK_CODE(hr_tensor_scalar_i64(&t, "n must be scalar, got ", &v), HR_INVALID_ARGUMENT, "n must be scalar, got [2]");
  HR_CHECK_CODE(hr_tensor_i64_at(&t, 2, &v), HR_INVALID_ARGUMENT, "element 2");
  hr_tensor_release(&t);
  HR_REQUIRE_OK(hr_tensor_from_i64_vec(HR_I64, NULL, 0, &t));
  HR_CHECK_OK(hr_tensor_to_shape(&t, &s));
  HR_CHECK_EQ_I64(s.rank, 0);
  hr_tensor_release(&t);
  HR_REQUIRE_OK(hr_tensor_from_str(HR_STR("text"), &t));
  HR_CHECK_OK(hr_tensor_scalar_str(&t, "x", &text));
  HR_CHECK_VIEW(text, "text");
  HR_CHECK_CODE(hr_tensor_scalar_i64(&t, "the axis", &v), HR_INVALID_ARGUMENT, "the axis: a tensor of type string");
  hr_tensor_release(&t);
  hr_shape_t one = hr_shape_vector(1), many = hr_shape_vector(20);
  HR_REQUIRE_OK(hr_tensor_create(HR_U64, &one, &t));
  *(uint64_t*)t.data = UINT64_MAX;
  HR_CHECK_CODE(hr_tensor_scalar_i64(&t, "n", &v), HR_INVALID_ARGUMENT, "18446744073709551615");
  hr_tensor_release(&t);
  HR_REQUIRE_OK(hr_tensor_create_zero(HR_I64, &many, &t));
  HR_CHECK_CODE(hr_tensor_to_shape(&t, &s), HR_UNIMPLEMENTED, "20");
  hr_tensor_release(&t);
}

HR_TEST(text_of_every_type) {
  for (int type = 1; type < HR_DTYPE_COUNT; ++type) {
    hr_shape_t s = hr_shape_vector(2);
    hr_tensor_t t;
    hr_strbuf_t b;
    hr_strbuf_init(&b);
    HR_REQUIRE_OK(hr_tensor_create_zero((hr_dtype_t)type, &s, &t));
    hr_tensor_print(&t, 1, &b);
    HR_CHECK(b.data && hr_str_has_prefix(hr_strbuf_view(&b), hr_str(hr_dtype_name(type))) &&
             hr_str_has_suffix(hr_strbuf_view(&b), HR_STR(" ...")));
    hr_strbuf_deinit(&b);
    hr_tensor_release(&t);
  }
  hr_tensor_t t;
  hr_strbuf_t b;
  hr_strbuf_init(&b);
  HR_REQUIRE_OK(hr_tensor_from_f32(-1.5f, &t));
  hr_tensor_print(&t, 5, &b);
  HR_CHECK_VIEW(hr_strbuf_view(&b), "float[] -1.5");
  hr_strbuf_deinit(&b);
  hr_tensor_release(&t);
}

/* --- borders -------------------------------------------------------------------------------------------------------------------- */

static hr_tensor_t numbers(hr_dtype_t dtype, const hr_shape_t* shape) {
  hr_tensor_t t = {0};
  HR_CHECK_OK(hr_tensor_create_zero(dtype, shape, &t));
  for (size_t i = 0; hr_dtype_is_plain(dtype) && i < hr_tensor_bytes(&t); ++i) ((uint8_t*)t.data)[i] = (uint8_t)(i * 7 + 1);
  for (int64_t i = 0; dtype == HR_STRING && i < t.count; ++i)
    HR_CHECK_OK(hr_tstring_set((hr_tstring_t*)t.data + i, hr_str_slice(HR_STR("abcdefgh"), (size_t)i, (size_t)i + 2)));
  return t;
}

HR_TEST(rows_at_the_borders) {
  static const struct { int64_t begin, end; bool good;
  } cases[] = {{0, 3, true},   {0, 0, true},  {1, 1, true},  {3, 3, true},  {2, 3, true},
               {-1, 2, false}, {0, 4, false}, {2, 1, false}, {4, 4, false}, {-1, -1, false}};
  const hr_shape_t shapes[] = {hr_shape_vector(3), hr_shape_matrix(3, 2)}, scalar = hr_shape_scalar();
  hr_tensor_t t, part;
  for (int k = 0; k < 2; ++k) {
    t = numbers(HR_I16, &shapes[k]);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
      hr_status_t status = hr_tensor_rows(&t, cases[i].begin, cases[i].end, &part);
      if (!cases[i].good) {
        HR_CHECK_CODE(status, HR_INVALID_ARGUMENT, "are not within a tensor of shape [3");
      } else if (HR_CHECK_OK(status)) {
        HR_CHECK(part.count == (cases[i].end - cases[i].begin) * (k + 1) && part.shape.dims[0] == cases[i].end - cases[i].begin &&
                 part.shape.rank == k + 1 && (char*)part.data == (char*)t.data + cases[i].begin * 2 * (k + 1));
        hr_tensor_release(&part);
      }
    }
    hr_tensor_release(&t);
  }
  t = numbers(HR_I16, &scalar);
  HR_CHECK_CODE(hr_tensor_rows(&t, 0, 0, &part), HR_INVALID_ARGUMENT, "a scalar has no rows to take");
  hr_tensor_release(&t);
}

HR_TEST(equal_in_type_shape_and_each_element) {
  const hr_shape_t three = hr_shape_vector(3), one = hr_shape_vector(1), none = hr_shape_vector(0), column = hr_shape_matrix(3, 1);
  static const hr_dtype_t types[] = {HR_I32, HR_STRING};
  for (int k = 0; k < 2; ++k) {
    hr_tensor_t a = numbers(types[k], &three), b = numbers(types[k], &three), other = numbers(types[k], &column);
    hr_tensor_t a1 = numbers(types[k], &one), b1 = numbers(types[k], &one), a0 = numbers(types[k], &none), b0 = numbers(types[k], &none);
    hr_tensor_t typed = numbers(k ? HR_F32 : HR_U32, &three);
    HR_CHECK(hr_tensor_equal(&a, &a) && hr_tensor_equal(&a, &b) && hr_tensor_equal(&a1, &b1) && hr_tensor_equal(&a0, &b0));
    HR_CHECK(!hr_tensor_equal(&a, &other) && !hr_tensor_equal(&a, &a1) && !hr_tensor_equal(&a, &typed) && !hr_tensor_equal(&a0, &a));
    for (int i = 0; i < 3; ++i) {
      if (k) HR_CHECK_OK(hr_tstring_set((hr_tstring_t*)b.data + i, HR_STR("x")));
      else ((int32_t*)b.data)[i] ^= 1 << 30;
      HR_CHECK(!hr_tensor_equal(&a, &b));
      HR_CHECK_OK(hr_tensor_copy_elements(&b, i, &a, i, 1));
      HR_CHECK(hr_tensor_equal(&a, &b));
    }
    if (k) HR_CHECK_OK(hr_tstring_set(b1.data, HR_STR("x")));
    else *(int32_t*)b1.data = 5;
    HR_CHECK(!hr_tensor_equal(&a1, &b1));
    hr_tensor_t* all[] = {&a, &b, &other, &a1, &b1, &a0, &b0, &typed};
    for (int i = 0; i < 8; ++i) hr_tensor_release(all[i]);
  }
}

HR_TEST(copies_within_both_tensors) {
  static const struct { int64_t at, from, count; bool good; } cases[] = {
      {0, 0, 0, true},  {3, 4, 0, true},   {0, 0, 3, true},  {0, 1, 3, true},   {2, 3, 1, true},  {1, 2, 2, true},
      {0, 0, 4, false}, {1, 0, 3, false},  {0, 2, 3, false}, {3, 0, 1, false},  {0, 4, 1, false}, {-1, 0, 1, false},
      {0, -1, 1, false}, {0, 0, -1, false}, {-1, 0, 0, false}, {0, -1, 0, false}};
  static const hr_dtype_t types[] = {HR_I32, HR_STRING};
  const hr_shape_t three = hr_shape_vector(3), four = hr_shape_vector(4);
  for (int k = 0; k < 2; ++k)
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
      hr_tensor_t to = {0}, from = numbers(types[k], &four), was = {0};
      HR_CHECK_OK(hr_tensor_create_zero(types[k], &three, &to));
      HR_CHECK_OK(hr_tensor_create_zero(types[k], &three, &was));
      hr_status_t status = hr_tensor_copy_elements(&to, cases[i].at, &from, cases[i].from, cases[i].count);
      if (cases[i].good) HR_CHECK_OK(status);
      else HR_CHECK_CODE(status, HR_INVALID_ARGUMENT, "cannot copy");
      for (int64_t n = 0; n < 3; ++n) {
        const bool copied = cases[i].good && n >= cases[i].at && n < cases[i].at + cases[i].count;
        const hr_tensor_t* source = copied ? &from : &was;
        const int64_t place = copied ? n - cases[i].at + cases[i].from : n;
        if (k) HR_CHECK(hr_str_equal(hr_tstring_get((hr_tstring_t*)to.data + n), hr_tstring_get((hr_tstring_t*)source->data + place)));
        else HR_CHECK_EQ_I64(((int32_t*)to.data)[n], ((int32_t*)source->data)[place]);
      }
      hr_tensor_release(&to);
      hr_tensor_release(&from);
      hr_tensor_release(&was);
    }
}

HR_TEST(numbers_at_the_limits_of_their_types) {
  hr_tensor_t t;
  int64_t v = 0;
  const hr_shape_t one = hr_shape_vector(1);
  static const int64_t good[] = {INT32_MIN, INT32_MAX, 0}, low[] = {0, INT64_C(-2147483649)}, high[] = {INT64_C(2147483648), 0};
  HR_REQUIRE_OK(hr_tensor_from_i64_vec(HR_I32, good, 3, &t));
  HR_CHECK(((int32_t*)t.data)[0] == INT32_MIN && ((int32_t*)t.data)[1] == INT32_MAX);
  hr_tensor_release(&t);
  HR_CHECK_CODE(hr_tensor_from_i64_vec(HR_I32, low, 2, &t), HR_INVALID_ARGUMENT, "-2147483649 does not fit int32");
  HR_CHECK_CODE(hr_tensor_from_i64_vec(HR_I32, high, 2, &t), HR_INVALID_ARGUMENT, "2147483648 does not fit int32");
  HR_REQUIRE_OK(hr_tensor_create(HR_U64, &one, &t));
  *(uint64_t*)t.data = INT64_MAX;
  HR_CHECK_OK(hr_tensor_i64_at(&t, 0, &v));
  HR_CHECK_EQ_I64(v, INT64_MAX);
  *(uint64_t*)t.data = (uint64_t)INT64_MAX + 1;
  HR_CHECK_CODE(hr_tensor_i64_at(&t, 0, &v), HR_INVALID_ARGUMENT, "9223372036854775808 does not fit int64");
  HR_CHECK_CODE(hr_tensor_i64_at(&t, -1, &v), HR_INVALID_ARGUMENT, "element -1 of a tensor that has 1");
  HR_CHECK_CODE(hr_tensor_i64_at(&t, 1, &v), HR_INVALID_ARGUMENT, "element 1 of a tensor that has 1");
  hr_tensor_release(&t);
}

HR_TEST(what_is_no_scalar_is_named) {
  static const struct { const char *what, *says; } rows[] = {
      {"", " must be a scalar, not shape [2]"}, {" ", " [2]"}, {"x ", "x [2]"}, {"x", "x must be a scalar, not shape [2]"}};
  static const int64_t values[] = {1, 2};
  hr_tensor_t t;
  int64_t v;
  hr_str_t text;
  HR_REQUIRE_OK(hr_tensor_from_i64_vec(HR_I64, values, 2, &t));
  for (int i = 0; i < 4; ++i) {
    hr_status_t status = hr_tensor_scalar_i64(&t, rows[i].what, &v);
    HR_CHECK_STR(hr_status_message(status), rows[i].says);
    hr_status_release(status);
    HR_CHECK_CODE(hr_tensor_scalar_str(&t, rows[i].what, &text), HR_INVALID_ARGUMENT, rows[i].says);
  }
  hr_tensor_release(&t);
}

HR_TEST(texts_of_several_elements) {
  static const struct { hr_dtype_t dtype; const char* text; } rows[] = {
      {HR_U8, "uint8[3] 1 8 ..."},        {HR_I16, "int16[3] 2049 5647 ..."},      {HR_I32, "int32[3] 370083841 841688093 ..."},
      {HR_STRING, "string[3] \"ab\" \"bc\" ..."}, {HR_QU8, "quint8[3] 0x01 0x08 ..."}, {HR_QI16, "qint16[3] 2049 5647 ..."}};
  const hr_shape_t three = hr_shape_vector(3);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_tensor_t t = numbers(rows[i].dtype, &three);
    hr_strbuf_t b = {0};
    hr_tensor_print(&t, 2, &b);
    HR_CHECK_VIEW(hr_strbuf_view(&b), rows[i].text);
    b.size = 0;
    hr_tensor_print(&t, 3, &b);
    HR_CHECK(!hr_str_has_suffix(hr_strbuf_view(&b), HR_STR("...")));
    hr_strbuf_deinit(&b);
    hr_tensor_release(&t);
  }
}

HR_TEST_MAIN()
