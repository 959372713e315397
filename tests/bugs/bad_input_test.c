/* SPDX-License-Identifier: Apache-2.0 */
/* What a user can get wrong when building and running a graph: TensorFlow's code, and a message that names the node, its op, the input
 * and what would be right. Nothing is lost: the graph and the session go on as if it had not happened. */
#include "graph_bytes.h"

static const TF_Output nothing = {NULL, 0};

/* The graph has as many nodes as before and takes another. */
static void input_check_graph(bug_t* b, int nodes) {
  CHECK_INT(bytes_count_nodes(b->g), nodes);
  TF_SetStatus(b->s, TF_OK, "");
  TF_Output fine = bug_value(b, "float[] 1");
  CHECK_TF_OK(b->s);
  CHECK(fine.oper != NULL);
}

TEST(an_unknown_op) {
  bug_t b = bug_open(false);
  bug_op(&b, "Sqare", "", 0, &nothing);
  CHECK_TF_CODE(b.s, TF_NOT_FOUND);
  CHECK_HAS(TF_Message(b.s), "'Sqare'");
  CHECK_HAS(TF_Message(b.s), "node_0");
  input_check_graph(&b, 0);
  bug_close(&b);
}

TEST(an_unknown_attr) {
  bug_t b = bug_open(false);
  TF_Output x = bug_value(&b, "float[2,2] 1 2 3 4");
  bug_op(&b, "Square", "sideways=true", 1, &x);
  CHECK_TF_CODE(b.s, TF_INVALID_ARGUMENT);
  CHECK_HAS(TF_Message(b.s), "sideways");
  CHECK_HAS(TF_Message(b.s), "Square");
  input_check_graph(&b, 1);
  bug_op(&b, "Placeholder", "", 0, &nothing);
  CHECK_TF_CODE(b.s, TF_INVALID_ARGUMENT);
  CHECK_HAS(TF_Message(b.s), "dtype");
  TF_SetStatus(b.s, TF_OK, "");
  bug_op(&b, "MaxPool", "ksize=[1,1,1,1]; strides=[1,1,1,1]; padding='WIDE'", 1, &x);
  CHECK_TF_CODE(b.s, TF_INVALID_ARGUMENT);
  CHECK_HAS(TF_Message(b.s), "WIDE");
  CHECK_HAS(TF_Message(b.s), "VALID");
  TF_SetStatus(b.s, TF_OK, "");
  bug_op(&b, "Placeholder", "dtype=7", 0, &nothing); /* an int in place of a type */
  CHECK_TF_CODE(b.s, TF_INVALID_ARGUMENT);
  CHECK_HAS(TF_Message(b.s), "dtype");
  bug_close(&b);
}

TEST(an_unknown_or_wrong_type) {
  bug_t b = bug_open(false);
  TF_Output f = bug_value(&b, "float[2] 1 2"), i = bug_value(&b, "int32[2] 1 2"), s = bug_value(&b, "string[2] a b");
  bug_op(&b, "AddV2", "", 2, (TF_Output[]){f, i});
  CHECK_TF_CODE(b.s, TF_INVALID_ARGUMENT);
  CHECK_HAS(TF_Message(b.s), "int32");
  CHECK_HAS(TF_Message(b.s), "float");
  CHECK_HAS(TF_Message(b.s), "AddV2");
  input_check_graph(&b, 3);
  bug_op(&b, "Sqrt", "", 1, &s);
  CHECK_TF_CODE(b.s, TF_INVALID_ARGUMENT);
  CHECK_HAS(TF_Message(b.s), "string");
  CHECK_HAS(TF_Message(b.s), "Sqrt");
  TF_SetStatus(b.s, TF_OK, "");
  TF_OperationDescription* d = bug_begin(&b, "Placeholder", "");
  TF_SetAttrType(d, "dtype", (TF_DataType)77);
  TF_FinishOperation(d, b.s);
  CHECK_TF_CODE(b.s, TF_INVALID_ARGUMENT);
  CHECK_HAS(TF_Message(b.s), "dtype");
  bug_close(&b);
}

