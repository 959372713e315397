/* SPDX-License-Identifier: Apache-2.0 */
/* Damaged, missing and unwritable checkpoints: every one is an error that says which file and what is wrong, and a save that fails leaves
 * the checkpoint before it whole. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "bug.h"

static const char files_dir[] = "bugs_files";

typedef struct {
  bug_t b;
  TF_Output prefix, value, save, restore;
} files_rig_t;

/* One tensor "w" of n floats saved at and restored from the fed prefix. */
static files_rig_t files_open(void) {
  TF_DataType type = TF_FLOAT;
  files_rig_t r = {.b = bug_open(false)};
  bug_t* b = &r.b;
  r.prefix = help_placeholder(b->g, "prefix", TF_STRING, b->s);
  r.value = help_placeholder(b->g, "w", TF_FLOAT, b->s);
  TF_Output names = bug_value(b, "string[1] w"),
            slices = help_const(b->g, "slices", TF_AllocateTensor(TF_STRING, (int64_t[]){1}, 1, sizeof(TF_TString)), b->s);
  TF_OperationDescription* d = bug_begin(b, "SaveV2", "");
  TF_AddInput(d, r.prefix);
  TF_AddInput(d, names);
  TF_AddInput(d, slices);
  TF_AddInputList(d, &r.value, 1);
  r.save = (TF_Output){TF_FinishOperation(d, b->s), 0};
  d = bug_begin(b, "RestoreV2", "");
  TF_AddInput(d, r.prefix);
  TF_AddInput(d, names);
  TF_AddInput(d, slices);
  TF_SetAttrTypeList(d, "dtypes", &type, 1);
  r.restore = (TF_Output){TF_FinishOperation(d, b->s), 0};
  CHECK_TF_OK(b->s);
  bug_start(b);
  mkdir(files_dir, 0777);
  return r;
}

static TF_Tensor* files_prefix(const char* name) {
  char text[300];
  snprintf(text, sizeof text, "string[] %s/%s", files_dir, name);
  return text_tensor(text, NULL);
}

static void files_save(files_rig_t* r, const char* name, float first, int64_t count) {
  TF_Tensor *prefix = files_prefix(name), *value = TF_AllocateTensor(TF_FLOAT, &count, 1, (size_t)count * sizeof(float));
  for (int64_t i = 0; i < count; ++i) ((float*)TF_TensorData(value))[i] = first + (float)i;
  const TF_Operation* target = r->save.oper;
  TF_SessionRun(r->b.session, NULL, (TF_Output[]){r->prefix, r->value}, (TF_Tensor*[]){prefix, value}, 2, NULL, NULL, 0, &target, 1, NULL,
                r->b.s);
  TF_DeleteTensor(prefix);
  TF_DeleteTensor(value);
}

/* The first element; NaN on failure. */
static float files_restore(files_rig_t* r, const char* name) {
  TF_Tensor *prefix = files_prefix(name), *out = NULL;
  TF_SessionRun(r->b.session, NULL, &r->prefix, &prefix, 1, &r->restore, &out, 1, NULL, 0, NULL, r->b.s);
  float first = out ? *(float*)TF_TensorData(out) : NAN;
  TF_DeleteTensor(out);
  TF_DeleteTensor(prefix);
  return first;
}

static const char* files_path(const char* name, const char* ending) {
  static char text[300];
  snprintf(text, sizeof text, "%s/%s%s", files_dir, name, ending);
  return text;
}
static const char data_ending[] = ".data-00000-of-00001";

static void files_flip(const char* path, long at) {
  FILE* f = fopen(path, "r+b");
  if (!CHECK(f != NULL)) return;
  fseek(f, at, at < 0 ? SEEK_END : SEEK_SET);
  int c = fgetc(f);
  fseek(f, -1, SEEK_CUR);
  fputc(c ^ 0x20, f);
  fclose(f);
}

TEST(b83_a_checkpoint_that_is_none) {
  files_rig_t r = files_open();
  files_save(&r, "whole", 1, 100);
  CHECK_TF_OK(r.b.s);
  CHECK_NEAR(files_restore(&r, "whole"), 1, 0);
  files_restore(&r, "whole.data-00000-of-00001"); /* the file in place of the prefix */
  CHECK(TF_GetCode(r.b.s) == TF_DATA_LOSS || TF_GetCode(r.b.s) == TF_NOT_FOUND);
  CHECK_HAS(TF_Message(r.b.s), "whole.data-00000-of-00001");
  files_restore(&r, "nowhere");
  CHECK_TF_CODE(r.b.s, TF_NOT_FOUND);
  CHECK_HAS(TF_Message(r.b.s), "nowhere");
  bug_close(&r.b);
}

TEST(b83_a_short_index) {
  files_rig_t r = files_open();
  files_save(&r, "short", 1, 100);
  for (long n = 0; n <= 60; n += 10) {
    CHECK_INT(truncate(files_path("short", ".index"), n), 0);
    files_restore(&r, "short");
    CHECK_TF_CODE(r.b.s, TF_DATA_LOSS);
    CHECK_HAS(TF_Message(r.b.s), "short.index");
  }
  bug_close(&r.b);
}

