/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes at which loops change: each row of sizes.def gives the same bits on one and on two cores (products and convolutions by another
 * library: what differs by no more than the row's tolerance), and on each instruction set what the SSE2 form gives, within the tolerance;
 * where elements do not depend on one another, equal inputs give equal outputs wherever they stand, so that no block or chunk begins in
 * the wrong place; and the sums of what comes out are those of tests/ops/sizes.txt, which HEADRACE_SIZES=FILE writes. */
#include "base/half.h"
#include "base/isa.h"
#include "base/pool.h"
#include "dnn/dnn.h"
#include "op/registry.h"
#include "ops/text.h"
#include "test.h"

typedef struct {
  const char *op, *attrs, *type, *inputs;
  double low, high, tolerance;
} sized_t;
static const sized_t sized_rows[] = {
#define SIZED(op, attrs, type, inputs, low, high, tolerance) {#op, attrs, #type, inputs, low, high, tolerance},
#include "ops/sizes.def"
#undef SIZED
};
static const int64_t sizes[] = {1, 3, 15, 16, 17, 31, 32, 33, 63, 64, 65, 1000, 100003};
enum { SIZES = sizeof sizes / sizeof *sizes, ROWS = sizeof sized_rows / sizeof *sized_rows, SIZED_PERIOD = 1009 /* of the inputs */ };
enum { MOST_INPUTS = 6, MOST_OUTPUTS = 4, MOST_ELEMENTS = 600000, LINE = 300 };

typedef struct {
  TF_Tensor* out[MOST_OUTPUTS];
  int count;
} sized_result_t;

/* --- inputs --------------------------------------------------------------------------------------------------------------------------- */

/* Numbers with commas between, up to ';', where n stands for the size. */
static int sized_list(const char* at, int64_t n, int64_t* out) {
  int count = 0;
  for (char* end; *at && *at != ';' && count < TEXT_MAX; at = *end == ',' ? end + 1 : end)
    out[count++] = *at == 'n' ? (end = (char*)(uintptr_t)at + 1, n) : strtoll(at, &end, 10);
  return count;
}

/* "=2,0" is a vector of int32, "@2" a scalar. */
static TF_Tensor* sized_constant(const char* at, int64_t n) {
  int64_t numbers[TEXT_MAX], count = sized_list(at + 1, n, numbers);
  TF_Tensor* t = TF_AllocateTensor(TF_INT32, &count, *at == '@' ? 0 : 1, (size_t)count * 4);
  for (int64_t i = 0; t && i < count; ++i) ((int32_t*)TF_TensorData(t))[i] = (int32_t)numbers[i];
  return t;
}

/* "{7}n": numbers that grow from 0 to 6. */
static TF_Tensor* sized_sorted(const char* at, int64_t n) {
  char* end;
  const int64_t most = strtoll(at + 1, &end, 10);
  int64_t count = 1;
  sized_list(end + 1, n, &count);
  TF_Tensor* t = TF_AllocateTensor(TF_INT32, &count, 1, (size_t)count * 4);
  for (int64_t i = 0; t && i < count; ++i) ((int32_t*)TF_TensorData(t))[i] = (int32_t)(i * most / count);
  return t;
}

/* From the text of one shape up to ';': numbers in [low, high), not in step with any vector's width. */
static TF_Tensor* sized_tensor(const sized_t* row, const char* at, int64_t n, int which) {
  int64_t dims[TEXT_MAX], count = 1;
  int kind = text_type(row->type, strlen(row->type));
  double low = row->low, high = row->high;
  const size_t own = strcspn(at, "<;");
  if (*at == '=' || *at == '@') return sized_constant(at, n);
  if (*at == '{') return sized_sorted(at, n);
  if (at[own] == '<') { /* "int32<9>n" */
    kind = text_type(at, own);
    low = 0;
    high = strtod(at + own + 1, NULL);
    at += strcspn(at, ">") + 1;
  }
  const int rank = sized_list(at, n, dims);
  for (int i = 0; i < rank; ++i) count *= dims[i];
  const TF_DataType type = text_types[kind].type;
  TF_Tensor* t = TF_AllocateTensor(type, dims, rank, (size_t)count * TF_DataTypeSize(type));
  for (int64_t i = 0; t && i < count * text_types[kind].parts; ++i) {
    const double v = low + (high - low) * (double)((i * 7919 + which * 31) % SIZED_PERIOD) / SIZED_PERIOD;
    text_store(type, TF_TensorData(t), (size_t)i, type == TF_BOOL ? floor(v) : v);
  }
  return t;
}

/* --- a run ---------------------------------------------------------------------------------------------------------------------------- */

static TF_Operation* sized_node(const sized_t* row, TF_Graph* g, const TF_Output* in, int count, TF_Status* s) {
  TF_OperationDescription* d = TF_NewOperation(g, row->op, "node");
  for (int i = 0; i < count; ++i) TF_AddInput(d, in[i]);
  for (const char* at = row->attrs; *at; at += strcspn(at, ";"), at += strspn(at, "; ")) {
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "="), at);
    text_attr(d, name, at + strcspn(at, "=") + 1);
  }
  return TF_FinishOperation(d, s);
}

