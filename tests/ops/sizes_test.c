/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes at which loops change: each row of sizes.def gives the same bits on one and on two cores, and on each instruction set what the
 * SSE2 form gives, within the row's tolerance; and where elements do not depend on one another, equal inputs give equal outputs wherever
 * they stand, so that no block or chunk begins in the wrong place. */
#include "base/isa.h"
#include "base/pool.h"
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
enum { SIZES = sizeof sizes / sizeof *sizes, SIZED_MAX = 4, SIZED_PERIOD = 1009 /* of the inputs */ };

/* From the text of one shape up to ';': numbers in [low, high), not in step with any vector's width. */
static TF_Tensor* sized_tensor(const sized_t* row, const char* at, int64_t n, int which) {
  int64_t dims[TEXT_MAX], count = 1;
  int rank = 0;
  char text[64];
  if (*at == '=') {
    for (const char* c = at; *c && *c != ';'; ++c) rank += *c == '=' || *c == ',';
    snprintf(text, sizeof text, "int32[%d] %.*s", rank, (int)strcspn(at + 1, ";"), at + 1);
    for (char* c = strchr(text, ']'); *c; ++c)
      if (*c == ',') *c = ' ';
    return text_tensor(text, NULL);
  }
  for (char* end; *at && *at != ';'; at = *end == ',' ? end + 1 : end) {
    dims[rank] = *at == 'n' ? (end = (char*)at + 1, n) : strtoll(at, &end, 10);
    count *= dims[rank++];
  }
  TF_DataType type = text_types[text_type(row->type, strlen(row->type))].type;
  TF_Tensor* t = TF_AllocateTensor(type, dims, rank, (size_t)count * TF_DataTypeSize(type));
  for (int64_t i = 0; t && i < count; ++i)
    text_store(type, TF_TensorData(t), (size_t)i,
               row->low + (row->high - row->low) * (double)((i * 7919 + which * 31) % SIZED_PERIOD) / SIZED_PERIOD);
  return t;
}

static TF_Tensor* sized_run(const sized_t* row, int64_t n, hr_isa_t isa, int threads) {
  TF_Graph* g = TF_NewGraph();
  TF_Status* s = TF_NewStatus();
  TF_Output in[SIZED_MAX], out;
  TF_Tensor *value[SIZED_MAX], *got = NULL;
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
  TF_OperationDescription* d = TF_NewOperation(g, row->op, "node");
  for (int i = 0; i < count; ++i) TF_AddInput(d, in[i]);
  for (const char* at = row->attrs; *at; at += strcspn(at, ";"), at += strspn(at, "; ")) {
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "="), at);
    text_attr(d, name, at + strcspn(at, "=") + 1);
  }
  out = (TF_Output){TF_FinishOperation(d, s), 0};
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_Session* session = TF_GetCode(s) == TF_OK ? TF_NewSession(g, options, s) : NULL;
  if (session) TF_SessionRun(session, NULL, in, value, count, &out, &got, 1, NULL, 0, NULL, s);
  if (TF_GetCode(s) != TF_OK) hr_test_fail(__FILE__, __LINE__, "%s (%s) of %" PRId64 ": %s", row->op, row->inputs, n, TF_Message(s));
  if (session) TF_DeleteSession(session, s);
  TF_DeleteSessionOptions(options);
  for (int i = 0; i < count; ++i) TF_DeleteTensor(value[i]);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
  return got;
}

static double sized_number(const TF_Tensor* t, int64_t i) {
  const void* p = TF_TensorData(t);
  TF_DataType type = TF_TensorType(t);
  return type == TF_FLOAT    ? (double)((const float*)p)[i]
         : type == TF_DOUBLE ? ((const double*)p)[i]
         : type == TF_INT32  ? ((const int32_t*)p)[i]
         : type == TF_INT64  ? (double)((const int64_t*)p)[i]
         : type == TF_UINT8  ? ((const uint8_t*)p)[i]
         : type == TF_INT8   ? ((const int8_t*)p)[i]
         : type == TF_INT16  ? ((const int16_t*)p)[i]
                             : ((const bool*)p)[i];
}

static void sized_compare(const sized_t* row, int64_t n, hr_isa_t isa, const TF_Tensor* got, const TF_Tensor* want) {
  double largest = 0, worst = 0;
  if (!got || !want) return; /* told already */
  if (TF_TensorElementCount(got) != TF_TensorElementCount(want)) {
    hr_test_fail(__FILE__, __LINE__, "%s (%s) of %" PRId64 " on %s has another size", row->op, row->inputs, n, hr_isa_name(isa));
    return;
  }
  for (int64_t i = 0; i < TF_TensorElementCount(want); ++i) {
    double a = sized_number(got, i), b = sized_number(want, i);
    largest = fmax(largest, fabs(b));
    worst = isnan(a) || isnan(b) ? INFINITY : fmax(worst, fabs(a - b));
  }
  if (worst > row->tolerance * fmax(largest, 1))
    hr_test_fail(__FILE__, __LINE__, "%s %s (%s) of %" PRId64 " on %s differs by %g of %g", row->op, row->type, row->inputs, n,
                 hr_isa_name(isa), worst, largest);
}

static void sized_repeats(const sized_t* row, int64_t n, const TF_Tensor* got) {
  if (!got || strspn(row->inputs, "n;") != strlen(row->inputs)) return;
  for (int64_t i = SIZED_PERIOD; i < TF_TensorElementCount(got); ++i) {
    const double a = sized_number(got, i), b = sized_number(got, i % SIZED_PERIOD);
    if (fabs(a - b) <= row->tolerance * fmax(fabs(b), 1) || (isnan(a) && isnan(b))) continue;
    hr_test_fail(__FILE__, __LINE__, "%s %s of %" PRId64 ": element %" PRId64 " is %g, the same inputs gave %g", row->op, row->type, n, i,
                 a, b);
    return;
  }
}

HR_TEST(sizes_around_widths_and_grains) {
  const hr_isa_t before = hr_isa();
  for (size_t r = 0; r < sizeof sized_rows / sizeof *sized_rows; ++r)
    for (int k = 0; k < SIZES; ++k) {
      TF_Tensor* plain = sized_run(&sized_rows[r], sizes[k], HR_ISA_SSE2, 1);
      sized_repeats(&sized_rows[r], sizes[k], plain);
      for (int isa = 0; isa <= (int)hr_isa_best(); ++isa) {
        TF_Tensor *one = sized_run(&sized_rows[r], sizes[k], (hr_isa_t)isa, 1),
                  *two = sized_run(&sized_rows[r], sizes[k], (hr_isa_t)isa, 2);
        sized_compare(&sized_rows[r], sizes[k], (hr_isa_t)isa, one, plain);
        if (one && two && memcmp(TF_TensorData(one), TF_TensorData(two), TF_TensorByteSize(one)))
          hr_test_fail(__FILE__, __LINE__, "%s (%s) of %" PRId64 " on %s: two cores give other bits than one", sized_rows[r].op,
                       sized_rows[r].inputs, sizes[k], hr_isa_name((hr_isa_t)isa));
        TF_DeleteTensor(one);
        TF_DeleteTensor(two);
      }
      TF_DeleteTensor(plain);
    }
  hr_pool_set_threads(0);
  hr_isa_force(before);
}
HR_TEST_MAIN()
