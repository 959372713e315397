/* SPDX-License-Identifier: Apache-2.0 */
/* SavedModels written here as text: which meta graph the tags choose, which operation initialises, which tensor an asset is fed to. */
#include <sys/stat.h>
#include <unistd.h>
#include "help.h"

/* The graph: init puts the text that is fed to path into variable v, read gives it back. */
static const char graph[] =
    "graph_def { node { name: \"v\" op: \"VarHandleOp\" attr { key: \"dtype\" value { type: DT_STRING } } attr { key: \"shape\" value { "
    "shape { } } } attr { key: \"shared_name\" value { s: \"v\" } } } node { name: \"path\" op: \"Placeholder\" attr { key: \"dtype\" "
    "value { type: DT_STRING } } } node { name: \"init\" op: \"AssignVariableOp\" input: \"v\" input: \"path\" attr { key: \"dtype\" value "
    "{ type: DT_STRING } } } node { name: \"read\" op: \"ReadVariableOp\" input: \"v\" "
    "attr { key: \"dtype\" value { type: DT_STRING } } } }";

typedef struct {
  char dir[64];
  TF_Status* s;
  TF_Graph* g;
  TF_Session* session;
} text_t;

/* Writes meta graphs, each of these tags and fields beside the graph, and loads the one with the tags asked for. */
static void load(text_t* t, int metas, const char* const* tags, const char* const* fields, int count, const char* const* asked) {
  char path[100];
  strcpy(t->dir, "/tmp/headrace-model-XXXXXX");
  t->s = TF_NewStatus();
  t->g = TF_NewGraph();
  t->session = NULL;
  REQUIRE(mkdtemp(t->dir) != NULL);
  snprintf(path, sizeof path, "%s/saved_model.pbtxt", t->dir);
  FILE* f = fopen(path, "w");
  REQUIRE(f != NULL);
  for (int i = 0; i < metas; ++i) fprintf(f, "meta_graphs { meta_info_def { %s } %s %s }\n", tags[i], fields[i], graph);
  fclose(f);
  t->session = TF_LoadSessionFromSavedModel(NULL, NULL, t->dir, asked, count, t->g, NULL, t->s);
  CHECK((t->session != NULL) == (TF_GetCode(t->s) == TF_OK));
  remove(path);
  rmdir(t->dir);
}

static void unload(text_t* t) {
  if (t->session) TF_DeleteSession(t->session, t->s);
  TF_DeleteGraph(t->g);
  TF_DeleteStatus(t->s);
}

/* What v holds, or "" when it was not initialised. */
static void check_holds(text_t* t, const char* want) {
  TF_Output read = {TF_GraphOperationByName(t->g, "read"), 0};
  TF_Tensor* out = NULL;
  char text[128] = "";
  if (!CHECK(t->session != NULL)) return;
  TF_SessionRun(t->session, NULL, NULL, NULL, 0, &read, &out, 1, NULL, 0, NULL, t->s);
  if (out) {
    const TF_TString* s = TF_TensorData(out);
    snprintf(text, sizeof text, "%.*s", (int)TF_StringGetSize(s), TF_StringGetDataPointer(s));
  }
  if (*want) CHECK_TF_OK(t->s);
  else CHECK_TF_CODE(t->s, TF_FAILED_PRECONDITION);
  CHECK_STR(text, want);
  TF_DeleteTensor(out);
}

#define ASSET(tensor) "asset_file_def { tensor_info { name: \"" tensor "\" } filename: \"words.txt\" } "
#define COLLECTION(key, nodes) "collection_def { key: \"" key "\" value { node_list { " nodes " } } } "
#define INIT_SIGNATURE                                                                                                              \
  "signature_def { key: \"__saved_model_init_op\" value { outputs { key: \"other\" value { name: \"nobody\" } } outputs { key: "      \
  "\"__saved_model_init_op\" value { name: \"init\" } } } } "
static const char* const serve[] = {"serve"};

