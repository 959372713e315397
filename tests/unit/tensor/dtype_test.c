/* SPDX-License-Identifier: Apache-2.0 */
/* Element types: names there and back, sizes, classes, numbers out of range. */
#include "tensor/dtype.h"
#include "test.h"

HR_TEST(names_there_and_back) {
  for (int t = 1; t < HR_DTYPE_COUNT; ++t) {
    int back = 0;
    HR_CHECK(hr_dtype_is_valid(t) && hr_dtype_is_valid(t + HR_DTYPE_REF));
    HR_CHECK(hr_dtype_parse(hr_str(hr_dtype_name(t)), &back) && back == t);
    HR_CHECK(hr_dtype_parse(hr_str(hr_dtype_name(t + HR_DTYPE_REF)), &back) && back == t + HR_DTYPE_REF);
    HR_CHECK(hr_dtype_size((hr_dtype_t)t) > 0);
  }
}

HR_TEST(forms_of_names) {
  int t = 0;
  HR_CHECK(hr_dtype_parse(HR_STR("DT_FLOAT"), &t) && t == HR_F32);
  HR_CHECK(hr_dtype_parse(HR_STR("DT_BFLOAT16_REF"), &t) && t == HR_BF16 + HR_DTYPE_REF);
  HR_CHECK(hr_dtype_parse(HR_STR("float32"), &t) && t == HR_F32);
  HR_CHECK(!hr_dtype_parse(HR_STR("DT_float"), &t) && !hr_dtype_parse(HR_STR("FLOAT"), &t) && !hr_dtype_parse(HR_STR(""), &t));
  HR_CHECK(!hr_dtype_parse(HR_STR("_ref"), &t) && !hr_dtype_parse(HR_STR("DT_"), &t) && !hr_dtype_parse(HR_STR("invalid"), &t));
}

HR_TEST(sizes_and_classes) {
  HR_CHECK(hr_dtype_size(HR_STRING) == 24 && hr_dtype_size(HR_RESOURCE) == 8 && hr_dtype_size(HR_C128) == 16 &&
           hr_dtype_size(HR_BOOL) == 1);
  HR_CHECK(!hr_dtype_is_plain(HR_STRING) && !hr_dtype_is_plain(HR_VARIANT) && hr_dtype_is_plain(HR_BF16));
  HR_CHECK(hr_dtype_in(HR_F16, HR_M_REAL_FLOAT) && !hr_dtype_in(HR_I32, HR_M_REAL_FLOAT) && !hr_dtype_in((hr_dtype_t)0, HR_M_ALL));
}

HR_TEST(invalid_numbers) {
  static const int bad[] = {0, -1, HR_DTYPE_COUNT, 99, 100, 100 + HR_DTYPE_COUNT, INT32_MAX, INT32_MIN};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    HR_CHECK(!hr_dtype_is_valid(bad[i]));
    HR_CHECK_STR(hr_dtype_name(bad[i]), "invalid");
    HR_CHECK_EQ_I64(hr_dtype_size((hr_dtype_t)bad[i]), 0);
  }
}

HR_TEST(names_of_every_form) {
  static const struct { const char* name; int type;
  } rows[] = {{"float32", HR_F32},
              {"float64", HR_F64},
              {"float16", HR_F16},
              {"float32_ref", HR_F32 + HR_DTYPE_REF},
              {"float16_ref", HR_F16 + HR_DTYPE_REF},
              {"DT_INT32", HR_I32},
              {"DT_QINT8", HR_QI8},
              {"DT_INT32_REF", HR_I32 + HR_DTYPE_REF},
              {"DT_VARIANT", HR_VARIANT},
              {"dT_INT32", 0},
              {"DT_iNT32", 0},
              {"DT_INt32", 0},
              {"DT_STRINg", 0},
              {"DT_INT3", 0},
              {"DT_INT320", 0},
              {"DT_FLOAT32", 0},
              {"DT_INT32_ref", 0},
              {"int32_REF", 0},
              {"float6", 0},
              {"float646", 0},
              {"DT_INVALID", 0}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    int type = 0;
    if (!HR_CHECK(hr_dtype_parse(hr_str(rows[i].name), &type) == (rows[i].type != 0) && type == rows[i].type))
      printf("  %s\n", rows[i].name);
  }
}

HR_TEST_MAIN()
