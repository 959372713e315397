/* SPDX-License-Identifier: Apache-2.0 */
/* Watching a step: called around each node when attached; with none attached the executor runs another loop, without a branch more. */
#ifndef HR_RT_OBSERVER_H
#define HR_RT_OBSERVER_H
#include <stddef.h>
#include <stdint.h>
#include "base/status.h"
struct hr_site;
struct hr_slot;
typedef struct hr_observer {
  /* On any thread that runs nodes. */
  void (*node_done)(struct hr_observer* self, const struct hr_site* site, const struct hr_slot* slots, int64_t start_ns, int64_t end_ns,
                    hr_status_t status);
  /* Asked by runners for each of a step's parts: who watches the nodes of a device (its full name, which stays). NULL: nobody does; the
   * function itself may be NULL: one for all. */
  struct hr_observer* (*part)(struct hr_observer* self, const char* device);
  /* What was seen in another process: a serialized StepStats; a GraphDef of a part. Both may be NULL. */
  void (*add_stats)(struct hr_observer* self, const void* data, size_t size);
  void (*add_graph)(struct hr_observer* self, const void* data, size_t size);
} hr_observer_t;
#endif
