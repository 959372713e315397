/* SPDX-License-Identifier: Apache-2.0 */
/* A node's attrs as its op sees them: typed getters by name. In shape functions and gradients a wrong name or kind is a bug of the
 * op (the graph checked every value against the signature), so these getters cannot fail: HR_ASSERT in debug builds, zero otherwise. */
#ifndef HR_OP_ATTRS_OF_H
#define HR_OP_ATTRS_OF_H
#include "op/sig.h"

typedef struct hr_node_attrs {
  const hr_op_def_t* def;
  const hr_attr_t* values;       /* values[i] for def->attrs[i]; defaults filled in */
  const hr_named_attr_t* extras; /* attrs the op does not know: "_class"... */
  int32_t extra_count;
} hr_node_attrs_t;

const hr_attr_t* hr_attrs_find(const hr_node_attrs_t*, const char* name); /* NULL: neither known nor extra */
int64_t hr_attrs_int(const hr_node_attrs_t*, const char* name);
float hr_attrs_float(const hr_node_attrs_t*, const char* name);
bool hr_attrs_bool(const hr_node_attrs_t*, const char* name);
hr_dtype_t hr_attrs_type(const hr_node_attrs_t*, const char* name);       /* without ref */
hr_str_t hr_attrs_str(const hr_node_attrs_t*, const char* name);
const hr_pshape_t* hr_attrs_shape(const hr_node_attrs_t*, const char* name);
const hr_tensor_t* hr_attrs_tensor(const hr_node_attrs_t*, const char* name);
const int64_t* hr_attrs_ints(const hr_node_attrs_t*, const char* name, int* out_count);
const int32_t* hr_attrs_types(const hr_node_attrs_t*, const char* name, int* out_count);
const hr_str_t* hr_attrs_strs(const hr_node_attrs_t*, const char* name, int* out_count);
#endif
