/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the dense library's object once, when the first kernel asks: HEADRACE_DNN's path, else libheadrace_dnn.so beside this library.
 * It is never closed: kernels on any thread may hold primitives until the process ends. Why it is absent is a debug log line. */
#include "dnn/dnn.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include "base/alloc.h"
#include "base/log.h"
#include "base/options.h"
#include "base/team.h"
#include "base/sync.h"

static hr_once_t dnn_once = HR_ONCE_INIT;
static const hr_dnn_t* dnn_table;

static const hr_dnn_host_t dnn_host = {HR_DNN_ABI, hr_status_create, hr_status_out_of_memory, hr_alloc_aligned, hr_free,
                                       hr_team_run, hr_team_size, hr_team_member, hr_team_is_inside, hr_team_barrier};

/* The path of an object beside the one that holds this function; false when it does not fit or is not known. */
static bool find_dnn_path(char* path, size_t size) {
  Dl_info info;
  const hr_dnn_t* (*here)(void) = hr_dnn;
  void* address;
  memcpy(&address, &here, sizeof address);
  if (!dladdr(address, &info) || !info.dli_fname) return false;
  const char* slash = strrchr(info.dli_fname, '/');
  const int folder = slash ? (int)(slash - info.dli_fname) + 1 : 0;
  return snprintf(path, size, "%.*slibheadrace_dnn.so", folder, info.dli_fname) < (int)size;
}

static void open_dnn(void) {
  char beside[4096];
  const char* path = hr_options()->dnn;
  if (path && !strcmp(path, "none")) return;
  if (!path || !*path) path = find_dnn_path(beside, sizeof beside) ? beside : "libheadrace_dnn.so";
  void* object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!object) {
    hr_log(HR_LOG_DEBUG, "plain kernels serve: %s", dlerror());
    return;
  }
  void* symbol = dlsym(object, HR_DNN_OPEN);
  hr_dnn_open_fn open = NULL;
  memcpy(&open, &symbol, sizeof open);
  const hr_dnn_t* table = open ? open(&dnn_host) : NULL;
  if (table && table->abi == HR_DNN_ABI) {
    dnn_table = table;
    return;
  }
  hr_log(HR_LOG_DEBUG, "plain kernels serve: '%s' %s", path,
         !open ? "has no " HR_DNN_OPEN : "is of another version, or has no engine for this machine");
  dlclose(object);
}

const hr_dnn_t* hr_dnn(void) {
  hr_once_run(&dnn_once, open_dnn);
  return dnn_table;
}
