/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries that bring devices. Their code is never unloaded: devices live as long as the process. */
#include <dlfcn.h>

#include "capi/handles.h"
#include "headrace/session.h"
#include "rt/device_table.h"

void HR_RegisterDevice(const struct HR_DeviceTable* table, TF_Status* status) { hr_capi_report(status, hr_device_table_register(table)); }

static hr_status_t open_library(const char* path) {
  if (!path || !*path) return HR_ERROR(INVALID_ARGUMENT, "no path of a device library is given");
  void* code = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!code) return HR_ERROR(NOT_FOUND, "cannot open device library '%s': %s", path, dlerror());
  HR_InitDeviceFn init;
  *(void**)&init = dlsym(code, "HR_InitDevice");
  hr_status_t status = init ? hr_device_table_register(init()) : HR_ERROR(NOT_FOUND, "'%s' has no function HR_InitDevice", path);
  if (status) dlclose(code);
  return status;
}

void HR_LoadDeviceLibrary(const char* path, TF_Status* status) { hr_capi_report(status, open_library(path)); }
