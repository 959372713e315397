/* SPDX-License-Identifier: Apache-2.0 */
/* Every op of the registry with random and hostile attrs, types, shapes and values: a node is refused or runs, and what it gives has the
 * type and shape that inference said. Crashes, hangs and absurd allocations are what is looked for; run it in a sanitizer build.
 *
 * Cases are numbered and depend on the op's name and their number alone. HEADRACE_FUZZ_CASES=n takes n cases of each op,
 * HEADRACE_FUZZ_FIRST=k begins at number k; HEADRACE_TEST_OPS="Add Conv2D" confines them to some ops. A case that does not end is named. */
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/hash.h"
#include "op/infer_fns.h"
#include "op/registry.h"
#include "tensorflow/c/c_api.h"
#include "test.h"

enum { FUZZ_MAX_ATTRS = 32, FUZZ_MAX_LIST = 5, FUZZ_MAX_INPUTS = 48, FUZZ_MAX_RANK = 6, FUZZ_CASES = 30, FUZZ_SECONDS = 20 };
static const size_t fuzz_most_bytes = (size_t)64 << 20; /* one block; more is refused as if memory had run out */

/* ---- chance */

static uint64_t fuzz_state;
static uint64_t fuzz_random(void) { /* xorshift64* */
  fuzz_state ^= fuzz_state >> 12;
  fuzz_state ^= fuzz_state << 25;
  fuzz_state ^= fuzz_state >> 27;
  return fuzz_state * UINT64_C(2685821657736338717) >> 11;
}
static int fuzz_below(int n) { return (int)(fuzz_random() % (uint64_t)n); }
static bool fuzz_percent(int p) { return fuzz_below(100) < p; }
#define FUZZ_PICK(list) ((list)[fuzz_below((int)(sizeof(list) / sizeof *(list)))])

static int64_t fuzz_hostile(void) {
  static const int64_t list[] = {-1,
                                 -2,
                                 0,
                                 1,
                                 7,
                                 100,
                                 INT32_MAX,
                                 INT32_MIN,
                                 (int64_t)1 << 31,
                                 (int64_t)1 << 32,
                                 ((int64_t)1 << 32) + 1,
                                 (int64_t)1 << 40,
                                 1000000000000000000,
                                 INT64_MAX,
                                 INT64_MIN,
                                 INT64_MAX - 1,
                                 INT64_MIN + 1,
                                 46341,
                                 65536,
                                 1 << 20,
                                 255,
                                 256};
  return FUZZ_PICK(list);
}
static int64_t fuzz_int(void) { return fuzz_percent(85) ? fuzz_below(5) - (fuzz_percent(25) ? 3 : 0) : fuzz_hostile(); }
static double fuzz_real(void) {
  static const double list[] = {0,        -0.0,      1,   -1,    0.5,          2,      1e-30, 3.4e38, -3.4e38, 1e300,
                                INFINITY, -INFINITY, NAN, 1e-45, 2147483648.0, 9.3e18, 0.999};
  return fuzz_percent(60) ? fuzz_below(9) - 3 : FUZZ_PICK(list);
}
static const char* fuzz_text(void) {
  static const char* const list[] = {"",
                                     "a",
                                     "no/such/file",
                                     "fuzz_file",
                                     "another text too long to lie in the element",
                                     "\x08\x01\x12\x04\xff\xff\xff\x7f",
                                     "a string that is longer than what lies inline",
                                     "NHWC",
                                     "0",
                                     "-1",
                                     "*",
                                     "tag"};
  return FUZZ_PICK(list);
}

/* ---- a case */

typedef struct {
  const hr_op_def_t* def;
  TF_Graph* graph;
  TF_Status* status;
  TF_Session* session;
  char last_name[32];
  int names, feeds, inits;
  TF_Output feed[FUZZ_MAX_INPUTS];
  TF_Tensor* fed[FUZZ_MAX_INPUTS];
  const TF_Operation* init[FUZZ_MAX_INPUTS];
  int rank; /* of the shape that inputs have or resemble */
  int64_t dims[FUZZ_MAX_RANK];
  bool wild; /* shapes have nothing to do with one another */
  bool lied; /* a value is not of the shape that its placeholder or variable says */
  bool failed; /* the node's run did: its gradient is of inputs that do not fit */
  TF_DataType type[FUZZ_MAX_ATTRS];
  int count[FUZZ_MAX_ATTRS]; /* value of an int attr that says how many, or length of a list */
  TF_DataType list[FUZZ_MAX_ATTRS][FUZZ_MAX_LIST];
} fuzz_t;

