/* SPDX-License-Identifier: Apache-2.0 */
/* What clients see when tasks die, freeze or do not come, when steps are cancelled and sessions closed; and where bytes travel. Clients are
 * remote sessions within the process, masters and workers are behind a transport. */
#define HR_TEST_LEAKS_CHECKED
#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"
#include "dist/task_cluster.h"
#include "dist/worker_state.h"
#include "graph/import.h"
#include "session/session.h"
#include "test.h"

enum { HEARTBEAT_MS = 300 };
static const char* const two_jobs[] = {"worker", "ps"};
#define ON_PS HR_STR("/job:ps/task:0")
#define ON_WORKER HR_STR("/job:worker/task:0")

/* --- graphs --------------------------------------------------------------------------------------------------------------------------- */

static hr_node_t* add_on(hr_graph_t* g, hr_str_t device, const char* op, const char* name, const hr_value_t* inputs, int count,
                         const hr_named_attr_t* attrs, int attr_count) {
  hr_node_t* node = NULL;
  const hr_node_desc_t d = {.op = hr_str(op), .name = hr_str(name), .device = device, .inputs = inputs, .input_count = count,
                            .attrs = attrs, .attr_count = attr_count};
  hr_mutex_lock(&g->mu);
  HR_CHECK_OK(hr_graph_add(g, &d, &node));
  hr_mutex_unlock(&g->mu);
  return node;
}

static hr_node_t* add_const(hr_graph_t* g, hr_str_t device, const char* name, float value) {
  hr_tensor_t t;
  HR_CHECK_OK(hr_tensor_from_f32(value, &t));
  const hr_named_attr_t attrs[] = {hr_at_tensor("value", &t), hr_at_type("dtype", HR_F32)};
  hr_node_t* n = add_on(g, device, "Const", name, NULL, 0, attrs, 2);
  hr_tensor_release(&t);
  return n;
}

static hr_node_t* add_two(hr_graph_t* g, hr_str_t device, const char* op, const char* name, hr_node_t* a, hr_node_t* b) {
  const hr_value_t in[] = {{a, 0}, {b, 0}};
  return add_on(g, device, op, name, in, 2, NULL, 0);
}

static hr_node_t* add_placeholder(hr_graph_t* g, hr_str_t device, const char* name) {
  const hr_named_attr_t attrs[] = {hr_at_type("dtype", HR_F32)};
  return add_on(g, device, "Placeholder", name, NULL, 0, attrs, 1);
}

/* A dequeue on `device` from a queue that stays empty, added to what comes from the other task. */
static hr_node_t* add_wait(hr_graph_t* g, hr_str_t device, hr_str_t other) {
  const int32_t types[] = {HR_F32};
  const hr_named_attr_t queue_attrs[] = {hr_at_types("component_types", types, 1)};
  hr_node_t* q = add_on(g, device, "FIFOQueueV2", "q", NULL, 0, queue_attrs, 1);
  const hr_value_t in[] = {{q, 0}};
  const hr_named_attr_t attrs[] = {hr_at_types("component_types", types, 1)};
  hr_node_t* got = add_on(g, device, "QueueDequeueV2", "got", in, 1, attrs, 1);
  hr_node_t* x = add_placeholder(g, other, "x");
  return add_two(g, other, "Add", "sum", got, x);
}

/* --- a client ------------------------------------------------------------------------------------------------------------------------- */

typedef struct {
  task_cluster_t c;
  hr_graph_t* g;
  hr_session_t* s;
  char target[80];
} client_t;

static bool open_client(client_t* k, const char* const* jobs, int count) {
  memset(k, 0, sizeof *k);
  if (!HR_CHECK(task_cluster_start(&k->c, jobs, count, HEARTBEAT_MS)) || !HR_CHECK_OK(hr_graph_create(&k->g))) return false;
  snprintf(k->target, sizeof k->target, "inproc://%s", k->c.tasks[0].address);
  hr_session_options_t o;
  hr_session_options_init(&o);
  o.target = hr_str(k->target);
  return HR_CHECK_OK(hr_session_create(k->g, &o, &k->s));
}

static void close_client(client_t* k) {
  hr_session_destroy(k->s);
  hr_graph_destroy(k->g);
  task_cluster_stop(&k->c);
}

