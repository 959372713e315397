/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the C API that are not there yet: each says so through its status. */
#include "capi/handles.h"

static void later_report(TF_Status* status, const char* what) { hr_capi_report(status, HR_ERROR(UNIMPLEMENTED, "%s is not there yet",
                         what)); }

TF_ApiDefMap* TF_NewApiDefMap(TF_Buffer* op_list_buffer, TF_Status* status) {
  (void)op_list_buffer;
  later_report(status, "TF_NewApiDefMap");
  return NULL;
}
void TF_DeleteApiDefMap(TF_ApiDefMap* apimap) { (void)apimap; }
void TF_ApiDefMapPut(TF_ApiDefMap* api_def_map, const char* text, size_t text_len, TF_Status* status) {
  (void)api_def_map;
  (void)text;
  (void)text_len;
  later_report(status, "TF_ApiDefMapPut");
}
TF_Buffer* TF_ApiDefMapGet(TF_ApiDefMap* api_def_map, const char* name, size_t name_len, TF_Status* status) {
  (void)api_def_map;
  (void)name;
  (void)name_len;
  later_report(status, "TF_ApiDefMapGet");
  return NULL;
}

void TF_RegisterFilesystemPlugin(const char* plugin_filename, TF_Status* status) {
  (void)plugin_filename;
  later_report(status, "TF_RegisterFilesystemPlugin");
}
