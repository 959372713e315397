/* SPDX-License-Identifier: Apache-2.0 */
/* TF_OperationGetAttr*: an operation's attrs never change but for TF_SetAttr, so these need no lock. */
#include "capi/handles.h"
#include "op/attr_value.h"
#include "wire/shape_proto.h"

static hr_status_t attr_get(TF_Operation* oper, const char* name, hr_attr_kind_t kind, bool is_list, const hr_attr_t** out) {
  if (!oper) return hr_capi_null("the operation");
  return hr_capi_find_attr(&hr_capi_node(oper)->attrs, name, kind, is_list, out);
}

TF_AttrMetadata TF_OperationGetAttrMetadata(TF_Operation* oper, const char* attr_name, TF_Status* status) {
  TF_AttrMetadata metadata = {0};
  hr_capi_report(status, oper ? hr_capi_attr_metadata(&hr_capi_node(oper)->attrs, attr_name, &metadata) : hr_capi_null("the operation"));
  return metadata;
}

void TF_OperationGetAttrString(TF_Operation* oper, const char* attr_name, void* value, size_t max_length, TF_Status* status) {
  const hr_attr_t* a;
  hr_status_t outcome = attr_get(oper, attr_name, HR_ATTR_STRING, false, &a);
  if (!outcome && a->u.s.size && max_length) memcpy(value, a->u.s.data, a->u.s.size < max_length ? a->u.s.size : max_length);
  hr_capi_report(status, outcome);
}

void TF_OperationGetAttrStringList(TF_Operation* oper, const char* attr_name, void** values, size_t* lengths, int max_values, void* storage,
                                   size_t storage_size, TF_Status* status) {
  hr_capi_report(status, oper ? hr_capi_attr_strings(&hr_capi_node(oper)->attrs, attr_name, values, lengths, max_values, storage,
                 storage_size)
                              : hr_capi_null("the operation"));
}

/* One value, and the first of a list, for kinds that are copied element by element. */
#define ATTR_GETTERS(Name, KIND, type, one, many)                                                                        \
  void TF_OperationGetAttr##Name(TF_Operation* oper, const char* attr_name, type* value, TF_Status* status) {            \
    const hr_attr_t* a;                                                                                                  \
    hr_status_t outcome = attr_get(oper, attr_name, KIND, false, &a);                                                    \
    if (!outcome) *value = (type)a->u.one;                                                                               \
    hr_capi_report(status, outcome);                                                                                     \
  }                                                                                                                      \
  void TF_OperationGetAttr##Name##List(TF_Operation* oper, const char* attr_name, type* values, int max_values, TF_Status* status) { \
    const hr_attr_t* a;                                                                                                  \
    hr_status_t outcome = attr_get(oper, attr_name, KIND, true, &a);                                                     \
    for (int32_t i = 0; !outcome && i < a->count && i < max_values; ++i) values[i] = (type)a->u.many[i];                 \
    hr_capi_report(status, outcome);                                                                                     \
  }
ATTR_GETTERS(Int, HR_ATTR_INT, int64_t, i, is)
ATTR_GETTERS(Float, HR_ATTR_FLOAT, float, f, fs)
ATTR_GETTERS(Bool, HR_ATTR_BOOL, unsigned char, b, bs)
ATTR_GETTERS(Type, HR_ATTR_TYPE, TF_DataType, type, types)

/* --- shapes ---------------------------------------------------------------------------------------------------------------------- */
void TF_OperationGetAttrShape(TF_Operation* oper, const char* attr_name, int64_t* value, int num_dims, TF_Status* status) {
  const hr_attr_t* a;
  hr_status_t outcome = attr_get(oper, attr_name, HR_ATTR_SHAPE, false, &a);
  if (!outcome && a->u.shape->rank >= 0) {
    if (num_dims != a->u.shape->rank)
      outcome = HR_ERROR(INVALID_ARGUMENT, "attr '%s' has %d dims, room was made for %d", attr_name, a->u.shape->rank, num_dims);
    else
      for (int i = 0; i < num_dims; ++i) value[i] = a->u.shape->dims[i];
  }
  hr_capi_report(status, outcome);
}

static hr_status_t attr_copy_shapes(const hr_attr_t* a, const char* name, int64_t** dims, int* num_dims, int num_shapes, int64_t* storage,
                                    int storage_size) {
  if (num_shapes > a->count) num_shapes = a->count;
  for (int i = 0; i < num_shapes; ++i) {
    const hr_pshape_t* s = a->u.shapes[i];
    int rank = s->rank > 0 ? s->rank : 0;
    if (rank > storage_size) return HR_ERROR(INVALID_ARGUMENT, "the storage for attr '%s' is too small", name);
    for (int k = 0; k < rank; ++k) storage[k] = s->dims[k];
    dims[i] = storage;
    num_dims[i] = s->rank;
    storage = rank ? storage + rank : storage;
    storage_size -= rank;
  }
  return NULL;
}

