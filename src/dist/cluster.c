/* SPDX-License-Identifier: Apache-2.0 */
/* ServerDef = 1 cluster, 2 job_name, 3 task_index, 5 protocol, 8 replica. ClusterDef = 1 job. JobDef = 1 name, 2 tasks (map int32, string).
 */
#include "dist/cluster.h"
#include <stdlib.h>
#include "base/alloc.h"
#include "base/vec.h"
#include "rt/device_name.h"
#include "wire/cursor.h"

typedef struct {
  hr_cluster_t* cluster;
  HR_VEC(hr_cluster_task_t) tasks;
  hr_str_t job, protocol;
  int64_t index, replica;
} server_def_t;

/* A text of the cluster's own, NUL-terminated. */
static hr_status_t keep_text(hr_cluster_t* c, hr_str_t text, hr_str_t* out) {
  struct hr_cluster_text* t = hr_alloc(sizeof *t + text.size + 1);
  if (!t) return hr_status_out_of_memory();
  if (text.size) memcpy(t->text, text.data, text.size);
  t->text[text.size] = 0;
  t->next = c->texts;
  c->texts = t;
  *out = (hr_str_t){t->text, text.size};
  return NULL;
}

static hr_status_t name_task(hr_cluster_t* c, hr_str_t job, int64_t index, int64_t replica, hr_str_t* out) {
  hr_strbuf_t b;
  hr_strbuf_init(&b);
  hr_strbuf_format(&b, "/job:%.*s/replica:%d/task:%d", HR_STR_ARG(job), (int)replica, (int)index);
  hr_device_name_t parsed;
  hr_status_t status = b.failed ? hr_status_out_of_memory() : hr_device_name_parse(hr_strbuf_view(&b), &parsed);
  if (!status) status = keep_text(c, hr_strbuf_view(&b), out);
  hr_strbuf_deinit(&b);
  return status;
}

/* An entry of JobDef.tasks: 1 index, 2 address. */
static hr_status_t read_task(server_def_t* d, hr_str_t job, hr_cursor_t entry) {
  int64_t index = 0;
  hr_str_t address = HR_STR("");
  while (!hr_cursor_is_done(&entry)) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&entry, &f));
    if (f.key == HR_KEY_VARINT(1)) index = (int64_t)f.value;
    else if (f.key == HR_KEY_SPAN(2)) address = hr_cursor_str(f.span);
  }
  if (index < 0 || index > INT32_MAX)
    return HR_ERROR(INVALID_ARGUMENT, "job '%.*s' has a task with index %lld; an index is at least 0", HR_STR_ARG(job), (long long)index);
  hr_cluster_task_t t = {.index = (int32_t)index};
  HR_TRY(keep_text(d->cluster, job, &t.job));
  HR_TRY(keep_text(d->cluster, address, &t.address));
  return hr_vec_push(&d->tasks, t);
}

static hr_status_t read_job(server_def_t* d, hr_cursor_t span) {
  hr_str_t job = HR_STR("");
  for (hr_cursor_t c = span; !hr_cursor_is_done(&c);) { /* the name may come after the tasks */
    hr_field_t f;
    HR_TRY(hr_cursor_next(&c, &f));
    if (f.key == HR_KEY_SPAN(1)) job = hr_cursor_str(f.span);
  }
  if (job.size == 0) return HR_ERROR(INVALID_ARGUMENT, "a job of the cluster has no name");
  while (!hr_cursor_is_done(&span)) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&span, &f));
    if (f.key == HR_KEY_SPAN(2)) HR_TRY(read_task(d, job, f.span));
  }
  return NULL;
}

static hr_status_t read_cluster(server_def_t* d, hr_cursor_t span) {
  while (!hr_cursor_is_done(&span)) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&span, &f));
    if (f.key == HR_KEY_SPAN(1)) HR_TRY(read_job(d, f.span));
  }
  return NULL;
}

static hr_status_t read_server_def(server_def_t* d, hr_cursor_t c) {
  while (!hr_cursor_is_done(&c)) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&c, &f));
    switch (f.key) {
      case HR_KEY_SPAN(1): HR_TRY(read_cluster(d, f.span)); break;
      case HR_KEY_SPAN(2): d->job = hr_cursor_str(f.span); break;
      case HR_KEY_VARINT(3): d->index = (int64_t)f.value; break;
      case HR_KEY_SPAN(5): d->protocol = hr_cursor_str(f.span); break;
      case HR_KEY_VARINT(8): d->replica = (int64_t)f.value; break;
    }
  }
  return NULL;
}

