/* SPDX-License-Identifier: Apache-2.0 */
/* Attrs at their borders: less room than there are values, as much and more; nothing in a list, a text, a shape; names by number. */
#include "help.h"
#include "tensorflow/c/kernels.h"
#include "tensorflow/c/ops.h"

static const char* const specs[] = {"i: int",           "is: list(int)",     "bs: list(bool)", "b: bool",   "s: string",
                                    "e: string",        "ss: list(string)",  "sh: shape",      "sc: shape", "un: shape",
                                    "shs: list(shape)", "tes: list(tensor)", "none: list(int)"};
enum { SPECS = sizeof specs / sizeof *specs, EXTRAS = 2 };

static TF_Operation* make_operation(TF_Graph* g, TF_Status* s) {
  static const int64_t is[] = {7, -8, 9}, two[] = {2, 3}, one[] = {4};
  static const unsigned char bs[] = {0, 1, 2};
  static const void* const ss[] = {"ab", "", "cde"};
  static const size_t lengths[] = {2, 0, 3};
  static const int64_t* const dims[] = {two, NULL, NULL, one};
  static const int ranks[] = {2, -1, 0, 1};
  static bool is_there;
  if (!is_there) {
    TF_OpDefinitionBuilder* op = TF_NewOpDefinitionBuilder("TestBorders");
    for (int i = 0; i < SPECS; ++i) TF_OpDefinitionBuilderAddAttr(op, specs[i]);
    TF_RegisterOpDefinition(op, s);
    if (!CHECK_TF_OK(s)) abort();
    is_there = true;
  }
  TF_OperationDescription* d = TF_NewOperation(g, "TestBorders", "node");
  TF_Tensor* tensors[] = {help_float(1), help_float(2), help_float(3)};
  TF_SetAttrInt(d, "i", 5);
  TF_SetAttrIntList(d, "is", is, 3);
  TF_SetAttrBoolList(d, "bs", bs, 3);
  TF_SetAttrBool(d, "b", 2);
  TF_SetAttrString(d, "s", "text", 4);
  TF_SetAttrString(d, "e", NULL, 7);
  TF_SetAttrStringList(d, "ss", ss, lengths, 3);
  TF_SetAttrShape(d, "sh", two, 2);
  TF_SetAttrShape(d, "sc", NULL, 0);
  TF_SetAttrShape(d, "un", NULL, -1);
  TF_SetAttrShapeList(d, "shs", dims, ranks, 4);
  TF_SetAttrTensorList(d, "tes", tensors, 3, s);
  CHECK_TF_OK(s);
  TF_SetAttrValueProto(d, "none", "\x0a\x00", 2, s); /* a list of nothing, of no kind */
  CHECK_TF_OK(s);
  TF_SetAttrValueProto(d, "_first", "\x0a\x00", 2, s);
  CHECK_TF_OK(s);
  TF_SetAttrBool(d, "_last", 0);
  for (int i = 0; i < 3; ++i) TF_DeleteTensor(tensors[i]);
  TF_Operation* made = TF_FinishOperation(d, s);
  if (!CHECK_TF_OK(s)) abort();
  return made;
}

#define BEGIN                     \
  TF_Status* s = TF_NewStatus();  \
  TF_Graph* g = TF_NewGraph();    \
  TF_Operation* op = make_operation(g, s)
#define END          \
  TF_DeleteGraph(g); \
  TF_DeleteStatus(s)

TEST(names_by_number) {
  BEGIN;
  char name[16];
  CHECK_INT(TF_OperationGetNumAttrs(NULL), 0);
  CHECK_INT(TF_OperationGetNumAttrs(op), SPECS + EXTRAS);
  for (int i = -2; i < SPECS + EXTRAS + 2; ++i) {
    memset(name, 0, sizeof name);
    const int length = TF_OperationGetAttrNameLength(op, i);
    TF_OperationGetAttrName(op, i, name, s);
    if (i < 0 || i >= SPECS + EXTRAS) {
      CHECK_INT(length, -1);
      CHECK_TF_CODE(s, TF_OUT_OF_RANGE);
      continue;
    }
    CHECK(CHECK_TF_OK(s) && (size_t)length == strlen(name));
    if (i < SPECS) CHECK(!strncmp(name, specs[i], (size_t)length) && specs[i][length] == ':');
    else CHECK(!strcmp(name, "_first") || !strcmp(name, "_last"));
  }
  CHECK_INT(TF_OperationGetAttrNameLength(NULL, 0), -1);
  END;
}

