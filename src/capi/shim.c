/* SPDX-License-Identifier: Apache-2.0 */
/* libtensorflow.so.2 and libtensorflow_framework.so.2: names without code.
 *
 * Linkers look for a function in the library they are given, so each name is defined here. The loader then puts libheadrace.so before
 * this object (DT_AUXILIARY: shim.map has the link flag), so every call, and every dlsym, reaches the function there. The definitions
 * below run only where that object could not be found, or is another one: then nothing works, and the process says why. */
#include <stdio.h>
#include <stdlib.h>

static __attribute__((noinline, noreturn, cold)) void shim_fail(const char* name) {
  fprintf(stderr, "%s: libheadrace.so.0 was not found beside this library\n", name);
  abort();
}

#define HR_SHIM(name)                                                \
  __attribute__((visibility("default"))) void name(void);           \
  void name(void) { shim_fail(#name); }
#include "capi/shim.def"
