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
#endif
