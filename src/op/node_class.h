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
/* The class without Ref: RefEnter's is Enter. */
static inline int hr_node_class_plain(int node_class) {
  switch (node_class) {
    case HR_NODE_REF_SWITCH: return HR_NODE_SWITCH;
    case HR_NODE_REF_MERGE: return HR_NODE_MERGE;
    case HR_NODE_REF_ENTER: return HR_NODE_ENTER;
    case HR_NODE_REF_EXIT: return HR_NODE_EXIT;
    case HR_NODE_REF_NEXT_ITERATION: return HR_NODE_NEXT_ITERATION;
    default: return node_class;
  }
}
static inline bool hr_node_class_is_merge(int node_class) { return hr_node_class_plain(node_class) == HR_NODE_MERGE; }
static inline bool hr_node_class_is_enter(int node_class) { return hr_node_class_plain(node_class) == HR_NODE_ENTER; }
static inline bool hr_node_class_is_exit(int node_class) { return hr_node_class_plain(node_class) == HR_NODE_EXIT; }
static inline bool hr_node_class_is_next_iteration(int node_class) {
  return hr_node_class_plain(node_class) == HR_NODE_NEXT_ITERATION;
}
#endif
