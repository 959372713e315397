/* SPDX-License-Identifier: Apache-2.0 */
/* Bugs of TensorFlow's in graphs, sessions, queues and variables; a test a row of docs/known-bugs-avoided.md. */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "graph_bytes.h"

static double graphs_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- queues */

typedef struct {
  bug_t b;
  TF_Output queue, enqueue, dequeue, close;
} queue_rig_t;

static TF_Output queue_op(bug_t* b, const char* op, TF_Output queue, const char* types_attr, TF_Output more) {
  TF_DataType type = TF_FLOAT;
  if (!bug_ok(b)) return (TF_Output){NULL, 0};
  TF_OperationDescription* d = bug_begin(b, op, "");
  TF_AddInput(d, queue);
  if (more.oper && types_attr && !strcmp(types_attr, "Tcomponents")) TF_AddInputList(d, &more, 1);
  else if (more.oper) TF_AddInput(d, more);
  if (types_attr && strcmp(types_attr, "Tcomponents")) TF_SetAttrTypeList(d, types_attr, &type, 1);
  return (TF_Output){TF_FinishOperation(d, b->s), 0};
}
static queue_rig_t queue_open(void) {
  const TF_Output none = {NULL, 0};
  TF_DataType type = TF_FLOAT;
  int64_t scalar = 0;
  int rank = 0;
  const int64_t* shapes[1] = {&scalar};
  queue_rig_t q = {.b = bug_open(false)};
  TF_OperationDescription* d = bug_begin(&q.b, "FIFOQueueV2", "capacity=10");
  TF_SetAttrTypeList(d, "component_types", &type, 1);
  TF_SetAttrShapeList(d, "shapes", shapes, &rank, 1);
  q.queue = (TF_Output){TF_FinishOperation(d, q.b.s), 0};
  q.enqueue = queue_op(&q.b, "QueueEnqueueV2", q.queue, "Tcomponents", bug_value(&q.b, "float[] 7"));
  q.dequeue = queue_op(&q.b, "QueueDequeueV2", q.queue, "component_types", none);
  q.close = queue_op(&q.b, "QueueCloseV2", q.queue, NULL, none);
  CHECK_TF_OK(q.b.s);
  return q;
}

TEST(b61_a_dequeue_that_timed_out_leaves_the_queue_usable) {
  queue_rig_t q = queue_open();
  TF_Tensor* got = NULL;
  double start = graphs_seconds();
  bug_run(&q.b, &q.dequeue, &got, 1, NULL, 300);
  CHECK_TF_CODE(q.b.s, TF_DEADLINE_EXCEEDED);
  CHECK(graphs_seconds() - start < 30);
  TF_SetStatus(q.b.s, TF_OK, "");
  bug_target(&q.b, q.enqueue);
  CHECK_TF_OK(q.b.s);
  got = bug_fetch(&q.b, q.dequeue);
  if (CHECK_TF_OK(q.b.s)) SAME(got, "float[] 7");
  TF_DeleteTensor(got);
  bug_close(&q.b);
}

TEST(b63_a_closed_queue_gives_what_it_has) {
  queue_rig_t q = queue_open();
  TF_Output two = bug_value(&q.b, "int32[] 2"), four = bug_value(&q.b, "int32[4] 1 2 3 4");
  TF_Output many = queue_op(&q.b, "QueueDequeueManyV2", q.queue, "component_types", two);
  TF_Output up_to = queue_op(&q.b, "QueueDequeueUpToV2", q.queue, "component_types", two);
  for (int i = 0; i < 3; ++i) bug_target(&q.b, q.enqueue);
  bug_target(&q.b, q.close);
  TF_Tensor* got = bug_fetch(&q.b, many);
  if (CHECK_TF_OK(q.b.s)) SAME(got, "float[2] 7 7");
  TF_DeleteTensor(got);
  CHECK(bug_fetch(&q.b, many) == NULL);
  CHECK_TF_CODE(q.b.s, TF_OUT_OF_RANGE);
  TF_SetStatus(q.b.s, TF_OK, "");
  got = bug_fetch(&q.b, up_to);
  if (CHECK_TF_OK(q.b.s)) SAME(got, "float[1] 7");
  TF_DeleteTensor(got);
  TF_Output bad = queue_op(&q.b, "QueueDequeueManyV2", q.queue, "component_types", four);
  if (bug_ok(&q.b)) bug_fetch(&q.b, bad);
  CHECK_TF_CODE(q.b.s, TF_INVALID_ARGUMENT);
  bug_close(&q.b);
}

