/* SPDX-License-Identifier: Apache-2.0 */
/* A loop inside a loop over two devices, whose inner loop goes on although its outer iteration is dead for some of its variables: the other
 * part must hear so, or it waits for ever. */
#define HR_TEST_LEAKS_CHECKED
#include "session/pipeline.h"
#include "session/runner.h"
#include "unit/session/program_maker.h"

static hr_value_t on(hr_value_t v, const char* device) {
  v.node->device = hr_str(device);
  return v;
}

static hr_value_t enter(hr_graph_t* g, const char* name, const char* frame, hr_value_t v, bool constant) {
  const hr_named_attr_t at[] = {hr_at_str("frame_name", frame), hr_at_bool("is_constant", constant)};
  return maker_node(g, "Enter", name, 1, &v, 2, at);
}

static hr_value_t merge(hr_graph_t* g, const char* name, hr_value_t a) {
  const hr_value_t in[] = {a, {NULL, 0}};
  const hr_named_attr_t at[] = {hr_at_type("T", HR_F32), hr_at_int("N", 2)};
  const hr_node_desc_t d = {.op = HR_STR("Merge"), .name = hr_str(name), .inputs = in, .input_count = 2, .attrs = at, .attr_count = 2,
                            .allow_missing_inputs = true};
  hr_node_t* n = NULL;
  maker_must(hr_graph_add(g, &d, &n), name);
  return (hr_value_t){n, 0};
}

static void close_loop(hr_graph_t* g, const char* name, hr_value_t m, hr_value_t v) {
  maker_must(hr_graph_set_input(g, m.node, 1, maker_1(g, "NextIteration", name, v)), name);
}

/* for (i = 0; i < 3; ++i) for (j = 0; j < 4; ++j) x += 1; the counter j starts from a constant of the outer loop, which is never dead. */
static hr_value_t nested_loops(hr_graph_t* g) {
  hr_value_t zero = maker_const(g, "zero", 0), one = maker_const(g, "one", 1), three = maker_const(g, "three", 3),
             four = maker_const(g, "four", 4);
  hr_value_t i = merge(g, "i", enter(g, "i/in", "outer", zero, false)), x = merge(g, "x", enter(g, "x/in", "outer", zero, false));
  hr_value_t one_o = enter(g, "one/o", "outer", one, true), three_o = enter(g, "three/o", "outer", three, true),
             four_o = enter(g, "four/o", "outer", four, true), zero_o = enter(g, "zero/o", "outer", zero, true);
  hr_value_t more = maker_1(g, "LoopCond", "more", maker_2(g, "Less", "less", i, three_o));
  hr_value_t i_sw = maker_2(g, "Switch", "i/sw", i, more), x_sw = maker_2(g, "Switch", "x/sw", x, more);
  hr_value_t j = merge(g, "j", enter(g, "j/in", "inner", zero_o, false));
  hr_value_t y = merge(g, "y", enter(g, "y/in", "inner", (hr_value_t){x_sw.node, 1}, false));
  hr_value_t one_i = enter(g, "one/i", "inner", one_o, true), four_i = enter(g, "four/i", "inner", four_o, true);
  hr_value_t more_i = maker_1(g, "LoopCond", "more/i", on(maker_2(g, "Less", "less/i", j, four_i), "/cpu:1"));
  hr_value_t j_sw = maker_2(g, "Switch", "j/sw", j, more_i), y_sw = maker_2(g, "Switch", "y/sw", y, more_i);
  close_loop(g, "j/next", j, maker_2(g, "AddV2", "j/add", (hr_value_t){j_sw.node, 1}, one_i));
  close_loop(g, "y/next", y, on(maker_2(g, "AddV2", "y/add", (hr_value_t){y_sw.node, 1}, one_i), "/cpu:1"));
  close_loop(g, "i/next", i, on(maker_2(g, "AddV2", "i/add", (hr_value_t){i_sw.node, 1}, one_o), "/cpu:1"));
  close_loop(g, "x/next", x, maker_1(g, "Exit", "y/out", y_sw));
  return maker_1(g, "Exit", "x/out", x_sw);
}

HR_TEST(dead_variables_of_inner_loops) {
  hr_graph_t* g = maker_graph();
  hr_value_t out = nested_loops(g);
  hr_session_options_t o;
  hr_session_t* s = NULL;
  hr_session_options_init(&o);
  o.cpu_devices = 2;
  o.constant_folding = false;
  HR_REQUIRE_OK(hr_session_create(g, &o, &s));
  const hr_run_options_t limit = {.timeout_ms = 5000};
  const hr_run_t run = {.fetches = &out, .fetch_count = 1};
  for (int k = 0; k < 3; ++k) {
    hr_tensor_t result = {0};
    HR_REQUIRE_OK(hr_session_run(s, &limit, &run, &result, NULL, NULL));
    HR_CHECK_EQ_F64(maker_get(&result), 12);
    hr_tensor_release(&result);
  }
  hr_session_destroy(s);
  hr_graph_destroy(g);
}
/* From the graph to the plans of two parts, each allocation failing in turn. */
static hr_graph_t* shared_graph;
static hr_value_t shared_out;

static hr_status_t prepare_parts(void) {
  hr_device_set_t* set = NULL;
  hr_place_memory_t* memory = NULL;
  hr_state_table_t* states = NULL;
  hr_runner_t* runner = NULL;
  hr_program_t program = {0};
  hr_session_options_t o;
  hr_status_t status;
  hr_session_options_init(&o);
  o.constant_folding = false; /* a node that cannot be folded is left */
  if ((status = hr_device_set_create(&set))) goto done;
  if ((status = hr_device_set_add_cpus(set, HR_STR(HR_DEVICE_LOCAL_TASK), 2, 1))) goto done;
  if ((status = hr_place_memory_create(&memory))) goto done;
  if ((status = hr_state_table_create(&states))) goto done;
  const hr_placing_t placing = {.devices = set, .memory = memory};
  const hr_prune_request_t request = {.fetches = &shared_out, .fetch_count = 1};
  if ((status = hr_pipeline_run(shared_graph, &request, &o, &placing, &program))) goto done;
  if ((status = hr_runner_local_create(&program, set, states, NULL, &runner))) goto done;
  hr_runner_binding_t* binding = NULL;
  if ((status = runner->table->bind(runner, NULL, NULL, 1, &binding))) goto done;
  runner->table->unbind(runner, binding);
done:
  if (runner) runner->table->destroy(runner);
  hr_state_table_destroy(states);
  hr_place_memory_destroy(memory);
  hr_device_set_release(set);
  return status;
}

HR_TEST(every_allocation_may_fail) {
  shared_graph = maker_graph();
  shared_out = nested_loops(shared_graph);
  HR_TEST_EVERY_ALLOCATION_FAILS(prepare_parts);
  hr_graph_destroy(shared_graph);
}
HR_TEST_MAIN()
