/* SPDX-License-Identifier: Apache-2.0 */
/* Classes of nodes, as the op definitions carry them (op/node_class.h). */
#ifndef HR_GRAPH_NODE_CLASS_H
#define HR_GRAPH_NODE_CLASS_H
#include "op/node_class.h"
#endif
