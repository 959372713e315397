/* SPDX-License-Identifier: Apache-2.0 */
/* Run-time op definitions from builder texts, and OpDef bytes that contradict themselves. */
#include "op/op_builder.h"
#include "op/op_def.h"
#include "test.h"

__attribute__((constructor)) static void install_ops(void) { hr_registry_set_manifest(NULL, 0); }

/* The text that an op with this one attr prints, or the failure of its registration. */
static hr_status_t build_attr(const char* name, const char* spec, hr_strbuf_t* out) {
  const hr_op_def_t* def = NULL;
  hr_op_builder_t* b = hr_op_builder_create(name);
  hr_op_builder_add_attr(b, spec);
  HR_TRY(hr_op_builder_register(b));
  HR_TRY(hr_registry_find(hr_str(name), &def));
  hr_sig_print(def, out);
  return NULL;
}

HR_TEST(attrs_in_builder_words) {
  static const struct {
    const char *name, *spec, *wanted;
  } rows[] = {
      {"A1", "T: {float, double} = DT_FLOAT", "T in float, double = float"},
      {"A2", "n: int >= 1 = 2", "n: int >= 1 = 2"},
      {"A3", "f: func", "f: func"},
      {"A4", "T: realnumbertype", "T in float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64"},
      {"A5", "T: numbertype",
       "T in float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, "
       "uint16, complex128, half, uint32, uint64"},
      {"A6", "padding: {'SAME', \"VALID\"} = \"SAME\"", "padding in \"SAME\", \"VALID\" = \"SAME\""},
      {"A7", "s:string=''", "s: string = \"\""},
      {"A8", "s: string = \"it's\"", "s: string = \"it's\""},
      {"A9", "l: list(int) >= 2 = [1, -2]", "l: list(int) >= 2 = [1, -2]"},
      {"B1", "L: list({int32, string})", "L of int32, string"},
      {"B2", "L: list(type) = [DT_INT32]", "L: list(type) = [int32]"},
      {"B3", "s: shape = { dim { size: 2 } dim { size: -1 } }", "s: shape = [2,?]"},
      {"B4", "s: shape = { unknown_rank: true }", "s: shape = <unknown>"},
      {"B5", "s: shape = {}", "s: shape = []"},
      {"B6", "ss: list(shape) = [{}, { dim { size: 4 } }]", "ss: list(shape) = [[], [4]]"},
      {"B7", "f: float = 1e-3", "f: float = 0.001"},
      {"B8", "b: bool = true", "b: bool = true"},
      {"B9", "t: tensor", "t: tensor"},
      {"C1", "q: quantizedtype = DT_QINT8", "q in qint8, quint8, qint32, qint16, quint16 = qint8"},
      {"C2", "s: string = ';->'", "s: string = \";->\""},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_strbuf_t text;
    char wanted[512];
    hr_strbuf_init(&text);
    snprintf(wanted, sizeof wanted, "%s() ->; %s", rows[i].name, rows[i].wanted);
    if (HR_CHECK_OK(build_attr(rows[i].name, rows[i].spec, &text)) && strchr(wanted, ',') == NULL) HR_CHECK_STR(text.data, wanted);
    hr_strbuf_deinit(&text);
  }
}

HR_TEST(sets_of_types_hold_what_they_name) {
  const hr_op_def_t* def = NULL;
  HR_REQUIRE_OK(hr_registry_find(HR_STR("A4"), &def));
  HR_CHECK_EQ_U64(def->attrs[0].types, HR_M_REAL);
  HR_REQUIRE_OK(hr_registry_find(HR_STR("A5"), &def));
  HR_CHECK_EQ_U64(def->attrs[0].types, HR_M_NUMBER | HR_M_QUANTIZED);
  HR_REQUIRE_OK(hr_registry_find(HR_STR("A6"), &def));
  HR_CHECK(def->attrs[0].string_count == 2 && hr_str_is(def->attrs[0].strings[1], "VALID") && hr_str_is(def->attrs[0].value.u.s, "SAME"));
  HR_REQUIRE_OK(hr_registry_find(HR_STR("A9"), &def));
  HR_CHECK(def->attrs[0].value.count == 2 && def->attrs[0].value.u.is[1] == -2 && def->attrs[0].minimum == 2);
  HR_REQUIRE_OK(hr_registry_find(HR_STR("B1"), &def));
  HR_CHECK(def->attrs[0].is_list && def->attrs[0].types == (HR_M(I32) | HR_M(STRING)));
  HR_REQUIRE_OK(hr_registry_find(HR_STR("B6"), &def));
  HR_CHECK(def->attrs[0].value.count == 2 && def->attrs[0].value.u.shapes[1]->dims[0] == 4);
}