static int compare_tasks(const void* a, const void* b) {
  const hr_cluster_task_t *x = a, *y = b;
  int by_job = hr_str_compare(x->job, y->job);
  return by_job ? by_job : (x->index > y->index) - (x->index < y->index);
}

static hr_status_t link_tasks(hr_cluster_t* c, const server_def_t* d, hr_str_t own_address) {
  c->self = -1;
  for (int32_t i = 0; i < c->count; ++i) {
    hr_cluster_task_t* t = &c->tasks[i];
    if (i > 0 && compare_tasks(t - 1, t) == 0)
      return HR_ERROR(INVALID_ARGUMENT, "the cluster lists task %d of job '%s' twice", (int)t->index, t->job.data);
    bool own = hr_str_equal(t->job, d->job) && t->index == d->index;
    HR_TRY(name_task(c, t->job, t->index, own ? d->replica : 0, &t->name));
    if (!own) continue;
    c->self = i;
    if (own_address.size) HR_TRY(keep_text(c, own_address, &t->address));
  }
  if (c->self < 0)
    return HR_ERROR(INVALID_ARGUMENT, "task %lld of job '%.*s' is not in the cluster that its own definition lists", (long long)d->index,
                    HR_STR_ARG(d->job));
  return NULL;
}

static hr_status_t fill_cluster(hr_cluster_t* c, hr_cursor_t def, const hr_tls_t* tls, hr_str_t own_address) {
  server_def_t d = {.cluster = c};
  hr_status_t status = read_server_def(&d, def);
  c->tasks = d.tasks.data; /* the cluster's from here on, also on failure */
  c->count = (int32_t)d.tasks.count;
  if (status) return hr_status_note(status, "server definition: ");
  if (c->count) qsort(c->tasks, (size_t)c->count, sizeof *c->tasks, compare_tasks);
  HR_TRY(keep_text(c, d.protocol.size ? d.protocol : HR_STR("grpc"), &c->protocol));
  if (tls) {
    HR_TRY(keep_text(c, tls->certificate, &c->tls.certificate));
    HR_TRY(keep_text(c, tls->key, &c->tls.key));
    HR_TRY(keep_text(c, tls->ca, &c->tls.ca));
  }
  return link_tasks(c, &d, own_address);
}

hr_status_t hr_cluster_create(const void* server_def, size_t size, const hr_transport_t* transport, const hr_tls_t* tls,
                              hr_str_t own_address, hr_cluster_t** out) {
  hr_cluster_t* c = hr_alloc_zero(sizeof *c);
  if (!c) return hr_status_out_of_memory();
  atomic_init(&c->refs, 1);
  hr_mutex_init(&c->mu);
  c->transport = transport;
  hr_status_t status = fill_cluster(c, hr_cursor_make(server_def, size), tls, own_address);
  if (status) hr_cluster_release(c);
  else *out = c;
  return status;
}

hr_cluster_t* hr_cluster_retain(hr_cluster_t* c) {
  atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
  return c;
}

void hr_cluster_release(hr_cluster_t* c) {
  if (!c || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1) return;
  for (int32_t i = 0; i < c->count; ++i)
    if (c->tasks[i].channel) c->transport->disconnect(c->tasks[i].channel);
  hr_free(c->tasks);
  while (c->texts) {
    struct hr_cluster_text* t = c->texts;
    c->texts = t->next;
    hr_free(t);
  }
  hr_mutex_deinit(&c->mu);
  hr_free(c);
}

int32_t hr_cluster_find(const hr_cluster_t* c, hr_str_t name) {
  for (int32_t i = 0; i < c->count; ++i) {
    hr_str_t task = c->tasks[i].name;
    if (hr_str_has_prefix(name, task) && (name.size == task.size || name.data[task.size] == '/')) return i;
  }
  return -1;
}

hr_status_t hr_cluster_channel(hr_cluster_t* c, int32_t task, hr_channel_t** out) {
  hr_mutex_lock(&c->mu);
  hr_cluster_task_t* t = &c->tasks[task];
  hr_status_t status = t->channel ? NULL : c->transport->connect(t->address, &c->tls, &t->channel);
  if (status) t->channel = NULL;
  *out = t->channel;
  hr_mutex_unlock(&c->mu);
  return status ? hr_status_note(status, "channel to task %s: ", t->name.data) : NULL;
}
