/* SPDX-License-Identifier: Apache-2.0 */
/* RunMetadata: what a watched step tells about itself, written as protobuf while the step runs. */
#ifndef HR_SESSION_METADATA_H
#define HR_SESSION_METADATA_H
#include "rt/observer.h"
#include "session/program.h"
#include "wire/writer.h"

typedef struct {
  hr_observer_t observer; /* first; the step's */
  hr_writer_t nodes;      /* DeviceStepStats so far */
  int64_t wall_offset_ns; /* wall time minus monotonic time */
  bool watched;
} hr_metadata_t;

void hr_metadata_init(hr_metadata_t* m);
void hr_metadata_deinit(hr_metadata_t* m);
/* Serialized RunMetadata; the caller frees with hr_free. */
HR_MUST_USE hr_status_t hr_metadata_take(hr_metadata_t* m, const hr_program_t* p, bool partition_graphs, char** out_data, size_t* out_size);
#endif
