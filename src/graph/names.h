/* SPDX-License-Identifier: Apache-2.0 */
/* The name table behind hr_graph_find: kept at every add, except in copies, which fill it when first asked. */
#ifndef HR_GRAPH_NAMES_H
#define HR_GRAPH_NAMES_H
#include "graph/graph.h"

/* Whether a name belongs to a node that this graph's were copied from; the copy may have it or not. */
bool hr_names_is_original(hr_graph_t* g, hr_str_t name);
/* Fills by_name if that is pending. */
HR_MUST_USE hr_status_t hr_names_index(hr_graph_t* g);
/* INVALID_ARGUMENT for an illegal name; names of the session's own nodes (`internal`) may start with '_'. */
HR_MUST_USE hr_status_t hr_names_check(hr_str_t name, bool internal);
#endif
