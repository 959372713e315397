/* SPDX-License-Identifier: Apache-2.0 */
/* Event files: TensorFlow's is read, ours has the same records. */
#include "io/event.h"
#define HR_TEST_LEAKS_CHECKED
#include "event.pb-c.h"
#include "io/record.h"
#include "temp.h"
#include "test.h"
#include "wire/messages.h"

static Tensorflow__Event* next_event(hr_record_reader_t* r) {
  hr_str_t s;
  ProtobufCMessage* m = NULL;
  if (!HR_CHECK_OK(hr_record_reader_next(r, &s))) return NULL;
  if (!HR_CHECK_OK(hr_messages_unpack(&tensorflow__event__descriptor, s.data, s.size, &m))) return NULL;
  return (Tensorflow__Event*)m;
}

HR_TEST(reads_tensorflows_file) {
  hr_record_reader_t* r = NULL;
  HR_REQUIRE_OK(hr_record_reader_open(GOLDEN "events/events.out.tfevents.1795973959.host", HR_STREAM_PLAIN, &r));
  Tensorflow__Event* e = next_event(r);
  if (e) HR_CHECK_STR(e->file_version, "brain.Event:2");
  if (e) hr_messages_free(&e->base);
  hr_record_reader_close(r);
}

HR_TEST(writes_events) {
  hr_event_writer_t* w = NULL;
  hr_record_reader_t* r = NULL;
  hr_str_t s;
  char path[700];
  HR_REQUIRE_OK(hr_event_writer_create(temp_path("logs/run"), ".v2", &w));
  HR_CHECK_OK(hr_event_writer_add_scalar(w, 3, HR_STR("loss"), 0.25f));
  HR_CHECK_OK(hr_event_writer_add_graph(w, 0, HR_STR("graph bytes")));
  snprintf(path, sizeof path, "%s", hr_event_writer_path(w));
  HR_CHECK_OK(hr_event_writer_close(w));
  HR_CHECK(strstr(path, "/logs/run/events.out.tfevents.") && hr_str_has_suffix(hr_str(path), HR_STR(".v2")));
  HR_REQUIRE_OK(hr_record_reader_open(path, HR_STREAM_PLAIN, &r));
  Tensorflow__Event* e = next_event(r);
  if (e) HR_CHECK(e->wall_time > 1e9);
  if (e) HR_CHECK_STR(e->file_version, "brain.Event:2");
  if (e) hr_messages_free(&e->base);
  e = next_event(r);
  if (e && HR_CHECK(e->what_case == TENSORFLOW__EVENT__WHAT_SUMMARY && e->summary->n_value == 1)) {
    HR_CHECK_EQ_I64(e->step, 3);
    HR_CHECK_STR(e->summary->value[0]->tag, "loss");
    HR_CHECK_NEAR(e->summary->value[0]->simple_value, 0.25, 0);
  }
  if (e) hr_messages_free(&e->base);
  e = next_event(r);
  if (e) HR_CHECK(e->what_case == TENSORFLOW__EVENT__WHAT_GRAPH_DEF && e->graph_def.len == 11);
  if (e) hr_messages_free(&e->base);
  HR_CHECK_CODE(hr_record_reader_next(r, &s), HR_OUT_OF_RANGE, "end of file");
  hr_record_reader_close(r);
}

HR_TEST_MAIN()
