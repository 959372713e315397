/* SPDX-License-Identifier: Apache-2.0 */
/* libtensorflow.so.2 and libtensorflow_framework.so.2, opened by name as foreign clients do: every function is there and is ours. */
#include <dlfcn.h>

#include "help.h"

static void shim_check(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    test_fail(__FILE__, __LINE__, "%s", dlerror());
    return;
  }
#define HR_SHIM(name) CHECK(dlsym(library, #name) != NULL);
#include "../../src/capi/shim.def"
#undef HR_SHIM
  const char* (*version)(void);
  *(void**)&version = dlsym(library, "TF_Version");
  CHECK(version == TF_Version);
  CHECK_HAS(version(), "headrace");
  dlclose(library);
}

TEST(tensorflow) { shim_check(HR_TEST_BUILD_DIR "/lib/libtensorflow.so.2"); }
TEST(tensorflow_framework) { shim_check(HR_TEST_BUILD_DIR "/lib/libtensorflow_framework.so.2"); }
TEST_MAIN()
