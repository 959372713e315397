/* SPDX-License-Identifier: Apache-2.0 */
/* Attribute values: copies are deep and equal, hash alike, print for people; tensors are shared and released by the keeper. */
#include "op/attr.h"
#include "test.h"

static hr_tensor_t the_tensor(void) {
  hr_tensor_t t = {0};
  int64_t values[] = {1, 2, 3};
  if (!HR_CHECK_OK(hr_tensor_from_i64_vec(HR_I32, values, 3, &t))) abort();
  return t;
}

enum { CASES = 20 };
/* One attr of every kind and list; memory from the arena, the tensor borrowed. */
static void make_cases(hr_arena_t* arena, const hr_tensor_t* tensor, hr_attr_t out[CASES]) {
  static const int64_t is[] = {1, -2}, dims[] = {2, -1};
  static const float fs[] = {0.5f, NAN};
  static const bool bs[] = {true, false};
  static const int32_t types[] = {HR_F32, HR_STRING};
  static const hr_str_t ss[] = {{"a", 1}, {"b\0c", 3}};
  const hr_pshape_t* shape = NULL;
  if (!HR_CHECK_OK(hr_pshape_make(arena, 2, dims, &shape))) abort();
  const hr_pshape_t** shapes = hr_arena_array(arena, 2, sizeof *shapes);
  const hr_tensor_t** tensors = hr_arena_array(arena, 1, sizeof *tensors);
  hr_named_attr_t* inner = hr_arena_array(arena, 2, sizeof *inner);
  hr_func_attr_t* funcs = hr_arena_array(arena, 2, sizeof *funcs);
  shapes[0] = shape;
  shapes[1] = &hr_pshape_unknown;
  tensors[0] = tensor;
  inner[0] = hr_at_type("T", HR_F32);
  inner[1] = hr_at("s", (hr_attr_t){.kind = HR_ATTR_STRING, .u.s = ss[1]});
  funcs[0] = (hr_func_attr_t){HR_STR("f"), inner, 2};
  funcs[1] = (hr_func_attr_t){HR_STR("g"), NULL, 0};
  hr_attr_t cases[CASES] = {{.kind = HR_ATTR_STRING, .u.s = ss[1]},
                            hr_at_int("", -7).value,
                            hr_at_float("", -0.0f).value,
                            hr_at_float("", NAN).value,
                            hr_at_bool("", true).value,
                            hr_at_type("", HR_I64).value,
                            hr_at_shape("", shape).value,
                            hr_at_shape("", &hr_pshape_unknown).value,
                            hr_at_tensor("", tensor).value,
                            {.kind = HR_ATTR_FUNC, .u.func = funcs},
                            {.kind = HR_ATTR_PLACEHOLDER, .u.s = ss[0]},
                            {.kind = HR_ATTR_STRING, .is_list = true, .count = 2, .u.ss = ss},
                            hr_at_ints("", is, 2).value,
                            {.kind = HR_ATTR_FLOAT, .is_list = true, .count = 2, .u.fs = fs},
                            {.kind = HR_ATTR_BOOL, .is_list = true, .count = 2, .u.bs = bs},
                            hr_at_types("", types, 2).value,
                            {.kind = HR_ATTR_SHAPE, .is_list = true, .count = 2, .u.shapes = shapes},
                            {.kind = HR_ATTR_TENSOR, .is_list = true, .count = 1, .u.tensors = tensors},
                            {.kind = HR_ATTR_FUNC, .is_list = true, .count = 2, .u.funcs = funcs},
                            {.kind = HR_ATTR_NONE, .is_list = true}};
  memcpy(out, cases, sizeof cases);
}

