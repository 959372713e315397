/* SPDX-License-Identifier: Apache-2.0 */
/* Loops through the C API: built, run, differentiated, nested, given up, misused. */
#include "help.h"

typedef struct {
  TF_Graph* g;
  TF_Status* s;
  TF_Output in[3], out[3]; /* the counter, the product, the factor */
} loop_t;

static TF_Output scalar_int(TF_Graph* g, const char* name, int32_t value, TF_Status* s) {
  TF_Tensor* t = TF_AllocateTensor(TF_INT32, NULL, 0, sizeof value);
  *(int32_t*)TF_TensorData(t) = value;
  return help_const(g, name, t, s);
}

static void loop_start(loop_t* l) {
  l->g = TF_NewGraph();
  l->s = TF_NewStatus();
  l->in[0] = scalar_int(l->g, "zero", 0, l->s);
  l->in[1] = help_placeholder(l->g, "start", TF_FLOAT, l->s);
  l->in[2] = help_placeholder(l->g, "x", TF_FLOAT, l->s);
  CHECK_TF_OK(l->s);
}
static void loop_end(loop_t* l) {
  TF_DeleteGraph(l->g);
  TF_DeleteStatus(l->s);
}

/* while (i < times) { i = i + 1; product = product * x } */
static void loop_fill(TF_WhileParams* p, int32_t times, const char* name, TF_Status* s) {
  p->cond_output = help_binary(p->cond_graph, "Less", "more", p->cond_inputs[0], scalar_int(p->cond_graph, "times", times, s), s);
  p->body_outputs[0] = help_binary(p->body_graph, "Add", "next", p->body_inputs[0], scalar_int(p->body_graph, "one", 1, s), s);
  p->body_outputs[1] = help_binary(p->body_graph, "Mul", "times_x", p->body_inputs[1], p->body_inputs[2], s);
  p->body_outputs[2] = p->body_inputs[2];
  p->name = name;
}

static float loop_run(loop_t* l, float start, float x, TF_Output wanted) {
  TF_SessionOptions* o = TF_NewSessionOptions();
  TF_Session* session = TF_NewSession(l->g, o, l->s);
  TF_Output feeds[2] = {l->in[1], l->in[2]};
  TF_Tensor *values[2] = {help_float(start), help_float(x)}, *got = NULL;
  float result = NAN;
  TF_SessionRun(session, NULL, feeds, values, 2, &wanted, &got, 1, NULL, 0, NULL, l->s);
  if (CHECK_TF_OK(l->s)) result = *(float*)TF_TensorData(got);
  TF_DeleteTensor(got);
  TF_DeleteTensor(values[0]);
  TF_DeleteTensor(values[1]);
  TF_DeleteSession(session, l->s);
  TF_DeleteSessionOptions(o);
  return result;
}

TEST(a_loop_runs_and_has_a_gradient) {
  loop_t l;
  loop_start(&l);
  TF_WhileParams p = TF_NewWhile(l.g, l.in, 3, l.s);
  REQUIRE(CHECK_TF_OK(l.s) && CHECK_INT(p.ninputs, 3) && CHECK(p.name == NULL && p.cond_output.oper == NULL));
  loop_fill(&p, 4, "loop", l.s);
  TF_FinishWhile(&p, l.s, l.out);
  REQUIRE(CHECK_TF_OK(l.s));
  CHECK(TF_GraphOperationByName(l.g, "loop/merge0") != NULL && TF_GraphOperationByName(l.g, "loop/body/times_x") != NULL);
  CHECK_NEAR(loop_run(&l, 3, 2, l.out[1]), 48, 0);
  TF_Output d[2];
  TF_AddGradients(l.g, &l.out[1], 1, &l.in[1], 2, NULL, l.s, d);
  REQUIRE(CHECK_TF_OK(l.s));
  CHECK_NEAR(loop_run(&l, 3, 2, d[0]), 16, 0);   /* x^4 */
  CHECK_NEAR(loop_run(&l, 3, 2, d[1]), 96, 0);   /* 4 start x^3 */
  loop_end(&l);
}

TEST(a_loop_within_a_loop) {
  loop_t l;
  loop_start(&l);
  TF_WhileParams p = TF_NewWhile(l.g, l.in, 3, l.s);
  loop_fill(&p, 2, "outer", l.s);
  TF_Output inner_in[3] = {scalar_int(p.body_graph, "zero", 0, l.s), p.body_inputs[1], p.body_inputs[2]}, inner_out[3];
  TF_WhileParams q = TF_NewWhile(p.body_graph, inner_in, 3, l.s);
  loop_fill(&q, 3, "inner", l.s);
  TF_FinishWhile(&q, l.s, inner_out);
  REQUIRE(CHECK_TF_OK(l.s));
  p.body_outputs[1] = inner_out[1];
  TF_FinishWhile(&p, l.s, l.out);
  REQUIRE(CHECK_TF_OK(l.s));
  CHECK_NEAR(loop_run(&l, 1, 2, l.out[1]), 64, 0);
  TF_Output d;
  TF_AddGradients(l.g, &l.out[1], 1, &l.in[2], 1, NULL, l.s, &d);
  if (CHECK_TF_OK(l.s)) CHECK_NEAR(loop_run(&l, 1, 2, d), 192, 0); /* 6 x^5 */
  loop_end(&l);
}

