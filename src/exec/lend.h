/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes on a device that is not the host. One with a kernel of its own is called (own.h); else the host's kernel, lent, becomes an
 * asynchronous one. Inputs that lie in host memory are copied to the device on its copy stream; the kernel runs on one of its streams, in a
 * thread that sees its memory; outputs are tensors of device memory. A _Send copies back first; what a _Recv gives lies on the host until
 * somebody reads it. */
#ifndef HR_EXEC_LEND_H
#define HR_EXEC_LEND_H
#include "graph/graph.h"
#include "op/kernel_ctx.h"
#include "rt/device.h"

/* A site whose kernel, state and prepared memory are chosen: changes it if the node touches values. */
HR_MUST_USE hr_status_t hr_lend_site(hr_arena_t* arena, const hr_device_t* device, hr_site_t* site, const hr_node_t* n);
#endif
