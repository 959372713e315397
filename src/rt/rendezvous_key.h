/* SPDX-License-Identifier: Apache-2.0 */
/* THE rule for rendezvous keys and frame ids, the same as TensorFlow's so that tasks of both kinds understand each other:
 *
 *   <source device>;<source incarnation, 16 lower-case hex digits>;<destination device>;<edge name>;<frame id>:<iteration>
 *
 * Devices are full names. The root frame has id 0; see hr_rendezvous_frame_id for the others. */
#ifndef HR_RT_RENDEZVOUS_KEY_H
#define HR_RT_RENDEZVOUS_KEY_H
#include "base/str.h"

typedef struct {
  hr_str_t source, destination, edge; /* borrowed from the text when parsed */
  uint64_t incarnation;               /* of the source device; a restart changes it */
  uint64_t frame_id;
  int64_t iteration;
} hr_rendezvous_key_t;

/* Appends the key's text. */
void hr_rendezvous_key_format(const hr_rendezvous_key_t* key, hr_strbuf_t* out);
/* INVALID_ARGUMENT unless there are five parts, two full device names, 16 hex digits, an edge name and two numbers. */
HR_MUST_USE hr_status_t hr_rendezvous_key_parse(hr_str_t text, hr_rendezvous_key_t* out);
/* The id of the frame that Enter nodes with `frame_name` open from iteration `iteration` of frame `parent_id`:
 * C(parent, C(iteration, H(frame_name))), H MurmurHash64A with seed 0xDECAFCAFFE,
 * C(a, b) = a ^ (b + 0x9e3779b97f4a7800 + (a << 10) + (a >> 4)). */
uint64_t hr_rendezvous_frame_id(uint64_t parent_id, int64_t iteration, hr_str_t frame_name);
#endif