static bool fuzz_ok(const fuzz_t* f) { return TF_GetCode(f->status) == TF_OK; }
static const char* fuzz_name(fuzz_t* f) {
  snprintf(f->last_name, sizeof f->last_name, "n%d", f->names++);
  return f->last_name;
}

/* ---- tensors */

static int64_t fuzz_dim(void) {
  static const int64_t list[] = {0, 1, 1, 2, 2, 2, 3, 3, 4, 5, 8, 17};
  return FUZZ_PICK(list);
}
static int fuzz_shape(const fuzz_t* f, int64_t* dims) {
  int kind = fuzz_below(f->wild ? 2 : 10), rank = f->rank;
  memcpy(dims, f->dims, sizeof f->dims);
  if (kind == 0) return 0;
  if (kind == 1 || kind == 2) {
    rank = kind == 2 ? 1 : fuzz_below(6);
    for (int i = 0; i < rank; ++i) dims[i] = fuzz_dim();
    if (kind == 2 && fuzz_percent(50)) dims[0] = fuzz_percent(50) ? f->rank : f->dims[0];
  } else if (kind == 3 && rank) {
    dims[fuzz_below(rank)] = fuzz_dim();
  } else if (kind == 4 && rank) {
    --rank;
  } else if (kind == 5 && rank) {
    memmove(dims, dims + 1, sizeof f->dims - sizeof *dims), --rank;
  }
  return rank;
}

static void fuzz_store(TF_DataType type, void* p, size_t i, int64_t n, double v) {
  if (type == TF_STRING) {
    const char* text = fuzz_text();
    TF_StringInit((TF_TString*)p + i);
    TF_StringCopy((TF_TString*)p + i, text, strlen(text));
  } else if (type == TF_FLOAT || type == TF_COMPLEX64) {
    float re = (float)v;
    memcpy((char*)p + i * TF_DataTypeSize(type), &re, 4);
    if (type == TF_COMPLEX64) memcpy((char*)p + i * 8 + 4, &re, 4);
  } else if (type == TF_DOUBLE || type == TF_COMPLEX128) {
    memcpy((char*)p + i * TF_DataTypeSize(type), &v, 8);
    if (type == TF_COMPLEX128) memcpy((char*)p + i * 16 + 8, &v, 8);
  } else if (type == TF_BOOL) {
    ((bool*)p)[i] = n & 1;
  } else if (type == TF_HALF || type == TF_BFLOAT16) {
    static const uint16_t list[] = {0, 0x8000, 0x3c00, 0x3f80, 0x7c00, 0x7f80, 0x7e00, 0xffff, 1, 0x4000, 0xc000};
    ((uint16_t*)p)[i] = FUZZ_PICK(list);
  } else if (TF_DataTypeSize(type) <= 8) { /* integers of all kinds: the low bytes */
    memcpy((char*)p + i * TF_DataTypeSize(type), &n, TF_DataTypeSize(type));
  }
}

/* Integers: all in order, one value, small ones, or any. NULL for a type without values (a resource). */
static TF_Tensor* fuzz_tensor(TF_DataType type, const int64_t* dims, int rank) {
  size_t count = 1, size = type == TF_STRING ? sizeof(TF_TString) : TF_DataTypeSize(type);
  int style = fuzz_below(6);
  if (!size) return NULL;
  for (int i = 0; i < rank; ++i) count *= (size_t)dims[i];
  TF_Tensor* t = TF_AllocateTensor(type, dims, rank, count * size);
  if (!t) return NULL;
  memset(TF_TensorData(t), 0, count * size);
  for (size_t i = 0; i < count; ++i) {
    int64_t n = style == 0 ? (int64_t)i : style == 1 ? 1 : style == 2 ? fuzz_hostile() : style == 3 ? fuzz_int() : fuzz_below(3);
    fuzz_store(type, TF_TensorData(t), i, n, style == 0 ? (double)i : style == 1 ? 1 : fuzz_real());
  }
  return t;
}

