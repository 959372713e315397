/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions from many threads: concurrent steps, extension meanwhile, closing and deadlines while steps wait. */
#define HR_TEST_LEAKS_CHECKED
#include <unistd.h>
#include "base/clock.h"
#include "base/pool.h"
#include "base/thread.h"
#include "op/infer_fns.h"
#include "op/kernel_ctx.h"
#include "rt/step.h"
#include "session/session.h"
#include "unit/exec/maker.h"

enum { THREADS = 24, ROUNDS = 300 };

/* An op that waits until its step is cancelled, as a dequeue from an empty queue does. */
typedef struct {
  hr_mutex_t mu;
  hr_cond_t changed;
  bool cancelled;
} wait_t;
static atomic_int waiting;

static void wake_waiter(void* arg) {
  wait_t* w = arg;
  hr_mutex_lock(&w->mu);
  w->cancelled = true;
  hr_cond_wake_all(&w->changed);
  hr_mutex_unlock(&w->mu);
}

static hr_status_t wait_for_ever(hr_kernel_ctx_t* k) {
  wait_t w = {.cancelled = false};
  hr_mutex_init(&w.mu);
  hr_cond_init(&w.changed);
  hr_cancel_entry_t entry = {.callback = wake_waiter, .arg = &w};
  if (hr_cancel_register(k->step->cancel, &entry)) {
    atomic_fetch_add(&waiting, 1);
    hr_mutex_lock(&w.mu);
    while (!w.cancelled) hr_cond_wait(&w.changed, &w.mu);
    hr_mutex_unlock(&w.mu);
    hr_cancel_deregister(k->step->cancel, &entry);
    atomic_fetch_sub(&waiting, 1);
  }
  hr_cond_deinit(&w.changed);
  hr_mutex_deinit(&w.mu);
  return hr_status_cancelled();
}

static const hr_op_t op_wait = {.name = "TestWait",
                                .sig = "->",
                                .attrs = "",
                                .flags = HR_OP_STATEFUL | HR_OP_BLOCKING,
                                .shape = hr_infer_none,
                                HR_KERNELS(HR_CPU_ANY(wait_for_ever)),
                                .doc = "waits until it is cancelled",
                                HR_HERE};

/* An op whose nodes wait until so many of them run at once. */
static atomic_int arrived, meeting;

static hr_status_t meet(hr_kernel_ctx_t* k) {
  const int64_t deadline = hr_clock_now_ns() + (int64_t)20 * 1000 * 1000 * 1000;
  atomic_fetch_add(&arrived, 1);
  while (atomic_load(&arrived) < atomic_load(&meeting)) {
    if (hr_clock_now_ns() > deadline) return HR_ERROR(DEADLINE_EXCEEDED, "nobody came");
    usleep(10);
  }
  hr_output_share(k, 0, hr_input(k, 0));
  return NULL;
}

static const hr_op_t op_meet = {.name = "TestMeet",
                                .sig = "x: float -> y: float",
                                .attrs = "",
                                .shape = hr_infer_same,
                                HR_KERNELS(HR_CPU_ANY(meet)),
                                .doc = "waits for the others",
                                HR_HERE};

static void register_ops(void) {
  static bool done;
  if (!done) maker_must(hr_registry_add(&op_wait), "TestWait");
  if (!done) maker_must(hr_registry_add(&op_meet), "TestMeet");
  done = true;
}

typedef struct {
  hr_graph_t* g;
  hr_session_t* s;
  hr_value_t x, y, chain, add;
  atomic_int failures;
  atomic_bool stop;
} shared_t;

static void fail(shared_t* sh, hr_status_t status) {
  if (status) printf("  %s\n", hr_status_message(status));
  hr_status_release(status);
  atomic_fetch_add(&sh->failures, 1);
}

static void run_many(void* arg) {
  shared_t* sh = arg;
  hr_value_t fetches[] = {sh->y, sh->chain, sh->y};
  for (int i = 0; i < ROUNDS; ++i) {
    hr_tensor_t feed = maker_f32((float)i), out[3];
    hr_run_t run = {.feeds = &sh->x, .feed_values = &feed, .feed_count = 1, .fetches = fetches + i % 2, .fetch_count = 1 + i % 2};
    hr_status_t status = hr_session_run(sh->s, NULL, &run, out, NULL, NULL);
    if (status) fail(sh, status);
    for (int j = 0; !status && j < run.fetch_count; ++j) {
      bool is_y = run.fetches[j].node == sh->y.node;
      if (maker_get(&out[j]) != (is_y ? 2 * (float)i : (float)i + 200)) fail(sh, NULL);
      hr_tensor_release(&out[j]);
    }
    hr_tensor_release(&feed);
    hr_node_t* target = sh->add.node;
    hr_run_t update = {.targets = &target, .target_count = 1};
    status = hr_session_run(sh->s, NULL, &update, NULL, NULL, NULL);
    if (status) fail(sh, status);
  }
}

