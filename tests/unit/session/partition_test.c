/* SPDX-License-Identifier: Apache-2.0 */
/* The golden partition: s += w*x + b with the variables on a parameter server. Names, ends and edge numbers are those of a recorded
 * exchange between TensorFlow's master and workers (RegisterGraph and RecvTensor). Then what shares a transfer, control edges, references,
 * loops. */
#define HR_TEST_LEAKS_CHECKED
#include "session/partition.h"
#include "rt/rendezvous_key.h"
#include "unit/session/program_maker.h"

#define WORKER "/job:worker/replica:0/task:0/device:CPU:0"
#define PS "/job:ps/replica:0/task:0/device:CPU:0"
enum { WORKER_INCARNATION = 0x7a, PS_INCARNATION = 0x5b };

static hr_device_set_t* two_tasks(void) {
  hr_device_set_t* s = NULL;
  maker_must(hr_device_set_create(&s), "a set");
  maker_must(hr_device_set_add(s, HR_STR(WORKER), WORKER_INCARNATION, 0, false), "a worker");
  maker_must(hr_device_set_add(s, HR_STR(PS), PS_INCARNATION, 0, true), "a server");
  return s;
}

static hr_value_t on(hr_value_t v, const char* device) {
  v.node->device = hr_str(device);
  return v;
}

static void partition(hr_program_t* p, hr_device_set_t* set, hr_partition_t* out) {
  const hr_placing_t how = {.devices = set};
  maker_must(hr_place_program(p, &how), "places");
  maker_must(hr_program_finish(p), "an end");
  maker_must(hr_partition_program(p, set, HR_PARTITION_BY_TASK, "_S", NULL, out), "parts");
  maker_must(hr_graph_validate(p->graph), "a valid graph");
}

/* "name op <inputs> edge" of a part's node. */
static void print_node(const hr_node_t* n, hr_strbuf_t* b) {
  hr_strbuf_format(b, "%s %s", n->name.data, n->attrs.def->name.data);
  for (int32_t i = 0; i < n->input_count; ++i)
    hr_strbuf_format(b, n->inputs[i].index ? " %s:%d" : " %s", n->inputs[i].node->name.data, (int)n->inputs[i].index);
  for (int32_t i = 0; i < n->control_count; ++i) hr_strbuf_format(b, " ^%s", n->controls[i]->name.data);
  if (hr_attrs_find(&n->attrs, "tensor_name")) hr_strbuf_format(b, " [%.*s]", HR_STR_ARG(hr_attrs_str(&n->attrs, "tensor_name")));
  hr_strbuf_format(b, "\n");
}

static void check_part(const hr_part_t* part, const char* wanted) {
  hr_strbuf_t b;
  hr_strbuf_init(&b);
  for (int64_t i = 0; i < part->node_count; ++i) print_node(part->nodes[i], &b);
  HR_CHECK_VIEW(hr_strbuf_view(&b), wanted);
  hr_strbuf_deinit(&b);
}

static hr_value_t client_end(hr_graph_t* g, const char* op, const char* name, const char* tensor, hr_value_t* in) {
  const hr_named_attr_t at[] = {hr_at_type(in ? "T" : "tensor_type", HR_F32), hr_at_str("tensor_name", tensor),
                                hr_at_str("send_device", WORKER), hr_at_str("recv_device", WORKER),
                                hr_at_int("send_device_incarnation", WORKER_INCARNATION), hr_at_bool("client_terminated", true)};
  hr_node_desc_t d = {.op = hr_str(op), .name = hr_str(name), .inputs = in, .input_count = in ? 1 : 0, .attrs = at, .attr_count = 6,
                      .skip_shapes = true};
  hr_node_t* n = NULL;
  maker_must(hr_graph_add(g, &d, &n), name);
  return on((hr_value_t){n, 0}, WORKER);
}

