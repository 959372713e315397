/* SPDX-License-Identifier: Apache-2.0 */
/* Objects that ops hand out under a name, in the two ways of TensorFlow's: a resource handle, which holds the object, or the older
 * reference to a vector of two strings, [container, name], which is looked up. What makers of queues, tables, variables and a step's
 * objects share. */
#ifndef HR_OPS_STATE_NAMED_H
#define HR_OPS_STATE_NAMED_H
#include "op/infer.h"
#include "op/kernel_ctx.h"
#include "rt/resource.h"

hr_status_t hr_named_infer_reference(hr_infer_t* s); /* a vector of two */

/* --- names ---------------------------------------------------------------------------------------------------------------------------- */
hr_str_t hr_named_container(const hr_node_attrs_t* attrs); /* attr "container"; the default one where it is empty */
/* A handle on this process's CPU that holds `object` with a reference of its own. */
HR_MUST_USE hr_status_t hr_named_handle(hr_resource_t* object, hr_str_t container, hr_str_t name, hr_str_t type_name, hr_handle_t** out);
HR_MUST_USE hr_status_t hr_named_handle_tensor(hr_handle_t* take, hr_tensor_t* out); /* a scalar; takes the handle, also on failure */
HR_MUST_USE hr_status_t hr_named_strings(hr_tensor_t* pair, hr_str_t container, hr_str_t name); /* fills a vector of two strings */
HR_MUST_USE hr_status_t hr_named_refer(hr_variable_t* v, hr_str_t container, hr_str_t name);    /* v's value becomes that vector */

/* --- the state of a node that makes an object and hands it out ------------------------------------------------------------------------ */
typedef struct {
  hr_resource_t* object;
  hr_tensor_t handle;       /* of the V2 op */
  hr_variable_t* reference; /* of the older one */
  hr_resources_t* home;     /* where a private object is, which leaves with the state; else NULL */
  char* place;              /* there: the container, then the name; either may hold any byte */
  size_t container_size, name_size;
} hr_named_t;
/* Finds or makes the object: named by attr "shared_name"; else after the node, where nodes of one name share; else by a name that no other
 * has ("_7_node"), so that it is one session's alone and leaves its container with the state. `find` gives a reference. */
typedef hr_status_t (*hr_named_find_fn_t)(hr_prepare_ctx_t* p, hr_str_t name, hr_resource_t** out);
typedef enum { HR_NAMED_HANDLE, HR_NAMED_REFERENCE } hr_named_way_t;
HR_MUST_USE hr_status_t hr_named_create(hr_named_t* n, hr_prepare_ctx_t* p, bool nodes_share, hr_named_find_fn_t find, hr_named_way_t way);
void hr_named_drop(void* state);
hr_status_t hr_named_give_handle(hr_kernel_ctx_t* k);    /* compute functions on such a state */
hr_status_t hr_named_give_reference(hr_kernel_ctx_t* k);

/* --- the object behind input 0, in either way ----------------------------------------------------------------------------------------- */
/* A reference of the caller's. INVALID_ARGUMENT for an empty handle or another object's, NOT_FOUND when there is none; `what` is for
 * people. */
HR_MUST_USE hr_status_t hr_named_input(const hr_kernel_ctx_t* k, const char* what, const hr_resource_type_t* type, hr_resource_t** out);
#endif
