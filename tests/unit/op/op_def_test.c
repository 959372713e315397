/* SPDX-License-Identifier: Apache-2.0 */
/* OpDef messages: the bytes that protobuf writes, what is read of them, and definitions that contradict themselves. */
#include "op/op_def.h"
#define HR_TEST_LEAKS_CHECKED
#include "test.h"

typedef struct {
  hr_arena_t arena;
  hr_attr_keeper_t keeper;
  hr_op_def_t* def;
} read_t;

static hr_status_t read_bytes(read_t* x, hr_str_t bytes) {
  *x = (read_t){0};
  hr_arena_init(&x->arena);
  return hr_op_def_decode(&x->arena, &x->keeper, hr_cursor_make(bytes.data, bytes.size), &x->def);
}
static void drop(read_t* x) {
  hr_attr_keeper_deinit(&x->keeper);
  hr_arena_deinit(&x->arena);
}

#define BYTES(text) {text, sizeof(text) - 1}
static const struct { hr_op_t op; hr_str_t bytes; const char* text;
} rows[] = {
    {{.name = "X"}, BYTES("\x0a\1X"), "X() ->"},
    {{.name = "Op",
      .sig = "a: Ref(T); b: N * float; c: L -> d: int32",
      .attrs = "T: type{float,int32} = float; N: int >= 1 = 2; L: list(type) >= 0; s: string{'x','yy'} = 'x'; f: func",
      .doc = "doc",
      .deprecated = 7,
      .deprecated_why = "old",
      .flags = HR_OP_AGGREGATE | HR_OP_STATEFUL | HR_OP_COMMUTATIVE | HR_OP_UNINITIALIZED},
     BYTES("\x0a\2Op"
           "\x12\x09\x0a\1a\x22\1T\x80\1\1"
           "\x12\x08\x0a\1b\x18\1\x2a\1N"
           "\x12\6\x0a\1c\x32\1L"
           "\x1a\5\x0a\1d\x18\3"
           "\x22\x15\x0a\1T\x12\4type\x1a\2\x30\1\x3a\6\x0a\4\x32\2\1\3"
           "\x22\x10\x0a\1N\x12\3int\x1a\2\x18\2\x28\1\x30\1"
           "\x22\x11\x0a\1L\x12\x0alist(type)\x28\1"
           "\x22\x1b\x0a\1s\x12\6string\x1a\3\x12\1x\x3a\x09\x0a\7\x12\1x\x12\2yy"
           "\x22\x09\x0a\1f\x12\4func"
           "\x2a\3doc"
           "\x42\7\x08\7\x12\3old"
           "\x80\1\1\x88\1\1\x90\1\1\x98\1\1"),
     "Op(a: Ref(T), b: N * float, c: L) -> d: int32; T in float, int32 = float; N: int >= 1 = 2; L: list(type) >= 0; s in \"x\", \"yy\" = "
     "\"x\"; "
     "f: func"},
    {{.name = "P", .attrs = "l: list(int) = []; b: bool = false", .flags = HR_OP_COMMUTATIVE},
     BYTES("\x0a\1P\x22\x12\x0a\1l\x12\x09list(int)\x1a\2\x0a\0\x22\x0d\x0a\1b\x12\4bool\x1a\2\x28\0\x90\1\1"),
     "P() ->; l: list(int) = []; b: bool = false"},
};

HR_TEST(messages_have_known_bytes) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_arena_t arena;
    hr_op_def_t def;
    hr_writer_t w = {0};
    hr_arena_init(&arena);
    HR_CHECK_OK(hr_sig_parse(&arena, &rows[i].op, &def));
    HR_CHECK_OK(hr_op_def_encode(&def, &w));
    if (!HR_CHECK(hr_str_equal(hr_strbuf_view(&w), rows[i].bytes))) printf("  row %zu\n", i);
    hr_strbuf_deinit(&w);
    hr_arena_deinit(&arena);
  }
}

