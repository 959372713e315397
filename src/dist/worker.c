/* SPDX-License-Identifier: Apache-2.0 */
/* A worker's life, the accounts of its peers, and its short methods. GetStatusResponse = 1 device_attributes. DeviceAttributes = 1 name, 2
 * device_type, 4 memory_limit, 5 locality, 6 incarnation, 8 xla_global_id. CleanupGraphRequest = 1 step_id. CleanupAllRequest = 1
 * container.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "dist/worker_state.h"

typedef struct hr_worker_peer { /* guarded by the worker's mu */
  int64_t bytes, calls;
  char name[];                  /* the map's key */
} hr_worker_peer_t;

const char* const hr_worker_method_names[HR_WORKER_METHOD_COUNT] = {
#define HR_WORKER_METHOD(name) #name,
#include "dist/worker_method.def"
#undef HR_WORKER_METHOD
};

/* --- life ------------------------------------------------------------------------------------------------------------------------- */

static void free_worker(hr_worker_t* w) {
  hr_worker_session_remove_all(w);
  hr_map_deinit(&w->sessions);
  hr_map_deinit(&w->steps);
  hr_map_deinit(&w->peers);
  hr_resources_release(w->resources);
  hr_device_set_release(w->devices);
  hr_cluster_release(w->cluster);
  hr_worker_log_deinit(&w->log);
  hr_request_ids_deinit(&w->ids);
  hr_cond_deinit(&w->idle);
  hr_mutex_deinit(&w->mu);
  hr_free((char*)(uintptr_t)w->options.root.data);
  hr_free(w);
}

void hr_worker_drop(hr_worker_t* w) {
  if (atomic_fetch_sub_explicit(&w->refs, 1, memory_order_acq_rel) == 1) free_worker(w);
}

static hr_status_t fill_worker(hr_worker_t* w, const hr_worker_options_t* o) {
  if (!(w->options.root.data = hr_alloc_copy(o->root.data, o->root.size))) return hr_status_out_of_memory();
  if (!(w->resources = hr_resources_create())) return hr_status_out_of_memory();
  if (o->is_confined) HR_TRY(hr_resources_confine(w->resources, w->options.root));
  HR_TRY(hr_device_set_create(&w->devices));
  return hr_device_set_add_cpus(w->devices, w->cluster->tasks[w->cluster->self].name, o->cpu_devices, 0);
}

hr_status_t hr_worker_create(const hr_worker_options_t* options, hr_worker_t** out) {
  hr_worker_t* w = hr_alloc_zero(sizeof *w);
  if (!w) return hr_status_out_of_memory();
  atomic_init(&w->refs, 1);
  w->options = *options;
  w->cluster = hr_cluster_retain(options->cluster);
  hr_mutex_init(&w->mu);
  hr_cond_init(&w->idle);
  hr_map_init(&w->sessions);
  hr_map_init(&w->steps);
  hr_map_init(&w->peers);
  hr_request_ids_init(&w->ids);
  hr_worker_log_init(&w->log);
  hr_status_t status = fill_worker(w, options);
  if (status) hr_worker_drop(w);
  else *out = w;
  return status;
}

void hr_worker_stop(hr_worker_t* w, int64_t grace_ms) {
  hr_mutex_lock(&w->mu);
  w->is_stopping = true;
  hr_mutex_unlock(&w->mu);
  hr_worker_masters_stop(w);
  hr_worker_step_remove_of(w, NULL, HR_ERROR(UNAVAILABLE, "the task %s stops", w->cluster->tasks[w->cluster->self].name.data));
  const int64_t until = hr_clock_now_ns() + grace_ms * 1000000;
  hr_mutex_lock(&w->mu);
  while (w->ops && hr_cond_wait_until(&w->idle, &w->mu, until)) continue;
  hr_mutex_unlock(&w->mu);
}

void hr_worker_release(hr_worker_t* w) {
  if (!w) return;
  hr_worker_stop(w, 0);
  hr_worker_drop(w);
}

const hr_device_set_t* hr_worker_devices(const hr_worker_t* w) { return w->devices; }

/* --- accounts; w->mu is held ------------------------------------------------------------------------------------------------------ */

static hr_status_t find_peer(hr_worker_t* w, hr_str_t name, hr_worker_peer_t** out) {
  uintptr_t found;
  if (hr_map_find(&w->peers, name, &found)) {
    *out = (hr_worker_peer_t*)found;
    return NULL;
  }
  hr_worker_peer_t* p = hr_alloc_zero(sizeof *p + name.size + 1);
  if (!p) return hr_status_out_of_memory();
  memcpy(p->name, name.data, name.size);
  hr_status_t status = hr_map_set(&w->peers, (hr_str_t){p->name, name.size}, (uintptr_t)p);
  if (status) hr_free(p);
  else *out = p;
  return status;
}