/* ---- inputs */

static TF_Output fuzz_const(fuzz_t* f, TF_Tensor* value) {
  TF_OperationDescription* d = TF_NewOperation(f->graph, "Const", fuzz_name(f));
  TF_SetAttrTensor(d, "value", value, f->status);
  TF_SetAttrType(d, "dtype", TF_TensorType(value));
  return (TF_Output){TF_FinishOperation(d, f->status), 0};
}
/* A placeholder that says all, some or nothing of the shape, or something else. */
static TF_Output fuzz_placeholder(fuzz_t* f, TF_DataType type, const int64_t* dims, int rank) {
  int64_t said[FUZZ_MAX_RANK];
  TF_OperationDescription* d = TF_NewOperation(f->graph, "Placeholder", fuzz_name(f));
  TF_SetAttrType(d, "dtype", type);
  for (int i = 0; i < rank; ++i) said[i] = fuzz_percent(40) ? -1 : dims[i];
  bool lies = fuzz_percent(2);
  if (fuzz_percent(50)) TF_SetAttrShape(d, "shape", said, lies ? fuzz_below(rank + 1) : rank), f->lied |= lies;
  return (TF_Output){TF_FinishOperation(d, f->status), 0};
}
static TF_Output fuzz_value(fuzz_t* f, TF_DataType type) {
  int64_t dims[FUZZ_MAX_RANK];
  int rank = fuzz_shape(f, dims);
  TF_Tensor* value = fuzz_tensor(type, dims, rank);
  if (value && fuzz_percent(45)) {
    TF_Output out = fuzz_const(f, value);
    TF_DeleteTensor(value);
    return out;
  }
  TF_Output out = fuzz_placeholder(f, type, dims, rank);
  if (!value) return out;
  f->feed[f->feeds] = out;
  f->fed[f->feeds++] = value;
  return out;
}
static void fuzz_set(fuzz_t* f, const char* op, TF_Output target, TF_DataType type, const int64_t* dims, int rank) {
  TF_Tensor* value = fuzz_tensor(type, dims, rank);
  if (!value) return;
  TF_Output v = fuzz_const(f, value);
  TF_DeleteTensor(value);
  if (!fuzz_ok(f)) return;
  TF_OperationDescription* d = TF_NewOperation(f->graph, op, fuzz_name(f));
  TF_AddInput(d, target);
  TF_AddInput(d, v);
  TF_Operation* set = TF_FinishOperation(d, f->status);
  if (set) f->init[f->inits++] = set;
  TF_SetStatus(f->status, TF_OK, "");
}
static TF_Output fuzz_variable(fuzz_t* f, const char* op, TF_DataType type) {
  int64_t dims[FUZZ_MAX_RANK];
  int rank = fuzz_shape(f, dims);
  TF_OperationDescription* d = TF_NewOperation(f->graph, op, fuzz_name(f));
  bool ref = !strcmp(op, "VariableV2");
  TF_SetAttrString(d, "shared_name", f->last_name, strlen(f->last_name)); /* an empty one would be the same variable */
  TF_SetAttrType(d, "dtype", type);
  TF_SetAttrShape(d, "shape", dims, fuzz_percent(90) ? rank : -1);
  TF_Output out = {TF_FinishOperation(d, f->status), 0};
  if (fuzz_ok(f) && fuzz_percent(85)) fuzz_set(f, ref ? "Assign" : "AssignVariableOp", out, type, dims, rank);
  return out;
}
static TF_Output fuzz_queue(fuzz_t* f, const char* op) {
  static const TF_DataType types[] = {TF_FLOAT, TF_INT32, TF_STRING};
  TF_OperationDescription* d = TF_NewOperation(f->graph, op, fuzz_name(f));
  TF_SetAttrTypeList(d, "component_types", types, 1 + fuzz_below(3));
  TF_SetAttrInt(d, "capacity", fuzz_percent(80) ? 3 : fuzz_int());
  return (TF_Output){TF_FinishOperation(d, f->status), 0};
}
/* The type that most likely fits what lies behind a handle: the op's `dtype` or first type attr. */
static TF_DataType fuzz_handle_type(const fuzz_t* f) {
  int attr = hr_sig_find_attr(f->def, HR_STR("dtype"));
  for (int i = 0; attr < 0 && i < f->def->attr_count; ++i)
    if (f->def->attrs[i].kind == HR_ATTR_TYPE && !f->def->attrs[i].is_list) attr = i;
  return attr >= 0 && fuzz_percent(92) ? f->type[attr] : TF_FLOAT;
}
static TF_Output fuzz_input(fuzz_t* f, TF_DataType type, bool is_ref) {
  bool queue = strstr(f->def->op->name, "Queue") ? fuzz_percent(92) : fuzz_percent(4);
  if (is_ref && type == TF_STRING && queue) return fuzz_queue(f, "FIFOQueue");
  if (is_ref) return fuzz_variable(f, "VariableV2", type);
  if (type != TF_RESOURCE) return fuzz_value(f, type);
  if (queue) return fuzz_queue(f, fuzz_percent(70) ? "FIFOQueueV2" : "RandomShuffleQueueV2");
  return fuzz_variable(f, "VarHandleOp", fuzz_handle_type(f));
}

