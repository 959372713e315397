/* SPDX-License-Identifier: Apache-2.0 */
/* A server on the transport within the process whose answers the test writes: a line for each method. What it is asked is kept. Included by
 * the tests, whose failures these are. */
#ifndef HR_TESTS_DIST_STAGE_H
#define HR_TESTS_DIST_STAGE_H
#include "base/clock.h"
#include "dist/compare.h"
#include "dist/transport.h"
#include "wire/tensor_proto.h"
#include "wire/writer.h"

#define BYTES(text) {text, sizeof(text) - 1}

typedef struct {
  hr_str_t answer; /* bytes */
  hr_code_t code;  /* unless it is OK */
  const char* says;
} stage_line_t;

enum { STAGE_METHODS_MOST = 20, STAGE_HEARD_MOST = 4096 };
typedef struct {
  const hr_transport_t* transport;
  hr_listener_t* listener;
  char address[64];
  const char* const* names; /* of methods, by number */
  int name_count;
  hr_mutex_t mu;            /* guards what follows: calls come in several threads */
  hr_cond_t changed;
  stage_line_t lines[STAGE_METHODS_MOST]; /* written by stage_says */
  struct {
    int method;
    hr_str_t request;       /* own bytes */
  } heard[STAGE_HEARD_MOST];
  int count;
} stage_t;

static inline void stage_serve(void* arg, hr_request_t* r) {
  stage_t* s = arg;
  int method = 0;
  while (method < s->name_count && !hr_str_has_suffix(r->method, hr_str(s->names[method]))) ++method;
  if (!HR_CHECK(method < s->name_count)) method = 0;
  char* bytes = NULL;
  size_t size = 0;
  HR_CHECK_OK(hr_message_join(&r->message, &bytes, &size));
  hr_mutex_lock(&s->mu);
  const stage_line_t line = s->lines[method];
  if (HR_CHECK(s->count < STAGE_HEARD_MOST)) {
    s->heard[s->count].method = method;
    s->heard[s->count++].request = (hr_str_t){bytes, size};
    bytes = NULL;
  }
  hr_cond_wake_all(&s->changed);
  hr_mutex_unlock(&s->mu);
  hr_free(bytes);
  hr_message_t m = {0};
  hr_status_t status = line.code ? hr_status_create(line.code, "there.c", 1, "%s", line.says) : NULL;
  if (!status) HR_CHECK_OK(hr_message_of_bytes(hr_alloc_copy(line.answer.data, line.answer.size), line.answer.size, &m));
  s->transport->reply(r, status, status ? NULL : &m);
}

static inline bool stage_open(stage_t* s, const char* const* names, int name_count, const stage_line_t* lines) {
  int port = 0;
  memset(s, 0, sizeof *s);
  memcpy(s->lines, lines, (size_t)name_count * sizeof *lines);
  s->names = names;
  s->name_count = name_count;
  hr_mutex_init(&s->mu);
  hr_cond_init(&s->changed);
  if (!HR_CHECK_OK(hr_transport_find(HR_STR("inproc"), &s->transport))) return false;
  if (!HR_CHECK_OK(s->transport->listen(HR_STR("stage"), 0, NULL, NULL, stage_serve, s, &s->listener, &port))) return false;
  snprintf(s->address, sizeof s->address, "stage:%d", port);
  return true;
}

/* From now on, to this method. */
static inline void stage_says(stage_t* s, int method, stage_line_t line) {
  hr_mutex_lock(&s->mu);
  s->lines[method] = line;
  hr_mutex_unlock(&s->mu);
}

static inline void stage_forget(stage_t* s) {
  hr_mutex_lock(&s->mu);
  for (int i = 0; i < s->count; ++i) hr_free((void*)(uintptr_t)s->heard[i].request.data);
  s->count = 0;
  hr_mutex_unlock(&s->mu);
}

static inline void stage_close(stage_t* s) {
  if (s->listener) s->transport->stop(s->listener, 1000);
  stage_forget(s);
  hr_cond_deinit(&s->changed);
  hr_mutex_deinit(&s->mu);
}

static inline int stage_count(stage_t* s, int method) {
  int n = 0;
  hr_mutex_lock(&s->mu);
  for (int i = 0; i < s->count; ++i) n += s->heard[i].method == method;
  hr_mutex_unlock(&s->mu);
  return n;
}

/* The last such request, waited for; its bytes are there until stage_forget. */
static inline hr_str_t stage_request(stage_t* s, int method) {
  hr_str_t found = {NULL, 0};
  const int64_t until = hr_clock_now_ns() + INT64_C(10000000000);
  hr_mutex_lock(&s->mu);
  do {
    for (int i = 0; i < s->count; ++i)
      if (s->heard[i].method == method) found = s->heard[i].request;
  } while (!found.data && hr_cond_wait_until(&s->changed, &s->mu, until));
  hr_mutex_unlock(&s->mu);
  HR_CHECK(found.data != NULL);
  return found;
}

/* "1 2 8": the numbers of the fields in their order. */
static inline bool stage_fields(hr_str_t message, const char* numbers) {
  char text[200] = "";
  for (hr_cursor_t c = hr_cursor_make(message.data, message.size); !hr_cursor_is_done(&c);) {
    hr_field_t f;
    if (!HR_CHECK_OK(hr_cursor_next(&c, &f))) return false;
    snprintf(text + strlen(text), sizeof text - strlen(text), "%s%u", *text ? " " : "", f.key >> 3);
  }
  return HR_CHECK_STR(text, numbers);
}

static inline hr_writer_t stage_writer(void) {
  hr_writer_t w;
  hr_strbuf_init(&w);
  return w;
}
/* A JobDef of one task, as a ClusterDef holds it. */
static inline void stage_write_job(hr_writer_t* w, const char* name, const char* address) {
  hr_writer_mark_t job = hr_writer_begin(w, 1, 64);
  hr_writer_str(w, 1, hr_str(name));
  hr_writer_mark_t task = hr_writer_begin(w, 2, 32);
  hr_writer_i64(w, 1, 0);
  hr_writer_str(w, 2, hr_str(address));
  hr_writer_end(w, task, 32);
  hr_writer_end(w, job, 64);
}
#endif
