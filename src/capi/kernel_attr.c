/* SPDX-License-Identifier: Apache-2.0 */
/* What a client's create function asks about its node. */
#include "capi/kernel.h"
#include "op/attr_value.h"

void TF_OpKernelConstruction_Failure(TF_OpKernelConstruction* ctx, TF_Status* status) {
  hr_status_t failure = status ? hr_status_retain(status->status) : NULL;
  hr_status_merge(&ctx->failure, failure ? failure : HR_ERROR(UNKNOWN, "the kernel could not be made and did not say why"));
}

TF_StringView TF_OpKernelConstruction_GetName(TF_OpKernelConstruction* ctx) {
  hr_str_t name = hr_str(ctx->prepare->node_name);
  return (TF_StringView){name.data, name.size};
}

bool TF_OpKernelConstruction_HasAttr(TF_OpKernelConstruction* ctx, const char* attr_name, TF_Status* status) {
  hr_capi_report(status, attr_name ? NULL : hr_capi_null("the attr's name"));
  return attr_name && hr_attrs_find(ctx->prepare->attrs, attr_name);
}

void TF_OpKernelConstruction_GetAttrSize(TF_OpKernelConstruction* ctx, const char* attr_name, int32_t* list_size, int32_t* total_size,
                                         TF_Status* status) {
  TF_AttrMetadata metadata = {0};
  hr_status_t outcome = hr_capi_attr_metadata(ctx->prepare->attrs, attr_name, &metadata);
  if (!outcome && list_size) *list_size = (int32_t)metadata.list_size;
  if (!outcome && total_size) *total_size = (int32_t)metadata.total_size;
  hr_capi_report(status, outcome);
}

/* One value, and the first of a list. `fits` refuses values that the type cannot hold. */
#define KERNEL_GETTERS(Name, KIND, type, one, many, fits)                                                                                  \
  void TF_OpKernelConstruction_GetAttr##Name(TF_OpKernelConstruction* ctx, const char* attr_name, type* val, TF_Status* status) {          \
    const hr_attr_t* a;                                                                                                                    \
    hr_status_t outcome = hr_capi_find_attr(ctx->prepare->attrs, attr_name, KIND, false, &a);                                              \
    if (!outcome && !fits(a->u.one)) outcome = kernel_misfit(attr_name);                                                                   \
    if (!outcome) *val = (type)a->u.one;                                                                                                   \
    hr_capi_report(status, outcome);                                                                                                       \
  }                                                                                                                                        \
  void TF_OpKernelConstruction_GetAttr##Name##List(TF_OpKernelConstruction* ctx, const char* attr_name, type* vals, int max_vals,          \
                                                   TF_Status* status) {                                                                    \
    const hr_attr_t* a;                                                                                                                    \
    hr_status_t outcome = hr_capi_find_attr(ctx->prepare->attrs, attr_name, KIND, true, &a);                                               \
    for (int32_t i = 0; !outcome && i < a->count && i < max_vals; ++i) {                                                                   \
      if (fits(a->u.many[i])) vals[i] = (type)a->u.many[i];                                                                                \
      else outcome = kernel_misfit(attr_name);                                                                                             \
    }                                                                                                                                      \
    hr_capi_report(status, outcome);                                                                                                       \
  }
#define KERNEL_ALWAYS(v) ((void)(v), true)
#define KERNEL_INT32(v) ((v) >= INT32_MIN && (v) <= INT32_MAX)

static hr_status_t kernel_misfit(const char* name) { return HR_ERROR(INVALID_ARGUMENT, "the value of attr '%s' does not fit 32 bits",
                                 name); }