/* ---- attrs */

static TF_DataType fuzz_type(hr_dtypes_t allowed) {
  static const TF_DataType common[] = {TF_FLOAT, TF_FLOAT, TF_FLOAT, TF_INT32, TF_INT32, TF_INT64, TF_DOUBLE, TF_STRING, TF_BOOL, TF_UINT8};
  if (fuzz_percent(2)) return (TF_DataType)fuzz_below(40);
  for (int i = 0; i < 100; ++i) {
    int type = fuzz_percent(60) ? (int)FUZZ_PICK(common) : 1 + fuzz_below(HR_DTYPE_COUNT - 1);
    if (!allowed || hr_dtype_in((hr_dtype_t)type, allowed)) return (TF_DataType)type;
  }
  return TF_FLOAT;
}
static bool fuzz_counts(const hr_op_def_t* def, int attr) { /* says how many inputs or outputs there are */
  for (int i = 0; i < def->input_count; ++i)
    if (def->inputs[i].number_attr == attr) return true;
  for (int i = 0; i < def->output_count; ++i)
    if (def->outputs[i].number_attr == attr) return true;
  return false;
}
static int fuzz_some_dims(const fuzz_t* f, int64_t* dims) {
  int rank = fuzz_shape(f, dims);
  for (int i = 0; i < rank; ++i)
    if (fuzz_percent(10)) dims[i] = fuzz_percent(50) ? -1 : fuzz_hostile();
  return fuzz_percent(10) ? -1 : rank;
}
static void fuzz_attr_tensor(fuzz_t* f, TF_OperationDescription* d, const char* name) {
  int64_t dims[FUZZ_MAX_RANK];
  int rank = fuzz_shape(f, dims);
  TF_Tensor* t = fuzz_tensor(f->type[0] > 0 ? f->type[0] : TF_FLOAT, dims, rank);
  if (t) TF_SetAttrTensor(d, name, t, f->status);
  TF_DeleteTensor(t);
  TF_SetStatus(f->status, TF_OK, "");
}
static void fuzz_attr_one(fuzz_t* f, TF_OperationDescription* d, int i, const char* name) {
  const hr_attr_def_t* a = &f->def->attrs[i];
  int64_t dims[FUZZ_MAX_RANK];
  hr_str_t text = a->string_count && fuzz_percent(97) ? a->strings[fuzz_below(a->string_count)] : hr_str(fuzz_text());
  int64_t n = fuzz_counts(f->def, i) && fuzz_percent(97) ? (a->has_minimum ? a->minimum : 0) + fuzz_below(3) : fuzz_int();
  switch (a->kind) {
    case HR_ATTR_STRING: TF_SetAttrString(d, name, text.data, text.size); break;
    case HR_ATTR_INT: TF_SetAttrInt(d, name, n), f->count[i] = n < 0 ? 0 : n > 8 ? 8 : (int)n; break;
    case HR_ATTR_FLOAT: TF_SetAttrFloat(d, name, (float)fuzz_real()); break;
    case HR_ATTR_BOOL: TF_SetAttrBool(d, name, fuzz_percent(50)); break;
    case HR_ATTR_TYPE: TF_SetAttrType(d, name, f->type[i]); break;
    case HR_ATTR_SHAPE: n = fuzz_some_dims(f, dims), TF_SetAttrShape(d, name, dims, (int)n); break;
    case HR_ATTR_TENSOR: fuzz_attr_tensor(f, d, name); break;
    default: TF_SetAttrFuncName(d, name, "no_such_function", 16); break;
  }
}
static void fuzz_attr_list(fuzz_t* f, TF_OperationDescription* d, int i, const char* name) {
  const hr_attr_def_t* a = &f->def->attrs[i];
  int n = f->count[i], ranks[16];
  int64_t ints[16], dims[16][FUZZ_MAX_RANK];
  float floats[16];
  const void* texts[16];
  const int64_t* shapes[16];
  size_t sizes[16];
  bool windows = fuzz_percent(60); /* lists of ints are mostly strides and windows of NHWC */
  if (a->kind == HR_ATTR_INT && fuzz_percent(70)) n = fuzz_percent(80) ? 4 : f->rank;
  for (int k = 0; k < n; ++k) {
    ints[k] = windows ? (k == 0 || k == n - 1 ? 1 : 1 + fuzz_below(3)) : fuzz_int();
    floats[k] = (float)fuzz_real();
    texts[k] = fuzz_text(), sizes[k] = strlen(texts[k]);
    ranks[k] = fuzz_some_dims(f, dims[k]), shapes[k] = dims[k];
  }
  switch (a->kind) {
    case HR_ATTR_STRING: TF_SetAttrStringList(d, name, texts, sizes, n); break;
    case HR_ATTR_INT: TF_SetAttrIntList(d, name, ints, n); break;
    case HR_ATTR_FLOAT: TF_SetAttrFloatList(d, name, floats, n); break;
    case HR_ATTR_TYPE: TF_SetAttrTypeList(d, name, f->list[i], f->count[i]); break;
    case HR_ATTR_SHAPE: TF_SetAttrShapeList(d, name, shapes, ranks, n); break;
    default: break;
  }
}
/* Types and lengths, which the inputs need to know. */
static void fuzz_choose(fuzz_t* f) {
  for (int i = 0; i < f->def->attr_count; ++i) {
    const hr_attr_def_t* a = &f->def->attrs[i];
    f->type[i] = fuzz_type(a->types);
    if (a->has_default && a->kind == HR_ATTR_TYPE && !a->is_list && fuzz_percent(40)) f->type[i] = (TF_DataType)a->value.u.type;
    f->count[i] = fuzz_below(FUZZ_MAX_LIST);
    for (int k = 0; k < FUZZ_MAX_LIST; ++k) f->list[i][k] = fuzz_type(a->types);
  }
}
static void fuzz_set_attrs(fuzz_t* f, TF_OperationDescription* d) {
  char name[64];
  for (int i = 0; i < f->def->attr_count; ++i) {
    const hr_attr_def_t* a = &f->def->attrs[i];
    bool must = a->kind == HR_ATTR_TYPE || fuzz_counts(f->def, i) || !a->has_default;
    if (must ? fuzz_percent(1) : fuzz_percent(50)) continue;
    snprintf(name, sizeof name, "%.*s", HR_STR_ARG(a->name));
    if (a->is_list) fuzz_attr_list(f, d, i, name);
    else fuzz_attr_one(f, d, i, name);
  }
}

