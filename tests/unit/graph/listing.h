/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes as text, one a line: op, inputs, what it waits for, attrs that are not defaults, device, types and shapes of its outputs; and texts
 * against what was recorded. */
#ifndef HR_TESTS_LISTING_H
#define HR_TESTS_LISTING_H
#include <stdlib.h>
#include "base/file.h"
#include "graph/graph.h"
#include "test.h"

static inline void listing_value(hr_strbuf_t* out, hr_value_t v) {
  if (!v.node)
    hr_strbuf_format(out, " -");
  else
    hr_strbuf_format(out, v.index ? " %.*s:%d" : " %.*s", HR_STR_ARG(v.node->name), (int)v.index);
}

static inline bool listing_shows(const hr_attr_def_t* d, const hr_attr_t* value) { /* types of inputs show in their values */
  if (d->kind == HR_ATTR_TYPE && (d->is_list || !hr_str_is(d->name, "elem_type"))) return false;
  return !d->has_default || !hr_attr_equal(&d->value, value);
}

static inline void listing_node(hr_strbuf_t* out, const hr_node_t* n) {
  char text[HR_SHAPE_TEXT];
  const hr_op_def_t* def = n->attrs.def;
  hr_strbuf_format(out, "> %.*s = %.*s", HR_STR_ARG(n->name), HR_STR_ARG(def->name));
  for (int32_t i = 0; i < n->input_count; ++i) listing_value(out, n->inputs[i]);
  for (int32_t i = 0; i < n->control_count; ++i) hr_strbuf_format(out, " ^%.*s", HR_STR_ARG(n->controls[i]->name));
  for (int i = 0; i < def->attr_count; ++i) {
    if (!listing_shows(&def->attrs[i], &n->attrs.values[i])) continue;
    hr_strbuf_format(out, " %.*s=", HR_STR_ARG(def->attrs[i].name));
    hr_attr_print(&n->attrs.values[i], out);
  }
  for (int i = 0; i < n->attrs.extra_count; ++i) {
    hr_strbuf_format(out, " %.*s=", HR_STR_ARG(n->attrs.extras[i].name));
    hr_attr_print(&n->attrs.extras[i].value, out);
  }
  if (n->device.size) hr_strbuf_format(out, " on %.*s", HR_STR_ARG(n->device));
  for (int32_t i = 0; i < n->output_count; ++i)
    hr_strbuf_format(out, " %s%s", hr_dtype_name(n->output_types[i]), hr_pshape_format(n->shapes[i], text));
  hr_strbuf_format(out, "\n");
}

static inline void listing_nodes(hr_strbuf_t* out, const hr_graph_t* g, int64_t first) {
  for (int64_t i = first; i < g->nodes.count; ++i) listing_node(out, g->nodes.data[i]);
}

static inline void listing_compare(hr_str_t want, hr_str_t got) { /* says the first line of each case that differs */
  hr_str_t a, b, title = HR_STR("");
  bool told = false;
  while (want.size && got.size) {
    hr_str_split(&want, '\n', &a);
    hr_str_split(&got, '\n', &b);
    if (a.size && a.data[0] == '#') title = a;
    if (hr_str_equal(a, b) || told) continue;
    told = true;
    hr_test_fail(__FILE__, __LINE__, "%.*s\n  recorded: %.*s\n  now:      %.*s", HR_STR_ARG(title), HR_STR_ARG(hr_str_slice(a, 0, 300)),
                 HR_STR_ARG(hr_str_slice(b, 0, 300)));
  }
  HR_CHECK(want.size == 0 && got.size == 0);
}

/* `make` gets what was recorded: a text may hold the questions too. With the variable set to a file, records there instead. */
static inline void listing_check(const char* variable, const char* path, void (*make)(hr_str_t recorded, hr_strbuf_t* out)) {
  const char* record = getenv(variable);
  char* want = NULL;
  size_t size = 0;
  hr_strbuf_t got = {0};
  HR_REQUIRE_OK(hr_file_read(path, &want, &size));
  make((hr_str_t){want, size}, &got);
  FILE* f = record ? fopen(record, "wb") : NULL;
  if (f)
    HR_CHECK(fwrite(got.data, 1, got.size, f) == got.size && fclose(f) == 0);
  else
    listing_compare((hr_str_t){want, size}, hr_strbuf_view(&got));
  hr_free(want);
  hr_strbuf_deinit(&got);
}
#endif