HR_TEST(the_classic_figure) {
  hr_device_set_t* set = two_tasks();
  hr_graph_t* g = maker_graph();
  hr_value_t x = client_end(g, "_Recv", "_recv_x_0", "x:0", NULL);
  hr_value_t w = on(maker_variable(g, "w", &hr_pshape_unknown), PS), w_read = on(maker_1(g, "Identity", "w/read", w), PS);
  hr_value_t b = on(maker_variable(g, "b", &hr_pshape_unknown), PS), b_read = on(maker_1(g, "Identity", "b/read", b), PS);
  hr_value_t s = on(maker_variable(g, "s", &hr_pshape_unknown), PS), product = on(maker_2(g, "MatMul", "MatMul", w_read, x), WORKER);
  hr_value_t y = on(maker_2(g, "AddV2", "y", product, b_read), WORKER), step = on(maker_2(g, "AssignAdd", "step", s, y), PS);
  hr_value_t send = client_end(g, "_Send", "_send_step_0", "step:0", &step);
  hr_program_t p = maker_program(g, 0, NULL, 0, NULL, send.node);
  hr_partition_t parts;
  partition(&p, set, &parts);
  HR_CHECK_EQ_I64(parts.count, 2);
  check_part(&parts.parts[1],
             "w VariableV2\nw/read Identity w\nb VariableV2\nb/read Identity b\ns VariableV2\n"
             "w/read_S0 _Send w/read [edge_5_w/read]\nb/read_S2 _Send b/read [edge_7_b/read]\n"
             "step AssignAdd s y_S5\ny_S5 _Recv [edge_9_y]\nstep_S6 _Send step [edge_16_step]\n");
  check_part(&parts.parts[0],
             "_recv_x_0 _Recv [x:0]\nMatMul MatMul w/read_S1 _recv_x_0\nw/read_S1 _Recv [edge_5_w/read]\n"
             "y AddV2 MatMul b/read_S3\nb/read_S3 _Recv [edge_7_b/read]\ny_S4 _Send y [edge_9_y]\n"
             "_send_step_0 _Send step_S7 [step:0]\nstep_S7 _Recv [edge_16_step]\n");
  const hr_node_attrs_t* a = &parts.parts[1].nodes[5]->attrs; /* w/read_S0 */
  HR_CHECK_VIEW(hr_attrs_str(a, "send_device"), PS);
  HR_CHECK_VIEW(hr_attrs_str(a, "recv_device"), WORKER);
  HR_CHECK_VIEW(hr_attrs_str(a, "_src"), "w/read");
  HR_CHECK_VIEW(hr_attrs_str(a, "_dst"), "MatMul");
  HR_CHECK_EQ_I64(hr_attrs_int(a, "send_device_incarnation"), PS_INCARNATION);
  hr_program_deinit(&p);
  hr_graph_destroy(g);
  hr_device_set_release(set);
}

HR_TEST(readers_share_and_ends_are_told) {
  hr_device_set_t* set = two_tasks();
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, NULL), a = on(maker_1(g, "Neg", "a", x), WORKER);
  hr_value_t b = on(maker_1(g, "Exp", "b", a), PS), c = on(maker_2(g, "Mul", "c", a, b), PS), d = on(maker_1(g, "Abs", "d", c), PS);
  maker_wait(g, c, a);
  maker_wait(g, d, a);
  hr_program_t p = maker_program(g, 1, &x, 1, &d, NULL);
  hr_partition_t parts;
  partition(&p, set, &parts);
  check_part(&parts.parts[0], "_arg_x_0_0 _Arg\na Neg _arg_x_0_0\na_S0 _Send a [edge_3_a]\na_S2 Const ^a\na_S3 _Send a_S2 [edge_6_a]\n");
  check_part(&parts.parts[1],
             "b Exp a_S1\na_S1 _Recv [edge_3_a]\nc Mul a_S1 b ^a_S5\na_S4 _Recv [edge_6_a]\na_S5 Identity a_S4\nd Abs c ^a_S5\n");
  HR_CHECK_EQ_I64(p.feeds[0].node->consumers.count, 1);
  hr_program_deinit(&p);
  hr_graph_destroy(g);
  hr_device_set_release(set);
}

