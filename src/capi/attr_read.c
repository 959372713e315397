/* SPDX-License-Identifier: Apache-2.0 */
/* Attr values on their way to clients: what operations and kernels under construction are asked alike. */
#include "capi/handles.h"

hr_status_t hr_capi_find_attr(const hr_node_attrs_t* attrs, const char* name, hr_attr_kind_t kind, bool is_list, const hr_attr_t** out) {
  const hr_attr_t* a = name ? hr_attrs_find(attrs, name) : NULL;
  if (!a || (a->kind == HR_ATTR_NONE && !a->is_list))
    return HR_ERROR(INVALID_ARGUMENT, "op '%.*s' has no attr '%s' here", HR_STR_ARG(attrs->def->name), name ? name : "");
  if (a->is_list != is_list || (a->kind != kind && !(is_list && a->kind == HR_ATTR_NONE)))
    return HR_ERROR(INVALID_ARGUMENT, "attr '%s' is of kind %s, not %s", name, hr_attr_kind_name((hr_attr_kind_t)a->kind, a->is_list),
                    hr_attr_kind_name(kind, is_list));
  *out = a;
  return NULL;
}

static TF_AttrType attr_kind_number(const hr_node_attrs_t* attrs, const char* name, const hr_attr_t* a) {
  static const TF_AttrType numbers[] = {
      [HR_ATTR_STRING] = TF_ATTR_STRING, [HR_ATTR_INT] = TF_ATTR_INT,     [HR_ATTR_FLOAT] = TF_ATTR_FLOAT,
      [HR_ATTR_BOOL] = TF_ATTR_BOOL,     [HR_ATTR_TYPE] = TF_ATTR_TYPE,   [HR_ATTR_SHAPE] = TF_ATTR_SHAPE,
      [HR_ATTR_TENSOR] = TF_ATTR_TENSOR, [HR_ATTR_FUNC] = TF_ATTR_FUNC,   [HR_ATTR_PLACEHOLDER] = TF_ATTR_PLACEHOLDER,
  };
  int kind = a->kind;
  if (kind == HR_ATTR_NONE) { /* an empty list: the signature knows */
    int known = hr_sig_find_attr(attrs->def, hr_str(name));
    kind = known >= 0 ? attrs->def->attrs[known].kind : HR_ATTR_STRING;
  }
  return numbers[kind];
}

static int64_t attr_total_size(const hr_attr_t* a) {
  int64_t total = 0;
  if (a->kind == HR_ATTR_STRING || a->kind == HR_ATTR_PLACEHOLDER) {
    if (!a->is_list) return (int64_t)a->u.s.size;
    for (int32_t i = 0; i < a->count; ++i) total += (int64_t)a->u.ss[i].size;
    return total;
  }
  if (a->kind == HR_ATTR_SHAPE) {
    if (!a->is_list) return a->u.shape->rank;
    for (int32_t i = 0; i < a->count; ++i) total += a->u.shapes[i]->rank > 0 ? a->u.shapes[i]->rank : 0;
    return total;
  }
  if (a->kind == HR_ATTR_FUNC && !a->is_list) return (int64_t)a->u.func->name.size;
  return -1;
}

hr_status_t hr_capi_attr_metadata(const hr_node_attrs_t* attrs, const char* name, TF_AttrMetadata* out) {
  const hr_attr_t* a = name ? hr_attrs_find(attrs, name) : NULL;
  if (!a || (a->kind == HR_ATTR_NONE && !a->is_list))
    return HR_ERROR(INVALID_ARGUMENT, "op '%.*s' has no attr '%s' here", HR_STR_ARG(attrs->def->name), name ? name : "");
  out->is_list = a->is_list;
  out->list_size = a->is_list ? a->count : -1;
  out->type = attr_kind_number(attrs, name, a);
  out->total_size = attr_total_size(a);
  return NULL;
}

hr_status_t hr_capi_attr_strings(const hr_node_attrs_t* attrs, const char* name, void** values, size_t* lengths, int max_values,
                                 void* storage,
                                 size_t storage_size) {
  const hr_attr_t* a;
  char* at = storage;
  HR_TRY(hr_capi_find_attr(attrs, name, HR_ATTR_STRING, true, &a));
  for (int32_t i = 0; i < a->count && i < max_values; ++i) {
    hr_str_t text = a->u.ss[i];
    if (text.size > storage_size) return HR_ERROR(INVALID_ARGUMENT, "the storage for attr '%s' is too small", name);
    if (text.size) memcpy(at, text.data, text.size);
    values[i] = at;
    lengths[i] = text.size;
    at = text.size ? at + text.size : at;
    storage_size -= text.size;
  }
  return NULL;
}

hr_status_t hr_capi_attr_tensors(const hr_node_attrs_t* attrs, const char* name, TF_Tensor** values, int max_values) {
  const hr_attr_t* a;
  hr_status_t status = NULL;
  HR_TRY(hr_capi_find_attr(attrs, name, HR_ATTR_TENSOR, true, &a));
  int32_t done = 0;
  for (; done < a->count && done < max_values && !status; ++done) status = hr_capi_share_tensor(a->u.tensors[done], &values[done]);
  while (status && --done > 0) { /* the last one was not made */
    TF_DeleteTensor(values[done - 1]);
    values[done - 1] = NULL;
  }
  return status;
}
