/* SPDX-License-Identifier: Apache-2.0 */
/* Whether two FunctionDefs say the same. Their bytes may differ all the same: protobuf writes the entries of a map in any order, and a
 * client that sends its library twice (each extension of a TensorFlow session does) need not write it alike. So messages are hashed with
 * the entries of maps added up. Equal hashes of 64 bits are taken for equal messages; at worst the first definition stays. */
#include "base/hash.h"
#include "graph/function.h"
#include "wire/cursor.h"

enum { SAME_DEPTH = 64 }; /* of nested messages; deeper ones are compared as bytes */

typedef enum { TYPE_LEAF, TYPE_FUNCTION, TYPE_NODE, TYPE_ATTR, TYPE_VALUE, TYPE_LIST, TYPE_NAMED, TYPE_ARG, TYPE_ARG_ATTRS } same_type_t;

/* The fields that are maps, or lead to one. */
static const struct {
  same_type_t type;
  uint32_t field;
  same_type_t child;
  bool is_map;
} same_rows[] = {
  {TYPE_FUNCTION, 3, TYPE_NODE, false}, {TYPE_FUNCTION, 4, TYPE_LEAF, true}, /* node_def, ret */
  {TYPE_FUNCTION, 5, TYPE_ATTR, true},  {TYPE_FUNCTION, 6, TYPE_LEAF, true}, /* attr, control_ret */
  {TYPE_FUNCTION, 7, TYPE_ARG, true},   {TYPE_FUNCTION, 8, TYPE_LEAF, true}, /* arg_attr, resource_arg_unique_id */
  {TYPE_NODE, 5, TYPE_ATTR, true},      {TYPE_ATTR, 2, TYPE_VALUE, false},
  {TYPE_VALUE, 1, TYPE_LIST, false},    {TYPE_VALUE, 10, TYPE_NAMED, false},
  {TYPE_LIST, 9, TYPE_NAMED, false},    {TYPE_NAMED, 2, TYPE_ATTR, true},
  {TYPE_ARG, 2, TYPE_ARG_ATTRS, false}, {TYPE_ARG_ATTRS, 1, TYPE_ATTR, true},
};

static same_type_t child_of(same_type_t type, uint32_t key, bool* out_is_map) {
  for (size_t i = 0; i < sizeof same_rows / sizeof *same_rows; ++i) {
    if (same_rows[i].type != type || key != HR_KEY_SPAN(same_rows[i].field)) continue;
    *out_is_map = same_rows[i].is_map;
    return same_rows[i].child;
  }
  *out_is_map = false;
  return TYPE_LEAF;
}

static uint64_t hash_bytes(hr_cursor_t span) { return hr_hash(span.at, hr_cursor_left(&span), 0); }

/* Recurses as deep as `depth` at most. */
static uint64_t hash_message(hr_cursor_t c, same_type_t type, int depth) {
  uint64_t in_order = hr_hash_mix(0, type), any_order = 0;
  if (type == TYPE_LEAF || depth == 0) return hash_bytes(c);
  while (!hr_cursor_is_done(&c)) {
    hr_field_t f;
    hr_status_t status = hr_cursor_next(&c, &f);
    if (status) { /* not a message after all */
      hr_status_release(status);
      return in_order;
    }
    bool is_map = false, is_span = (f.key & 7) == HR_WIRE_SPAN;
    same_type_t child = child_of(type, f.key, &is_map);
    uint64_t h = hr_hash_mix(f.key, is_span ? hash_message(f.span, child, depth - 1) : f.value);
    if (is_map) any_order += h;
    else in_order = hr_hash_mix(in_order, h);
  }
  return hr_hash_mix(in_order, any_order);
}

bool hr_function_same(hr_str_t a, hr_str_t b) {
  if (hr_str_equal(a, b)) return true;
  return a.size == b.size && hash_message(hr_cursor_make(a.data, a.size), TYPE_FUNCTION, SAME_DEPTH) ==
                                 hash_message(hr_cursor_make(b.data, b.size), TYPE_FUNCTION, SAME_DEPTH);
}