TEST(b87_handles_of_nothing_are_refused) {
  bug_t b = bug_open(false);
  TF_Output handle = help_placeholder(b.g, "handle", TF_STRING, b.s);
  TF_Output closed = bug_op(&b, "QueueIsClosed", "", 1, &handle); /* wants a reference: a value is no queue's */
  if (bug_ok(&b)) {
    b.feeds = true;
    b.feed[0] = handle;
    b.fed[0] = text_tensor("string[0]", NULL);
    b.values = 1;
    bug_fetch(&b, closed);
  }
  CHECK(TF_GetCode(b.s) == TF_INVALID_ARGUMENT || TF_GetCode(b.s) == TF_FAILED_PRECONDITION);
  bug_close(&b);
}

/* ---- runs in parts, feeds that are fetches */

TEST(b65_partial_runs) {
  bug_t b = bug_open(false);
  TF_Output in[2] = {help_placeholder(b.g, "a", TF_FLOAT, b.s), help_placeholder(b.g, "b", TF_FLOAT, b.s)};
  TF_Output sum = bug_op(&b, "Add", "", 2, in);
  TF_Output alone = bug_value(&b, "float[] 5");
  bug_start(&b);
  for (int round = 0; round < 2; ++round) {
    const char* handle = NULL;
    const TF_Operation* target = sum.oper;
    TF_Tensor *one = help_float(1), *two = help_float(2), *out = NULL;
    TF_SessionPRunSetup(b.session, in, 2, &sum, 1, &target, 1, &handle, b.s);
    if (!CHECK_TF_OK(b.s)) break;
    TF_SessionPRun(b.session, handle, in, &one, 1, NULL, NULL, 0, NULL, 0, b.s);
    CHECK_TF_OK(b.s);
    TF_SessionPRun(b.session, handle, in, &one, 1, NULL, NULL, 0, NULL, 0, b.s);
    CHECK_TF_CODE(b.s, TF_INVALID_ARGUMENT);
    TF_SessionPRun(b.session, handle, in + 1, &two, 1, &sum, &out, 1, NULL, 0, b.s);
    if (CHECK_TF_OK(b.s)) SAME(out, "float[] 3");
    TF_DeleteTensor(out);
    TF_DeleteTensor(one);
    TF_DeleteTensor(two);
    TF_DeletePRunHandle(handle);
  }
  const char* handle = NULL;
  TF_SessionPRunSetup(b.session, NULL, 0, &alone, 1, NULL, 0, &handle, b.s);
  if (CHECK_TF_OK(b.s)) {
    TF_Tensor* out = NULL;
    TF_SessionPRun(b.session, handle, NULL, NULL, 0, &alone, &out, 1, NULL, 0, b.s);
    if (CHECK_TF_OK(b.s)) SAME(out, "float[] 5");
    TF_DeleteTensor(out);
  }
  TF_DeletePRunHandle(handle);
  bug_close(&b);
}

TEST(b67_what_is_fed_and_fetched) {
  bug_t b = bug_open(false);
  int64_t dims[2] = {4, 5};
  TF_OperationDescription* d = bug_begin(&b, "Placeholder", "dtype=float");
  TF_SetAttrShape(d, "shape", dims, 2);
  TF_Output p = {TF_FinishOperation(d, b.s), 0}, shape = bug_op(&b, "Shape", "", 1, &p);
  TF_Tensor *value = text_tensor("float[4,5] 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20", NULL), *out = NULL;
  bug_start(&b);
  TF_SessionRun(b.session, NULL, &p, &value, 1, &p, &out, 1, NULL, 0, NULL, b.s);
  CHECK(TF_GetCode(b.s) == TF_INVALID_ARGUMENT || (bug_ok(&b) && out && TF_Dim(out, 1) == 5)); /* refused, or the fed value; never else */
  TF_DeleteTensor(out);
  TF_DeleteTensor(value);
  TF_SetStatus(b.s, TF_OK, "");
  out = bug_fetch(&b, shape);
  if (bug_ok(&b)) SAME(out, "int32[2] 4 5"); /* known when the node was added: no feed is needed */
  else CHECK_HAS(TF_Message(b.s), "node_0");
  TF_DeleteTensor(out);
  bug_close(&b);
}

/* ---- variables */

