/* SPDX-License-Identifier: Apache-2.0 */
/* What stands behind the public handles, and the conversions that every file of capi/ uses.
 *
 * A TF_Graph is an hr_graph_t, a TF_Operation an hr_node_t, a TF_Output an hr_value_t: the pointers are cast, nothing is wrapped. The
 * graph's mu is taken here and nowhere below. */
#ifndef HR_CAPI_HANDLES_H
#define HR_CAPI_HANDLES_H
#include "graph/function.h"
#include "graph/graph.h"
#include "session/session.h"
#include "tensorflow/c/c_api.h"
#include "wire/writer.h"

struct TF_Status {
  hr_status_t status; /* one reference */
};
struct TF_Tensor {
  hr_tensor_t value;
};
struct TF_SessionOptions {
  hr_session_options_t options;
  char* target;   /* NULL: "" */
  char* config;   /* the ConfigProto's bytes; NULL: none */
  size_t config_size;
  bool no_memory; /* the target could not be kept */
};
struct TF_Session {
  hr_session_t* session;
  TF_Session *next, *previous; /* all sessions of the process */
};
struct TF_Function { /* immutable but for its attrs; graphs hold copies */
  char* name;
  char* bytes;       /* the FunctionDef */
  size_t size;
};

_Static_assert(sizeof(TF_Output) == sizeof(hr_value_t) && offsetof(TF_Output, index) == offsetof(hr_value_t, index), "endpoints are cast");

static inline hr_graph_t* hr_capi_graph(const TF_Graph* g) { return (hr_graph_t*)(uintptr_t)g; }
static inline TF_Graph* hr_capi_to_graph(hr_graph_t* g) { return (TF_Graph*)g; }
static inline hr_node_t* hr_capi_node(const TF_Operation* o) { return (hr_node_t*)(uintptr_t)o; }
static inline TF_Operation* hr_capi_to_operation(hr_node_t* n) { return (TF_Operation*)n; }
static inline hr_value_t hr_capi_value(TF_Output o) { return (hr_value_t){hr_capi_node(o.oper), o.index}; }
static inline TF_Output hr_capi_to_output(hr_value_t v) { return (TF_Output){hr_capi_to_operation(v.node), v.node ? v.index : -1}; }
static inline hr_str_t hr_capi_str(const char* text) { return text ? hr_str(text) : HR_STR(""); }

/* Gives the outcome to the caller. Accepts a NULL s. */
void hr_capi_report_slow(TF_Status* s, hr_status_t take_status);
static inline void hr_capi_report(TF_Status* s, hr_status_t take_status) {
  if (s && !take_status && !s->status) return;
  hr_capi_report_slow(s, take_status);
}

/* INVALID_ARGUMENT names what is missing. */
HR_MUST_USE hr_status_t hr_capi_null(const char* what);
/* INVALID_ARGUMENT unless v is an output of a node (of this graph, when g is not NULL). */
HR_MUST_USE hr_status_t hr_capi_check_value(const hr_graph_t* g, hr_value_t v);
HR_MUST_USE hr_status_t hr_capi_check_count(int count, const void* array, const char* what); /* >= 0, and an array unless 0 */

/* Hands a block from hr_alloc over in an empty buffer; frees it on failure. INVALID_ARGUMENT for a NULL buffer or one with data. */
HR_MUST_USE hr_status_t hr_capi_fill_buffer(TF_Buffer* b, char* take_data, size_t size);
HR_MUST_USE hr_status_t hr_capi_fill_buffer_from(TF_Buffer* b, hr_writer_t* w); /* takes what was written; leaves w empty */
/* The same in a new buffer, for functions that return one; NULL and the failure in `status` (may be NULL) when there is one. */
TF_Buffer* hr_capi_hand_over(hr_writer_t* take_w, hr_status_t take_status, TF_Status* status);
HR_MUST_USE hr_status_t hr_capi_check_buffer(const TF_Buffer* b);              /* is there, and empty */

/* A handle that takes the value over; NULL: out of memory, the value then still the caller's. */
TF_Tensor* hr_capi_wrap_tensor(hr_tensor_t* take_value);
/* A handle that shares. */
HR_MUST_USE hr_status_t hr_capi_share_tensor(const hr_tensor_t* value, TF_Tensor** out);
/* Dims of a caller to a checked shape. */
HR_MUST_USE hr_status_t hr_capi_shape(const int64_t* dims, int num_dims, hr_shape_t* out);

/* Reads of attr values for TF_OperationGetAttr* and TF_OpKernelConstruction_GetAttr* alike (attr_read.c). */
HR_MUST_USE hr_status_t hr_capi_find_attr(const hr_node_attrs_t* attrs, const char* name, hr_attr_kind_t kind, bool is_list,
                                          const hr_attr_t** out);
HR_MUST_USE hr_status_t hr_capi_attr_metadata(const hr_node_attrs_t* attrs, const char* name, TF_AttrMetadata* out);
HR_MUST_USE hr_status_t hr_capi_attr_strings(const hr_node_attrs_t* attrs, const char* name, void** values, size_t* lengths, int max_values,
                                             void* storage, size_t storage_size);
HR_MUST_USE hr_status_t hr_capi_attr_tensors(const hr_node_attrs_t* attrs, const char* name, TF_Tensor** values, int max_values);
#endif