/* Each way to finish a loop that is not complete: refused, and the graph is as it was. */
typedef enum { NO_NAME, BAD_NAME, NO_CONDITION, CONDITION_OF_INT, NO_BODY, BODY_OF_INT, BODY_OF_OTHER, MISUSES } misuse_t;
static const char* const misuse_says[MISUSES] = {"no name",         "no legal name", "cond_output", "must be bool",
                                                 "body_outputs[1]", "must be float", ""};

TEST(incomplete_loops_are_refused) {
  for (int m = 0; m < MISUSES; ++m) {
    loop_t l;
    loop_start(&l);
    TF_WhileParams p = TF_NewWhile(l.g, l.in, 3, l.s);
    loop_fill(&p, 2, m == NO_NAME ? NULL : m == BAD_NAME ? "a b" : "loop", l.s);
    if (m == NO_CONDITION) p.cond_output.oper = NULL;
    if (m == CONDITION_OF_INT) p.cond_output = p.cond_inputs[0];
    if (m == NO_BODY) p.body_outputs[1].oper = NULL;
    if (m == BODY_OF_INT) p.body_outputs[1] = p.body_inputs[0];
    if (m == BODY_OF_OTHER) p.body_outputs[1] = l.in[1];
    TF_FinishWhile(&p, l.s, l.out);
    CHECK_TF_CODE(l.s, TF_INVALID_ARGUMENT);
    CHECK_HAS(TF_Message(l.s), misuse_says[m]);
    CHECK(TF_GraphOperationByName(l.g, "loop/enter0") == NULL);
    loop_end(&l);
  }
}

TEST(a_loop_that_is_over_is_over) {
  for (int aborts = 0; aborts < 2; ++aborts) {
    loop_t l;
    loop_start(&l);
    TF_WhileParams p = TF_NewWhile(l.g, l.in, 3, l.s);
    loop_fill(&p, 2, "loop", l.s);
    if (aborts) TF_AbortWhile(&p);
    else TF_FinishWhile(&p, l.s, l.out);
    CHECK_TF_OK(l.s);
    TF_AbortWhile(&p);
    TF_FinishWhile(&p, l.s, l.out);
    CHECK_TF_CODE(l.s, TF_INVALID_ARGUMENT);
    CHECK_HAS(TF_Message(l.s), "not the params of a loop");
    loop_end(&l);
  }
}

TEST(loops_are_begun_with_something) {
  loop_t l;
  loop_start(&l);
  TF_Output none = {NULL, 0};
  TF_WhileParams p = TF_NewWhile(l.g, l.in, 0, l.s);
  CHECK_TF_CODE(l.s, TF_INVALID_ARGUMENT);
  CHECK(p.ninputs == 0 && p.cond_graph == NULL && p.body_graph == NULL);
  TF_FinishWhile(&p, l.s, l.out);
  CHECK_TF_CODE(l.s, TF_INVALID_ARGUMENT);
  TF_AbortWhile(&p);
  TF_NewWhile(l.g, &none, 1, l.s);
  CHECK_TF_CODE(l.s, TF_INVALID_ARGUMENT);
  TF_NewWhile(NULL, l.in, 1, l.s);
  CHECK_TF_CODE(l.s, TF_INVALID_ARGUMENT);
  TF_FinishWhile(NULL, l.s, l.out);
  CHECK_TF_CODE(l.s, TF_INVALID_ARGUMENT);
  TF_WhileParams q = TF_NewWhile(l.g, l.in, 3, l.s);
  CHECK_TF_OK(l.s);
  TF_AbortWhile(&q);
  TF_AbortWhile(NULL);
  loop_end(&l);
}

TEST(a_while_node_takes_more_variables) {
  loop_t l;
  loop_start(&l);
  TF_AddWhileInputHack(l.g, l.in[1], l.in[2].oper, l.s);
  CHECK_TF_CODE(l.s, TF_INTERNAL);
  TF_AddWhileInputHack(l.g, l.in[1], NULL, l.s);
  CHECK_TF_CODE(l.s, TF_INVALID_ARGUMENT);
  TF_OperationDescription* d = TF_NewOperation(l.g, "StatelessWhile", "w");
  TF_AddInputList(d, l.in, 2);
  TF_SetAttrFuncName(d, "cond", "c", 1);
  TF_SetAttrFuncName(d, "body", "b", 1);
  TF_Operation* w = TF_FinishOperation(d, l.s);
  REQUIRE(CHECK_TF_OK(l.s));
  TF_AddWhileInputHack(l.g, l.in[2], w, l.s);
  CHECK_TF_OK(l.s);
  CHECK(TF_OperationNumInputs(w) == 3 && TF_OperationNumOutputs(w) == 3);
  CHECK_INT(TF_OperationOutputType((TF_Output){w, 2}), TF_FLOAT);
  TF_DataType types[3];
  TF_OperationGetAttrTypeList(w, "T", types, 3, l.s);
  CHECK(CHECK_TF_OK(l.s) && types[0] == TF_INT32 && types[1] == TF_FLOAT && types[2] == TF_FLOAT);
  CHECK_INT(TF_OperationOutputNumConsumers(l.in[2]), 1);
  loop_end(&l);
}

