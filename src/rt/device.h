/* SPDX-License-Identifier: Apache-2.0 */
/* A device as placement, partition and partitions' keys see it: a name, an incarnation, what it can run. The devices of a session are an
 * array in order of preference within one type; device 0 is the client device (the host CPU), where feeds come from and fetches go.
 *
 * Host CPUs have no table: their memory is the host's and kernels run on the calling thread. A device with a table
 * (include/headrace/device.h) has memory of its own. A remote device is known by its attributes only. */
#ifndef HR_RT_DEVICE_H
#define HR_RT_DEVICE_H
#include "base/status.h"
#include "rt/device_name.h"

struct HR_DeviceTable; /* include/headrace/device.h */

typedef struct hr_device {
  char* name;                 /* full: /job:worker/replica:0/task:3/device:CPU:0; own bytes */
  char* type;                 /* "CPU"; own bytes */
  hr_device_name_t parts;     /* of name */
  uint64_t incarnation;       /* random, not 0; 1 for devices of sessions in one process, as in TensorFlow */
  int64_t memory_limit;       /* bytes; 0: not stated */
  bool is_remote;             /* of another task */
  const struct HR_DeviceTable* table; /* NULL: host CPU */
  void* state;                /* the table's */
} hr_device_t;

/* A set of devices; refcounted, immutable once shared. */
typedef struct hr_device_set hr_device_set_t;
struct hr_device_set {
  _Atomic int refs;
  int32_t count;
  hr_device_t** devices;      /* owned */
};
HR_MUST_USE hr_status_t hr_device_set_create(hr_device_set_t** out);
hr_device_set_t* hr_device_set_retain(hr_device_set_t* s);
void hr_device_set_release(hr_device_set_t* s); /* accepts NULL */
/* Appends a host CPU or, with is_remote, any device by its name. INVALID_ARGUMENT unless the name is full. Before the set is shared. */
HR_MUST_USE hr_status_t hr_device_set_add(hr_device_set_t* s, hr_str_t full_name, uint64_t incarnation, int64_t memory_limit,
                                          bool is_remote);
/* Host CPUs TASK/device:CPU:0.. (count 0: one). incarnation 0: a new one for each. */
HR_MUST_USE hr_status_t hr_device_set_add_cpus(hr_device_set_t* s, hr_str_t task, int32_t count, uint64_t incarnation);
enum { HR_DEVICE_MOST_CPUS = 1024 };
#define HR_DEVICE_CPU_MEMORY (INT64_C(256) << 20) /* what TensorFlow says of a CPU, whatever the machine has */
#define HR_DEVICE_LOCAL_TASK "/job:localhost/replica:0/task:0"
int32_t hr_device_set_find(const hr_device_set_t* s, hr_str_t full_name); /* -1 */
bool hr_device_same_task(const hr_device_t* a, const hr_device_t* b);
uint64_t hr_device_new_incarnation(void); /* random, not 0 */
#endif
