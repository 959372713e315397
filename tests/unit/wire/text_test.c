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

HR_TEST_MAIN()