TEST(b83_a_changed_byte) {
  files_rig_t r = files_open();
  files_save(&r, "flip", 1, 100);
  files_flip(files_path("flip", data_ending), 7);
  files_restore(&r, "flip");
  CHECK_TF_CODE(r.b.s, TF_DATA_LOSS);
  CHECK_HAS(TF_Message(r.b.s), "w"); /* the tensor's name */
  files_save(&r, "flip", 1, 100);
  files_flip(files_path("flip", ".index"), 3);
  files_restore(&r, "flip");
  CHECK(!bug_ok(&r.b));
  files_save(&r, "flip", 1, 100);
  files_flip(files_path("flip", ".index"), -1); /* the magic number */
  files_restore(&r, "flip");
  CHECK_TF_CODE(r.b.s, TF_DATA_LOSS);
  bug_close(&r.b);
}

TEST(b83_missing_or_short_data) {
  files_rig_t r = files_open();
  files_save(&r, "data", 1, 100);
  CHECK_INT(truncate(files_path("data", data_ending), 100), 0);
  files_restore(&r, "data");
  CHECK(TF_GetCode(r.b.s) == TF_DATA_LOSS || TF_GetCode(r.b.s) == TF_OUT_OF_RANGE);
  CHECK_INT(unlink(files_path("data", data_ending)), 0);
  files_restore(&r, "data");
  CHECK(TF_GetCode(r.b.s) == TF_NOT_FOUND || TF_GetCode(r.b.s) == TF_DATA_LOSS);
  CHECK_HAS(TF_Message(r.b.s), "data");
  bug_close(&r.b);
}

static void files_refuse(const char* op, TF_DataType* dtypes, int dtype_count, const char* prefix, const char* names, const char* slices,
                         int tensors) {
  for (int feeds = 0; feeds < 2; ++feeds) {
    bug_t b = bug_open(feeds);
    TF_Output in[3] = {bug_value(&b, prefix), bug_value(&b, names), bug_value(&b, slices)}, values[4];
    for (int i = 0; i < tensors; ++i) values[i] = bug_value(&b, "float[1] 1");
    if (bug_ok(&b)) {
      TF_OperationDescription* d = bug_begin(&b, op, "");
      for (int i = 0; i < 3; ++i) TF_AddInput(d, in[i]);
      if (tensors) TF_AddInputList(d, values, tensors);
      if (dtype_count) TF_SetAttrTypeList(d, "dtypes", dtypes, dtype_count);
      TF_Output node = {TF_FinishOperation(d, b.s), 0};
      if (bug_ok(&b) && TF_OperationNumOutputs(node.oper)) TF_DeleteTensor(bug_fetch(&b, node));
      else if (bug_ok(&b)) bug_target(&b, node);
    }
    CHECK_TF_CODE(b.s, TF_INVALID_ARGUMENT);
    CHECK_HAS(TF_Message(b.s), op);
    bug_close(&b);
  }
}

TEST(b85_lists_of_the_wrong_length) {
  TF_DataType type = TF_FLOAT;
  files_refuse("RestoreV2", &type, 1, "string[] none", "string[0]", "string[0]", 0);
  files_refuse("RestoreV2", &type, 1, "string[2] a b", "string[1] w", "string[1] w", 0);
  files_refuse("SaveV2", NULL, 0, "string[] none", "string[1] w", "string[0]", 3);
  files_refuse("SaveV2", NULL, 0, "string[2] a b", "string[1] w", "string[1] w", 1);
}

TEST(a_full_disk_leaves_the_checkpoint_before_it) {
  files_rig_t r = files_open();
  struct rlimit before, small;
  files_save(&r, "full", 1, 1000);
  CHECK_TF_OK(r.b.s);
  signal(SIGXFSZ, SIG_IGN); /* a write beyond the limit fails in place of ending the process */
  getrlimit(RLIMIT_FSIZE, &before);
  small = before;
  for (rlim_t limit = 0; limit < 400000; limit = limit * 4 + 50) {
    small.rlim_cur = limit;
    setrlimit(RLIMIT_FSIZE, &small);
    files_save(&r, "full", 7, 1000000);
    setrlimit(RLIMIT_FSIZE, &before);
    CHECK(TF_GetCode(r.b.s) == TF_RESOURCE_EXHAUSTED || TF_GetCode(r.b.s) == TF_OUT_OF_RANGE || TF_GetCode(r.b.s) == TF_UNAVAILABLE);
    CHECK_HAS(TF_Message(r.b.s), "full");
    CHECK_NEAR(files_restore(&r, "full"), 1, 0);
    CHECK_TF_OK(r.b.s);
  }
  files_save(&r, "full", 9, 1000000);
  CHECK_TF_OK(r.b.s);
  CHECK_NEAR(files_restore(&r, "full"), 9, 0);
  bug_close(&r.b);
}
TEST_MAIN()