static hr_status_t fetch_with(client_t* k, hr_node_t* feed, float value, hr_node_t* fetch, const hr_run_options_t* o, hr_tensor_t* out) {
  hr_tensor_t x;
  HR_TRY(hr_tensor_from_f32(value, &x));
  const hr_value_t from = {feed, 0}, to = {fetch, 0};
  const hr_run_t run = {.feeds = &from, .feed_values = &x, .feed_count = feed ? 1 : 0, .fetches = &to, .fetch_count = 1};
  hr_status_t status = hr_session_run(k->s, o, &run, out, NULL, NULL);
  hr_tensor_release(&x);
  return status;
}

static double seconds_since(int64_t start_ns) { return (double)(hr_clock_now_ns() - start_ns) / 1e9; }

/* A step in a thread of its own. */
typedef struct {
  client_t* k;
  hr_node_t *feed, *fetch;
  hr_run_options_t options;
  hr_status_t status;
  double took;
  hr_thread_t thread;
} step_t;
static void run_in_thread(void* arg) {
  step_t* s = arg;
  hr_tensor_t out = {0};
  const int64_t start = hr_clock_now_ns();
  s->status = fetch_with(s->k, s->feed, 1, s->fetch, &s->options, &out);
  s->took = seconds_since(start);
  hr_tensor_release(&out);
}
static void start_step(step_t* s, client_t* k, hr_node_t* fetch) {
  s->k = k;
  s->feed = hr_graph_find(k->g, HR_STR("x"));
  s->fetch = fetch;
  HR_CHECK_OK(hr_thread_start(&s->thread, "step", run_in_thread, s));
}
static void nap_ms(int ms) { nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL); }
static void await_running(client_t* k) { /* until the step's RunGraph has reached the other task */
  for (int i = 0; i < 400 && k->c.tasks[1].worker && task_cluster_count(&k->c, "ps", "/RegisterGraph") == 0; ++i) nap_ms(5);
  nap_ms(50);
}

/* --- results -------------------------------------------------------------------------------------------------------------------------- */

HR_TEST(values_meet) {
  client_t k;
  if (open_client(&k, two_jobs, 2)) {
    hr_node_t* x = add_placeholder(k.g, ON_WORKER, "x");
    hr_node_t* twice = add_two(k.g, ON_PS, "Mul", "twice", x, add_const(k.g, ON_PS, "two", 2));
    hr_node_t* y = add_two(k.g, ON_WORKER, "Add", "y", twice, x);
    for (int i = 0; i < 3; ++i) {
      hr_tensor_t out = {0};
      if (HR_CHECK_OK(fetch_with(&k, x, (float)i, y, NULL, &out))) HR_CHECK_EQ_F64(*(float*)out.data, 3 * i);
      hr_tensor_release(&out);
    }
    HR_CHECK_EQ_I64(task_cluster_count(&k.c, "ps", "/RegisterGraph"), 1);
    HR_CHECK_EQ_I64(task_cluster_count(&k.c, "ps", "/RunGraph"), 3);
  }
  close_client(&k);
}

/* The body goes from task to task; the messages of the client and of the master stay small. */
HR_TEST(bodies_go_from_worker_to_worker) {
  enum { ROWS = 1000 };
  client_t k;
  if (open_client(&k, two_jobs, 2)) {
    const int64_t dims[] = {ROWS, ROWS};
    hr_tensor_t shape;
    HR_CHECK_OK(hr_tensor_from_i64_vec(HR_I32, dims, 2, &shape));
    const hr_named_attr_t shape_attrs[] = {hr_at_tensor("value", &shape), hr_at_type("dtype", HR_I32)};
    hr_node_t* s = add_on(k.g, ON_PS, "Const", "shape", NULL, 0, shape_attrs, 2);
    hr_tensor_release(&shape);
    const hr_value_t in[] = {{s, 0}};
    const hr_named_attr_t attrs[] = {hr_at_type("dtype", HR_F32)};
    hr_node_t* big = add_on(k.g, ON_PS, "RandomUniform", "big", in, 1, attrs, 1);
    const hr_value_t big_in[] = {{big, 0}};
    hr_node_t* size = add_on(k.g, ON_WORKER, "L2Loss", "loss", big_in, 1, NULL, 0);
    hr_tensor_t out = {0};
    if (HR_CHECK_OK(fetch_with(&k, NULL, 0, size, NULL, &out))) HR_CHECK(*(float*)out.data > 0);
    hr_tensor_release(&out);
    const size_t body = sizeof(float) * ROWS * ROWS, small = 20000;
    HR_CHECK(task_cluster_bytes(&k.c, "ps", "/RecvTensor") >= body);
    HR_CHECK(task_cluster_bytes(&k.c, "ps", "/RunGraph") < small);
    HR_CHECK(task_cluster_bytes(&k.c, "worker", "/RunStep") < small);
  }
  close_client(&k);
}