static sized_result_t sized_run(const sized_t* row, int64_t n, hr_isa_t isa, int threads) {
  TF_Graph* g = TF_NewGraph();
  TF_Status* s = TF_NewStatus();
  TF_Output in[MOST_INPUTS], out[MOST_OUTPUTS];
  TF_Tensor* value[MOST_INPUTS];
  sized_result_t got = {.count = 0};
  int count = 0;
  hr_isa_force(isa);
  hr_pool_set_threads(threads);
  for (const char* at = row->inputs; count == 0 || at[-1] == ';'; at += strcspn(at, ";"), at += *at == ';') {
    char name[16];
    snprintf(name, sizeof name, "in_%d", count);
    value[count] = sized_tensor(row, at, n, count);
    TF_OperationDescription* p = TF_NewOperation(g, "Placeholder", name);
    TF_SetAttrType(p, "dtype", TF_TensorType(value[count]));
    in[count++] = (TF_Output){TF_FinishOperation(p, s), 0};
    if (!*at) break;
  }
  TF_Operation* node = sized_node(row, g, in, count, s);
  const int outputs = node ? TF_OperationNumOutputs(node) : 0;
  for (int i = 0; i < outputs && i < MOST_OUTPUTS; ++i) out[got.count++] = (TF_Output){node, i};
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_Session* session = TF_GetCode(s) == TF_OK ? TF_NewSession(g, options, s) : NULL;
  if (session) TF_SessionRun(session, NULL, in, value, count, out, got.out, got.count, NULL, 0, NULL, s);
  if (TF_GetCode(s) != TF_OK) hr_test_fail(__FILE__, __LINE__, "%s (%s) of %" PRId64 ": %s", row->op, row->inputs, n, TF_Message(s));
  if (session) TF_DeleteSession(session, s);
  TF_DeleteSessionOptions(options);
  for (int i = 0; i < count; ++i) TF_DeleteTensor(value[i]);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
  return got;
}

static void sized_free(sized_result_t* r) {
  for (int i = 0; i < r->count; ++i) TF_DeleteTensor(r->out[i]);
}

/* --- what came out -------------------------------------------------------------------------------------------------------------------- */

static int64_t sized_numbers(const TF_Tensor* t) {
  const bool is_complex = TF_TensorType(t) == TF_COMPLEX64 || TF_TensorType(t) == TF_COMPLEX128;
  return TF_TensorElementCount(t) * (is_complex ? 2 : 1);
}

static double sized_number(const TF_Tensor* t, int64_t i) {
  const void* p = TF_TensorData(t);
  switch (TF_TensorType(t)) {
    case TF_FLOAT: case TF_COMPLEX64: return (double)((const float*)p)[i];
    case TF_DOUBLE: case TF_COMPLEX128: return ((const double*)p)[i];
    case TF_HALF: return (double)hr_f16_to_f32(((const hr_f16_t*)p)[i]);
    case TF_BFLOAT16: return (double)hr_bf16_to_f32(((const hr_bf16_t*)p)[i]);
    case TF_INT32: return ((const int32_t*)p)[i];
    case TF_UINT32: return ((const uint32_t*)p)[i];
    case TF_INT64: return (double)((const int64_t*)p)[i];
    case TF_UINT64: return (double)((const uint64_t*)p)[i];
    case TF_INT16: return ((const int16_t*)p)[i];
    case TF_UINT16: return ((const uint16_t*)p)[i];
    case TF_INT8: return ((const int8_t*)p)[i];
    case TF_UINT8: return ((const uint8_t*)p)[i];
    default: return ((const bool*)p)[i];
  }
}

