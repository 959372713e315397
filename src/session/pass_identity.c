/* SPDX-License-Identifier: Apache-2.0 */
/* Takes out nodes that only hand their input on: whoever reads Identity(x) reads x. Nodes with control edges stay, since they order things,
 * and so do those that read a reference, since when they read is what they are for. With conditionals or loops an IdentityN stays too: its
 * outputs are alive only together. */
#include "session/passes.h"
#include "session/place.h"

static bool op_hands_on(hr_str_t op) {
  static const char* const names[] = {"Identity", "IdentityN", "PlaceholderWithDefault", "PreventGradient", "Snapshot", "StopGradient"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
    if (hr_str_is(op, names[i])) return true;
  return false;
}

static bool node_hands_on(const hr_program_t* p, const hr_node_t* n, int32_t most_inputs) {
  if (n->input_count > most_inputs) return false;
  if (n->control_count || n->control_consumers.count) return false;
  for (int32_t i = 0; i < n->input_count; ++i)
    if (!hr_place_same(p, n, n->inputs[i].node)) return false; /* it is the copy on its device that others share */
  return op_hands_on(n->attrs.def->name) && !hr_program_is_target(p, n) && !hr_program_is_fixed(n);
}

hr_status_t hr_pass_identity(hr_program_t* p, const hr_session_options_t* o) {
  (void)o;
  const int64_t count = p->graph->nodes.count;
  const int32_t most_inputs = hr_program_has_flow(p) ? 1 : INT32_MAX;
  for (int64_t i = 0; i < count; ++i) {
    hr_node_t* n = p->graph->nodes.data[i];
    if (!node_hands_on(p, n, most_inputs)) continue;
    for (int32_t j = 0; j < n->output_count; ++j) HR_TRY(hr_program_replace(p, (hr_value_t){n, j}, n->inputs[j]));
  }
  return NULL;
}
