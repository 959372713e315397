/* SPDX-License-Identifier: Apache-2.0 */
/* Statuses, buffers, tensors, strings through the public headers. */
#include <errno.h>

#include "help.h"

static void count_payload(const char* key, const char* value, void* capture) {
  CHECK_STR(key, "where");
  CHECK_STR(value, "there");
  ++*(int*)capture;
}

TEST(status_keeps_what_it_is_told) {
  TF_Status* s = TF_NewStatus();
  int visits = 0;
  CHECK_INT(TF_GetCode(s), TF_OK);
  CHECK_STR(TF_Message(s), "");
  TF_SetStatus(s, TF_NOT_FOUND, "no such thing");
  CHECK_INT(TF_GetCode(s), TF_NOT_FOUND);
  CHECK_STR(TF_Message(s), "no such thing");
  TF_SetPayload(s, "where", "there");
  TF_ForEachPayload(s, count_payload, &visits);
  CHECK_INT(visits, 1);
  TF_SetStatus(s, (TF_Code)99, NULL);
  CHECK_INT(TF_GetCode(s), TF_UNKNOWN);
  TF_SetStatusFromIOError(s, ENOENT, "reading");
  CHECK_INT(TF_GetCode(s), TF_NOT_FOUND);
  CHECK_HAS(TF_Message(s), "reading");
  TF_SetStatus(s, TF_OK, "ignored");
  CHECK_STR(TF_Message(s), "");
  TF_DeleteStatus(s);
  TF_DeleteStatus(NULL);
  TF_SetStatus(NULL, TF_INTERNAL, "lost");
}

TEST(buffers_own_copies) {
  char text[] = "abc";
  TF_Buffer* b = TF_NewBufferFromString(text, 3);
  text[0] = 'x';
  CHECK_INT(b->length, 3);
  CHECK_BYTES(b->data, "abc", 3);
  CHECK_INT(TF_GetBuffer(b).length, 3);
  CHECK_INT(TF_GetBuffer(NULL).length, 0);
  TF_DeleteBuffer(b);
  TF_DeleteBuffer(NULL);
  b = TF_NewBuffer();
  CHECK(b->data == NULL && b->data_deallocator == NULL);
  TF_DeleteBuffer(b);
}

static void count_free(void* data, size_t len, void* arg) {
  (void)data;
  (void)len;
  ++*(int*)arg;
}

TEST(tensors_borrow_and_free_once) {
  float data[6] = {1, 2, 3, 4, 5, 6};
  int64_t dims[2] = {2, 3};
  int freed = 0;
  TF_Tensor* t = TF_NewTensor(TF_FLOAT, dims, 2, data, sizeof data, count_free, &freed);
  REQUIRE(t != NULL);
  CHECK(TF_TensorData(t) == data);
  CHECK_INT(TF_NumDims(t), 2);
  CHECK_INT(TF_Dim(t, 1), 3);
  CHECK_INT(TF_Dim(t, 2), -1);
  CHECK_INT(TF_TensorType(t), TF_FLOAT);
  CHECK_INT(TF_TensorByteSize(t), sizeof data);
  CHECK_INT(TF_TensorElementCount(t), 6);
  CHECK(TF_TensorMaybeMove(t) == NULL);
  int64_t turned[2] = {3, 2}, wrong[1] = {5};
  TF_SetShape(t, turned, 2);
  CHECK_INT(TF_Dim(t, 0), 3);
  TF_SetShape(t, wrong, 1);
  CHECK_INT(TF_NumDims(t), 2);
  CHECK_INT(freed, 0);
  TF_DeleteTensor(t);
  CHECK_INT(freed, 1);
  TF_DeleteTensor(NULL);
}

TEST(tensors_copy_what_is_not_aligned) {
  _Alignas(8) char bytes[20] = {0};
  int64_t dims[1] = {4};
  int freed = 0;
  float three = 3;
  memcpy(bytes + 1, &three, 4);
  TF_Tensor* t = TF_NewTensor(TF_FLOAT, dims, 1, bytes + 1, 16, count_free, &freed);
  REQUIRE(t != NULL);
  CHECK_INT(freed, 1);
  CHECK(*(float*)TF_TensorData(t) == 3);
  CHECK(TF_TensorIsAligned(t));
  TF_DeleteTensor(t);
  CHECK_INT(freed, 1);
}

TEST(tensors_refuse_nonsense) {
  float data[4] = {0};
  int64_t dims[1] = {4}, negative[1] = {-4}, huge[2] = {INT64_MAX, 8};
  int freed = 0;
  CHECK(!TF_NewTensor(TF_FLOAT, dims, 1, data, 15, count_free, &freed));
  CHECK(!TF_NewTensor(TF_FLOAT, negative, 1, data, 16, count_free, &freed));
  CHECK(!TF_NewTensor(TF_FLOAT, huge, 2, data, 16, count_free, &freed));
  CHECK(!TF_NewTensor((TF_DataType)77, dims, 1, data, 16, count_free, &freed));
  CHECK(!TF_NewTensor(TF_FLOAT, NULL, 1, data, 16, count_free, &freed));
  CHECK(!TF_NewTensor(TF_FLOAT, dims, 1, NULL, 16, count_free, &freed));
  CHECK(!TF_AllocateTensor(TF_FLOAT, dims, -1, 16));
  CHECK_INT(freed, 0);
  TF_Tensor* empty = TF_AllocateTensor(TF_FLOAT, (int64_t[]){0}, 1, 0);
  REQUIRE(empty != NULL);
  CHECK(TF_TensorData(empty) != NULL);
  TF_DeleteTensor(empty);
}

