/* SPDX-License-Identifier: Apache-2.0 */
/* What libheadrace_core.so finds in place of a manifest in a program that has none (unit tests of the lower layers): a program's own, or
 * that of libheadrace.so, comes before it. */
#include <stddef.h>
#include "session/backend.h"

const hr_session_factory_t* const hr_session_factories[] = {NULL};