TEST(an_unknown_endpoint) {
  bug_t b = bug_open(false);
  TF_Output x = bug_value(&b, "float[2] 1 2"), bad = {x.oper, 3};
  bug_op(&b, "Neg", "", 1, &bad);
  CHECK_TF_CODE(b.s, TF_INVALID_ARGUMENT);
  CHECK_HAS(TF_Message(b.s), "'in_0' has 1 outputs");
  input_check_graph(&b, 1);
  bug_op(&b, "Neg", "", 0, &nothing);
  CHECK_TF_CODE(b.s, TF_INVALID_ARGUMENT);
  CHECK_HAS(TF_Message(b.s), "Neg");
  TF_SetStatus(b.s, TF_OK, "");
  bug_op(&b, "Neg", "", 2, (TF_Output[]){x, x});
  CHECK_TF_CODE(b.s, TF_INVALID_ARGUMENT);
  TF_SetStatus(b.s, TF_OK, "");
  bug_fetch(&b, bad);
  CHECK_TF_CODE(b.s, TF_INVALID_ARGUMENT);
  CHECK_HAS(TF_Message(b.s), "in_0");
  TF_SetStatus(b.s, TF_OK, "");
  TF_Tensor* got = bug_fetch(&b, x);
  if (CHECK_TF_OK(b.s)) SAME(got, "float[2] 1 2");
  TF_DeleteTensor(got);
  bug_close(&b);
}

TEST(a_cycle) {
  bug_t b = bug_open(false);
  bytes_t g = {0};
  bytes_node(&g, 1, "one", "Const", "", "dtype");
  bytes_node(&g, 1, "first", "Add", "one third", "T");
  bytes_node(&g, 1, "second", "Neg", "first", "T");
  bytes_node(&g, 1, "third", "Exp", "second", "T");
  bytes_import(&b, &g);
  CHECK_TF_CODE(b.s, TF_INVALID_ARGUMENT);
  CHECK_HAS(TF_Message(b.s), "cycle");
  CHECK(strstr(TF_Message(b.s), "first") || strstr(TF_Message(b.s), "second") || strstr(TF_Message(b.s), "third"));
  input_check_graph(&b, 0);
  bug_close(&b);
}

TEST(a_duplicate_name) {
  bug_t b = bug_open(false);
  TF_Output x = bug_value(&b, "float[2] 1 2");
  help_unary(b.g, "Neg", "in_0", x, b.s);
  CHECK_TF_CODE(b.s, TF_INVALID_ARGUMENT);
  CHECK_HAS(TF_Message(b.s), "in_0");
  input_check_graph(&b, 1);
  bug_close(&b);
}

typedef struct {
  bug_t b;
  TF_Output x, y; /* x: float [2,?]; y = x * x */
} input_rig_t;
static input_rig_t input_open(void) {
  input_rig_t r = {.b = bug_open(false)};
  int64_t dims[2] = {2, -1};
  TF_OperationDescription* d = TF_NewOperation(r.b.g, "Placeholder", "pixels");
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  TF_SetAttrShape(d, "shape", dims, 2);
  r.x = (TF_Output){TF_FinishOperation(d, r.b.s), 0};
  r.y = help_unary(r.b.g, "Square", "squares", r.x, r.b.s);
  bug_start(&r.b);
  return r;
}
static void input_feed(input_rig_t* r, const char* text) {
  TF_Tensor *value = text ? text_tensor(text, NULL) : NULL, *out = NULL;
  TF_SessionRun(r->b.session, NULL, &r->x, &value, text ? 1 : 0, &r->y, &out, 1, NULL, 0, NULL, r->b.s);
  CHECK(!out == !bug_ok(&r->b));
  TF_DeleteTensor(out);
  TF_DeleteTensor(value);
}
static void input_close(input_rig_t* r) { /* the session is as good as before */
  input_feed(r, "float[2,1] 3 4");
  CHECK_TF_OK(r->b.s);
  bug_close(&r->b);
}

TEST(a_feed_of_the_wrong_type) {
  input_rig_t r = input_open();
  input_feed(&r, "int32[2,1] 1 2");
  CHECK_TF_CODE(r.b.s, TF_INVALID_ARGUMENT);
  CHECK_HAS(TF_Message(r.b.s), "pixels");
  CHECK_HAS(TF_Message(r.b.s), "int32");
  CHECK_HAS(TF_Message(r.b.s), "float");
  input_close(&r);
}

TEST(a_feed_of_the_wrong_shape) {
  input_rig_t r = input_open();
  input_feed(&r, "float[3,1] 1 2 3");
  CHECK_TF_CODE(r.b.s, TF_INVALID_ARGUMENT);
  CHECK_HAS(TF_Message(r.b.s), "pixels");
  CHECK_HAS(TF_Message(r.b.s), "[3,1]");
  CHECK_HAS(TF_Message(r.b.s), "[2,?]");
  input_feed(&r, "float[2] 1 2");
  CHECK_TF_CODE(r.b.s, TF_INVALID_ARGUMENT);
  input_close(&r);
}

