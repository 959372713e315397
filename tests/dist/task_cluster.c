/* SPDX-License-Identifier: Apache-2.0 */
#include "dist/task_cluster.h"
#include <stdio.h>
#include <stdlib.h>
#include "base/alloc.h"
#include "wire/writer.h"

/* What only a broken harness fails. */
static void must(bool good, const char* what) {
  if (good) return;
  printf("task_cluster: %s\n", what);
  abort();
}
static bool must_ok(hr_status_t s) {
  must(!s, hr_status_message(s));
  return true;
}

typedef struct {
  hr_worker_call_t worker;
  hr_master_call_t master;
  task_t* task;
  hr_request_t* request;
  char* sent;
  size_t sent_size;
  char method[80];
} served_t;

static void record(served_t* s, hr_status_t status, const hr_message_t* response) {
  task_cluster_t* c = s->task->all;
  char* bytes = NULL;
  size_t size = 0;
  if (response) must_ok(hr_message_join(response, &bytes, &size));
  char* method = hr_alloc_copy(s->method, strlen(s->method));
  hr_exchange_t e = {.callee = hr_str(s->task->job), .method = hr_str(method), .status = HR_STR("OK"), .request = {s->sent, s->sent_size},
                     .response = {bytes ? bytes : hr_alloc_copy("", 0), size}};
  if (status) e.status = HR_STR("failed");
  hr_mutex_lock(&c->mu);
  must_ok(hr_vec_push(&c->calls, e));
  hr_mutex_unlock(&c->mu);
}

static void answer(served_t* s, hr_status_t take_status, hr_message_t* take_response) {
  const hr_transport_t* t = s->task->all->transport;
  record(s, take_status, take_response);
  if (atomic_load(&s->task->is_dead)) {
    if (take_response) hr_message_deinit(take_response);
    hr_status_release(take_status);
    t->reply(s->request, HR_ERROR(UNAVAILABLE, "the connection was cut"), NULL);
    return;
  }
  t->reply(s->request, take_status, take_response);
}

static void worker_done(hr_worker_call_t* self, hr_status_t take_status, hr_message_t* take_response) {
  served_t* s = (served_t*)self;
  answer(s, take_status, take_response);
  hr_free(s);
}

static void master_done(hr_master_call_t* self, hr_status_t take_status, hr_message_t* take_response) {
  served_t* s = (served_t*)((char*)self - offsetof(served_t, master));
  answer(s, take_status, take_response);
  hr_master_call_deinit(&s->master);
  hr_free(s);
}

static void worker_cancelled(hr_request_t* r) {
  served_t* s = r->arg;
  hr_worker_cancel(s->task->worker, &s->worker);
}
static void master_cancelled(hr_request_t* r) {
  served_t* s = r->arg;
  hr_master_cancel(&s->master);
}

static void serve(void* arg, hr_request_t* r) {
  task_t* task = arg;
  served_t* s = hr_alloc_zero(sizeof *s);
  must(s != NULL, "out of memory");
  s->task = task;
  s->request = r;
  snprintf(s->method, sizeof s->method, "%.*s", HR_STR_ARG(r->method));
  must_ok(hr_message_join(&r->message, &s->sent, &s->sent_size));
  const char* name = strrchr(s->method, '/') + 1;
  const hr_message_t request = r->message;
  r->message = (hr_message_t){0};
  r->arg = s;
  if (atomic_load(&task->is_frozen)) {
    hr_mutex_lock(&task->all->mu);
    must_ok(hr_vec_push(&task->kept, r));
    hr_mutex_unlock(&task->all->mu);
    atomic_fetch_add(&task->withheld, 1);
    hr_message_t gone = request;
    hr_message_deinit(&gone);
    hr_free(s->sent);
    hr_free(s);
    return;
  }
  for (int i = 0; i < HR_WORKER_METHOD_COUNT; ++i) {
    if (!strstr(s->method, "Worker") || strcmp(hr_worker_method_names[i], name) != 0) continue;
    s->worker = (hr_worker_call_t){.method = (hr_worker_method_t)i, .request = request, .done = worker_done, .peer = r->peer};
    r->cancelled = i == HR_WORKER_RunGraph || i == HR_WORKER_RecvTensor ? worker_cancelled : NULL;
    hr_worker_call(task->worker, &s->worker);
    return;
  }
  for (int i = 0; i < HR_MASTER_METHOD_COUNT; ++i) {
    if (strcmp(hr_master_method_names[i], name) != 0) continue;
    s->master = (hr_master_call_t){.method = (hr_master_method_t)i, .request = request, .done = master_done, .peer = r->peer};
    r->cancelled = master_cancelled;
    hr_master_call(task->master, &s->master);
    return;
  }
  must(false, s->method);
}

