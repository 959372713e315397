/* SPDX-License-Identifier: Apache-2.0 */
/* Whole C programs with their first, second, third... allocation failing, alone or with all after it: every call answers, nothing crashes,
 * and what had not failed is right. */
#include "base/alloc.h"
#include "help.h"

/* Runs y(x = 3) in a session of these options and frees all; whether it came to the end, and then with `want`. */
static bool memory_run(TF_Graph* g, const TF_SessionOptions* o, TF_Output x, TF_Output y, float want, TF_Status* s) {
  bool done = false;
  TF_Session* session = TF_GetCode(s) == TF_OK ? TF_NewSession(g, o, s) : NULL;
  TF_Tensor* three = help_float(3);
  if (session && three) {
    TF_Tensor* out = NULL;
    TF_SessionRun(session, NULL, &x, &three, 1, &y, &out, 1, NULL, 0, NULL, s);
    done = TF_GetCode(s) == TF_OK;
    CHECK(done == (out != NULL));
    if (done) CHECK_NEAR(*(float*)TF_TensorData(out), want, 0);
    TF_DeleteTensor(out);
  }
  TF_DeleteTensor(three);
  if (session) TF_DeleteSession(session, s);
  return done;
}

static bool memory_ok(TF_Status* s) { return TF_GetCode(s) == TF_OK; }

static bool memory_gradient(TF_Graph* g, TF_Status* s) {
  TF_Output x = help_placeholder(g, "x", TF_FLOAT, s), dx = {NULL, -1};
  TF_Output y = memory_ok(s) ? help_unary(g, "Square", "y", x, s) : x;
  if (memory_ok(s)) TF_AddGradients(g, &y, 1, &x, 1, NULL, s, &dx);
  return memory_ok(s) && memory_run(g, NULL, x, dx, 6, s);
}

/* while (p < 100) p = p * x, with p = x; its gradient: p is x^5. */
static bool memory_loop(TF_Graph* g, TF_Status* s) {
  TF_Output x = help_placeholder(g, "x", TF_FLOAT, s), ends[2] = {{NULL, 0}}, dx = {NULL, -1};
  if (!memory_ok(s)) return false;
  TF_WhileParams p = TF_NewWhile(g, (TF_Output[]){x, x}, 2, s);
  if (!memory_ok(s)) return false;
  TF_Output limit = help_const(p.cond_graph, "limit", help_float(100), s);
  if (memory_ok(s)) p.cond_output = help_binary(p.cond_graph, "Less", "more", p.cond_inputs[0], limit, s);
  if (memory_ok(s)) p.body_outputs[0] = help_binary(p.body_graph, "Mul", "next", p.body_inputs[0], p.body_inputs[1], s);
  p.body_outputs[1] = p.body_inputs[1];
  p.name = "loop";
  if (!memory_ok(s)) {
    TF_AbortWhile(&p);
    return false;
  }
  TF_FinishWhile(&p, s, ends);
  if (memory_ok(s)) TF_AddGradients(g, ends, 1, &x, 1, NULL, s, &dx);
  return memory_ok(s) && memory_run(g, NULL, x, dx, 5 * 81, s);
}

/* x > 0 ? x * x : x */
static bool memory_branch(TF_Graph* g, TF_Status* s) {
  TF_Output x = help_placeholder(g, "x", TF_FLOAT, s), zero = x, more = x, fork = x, square = x, y = x;
  if (memory_ok(s)) zero = help_const(g, "zero", help_float(0), s);
  if (memory_ok(s)) more = help_binary(g, "Greater", "more", x, zero, s);
  if (memory_ok(s)) fork = help_binary(g, "Switch", "fork", x, more, s);
  const TF_Output yes = {fork.oper, 1};
  if (memory_ok(s)) square = help_binary(g, "Mul", "square", yes, yes, s);
  if (memory_ok(s)) {
    TF_OperationDescription* d = TF_NewOperation(g, "Merge", "y");
    TF_AddInputList(d, (TF_Output[]){fork, square}, 2);
    y = (TF_Output){TF_FinishOperation(d, s), 0};
  }
  return memory_ok(s) && memory_run(g, NULL, x, y, 9, s);
}

