/* SPDX-License-Identifier: Apache-2.0 */
/* Making and registering. RegisterGraphRequest = 1 session_handle, 2 graph_def, 4 graph_options, 5 debug_options, 6
 * create_worker_session_called, 8 config_proto; the response = 1 graph_handle. */
#include "dist/cluster_runner.h"
#include "base/alloc.h"
#include "dist/cluster_step.h"
#include "dist/message_builder.h"
#include "dist/message_reader.h"

/* --- binding: the caller's order of feeds and fetches --------------------------------------------------------------------------------- */

static hr_status_t cluster_bind(hr_runner_t* base, const int32_t* feed_from, const int32_t* fetch_of, int32_t fetch_count,
                                hr_runner_binding_t** out) {
  const hr_cluster_graph_t* g = &((hr_cluster_runner_t*)base)->graph;
  const size_t feeds = (size_t)g->feed_count, fetches = (size_t)fetch_count;
  hr_cluster_binding_t* b = hr_alloc(sizeof *b + (feeds + fetches) * sizeof(int32_t));
  if (!b) return hr_status_out_of_memory();
  b->feed_from = b->places;
  b->fetch_of = b->places + feeds;
  b->fetch_count = fetch_count;
  for (size_t i = 0; i < feeds; ++i) b->feed_from[i] = feed_from ? feed_from[i] : (int32_t)i;
  for (size_t i = 0; i < fetches; ++i) b->fetch_of[i] = fetch_of ? fetch_of[i] : (int32_t)i;
  *out = (hr_runner_binding_t*)b;
  return NULL;
}

static void cluster_unbind(hr_runner_t* base, hr_runner_binding_t* binding) {
  (void)base;
  hr_free(binding);
}

/* --- registering ---------------------------------------------------------------------------------------------------------------------- */

static hr_str_t graph_options(const hr_cluster_backend_t* b) {
  hr_str_t found = HR_STR("");
  for (hr_cursor_t c = hr_cursor_make(b->config, b->config_size); !hr_cursor_is_done(&c);) {
    hr_field_t f;
    hr_status_t status = hr_cursor_next(&c, &f);
    if (status) { /* the config was read when the session was made */
      hr_status_release(status);
      break;
    }
    if (f.key == HR_KEY_SPAN(10)) found = hr_cursor_str(f.span);
  }
  return found;
}

static hr_status_t register_request(const hr_cluster_runner_t* r, const hr_cluster_part_t* part, hr_message_t* out) {
  const hr_cluster_backend_t* b = r->backend;
  char* graph_def = hr_alloc_copy(part->graph_def, part->graph_def_size); /* kept: a task that cannot be reached is asked again */
  if (!graph_def) return hr_status_out_of_memory();
  hr_message_builder_t m;
  hr_message_builder_init(&m);
  hr_writer_str(&m.bytes, 1, hr_str(b->handle));
  hr_message_builder_span(&m, 2, graph_def, part->graph_def_size);
  hr_writer_str(&m.bytes, 4, graph_options(b));
  hr_writer_bytes(&m.bytes, 5, "", 0);
  hr_writer_bool(&m.bytes, 6, true);
  hr_writer_bytes(&m.bytes, 8, b->config, b->config_size);
  return hr_message_builder_take(&m, out);
}

static hr_status_t read_handle(const hr_fanout_call_t* call, char** out) {
  hr_strbuf_t scratch;
  hr_strbuf_init(&scratch);
  hr_cursor_t c;
  hr_str_t handle = HR_STR("");
  hr_status_t status = hr_message_reader_flat(hr_message_reader_make(&call->response), &scratch, &c);
  while (!status && !hr_cursor_is_done(&c)) {
    hr_field_t f;
    if (!(status = hr_cursor_next(&c, &f)) && f.key == HR_KEY_SPAN(1)) handle = hr_cursor_str(f.span);
  }
  if (!status && !(*out = hr_alloc_copy(handle.data, handle.size))) status = hr_status_out_of_memory();
  hr_strbuf_deinit(&scratch);
  return status;
}

static void drop_handles(hr_cluster_runner_t* r) {
  for (int32_t i = 0; i < r->graph.part_count; ++i) {
    hr_free(r->graph_handles[i]);
    r->graph_handles[i] = NULL;
  }
}

static hr_status_t register_parts(hr_cluster_runner_t* r, hr_cancel_t* cancel) {
  const hr_cluster_backend_t* b = r->backend;
  hr_fanout_t* f = NULL;
  HR_TRY(hr_fanout_create(b->cluster, b->worker, r->graph.part_count, &f));
  hr_fanout_obey(f, cancel);
  hr_status_t status = NULL;
  for (int32_t i = 0; !status && i < r->graph.part_count; ++i) {
    hr_message_t request;
    if (!(status = register_request(r, &r->graph.parts[i], &request)))
      hr_fanout_start(f, i, r->tasks[i], HR_WORKER_RegisterGraph, &request, b->control_deadline_ms, false);
  }
  hr_status_merge(&status, hr_fanout_finish(f));
  for (int32_t i = 0; !status && i < r->graph.part_count; ++i) status = read_handle(&f->calls[i], &r->graph_handles[i]);
  if (status) drop_handles(r);
  hr_fanout_destroy(f);
  return status;
}

