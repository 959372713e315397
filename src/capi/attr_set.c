/* SPDX-License-Identifier: Apache-2.0 */
/* TF_SetAttr*: values copied into the description's arena. Tensors are copied too: a client may write its own right after. */
#include "capi/description.h"
#include "op/attr_value.h"
#include "wire/shape_proto.h"

static void attr_set_one(TF_OperationDescription* d, const char* name, hr_attr_t value) {
  if (d) hr_description_add_attr(d, name, &value);
}

/* A list of plain elements; false: it failed and the description knows. */
static bool attr_copy_list(TF_OperationDescription* d, const char* name, const void* values, int count, size_t size, void** out) {
  if (!d) return false;
  hr_status_t status = hr_capi_check_count(count, values, "list elements");
  if (!status) {
    *out = hr_arena_array(&d->arena, (size_t)count, size);
    if (*out && count) memcpy(*out, values, (size_t)count * size);
    if (!*out) status = hr_status_out_of_memory();
  }
  if (status) hr_description_fail(d, hr_status_note(status, "attr '%s': ", name ? name : ""));
  return !status;
}

static bool attr_copy_text(TF_OperationDescription* d, const void* value, size_t length, hr_str_t* out) {
  if (hr_arena_str(&d->arena, (hr_str_t){value ? value : "", value ? length : 0}, out)) return true;
  hr_description_fail(d, hr_status_out_of_memory());
  return false;
}

void TF_SetAttrString(TF_OperationDescription* desc, const char* attr_name, const void* value, size_t length) {
  hr_str_t text;
  if (desc && attr_copy_text(desc, value, length, &text)) attr_set_one(desc, attr_name, HR_AT_SCALAR(HR_ATTR_STRING, s, text));
}

void TF_SetAttrStringList(TF_OperationDescription* desc, const char* attr_name, const void* const* values, const size_t* lengths,
                          int num_values) {
  hr_str_t* texts;
  if (!attr_copy_list(desc, attr_name, values, 0, sizeof *texts, (void**)&texts)) return;
  hr_status_t status = hr_capi_check_count(num_values, values, "strings");
  if (!status) status = hr_capi_check_count(num_values, lengths, "lengths");
  if (!status && !(texts = hr_arena_array(&desc->arena, (size_t)num_values, sizeof *texts))) status = hr_status_out_of_memory();
  if (status) {
    hr_description_fail(desc, hr_status_note(status, "attr '%s': ", attr_name));
    return;
  }
  for (int i = 0; i < num_values; ++i)
    if (!attr_copy_text(desc, values[i], lengths[i], &texts[i])) return;
  attr_set_one(desc, attr_name, (hr_attr_t){HR_ATTR_STRING, true, num_values, {.ss = texts}});
}

void TF_SetAttrInt(TF_OperationDescription* desc, const char* attr_name, int64_t value) {
  attr_set_one(desc, attr_name, HR_AT_SCALAR(HR_ATTR_INT, i, value));
}
void TF_SetAttrFloat(TF_OperationDescription* desc, const char* attr_name, float value) {
  attr_set_one(desc, attr_name, HR_AT_SCALAR(HR_ATTR_FLOAT, f, value));
}
void TF_SetAttrBool(TF_OperationDescription* desc, const char* attr_name, unsigned char value) {
  attr_set_one(desc, attr_name, HR_AT_SCALAR(HR_ATTR_BOOL, b, value != 0));
}
void TF_SetAttrType(TF_OperationDescription* desc, const char* attr_name, TF_DataType value) {
  attr_set_one(desc, attr_name, HR_AT_SCALAR(HR_ATTR_TYPE, type, (int32_t)value));
}

