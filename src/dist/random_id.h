/* SPDX-License-Identifier: Apache-2.0 */
/* Ids that no other process is likely to choose too: of requests (so that who is called can tell one that was sent twice) and of steps. */
#ifndef HR_DIST_RANDOM_ID_H
#define HR_DIST_RANDOM_ID_H
#include <stdint.h>

int64_t hr_random_id_request(void); /* not 0 */
int64_t hr_random_id_step(void);    /* of 57 bits, as step ids are; not 0 */
#endif
