/* SPDX-License-Identifier: Apache-2.0 */
/* Queues under time and threads: what waits ends by the other side, by a deadline, by closing; the queue stays usable. */
#include <pthread.h>
#include <time.h>
#include "session/session.h"
#include "unit/exec/maker.h"

typedef struct {
  hr_graph_t* g;
  hr_session_t* s;
  hr_value_t queue, feed, enqueue, dequeue, many, up_to, n, close, size;
} fixture_t;

static hr_value_t queue_node(fixture_t* f, const char* op, const char* name, int inputs, const hr_value_t* in, const char* types_attr) {
  static const int32_t f32 = HR_F32;
  hr_named_attr_t at[] = {hr_at_types(types_attr ? types_attr : "", &f32, 1)};
  return maker_node(f->g, op, name, inputs, in, types_attr ? 1 : 0, at);
}

static void fixture_open(fixture_t* f, int64_t capacity) {
  static const int32_t f32 = HR_F32;
  const hr_pshape_t* shapes[] = {&hr_pshape_scalar};
  hr_attr_t list = {.kind = HR_ATTR_SHAPE, .is_list = true, .count = 1, .u = {.shapes = shapes}};
  hr_named_attr_t at[] = {hr_at_types("component_types", &f32, 1), hr_at("shapes", list), hr_at_int("capacity", capacity)};
  f->g = maker_graph();
  f->queue = maker_node(f->g, "FIFOQueueV2", "queue", 0, NULL, 3, at);
  f->feed = maker_placeholder(f->g, "x", HR_F32, NULL);
  f->n = maker_placeholder(f->g, "n", HR_I32, NULL);
  f->enqueue = queue_node(f, "QueueEnqueueV2", "enqueue", 2, (hr_value_t[]){f->queue, f->feed}, "Tcomponents");
  f->dequeue = queue_node(f, "QueueDequeueV2", "dequeue", 1, &f->queue, "component_types");
  f->many = queue_node(f, "QueueDequeueManyV2", "many", 2, (hr_value_t[]){f->queue, f->n}, "component_types");
  f->up_to = queue_node(f, "QueueDequeueUpToV2", "up_to", 2, (hr_value_t[]){f->queue, f->n}, "component_types");
  f->close = queue_node(f, "QueueCloseV2", "close", 1, &f->queue, NULL);
  f->size = queue_node(f, "QueueSizeV2", "size", 1, &f->queue, NULL);
  maker_must(hr_session_create(f->g, NULL, &f->s), "a session");
}
static void fixture_close(fixture_t* f) {
  hr_session_destroy(f->s);
  hr_graph_destroy(f->g);
}

static hr_status_t put(fixture_t* f, float v, int64_t timeout_ms) {
  hr_tensor_t x = maker_f32(v);
  hr_node_t* target = f->enqueue.node;
  hr_run_options_t o = {.timeout_ms = timeout_ms};
  hr_run_t run = {.feeds = &f->feed, .feed_values = &x, .feed_count = 1, .targets = &target, .target_count = 1};
  hr_status_t status = hr_session_run(f->s, &o, &run, NULL, NULL, NULL);
  hr_tensor_release(&x);
  return status;
}
static hr_status_t get(fixture_t* f, int64_t timeout_ms, float* v) {
  hr_tensor_t out = {0};
  hr_run_options_t o = {.timeout_ms = timeout_ms};
  hr_run_t run = {.fetches = &f->dequeue, .fetch_count = 1};
  hr_status_t status = hr_session_run(f->s, &o, &run, &out, NULL, NULL);
  if (!status) *v = maker_get(&out);
  hr_tensor_release(&out);
  return status;
}
static hr_status_t get_many(fixture_t* f, hr_value_t which, const hr_tensor_t* n, int64_t timeout_ms, int64_t* got) {
  hr_tensor_t out = {0};
  hr_run_options_t o = {.timeout_ms = timeout_ms};
  hr_run_t run = {.feeds = &f->n, .feed_values = n, .feed_count = 1, .fetches = &which, .fetch_count = 1};
  hr_status_t status = hr_session_run(f->s, &o, &run, &out, NULL, NULL);
  if (!status) *got = out.count;
  hr_tensor_release(&out);
  return status;
}
static hr_status_t close_queue(fixture_t* f) {
  hr_node_t* target = f->close.node;
  hr_run_t run = {.targets = &target, .target_count = 1};
  return hr_session_run(f->s, NULL, &run, NULL, NULL, NULL);
}
static int32_t size_of(fixture_t* f) {
  hr_tensor_t out = {0};
  hr_run_t run = {.fetches = &f->size, .fetch_count = 1};
  maker_must(hr_session_run(f->s, NULL, &run, &out, NULL, NULL), "a size");
  const int32_t n = *(int32_t*)out.data;
  hr_tensor_release(&out);
  return n;
}
static hr_tensor_t i32(int32_t v) {
  hr_tensor_t t = {0};
  maker_must(hr_tensor_from_i32(v, &t), "a number");
  return t;
}

