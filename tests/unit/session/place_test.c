/* SPDX-License-Identifier: Apache-2.0 */
/* Where nodes are put: requests whole and in part, groups, neighbours, soft placement, what is refused and why, what a session remembers.
 */
#define HR_TEST_LEAKS_CHECKED
#include "session/place.h"
#include "session/place_groups.h"
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

/* --- what a group asks for ------------------------------------------------------------------------------------------------------------ */

static hr_value_t with(hr_graph_t* g, const char* name, hr_value_t in, const char* other, const char* device) {
  char entry[64];
  snprintf(entry, sizeof entry, "loc:@%s", other);
  return on(colocated(g, "Neg", name, in, entry), device);
}

/* a, b with a, c with b: where all three lie when they ask for these; "" : refused. */
HR_TEST(requests_of_a_group_are_merged_part_by_part) {
  static const struct { const char* wishes[3]; bool soft; const char* where; } rows[] = {
      {{"", "", ""}, false, WORKER0},
      {{"/job:ps", "/task:1", ""}, false, PS1},
      {{"/task:1", "", "/job:ps"}, false, PS1},
      {{"/job:ps/task:1", "/job:ps", "/task:1/cpu:0"}, false, PS1},
      {{"/cpu:1", "/job:worker", ""}, false, WORKER1},
      {{"/replica:0", "/cpu:1", "/device:CPU:*"}, false, WORKER1},
      {{"/job:ps", "/job:worker", ""}, false, ""},
      {{"/job:ps/task:0", "/job:ps/task:1", ""}, false, ""},
      {{"", "/replica:0", "/replica:1"}, false, ""},
      {{"/cpu:0", "/cpu:1", ""}, false, ""},
      {{"/cpu:0", "/cpu:1", ""}, true, WORKER0},        /* soft: numbers and types that disagree are dropped, */
      {{"/job:ps/cpu:0", "/gpu:0", ""}, true, PS0},
      {{"/job:ps", "/job:worker", ""}, true, ""},       /* places are not */
      {{"/job:ps/task:0", "", "/job:ps/task:1"}, true, ""},
  };
  hr_device_set_t* set = cluster();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_graph_t* g = maker_graph();
    hr_value_t x = maker_placeholder(g, "x", HR_F32, NULL), a = on(maker_1(g, "Neg", "a", x), rows[i].wishes[0]),
               b = with(g, "b", x, "a", rows[i].wishes[1]), c = with(g, "c", x, "b", rows[i].wishes[2]), fetch[] = {a, b, c};
    hr_program_t p = maker_program(g, 1, &x, 3, fetch, NULL);
    hr_status_t status = place(&p, set, rows[i].soft);
    bool good = *rows[i].where ? !status : hr_status_code(status) == HR_INVALID_ARGUMENT;
    static const char* const names[] = {"a", "b", "c"};
    for (int n = 0; good && !status && n < 3; ++n) good = !strcmp(device_of(&p, names[n]), rows[i].where);
    if (!HR_CHECK(good)) printf("  row %d: %s, %s\n", (int)i, hr_status_message(status), status ? "" : device_of(&p, "b"));
    hr_status_release(status);
    hr_program_deinit(&p);
    hr_graph_destroy(g);
  }
  hr_device_set_release(set);
}

HR_TEST(who_asked_for_what_is_said) {
  hr_device_set_t* set = cluster();
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, NULL), first = maker_1(g, "Neg", "first", x), a = with(g, "a", x, "first",
             "/job:worker"),
             b = maker_1(g, "Abs", "b", x), c = with(g, "c", x, "b", "/job:ps"), both = colocated(g, "Sin", "both", x, "loc:@a");
  const hr_str_t class[] = {HR_STR("loc:@a"), HR_STR("loc:@b")};
  const hr_named_attr_t at = hr_at("_class", HR_AT_LIST(HR_ATTR_STRING, ss, class, 2));
  hr_value_t two = maker_node(g, "Neg", "two", 1, &x, 1, &at), fetch[] = {first, a, b, c, both, two};
  hr_program_t p = maker_program(g, 1, &x, 6, fetch, NULL);
  HR_CHECK_CODE(place(&p, set, false), HR_INVALID_ARGUMENT,
                "Cannot assign a device for operation 'two': colocation puts 'a', which was explicitly assigned to /job:worker, together "
                "with 'c', which was explicitly assigned to /job:ps");
  hr_program_deinit(&p);
  hr_graph_destroy(g);
  hr_device_set_release(set);
}

