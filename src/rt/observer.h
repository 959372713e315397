/* SPDX-License-Identifier: Apache-2.0 */
/* Watching a step: called around each node when attached; with none attached the executor runs another loop, without a branch more. */
#ifndef HR_RT_OBSERVER_H
#define HR_RT_OBSERVER_H
#include <stdint.h>
#include "base/status.h"
struct hr_site;
struct hr_slot;
typedef struct hr_observer {
  void (*node_done)(struct hr_observer* self, const struct hr_site* site, const struct hr_slot* slots, int64_t start_ns, int64_t end_ns,
                    hr_status_t status);
} hr_observer_t;
#endif
