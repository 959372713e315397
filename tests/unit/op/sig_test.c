/* SPDX-License-Identifier: Apache-2.0 */
/* The signature mini-language: every signature of the registry parses and means what it says; malformed ones are refused with their
 * place; values are checked against what an attr allows. */
#include "op/sig.h"
#include "op/op_def.h"
#include "test.h"

typedef struct {
  hr_arena_t arena;
  hr_op_t op;
  hr_op_def_t def;
} parsed_t;

static hr_status_t parse_text(parsed_t* p, const char* sig, const char* attrs) {
  hr_arena_init(&p->arena);
  p->op = (hr_op_t){.name = "Test", .sig = sig, .attrs = attrs};
  return hr_sig_parse(&p->arena, &p->op, &p->def);
}

/* --- every signature there is -------------------------------------------------------------------------------------------------------- */
static int items_in(const char* text) { /* separated by "; " outside quotes */
  int n = *text != 0;
  bool quoted = false;
  for (; *text; ++text) {
    if (*text == '\'') quoted = !quoted;
    if (*text == ';' && !quoted) ++n;
  }
  return n;
}

/* An OpDef written and read again has the same parts. */
static void check_op_def_round_trip(const hr_op_def_t* def) {
  hr_arena_t arena;
  hr_attr_keeper_t keeper = {0};
  hr_writer_t w;
  hr_op_def_t* again = NULL;
  hr_arena_init(&arena);
  hr_strbuf_init(&w);
  if (!HR_CHECK_OK(hr_op_def_encode(def, &w))) return;
  if (!HR_CHECK_OK(hr_op_def_decode(&arena, &keeper, hr_cursor_make(w.data, w.size), &again))) return;
  hr_strbuf_t a, b;
  hr_strbuf_init(&a);
  hr_strbuf_init(&b);
  hr_sig_print(def, &a);
  hr_sig_print(again, &b);
  HR_CHECK_STR(a.data, b.data);
  HR_CHECK_EQ_I64(def->op->flags, again->op->flags);
  HR_CHECK_EQ_I64(def->op->deprecated, again->op->deprecated);
  hr_strbuf_deinit(&a);
  hr_strbuf_deinit(&b);
  hr_strbuf_deinit(&w);
  hr_attr_keeper_deinit(&keeper);
  hr_arena_deinit(&arena);
}

static void check_row(char* line) {
  char* column[4];
  for (int i = 0; i < 4; ++i) {
    column[i] = line;
    line += strcspn(line, "\t\n");
    if (*line) *line++ = 0;
  }
  char* odd = strstr(column[3], "=tensor"); /* the table does not spell this default out */
  if (odd) strcpy(odd, "=uint8[255, 0, 0, 255]");
  char sig[8192];
  snprintf(sig, sizeof sig, "%s -> %s", column[1], column[2]);
  parsed_t p;
  hr_arena_init(&p.arena);
  p.op = (hr_op_t){.name = column[0], .sig = sig, .attrs = column[3], .flags = HR_OP_STATEFUL, .deprecated = 7, .deprecated_why = "old"};
  if (HR_CHECK_OK(hr_sig_parse(&p.arena, &p.op, &p.def))) {
    HR_CHECK_EQ_I64(p.def.input_count, items_in(column[1]));
    HR_CHECK_EQ_I64(p.def.output_count, items_in(column[2]));
    HR_CHECK_EQ_I64(p.def.attr_count, items_in(column[3]));
    for (int i = 0; i < p.def.attr_count; ++i)
      if (p.def.attrs[i].has_default) HR_CHECK_OK(hr_sig_check_attr(&p.def, i, &p.def.attrs[i].value));
    check_op_def_round_trip(&p.def);
  }
  for (int i = 0; i < p.def.attr_count; ++i)
    if (p.def.attrs[i].kind == HR_ATTR_TENSOR && p.def.attrs[i].has_default) hr_tensor_release((hr_tensor_t*)p.def.attrs[i].value.u.tensor);
  hr_arena_deinit(&p.arena);
}

