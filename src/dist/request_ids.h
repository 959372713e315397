/* SPDX-License-Identifier: Apache-2.0 */
/* The request ids that a service has seen lately: a repeated one is a call that the network delivered twice. Remembers at least
 * HR_REQUEST_IDS and at most twice as many, in two sets of which the older is dropped when the newer is full. Thread-safe. */
#ifndef HR_DIST_REQUEST_IDS_H
#define HR_DIST_REQUEST_IDS_H
#include "base/status.h"
#include "base/sync.h"

enum { HR_REQUEST_IDS = 16384 };
typedef struct {
  hr_mutex_t mu;
  int64_t *recent, *older; /* open tables of 2 * HR_REQUEST_IDS places, 0: free; made when first needed */
  int32_t count;           /* in recent */
} hr_request_ids_t;

void hr_request_ids_init(hr_request_ids_t* r);
void hr_request_ids_deinit(hr_request_ids_t* r);
/* ABORTED for an id that was here before; 0 is never refused. */
HR_MUST_USE hr_status_t hr_request_ids_add(hr_request_ids_t* r, int64_t id);
#endif
