/* SPDX-License-Identifier: Apache-2.0 */
/* Text format both ways: golden files, the grammar, and failures with their place. */
#include "wire/text.h"
#define HR_TEST_LEAKS_CHECKED
#include "base/file.h"
#include "test.h"

static const ProtobufCMessageDescriptor* type_of(const char* name) { return hr_messages_find(hr_str(name)); }

static void expect_text(const char* type, const char* text, const char* canonical) {
  hr_writer_t bytes = {0};
  hr_strbuf_t back = {0};
  if (HR_CHECK_OK(hr_text_parse(type_of(type), hr_str(text), &bytes)) && HR_CHECK_OK(hr_text_format(type_of(type), bytes.data, bytes.size,
      &back)))
    HR_CHECK_VIEW(hr_strbuf_view(&back), canonical);
  hr_strbuf_deinit(&bytes);
  hr_strbuf_deinit(&back);
}

HR_TEST(scalars_and_enums) {
  expect_text("ConfigProto", "intra_op_parallelism_threads: -3 allow_soft_placement: true, operation_timeout_in_ms: 0x10;",
              "intra_op_parallelism_threads: -3\nallow_soft_placement: true\noperation_timeout_in_ms: 16\n");
  expect_text("AttrValue", "type: DT_FLOAT", "type: DT_FLOAT\n");
  expect_text("AttrValue", "type: 3", "type: DT_INT32\n");
  expect_text("AttrValue", "type: 77", "type: 77\n");
  expect_text("AttrValue", "i: -9223372036854775808", "i: -9223372036854775808\n");
  expect_text("AttrValue", "i: 017", "i: 15\n");
  expect_text("ConfigProto", "allow_soft_placement: t log_device_placement: False",
              "allow_soft_placement: true\nlog_device_placement: false\n");
}

HR_TEST(floats_keep_their_value) {
  expect_text("AttrValue", "f: 0.1", "f: 0.1\n");
  expect_text("AttrValue", "f: 1", "f: 1\n");
  expect_text("AttrValue", "f: .5f", "f: 0.5\n");
  expect_text("AttrValue", "f: -inf", "f: -inf\n");
  expect_text("AttrValue", "f: NaN", "f: nan\n");
  expect_text("AttrValue", "f: 16777217e0", "f: 16777216\n");
  expect_text("Event", "wall_time: 0.30000000000000004", "wall_time: 0.30000000000000004\n");
  expect_text("Event", "wall_time: 1e+100", "wall_time: 1e+100\n");
}

HR_TEST(strings_and_escapes) {
  expect_text("AttrValue", "s: 'it\\'s' \" \\x41\\102\\n\"", "s: \"it\\'s AB\\n\"\n");
  expect_text("AttrValue", "s: \"\\000\\377\\u00e9\"", "s: \"\\000\\377\\303\\251\"\n");
  expect_text("AttrValue", "s: \"\\U0001F600\"", "s: \"\\360\\237\\230\\200\"\n");
}

HR_TEST(messages_lists_and_comments) {
  expect_text("AttrValue", "# a list\nlist { i: [1, 2,3] i: 4 }", "list {\n  i: 1\n  i: 2\n  i: 3\n  i: 4\n}\n");
  expect_text("AttrValue", "list: < s: [] shape { dim { size: -1 } unknown_rank: false } >",
              "list {\n  shape {\n    dim {\n      size: -1\n    }\n    unknown_rank: false\n  }\n}\n");
  expect_text("GraphDef", "node { name: 'a' attr { key: 'T' value { type: DT_BOOL } } }",
              "node {\n  name: \"a\"\n  attr {\n    key: \"T\"\n    value {\n      type: DT_BOOL\n    }\n  }\n}\n");
  expect_text("GraphDef", "", "");
}

