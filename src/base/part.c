/* SPDX-License-Identifier: Apache-2.0 */
/* A part is looked for where this library lies, then by the loader's own rules (a program that holds the library's objects itself). */
#include "base/part.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* The path of an object beside the one that holds this function; false when it does not fit or is not known. */
static bool find_beside(const char* file, char* path, size_t size) {
  Dl_info info;
  hr_status_t (*here)(const char*, const char*, const char*, void**) = hr_part_open;
  void* address;
  memcpy(&address, &here, sizeof address);
  if (!dladdr(address, &info) || !info.dli_fname) return false;
  const char* slash = strrchr(info.dli_fname, '/');
  const int folder = slash ? (int)(slash - info.dli_fname) + 1 : 0;
  return snprintf(path, size, "%.*s%s", folder, info.dli_fname, file) < (int)size;
}

hr_status_t hr_part_open(const char* file, const char* path, const char* symbol, void** out) {
  char beside[4096];
  *out = NULL;
  if (path && !strcmp(path, "none")) return HR_ERROR(UNAVAILABLE, "'none' was asked for in place of %s", file);
  if (!path || !*path) path = find_beside(file, beside, sizeof beside) ? beside : file;
  void* object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!object && path == beside) object = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!object) {
    const char* why = dlerror();
    return HR_ERROR(UNAVAILABLE, "cannot open %s: %s", file, why ? why : "the loader does not say why");
  }
  *out = dlsym(object, symbol);
  if (*out) return NULL;
  dlclose(object);
  return HR_ERROR(UNAVAILABLE, "'%s' has no %s", path, symbol);
}
