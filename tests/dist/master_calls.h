/* SPDX-License-Identifier: Apache-2.0 */
/* Requests made by hand and sent to the master of a cluster of two tasks, on one session whose graph is y = x + x. */
#ifndef HR_TESTS_DIST_MASTER_CALLS_H
#define HR_TESTS_DIST_MASTER_CALLS_H
#include "dist/compare.h"
#include "dist/task_cluster.h"
#include "wire/tensor_proto.h"
#include "wire/writer.h"

static const char* const jobs[] = {"worker", "ps"};

typedef struct {
  task_cluster_t c;
  char handle[17];
  hr_strbuf_t out;       /* the last response */
} calls_t;

static inline hr_str_t add_field(hr_writer_t* w, uint32_t number, const char* text) {
  hr_writer_str(w, number, hr_str(text));
  return hr_strbuf_view(w);
}

/* x: a placeholder; y = x + x on the other task. `suffix` makes names of its own. */
static inline void write_graph(hr_writer_t* w, uint32_t number, const char* suffix) {
  hr_graph_t* g = NULL;
  hr_node_t *x = NULL, *y = NULL;
  char x_name[32], y_name[32];
  snprintf(x_name, sizeof x_name, "x%s", suffix);
  snprintf(y_name, sizeof y_name, "y%s", suffix);
  HR_CHECK_OK(hr_graph_create(&g));
  const hr_named_attr_t attrs[] = {hr_at_type("dtype", HR_F32)};
  const hr_node_desc_t xd = {.op = HR_STR("Placeholder"), .name = hr_str(x_name), .attrs = attrs, .attr_count = 1};
  HR_CHECK_OK(hr_graph_add(g, &xd, &x));
  const hr_value_t in[] = {{x, 0}, {x, 0}};
  const hr_node_desc_t yd = {.op = HR_STR("Add"), .name = hr_str(y_name), .device = HR_STR("/job:ps/task:0"), .inputs = in,
                             .input_count = 2};
  HR_CHECK_OK(hr_graph_add(g, &yd, &y));
  char* def = NULL;
  size_t size = 0;
  HR_CHECK_OK(hr_export_graph_def(g, 0, &def, &size));
  hr_writer_bytes(w, number, def, size);
  hr_free(def);
  hr_graph_destroy(g);
}

static inline hr_status_t call(calls_t* k, hr_master_method_t method, hr_writer_t* take_request) {
  hr_status_t status = task_cluster_call(&k->c, method, hr_strbuf_view(take_request), &k->out);
  hr_strbuf_deinit(take_request);
  return status;
}

static inline hr_writer_t request_of(const char* handle) {
  hr_writer_t w;
  hr_strbuf_init(&w);
  if (handle) add_field(&w, 1, handle);
  return w;
}

static inline bool open_calls(calls_t* k) {
  memset(k, 0, sizeof *k);
  hr_strbuf_init(&k->out);
  if (!HR_CHECK(task_cluster_start(&k->c, jobs, 2, 10000))) return false;
  hr_writer_t w = request_of(NULL);
  write_graph(&w, 1, "");
  if (!HR_CHECK_OK(call(k, HR_MASTER_CreateSession, &w))) return false;
  snprintf(k->handle, sizeof k->handle, "%.*s", HR_STR_ARG(compare_field(hr_strbuf_view(&k->out), HR_KEY_SPAN(1))));
  return true;
}

static inline void close_calls(calls_t* k) {
  hr_strbuf_deinit(&k->out);
  task_cluster_stop(&k->c);
}

static inline void write_scalar(hr_writer_t* w, uint32_t number, float value) {
  hr_tensor_t t;
  HR_CHECK_OK(hr_tensor_from_f32(value, &t));
  hr_writer_mark_t m = hr_writer_begin(w, number, 32);
  HR_CHECK_OK(hr_tensor_proto_encode(&t, w));
  hr_writer_end(w, m, 32);
  hr_tensor_release(&t);
}

static inline void write_feed(hr_writer_t* w, const char* name, float value) { /* RunStep's */
  hr_writer_mark_t m = hr_writer_begin(w, 2, 64);
  add_field(w, 1, name);
  write_scalar(w, 2, value);
  hr_writer_end(w, m, 64);
}

static inline float scalar_of(hr_str_t tensor) {
  hr_tensor_t t = {0};
  float value = -1;
  if (HR_CHECK_OK(hr_tensor_proto_decode(hr_cursor_make(tensor.data, tensor.size), 1000, &t))) value = *(float*)t.data;
  hr_tensor_release(&t);
  return value;
}

static inline void check_step(calls_t* k, const char* feed, const char* fetch, float value, float wanted) {
  hr_writer_t w = request_of(k->handle);
  write_feed(&w, feed, value);
  add_field(&w, 3, fetch);
  if (HR_CHECK_OK(call(k, HR_MASTER_RunStep, &w)))
    HR_CHECK_EQ_F64(scalar_of(compare_field(compare_field(hr_strbuf_view(&k->out), HR_KEY_SPAN(1)), HR_KEY_SPAN(2))), wanted);
}
#endif
