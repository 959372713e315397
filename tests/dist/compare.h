/* SPDX-License-Identifier: Apache-2.0 */
/* Messages and parts of graphs compared with recorded ones, check by check. Included by the tests, whose failures these are. */
#ifndef HR_TESTS_DIST_COMPARE_H
#define HR_TESTS_DIST_COMPARE_H
#include "graph/import.h"
#include "tensor/tensor.h"
#include "test.h"
#include "wire/cursor.h"

static inline hr_str_t compare_field(hr_str_t message, uint32_t key) { /* the last such span; "" */
  hr_str_t found = {"", 0};
  for (hr_cursor_t c = hr_cursor_make(message.data, message.size); !hr_cursor_is_done(&c);) {
    hr_field_t f;
    if (!HR_CHECK_OK(hr_cursor_next(&c, &f))) break;
    if (f.key == key) found = hr_cursor_str(f.span);
  }
  return found;
}
static inline int64_t compare_number(hr_str_t message, uint32_t key) {
  int64_t found = 0;
  for (hr_cursor_t c = hr_cursor_make(message.data, message.size); !hr_cursor_is_done(&c);) {
    hr_field_t f;
    if (!HR_CHECK_OK(hr_cursor_next(&c, &f))) break;
    if (f.key == key) found = (int64_t)f.value;
  }
  return found;
}

/* --- partitions ----------------------------------------------------------------------------------------------------------------------- */

static inline hr_graph_t* compare_import(hr_str_t def) {
  hr_graph_t* g = NULL;
  const hr_import_options_t o = {.internal = true};
  hr_import_results_t r = {0};
  HR_CHECK_OK(hr_graph_create(&g));
  HR_CHECK_OK(hr_import_graph_def(g, def.data, def.size, &o, &r));
  hr_import_results_deinit(&r);
  return g;
}

/* "edge_16_step" without its number, of which all that matters is that both ends agree. */
static inline hr_str_t compare_edge(hr_str_t s) {
  if (!hr_str_has_prefix(s, HR_STR("edge_"))) return s;
  const hr_str_t rest = hr_str_slice(s, 5, s.size);
  return hr_str_slice(rest, (size_t)hr_str_find(rest, '_') + 1, rest.size);
}

static inline bool compare_agree(hr_str_t name, const hr_attr_t* a, const hr_attr_t* b) {
  if (hr_str_is(name, "send_device_incarnation")) return true;
  if (hr_str_is(name, "tensor_name")) return hr_str_equal(compare_edge(a->u.s), compare_edge(b->u.s));
  return hr_attr_equal(a, b);
}

static inline void compare_attrs(const hr_node_t* want, const hr_node_t* got) {
  for (int i = 0; i < want->attrs.def->attr_count; ++i) {
    hr_str_t name = want->attrs.def->attrs[i].name;
    if (compare_agree(name, &want->attrs.values[i], &got->attrs.values[i])) continue;
    hr_test_fail(__FILE__, __LINE__, "node '%s': attr '%.*s' differs", want->name.data, HR_STR_ARG(name));
  }
}

static inline bool compare_waits(const hr_node_t* n, hr_str_t name) {
  for (int i = 0; i < n->control_count; ++i)
    if (hr_str_equal(n->controls[i]->name, name)) return true;
  return false;
}

static inline void compare_node(const hr_node_t* want, const hr_node_t* got) {
  HR_REQUIRE(hr_str_equal(want->attrs.def->name, got->attrs.def->name));
  HR_CHECK_VIEW(got->device, want->device.data);
  HR_CHECK_EQ_I64(got->control_count, want->control_count);
  for (int i = 0; i < want->control_count; ++i) HR_CHECK(compare_waits(got, want->controls[i]->name));
  if (!HR_CHECK_EQ_I64(got->input_count, want->input_count)) return;
  const bool swapped = want->input_count == 2 && hr_str_has_prefix(want->attrs.def->name, HR_STR("Add")) &&
                       hr_str_equal(got->inputs[0].node->name, want->inputs[1].node->name); /* TensorFlow puts constants first */
  for (int i = 0; i < want->input_count && !swapped; ++i) {
    HR_CHECK_VIEW(got->inputs[i].node->name, want->inputs[i].node->name.data);
    HR_CHECK_EQ_I64(got->inputs[i].index, want->inputs[i].index);
  }
  compare_attrs(want, got);
}

static inline void compare_parts(hr_str_t want_def, hr_str_t got_def) {
  hr_graph_t *want = compare_import(want_def), *got = compare_import(got_def);
  for (int64_t i = 0; i < want->nodes.count; ++i) {
    const hr_node_t* w = want->nodes.data[i];
    const hr_node_t* g = hr_graph_find(got, w->name);
    if (g) compare_node(w, g);
    else hr_test_fail(__FILE__, __LINE__, "the part lacks node '%s' (%s)", w->name.data, w->attrs.def->name.data);
  }
  for (int64_t i = 0; i < got->nodes.count; ++i)
    if (!hr_graph_find(want, got->nodes.data[i]->name))
      hr_test_fail(__FILE__, __LINE__, "the part has a node '%s' (%s) too many", got->nodes.data[i]->name.data,
                   got->nodes.data[i]->attrs.def->name.data);
  hr_graph_destroy(want);
  hr_graph_destroy(got);
}
#endif
