/* SPDX-License-Identifier: Apache-2.0 */
/* AttrValue both ways: all arms, lists, functions with attrs of their own, placeholders.
 *
 * Decoded values live in the arena (strings are copied and NUL-terminated), tensors are held by the keeper. Functions nest at most
 * HR_ATTR_VALUE_DEPTH deep (INVALID_ARGUMENT beyond). Surprise: an AttrValue without an arm has kind NONE; an empty list too, with
 * is_list set. Of several arms the last wins, as in protobuf. */
#ifndef HR_OP_ATTR_VALUE_H
#define HR_OP_ATTR_VALUE_H
#include "op/attr.h"
#include "wire/cursor.h"
#include "wire/writer.h"

enum { HR_ATTR_VALUE_DEPTH = 64 };

/* An AttrValue's body. On failure tensors already kept stay with the keeper. */
HR_MUST_USE hr_status_t hr_attr_value_decode(hr_arena_t* arena, hr_attr_keeper_t* keeper, hr_cursor_t span, hr_attr_t* out);
HR_MUST_USE hr_status_t hr_attr_value_encode(const hr_attr_t* attr, hr_writer_t* w);
/* One entry of a map<string, AttrValue> (NodeDef.attr, NameAttrList.attr, FunctionDef.attr), its body. */
HR_MUST_USE hr_status_t hr_attr_value_decode_entry(hr_arena_t* arena, hr_attr_keeper_t* keeper, hr_cursor_t span, hr_named_attr_t* out);
/* The whole entry as field `number`, with tag and length. */
HR_MUST_USE hr_status_t hr_attr_value_encode_entry(uint32_t number, const hr_named_attr_t* attr, hr_writer_t* w);
/* A NameAttrList's body. */
HR_MUST_USE hr_status_t hr_attr_value_decode_func(hr_arena_t* arena, hr_attr_keeper_t* keeper, hr_cursor_t span, hr_func_attr_t* out);
HR_MUST_USE hr_status_t hr_attr_value_encode_func(const hr_func_attr_t* func, hr_writer_t* w);
#endif
