/* SPDX-License-Identifier: Apache-2.0 */
/* Writing event files. Wall time is now, in seconds. */
#include "io/event.h"
#include <stdio.h>
#include <unistd.h>
#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "io/record.h"
#include "wire/writer.h"

enum { EVENT_WALL_TIME = 1, EVENT_STEP = 2, EVENT_FILE_VERSION = 3, EVENT_GRAPH_DEF = 4, EVENT_SUMMARY = 5, SUMMARY_VALUE = 1,
      VALUE_TAG = 1,
       VALUE_SIMPLE = 2 };

struct hr_event_writer {
  hr_record_writer_t* records;
  char* path;
};

static double event_now(void) { return (double)hr_clock_wall_ns() * 1e-9; }

static char* event_path(const char* folder, const char* suffix) {
  char host[256] = "localhost";
  if (gethostname(host, sizeof host - 1) != 0) snprintf(host, sizeof host, "localhost");
  host[sizeof host - 1] = 0;
  size_t n = strlen(folder) + strlen(suffix) + sizeof host + 64;
  char* path = hr_alloc(n);
  if (path) snprintf(path, n, "%s/events.out.tfevents.%010lld.%s%s", folder, (long long)(hr_clock_wall_ns() / 1000000000), host, suffix);
  return path;
}

/* Adds and frees what `event` holds. */
static hr_status_t event_add_built(hr_event_writer_t* w, hr_writer_t* event) {
  hr_status_t status = event->failed ? hr_status_out_of_memory() : hr_record_writer_add(w->records, hr_strbuf_view(event));
  hr_strbuf_deinit(event);
  return status;
}

static void event_begin(hr_writer_t* event, int64_t step) {
  hr_strbuf_init(event);
  hr_writer_f64(event, EVENT_WALL_TIME, event_now());
  if (step) hr_writer_i64(event, EVENT_STEP, step);
}

static hr_status_t event_add_field(hr_event_writer_t* w, int64_t step, uint32_t number, hr_str_t bytes) {
  hr_writer_t event;
  event_begin(&event, step);
  hr_writer_str(&event, number, bytes);
  return event_add_built(w, &event);
}

hr_status_t hr_event_writer_create(const char* folder, const char* suffix, hr_event_writer_t** out) {
  HR_TRY(hr_file_make_dirs(folder));
  hr_event_writer_t* w = hr_alloc_zero(sizeof *w);
  if (!w) return hr_status_out_of_memory();
  w->path = event_path(folder, suffix);
  hr_status_t status = w->path ? hr_record_writer_create(w->path, HR_STREAM_PLAIN, &w->records) : hr_status_out_of_memory();
  if (!status) status = event_add_field(w, 0, EVENT_FILE_VERSION, HR_STR("brain.Event:2"));
  if (!status) status = hr_event_writer_flush(w);
  if (status) hr_status_release(hr_event_writer_close(w));
  else *out = w;
  return status;
}

hr_status_t hr_event_writer_add(hr_event_writer_t* w, hr_str_t event) { return hr_record_writer_add(w->records, event); }

hr_status_t hr_event_writer_add_graph(hr_event_writer_t* w, int64_t step, hr_str_t graph_def) {
  return event_add_field(w, step, EVENT_GRAPH_DEF, graph_def);
}

hr_status_t hr_event_writer_add_scalar(hr_event_writer_t* w, int64_t step, hr_str_t tag, float value) {
  hr_writer_t event;
  event_begin(&event, step);
  hr_writer_mark_t summary = hr_writer_begin(&event, EVENT_SUMMARY, 0);
  hr_writer_mark_t one = hr_writer_begin(&event, SUMMARY_VALUE, 0);
  hr_writer_str(&event, VALUE_TAG, tag);
  hr_writer_f32(&event, VALUE_SIMPLE, value);
  hr_writer_end(&event, one, 0);
  hr_writer_end(&event, summary, 0);
  return event_add_built(w, &event);
}

hr_status_t hr_event_writer_flush(hr_event_writer_t* w) { return hr_record_writer_flush(w->records); }
const char* hr_event_writer_path(const hr_event_writer_t* w) { return w->path; }

hr_status_t hr_event_writer_close(hr_event_writer_t* take_w) {
  if (!take_w) return NULL;
  hr_status_t status = hr_record_writer_close(take_w->records);
  hr_free(take_w->path);
  hr_free(take_w);
  return status;
}