TEST(tensors_bitcast_and_proto) {
  TF_Status* s = TF_NewStatus();
  TF_Tensor *f = help_float(1.0f), *i = TF_AllocateTensor(TF_INT32, NULL, 0, 4);
  TF_TensorBitcastFrom(f, TF_INT32, i, NULL, 0, s);
  CHECK_TF_OK(s);
  CHECK_INT(*(int32_t*)TF_TensorData(i), 0x3f800000);
  TF_TensorBitcastFrom(f, TF_INT64, i, NULL, 0, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_TensorBitcastFrom(f, TF_STRING, i, NULL, 0, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  for (int type = -1; type <= 99; type += 50) { /* -1, 49 and 99 are no types, nor is 0 */
    TF_TensorBitcastFrom(f, (TF_DataType)type, i, NULL, 0, s);
    CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  }
  TF_TensorBitcastFrom(f, (TF_DataType)0, i, NULL, 0, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_Tensor* text = TF_AllocateTensor(TF_STRING, NULL, 0, sizeof(TF_TString));
  TF_StringInit(TF_TensorData(text));
  TF_TensorBitcastFrom(text, TF_FLOAT, i, (int64_t[]){sizeof(TF_TString) / 4}, 1, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_DeleteTensor(text);
  TF_TensorBitcastFrom(f, TF_UINT8, i, (int64_t[]){4}, 1, s);
  CHECK(CHECK_TF_OK(s) && TF_TensorElementCount(i) == 4 && TF_Dim(i, 0) == 4 && TF_TensorType(i) == TF_UINT8);
  TF_TensorBitcastFrom(f, TF_INT32, i, NULL, 0, s);
  CHECK_TF_OK(s);
  TF_Buffer* b = TF_NewBufferFromString("\x08\x03\x12\x00\x3a\x01\x2a", 7); /* dtype int32, scalar, int_val 42 */
  TF_TensorFromProto(b, f, s);
  CHECK_TF_OK(s);
  CHECK_INT(*(int32_t*)TF_TensorData(f), 42);
  TF_DeleteBuffer(b);
  b = TF_NewBufferFromString("\x08", 1);
  TF_TensorFromProto(b, f, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_DeleteBuffer(b);
  TF_DeleteTensor(f);
  TF_DeleteTensor(i);
  TF_DeleteStatus(s);
}

TEST(sizes_of_types) {
  CHECK_INT(TF_DataTypeSize(TF_FLOAT), 4);
  CHECK_INT(TF_DataTypeSize(TF_COMPLEX128), 16);
  CHECK_INT(TF_DataTypeSize(TF_STRING), 0);
  CHECK_INT(TF_DataTypeSize((TF_DataType)1000), 0);
  CHECK_INT(TF_TensorDefaultAlignment(), 64);
}

TEST(strings_take_every_form) {
  TF_TString s, t;
  char longer[100];
  memset(longer, 'x', sizeof longer);
  TF_StringInit(&s);
  CHECK_INT(TF_StringGetSize(&s), 0);
  TF_StringCopy(&s, "short", 5);
  CHECK_INT(TF_StringGetType(&s), TF_TSTR_SMALL);
  CHECK_BYTES(TF_StringGetDataPointer(&s), "short", 5);
  TF_StringCopy(&s, longer, sizeof longer);
  CHECK_INT(TF_StringGetType(&s), TF_TSTR_LARGE);
  CHECK(TF_StringGetCapacity(&s) >= sizeof longer);
  CHECK_BYTES(TF_StringGetDataPointer(&s), longer, sizeof longer);
  TF_StringInit(&t);
  TF_StringAssignView(&t, longer, 7);
  CHECK_INT(TF_StringGetType(&t), TF_TSTR_VIEW);
  CHECK(TF_StringGetDataPointer(&t) == longer);
  TF_TString_Assign(&s, &t);
  CHECK_INT(TF_StringGetType(&s), TF_TSTR_VIEW);
  TF_TString_AppendN(&s, "yz", 2);
  CHECK_INT(TF_StringGetSize(&s), 9);
  CHECK_BYTES(TF_StringGetDataPointer(&s), "xxxxxxxyz", 9);
  TF_TString_Append(&s, &s);
  CHECK_INT(TF_StringGetSize(&s), 18);
  CHECK_BYTES(TF_StringGetDataPointer(&s), "xxxxxxxyzxxxxxxxyz", 18);
  TF_TString_Resize(&s, 60, 'q');
  CHECK_INT(TF_StringGetDataPointer(&s)[59], 'q');
  TF_TString_Move(&t, &s);
  CHECK_INT(TF_StringGetSize(&t), 60);
  CHECK_INT(TF_StringGetSize(&s), 0);
  TF_TString_Resize(&t, 3, 0);
  CHECK_BYTES(TF_TString_GetMutableDataPointer(&t), "xxx", 3);
  TF_StringDealloc(&t);
  TF_StringDealloc(&s);
}
TEST_MAIN()
