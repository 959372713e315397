/* SPDX-License-Identifier: Apache-2.0 */
/* SavedModels that TensorFlow 2.21 wrote (tests/golden/files): variables restored, the asset fed, the table filled by the main op, both
 * signatures; training goes on where it stopped. What is missing or damaged is a status. */
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "help.h"

#define FILES HR_TEST_SOURCE_DIR "/tests/golden/files/"

typedef struct {
  TF_Status* s;
  TF_Graph* g;
  TF_Session* session;
  TF_Buffer* meta;
} model_t;

static bool model_open(model_t* m, const char* dir) {
  static const char* const tags[] = {"serve"};
  m->s = TF_NewStatus();
  m->g = TF_NewGraph();
  m->meta = TF_NewBuffer();
  m->session = TF_LoadSessionFromSavedModel(NULL, NULL, dir, tags, 1, m->g, m->meta, m->s);
  return m->session != NULL;
}
static void model_close(model_t* m) {
  if (m->session) TF_DeleteSession(m->session, m->s);
  TF_DeleteBuffer(m->meta);
  TF_DeleteGraph(m->g);
  TF_DeleteStatus(m->s);
}
static TF_Output model_output(model_t* m, const char* op) { return (TF_Output){TF_GraphOperationByName(m->g, op), 0}; }

/* Feeds (taken) and fetches by operation; targets may be NULL. */
static TF_Tensor* model_run(model_t* m, int count, const char* const* names, TF_Tensor** take, const char* fetch, const char* target) {
  TF_Output in[4], out = {NULL, 0};
  TF_Tensor* value = NULL;
  const TF_Operation* op = target ? TF_GraphOperationByName(m->g, target) : NULL;
  for (int i = 0; i < count; ++i) in[i] = model_output(m, names[i]);
  if (fetch) out = model_output(m, fetch);
  TF_SessionRun(m->session, NULL, in, take, count, &out, &value, fetch ? 1 : 0, &op, target ? 1 : 0, NULL, m->s);
  for (int i = 0; i < count; ++i) TF_DeleteTensor(take[i]);
  CHECK_TF_OK(m->s);
  return value;
}

static TF_Tensor* words_tensor(int64_t count, const char* const* words) {
  TF_Tensor* t = TF_AllocateTensor(TF_STRING, &count, 1, (size_t)count * sizeof(TF_TString));
  for (int64_t i = 0; i < count; ++i) {
    TF_TString* s = (TF_TString*)TF_TensorData(t) + i;
    TF_StringInit(s);
    TF_StringCopy(s, words[i], strlen(words[i]));
  }
  return t;
}
static TF_Tensor* longs_tensor(int64_t count, const int64_t* values) {
  TF_Tensor* t = TF_AllocateTensor(TF_INT64, &count, 1, (size_t)count * sizeof *values);
  memcpy(TF_TensorData(t), values, (size_t)count * sizeof *values);
  return t;
}

TEST(variables_asset_table_and_main_op) {
  static const float x[] = {0.1f, 0.2f, 0.3f, 1, -1, 0}, y[] = {0.3543436825f, 0.6456562877f, 0.5f, 0.5f};
  static const char *const words[] = {"blue", "red", "pink"}, *const names[] = {"x", "words"};
  static const int64_t ids[] = {2, 0, 3}, dims[] = {2, 3};
  model_t m;
  if (CHECK(model_open(&m, FILES "saved_model_tf1"))) {
    TF_Tensor* in = help_floats(dims, 2, x);
    TF_Tensor* got = model_run(&m, 1, names, &in, "y", NULL);
    if (CHECK(got && TF_TensorElementCount(got) == 4))
      for (int i = 0; i < 4; ++i) CHECK_NEAR(((float*)TF_TensorData(got))[i], y[i], 1e-6);
    TF_DeleteTensor(got);
    in = words_tensor(3, words);
    got = model_run(&m, 1, names + 1, &in, "hash_table_Lookup/SelectV2", NULL);
    if (CHECK(got && TF_TensorElementCount(got) == 3))
      for (int i = 0; i < 3; ++i) CHECK_INT(((int64_t*)TF_TensorData(got))[i], ids[i]);
    TF_DeleteTensor(got);
    CHECK(m.meta->length > 1000);
  } else {
    CHECK_TF_OK(m.s);
  }
  model_close(&m);
}

TEST(a_network_is_restored_and_trains_on) {
  static const float x[] = {1.6243454f, -0.6117564f, -0.5281718f, -1.0729686f, 0.86540765f, -2.3015387f, 1.7448118f, -0.7612069f};
  static const float p[] = {0.16840854f, 0.40078032f, 0.43081114f, 0.16291249f, 0.13957278f, 0.6975147f};
  static const int64_t dims[] = {2, 4}, labels[] = {1, 1};
  static const char* const names[] = {"x", "labels"};
  model_t m;
  if (CHECK(model_open(&m, FILES "saved_model_network"))) {
    TF_Tensor* in[2] = {help_floats(dims, 2, x), NULL};
    TF_Tensor* got = model_run(&m, 1, names, in, "probabilities", NULL);
    if (CHECK(got && TF_TensorElementCount(got) == 6))
      for (int i = 0; i < 6; ++i) CHECK_NEAR(((float*)TF_TensorData(got))[i], p[i], 1e-5);
    TF_DeleteTensor(got);
    in[0] = help_floats(dims, 2, x), in[1] = longs_tensor(2, labels);
    got = model_run(&m, 2, names, in, "loss", NULL);
    if (CHECK(got != NULL)) CHECK_NEAR(*(float*)TF_TensorData(got), 1.4417554, 1e-5);
    TF_DeleteTensor(got);
    in[0] = help_floats(dims, 2, x), in[1] = longs_tensor(2, labels);
    CHECK(model_run(&m, 2, names, in, NULL, "train") == NULL); /* Adam's slots were restored too */
    in[0] = help_floats(dims, 2, x), in[1] = longs_tensor(2, labels);
    got = model_run(&m, 2, names, in, "loss", NULL);
    if (CHECK(got != NULL)) CHECK_NEAR(*(float*)TF_TensorData(got), 1.3796821, 1e-5);
    TF_DeleteTensor(got);
    got = model_run(&m, 0, names, in, "global_step", NULL);
    if (CHECK(got != NULL)) CHECK_INT(*(int64_t*)TF_TensorData(got), 4);
    TF_DeleteTensor(got);
  } else {
    CHECK_TF_OK(m.s);
  }
  model_close(&m);
}

