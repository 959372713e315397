/* SPDX-License-Identifier: Apache-2.0 */
/* RegisterGraphRequest = 1 session_handle, 2 graph_def, 6 create_worker_session_called, 8 config_proto. RegisterGraphResponse = 1
 * graph_handle. DeregisterGraphRequest = 1 graph_handle, 2 session_handle, 3 create_worker_session_called.
 *
 * A master's part of a graph goes the road of any program (session/pipeline.h): its devices are given, its passes are ours. What must run
 * is what nobody reads, and every loop; all else follows from these. */
#include "base/alloc.h"
#include "dist/worker_state.h"
#include "graph/import.h"
#include "op/node_class.h"
#include "session/pipeline.h"
#include "session/place.h"

typedef struct {
  hr_str_t session, graph, config; /* graph: a handle, or a GraphDef */
  bool is_created;
  hr_strbuf_t scratch;
} graph_request_t;

/* --- life ------------------------------------------------------------------------------------------------------------------------- */

void hr_worker_graph_release(hr_worker_graph_t* g) {
  if (!g || atomic_fetch_sub_explicit(&g->refs, 1, memory_order_acq_rel) != 1) return;
  if (g->runner) g->runner->table->destroy(g->runner);
  hr_callee_table_destroy(g->callees);
  hr_graph_release(g->graph);
  hr_worker_session_release(g->session);
  hr_free(g);
}

hr_status_t hr_worker_session_find_graph(hr_worker_session_t* s, hr_str_t handle, hr_worker_graph_t** out) {
  uintptr_t found = 0;
  hr_mutex_lock(&s->mu);
  const bool is_there = hr_map_find(&s->graphs, handle, &found);
  *out = (hr_worker_graph_t*)found;
  if (is_there) atomic_fetch_add_explicit(&(*out)->refs, 1, memory_order_relaxed);
  hr_mutex_unlock(&s->mu);
  if (is_there) return NULL;
  return HR_ERROR(ABORTED, "graph handle is not found: %.*s; this task was probably restarted", HR_STR_ARG(handle));
}

static hr_worker_graph_t* take_graph(hr_worker_session_t* s, const hr_str_t* handle, bool end) { /* handle NULL: any */
  uintptr_t found = 0;
  int64_t at = 0;
  hr_mutex_lock(&s->mu);
  s->is_deleted |= end;
  if (handle) (void)hr_map_find(&s->graphs, *handle, &found);
  else {
    const hr_map_entry_t* e = hr_map_next(&s->graphs, &at);
    if (e) found = e->value;
  }
  hr_worker_graph_t* g = (hr_worker_graph_t*)found;
  if (g) {
    hr_map_remove(&s->graphs, hr_str(g->handle));
    s->node_count -= g->node_count;
  }
  hr_mutex_unlock(&s->mu);
  return g;
}

void hr_worker_session_remove_graphs(hr_worker_session_t* s) {
  hr_worker_graph_t* g;
  while ((g = take_graph(s, NULL, true))) hr_worker_graph_release(g);
}

/* --- making a runner -------------------------------------------------------------------------------------------------------------- */

static hr_status_t count_nodes(hr_str_t graph_def, int64_t* out) {
  hr_cursor_t c = hr_cursor_make(graph_def.data, graph_def.size);
  *out = 0;
  while (!hr_cursor_is_done(&c)) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&c, &f));
    *out += f.key == HR_KEY_SPAN(1);
  }
  return NULL;
}

static bool must_run(const hr_node_t* n) {
  return (n->consumers.count == 0 && n->control_consumers.count == 0) || hr_node_class_is_next_iteration(n->attrs.def->node_class);
}

static hr_status_t make_program(hr_worker_graph_t* g, hr_str_t config, hr_program_t* out) {
  hr_session_options_init(&g->options);
  HR_TRY(hr_session_options_decode(&g->options, config.data, config.size));
  g->options.config = HR_STR(""); /* the request's bytes */
  hr_node_t** targets = hr_alloc_array((size_t)g->graph->nodes.count + 1, sizeof *targets);
  if (!targets) return hr_status_out_of_memory();
  hr_prune_request_t request = {.targets = targets};
  for (int64_t i = 0; i < g->graph->nodes.count; ++i)
    if (must_run(g->graph->nodes.data[i])) targets[request.target_count++] = g->graph->nodes.data[i];
  const hr_placing_t placing = {.devices = g->session->devices};
  hr_status_t status = hr_pipeline_run(g->graph, &request, &g->options, &placing, out);
  hr_free(targets);
  return status;
}

static hr_status_t build_graph(hr_worker_graph_t* g, const graph_request_t* q) {
  const hr_import_options_t options = {.internal = true, .try_shapes = true, .most_inflated = HR_WORKER_MOST_INFLATED};
  hr_import_results_t results = {0};
  hr_program_t program;
  HR_TRY(hr_graph_create(&g->graph));
  hr_status_t status = hr_import_graph_def(g->graph, q->graph.data, q->graph.size, &options, &results);
  hr_import_results_deinit(&results);
  if (status) return status;
  HR_TRY(make_program(g, q->config, &program));
  status = hr_callee_table_create(g->graph, &g->options, g->session->states, g->session->resources, g->session->devices, &g->callees);
  if (status) {
    hr_program_deinit(&program);
    return status;
  }
  return hr_runner_local_create(&program, g->session->devices, g->session->states, g->session->resources, &g->runner);
}