static void sized_compare(const sized_t* row, int64_t n, hr_isa_t isa, const TF_Tensor* got, const TF_Tensor* want) {
  double largest = 0, worst = 0;
  if (!got || !want) return; /* told already */
  if (sized_numbers(got) != sized_numbers(want)) {
    hr_test_fail(__FILE__, __LINE__, "%s (%s) of %" PRId64 " on %s has another size", row->op, row->inputs, n, hr_isa_name(isa));
    return;
  }
  for (int64_t i = 0; i < sized_numbers(want); ++i) {
    double a = sized_number(got, i), b = sized_number(want, i);
    if (isfinite(b)) largest = fmax(largest, fabs(b));
    if (a == b || (isnan(a) && isnan(b))) continue;
    worst = isnan(a) || isnan(b) ? INFINITY : fmax(worst, fabs(a - b));
  }
  if (worst > row->tolerance * fmax(largest, 1))
    hr_test_fail(__FILE__, __LINE__, "%s %s (%s) of %" PRId64 " on %s differs by %g of %g", row->op, row->type, row->inputs, n,
                 hr_isa_name(isa), worst, largest);
}

static void sized_repeats(const sized_t* row, int64_t n, const TF_Tensor* got) {
  if (!got || strspn(row->inputs, "n;") != strlen(row->inputs) || sized_numbers(got) != n) return;
  for (int64_t i = SIZED_PERIOD; i < n; ++i) {
    const double a = sized_number(got, i), b = sized_number(got, i % SIZED_PERIOD);
    if (a == b || fabs(a - b) <= row->tolerance * fmax(fabs(b), 1) || (isnan(a) && isnan(b))) continue;
    hr_test_fail(__FILE__, __LINE__, "%s %s of %" PRId64 ": element %" PRId64 " is %g, the same inputs gave %g", row->op, row->type, n, i,
                 a, b);
    return;
  }
}

/* The sum of magnitudes, and one that depends on where each element stands. */
static void sized_sums(const TF_Tensor* t, double* magnitude, double* placed) {
  *magnitude = *placed = 0;
  for (int64_t i = 0; t && i < sized_numbers(t); ++i) {
    double x = sized_number(t, i);
    if (!isfinite(x)) x = isnan(x) ? 1e3 : x > 0 ? 1e4 : -1e4;
    *magnitude += fabs(x);
    *placed += x * (double)(1 + i * 31 % 997) / 997;
  }
}

/* --- the record ----------------------------------------------------------------------------------------------------------------------- */

static char (*recorded)[LINE]; /* of row r and size k at r * SIZES + k */
static const char* record_path; /* where to write it, if at all */

static void record_open(void) {
  if (recorded) return;
  record_path = getenv("HEADRACE_SIZES");
  recorded = calloc(ROWS * SIZES, LINE);
  FILE* f = record_path ? NULL : fopen(HR_TEST_SOURCE_DIR "/tests/ops/sizes.txt", "r");
  for (int i = 0; f && recorded && i < ROWS * SIZES && fgets(recorded[i], LINE, f); ++i) continue;
  if (f) fclose(f);
}

static void record_write(void) {
  FILE* f = fopen(record_path, "w");
  for (int i = 0; f && i < ROWS * SIZES; ++i) fprintf(f, "%s\n", recorded[i]);
  if (f) fclose(f);
}

static void record_check(int r, int k, const sized_result_t* got) {
  const sized_t* row = &sized_rows[r];
  const double room = 4 * row->tolerance + 1e-7;
  char *line = recorded[r * SIZES + k], head[100];
  int at = snprintf(head, sizeof head, "%d %s %s %" PRId64, r, row->op, row->type, sizes[k]);
  if (record_path) strcpy(line, head);
  else if (strncmp(line, head, (size_t)at) != 0) {
    hr_test_fail("tests/ops/sizes.txt", 0, "row %d is not of %s (%s): write the file anew, see sizes_test.c", r, row->op, row->inputs);
    return;
  }
  for (int i = 0; i < got->count; ++i) {
    double magnitude, placed, want_magnitude, want_placed;
    int used = 0;
    sized_sums(got->out[i], &magnitude, &placed);
    if (record_path) {
      at += snprintf(line + at, (size_t)(LINE - at), " %.9g %.9g", magnitude, placed);
      continue;
    }
    if (sscanf(line + at, " %lf %lf%n", &want_magnitude, &want_placed, &used) != 2 ||
        !(fmax(fabs(magnitude - want_magnitude), fabs(placed - want_placed)) <= room * want_magnitude + 1e-9))
      hr_test_fail("tests/ops/sizes.txt", 0, "%s %s (%s) of %" PRId64 ": output %d sums to %.9g and %.9g, recorded is%s", row->op,
                   row->type, row->inputs, sizes[k], i, magnitude, placed, line + at);
    at += used;
  }
}

