/* SPDX-License-Identifier: Apache-2.0 */
/* Where nodes are put: requests whole and in part, groups, neighbours, soft placement, what is refused and why, what a session remembers.
 */
#include "session/place.h"
#include "unit/session/program_maker.h"

static hr_device_set_t* cluster(void) { /* the client's task first */
  hr_device_set_t* s = NULL;
  maker_must(hr_device_set_create(&s), "a set");
  maker_must(hr_device_set_add_cpus(s, HR_STR("/job:worker/replica:0/task:0"), 2, 7), "CPUs");
  maker_must(hr_device_set_add(s, HR_STR("/job:ps/replica:0/task:0/device:CPU:0"), 8, 0, true), "a server");
  maker_must(hr_device_set_add(s, HR_STR("/job:ps/replica:0/task:1/device:CPU:0"), 9, 0, true), "another");
  return s;
}

static hr_value_t on(hr_value_t v, const char* device) {
  v.node->device = hr_str(device);
  return v;
}

static hr_status_t place(hr_program_t* p, hr_device_set_t* set, bool soft) {
  const hr_placing_t how = {.devices = set, .soft = soft};
  return hr_place_program(p, &how);
}

static const char* device_of(const hr_program_t* p, const char* name) {
  for (int64_t i = 0; i < p->graph->nodes.count; ++i)
    if (hr_str_is(p->graph->nodes.data[i]->name, name)) return p->graph->nodes.data[i]->device.data;
  return "";
}

#define CHECK_ON(p, name, device) HR_CHECK_STR(device_of(p, name), device)
#define WORKER0 "/job:worker/replica:0/task:0/device:CPU:0"
#define WORKER1 "/job:worker/replica:0/task:0/device:CPU:1"
#define PS0 "/job:ps/replica:0/task:0/device:CPU:0"
#define PS1 "/job:ps/replica:0/task:1/device:CPU:0"

HR_TEST(requests_references_neighbours) {
  hr_device_set_t* set = cluster();
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, NULL);
  hr_value_t w = on(maker_variable(g, "w", &hr_pshape_unknown), "/job:ps/task:1"), c = maker_const(g, "c", 1),
             alone = maker_const(g, "alone", 2);
  hr_value_t assign = maker_2(g, "Assign", "assign", w, c), read = maker_1(g, "Identity", "read", w);
  hr_value_t product = on(maker_2(g, "Mul", "product", x, read), "/cpu:1"), shape = maker_1(g, "Shape", "shape", product);
  hr_value_t fetch[] = {assign, shape, alone, on(maker_1(g, "Neg", "short", product), "/job:ps")};
  hr_program_t p = maker_program(g, 1, &x, 4, fetch, NULL);
  HR_CHECK_OK(place(&p, set, false));
  CHECK_ON(&p, "w", PS1);
  CHECK_ON(&p, "assign", PS1);  /* with the variable it writes */
  CHECK_ON(&p, "c", PS1);       /* with its only reader */
  CHECK_ON(&p, "read", WORKER0); /* reads a value: free */
  CHECK_ON(&p, "product", WORKER1);
  CHECK_ON(&p, "shape", WORKER1);
  CHECK_ON(&p, "alone", WORKER0);
  CHECK_ON(&p, "short", PS0);
  HR_CHECK_EQ_I64(hr_place_of(&p, p.feeds[0].node), 0);
  hr_program_deinit(&p);
  hr_graph_destroy(g);
  hr_device_set_release(set);
}

static hr_value_t colocated(hr_graph_t* g, const char* op, const char* name, hr_value_t in, const char* with) {
  const hr_str_t class = hr_str(with);
  const hr_named_attr_t at = hr_at("_class", HR_AT_LIST(HR_ATTR_STRING, ss, &class, 1));
  return maker_node(g, op, name, 1, &in, 1, &at);
}

