/* SPDX-License-Identifier: Apache-2.0 */
/* Variables inside the client: made under a held lock, by the optimizers too. */
#ifndef HR_CLIENT_VARIABLE_H
#define HR_CLIENT_VARIABLE_H
#include "client/build.h"

/* `name` is unique already; colocated with b->beside, or with itself. */
void hr_client_make_variable(hr_build_t* b, hr_str_t name, hr_value_t initial_value, bool is_resource, HR_Variable* out);
/* The known shape of a variable; INVALID_ARGUMENT (in b) when it is not known. */
bool hr_client_shape_of(hr_build_t* b, const HR_Variable* v, hr_shape_t* out);
/* Its current value: a new read of a handle, or the read that a reference has. */
hr_value_t hr_client_read(hr_build_t* b, const HR_Variable* v, const char* name);
/* variable = value, variable += value. */
hr_node_t* hr_client_assign(hr_build_t* b, const HR_Variable* v, hr_value_t value);
/* Whether it lies in this graph and is complete; fails b otherwise. */
bool hr_client_check(hr_build_t* b, const HR_Variable* v, const char* what);
#endif
