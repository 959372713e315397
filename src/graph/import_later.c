/* SPDX-License-Identifier: Apache-2.0 */
/* Attrs that a newer producer's op has and ours lacks: harmless when they have their default, which only the producer's op list knows. */
#include "op/attr_value.h"
#include "graph/import_state.h"

enum { OPLIST_OP = 1, OPDEF_ATTR = 4, ATTRDEF_DEFAULT = 3, LATER_NAME = 1 };

/* The message in field `outer` of `span` whose name (field 1 of OpDef and AttrDef) is `name`; *out_found false: none. */
static hr_status_t later_find(hr_cursor_t span, uint32_t outer, hr_str_t name, hr_cursor_t* out, bool* out_found) {
  hr_field_t field, inner;
  *out_found = false;
  while (!hr_cursor_is_done(&span)) {
    HR_TRY(hr_cursor_next(&span, &field));
    if (field.key != HR_KEY_SPAN(outer)) continue;
    hr_cursor_t body = field.span;
    while (!hr_cursor_is_done(&body)) {
      HR_TRY(hr_cursor_next(&body, &inner));
      if (inner.key != HR_KEY_SPAN(LATER_NAME) || !hr_str_equal(hr_cursor_str(inner.span), name)) continue;
      *out = field.span;
      *out_found = true;
      return NULL;
    }
  }
  return NULL;
}

static hr_status_t later_default(hr_cursor_t attr, hr_cursor_t* out, bool* out_found) {
  hr_field_t field;
  *out_found = false;
  while (!hr_cursor_is_done(&attr)) {
    HR_TRY(hr_cursor_next(&attr, &field));
    if (field.key != HR_KEY_SPAN(ATTRDEF_DEFAULT)) continue;
    *out = field.span;
    *out_found = true;
  }
  return NULL;
}

static hr_status_t later_values_equal(hr_cursor_t a, hr_cursor_t b, bool* out) {
  hr_arena_t arena;
  hr_attr_keeper_t keeper = {0};
  hr_attr_t left, right;
  hr_arena_init(&arena);
  hr_status_t status = hr_attr_value_decode(&arena, &keeper, a, &left);
  if (!status) status = hr_attr_value_decode(&arena, &keeper, b, &right);
  if (!status) *out = hr_attr_equal(&left, &right);
  hr_attr_keeper_deinit(&keeper);
  hr_arena_deinit(&arena);
  return status;
}

hr_status_t hr_import_attr_is_default(hr_import_t* im, hr_str_t op, hr_str_t name, hr_cursor_t value, bool* out) {
  hr_cursor_t span = hr_cursor_make(im->options->producer_ops.data, im->options->producer_ops.size);
  bool found;
  *out = false;
  HR_TRY(later_find(span, OPLIST_OP, op, &span, &found));
  if (found) HR_TRY(later_find(span, OPDEF_ATTR, name, &span, &found));
  if (found) HR_TRY(later_default(span, &span, &found));
  return found ? later_values_equal(span, value, out) : NULL;
}