/* ---- the node, its run */

static void fuzz_count_inputs(fuzz_t* f) { /* before the inputs, since they are as many as an attr says */
  for (int i = 0; i < f->def->attr_count; ++i)
    if (fuzz_counts(f->def, i)) f->count[i] = (int)(f->def->attrs[i].has_minimum ? f->def->attrs[i].minimum : 0) + fuzz_below(3);
}
static TF_DataType fuzz_arg_type(const fuzz_t* f, const hr_arg_def_t* a, int k) {
  return a->list_attr >= 0 ? f->list[a->list_attr][k] : a->type_attr >= 0 ? f->type[a->type_attr] : (TF_DataType)a->type;
}
static int fuzz_arg_count(const fuzz_t* f, const hr_arg_def_t* a) {
  return a->list_attr >= 0 ? f->count[a->list_attr] : a->number_attr >= 0 ? f->count[a->number_attr] : 1;
}

static TF_Operation* fuzz_node(fuzz_t* f, TF_Output* in, int* in_count) {
  TF_Output made[FUZZ_MAX_INPUTS];
  int n = 0, first[FUZZ_MAX_INPUTS];
  fuzz_choose(f);
  fuzz_count_inputs(f);
  for (int i = 0; i < f->def->input_count; ++i) {
    const hr_arg_def_t* a = &f->def->inputs[i];
    first[i] = n;
    for (int k = 0, count = fuzz_arg_count(f, a); k < count && n < FUZZ_MAX_INPUTS - 1; ++k, ++n)
      made[n] = n && fuzz_percent(5) ? made[fuzz_below(n)] : fuzz_input(f, fuzz_arg_type(f, a, k), a->is_ref);
    if (!fuzz_ok(f)) return NULL;
  }
  first[f->def->input_count] = n;
  TF_OperationDescription* d = TF_NewOperation(f->graph, f->def->op->name, "subject");
  for (int i = 0; i < f->def->input_count; ++i) {
    const hr_arg_def_t* a = &f->def->inputs[i];
    int count = first[i + 1] - first[i];
    if (a->list_attr >= 0 || a->number_attr >= 0) TF_AddInputList(d, made + first[i], count);
    else if (count && fuzz_percent(99)) TF_AddInput(d, made[first[i]]);
  }
  fuzz_set_attrs(f, d);
  memcpy(in, made, (size_t)n * sizeof *in);
  *in_count = n;
  return TF_FinishOperation(d, f->status);
}

