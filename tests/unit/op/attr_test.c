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

HR_TEST(names_of_kinds) {
  static const char* const names[] = {"nothing", "string", "int", "float", "bool", "type", "shape", "tensor", "func", "placeholder"};
  for (int kind = HR_ATTR_NONE; kind <= HR_ATTR_PLACEHOLDER; ++kind)
    HR_CHECK_STR(hr_attr_kind_name((hr_attr_kind_t)kind, false), names[kind]);
  HR_CHECK_STR(hr_attr_kind_name((hr_attr_kind_t)(HR_ATTR_PLACEHOLDER + 1), false), "unknown");
}

static hr_tensor_t filled(hr_dtype_t dtype, const hr_shape_t* shape, const char* const* texts) {
  hr_tensor_t t = {0};
  HR_CHECK_OK(hr_tensor_create_zero(dtype, shape, &t));
  for (int64_t i = 0; texts && i < t.count; ++i) HR_CHECK_OK(hr_tstring_set((hr_tstring_t*)t.data + i, hr_str(texts[i])));
  return t;
}

/* No two of these are equal, nor do any two hash alike; each equals itself. */
static void all_differ(const hr_attr_t* attrs, int count) {
  for (int i = 0; i < count; ++i)
    for (int j = 0; j < count; ++j)
      if (!HR_CHECK(hr_attr_equal(&attrs[i], &attrs[j]) == (i == j) && (hr_attr_hash(&attrs[i]) == hr_attr_hash(&attrs[j])) == (i == j)))
        printf("  %d and %d\n", i, j);
}

HR_TEST(one_difference_is_enough_between_functions) {
  const hr_named_attr_t ab[] = {hr_at_int("a", 1), hr_at_int("b", 2)}, ac[] = {hr_at_int("a", 1), hr_at_int("c", 2)},
                        cb[] = {hr_at_int("c", 1), hr_at_int("b", 2)}, other_first[] = {hr_at_int("a", 7), hr_at_int("b", 2)},
                        other_last[] = {hr_at_int("a", 1), hr_at_int("b", 7)};
  const hr_func_attr_t funcs[] = {{HR_STR("f"), ab, 2},         {HR_STR("g"), ab, 2},  {HR_STR("f"), ab, 1},
                                  {HR_STR("f"), ac, 2},         {HR_STR("f"), cb, 2},  {HR_STR("f"), other_first, 2},
                                  {HR_STR("f"), other_last, 2}, {HR_STR("f"), NULL, 0}};
  hr_attr_t attrs[8];
  for (int i = 0; i < 8; ++i) attrs[i] = (hr_attr_t){.kind = HR_ATTR_FUNC, .u.func = &funcs[i]};
  all_differ(attrs, 8);
}

HR_TEST(one_difference_is_enough_between_lists) {
  static const int64_t is[][3] = {{1, 2, 3}, {7, 2, 3}, {1, 7, 3}, {1, 2, 7}};
  static const hr_str_t ss[][2] = {{{"a", 1}, {"b", 1}}, {{"c", 1}, {"b", 1}}, {{"a", 1}, {"c", 1}}};
  hr_attr_t attrs[9];
  for (int i = 0; i < 4; ++i) attrs[i] = hr_at_ints("", is[i], 3).value;
  attrs[4] = hr_at_ints("", is[0], 2).value;
  attrs[5] = hr_at_ints("", is[0], 1).value;
  for (int i = 0; i < 3; ++i) attrs[6 + i] = (hr_attr_t){.kind = HR_ATTR_STRING, .is_list = true, .count = 2, .u.ss = ss[i]};
  all_differ(attrs, 9);
}

HR_TEST(one_difference_is_enough_between_shapes) {
  static const int64_t dims[][2] = {{2, 3}, {2, 4}, {4, 3}, {-1, 3}, {0, 0}};
  hr_arena_t arena;
  hr_attr_t attrs[9];
  hr_arena_init(&arena);
  for (int i = 0; i < 9; ++i) {
    const hr_pshape_t* s = i == 5 ? &hr_pshape_unknown : &hr_pshape_scalar;
    if (i < 5) HR_CHECK_OK(hr_pshape_make(&arena, 2, dims[i], &s));
    if (i > 6) HR_CHECK_OK(hr_pshape_make(&arena, 1, dims[i - 7], &s));
    attrs[i] = hr_at_shape("", s).value;
  }
  attrs[8] = (hr_attr_t){.kind = HR_ATTR_NONE};
  all_differ(attrs, 9);
  hr_arena_deinit(&arena);
}

