/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of devices. A local session has one, the CPU. */
#include <unistd.h>

#include "base/hash.h"
#include "capi/handles.h"

struct TF_DeviceList {
  int count;
  int64_t memory_bytes;
  uint64_t incarnation; /* of this process */
};

TF_DeviceList* TF_SessionListDevices(TF_Session* session, TF_Status* status) {
  TF_DeviceList* list = NULL;
  hr_status_t outcome = session ? NULL : hr_capi_null("the session");
  if (!outcome && !(list = hr_alloc_zero(sizeof *list))) outcome = hr_status_out_of_memory();
  if (list) {
    list->count = 1;
    list->memory_bytes = INT64_C(256) << 20; /* TensorFlow's figure for a CPU, whatever the machine has */
    list->incarnation = hr_hash_mix((uint64_t)getpid(), 0x68656164) | 1;
  }
  hr_capi_report(status, outcome);
  return list;
}

void TF_DeleteDeviceList(TF_DeviceList* list) { hr_free(list); }
int TF_DeviceListCount(const TF_DeviceList* list) { return list ? list->count : 0; }

static bool device_is_there(const TF_DeviceList* list, int index, TF_Status* status) {
  bool there = list && index >= 0 && index < list->count;
  hr_capi_report(status, there ? NULL : HR_ERROR(INVALID_ARGUMENT, "there is no device %d in a list of %d", index,
                 TF_DeviceListCount(list)));
  return there;
}

const char* TF_DeviceListName(const TF_DeviceList* list, int index, TF_Status* status) {
  return device_is_there(list, index, status) ? "/job:localhost/replica:0/task:0/device:CPU:0" : NULL;
}
const char* TF_DeviceListType(const TF_DeviceList* list, int index, TF_Status* status) { return device_is_there(list, index,
                              status) ? "CPU" : NULL; }
int64_t TF_DeviceListMemoryBytes(const TF_DeviceList* list, int index, TF_Status* status) {
  return device_is_there(list, index, status) ? list->memory_bytes : -1;
}
uint64_t TF_DeviceListIncarnation(const TF_DeviceList* list, int index, TF_Status* status) {
  return device_is_there(list, index, status) ? list->incarnation : 0;
}