HR_TEST(messages_come_back) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    read_t x;
    hr_strbuf_t text = {0};
    if (!HR_CHECK_OK(read_bytes(&x, rows[i].bytes))) continue;
    hr_sig_print(x.def, &text);
    HR_CHECK_VIEW(hr_strbuf_view(&text), rows[i].text);
    HR_CHECK_EQ_I64(x.def->op->flags, rows[i].op.flags);
    HR_CHECK_EQ_I64(x.def->op->deprecated, rows[i].op.deprecated);
    if (rows[i].op.deprecated_why) HR_CHECK_STR(x.def->op->deprecated_why, rows[i].op.deprecated_why);
    for (int k = 0; k < x.def->input_count; ++k) {
      const hr_arg_def_t* a = &x.def->inputs[k];
      HR_CHECK((a->type_attr == 0) == (k == 0) && a->type_attr >= -1 && (a->number_attr == 1) == (k == 1) && a->number_attr >= -1 &&
               (a->list_attr == 2) == (k == 2) && a->list_attr >= -1 && a->is_ref == (k == 0));
    }
    hr_strbuf_deinit(&text);
    drop(&x);
  }
}

/* Definitions by other writers: flags that are written though they are false, types that are references, and what contradicts itself. */
HR_TEST(definitions_of_other_writers) {
  static const struct { hr_str_t bytes; const char* text;
  } others[] = {
      {BYTES("\x0a\1X\x80\1\0\x88\1\0\x90\1\0\x98\1\0"), "X() ->"},
      {BYTES("\x0a\1X\x12\6\x0a\1a\x18\1\x80\1\0"), NULL},
      {BYTES("\x0a\1X\x12\x08\x0a\1a\x18\1\x80\1\0"), "X(a: float) ->"},
      {BYTES("\x0a\1X\x12\5\x0a\1a\x18\x65\x1a\5\x0a\1b\x18\x65\x1a\5\x0a\1c\x18\3"), "X(a: Ref(float)) -> b: Ref(float), c: int32"},
      {BYTES("\x0a\1X\x12\5\x0a\1a\x18\1\x12\5\x0a\1b\x18\2"), "X(a: float, b: double) ->"},
      {BYTES("\x0a\1X\x12\x08\x0a\1a\x18\3\x22\1T\x22\x09\x0a\1T\x12\4type"), "X(a: T) ->; T: type"}, /* a type beside its attr */
      {BYTES("\x0a\1X\x22\x0c\x0a\1N\x12\3int\x28\0\x30\5"), "X() ->; N: int"},
      {BYTES("\x0a\1X\x22\x10\x0a\1T\x12\4type\x3a\5\x0a\3\x32\1\x65"), "X() ->; T in float: a"},
      {BYTES("\x0a\1X\x22\x0f\x0a\1T\x12\4type\x3a\4\x0a\2\x30\x65"), "X() ->; T in float"},
      {BYTES("\x0a\1X\x22\x0d\x0a\1s\x12\6string\x3a\0"), "X() ->; s: string"},
      {BYTES("\x0a\1X\x22\x13\x0a\1l\x12\x0alist(bool)\x1a\2\x0a\0"), "X() ->; l: list(bool) = []"},
      {BYTES("\x0a\1X\x22\5\x0a\1T\x12\0"), "!op definition 'X': attr 'T' has the unknown type ''"},
      {BYTES("\x0a\1X\x22\x11\x0a\1T\x12\x0clist(list())"), "!attr 'T' has the unknown type 'list(list())'"},
      {BYTES("\x0a\1X\x22\x10\x0a\1T\x12\x0bplaceholder"), "!attr 'T' has the unknown type 'placeholder'"},
      {BYTES("\x0a\1X\x22\x0c\x0a\1N\x12\3int\x1a\2\x28\1"), "!attr 'N' of type int has a default that is a bool"},
      {BYTES("\x0a\1X\x22\x0f\x0a\1N\x12\3int\x1a\5\x0a\3\x1a\1\1"), "!attr 'N' of type int has a default that is a list(int)"},
      {BYTES("\x0a\1X\x22\x0e\x0a\1N\x12\3int\x1a\4\x0a\2\x1a\0"), "!attr 'N' of type int has a default that is a list(int)"},
      {BYTES("\x0a\1X\x22\x12\x0a\1l\x12\x09list(int)\x1a\2\x18\1"), "!attr 'l' of type list(int) has a default that is a int"},
      {BYTES("\x0a\1X\x22\x15\x0a\1l\x12\x09list(int)\x1a\5\x0a\3\x2a\1\1"),
       "!attr 'l' of type list(int) has a default that is a list(bool)"},
      {BYTES("\x0a\1X\x12\3\x0a\1a"), "!op definition 'X': argument 'a' has no type"},
      {BYTES("\x0a\1X\x12\5\x0a\1a\x18\x22"), "!argument 'a' has no type"},
      {BYTES("\x0a\1X\x12\6\x0a\1a\x22\1T"), "!an argument names attr 'T', which is no attr of type type"},
      {BYTES("\x0a\1X\x12\6\x0a\1a\x22\1T\x22\x0f\x0a\1T\x12\x0alist(type)"), "!an argument names attr 'T', which is no attr of type type"},
      {BYTES("\x0a\1X\x12\6\x0a\1a\x22\1T\x22\x08\x0a\1T\x12\3int"), "!an argument names attr 'T', which is no attr of type type"},
      {BYTES("\x0a\1X\x12\6\x0a\1a\x32\1T\x22\x09\x0a\1T\x12\4type"), "!an argument names attr 'T', which is no attr of type list(type)"},
      {BYTES("\x0a\1X\x12\x08\x0a\1a\x18\1\x2a\1T\x22\x09\x0a\1T\x12\4type"), "!an argument names attr 'T', which is no attr of type int"},
      {BYTES("\x0a\1X\x12\7\x0a\1a\x18\1\x22\0"), "X(a: float) ->"}, /* names of nothing */
  };
  for (size_t i = 0; i < sizeof others / sizeof *others; ++i) {
    read_t x;
    hr_strbuf_t text = {0};
    hr_status_t status = read_bytes(&x, others[i].bytes);
    bool good = true;
    if (!others[i].text) good = HR_CHECK(status != NULL); /* a length that is not there */
    else if (*others[i].text == '!') good = HR_CHECK_CODE(status, HR_INVALID_ARGUMENT, others[i].text + 1);
    else if ((good = HR_CHECK_OK(status))) {
      hr_sig_print(x.def, &text);
      good = HR_CHECK(hr_str_has_prefix(hr_str(others[i].text), hr_strbuf_view(&text))) && HR_CHECK_EQ_I64(x.def->op->flags, 0);
    }
    if (!others[i].text) hr_status_release(status);
    if (!good) printf("  row %zu: %.*s\n", i, HR_STR_ARG(hr_strbuf_view(&text)));
    hr_strbuf_deinit(&text);
    drop(&x);
  }
}

HR_TEST(so_many_arguments_and_no_more) {
  static const char parts[] = {0x12, 0x1a, 0x22};
  for (int k = 0; k < 3; ++k)
    for (int over = 0; over < 2; ++over) {
      hr_strbuf_t bytes = {0};
      read_t x;
      const char part[] = {parts[k], 0};
      for (int i = 0; i < INT16_MAX + over; ++i) hr_strbuf_add(&bytes, part, 2);
      HR_CHECK_CODE(read_bytes(&x, hr_strbuf_view(&bytes)), HR_INVALID_ARGUMENT,
                    over ? "an op with more than 32767 arguments or attrs" : k < 2 ? "has no type" : "has the unknown type");
      drop(&x);
      hr_strbuf_deinit(&bytes);
    }
}

HR_TEST_MAIN()
