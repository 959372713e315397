/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of a step: what golden cases of single ops do not reach. Handles outlive the step, the objects do not; an array may hold its
 * own handle; a gradient's array has a gradient; steps at the same time have objects of their own. */
#include <pthread.h>
#include "session/session.h"
#include "unit/exec/maker.h"

static hr_value_t int_const(hr_graph_t* g, const char* name, int32_t v) {
  hr_tensor_t t = {0};
  maker_must(hr_tensor_from_i32(v, &t), "a scalar");
  hr_value_t out = maker_const_of(g, name, &t);
  hr_tensor_release(&t);
  return out;
}

static hr_value_t array_of(hr_graph_t* g, const char* name, int32_t size, hr_dtype_t dtype) {
  char at_name[64];
  snprintf(at_name, sizeof at_name, "%s_size", name);
  hr_value_t n = int_const(g, at_name, size);
  hr_named_attr_t at[] = {hr_at_type("dtype", (int)dtype)};
  return maker_node(g, "TensorArrayV3", name, 1, &n, 1, at);
}

static hr_value_t write_to(hr_graph_t* g, const char* name, hr_value_t array, int32_t index, hr_value_t v, hr_value_t flow) {
  char at_name[64];
  snprintf(at_name, sizeof at_name, "%s_index", name);
  hr_value_t in[] = {array, int_const(g, at_name, index), v, flow};
  return maker_node(g, "TensorArrayWriteV3", name, 4, in, 0, NULL);
}

static hr_value_t read_from(hr_graph_t* g, const char* name, hr_value_t array, int32_t index, hr_value_t flow) {
  char at_name[64];
  snprintf(at_name, sizeof at_name, "%s_index", name);
  hr_value_t in[] = {array, int_const(g, at_name, index), flow};
  hr_named_attr_t at[] = {hr_at_type("dtype", HR_F32)};
  return maker_node(g, "TensorArrayReadV3", name, 3, in, 1, at);
}

static hr_value_t gradient_of(hr_graph_t* g, const char* name, hr_value_t array, const char* source, hr_value_t flow) {
  hr_value_t in[] = {array, flow};
  hr_named_attr_t at[] = {hr_at_str("source", source)};
  return maker_node(g, "TensorArrayGradV3", name, 2, in, 1, at);
}

static hr_status_t fetch(hr_session_t* s, hr_value_t v, hr_tensor_t* out) {
  hr_run_t run = {.fetches = &v, .fetch_count = 1};
  *out = (hr_tensor_t){0};
  return hr_session_run(s, NULL, &run, out, NULL, NULL);
}

static hr_session_t* session_on(hr_graph_t* g) {
  hr_session_t* s = NULL;
  maker_must(hr_session_create(g, NULL, &s), "a session");
  return s;
}
static void drop(hr_session_t* s, hr_graph_t* g) {
  hr_session_destroy(s);
  hr_graph_destroy(g);
}

HR_TEST(a_closed_stack_takes_and_gives_nothing) {
  hr_graph_t* g = maker_graph();
  hr_value_t most = int_const(g, "most", -1), x = maker_const(g, "x", 3);
  hr_named_attr_t type[] = {hr_at_type("elem_type", HR_F32)};
  hr_value_t stack = maker_node(g, "StackV2", "stack", 1, &most, 1, type);
  hr_value_t push = maker_2(g, "StackPushV2", "push", stack, x), close = maker_1(g, "StackCloseV2", "close", stack);
  hr_value_t pop = maker_node(g, "StackPopV2", "pop", 1, &stack, 1, type), late = maker_2(g, "StackPushV2", "late", stack, x);
  maker_wait(g, close, push);
  maker_wait(g, pop, close);
  maker_wait(g, late, close);
  hr_session_t* s = session_on(g);
  hr_tensor_t out;
  HR_CHECK_CODE(fetch(s, pop, &out), HR_INVALID_ARGUMENT, "closed");
  HR_CHECK_CODE(fetch(s, late, &out), HR_INVALID_ARGUMENT, "closed");
  HR_CHECK_OK(fetch(s, push, &out));
  HR_CHECK_EQ_F64(maker_get(&out), 3);
  hr_tensor_release(&out);
  drop(s, g);
}

