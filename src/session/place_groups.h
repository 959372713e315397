/* SPDX-License-Identifier: Apache-2.0 */
/* What nodes ask for and with whom they must lie: wishes (device strings, parsed once each) and colocation groups (a union-find over
 * node ids whose root is the smallest id and carries the group's merged wish). Shared by the files of placement. */
#ifndef HR_SESSION_PLACE_GROUPS_H
#define HR_SESSION_PLACE_GROUPS_H
#include "session/place.h"

typedef struct {
  hr_str_t text;           /* as asked for; of merged ones the later text */
  hr_device_name_t name;
  int32_t first;           /* the first device of the set that matches; -1: none */
} hr_wish_t;

typedef struct {
  hr_program_t* p;
  const hr_placing_t* how;
  HR_VEC(hr_wish_t) wishes; /* 0 asks for nothing */
  hr_map_t by_text;
  const char* last_text;   /* of last_wish: neighbours mostly share one string */
  int32_t last_wish;
  int32_t merged_a, merged_b, merged; /* the last merge */
  int32_t* wish_of;        /* by id: of the node; at a root, of the group */
  int32_t* parent;         /* by id */
  uint8_t* marks;          /* by id, of roots: HR_PLACE_ bits */
  hr_map_t pruned;         /* names of nodes that were pruned away but are colocated with: id of the first that named one */
} hr_place_groups_t;

enum { HR_PLACE_GROUPED = 1 /* there are others */, HR_PLACE_HOST_ONLY = 2 };

HR_MUST_USE hr_status_t hr_place_groups_init(hr_place_groups_t* g, hr_program_t* p, const hr_placing_t* how);
void hr_place_groups_deinit(hr_place_groups_t* g);
/* The wish that a node's device string is. */
HR_MUST_USE hr_status_t hr_place_wish(hr_place_groups_t* g, const hr_node_t* n, int32_t* out);
/* Unites what must lie together; INVALID_ARGUMENT names two nodes of a group that ask for different devices. */
HR_MUST_USE hr_status_t hr_place_groups_find(hr_place_groups_t* g);
/* The same for what other runs of the graph do with the state that n holds; for nodes that have no device from an earlier run.
 * *out_remembered: where an earlier run put a node that n must lie with; -1. */
HR_MUST_USE hr_status_t hr_place_groups_follow(hr_place_groups_t* g, const hr_node_t* n, int32_t* out_remembered);
int32_t hr_place_memory_find(hr_place_memory_t* m, hr_str_t name); /* -1: not there */
int32_t hr_place_root(hr_place_groups_t* g, int32_t id);
/* Whether device d is one that the wish names; with soft placement and no match at all, type and number do not count. */
bool hr_place_accepts(const hr_place_groups_t* g, int32_t wish, int32_t d);
#endif
