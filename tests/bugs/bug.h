/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs of a few nodes written as text, for tests of TensorFlow's bugs that must not be ours: each value is tried as a constant (shape
 * inference and folding see it) and fed (only the kernel does).
 *
 *   VALUE(want, op, attrs, inputs...)       output 0 (":1" after the op's name: output 1) is this, both ways
 *   REFUSED(code, text, op, attrs, inputs...)  the node or its run is refused with code and a message that has `text`, both ways */
#ifndef HR_TESTS_BUGS_BUG_H
#define HR_TESTS_BUGS_BUG_H
#include "capi/help.h"
#include "ops/text.h"

enum { BUG_MAX = 24 };
typedef struct {
  TF_Graph* g;
  TF_Status* s;
  TF_Session* session;
  bool feeds;
  int values, nodes, refs;
  TF_Output feed[BUG_MAX];
  TF_Tensor* fed[BUG_MAX];
} bug_t;

UNUSED static bug_t bug_open(bool feeds) {
  bug_t b = {.g = TF_NewGraph(), .s = TF_NewStatus(), .feeds = feeds};
  return b;
}
UNUSED static bool bug_ok(const bug_t* b) { return TF_GetCode(b->s) == TF_OK; }

/* A constant, or a placeholder of unknown shape that is fed. */
UNUSED static TF_Output bug_value(bug_t* b, const char* text) {
  char name[32];
  TF_Tensor* value = text_tensor(text, NULL);
  TF_Output out = {NULL, 0};
  if (!CHECK(value != NULL) || !bug_ok(b)) return out;
  snprintf(name, sizeof name, "in_%d", b->values);
  out = b->feeds ? help_placeholder(b->g, name, TF_TensorType(value), b->s) : help_const(b->g, name, value, b->s);
  if (b->feeds) b->feed[b->values] = out, b->fed[b->values] = value;
  ++b->values;
  return out;
}

UNUSED static TF_OperationDescription* bug_begin(bug_t* b, const char* op, const char* attrs) {
  char name[32];
  snprintf(name, sizeof name, "node_%d", b->nodes++);
  TF_OperationDescription* d = TF_NewOperation(b->g, op, name);
  for (const char* at = attrs; *at; at += strcspn(at, ";"), at += strspn(at, "; ")) {
    snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "="), at);
    text_attr(d, name, at + strcspn(at, "=") + 1);
  }
  return d;
}
UNUSED static TF_Output bug_op(bug_t* b, const char* op, const char* attrs, int inputs, const TF_Output* in) {
  if (!bug_ok(b)) return (TF_Output){NULL, 0};
  TF_OperationDescription* d = bug_begin(b, op, attrs);
  for (int i = 0; i < inputs; ++i) TF_AddInput(d, in[i]);
  return (TF_Output){TF_FinishOperation(d, b->s), 0};
}

UNUSED static void bug_start(bug_t* b) {
  TF_SessionOptions* o = TF_NewSessionOptions();
  if (!b->session && bug_ok(b)) b->session = TF_NewSession(b->g, o, b->s);
  TF_DeleteSessionOptions(o);
}
/* RunOptions with timeout_in_ms; 0: none. */
UNUSED static void bug_run(bug_t* b, const TF_Output* fetch, TF_Tensor** out, int n, const TF_Operation* target, int timeout_ms) {
  char text[8] = "\x10";
  size_t used = 1;
  for (unsigned v = (unsigned)timeout_ms; v; v >>= 7) text[used++] = (char)((v & 127) | (v > 127 ? 128 : 0));
  TF_Buffer limit = {.data = text, .length = used};
  bug_start(b);
  if (bug_ok(b))
    TF_SessionRun(b->session, timeout_ms ? &limit : NULL, b->feed, b->fed, b->feeds ? b->values : 0, fetch, out, n, &target, target ? 1 : 0,
                  NULL, b->s);
}
UNUSED static TF_Tensor* bug_fetch(bug_t* b, TF_Output o) {
  TF_Tensor* out = NULL;
  if (bug_ok(b)) bug_run(b, &o, &out, 1, NULL, 0);
  return out;
}
UNUSED static void bug_target(bug_t* b, TF_Output o) { bug_run(b, NULL, NULL, 0, o.oper, 0); }

UNUSED static void bug_close(bug_t* b) {
  if (b->session) TF_DeleteSession(b->session, b->s);
  for (int i = 0; i < b->values; ++i) TF_DeleteTensor(b->fed[i]);
  TF_DeleteGraph(b->g);
  TF_DeleteStatus(b->s);
}

