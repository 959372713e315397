/* SPDX-License-Identifier: Apache-2.0 */
/* Names in requests to nodes of the session's graph. */
#include "dist/master_state.h"

void hr_master_names_init(hr_master_names_t* n) {
  *n = (hr_master_names_t){0};
  hr_arena_init(&n->arena);
}

void hr_master_names_deinit(hr_master_names_t* n) {
  for (int64_t i = 0; i < n->feed_values.count; ++i) hr_tensor_release(&n->feed_values.data[i]);
  hr_vec_deinit(&n->feed_values);
  hr_vec_deinit(&n->feed_names);
  hr_vec_deinit(&n->fetch_names);
  hr_vec_deinit(&n->target_names);
  hr_arena_deinit(&n->arena);
}

hr_status_t hr_master_names_read(hr_master_names_t* n, hr_message_reader_t span, hr_str_t* out) {
  return hr_message_reader_text(span, &n->arena, out);
}

/* "x" or "x:0". */
static hr_status_t find_value(hr_graph_t* g, hr_str_t name, const char* what, hr_value_t* out) {
  size_t colon = name.size;
  while (colon > 0 && name.data[colon - 1] != ':') --colon;
  int64_t index = 0;
  hr_str_t node = name;
  if (colon > 0) {
    node.size = colon - 1;
    if (!hr_str_parse_i64(hr_str_slice(name, colon, name.size), &index) || index < 0 || index > INT32_MAX)
      return HR_ERROR(INVALID_ARGUMENT, "%s '%.*s' is not an output's name, as x:0 is", what, HR_STR_ARG(name));
  }
  *out = (hr_value_t){hr_graph_find(g, node), (int32_t)index};
  if (!out->node) return HR_ERROR(NOT_FOUND, "%s '%.*s': the session's graph has no node '%.*s'", what, HR_STR_ARG(name), HR_STR_ARG(node));
  if (index >= out->node->output_count)
    return HR_ERROR(INVALID_ARGUMENT, "%s '%.*s': the node has %d outputs", what, HR_STR_ARG(name), (int)out->node->output_count);
  return NULL;
}

static hr_status_t find_all(hr_master_names_t* n, hr_graph_t* g) {
  for (int64_t i = 0; i < n->feed_names.count; ++i) HR_TRY(find_value(g, n->feed_names.data[i], "feed", &n->feeds[i]));
  for (int64_t i = 0; i < n->fetch_names.count; ++i) HR_TRY(find_value(g, n->fetch_names.data[i], "fetch", &n->fetches[i]));
  for (int64_t i = 0; i < n->target_names.count; ++i) {
    hr_str_t name = n->target_names.data[i];
    if (!(n->targets[i] = hr_graph_find(g, name)))
      return HR_ERROR(NOT_FOUND, "target '%.*s': the session's graph has no such node", HR_STR_ARG(name));
  }
  return NULL;
}

hr_status_t hr_master_names_find(hr_master_names_t* n, hr_graph_t* g) {
  n->feeds = hr_arena_array(&n->arena, (size_t)n->feed_names.count, sizeof *n->feeds);
  n->fetches = hr_arena_array(&n->arena, (size_t)n->fetch_names.count, sizeof *n->fetches);
  n->targets = hr_arena_array(&n->arena, (size_t)n->target_names.count, sizeof *n->targets);
  if (!n->feeds || !n->fetches || !n->targets) return hr_status_out_of_memory();
  hr_mutex_lock(&g->mu);
  hr_status_t status = find_all(n, g);
  hr_mutex_unlock(&g->mu);
  return status;
}