HR_TEST(a_timeout_leaves_the_queue_usable) { /* B61 */
  fixture_t f;
  float v = 0;
  int64_t got;
  hr_tensor_t two = i32(2);
  fixture_open(&f, 10);
  HR_CHECK_CODE(get(&f, 30, &v), HR_DEADLINE_EXCEEDED, "");
  HR_CHECK_OK(put(&f, 7, 0));
  HR_CHECK_OK(get(&f, 0, &v));
  HR_CHECK_EQ_F64(v, 7);
  HR_CHECK_OK(put(&f, 8, 0)); /* a batch that timed out half full gives back what it had */
  HR_CHECK_CODE(get_many(&f, f.many, &two, 30, &got), HR_DEADLINE_EXCEEDED, "");
  HR_CHECK_EQ_I64(size_of(&f), 1);
  HR_CHECK_OK(put(&f, 9, 0));
  HR_CHECK_OK(get(&f, 0, &v));
  HR_CHECK_EQ_F64(v, 8);
  hr_tensor_release(&two);
  fixture_close(&f);
}

HR_TEST(a_full_queue_times_out_too) {
  fixture_t f;
  float v = 0;
  fixture_open(&f, 1);
  HR_CHECK_OK(put(&f, 1, 0));
  HR_CHECK_CODE(put(&f, 2, 30), HR_DEADLINE_EXCEEDED, "");
  HR_CHECK_OK(get(&f, 0, &v));
  HR_CHECK_EQ_F64(v, 1);
  HR_CHECK_EQ_I64(size_of(&f), 0);
  HR_CHECK_OK(put(&f, 3, 0));
  HR_CHECK_OK(get(&f, 0, &v));
  HR_CHECK_EQ_F64(v, 3);
  fixture_close(&f);
}

HR_TEST(closing_ends_what_can_never_come) { /* B63 */
  fixture_t f;
  int64_t got = 0;
  hr_tensor_t two = i32(2), four = maker_vec(4, 1), counts = {0};
  const int64_t numbers[] = {1, 2, 3, 4};
  maker_must(hr_tensor_from_i64_vec(HR_I32, numbers, 4, &counts), "numbers");
  fixture_open(&f, 10);
  for (int i = 0; i < 3; ++i) HR_CHECK_OK(put(&f, (float)i, 0));
  HR_CHECK_OK(close_queue(&f));
  HR_CHECK_OK(get_many(&f, f.many, &two, 0, &got));
  HR_CHECK_EQ_I64(got, 2);
  HR_CHECK_CODE(get_many(&f, f.many, &two, 0, &got), HR_OUT_OF_RANGE, "queue");
  HR_CHECK_OK(get_many(&f, f.up_to, &two, 0, &got));
  HR_CHECK_EQ_I64(got, 1);
  HR_CHECK_CODE(get_many(&f, f.up_to, &two, 0, &got), HR_OUT_OF_RANGE, "queue");
  HR_CHECK_CODE(get_many(&f, f.many, &counts, 0, &got), HR_INVALID_ARGUMENT, "n must be one number"); /* a vector */
  HR_CHECK_CODE(put(&f, 1, 0), HR_CANCELLED, "closed");
  HR_CHECK_CODE(close_queue(&f), HR_CANCELLED, "closed");
  hr_tensor_release(&two);
  hr_tensor_release(&four);
  hr_tensor_release(&counts);
  fixture_close(&f);
}

