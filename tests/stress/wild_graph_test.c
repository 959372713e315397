/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs that nobody would write: control flow nodes joined at random, so that values die in odd places, merges get two live values, loops
 * miss a way on or a way out. A plan is refused or its steps end, with values or an error; nothing crashes, hangs, leaks. Loops that would
 * not end are ended by a node that counts.
 *
 * Arguments: how many graphs (2000), the first seed (1). */
#include "exec/plan.h"
#include "op/infer_fns.h"
#include "op/kernel_ctx.h"
#include "unit/exec/flow_maker.h"

static uint64_t state;
static int below(int n) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (int)((uint32_t)(state >> 16) % (uint32_t)n);
}

static int counted; /* runs of StressCount in this step */
static hr_status_t count_compute(hr_kernel_ctx_t* k) {
  if (++counted > 300) return HR_ERROR(DATA_LOSS, "enough");
  hr_output_share(k, 0, hr_input(k, 0));
  return NULL;
}
static const hr_op_t count_op = {.name = "StressCount",
                                 .sig = "x: int32 -> y: int32",
                                 .attrs = "",
                                 .flags = HR_OP_SIDE_EFFECT,
                                 .shape = hr_infer_same,
                                 HR_KERNELS(HR_CPU_ANY(count_compute)),
                                 .doc = "the input, some times",
                                 HR_HERE};

/* --- values by the frame that they are in --------------------------------------------------------------------------------------------- */

enum { FRAMES = 5, VALUES = 400 };
typedef struct {
  hr_value_t ints[VALUES], bools[VALUES];
  int int_count, bool_count;
  int parent;
} frame_t;
static frame_t frames[FRAMES]; /* 0: the root; the others are entered from one parent each */
static hr_graph_t* g;
static int names;

static const char* new_name(char text[32]) {
  snprintf(text, 32, "n%d", names++);
  return text;
}
static hr_value_t any_int(const frame_t* f) { return f->ints[below(f->int_count)]; }
static hr_value_t any_bool(const frame_t* f) { return f->bools[below(f->bool_count)]; }
static void keep_bool(frame_t* f, hr_value_t v) { f->bools[f->bool_count++] = v; }
static void keep_int(frame_t* f, hr_value_t v) {
  if (f->int_count < VALUES) f->ints[f->int_count++] = v;
}
static hr_value_t node1(const char* op, hr_value_t a) {
  char n[32];
  return maker_1(g, op, new_name(n), a);
}
static hr_value_t node2(const char* op, hr_value_t a, hr_value_t b) {
  char n[32];
  return maker_2(g, op, new_name(n), a, b);
}

static void add_enter(int frame) {
  char n[32], name[8];
  frame_t *f = &frames[frame], *parent = &frames[f->parent];
  if (!parent->int_count || !parent->bool_count) return;
  snprintf(name, sizeof name, "f%d", frame);
  const bool constant = below(3) == 0;
  const int parallel = 1 + below(3);
  keep_int(f, maker_enter_of(g, new_name(n), any_int(parent), name, constant, parallel));
  if (!f->bool_count) keep_bool(f, maker_enter_of(g, new_name(n), any_bool(parent), name, constant, parallel));
}

static void add_node(frame_t* f) {
  hr_value_t a = any_int(f), b = any_int(f), s, m;
  char n[32];
  switch (below(13)) {
    case 0:
    case 1:
      s = node2("Switch", a, any_bool(f));
      if (below(8)) keep_int(f, s);
      if (below(8)) keep_int(f, hr_emit_nth(s, 1));
      break;
    case 2:
    case 3:
      m = node2("Merge", a, b);
      keep_int(f, m);
      if (below(2)) keep_int(f, hr_emit_nth(m, 1));
      if (f->parent >= 0 && below(2)) maker_close(g, m, node1("NextIteration", node1("StressCount", any_int(f))));
      break;
    case 4: keep_int(f, node1("Identity", a)); break;
    case 5: keep_int(f, node2("Maximum", a, b)); break;
    case 6:
      if (f->bool_count < VALUES) keep_bool(f, node2("Less", a, b));
      break;
    case 7:
      if (f->bool_count < VALUES) keep_bool(f, node1("LoopCond", any_bool(f)));
      break;
    case 8:
      if (f->parent >= 0) keep_int(&frames[f->parent], node1("Exit", a));
      break;
    case 9: /* a constant that waits */
      s = maker_i32(g, new_name(n), below(9));
      for (int i = below(4); i >= 0; --i) maker_wait(g, s, any_int(f));
      keep_int(f, s);
      break;
    case 10: /* a place where control edges meet */
      s = maker_node(g, below(2) ? "NoOp" : "ControlTrigger", new_name(n), 0, NULL, 0, NULL);
      maker_wait(g, s, a);
      m = node1("Neg", b);
      maker_wait(g, m, s);
      keep_int(f, m);
      break;
    case 11:
      m = node2("Merge", a, b);
      maker_wait(g, m, any_int(f));
      keep_int(f, m);
      break;
    default:
      s = node1("Square", a);
      maker_wait(g, s, b);
      keep_int(f, s);
      break;
  }
}

