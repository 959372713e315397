/* SPDX-License-Identifier: Apache-2.0 */
/* What passes, placer, partition and planner decide for a number of graphs, as text, against what they decided when it was recorded
 * (tests/golden/decisions.txt): each graph's nodes after the passes, its sites with slots, last uses, lanes and edges, the same for a run
 * in parts, and its parts on two tasks. A difference is no fault by itself: who changes a decision on purpose records anew, with
 * HEADRACE_RECORD_DECISIONS=FILE in the environment, and reads what changed. */
#include <stdlib.h>
#include <string.h>
#include "base/alloc.h"
#include "base/file.h"
#include "graph/import.h"
#include "session/partition.h"
#include "session/pipeline.h"
#include "unit/exec/flow_maker.h"
#include "unit/session/plan_text.h"

#define WORKER "/job:worker/replica:0/task:0/device:CPU:0"
#define SECOND "/job:worker/replica:0/task:0/device:CPU:1"
#define PS "/job:ps/replica:0/task:0/device:CPU:0"

/* --- one graph ------------------------------------------------------------------------------------------------------------------------ */

enum { MOST = 64 };
typedef struct {
  hr_graph_t* g;
  hr_value_t feeds[MOST], fetches[MOST];
  hr_node_t* targets[MOST];
  hr_prune_request_t q;
} asked_t;

/* All placeholders are fed, all that nobody reads is fetched or run. */
static void ask_all(asked_t* a) {
  a->q = (hr_prune_request_t){.feeds = a->feeds, .fetches = a->fetches, .targets = a->targets};
  for (int64_t i = 0; i < a->g->nodes.count; ++i) {
    hr_node_t* n = a->g->nodes.data[i];
    if (n->attrs.def->node_class == HR_NODE_PLACEHOLDER && a->q.feed_count < MOST) a->feeds[a->q.feed_count++] = (hr_value_t){n, 0};
    else if (n->consumers.count || n->control_consumers.count) continue;
    else if (n->output_count && hr_dtype_is_plain(hr_dtype_base(n->output_types[0])) && a->q.fetch_count < MOST)
      a->fetches[a->q.fetch_count++] = (hr_value_t){n, 0};
    else if (a->q.target_count < MOST) a->targets[a->q.target_count++] = n;
  }
}

/* The n-th allocation of what decides fails, where n is not 0; whether one did. */
static int64_t fault;
static bool fault_came;
static hr_code_t decided; /* how the last decision ended */
static void begin_faults(void) {
  decided = HR_OK;
  hr_alloc_fail_at(fault, false);
}
static void end_faults(void) {
  fault_came = hr_alloc_has_failed();
  hr_alloc_fail_at(0, false);
}

static void put_failure(hr_strbuf_t* b, const char* what, hr_status_t take_status) {
  decided = hr_status_code(take_status);
  hr_strbuf_format(b, "%s: %s: %s\n", what, hr_status_code_name(hr_status_code(take_status)), hr_status_message(take_status));
  hr_status_release(take_status);
}

static void put_planned(hr_strbuf_t* b, asked_t* a, bool in_parts) {
  hr_session_options_t o;
  hr_device_set_t* set = NULL;
  hr_state_table_t* states = NULL;
  hr_resources_t* resources = hr_resources_create();
  hr_program_t p = {0};
  hr_plan_t* plan = NULL;
  hr_session_options_init(&o);
  maker_must(hr_device_set_create(&set), "a set");
  maker_must(hr_device_set_add_cpus(set, HR_STR(HR_DEVICE_LOCAL_TASK), 1, 1), "a CPU");
  maker_must(hr_state_table_create(&states), "states");
  const hr_placing_t placing = {.devices = set};
  a->q.in_parts = in_parts;
  begin_faults();
  hr_status_t status = hr_pipeline_run(a->g, &a->q, &o, &placing, &p);
  const bool is_prepared = !status;
  if (!status) {
    const hr_plan_desc_t d = {.nodes = p.live, .node_count = p.live_count, .feeds = p.feeds, .feed_count = p.feed_count,
                              .fetches = p.fetches, .fetch_count = p.fetch_count, .states = states, .resources = resources,
                              .lanes = in_parts ? 1 : 2, .threads = 2, .keep_values = in_parts};
    status = hr_plan_create(&d, &plan);
  }
  end_faults();
  if (is_prepared) hr_strbuf_format(b, "%s: %lld nodes\n", in_parts ? "in parts" : "whole", (long long)p.live_count);
  for (int64_t i = 0; is_prepared && !in_parts && i < p.live_count; ++i) put_node(b, p.live[i]);
  if (status) put_failure(b, in_parts ? "in parts" : "whole", status);
  else put_plan(b, plan);
  hr_plan_destroy(plan);
  if (p.graph) hr_program_deinit(&p);
  hr_state_table_destroy(states);
  hr_resources_release(resources);
  hr_device_set_release(set);
}

