/* SPDX-License-Identifier: Apache-2.0 */
/* Constants that clients build from numbers: each type's value, a Fill for large ones, and what sticks after a failure. */
#include "client/build.h"
#include "test.h"
#include "tensorflow/c/c_api.h"

static TF_Tensor* value_of(hr_value_t v) {
  TF_Tensor* value = NULL;
  TF_Status* s = TF_NewStatus();
  HR_CHECK_VIEW(v.node->attrs.def->name, "Const");
  TF_OperationGetAttrTensor((TF_Operation*)v.node, "value", &value, s);
  HR_CHECK_EQ_I64(TF_GetCode(s), TF_OK);
  TF_DeleteStatus(s);
  return value;
}

static TF_Code end(hr_build_t* b, const char* text) {
  TF_Status* s = TF_NewStatus();
  hr_build_end(b, s);
  const TF_Code code = TF_GetCode(s);
  if (!strstr(TF_Message(s), text)) hr_test_fail(__FILE__, __LINE__, "\"%s\" does not say \"%s\"", TF_Message(s), text);
  TF_DeleteStatus(s);
  return code;
}

HR_TEST(numbers_of_every_type) {
  static const float f = -2.5f;
  static const double d = -2.5;
  static const uint16_t half = 0xc100, bfloat = 0xc020;
  static const int32_t i = -2;
  static const int64_t l = -2;
  static const float c[2] = {-2.5f, 0};
  static const double z[2] = {-2.5, 0};
  static const struct {
    hr_dtype_t type;
    const void* bytes;
    size_t size;
  } rows[] = {{HR_F32, &f, 4}, {HR_F64, &d, 8}, {HR_F16, &half, 2}, {HR_BF16, &bfloat, 2},
              {HR_I32, &i, 4}, {HR_I64, &l, 8}, {HR_C64, c, 8},     {HR_C128, z, 16}};
  TF_Graph* g = TF_NewGraph();
  hr_build_t b = hr_build_begin(g);
  const hr_shape_t three = hr_shape_vector(3);
  for (size_t r = 0; r < sizeof rows / sizeof *rows; ++r) {
    TF_Tensor* one = value_of(hr_build_number(&b, "number", rows[r].type, -2.5));
    TF_Tensor* all = value_of(hr_build_filled(&b, "filled", rows[r].type, &three, -2.5));
    HR_REQUIRE(one && all);
    HR_CHECK_EQ_I64(TF_TensorType(one), rows[r].type);
    HR_CHECK_EQ_I64(TF_NumDims(one), 0);
    HR_CHECK_EQ_U64(TF_TensorByteSize(one), rows[r].size);
    HR_CHECK(!memcmp(TF_TensorData(one), rows[r].bytes, rows[r].size));
    HR_CHECK_EQ_I64(TF_Dim(all, 0), 3);
    for (size_t k = 0; k < 3; ++k) HR_CHECK(!memcmp((char*)TF_TensorData(all) + k * rows[r].size, rows[r].bytes, rows[r].size));
    TF_DeleteTensor(one);
    TF_DeleteTensor(all);
  }
  HR_CHECK(hr_build_number(&b, "bad", HR_STRING, 1).node == NULL);
  HR_CHECK(hr_build_number(&b, "after", HR_F32, 1).node == NULL); /* the failure sticks */
  HR_CHECK_EQ_I64(end(&b, "a constant of type string is not made from a number"), TF_INVALID_ARGUMENT);
  TF_DeleteGraph(g);
}

HR_TEST(from_a_thousand_elements_on_it_is_a_fill) {
  static const int64_t sizes[] = {0, 1, 1000, 1001};
  TF_Graph* g = TF_NewGraph();
  hr_build_t b = hr_build_begin(g);
  for (int i = 0; i < 4; ++i) {
    const hr_shape_t shape = hr_shape_vector(sizes[i]);
    const hr_value_t v = hr_build_filled(&b, "filled", HR_F32, &shape, 1);
    HR_REQUIRE(v.node);
    HR_CHECK_VIEW(v.node->attrs.def->name, sizes[i] > 1000 ? "Fill" : "Const");
  }
  HR_CHECK_EQ_I64(end(&b, ""), TF_OK);
  TF_DeleteGraph(g);
}

HR_TEST(lists) {
  static const int64_t numbers[] = {5, -1, 2147483647};
  static const char* const words[] = {"", "a", "a text that is too long to lie in the element itself"};
  TF_Graph* g = TF_NewGraph();
  hr_build_t b = hr_build_begin(g);
  TF_Tensor *ints = value_of(hr_build_i32s(&b, "ints", numbers, 3)), *texts = value_of(hr_build_strings(&b, "texts", words, 3));
  HR_REQUIRE(ints && texts && TF_NumDims(ints) == 1 && TF_NumDims(texts) == 1);
  HR_CHECK_EQ_I64(TF_TensorType(ints), TF_INT32);
  HR_CHECK_EQ_I64(TF_TensorElementCount(texts), 3);
  for (int i = 0; i < 3; ++i) {
    const TF_TString* s = (const TF_TString*)TF_TensorData(texts) + i;
    HR_CHECK_EQ_I64(((int32_t*)TF_TensorData(ints))[i], numbers[i]);
    HR_CHECK(TF_StringGetSize(s) == strlen(words[i]) && !memcmp(TF_StringGetDataPointer(s), words[i], strlen(words[i])));
  }
  TF_DeleteTensor(ints);
  TF_DeleteTensor(texts);
  HR_CHECK_EQ_I64(end(&b, ""), TF_OK);
  TF_DeleteGraph(g);
}

HR_TEST(a_missing_input_is_named) {
  TF_Graph* g = TF_NewGraph();
  hr_build_t b = hr_build_begin(g);
  const hr_value_t one = hr_build_number(&b, "one", HR_F32, 1);
  HR_CHECK(hr_build2(&b, "Add", "sum", one, HR_NO_VALUE).node == NULL);
  HR_CHECK(hr_build1(&b, "Neg", "minus", one).node == NULL);
  HR_CHECK_EQ_I64(end(&b, "input 1 of a new Add is missing"), TF_INVALID_ARGUMENT);
  TF_DeleteGraph(g);
}

HR_TEST_MAIN()