HR_TEST(nodes_that_this_run_does_not_need_tie_others_together) {
  hr_device_set_t* set = cluster();
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, NULL);
  maker_1(g, "Exp", "pruned", x);
  hr_value_t a = with(g, "a", x, "pruned", ""), b = with(g, "b", x, "pruned", "/job:ps/task:1"), fetch[] = {a, b};
  hr_program_t p = maker_program(g, 1, &x, 2, fetch, NULL);
  HR_CHECK_OK(place(&p, set, false));
  CHECK_ON(&p, "a", PS1);
  hr_program_deinit(&p);
  on(maker_1(g, "Exp", "ps", x), "/job:ps");
  hr_value_t bad = with(g, "bad", x, "ps", "/job:worker");
  p = maker_program(g, 1, &x, 1, &bad, NULL);
  HR_CHECK_CODE(place(&p, set, false), HR_INVALID_ARGUMENT,
                "operation 'bad': it asks for /job:worker, but is colocated with 'ps', which asks for /job:ps");
  hr_program_deinit(&p);
  hr_value_t full = with(g, "full", x, "nobody", PS1), part = with(g, "part", x, "nobody", "/job:ps");
  p = maker_program(g, 1, &x, 1, &full, NULL); /* it needs nobody's advice */
  HR_CHECK_OK(place(&p, set, false));
  CHECK_ON(&p, "full", PS1);
  hr_program_deinit(&p);
  p = maker_program(g, 1, &x, 1, &part, NULL);
  HR_CHECK_CODE(place(&p, set, false), HR_INVALID_ARGUMENT, "node 'part' expects to be colocated with unknown node 'nobody'");
  hr_program_deinit(&p);
  hr_value_t self = with(g, "self", x, "self", "/job:ps"), other = on(colocated(g, "Neg", "other", x, "at:self"), "");
  hr_value_t plain[] = {self, other};
  p = maker_program(g, 1, &x, 2, plain, NULL);
  HR_CHECK_OK(place(&p, set, false));
  CHECK_ON(&p, "self", PS0);
  CHECK_ON(&p, "other", WORKER0); /* no colocation */
  hr_program_deinit(&p);
  hr_graph_destroy(g);
  hr_device_set_release(set);
}

/* --- neighbours ----------------------------------------------------------------------------------------------------------------------- */

