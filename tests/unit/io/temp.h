/* SPDX-License-Identifier: Apache-2.0 */
/* A folder of this test program's own, emptied at the start: temp_path("x") is a file in it. */
#ifndef HR_TESTS_UNIT_IO_TEMP_H
#define HR_TESTS_UNIT_IO_TEMP_H
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define GOLDEN HR_TEST_SOURCE_DIR "/tests/golden/files/"

static char temp_folder[512];
static void temp_remove(void) {
  char command[600];
  snprintf(command, sizeof command, "rm -r '%s'", temp_folder);
  if (system(command) != 0) fprintf(stderr, "cannot remove %s\n", temp_folder);
}
static inline const char* temp_path(const char* name) { /* good until the eighth next call */
  static char paths[8][700];
  static int next;
  if (!*temp_folder) {
    snprintf(temp_folder, sizeof temp_folder, "%s/headrace_io_XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    if (!mkdtemp(temp_folder)) abort();
    atexit(temp_remove);
  }
  char* path = paths[next++ % 8];
  snprintf(path, 700, "%s/%s", temp_folder, name);
  return path;
}
#endif
