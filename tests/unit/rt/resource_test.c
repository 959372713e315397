/* SPDX-License-Identifier: Apache-2.0 */
/* The one folder that graphs from elsewhere may touch. */
#define HR_TEST_LEAKS_CHECKED
#include "rt/resource.h"
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "test.h"

static hr_status_t check_path(const hr_resources_t* rs, const char* folder, const char* rest) {
  char path[600];
  snprintf(path, sizeof path, "%s/%s", folder, rest);
  return hr_resources_check_path(rs, path);
}

static void link_to(const char* folder, const char* name, const char* target) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  HR_CHECK(symlink(target, path) == 0);
}

HR_TEST(a_confined_path_stays_below_the_root) {
  char base[] = "confined_XXXXXX", root[512];
  if (!HR_CHECK(mkdtemp(base) != NULL)) return;
  snprintf(root, sizeof root, "%s/root", base);
  HR_CHECK(mkdir(root, 0700) == 0);
  hr_resources_t* rs = hr_resources_create();
  if (!HR_CHECK(rs != NULL)) return;
  HR_CHECK_OK(hr_resources_check_path(rs, "/etc/passwd")); /* not confined yet */
  HR_CHECK_OK(hr_resources_confine(rs, hr_str(root)));
  link_to(root, "out", "..");
  link_to(root, "later", "../not_there_yet");
  link_to(root, "inside", ".");
  static const char* const fine[] = {"", "new", "new/deeper/file", "inside/new", "out/root/new"};
  static const char* const refused[] = {"..", "out", "out/new", "later", "later/", "later/new", "new/../../x", "inside/../../x"};
  for (size_t i = 0; i < sizeof fine / sizeof *fine; ++i) HR_CHECK_OK(check_path(rs, root, fine[i]));
  for (size_t i = 0; i < sizeof refused / sizeof *refused; ++i)
    HR_CHECK_CODE(check_path(rs, root, refused[i]), HR_PERMISSION_DENIED, refused[i]);
  HR_CHECK_CODE(hr_resources_check_path(rs, "/etc/passwd"), HR_PERMISSION_DENIED, "may touch files below");
  hr_resources_release(rs);
  char command[64];
  snprintf(command, sizeof command, "rm -rf %s", base);
  HR_CHECK(system(command) == 0);
}

HR_TEST(without_a_root_no_file_may_be_touched) {
  hr_resources_t* rs = hr_resources_create();
  if (!HR_CHECK(rs != NULL)) return;
  HR_CHECK_OK(hr_resources_confine(rs, HR_STR("")));
  HR_CHECK_CODE(hr_resources_check_path(rs, "anything"), HR_PERMISSION_DENIED, "the server has no root folder");
  hr_resources_release(rs);
}

HR_TEST(a_name_that_only_begins_like_the_root_is_outside) {
  char base[] = "confined_XXXXXX", root[512], beside[512];
  if (!HR_CHECK(mkdtemp(base) != NULL)) return;
  snprintf(root, sizeof root, "%s/root", base);
  snprintf(beside, sizeof beside, "%s/rooted", base);
  HR_CHECK(mkdir(root, 0700) == 0 && mkdir(beside, 0700) == 0);
  hr_resources_t* rs = hr_resources_create();
  if (!HR_CHECK(rs != NULL)) return;
  HR_CHECK_OK(hr_resources_confine(rs, hr_str(root)));
  HR_CHECK_OK(hr_resources_check_path(rs, root));
  HR_CHECK_CODE(hr_resources_check_path(rs, beside), HR_PERMISSION_DENIED, "below");
  HR_CHECK_CODE(check_path(rs, beside, "new"), HR_PERMISSION_DENIED, "below");
  hr_resources_release(rs);
  HR_CHECK(rmdir(root) == 0 && rmdir(beside) == 0 && rmdir(base) == 0);
}

HR_TEST(paths_without_a_folder_are_of_the_one_we_are_in) {
  hr_resources_t *here = hr_resources_create(), *all = hr_resources_create(), *none = hr_resources_create();
  if (!HR_CHECK(here && all && none)) return;
  HR_CHECK_OK(hr_resources_confine(here, HR_STR(".")));
  static const char* const fine[] = {"nothing_there", "nothing_there/deeper", ".", "./nothing_there", ""};
  static const char* const refused[] = {"..", "../nothing_there", "nothing_there/../..", "/", "/nothing_there", "/nothing_there/deeper"};
  for (size_t i = 0; i < sizeof fine / sizeof *fine; ++i) HR_CHECK_OK(hr_resources_check_path(here, fine[i]));
  for (size_t i = 0; i < sizeof refused / sizeof *refused; ++i)
    HR_CHECK_CODE(hr_resources_check_path(here, refused[i]), HR_PERMISSION_DENIED, "below");
  HR_CHECK_OK(hr_resources_confine(all, HR_STR("/")));
  static const char* const anywhere[] = {"/", "/nothing_there", "/nothing_there/deeper", "nothing_there"};
  for (size_t i = 0; i < sizeof anywhere / sizeof *anywhere; ++i) HR_CHECK_OK(hr_resources_check_path(all, anywhere[i]));
  HR_CHECK_CODE(hr_resources_confine(none, HR_STR("/nowhere/at/all")), HR_NOT_FOUND, "/nowhere/at/all");
  hr_resources_release(here);
  hr_resources_release(all);
  hr_resources_release(none);
}

HR_TEST_MAIN()
