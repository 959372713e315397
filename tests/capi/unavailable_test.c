/* SPDX-License-Identifier: Apache-2.0 */
/* What is exported and not there yet: whatever has a status answers UNIMPLEMENTED through it and names itself; pointers are NULL. */
#include "help.h"
#include "tensorflow/c/eager/c_api.h"
#include "tensorflow/c/kernels.h"

/* The last call said that it is not there, and left nothing for the next one to pass by. */
static void later_check(TF_Status* s, const char* what) {
  if (!CHECK_TF_CODE(s, TF_UNIMPLEMENTED) || !CHECK_HAS(TF_Message(s), what)) printf("after %s\n", what);
  TF_SetStatus(s, TF_OK, NULL);
}
#define LATER(function, ...) ((void)function(__VA_ARGS__), later_check(s, #function))
#define LATER_IS(want, function, ...) (CHECK(function(__VA_ARGS__) == (want)), later_check(s, #function))

TEST(api_definitions_and_plugins) {
  TF_Status* s = TF_NewStatus();
  TF_Buffer* ops = TF_GetAllOpList();
  LATER_IS(NULL, TF_NewApiDefMap, ops, s);
  LATER(TF_ApiDefMapPut, NULL, "op {}", 5, s);
  LATER_IS(NULL, TF_ApiDefMapGet, NULL, "Add", 3, s);
  TF_DeleteApiDefMap(NULL);
  LATER(TF_RegisterFilesystemPlugin, "plugin.so", s);
  LATER(TF_RegisterKernelBuilderWithKernelDef, "", "k", TF_NewKernelBuilder("Add", "CPU", NULL, NULL, NULL), s);
  TF_DeleteBuffer(ops);
  TF_DeleteStatus(s);
}

TEST(eager_contexts) {
  TF_Status* s = TF_NewStatus();
  TFE_ContextOptions* o = TFE_NewContextOptions();
  CHECK(o == NULL);
  LATER(TFE_ContextOptionsSetConfig, o, "", 0, s);
  TFE_ContextOptionsSetAsync(o, 1);
  TFE_ContextOptionsSetDevicePlacementPolicy(o, TFE_DEVICE_PLACEMENT_SILENT);
  LATER_IS(NULL, TFE_NewContext, o, s);
  TFE_DeleteContextOptions(o);
  LATER_IS(NULL, TFE_ContextListDevices, NULL, s);
  TFE_ContextClearCaches(NULL);
  TFE_ContextSetThreadLocalDevicePlacementPolicy(NULL, TFE_DEVICE_PLACEMENT_WARN);
  CHECK_INT(TFE_ContextGetDevicePlacementPolicy(NULL), TFE_DEVICE_PLACEMENT_EXPLICIT);
  LATER(TFE_ContextSetServerDef, NULL, 1, "", 0, s);
  LATER(TFE_ContextAddFunctionDef, NULL, "", 0, s);
  LATER(TFE_ContextAddFunction, NULL, NULL, s);
  LATER(TFE_ContextRemoveFunction, NULL, "f", s);
  CHECK_INT(TFE_ContextHasFunction(NULL, "f"), 0);
  TFE_ContextEnableRunMetadata(NULL);
  TFE_ContextDisableRunMetadata(NULL);
  LATER(TFE_ContextExportRunMetadata, NULL, NULL, s);
  TFE_ContextStartStep(NULL);
  TFE_ContextEndStep(NULL);
  TFE_DeleteContext(NULL);
  TF_DeleteStatus(s);
}