TEST(a_missing_feed) {
  input_rig_t r = input_open();
  input_feed(&r, NULL);
  CHECK_TF_CODE(r.b.s, TF_INVALID_ARGUMENT);
  CHECK_HAS(TF_Message(r.b.s), "pixels");
  CHECK_HAS(TF_Message(r.b.s), "feed");
  CHECK_HAS(TF_Message(r.b.s), "float");
  input_close(&r);
}

TEST(shapes_that_do_not_go_together) {
  REFUSED(TF_INVALID_ARGUMENT, "[2]", "AddV2", "", "float[2] 1 2", "float[3] 1 2 3");
  REFUSED(TF_INVALID_ARGUMENT, "3", "MatMul", "", "float[2,2] 1 2 3 4", "float[3,1] 1 2 3");
  REFUSED(TF_INVALID_ARGUMENT, "node_0", "MatMul", "", "float[2,2] 1 2 3 4", "float[3,1] 1 2 3");
  REFUSED(TF_INVALID_ARGUMENT, "Reshape", "Reshape", "", "float[2,2] 1 2 3 4", "int32[1] 3");
}

/* Scripts and tests of clients match messages: what these say first is TensorFlow's. */
TEST(words_that_clients_look_for) {
  REFUSED(TF_INVALID_ARGUMENT, "No OpKernel was registered to support Op 'DepthToSpace'", "DepthToSpace",
          "block_size=2; data_format='NCHW'", "float[1,4,1,1] 1 2 3 4");
  REFUSED(TF_INVALID_ARGUMENT, "No OpKernel was registered to support Op 'SpaceToDepth'", "SpaceToDepth",
          "block_size=2; data_format='NCHW_VECT_C'", "float[1,1,2,2,4] 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16");
  REFUSED(TF_INVALID_ARGUMENT, "out of range [0, 2)", "LogUniformCandidateSampler",
          "num_true=2; num_sampled=3; unique=false; range_max=2", "int64[1,2] 0 10");
  REFUSED(TF_INVALID_ARGUMENT, "out of range [0, 2)", "UniformCandidateSampler",
          "num_true=2; num_sampled=3; unique=false; range_max=2", "int64[1,2] 0 -10");
  REFUSED(TF_INVALID_ARGUMENT, "Segment id -1 out of range [0, 2), possibly because 'segment_ids' input is not sorted", "SegmentSum",
          "", "float[4] 1 2 3 4", "int32[4] -1 -1 0 1");
  REFUSED(TF_INVALID_ARGUMENT, "segment ids are not increasing", "SegmentSum", "", "float[4] 1 2 3 4", "int32[4] 0 2 1 3");
}

TEST(a_variable_without_value) {
  for (int resource = 0; resource < 2; ++resource) {
    bug_t b = bug_open(false);
    TF_OperationDescription* d = TF_NewOperation(b.g, resource ? "VarHandleOp" : "VariableV2", "weights");
    TF_SetAttrType(d, "dtype", TF_FLOAT);
    TF_SetAttrShape(d, "shape", NULL, 0);
    if (resource) TF_SetAttrString(d, "shared_name", "weights", 7);
    TF_Output v = {TF_FinishOperation(d, b.s), 0};
    TF_Output read = bug_op(&b, resource ? "ReadVariableOp" : "Identity", resource ? "dtype=float" : "", 1, &v);
    bug_fetch(&b, read);
    CHECK_TF_CODE(b.s, TF_FAILED_PRECONDITION);
    CHECK_HAS(TF_Message(b.s), "weights");
    CHECK_HAS(TF_Message(b.s), "initial");
    bug_close(&b);
  }
}

TEST(a_closed_session) {
  input_rig_t r = input_open();
  TF_CloseSession(r.b.session, r.b.s);
  CHECK_TF_OK(r.b.s);
  input_feed(&r, "float[2,1] 1 2");
  CHECK_TF_CODE(r.b.s, TF_CANCELLED);
  CHECK_HAS(TF_Message(r.b.s), "closed");
  TF_SetStatus(r.b.s, TF_OK, "");
  TF_CloseSession(r.b.session, r.b.s); /* twice is no fault */
  CHECK_TF_OK(r.b.s);
  bug_close(&r.b);
}

TEST(bytes_that_are_no_graph) {
  static const char* const texts[] = {"\xff\xff\xff", "\x0a\x7f", "\x0a\x02\x0a\x05", "hello"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
    bug_t b = bug_open(false);
    bytes_t g = {0};
    bytes_raw(&g, texts[i], strlen(texts[i]));
    bytes_import(&b, &g);
    CHECK_TF_CODE(b.s, TF_INVALID_ARGUMENT);
    input_check_graph(&b, 0);
    bug_close(&b);
  }
}
TEST_MAIN()
