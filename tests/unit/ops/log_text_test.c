/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors as Print shows them: digits, escapes, brackets, and where the dots begin. What is wanted is TensorFlow's own text. */
#include "ops/log/text.h"
#include "test.h"

static void text_check(const hr_tensor_t* t, int64_t most, const char* want) {
  hr_strbuf_t out;
  hr_strbuf_init(&out);
  hr_log_text(t, most, &out);
  HR_CHECK_VIEW(hr_strbuf_view(&out), want);
  hr_strbuf_deinit(&out);
}

static hr_tensor_t text_tensor(hr_dtype_t type, int rank, int64_t a, int64_t b, int64_t c, const void* bytes) {
  hr_tensor_t t = {0};
  const hr_shape_t s = {.rank = rank, .dims = {a, b, c}};
  HR_CHECK_OK(hr_tensor_create(type, &s, &t));
  if (bytes && t.data) memcpy(t.data, bytes, hr_tensor_bytes(&t));
  return t;
}

#define CHECK_TEXTS(type, rank, a, b, c, bytes, ...)                                \
  do {                                                                              \
    static const struct { int64_t most; const char* want; } rows[] = {__VA_ARGS__}; \
    hr_tensor_t t = text_tensor(type, rank, a, b, c, bytes);                        \
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) text_check(&t, rows[i].most, rows[i].want); \
    hr_tensor_release(&t);                                                          \
  } while (0)

HR_TEST(brackets_and_dots) {
  static const int32_t n[] = {1, 2, 3, 4, 5, 6, 7, 8};
  CHECK_TEXTS(HR_I32, 0, 0, 0, 0, n, {3, "1"}, {1, "1"}, {-1, "1"}, {0, "..."});
  CHECK_TEXTS(HR_I32, 1, 0, 0, 0, NULL, {3, ""}, {0, ""});
  CHECK_TEXTS(HR_I32, 1, 4, 0, 0, n, {-1, "1 2 3 4"}, {4, "1 2 3 4"}, {5, "1 2 3 4"}, {3, "1 2 3..."}, {1, "1..."}, {0, "..."});
  CHECK_TEXTS(HR_I32, 2, 2, 2, 0, n, {-1, "[1 2][3 4]"}, {3, "[1 2][3...]..."}, {2, "[1 2]..."}, {1, "[1...]..."});
  CHECK_TEXTS(HR_I32, 3, 2, 2, 2, n, {8, "[[1 2][3 4]][[5 6][7 8]]"}, {5, "[[1 2][3 4]][[5...]]..."}, {4, "[[1 2][3 4]]..."});
}

HR_TEST(numbers) {
  static const float f[] = {0.1f, 1.0f / 3, 16777216, 1e30f, -0.5f};
  CHECK_TEXTS(HR_F32, 1, 5, 0, 0, f, {-1, "0.1 0.333333343 16777216 1e+30 -0.5"});
  static const float special[] = {NAN, INFINITY, -INFINITY};
  CHECK_TEXTS(HR_F32, 1, 3, 0, 0, special, {-1, "nan inf -inf"});
  static const double d[] = {0.1, 1.0 / 3, 1e100};
  CHECK_TEXTS(HR_F64, 1, 3, 0, 0, d, {-1, "0.1 0.33333333333333331 1e+100"});
  static const uint64_t u[] = {UINT64_MAX, 0};
  CHECK_TEXTS(HR_U64, 1, 2, 0, 0, u, {-1, "18446744073709551615 0"});
  static const int8_t i[] = {-128, 127};
  CHECK_TEXTS(HR_I8, 1, 2, 0, 0, i, {-1, "-128 127"});
  static const bool b[] = {true, false};
  CHECK_TEXTS(HR_BOOL, 1, 2, 0, 0, b, {-1, "1 0"});
  static const float c[] = {1, -2.5f};
  CHECK_TEXTS(HR_C64, 1, 1, 0, 0, c, {-1, "(1,-2.5)"});
  static const double z[] = {3, 0.25};
  CHECK_TEXTS(HR_C128, 1, 1, 0, 0, z, {-1, "(3,0.25)"});
}

HR_TEST(numbers_of_every_type) {
  static const hr_dtype_t types[] = {HR_I8, HR_U8, HR_I16, HR_U16, HR_I32, HR_U32, HR_I64, HR_U64, HR_BOOL};
  for (size_t k = 0; k < sizeof types / sizeof *types; ++k) {
    static const unsigned char zeros[16];
    hr_tensor_t t = text_tensor(types[k], 1, 2, 0, 0, zeros);
    ((unsigned char*)t.data)[hr_tensor_bytes(&t) / 2] = 1;
    HR_CHECK_EQ_F64(hr_log_number(&t, 0), 0);
    HR_CHECK_EQ_F64(hr_log_number(&t, 1), 1);
    hr_tensor_release(&t);
  }
}

HR_TEST(strings) {
  hr_tensor_t t = text_tensor(HR_STRING, 1, 2, 0, 0, NULL);
  HR_CHECK_OK(hr_tstring_set(t.data, HR_STR("a\n\r\t\"'\\z")));
  HR_CHECK_OK(hr_tstring_set((hr_tstring_t*)t.data + 1, (hr_str_t){" ~\x7f\x1f\0\xff", 6}));
  text_check(&t, -1, "a\\n\\r\\t\\\"\\'\\\\z  ~\\177\\037\\000\\377");
  hr_tensor_release(&t);
}
HR_TEST_MAIN()
