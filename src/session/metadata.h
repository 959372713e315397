/* SPDX-License-Identifier: Apache-2.0 */
/* RunMetadata: what a watched step tells about itself, written as protobuf while the step runs. */
#ifndef HR_SESSION_METADATA_H
#define HR_SESSION_METADATA_H
#include "base/sync.h"
#include "rt/observer.h"
#include "session/runner.h"
#include "wire/writer.h"

typedef struct hr_metadata_part hr_metadata_part_t; /* a device's */
typedef struct {
  hr_observer_t observer; /* first; the step's */
  hr_mutex_t mu;          /* guards what follows, and the parts' writers */
  hr_metadata_part_t* parts;
  hr_writer_t stats;      /* StepStats of other processes, one after the other, which is their sum */
  hr_writer_t graphs;     /* RunMetadata's field 3, of other processes */
  int64_t wall_offset_ns; /* wall time minus monotonic time */
} hr_metadata_t;

void hr_metadata_init(hr_metadata_t* m);
void hr_metadata_deinit(hr_metadata_t* m);
/* Serialized RunMetadata; the caller frees with hr_free. runner: whose partition graphs are to be told; NULL: none. */
HR_MUST_USE hr_status_t hr_metadata_take(hr_metadata_t* m, const hr_runner_t* runner, char** out_data, size_t* out_size);
/* Appends the fields of StepStats (without a tag of its own). */
HR_MUST_USE hr_status_t hr_metadata_write_stats(hr_metadata_t* m, hr_writer_t* w);
/* The nodes as a GraphDef. */
HR_MUST_USE hr_status_t hr_metadata_write_graph(hr_writer_t* w, const hr_graph_t* graph, hr_node_t* const* nodes, int64_t count);
#endif