HR_TEST(a_gradient_with_more_dims_in_front) {
  hr_graph_t* g = maker_graph();
  hr_tensor_t two = maker_vec(2, 1), front = {0};
  HR_REQUIRE_OK(hr_tensor_from_i64_vec(HR_I32, (int64_t[]){3, 1}, 2, &front));
  hr_value_t a = array_of(g, "a", 2, HR_F32), x = maker_const_of(g, "x", &two), dims = maker_const_of(g, "dims", &front);
  hr_value_t w = write_to(g, "w", a, 0, x, hr_emit_nth(a, 1)), in[] = {a, w, dims};
  hr_named_attr_t at[] = {hr_at_str("source", "s")};
  hr_value_t d = maker_node(g, "TensorArrayGradWithShape", "d", 3, in, 1, at), r = read_from(g, "r", d, 0, hr_emit_nth(d, 1));
  hr_session_t* s = session_on(g);
  hr_tensor_t out;
  HR_REQUIRE_OK(fetch(s, r, &out));
  HR_CHECK(out.shape.rank == 3 && out.shape.dims[0] == 3 && out.shape.dims[1] == 1 && out.shape.dims[2] == 2);
  for (int64_t i = 0; i < out.count; ++i) HR_CHECK_EQ_F64(((float*)out.data)[i], 0);
  hr_tensor_release(&out);
  hr_tensor_release(&two);
  hr_tensor_release(&front);
  drop(s, g);
}

/* Two values are added up in a gradient's array; each is a gradient for the gradient's own array. */
HR_TEST(a_gradient_array_has_a_gradient) {
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_const(g, "x", 3), y = maker_const(g, "y", 4), z = maker_const(g, "z", 5), a = array_of(g, "a", 1, HR_F32);
  hr_value_t w = write_to(g, "w", a, 0, x, hr_emit_nth(a, 1)), d = gradient_of(g, "d", a, "first", w);
  hr_value_t d1 = write_to(g, "d1", d, 0, y, hr_emit_nth(d, 1)), d2 = write_to(g, "d2", d, 0, z, d1);
  hr_value_t dd = gradient_of(g, "dd", d, "second", d2), up = write_to(g, "up", dd, 0, x, hr_emit_nth(dd, 1));
  hr_value_t one = read_from(g, "one", dd, 0, up), two = read_from(g, "two", dd, 0, up), sum = read_from(g, "sum", d, 0, d2);
  hr_value_t all = maker_2(g, "AddV2", "all", maker_2(g, "AddV2", "both", one, two), sum);
  hr_session_t* s = session_on(g);
  hr_tensor_t out;
  if (HR_CHECK_OK(fetch(s, all, &out))) HR_CHECK_EQ_F64(maker_get(&out), 3 + 3 + 9);
  hr_tensor_release(&out);
  drop(s, g);
}

HR_TEST(an_array_may_hold_its_own_handle) { /* and is let go all the same: the harness counts blocks */
  hr_graph_t* g = maker_graph();
  hr_value_t a = array_of(g, "a", 1, HR_RESOURCE), w = write_to(g, "w", a, 0, a, hr_emit_nth(a, 1));
  hr_session_t* s = session_on(g);
  hr_tensor_t out;
  HR_CHECK_OK(fetch(s, w, &out));
  hr_tensor_release(&out);
  int64_t before = hr_test_live_blocks();
  for (int i = 0; i < 10; ++i) {
    HR_CHECK_OK(fetch(s, w, &out));
    hr_tensor_release(&out);
  }
  HR_CHECK_EQ_I64(hr_test_live_blocks() - before, 0);
  drop(s, g);
}

/* A queue carries the handle into the next step, where the array is closed. */
HR_TEST(a_handle_outlives_its_array) {
  static const int32_t types[] = {HR_RESOURCE};
  hr_graph_t* g = maker_graph();
  hr_named_attr_t component[] = {hr_at_types("component_types", types, 1)}, put[] = {hr_at_types("Tcomponents", types, 1)};
  hr_value_t a = array_of(g, "a", 1, HR_F32), x = maker_const(g, "x", 3), w = write_to(g, "w", a, 0, x, hr_emit_nth(a, 1));
  hr_value_t q = maker_node(g, "FIFOQueueV2", "q", 0, NULL, 1, component), in[] = {q, a};
  hr_value_t enqueue = maker_node(g, "QueueEnqueueV2", "enqueue", 2, in, 1, put);
  hr_value_t dequeue = maker_node(g, "QueueDequeueV2", "dequeue", 1, &q, 1, component), zero = maker_const(g, "zero", 0);
  hr_value_t late = read_from(g, "late", dequeue, 0, zero);
  maker_wait(g, enqueue, w);
  hr_session_t* s = session_on(g);
  hr_run_t run = {.targets = &enqueue.node, .target_count = 1};
  hr_tensor_t out;
  HR_REQUIRE_OK(hr_session_run(s, NULL, &run, NULL, NULL, NULL));
  HR_CHECK_CODE(fetch(s, late, &out), HR_INVALID_ARGUMENT, "closed");
  drop(s, g);
}

