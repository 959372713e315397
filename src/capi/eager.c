/* SPDX-License-Identifier: Apache-2.0 */
/* The eager interface, exported so that clients that name it link. None of it works yet: whatever has a status says so. */
#include "tensorflow/c/eager/c_api.h"

#include "capi/handles.h"

static void eager_report(TF_Status* status, const char* what) {
  hr_capi_report(status, HR_ERROR(UNIMPLEMENTED, "%s: eager execution is not there yet; build a graph and run it in a session", what));
}

TFE_ContextOptions* TFE_NewContextOptions(void) {
  return NULL;
}

void TFE_ContextOptionsSetConfig(TFE_ContextOptions* options, const void* proto, size_t proto_len, TF_Status* status) {
  (void)options;
  (void)proto;
  (void)proto_len;
  eager_report(status, "TFE_ContextOptionsSetConfig");
}

void TFE_ContextOptionsSetAsync(TFE_ContextOptions* options, unsigned char enable) {
  (void)options;
  (void)enable;
}

void TFE_ContextOptionsSetDevicePlacementPolicy(TFE_ContextOptions* options, TFE_ContextDevicePlacementPolicy policy) {
  (void)options;
  (void)policy;
}

void TFE_DeleteContextOptions(TFE_ContextOptions* options) {
  (void)options;
}

TFE_Context* TFE_NewContext(const TFE_ContextOptions* opts, TF_Status* status) {
  (void)opts;
  eager_report(status, "TFE_NewContext");
  return NULL;
}

void TFE_DeleteContext(TFE_Context* ctx) {
  (void)ctx;
}

TF_DeviceList* TFE_ContextListDevices(TFE_Context* ctx, TF_Status* status) {
  (void)ctx;
  eager_report(status, "TFE_ContextListDevices");
  return NULL;
}

void TFE_ContextClearCaches(TFE_Context* ctx) {
  (void)ctx;
}

void TFE_ContextSetThreadLocalDevicePlacementPolicy(TFE_Context* ctx, TFE_ContextDevicePlacementPolicy policy) {
  (void)ctx;
  (void)policy;
}

TFE_ContextDevicePlacementPolicy TFE_ContextGetDevicePlacementPolicy(TFE_Context* ctx) {
  (void)ctx;
  return TFE_DEVICE_PLACEMENT_EXPLICIT;
}

void TFE_ContextSetServerDef(TFE_Context* ctx, int keep_alive_secs, const void* proto, size_t proto_len, TF_Status* status) {
  (void)ctx;
  (void)keep_alive_secs;
  (void)proto;
  (void)proto_len;
  eager_report(status, "TFE_ContextSetServerDef");
}

void TFE_ContextAddFunctionDef(TFE_Context* ctx, const char* serialized_function_def, size_t size, TF_Status* status) {
  (void)ctx;
  (void)serialized_function_def;
  (void)size;
  eager_report(status, "TFE_ContextAddFunctionDef");
}

void TFE_ContextAddFunction(TFE_Context* ctx, TF_Function* function, TF_Status* status) {
  (void)ctx;
  (void)function;
  eager_report(status, "TFE_ContextAddFunction");
}

void TFE_ContextRemoveFunction(TFE_Context* ctx, const char* name, TF_Status* status) {
  (void)ctx;
  (void)name;
  eager_report(status, "TFE_ContextRemoveFunction");
}

unsigned char TFE_ContextHasFunction(TFE_Context* ctx, const char* name) {
  (void)ctx;
  (void)name;
  return 0;
}

void TFE_ContextEnableRunMetadata(TFE_Context* ctx) {
  (void)ctx;
}

void TFE_ContextDisableRunMetadata(TFE_Context* ctx) {
  (void)ctx;
}

void TFE_ContextExportRunMetadata(TFE_Context* ctx, TF_Buffer* buf, TF_Status* status) {
  (void)ctx;
  (void)buf;
  eager_report(status, "TFE_ContextExportRunMetadata");
}

void TFE_ContextStartStep(TFE_Context* ctx) {
  (void)ctx;
}

void TFE_ContextEndStep(TFE_Context* ctx) {
  (void)ctx;
}

TFE_TensorHandle* TFE_NewTensorHandle(const TF_Tensor* t, TF_Status* status) {
  (void)t;
  eager_report(status, "TFE_NewTensorHandle");
  return NULL;
}

void TFE_DeleteTensorHandle(TFE_TensorHandle* h) {
  (void)h;
}

TF_DataType TFE_TensorHandleDataType(TFE_TensorHandle* h) {
  (void)h;
  return (TF_DataType)0;
}

int TFE_TensorHandleNumDims(TFE_TensorHandle* h, TF_Status* status) {
  (void)h;
  eager_report(status, "TFE_TensorHandleNumDims");
  return -1;
}

