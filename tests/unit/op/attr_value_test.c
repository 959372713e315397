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

/* Bytes of AttrValue, as protobuf writes them. */
HR_TEST(messages_have_known_bytes) {
  static const hr_named_attr_t inner[] = {{{"n", 1}, {.kind = HR_ATTR_INT, .u.i = 3}}};
  static const hr_func_attr_t funcs[] = {{{"f", 1}, NULL, 0}, {{"g", 1}, inner, 1}};
  static const hr_str_t ss[] = {{"a", 1}, {"", 0}};
  static const int64_t is[] = {1, -1, 300};
  static const float fs[] = {0.5f, -2, 1, 1, 1};
  static const bool bs[] = {true, false};
  static const int32_t types[] = {1, 103};
  static const hr_pshape_t* const shapes[] = {&hr_pshape_unknown, &hr_pshape_scalar};
#define BYTES(text) {text, sizeof(text) - 1}
#define LIST(kind, field, values, n) {kind, true, n, {.field = values}}
  static const struct { hr_attr_t a; hr_str_t bytes; } rows[] = {
      {{.kind = HR_ATTR_NONE}, BYTES("")},
      {{.kind = HR_ATTR_STRING, .u.s = {"abc", 3}}, BYTES("\x12\x03" "abc")},
      {{.kind = HR_ATTR_INT, .u.i = 300}, BYTES("\x18\xac\x02")},
      {{.kind = HR_ATTR_FLOAT, .u.f = 0.5f}, BYTES("\x25\0\0\0\x3f")},
      {{.kind = HR_ATTR_BOOL, .u.b = true}, BYTES("\x28\1")},
      {{.kind = HR_ATTR_TYPE, .u.type = 103}, BYTES("\x30\x67")},
      {{.kind = HR_ATTR_SHAPE, .u.shape = &hr_pshape_unknown}, BYTES("\x3a\2\x18\1")},
      {{.kind = HR_ATTR_PLACEHOLDER, .u.s = {"T", 1}}, BYTES("\x4a\1T")},
      {{.kind = HR_ATTR_FUNC, .u.func = &funcs[0]}, BYTES("\x52\3\x0a\1f")},
      {{.kind = HR_ATTR_FUNC, .u.func = &funcs[1]}, BYTES("\x52\x0c\x0a\1g\x12\7\x0a\1n\x12\2\x18\3")},
      {LIST(HR_ATTR_INT, is, is, 0), BYTES("\x0a\0")},
      {LIST(HR_ATTR_STRING, ss, ss, 1), BYTES("\x0a\3\x12\1a")},
      {LIST(HR_ATTR_STRING, ss, ss, 2), BYTES("\x0a\5\x12\1a\x12\0")},
      {LIST(HR_ATTR_INT, is, is, 1), BYTES("\x0a\3\x1a\1\1")},
      {LIST(HR_ATTR_INT, is, is, 3), BYTES("\x0a\x0f\x1a\x0d\1\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\xac\2")},
      {LIST(HR_ATTR_FLOAT, fs, fs, 2), BYTES("\x0a\x0a\x22\x08\0\0\0\x3f\0\0\0\xc0")},
      {LIST(HR_ATTR_FLOAT, fs, fs, 5), BYTES("\x0a\x16\x22\x14\0\0\0\x3f\0\0\0\xc0\0\0\x80\x3f\0\0\x80\x3f\0\0\x80\x3f")},
      {LIST(HR_ATTR_BOOL, bs, bs, 2), BYTES("\x0a\4\x2a\2\1\0")},
      {LIST(HR_ATTR_TYPE, types, types, 2), BYTES("\x0a\4\x32\2\1\x67")},
      {LIST(HR_ATTR_SHAPE, shapes, shapes, 2), BYTES("\x0a\6\x3a\2\x18\1\x3a\0")},
      {LIST(HR_ATTR_FUNC, funcs, funcs, 2), BYTES("\x0a\x13\x4a\3\x0a\1f\x4a\x0c\x0a\1g\x12\7\x0a\1n\x12\2\x18\3")},
  };
  fixture_t x;
  start(&x);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_attr_t back;
    x.w.size = 0;
    HR_CHECK_OK(hr_attr_value_encode(&rows[i].a, &x.w));
    if (!HR_CHECK(hr_str_equal(hr_strbuf_view(&x.w), rows[i].bytes))) printf("  row %zu\n", i);
    HR_CHECK_OK(hr_attr_value_decode(&x.arena, &x.keeper, hr_cursor_make(rows[i].bytes.data, rows[i].bytes.size), &back));
    HR_CHECK(hr_attr_equal(&back, &rows[i].a) && back.count == rows[i].a.count);
  }
  stop(&x);
}