static void make_wild(hr_value_t* out_feed) {
  char n[32];
  names = 0;
  g = maker_graph();
  memset(frames, 0, sizeof frames);
  frames[0].parent = -1;
  for (int i = 1; i < FRAMES; ++i) frames[i].parent = below(i);
  *out_feed = maker_bool(g, "p");
  frames[0].bools[frames[0].bool_count++] = *out_feed;
  for (int i = 0; i < 3; ++i) keep_int(&frames[0], maker_i32(g, new_name(n), i));
  for (int i = 10 + below(80); i > 0; --i) {
    const int frame = below(FRAMES);
    if (!frames[frame].int_count || !frames[frame].bool_count || below(8) == 0) {
      if (frame) add_enter(frame);
    } else {
      add_node(&frames[frame]);
    }
  }
}

/* --- one graph ------------------------------------------------------------------------------------------------------------------------ */

static int planned, gave_values;

static void run_wild(hr_plan_t* plan, hr_resources_t* resources, int fetches) {
  hr_tensor_t truth = maker_truth(below(2)), got[4];
  hr_cancel_t cancel;
  hr_cancel_init(&cancel);
  hr_step_t step = {.id = 1, .cancel = &cancel, .resources = resources, .threads = 1};
  counted = 0;
  hr_status_t status = hr_plan_run(plan, &step, &truth, got);
  if (!status) gave_values++;
  for (int i = 0; !status && i < fetches; ++i) hr_tensor_release(&got[i]);
  const hr_code_t code = hr_status_code(status);
  if (status && code != HR_DATA_LOSS && code != HR_INVALID_ARGUMENT)
    hr_test_fail(__FILE__, __LINE__, "%s: %s", hr_status_code_name(code), hr_status_message(status));
  hr_status_release(status);
  hr_cancel_deinit(&cancel);
  hr_tensor_release(&truth);
}

static void wild_case(uint64_t seed) {
  hr_value_t feed, fetches[4];
  hr_plan_t* plan = NULL;
  hr_state_table_t* states = NULL;
  hr_resources_t* resources = hr_resources_create();
  state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
  for (int i = 0; i < 8; ++i) below(2);
  make_wild(&feed);
  maker_must(hr_state_table_create(&states), "states");
  const int fetch_count = 1 + below(4);
  for (int i = 0; i < fetch_count; ++i) fetches[i] = any_int(&frames[0]);
  hr_plan_desc_t d = {.nodes = g->nodes.data + 1, .node_count = g->nodes.count - 1, .feeds = &feed, .feed_count = 1, .fetches = fetches,
                      .fetch_count = fetch_count, .states = states, .resources = resources};
  hr_status_t status = hr_plan_create(&d, &plan);
  if (!status) {
    planned++;
    for (int i = 0; i < 3; ++i) run_wild(plan, resources, fetch_count);
  } else if (hr_status_code(status) != HR_INVALID_ARGUMENT) {
    hr_test_fail(__FILE__, __LINE__, "seed %llu: %s", (unsigned long long)seed, hr_status_message(status));
  }
  hr_status_release(status);
  hr_plan_destroy(plan);
  hr_state_table_destroy(states);
  hr_resources_release(resources);
  hr_graph_destroy(g);
}

static int cases = 2000;
static uint64_t first_seed = 1;

HR_TEST(wild_graphs_end) {
  HR_REQUIRE_OK(hr_registry_add(&count_op));
  wild_case(0); /* what is made once is made here */
  for (int i = 0; i < cases && atomic_load(&hr_test_failures) < 5; ++i) {
    const int64_t before = hr_test_live_blocks();
    wild_case(first_seed + (uint64_t)i);
    if (hr_test_live_blocks() > before) hr_test_fail(__FILE__, __LINE__, "seed %llu leaks", (unsigned long long)first_seed + (uint64_t)i);
  }
  printf("  %d of %d could be planned, %d steps gave values\n", planned, cases, gave_values);
  HR_CHECK(planned > cases / 4 && gave_values > cases / 20);
}

int main(int argc, char** argv) {
  if (argc > 1 && atoi(argv[1]) > 0) cases = atoi(argv[1]);
  if (argc > 2) first_seed = (uint64_t)atoll(argv[2]);
  return hr_test_main(1, argv);
}
