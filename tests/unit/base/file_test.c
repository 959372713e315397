/* SPDX-License-Identifier: Apache-2.0 */
/* Files in a temporary folder: contents, codes of failures, late write errors, replacement. */
#define HR_TEST_LEAKS_CHECKED
#include "base/file.h"
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>
#include "test.h"

static char folder[64], path[128];
static const char* in_folder(const char* name) {
  if (!*folder) {
    strcpy(folder, "/tmp/headrace-file-test-XXXXXX");
    if (!mkdtemp(folder)) abort();
  }
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

HR_TEST(write_then_read) {
  hr_file_t* f = NULL;
  static char big[200000];
  memset(big, 'b', sizeof big);
  HR_REQUIRE_OK(hr_file_create(in_folder("a"), &f));
  HR_CHECK_OK(hr_file_write(f, "abc", 3));
  HR_CHECK_OK(hr_file_write(f, NULL, 0));
  HR_CHECK_OK(hr_file_write(f, big, sizeof big));
  for (int i = 0; i < 70000; ++i) HR_CHECK_OK(hr_file_write(f, "x", 1));
  HR_CHECK_EQ_I64(hr_file_size(f), 3 + 200000 + 70000);
  HR_CHECK_OK(hr_file_sync(f));
  HR_CHECK_OK(hr_file_close(f));
  HR_REQUIRE_OK(hr_file_append(in_folder("a"), &f));
  HR_CHECK_OK(hr_file_write(f, "end", 3));
  HR_CHECK_OK(hr_file_close(f));
  char* data;
  size_t size;
  HR_REQUIRE_OK(hr_file_read(in_folder("a"), &data, &size));
  HR_CHECK_EQ_I64(size, 3 + 200000 + 70000 + 3);
  HR_CHECK(memcmp(data, "abcb", 4) == 0 && data[3 + 199999] == 'b' && data[200003] == 'x' && strcmp(data + size - 4, "xend") == 0);
  hr_free(data);
  HR_REQUIRE_OK(hr_file_open(in_folder("a"), &f));
  char piece[5] = "";
  HR_CHECK_EQ_I64(hr_file_size(f), size);
  HR_CHECK_OK(hr_file_read_at(f, size - 4, piece, 4));
  HR_CHECK_STR(piece, "xend");
  HR_CHECK_CODE(hr_file_read_at(f, size - 3, piece, 4), HR_OUT_OF_RANGE, "ends after 3");
  HR_CHECK_CODE(hr_file_read_at(f, UINT64_MAX, piece, 4), HR_OUT_OF_RANGE, "past any");
  HR_CHECK_OK(hr_file_read_at(f, size + 5, piece, 0));
  HR_CHECK_CODE(hr_file_write(f, "x", 1), HR_FAILED_PRECONDITION, "to read");
  HR_CHECK_OK(hr_file_close(f));
  HR_CHECK_OK(hr_file_remove(in_folder("a")));
}

HR_TEST(files_without_a_size) {
  char* data;
  size_t size;
  HR_REQUIRE_OK(hr_file_read("/proc/self/status", &data, &size));
  HR_CHECK(size > 600 && strlen(data) == size); /* more than the first read has room for */
  const char* last = strstr(data, "\nnonvoluntary_ctxt_switches:");
  HR_CHECK(last && strchr(last + 1, '\n') == data + size - 1);
  hr_free(data);
  HR_REQUIRE_OK(hr_file_read("/dev/null", &data, &size));
  HR_CHECK(size == 0 && *data == 0);
  hr_free(data);
}

HR_TEST(codes_of_failures) {
  hr_file_t* f = NULL;
  char* data;
  HR_CHECK_CODE(hr_file_read(in_folder("none"), &data, NULL), HR_NOT_FOUND, "none");
  HR_CHECK_CODE(hr_file_open(in_folder("none"), &f), HR_NOT_FOUND, "none");
  HR_CHECK_CODE(hr_file_open(folder, &f), HR_FAILED_PRECONDITION, "directory");
  HR_CHECK_CODE(hr_file_read(folder, &data, NULL), HR_FAILED_PRECONDITION, "");
  HR_CHECK_CODE(hr_file_create(in_folder("no/such"), &f), HR_NOT_FOUND, "");
  HR_CHECK_CODE(hr_file_remove(in_folder("none")), HR_NOT_FOUND, "");
  HR_CHECK_CODE(hr_file_rename(in_folder("none"), "/tmp/x"), HR_NOT_FOUND, "");
  HR_CHECK_CODE(hr_file_error(EACCES, "cannot do", "p"), HR_PERMISSION_DENIED, "cannot do 'p': ");
  HR_CHECK_CODE(hr_file_error(ENOSPC, "x", "p"), HR_RESOURCE_EXHAUSTED, "");
  HR_CHECK_CODE(hr_file_error(EIO, "x", "p"), HR_UNKNOWN, "");
  HR_CHECK_CODE(hr_file_error(123456, "x", "p"), HR_UNKNOWN, "");
}

HR_TEST(late_write_errors_reach_the_close) {
  hr_file_t* f = NULL;
  if (!hr_file_exists("/dev/full")) return;
  HR_REQUIRE_OK(hr_file_append("/dev/full", &f));
  HR_CHECK_OK(hr_file_write(f, "x", 1));
  HR_CHECK_CODE(hr_file_close(f), HR_RESOURCE_EXHAUSTED, "/dev/full");
  HR_REQUIRE_OK(hr_file_append("/dev/full", &f));
  HR_CHECK_OK(hr_file_write(f, "x", 1));
  HR_CHECK_CODE(hr_file_flush(f), HR_RESOURCE_EXHAUSTED, "");
  HR_CHECK_CODE(hr_file_write(f, "x", 1), HR_RESOURCE_EXHAUSTED, ""); /* sticks */
  HR_CHECK_CODE(hr_file_close(f), HR_RESOURCE_EXHAUSTED, "");
  HR_CHECK_OK(hr_file_close(NULL));
}

HR_TEST(folders) {
  HR_CHECK_OK(hr_file_make_dirs(in_folder("x//y/z/")));
  HR_CHECK_OK(hr_file_make_dirs(in_folder("x/y")));
  HR_CHECK(hr_file_exists(in_folder("x/y/z")));
  HR_CHECK_OK(hr_file_make_dirs("/"));
  HR_CHECK_CODE(hr_file_make_dirs(""), HR_INVALID_ARGUMENT, "empty");
  HR_CHECK_OK(hr_file_replace(in_folder("x/file"), "1", 1));
  HR_CHECK_CODE(hr_file_make_dirs(in_folder("x/file/y")), HR_FAILED_PRECONDITION, "");
  HR_CHECK_OK(hr_file_remove(in_folder("x/file")));
  rmdir(in_folder("x/y/z"));
  rmdir(in_folder("x/y"));
  rmdir(in_folder("x"));
}

static hr_status_t replace_and_read(void) {
  char target[128], *data = NULL;
  size_t size;
  strcpy(target, in_folder("r"));
  HR_TRY(hr_file_replace(target, "first", 5));
  HR_TRY(hr_file_replace(target, "two", 3));
  HR_TRY(hr_file_read(target, &data, &size));
  HR_CHECK(size == 3 && strcmp(data, "two") == 0);
  hr_free(data);
  return hr_file_remove(target);
}
HR_TEST(replace_with_every_allocation_failing) { HR_TEST_EVERY_ALLOCATION_FAILS(replace_and_read); }

HR_TEST(offsets_at_the_limit) {
  hr_file_t* f = NULL;
  char byte;
  HR_CHECK_OK(hr_file_replace(in_folder("limits"), "abc", 3));
  HR_REQUIRE_OK(hr_file_open(in_folder("limits"), &f));
  HR_CHECK_CODE(hr_file_read_at(f, INT64_MAX - 1, &byte, 1), HR_OUT_OF_RANGE, "ends after 0");
  HR_CHECK_CODE(hr_file_read_at(f, INT64_MAX, &byte, 1), HR_OUT_OF_RANGE, "past any");
  HR_CHECK_OK(hr_file_read_at(f, INT64_MAX, &byte, 0));
  HR_CHECK_CODE(hr_file_read_at(f, (uint64_t)INT64_MAX + 1, &byte, 0), HR_OUT_OF_RANGE, "past any");
  HR_CHECK_OK(hr_file_close(f));
  HR_CHECK_OK(hr_file_remove(in_folder("limits")));
}

HR_TEST(who_may_read_what_is_made) { /* everybody whom the mask lets, as with any other program */
  static const mode_t masks[] = {0, 022, 077};
  struct stat info;
  for (int i = 0; i < 3; ++i) {
    const mode_t before = umask(masks[i]);
    hr_file_t* f = NULL;
    HR_CHECK_OK(hr_file_create(in_folder("mode"), &f));
    HR_CHECK_OK(hr_file_close(f));
    umask(before);
    HR_CHECK(stat(in_folder("mode"), &info) == 0);
    HR_CHECK_EQ_I64(info.st_mode & 0777, 0666 & ~masks[i]);
    HR_CHECK_OK(hr_file_remove(in_folder("mode")));
  }
}

HR_TEST(nothing_is_left_behind) {
  unlink(in_folder("r"));
  HR_CHECK_EQ_I64(rmdir(folder), 0);
}

HR_TEST_MAIN()