HR_TEST(handles_of_other_things_are_refused) {
  hr_graph_t* g = maker_graph();
  hr_value_t most = int_const(g, "most", -1), zero = maker_const(g, "zero", 0);
  hr_named_attr_t type[] = {hr_at_type("elem_type", HR_F32)};
  hr_value_t stack = maker_node(g, "StackV2", "stack", 1, &most, 1, type), r = read_from(g, "r", stack, 0, zero);
  hr_value_t v = maker_handle(g, "v", &hr_pshape_scalar), pop = maker_node(g, "StackPopV2", "pop", 1, &v, 1, type);
  hr_session_t* s = session_on(g);
  hr_tensor_t out;
  HR_CHECK_CODE(fetch(s, r, &out), HR_INVALID_ARGUMENT, "names a Stack, not a TensorArray");
  HR_CHECK_CODE(fetch(s, pop, &out), HR_INVALID_ARGUMENT, "not a Stack");
  drop(s, g);
}

typedef struct {
  hr_session_t* s;
  hr_value_t v;
  int bad;
} runner_t;
static void* run_often(void* arg) {
  runner_t* r = arg;
  for (int i = 0; i < 50; ++i) {
    hr_tensor_t out;
    hr_status_t status = fetch(r->s, r->v, &out);
    r->bad += status || maker_get(&out) != 7;
    hr_status_release(status);
    hr_tensor_release(&out);
  }
  return NULL;
}

HR_TEST(steps_have_objects_of_their_own) {
  enum { THREADS = 4 };
  hr_graph_t* g = maker_graph();
  hr_value_t a = array_of(g, "a", 2, HR_F32), x = maker_const(g, "x", 3), y = maker_const(g, "y", 4);
  hr_value_t w = write_to(g, "w1", a, 1, y, write_to(g, "w0", a, 0, x, hr_emit_nth(a, 1)));
  hr_value_t sum = maker_2(g, "AddV2", "sum", read_from(g, "r0", a, 0, w), read_from(g, "r1", a, 1, w));
  hr_session_t* s = session_on(g);
  runner_t r[THREADS];
  pthread_t t[THREADS];
  for (int i = 0; i < THREADS; ++i) {
    r[i] = (runner_t){s, sum, 0};
    HR_REQUIRE(pthread_create(&t[i], NULL, run_often, &r[i]) == 0);
  }
  for (int i = 0; i < THREADS; ++i) {
    pthread_join(t[i], NULL);
    HR_CHECK_EQ_I64(r[i].bad, 0);
  }
  drop(s, g);
}

HR_TEST(out_of_memory_is_a_status) { /* or no trouble: an output gets a second try */
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_const(g, "x", 3), a = array_of(g, "a", 100, HR_F32), w = write_to(g, "w", a, 99, x, hr_emit_nth(a, 1));
  hr_value_t d = gradient_of(g, "d", a, "s", w), dw = write_to(g, "dw", d, 99, x, hr_emit_nth(d, 1)), r = read_from(g, "r", d, 99, dw);
  hr_session_t* s = session_on(g);
  bool reached = true;
  hr_tensor_t out;
  HR_CHECK_OK(fetch(s, r, &out)); /* makes the plan */
  hr_tensor_release(&out);
  for (int n = 1; reached; ++n) {
    int64_t before = hr_test_live_blocks();
    hr_alloc_fail_at(n, false);
    hr_status_t status = fetch(s, r, &out);
    reached = hr_alloc_has_failed();
    hr_alloc_fail_at(0, false);
    HR_CHECK(!status || hr_status_code(status) == HR_RESOURCE_EXHAUSTED);
    HR_CHECK(status || maker_get(&out) == 3);
    hr_status_release(status);
    hr_tensor_release(&out);
    HR_CHECK_EQ_I64(hr_test_live_blocks() - before, 0);
    HR_REQUIRE(n < 1000);
  }
  drop(s, g);
}
HR_TEST_MAIN()