static bool memory_call(TF_Graph* g, TF_Status* s) {
  TF_Graph* inner = TF_NewGraph();
  if (!inner) return false;
  TF_Output a = help_placeholder(inner, "a", TF_FLOAT, s), b = a, x = a, y = a;
  if (memory_ok(s)) b = help_unary(inner, "Square", "b", a, s);
  TF_Function* f = memory_ok(s) ? TF_GraphToFunction(inner, "f", 0, -1, NULL, 1, &a, 1, &b, NULL, NULL, NULL, s) : NULL;
  TF_DeleteGraph(inner);
  if (memory_ok(s)) TF_GraphCopyFunction(g, f, NULL, s);
  TF_DeleteFunction(f);
  if (memory_ok(s)) x = help_placeholder(g, "x", TF_FLOAT, s);
  if (memory_ok(s)) {
    const TF_DataType type = TF_FLOAT;
    TF_OperationDescription* d = TF_NewOperation(g, "PartitionedCall", "y");
    TF_AddInputList(d, &x, 1);
    TF_SetAttrTypeList(d, "Tout", &type, 1);
    TF_SetAttrFuncName(d, "f", "f", 1);
    y = (TF_Output){TF_FinishOperation(d, s), 0};
  }
  return memory_ok(s) && memory_run(g, NULL, x, y, 9, s);
}

/* x goes from device to device, a square at each. */
static bool memory_devices(TF_Graph* g, TF_Status* s) {
  static const char config[] = "\x0a\x07\x0a\x03" "CPU\x10\x04"; /* ConfigProto.device_count */
  TF_Output x = help_placeholder(g, "x", TF_FLOAT, s), y = x;
  for (int i = 0; i < 4 && memory_ok(s); ++i) {
    char name[16], device[16];
    snprintf(name, sizeof name, "y%d", i);
    snprintf(device, sizeof device, "/cpu:%d", 3 - i);
    TF_OperationDescription* d = TF_NewOperation(g, "Square", name);
    TF_SetDevice(d, device);
    TF_AddInput(d, y);
    y = (TF_Output){TF_FinishOperation(d, s), 0};
  }
  TF_SessionOptions* o = memory_ok(s) ? TF_NewSessionOptions() : NULL;
  if (o) TF_SetConfig(o, config, sizeof config - 1, s);
  const bool done = o && memory_ok(s) && memory_run(g, o, x, y, 43046721.0f, s);
  TF_DeleteSessionOptions(o);
  return done;
}

/* A server of one task, in this process, and a session at it. */
static bool memory_cluster(TF_Graph* g, TF_Status* s) {
  static const char def[] = "\x0a\x1a\x0a\x18\x0a\x05local\x12\x0f\x08\x00\x12\x0blocalhost:0\x12\x05local\x2a\x06inproc";
  TF_Server* server = TF_NewServer(def, sizeof def - 1, s);
  bool done = false;
  if (server && memory_ok(s)) TF_ServerStart(server, s);
  if (server && memory_ok(s)) {
    char target[80];
    snprintf(target, sizeof target, "inproc%s", strstr(TF_ServerTarget(server), "://"));
    TF_Output x = help_placeholder(g, "x", TF_FLOAT, s), y = memory_ok(s) ? help_unary(g, "Square", "y", x, s) : x;
    TF_SessionOptions* o = memory_ok(s) ? TF_NewSessionOptions() : NULL;
    if (o) TF_SetTarget(o, target);
    done = o && memory_run(g, o, x, y, 9, s);
    TF_DeleteSessionOptions(o);
  }
  TF_DeleteServer(server);
  return done;
}

static bool memory_program(bool (*part)(TF_Graph* g, TF_Status* s)) {
  TF_Status* s = TF_NewStatus();
  TF_Graph* g = TF_NewGraph();
  const bool done = s && g && part(g, s);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
  return done;
}

static void memory_fail_each(bool (*part)(TF_Graph* g, TF_Status* s)) {
  CHECK(memory_program(part)); /* what is made once is made */
  for (int persistent = 0; persistent < 2; ++persistent) { /* one allocation; it and all later ones */
    bool done = false;
    int64_t n = 1;
    for (; !done && n < 5000; ++n) {
      hr_alloc_fail_at(n, persistent);
      memory_program(part);
      done = !hr_alloc_has_failed();
      hr_alloc_fail_at(0, false);
    }
    CHECK(done && n > 20);
  }
  CHECK(memory_program(part)); /* nothing is left behind */
}

TEST(every_allocation_fails_once) { memory_fail_each(memory_gradient); }
TEST(every_allocation_of_a_loop_fails_once) { memory_fail_each(memory_loop); }
TEST(every_allocation_of_a_branch_fails_once) { memory_fail_each(memory_branch); }
TEST(every_allocation_of_a_call_fails_once) { memory_fail_each(memory_call); }
TEST(every_allocation_on_devices_fails_once) { memory_fail_each(memory_devices); }
TEST(every_allocation_in_a_cluster_fails_once) { memory_fail_each(memory_cluster); }
TEST_MAIN()