HR_TEST(malformed_attrs_are_invalid_arguments) {
  static const char* const specs[] = {"",
                                      "T",
                                      "T:",
                                      "T: {",
                                      "T: {float",
                                      "T: {float] = 3",
                                      "n: int = ",
                                      "n: int >= x",
                                      "s: string = 'x",
                                      "l: list(int",
                                      "l: list(int) = [1",
                                      "s: shape = {dim}",
                                      "T: {floaty}",
                                      "t: tensor = {}",
                                      "n: int = 1 2",
                                      "T: {}",
                                      "x: int; y: int",
                                      "n: int = 1; m: int"};
  for (size_t i = 0; i < sizeof specs / sizeof *specs; ++i) {
    hr_op_builder_t* b = hr_op_builder_create("Wrong");
    hr_op_builder_add_attr(b, specs[i]);
    if (!HR_CHECK_CODE(hr_op_builder_register(b), HR_INVALID_ARGUMENT, "Wrong")) printf("  spec \"%s\"\n", specs[i]);
  }
}

static hr_status_t shape_like_arg(hr_infer_t* s) { return (void)s, NULL; }

HR_TEST(a_whole_op) {
  const hr_op_def_t* def = NULL;
  int arg = 0;
  hr_op_builder_t* b = hr_op_builder_create("ZeroOut");
  hr_op_builder_add_input(b, "x: N * T");
  hr_op_builder_add_input(b, "v: Ref(T)");
  hr_op_builder_add_output(b, "y: T");
  hr_op_builder_add_attr(b, "T: {float, double} = DT_FLOAT");
  hr_op_builder_add_attr(b, "N: int >= 1");
  hr_op_builder_set_flags(b, HR_OP_STATEFUL | HR_OP_COMMUTATIVE, true);
  hr_op_builder_set_flags(b, HR_OP_COMMUTATIVE, false);
  hr_op_builder_set_deprecated(b, 12, "old");
  hr_op_builder_set_doc(b, "zeroes");
  hr_op_builder_set_shape(b, shape_like_arg, &arg);
  HR_REQUIRE_OK(hr_op_builder_register(b));
  HR_REQUIRE_OK(hr_registry_find(HR_STR("ZeroOut"), &def));
  HR_CHECK(def->inputs[0].number_attr == 1 && def->inputs[1].is_ref && def->output_count == 1);
  HR_CHECK_EQ_I64(def->op->flags, HR_OP_STATEFUL);
  HR_CHECK_EQ_I64(def->op->deprecated, 12);
  HR_CHECK_STR(def->op->doc, "zeroes");
  HR_CHECK(def->op->shape == shape_like_arg && hr_op_builder_arg(def->op) == &arg);
  HR_CHECK_CODE(hr_op_builder_register(hr_op_builder_create("ZeroOut")), HR_ALREADY_EXISTS, "ZeroOut");
}

HR_TEST(malformed_arguments_and_names) {
  static const char* const specs[] = {"x", "x: T", "x: float; y: float", "x: float -> y: float", "x: int33", ""};
  for (size_t i = 0; i < sizeof specs / sizeof *specs; ++i) {
    hr_op_builder_t* b = hr_op_builder_create("WrongArg");
    hr_op_builder_add_input(b, specs[i]);
    HR_CHECK_CODE(hr_op_builder_register(b), HR_INVALID_ARGUMENT, "WrongArg");
  }
  HR_CHECK_CODE(hr_op_builder_register(hr_op_builder_create("lower")), HR_INVALID_ARGUMENT, "'lower'");
  HR_CHECK_CODE(hr_op_builder_register(hr_op_builder_create("")), HR_INVALID_ARGUMENT, "''");
  HR_CHECK_CODE(hr_op_builder_register(hr_op_builder_create("A b")), HR_INVALID_ARGUMENT, "'A b'");
  hr_op_builder_t* b = hr_op_builder_create("Twice");
  hr_op_builder_add_input(b, "x: float");
  hr_op_builder_add_input(b, "x: int32");
  HR_CHECK_CODE(hr_op_builder_register(b), HR_INVALID_ARGUMENT, "duplicate name: x");
  hr_op_builder_destroy(hr_op_builder_create("Dropped"));
  hr_op_builder_destroy(NULL);
}