/* What is fed may contradict what was inferred where, as in TensorFlow, the kernel checks no more than that elements are as many, or
 * nothing. */
static bool fuzz_may_differ(const hr_op_def_t* def) {
  static const char* const counting[] = {"PlaceholderWithDefault", "AccumulateNV2", "InvGrad", "ReciprocalGrad", "RsqrtGrad", "SigmoidGrad",
                                         "SqrtGrad", "TanhGrad"};
  for (size_t i = 0; i < sizeof counting / sizeof *counting; ++i)
    if (!strcmp(def->op->name, counting[i])) return true;
  return def->op->shape == hr_infer_merged;
}
static void fuzz_check_output(fuzz_t* f, TF_Output o, const TF_Tensor* t, const char* name) {
  TF_Status* s = TF_NewStatus();
  int64_t dims[256];
  int rank = TF_GraphGetTensorNumDims(f->graph, o, s);
  TF_DataType type = TF_OperationOutputType(o);
  if ((int)TF_TensorType(t) != (int)type && (int)TF_TensorType(t) + 100 != (int)type)
    hr_test_fail(__FILE__, __LINE__, "%s: output %d has type %d, not %d", name, o.index, (int)TF_TensorType(t), (int)type);
  if (rank >= 0) TF_GraphGetTensorShape(f->graph, o, dims, rank, s);
  bool unsure = f->lied || f->failed || fuzz_may_differ(f->def);
  bool good = rank < 0 || unsure || rank == TF_NumDims(t);
  for (int i = 0; good && !unsure && i < rank; ++i) good = dims[i] < 0 || dims[i] == TF_Dim(t, i);
  if (!good) {
    char want[200] = "", got[200] = "";
    for (int i = 0; i < rank && i < 8; ++i) snprintf(want + strlen(want), 20, "%" PRId64 ",", dims[i]);
    for (int i = 0; i < TF_NumDims(t) && i < 8; ++i) snprintf(got + strlen(got), 20, "%" PRId64 ",", TF_Dim(t, i));
    hr_test_fail(__FILE__, __LINE__, "%s: output %d of '%s' (%s) has shape [%s], inferred was [%s]", name, o.index,
                 TF_OperationName(o.oper), TF_OperationOpType(o.oper), got, want);
  }
  TF_DeleteStatus(s);
}