KERNEL_GETTERS(Type, HR_ATTR_TYPE, TF_DataType, type, types, KERNEL_ALWAYS)
KERNEL_GETTERS(Int32, HR_ATTR_INT, int32_t, i, is, KERNEL_INT32)
KERNEL_GETTERS(Int64, HR_ATTR_INT, int64_t, i, is, KERNEL_ALWAYS)
KERNEL_GETTERS(Float, HR_ATTR_FLOAT, float, f, fs, KERNEL_ALWAYS)
KERNEL_GETTERS(Bool, HR_ATTR_BOOL, TF_Bool, b, bs, KERNEL_ALWAYS)

void TF_OpKernelConstruction_GetAttrString(TF_OpKernelConstruction* ctx, const char* attr_name, char* val, size_t max_length,
                                           TF_Status* status) {
  const hr_attr_t* a;
  hr_status_t outcome = hr_capi_find_attr(ctx->prepare->attrs, attr_name, HR_ATTR_STRING, false, &a);
  if (!outcome && a->u.s.size && max_length) memcpy(val, a->u.s.data, a->u.s.size < max_length ? a->u.s.size : max_length);
  hr_capi_report(status, outcome);
}

void TF_OpKernelConstruction_GetAttrStringList(TF_OpKernelConstruction* ctx, const char* attr_name, char** values, size_t* lengths,
                                               int max_values,
                                               void* storage, size_t storage_size, TF_Status* status) {
  hr_capi_report(status, hr_capi_attr_strings(ctx->prepare->attrs, attr_name, (void**)values, lengths, max_values, storage, storage_size));
}

void TF_OpKernelConstruction_GetAttrTensor(TF_OpKernelConstruction* ctx, const char* attr_name, TF_Tensor** val, TF_Status* status) {
  const hr_attr_t* a;
  hr_status_t outcome = hr_capi_find_attr(ctx->prepare->attrs, attr_name, HR_ATTR_TENSOR, false, &a);
  if (val) *val = NULL;
  if (!outcome) outcome = val ? hr_capi_share_tensor(a->u.tensor, val) : hr_capi_null("the place for the tensor");
  hr_capi_report(status, outcome);
}

void TF_OpKernelConstruction_GetAttrTensorList(TF_OpKernelConstruction* ctx, const char* attr_name, TF_Tensor** vals, int max_values,
                                               TF_Status* status) {
  hr_capi_report(status, hr_capi_attr_tensors(ctx->prepare->attrs, attr_name, vals, max_values));
}

TF_Buffer* TF_OpKernelConstruction_GetAttrFunction(TF_OpKernelConstruction* ctx, const char* attr_name, TF_Status* status) {
  const hr_attr_t* a;
  hr_writer_t w;
  hr_strbuf_init(&w);
  hr_status_t outcome = hr_capi_find_attr(ctx->prepare->attrs, attr_name, HR_ATTR_FUNC, false, &a);
  if (!outcome) outcome = hr_attr_value_encode_func(a->u.func, &w);
  return hr_capi_hand_over(&w, outcome, status);
}

enum { NODE_NAME = 1, NODE_OP = 2, NODE_ATTR = 5 };

TF_Buffer* TF_OpKernelConstruction_GetNodeDef(TF_OpKernelConstruction* ctx, TF_Status* status) {
  const hr_node_attrs_t* attrs = ctx->prepare->attrs;
  hr_status_t outcome = NULL;
  hr_writer_t w;
  hr_strbuf_init(&w);
  hr_writer_str(&w, NODE_NAME, hr_str(ctx->prepare->node_name));
  hr_writer_str(&w, NODE_OP, attrs->def->name);
  for (int i = 0; i < attrs->def->attr_count && !outcome; ++i) {
    hr_named_attr_t attr = {attrs->def->attrs[i].name, attrs->values[i]};
    outcome = hr_attr_value_encode_entry(NODE_ATTR, &attr, &w);
  }
  for (int32_t i = 0; i < attrs->extra_count && !outcome; ++i) outcome = hr_attr_value_encode_entry(NODE_ATTR, &attrs->extras[i], &w);
  return hr_capi_hand_over(&w, outcome, status);
}