int64_t TFE_TensorHandleNumElements(TFE_TensorHandle* h, TF_Status* status) {
  (void)h;
  eager_report(status, "TFE_TensorHandleNumElements");
  return -1;
}

int64_t TFE_TensorHandleDim(TFE_TensorHandle* h, int dim_index, TF_Status* status) {
  (void)h;
  (void)dim_index;
  eager_report(status, "TFE_TensorHandleDim");
  return -1;
}

const char* TFE_TensorHandleDeviceName(TFE_TensorHandle* h, TF_Status* status) {
  (void)h;
  eager_report(status, "TFE_TensorHandleDeviceName");
  return NULL;
}

const char* TFE_TensorHandleBackingDeviceName(TFE_TensorHandle* h, TF_Status* status) {
  (void)h;
  eager_report(status, "TFE_TensorHandleBackingDeviceName");
  return NULL;
}

TFE_TensorHandle* TFE_TensorHandleCopySharingTensor(TFE_TensorHandle* h, TF_Status* status) {
  (void)h;
  eager_report(status, "TFE_TensorHandleCopySharingTensor");
  return NULL;
}

TF_Tensor* TFE_TensorHandleResolve(TFE_TensorHandle* h, TF_Status* status) {
  (void)h;
  eager_report(status, "TFE_TensorHandleResolve");
  return NULL;
}

TFE_TensorHandle* TFE_TensorHandleCopyToDevice(TFE_TensorHandle* h, TFE_Context* ctx, const char* device_name, TF_Status* status) {
  (void)h;
  (void)ctx;
  (void)device_name;
  eager_report(status, "TFE_TensorHandleCopyToDevice");
  return NULL;
}

TFE_TensorDebugInfo* TFE_TensorHandleTensorDebugInfo(TFE_TensorHandle* h, TF_Status* status) {
  (void)h;
  eager_report(status, "TFE_TensorHandleTensorDebugInfo");
  return NULL;
}

void TFE_DeleteTensorDebugInfo(TFE_TensorDebugInfo* debug_info) {
  (void)debug_info;
}

int TFE_TensorDebugInfoOnDeviceNumDims(TFE_TensorDebugInfo* debug_info) {
  (void)debug_info;
  return -1;
}

int64_t TFE_TensorDebugInfoOnDeviceDim(TFE_TensorDebugInfo* debug_info, int dim_index) {
  (void)debug_info;
  (void)dim_index;
  return -1;
}

TFE_Op* TFE_NewOp(TFE_Context* ctx, const char* op_or_function_name, TF_Status* status) {
  (void)ctx;
  (void)op_or_function_name;
  eager_report(status, "TFE_NewOp");
  return NULL;
}

void TFE_DeleteOp(TFE_Op* op) {
  (void)op;
}

const char* TFE_OpGetName(const TFE_Op* op, TF_Status* status) {
  (void)op;
  eager_report(status, "TFE_OpGetName");
  return NULL;
}

TFE_Context* TFE_OpGetContext(const TFE_Op* op, TF_Status* status) {
  (void)op;
  eager_report(status, "TFE_OpGetContext");
  return NULL;
}

void TFE_OpSetDevice(TFE_Op* op, const char* device_name, TF_Status* status) {
  (void)op;
  (void)device_name;
  eager_report(status, "TFE_OpSetDevice");
}

const char* TFE_OpGetDevice(const TFE_Op* op, TF_Status* status) {
  (void)op;
  eager_report(status, "TFE_OpGetDevice");
  return NULL;
}

void TFE_OpAddInput(TFE_Op* op, TFE_TensorHandle* input, TF_Status* status) {
  (void)op;
  (void)input;
  eager_report(status, "TFE_OpAddInput");
}

void TFE_OpAddInputList(TFE_Op* op, TFE_TensorHandle** inputs, int num_inputs, TF_Status* status) {
  (void)op;
  (void)inputs;
  (void)num_inputs;
  eager_report(status, "TFE_OpAddInputList");
}

int TFE_OpGetFlatInputCount(const TFE_Op* op, TF_Status* status) {
  (void)op;
  eager_report(status, "TFE_OpGetFlatInputCount");
  return -1;
}

TFE_TensorHandle* TFE_OpGetFlatInput(const TFE_Op* op, int index, TF_Status* status) {
  (void)op;
  (void)index;
  eager_report(status, "TFE_OpGetFlatInput");
  return NULL;
}

TF_AttrType TFE_OpGetAttrType(TFE_Op* op, const char* attr_name, unsigned char* is_list, TF_Status* status) {
  (void)op;
  (void)attr_name;
  if (is_list) *is_list = 0;
  eager_report(status, "TFE_OpGetAttrType");
  return TF_ATTR_STRING;
}

