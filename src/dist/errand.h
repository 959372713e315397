/* SPDX-License-Identifier: Apache-2.0 */
/* Errands live in base/ now: the parts of a local step run on them too. */
#ifndef HR_DIST_ERRAND_H
#define HR_DIST_ERRAND_H
#include "base/errand.h"
#endif
