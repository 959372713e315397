/* SPDX-License-Identifier: Apache-2.0 */
/* The tasks of a ServerDef: order, names, the own one; what is refused. */
#define HR_TEST_LEAKS_CHECKED
#include "dist/cluster_backend.h"
#include "dist/transport_inproc.h"
#include "test.h"

#define BYTES(text) text, sizeof(text) - 1
#define TASK(n, address) "\x12\x07\x08" n "\x12\x03" address      /* of a JobDef; the address has 3 bytes */
#define TWO_JOBS                                                   \
  "\x0a\x2b"                                                       \
  "\x0a\x16\x0a\x02ps" TASK("\x01", "b:2") TASK("\x00", "a:1")     \
  "\x0a\x11" TASK("\x05", "c:3") "\x0a\x06worker"

static hr_status_t cluster_make(const char* bytes, size_t size, const char* own, hr_cluster_t** out) {
  *out = NULL;
  return hr_cluster_create(bytes, size, &hr_transport_inproc, NULL, hr_str(own), out);
}

HR_TEST(tasks_are_sorted_and_named) {
  hr_cluster_t* c;
  HR_REQUIRE_OK(cluster_make(BYTES(TWO_JOBS "\x12\x06worker\x18\x05\x2a\x05grpcs"), "", &c));
  static const char* const names[] = {"/job:ps/replica:0/task:0", "/job:ps/replica:0/task:1", "/job:worker/replica:0/task:5"};
  static const char* const addresses[] = {"a:1", "b:2", "c:3"};
  HR_CHECK_EQ_I64(c->count, 3);
  for (int i = 0; i < 3 && c->count == 3; ++i) {
    HR_CHECK_VIEW(c->tasks[i].name, names[i]);
    HR_CHECK_VIEW(c->tasks[i].address, addresses[i]);
    HR_CHECK_EQ_I64(hr_cluster_find(c, hr_str(names[i])), i);
  }
  HR_CHECK_EQ_I64(c->self, 2);
  HR_CHECK_VIEW(c->protocol, "grpcs");
  HR_CHECK_EQ_I64(hr_cluster_find(c, HR_STR("/job:ps/replica:0/task:1/device:CPU:0")), 1);
  HR_CHECK_EQ_I64(hr_cluster_find(c, HR_STR("/job:ps/replica:0/task:10")), -1);
  HR_CHECK_EQ_I64(hr_cluster_find(c, HR_STR("/job:ps/replica:0/task:")), -1);
  HR_CHECK_EQ_I64(hr_cluster_find(c, HR_STR("")), -1);
  hr_cluster_release(c);
  hr_cluster_release(NULL);
}

HR_TEST(the_own_task) { /* its replica and its address are its own */
  hr_cluster_t* c;
  HR_REQUIRE_OK(cluster_make(BYTES(TWO_JOBS "\x12\x02ps\x18\x01\x40\x02"), "z:9", &c));
  HR_CHECK_EQ_I64(c->self, 1);
  HR_CHECK_VIEW(c->protocol, "grpc");
  HR_CHECK_VIEW(c->tasks[0].name, "/job:ps/replica:0/task:0");
  HR_CHECK_VIEW(c->tasks[1].name, "/job:ps/replica:2/task:1");
  HR_CHECK_VIEW(c->tasks[0].address, "a:1");
  HR_CHECK_VIEW(c->tasks[1].address, "z:9");
  hr_cluster_t* again = hr_cluster_retain(c);
  hr_cluster_release(again);
  HR_CHECK_EQ_I64(c->count, 3);
  hr_cluster_release(c);
}

/* Which tasks a session's filters leave in: its own always, and first. */
HR_TEST(filters_choose_tasks) {
  static const struct { const char *first, *second, *tasks; } rows[] = {
      {NULL, NULL, "1 0 2"},
      {"/job:worker", NULL, "1 2"},
      {"/job:ps", NULL, "1 0"},
      {"/job:ps/task:0", NULL, "1 0"},
      {"/job:ps/task:1", NULL, "1"},
      {"/job:none", NULL, "1"},
      {"/job:none", "/job:worker", "1 2"},
      {"/job:worker", "/job:ps", "1 0 2"},
      {"/job:worker", "/job:worker", "1 2"},
      {"/task:5", NULL, "1 2"},
      {"/replica:1", NULL, "1"},
      {"/device:GPU:7", NULL, "1 0 2"},                /* of devices: any task may have it */
      {"/job:worker/device:CPU:0", NULL, "1 2"},
      {"damaged", NULL, "1"},
      {"damaged", "/job:worker", "1 2"},
      {"", NULL, "1 0 2"},
  };
  hr_cluster_t* c;
  HR_REQUIRE_OK(cluster_make(BYTES(TWO_JOBS "\x12\x02ps\x18\x01"), "", &c));
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    const hr_str_t filters[] = {hr_str(rows[i].first), hr_str(rows[i].second)};
    int32_t tasks[3], count = -1;
    char text[20] = "";
    hr_cluster_backend_select(c, filters, rows[i].second ? 2 : rows[i].first ? 1 : 0, tasks, &count);
    for (int32_t j = 0; j < count; ++j) snprintf(text + strlen(text), sizeof text - strlen(text), j ? " %d" : "%d", tasks[j]);
    if (!HR_CHECK_STR(text, rows[i].tasks)) printf("  row %d\n", (int)i);
  }
  hr_cluster_release(c);
}