TEST(texts_in_any_room) {
  BEGIN;
  for (size_t room = 0; room <= 6; ++room) {
    char text[8] = "zzzzzzz", want[8] = "zzzzzzz";
    memcpy(want, "text", room < 4 ? room : 4);
    TF_OperationGetAttrString(op, "s", text, room, s);
    CHECK(CHECK_TF_OK(s) && !strcmp(text, want));
    strcpy(text, "zzzzzzz");
    TF_OperationGetAttrString(op, "e", text, room, s);
    CHECK(CHECK_TF_OK(s) && !strcmp(text, "zzzzzzz"));
    TF_OperationGetAttrString(op, "i", text, room, s);
    CHECK(CHECK_TF_CODE(s, TF_INVALID_ARGUMENT) && !strcmp(text, "zzzzzzz"));
  }
  for (int most = 0; most <= 4; ++most)
    for (size_t room = 0; room <= 6; ++room) {
      static const size_t needs[] = {0, 2, 2, 5, 5}; /* of the first so many */
      char storage[8];
      void* values[4] = {NULL, NULL, NULL, storage};
      size_t lengths[4] = {9, 9, 9, 9};
      TF_OperationGetAttrStringList(op, "ss", values, lengths, most, storage, room, s);
      if (room < needs[most]) {
        CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
        continue;
      }
      CHECK_TF_OK(s);
      CHECK(lengths[0] == (most > 0 ? 2 : 9) && lengths[1] == (most > 1 ? 0 : 9) && lengths[2] == (most > 2 ? 3 : 9) && lengths[3] == 9);
      if (most > 2) CHECK(values[0] == storage && values[2] == storage + 2 && !memcmp(storage, "abcde", 5));
      CHECK(values[3] == storage && (most > 2 || !values[2]));
    }
  END;
}

TEST(lists_in_any_room) {
  BEGIN;
  for (int most = 0; most <= 4; ++most) {
    int64_t is[4] = {99, 99, 99, 99};
    unsigned char bs[4] = {99, 99, 99, 99};
    TF_Tensor* tensors[4] = {NULL, NULL, NULL, NULL};
    static const int64_t want[] = {7, -8, 9};
    TF_OperationGetAttrIntList(op, "is", is, most, s);
    CHECK_TF_OK(s);
    TF_OperationGetAttrBoolList(op, "bs", bs, most, s);
    CHECK_TF_OK(s);
    TF_OperationGetAttrTensorList(op, "tes", tensors, most, s);
    CHECK_TF_OK(s);
    for (int i = 0; i < 4; ++i) {
      const bool given = i < most && i < 3;
      CHECK_INT(is[i], given ? want[i] : 99);
      CHECK_INT(bs[i], given ? i > 0 : 99);
      CHECK(given ? tensors[i] && *(float*)TF_TensorData(tensors[i]) == (float)i + 1 : !tensors[i]);
      TF_DeleteTensor(tensors[i]);
    }
    is[0] = 99;
    TF_OperationGetAttrIntList(op, "none", is, most, s);
    CHECK(CHECK_TF_OK(s) && is[0] == 99);
    TF_OperationGetAttrIntList(op, "ss", is, most, s);
    CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
    CHECK_HAS(TF_Message(s), "attr 'ss' is of kind list(string), not list(int)");
    TF_OperationGetAttrIntList(op, "i", is, most, s);
    CHECK_HAS(TF_Message(s), "attr 'i' is of kind int, not list(int)");
    TF_OperationGetAttrInt(op, "is", is, s);
    CHECK_HAS(TF_Message(s), "attr 'is' is of kind list(int), not int");
    TF_OperationGetAttrInt(op, "none", is, s);
    CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
    TF_OperationGetAttrInt(op, "absent", is, s);
    CHECK_HAS(TF_Message(s), "op 'TestBorders' has no attr 'absent' here");
    CHECK(is[0] == 99);
  }
  unsigned char b = 9;
  TF_OperationGetAttrBool(op, "b", &b, s);
  CHECK(CHECK_TF_OK(s) && b == 1);
  TF_OperationGetAttrBool(op, "_last", &b, s);
  CHECK(CHECK_TF_OK(s) && b == 0);
  END;
}

