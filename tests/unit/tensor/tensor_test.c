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

HR_TEST_MAIN()