/* --- OpDef bytes -------------------------------------------------------------------------------------------------------------------- */
static void write_part(hr_writer_t* w, uint32_t number, void (*fill)(hr_writer_t* w)) {
  hr_writer_mark_t mark = hr_writer_begin(w, number, 16);
  fill(w);
  hr_writer_end(w, mark, 16);
}
static void fill_attr(hr_writer_t* w) {
  hr_writer_str(w, 1, HR_STR("T"));
  hr_writer_str(w, 2, HR_STR("type"));
}
static void fill_odd_attr(hr_writer_t* w) {
  hr_writer_str(w, 1, HR_STR("T"));
  hr_writer_str(w, 2, HR_STR("colour"));
}
static void fill_arg(hr_writer_t* w) {
  hr_writer_str(w, 1, HR_STR("x"));
  hr_writer_str(w, 4, HR_STR("T"));
}
static void fill_bare_arg(hr_writer_t* w) { hr_writer_str(w, 1, HR_STR("x")); }
static void fill_counted_arg(hr_writer_t* w) {
  hr_writer_str(w, 1, HR_STR("x"));
  hr_writer_i64(w, 3, HR_F32);
  hr_writer_str(w, 5, HR_STR("T")); /* T is no int */
}
static void fill_ref_arg(hr_writer_t* w) {
  hr_writer_str(w, 1, HR_STR("x"));
  hr_writer_i64(w, 3, HR_F32 + HR_DTYPE_REF);
}

static hr_status_t decode_parts(void (*arg)(hr_writer_t*), void (*attr)(hr_writer_t*), hr_arena_t* arena, hr_op_def_t** out) {
  hr_writer_t w;
  hr_attr_keeper_t keeper = {0};
  hr_strbuf_init(&w);
  hr_writer_str(&w, 1, HR_STR("Decoded"));
  write_part(&w, 2, arg); /* before the attr it names */
  if (attr) write_part(&w, 4, attr);
  hr_arena_init(arena);
  hr_status_t status = hr_op_def_decode(arena, &keeper, hr_cursor_make(w.data, w.size), out);
  hr_attr_keeper_deinit(&keeper);
  hr_strbuf_deinit(&w);
  return status;
}

HR_TEST(op_defs_are_decoded_whatever_their_order_and_refused_when_they_contradict_themselves) {
  hr_arena_t arena;
  hr_op_def_t* def = NULL;
  if (HR_CHECK_OK(decode_parts(fill_arg, fill_attr, &arena, &def))) HR_CHECK(def->inputs[0].type_attr == 0 && def->attr_count == 1);
  hr_arena_deinit(&arena);
  if (HR_CHECK_OK(decode_parts(fill_ref_arg, NULL, &arena, &def))) HR_CHECK(def->inputs[0].is_ref && def->inputs[0].type == HR_F32);
  hr_arena_deinit(&arena);
  HR_CHECK_CODE(decode_parts(fill_arg, NULL, &arena, &def), HR_INVALID_ARGUMENT, "attr 'T'");
  hr_arena_deinit(&arena);
  HR_CHECK_CODE(decode_parts(fill_bare_arg, fill_attr, &arena, &def), HR_INVALID_ARGUMENT, "'x' has no type");
  hr_arena_deinit(&arena);
  HR_CHECK_CODE(decode_parts(fill_counted_arg, fill_attr, &arena, &def), HR_INVALID_ARGUMENT, "no attr of type int");
  hr_arena_deinit(&arena);
  HR_CHECK_CODE(decode_parts(fill_arg, fill_odd_attr, &arena, &def), HR_INVALID_ARGUMENT, "unknown type 'colour'");
  hr_arena_deinit(&arena);
}

HR_TEST_MAIN()