HR_TEST(colocation_also_with_what_this_run_does_not_need) {
  hr_device_set_t* set = cluster();
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, NULL);
  on(maker_1(g, "Exp", "pruned", x), PS1);
  colocated(g, "Tanh", "chain", x, "loc:@pruned");
  hr_value_t a = colocated(g, "Neg", "a", x, "loc:@pruned"), b = colocated(g, "Abs", "b", a, "loc:@a"),
             d = colocated(g, "Sin", "d", x, "loc:@chain");
  hr_value_t fetch[] = {b, d};
  hr_program_t p = maker_program(g, 1, &x, 2, fetch, NULL);
  HR_CHECK_OK(place(&p, set, false));
  CHECK_ON(&p, "a", PS1);
  CHECK_ON(&p, "b", PS1);
  CHECK_ON(&p, "d", PS1);
  hr_program_deinit(&p);
  hr_value_t bad = on(colocated(g, "Neg", "bad", x, "loc:@a"), "/job:worker");
  hr_value_t fetch_bad[] = {bad, a};
  p = maker_program(g, 1, &x, 2, fetch_bad, NULL);
  HR_CHECK_CODE(place(&p, set, false), HR_INVALID_ARGUMENT, "");
  hr_program_deinit(&p);
  hr_value_t lost = colocated(g, "Neg", "lost", x, "loc:@nobody");
  p = maker_program(g, 1, &x, 1, &lost, NULL);
  HR_CHECK_CODE(place(&p, set, false), HR_INVALID_ARGUMENT, "");
  hr_program_deinit(&p);
  hr_graph_destroy(g);
  hr_device_set_release(set);
}

static void check_refused(hr_program_t* p, hr_device_set_t* set, bool soft, const char* part) {
  hr_status_t status = place(p, set, soft);
  HR_CHECK(status && hr_status_code(status) == HR_INVALID_ARGUMENT);
  if (status && !strstr(hr_status_message(status), part)) printf("message: %s\n", hr_status_message(status));
  HR_CHECK(status && strstr(hr_status_message(status), part));
  HR_CHECK(status && strstr(hr_status_message(status), "Cannot assign a device for operation 'y'"));
  hr_status_release(status);
}

HR_TEST(what_is_not_there_is_refused_or_dropped) {
  hr_device_set_t* set = cluster();
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, NULL), y = on(maker_1(g, "Neg", "y", x), "/job:ps/task:1/gpu:0");
  hr_program_t p = maker_program(g, 1, &x, 1, &y, NULL);
  check_refused(&p, set, false, "available devices are [ " WORKER0 ", ");
  HR_CHECK_OK(place(&p, set, true));
  CHECK_ON(&p, "y", PS1);
  hr_program_deinit(&p);
  on(y, "/job:nowhere/cpu:0");
  p = maker_program(g, 1, &x, 1, &y, NULL);
  check_refused(&p, set, true, "explicitly assigned to /job:nowhere/cpu:0");
  hr_program_deinit(&p);
  on(y, "/job:ps/task:1/gpu:0:");
  p = maker_program(g, 1, &x, 1, &y, NULL);
  HR_CHECK_CODE(place(&p, set, true), HR_INVALID_ARGUMENT, "");
  hr_program_deinit(&p);
  hr_graph_destroy(g);
  hr_device_set_release(set);
}

HR_TEST(devices_that_are_there_are_named_up_to_sixteen) {
  for (int count = 15; count <= 18; ++count) {
    hr_device_set_t* set = NULL;
    char last[100];
    maker_must(hr_device_set_create(&set), "a set");
    maker_must(hr_device_set_add_cpus(set, HR_STR("/job:worker/replica:0/task:0"), count, 7), "CPUs");
    hr_graph_t* g = maker_graph();
    hr_value_t x = maker_placeholder(g, "x", HR_F32, NULL), y = on(maker_1(g, "Neg", "y", x), "/job:ps/task:1");
    hr_program_t p = maker_program(g, 1, &x, 1, &y, NULL);
    if (count <= 16) snprintf(last, sizeof last, "/device:CPU:%d ];", count - 1);
    else snprintf(last, sizeof last, "/device:CPU:15, and %d more ];", count - 16);
    check_refused(&p, set, false, last);
    check_refused(&p, set, false, "[ " WORKER0 ", " WORKER1 ", ");
    hr_program_deinit(&p);
    hr_graph_destroy(g);
    hr_device_set_release(set);
  }
}