TEST(two_loops_end_in_either_order) {
  for (int turned = 0; turned < 2; ++turned) {
    loop_t l;
    loop_start(&l);
    TF_WhileParams p[2] = {TF_NewWhile(l.g, l.in, 3, l.s), TF_NewWhile(l.g, l.in, 3, l.s)};
    loop_fill(&p[0], 2, "first", l.s);
    loop_fill(&p[1], 3, "second", l.s);
    TF_FinishWhile(&p[turned], l.s, l.out);
    CHECK_TF_OK(l.s);
    CHECK_NEAR(loop_run(&l, 1, 2, l.out[1]), turned ? 8 : 4, 0);
    TF_FinishWhile(&p[!turned], l.s, l.out);
    CHECK_TF_OK(l.s);
    CHECK_NEAR(loop_run(&l, 1, 2, l.out[1]), turned ? 4 : 8, 0);
    loop_end(&l);
  }
}

TEST(all_results_and_all_nodes_of_a_loop) {
  loop_t l;
  loop_start(&l);
  TF_WhileParams p = TF_NewWhile(l.g, l.in, 3, l.s);
  loop_fill(&p, 4, "loop", l.s);
  TF_FinishWhile(&p, l.s, l.out);
  REQUIRE(CHECK_TF_OK(l.s));
  static const char* const stems[] = {"enter", "merge", "switch", "next", "exit"};
  for (size_t i = 0; i < 15; ++i) {
    char name[32];
    snprintf(name, sizeof name, "loop/%s%d", stems[i / 3], (int)(i % 3));
    TF_Operation* op = TF_GraphOperationByName(l.g, name);
    if (!CHECK(op != NULL)) printf("%s\n", name);
    if (i / 3 == 4) CHECK(l.out[i % 3].oper == op);
  }
  CHECK(TF_GraphOperationByName(l.g, "loop/pivot") && TF_GraphOperationByName(l.g, "loop/LoopCond"));
  CHECK(TF_GraphOperationByName(l.g, "loop/cond/more") && TF_GraphOperationByName(l.g, "loop/cond/times"));
  CHECK_NEAR(loop_run(&l, 3, 2, l.out[2]), 2, 0);
  loop_end(&l);
}

/* In the body: a node with an attr of the client's own that waits for an argument and for another node; it runs in each iteration. */
TEST(attrs_and_waits_come_into_the_loop) {
  loop_t l;
  loop_start(&l);
  TF_WhileParams p = TF_NewWhile(l.g, l.in, 3, l.s);
  loop_fill(&p, 3, "loop", l.s);
  TF_OperationDescription* d = TF_NewOperation(p.body_graph, "Neg", "late");
  TF_AddInput(d, p.body_inputs[1]);
  TF_AddControlInput(d, p.body_inputs[2].oper);
  TF_AddControlInput(d, p.body_outputs[0].oper);
  TF_SetAttrInt(d, "_mine", 5);
  TF_SetAttrInt(d, "_yours", 6);
  TF_SetDevice(d, "/cpu:0");
  p.body_outputs[1] = (TF_Output){TF_FinishOperation(d, l.s), 0};
  TF_FinishWhile(&p, l.s, l.out);
  REQUIRE(CHECK_TF_OK(l.s));
  CHECK_NEAR(loop_run(&l, 7, 0, l.out[1]), -7, 0);
  TF_Operation *late = TF_GraphOperationByName(l.g, "loop/body/late"), *waits[3] = {NULL, NULL, NULL};
  int64_t mine = 0, yours = 0;
  REQUIRE(late != NULL);
  CHECK_INT(TF_OperationGetControlInputs(late, waits, 3), 2);
  CHECK(waits[0] == TF_GraphOperationByName(l.g, "loop/switch2") || waits[1] == TF_GraphOperationByName(l.g, "loop/switch2"));
  CHECK(waits[0] == TF_GraphOperationByName(l.g, "loop/body/next") || waits[1] == TF_GraphOperationByName(l.g, "loop/body/next"));
  TF_OperationGetAttrInt(late, "_mine", &mine, l.s);
  TF_OperationGetAttrInt(late, "_yours", &yours, l.s);
  CHECK(CHECK_TF_OK(l.s) && mine == 5 && yours == 6);
  CHECK_STR(TF_OperationDevice(late), "/cpu:0");
  TF_Operation *one = TF_GraphOperationByName(l.g, "loop/body/one"), *times = TF_GraphOperationByName(l.g, "loop/cond/times");
  REQUIRE(one && times);
  CHECK(TF_OperationGetControlInputs(one, waits, 3) == 1 && waits[0] == TF_GraphOperationByName(l.g, "loop/pivot"));
  CHECK(TF_OperationGetControlInputs(times, waits, 3) == 1 && waits[0] == TF_GraphOperationByName(l.g, "loop/merge0"));
  loop_end(&l);
}
TEST_MAIN()