HR_TEST(shapes_go_with_their_input_and_constants_with_their_readers) {
  hr_device_set_t* set = cluster();
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, NULL), y = on(maker_1(g, "Neg", "y", x), PS1), z = on(maker_1(g, "Exp", "z", x), PS0);
  hr_value_t size = maker_1(g, "Size", "size", y), rank = maker_1(g, "Rank", "rank", y), asked = on(maker_1(g, "Shape", "asked", y), PS0),
             fed = maker_1(g, "Shape", "fed", x), plain = maker_1(g, "Abs", "plain", y);
  hr_value_t one = maker_const(g, "one", 1), mixed = maker_const(g, "mixed", 2), held = on(maker_const(g, "held", 3), PS0),
             waited = maker_const(g, "waited", 4), both = maker_const(g, "both", 5);
  hr_value_t in_one = on(maker_2(g, "Mul", "r1", y, one), PS1), in_one_too = on(maker_2(g, "Sub", "r2", y, one), PS1),
             m1 = on(maker_2(g, "Mul", "m1", y, mixed), PS1), m2 = on(maker_2(g, "Mul", "m2", z, mixed), PS0),
             h = on(maker_2(g, "Mul", "h", y, held), PS1), w = on(maker_1(g, "Sin", "w", z), PS0), b = on(maker_2(g, "Mul", "b", y, both),
                 PS1);
  maker_wait(g, w, waited);
  maker_wait(g, w, both);
  hr_value_t fetch[] = {size, rank, asked, fed, plain, in_one, in_one_too, m1, m2, h, w, b};
  hr_program_t p = maker_program(g, 1, &x, 12, fetch, NULL);
  HR_CHECK_OK(place(&p, set, false));
  CHECK_ON(&p, "size", PS1);
  CHECK_ON(&p, "rank", PS1);
  CHECK_ON(&p, "asked", PS0);
  CHECK_ON(&p, "fed", WORKER0);
  CHECK_ON(&p, "plain", WORKER0); /* other ops do not */
  CHECK_ON(&p, "one", PS1);
  CHECK_ON(&p, "mixed", WORKER0); /* its readers differ */
  CHECK_ON(&p, "held", PS0);
  CHECK_ON(&p, "waited", PS0); /* who waits counts like who reads */
  CHECK_ON(&p, "both", WORKER0);
  hr_program_deinit(&p);
  hr_graph_destroy(g);
  hr_device_set_release(set);
}

HR_TEST(alone_on_the_cpu_only_requests_are_looked_at) {
  hr_device_set_t* set = NULL;
  maker_must(hr_device_set_create(&set), "a set");
  maker_must(hr_device_set_add_cpus(set, HR_STR(HR_DEVICE_LOCAL_TASK), 1, 1), "a CPU");
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, NULL), y = maker_1(g, "Neg", "y", x), z = on(maker_1(g, "Exp", "z", y), "/cpu:0");
  static const struct { const char* wish; bool soft, placed; } rows[] = {
      {"", false, true}, {"/cpu:0", false, true}, {"/cpu:1", false, false}, {"/cpu:1", true, true}, {"/gpu:0", false, false},
      {"/job:ps", true, false}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    on(y, rows[i].wish);
    hr_program_t p = maker_program(g, 1, &x, 1, &z, NULL);
    hr_status_t status = place(&p, set, rows[i].soft);
    if (!HR_CHECK_EQ_I64(status == NULL, rows[i].placed)) printf("  row %d\n", (int)i);
    if (!status) CHECK_ON(&p, "y", HR_DEVICE_LOCAL_TASK "/device:CPU:0");
    hr_status_release(status);
    hr_program_deinit(&p);
  }
  hr_graph_destroy(g);
  hr_device_set_release(set);
}

HR_TEST(of_other_tasks_devices_only_cpus_take_what_does_not_ask_for_them) {
  hr_device_set_t* set = NULL;
  maker_must(hr_device_set_create(&set), "a set");
  maker_must(hr_device_set_add(set, HR_STR(WORKER0), 7, 0, false), "a CPU");
  maker_must(hr_device_set_add(set, HR_STR("/job:ps/replica:0/task:0/device:GPU:0"), 8, 0, true), "a GPU");
  maker_must(hr_device_set_add(set, HR_STR(PS0), 9, 0, true), "a CPU");
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, NULL), a = on(maker_1(g, "Neg", "a", x), "/job:ps"), b = on(maker_1(g, "Neg", "b", x),
             "/gpu:0"),
             c = on(maker_1(g, "Neg", "c", x), "/job:ps/device:*:0"), fetch[] = {a, b, c};
  hr_program_t p = maker_program(g, 1, &x, 3, fetch, NULL);
  HR_CHECK_OK(place(&p, set, false));
  CHECK_ON(&p, "a", PS0);
  CHECK_ON(&p, "b", "/job:ps/replica:0/task:0/device:GPU:0");
  CHECK_ON(&p, "c", PS0);
  hr_program_deinit(&p);
  hr_graph_destroy(g);
  hr_device_set_release(set);
}

/* --- what a session remembers --------------------------------------------------------------------------------------------------------- */