static void put_partition(hr_strbuf_t* b, asked_t* a, hr_partition_by_t by) {
  hr_session_options_t o;
  hr_device_set_t* set = NULL;
  hr_program_t p = {0};
  hr_partition_t parts = {0};
  const hr_str_t wishes[] = {HR_STR(""), HR_STR(PS), HR_STR(""), HR_STR(SECOND)};
  hr_session_options_init(&o);
  maker_must(hr_device_set_create(&set), "a set");
  maker_must(hr_device_set_add(set, HR_STR(WORKER), 7, 0, false), "a worker");
  maker_must(hr_device_set_add(set, HR_STR(PS), 8, 0, true), "a server");
  maker_must(hr_device_set_add(set, HR_STR(SECOND), 9, 0, false), "the worker's second");
  for (int64_t i = 0; i < a->g->nodes.count; ++i) { /* who is colocated asks for nothing */
    hr_node_t* n = a->g->nodes.data[i];
    n->device = n->attrs.def->node_class == HR_NODE_ORDINARY && !hr_attrs_find(&n->attrs, "_class") ? wishes[i % 4] : HR_STR("");
  }
  const hr_placing_t placing = {.devices = set};
  a->q.in_parts = false;
  begin_faults();
  hr_status_t status = hr_pipeline_run(a->g, &a->q, &o, &placing, &p);
  if (!status) status = hr_partition_program(&p, set, by, "_S", NULL, &parts);
  end_faults();
  const bool is_cut = !status;
  if (status) put_failure(b, "parts", status);
  for (int32_t i = 0; is_cut && i < parts.count; ++i) {
    hr_strbuf_format(b, "part on %d\n", (int)parts.parts[i].device);
    for (int64_t n = 0; n < parts.parts[i].node_count; ++n) put_node(b, parts.parts[i].nodes[n]);
  }
  if (p.graph) hr_program_deinit(&p);
  hr_device_set_release(set);
}

/* --- graphs --------------------------------------------------------------------------------------------------------------------------- */

static hr_graph_t* read_graph(const char* name) {
  char path[600], *data = NULL;
  size_t size = 0;
  hr_graph_t* g = maker_graph();
  snprintf(path, sizeof path, "%s/tests/fuzz/corpus/graph_def/%s.pb", HR_TEST_SOURCE_DIR, name);
  maker_must(hr_file_read(path, &data, &size), path);
  const hr_import_options_t options = {.prefix = HR_STR("")};
  maker_must(hr_import_graph_def(g, data, size, &options, NULL), name);
  hr_free(data);
  return g;
}

static uint32_t random_state;
static int below(int n) { return (int)(((random_state = random_state * 1664525u + 1013904223u) >> 8) % (uint32_t)n); }

/* Nodes of which many are worth a lane, over one placeholder; some wait for others, some are read by many. */
static hr_graph_t* random_graph(uint32_t seed) {
  static const char* const ones[] = {"Erf", "Tanh", "Neg", "Erfc", "Identity", "Lgamma"};
  static const char* const twos[] = {"AddV2", "Mul", "Maximum", "MatMul"};
  enum { NODES = 40 };
  hr_graph_t* g = maker_graph();
  hr_value_t all[NODES + 1];
  const hr_pshape_t* shape = NULL;
  const int64_t dims[] = {seed % 2 ? 200 : -1, 200};
  random_state = seed * 2654435761u;
  maker_must(hr_pshape_make(&g->arena, 2, dims, &shape), "a shape");
  all[0] = maker_placeholder(g, "x", HR_F32, shape);
  for (int i = 1; i <= NODES; ++i) {
    char name[16];
    const int from = i > 12 ? i - 12 : 0;
    hr_value_t a = all[from + below(i - from)], b = all[from + below(i - from)];
    snprintf(name, sizeof name, "n%d", i);
    all[i] = below(3) ? maker_1(g, ones[below(6)], name, a) : maker_2(g, twos[below(4)], name, a, b);
    if (below(8) == 0 && i > 2) maker_wait(g, all[i], all[1 + below(i - 2)]);
  }
  return g;
}

