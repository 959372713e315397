/* SPDX-License-Identifier: Apache-2.0 */
/* Placement: every node of a program gets a device of the set. Requests are merged within colocation groups (`_class`, reference edges,
 * handles of resources); candidates are the devices that match and can run every op of the group; the first by preference wins. */
#ifndef HR_SESSION_PLACE_H
#define HR_SESSION_PLACE_H
#include "rt/device.h"
#include "session/program.h"

/* Where the stateful nodes of a session lie, by name: what one signature placed stays there for the next. Thread-safe. */
typedef struct hr_place_memory hr_place_memory_t;
HR_MUST_USE hr_status_t hr_place_memory_create(hr_place_memory_t** out);
void hr_place_memory_destroy(hr_place_memory_t* m); /* accepts NULL */

typedef struct hr_placing {
  hr_device_set_t* devices;
  hr_place_memory_t* memory; /* NULL: none */
  bool soft;                 /* a type or number that is not there is dropped */
  bool log;                  /* a line on stdout for each node */
} hr_placing_t;

/* Fills p->device_of and the nodes' device names; p keeps the devices. Feeds lie on device 0. INVALID_ARGUMENT says which node, what it
 * asked for, what there is and why each candidate fell out. Linear in nodes and edges. */
HR_MUST_USE hr_status_t hr_place_program(hr_program_t* p, const hr_placing_t* how);
/* Where a placed node is; 0 before. */
static inline int32_t hr_place_of(const hr_program_t* p, const hr_node_t* n) {
  return n->id < p->device_of.count && p->device_of.data[n->id] > 0 ? p->device_of.data[n->id] : 0;
}
static inline bool hr_place_same(const hr_program_t* p, const hr_node_t* a, const hr_node_t* b) {
  return hr_place_of(p, a) == hr_place_of(p, b);
}
#endif