HR_TEST(stateful_nodes_stay_where_they_were) {
  hr_device_set_t* set = cluster();
  hr_graph_t* g = maker_graph();
  hr_place_memory_t* memory = NULL;
  HR_CHECK_OK(hr_place_memory_create(&memory));
  hr_value_t w = maker_variable(g, "w", &hr_pshape_unknown), c = maker_const(g, "c", 1);
  hr_value_t here = on(maker_2(g, "Assign", "here", w, c), PS0), plain = maker_2(g, "AssignAdd", "plain", w, c);
  const hr_placing_t how = {.devices = set, .memory = memory};
  hr_program_t p = maker_program(g, 0, NULL, 1, &here, NULL);
  HR_CHECK_OK(hr_place_program(&p, &how));
  CHECK_ON(&p, "w", PS0);
  hr_program_deinit(&p);
  p = maker_program(g, 0, NULL, 1, &plain, NULL);
  HR_CHECK_OK(hr_place_program(&p, &how));
  CHECK_ON(&p, "w", PS0);
  CHECK_ON(&p, "plain", PS0);
  hr_program_deinit(&p);
  hr_place_memory_destroy(memory);
  hr_graph_destroy(g);
  hr_device_set_release(set);
}

/* The first run only reads; the graph also has an update that asks for a server, and one that writes a second variable with it. */
HR_TEST(state_lies_where_later_runs_want_it) {
  hr_device_set_t* set = cluster();
  hr_graph_t* g = maker_graph();
  hr_place_memory_t* memory = NULL;
  HR_CHECK_OK(hr_place_memory_create(&memory));
  hr_value_t w = maker_handle(g, "w", &hr_pshape_scalar), m = maker_handle(g, "m", &hr_pshape_scalar), lr = maker_const(g, "lr", 1);
  hr_value_t read = maker_read(g, "read", w);
  hr_value_t in[] = {w, m, lr, lr, lr};
  const hr_named_attr_t type = hr_at_type("T", HR_F32);
  on(maker_node(g, "ResourceApplyMomentum", "apply", 5, in, 1, &type), PS1);
  const hr_placing_t how = {.devices = set, .memory = memory};
  hr_program_t p = maker_program(g, 0, NULL, 1, &read, NULL);
  HR_CHECK_OK(hr_place_program(&p, &how));
  CHECK_ON(&p, "w", PS1);
  CHECK_ON(&p, "read", PS1);
  hr_program_deinit(&p);
  hr_value_t read_m = maker_read(g, "read_m", m);
  p = maker_program(g, 0, NULL, 1, &read_m, NULL);
  HR_CHECK_OK(hr_place_program(&p, &how));
  CHECK_ON(&p, "m", PS1);
  hr_program_deinit(&p);
  hr_place_memory_destroy(memory);
  hr_graph_destroy(g);
  hr_device_set_release(set);
}

HR_TEST(sets_of_devices) {
  hr_device_set_t* set = cluster();
  HR_CHECK_EQ_I64(hr_device_set_find(set, HR_STR(PS0)), 2);
  HR_CHECK_EQ_I64(hr_device_set_find(set, HR_STR("/job:ps")), -1);
  HR_CHECK(hr_device_same_task(set->devices[0], set->devices[1]) && !hr_device_same_task(set->devices[2], set->devices[3]));
  HR_CHECK_CODE(hr_device_set_add(set, HR_STR("/job:ps/task:0/cpu:0"), 1, 0, true), HR_INVALID_ARGUMENT, "");
  HR_CHECK_CODE(hr_device_set_add_cpus(set, HR_STR("/job:ps/replica:0/task:0"), -1, 1), HR_INVALID_ARGUMENT, "");
  HR_CHECK(hr_device_new_incarnation() != hr_device_new_incarnation());
  hr_device_set_release(set);
}
HR_TEST_MAIN()