/* A variable that is read before and after it is written, by several, fetched as it is and as a value. */
static hr_graph_t* reference_graph(void) {
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, &hr_pshape_scalar), v = maker_variable(g, "v", &hr_pshape_scalar),
             read = maker_1(g, "Identity", "read", v), twice = maker_2(g, "Mul", "twice", v, v), add = maker_2(g, "AssignAdd", "add", v, x);
  maker_wait(g, add, twice);
  hr_value_t after = maker_2(g, "Sub", "after", v, read), late = maker_1(g, "Neg", "late", read);
  maker_wait(g, after, add);
  maker_wait(g, late, after);
  maker_1(g, "Identity", "value", v);
  return g;
}

/* Two loops one after the other and one beside them, of other bounds on iterations at a time. */
static hr_graph_t* loops_graph(void) {
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, &hr_pshape_scalar), zero = maker_i32(g, "zero", 0);
  maker_loop_t a = maker_count_loop(g, "a", zero, x, 5, 1, 1), b = maker_count_loop(g, "b", a.exit_i, a.exit_a, 9, 2, 3),
               c = maker_count_loop(g, "c", zero, x, 7, 3, 100);
  hr_value_t sum = maker_2(g, "AddV2", "sum", b.exit_a, c.exit_a);
  maker_wait(g, sum, b.exit_i);
  return g;
}

/* Branches by one condition, on a value and on a variable's reference, joined; who reads behind a write; what waits for a branch. */
static hr_graph_t* branches_graph(void) {
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, &hr_pshape_scalar), c = maker_bool(g, "c"), v = maker_variable(g, "v",
             &hr_pshape_scalar);
  hr_value_t s = maker_2(g, "Switch", "s", x, c), read = maker_1(g, "Identity", "read", v), r = maker_2(g, "Switch", "r", read, c);
  hr_value_t no = maker_1(g, "Neg", "no", s), yes = maker_1(g, "Exp", "yes", hr_emit_nth(s, 1)), m = maker_merge(g, "m", no, yes);
  hr_value_t add = maker_2(g, "AssignAdd", "add", v, x), late = maker_1(g, "Neg", "late", hr_emit_nth(r, 1)),
             pair[] = {m, late}, pivot = maker_1(g, "Identity", "pivot", hr_emit_nth(s, 1)), one = maker_const(g, "one", 1);
  maker_wait(g, late, add);
  maker_wait(g, one, pivot);
  maker_2(g, "AddV2", "y", pair[0], maker_2(g, "Mul", "scaled", yes, one));
  maker_merge(g, "end", late, one);
  return g;
}

/* What the passes on products find: a bias and an activation, a sum of products, a part of a product's columns. */
static hr_graph_t* products_graph(void) {
  hr_graph_t* g = maker_graph();
  const hr_pshape_t *square = NULL, *row = NULL;
  const int64_t dims[] = {6, 6};
  maker_must(hr_pshape_make(&g->arena, 2, dims, &square), "a shape");
  maker_must(hr_pshape_make(&g->arena, 1, dims, &row), "a shape");
  hr_value_t x = maker_placeholder(g, "x", HR_F32, square), w = maker_placeholder(g, "w", HR_F32, square),
             b = maker_placeholder(g, "b", HR_F32, row), p0 = maker_2(g, "MatMul", "p0", x, w), p1 = maker_2(g, "MatMul", "p1", w, x),
             terms[] = {p0, p1};
  const hr_named_attr_t two = hr_at_int("N", 2), turned = hr_at_bool("transpose_b", true), parts = hr_at_int("num_split", 2);
  hr_value_t sum = maker_node(g, "AddN", "sum", 2, terms, 1, &two), both[] = {sum, w};
  maker_1(g, "Relu", "hidden", maker_2(g, "BiasAdd", "biased", maker_2(g, "MatMul", "p2", x, w), b));
  hr_tensor_t sizes = {0};
  maker_must(hr_tensor_from_i64_vec(HR_I32, (const int64_t[]){2, 4}, 2, &sizes), "sizes");
  hr_value_t cut[] = {maker_node(g, "MatMul", "p3", 2, both, 1, &turned), maker_const_of(g, "sizes", &sizes), maker_i32(g, "axis", 1)};
  maker_1(g, "Neg", "part", hr_emit_nth(maker_node(g, "SplitV", "cut", 3, cut, 1, &parts), 1));
  hr_tensor_release(&sizes);
  return g;
}

enum { WHOLE, IN_PARTS, BY_TASK, BY_DEVICE, DECISIONS };

static void put_decision(hr_strbuf_t* b, asked_t* a, int which) {
  if (which < BY_TASK) put_planned(b, a, which == IN_PARTS);
  else put_partition(b, a, which == BY_TASK ? HR_PARTITION_BY_TASK : HR_PARTITION_BY_DEVICE);
}