UNUSED static double bug_number(const TF_Tensor* t, size_t i) {
  const void* p = TF_TensorData(t);
  switch (TF_TensorType(t)) {
    case TF_FLOAT: return ((const float*)p)[i];
    case TF_DOUBLE: return ((const double*)p)[i];
    case TF_INT32: return ((const int32_t*)p)[i];
    case TF_INT64: return (double)((const int64_t*)p)[i];
    case TF_UINT8: return ((const uint8_t*)p)[i];
    case TF_INT8: return ((const int8_t*)p)[i];
    case TF_BOOL: return ((const bool*)p)[i];
    default: return NAN;
  }
}
/* Type, shape and elements: NaN equals NaN, 0 is not -0, floats agree to a few units of the last place. */
UNUSED static bool bug_same(const char* file, int line, const TF_Tensor* got, const char* text) {
  TF_Tensor* want = text_tensor(text, NULL);
  if (!want || !got) return test_fail(file, line, "%s", want ? "no tensor came" : "the wanted text cannot be read");
  bool good = TF_TensorType(got) == TF_TensorType(want) && TF_NumDims(got) == TF_NumDims(want);
  for (int i = 0; good && i < TF_NumDims(want); ++i) good = TF_Dim(got, i) == TF_Dim(want, i);
  if (!good) test_fail(file, line, "type %d, rank %d, %lld elements, not %s", (int)TF_TensorType(got), TF_NumDims(got),
                       (long long)TF_TensorElementCount(got), text);
  for (size_t i = 0; good && i < (size_t)TF_TensorElementCount(want); ++i) {
    double a = bug_number(got, i), w = bug_number(want, i);
    bool whole = TF_TensorType(want) != TF_FLOAT && TF_TensorType(want) != TF_DOUBLE;
    good = (isnan(a) && isnan(w)) || (a == w && signbit(a) == signbit(w)) || (!whole && w != 0 && fabs(a - w) <= 2e-6 * fabs(w));
    if (TF_TensorType(want) == TF_INT64) good = ((const int64_t*)TF_TensorData(got))[i] == ((const int64_t*)TF_TensorData(want))[i];
    if (!good) test_fail(file, line, "element %zu is %.9g, not %.9g (of %s)", i, a, w, text);
  }
  TF_DeleteTensor(want);
  return good;
}

UNUSED static TF_Output bug_node(bug_t* b, const char* op, const char* attrs, const char* const* inputs, int count) {
  char name[64];
  TF_Output in[BUG_MAX];
  const char* colon = strchr(op, ':');
  for (int i = 0; i < count; ++i) in[i] = bug_value(b, inputs[i]);
  snprintf(name, sizeof name, "%.*s", colon ? (int)(colon - op) : (int)strlen(op), op);
  TF_Output out = bug_op(b, name, attrs, count, in);
  out.index = colon ? atoi(colon + 1) : 0;
  return out;
}
UNUSED static void bug_expect(const char* file, int line, const char* want, const char* op, const char* attrs, const char* const* in,
                              int count) {
  for (int feeds = 0; feeds < 2; ++feeds) {
    bug_t b = bug_open(feeds);
    TF_Output out = bug_node(&b, op, attrs, in, count);
    TF_Tensor* got = bug_fetch(&b, out);
    if (!bug_ok(&b)) test_fail(file, line, "%s%s: %s", op, feeds ? ", fed" : "", TF_Message(b.s));
    else bug_same(file, line, got, want);
    TF_DeleteTensor(got);
    bug_close(&b);
  }
}
UNUSED static void bug_refused(const char* file, int line, TF_Code code, const char* text, const char* op, const char* attrs,
                               const char* const* in, int count) {
  for (int feeds = 0; feeds < 2; ++feeds) {
    bug_t b = bug_open(feeds);
    TF_Output out = bug_node(&b, op, attrs, in, count);
    TF_Tensor* got = bug_fetch(&b, out);
    if (TF_GetCode(b.s) != code || !strstr(TF_Message(b.s), text))
      test_fail(file, line, "%s%s: code %d \"%s\", not %d with \"%s\"", op, feeds ? ", fed" : "", (int)TF_GetCode(b.s), TF_Message(b.s),
                (int)code, text);
    TF_DeleteTensor(got);
    bug_close(&b);
  }
}
#define BUG_TEXTS(...) (const char* const[]){__VA_ARGS__}, (int)(sizeof((const char* const[]){__VA_ARGS__}) / sizeof(const char*))
#define VALUE(want, op, attrs, ...) bug_expect(__FILE__, __LINE__, want, op, attrs, BUG_TEXTS(__VA_ARGS__))
#define REFUSED(code, text, op, attrs, ...) bug_refused(__FILE__, __LINE__, code, text, op, attrs, BUG_TEXTS(__VA_ARGS__))
#define SAME(got, want) bug_same(__FILE__, __LINE__, got, want)
#endif
