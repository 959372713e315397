/* SPDX-License-Identifier: Apache-2.0 */
/* Status objects: a box for one hr_status_t. */
#include "capi/handles.h"

#include "base/file.h"

TF_Status* TF_NewStatus(void) { return hr_alloc_zero(sizeof(TF_Status)); }

void TF_DeleteStatus(TF_Status* s) {
  if (!s) return;
  hr_status_release(s->status);
  hr_free(s);
}

void hr_capi_report_slow(TF_Status* s, hr_status_t take_status) {
  if (!s) {
    hr_status_release(take_status);
    return;
  }
  hr_status_release(s->status);
  s->status = take_status;
}

void TF_SetStatus(TF_Status* s, TF_Code code, const char* msg) {
  hr_status_t status = NULL;
  int number = (int)code;
  if (number != TF_OK) {
    hr_code_t known = number > 0 && number < HR_CODE_COUNT ? (hr_code_t)number : HR_UNKNOWN;
    status = hr_status_create(known, __FILE__, __LINE__, "%s", msg ? msg : "");
  }
  hr_capi_report(s, status);
}

void TF_SetPayload(TF_Status* s, const char* key, const char* value) {
  if (s && s->status && key) s->status = hr_status_with_payload(s->status, key, value ? value : "");
}

void TF_ForEachPayload(const TF_Status* s, TF_PayloadVisitor visitor, void* capture) {
  if (s && s->status && visitor) hr_status_each_payload(s->status, visitor, capture);
}

void TF_SetStatusFromIOError(TF_Status* s, int error_code, const char* context) {
  hr_capi_report(s, error_code ? hr_file_error(error_code, "input or output", context ? context : "") : NULL);
}

TF_Code TF_GetCode(const TF_Status* s) { return s ? (TF_Code)hr_status_code(s->status) : TF_OK; }
const char* TF_Message(const TF_Status* s) { return s ? hr_status_message(s->status) : ""; }

hr_status_t hr_capi_null(const char* what) { return HR_ERROR(INVALID_ARGUMENT, "%s is NULL", what); }

hr_status_t hr_capi_check_value(const hr_graph_t* g, hr_value_t v) {
  if (!v.node) return HR_ERROR(INVALID_ARGUMENT, "an endpoint's operation is NULL");
  if (v.index < 0 || v.index >= v.node->output_count)
    return HR_ERROR(INVALID_ARGUMENT, "operation '%.*s' has %d outputs, there is no output %d", HR_STR_ARG(v.node->name),
                    v.node->output_count,
                    v.index);
  if (g && v.node->graph != g) return HR_ERROR(INVALID_ARGUMENT, "operation '%.*s' belongs to another graph", HR_STR_ARG(v.node->name));
  return NULL;
}

hr_status_t hr_capi_check_count(int count, const void* array, const char* what) {
  if (count < 0) return HR_ERROR(INVALID_ARGUMENT, "the number of %s is %d", what, count);
  if (count && !array) return HR_ERROR(INVALID_ARGUMENT, "there are %d %s but their array is NULL", count, what);
  return NULL;
}
