/* SPDX-License-Identifier: Apache-2.0 */
/* Building nodes one after another: names below a scope, made unique; colocation; control inputs. Errors stick in `status`: after the
 * first failure every call gives the null value, which all calls accept, so formulas need no checks.
 *
 * The caller holds the graph's lock from hr_build_begin to hr_build_end. */
#ifndef HR_CLIENT_BUILD_H
#define HR_CLIENT_BUILD_H
#include "capi/handles.h"
#include "headrace/client.h"
#include "op/grad_ctx.h"

typedef struct {
  hr_graph_t* graph;
  hr_status_t status;
  hr_str_t scope;              /* "": none; new names are scope/name */
  const hr_node_t* beside;     /* new nodes are colocated with it (attr _class); NULL: nowhere */
  hr_node_t* const* after;     /* new nodes wait for these */
  int after_count;
} hr_build_t;

/* Locks; INVALID_ARGUMENT sticks when there is no graph. */
hr_build_t hr_build_begin(TF_Graph* graph);
void hr_build_end(hr_build_t* b, TF_Status* status); /* unlocks and reports */
void hr_build_fail(hr_build_t* b, hr_status_t take_status);
/* Fails unless v is an output in this graph. */
bool hr_build_owns(hr_build_t* b, TF_Output v, const char* what);

hr_str_t hr_build_unique(hr_build_t* b, const char* first, const char* second); /* unique "first/second" ("second" when first is "") */
/* Output 0 of a new node (an operation without outputs: index 0 all the same); hr_emit_nth for the others. name NULL: that of the op. */
hr_value_t hr_build(hr_build_t* b, const char* op, const char* name, int input_count, const hr_value_t* inputs, int attr_count,
                    const hr_named_attr_t* attrs);
hr_value_t hr_build1(hr_build_t* b, const char* op, const char* name, hr_value_t x);
hr_value_t hr_build2(hr_build_t* b, const char* op, const char* name, hr_value_t x, hr_value_t y);
hr_value_t hr_build_const(hr_build_t* b, const char* name, const hr_tensor_t* t);
hr_value_t hr_build_number(hr_build_t* b, const char* name, hr_dtype_t dtype, double value); /* a scalar */
hr_value_t hr_build_i32s(hr_build_t* b, const char* name, const int64_t* values, int count);
hr_value_t hr_build_strings(hr_build_t* b, const char* name, const char* const* values, int count);
/* A tensor of one value: a Const, or a Fill for more than 1000 elements as TensorFlow's initializers have it. */
hr_value_t hr_build_filled(hr_build_t* b, const char* name, hr_dtype_t dtype, const hr_shape_t* shape, double value);
/* A node that only waits: for `after`. */
hr_node_t* hr_build_group(hr_build_t* b, const char* name);
#endif