static void leave_peer(hr_worker_t* w, hr_worker_peer_t* p, int64_t bytes) {
  p->bytes -= bytes;
  if (--p->calls) return;
  hr_map_remove(&w->peers, hr_str(p->name));
  hr_free(p);
}

static hr_status_t enter_peer(hr_worker_t* w, hr_worker_op_t* op) {
  hr_worker_peer_t* p = NULL;
  if (op->call->peer.size == 0 || w->options.max_peer_bytes <= 0) return NULL;
  HR_TRY(find_peer(w, op->call->peer, &p));
  ++p->calls;
  p->bytes += op->bytes;
  if (p->bytes > w->options.max_peer_bytes) {
    const int64_t have = p->bytes;
    leave_peer(w, p, op->bytes);
    return HR_ERROR(RESOURCE_EXHAUSTED, "requests of %lld bytes at a time from one peer, the limit is %lld", (long long)have,
                    (long long)w->options.max_peer_bytes);
  }
  op->peer = p;
  return NULL;
}

/* --- ops -------------------------------------------------------------------------------------------------------------------------- */

static void leave_worker(hr_worker_op_t* op) {
  hr_worker_t* w = op->w;
  hr_mutex_lock(&w->mu);
  if (op->peer) leave_peer(w, op->peer, op->bytes);
  if (--w->ops == 0) hr_cond_wake_all(&w->idle);
  hr_mutex_unlock(&w->mu);
}

void hr_worker_finish(hr_worker_op_t* op, hr_status_t take_status, hr_message_t* take_response) {
  hr_worker_t* w = op->w;
  hr_worker_call_t* call = op->call;
  hr_message_t none = {0};
  if (!take_response) take_response = &none;
  hr_message_deinit(&call->request);
  if (take_status) hr_message_deinit(take_response);
  call->done(call, take_status, take_status ? NULL : take_response); /* the call is gone */
  if (op->destroy) op->destroy(op);
  leave_worker(op);
  hr_free(op);
  hr_worker_drop(w);
}

void hr_worker_finish_empty(hr_worker_op_t* op, hr_status_t take_status) { hr_worker_finish(op, take_status, NULL); }

void hr_worker_finish_bytes(hr_worker_op_t* op, hr_writer_t* take_bytes) {
  char* data;
  size_t size;
  hr_message_t m = {0};
  hr_status_t status = hr_strbuf_take(take_bytes, &data, &size);
  if (!status) status = hr_message_of_bytes(data, size, &m);
  hr_worker_finish(op, status, &m);
}

void hr_worker_start_errand(hr_worker_op_t* op, void (*run)(hr_errand_t* errand)) {
  op->errand.run = run;
  hr_status_t status = hr_errand_start(&op->errand);
  if (status) hr_worker_finish(op, status, NULL);
}

/* --- short methods ---------------------------------------------------------------------------------------------------------------- */

static void get_status(hr_worker_op_t* op) {
  const hr_device_set_t* s = op->w->devices;
  hr_writer_t w;
  hr_strbuf_init(&w);
  for (int32_t i = 0; i < s->count; ++i) {
    const hr_device_t* d = s->devices[i];
    hr_writer_mark_t one = hr_writer_begin(&w, 1, 80);
    hr_writer_str(&w, 1, hr_str(d->name));
    hr_writer_str(&w, 2, hr_str(d->type));
    if (d->memory_limit) hr_writer_i64(&w, 4, d->memory_limit);
    hr_writer_bytes(&w, 5, "", 0);
    hr_writer_fixed64(&w, 6, d->incarnation);
    hr_writer_i64(&w, 8, -1);
    hr_writer_end(&w, one, 80);
  }
  hr_worker_finish_bytes(op, &w);
}

static hr_status_t read_step_id(const hr_message_t* request, int64_t* out) {
  hr_message_reader_t r = hr_message_reader_make(request), span;
  *out = 0;
  while (!hr_message_reader_is_done(&r)) {
    uint32_t key;
    uint64_t value;
    HR_TRY(hr_message_reader_next(&r, &key, &value, &span));
    if (key == HR_KEY_VARINT(1)) *out = (int64_t)value;
  }
  return NULL;
}

static void cleanup_graph(hr_worker_op_t* op) {
  int64_t id;
  hr_status_t status = read_step_id(&op->call->request, &id);
  if (!status) hr_worker_step_remove(op->w, id, HR_ERROR(ABORTED, HR_DERIVED_MARK "Cleanup %lld", (long long)id));
  hr_worker_finish_empty(op, status);
}