HR_TEST(every_signature_of_the_registry_parses) {
  const char* path = getenv("HR_SIGNATURES");
  FILE* f = fopen(path ? path : HR_TEST_SOURCE_DIR "/tests/unit/op/signatures.tsv", "r");
  HR_REQUIRE(f);
  static char line[1 << 16];
  int rows = 0;
  while (fgets(line, sizeof line - 64, f)) {
    if (line[0] == '#') continue;
    check_row(line);
    ++rows;
  }
  fclose(f);
  HR_CHECK(rows > 700);
}

/* --- forms, one by one ---------------------------------------------------------------------------------------------------------------- */
HR_TEST(arguments_name_types_attrs_numbers_lists_and_references) {
  parsed_t p;
  HR_REQUIRE_OK(parse_text(&p, "a: T; b:N*T; c: Ref(T); d: float; e: L; f: N * int64; g: Ref(N*string) -> o: Ref(float); q: L",
                           "T: type{half,float}; N: int >= 1 = 2; L: list(type) >= 1"));
  const hr_arg_def_t* in = p.def.inputs;
  HR_CHECK_EQ_I64(p.def.input_count, 7);
  HR_CHECK_VIEW(in[0].name, "a");
  HR_CHECK_EQ_I64(in[0].type_attr, 0);
  HR_CHECK_EQ_I64(in[0].number_attr, -1);
  HR_CHECK_EQ_I64(in[1].number_attr, 1);
  HR_CHECK_EQ_I64(in[1].type_attr, 0);
  HR_CHECK(in[2].is_ref && in[2].type_attr == 0);
  HR_CHECK_EQ_I64(in[3].type, HR_F32);
  HR_CHECK_EQ_I64(in[4].list_attr, 2);
  HR_CHECK_EQ_I64(in[5].type, HR_I64);
  HR_CHECK(in[6].is_ref && in[6].number_attr == 1 && in[6].type == HR_STRING);
  HR_CHECK(p.def.outputs[0].is_ref && p.def.outputs[0].type == HR_F32);
  HR_CHECK(p.def.attrs[1].has_minimum && p.def.attrs[1].minimum == 1 && p.def.attrs[1].value.u.i == 2);
  HR_CHECK_EQ_U64(p.def.attrs[0].types, HR_M(F16) | HR_M(F32));
  HR_CHECK(p.def.attrs[2].is_list && p.def.attrs[2].has_minimum);
  hr_arena_deinit(&p.arena);
}

HR_TEST(defaults_of_every_kind) {
  parsed_t p;
  HR_REQUIRE_OK(parse_text(
      &p, "->",
      "i: int = -3; f: float = 1e-3; g: float = -inf; b: bool = true; s: string = 'a\\'b\\t;'; t: type = float; "
      "h: shape = [2, ?]; u: shape = ?; w: shape = unknown; e: shape = []; li: list(int) = [1, -2]; ls: list(string) = ['x','y']; "
      "lt: list(type) = [int32, string]; lh: list(shape) = [[], [3]]; le: list(int) = []; fn: func = 'body'; "
      "p: string {'SAME', 'VALID'} = 'SAME'; lf: list(float)=[0.5,2]; lb: list(bool)=[true,false]"));
  const hr_attr_def_t* a = p.def.attrs;
  HR_CHECK_EQ_I64(a[0].value.u.i, -3);
  HR_CHECK_NEAR(a[1].value.u.f, 1e-3, 1e-9);
  HR_CHECK_EQ_F64(a[2].value.u.f, -INFINITY);
  HR_CHECK(a[3].value.u.b);
  HR_CHECK_VIEW(a[4].value.u.s, "a'b\t;");
  HR_CHECK_EQ_I64(a[5].value.u.type, HR_F32);
  HR_CHECK(a[6].value.u.shape->rank == 2 && a[6].value.u.shape->dims[0] == 2 && a[6].value.u.shape->dims[1] == -1);
  HR_CHECK_EQ_I64(a[7].value.u.shape->rank, -1);
  HR_CHECK_EQ_I64(a[8].value.u.shape->rank, -1);
  HR_CHECK_EQ_I64(a[9].value.u.shape->rank, 0);
  HR_CHECK(a[10].value.count == 2 && a[10].value.u.is[1] == -2);
  HR_CHECK_VIEW(a[11].value.u.ss[1], "y");
  HR_CHECK_EQ_I64(a[12].value.u.types[1], HR_STRING);
  HR_CHECK_EQ_I64(a[13].value.u.shapes[1]->dims[0], 3);
  HR_CHECK(a[14].has_default && a[14].value.is_list && a[14].value.count == 0);
  HR_CHECK_VIEW(a[15].value.u.func->name, "body");
  HR_CHECK_EQ_I64(a[16].string_count, 2);
  HR_CHECK_VIEW(a[16].strings[1], "VALID");
  HR_CHECK_EQ_F64(a[17].value.u.fs[0], 0.5);
  HR_CHECK(a[18].value.u.bs[0] && !a[18].value.u.bs[1]);
  hr_arena_deinit(&p.arena);
}

