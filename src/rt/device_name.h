/* SPDX-License-Identifier: Apache-2.0 */
/* Device names: /job:NAME/replica:N/task:N/device:TYPE:N, any part left out or `*`; also the old short forms /cpu:0 and /gpu:*. */
#ifndef HR_RT_DEVICE_NAME_H
#define HR_RT_DEVICE_NAME_H
#include "base/str.h"

typedef struct {
  hr_str_t job, type;         /* size 0: any; borrowed from the text */
  int64_t replica, task, id;  /* -1: any */
} hr_device_name_t;

/* INVALID_ARGUMENT "malformed device specification". "" names any device. */
HR_MUST_USE hr_status_t hr_device_name_parse(hr_str_t text, hr_device_name_t* out);
/* Whether the device `device`, whose parts are all given, is one that `wanted` names. Types compare without regard to case. */
bool hr_device_name_accepts(const hr_device_name_t* wanted, const hr_device_name_t* device);
bool hr_device_name_is_full(const hr_device_name_t* n); /* every part is given */
bool hr_device_name_same_task(const hr_device_name_t* a, const hr_device_name_t* b);
#endif