static void extend_graph(void* arg) {
  shared_t* sh = arg;
  for (int i = 0; !atomic_load(&sh->stop); ++i) {
    char name[32];
    snprintf(name, sizeof name, "extra%d", i);
    hr_mutex_lock(&sh->g->mu);
    hr_value_t extra = maker_1(sh->g, "Square", name, sh->x);
    hr_mutex_unlock(&sh->g->mu);
    if (i % 50) continue;
    hr_tensor_t feed = maker_f32(3), out = {0};
    hr_run_t run = {.feeds = &sh->x, .feed_values = &feed, .feed_count = 1, .fetches = &extra, .fetch_count = 1};
    hr_status_t status = hr_session_run(sh->s, NULL, &run, &out, NULL, NULL);
    if (status || maker_get(&out) != 9) fail(sh, status);
    if (!status) hr_tensor_release(&out);
    hr_tensor_release(&feed);
  }
}

HR_TEST(many_threads_run_while_one_extends) {
  shared_t sh = {.g = maker_graph()};
  sh.x = maker_placeholder(sh.g, "x", HR_F32, NULL);
  sh.y = maker_2(sh.g, "AddV2", "y", sh.x, sh.x);
  hr_value_t one = maker_const(sh.g, "one", 1), v = maker_variable(sh.g, "v", &hr_pshape_scalar);
  sh.chain = sh.x;
  for (int i = 0; i < 200; ++i) {
    char name[16];
    snprintf(name, sizeof name, "n%d", i);
    sh.chain = maker_2(sh.g, "AddV2", name, sh.chain, one);
  }
  hr_value_t init = maker_2(sh.g, "Assign", "init", v, maker_const(sh.g, "zero", 0));
  sh.add = maker_2(sh.g, "AssignAdd", "add", v, one);
  HR_REQUIRE_OK(hr_session_create(sh.g, NULL, &sh.s));
  hr_node_t* init_node = init.node;
  hr_run_t run = {.targets = &init_node, .target_count = 1};
  HR_REQUIRE_OK(hr_session_run(sh.s, NULL, &run, NULL, NULL, NULL));
  hr_thread_t threads[THREADS], extender;
  HR_REQUIRE_OK(hr_thread_start(&extender, "extend", extend_graph, &sh));
  for (int i = 0; i < THREADS; ++i) HR_REQUIRE_OK(hr_thread_start(&threads[i], "run", run_many, &sh));
  for (int i = 0; i < THREADS; ++i) hr_thread_join(&threads[i]);
  atomic_store(&sh.stop, true);
  hr_thread_join(&extender);
  HR_CHECK_EQ_I64(atomic_load(&sh.failures), 0);
  hr_tensor_t out = {0};
  run = (hr_run_t){.fetches = &v, .fetch_count = 1};
  HR_REQUIRE_OK(hr_session_run(sh.s, NULL, &run, &out, NULL, NULL));
  HR_CHECK_EQ_F64(maker_get(&out), THREADS * ROUNDS); /* no update was lost */
  hr_tensor_release(&out);
  hr_session_destroy(sh.s);
  hr_graph_destroy(sh.g);
}

static hr_status_t run_wait(hr_session_t* s, hr_node_t* n, const hr_run_options_t* o) {
  hr_run_t run = {.targets = &n, .target_count = 1};
  return hr_session_run(s, o, &run, NULL, NULL, NULL);
}

HR_TEST(a_deadline_ends_a_step_that_waits) {
  register_ops();
  hr_graph_t* g = maker_graph();
  hr_value_t w = maker_node(g, "TestWait", "w", 0, NULL, 0, NULL);
  hr_session_t* s = NULL;
  HR_REQUIRE_OK(hr_session_create(g, NULL, &s));
  hr_run_options_t o = {.timeout_ms = 50};
  int64_t begin = hr_clock_now_ns();
  HR_CHECK_CODE(run_wait(s, w.node, &o), HR_DEADLINE_EXCEEDED, "50 ms");
  int64_t took_ms = (hr_clock_now_ns() - begin) / 1000000;
  HR_CHECK(took_ms >= 49 && took_ms < 1050);
  hr_session_destroy(s);
  hr_session_options_t so;
  hr_session_options_init(&so);
  so.timeout_ms = 30; /* operation_timeout_in_ms */
  HR_REQUIRE_OK(hr_session_create(g, &so, &s));
  HR_CHECK_CODE(run_wait(s, w.node, NULL), HR_DEADLINE_EXCEEDED, "30 ms");
  hr_session_destroy(s);
  hr_graph_destroy(g);
}

