/* SPDX-License-Identifier: Apache-2.0 */
/* Cast between all pairs of types, of more elements than a block has: small whole numbers keep their value in every type that has them,
 * booleans ask whether there is anything, 4-bit integers keep four bits, complex numbers come from and give a real part. */
#include "ops/run_op.h"

enum { ELEMENTS = 1100 };
static const TF_DataType types[] = {TF_FLOAT, TF_DOUBLE, TF_HALF,   TF_BFLOAT16,  TF_INT8,       TF_UINT8, TF_INT16,
                                    TF_UINT16, TF_INT32, TF_UINT32, TF_INT64,     TF_UINT64,     TF_BOOL,  TF_COMPLEX64,
                                    TF_COMPLEX128, TF_FLOAT8_E5M2, TF_FLOAT8_E4M3FN, TF_INT4, TF_UINT4};
enum { TYPES = sizeof types / sizeof *types };

static TF_Tensor* cast_run(TF_DataType to, TF_Tensor* x, const char* what) {
  TF_Graph* g = TF_NewGraph();
  TF_Status* s = TF_NewStatus();
  TF_Tensor* y = NULL;
  TF_OperationDescription* d = TF_NewOperation(g, "Placeholder", "x");
  TF_SetAttrType(d, "dtype", TF_TensorType(x));
  const TF_Output in = {TF_FinishOperation(d, s), 0};
  d = TF_NewOperation(g, "Cast", "y");
  TF_AddInput(d, in);
  TF_SetAttrType(d, "DstT", to);
  const TF_Output out = {TF_FinishOperation(d, s), 0};
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_Session* session = TF_NewSession(g, options, s);
  TF_SessionRun(session, NULL, &in, &x, 1, &out, &y, 1, NULL, 0, NULL, s);
  if (TF_GetCode(s) != TF_OK) hr_test_fail(__FILE__, __LINE__, "%s: %s", what, TF_Message(s));
  TF_DeleteSession(session, s);
  TF_DeleteSessionOptions(options);
  TF_DeleteTensor(x);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
  return y;
}

static bool is_complex(TF_DataType t) { return t == TF_COMPLEX64 || t == TF_COMPLEX128; }
static bool is_byte(TF_DataType t) { return t == TF_FLOAT8_E5M2 || t == TF_FLOAT8_E4M3FN || t == TF_INT4 || t == TF_UINT4; }

/* 0 to 7 and some negative ones are numbers of every type; of unsigned ones 0 to 7 alone. */
static double value_at(TF_DataType t, int64_t i) {
  const int v = (int)(i * 7 + i / 512) % 8;
  const bool is_unsigned = t == TF_UINT8 || t == TF_UINT16 || t == TF_UINT32 || t == TF_UINT64 || t == TF_UINT4 || t == TF_BOOL;
  if (t == TF_BOOL) return v % 2;
  return is_unsigned || i % 3 ? v : -v;
}

/* The number that element i is after its way through `t`. */
static double kept(TF_DataType t, double v) {
  switch (t) {
    case TF_BOOL: return v != 0;
    case TF_UINT8: return (uint8_t)(int)v;
    case TF_UINT16: return (uint16_t)(int)v;
    case TF_UINT32: return (uint32_t)(int)v;
    case TF_UINT4: return (int)v & 15;
    default: return v;
  }
}

/* Bytes of types without numbers of their own here come from int8, and go back to it. */
static TF_Tensor* given_tensor(TF_DataType t) {
  TF_Tensor* x = RUN_TENSOR(is_byte(t) ? TF_INT8 : t, ELEMENTS);
  for (int64_t i = 0; i < ELEMENTS; ++i) {
    run_put(x, is_complex(t) ? 2 * i : i, value_at(t, i));
    if (is_complex(t)) run_put(x, 2 * i + 1, value_at(t, i) == 0 ? 0 : 9);
  }
  return is_byte(t) ? cast_run(t, x, "to bytes") : x;
}

static void check_cast(TF_DataType from, TF_DataType to) {
  char what[40];
  snprintf(what, sizeof what, "from type %d to %d", (int)from, (int)to);
  if (from == to) return;
  TF_Tensor* y = cast_run(to, given_tensor(from), what);
  if (y && is_byte(to)) y = cast_run(TF_INT8, y, "from bytes");
  for (int64_t i = 0; y && i < ELEMENTS; ++i) {
    const double v = value_at(from, i), got = run_number(y, is_complex(to) ? 2 * i : i);
    double want = kept(to, v);
    if (to == TF_UINT64 && v < 0) want = got; /* beyond what a double holds */
    const bool whole = !is_complex(from) || !is_complex(to) || run_number(y, 2 * i + 1) == (v == 0 ? 0 : 9);
    const bool real = is_complex(from) || !is_complex(to) || run_number(y, 2 * i + 1) == 0;
    if (got == want && whole && real) continue;
    hr_test_fail(__FILE__, __LINE__, "%s: element %d, %g, becomes %g", what, (int)i, v, got);
    break;
  }
  TF_DeleteTensor(y);
}

HR_TEST(small_numbers_keep_their_value) {
  for (int from = 0; from < TYPES; ++from)
    for (int to = 0; to < TYPES; ++to) check_cast(types[from], types[to]);
}

/* Floats that lose digits: toward zero when told so, else to the nearest. */
static void check_truncate(TF_DataType to, double x, double nearest, double truncated) {
  for (int form = 0; form < 2; ++form) {
    char attrs[60];
    snprintf(attrs, sizeof attrs, "DstT=%s; Truncate=%s", to == TF_HALF ? "half" : "bfloat16", form ? "true" : "false");
    double want[3] = {form ? truncated : nearest, form ? -truncated : -nearest, INFINITY};
    TF_Tensor* t = RUN_TENSOR(TF_FLOAT, 3);
    run_put(t, 0, x);
    run_put(t, 1, -x);
    run_put(t, 2, INFINITY);
    run_op_t got = RUN_OP("Cast", attrs, t);
    run_check(&got, 0, to, 3, want, 0, attrs);
    run_free(&got);
  }
}
HR_TEST(digits_are_dropped_or_rounded) {
  check_truncate(TF_HALF, 1 + 0.75 / 1024, 1 + 1.0 / 1024, 1);
  check_truncate(TF_HALF, 1 + 1.75 / 1024, 1 + 2.0 / 1024, 1 + 1.0 / 1024);
  check_truncate(TF_BFLOAT16, 1 + 0.75 / 128, 1 + 1.0 / 128, 1);
  check_truncate(TF_BFLOAT16, 1 + 1.25 / 128, 1 + 1.0 / 128, 1 + 1.0 / 128);
}

HR_TEST_MAIN()
