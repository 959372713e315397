/* SPDX-License-Identifier: Apache-2.0 */
/* Devices that libraries bring (include/headrace/device.h): the process's list of tables, the devices opened of each, their streams. */
#ifndef HR_RT_DEVICE_TABLE_H
#define HR_RT_DEVICE_TABLE_H
#include "headrace/device.h"
#include "rt/device.h"
#include "tensor/tensor.h"

/* A device in use: hr_device_t's `state`. One for each ordinal in the process; never closed. */
typedef struct hr_device_unit hr_device_unit_t;

/* Adds a table to the process's. INVALID_ARGUMENT says what it lacks; ALREADY_EXISTS: its type is there. */
HR_MUST_USE hr_status_t hr_device_table_register(const HR_DeviceTable* table);
/* Appends all registered devices to a set, under TASK/device:TYPE:N, opening those that are not open yet. */
HR_MUST_USE hr_status_t hr_device_table_add_all(hr_device_set_t* s, hr_str_t task);

/* --- memory --------------------------------------------------------------------------------------------------------------------------- */
/* A tensor of device memory, of the shape and type of `like`; nobody on the host may touch its data. */
HR_MUST_USE hr_status_t hr_device_unit_tensor(hr_device_unit_t* u, const hr_tensor_t* like, hr_tensor_t* out);
bool hr_device_unit_owns(const hr_device_unit_t* u, const hr_tensor_t* t);

/* --- work ----------------------------------------------------------------------------------------------------------------------------- */
enum { HR_DEVICE_STREAMS = 4 }; /* for kernels */
typedef struct {
  const HR_DeviceTable* table;
  void* device;
  void *in, *out;               /* streams of copies */
  void* streams[HR_DEVICE_STREAMS];
} hr_device_queues_t;
const hr_device_queues_t* hr_device_unit_queues(const hr_device_unit_t* u);
/* What `stream` is given from now on waits for what `before` has been given. */
HR_MUST_USE hr_status_t hr_device_unit_order(const hr_device_unit_t* u, void* stream, void* before);
hr_status_t hr_device_failure(const hr_device_unit_t* u, const char* what, int code, const char* message); /* NULL for code 0 */
#endif