TEST(eager_tensors) {
  TF_Status* s = TF_NewStatus();
  TF_Tensor* t = help_float(1);
  LATER_IS(NULL, TFE_NewTensorHandle, t, s);
  CHECK_INT(TFE_TensorHandleDataType(NULL), 0);
  LATER_IS(-1, TFE_TensorHandleNumDims, NULL, s);
  LATER_IS(-1, TFE_TensorHandleNumElements, NULL, s);
  LATER_IS(-1, TFE_TensorHandleDim, NULL, 0, s);
  LATER_IS(NULL, TFE_TensorHandleDeviceName, NULL, s);
  LATER_IS(NULL, TFE_TensorHandleBackingDeviceName, NULL, s);
  LATER_IS(NULL, TFE_TensorHandleCopySharingTensor, NULL, s);
  LATER_IS(NULL, TFE_TensorHandleResolve, NULL, s);
  LATER_IS(NULL, TFE_TensorHandleCopyToDevice, NULL, NULL, "CPU:0", s);
  LATER_IS(NULL, TFE_TensorHandleTensorDebugInfo, NULL, s);
  CHECK_INT(TFE_TensorDebugInfoOnDeviceNumDims(NULL), -1);
  CHECK_INT(TFE_TensorDebugInfoOnDeviceDim(NULL, 0), -1);
  TFE_DeleteTensorDebugInfo(NULL);
  TFE_DeleteTensorHandle(NULL);
  TF_DeleteTensor(t);
  TF_DeleteStatus(s);
}

TEST(eager_operations) {
  TF_Status* s = TF_NewStatus();
  unsigned char is_list = 0;
  int count = 0;
  LATER_IS(NULL, TFE_NewOp, NULL, "Add", s);
  LATER_IS(NULL, TFE_OpGetName, NULL, s);
  LATER_IS(NULL, TFE_OpGetContext, NULL, s);
  LATER(TFE_OpSetDevice, NULL, "CPU:0", s);
  LATER_IS(NULL, TFE_OpGetDevice, NULL, s);
  LATER(TFE_OpAddInput, NULL, NULL, s);
  LATER(TFE_OpAddInputList, NULL, NULL, 0, s);
  LATER_IS(-1, TFE_OpGetFlatInputCount, NULL, s);
  LATER_IS(NULL, TFE_OpGetFlatInput, NULL, 0, s);
  LATER(TFE_OpGetAttrType, NULL, "T", &is_list, s);
  LATER(TFE_OpNameGetAttrType, NULL, "Add", "T", &is_list, s);
  LATER_IS(-1, TFE_OpGetInputLength, NULL, "x", s);
  LATER_IS(-1, TFE_OpGetOutputLength, NULL, "z", s);
  LATER(TFE_Execute, NULL, NULL, &count, s);
  CHECK(is_list == 0 && count == 0);
  TFE_DeleteOp(NULL);
  TF_DeleteStatus(s);
}

TEST(eager_attrs) { /* those without a status do nothing, and quietly: nobody has an operation to set them on */
  TF_Status* s = TF_NewStatus();
  LATER(TFE_OpSetAttrShape, NULL, "a", NULL, 0, s);
  LATER(TFE_OpSetAttrTensor, NULL, "a", NULL, s);
  LATER(TFE_OpSetAttrShapeList, NULL, "a", NULL, NULL, 0, s);
  TFE_OpSetAttrString(NULL, "a", "b", 1);
  TFE_OpSetAttrInt(NULL, "a", 1);
  TFE_OpSetAttrFloat(NULL, "a", 1);
  TFE_OpSetAttrBool(NULL, "a", 1);
  TFE_OpSetAttrType(NULL, "a", TF_FLOAT);
  TFE_OpSetAttrFunction(NULL, "a", NULL);
  TFE_OpSetAttrFunctionName(NULL, "a", "f", 1);
  TFE_OpSetAttrStringList(NULL, "a", NULL, NULL, 0);
  TFE_OpSetAttrIntList(NULL, "a", NULL, 0);
  TFE_OpSetAttrFloatList(NULL, "a", NULL, 0);
  TFE_OpSetAttrBoolList(NULL, "a", NULL, 0);
  TFE_OpSetAttrTypeList(NULL, "a", NULL, 0);
  TFE_OpSetAttrFunctionList(NULL, "a", NULL, 0);
  TF_DeleteStatus(s);
}
TEST_MAIN()
