/* SPDX-License-Identifier: Apache-2.0 */
#include "session/expand.h"

bool hr_lower_is_conditional(const hr_node_t* n) { (void)n; return false; }
hr_status_t hr_lower_node(hr_expand_t* x, const hr_expand_item_t* item, bool* out_done) {
  (void)x; (void)item;
  *out_done = false;
  return NULL;
}
