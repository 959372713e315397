/* SPDX-License-Identifier: Apache-2.0 */
/* The tasks of a ServerDef: order, names, the own one; what is refused. */
#define HR_TEST_LEAKS_CHECKED
#include "dist/cluster.h"
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
