/* SPDX-License-Identifier: Apache-2.0 */
#include "dist/exchange.h"
#include <stdio.h>
#include <stdlib.h>
#include "base/alloc.h"
#include "base/clock.h"
#include "io/record.h"
#include "wire/writer.h"

static hr_str_t keep(hr_str_t s) { return (hr_str_t){hr_alloc_copy(s.data, s.size), s.size}; }
static void drop(hr_str_t s) { hr_free((char*)(uintptr_t)s.data); }

/* "-> CALLEE METHOD STATUS" */
static void parse_head(hr_str_t head, hr_exchange_t* e) {
  hr_str_t parts[3];
  head = hr_str_slice(head, 3, head.size);
  hr_str_split(&head, ' ', &parts[0]);
  hr_str_split(&head, ' ', &parts[1]);
  e->callee = keep(parts[0]);
  e->method = keep(parts[1]);
  e->status = keep(head);
}

bool hr_exchange_load(const char* path, hr_exchanges_t* out) {
  hr_record_reader_t* r = NULL;
  hr_str_t record;
  *out = (hr_exchanges_t){0};
  hr_status_t status = hr_record_reader_open(path, HR_STREAM_PLAIN, &r);
  out->calls = calloc(200, sizeof *out->calls);
  for (int i = 0; !status && out->count < 200; ++i) {
    if ((status = hr_record_reader_next(r, &record))) break;
    hr_exchange_t* e = &out->calls[out->count];
    if (i % 3 == 0) parse_head(record, e);
    else if (i % 3 == 1) e->request = keep(record);
    else {
      e->response = keep(record);
      ++out->count;
    }
  }
  const bool good = hr_status_code(status) == HR_OUT_OF_RANGE && out->count > 0;
  if (!good) printf("%s: %s\n", path, hr_status_message(status));
  hr_status_release(status);
  hr_record_reader_close(r);
  return good;
}

void hr_exchange_free(hr_exchanges_t* e) {
  for (int i = 0; i < e->count; ++i) {
    hr_exchange_t* c = &e->calls[i];
    const hr_str_t texts[] = {c->callee, c->method, c->status, c->request, c->response};
    for (int t = 0; t < 5; ++t) drop(texts[t]);
  }
  free(e->calls);
}

static void write_job(hr_writer_t* w, const char* name, const char* address) {
  hr_writer_mark_t job = hr_writer_begin(w, 1, 32);
  hr_writer_str(w, 1, hr_str(name));
  hr_writer_mark_t task = hr_writer_begin(w, 2, 16);
  hr_writer_i64(w, 1, 0);
  hr_writer_str(w, 2, hr_str(address));
  hr_writer_end(w, task, 16);
  hr_writer_end(w, job, 32);
}

char* hr_exchange_server_def(const char* job, size_t* size) {
  hr_writer_t w;
  char* data = NULL;
  hr_strbuf_init(&w);
  hr_writer_mark_t cluster = hr_writer_begin(&w, 1, 64);
  write_job(&w, "ps", "ps:1");
  write_job(&w, "worker", "worker:1");
  hr_writer_end(&w, cluster, 64);
  hr_writer_str(&w, 2, hr_str(job));
  hr_writer_str(&w, 5, HR_STR("grpc"));
  hr_status_release(hr_strbuf_take(&w, &data, size));
  return data;
}

bool hr_exchange_worker(const char* job, const hr_worker_options_t* options, hr_cluster_t** cluster, hr_worker_t** out) {
  const hr_transport_t* transport;
  size_t size = 0;
  char* def = hr_exchange_server_def(job, &size);
  hr_worker_options_t o = options ? *options : (hr_worker_options_t){.root = {"", 0}};
  hr_status_t status = hr_transport_find(HR_STR("inproc"), &transport);
  if (!status) status = hr_cluster_create(def, size, transport, NULL, HR_STR(""), cluster);
  hr_free(def);
  o.cluster = *cluster;
  if (!status) status = hr_worker_create(&o, out);
  if (status) printf("%s\n", hr_status_message(status));
  const bool good = !status;
  hr_status_release(status);
  return good;
}

static void exchange_done(hr_worker_call_t* self, hr_status_t take_status, hr_message_t* take_response) {
  hr_exchange_call_t* c = (hr_exchange_call_t*)self;
  hr_mutex_lock(&c->mu);
  c->status = take_status;
  if (take_response) {
    c->response = *take_response;
    *take_response = (hr_message_t){0};
  }
  ++c->done;
  hr_cond_wake_all(&c->ended);
  hr_mutex_unlock(&c->mu);
}

void hr_exchange_start(hr_worker_t* w, hr_exchange_call_t* c, hr_worker_method_t method, hr_str_t request) {
  memset(c, 0, sizeof *c);
  hr_mutex_init(&c->mu);
  hr_cond_init(&c->ended);
  c->call = (hr_worker_call_t){.method = method, .done = exchange_done, .peer = HR_STR("test")};
  hr_status_release(hr_message_of_bytes(hr_alloc_copy(request.data, request.size), request.size, &c->call.request));
  hr_worker_call(w, &c->call);
}

bool hr_exchange_wait(hr_exchange_call_t* c, int64_t ms) {
  const int64_t until = hr_clock_now_ns() + ms * 1000000;
  hr_mutex_lock(&c->mu);
  while (!c->done && hr_cond_wait_until(&c->ended, &c->mu, until)) continue;
  const bool done = c->done > 0;
  hr_mutex_unlock(&c->mu);
  return done;
}

void hr_exchange_end(hr_exchange_call_t* c) {
  hr_message_deinit(&c->response);
  hr_status_release(c->status);
  c->status = NULL;
  hr_cond_deinit(&c->ended);
  hr_mutex_deinit(&c->mu);
}

hr_status_t hr_exchange_run(hr_worker_t* w, hr_worker_method_t method, hr_str_t request, hr_strbuf_t* out_response) {
  hr_exchange_call_t c;
  hr_exchange_start(w, &c, method, request);
  if (!hr_exchange_wait(&c, 20000)) return HR_ERROR(DEADLINE_EXCEEDED, "%s did not answer in 20 s", hr_worker_method_names[method]);
  hr_status_t status = hr_status_retain(c.status);
  for (int32_t i = 0; out_response && i < c.response.count; ++i)
    hr_strbuf_add(out_response, c.response.slices[i].data, c.response.slices[i].size);
  hr_exchange_end(&c);
  return status;
}

int hr_exchange_method(hr_str_t name) {
  const hr_str_t service = HR_STR("/tensorflow.WorkerService/");
  if (!hr_str_has_prefix(name, service)) return -1;
  for (int i = 0; i < HR_WORKER_METHOD_COUNT; ++i)
    if (hr_str_is(hr_str_slice(name, service.size, name.size), hr_worker_method_names[i])) return i;
  return -1;
}