HR_TEST(failures_name_line_and_column) {
  static const struct { const char* type; const char* text; hr_code_t code; const char* message; } rows[] = {
    {"GraphDef", "node {\n  nane: 'a'\n}", HR_INVALID_ARGUMENT, "text line 2, column 3: message tensorflow.NodeDef has no field 'nane'"},
    {"GraphDef", "node {\n  name 'a'\n}", HR_INVALID_ARGUMENT, "line 2, column 8: expected ':'"},
    {"GraphDef", "node {", HR_INVALID_ARGUMENT, "expected the end of the message"},
    {"GraphDef", "node { name: 'a }", HR_INVALID_ARGUMENT, "line 1, column 14: a string without an end"},
    {"GraphDef", "node { name: 'a\nb' }", HR_INVALID_ARGUMENT, "line 1, column 14: a string without an end"},
    {"GraphDef", "node { name: 'a\\", HR_INVALID_ARGUMENT, "line 1, column 14: a string without an end"},
    {"GraphDef", "node { name: '", HR_INVALID_ARGUMENT, "line 1, column 14: a string without an end"},
    {"GraphDef", "node: 3", HR_INVALID_ARGUMENT, "expected '{', found '3'"},
    {"GraphDef", "}", HR_INVALID_ARGUMENT, "expected a field name, found '}'"},
    {"GraphDef", "[type.googleapis.com/x] { }", HR_UNIMPLEMENTED, "Any names"},
    {"AttrValue", "type: DT_NONE", HR_INVALID_ARGUMENT, "tensorflow.DataType has no value 'DT_NONE'"},
    {"AttrValue", "i: 9223372036854775808", HR_INVALID_ARGUMENT, "expected an int64"},
    {"AttrValue", "i: 1.5", HR_INVALID_ARGUMENT, "expected an int64, found '1.5'"},
    {"AttrValue", "i: [1]", HR_INVALID_ARGUMENT, "takes one value, not a list"},
    {"AttrValue", "b: maybe", HR_INVALID_ARGUMENT, "expected true or false"},
    {"AttrValue", "f: jnf", HR_INVALID_ARGUMENT, "expected a number"},
    {"AttrValue", "f: inx", HR_INVALID_ARGUMENT, "expected a number"},
    {"AttrValue", "f: infinitz", HR_INVALID_ARGUMENT, "expected a number"},
    {"AttrValue", "f: infi", HR_INVALID_ARGUMENT, "expected a number"},
    {"AttrValue", "f: man", HR_INVALID_ARGUMENT, "expected a number"},
    {"AttrValue", "f: nab", HR_INVALID_ARGUMENT, "expected a number"},
    {"AttrValue", "f: x", HR_INVALID_ARGUMENT, "expected a number"},
    {"AttrValue", "s: \"\\q\"", HR_INVALID_ARGUMENT, "unknown escape \\q"},
    {"AttrValue", "s: 5", HR_INVALID_ARGUMENT, "expected a string"},
    {"AttrValue", "list { i: [1 2] }", HR_INVALID_ARGUMENT, "expected ',' or ']'"},
    {"ConfigProto", "intra_op_parallelism_threads: 2147483648", HR_INVALID_ARGUMENT, "expected an int32"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_writer_t bytes = {0};
    HR_CHECK_CODE(hr_text_parse(type_of(rows[i].type), hr_str(rows[i].text), &bytes), rows[i].code, rows[i].message);
    hr_strbuf_deinit(&bytes);
  }
}

HR_TEST(nesting_is_bounded) {
  hr_strbuf_t text = {0};
  hr_writer_t bytes = {0};
  for (int i = 0; i < 200; ++i) hr_strbuf_add_str(&text, HR_STR("func { attr { value { "));
  hr_strbuf_add_str(&text, HR_STR("i: 1"));
  HR_CHECK_CODE(hr_text_parse(type_of("AttrValue"), hr_strbuf_view(&text), &bytes), HR_INVALID_ARGUMENT, "nests more than 100 deep");
  hr_strbuf_deinit(&text);
  hr_strbuf_deinit(&bytes);
}

/* Text -> bytes -> text -> bytes gives the same bytes; and every field is known, so nothing was dropped. */
static void round_trip_file(const char* path, const char* type, bool is_text, size_t least) {
  char* data = NULL;
  size_t size = 0;
  hr_writer_t first = {0}, second = {0};
  hr_strbuf_t text = {0};
  HR_REQUIRE_OK(hr_file_read(path, &data, &size));
  if (is_text) HR_CHECK_OK(hr_text_parse(type_of(type), (hr_str_t){data, size}, &first));
  else hr_strbuf_add(&first, data, size);
  HR_CHECK_OK(hr_text_format(type_of(type), first.data, first.size, &text));
  HR_CHECK_OK(hr_text_parse(type_of(type), hr_strbuf_view(&text), &second));
  if (is_text) HR_CHECK(hr_str_equal(hr_strbuf_view(&first), hr_strbuf_view(&second)));
  HR_CHECK(second.size >= least);
  hr_strbuf_t again = {0};
  HR_CHECK_OK(hr_text_format(type_of(type), second.data, second.size, &again));
  HR_CHECK(hr_str_equal(hr_strbuf_view(&text), hr_strbuf_view(&again)));
  hr_strbuf_deinit(&again);
  hr_strbuf_deinit(&text);
  hr_strbuf_deinit(&first);
  hr_strbuf_deinit(&second);
  hr_free(data);
}

#define GOLDEN HR_TEST_SOURCE_DIR "/tests/golden/files/"
HR_TEST(golden_files) {
  round_trip_file(GOLDEN "graph.pbtxt", "GraphDef", true, 10000);
  round_trip_file(GOLDEN "saved_model_tf1/saved_model.pb", "SavedModel", false, 9000);
  round_trip_file(GOLDEN "saved_model_tf2/saved_model.pb", "SavedModel", false, 17000);
  round_trip_file(GOLDEN "checkpoint_v2/model-7.meta", "MetaGraphDef", false, 17000);
  round_trip_file(GOLDEN "checkpoint_v2/checkpoint", "CheckpointState", true, 18);
  round_trip_file(GOLDEN "saved_model_tf2/fingerprint.pb", "FingerprintDef", false, 90);
}

HR_TEST(the_golden_graph_as_text_is_text_again) { /* TensorFlow's printing is ours, byte for byte, but for the order of map entries */
  char* data = NULL;
  size_t size = 0;
  hr_writer_t bytes = {0};
  hr_strbuf_t text = {0};
  HR_REQUIRE_OK(hr_file_read(GOLDEN "graph.pbtxt", &data, &size));
  HR_CHECK_OK(hr_text_parse(type_of("GraphDef"), (hr_str_t){data, size}, &bytes));
  HR_CHECK_OK(hr_text_format(type_of("GraphDef"), bytes.data, bytes.size, &text));
  HR_CHECK(hr_str_equal(hr_strbuf_view(&text), (hr_str_t){data, size}));
  hr_strbuf_deinit(&text);
  hr_strbuf_deinit(&bytes);
  hr_free(data);
}

/* --- a message with a field of every type, which none of the product's messages has ------------------------------------------------- */
static const ProtobufCEnumValue colour_values[] = {{"MINUS", "MINUS", -1}, {"NIL", "NIL", 0}, {"TEN", "TEN", 10}};
static const ProtobufCEnumValueIndex colour_names[] = {{"MINUS", 0}, {"NIL", 1}, {"TEN", 2}};
static const ProtobufCIntRange colour_ranges[] = {{-1, 0}, {10, 2}, {0, 3}};
static const ProtobufCEnumDescriptor colour = {.magic = PROTOBUF_C__ENUM_DESCRIPTOR_MAGIC, .name = "test.Colour", .n_values = 3,
    .values = colour_values, .n_value_names = 3, .values_by_name = colour_names, .n_value_ranges = 2, .value_ranges = colour_ranges};

static const ProtobufCMessageDescriptor every_type;
#define MANY(letter, number, kind, what) \
  {.name = letter, .id = number, .label = PROTOBUF_C_LABEL_REPEATED, .type = PROTOBUF_C_TYPE_##kind, .descriptor = what}
static const ProtobufCFieldDescriptor every_fields[] = {
  MANY("a", 1, INT32, NULL), MANY("b", 2, SINT32, NULL), MANY("c", 3, SFIXED32, NULL), MANY("d", 4, INT64, NULL),
  MANY("e", 5, SINT64, NULL),
  MANY("f", 6, SFIXED64, NULL), MANY("g", 7, UINT32, NULL), MANY("h", 8, FIXED32, NULL), MANY("i", 9, UINT64, NULL),
  MANY("j", 10, FIXED64, NULL), MANY("k", 11, FLOAT, NULL), MANY("l", 12, DOUBLE, NULL), MANY("m", 13, BOOL, NULL),
  MANY("n", 14, ENUM, &colour), MANY("o", 15, STRING, NULL), MANY("p", 16, BYTES, NULL), MANY("q", 17, MESSAGE, &every_type),
  {.name = "r", .id = 18, .label = PROTOBUF_C_LABEL_NONE, .type = PROTOBUF_C_TYPE_INT32},
};
static const unsigned every_order[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17};
static const ProtobufCIntRange every_ranges[] = {{1, 0}, {0, 18}};
static const ProtobufCMessageDescriptor every_type = {.magic = PROTOBUF_C__MESSAGE_DESCRIPTOR_MAGIC, .name = "test.Every", .n_fields = 18,
    .fields = every_fields, .fields_sorted_by_name = every_order, .n_field_ranges = 1, .field_ranges = every_ranges};

/* Memory of exactly the text's size, for the sanitizer's build. */
static hr_status_t parse_exactly(const char* text, hr_writer_t* out) {
  size_t size = strlen(text);
  char* block = malloc(size ? size : 1);
  if (size) memcpy(block, text, size);
  hr_status_t status = hr_text_parse(&every_type, (hr_str_t){block, size}, out);
  free(block);
  return status;
}

static void expect_both_ways(const char* text, const char* bytes, size_t size, const char* canonical) {
  hr_writer_t read = {0};
  hr_strbuf_t back = {0};
  HR_CHECK_OK(parse_exactly(text, &read));
  if (!HR_CHECK(read.size == size && (size == 0 || memcmp(read.data, bytes, size) == 0))) printf("  %s\n", text);
  HR_CHECK_OK(hr_text_format(&every_type, bytes, size, &back));
  HR_CHECK_VIEW(hr_strbuf_view(&back), canonical);
  hr_strbuf_deinit(&read);
  hr_strbuf_deinit(&back);
}
#define BOTH_WAYS(text, bytes, canonical) expect_both_ways(text, bytes, sizeof bytes - 1, canonical)

HR_TEST(every_type_of_field_both_ways) {
  BOTH_WAYS("", "", "");
  BOTH_WAYS("a: 1 a:0", "\x08\x01\x08\x00", "a: 1\na: 0\n");
  BOTH_WAYS("a: 2147483647", "\x08\xff\xff\xff\xff\x07", "a: 2147483647\n");
  BOTH_WAYS("a: -2147483648", "\x08\x80\x80\x80\x80\xf8\xff\xff\xff\xff\x01", "a: -2147483648\n");
  BOTH_WAYS("b: -1 b: 1 b: -2147483648 b: 2147483647", "\x10\x01\x10\x02\x10\xff\xff\xff\xff\x0f\x10\xfe\xff\xff\xff\x0f",
            "b: -1\nb: 1\nb: -2147483648\nb: 2147483647\n");
  BOTH_WAYS("c: -2 c: 0x102", "\x1d\xfe\xff\xff\xff\x1d\x02\x01\0\0", "c: -2\nc: 258\n");
  BOTH_WAYS("d: 9223372036854775807 d: -9223372036854775808",
            "\x20\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x20\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
            "d: 9223372036854775807\nd: -9223372036854775808\n");
  BOTH_WAYS("e: -9223372036854775808 e: 3", "\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x28\x06", "e: -9223372036854775808\ne: 3\n");
  BOTH_WAYS("f: -3 f: 258", "\x31\xfd\xff\xff\xff\xff\xff\xff\xff\x31\x02\x01\0\0\0\0\0\0", "f: -3\nf: 258\n");
  BOTH_WAYS("g: 4294967295", "\x38\xff\xff\xff\xff\x0f", "g: 4294967295\n");
  BOTH_WAYS("h: 4294967295 h: 1", "\x45\xff\xff\xff\xff\x45\x01\0\0\0", "h: 4294967295\nh: 1\n");
  BOTH_WAYS("i: 18446744073709551615", "\x48\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "i: 18446744073709551615\n");
  BOTH_WAYS("j: 18446744073709551615 j: 2", "\x51\xff\xff\xff\xff\xff\xff\xff\xff\x51\x02\0\0\0\0\0\0\0",
            "j: 18446744073709551615\nj: 2\n");
  BOTH_WAYS("k: -1.5 l: -1.5", "\x5d\0\0\xc0\xbf\x61\0\0\0\0\0\0\xf8\xbf", "k: -1.5\nl: -1.5\n");
  BOTH_WAYS("m: true m: false", "\x68\x01\x68\x00", "m: true\nm: false\n");
  BOTH_WAYS("n: MINUS n: NIL n: TEN n: 10 n: 5 n: -7", "\x70\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x70\x00\x70\x0a\x70\x0a\x70\x05"
            "\x70\xf9\xff\xff\xff\xff\xff\xff\xff\xff\x01", "n: MINUS\nn: NIL\nn: TEN\nn: TEN\nn: 5\nn: -7\n");
  BOTH_WAYS("o: 'ab' \"c\" 'd' o: '' p: 'x' \n p:'y'", "\x7a\x04" "abcd\x7a\x00\x82\x01\x01x\x82\x01\x01y",
            "o: \"abcd\"\no: \"\"\np: \"x\"\np: \"y\"\n");
  BOTH_WAYS("q { } q: {a: 1} q < q { a: 2 } a: 3 > r: 4",
            "\x8a\x01\x00\x8a\x01\x02\x08\x01\x8a\x01\x07\x8a\x01\x02\x08\x02\x08\x03\x90\x01\x04",
            "q {\n}\nq {\n  a: 1\n}\nq {\n  q {\n    a: 2\n  }\n  a: 3\n}\nr: 4\n");
  BOTH_WAYS("a: [] a: [5] a: [6,7] a:[8 , 9,10]; q: [{a: 1}, <>], a: 2",
            "\x08\x05\x08\x06\x08\x07\x08\x08\x08\x09\x08\x0a\x8a\x01\x02\x08\x01\x8a\x01\x00\x08\x02",
            "a: 5\na: 6\na: 7\na: 8\na: 9\na: 10\nq {\n  a: 1\n}\nq {\n}\na: 2\n");
}

HR_TEST(numbers_of_every_base) {
  BOTH_WAYS("i: [0, 00, 07, 010, 0x0, 0xA, 0Xf, 0xaF, 0xFa, 0x9, 9]",
            "\x48\0\x48\0\x48\x07\x48\x08\x48\0\x48\x0a\x48\x0f\x48\xaf\x01\x48\xfa\x01\x48\x09\x48\x09",
            "i: 0\ni: 0\ni: 7\ni: 8\ni: 0\ni: 10\ni: 15\ni: 175\ni: 250\ni: 9\ni: 9\n");
  BOTH_WAYS("i: 0xffffffffffffffff", "\x48\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "i: 18446744073709551615\n");
  BOTH_WAYS("l: [2, 2f, 2F, .5f, 1.f, 0x10, 0XF, 0xf, 2e1, 2E+1f, 20e-1]",
            "\x61\0\0\0\0\0\0\0\x40\x61\0\0\0\0\0\0\0\x40\x61\0\0\0\0\0\0\0\x40\x61\0\0\0\0\0\0\xe0\x3f\x61\0\0\0\0\0\0\xf0\x3f"
            "\x61\0\0\0\0\0\0\x30\x40\x61\0\0\0\0\0\0\x2e\x40\x61\0\0\0\0\0\0\x2e\x40\x61\0\0\0\0\0\0\x34\x40\x61\0\0\0\0\0\0\x34\x40"
            "\x61\0\0\0\0\0\0\0\x40",
            "l: 2\nl: 2\nl: 2\nl: 0.5\nl: 1\nl: 16\nl: 15\nl: 15\nl: 20\nl: 20\nl: 2\n");
  BOTH_WAYS("l: [inf, -inf, INF, Infinity, -infinitY]",
            "\x61\0\0\0\0\0\0\xf0\x7f\x61\0\0\0\0\0\0\xf0\xff\x61\0\0\0\0\0\0\xf0\x7f\x61\0\0\0\0\0\0\xf0\x7f\x61\0\0\0\0\0\0\xf0\xff",
            "l: inf\nl: -inf\nl: inf\nl: inf\nl: -inf\n");
  BOTH_WAYS("k: nan k: -0", "\x5d\0\0\xc0\x7f\x5d\0\0\0\x80", "k: nan\nk: -0\n");
  BOTH_WAYS("m: [false, False, f, 0, true, True, t, 1]", "\x68\0\x68\0\x68\0\x68\0\x68\1\x68\1\x68\1\x68\1",
            "m: false\nm: false\nm: false\nm: false\nm: true\nm: true\nm: true\nm: true\n");
}

HR_TEST(the_fewest_digits_that_read_back) { /* at least 6 and 15, as protobuf writes */
  BOTH_WAYS("k: 2267620", "\x5d\x90\x67\x0a\x4a", "k: 2.26762e+06\n");
  BOTH_WAYS("k: 16777215", "\x5d\xff\xff\x7f\x4b", "k: 16777215\n");
  expect_text("Event", "wall_time: 9.67229278765599e-10", "wall_time: 9.67229278765599e-10\n");
  expect_text("Event", "wall_time: 1234567.1234567891", "wall_time: 1234567.1234567892\n");
  expect_text("Event", "wall_time: 5e-324", "wall_time: 4.94065645841247e-324\n");
}

/* --- bytes that only others write ---------------------------------------------------------------------------------------------------- */
static void expect_format(const char* bytes, size_t size, const char* wanted) {
  hr_strbuf_t text = {0};
  HR_CHECK_OK(hr_text_format(&every_type, bytes, size, &text));
  HR_CHECK_VIEW(hr_strbuf_view(&text), wanted);
  hr_strbuf_deinit(&text);
}
#define FORMAT(bytes, wanted) expect_format(bytes, sizeof bytes - 1, wanted)

HR_TEST(packed_values_are_printed_one_by_one) {
  FORMAT("\x0a\x00", "");
  FORMAT("\x0a\x04\x01\xac\x02\x03", "a: 1\na: 300\na: 3\n");
  FORMAT("\x12\x02\x01\x02", "b: -1\nb: 1\n");
  FORMAT("\x1a\x08\xfe\xff\xff\xff\x02\0\0\0", "c: -2\nc: 2\n");
  FORMAT("\x22\x02\x01\x02", "d: 1\nd: 2\n");
  FORMAT("\x32\x10\xfd\xff\xff\xff\xff\xff\xff\xff\x01\0\0\0\0\0\0\0", "f: -3\nf: 1\n");
  FORMAT("\x42\x04\xff\xff\xff\xff", "h: 4294967295\n");
  FORMAT("\x52\x08\xff\xff\xff\xff\xff\xff\xff\xff", "j: 18446744073709551615\n");
  FORMAT("\x5a\x08\0\0\x80\x3f\0\0\0\xc0", "k: 1\nk: -2\n");
  FORMAT("\x62\x08\0\0\0\0\0\0\xf0\x3f", "l: 1\n");
  FORMAT("\x6a\x02\x00\x05", "m: false\nm: true\n");
  FORMAT("\x72\x02\x0a\x0b", "n: TEN\nn: 11\n");
  hr_strbuf_t text = {0};
  HR_CHECK_CODE(hr_text_format(&every_type, "\x1a\x03\x01\x02\x03", 5, &text), HR_INVALID_ARGUMENT, "at byte 2: 4 bytes wanted");
  HR_CHECK_CODE(hr_text_format(&every_type, "\x32\x04\x01\x02\x03\x04", 6, &text), HR_INVALID_ARGUMENT, "at byte 2: 8 bytes wanted");
  HR_CHECK_CODE(hr_text_format(&every_type, "\x0a\x01\x80", 3, &text), HR_INVALID_ARGUMENT, "at byte 2: a varint runs past");
  hr_strbuf_deinit(&text);
}

HR_TEST(unknown_fields_and_other_wire_types_are_dropped) {
  FORMAT("\x98\x01\x05\x08\x01", "a: 1\n");         /* field 19 */
  FORMAT("\x0d\x05\0\0\0\x08\x01", "a: 1\n");       /* a as fixed32 */
  FORMAT("\x18\x05\x1d\x06\0\0\0", "c: 6\n");       /* c as varint */
  FORMAT("\x88\x01\x05\x89\x01\0\0\0\0\0\0\0\0\x8a\x01\x00", "q {\n}\n");
  FORMAT("\x8b\x01\x08\x07\x8c\x01\x08\x01", "a: 1\n"); /* q as a group */
  FORMAT("\x9a\x01\x01\xff\x78\x01\x7a\x01x", "o: \"x\"\n");
}

HR_TEST(strings_are_printed_in_ascii) {
  FORMAT("\x7a\x0d\n\r\t\"'\\\x1f ~\x7f\x80\xff" "a", "o: \"\\n\\r\\t\\\"\\'\\\\\\037 ~\\177\\200\\377a\"\n");
  FORMAT("\x7a\x02\x01\x00", "o: \"\\001\\000\"\n");
}

HR_TEST(a_hundred_levels_are_enough) {
  for (int depth = 99; depth <= 100; ++depth) {
    hr_strbuf_t text = {0}, back = {0};
    hr_writer_t bytes = {0};
    for (int i = 0; i < 300; ++i) hr_strbuf_add_str(&text, HR_STR("q { } ")); /* those beside do not count */
    for (int i = 0; i < depth; ++i) hr_strbuf_add_str(&text, HR_STR("q { "));
    for (int i = 0; i < depth; ++i) hr_strbuf_add_str(&text, HR_STR("} "));
    hr_status_t status = hr_text_parse(&every_type, hr_strbuf_view(&text), &bytes);
    if (depth == 99) HR_CHECK_OK(status);
    else HR_CHECK_CODE(status, HR_INVALID_ARGUMENT, "text line 1, column 2201: message nests more than 100 deep");
    bytes.size = 0;
    hr_writer_mark_t marks[100];
    for (int i = 0; i < 300; ++i) hr_writer_bytes(&bytes, 17, NULL, 0);
    for (int i = 0; i < depth; ++i) marks[i] = hr_writer_begin(&bytes, 17, 128);
    for (int i = depth; i > 0; --i) hr_writer_end(&bytes, marks[i - 1], 128);
    status = hr_text_format(&every_type, bytes.data, bytes.size, &back);
    if (depth == 99) HR_CHECK_OK(status);
    else HR_CHECK_CODE(status, HR_INVALID_ARGUMENT, "message nests more than 100 deep at byte ");
    hr_strbuf_deinit(&text);
    hr_strbuf_deinit(&back);
    hr_strbuf_deinit(&bytes);
  }
}

HR_TEST(every_refusal_word_for_word) {
#define C60 "123456789012345678901234567890123456789012345678901234567890"
#define N127 "a234567a1234567a1234567a1234567a1234567a1234567a1234567a1234567a" \
             "1234567a1234567a1234567a1234567a1234567a1234567a1234567a1234567"
  static const struct { const char* text; const char* message; } rows[] = {
    {"a: 2147483648", "column 4: expected an int32, found '2147483648'"},
    {"a: -2147483649", "column 5: expected an int32, found '2147483649'"},
    {"b: 2147483648", "column 4: expected an int32, found '2147483648'"},
    {"c: 2147483648", "column 4: expected an int32, found '2147483648'"},
    {"d: 9223372036854775808", "column 4: expected an int64, found '9223372036854775808'"},
    {"d: -9223372036854775809", "column 5: expected an int64, found '9223372036854775809'"},
    {"e: 9223372036854775808", "column 4: expected an int64, found '9223372036854775808'"},
    {"f: 9223372036854775808", "column 4: expected an int64, found '9223372036854775808'"},
    {"g: 4294967296", "column 4: expected a uint32, found '4294967296'"},
    {"g: -1", "column 5: expected a uint32, found '1'"},
    {"h: 4294967296", "column 4: expected a uint32, found '4294967296'"},
    {"h: -0", "column 5: expected a uint32, found '0'"},
    {"i: 18446744073709551616", "column 4: expected a uint64, found '18446744073709551616'"},
    {"i: 99999999999999999999", "column 4: expected a uint64, found '99999999999999999999'"},
    {"i: 0x10000000000000000", "column 4: expected a uint64, found '0x10000000000000000'"},
    {"i: -1", "column 5: expected a uint64, found '1'"},
    {"j: -1", "column 5: expected a uint64, found '1'"},
    {"n: 2147483648", "column 4: expected an int32, found '2147483648'"},
    {"a: 08", "column 4: expected an int32, found '08'"},
    {"a: 1a", "column 4: expected an int32, found '1a'"},
    {"a: 0x", "column 4: expected an int32, found '0x'"},
    {"a: 0xg", "column 4: expected an int32, found '0xg'"},
    {"a: 0xG", "column 4: expected an int32, found '0xG'"},
    {"a: 1x2", "column 4: expected an int32, found '1x2'"},
    {"a: 0_1", "column 4: expected an int32, found '0_1'"},
    {"a: x", "column 4: expected an int32, found 'x'"},
    {"a: '1'", "column 4: expected an int32, found ''1''"},
    {"a: ", "column 4: expected an int32, found ''"},
    {"a: -", "column 5: expected an int32, found ''"},
    {"a: " C60, "column 4: expected an int32, found '" C60 "'"},
    {"a: " C60 "1", "column 4: expected an int32, found '" C60 "'"},
    {"k: 1.5.5", "column 4: expected a number, found '1.5.5'"},
    {"k: 0xg", "column 4: expected a number, found '0xg'"},
    {"k: 0x", "column 4: expected a number, found '0x'"},
    {"k: 1ff", "column 4: expected a number, found '1ff'"},
    {"k: f", "column 4: expected a number, found 'f'"},
    {"k: -x", "column 5: expected a number, found 'x'"},
    {"k: 'inf'", "column 4: expected a number, found ''inf''"},
    {"l: {", "column 4: expected a number, found '{'"},
    {"l: ", "column 4: expected a number, found ''"},
    {"m: 2", "column 4: expected true or false, found '2'"},
    {"m: TRUE", "column 4: expected true or false, found 'TRUE'"},
    {"m: 't'", "column 4: expected true or false, found ''t''"},
    {"n: Ten", "column 4: test.Colour has no value 'Ten'"},
    {"n: 'TEN'", "column 4: expected an int32, found ''TEN''"},
    {"o: x", "column 4: expected a string, found 'x'"},
    {"q: 1", "column 4: expected '{', found '1'"},
    {"q {a: 1", "column 8: expected the end of the message, found ''"},
    {"q <a: 1}", "column 8: expected a field name, found '}'"},
    {"q {a: 1>", "column 8: expected a field name, found '>'"},
    {"r: [1]", "column 5: field 'r' takes one value, not a list"},
    {"a: [1,]", "column 7: expected an int32, found ']'"},
    {"a: [,]", "column 5: expected an int32, found ','"},
    {"a: [1;2]", "column 6: expected ',' or ']', found ';'"},
    {"a: [1", "column 6: expected ',' or ']', found ''"},
    {"a 1", "column 3: expected ':', found '1'"},
    {"a [1]", "column 3: expected ':', found '['"},
    {"a: 1,; r: 1", "column 6: expected a field name, found ';'"},
    {"a: 1;; r: 1", "column 6: expected a field name, found ';'"},
    {"5: 1", "column 1: expected a field name, found '5'"},
    {"[x]: 1", "column 1: extension and Any names in brackets are not supported"},
    {"s: 1", "column 1: message test.Every has no field 's'"},
    {N127 "Z: 1", "column 1: message test.Every has no field '" N127 "'"},
    {"a 'x", "column 3: a string without an end"},
    {"a: 'x", "column 4: a string without an end"},
    {"a: - 'x", "column 6: a string without an end"},
    {"k: - 'x", "column 6: a string without an end"},
    {"a: 1 'x", "column 6: a string without an end"},
    {"a: [ 'x", "column 6: a string without an end"},
    {"a: [] 'x", "column 7: a string without an end"},
    {"a: [1 'x", "column 7: a string without an end"},
    {"a: [1, 'x", "column 8: a string without an end"},
    {"a: [1] 'x", "column 8: a string without an end"},
    {"a: 1, 'x", "column 7: a string without an end"},
    {"a: 1; 'x", "column 7: a string without an end"},
    {"q { 'x", "column 5: a string without an end"},
    {"q < 'x", "column 5: a string without an end"},
    {"q { } 'x", "column 7: a string without an end"},
    {"m: t 'x", "column 6: a string without an end"},
    {"n: TEN 'x", "column 8: a string without an end"},
    {"o: 'a' 'x", "column 8: a string without an end"},
    {"o: 'a\\q'", "column 4: a string has an unknown escape \\q"},
    {"k: nan 'x", "column 8: a string without an end"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_writer_t bytes = {0};
    char wanted[300];
    snprintf(wanted, sizeof wanted, "text line 1, %s", rows[i].message);
    hr_status_t status = parse_exactly(rows[i].text, &bytes);
    HR_CHECK_STR(hr_status_message(status), wanted);
    hr_status_release(status);
    hr_strbuf_deinit(&bytes);
  }
}

static hr_status_t parse_and_print(void) {
  hr_writer_t bytes = {0};
  hr_strbuf_t text = {0};
  hr_status_t status = parse_exactly("q { o: 'a string of some length, longer than one block' } a: [1, 2]", &bytes);
  if (!status) status = hr_text_format(&every_type, bytes.data, bytes.size, &text);
  hr_strbuf_deinit(&bytes);
  hr_strbuf_deinit(&text);
  return status;
}
HR_TEST(out_of_memory_is_a_status) { HR_TEST_EVERY_ALLOCATION_FAILS(parse_and_print); }

HR_TEST_MAIN()