HR_TEST(handles_that_name_no_queue_are_refused) { /* B87 */
  fixture_t f;
  fixture_open(&f, 10);
  hr_value_t handle = maker_placeholder(f.g, "handle", HR_RESOURCE, NULL),
             closed = queue_node(&f, "QueueIsClosedV2", "closed", 1, &handle, NULL);
  hr_value_t variable = maker_handle(f.g, "v", &hr_pshape_scalar), other = queue_node(&f, "QueueIsClosedV2", "other", 1, &variable, NULL);
  const hr_shape_t scalar = hr_shape_scalar();
  hr_tensor_t empty, out = {0};
  HR_REQUIRE_OK(hr_tensor_create(HR_RESOURCE, &scalar, &empty));
  hr_run_t run = {.feeds = &handle, .feed_values = &empty, .feed_count = 1, .fetches = &closed, .fetch_count = 1};
  HR_CHECK_CODE(hr_session_run(f.s, NULL, &run, &out, NULL, NULL), HR_INVALID_ARGUMENT, "handle");
  hr_run_t wrong = {.fetches = &other, .fetch_count = 1};
  HR_CHECK_CODE(hr_session_run(f.s, NULL, &wrong, &out, NULL, NULL), HR_INVALID_ARGUMENT, "");
  hr_tensor_release(&empty);
  fixture_close(&f);
}

typedef struct { fixture_t* f; int count; float sum; hr_status_t status; } worker_t;
static void* take_all(void* arg) {
  worker_t* w = arg;
  for (;;) {
    float v = 0;
    if ((w->status = get(w->f, 0, &v))) return NULL;
    w->sum += v;
    w->count++;
  }
}
static void* give_all(void* arg) {
  worker_t* w = arg;
  for (int i = 0; i < w->count && !w->status; ++i) w->status = put(w->f, 1, 0);
  return NULL;
}

HR_TEST(every_element_comes_once_through_many_threads) {
  enum { GIVERS = 3, TAKERS = 3, EACH = 300 };
  fixture_t f;
  worker_t givers[GIVERS], takers[TAKERS];
  pthread_t give[GIVERS], take[TAKERS];
  float sum = 0;
  fixture_open(&f, 4);
  for (int i = 0; i < TAKERS; ++i) takers[i] = (worker_t){.f = &f};
  for (int i = 0; i < GIVERS; ++i) givers[i] = (worker_t){.f = &f, .count = EACH};
  for (int i = 0; i < TAKERS; ++i) HR_REQUIRE(pthread_create(&take[i], NULL, take_all, &takers[i]) == 0);
  for (int i = 0; i < GIVERS; ++i) HR_REQUIRE(pthread_create(&give[i], NULL, give_all, &givers[i]) == 0);
  for (int i = 0; i < GIVERS; ++i) pthread_join(give[i], NULL);
  HR_CHECK_OK(close_queue(&f));
  for (int i = 0; i < TAKERS; ++i) {
    pthread_join(take[i], NULL);
    HR_CHECK_CODE(takers[i].status, HR_OUT_OF_RANGE, "");
    sum += takers[i].sum;
  }
  for (int i = 0; i < GIVERS; ++i) HR_CHECK_OK(givers[i].status);
  HR_CHECK_EQ_F64(sum, GIVERS * EACH);
  fixture_close(&f);
}

HR_TEST(closing_the_session_ends_waiters) {
  fixture_t f;
  pthread_t thread;
  worker_t w = {.f = &f};
  fixture_open(&f, 4);
  HR_REQUIRE(pthread_create(&thread, NULL, take_all, &w) == 0);
  const struct timespec nap = {0, 30000000};
  nanosleep(&nap, NULL);
  HR_CHECK_OK(hr_session_close(f.s));
  pthread_join(thread, NULL);
  HR_CHECK_CODE(w.status, HR_CANCELLED, "");
  fixture_close(&f);
}

HR_TEST_MAIN()