static void put_graph(hr_strbuf_t* b, const char* name, hr_graph_t* take) {
  static asked_t a;
  a = (asked_t){.g = take};
  hr_strbuf_format(b, "== %s\n", name);
  ask_all(&a);
  for (int k = 0; k < DECISIONS; ++k) put_decision(b, &a, k);
  hr_graph_destroy(take);
}

/* With the n-th allocation failing a decision fails as it should, or goes without what is optional (a constant stays unfolded), and leaves
 * nothing behind. */
static void fail_decision(const char* name, asked_t* a, int which) {
  bool more = true;
  for (int64_t n = 1; more; n += 1 + n / 64) {
    hr_strbuf_t b;
    hr_strbuf_init(&b);
    const int64_t before = hr_test_live_blocks();
    fault = n;
    put_decision(&b, a, which);
    fault = 0;
    more = fault_came;
    hr_strbuf_deinit(&b);
    if (decided != HR_OK && !(more && decided == HR_RESOURCE_EXHAUSTED))
      hr_test_fail(__FILE__, __LINE__, "%s, decision %d, allocation %d failing: %s", name, which, (int)n, hr_status_code_name(decided));
    if (hr_test_live_blocks() > before)
      hr_test_fail(__FILE__, __LINE__, "%s, decision %d, allocation %d failing leaves %d blocks", name, which, (int)n,
                   (int)(hr_test_live_blocks() - before));
  }
}

static void fail_graph(hr_strbuf_t* b, const char* name, hr_graph_t* take) {
  static asked_t a;
  (void)b;
  a = (asked_t){.g = take};
  ask_all(&a);
  for (int k = 0; k < DECISIONS; ++k) fail_decision(name, &a, k);
  hr_graph_destroy(take);
}

typedef void (*each_graph_t)(hr_strbuf_t* b, const char* name, hr_graph_t* take);

static void each_graph(hr_strbuf_t* b, each_graph_t put) {
  static const char* const names[] = {"arith", "case_functions", "conv", "function", "gradient_function", "if_functions", "loop",
                                      "loop_in_function", "nested_calls", "shapes", "strings", "variables", "while_functions"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) put(b, names[i], read_graph(names[i]));
  for (uint32_t seed = 1; seed <= 6; ++seed) {
    char name[32];
    snprintf(name, sizeof name, "random %u", seed);
    put(b, name, random_graph(seed));
  }
  put(b, "references", reference_graph());
  put(b, "loops", loops_graph());
  put(b, "branches", branches_graph());
  put(b, "products", products_graph());
}

/* --- against the record --------------------------------------------------------------------------------------------------------------- */

static void compare_lines(hr_str_t want, hr_str_t got) {
  hr_str_t graph = HR_STR(""), a, b;
  int differences = 0;
  while (differences < 10) {
    const bool has_a = hr_str_split(&want, '\n', &a), has_b = hr_str_split(&got, '\n', &b);
    if (!has_a && !has_b) return;
    if (!has_a) a = HR_STR("(nothing)");
    if (!has_b) b = HR_STR("(nothing)");
    if (hr_str_has_prefix(a, HR_STR("=="))) graph = a;
    if (hr_str_equal(a, b)) continue;
    ++differences;
    hr_test_fail(__FILE__, __LINE__, "%.*s: recorded\n  %.*s\nnow\n  %.*s", HR_STR_ARG(graph), HR_STR_ARG(hr_str_slice(a, 0, 400)),
                 HR_STR_ARG(hr_str_slice(b, 0, 400)));
  }
}

HR_TEST(decisions_are_as_recorded) {
  const char* record = getenv("HEADRACE_RECORD_DECISIONS");
  hr_strbuf_t b;
  char* want = NULL;
  size_t size = 0;
  hr_strbuf_init(&b);
  each_graph(&b, put_graph);
  HR_CHECK(!b.failed);
  FILE* f = record ? fopen(record, "wb") : NULL;
  if (f) HR_CHECK(fwrite(b.data, 1, b.size, f) == b.size && fclose(f) == 0);
  if (HR_CHECK_OK(hr_file_read(HR_TEST_SOURCE_DIR "/tests/golden/decisions.txt", &want, &size)))
    compare_lines((hr_str_t){want, size}, hr_strbuf_view(&b));
  hr_free(want);
  hr_strbuf_deinit(&b);
}
HR_TEST(every_allocation_of_a_decision_may_fail) { each_graph(NULL, fail_graph); }
HR_TEST_MAIN()