/* Bodies of lists as other writers may have them: kind, number of elements, or what is wrong. */
HR_TEST(lists_of_other_writers) {
  static const struct { hr_str_t body; int kind, count; const char* says;
  } rows[] = {
      {BYTES(""), HR_ATTR_NONE, 0, NULL},
      {BYTES("\x18\1\x1a\2\2\3\x18\4"), HR_ATTR_INT, 4, NULL}, /* packed and not */
      {BYTES("\x25\0\0\0\x3f\x22\4\0\0\0\x40"), HR_ATTR_FLOAT, 2, NULL},
      {BYTES("\x28\1\x28\0"), HR_ATTR_BOOL, 2, NULL},
      {BYTES("\x30\1"), HR_ATTR_TYPE, 1, NULL},
      {BYTES("\x1a\0\x28\1"), HR_ATTR_BOOL, 1, NULL}, /* nothing packed has no kind */
      {BYTES("\x1a\0"), HR_ATTR_NONE, 0, NULL},
      {BYTES("\x10\1\x12\1a"), HR_ATTR_STRING, 1, NULL},       /* wrong forms and unknown fields do not count: a string's number, */
      {BYTES("\x20\1\x22\4\0\0\0\0"), HR_ATTR_FLOAT, 1, NULL}, /* a float's varint, an int's four bytes, */
      {BYTES("\x1d\0\0\0\0\x18\5"), HR_ATTR_INT, 1, NULL},
      {BYTES("\x50\1\x52\1z\x5a\1z\x18\5"), HR_ATTR_INT, 1, NULL}, /* fields 10 and 11 */
      {BYTES("\x18\1\x28\1"), 0, 0, "a list has both int and bool elements"},
      {BYTES("\x12\1a\x3a\0"), 0, 0, "a list has both string and shape elements"},
      {BYTES("\x22\7\0\0\0\0\0\0\0"), 0, 0, "7 bytes are no multiple of 4"},
      {BYTES("\x22\3\0\0\0"), 0, 0, "packed floats at byte 4: 3 bytes are no multiple of 4"},
  };
  fixture_t x;
  start(&x);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_attr_t a;
    x.w.size = 0;
    hr_writer_str(&x.w, 1, rows[i].body);
    hr_status_t status = hr_attr_value_decode(&x.arena, &x.keeper, hr_cursor_make(x.w.data, x.w.size), &a);
    bool good = rows[i].says ? HR_CHECK_CODE(status, HR_INVALID_ARGUMENT, rows[i].says)
                             : HR_CHECK_OK(status) && HR_CHECK(a.is_list && a.kind == rows[i].kind && a.count == rows[i].count);
    if (!good) printf("  row %zu\n", i);
  }
  stop(&x);
}

