/* SPDX-License-Identifier: Apache-2.0 */
/* Attribute values of nodes, function bodies and op definitions. Immutable once on a node; memory belongs to an arena (tensors inside
 * are shared and released by the arena's owner). */
#ifndef HR_OP_ATTR_H
#define HR_OP_ATTR_H
#include "tensor/partial_shape.h"
#include "tensor/tensor.h"

typedef enum { HR_ATTR_NONE, HR_ATTR_STRING, HR_ATTR_INT, HR_ATTR_FLOAT, HR_ATTR_BOOL, HR_ATTR_TYPE, HR_ATTR_SHAPE, HR_ATTR_TENSOR,
               HR_ATTR_FUNC, HR_ATTR_PLACEHOLDER } hr_attr_kind_t;

typedef struct hr_named_attr hr_named_attr_t;
typedef struct {
  hr_str_t name;
  const hr_named_attr_t* attrs;
  int32_t attr_count;
} hr_func_attr_t;

typedef struct {
  uint8_t kind;    /* hr_attr_kind_t; of the elements when a list; NONE in an empty list whose kind is not known */
  bool is_list;
  int32_t count;   /* elements of a list */
  union {
    hr_str_t s;                    /* STRING, PLACEHOLDER */
    int64_t i;
    float f;
    bool b;
    int32_t type;                  /* hr_dtype_t, perhaps + HR_DTYPE_REF */
    const hr_pshape_t* shape;
    const hr_tensor_t* tensor;
    const hr_func_attr_t* func;
    const hr_str_t* ss;            /* lists */
    const int64_t* is;
    const float* fs;
    const bool* bs;
    const int32_t* types;
    const hr_pshape_t* const* shapes;
    const hr_tensor_t* const* tensors;
    const hr_func_attr_t* funcs;
  } u;
} hr_attr_t;

struct hr_named_attr {
  hr_str_t name;
  hr_attr_t value;
};

/* Literals for emitters and builders: hr_at_int("axis", 1). Names and pointers must outlive the call they are passed to. */
static inline hr_named_attr_t hr_at(const char* name, hr_attr_t value) { return (hr_named_attr_t){hr_str(name), value}; }
#define HR_AT_SCALAR(kind_, field, v) ((hr_attr_t){.kind = kind_, .u = {.field = (v)}})
#define HR_AT_LIST(kind_, field, v, n) ((hr_attr_t){.kind = kind_, .is_list = true, .count = (n), .u = {.field = (v)}})
static inline hr_named_attr_t hr_at_int(const char* name, int64_t i) { return hr_at(name, HR_AT_SCALAR(HR_ATTR_INT, i, i)); }
static inline hr_named_attr_t hr_at_float(const char* name, float f) { return hr_at(name, HR_AT_SCALAR(HR_ATTR_FLOAT, f, f)); }
static inline hr_named_attr_t hr_at_bool(const char* name, bool b) { return hr_at(name, HR_AT_SCALAR(HR_ATTR_BOOL, b, b)); }
static inline hr_named_attr_t hr_at_type(const char* name, int type) { return hr_at(name, HR_AT_SCALAR(HR_ATTR_TYPE, type, type)); }
static inline hr_named_attr_t hr_at_str(const char* name, const char* s) { return hr_at(name, HR_AT_SCALAR(HR_ATTR_STRING, s, hr_str(s))); }
static inline hr_named_attr_t hr_at_shape(const char* name, const hr_pshape_t* s) {
  return hr_at(name, HR_AT_SCALAR(HR_ATTR_SHAPE, shape, s));
}
static inline hr_named_attr_t hr_at_tensor(const char* name, const hr_tensor_t* t) {
  return hr_at(name, HR_AT_SCALAR(HR_ATTR_TENSOR, tensor, t));
}
static inline hr_named_attr_t hr_at_ints(const char* name, const int64_t* is, int n) {
  return hr_at(name, HR_AT_LIST(HR_ATTR_INT, is, is, n));
}
static inline hr_named_attr_t hr_at_types(const char* name, const int32_t* ts, int n) {
  return hr_at(name, HR_AT_LIST(HR_ATTR_TYPE, types, ts, n));
}

bool hr_attr_equal(const hr_attr_t* a, const hr_attr_t* b); /* tensors by value */
uint64_t hr_attr_hash(const hr_attr_t* a);
/* A deep copy in an arena; tensors are shared: `tensors` (may be NULL) receives each so that the arena's owner can release them. */
typedef struct hr_attr_keeper { /* the list of tensors an arena's attrs hold */
  hr_tensor_t** data;
  int64_t count, capacity;
  size_t most_inflated, inflated; /* bytes that tensors may have, and have, beyond what their messages brought; most_inflated 0: no limit */
} hr_attr_keeper_t;
void hr_attr_keeper_deinit(hr_attr_keeper_t* k); /* releases them; the structs lie in the arena */
HR_MUST_USE hr_status_t hr_attr_copy(hr_arena_t* arena, hr_attr_keeper_t* keeper, const hr_attr_t* from, hr_attr_t* out);
/* Moves a tensor's share into the arena; the keeper releases it. */
HR_MUST_USE hr_status_t hr_attr_keep_tensor(hr_arena_t* arena, hr_attr_keeper_t* keeper, hr_tensor_t* take_tensor, const hr_tensor_t** out);
void hr_attr_print(const hr_attr_t* a, hr_strbuf_t* out); /* for people and messages */
const char* hr_attr_kind_name(hr_attr_kind_t kind, bool is_list); /* "int", "list(type)" */
#endif
