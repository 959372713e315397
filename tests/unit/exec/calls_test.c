/* SPDX-License-Identifier: Apache-2.0 */
/* What runs elsewhere: values between partitions through a rendezvous, also around a loop; kernels that wait; ends of all kinds. */
#define HR_TEST_LEAKS_CHECKED
#include <time.h>
#include "base/clock.h"
#include "base/thread.h"
#include "rt/rendezvous.h"
#include "unit/exec/flow_maker.h"
#include "unit/exec/rig.h"

#define DEVICE "/job:localhost/replica:0/task:0/device:CPU:"

static const char* edge_ops[] = {"_Recv", "_Send"}; /* or their forms on host memory */
static hr_value_t edge_node(hr_graph_t* g, bool sends, const char* name, const char* edge, const hr_value_t* in) {
  hr_named_attr_t at[] = {hr_at_type(sends ? "T" : "tensor_type", HR_F32), hr_at_str("tensor_name", edge),
                          hr_at_str("send_device", DEVICE "0"), hr_at_int("send_device_incarnation", 1),
                          hr_at_str("recv_device", DEVICE "1")};
  hr_node_desc_t d = {.op = hr_str(edge_ops[sends]),
                      .name = hr_str(name),
                      .inputs = in,
                      .input_count = sends ? 1 : 0,
                      .attrs = at,
                      .attr_count = 5,
                      .skip_shapes = true};
  hr_node_t* n = NULL;
  maker_must(hr_graph_add(g, &d, &n), name);
  return (hr_value_t){n, 0};
}
static hr_value_t maker_send(hr_graph_t* g, const char* name, const char* edge, hr_value_t v) { return edge_node(g, true, name, edge, &v); }
static hr_value_t maker_recv(hr_graph_t* g, const char* name, const char* edge) { return edge_node(g, false, name, edge, NULL); }

/* A step of a rig on a thread of its own. */
typedef struct {
  rig_t rig;
  hr_value_t fetch;
  hr_thread_t thread;
  hr_status_t status;
  float number;
} part_t;

static void part_main(void* arg) {
  part_t* p = arg;
  hr_tensor_t out = {0};
  p->status = hr_plan_run(p->rig.plan, &p->rig.step, NULL, &out);
  p->number = p->status ? NAN : maker_get(&out);
  hr_tensor_release(&out);
}
static void part_start(part_t* p, hr_rendezvous_t* r) {
  p->rig.step.rendezvous = r;
  maker_must(hr_thread_start(&p->thread, "part", part_main, p), "a thread");
}
static hr_status_t part_end(part_t* p) {
  hr_thread_join(&p->thread);
  rig_deinit(&p->rig);
  return p->status;
}

HR_TEST(a_value_and_a_dead_one_go_over) {
  for (int taken = 0; taken < 2; ++taken) {
    hr_rendezvous_t* r = NULL;
    HR_REQUIRE_OK(hr_rendezvous_create(NULL, &r));
    part_t there = {0};
    rig_init(&there.rig); /* receives first */
    hr_graph_t* g = there.rig.g;
    hr_value_t got = maker_recv(g, "got", "e"),
               m = maker_merge(g, "m", maker_1(g, "Neg", "neg", got), maker_1(g, "Square", "plain", maker_recv(g, "other", "f")));
    there.fetch = m;
    HR_REQUIRE_OK(rig_plan(&there.rig, 0, NULL, 1, &there.fetch));
    part_start(&there, r);
    rig_t here;
    rig_init(&here);
    hr_value_t p = maker_bool(here.g, "p"), s = maker_2(here.g, "Switch", "s", maker_const(here.g, "c", 3), p);
    maker_send(here.g, "send", "e", hr_emit_nth(s, 1));
    maker_send(here.g, "send_too", "f", s);
    hr_value_t done = maker_const(here.g, "done", 1);
    HR_REQUIRE_OK(rig_plan(&here, 1, &p, 1, &done));
    here.step.rendezvous = r;
    hr_tensor_t value = maker_truth(taken);
    HR_CHECK_EQ_F64(rig_number(&here, &value), 1);
    HR_CHECK_OK(part_end(&there));
    HR_CHECK_EQ_F64(there.number, taken ? -3 : 9);
    hr_tensor_release(&value);
    rig_deinit(&here);
    hr_rendezvous_release(r);
  }
}