/* --- failures ------------------------------------------------------------------------------------------------------------------------- */

HR_TEST(a_killed_task_ends_the_step_at_once) {
  client_t k;
  if (open_client(&k, two_jobs, 2)) {
    step_t s = {0};
    hr_node_t* sum = add_wait(k.g, ON_PS, ON_WORKER);
    start_step(&s, &k, sum);
    await_running(&k);
    const int64_t start = hr_clock_now_ns();
    task_cluster_kill(&k.c, 1);
    hr_thread_join(&s.thread);
    HR_CHECK(seconds_since(start) < 1);
    HR_CHECK_CODE(s.status, HR_UNAVAILABLE, "/job:ps/replica:0/task:0");
  }
  close_client(&k);
}

HR_TEST(a_frozen_task_is_found_by_its_heartbeat) {
  client_t k;
  if (open_client(&k, two_jobs, 2)) {
    step_t s = {0};
    hr_node_t* sum = add_wait(k.g, ON_PS, ON_WORKER);
    start_step(&s, &k, sum);
    await_running(&k);
    const int64_t start = hr_clock_now_ns();
    atomic_store(&k.c.tasks[1].is_frozen, true);
    hr_thread_join(&s.thread);
    const double took = seconds_since(start);
    HR_CHECK(took < 3 * HEARTBEAT_MS / 1000.0);
    HR_CHECK(atomic_load(&k.c.tasks[1].withheld) > 0);
    HR_CHECK_CODE(s.status, HR_UNAVAILABLE, "/job:ps/replica:0/task:0");
    const int64_t closing = hr_clock_now_ns();
    hr_status_release(hr_session_close(k.s));
    HR_CHECK(seconds_since(closing) < 1.2);
  }
  close_client(&k);
}

static void call_ended(hr_worker_call_t* self, hr_status_t take_status, hr_message_t* take_response) {
  (void)self;
  HR_CHECK_OK(take_status);
  hr_message_deinit(take_response);
}

/* Somebody else ends the session on a task: what the task then says are consequences of what the step never hears of. */
static void end_session_on(client_t* k, int task) {
  task_cluster_t* c = &k->c;
  hr_worker_call_t call = {.method = HR_WORKER_DeleteWorkerSession, .done = call_ended, .peer = HR_STR("")};
  hr_mutex_lock(&c->mu);
  for (int64_t i = 0; i < c->calls.count; ++i) { /* the handle is the first field of both requests */
    const hr_exchange_t* e = &c->calls.data[i];
    if (!hr_str_is(e->callee, c->tasks[task].job) || !hr_str_has_suffix(e->method, HR_STR("/CreateWorkerSession"))) continue;
    hr_message_deinit(&call.request);
    HR_CHECK_OK(hr_message_of_bytes(hr_alloc_copy(e->request.data, e->request.size), e->request.size, &call.request));
  }
  hr_mutex_unlock(&c->mu);
  HR_CHECK(hr_message_size(&call.request) > 0);
  hr_worker_call(c->tasks[task].worker, &call); /* it ends within */
}

HR_TEST(consequences_are_told_without_their_mark) {
  client_t k;
  if (open_client(&k, two_jobs, 2)) {
    step_t s = {0};
    start_step(&s, &k, add_wait(k.g, ON_PS, ON_WORKER));
    await_running(&k);
    const int64_t start = hr_clock_now_ns();
    end_session_on(&k, 1);
    hr_thread_join(&s.thread);
    HR_CHECK(seconds_since(start) < 1);
    HR_CHECK(s.status && !strstr(hr_status_message(s.status), "_Derived_"));
    HR_CHECK_CODE(s.status, HR_CANCELLED, "was closed");
  }
  close_client(&k);
}

