/* SPDX-License-Identifier: Apache-2.0 */
/* A SavedModel without variables, written here as text: tags, signatures, the initialiser, bad requests. */
#include <unistd.h>

#include "help.h"

static const char model_text[] =
    "saved_model_schema_version: 1\n"
    "meta_graphs { meta_info_def { tags: 'train' } graph_def { } }\n"
    "meta_graphs {\n"
    "  meta_info_def { tags: 'serve' }\n"
    "  graph_def {\n"
    "    node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }\n"
    "    node { name: 'y' op: 'Square' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } }\n"
    "    node { name: 'init' op: 'NoOp' }\n"
    "    versions { producer: 1882 }\n"
    "  }\n"
    "  collection_def { key: 'saved_model_main_op' value { node_list { value: 'init' } } }\n"
    "}\n";

static bool model_write(char* dir) {
  char path[64];
  if (!mkdtemp(dir)) return false;
  snprintf(path, sizeof path, "%s/saved_model.pbtxt", dir);
  FILE* f = fopen(path, "w");
  return f && fputs(model_text, f) >= 0 && fclose(f) == 0;
}

static void model_remove(const char* dir) {
  char path[64];
  snprintf(path, sizeof path, "%s/saved_model.pbtxt", dir);
  CHECK(remove(path) == 0 && rmdir(dir) == 0);
}

TEST(a_model_is_loaded_and_run) {
  char dir[] = "/tmp/saved_model_XXXXXX";
  REQUIRE(model_write(dir));
  TF_Status* s = TF_NewStatus();
  TF_Graph *g = TF_NewGraph(), *h = TF_NewGraph();
  TF_Buffer* meta = TF_NewBuffer();
  const char *serve[] = {"serve"}, *both[] = {"serve", "train"};
  TF_Session* session = TF_LoadSessionFromSavedModel(NULL, NULL, dir, serve, 1, g, meta, s);
  if (CHECK_TF_OK(s)) {
    TF_Output x = {TF_GraphOperationByName(g, "x"), 0}, y = {TF_GraphOperationByName(g, "y"), 0};
    CHECK(meta->length > 0);
    CHECK_NEAR(help_run(session, x, help_float(3), y, s), 9, 0);
    TF_DeleteSession(session, s);
  }
  CHECK(TF_LoadSessionFromSavedModel(NULL, NULL, dir, serve, 1, g, NULL, s) == NULL); /* the graph is not empty */
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_Graph* twice = TF_NewGraph();
  const char* same[] = {"serve", "serve"}; /* tags are a set */
  session = TF_LoadSessionFromSavedModel(NULL, NULL, dir, same, 2, twice, NULL, s);
  if (CHECK_TF_OK(s)) TF_DeleteSession(session, s);
  TF_DeleteGraph(twice);
  const char* none[] = {"serve", NULL};
  CHECK(TF_LoadSessionFromSavedModel(NULL, NULL, dir, none, 2, h, NULL, s) == NULL);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  CHECK(TF_LoadSessionFromSavedModel(NULL, NULL, dir, serve, 1, h, meta, s) == NULL); /* nor is the buffer */
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  CHECK(TF_LoadSessionFromSavedModel(NULL, NULL, dir, both, 2, h, NULL, s) == NULL);
  CHECK_TF_CODE(s, TF_NOT_FOUND);
  CHECK_HAS(TF_Message(s), "serve, train");
  CHECK(TF_LoadSessionFromSavedModel(NULL, NULL, dir, NULL, 0, h, NULL, s) == NULL);
  CHECK_TF_CODE(s, TF_NOT_FOUND);
  TF_DeleteBuffer(meta);
  TF_DeleteGraph(g);
  TF_DeleteGraph(h);
  TF_DeleteStatus(s);
  model_remove(dir);
}
TEST_MAIN()