/* while (i < n) on one side; the other adds 1 to a in a loop of its own whose condition it receives. */
static hr_value_t counting_side(hr_graph_t* g, int32_t n) {
  hr_value_t i0 = maker_enter_of(g, "ei", maker_const(g, "zero", 0), "f", false, 4), mi = maker_merge(g, "mi", i0, i0);
  hr_value_t most = maker_enter_of(g, "most", maker_const(g, "n", (float)n), "f", true, 4);
  hr_value_t less = maker_2(g, "Less", "less", mi, most), cond = maker_1(g, "LoopCond", "cond", less),
             si = maker_2(g, "Switch", "si", mi, cond);
  hr_value_t flag = maker_node(g, "Cast", "flag", 1, &cond, 1, (hr_named_attr_t[]){hr_at_type("DstT", HR_F32)});
  maker_send(g, "send", "cond", flag);
  hr_value_t body = hr_emit_nth(si, 1), one = maker_const(g, "one", 1);
  maker_wait(g, one, maker_1(g, "Identity", "pivot", body));
  maker_close(g, mi, maker_1(g, "NextIteration", "ni", maker_2(g, "AddV2", "more", body, one)));
  return maker_1(g, "Exit", "out", si);
}
static hr_value_t following_side(hr_graph_t* g) {
  hr_value_t a0 = maker_enter_of(g, "ea", maker_const(g, "start", 100), "f", false, 4), ma = maker_merge(g, "ma", a0, a0);
  hr_value_t got = maker_recv(g, "got", "cond");
  maker_wait(g, got, ma); /* once each iteration */
  hr_value_t cond = maker_node(g, "Cast", "cond", 1, &got, 1, (hr_named_attr_t[]){hr_at_type("DstT", HR_BOOL)});
  hr_value_t sa = maker_2(g, "Switch", "sa", ma, cond), body = hr_emit_nth(sa, 1), two = maker_const(g, "two", 2);
  maker_wait(g, two, maker_1(g, "Identity", "pivot", body));
  maker_close(g, ma, maker_1(g, "NextIteration", "na", maker_2(g, "AddV2", "more", body, two)));
  return maker_1(g, "Exit", "out", sa);
}

static void loop_around_two_partitions(void) {
  hr_rendezvous_t* r = NULL;
  part_t a = {0}, b = {0};
  HR_REQUIRE_OK(hr_rendezvous_create(NULL, &r));
  rig_init(&a.rig);
  rig_init(&b.rig);
  a.fetch = counting_side(a.rig.g, 200);
  b.fetch = following_side(b.rig.g);
  HR_REQUIRE_OK(rig_plan(&a.rig, 0, NULL, 1, &a.fetch));
  HR_REQUIRE_OK(rig_plan(&b.rig, 0, NULL, 1, &b.fetch));
  part_start(&b, r);
  part_start(&a, r);
  HR_CHECK_OK(part_end(&a));
  HR_CHECK_OK(part_end(&b));
  HR_CHECK(a.number == 200 && b.number == 500);
  hr_rendezvous_release(r);
}

HR_TEST(a_loop_goes_around_two_partitions) { loop_around_two_partitions(); }
HR_TEST(host_memory_goes_the_same_way) {
  edge_ops[0] = "_HostRecv", edge_ops[1] = "_HostSend";
  loop_around_two_partitions();
  edge_ops[0] = "_Recv", edge_ops[1] = "_Send";
}

