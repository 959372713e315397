/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoint ops: hostile arguments and files, and saves that fail. */
#include <signal.h>
#include <sys/resource.h>
#include "base/file.h"
#include "session/session.h"
#include "unit/exec/maker.h"
#include "unit/io/temp.h"

typedef struct {
  hr_graph_t* g;
  hr_session_t* s;
  hr_value_t prefix, names, specs, value, save, restore;
} fixture_t;

static void fixture_open(fixture_t* f) {
  static const int32_t f32 = HR_F32;
  hr_named_attr_t types[] = {hr_at_types("dtypes", &f32, 1)};
  f->g = maker_graph();
  f->prefix = maker_placeholder(f->g, "prefix", HR_STRING, NULL);
  f->names = maker_placeholder(f->g, "names", HR_STRING, NULL);
  f->specs = maker_placeholder(f->g, "specs", HR_STRING, NULL);
  f->value = maker_placeholder(f->g, "value", HR_F32, NULL);
  hr_value_t in[] = {f->prefix, f->names, f->specs, f->value};
  f->save = maker_node(f->g, "SaveV2", "save", 4, in, 1, types);
  f->restore = maker_node(f->g, "RestoreV2", "restore", 3, in, 1, types);
  maker_must(hr_session_create(f->g, NULL, &f->s), "a session");
}
static void fixture_close(fixture_t* f) {
  hr_session_destroy(f->s);
  hr_graph_destroy(f->g);
}

static hr_tensor_t text(const char* s) {
  hr_tensor_t t = {0};
  maker_must(hr_tensor_from_str(hr_str(s), &t), "a string");
  return t;
}
static hr_tensor_t texts(int64_t n, const char* each) {
  const hr_shape_t shape = hr_shape_vector(n);
  hr_tensor_t t = {0};
  maker_must(hr_tensor_create(HR_STRING, &shape, &t), "strings");
  for (int64_t i = 0; i < n; ++i) maker_must(hr_tstring_set((hr_tstring_t*)t.data + i, hr_str(each)), "a string");
  return t;
}

/* Takes the tensors. */
static hr_status_t save_with(fixture_t* f, hr_tensor_t prefix, hr_tensor_t names, hr_tensor_t specs, hr_tensor_t value) {
  hr_value_t feeds[] = {f->prefix, f->names, f->specs, f->value};
  hr_tensor_t values[] = {prefix, names, specs, value};
  hr_node_t* target = f->save.node;
  hr_run_t run = {.feeds = feeds, .feed_values = values, .feed_count = 4, .targets = &target, .target_count = 1};
  hr_status_t status = hr_session_run(f->s, NULL, &run, NULL, NULL, NULL);
  for (int i = 0; i < 4; ++i) hr_tensor_release(&values[i]);
  return status;
}
static hr_status_t restore_with(fixture_t* f, hr_tensor_t prefix, hr_tensor_t names, hr_tensor_t specs, float* first) {
  hr_value_t feeds[] = {f->prefix, f->names, f->specs};
  hr_tensor_t values[] = {prefix, names, specs}, out = {0};
  hr_run_t run = {.feeds = feeds, .feed_values = values, .feed_count = 3, .fetches = &f->restore, .fetch_count = 1};
  hr_status_t status = hr_session_run(f->s, NULL, &run, &out, NULL, NULL);
  if (!status) *first = maker_get(&out);
  hr_tensor_release(&out);
  for (int i = 0; i < 3; ++i) hr_tensor_release(&values[i]);
  return status;
}
static hr_status_t save(fixture_t* f, const char* prefix, hr_tensor_t value) {
  return save_with(f, text(prefix), texts(1, "x"), texts(1, ""), value);
}
static hr_status_t restore(fixture_t* f, const char* prefix, float* first) {
  return restore_with(f, text(prefix), texts(1, "x"), texts(1, ""), first);
}