static hr_status_t create_graph(hr_worker_t* w, hr_worker_session_t* s, const graph_request_t* q, hr_worker_graph_t** out) {
  int64_t nodes;
  HR_TRY(count_nodes(q->graph, &nodes));
  hr_mutex_lock(&s->mu);
  const int64_t have = s->node_count;
  hr_mutex_unlock(&s->mu);
  if (w->options.max_graph_nodes > 0 && have + nodes > w->options.max_graph_nodes)
    return HR_ERROR(RESOURCE_EXHAUSTED, "graphs of %lld nodes in one session, the limit is %lld", (long long)(have + nodes),
                    (long long)w->options.max_graph_nodes);
  hr_worker_graph_t* g = hr_alloc_zero(sizeof *g);
  if (!g) return hr_status_out_of_memory();
  atomic_init(&g->refs, 1);
  g->session = s;
  atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
  g->node_count = nodes;
  hr_status_t status = build_graph(g, q);
  if (status) hr_worker_graph_release(g);
  else *out = g;
  return status;
}

/* On the table, under a handle that is written to *answer. */
static hr_status_t enter_graph(hr_worker_session_t* s, hr_worker_graph_t* g, hr_writer_t* answer) {
  static const char digits[] = "0123456789abcdef";
  hr_mutex_lock(&s->mu);
  hr_status_t status = s->is_deleted ? HR_ERROR(ABORTED, "the session %s was closed", s->handle.data) : NULL;
  if (!status) {
    const uint64_t id = ++s->last_graph;
    for (int i = 0; i < 16; ++i) g->handle[i] = digits[id >> (60 - 4 * i) & 15];
    hr_writer_str(answer, 1, hr_str(g->handle));
    status = hr_map_set(&s->graphs, hr_str(g->handle), (uintptr_t)g);
  }
  if (!status) s->node_count += g->node_count;
  hr_mutex_unlock(&s->mu);
  return status;
}

/* --- the methods ------------------------------------------------------------------------------------------------------------------ */

static hr_status_t read_register(const hr_message_t* request, graph_request_t* q) {
  hr_cursor_t c;
  HR_TRY(hr_message_reader_flat(hr_message_reader_make(request), &q->scratch, &c));
  while (!hr_cursor_is_done(&c)) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&c, &f));
    switch (f.key) {
      case HR_KEY_SPAN(1): q->session = hr_cursor_str(f.span); break;
      case HR_KEY_SPAN(2): q->graph = hr_cursor_str(f.span); break;
      case HR_KEY_VARINT(6): q->is_created = f.value != 0; break;
      case HR_KEY_SPAN(8): q->config = hr_cursor_str(f.span); break;
    }
  }
  return NULL;
}

static hr_status_t register_graph(hr_worker_op_t* op, hr_writer_t* answer) {
  graph_request_t q = {.session = HR_STR(""), .graph = HR_STR(""), .config = HR_STR("")};
  hr_worker_session_t* s = NULL;
  hr_worker_graph_t* g = NULL;
  hr_strbuf_init(&q.scratch);
  hr_status_t status = read_register(&op->call->request, &q);
  if (!status) status = hr_worker_session_find(op->w, q.session, q.is_created, &s);
  if (!status) status = create_graph(op->w, s, &q, &g);
  hr_strbuf_deinit(&q.scratch);
  if (!status && !(status = enter_graph(s, g, answer))) g = NULL; /* the session's */
  hr_worker_graph_release(g);
  hr_worker_session_release(s);
  return status;
}

static void run_register(hr_errand_t* errand) {
  hr_worker_op_t* op = hr_worker_op_of_errand(errand);
  hr_writer_t answer;
  hr_strbuf_init(&answer);
  hr_status_t status = register_graph(op, &answer);
  if (!status) hr_worker_finish_bytes(op, &answer);
  else {
    hr_strbuf_deinit(&answer);
    hr_worker_finish(op, status, NULL);
  }
}

void hr_worker_register_graph(hr_worker_op_t* op) { hr_worker_start_errand(op, run_register); }

static hr_status_t read_deregister(const hr_message_t* request, graph_request_t* q) {
  hr_cursor_t c;
  HR_TRY(hr_message_reader_flat(hr_message_reader_make(request), &q->scratch, &c));
  while (!hr_cursor_is_done(&c)) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&c, &f));
    switch (f.key) {
      case HR_KEY_SPAN(1): q->graph = hr_cursor_str(f.span); break;
      case HR_KEY_SPAN(2): q->session = hr_cursor_str(f.span); break;
      case HR_KEY_VARINT(3): q->is_created = f.value != 0; break;
    }
  }
  return NULL;
}

void hr_worker_deregister_graph(hr_worker_op_t* op) {
  graph_request_t q = {.session = HR_STR(""), .graph = HR_STR("")};
  hr_worker_session_t* s = NULL;
  hr_worker_graph_t* g = NULL;
  hr_strbuf_init(&q.scratch);
  hr_status_t status = read_deregister(&op->call->request, &q);
  if (!status) status = hr_worker_session_find(op->w, q.session, q.is_created, &s);
  if (!status && !(g = take_graph(s, &q.graph, false)))
    status = HR_ERROR(ABORTED, "graph handle is not found: %.*s; this task was probably restarted", HR_STR_ARG(q.graph));
  hr_worker_graph_release(g);
  hr_worker_session_release(s);
  hr_strbuf_deinit(&q.scratch);
  hr_worker_finish_empty(op, status);
}
