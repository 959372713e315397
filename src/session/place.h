/* SPDX-License-Identifier: Apache-2.0 */
/* Placement: every node of a program gets a device of the set. Requests are merged within colocation groups (`_class`, reference edges,
 * handles of resources); candidates are the devices that match and can run every op of the group; the first by preference wins. */
#ifndef HR_SESSION_PLACE_H
#define HR_SESSION_PLACE_H
#include "rt/device.h"
#include "session/program.h"

/* Fills p->device_of. Feeds and fetches lie on device 0. INVALID_ARGUMENT says which node, what it asked for, what there is and why each
 * candidate fell out, unless `soft`: then type and number are dropped. Linear in nodes and edges. */
HR_MUST_USE hr_status_t hr_place_program(hr_program_t* p, const hr_device_set_t* devices, bool soft, bool log);
#endif