HR_TEST(malformed_texts_are_refused_with_their_place) {
  static const struct {
    const char *sig, *attrs, *wanted;
  } rows[] = {
      {"x: T -> y: T", "", "column 4"},
      {"x: T y: T ->", "T: type", "->"},
      {"x: -> y: float", "", "element type"},
      {"x float ->", "", ":"},
      {"x: float", "", "->"},
      {"x: M * float ->", "", "int attr"},
      {"x: T * float ->", "T: type", "int attr"},
      {"x: N * L ->", "N: int; L: list(type)", "cannot be repeated"},
      {"x: Ref(float -> y: float", "", ")"},
      {"->", "T: type{floatish}", "element type"},
      {"->", "T: type{float", "}"},
      {"->", "T: typo", "kind of attr"},
      {"->", "N: int = x", "whole number"},
      {"->", "N: int >= ", "whole number"},
      {"->", "s: string = 'abc", "closing quote"},
      {"->", "s: string >= 3", "minimum"},
      {"->", "n: int{1,2}", "allowed values"},
      {"->", "n: int; n: int", "not there yet"},
      {"->", "b: bool = yes", "true or false"},
      {"->", "l: list(int) = [1", ","},
      {"->", "l: list(int = 3", ")"},
      {"->", "n: int = 1 2", "';' or the end"},
      {"->", "3n: int", "a name"},
      {"-> x: float)", "", "';' or the end"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    parsed_t p;
    hr_status_t status = parse_text(&p, rows[i].sig, rows[i].attrs);
    HR_CHECK_CODE(status, HR_INTERNAL, rows[i].wanted);
    hr_arena_deinit(&p.arena);
  }
}

/* --- values --------------------------------------------------------------------------------------------------------------------------- */
HR_TEST(values_are_checked_against_kind_set_and_minimum) {
  parsed_t p;
  HR_REQUIRE_OK(
      parse_text(&p, "->", "T: type{half,float}; N: int >= 2; pad: string{'SAME','VALID'}; L: list(type){int32} >= 1; any: type"));
  hr_attr_t type = {.kind = HR_ATTR_TYPE, .u.type = HR_I32}, number = {.kind = HR_ATTR_INT, .u.i = 1};
  hr_attr_t text = {.kind = HR_ATTR_STRING, .u.s = HR_STR("FULL")};
  HR_CHECK_CODE(hr_sig_check_attr(&p.def, 0, &type), HR_INVALID_ARGUMENT,
                "value for attr 'T' of int32 is not in the list of allowed values: float, half; op 'Test'");
  HR_CHECK_OK(hr_sig_check_attr(&p.def, 4, &type));
  type.u.type = HR_F16;
  HR_CHECK_OK(hr_sig_check_attr(&p.def, 0, &type));
  type.u.type = HR_F16 + HR_DTYPE_REF;
  HR_CHECK_CODE(hr_sig_check_attr(&p.def, 0, &type), HR_INVALID_ARGUMENT, "half_ref");
  type.u.type = 77;
  HR_CHECK_CODE(hr_sig_check_attr(&p.def, 4, &type), HR_INVALID_ARGUMENT, "77");
  HR_CHECK_CODE(hr_sig_check_attr(&p.def, 1, &number), HR_INVALID_ARGUMENT, "at least minimum 2");
  number.u.i = 2;
  HR_CHECK_OK(hr_sig_check_attr(&p.def, 1, &number));
  HR_CHECK_CODE(hr_sig_check_attr(&p.def, 2, &text), HR_INVALID_ARGUMENT,
                "\"FULL\" is not in the list of allowed values: \"SAME\", \"VALID\"");
  HR_CHECK_CODE(hr_sig_check_attr(&p.def, 0, &number), HR_INVALID_ARGUMENT, "is a int where type is wanted");
  int32_t types[] = {HR_I32, HR_F32};
  hr_attr_t list = hr_at_types("L", types, 2).value;
  HR_CHECK_CODE(hr_sig_check_attr(&p.def, 3, &list), HR_INVALID_ARGUMENT, "of float is not in");
  list.count = 0;
  HR_CHECK_CODE(hr_sig_check_attr(&p.def, 3, &list), HR_INVALID_ARGUMENT, "length for attr 'L' of 0");
  list.count = 1;
  HR_CHECK_OK(hr_sig_check_attr(&p.def, 3, &list));
  hr_arena_deinit(&p.arena);
}

HR_TEST(argument_types_are_flattened) {
  parsed_t p;
  HR_REQUIRE_OK(parse_text(&p, "a: N * T; b: L; c: Ref(T) -> o: Ref(N * T)", "T: type; N: int; L: list(type)"));
  int32_t list[] = {HR_STRING, HR_I64};
  hr_attr_t attrs[] = {hr_at_type("T", HR_F32).value, hr_at_int("N", 3).value, hr_at_types("L", list, 2).value};
  int32_t* types = NULL;
  int count = 0, length = 0;
  HR_REQUIRE_OK(hr_sig_arg_types(&p.arena, &p.def, attrs, false, &types, &count));
  static const int32_t wanted[] = {HR_F32, HR_F32, HR_F32, HR_STRING, HR_I64, HR_F32 + HR_DTYPE_REF};
  HR_CHECK_EQ_I64(count, 6);
  for (int i = 0; i < 6; ++i) HR_CHECK_EQ_I64(types[i], wanted[i]);
  HR_CHECK_OK(hr_sig_arg_length(&p.def, attrs, false, 1, &length));
  HR_CHECK_EQ_I64(length, 2);
  HR_REQUIRE_OK(hr_sig_arg_types(&p.arena, &p.def, attrs, true, &types, &count));
  HR_CHECK(count == 3 && types[2] == HR_F32 + HR_DTYPE_REF);
  attrs[1].u.i = -1;
  HR_CHECK_CODE(hr_sig_arg_types(&p.arena, &p.def, attrs, false, &types, &count), HR_INVALID_ARGUMENT, "-1");
  attrs[1].u.i = INT64_MAX;
  HR_CHECK_CODE(hr_sig_arg_types(&p.arena, &p.def, attrs, false, &types, &count), HR_INVALID_ARGUMENT, "cannot stand for");
  attrs[1].kind = HR_ATTR_NONE;
  HR_CHECK_CODE(hr_sig_arg_types(&p.arena, &p.def, attrs, false, &types, &count), HR_INVALID_ARGUMENT, "'N' has no value");
  hr_arena_deinit(&p.arena);
}

HR_TEST(printed_for_people) {
  parsed_t p;
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  HR_REQUIRE_OK(parse_text(&p, "x: T; y: N * T -> z: Ref(T)", "T: type{half,float} = float; N: int >= 1"));
  hr_sig_print(&p.def, &text);
  HR_CHECK_STR(text.data, "Test(x: T, y: N * T) -> z: Ref(T); T in float, half = float; N: int >= 1");
  hr_strbuf_deinit(&text);
  hr_arena_deinit(&p.arena);
}

static hr_status_t parse_and_drop(void) {
  parsed_t p;
  hr_status_t status =
      parse_text(&p, "x: T; y: N * T -> z: T", "T: type{half,float} = float; N: int >= 1; l: list(string) = ['a','b']; s: shape=[1]");
  hr_arena_deinit(&p.arena);
  return status;
}

HR_TEST(out_of_memory_is_a_status) { HR_TEST_EVERY_ALLOCATION_FAILS(parse_and_drop); }

/* --- borders -------------------------------------------------------------------------------------------------------------------------- */
static const char* repeated(char* out, const char* head, const char* item, int count, const char* tail) {
  size_t at = (size_t)sprintf(out, "%s", head);
  for (int i = 0; i < count; ++i) at += (size_t)sprintf(out + at, "%s%s", i ? "," : "", item);
  sprintf(out + at, "%s", tail);
  return out;
}

HR_TEST(how_many_of_each_may_be_listed) {
  static const struct { const char *head, *item, *tail; int most; const char* says; } rows[] = {
      {"t: tensor = int32[", "1", "]", 64, "fewer values"},
      {"l: list(int) = [", "1", "]", 64, "a shorter list"},
      {"s: string{", "'a'", "}", 16, "fewer allowed strings"},
      {"s: shape = [", "1", "]", HR_MAX_RANK, "a shape of lower rank"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    char text[1024];
    parsed_t p;
    if (HR_CHECK_OK(parse_text(&p, "->", repeated(text, rows[i].head, rows[i].item, rows[i].most, rows[i].tail))) && i == 0) {
      HR_CHECK_EQ_I64(p.def.attrs[0].value.u.tensor->count, 64);
      hr_tensor_release((hr_tensor_t*)(uintptr_t)p.def.attrs[0].value.u.tensor);
    }
    hr_arena_deinit(&p.arena);
    HR_CHECK_CODE(parse_text(&p, "->", repeated(text, rows[i].head, rows[i].item, rows[i].most + 1, rows[i].tail)), HR_INTERNAL,
                  rows[i].says);
    hr_arena_deinit(&p.arena);
  }
}

HR_TEST(tensors_of_each_type_that_may_be_written) {
  static const hr_dtype_t types[] = {HR_I32, HR_I64, HR_U8, HR_I8};
  parsed_t p;
  HR_REQUIRE_OK(parse_text(
      &p, "->", "a: tensor = int32[7, -8, 9]; b: tensor = int64[7, -8, 9]; c: tensor = uint8[7, 248, 9]; d: tensor = int8[7, -8, 9]"));
  for (int i = 0; i < 4; ++i) {
    const hr_tensor_t* t = p.def.attrs[i].value.u.tensor;
    int64_t values[3];
    HR_CHECK(t->dtype == types[i] && t->shape.rank == 1 && t->count == 3);
    for (int k = 0; k < 3; ++k) HR_CHECK_OK(hr_tensor_i64_at(t, k, &values[k]));
    HR_CHECK(values[0] == 7 && values[1] == (i == 2 ? 248 : -8) && values[2] == 9);
    hr_tensor_release((hr_tensor_t*)(uintptr_t)t);
  }
  hr_arena_deinit(&p.arena);
  HR_CHECK_CODE(parse_text(&p, "->", "a: tensor = float[1]"), HR_INTERNAL, "a tensor of uint8, int8, int32 or int64");
  hr_arena_deinit(&p.arena);
}

HR_TEST(more_malformed_texts) {
  static const struct { const char *sig, *attrs, *wanted;
  } rows[] = {
      {"->", "s: string = 'a\\'", "closing quote"},
      {"->", "s: string = 'a\\", "closing quote"},
      {"->", "0n: int", "a name"},
      {"->", "9n: int", "a name"},
      {"x: L * float ->", "L: list(int)", "int attr"},
      {"x: N * L ->", "L: list(type); N: int", "cannot be repeated"},
      {"x: N * N * float ->", "N: int", "element type"},
      {"->", "f: float = x", "a number"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    parsed_t p;
    HR_CHECK_CODE(parse_text(&p, rows[i].sig, rows[i].attrs), HR_INTERNAL, rows[i].wanted);
    hr_arena_deinit(&p.arena);
  }
}

HR_TEST(blanks_names_and_references) {
  parsed_t p;
  HR_REQUIRE_OK(parse_text(&p, "\tx\n:\tfloat_ref ; y:float\n->\n\tZ_9:int32\t", "\n\tAZaz09_ : string = '\\\\\\n\\r\\tx' ;\n"));
  HR_CHECK(p.def.input_count == 2 && p.def.inputs[0].is_ref && p.def.inputs[0].type == HR_F32 && !p.def.inputs[1].is_ref);
  for (int i = 0; i < 2; ++i)
    HR_CHECK(p.def.inputs[i].type_attr == -1 && p.def.inputs[i].number_attr == -1 && p.def.inputs[i].list_attr == -1);
  HR_CHECK_VIEW(p.def.outputs[0].name, "Z_9");
  HR_CHECK_VIEW(p.def.attrs[0].name, "AZaz09_");
  HR_CHECK_VIEW(p.def.attrs[0].value.u.s, "\\\n\r\tx");
  HR_CHECK_EQ_I64(p.def.attrs[0].value.u.s.data[5], 0);
  HR_CHECK_EQ_I64(hr_sig_find_attr(&p.def, HR_STR("AZaz09_")), 0);
  HR_CHECK_EQ_I64(hr_sig_find_attr(&p.def, HR_STR("AZaz09")), -1);
  hr_arena_deinit(&p.arena);
}

HR_TEST(attrs_in_the_first_place) { /* index 0 is an attr as any other */
  static const struct { const char *sig, *attrs, *text; } rows[] = {
      {"x: N * float -> y: Ref(float)", "N: int", "Test(x: N * float) -> y: Ref(float); N: int"},
      {"x: L -> y: Ref(L)", "L: list(type)", "Test(x: L) -> y: Ref(L); L: list(type)"},
      {"x: Ref(T) ->", "T: type", "Test(x: Ref(T)) ->; T: type"},
      {"-> y: string", "s: list(string){'a','b'} >= 2 = ['a','b']", "Test() -> y: string; s of \"a\", \"b\" >= 2 = [\"a\", \"b\"]"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    parsed_t p;
    hr_strbuf_t text = {0};
    if (HR_CHECK_OK(parse_text(&p, rows[i].sig, rows[i].attrs))) hr_sig_print(&p.def, &text);
    HR_CHECK_VIEW(hr_strbuf_view(&text), rows[i].text);
    hr_strbuf_deinit(&text);
    hr_arena_deinit(&p.arena);
  }
}

HR_TEST(lengths_of_arguments_at_their_limits) {
  enum { MOST = 1 << 22 };
  parsed_t p;
  int length = -1, count = 0;
  int32_t* types = NULL;
  HR_REQUIRE_OK(parse_text(&p, "a: N * float; b: N * float -> ", "N: int"));
  static const struct { int64_t n; bool good; } rows[] = {{-1, false}, {0, true}, {1, true}, {MOST, true}, {MOST + 1, false}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    const hr_attr_t n = hr_at_int("N", rows[i].n).value;
    hr_status_t status = hr_sig_arg_length(&p.def, &n, false, 0, &length);
    if (rows[i].good) HR_CHECK(HR_CHECK_OK(status) && length == rows[i].n);
    else HR_CHECK_CODE(status, HR_INVALID_ARGUMENT, "argument 'a' cannot stand for");
  }
  for (int over = 0; over < 2; ++over) {
    const hr_attr_t n = hr_at_int("N", MOST / 2 + over).value;
    hr_status_t status = hr_sig_arg_types(&p.arena, &p.def, &n, false, &types, &count);
    if (over) HR_CHECK_CODE(status, HR_INVALID_ARGUMENT, "op 'Test' has too many arguments");
    else HR_CHECK(HR_CHECK_OK(status) && count == MOST && types[MOST - 1] == HR_F32);
  }
  hr_arena_deinit(&p.arena);
  HR_REQUIRE_OK(parse_text(&p, "a: L; b: T -> ", "L: list(type); T: type"));
  static const int32_t list[] = {HR_I64, HR_BOOL};
  hr_attr_t attrs[] = {hr_at_types("L", list, 2).value, hr_at_type("T", HR_F32).value};
  HR_REQUIRE_OK(hr_sig_arg_types(&p.arena, &p.def, attrs, false, &types, &count));
  HR_CHECK(count == 3 && types[0] == HR_I64 && types[1] == HR_BOOL && types[2] == HR_F32);
  attrs[1] = attrs[0];
  HR_CHECK_CODE(hr_sig_arg_types(&p.arena, &p.def, attrs, false, &types, &count), HR_INVALID_ARGUMENT, "attr 'T' has no value");
  attrs[1] = hr_at_int("T", 1).value;
  HR_CHECK_CODE(hr_sig_arg_types(&p.arena, &p.def, attrs, false, &types, &count), HR_INVALID_ARGUMENT, "attr 'T' has no value");
  attrs[0] = hr_at_type("L", HR_F32).value;
  HR_CHECK_CODE(hr_sig_arg_types(&p.arena, &p.def, attrs, false, &types, &count), HR_INVALID_ARGUMENT, "attr 'L' has no value");
  hr_arena_deinit(&p.arena);
}

HR_TEST(each_element_of_a_list_is_checked) {
  static const hr_str_t good[] = {{"a", 1}, {"b", 1}, {"a", 1}}, first[] = {{"x", 1}, {"b", 1}, {"a", 1}},
                        last[] = {{"a", 1}, {"b", 1}, {"x", 1}};
  static const int32_t types[] = {HR_F32, HR_F32, HR_I32}, types_first[] = {HR_I32, HR_F32, HR_F32},
                       types_good[] = {HR_F32, HR_F32, HR_F32};
  static const int64_t is[] = {1};
  parsed_t p;
  HR_REQUIRE_OK(parse_text(&p, "->", "s: list(string){'a','b'}; t: list(type){float}; i: list(int)"));
  const struct { int attr; hr_attr_t value; const char* says; } rows[] = {
      {0, HR_AT_LIST(HR_ATTR_STRING, ss, good, 3), NULL},
      {0, HR_AT_LIST(HR_ATTR_STRING, ss, first, 3), "of \"x\" is not in the list of allowed values: \"a\", \"b\""},
      {0, HR_AT_LIST(HR_ATTR_STRING, ss, last, 3), "of \"x\" is not in"},
      {0, HR_AT_LIST(HR_ATTR_STRING, ss, last, 2), NULL},
      {1, HR_AT_LIST(HR_ATTR_TYPE, types, types_good, 3), NULL},
      {1, HR_AT_LIST(HR_ATTR_TYPE, types, types, 3), "of int32 is not in the list of allowed values: float"},
      {1, HR_AT_LIST(HR_ATTR_TYPE, types, types_first, 3), "of int32 is not in"},
      {2, HR_AT_LIST(HR_ATTR_TYPE, types, types, 0), NULL}, /* an empty list is of any kind */
      {2, HR_AT_LIST(HR_ATTR_TYPE, types, types, 1), "is a list(type) where list(int) is wanted"},
      {2, HR_AT_LIST(HR_ATTR_INT, is, is, 1), NULL},
      {2, {.kind = HR_ATTR_INT}, "is a int where list(int) is wanted"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_status_t status = hr_sig_check_attr(&p.def, rows[i].attr, &rows[i].value);
    bool is_good = rows[i].says ? HR_CHECK_CODE(status, HR_INVALID_ARGUMENT, rows[i].says) : HR_CHECK_OK(status);
    if (!is_good) printf("  row %zu\n", i);
  }
  hr_arena_deinit(&p.arena);
}

HR_TEST_MAIN()