/* --- life ----------------------------------------------------------------------------------------------------------------------------- */

static int index_of(const char* const* jobs, int at) {
  int index = 0;
  for (int i = 0; i < at; ++i) index += strcmp(jobs[i], jobs[at]) == 0;
  return index;
}

static bool make_server_def(const task_cluster_t* c, const char* const* jobs, int at, hr_strbuf_t* out) {
  hr_strbuf_init(out);
  hr_writer_mark_t cluster = hr_writer_begin(out, 1, 256);
  for (int i = 0; i < c->count; ++i) {
    if (index_of(jobs, i) != 0) continue;
    hr_writer_mark_t job = hr_writer_begin(out, 1, 64);
    hr_writer_str(out, 1, hr_str(jobs[i]));
    for (int j = i; j < c->count; ++j) {
      if (strcmp(jobs[j], jobs[i]) != 0) continue;
      hr_writer_mark_t entry = hr_writer_begin(out, 2, 32);
      hr_writer_i64(out, 1, index_of(jobs, j));
      hr_writer_str(out, 2, hr_str(c->tasks[j].address));
      hr_writer_end(out, entry, 32);
    }
    hr_writer_end(out, job, 64);
  }
  hr_writer_end(out, cluster, 256);
  hr_writer_str(out, 2, hr_str(jobs[at]));
  hr_writer_i64(out, 3, index_of(jobs, at));
  hr_writer_str(out, 5, HR_STR("inproc"));
  return !out->failed;
}

static bool start_task(task_cluster_t* c, const char* const* jobs, int i) {
  task_t* t = &c->tasks[i];
  hr_strbuf_t def;
  bool good = make_server_def(c, jobs, i, &def) &&
              must_ok(hr_cluster_create(def.data, def.size, c->transport, NULL, HR_STR(""), &t->cluster));
  hr_strbuf_deinit(&def);
  const hr_worker_options_t w = {.cluster = t->cluster, .master_beat_ms = 10 * c->heartbeat_ms};
  good = good && must_ok(hr_worker_create(&w, &t->worker));
  const hr_master_options_t m = {.cluster = t->cluster, .worker = t->worker, .heartbeat_ms = c->heartbeat_ms, .control_deadline_ms = 1000};
  return good && must_ok(hr_master_create(&m, &t->master));
}

bool task_cluster_start(task_cluster_t* c, const char* const* jobs, int count, int64_t heartbeat_ms) {
  memset(c, 0, sizeof *c);
  c->count = count;
  c->heartbeat_ms = heartbeat_ms;
  hr_mutex_init(&c->mu);
  if (!must_ok(hr_transport_find(HR_STR("inproc"), &c->transport))) return false;
  for (int i = 0; i < count; ++i) {
    task_t* t = &c->tasks[i];
    t->all = c;
    t->job = jobs[i];
    t->index = index_of(jobs, i);
    int port = 0;
    if (!must_ok(c->transport->listen(HR_STR("here"), 0, NULL, NULL, serve, t, &t->listener, &port))) return false;
    snprintf(t->address, sizeof t->address, "here:%d", port);
  }
  for (int i = 0; i < count; ++i)
    if (!start_task(c, jobs, i)) return false;
  return true;
}

