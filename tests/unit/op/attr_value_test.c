/* SPDX-License-Identifier: Apache-2.0 */
/* AttrValue both ways: each arm, lists, nesting and its limit. */
#include "op/attr_value.h"
#define HR_TEST_LEAKS_CHECKED
#include "test.h"

typedef struct {
  hr_arena_t arena;
  hr_attr_keeper_t keeper;
  hr_writer_t w;
} fixture_t;

static void start(fixture_t* x) {
  *x = (fixture_t){0};
  hr_arena_init(&x->arena);
}
static void stop(fixture_t* x) {
  hr_attr_keeper_deinit(&x->keeper);
  hr_arena_deinit(&x->arena);
  hr_strbuf_deinit(&x->w);
}

static void round_trip(fixture_t* x, const hr_attr_t* a) {
  hr_attr_t back;
  x->w.size = 0;
  HR_REQUIRE_OK(hr_attr_value_encode(a, &x->w));
  HR_REQUIRE_OK(hr_attr_value_decode(&x->arena, &x->keeper, hr_cursor_make(x->w.data, x->w.size), &back));
  HR_CHECK_EQ_I64(back.kind, a->kind);
  HR_CHECK_EQ_I64(back.is_list, a->is_list);
  HR_CHECK_EQ_I64(back.count, a->count);
  HR_CHECK(hr_attr_equal(a, &back));
}

HR_TEST(each_arm_comes_back) {
  fixture_t x;
  hr_tensor_t t = {0};
  start(&x);
  HR_CHECK_OK(hr_tensor_from_f32(2.5f, &t));
  const hr_named_attr_t inner[] = {hr_at_int("n", 3), hr_at_str("s", "text")};
  const hr_func_attr_t func = {HR_STR("body"), inner, 2};
  const hr_pshape_t* shape = NULL;
  HR_CHECK_OK(hr_pshape_make(&x.arena, 2, (int64_t[]){-1, 4}, &shape));
  const hr_named_attr_t all[] = {hr_at_int("", -5), hr_at_float("", 0.5f), hr_at_bool("", true), hr_at_bool("", false), hr_at_type("",
      101), hr_at_str("", ""),
                                 hr_at_str("", "abc"), hr_at_shape("", shape), hr_at_shape("", &hr_pshape_unknown), hr_at_tensor("", &t),
                                 hr_at("", (hr_attr_t){.kind = HR_ATTR_FUNC, .u.func = &func}),
                                 hr_at("", (hr_attr_t){.kind = HR_ATTR_PLACEHOLDER, .u.s = HR_STR("T")}), hr_at("",
                                     (hr_attr_t){.kind = HR_ATTR_NONE})};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) round_trip(&x, &all[i].value);
  hr_tensor_release(&t);
  stop(&x);
}

HR_TEST(each_list_comes_back) {
  fixture_t x;
  hr_tensor_t t = {0};
  start(&x);
  HR_CHECK_OK(hr_tensor_from_i32(9, &t));
  const hr_str_t ss[] = {HR_STR("a"), HR_STR(""), HR_STR("ccc")};
  const int64_t is[] = {1, -1, INT64_MAX};
  const float fs[] = {0, -1.5f, 3};
  const bool bs[] = {true, false, true};
  const int32_t types[] = {1, 3, 107};
  const hr_pshape_t* shapes[] = {&hr_pshape_unknown, &hr_pshape_scalar, &hr_pshape_scalar};
  const hr_tensor_t* tensors[] = {&t, &t, &t};
  const hr_func_attr_t funcs[] = {{HR_STR("f"), NULL, 0}, {HR_STR("g"), NULL, 0}, {HR_STR("h"), NULL, 0}};
  const hr_attr_t lists[] = {{HR_ATTR_STRING, true, 3, {.ss = ss}}, {HR_ATTR_INT, true, 3, {.is = is}}, {HR_ATTR_FLOAT, true, 3,
      {.fs = fs}},
                             {HR_ATTR_BOOL, true, 3, {.bs = bs}}, {HR_ATTR_TYPE, true, 3, {.types = types}}, {HR_ATTR_SHAPE, true, 3,
                                 {.shapes = shapes}},
                             {HR_ATTR_TENSOR, true, 3, {.tensors = tensors}}, {HR_ATTR_FUNC, true, 3, {.funcs = funcs}}, {HR_ATTR_NONE,
                                 true, 0, {.i = 0}}};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; ++i) round_trip(&x, &lists[i]);
  hr_tensor_release(&t);
  stop(&x);
}

HR_TEST(unpacked_lists_are_read) {
  fixture_t x;
  hr_attr_t a;
  start(&x);
  HR_CHECK_OK(hr_attr_value_decode(&x.arena, &x.keeper, hr_cursor_make("\x0a\x06\x18\x01\x18\x02\x18\x03", 8), &a));
  HR_CHECK_EQ_I64(a.count, 3);
  HR_CHECK_EQ_I64(a.kind, HR_ATTR_INT);
  HR_CHECK_EQ_I64(a.u.is[2], 3);
  stop(&x);
}

HR_TEST(mixed_lists_are_refused) {
  fixture_t x;
  hr_attr_t a;
  start(&x);
  HR_CHECK_CODE(hr_attr_value_decode(&x.arena, &x.keeper, hr_cursor_make("\x0a\x04\x18\x01\x28\x01", 6), &a), HR_INVALID_ARGUMENT,
                "both int and bool");
  stop(&x);
}

HR_TEST(nesting_is_bounded) {
  fixture_t x;
  hr_attr_t a, back;
  hr_named_attr_t named[HR_ATTR_VALUE_DEPTH + 1];
  hr_func_attr_t funcs[HR_ATTR_VALUE_DEPTH + 1];
  start(&x);
  a = (hr_attr_t){.kind = HR_ATTR_INT, .u.i = 1};
  for (int depth = 0; depth <= HR_ATTR_VALUE_DEPTH; ++depth) {
    named[depth] = (hr_named_attr_t){HR_STR("f"), a};
    funcs[depth] = (hr_func_attr_t){HR_STR("g"), &named[depth], 1};
    a = (hr_attr_t){.kind = HR_ATTR_FUNC, .u.func = &funcs[depth]};
    x.w.size = 0;
    HR_CHECK_OK(hr_attr_value_encode(&a, &x.w));
    hr_status_t status = hr_attr_value_decode(&x.arena, &x.keeper, hr_cursor_make(x.w.data, x.w.size), &back);
    if (depth < HR_ATTR_VALUE_DEPTH) HR_CHECK_OK(status);
    else HR_CHECK_CODE(status, HR_INVALID_ARGUMENT, "nest more than 64 deep");
  }
  stop(&x);
}

HR_TEST(entries_name_the_attr_in_failures) {
  fixture_t x;
  hr_named_attr_t e;
  start(&x);
  HR_CHECK_CODE(hr_attr_value_decode_entry(&x.arena, &x.keeper, hr_cursor_make("\x0a\x01T\x12\x02\x42\x05", 7), &e), HR_INVALID_ARGUMENT,
                "attr 'T': ");
  const hr_named_attr_t axis = hr_at_int("axis", 2);
  HR_CHECK_OK(hr_attr_value_encode_entry(5, &axis, &x.w));
  HR_CHECK(memcmp(x.w.data, "\x2a\x0a\x0a\x04" "axis\x12\x02\x18\x02", 12) == 0);
  stop(&x);
}

HR_TEST_MAIN()