typedef struct {
  hr_session_t* s;
  hr_node_t* node;
  hr_run_options_t options;
  hr_code_t code;
} waiter_t;
static void wait_in_thread(void* arg) {
  waiter_t* w = arg;
  hr_status_t status = run_wait(w->s, w->node, &w->options);
  w->code = hr_status_code(status);
  hr_status_release(status);
}

HR_TEST(closing_ends_waiting_steps_within_a_second) {
  register_ops();
  hr_graph_t* g = maker_graph();
  hr_value_t v = maker_node(g, "TestWait", "w", 0, NULL, 0, NULL);
  hr_session_t* s = NULL;
  HR_REQUIRE_OK(hr_session_create(g, NULL, &s));
  hr_graph_destroy(g);
  hr_thread_t threads[8];
  waiter_t waiters[8];
  for (int i = 0; i < 8; ++i) {
    waiters[i] = (waiter_t){.s = s, .node = v.node, .options = {.timeout_ms = i % 2 ? 3600000 : 0}};
    HR_REQUIRE_OK(hr_thread_start(&threads[i], "wait", wait_in_thread, &waiters[i]));
  }
  while (atomic_load(&waiting) < 8) usleep(1000);
  int64_t begin = hr_clock_now_ns();
  HR_CHECK_OK(hr_session_close(s));
  HR_CHECK((hr_clock_now_ns() - begin) / 1000000 < 1000);
  hr_session_destroy(s);
  for (int i = 0; i < 8; ++i) {
    hr_thread_join(&threads[i]);
    HR_CHECK_EQ_I64(waiters[i].code, HR_CANCELLED);
  }
}

static void cancel_soon(void* arg) {
  while (atomic_load(&waiting) == 0) usleep(1000);
  hr_cancel_start(arg, NULL);
}

HR_TEST(another_thread_cancels_one_step_by_its_token) {
  register_ops();
  hr_graph_t* g = maker_graph();
  hr_value_t v = maker_node(g, "TestWait", "w", 0, NULL, 0, NULL);
  hr_session_t* s = NULL;
  HR_REQUIRE_OK(hr_session_create(g, NULL, &s));
  hr_cancel_t token;
  hr_cancel_init(&token);
  hr_thread_t canceller;
  HR_REQUIRE_OK(hr_thread_start(&canceller, "cancel", cancel_soon, &token));
  hr_run_options_t o = {.cancel = &token};
  HR_CHECK_CODE(run_wait(s, v.node, &o), HR_CANCELLED, "");
  hr_thread_join(&canceller);
  hr_cancel_deinit(&token);
  hr_session_destroy(s);
  hr_graph_destroy(g);
}

/* Two expensive nodes, of one thread each: at once where the options let them, whatever the machine's cores are. */
HR_TEST(inter_op_threads_run_nodes_at_once) {
  static const struct { int32_t intra, inter, met; } cases[] = {{1, 2, 2}, {1, 1, 0}, {1, 0, 0}, {1, -1, 0}, {1, 5, 2}};
  const struct { int32_t rank; int64_t dims[2]; } big = {2, {4096, 4096}};
  register_ops();
  const int threads = hr_pool_threads();
  hr_pool_set_threads(2);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    hr_session_options_t o;
    hr_session_options_init(&o);
    o.intra_op_threads = cases[i].intra;
    o.inter_op_threads = cases[i].inter;
    hr_graph_t* g = maker_graph();
    hr_session_t* s = NULL;
    HR_REQUIRE_OK(hr_session_create(g, &o, &s));
    const hr_pshape_t* big_shape = (const hr_pshape_t*)(const void*)&big;
    hr_value_t in[] = {maker_placeholder(g, "x", HR_F32, big_shape), maker_placeholder(g, "y", HR_F32, big_shape)};
    hr_value_t fetch[] = {maker_1(g, "TestMeet", "a", in[0]), maker_1(g, "TestMeet", "b", in[1])};
    const hr_shape_t shape = hr_shape_matrix(4096, 4096);
    hr_tensor_t feed = {0}, out[2];
    HR_REQUIRE_OK(hr_tensor_create(HR_F32, &shape, &feed));
    ((float*)feed.data)[0] = 7;
    const hr_tensor_t feeds[] = {feed, feed};
    const hr_run_t run = {.feeds = in, .feed_values = feeds, .feed_count = 2, .fetches = fetch, .fetch_count = 2};
    for (int round = 0; round < 3; ++round) {
      atomic_store(&arrived, 0);
      atomic_store(&meeting, cases[i].met);
      HR_REQUIRE_OK(hr_session_run(s, NULL, &run, out, NULL, NULL));
      HR_CHECK(maker_get(&out[0]) == 7 && maker_get(&out[1]) == 7);
      hr_tensor_release(&out[0]);
      hr_tensor_release(&out[1]);
    }
    hr_tensor_release(&feed);
    hr_session_destroy(s);
    hr_graph_destroy(g);
  }
  hr_pool_set_threads(threads);
}

HR_TEST_MAIN()