static void fuzz_fetch(fuzz_t* f, TF_Output* fetch, int n, const TF_Operation* target, const char* name) {
  static const char timeout_ms[] = {0x10, 100};
  TF_Buffer limit = {.data = timeout_ms, .length = sizeof timeout_ms};
  TF_Tensor* out[FUZZ_MAX_INPUTS] = {NULL};
  TF_SetStatus(f->status, TF_OK, "");
  TF_SessionRun(f->session, &limit, f->feed, f->fed, f->feeds, fetch, out, n, &target, target ? 1 : 0, NULL, f->status);
  TF_Code code = TF_GetCode(f->status);
  bool expected = strstr(TF_Message(f->status), "division by zero") != NULL; /* TensorFlow's code for these is INTERNAL */
  expected |= strstr(TF_Message(f->status), "uninitialized value") != NULL;
  expected |= strstr(TF_Message(f->status), "a remote call to") != NULL;
  if ((code == TF_INTERNAL && !expected) || code == TF_UNKNOWN || (code && !*TF_Message(f->status)))
    hr_test_fail(__FILE__, __LINE__, "%s: code %d (%s)", name, (int)code, TF_Message(f->status));
  for (int i = 0; i < n; ++i) {
    if (out[i]) fuzz_check_output(f, fetch[i], out[i], name);
    else if (fuzz_ok(f)) hr_test_fail(__FILE__, __LINE__, "%s: no output %d", name, i);
    TF_DeleteTensor(out[i]);
  }
}
static void fuzz_run(fuzz_t* f, TF_Operation* node, const char* name) {
  TF_Output fetch[FUZZ_MAX_INPUTS];
  TF_SessionOptions* o = TF_NewSessionOptions();
  int n = TF_OperationNumOutputs(node);
  if (n > FUZZ_MAX_INPUTS) n = FUZZ_MAX_INPUTS;
  f->session = TF_NewSession(f->graph, o, f->status);
  TF_DeleteSessionOptions(o);
  if (!f->session) return;
  for (int i = 0; i < f->inits; ++i) TF_SessionRun(f->session, NULL, NULL, NULL, 0, NULL, NULL, 0, &f->init[i], 1, NULL, f->status);
  for (int i = 0; i < n; ++i) fetch[i] = (TF_Output){node, i};
  fuzz_fetch(f, fetch, n, node, name);
  f->failed = !fuzz_ok(f);
  if (fuzz_percent(20)) fuzz_fetch(f, fetch, n, NULL, name); /* the same plan and state again */
}
static void fuzz_differentiate(fuzz_t* f, TF_Operation* node, const TF_Output* in, int in_count, const char* name) {
  TF_Output y = {node, 0}, dx[FUZZ_MAX_INPUTS], got[FUZZ_MAX_INPUTS];
  int n = 0;
  if (!TF_OperationNumOutputs(node) || !in_count) return;
  y.index = fuzz_below(TF_OperationNumOutputs(node));
  TF_SetStatus(f->status, TF_OK, "");
  TF_AddGradients(f->graph, &y, 1, (TF_Output*)in, in_count, NULL, f->status, dx);
  if (TF_GetCode(f->status) == TF_INTERNAL) hr_test_fail(__FILE__, __LINE__, "%s: gradient: %s", name, TF_Message(f->status));
  for (int i = 0; fuzz_ok(f) && i < in_count; ++i)
    if (dx[i].oper) got[n++] = dx[i];
  if (n && f->session) fuzz_fetch(f, got, n, NULL, name);
}

static void fuzz_close(fuzz_t* f) {
  TF_SetStatus(f->status, TF_OK, "");
  if (f->session) TF_DeleteSession(f->session, f->status);
  for (int i = 0; i < f->feeds; ++i) TF_DeleteTensor(f->fed[i]);
  TF_DeleteGraph(f->graph);
  TF_DeleteStatus(f->status);
}