TEST(the_operation_that_initialises) {
  static const struct { const char* fields; TF_Code code; const char* says; bool runs; } rows[] = {
      {ASSET("path:0") INIT_SIGNATURE, TF_OK, "", true},
      {ASSET("path") COLLECTION("saved_model_main_op", "value: \"init\""), TF_OK, "", true},
      {ASSET("path:0") COLLECTION("legacy_init_op", "value: \"init\""), TF_OK, "", true},
      {ASSET("path:0") COLLECTION("saved_model_main_op", "value: \"init\"") COLLECTION("legacy_init_op", "value: \"nobody\""), TF_OK, "",
          true},
      {ASSET("path:0") COLLECTION("legacy_init_op", "value: \"nobody\"") INIT_SIGNATURE, TF_OK, "", true},
      {ASSET("path:0") COLLECTION("another", "value: \"init\""), TF_OK, "", false},
      {ASSET("path:0"), TF_OK, "", false},
      {ASSET("path:0") COLLECTION("saved_model_main_op", "value: \"init\" value: \"init\""), TF_FAILED_PRECONDITION, "names 2 operations",
          false},
      {ASSET("path:0") COLLECTION("legacy_init_op", "value: \"nobody\""), TF_NOT_FOUND, "the node 'nobody'", false},
  };
  static const char* const tags[] = {"tags: \"serve\""};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    text_t t;
    char want[100] = "";
    load(&t, 1, tags, &rows[i].fields, 1, serve);
    if (!CHECK_TF_CODE(t.s, rows[i].code) || !CHECK_HAS(TF_Message(t.s), rows[i].says)) printf("row %d\n", (int)i);
    if (rows[i].runs) snprintf(want, sizeof want, "%s/assets/words.txt", t.dir);
    if (rows[i].code == TF_OK) check_holds(&t, want);
    unload(&t);
  }
}

TEST(the_tensor_that_an_asset_is_fed_to) {
  static const struct { const char* fields; TF_Code code; const char* says; } rows[] = {
      {ASSET("path:1") INIT_SIGNATURE, TF_INVALID_ARGUMENT, "names no endpoint: 'path:1'"},
      {ASSET("path:-1") INIT_SIGNATURE, TF_INVALID_ARGUMENT, "names no endpoint: 'path:-1'"},
      {ASSET("path:x") INIT_SIGNATURE, TF_INVALID_ARGUMENT, "names no endpoint: 'path:x'"},
      {ASSET("nobody:0") INIT_SIGNATURE, TF_NOT_FOUND, "the node 'nobody'"},
      {"collection_def { key: \"saved_model_assets\" value { any_list { value { type_url: \"t\" value: "
       "\"\\012\\010\\012\\006path:0\\022\\011words.txt\" } } } } " INIT_SIGNATURE, TF_OK, ""}, /* as older writers had it */
      {"collection_def { key: \"saved_model_assets\" value { any_list { value { type_url: \"t\" value: "
       "\"\\012\\012\\012\\010nobody:0\" } } } } " ASSET("path:0") INIT_SIGNATURE, TF_OK, ""}, /* the newer way alone counts */
  };
  static const char* const tags[] = {"tags: \"serve\""};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    text_t t;
    char want[100];
    load(&t, 1, tags, &rows[i].fields, 1, serve);
    if (!CHECK_TF_CODE(t.s, rows[i].code) || !CHECK_HAS(TF_Message(t.s), rows[i].says)) printf("row %d\n", (int)i);
    snprintf(want, sizeof want, "%s/assets/words.txt", t.dir);
    if (rows[i].code == TF_OK) check_holds(&t, want);
    unload(&t);
  }
}

TEST(tags_choose_the_meta_graph_that_has_just_them) {
  static const char* const tags[] = {"tags: \"a\"", "tags: \"a\" tags: \"b\"", "", "tags: \"c\" tags: \"c\""};
  static const char* const fields[] = {"", ASSET("path:0") INIT_SIGNATURE, "", ""};
  static const struct { int count; const char* asked[3]; TF_Code code; bool second; } rows[] = {
      {1, {"a"}, TF_OK, false},        {2, {"a", "b"}, TF_OK, true}, {2, {"b", "a"}, TF_OK, true},      {3, {"a", "b", "a"}, TF_OK, true},
      {1, {"b"}, TF_NOT_FOUND, false}, {0, {NULL}, TF_OK, false},    {2, {"a", "a"}, TF_OK, false},     {1, {"c"}, TF_OK, false},
      {2, {"c", "a"}, TF_NOT_FOUND, false}, {3, {"a", "b", "c"}, TF_NOT_FOUND, false}, {1, {NULL}, TF_INVALID_ARGUMENT, false}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    text_t t;
    char want[100] = "";
    load(&t, 4, tags, fields, rows[i].count, rows[i].asked);
    if (!CHECK_TF_CODE(t.s, rows[i].code)) printf("row %d\n", (int)i);
    if (rows[i].second) snprintf(want, sizeof want, "%s/assets/words.txt", t.dir);
    if (rows[i].code == TF_OK) check_holds(&t, want);
    unload(&t);
  }
  const char* many[65];
  for (int i = 0; i < 65; ++i) many[i] = i ? "b" : "a";
  for (int count = 64; count <= 65; ++count) {
    text_t t;
    load(&t, 4, tags, fields, count, many);
    CHECK_TF_CODE(t.s, count == 64 ? TF_OK : TF_INVALID_ARGUMENT);
    unload(&t);
  }
}
TEST_MAIN()
