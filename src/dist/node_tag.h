/* SPDX-License-Identifier: Apache-2.0 */
/* The mark by which TensorFlow's clients find the node of a failure: " [[{{node NAME}}]]" in the message. They give it as the error's `op`,
 * and tell where the program made it. Our own messages say "node 'NAME' (Op): ..."; what goes to a client over the network says both, the
 * text with a full stop, which those clients look for. */
#ifndef HR_DIST_NODE_TAG_H
#define HR_DIST_NODE_TAG_H
#include "base/status.h"

/* The same failure with the mark of the first node that it names, unless it has one. Consumes and returns like hr_status_note. */
HR_MUST_USE hr_status_t hr_node_tag_add(hr_status_t take_status);

#endif