hr_status_t hr_cluster_runner_register(hr_cluster_runner_t* r, hr_cancel_t* cancel) {
  hr_mutex_lock(&r->mu);
  while (r->is_registering) hr_cond_wait(&r->settled, &r->mu);
  const bool is_mine = !r->is_registered;
  r->is_registering = is_mine;
  hr_mutex_unlock(&r->mu);
  if (!is_mine) return NULL;
  hr_status_t status = register_parts(r, cancel);
  hr_mutex_lock(&r->mu);
  r->is_registered = !status;
  r->is_registering = false;
  hr_cond_wake_all(&r->settled);
  hr_mutex_unlock(&r->mu);
  return status;
}

static hr_status_t deregister_request(const hr_cluster_runner_t* r, int32_t part, hr_message_t* out) {
  hr_message_builder_t m;
  hr_message_builder_init(&m);
  hr_writer_str(&m.bytes, 1, hr_str(r->graph_handles[part]));
  hr_writer_str(&m.bytes, 2, hr_str(r->backend->handle));
  hr_writer_bool(&m.bytes, 3, true);
  return hr_message_builder_take(&m, out);
}

void hr_cluster_runner_deregister(hr_cluster_runner_t* r) {
  hr_cluster_backend_t* b = r->backend;
  hr_fanout_t* f = NULL;
  hr_status_t status = hr_fanout_create(b->cluster, b->worker, r->graph.part_count, &f);
  for (int32_t i = 0; !status && i < r->graph.part_count && r->graph_handles[i]; ++i) {
    hr_message_t request;
    if (!(status = deregister_request(r, i, &request)))
      hr_fanout_start(f, i, r->tasks[i], HR_WORKER_DeregisterGraph, &request, b->control_deadline_ms, false);
  }
  hr_status_release(status); /* then it goes with the session */
  if (f) hr_cluster_backend_leave(b, f);
  hr_mutex_lock(&r->mu);
  r->is_registered = false;
  hr_mutex_unlock(&r->mu);
  drop_handles(r);
}

/* --- life ----------------------------------------------------------------------------------------------------------------------------- */

static hr_status_t cluster_run(hr_runner_t* base, const hr_runner_binding_t* binding, hr_step_t* step, const hr_tensor_t* feeds,
                               hr_tensor_t* out_fetches) {
  hr_cluster_runner_t* r = (hr_cluster_runner_t*)base;
  HR_TRY(hr_cluster_runner_register(r, step->cancel));
  return hr_cluster_step_run(r, (const hr_cluster_binding_t*)binding, step, feeds, out_fetches);
}

static void cluster_destroy(hr_runner_t* base) { /* what the workers hold goes with their sessions */
  hr_cluster_runner_t* r = (hr_cluster_runner_t*)base;
  if (r->graph_handles) drop_handles(r);
  hr_free(r->graph_handles);
  hr_free(r->tasks);
  hr_cluster_graph_deinit(&r->graph);
  hr_program_deinit(&r->base.program);
  hr_cond_deinit(&r->settled);
  hr_mutex_deinit(&r->mu);
  hr_free(r);
}

static const hr_runner_table_t cluster_table = {cluster_bind, cluster_unbind, cluster_run, cluster_destroy};

static hr_status_t fill_runner(hr_cluster_runner_t* r) {
  hr_mutex_lock(&r->backend->naming);
  hr_status_t status = hr_cluster_graph_create(&r->base.program, &r->backend->next_name, &r->graph, &r->base.partition);
  hr_mutex_unlock(&r->backend->naming);
  if (status) return status;
  const size_t count = (size_t)r->graph.part_count;
  r->tasks = hr_alloc_array(count + 1, sizeof *r->tasks);
  r->graph_handles = hr_alloc_array(count + 1, sizeof *r->graph_handles);
  if (!r->tasks || !r->graph_handles) return hr_status_out_of_memory();
  for (size_t i = 0; i < count; ++i) r->tasks[i] = r->backend->task_of_device[r->graph.parts[i].device];
  return NULL;
}

hr_status_t hr_cluster_runner_create(hr_cluster_backend_t* b, hr_program_t* take_program, hr_runner_t** out) {
  hr_cluster_runner_t* r = hr_alloc_zero(sizeof *r);
  if (!r) {
    hr_program_deinit(take_program);
    return hr_status_out_of_memory();
  }
  r->base.table = &cluster_table;
  r->base.program = *take_program;
  *take_program = (hr_program_t){0};
  r->backend = b;
  hr_mutex_init(&r->mu);
  hr_cond_init(&r->settled);
  hr_status_t status = fill_runner(r);
  if (status) cluster_destroy(&r->base);
  else *out = &r->base;
  return status;
}
