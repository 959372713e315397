/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the library under test; see api.h. */
#include "golden/api.h"
#include <dlfcn.h>
#include <stdio.h>

golden_api_t api;

int golden_api_open(char** libraries, int count) {
  void* library = NULL;
  int missing = 0;
  for (int i = 0; i < count; i++) {
    library = dlopen(libraries[i], RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
      printf("golden: %s\n", dlerror());
      return 0;
    }
  }
#define GOLDEN_API_TAKE(name)                                     \
  *(void**)&api.name = dlsym(library, #name);                     \
  if (!api.name) missing += printf("golden: no %s\n", #name) > 0;
  GOLDEN_API(GOLDEN_API_TAKE)
#undef GOLDEN_API_TAKE
  return !missing;
}