TEST(shapes_in_any_room) {
  BEGIN;
  static const struct { const char* name; int rank; } rows[] = {{"sh", 2}, {"sc", 0}, {"un", -1}};
  for (int i = 0; i < 3; ++i)
    for (int room = 0; room <= 3; ++room) {
      int64_t dims[4] = {99, 99, 99, 99};
      TF_OperationGetAttrShape(op, rows[i].name, dims, room, s);
      if (rows[i].rank >= 0 && room != rows[i].rank) CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
      else CHECK_TF_OK(s);
      const bool given = rows[i].rank == 2 && room == 2;
      CHECK(dims[0] == (given ? 2 : 99) && dims[1] == (given ? 3 : 99) && dims[2] == 99);
    }
  for (int most = 0; most <= 5; ++most)
    for (int room = 0; room <= 4; ++room) {
      static const int needs[] = {0, 2, 2, 2, 3, 3}, want[] = {2, -1, 0, 1, 99};
      int64_t storage[4] = {99, 99, 99, 99}, *dims[5] = {NULL};
      int ranks[5] = {99, 99, 99, 99, 99};
      TF_OperationGetAttrShapeList(op, "shs", dims, ranks, most, storage, room, s);
      if (room < needs[most]) {
        CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
        continue;
      }
      CHECK_TF_OK(s);
      for (int i = 0; i < 5; ++i) CHECK_INT(ranks[i], i < most ? want[i] : 99);
      if (most > 0) CHECK(dims[0] == storage && storage[0] == 2 && storage[1] == 3);
      if (most > 3) CHECK(dims[3] == storage + 2 && storage[2] == 4 && storage[3] == 99);
      if (most < 4) CHECK(!dims[3] && storage[2] == 99);
    }
  for (int most = 0; most <= 5; ++most) {
    static const struct {
      const char* bytes;
      size_t size;
    } want[] = {{"\x12\x02\x08\x02\x12\x02\x08\x03", 8}, {"\x18\x01", 2}, {"", 0}, {"\x12\x02\x08\x04", 4}};
    TF_Buffer* buffers[5] = {NULL};
    TF_OperationGetAttrTensorShapeProtoList(op, "shs", buffers, most, s);
    CHECK_TF_OK(s);
    for (int i = 0; i < 5; ++i) {
      if (i < most && i < 4)
        CHECK(buffers[i] && buffers[i]->length == want[i].size &&
              (!want[i].size || !memcmp(buffers[i]->data, want[i].bytes, want[i].size)));
      else CHECK(!buffers[i]);
      TF_DeleteBuffer(buffers[i]);
    }
  }
  END;
}

TEST(what_is_told_of_each) {
  BEGIN;
  static const struct { const char* name; TF_AttrMetadata want;
  } rows[] = {{"i", {0, -1, TF_ATTR_INT, -1}},        {"is", {1, 3, TF_ATTR_INT, -1}},     {"none", {1, 0, TF_ATTR_INT, -1}},
              {"s", {0, -1, TF_ATTR_STRING, 4}},      {"e", {0, -1, TF_ATTR_STRING, 0}},   {"ss", {1, 3, TF_ATTR_STRING, 5}},
              {"sh", {0, -1, TF_ATTR_SHAPE, 2}},      {"sc", {0, -1, TF_ATTR_SHAPE, 0}},   {"un", {0, -1, TF_ATTR_SHAPE, -1}},
              {"shs", {1, 4, TF_ATTR_SHAPE, 3}},      {"b", {0, -1, TF_ATTR_BOOL, -1}},    {"tes", {1, 3, TF_ATTR_TENSOR, -1}},
              {"_first", {1, 0, TF_ATTR_STRING, -1}}, {"_last", {0, -1, TF_ATTR_BOOL, -1}}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    const TF_AttrMetadata m = TF_OperationGetAttrMetadata(op, rows[i].name, s);
    if (!CHECK(CHECK_TF_OK(s) && m.is_list == rows[i].want.is_list && m.list_size == rows[i].want.list_size &&
               m.type == rows[i].want.type && m.total_size == rows[i].want.total_size))
      printf("  %s: %d %lld %d %lld\n", rows[i].name, m.is_list, (long long)m.list_size, (int)m.type, (long long)m.total_size);
  }
  const TF_AttrMetadata none = TF_OperationGetAttrMetadata(op, "absent", s);
  CHECK(CHECK_TF_CODE(s, TF_INVALID_ARGUMENT) && none.is_list == 0 && none.list_size == 0 && none.total_size == 0);
  END;
}

TEST(nothing_is_set_of_nothing) {
  TF_Status* s = TF_NewStatus();
  TF_Graph* g = TF_NewGraph();
  TF_OperationDescription* d = TF_NewOperation(g, "NoOp", "node");
  TF_Tensor* t = help_float(1);
  static const int64_t dim = 1;
  TF_SetAttrTensor(d, "_t", NULL, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  CHECK_HAS(TF_Message(s), "the tensor");
  TF_SetAttrTensor(NULL, "_t", t, s);
  CHECK_HAS(TF_Message(s), "the description");
  TF_SetAttrIntList(NULL, "_is", &dim, 1);
  TF_SetAttrString(NULL, "_s", "x", 1);
  TF_SetAttrShape(NULL, "_sh", &dim, 1);
  TF_SetAttrIntList(d, "_is", NULL, 1); /* the description keeps it until it is finished */
  TF_SetAttrString(d, "_s", "x", 1);
  CHECK(TF_FinishOperation(d, s) == NULL);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  CHECK_HAS(TF_Message(s), "attr '_is': ");
  d = TF_NewOperation(g, "NoOp", "next");
  TF_SetAttrTensorShapeProto(d, "_p", NULL, 5, s);
  CHECK_TF_OK(s);
  TF_SetAttrValueProto(d, "_v", NULL, 5, s);
  TF_SetAttrShape(d, "_sh", NULL, 1);
  CHECK(TF_FinishOperation(d, s) == NULL);
  CHECK_HAS(TF_Message(s), "attr '_sh': ");
  TF_DeleteTensor(t);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
}

TEST_MAIN()