/* Functions in a row nest no deeper than one; each way in counts alike. */
HR_TEST(depth_is_of_nesting_alone) {
  fixture_t x;
  hr_attr_t back;
  hr_named_attr_t entry;
  hr_func_attr_t func_back;
  hr_named_attr_t named[HR_ATTR_VALUE_DEPTH + 1];
  hr_func_attr_t funcs[HR_ATTR_VALUE_DEPTH + 1], row[100];
  start(&x);
  hr_attr_t a = {.kind = HR_ATTR_INT, .u.i = 1};
  for (int depth = 0; depth <= HR_ATTR_VALUE_DEPTH; ++depth) {
    named[depth] = (hr_named_attr_t){HR_STR("f"), a};
    funcs[depth] = (hr_func_attr_t){HR_STR("g"), &named[depth], 1};
    a = (hr_attr_t){.kind = HR_ATTR_FUNC, .u.func = &funcs[depth]};
  }
  for (int i = 0; i < 100; ++i) row[i] = (hr_func_attr_t){HR_STR("plain"), NULL, 0};
  for (int over = 0; over < 2; ++over) {
    const hr_func_attr_t* deepest = &funcs[HR_ATTR_VALUE_DEPTH - 1 + over];
    row[99] = *deepest;
    const hr_attr_t list = {.kind = HR_ATTR_FUNC, .is_list = true, .count = 100, .u.funcs = row},
                    one = {.kind = HR_ATTR_FUNC, .u.func = deepest};
    const hr_named_attr_t in_entry = {HR_STR("e"), one};
    hr_status_t statuses[4];
    x.w.size = 0;
    HR_CHECK_OK(hr_attr_value_encode(&list, &x.w));
    statuses[0] = hr_attr_value_decode(&x.arena, &x.keeper, hr_cursor_make(x.w.data, x.w.size), &back);
    x.w.size = 0;
    HR_CHECK_OK(hr_attr_value_encode(&one, &x.w));
    statuses[1] = hr_attr_value_decode(&x.arena, &x.keeper, hr_cursor_make(x.w.data, x.w.size), &back);
    x.w.size = 0;
    HR_CHECK_OK(hr_attr_value_encode_func(deepest, &x.w));
    statuses[2] = hr_attr_value_decode_func(&x.arena, &x.keeper, hr_cursor_make(x.w.data, x.w.size), &func_back);
    x.w.size = 0;
    HR_CHECK_OK(hr_attr_value_encode_entry(1, &in_entry, &x.w));
    hr_cursor_t c = hr_cursor_make(x.w.data, x.w.size);
    hr_field_t f;
    HR_CHECK_OK(hr_cursor_next(&c, &f));
    statuses[3] = hr_attr_value_decode_entry(&x.arena, &x.keeper, f.span, &entry);
    for (int i = 0; i < 4; ++i)
      if (over) HR_CHECK_CODE(statuses[i], HR_INVALID_ARGUMENT, "nest more than 64 deep");
      else HR_CHECK_OK(statuses[i]);
  }
  HR_CHECK_OK(hr_attr_value_decode_func(&x.arena, &x.keeper, hr_cursor_make("\x0a\1f", 3), &func_back));
  HR_CHECK(func_back.attr_count == 0 && func_back.attrs == NULL);
  stop(&x);
}

/* A tensor of one value for all its elements brings few bytes and takes many: the keeper says how many may be taken in all. */
HR_TEST(what_tensors_inflate_to_is_counted) {
  static const char splat[] = "\x42\x0f\x08\1\x12\5\x12\3\x08\xe8\7\x2a\4\0\0\x80\x3f"; /* float[1000], one float_val: 4000 bytes of 15 */
  static const char plain[] = "\x42\x0e\x08\1\x12\4\x12\2\x08\1\x22\4\0\0\x80\x3f";       /* float[1] with its bytes */
  fixture_t x;
  hr_attr_t a;
  start(&x);
  const hr_cursor_t big = hr_cursor_make(splat, sizeof splat - 1), small = hr_cursor_make(plain, sizeof plain - 1);
  for (int i = 0; i < 3; ++i) HR_CHECK_OK(hr_attr_value_decode(&x.arena, &x.keeper, big, &a)); /* without a limit */
  HR_CHECK_EQ_I64(x.keeper.inflated, 0);
  x.keeper.most_inflated = 10000;
  HR_CHECK_OK(hr_attr_value_decode(&x.arena, &x.keeper, small, &a));
  HR_CHECK_EQ_I64(x.keeper.inflated, 0);
  HR_CHECK_OK(hr_attr_value_decode(&x.arena, &x.keeper, big, &a));
  HR_CHECK_EQ_I64(x.keeper.inflated, 4000 - 15);
  HR_CHECK_OK(hr_attr_value_decode(&x.arena, &x.keeper, big, &a));
  HR_CHECK_EQ_I64(x.keeper.inflated, 2 * (4000 - 15));
  hr_status_t status = hr_attr_value_decode(&x.arena, &x.keeper, big, &a);
  HR_CHECK(status != NULL);
  hr_status_release(status);
  HR_CHECK_EQ_I64(x.keeper.inflated, 2 * (4000 - 15));
  HR_CHECK_OK(hr_attr_value_decode(&x.arena, &x.keeper, small, &a));
  HR_CHECK_OK(hr_attr_value_decode(&x.arena, NULL, small, &a)); /* nobody keeps it: released here */
  hr_tensor_release((hr_tensor_t*)(uintptr_t)a.u.tensor);
  stop(&x);
}

HR_TEST_MAIN()