void TF_OperationGetAttrShapeList(TF_Operation* oper, const char* attr_name, int64_t** dims, int* num_dims, int num_shapes,
                                  int64_t* storage,
                                  int storage_size, TF_Status* status) {
  const hr_attr_t* a;
  hr_status_t outcome = attr_get(oper, attr_name, HR_ATTR_SHAPE, true, &a);
  if (!outcome) outcome = attr_copy_shapes(a, attr_name, dims, num_dims, num_shapes, storage, storage_size);
  hr_capi_report(status, outcome);
}

static hr_status_t attr_encode_shape(const hr_pshape_t* shape, TF_Buffer* out) {
  hr_writer_t w;
  hr_strbuf_init(&w);
  hr_shape_proto_encode_partial(shape, &w);
  hr_status_t status = hr_capi_fill_buffer_from(out, &w);
  hr_strbuf_deinit(&w);
  return status;
}

void TF_OperationGetAttrTensorShapeProto(TF_Operation* oper, const char* attr_name, TF_Buffer* value, TF_Status* status) {
  const hr_attr_t* a;
  hr_status_t outcome = attr_get(oper, attr_name, HR_ATTR_SHAPE, false, &a);
  if (!outcome) outcome = attr_encode_shape(a->u.shape, value);
  hr_capi_report(status, outcome);
}

void TF_OperationGetAttrTensorShapeProtoList(TF_Operation* oper, const char* attr_name, TF_Buffer** values, int max_values,
                                             TF_Status* status) {
  const hr_attr_t* a;
  hr_status_t outcome = attr_get(oper, attr_name, HR_ATTR_SHAPE, true, &a);
  int count = outcome ? 0 : a->count < max_values ? a->count : max_values;
  for (int i = 0; i < count; ++i) values[i] = NULL;
  for (int i = 0; i < count && !outcome; ++i)
    outcome = (values[i] = TF_NewBuffer()) ? attr_encode_shape(a->u.shapes[i], values[i]) : hr_status_out_of_memory();
  for (int i = 0; i < count && outcome; ++i) {
    TF_DeleteBuffer(values[i]);
    values[i] = NULL;
  }
  hr_capi_report(status, outcome);
}

/* --- tensors and whatever else ------------------------------------------------------------------------------------------------------ */
void TF_OperationGetAttrTensor(TF_Operation* oper, const char* attr_name, TF_Tensor** value, TF_Status* status) {
  const hr_attr_t* a;
  hr_status_t outcome = attr_get(oper, attr_name, HR_ATTR_TENSOR, false, &a);
  if (!outcome) outcome = hr_capi_share_tensor(a->u.tensor, value);
  if (outcome && value) *value = NULL;
  hr_capi_report(status, outcome);
}

void TF_OperationGetAttrTensorList(TF_Operation* oper, const char* attr_name, TF_Tensor** values, int max_values, TF_Status* status) {
  hr_capi_report(status, oper ? hr_capi_attr_tensors(&hr_capi_node(oper)->attrs, attr_name, values,
                 max_values) : hr_capi_null("the operation"));
}

static hr_status_t attr_encode(TF_Operation* oper, const char* name, TF_Buffer* out) {
  hr_writer_t w;
  if (!oper) return hr_capi_null("the operation");
  HR_TRY(hr_capi_check_buffer(out));
  const hr_attr_t* a = name ? hr_attrs_find(&hr_capi_node(oper)->attrs, name) : NULL;
  if (!a) return HR_ERROR(INVALID_ARGUMENT, "operation '%.*s' has no attr '%s'", HR_STR_ARG(hr_capi_node(oper)->name), name ? name : "");
  hr_strbuf_init(&w);
  hr_status_t status = hr_attr_value_encode(a, &w);
  if (!status) status = hr_capi_fill_buffer_from(out, &w);
  hr_strbuf_deinit(&w);
  return status;
}

void TF_OperationGetAttrValueProto(TF_Operation* oper, const char* attr_name, TF_Buffer* output_attr_value, TF_Status* status) {
  hr_capi_report(status, attr_encode(oper, attr_name, output_attr_value));
}

/* --- names: the op's own attrs first, then the others -------------------------------------------------------------------------------- */
static hr_str_t attr_name_at(TF_Operation* oper, int i) {
  const hr_node_attrs_t* attrs = &hr_capi_node(oper)->attrs;
  int own = attrs->def->attr_count;
  if (i < 0 || i >= own + attrs->extra_count) return (hr_str_t){NULL, 0};
  return i < own ? attrs->def->attrs[i].name : attrs->extras[i - own].name;
}

int TF_OperationGetNumAttrs(TF_Operation* oper) {
  return oper ? hr_capi_node(oper)->attrs.def->attr_count + hr_capi_node(oper)->attrs.extra_count : 0;
}

int TF_OperationGetAttrNameLength(TF_Operation* oper, int i) {
  hr_str_t name = oper ? attr_name_at(oper, i) : (hr_str_t){NULL, 0};
  return name.data ? (int)name.size : -1;
}

void TF_OperationGetAttrName(TF_Operation* oper, int i, char* output, TF_Status* status) {
  hr_str_t name = oper ? attr_name_at(oper, i) : (hr_str_t){NULL, 0};
  if (name.data) memcpy(output, name.data, name.size);
  hr_capi_report(status, name.data ? NULL : HR_ERROR(OUT_OF_RANGE, "the operation has no attr number %d", i));
}