HR_TEST(a_failure_on_one_side_ends_the_other) {
  hr_rendezvous_t* r = NULL;
  part_t a = {0}, b = {0};
  HR_REQUIRE_OK(hr_rendezvous_create(NULL, &r));
  rig_init(&a.rig);
  rig_init(&b.rig);
  a.fetch = maker_placeholder(a.rig.g, "x", HR_F32, NULL); /* not fed */
  b.fetch = maker_recv(b.rig.g, "got", "never");
  HR_REQUIRE_OK(rig_plan(&a.rig, 0, NULL, 1, &a.fetch));
  HR_REQUIRE_OK(rig_plan(&b.rig, 0, NULL, 1, &b.fetch));
  part_start(&b, r);
  part_start(&a, r);
  HR_CHECK_CODE(part_end(&a), HR_INVALID_ARGUMENT, "You must feed");
  HR_CHECK_CODE(part_end(&b), HR_INVALID_ARGUMENT, "You must feed");
  hr_rendezvous_release(r);
}

static void cancel_soon(void* arg) {
  struct timespec t = {0, 20000000};
  nanosleep(&t, NULL);
  hr_cancel_start(arg, HR_ERROR(DEADLINE_EXCEEDED, "enough"));
}

HR_TEST(a_cancelled_step_leaves_its_receivers) {
  hr_rendezvous_t* r = NULL;
  part_t b = {0};
  HR_REQUIRE_OK(hr_rendezvous_create(NULL, &r));
  rig_init(&b.rig);
  b.fetch = maker_recv(b.rig.g, "got", "never");
  HR_REQUIRE_OK(rig_plan(&b.rig, 0, NULL, 1, &b.fetch));
  part_start(&b, r);
  cancel_soon(&b.rig.cancel);
  HR_CHECK_CODE(part_end(&b), HR_DEADLINE_EXCEEDED, "enough");
  hr_rendezvous_release(r);
}

HR_TEST(without_a_rendezvous_or_with_another_type) {
  rig_t r;
  rig_init(&r);
  hr_value_t got = maker_recv(r.g, "got", "e"), y = maker_1(r.g, "Neg", "y", got);
  hr_tensor_t out = {0}, wrong = {0};
  HR_REQUIRE_OK(rig_plan(&r, 0, NULL, 1, &y));
  HR_CHECK_CODE(hr_plan_run(r.plan, &r.step, NULL, &out), HR_FAILED_PRECONDITION, "node 'got' (_Recv): the step has no rendezvous");
  HR_REQUIRE_OK(hr_rendezvous_create(NULL, &r.step.rendezvous));
  HR_REQUIRE_OK(hr_tensor_from_i32(1, &wrong));
  HR_CHECK_OK(hr_rendezvous_send(r.step.rendezvous, HR_STR(DEVICE "0;0000000000000001;" DEVICE "1;e;0:0"), &wrong, false));
  HR_CHECK_CODE(hr_plan_run(r.plan, &r.step, NULL, &out), HR_INVALID_ARGUMENT, "what was sent is of type int32");
  hr_tensor_release(&wrong);
  hr_rendezvous_release(r.step.rendezvous);
  rig_deinit(&r);
}

/* --- kernels that wait -------------------------------------------------------------------------------------------------------------- */

static hr_value_t maker_queue(hr_graph_t* g, const char* name) {
  static const int32_t types[] = {HR_F32};
  hr_named_attr_t at[] = {hr_at_types("component_types", types, 1), hr_at_str("shared_name", name)};
  return maker_node(g, "FIFOQueueV2", name, 0, NULL, 2, at);
}
static hr_value_t maker_dequeue(hr_graph_t* g, const char* name, hr_value_t queue) {
  static const int32_t types[] = {HR_F32};
  hr_named_attr_t at[] = {hr_at_types("component_types", types, 1)};
  return maker_node(g, "QueueDequeueV2", name, 1, &queue, 1, at);
}
static hr_value_t maker_enqueue(hr_graph_t* g, const char* name, hr_value_t queue, hr_value_t v) {
  hr_value_t in[] = {queue, v};
  return maker_node(g, "QueueEnqueueV2", name, 2, in, 0, NULL);
}