/* --- copies of a model, to be damaged ------------------------------------------------------------------------------------------------- */
static char* file_bytes(const char* path, size_t* size) {
  FILE* f = fopen(path, "rb");
  if (!f) return NULL;
  fseek(f, 0, SEEK_END);
  *size = (size_t)ftell(f);
  rewind(f);
  char* bytes = malloc(*size + 1);
  if (!bytes || fread(bytes, 1, *size, f) != *size) CHECK(false);
  fclose(f);
  return bytes;
}
static void file_put(const char* dir, const char* name, const char* bytes, size_t size) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  FILE* f = fopen(path, "wb");
  if (!CHECK(f && fwrite(bytes, 1, size, f) == size)) return;
  fclose(f);
}
static void file_copy(const char* from, const char* dir, const char* name) {
  char path[512];
  size_t size = 0;
  snprintf(path, sizeof path, "%s/%s", from, name);
  char* bytes = file_bytes(path, &size);
  if (CHECK(bytes != NULL)) file_put(dir, name, bytes, size);
  free(bytes);
}
static bool copy_make(char* dir) { /* of saved_model_tf1 */
  char path[512];
  if (!CHECK(mkdtemp(dir) != NULL)) return false;
  snprintf(path, sizeof path, "%s/variables", dir);
  mkdir(path, 0777);
  snprintf(path, sizeof path, "%s/assets", dir);
  mkdir(path, 0777);
  static const char* const names[] = {"saved_model.pb", "assets/vocab.txt", "variables/variables.index",
                                      "variables/variables.data-00000-of-00001"};
  for (int i = 0; i < 4; ++i) file_copy(FILES "saved_model_tf1", dir, names[i]);
  return true;
}
static int copy_remove_one(const char* path, const struct stat* s, int type, struct FTW* f) {
  (void)s, (void)type, (void)f;
  return remove(path);
}
static void copy_remove(const char* dir) { nftw(dir, copy_remove_one, 8, FTW_DEPTH | FTW_PHYS); }

static TF_Code copy_load(const char* dir) {
  model_t m;
  model_open(&m, dir);
  TF_Code code = TF_GetCode(m.s);
  model_close(&m);
  return code;
}
static void copy_lose(const char* dir, const char* name) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  CHECK(remove(path) == 0);
}

TEST(what_is_missing_is_said) {
  char dir[] = "/tmp/saved_model_XXXXXX";
  if (!copy_make(dir)) return;
  CHECK_INT(copy_load(dir), TF_OK); /* the asset and the variables are those of this folder */
  copy_lose(dir, "assets/vocab.txt");
  CHECK_INT(copy_load(dir), TF_NOT_FOUND);
  file_copy(FILES "saved_model_tf1", dir, "assets/vocab.txt");
  copy_lose(dir, "variables/variables.data-00000-of-00001");
  CHECK_INT(copy_load(dir), TF_NOT_FOUND);
  file_put(dir, "variables/variables.data-00000-of-00001", "", 0);
  CHECK(copy_load(dir) != TF_OK);
  copy_lose(dir, "variables/variables.index"); /* without one the model is loaded, its variables have no values */
  CHECK_INT(copy_load(dir), TF_OK);
  copy_lose(dir, "saved_model.pb");
  CHECK_INT(copy_load(dir), TF_NOT_FOUND);
  copy_remove(dir);
}

TEST(a_damaged_model_is_a_status) {
  char dir[] = "/tmp/saved_model_XXXXXX";
  size_t size = 0, refused = 0, tried = 0;
  char* bytes = file_bytes(FILES "saved_model_tf1/saved_model.pb", &size);
  REQUIRE(bytes != NULL);
  if (!copy_make(dir)) size = 0;
  for (size_t cut = 0; cut < size; cut += cut < 200 ? 23 : size / 40, ++tried) { /* cut short */
    file_put(dir, "saved_model.pb", bytes, cut);
    refused += copy_load(dir) != TF_OK;
  }
  CHECK_INT(refused, tried);
  unsigned random = 7;
  for (int i = 0; i < 150; ++i) { /* changed bytes: any status will do, if it comes */
    char* copy = malloc(size);
    memcpy(copy, bytes, size);
    for (int j = 0; j < 1 + i % 4; ++j) {
      random = random * 1103515245u + 12345u;
      const size_t at = (random >> 8) % size;
      random = random * 1103515245u + 12345u;
      copy[at] = (char)(random >> 16);
    }
    file_put(dir, "saved_model.pb", copy, size);
    CHECK(copy_load(dir) <= TF_UNAUTHENTICATED);
    free(copy);
  }
  free(bytes);
  copy_remove(dir);
}
TEST_MAIN()
