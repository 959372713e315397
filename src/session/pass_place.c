/* SPDX-License-Identifier: Apache-2.0 */
/* Placement: every node must be satisfied with the one device there is, the host's CPU. A node that asks for another is INVALID_ARGUMENT,
 * as in TensorFlow; with allow_soft_placement only the wish for a device type or number is dropped, a job or task that is not here is still
 * refused. */
#include "rt/device_name.h"
#include "session/passes.h"

static const char device_text[] = "/job:localhost/replica:0/task:0/device:CPU:0";

hr_status_t hr_pass_place(hr_program_t* p, const hr_session_options_t* o) {
  hr_device_name_t device, wanted;
  HR_TRY(hr_device_name_parse(HR_STR(device_text), &device));
  for (int64_t i = 0; i < p->graph->nodes.count; ++i) {
    const hr_node_t* n = p->graph->nodes.data[i];
    if (!n || n->device.size == 0) continue;
    hr_status_t status = hr_device_name_parse(n->device, &wanted);
    if (status) return hr_status_note(status, "node '%s': ", n->name.data);
    if (o->allow_soft_placement) wanted.type = (hr_str_t){0}, wanted.id = -1;
    if (hr_device_name_accepts(&wanted, &device)) continue;
    return HR_ERROR(INVALID_ARGUMENT,
                    "cannot assign a device for operation '%s': it was explicitly assigned to %.*s but available devices are [ %s ]; "
                    "allow_soft_placement would let it run there",
                    n->name.data, HR_STR_ARG(n->device), device_text);
  }
  return NULL;
}