/* A name of one task is no prefix of another's. */
HR_TEST(names_are_found_whole) {
  static const struct { const char* name; int32_t task; } rows[] = {
      {"/job:ps/replica:0/task:0", 0}, {"/job:ps/replica:0/task:0/", 0}, {"/job:ps/replica:0/task:0/device:CPU:0", 0},
      {"/job:ps/replica:0/task:00", -1}, {"/job:ps/replica:0/task:0.", -1}, {"/job:ps/replica:0/task", -1}, {"job:ps/replica:0/task:0", -1},
      {"/job:worker/replica:0/task:5", 2}, {"/job:worker/replica:0/task:55", -1}, {"/job:worker/replica:0/task:5/x", 2}};
  hr_cluster_t* c;
  HR_REQUIRE_OK(cluster_make(BYTES(TWO_JOBS "\x12\x02ps\x18\x01"), "", &c));
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) HR_CHECK_EQ_I64(hr_cluster_find(c, hr_str(rows[i].name)), rows[i].task);
  hr_cluster_release(c);
}

static hr_status_t make_cluster(void) {
  const hr_tls_t tls = {HR_STR("certificate"), HR_STR("key"), HR_STR("authority")};
  hr_cluster_t* c = NULL;
  hr_status_t status = hr_cluster_create(BYTES(TWO_JOBS "\x12\x02ps\x18\x01"), &hr_transport_inproc, &tls, HR_STR("z:9"), &c);
  if (status) return status;
  HR_CHECK_VIEW(c->tls.certificate, "certificate");
  HR_CHECK_VIEW(c->tls.key, "key");
  HR_CHECK_VIEW(c->tls.ca, "authority");
  hr_channel_t *channel = NULL, *again = NULL;
  status = hr_cluster_channel(c, 2, &channel);
  if (!status) {
    HR_CHECK(channel && c->tasks[2].channel == channel && !c->tasks[0].channel);
    HR_CHECK_OK(hr_cluster_channel(c, 2, &again));
    HR_CHECK(again == channel);
  }
  hr_cluster_release(c);
  return status;
}
HR_TEST(memory_may_run_out) { HR_TEST_EVERY_ALLOCATION_FAILS(make_cluster); }

HR_TEST(what_is_refused) {
  hr_cluster_t* c;
  HR_CHECK_CODE(cluster_make(BYTES(TWO_JOBS "\x12\x02ps\x18\x02"), "", &c), HR_INVALID_ARGUMENT,
                "task 2 of job 'ps' is not in the cluster that its own definition lists");
  HR_CHECK_CODE(cluster_make(BYTES(TWO_JOBS "\x12\x06worker"), "", &c), HR_INVALID_ARGUMENT, "task 0 of job 'worker'");
  HR_CHECK_CODE(cluster_make(BYTES(""), "", &c), HR_INVALID_ARGUMENT, "task 0 of job ''");
  HR_CHECK_CODE(cluster_make(BYTES("\x0a\x18\x0a\x16\x0a\x02ps" TASK("\x01", "b:2") TASK("\x01", "a:1") "\x12\x02ps"), "", &c),
                HR_INVALID_ARGUMENT, "the cluster lists task 1 of job 'ps' twice");
  HR_CHECK_CODE(cluster_make(BYTES("\x0a\x0b\x0a\x09" TASK("\x01", "b:2")), "", &c), HR_INVALID_ARGUMENT,
                "a job of the cluster has no name");
  HR_CHECK_CODE(cluster_make(BYTES("\x0a\x13\x0a\x11\x0a\x02ps\x12\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "", &c),
                HR_INVALID_ARGUMENT, "server definition: job 'ps' has a task with index -1; an index is at least 0");
  HR_CHECK_CODE(cluster_make(BYTES("\x0a\x0e\x0a\x0c\x0a\x02ps\x12\x06\x08\x80\x80\x80\x80\x08"), "", &c), HR_INVALID_ARGUMENT,
                "index 2147483648");
  HR_CHECK_CODE(cluster_make(BYTES("\x0a\x09\x0a\x07\x0a\x02p/\x12\x01"), "", &c), HR_INVALID_ARGUMENT, "server definition: ");
  HR_CHECK_CODE(cluster_make(BYTES("\x0a\x0f\x0a\x0d\x0a\x02p/" TASK("\x00", "b:2")), "", &c), HR_INVALID_ARGUMENT, "");
}
HR_TEST_MAIN()