/* A task's default container is named after its job; "localhost", ours in this process, is nobody's name there. */
static void clear_container(hr_worker_t* w, hr_str_t name) {
  const hr_str_t job = w->cluster->tasks[w->cluster->self].job;
  const bool is_default = hr_str_equal(name, job) || name.size == 0;
  if (is_default) hr_resources_clear(w->resources, HR_STR(""));
  if (name.size && !hr_str_is(name, "localhost")) hr_resources_clear(w->resources, name);
}

static hr_status_t clear_containers(hr_worker_t* w, const hr_message_t* request) {
  hr_message_reader_t r = hr_message_reader_make(request), span;
  hr_strbuf_t scratch;
  hr_strbuf_init(&scratch);
  hr_status_t status = NULL;
  int64_t named = 0;
  while (!status && !hr_message_reader_is_done(&r)) {
    uint32_t key;
    uint64_t value;
    hr_cursor_t flat;
    if ((status = hr_message_reader_next(&r, &key, &value, &span)) || key != HR_KEY_SPAN(1)) continue;
    if (!(status = hr_message_reader_flat(span, &scratch, &flat))) clear_container(w, hr_cursor_str(flat));
    ++named;
  }
  if (!status && !named) clear_container(w, HR_STR(""));
  hr_strbuf_deinit(&scratch);
  return status;
}

static void cleanup_all(hr_worker_op_t* op) { hr_worker_finish_empty(op, clear_containers(op->w, &op->call->request)); }

/* We never ask for an acknowledgement (RecvTensorResponse.require_ack), so there is nothing to let go of. */
static void mark_recv_finished(hr_worker_op_t* op) { hr_worker_finish_empty(op, NULL); }

static void refuse_method(hr_worker_op_t* op) {
  hr_worker_finish(op, HR_ERROR(UNIMPLEMENTED, "WorkerService.%s is not there: collective operations, buffers and device tracing are not",
                                hr_worker_method_names[op->call->method]),
                   NULL);
}

static void (*const method_starts[HR_WORKER_METHOD_COUNT])(hr_worker_op_t* op) = {
  [HR_WORKER_GetStatus] = get_status,
  [HR_WORKER_CreateWorkerSession] = hr_worker_create_session,
  [HR_WORKER_DeleteWorkerSession] = hr_worker_delete_session,
  [HR_WORKER_RegisterGraph] = hr_worker_register_graph,
  [HR_WORKER_DeregisterGraph] = hr_worker_deregister_graph,
  [HR_WORKER_RunGraph] = hr_worker_run_graph,
  [HR_WORKER_CleanupGraph] = cleanup_graph,
  [HR_WORKER_CleanupAll] = cleanup_all,
  [HR_WORKER_RecvTensor] = hr_worker_recv_tensor,
  [HR_WORKER_RecvBuf] = refuse_method,
  [HR_WORKER_Logging] = hr_worker_logging,
  [HR_WORKER_Tracing] = refuse_method,
  [HR_WORKER_CompleteGroup] = refuse_method,
  [HR_WORKER_CompleteInstance] = refuse_method,
  [HR_WORKER_GetStepSequence] = refuse_method,
  [HR_WORKER_MarkRecvFinished] = mark_recv_finished,
};

/* --- calls ------------------------------------------------------------------------------------------------------------------------ */

#define SWEEP_NS INT64_C(5000000000)

static hr_status_t enter_worker(hr_worker_t* w, hr_worker_op_t* op) {
  hr_status_t status = NULL;
  const int64_t now = hr_clock_now_ns();
  hr_mutex_lock(&w->mu);
  const bool sweep = now - w->swept_ns > SWEEP_NS;
  if (sweep) w->swept_ns = now;
  if (w->is_stopping) status = HR_ERROR(UNAVAILABLE, "the task %s stops", w->cluster->tasks[w->cluster->self].name.data);
  if (!status) status = enter_peer(w, op);
  if (!status) ++w->ops;
  hr_mutex_unlock(&w->mu);
  if (sweep) hr_worker_step_remove_unclaimed(w);
  return status;
}

void hr_worker_call(hr_worker_t* w, hr_worker_call_t* call) {
  hr_worker_op_t* op = hr_alloc_zero(HR_WORKER_OP_BYTES);
  hr_status_t status = op ? NULL : hr_status_out_of_memory();
  if (op) {
    *op = (hr_worker_op_t){.w = w, .call = call, .bytes = (int64_t)hr_message_size(&call->request)};
    status = enter_worker(w, op);
  }
  if (status) {
    hr_free(op);
    hr_message_deinit(&call->request);
    call->state = NULL;
    call->done(call, status, NULL);
    return;
  }
  atomic_fetch_add_explicit(&w->refs, 1, memory_order_relaxed);
  call->state = op;
  method_starts[call->method](op);
}

void hr_worker_cancel(hr_worker_t* w, hr_worker_call_t* call) {
  (void)w;
  hr_worker_op_t* op = call->state;
  if (op && op->cancel) op->cancel(op);
}
