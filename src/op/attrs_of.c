/* SPDX-License-Identifier: Apache-2.0 */
/* Typed getters on a node's attrs. They cannot fail: the graph checked every value against the signature, so a wrong name or kind is
 * a bug of the op and gives an assertion in debug builds, zero otherwise. */
#include "op/attrs_of.h"
#include "base/assert.h"

static const hr_attr_t absent_attr = {.kind = HR_ATTR_NONE};

const hr_attr_t* hr_attrs_find(const hr_node_attrs_t* a, const char* name) {
  hr_str_t wanted = hr_str(name);
  int i = hr_sig_find_attr(a->def, wanted);
  if (i >= 0) return &a->values[i];
  for (int32_t j = 0; j < a->extra_count; ++j)
    if (hr_str_equal(a->extras[j].name, wanted)) return &a->extras[j].value;
  return NULL;
}

/* The attr if it has this kind, else an empty one. */
static const hr_attr_t* attr_of_kind(const hr_node_attrs_t* a, const char* name, hr_attr_kind_t kind, bool is_list) {
  const hr_attr_t* v = hr_attrs_find(a, name);
  bool fits = v && v->is_list == is_list && (v->kind == kind || (is_list && v->count == 0));
  HR_ASSERT(fits);
  return fits ? v : &absent_attr;
}

int64_t hr_attrs_int(const hr_node_attrs_t* a, const char* name) { return attr_of_kind(a, name, HR_ATTR_INT, false)->u.i; }
float hr_attrs_float(const hr_node_attrs_t* a, const char* name) { return attr_of_kind(a, name, HR_ATTR_FLOAT, false)->u.f; }
bool hr_attrs_bool(const hr_node_attrs_t* a, const char* name) { return attr_of_kind(a, name, HR_ATTR_BOOL, false)->u.b; }

hr_dtype_t hr_attrs_type(const hr_node_attrs_t* a, const char* name) {
  return hr_dtype_base(attr_of_kind(a, name, HR_ATTR_TYPE, false)->u.type);
}

hr_str_t hr_attrs_str(const hr_node_attrs_t* a, const char* name) {
  const hr_attr_t* v = attr_of_kind(a, name, HR_ATTR_STRING, false);
  return v->kind == HR_ATTR_STRING ? v->u.s : HR_STR("");
}

const hr_pshape_t* hr_attrs_shape(const hr_node_attrs_t* a, const char* name) {
  const hr_attr_t* v = attr_of_kind(a, name, HR_ATTR_SHAPE, false);
  return v->kind == HR_ATTR_SHAPE ? v->u.shape : &hr_pshape_unknown;
}

const hr_tensor_t* hr_attrs_tensor(const hr_node_attrs_t* a, const char* name) {
  return attr_of_kind(a, name, HR_ATTR_TENSOR, false)->u.tensor;
}

const int64_t* hr_attrs_ints(const hr_node_attrs_t* a, const char* name, int* out_count) {
  const hr_attr_t* v = attr_of_kind(a, name, HR_ATTR_INT, true);
  *out_count = v->count;
  return v->u.is;
}

const int32_t* hr_attrs_types(const hr_node_attrs_t* a, const char* name, int* out_count) {
  const hr_attr_t* v = attr_of_kind(a, name, HR_ATTR_TYPE, true);
  *out_count = v->count;
  return v->u.types;
}

const hr_str_t* hr_attrs_strs(const hr_node_attrs_t* a, const char* name, int* out_count) {
  const hr_attr_t* v = attr_of_kind(a, name, HR_ATTR_STRING, true);
  *out_count = v->count;
  return v->u.ss;
}