void TF_SetAttrIntList(TF_OperationDescription* desc, const char* attr_name, const int64_t* values, int num_values) {
  void* list;
  if (attr_copy_list(desc, attr_name, values, num_values, sizeof *values, &list))
    attr_set_one(desc, attr_name, (hr_attr_t){HR_ATTR_INT, true, num_values, {.is = list}});
}
void TF_SetAttrFloatList(TF_OperationDescription* desc, const char* attr_name, const float* values, int num_values) {
  void* list;
  if (attr_copy_list(desc, attr_name, values, num_values, sizeof *values, &list))
    attr_set_one(desc, attr_name, (hr_attr_t){HR_ATTR_FLOAT, true, num_values, {.fs = list}});
}
void TF_SetAttrTypeList(TF_OperationDescription* desc, const char* attr_name, const TF_DataType* values, int num_values) {
  void* list;
  _Static_assert(sizeof(TF_DataType) == sizeof(int32_t), "copied as they are");
  if (attr_copy_list(desc, attr_name, values, num_values, sizeof *values, &list))
    attr_set_one(desc, attr_name, (hr_attr_t){HR_ATTR_TYPE, true, num_values, {.types = list}});
}
void TF_SetAttrBoolList(TF_OperationDescription* desc, const char* attr_name, const unsigned char* values, int num_values) {
  void* list;
  if (!attr_copy_list(desc, attr_name, values, num_values, sizeof *values, &list)) return;
  for (int i = 0; i < num_values; ++i) ((bool*)list)[i] = values[i] != 0;
  attr_set_one(desc, attr_name, (hr_attr_t){HR_ATTR_BOOL, true, num_values, {.bs = list}});
}

void TF_SetAttrPlaceholder(TF_OperationDescription* desc, const char* attr_name, const char* placeholder) {
  hr_str_t text;
  if (desc && attr_copy_text(desc, placeholder, hr_capi_str(placeholder).size, &text))
    attr_set_one(desc, attr_name, HR_AT_SCALAR(HR_ATTR_PLACEHOLDER, s, text));
}

void TF_SetAttrFuncName(TF_OperationDescription* desc, const char* attr_name, const char* value, size_t length) {
  if (!desc) return;
  hr_func_attr_t* func = hr_arena_array(&desc->arena, 1, sizeof *func);
  if (!func) hr_description_fail(desc, hr_status_out_of_memory());
  else if (attr_copy_text(desc, value, length, &func->name)) attr_set_one(desc, attr_name, HR_AT_SCALAR(HR_ATTR_FUNC, func, func));
}

/* --- shapes ---------------------------------------------------------------------------------------------------------------------- */
static hr_status_t attr_make_shape(TF_OperationDescription* d, const int64_t* dims, int num_dims, const hr_pshape_t** out) {
  if (num_dims > 0 && !dims) return hr_capi_null("an array of dims");
  return hr_pshape_make(&d->arena, num_dims < 0 ? -1 : num_dims, dims, out);
}

void TF_SetAttrShape(TF_OperationDescription* desc, const char* attr_name, const int64_t* dims, int num_dims) {
  const hr_pshape_t* shape = NULL;
  if (!desc) return;
  hr_status_t status = attr_make_shape(desc, dims, num_dims, &shape);
  if (status) hr_description_fail(desc, hr_status_note(status, "attr '%s': ", attr_name));
  else attr_set_one(desc, attr_name, HR_AT_SCALAR(HR_ATTR_SHAPE, shape, shape));
}

void TF_SetAttrShapeList(TF_OperationDescription* desc, const char* attr_name, const int64_t* const* dims, const int* num_dims,
                         int num_shapes) {
  const hr_pshape_t** shapes = NULL;
  if (!desc) return;
  hr_status_t status = hr_capi_check_count(num_shapes, dims, "shapes");
  if (!status) status = hr_capi_check_count(num_shapes, num_dims, "ranks");
  if (!status && !(shapes = hr_arena_array(&desc->arena, (size_t)num_shapes, sizeof *shapes))) status = hr_status_out_of_memory();
  for (int i = 0; !status && i < num_shapes; ++i) status = attr_make_shape(desc, dims[i], num_dims[i], &shapes[i]);
  if (status) hr_description_fail(desc, hr_status_note(status, "attr '%s': ", attr_name));
  else attr_set_one(desc, attr_name, (hr_attr_t){HR_ATTR_SHAPE, true, num_shapes, {.shapes = shapes}});
}

void TF_SetAttrTensorShapeProto(TF_OperationDescription* desc, const char* attr_name, const void* proto, size_t proto_len,
                                TF_Status* status) {
  const hr_pshape_t* shape = NULL;
  if (!desc) {
    hr_capi_report(status, hr_capi_null("the description"));
    return;
  }
  hr_status_t outcome = hr_shape_proto_decode_partial(&desc->arena, hr_cursor_make(proto, proto ? proto_len : 0), &shape);
  if (!outcome) attr_set_one(desc, attr_name, HR_AT_SCALAR(HR_ATTR_SHAPE, shape, shape));
  hr_capi_report(status, outcome);
}

