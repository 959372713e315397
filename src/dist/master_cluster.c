/* SPDX-License-Identifier: Apache-2.0 */
/* ListDevices and Reset: what concerns the cluster rather than a step. ListDevicesResponse = 1 local_device, 2 remote_device; ResetRequest
 * = 1 container, 2 device_filters, like CleanupAllRequest = 1 container. */
#include "base/alloc.h"
#include "dist/master_state.h"

typedef struct {
  hr_strbuf_t flat;
  HR_VEC(hr_str_t) first; /* repeated field 1, 2 */
  HR_VEC(hr_str_t) second;
} texts_request_t;

static hr_status_t read_texts(hr_master_job_t* j, texts_request_t* r) {
  *r = (texts_request_t){0};
  hr_strbuf_init(&r->flat);
  hr_cursor_t c;
  HR_TRY(hr_message_reader_flat(hr_message_reader_make(j->request), &r->flat, &c));
  while (!hr_cursor_is_done(&c)) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&c, &f));
    if (f.key == HR_KEY_SPAN(1)) HR_TRY(hr_vec_push(&r->first, hr_cursor_str(f.span)));
    if (f.key == HR_KEY_SPAN(2)) HR_TRY(hr_vec_push(&r->second, hr_cursor_str(f.span)));
  }
  return NULL;
}

static void forget_texts(texts_request_t* r) {
  hr_vec_deinit(&r->first);
  hr_vec_deinit(&r->second);
  hr_strbuf_deinit(&r->flat);
}

static void list_set(hr_master_job_t* j, const hr_device_set_t* set) {
  for (int32_t i = 0; i < set->count; ++i)
    hr_cluster_backend_write_device(&j->response.bytes, set->devices[i]->is_remote ? 2 : 1, set->devices[i]);
}

static hr_status_t list_session(hr_master_job_t* j, hr_str_t handle) {
  hr_master_session_t* s = NULL;
  hr_status_t status = hr_master_session_find(j->m, handle, &s);
  if (status) {
    hr_status_release(status);
    return HR_ERROR(INVALID_ARGUMENT, "session '%.*s' is not found, so its devices cannot be listed", HR_STR_ARG(handle));
  }
  list_set(j, s->backend->devices);
  hr_master_session_release(s);
  return NULL;
}

static hr_status_t list_cluster(hr_master_job_t* j) {
  hr_cluster_t* cluster = j->m->cluster;
  int32_t* tasks = hr_alloc_array((size_t)cluster->count, sizeof *tasks);
  if (!tasks) return hr_status_out_of_memory();
  int32_t count = 0, *task_of = NULL;
  hr_device_set_t* set = NULL;
  hr_cluster_backend_select(cluster, NULL, 0, tasks, &count);
  hr_status_t status = hr_cluster_backend_discover(cluster, j->m->options.worker, tasks, count, false, j->cancel, &set, &task_of);
  if (!status) list_set(j, set);
  hr_device_set_release(set);
  hr_free(task_of);
  hr_free(tasks);
  return status;
}

hr_status_t hr_master_list_devices(hr_master_job_t* j) {
  texts_request_t r;
  hr_status_t status = read_texts(j, &r);
  const hr_str_t handle = r.first.count ? r.first.data[r.first.count - 1] : HR_STR("");
  if (!status) status = handle.size ? list_session(j, handle) : list_cluster(j);
  forget_texts(&r);
  return status;
}

static hr_status_t clean_request(const texts_request_t* r, hr_message_t* out) {
  hr_message_builder_t m;
  hr_message_builder_init(&m);
  for (int64_t i = 0; i < r->first.count; ++i) hr_writer_str(&m.bytes, 1, r->first.data[i]);
  return hr_message_builder_take(&m, out);
}

static hr_status_t clean_tasks(hr_master_job_t* j, const texts_request_t* r, const int32_t* tasks, int32_t count) {
  const hr_master_t* m = j->m;
  hr_fanout_t* f = NULL;
  HR_TRY(hr_fanout_create(m->cluster, m->options.worker, count, &f));
  hr_fanout_obey(f, j->cancel);
  hr_status_t status = NULL;
  for (int32_t i = 0; !status && i < count; ++i) {
    hr_message_t request;
    if (!(status = clean_request(r, &request)))
      hr_fanout_start(f, i, tasks[i], HR_WORKER_CleanupAll, &request, m->options.control_deadline_ms, false);
  }
  hr_status_merge(&status, hr_fanout_finish(f));
  hr_fanout_destroy(f);
  return status;
}

hr_status_t hr_master_reset(hr_master_job_t* j) {
  texts_request_t r;
  hr_status_t status = read_texts(j, &r);
  int32_t* tasks = status ? NULL : hr_alloc_array((size_t)j->m->cluster->count, sizeof *tasks);
  if (!status && !tasks) status = hr_status_out_of_memory();
  if (!status) {
    int32_t count = 0;
    hr_cluster_backend_select(j->m->cluster, r.second.data, (int32_t)r.second.count, tasks, &count);
    status = clean_tasks(j, &r, tasks, count);
    hr_master_session_close_all(j->m);
  }
  hr_free(tasks);
  forget_texts(&r);
  return status;
}
