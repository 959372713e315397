/* SPDX-License-Identifier: Apache-2.0 */
/* The transport within one process, for tests of what is above it: the same contract, no bytes on a wire. */
#ifndef HR_DIST_TRANSPORT_INPROC_H
#define HR_DIST_TRANSPORT_INPROC_H
#include "dist/transport.h"
extern const hr_transport_t hr_transport_inproc;
#endif