HR_TEST(one_difference_is_enough_between_tensors) {
  static const char* const texts[][2] = {{"a", "b"}, {"c", "b"}, {"a", "c"}};
  const hr_shape_t shapes[] = {hr_shape_matrix(2, 3), hr_shape_matrix(3, 2), hr_shape_vector(6), hr_shape_vector(5)},
                   two = hr_shape_vector(2);
  hr_tensor_t tensors[10], again[10];
  hr_attr_t attrs[10];
  for (int k = 0; k < 2; ++k) {
    hr_tensor_t* t = k ? again : tensors;
    for (int i = 0; i < 4; ++i) t[i] = filled(HR_I32, &shapes[i], NULL);
    t[4] = filled(HR_F32, &shapes[0], NULL);
    t[5] = filled(HR_I32, &shapes[2], NULL);
    ((int32_t*)t[5].data)[5] = 1;
    for (int i = 0; i < 3; ++i) t[6 + i] = filled(HR_STRING, &two, texts[i]);
    t[9] = filled(HR_RESOURCE, &two, NULL);
  }
  for (int i = 0; i < 10; ++i) attrs[i] = hr_at_tensor("", &tensors[i]).value;
  all_differ(attrs, 10);
  for (int i = 0; i < 10; ++i) { /* the same elsewhere in memory */
    const hr_attr_t same = hr_at_tensor("", &again[i]).value;
    HR_CHECK(hr_attr_equal(&attrs[i], &same) && hr_attr_hash(&attrs[i]) == hr_attr_hash(&same));
    hr_tensor_release(&tensors[i]);
    hr_tensor_release(&again[i]);
  }
}

HR_TEST(copies_own_what_they_point_to) {
  hr_arena_t arena, copies;
  hr_attr_keeper_t keeper = {0};
  hr_attr_t cases[CASES], c;
  hr_tensor_t tensor = the_tensor();
  hr_arena_init(&arena);
  hr_arena_init(&copies);
  make_cases(&arena, &tensor, cases);
  for (int i = 0; i < CASES; ++i) {
    HR_REQUIRE_OK(hr_attr_copy(&copies, &keeper, &cases[i], &c));
    if (!c.is_list || c.count == 0) continue;
    HR_CHECK(c.u.is != cases[i].u.is);
    for (int k = 0; k < c.count; ++k) {
      if (c.kind == HR_ATTR_STRING) HR_CHECK(c.u.ss[k].data != cases[i].u.ss[k].data);
      if (c.kind == HR_ATTR_TENSOR)
        HR_CHECK(c.u.tensors[k] != cases[i].u.tensors[k] && c.u.tensors[k]->data == cases[i].u.tensors[k]->data);
      if (c.kind == HR_ATTR_SHAPE && c.u.shapes[k]->rank > 0) HR_CHECK(c.u.shapes[k] != cases[i].u.shapes[k]);
      if (c.kind == HR_ATTR_FUNC)
        HR_CHECK(c.u.funcs[k].name.data != cases[i].u.funcs[k].name.data && c.u.funcs[k].attrs != cases[i].u.funcs[k].attrs);
    }
  }
  HR_CHECK_EQ_I64(keeper.count, 2);
  hr_attr_keeper_deinit(&keeper);
  HR_CHECK_EQ_I64(keeper.count, 0);
  hr_arena_deinit(&copies);
  hr_arena_deinit(&arena);
  HR_CHECK(hr_buffer_is_alone(tensor.buffer)); /* the keeper let go of all its shares */
  hr_tensor_release(&tensor);
}

HR_TEST(functions_and_tensors_in_text) {
  const hr_named_attr_t inner[] = {hr_at_type("T", HR_F32), hr_at_str("s", "x")};
  const hr_func_attr_t plain = {HR_STR("g"), NULL, 0}, one = {HR_STR("f"), inner, 1}, two = {HR_STR("f"), inner, 2};
  const int64_t values[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  hr_tensor_t eight = {0}, nine = {0};
  HR_REQUIRE_OK(hr_tensor_from_i64_vec(HR_I32, values, 8, &eight));
  HR_REQUIRE_OK(hr_tensor_from_i64_vec(HR_I32, values, 9, &nine));
  const struct { hr_attr_t a; const char* text; } rows[] = {{{.kind = HR_ATTR_FUNC, .u.func = &plain}, "g"},
                                                            {{.kind = HR_ATTR_FUNC, .u.func = &one}, "f[T=float]"},
                                                            {{.kind = HR_ATTR_FUNC, .u.func = &two}, "f[T=float, s=\"x\"]"},
                                                            {hr_at_tensor("", &eight).value, "int32[8] 1 2 3 4 5 6 7 8"},
                                                            {hr_at_tensor("", &nine).value, "int32[9] 1 2 3 4 5 6 7 8 ..."},
                                                            {{.kind = HR_ATTR_NONE}, "nothing"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_strbuf_t text = {0};
    hr_attr_print(&rows[i].a, &text);
    HR_CHECK_VIEW(hr_strbuf_view(&text), rows[i].text);
    hr_strbuf_deinit(&text);
  }
  hr_tensor_release(&eight);
  hr_tensor_release(&nine);
}

HR_TEST_MAIN()