HR_TEST(lists_that_do_not_match_are_refused) { /* B85 */
  fixture_t f;
  float v;
  const char* p = temp_path("lists");
  fixture_open(&f);
  HR_CHECK_CODE(restore_with(&f, text(p), texts(0, ""), texts(0, ""), &v), HR_INVALID_ARGUMENT, "tensor names");
  HR_CHECK_CODE(restore_with(&f, text(p), texts(1, "x"), texts(0, ""), &v), HR_INVALID_ARGUMENT, "slices");
  HR_CHECK_CODE(restore_with(&f, texts(0, p), texts(1, "x"), texts(1, ""), &v), HR_INVALID_ARGUMENT, "prefix");
  HR_CHECK_CODE(save_with(&f, text(p), texts(1, "x"), texts(0, ""), maker_f32(1)), HR_INVALID_ARGUMENT, "slices");
  HR_CHECK_CODE(save_with(&f, text(p), texts(3, "x"), texts(3, ""), maker_f32(1)), HR_INVALID_ARGUMENT, "3 tensor names");
  HR_CHECK_CODE(save_with(&f, text(p), text("x"), texts(1, ""), maker_f32(1)), HR_INVALID_ARGUMENT, "tensor_names");
  HR_CHECK_CODE(save_with(&f, texts(2, p), texts(1, "x"), texts(1, ""), maker_f32(1)), HR_INVALID_ARGUMENT, "prefix");
  HR_CHECK_CODE(save_with(&f, text(""), texts(1, "x"), texts(1, ""), maker_f32(1)), HR_INVALID_ARGUMENT, "prefix");
  HR_CHECK(!hr_file_exists(temp_path("lists.index")));
  fixture_close(&f);
}

static void damage(const char* path, int64_t at) { /* flips a bit; at < 0: cuts the file to -at bytes */
  char* data = NULL;
  size_t size = 0;
  HR_REQUIRE_OK(hr_file_read(path, &data, &size));
  if (at < 0) size = (size_t)-at;
  else data[at] ^= 1;
  HR_CHECK_OK(hr_file_replace(path, data, size));
  hr_free(data);
}

HR_TEST(wrong_and_damaged_files_are_told) { /* B83 */
  fixture_t f;
  float v;
  fixture_open(&f);
  HR_REQUIRE_OK(save(&f, temp_path("a"), maker_vec(8, 1)));
  HR_CHECK_OK(restore(&f, temp_path("a"), &v));
  HR_CHECK_EQ_F64(v, 1);
  HR_CHECK_CODE(restore(&f, temp_path("a.data-00000-of-00001"), &v), HR_DATA_LOSS, ""); /* the data file, taken for one of version 1 */
  damage(temp_path("a.data-00000-of-00001"), 5);
  HR_CHECK_CODE(restore(&f, temp_path("a"), &v), HR_DATA_LOSS, "checksum");
  HR_CHECK_OK(hr_file_remove(temp_path("a.data-00000-of-00001")));
  HR_CHECK_CODE(restore(&f, temp_path("a"), &v), HR_NOT_FOUND, "");
  damage(temp_path("a.index"), -10);
  HR_CHECK_CODE(restore(&f, temp_path("a"), &v), HR_DATA_LOSS, "");
  fixture_close(&f);
}

HR_TEST(a_save_that_fails_leaves_the_checkpoint_before) {
  fixture_t f;
  float v = 0;
  struct rlimit before, small;
  fixture_open(&f);
  HR_REQUIRE_OK(save(&f, temp_path("keep"), maker_vec(8, 3)));
  HR_REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  signal(SIGXFSZ, SIG_IGN);
  small = before;
  small.rlim_cur = 100000;
  HR_REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0); /* a disk that is full after 100 kB */
  hr_status_t status = save(&f, temp_path("keep"), maker_vec(1 << 20, 5));
  HR_REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
  HR_CHECK(status != NULL);
  hr_status_release(status);
  HR_CHECK_OK(restore(&f, temp_path("keep"), &v));
  HR_CHECK_EQ_F64(v, 3);
  HR_CHECK_OK(save(&f, temp_path("keep"), maker_vec(1 << 20, 5))); /* and there is room again */
  HR_CHECK_OK(restore(&f, temp_path("keep"), &v));
  HR_CHECK_EQ_F64(v, 5);
  fixture_close(&f);
}

HR_TEST_MAIN()
