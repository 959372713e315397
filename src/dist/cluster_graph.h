/* SPDX-License-Identifier: Apache-2.0 */
/* A program made ready for workers: what is fed becomes a _Recv and what is fetched a _Send, both on the client device and terminated by
 * the client (their keys travel in RunGraph), then the whole is partitioned by task, and each part written as a GraphDef. */
#ifndef HR_DIST_CLUSTER_GRAPH_H
#define HR_DIST_CLUSTER_GRAPH_H
#include "base/str.h"
#include "session/partition.h"

typedef struct {
  char* graph_def;       /* hr_alloc'ed; NULL once it has been registered */
  size_t graph_def_size;
  int32_t device;        /* one of the part's */
} hr_cluster_part_t;

typedef struct {
  hr_cluster_part_t* parts;
  int32_t part_count;
  int32_t client_part;   /* of the client device: feeds go there, fetches come from there; -1: it has none */
  hr_str_t* feed_keys;   /* rendezvous keys by feed of the program; size 0: nothing needs the feed */
  hr_str_t* fetch_keys;  /* by fetch */
  int32_t feed_count, fetch_count;
} hr_cluster_graph_t;

/* Edits the program for good. `number`: as hr_partition_program's. *out_partition: its nodes are the program's. */
HR_MUST_USE hr_status_t hr_cluster_graph_create(hr_program_t* p, int64_t* number, hr_cluster_graph_t* out,
                                                hr_partition_t* out_partition);
void hr_cluster_graph_deinit(hr_cluster_graph_t* g);
#endif
