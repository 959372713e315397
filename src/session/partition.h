/* SPDX-License-Identifier: Apache-2.0 */
/* Partition: labels the nodes of a placed program by part, and puts a _Send and a _Recv wherever an edge crosses parts, so that each part
 * can run alone and meet the others at a rendezvous. All parts stay in the one graph of the program: a part is the nodes with its label.
 *
 * One transfer for all readers of a value in a part (references excepted); a control edge becomes an empty constant that is sent and an
 * Identity that is waited for; loops that span parts get a control loop in each part that has not the LoopCond. Names, attrs and keys are
 * TensorFlow's (shared with stock tasks). */
#ifndef HR_SESSION_PARTITION_H
#define HR_SESSION_PARTITION_H
#include "session/place.h"

typedef enum { HR_PARTITION_BY_TASK, HR_PARTITION_BY_DEVICE } hr_partition_by_t;

typedef struct {
  int32_t device;                /* index of the part's device; by task: of the task's first device with a node */
  hr_node_t** nodes;             /* live, in the program's order; memory of the program's arena */
  int64_t node_count;
} hr_part_t;

typedef struct {
  hr_part_t* parts;              /* memory of the program's arena */
  int32_t count;
  int32_t* part_of;              /* by node id */
} hr_partition_t;

/* After the passes and hr_program_finish. `suffix`: what new nodes' names end in before their number ("_" for a session in one process,
 * "_S" for a master, "_G" for a worker). `number`: the first such number, and afterwards the next one that is free; NULL: from 0. A master
 * goes on counting from program to program: stock workers keep a _Recv by its name, with its key, as long as their session lives. */
HR_MUST_USE hr_status_t hr_partition_program(hr_program_t* p, const hr_device_set_t* devices, hr_partition_by_t by, const char* suffix,
                                             int64_t* number, hr_partition_t* out);
#endif