static char fuzz_now[160];
static int64_t fuzz_seen, fuzz_built, fuzz_ran;
static void fuzz_case(const hr_op_def_t* def, int number) {
  fuzz_t f = {.def = def, .graph = TF_NewGraph(), .status = TF_NewStatus()};
  TF_Output in[FUZZ_MAX_INPUTS];
  int in_count = 0;
  snprintf(fuzz_now, sizeof fuzz_now, "%s case %d", def->op->name, number);
  fuzz_state = hr_hash(def->op->name, strlen(def->op->name), 0) + (uint64_t)number * UINT64_C(0x9e3779b97f4a7c15);
  fuzz_state |= 1;
  for (int i = 0; i < 4; ++i) fuzz_random();
  f.wild = fuzz_percent(10);
  f.rank = fuzz_percent(40) ? 4 : fuzz_percent(50) ? 2 : fuzz_below(6);
  for (int i = 0; i < FUZZ_MAX_RANK; ++i) f.dims[i] = fuzz_dim();
  alarm(FUZZ_SECONDS);
  TF_Operation* node = fuzz_node(&f, in, &in_count);
  if (TF_GetCode(f.status) == TF_INTERNAL) hr_test_fail(__FILE__, __LINE__, "%s: %s", fuzz_now, TF_Message(f.status));
  ++fuzz_seen;
  if (node) {
    ++fuzz_built;
    fuzz_run(&f, node, fuzz_now);
    fuzz_ran += fuzz_ok(&f);
    if (fuzz_percent(40)) fuzz_differentiate(&f, node, in, in_count, fuzz_now);
  }
  fuzz_close(&f);
  alarm(0);
}

/* ---- all of them */

static const char* fuzz_env(const char* name, const char* other) { return getenv(name) && *getenv(name) ? getenv(name) : other; }
static bool fuzz_is_chosen(const char* op) {
  const char *list = fuzz_env("HEADRACE_TEST_OPS", NULL), *at = list;
  size_t n = strlen(op);
  if (!list) return true;
  for (; (at = strstr(at, op)); at += n)
    if ((at == list || at[-1] == ' ') && (at[n] == ' ' || !at[n])) return true;
  return false;
}
static bool fuzz_op(const hr_op_def_t* def, void* arg) {
  int first = atoi(fuzz_env("HEADRACE_FUZZ_FIRST", "0")), cases = *(int*)arg;
  if (!fuzz_is_chosen(def->op->name) || def->attr_count > FUZZ_MAX_ATTRS || def->input_count >= FUZZ_MAX_INPUTS) return true;
  for (int i = first; i < first + cases; ++i) fuzz_case(def, i);
  return true;
}

static void* fuzz_allocate(size_t bytes, size_t alignment) {
  if (bytes > fuzz_most_bytes) return NULL;
  return alignment <= 16 ? malloc(bytes) : aligned_alloc(alignment, (bytes + alignment - 1) & ~(alignment - 1));
}
static void* fuzz_resize(void* block, size_t bytes) { return bytes > fuzz_most_bytes ? NULL : realloc(block, bytes); }
static void fuzz_died(int number) { /* says which case it was, also for a sanitizer with abort_on_error */
  static const char too_long[] = " does not end\n", crash[] = " crashes\n";
  const char* text = number == SIGALRM ? too_long : crash;
  if (write(1, fuzz_now, strlen(fuzz_now)) < 0 || write(1, text, strlen(text)) < 0) _exit(2);
  signal(SIGABRT, SIG_DFL);
  abort();
}

HR_TEST(every_op_survives_any_input) {
  static const hr_alloc_hooks_t hooks = {fuzz_allocate, fuzz_resize, free};
  int cases = atoi(fuzz_env("HEADRACE_FUZZ_CASES", "0"));
  if (cases <= 0) cases = FUZZ_CASES;
  hr_alloc_set_hooks(&hooks);
  signal(SIGALRM, fuzz_died);
  signal(SIGABRT, fuzz_died);
  mkdir("fuzz_tmp", 0777); /* file ops write relative names */
  HR_REQUIRE(chdir("fuzz_tmp") == 0);
  hr_registry_each(fuzz_op, &cases);
  printf("%" PRId64 " cases, %" PRId64 " nodes built, %" PRId64 " ran\n", fuzz_seen, fuzz_built, fuzz_ran);
  if (!fuzz_env("HEADRACE_TEST_OPS", NULL)) HR_CHECK(fuzz_built > fuzz_seen / 5 && fuzz_ran > fuzz_seen / 12);
}
HR_TEST_MAIN()