TEST(b69_two_updates_in_one_step) {
  bug_t b = bug_open(false);
  TF_OperationDescription* d = bug_begin(&b, "VariableV2", "dtype=float");
  TF_SetAttrShape(d, "shape", NULL, 0);
  TF_Output v = {TF_FinishOperation(d, b.s), 0};
  TF_Output zero = bug_value(&b, "float[] 0"), hundred = bug_value(&b, "float[] 100"), one = bug_value(&b, "float[] 1");
  TF_Output init = bug_op(&b, "Assign", "", 2, (TF_Output[]){v, zero});
  TF_Output set_a = bug_op(&b, "Assign", "", 2, (TF_Output[]){v, bug_op(&b, "Add", "", 2, (TF_Output[]){v, hundred})});
  TF_Output set_b = bug_op(&b, "Assign", "", 2, (TF_Output[]){v, bug_op(&b, "Add", "", 2, (TF_Output[]){v, one})});
  TF_Output add_a = bug_op(&b, "AssignAdd", "", 2, (TF_Output[]){v, hundred}),
            add_b = bug_op(&b, "AssignAdd", "", 2, (TF_Output[]){v, one});
  for (int i = 0; i < 20; ++i) {
    TF_Tensor* out[2] = {NULL, NULL};
    bug_target(&b, init);
    bug_run(&b, (TF_Output[]){set_a, set_b}, out, 2, NULL, 0);
    for (int k = 0; k < 2; ++k) TF_DeleteTensor(out[k]);
    TF_Tensor* now = bug_fetch(&b, v);
    if (CHECK(now != NULL)) CHECK(bug_number(now, 0) == 100 || bug_number(now, 0) == 1 || bug_number(now, 0) == 101);
    TF_DeleteTensor(now);
    bug_target(&b, init);
    bug_run(&b, (TF_Output[]){add_a, add_b}, out, 2, NULL, 0);
    for (int k = 0; k < 2; ++k) TF_DeleteTensor(out[k]);
    now = bug_fetch(&b, v);
    if (CHECK_TF_OK(b.s)) SAME(now, "float[] 101");
    TF_DeleteTensor(now);
  }
  bug_close(&b);
}

/* ---- imported graphs */

static void graphs_refuse(const char* file, int line, bytes_t* graph, const char* text) {
  bug_t b = bug_open(false);
  bytes_import(&b, graph);
  if (TF_GetCode(b.s) != TF_INVALID_ARGUMENT || !strstr(TF_Message(b.s), text))
    test_fail(file, line, "code %d \"%s\", not INVALID_ARGUMENT with \"%s\"", (int)TF_GetCode(b.s), TF_Message(b.s), text);
  if (bytes_count_nodes(b.g)) test_fail(file, line, "the graph has %d nodes afterwards", bytes_count_nodes(b.g));
  bug_close(&b);
}
#define REFUSE(graph, text) graphs_refuse(__FILE__, __LINE__, graph, text)

TEST(b79_imports_that_make_no_graph) {
  bytes_t g = {0};
  bytes_node(&g, 1, "a", "Const", "", "dtype");
  bytes_node(&g, 1, "a", "Const", "", "dtype");
  REFUSE(&g, "'a'");
  bytes_node(&g, 1, "a", "Identity", "x:0", "T");
  REFUSE(&g, "x");
  bytes_node(&g, 1, "x", "Const", "", "dtype");
  bytes_node(&g, 1, "a", "Identity", "x:5", "T");
  REFUSE(&g, "wants output 5 of node 'x'");
  bytes_node(&g, 1, "x", "Const", "", "dtype");
  bytes_node(&g, 1, "a", "Identity", "^x x", "T");
  REFUSE(&g, "x");
  bytes_node(&g, 1, "a", "Identity", "b", "T");
  bytes_node(&g, 1, "b", "Identity", "a", "T");
  REFUSE(&g, "cycle");
  bytes_node(&g, 1, "a", "Identity", "a", "T");
  REFUSE(&g, "a");
}

/* signature { name: name output_arg { name: "y" type: float } } node_def { name: "c" op: callee } ret { y: "c:y:0" } */
static void graphs_function(bytes_t* library, const char* name, const char* callee) {
  bytes_t function = {0}, signature = {0}, arg = {0}, ret = {0};
  bytes_field(&signature, 1, name, strlen(name));
  bytes_field(&arg, 1, "y", 1);
  bytes_number(&arg, 3, TF_FLOAT);
  bytes_part(&signature, 3, &arg);
  bytes_part(&function, 1, &signature);
  bytes_node(&function, 3, "c", callee, "", NULL);
  bytes_field(&ret, 1, "y", 1);
  bytes_field(&ret, 2, "c:y:0", 5);
  bytes_part(&function, 4, &ret);
  bytes_part(library, 1, &function);
}

TEST(b81_functions_that_call_themselves) {
  for (int mutual = 0; mutual < 2; ++mutual) {
    bytes_t graph = {0}, library = {0};
    graphs_function(&library, "F", mutual ? "G" : "F");
    if (mutual) graphs_function(&library, "G", "F");
    bytes_node(&graph, 1, "call", "F", "", NULL);
    bytes_part(&graph, 2, &library);
    bug_t b = bug_open(false);
    bytes_import(&b, &graph);
    if (bug_ok(&b)) TF_DeleteTensor(bug_fetch(&b, (TF_Output){TF_GraphOperationByName(b.g, "call"), 0}));
    CHECK(!bug_ok(&b)); /* in the import or the run, by name */
    CHECK_HAS(TF_Message(b.s), "F");
    bug_close(&b);
  }
}

