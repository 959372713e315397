/* SPDX-License-Identifier: Apache-2.0 */
/* gRPC, but for processes of one user on one machine, which call each other over a Unix socket (near_link.h): the same calls, for a
 * fraction of what a call of gRPC's costs. Whoever is not of this program, of another user, elsewhere, or behind TLS is called by gRPC. */
#ifndef HR_DIST_TRANSPORT_NEAR_H
#define HR_DIST_TRANSPORT_NEAR_H
#include "dist/transport.h"
/* Once. `far`: gRPC's table, which lives for ever. */
const hr_transport_t* hr_transport_near_over(const hr_transport_t* far);
#endif
