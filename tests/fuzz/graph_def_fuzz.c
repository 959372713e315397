/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a GraphDef: import answers with a status, a refused graph leaves nothing behind, an accepted one is legal and its export
 * imports again. Seeds: corpus/graph_def. */
#include <stdlib.h>

#include "graph/const_eval.h"
#include "graph/import.h"
#include "graph/validate.h"
#include "session/passes.h"

static void must(hr_status_t status) {
  if (status) abort();
}

/* What was accepted goes round: export and import give a graph of as many nodes. */
static void go_round(hr_graph_t* g) {
  hr_graph_t* again = NULL;
  char* data = NULL;
  size_t size = 0;
  if (hr_graph_create(&again)) abort();
  hr_status_t status = hr_export_graph_def(g, 0, &data, &size);
  if (!status) must(hr_import_graph_def(again, data, size, NULL, NULL));
  if (!status && again->nodes.count != g->nodes.count) abort();
  hr_status_release(status); /* variants cannot be written */
  hr_free(data);
  hr_graph_destroy(again);
}

static void ask_values(hr_graph_t* g) {
  for (int64_t i = 0; i < g->nodes.count && i < 100; ++i) {
    const hr_tensor_t* value = NULL;
    const hr_pshape_t* shape = NULL;
    if (!g->nodes.data[i]->output_count) continue;
    hr_status_release(hr_const_eval(g, (hr_value_t){g->nodes.data[i], 0}, &value));
    hr_status_release(hr_const_eval_as_shape(g, (hr_value_t){g->nodes.data[i], 0}, &shape));
  }
}

/* Functions in the place of calls, branches and loops as dataflow: a status, or a legal graph. */
static void expand(hr_graph_t* g) {
  hr_node_t* targets[50];
  hr_prune_request_t q = {.targets = targets};
  hr_session_options_t options;
  hr_program_t p = {0};
  hr_session_options_init(&options);
  for (int64_t i = 0; i < g->nodes.count && q.target_count < 50; ++i) targets[q.target_count++] = g->nodes.data[i];
  hr_mutex_lock(&g->mu);
  hr_status_t status = hr_program_create(g, &q, &p);
  hr_mutex_unlock(&g->mu);
  if (!status) {
    status = hr_pass_inline(&p, &options);
    if (!status) must(hr_graph_validate(p.graph));
    hr_program_deinit(&p);
  }
  hr_status_release(status);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hr_graph_t* g = NULL;
  hr_import_options_t options = {
      .prefix = size && data[0] & 1 ? HR_STR("p") : HR_STR(""), .uniquify_names = size && data[0] & 2, .keep_shapes_attr = true};
  if (hr_graph_create(&g)) abort();
  hr_status_t status = hr_import_graph_def(g, data, size, &options, NULL);
  if (status && (g->nodes.count || g->by_name.count || g->functions.count)) abort();
  must(hr_graph_validate(g));
  if (!status) go_round(g);
  if (!status) ask_values(g);
  if (!status) expand(g);
  hr_status_release(status);
  hr_graph_destroy(g);
  return 0;
}