HR_TEST(only_state_is_remembered_and_the_first_place_stays) {
  hr_device_set_t* set = cluster();
  hr_graph_t* g = maker_graph();
  hr_place_memory_t* memory = NULL;
  HR_CHECK_OK(hr_place_memory_create(&memory));
  hr_value_t h = maker_handle(g, "h", &hr_pshape_scalar), value = maker_const(g, "value", 1), set_h = maker_2(g, "AssignVariableOp",
             "set", h, value),
             plain = on(maker_1(g, "Neg", "plain", value), PS0);
  const hr_placing_t how = {.devices = set, .memory = memory};
  on(h, PS1);
  hr_program_t p = maker_program(g, 0, NULL, 1, &plain, set_h.node);
  HR_CHECK_OK(hr_place_program(&p, &how));
  CHECK_ON(&p, "h", PS1);
  CHECK_ON(&p, "set", PS1);
  hr_program_deinit(&p);
  HR_CHECK_EQ_I64(hr_place_memory_find(memory, HR_STR("h")), 3);
  HR_CHECK_EQ_I64(hr_place_memory_find(memory, HR_STR("plain")), -1);
  HR_CHECK_EQ_I64(hr_place_memory_find(memory, HR_STR("")), -1);
  on(h, WORKER1), on(plain, WORKER1);
  p = maker_program(g, 0, NULL, 1, &plain, set_h.node);
  HR_CHECK_OK(hr_place_program(&p, &how));
  CHECK_ON(&p, "h", PS1); /* it is there */
  CHECK_ON(&p, "set", PS1);
  CHECK_ON(&p, "plain", WORKER1);
  hr_program_deinit(&p);
  const hr_placing_t forgets = {.devices = set};
  p = maker_program(g, 0, NULL, 1, &plain, set_h.node);
  HR_CHECK_OK(hr_place_program(&p, &forgets));
  CHECK_ON(&p, "h", WORKER1);
  hr_program_deinit(&p);
  hr_place_memory_destroy(memory);
  hr_graph_destroy(g);
  hr_device_set_release(set);
}
/* Wherever state was placed first, device 0 too, there it stays, with what lies with it, though the next run asks for another place. */
HR_TEST(the_first_place_stays_wherever_it_is) {
  static const char* const places[] = {WORKER0, WORKER1, PS0, PS1};
  hr_device_set_t* set = cluster();
  for (int first = 0; first < 4; ++first)
    for (int then = 0; then < 4; ++then) {
      hr_graph_t* g = maker_graph();
      hr_place_memory_t* memory = NULL;
      HR_CHECK_OK(hr_place_memory_create(&memory));
      hr_value_t h = maker_handle(g, "h", &hr_pshape_scalar), value = maker_const(g, "value", 1),
                 set_h = maker_2(g, "AssignVariableOp", "set", h, value), v = maker_variable(g, "v", &hr_pshape_scalar),
                 add = maker_2(g, "AssignAdd", "add", v, value), read = maker_1(g, "Neg", "read", v), fetch[] = {read, add};
      const hr_placing_t how = {.devices = set, .memory = memory};
      on(h, places[first]), on(v, places[first]);
      for (int run = 0; run < 2; ++run) {
        hr_program_t p = maker_program(g, 0, NULL, run + 1, fetch, set_h.node); /* add is met in the second alone */
        HR_CHECK_OK(hr_place_program(&p, &how));
        static const char* const names[] = {"h", "set", "v", "add"};
        for (int i = 0; i < 3 + run; ++i) CHECK_ON(&p, names[i], places[first]);
        hr_program_deinit(&p);
        on(h, places[then]), on(v, places[then]), on(add, places[then]);
      }
      HR_CHECK_EQ_I64(hr_place_memory_find(memory, HR_STR("h")), first);
      hr_place_memory_destroy(memory);
      hr_graph_destroy(g);
    }
  hr_device_set_release(set);
}
HR_TEST_MAIN()