HR_TEST(copies_are_equal_and_hash_alike_and_differ_from_all_others) {
  hr_arena_t arena, copies;
  hr_attr_keeper_t keeper = {0};
  hr_attr_t cases[CASES], copy[CASES];
  hr_tensor_t tensor = the_tensor();
  hr_arena_init(&arena);
  hr_arena_init(&copies);
  make_cases(&arena, &tensor, cases);
  for (int i = 0; i < CASES; ++i) HR_REQUIRE_OK(hr_attr_copy(&copies, &keeper, &cases[i], &copy[i]));
  for (int i = 0; i < CASES; ++i)
    for (int j = 0; j < CASES; ++j) {
      HR_CHECK(hr_attr_equal(&cases[i], &copy[j]) == (i == j));
      if (i == j)
        HR_CHECK_EQ_U64(hr_attr_hash(&cases[i]), hr_attr_hash(&copy[j]));
      else
        HR_CHECK(hr_attr_hash(&cases[i]) != hr_attr_hash(&copy[j]));
    }
  hr_arena_deinit(&arena); /* copies do not need it */
  hr_tensor_release(&tensor);
  HR_CHECK_VIEW(copy[9].u.func->attrs[0].name, "T");
  HR_CHECK_EQ_I64(((const int32_t*)copy[8].u.tensor->data)[2], 3);
  HR_CHECK_EQ_I64(keeper.count, 2);
  hr_attr_keeper_deinit(&keeper);
  hr_arena_deinit(&copies);
}

HR_TEST(an_empty_list_has_no_kind) {
  hr_attr_t a = {.kind = HR_ATTR_INT, .is_list = true}, b = {.kind = HR_ATTR_NONE, .is_list = true};
  HR_CHECK(hr_attr_equal(&a, &b));
  HR_CHECK_EQ_U64(hr_attr_hash(&a), hr_attr_hash(&b));
}

HR_TEST(printed_for_people) {
  static const char* const wanted[CASES] = {
      NULL, "-7", "-0", "nan",     "true",       "int64",         "[2,?]",           "<unknown>",          NULL,
      NULL, "$a", NULL, "[1, -2]", "[0.5, nan]", "[true, false]", "[float, string]", "[[2,?], <unknown>]", NULL,
      NULL, "[]"};
  hr_arena_t arena;
  hr_attr_t cases[CASES];
  hr_tensor_t tensor = the_tensor();
  hr_arena_init(&arena);
  make_cases(&arena, &tensor, cases);
  for (int i = 0; i < CASES; ++i) {
    hr_strbuf_t text;
    hr_strbuf_init(&text);
    hr_attr_print(&cases[i], &text);
    HR_CHECK(text.size > 0);
    if (wanted[i]) HR_CHECK_STR(text.data, wanted[i]);
    hr_strbuf_deinit(&text);
  }
  HR_CHECK_STR(hr_attr_kind_name(HR_ATTR_TYPE, true), "list(type)");
  HR_CHECK_STR(hr_attr_kind_name(HR_ATTR_INT, false), "int");
  hr_tensor_release(&tensor);
  hr_arena_deinit(&arena);
}

static hr_status_t copy_and_drop(void) {
  static hr_attr_t cases[CASES];
  static hr_arena_t arena;
  static hr_tensor_t tensor;
  if (!tensor.buffer) {
    tensor = the_tensor();
    hr_arena_init(&arena);
    make_cases(&arena, &tensor, cases);
  }
  hr_arena_t copies;
  hr_attr_keeper_t keeper = {0};
  hr_attr_t copy;
  hr_status_t status = NULL;
  hr_arena_init(&copies);
  for (int i = 0; i < CASES && !status; ++i) status = hr_attr_copy(&copies, &keeper, &cases[i], &copy);
  hr_attr_keeper_deinit(&keeper);
  hr_arena_deinit(&copies);
  return status;
}

HR_TEST(out_of_memory_is_a_status) {
  hr_status_release(copy_and_drop()); /* makes its cases, which stay */
  HR_TEST_EVERY_ALLOCATION_FAILS(copy_and_drop);
}

HR_TEST_MAIN()