/* The part here waits for nothing of the part there. */
HR_TEST(parts_beside_one_that_failed_end) {
  client_t k;
  if (open_client(&k, two_jobs, 2)) {
    step_t s = {0};
    hr_node_t* sum = add_wait(k.g, ON_WORKER, ON_PS);
    hr_node_t* there = add_two(k.g, ON_PS, "Mul", "there", sum, sum);
    start_step(&s, &k, there);
    await_running(&k);
    const int64_t start = hr_clock_now_ns();
    end_session_on(&k, 1);
    hr_thread_join(&s.thread);
    HR_CHECK(seconds_since(start) < 4);
    HR_CHECK_CODE(s.status, HR_CANCELLED, "was closed");
  }
  close_client(&k);
}

static int64_t sessions_of(hr_worker_t* w) {
  hr_mutex_lock(&w->mu);
  const int64_t count = w->sessions.count;
  hr_mutex_unlock(&w->mu);
  return count;
}

HR_TEST(sessions_of_a_dead_master_are_ended) {
  client_t k;
  if (open_client(&k, two_jobs, 2)) {
    hr_tensor_t out = {0};
    hr_node_t* x = add_placeholder(k.g, ON_WORKER, "x");
    hr_node_t* twice = add_two(k.g, ON_PS, "Mul", "twice", x, add_const(k.g, ON_PS, "two", 2));
    HR_CHECK_OK(fetch_with(&k, x, 3, twice, NULL, &out));
    hr_tensor_release(&out);
    HR_CHECK_EQ_I64(sessions_of(k.c.tasks[1].worker), 1);
    task_cluster_kill(&k.c, 0);
    for (int i = 0; i < 2000 && sessions_of(k.c.tasks[1].worker); ++i) nap_ms(10);
    HR_CHECK_EQ_I64(sessions_of(k.c.tasks[1].worker), 0);
  }
  close_client(&k);
}

HR_TEST(closing_at_a_frozen_master_is_no_failure) {
  client_t k;
  if (open_client(&k, two_jobs, 2)) {
    hr_tensor_t out = {0};
    HR_CHECK_OK(fetch_with(&k, NULL, 0, add_const(k.g, ON_PS, "c", 5), NULL, &out));
    hr_tensor_release(&out);
    atomic_store(&k.c.tasks[0].is_frozen, true);
    const int64_t start = hr_clock_now_ns();
    HR_CHECK_OK(hr_session_close(k.s));
    HR_CHECK(seconds_since(start) < 1.2);
  }
  close_client(&k);
}

HR_TEST(a_live_task_is_not_found_dead) {
  client_t k;
  if (open_client(&k, two_jobs, 2)) {
    step_t s = {.options = {.timeout_ms = 4 * HEARTBEAT_MS}};
    hr_node_t* sum = add_wait(k.g, ON_PS, ON_WORKER);
    start_step(&s, &k, sum);
    hr_thread_join(&s.thread);
    HR_CHECK(task_cluster_count(&k.c, "ps", "/GetStatus") >= 3);
    HR_CHECK_CODE(s.status, HR_DEADLINE_EXCEEDED, "");
    HR_CHECK(s.took < 4 * HEARTBEAT_MS / 1000.0 + 1);
  }
  close_client(&k);
}

HR_TEST(a_step_is_cancelled) {
  client_t k;
  if (open_client(&k, two_jobs, 2)) {
    hr_cancel_t cancel;
    hr_cancel_init(&cancel);
    step_t s = {.options = {.cancel = &cancel}};
    hr_node_t* sum = add_wait(k.g, ON_PS, ON_WORKER);
    start_step(&s, &k, sum);
    await_running(&k);
    const int64_t start = hr_clock_now_ns();
    hr_cancel_start(&cancel, HR_ERROR(CANCELLED, "enough of it"));
    hr_thread_join(&s.thread);
    HR_CHECK(seconds_since(start) < 1);
    HR_CHECK_CODE(s.status, HR_CANCELLED, "enough of it");
    hr_cancel_deinit(&cancel);
    hr_tensor_t out = {0}; /* the session goes on */
    hr_node_t* c = add_const(k.g, ON_PS, "c", 5);
    hr_node_t* d = add_two(k.g, ON_WORKER, "Add", "d", c, c);
    if (HR_CHECK_OK(fetch_with(&k, NULL, 0, d, NULL, &out))) HR_CHECK_EQ_F64(*(float*)out.data, 10);
    hr_tensor_release(&out);
  }
  close_client(&k);
}