HR_TEST(references_are_read_each_time_and_never_sent_as_such) {
  hr_device_set_t* set = two_tasks();
  hr_graph_t* g = maker_graph();
  hr_value_t w = on(maker_variable(g, "w", &hr_pshape_unknown), PS);
  hr_value_t a = on(maker_1(g, "Neg", "a", w), WORKER), b = on(maker_1(g, "Exp", "b", w), WORKER), c = maker_2(g, "Add", "c", a, b);
  hr_program_t p = maker_program(g, 0, NULL, 1, &c, NULL);
  hr_partition_t parts;
  partition(&p, set, &parts);
  HR_CHECK_EQ_I64(parts.parts[1].node_count, 3); /* the variable and two sends */
  hr_program_deinit(&p);
  hr_graph_destroy(g);
  hr_device_set_release(set);
}

static hr_value_t flow(hr_graph_t* g, const char* op, const char* name, hr_value_t a, hr_value_t b) {
  hr_value_t in[] = {a, b};
  const hr_named_attr_t at[] = {hr_at_str("frame_name", "while/while_context")};
  return maker_node(g, op, name, b.node ? 2 : 1, in, strcmp(op, "Enter") == 0 ? 1 : 0, at);
}

static hr_value_t merge(hr_graph_t* g, const char* name, hr_value_t a) {
  const hr_value_t in[] = {a, {NULL, 0}};
  const hr_named_attr_t at[] = {hr_at_type("T", HR_F32), hr_at_int("N", 2)};
  hr_node_desc_t d = {.op = HR_STR("Merge"), .name = hr_str(name), .inputs = in, .input_count = 2, .attrs = at, .attr_count = 2,
                      .allow_missing_inputs = true};
  hr_node_t* n = NULL;
  maker_must(hr_graph_add(g, &d, &n), name);
  return (hr_value_t){n, 0};
}

/* while x < 3: x = x + one, the sum on the other task. */
HR_TEST(a_loop_that_spans_tasks) {
  hr_device_set_t* set = two_tasks();
  hr_graph_t* g = maker_graph();
  const hr_value_t none = {NULL, 0};
  hr_value_t start = maker_const(g, "start", 0), limit = maker_const(g, "limit", 3);
  hr_value_t enter = flow(g, "Enter", "while/Enter", start, none), bound = flow(g, "Enter", "while/Bound", limit, none);
  hr_value_t m = merge(g, "while/Merge", enter), less = maker_2(g, "Less", "while/Less", m, bound);
  hr_value_t cond = maker_1(g, "LoopCond", "while/LoopCond", less), sw = flow(g, "Switch", "while/Switch", m, cond);
  hr_value_t body = on(maker_2(g, "AddV2", "while/Add", (hr_value_t){sw.node, 1}, (hr_value_t){sw.node, 1}), PS);
  hr_value_t next = flow(g, "NextIteration", "while/Next", body, none), out = flow(g, "Exit", "while/Exit", sw, none);
  maker_must(hr_graph_set_input(g, m.node, 1, next), "a back edge");
  hr_program_t p = maker_program(g, 0, NULL, 1, &out, NULL);
  hr_partition_t parts;
  partition(&p, set, &parts);
  HR_CHECK_EQ_I64(parts.count, 2);
  check_part(&parts.parts[1],
             "while/Add AddV2 while/Switch_S11 while/Switch_S11\nwhile/Switch_S11 _Recv ^_cloopwhile/Add_S1 [edge_11_while/Switch]\n"
             "while/Add_S12 _Send while/Add [edge_14_while/Add]\n"
             "_cloopwhile/Add_S0 Enter while/Add_S4\n_cloopwhile/Add_S1 Merge _cloopwhile/Add_S0 _cloopwhile/Add_S3\n"
             "_cloopwhile/Add_S2 Switch _cloopwhile/Add_S1 while/LoopCond_S15\n"
             "while/LoopCond_S15 _HostRecv ^_cloopwhile/Add_S1 [edge_21_while/LoopCond]\n"
             "_cloopwhile/Add_S3 NextIteration _cloopwhile/Add_S2:1\nwhile/Add_S4 Const\n");
  HR_CHECK(hr_place_of(&p, next.node) == 0);
  hr_program_deinit(&p);
  hr_graph_destroy(g);
  hr_device_set_release(set);
}
HR_TEST_MAIN()