HR_TEST(the_rest_of_a_step_goes_on_while_a_kernel_waits) { /* the dequeue is ready first; what it waits for comes out of a loop */
  rig_t r;
  rig_init(&r);
  hr_value_t q = maker_queue(r.g, "q"), got = maker_dequeue(r.g, "got", q);
  maker_loop_t l = maker_count_loop(r.g, "loop", maker_i32(r.g, "zero", 0), maker_const(r.g, "a", 0), 1000, 1, 3);
  hr_value_t put = maker_enqueue(r.g, "put", q, l.exit_a), y = maker_1(r.g, "Neg", "y", got);
  (void)put;
  HR_REQUIRE_OK(rig_plan(&r, 0, NULL, 1, &y));
  for (int i = 0; i < 3; ++i) HR_CHECK_EQ_F64(rig_number(&r, NULL), -1000);
  rig_deinit(&r);
}

HR_TEST(a_failure_ends_a_kernel_that_waits) {
  rig_t r;
  rig_init(&r);
  hr_value_t p = maker_bool(r.g, "p"), q = maker_queue(r.g, "q"), s = maker_2(r.g, "Switch", "s", maker_dequeue(r.g, "got", q), p);
  hr_value_t fetch[] = {maker_merge(r.g, "m", s, hr_emit_nth(s, 1)), maker_placeholder(r.g, "x", HR_F32, NULL)};
  hr_tensor_t yes = maker_truth(true), out[2];
  HR_REQUIRE_OK(rig_plan(&r, 1, &p, 2, fetch));
  HR_CHECK_CODE(hr_plan_run(r.plan, &r.step, &yes, out), HR_INVALID_ARGUMENT, "You must feed");
  hr_tensor_release(&yes);
  rig_deinit(&r);
}

HR_TEST(a_deadline_ends_a_kernel_that_waits) {
  rig_t r;
  rig_init(&r);
  hr_value_t p = maker_bool(r.g, "p"), q = maker_queue(r.g, "q"), s = maker_2(r.g, "Switch", "s", maker_dequeue(r.g, "got", q), p);
  hr_value_t fetch = maker_merge(r.g, "m", s, hr_emit_nth(s, 1));
  hr_tensor_t yes = maker_truth(true), out;
  hr_thread_t thread;
  HR_REQUIRE_OK(rig_plan(&r, 1, &p, 1, &fetch));
  HR_REQUIRE_OK(hr_thread_start(&thread, "canceller", cancel_soon, &r.cancel));
  HR_CHECK_CODE(hr_plan_run(r.plan, &r.step, &yes, &out), HR_DEADLINE_EXCEEDED, "enough");
  hr_thread_join(&thread);
  hr_tensor_release(&yes);
  rig_deinit(&r);
}

/* --- watching ----------------------------------------------------------------------------------------------------------------------- */

typedef struct {
  hr_observer_t observer;
  int done, outputs;
  bool in_order;
} count_t;
static void node_done(hr_observer_t* self, const hr_site_t* site, const hr_slot_t* slots, int64_t start_ns, int64_t end_ns,
                      hr_status_t status) {
  count_t* c = (count_t*)self;
  c->done++;
  c->in_order &= start_ns > 0 && end_ns >= start_ns;
  for (int32_t i = 0; !status && i < site->out_count; ++i) c->outputs += site->out[i] >= 0 && slots[site->out[i]].value.buffer;
}

HR_TEST(an_observer_hears_of_every_node_that_ran) {
  rig_t r;
  rig_init(&r);
  count_t c = {.observer.node_done = node_done, .in_order = true};
  hr_value_t q = maker_queue(r.g, "q"), got = maker_dequeue(r.g, "got", q);
  maker_loop_t l = maker_count_loop(r.g, "loop", maker_i32(r.g, "zero", 0), maker_const(r.g, "a", 0), 10, 1, 3);
  maker_enqueue(r.g, "put", q, l.exit_a);
  HR_REQUIRE_OK(rig_plan(&r, 0, NULL, 1, &got));
  r.step.observer = &c.observer;
  HR_CHECK_EQ_F64(rig_number(&r, NULL), 10);
  /* queue, two Enters, dequeue, enqueue, two Exits; 11 times two Merges, Less, two Switches; 10 times two sums, two NextIterations */
  HR_CHECK_EQ_I64(c.done, 7 + 11 * 5 + 10 * 4);
  HR_CHECK(c.in_order && c.outputs >= 11 * 3 + 10 * 2);
  rig_deinit(&r);
}

HR_TEST_MAIN()