/* AttrValue { func { attr { value: AttrValue {...} } } }, 100,000 deep: written from the end of a block to its beginning. */
TEST(b81_attrs_nested_without_end) {
  enum { DEPTH = 100000, ROOM = 3 << 20 };
  char* block = malloc(ROOM);
  size_t at = ROOM;
  for (int i = 0; i < 3 * DEPTH; ++i) {
    bytes_t head = {0};
    bytes_varint(&head, (uint64_t)(i % 3 == 0 ? 2 : i % 3 == 1 ? 2 : 10) << 3 | 2); /* value of an entry, attr of a func, func of a value */
    bytes_varint(&head, ROOM - at);
    memcpy(block + (at -= head.size), head.data, head.size);
    free(head.data);
  }
  bytes_t graph = {0}, node = {0}, entry = {0};
  bytes_field(&node, 1, "n", 1);
  bytes_field(&node, 2, "NoOp", 4);
  bytes_field(&entry, 1, "_f", 2);
  bytes_field(&entry, 2, block + at, ROOM - at);
  bytes_part(&node, 5, &entry);
  bytes_part(&graph, 1, &node);
  free(block);
  REFUSE(&graph, "");
}

/* ---- threads and processes */

typedef struct {
  bug_t* b;
  TF_Output x, y;
  float value;
  atomic_int* wrong;
} adder_t;

static void* graphs_run_often(void* arg) {
  adder_t* a = arg;
  TF_Status* s = TF_NewStatus();
  for (int i = 0; i < 200; ++i) {
    float v = a->value + (float)i;
    float got = help_run(a->b->session, a->x, help_float(v), a->y, s);
    if (TF_GetCode(s) != TF_OK || got != v * v) atomic_fetch_add(a->wrong, 1);
  }
  TF_DeleteStatus(s);
  return NULL;
}

TEST(b97_threads_in_one_session_while_the_graph_grows) {
  enum { THREADS = 16 };
  bug_t b = bug_open(false);
  pthread_t threads[THREADS];
  adder_t adders[THREADS];
  atomic_int wrong = 0;
  TF_Output x = help_placeholder(b.g, "x", TF_FLOAT, b.s), y = help_unary(b.g, "Square", "y", x, b.s);
  bug_start(&b);
  for (int i = 0; i < THREADS; ++i) {
    adders[i] = (adder_t){&b, x, y, 1000 * (float)i, &wrong};
    pthread_create(&threads[i], NULL, graphs_run_often, &adders[i]);
  }
  for (int i = 0; i < 50; ++i) {
    char name[32];
    snprintf(name, sizeof name, "later_%d", i);
    TF_Output later = help_unary(b.g, "Neg", name, y, b.s);
    float got = help_run(b.session, x, help_float(3), later, b.s);
    if (CHECK_TF_OK(b.s)) CHECK_NEAR(got, -9, 0);
  }
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  CHECK_INT(wrong, 0);
  bug_close(&b);
}

#if !defined(__SANITIZE_THREAD__) /* which does not follow a process with threads into its child */
TEST(b103_the_child_of_a_fork_runs_steps) {
  bug_t b = bug_open(false);
  TF_Output x = help_placeholder(b.g, "x", TF_FLOAT, b.s), y = help_unary(b.g, "Square", "y", x, b.s);
  bug_start(&b);
  CHECK_NEAR(help_run(b.session, x, help_float(3), y, b.s), 9, 0);
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    bug_t c = bug_open(false);
    TF_Output cx = help_placeholder(c.g, "x", TF_FLOAT, c.s), cy = help_unary(c.g, "Square", "y", cx, c.s);
    bug_start(&c);
    float got = bug_ok(&c) ? help_run(c.session, cx, help_float(4), cy, c.s) : 0;
    _exit(got == 16 || TF_GetCode(c.s) == TF_FAILED_PRECONDITION ? 0 : 1);
  }
  int how = -1, waited = 0;
  while (child > 0 && waited < 200 && waitpid(child, &how, WNOHANG) == 0) usleep(100000), ++waited;
  if (waited >= 200) kill(child, SIGKILL), waitpid(child, &how, 0);
  CHECK(WIFEXITED(how) && WEXITSTATUS(how) == 0);
  bug_close(&b);
}
#endif
TEST_MAIN()
