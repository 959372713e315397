/* SPDX-License-Identifier: Apache-2.0 */
/* Event files, as TensorBoard reads them: TFRecords of Event messages, the first one the file's version. One thread at a time.
 * hr_event_writer_add takes any serialized Event; the helpers build the common ones. */
#ifndef HR_IO_EVENT_H
#define HR_IO_EVENT_H
#include "base/str.h"

typedef struct hr_event_writer hr_event_writer_t;
/* <folder>/events.out.tfevents.<seconds>.<host><suffix>; makes the folder. */
HR_MUST_USE hr_status_t hr_event_writer_create(const char* folder, const char* suffix, hr_event_writer_t** out);
HR_MUST_USE hr_status_t hr_event_writer_add(hr_event_writer_t* w, hr_str_t event);
HR_MUST_USE hr_status_t hr_event_writer_add_scalar(hr_event_writer_t* w, int64_t step, hr_str_t tag, float value);
HR_MUST_USE hr_status_t hr_event_writer_add_graph(hr_event_writer_t* w, int64_t step, hr_str_t graph_def);
HR_MUST_USE hr_status_t hr_event_writer_flush(hr_event_writer_t* w);
const char* hr_event_writer_path(const hr_event_writer_t* w);
HR_MUST_USE hr_status_t hr_event_writer_close(hr_event_writer_t* take_w); /* accepts NULL; frees also on failure */
#endif