static hr_status_t attr_decode_shapes(TF_OperationDescription* d, const void* const* protos, const size_t* lens, int count,
                                      const hr_pshape_t*** out) {
  HR_TRY(hr_capi_check_count(count, protos, "shapes"));
  HR_TRY(hr_capi_check_count(count, lens, "lengths"));
  const hr_pshape_t** shapes = hr_arena_array(&d->arena, (size_t)count, sizeof *shapes);
  if (!shapes) return hr_status_out_of_memory();
  for (int i = 0; i < count; ++i)
    HR_TRY(hr_shape_proto_decode_partial(&d->arena, hr_cursor_make(protos[i], protos[i] ? lens[i] : 0), &shapes[i]));
  *out = shapes;
  return NULL;
}

void TF_SetAttrTensorShapeProtoList(TF_OperationDescription* desc, const char* attr_name, const void* const* protos,
                                    const size_t* proto_lens,
                                    int num_shapes, TF_Status* status) {
  const hr_pshape_t** shapes = NULL;
  hr_status_t outcome = desc ? attr_decode_shapes(desc, protos, proto_lens, num_shapes, &shapes) : hr_capi_null("the description");
  if (!outcome) attr_set_one(desc, attr_name, (hr_attr_t){HR_ATTR_SHAPE, true, num_shapes, {.shapes = shapes}});
  hr_capi_report(status, outcome);
}

/* --- tensors and whatever else ------------------------------------------------------------------------------------------------------ */
static hr_status_t attr_keep_tensor(TF_OperationDescription* d, const TF_Tensor* t, const hr_tensor_t** out) {
  hr_tensor_t copy;
  if (!d || !t) return hr_capi_null(d ? "the tensor" : "the description");
  HR_TRY(hr_tensor_clone(&t->value, &copy));
  hr_status_t status = hr_attr_keep_tensor(&d->arena, &d->tensors, &copy, out);
  if (status) hr_tensor_release(&copy);
  return status;
}

void TF_SetAttrTensor(TF_OperationDescription* desc, const char* attr_name, TF_Tensor* value, TF_Status* status) {
  const hr_tensor_t* kept = NULL;
  hr_status_t outcome = attr_keep_tensor(desc, value, &kept);
  if (!outcome) attr_set_one(desc, attr_name, HR_AT_SCALAR(HR_ATTR_TENSOR, tensor, kept));
  hr_capi_report(status, outcome);
}

static hr_status_t attr_keep_tensors(TF_OperationDescription* d, TF_Tensor* const* values, int count, const hr_tensor_t*** out) {
  if (!d) return hr_capi_null("the description");
  HR_TRY(hr_capi_check_count(count, values, "tensors"));
  const hr_tensor_t** kept = hr_arena_array(&d->arena, (size_t)count, sizeof *kept);
  if (!kept) return hr_status_out_of_memory();
  for (int i = 0; i < count; ++i) HR_TRY(attr_keep_tensor(d, values[i], &kept[i]));
  *out = kept;
  return NULL;
}

void TF_SetAttrTensorList(TF_OperationDescription* desc, const char* attr_name, TF_Tensor* const* values, int num_values,
                          TF_Status* status) {
  const hr_tensor_t** kept = NULL;
  hr_status_t outcome = attr_keep_tensors(desc, values, num_values, &kept);
  if (!outcome) attr_set_one(desc, attr_name, (hr_attr_t){HR_ATTR_TENSOR, true, num_values, {.tensors = kept}});
  hr_capi_report(status, outcome);
}

void TF_SetAttrValueProto(TF_OperationDescription* desc, const char* attr_name, const void* proto, size_t proto_len, TF_Status* status) {
  hr_attr_t value = {0};
  hr_status_t outcome = desc ? hr_attr_value_decode(&desc->arena, &desc->tensors, hr_cursor_make(proto, proto ? proto_len : 0), &value)
                             : hr_capi_null("the description");
  if (!outcome) attr_set_one(desc, attr_name, value);
  hr_capi_report(status, outcome);
}