/* --- rows ----------------------------------------------------------------------------------------------------------------------------- */

/* Elements of the largest input. */
static int64_t sized_volume(const char* inputs, int64_t n) {
  int64_t most = 0;
  for (const char* at = inputs;; ++at) {
    int64_t dims[TEXT_MAX], volume = 1;
    const size_t own = strcspn(at, "<;");
    const int rank = sized_list(at[own] == '<' ? at + strcspn(at, ">") + 1 : *at == '{' ? at + strcspn(at, "}") + 1 : at, n, dims);
    for (int i = 0; i < rank; ++i) volume *= dims[i];
    most = *at != '=' && *at != '@' && volume > most ? volume : most;
    at += strcspn(at, ";");
    if (!*at) return most;
  }
}

static bool same_bits(const TF_Tensor* a, const TF_Tensor* b) {
  return TF_TensorByteSize(a) == TF_TensorByteSize(b) && !memcmp(TF_TensorData(a), TF_TensorData(b), TF_TensorByteSize(a));
}

static void sized_check(int r, int k) {
  const sized_t* row = &sized_rows[r];
  const bool by_another_library = hr_dnn() && (strstr(row->op, "MatMul") || strstr(row->op, "Conv2D"));
  const int64_t n = sizes[k];
  sized_result_t plain = sized_run(row, n, HR_ISA_SSE2, 1);
  record_check(r, k, &plain);
  if (plain.count) sized_repeats(row, n, plain.out[0]);
  for (int isa = 0; isa <= (int)hr_isa_best() && !record_path; ++isa) {
    sized_result_t one = sized_run(row, n, (hr_isa_t)isa, 1), two = sized_run(row, n, (hr_isa_t)isa, 2);
    for (int i = 0; i < plain.count; ++i) {
      sized_compare(row, n, (hr_isa_t)isa, one.out[i], plain.out[i]);
      if (by_another_library) sized_compare(row, n, (hr_isa_t)isa, two.out[i], one.out[i]);
      else if (one.out[i] && two.out[i] && !same_bits(one.out[i], two.out[i]))
        hr_test_fail(__FILE__, __LINE__, "%s (%s) of %" PRId64 " on %s: two cores give other bits than one", row->op, row->inputs, n,
                     hr_isa_name((hr_isa_t)isa));
    }
    sized_free(&one);
    sized_free(&two);
  }
  sized_free(&plain);
}

/* The rows of ops that are defined below a folder of src/ops/. */
static void sized_folder(const char* folder) {
  const hr_isa_t before = hr_isa();
  int seen = 0;
  record_open();
  for (int r = 0; r < ROWS; ++r) {
    const hr_op_def_t* def = NULL;
    if (!HR_CHECK_OK(hr_registry_find(hr_str(sized_rows[r].op), &def)) || !strstr(def->op->file, folder)) continue;
    ++seen;
    for (int k = 0; k < SIZES && sized_volume(sized_rows[r].inputs, sizes[k]) <= MOST_ELEMENTS; ++k) sized_check(r, k);
  }
  HR_CHECK(seen > 0);
  if (record_path) record_write();
  hr_pool_set_threads(0);
  hr_isa_force(before);
}

HR_TEST(elementwise) { sized_folder("ops/elementwise/"); }
HR_TEST(array) { sized_folder("ops/array/"); }
HR_TEST(reduce) { sized_folder("ops/reduce/"); }
HR_TEST(nn) { sized_folder("ops/nn/"); }
HR_TEST(math) { sized_folder("ops/math/"); }
HR_TEST(random) { sized_folder("ops/random/"); }
HR_TEST_MAIN()
