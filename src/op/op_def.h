/* SPDX-License-Identifier: Apache-2.0 */
/* OpDef, the protobuf form of a signature, both ways: how clients of other languages learn what ops there are, and how functions and
 * graphs of other producers say what theirs look like. */
#ifndef HR_OP_OP_DEF_H
#define HR_OP_OP_DEF_H
#include "op/sig.h"
#include "wire/cursor.h"
#include "wire/writer.h"

/* The message's body, without a tag. */
HR_MUST_USE hr_status_t hr_op_def_encode(const hr_op_def_t* def, hr_writer_t* w);
/* A definition without functions or kernels (its `op` has name, flags and deprecation only; sig and attrs are NULL). All memory lies in
 * the arena; default tensors are held by the keeper. INVALID_ARGUMENT for bytes that contradict themselves (an argument whose
 * attr is not there). It is not registered. */
HR_MUST_USE hr_status_t hr_op_def_decode(hr_arena_t* arena, hr_attr_keeper_t* keeper, hr_cursor_t span, hr_op_def_t** out);
#endif
