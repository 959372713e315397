/* SPDX-License-Identifier: Apache-2.0 */
/* Which tasks take part in a session, and what devices they have. GetStatusResponse = 1 device_attributes; DeviceAttributes = 1 name, 4
 * memory_limit, 6 incarnation. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "dist/cluster_backend.h"
#include "dist/message_reader.h"

enum { LOG_EVERY_MS = 10000 };

/* A filter names a task, or devices of one; a task is in when a filter could be meant for it. */
static bool filter_accepts(hr_str_t filter, const hr_cluster_task_t* t) {
  hr_device_name_t wanted, task;
  hr_status_t status = hr_device_name_parse(filter, &wanted);
  if (!status) status = hr_device_name_parse(t->name, &task);
  if (status) {
    hr_status_release(status);
    return false;
  }
  wanted.type = (hr_str_t){0}, wanted.id = -1;
  return hr_device_name_accepts(&wanted, &task);
}

void hr_cluster_backend_select(const hr_cluster_t* cluster, const hr_str_t* filters, int32_t filter_count, int32_t* out_tasks,
                               int32_t* out_count) {
  int32_t n = 0;
  out_tasks[n++] = cluster->self;
  for (int32_t i = 0; i < cluster->count; ++i) {
    if (i == cluster->self) continue;
    bool in = filter_count == 0;
    for (int32_t j = 0; !in && j < filter_count; ++j) in = filter_accepts(filters[j], &cluster->tasks[i]);
    if (in) out_tasks[n++] = i;
  }
  *out_count = n;
}

typedef struct {
  const hr_cluster_t* cluster;
  bool renames;
  hr_device_set_t* set;
  HR_VEC(int32_t) task_of;
} discovery_t;

/* "/job:local/replica:0/task:0/device:CPU:0" under the name that the task has in the cluster. */
static hr_status_t rename_device(const discovery_t* d, int32_t task, hr_str_t name, hr_strbuf_t* out) {
  hr_device_name_t parts;
  HR_TRY(hr_device_name_parse(name, &parts));
  hr_strbuf_format(out, "%s/device:%.*s:%d", d->cluster->tasks[task].name.data, HR_STR_ARG(parts.type), (int)parts.id);
  return out->failed ? hr_status_out_of_memory() : NULL;
}

static hr_status_t add_device(discovery_t* d, int32_t task, hr_str_t name, uint64_t incarnation, int64_t memory, bool is_remote) {
  hr_strbuf_t renamed;
  hr_strbuf_init(&renamed);
  hr_status_t status = d->renames ? rename_device(d, task, name, &renamed) : NULL;
  if (!status) status = hr_device_set_add(d->set, d->renames ? hr_strbuf_view(&renamed) : name, incarnation, memory, is_remote);
  hr_strbuf_deinit(&renamed);
  return status ? status : hr_vec_push(&d->task_of, task);
}

static hr_status_t add_own(discovery_t* d, int32_t self, const hr_device_set_t* own) {
  for (int32_t i = 0; i < own->count; ++i) {
    const hr_device_t* o = own->devices[i];
    HR_TRY(add_device(d, self, hr_str(o->name), o->incarnation, o->memory_limit, false));
  }
  return own->count ? NULL : HR_ERROR(FAILED_PRECONDITION, "this task has no device");
}

static hr_status_t read_device(discovery_t* d, const hr_cluster_t* cluster, int32_t task, hr_cursor_t c) {
  hr_str_t name = HR_STR("");
  uint64_t incarnation = 0;
  int64_t memory = 0;
  while (!hr_cursor_is_done(&c)) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&c, &f));
    switch (f.key) {
      case HR_KEY_SPAN(1): name = hr_cursor_str(f.span); break;
      case HR_KEY_VARINT(4): memory = (int64_t)f.value; break;
      case HR_KEY_FIXED64(6): incarnation = f.value; break;
    }
  }
  if (!d->renames && hr_cluster_find(cluster, name) != task)
    return HR_ERROR(INVALID_ARGUMENT, "it says that it has the device '%.*s', which is another task's: the address in the cluster is wrong",
                    HR_STR_ARG(name));
  return add_device(d, task, name, incarnation, memory, true);
}

static hr_status_t read_status(discovery_t* d, const hr_cluster_t* cluster, const hr_fanout_call_t* call) {
  hr_strbuf_t scratch;
  hr_strbuf_init(&scratch);
  hr_cursor_t c;
  hr_status_t status = hr_message_reader_flat(hr_message_reader_make(&call->response), &scratch, &c);
  while (!status && !hr_cursor_is_done(&c)) {
    hr_field_t f;
    if (!(status = hr_cursor_next(&c, &f)) && f.key == HR_KEY_SPAN(1)) status = read_device(d, cluster, call->task, f.span);
  }
  hr_strbuf_deinit(&scratch);
  return status ? hr_status_note(status, "status of task %s at %s: ", cluster->tasks[call->task].name.data,
                                 cluster->tasks[call->task].address.data)
                : NULL;
}

static void log_missing(hr_fanout_t* f) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hr_mutex_lock(&f->mu);
  for (int32_t i = 0; i < f->count; ++i) {
    if (f->calls[i].has_ended) continue;
    const hr_cluster_task_t* t = &f->cluster->tasks[f->calls[i].task];
    hr_strbuf_format(&text, "%s%s at %s", text.size ? ", " : "", t->name.data, t->address.data);
  }
  hr_mutex_unlock(&f->mu);
  hr_log(HR_LOG_WARNING, "a new session still waits for %s", text.size ? text.data : "memory");
  hr_strbuf_deinit(&text);
}

static hr_status_t ask_tasks(discovery_t* d, hr_cluster_t* cluster, hr_worker_t* worker, const int32_t* tasks, int32_t count,
                             hr_cancel_t* cancel) {
  hr_fanout_t* f = NULL;
  HR_TRY(hr_fanout_create(cluster, worker, count, &f));
  hr_fanout_obey(f, cancel);
  for (int32_t i = 0; i < count; ++i) {
    hr_message_t request = {0};
    hr_fanout_start(f, i, tasks[i], HR_WORKER_GetStatus, &request, 0, true);
  }
  while (!hr_fanout_wait(f, hr_clock_now_ns() + (int64_t)LOG_EVERY_MS * 1000000)) log_missing(f);
  hr_status_t status = hr_fanout_finish(f);
  for (int32_t i = 0; !status && i < count; ++i) status = read_status(d, cluster, &f->calls[i]);
  hr_fanout_destroy(f);
  return status;
}

hr_status_t hr_cluster_backend_discover(hr_cluster_t* cluster, hr_worker_t* worker, const int32_t* tasks, int32_t count,
                                        bool renames, hr_cancel_t* cancel, hr_device_set_t** out, int32_t** out_task_of_device) {
  discovery_t d = {.cluster = cluster, .renames = renames};
  HR_TRY(hr_device_set_create(&d.set));
  hr_status_t status = add_own(&d, cluster->self, hr_worker_devices(worker));
  if (!status && count > 1) status = ask_tasks(&d, cluster, worker, tasks + 1, count - 1, cancel);
  if (status) {
    hr_vec_deinit(&d.task_of);
    hr_device_set_release(d.set);
    return status;
  }
  *out = d.set;
  *out_task_of_device = d.task_of.data;
  return NULL;
}