TF_AttrType TFE_OpNameGetAttrType(TFE_Context* ctx, const char* op_or_function_name, const char* attr_name, unsigned char* is_list,
                                  TF_Status* status) {
  (void)ctx;
  (void)op_or_function_name;
  (void)attr_name;
  if (is_list) *is_list = 0;
  eager_report(status, "TFE_OpNameGetAttrType");
  return TF_ATTR_STRING;
}

void TFE_OpSetAttrString(TFE_Op* op, const char* attr_name, const void* value, size_t length) {
  (void)op;
  (void)attr_name;
  (void)value;
  (void)length;
}

void TFE_OpSetAttrInt(TFE_Op* op, const char* attr_name, int64_t value) {
  (void)op;
  (void)attr_name;
  (void)value;
}

void TFE_OpSetAttrFloat(TFE_Op* op, const char* attr_name, float value) {
  (void)op;
  (void)attr_name;
  (void)value;
}

void TFE_OpSetAttrBool(TFE_Op* op, const char* attr_name, unsigned char value) {
  (void)op;
  (void)attr_name;
  (void)value;
}

void TFE_OpSetAttrType(TFE_Op* op, const char* attr_name, TF_DataType value) {
  (void)op;
  (void)attr_name;
  (void)value;
}

void TFE_OpSetAttrShape(TFE_Op* op, const char* attr_name, const int64_t* dims, const int num_dims, TF_Status* out_status) {
  (void)op;
  (void)attr_name;
  (void)dims;
  (void)num_dims;
  eager_report(out_status, "TFE_OpSetAttrShape");
}

void TFE_OpSetAttrFunction(TFE_Op* op, const char* attr_name, const TFE_Op* value) {
  (void)op;
  (void)attr_name;
  (void)value;
}

void TFE_OpSetAttrFunctionName(TFE_Op* op, const char* attr_name, const char* data, size_t length) {
  (void)op;
  (void)attr_name;
  (void)data;
  (void)length;
}

void TFE_OpSetAttrTensor(TFE_Op* op, const char* attr_name, TF_Tensor* tensor, TF_Status* status) {
  (void)op;
  (void)attr_name;
  (void)tensor;
  eager_report(status, "TFE_OpSetAttrTensor");
}

void TFE_OpSetAttrStringList(TFE_Op* op, const char* attr_name, const void* const* values, const size_t* lengths, int num_values) {
  (void)op;
  (void)attr_name;
  (void)values;
  (void)lengths;
  (void)num_values;
}

void TFE_OpSetAttrIntList(TFE_Op* op, const char* attr_name, const int64_t* values, int num_values) {
  (void)op;
  (void)attr_name;
  (void)values;
  (void)num_values;
}

void TFE_OpSetAttrFloatList(TFE_Op* op, const char* attr_name, const float* values, int num_values) {
  (void)op;
  (void)attr_name;
  (void)values;
  (void)num_values;
}

void TFE_OpSetAttrBoolList(TFE_Op* op, const char* attr_name, const unsigned char* values, int num_values) {
  (void)op;
  (void)attr_name;
  (void)values;
  (void)num_values;
}

void TFE_OpSetAttrTypeList(TFE_Op* op, const char* attr_name, const TF_DataType* values, int num_values) {
  (void)op;
  (void)attr_name;
  (void)values;
  (void)num_values;
}

void TFE_OpSetAttrShapeList(TFE_Op* op, const char* attr_name, const int64_t** dims, const int* num_dims, int num_values,
                            TF_Status* out_status) {
  (void)op;
  (void)attr_name;
  (void)dims;
  (void)num_dims;
  (void)num_values;
  eager_report(out_status, "TFE_OpSetAttrShapeList");
}

void TFE_OpSetAttrFunctionList(TFE_Op* op, const char* attr_name, const TFE_Op** value, int num_values) {
  (void)op;
  (void)attr_name;
  (void)value;
  (void)num_values;
}

int TFE_OpGetInputLength(TFE_Op* op, const char* input_name, TF_Status* status) {
  (void)op;
  (void)input_name;
  eager_report(status, "TFE_OpGetInputLength");
  return -1;
}

int TFE_OpGetOutputLength(TFE_Op* op, const char* output_name, TF_Status* status) {
  (void)op;
  (void)output_name;
  eager_report(status, "TFE_OpGetOutputLength");
  return -1;
}

void TFE_Execute(TFE_Op* op, TFE_TensorHandle** retvals, int* num_retvals, TF_Status* status) {
  (void)op;
  (void)retvals;
  if (num_retvals) *num_retvals = 0;
  eager_report(status, "TFE_Execute");
}
