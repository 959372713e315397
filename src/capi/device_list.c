/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of a session's devices: a share of the session's set. */
#include "capi/handles.h"

struct TF_DeviceList {
  hr_device_set_t* devices;
};

TF_DeviceList* TF_SessionListDevices(TF_Session* session, TF_Status* status) {
  TF_DeviceList* list = NULL;
  hr_status_t outcome = session ? NULL : hr_capi_null("the session");
  if (!outcome && !(list = hr_alloc_zero(sizeof *list))) outcome = hr_status_out_of_memory();
  if (!outcome) outcome = hr_session_list_devices(session->session, &list->devices);
  if (outcome) {
    hr_free(list);
    list = NULL;
  }
  hr_capi_report(status, outcome);
  return list;
}

void TF_DeleteDeviceList(TF_DeviceList* list) {
  if (list) hr_device_set_release(list->devices);
  hr_free(list);
}

int TF_DeviceListCount(const TF_DeviceList* list) { return list ? list->devices->count : 0; }

static const hr_device_t* device_at(const TF_DeviceList* list, int index, TF_Status* status) {
  const bool there = list && index >= 0 && index < list->devices->count;
  hr_capi_report(status, there ? NULL : HR_ERROR(INVALID_ARGUMENT, "there is no device %d in a list of %d", index,
                 TF_DeviceListCount(list)));
  return there ? list->devices->devices[index] : NULL;
}

const char* TF_DeviceListName(const TF_DeviceList* list, int index, TF_Status* status) {
  const hr_device_t* d = device_at(list, index, status);
  return d ? d->name : NULL;
}
const char* TF_DeviceListType(const TF_DeviceList* list, int index, TF_Status* status) {
  const hr_device_t* d = device_at(list, index, status);
  return d ? d->type : NULL;
}
int64_t TF_DeviceListMemoryBytes(const TF_DeviceList* list, int index, TF_Status* status) {
  const hr_device_t* d = device_at(list, index, status);
  return d ? d->memory_limit : -1;
}
uint64_t TF_DeviceListIncarnation(const TF_DeviceList* list, int index, TF_Status* status) {
  const hr_device_t* d = device_at(list, index, status);
  return d ? d->incarnation : 0;
}