void task_cluster_kill(task_cluster_t* c, int task) {
  task_t* t = &c->tasks[task];
  atomic_store(&t->is_dead, true);
  if (t->listener) c->transport->stop(t->listener, 0);
  t->listener = NULL;
}

void task_cluster_forget(task_cluster_t* c) {
  hr_mutex_lock(&c->mu);
  for (int64_t i = 0; i < c->calls.count; ++i) {
    hr_free((void*)(uintptr_t)c->calls.data[i].method.data);
    hr_free((void*)(uintptr_t)c->calls.data[i].request.data);
    hr_free((void*)(uintptr_t)c->calls.data[i].response.data);
  }
  c->calls.count = 0;
  hr_mutex_unlock(&c->mu);
}

static void answer_kept(task_cluster_t* c, task_t* t) { /* to nobody: the listener is gone */
  for (int64_t i = 0; i < t->kept.count; ++i) c->transport->reply(t->kept.data[i], HR_ERROR(UNAVAILABLE, "frozen"), NULL);
  hr_vec_deinit(&t->kept);
}

void task_cluster_stop(task_cluster_t* c) {
  for (int i = 0; i < c->count; ++i)
    if (c->tasks[i].master) hr_master_stop(c->tasks[i].master);
  for (int i = 0; i < c->count; ++i)
    if (c->tasks[i].worker) hr_worker_stop(c->tasks[i].worker, 1000);
  for (int i = 0; i < c->count; ++i) task_cluster_kill(c, i);
  for (int i = 0; i < c->count; ++i) answer_kept(c, &c->tasks[i]);
  for (int i = 0; i < c->count; ++i) {
    hr_master_destroy(c->tasks[i].master);
    hr_worker_release(c->tasks[i].worker);
    hr_cluster_release(c->tasks[i].cluster);
  }
  task_cluster_forget(c);
  hr_vec_deinit(&c->calls);
  hr_mutex_deinit(&c->mu);
}

/* --- calls ---------------------------------------------------------------------------------------------------------------------------- */

hr_status_t task_cluster_call(task_cluster_t* c, hr_master_method_t method, hr_str_t request, hr_strbuf_t* out_response) {
  hr_message_t m = {0}, response = {0};
  HR_TRY(hr_message_of_bytes(hr_alloc_copy(request.data, request.size), request.size, &m));
  HR_TRY(hr_master_run(c->tasks[0].master, method, &m, NULL, &response));
  char* bytes = NULL;
  size_t size = 0;
  hr_status_t status = hr_message_join(&response, &bytes, &size);
  if (!status && out_response) {
    out_response->size = 0;
    hr_strbuf_add(out_response, bytes, size);
  }
  hr_free(bytes);
  hr_message_deinit(&response);
  return status;
}

static bool call_is(const hr_exchange_t* e, const char* callee, const char* method) {
  return hr_str_is(e->callee, callee) && hr_str_has_suffix(e->method, hr_str(method));
}

int task_cluster_count(task_cluster_t* c, const char* callee, const char* method) {
  int n = 0;
  hr_mutex_lock(&c->mu);
  for (int64_t i = 0; i < c->calls.count; ++i) n += call_is(&c->calls.data[i], callee, method);
  hr_mutex_unlock(&c->mu);
  return n;
}

size_t task_cluster_bytes(task_cluster_t* c, const char* callee, const char* method) {
  size_t n = 0;
  hr_mutex_lock(&c->mu);
  for (int64_t i = 0; i < c->calls.count; ++i)
    if (call_is(&c->calls.data[i], callee, method)) n += c->calls.data[i].request.size + c->calls.data[i].response.size;
  hr_mutex_unlock(&c->mu);
  return n;
}
