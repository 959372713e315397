/* SPDX-License-Identifier: Apache-2.0 */
/* The few ops that graph and exec know by class; the list is node_class.def. The registry puts the class into each op's definition. */
#ifndef HR_OP_NODE_CLASS_H
#define HR_OP_NODE_CLASS_H
#include <stdbool.h>

typedef enum {
  HR_NODE_ORDINARY = 0,
#define HR_NODE_CLASS(CLASS, op) HR_NODE_##CLASS,
#include "op/node_class.def"
#undef HR_NODE_CLASS
  HR_NODE_CLASS_COUNT
} hr_node_class_t;

static inline bool hr_node_class_is_control_flow(int node_class) {
  return node_class >= HR_NODE_SWITCH && node_class <= HR_NODE_LOOP_COND;
}
/* Plain or of references. */
static inline bool hr_node_class_is_merge(int node_class) { return node_class == HR_NODE_MERGE || node_class == HR_NODE_REF_MERGE; }
static inline bool hr_node_class_is_enter(int node_class) { return node_class == HR_NODE_ENTER || node_class == HR_NODE_REF_ENTER; }
static inline bool hr_node_class_is_exit(int node_class) { return node_class == HR_NODE_EXIT || node_class == HR_NODE_REF_EXIT; }
static inline bool hr_node_class_is_next_iteration(int node_class) {
  return node_class == HR_NODE_NEXT_ITERATION || node_class == HR_NODE_REF_NEXT_ITERATION;
}
#endif