HR_TEST(closing_ends_steps) {
  client_t k;
  if (open_client(&k, two_jobs, 2)) {
    step_t s = {0};
    hr_node_t* sum = add_wait(k.g, ON_PS, ON_WORKER);
    start_step(&s, &k, sum);
    await_running(&k);
    const int64_t start = hr_clock_now_ns();
    HR_CHECK_OK(hr_session_close(k.s));
    hr_thread_join(&s.thread);
    HR_CHECK(seconds_since(start) < 1);
    HR_CHECK_CODE(s.status, HR_CANCELLED, "");
    HR_CHECK_EQ_I64(task_cluster_count(&k.c, "ps", "/DeleteWorkerSession"), 1);
  }
  close_client(&k);
}

HR_TEST(a_missing_task_is_waited_for_until_the_timeout) {
  client_t k;
  if (open_client(&k, two_jobs, 2)) {
    task_cluster_kill(&k.c, 1);
    hr_session_t* s = NULL;
    const char config[] = {11 << 3, (char)(200 | 128), 1}; /* operation_timeout_in_ms: 200 */
    hr_session_options_t o;
    hr_session_options_init(&o);
    HR_CHECK_OK(hr_session_options_decode(&o, config, sizeof config));
    HR_CHECK_EQ_I64(o.timeout_ms, 200);
    o.config = (hr_str_t){config, sizeof config};
    o.target = hr_str(k.target);
    HR_REQUIRE_OK(hr_session_create(k.g, &o, &s));
    hr_session_destroy(k.s);
    k.s = s;
    hr_tensor_t out = {0};
    const int64_t start = hr_clock_now_ns();
    HR_CHECK_CODE(fetch_with(&k, NULL, 0, add_const(k.g, HR_STR(""), "c", 5), NULL, &out), HR_DEADLINE_EXCEEDED, "");
    HR_CHECK(seconds_since(start) < 1.5);
  }
  close_client(&k);
}

/* Only the tasks that the filters name take part, so a missing one is not missed. */
HR_TEST(device_filters_leave_tasks_out) {
  client_t k;
  if (open_client(&k, (const char* const[]){"worker", "ps", "worker"}, 3)) {
    task_cluster_kill(&k.c, 2);
    const char config[] = {4 << 3 | 2, 7, '/', 'j', 'o', 'b', ':', 'p', 's'};
    hr_session_t* s = NULL;
    hr_session_options_t o;
    hr_session_options_init(&o);
    o.config = (hr_str_t){config, sizeof config};
    o.target = hr_str(k.target);
    HR_REQUIRE_OK(hr_session_create(k.g, &o, &s));
    hr_session_destroy(k.s);
    k.s = s;
    hr_device_set_t* devices = NULL;
    if (HR_CHECK_OK(hr_session_list_devices(k.s, &devices))) {
      HR_CHECK_EQ_I64(devices->count, 2);
      HR_CHECK_STR(devices->devices[0]->name, "/job:worker/replica:0/task:0/device:CPU:0");
      HR_CHECK_STR(devices->devices[1]->name, "/job:ps/replica:0/task:0/device:CPU:0");
    }
    hr_device_set_release(devices);
    hr_tensor_t out = {0};
    hr_node_t* c = add_const(k.g, HR_STR(""), "c", 5);
    hr_node_t* lost = add_two(k.g, HR_STR("/job:worker/task:1"), "Add", "lost", c, c);
    HR_CHECK_CODE(fetch_with(&k, NULL, 0, lost, NULL, &out), HR_INVALID_ARGUMENT, "lost");
  }
  close_client(&k);
}

HR_TEST(a_master_that_lost_its_sessions_says_so) {
  client_t k;
  if (open_client(&k, two_jobs, 2)) {
    hr_tensor_t out = {0};
    hr_node_t* c = add_const(k.g, HR_STR(""), "c", 5);
    HR_CHECK_OK(fetch_with(&k, NULL, 0, c, NULL, &out));
    hr_tensor_release(&out);
    bool done = false;
    HR_CHECK_OK(hr_session_reset(hr_str(k.target), NULL, 0, &done));
    HR_CHECK(done);
    HR_CHECK_CODE(fetch_with(&k, NULL, 0, c, NULL, &out), HR_ABORTED, "not found");
  }
  close_client(&k);
}

HR_TEST_MAIN()
