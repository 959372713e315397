/* SPDX-License-Identifier: Apache-2.0 */
/* What an op gave, as text, for tests that write down what they want: tensors as tests/ops/text.h reads them, errors as "!code message". */
#ifndef HR_TESTS_OPS_OUTCOME_TEXT_H
#define HR_TESTS_OPS_OUTCOME_TEXT_H
#include <stdarg.h>
#include "base/half.h"
#include "ops/text.h"

enum { OUTCOME_TEXT = 8000 };
typedef struct {
  char text[OUTCOME_TEXT];
  size_t used;
} outcome_t;

static void outcome_add(outcome_t* o, const char* format, ...) {
  va_list args;
  va_start(args, format);
  const int n = vsnprintf(o->text + o->used, OUTCOME_TEXT - o->used, format, args);
  va_end(args);
  o->used = o->used + (size_t)n < OUTCOME_TEXT ? o->used + (size_t)n : OUTCOME_TEXT - 1;
}

/* Without "node 'node' (Op): ", which all begin with. */
static void outcome_add_error(outcome_t* o, const TF_Status* s) {
  const char *text = TF_Message(s), *end = strstr(text, "): ");
  outcome_add(o, "!%d %s", (int)TF_GetCode(s), !strncmp(text, "node 'node' (", 13) && end ? end + 3 : text);
}

static const char* type_name(TF_DataType type) {
  for (size_t i = 0; i < sizeof text_types / sizeof *text_types; ++i)
    if (text_types[i].type == type % 100) return text_types[i].name;
  return type == TF_RESOURCE ? "resource" : "other";
}

static void outcome_add_element(outcome_t* o, const TF_Tensor* t, int64_t i) {
  const void* data = TF_TensorData(t);
  switch (TF_TensorType(t)) {
    case TF_FLOAT: outcome_add(o, " %.7g", (double)((const float*)data)[i]); break;
    case TF_COMPLEX64: outcome_add(o, " %.7g %.7g", (double)((const float*)data)[2 * i], (double)((const float*)data)[2 * i + 1]); break;
    case TF_DOUBLE: outcome_add(o, " %.12g", ((const double*)data)[i]); break;
    case TF_COMPLEX128: outcome_add(o, " %.12g %.12g", ((const double*)data)[2 * i], ((const double*)data)[2 * i + 1]); break;
    case TF_HALF: outcome_add(o, " %.7g", (double)hr_f16_to_f32(((const hr_f16_t*)data)[i])); break;
    case TF_BFLOAT16: outcome_add(o, " %.7g", (double)hr_bf16_to_f32(((const hr_bf16_t*)data)[i])); break;
    case TF_INT8: outcome_add(o, " %d", ((const int8_t*)data)[i]); break;
    case TF_INT16: outcome_add(o, " %d", ((const int16_t*)data)[i]); break;
    case TF_INT32: outcome_add(o, " %d", ((const int32_t*)data)[i]); break;
    case TF_INT64: outcome_add(o, " %lld", (long long)((const int64_t*)data)[i]); break;
    case TF_UINT8: outcome_add(o, " %u", ((const uint8_t*)data)[i]); break;
    case TF_UINT16: outcome_add(o, " %u", ((const uint16_t*)data)[i]); break;
    case TF_UINT32: outcome_add(o, " %u", ((const uint32_t*)data)[i]); break;
    case TF_UINT64: outcome_add(o, " %llu", (unsigned long long)((const uint64_t*)data)[i]); break;
    case TF_BOOL: outcome_add(o, " %d", ((const uint8_t*)data)[i]); break;
    case TF_STRING: {
      const TF_TString* s = (const TF_TString*)data + i;
      outcome_add(o, " '");
      for (size_t j = 0; j < TF_StringGetSize(s); ++j) {
        const unsigned char c = (unsigned char)TF_StringGetDataPointer(s)[j];
        outcome_add(o, c >= ' ' && c < 0x7f ? "%c" : "<%02x>", c);
      }
      outcome_add(o, "'");
      break;
    }
    default: outcome_add(o, " ?");
  }
}

static void outcome_add_tensor(outcome_t* o, const TF_Tensor* t) {
  if (!t) {
    outcome_add(o, "none");
    return;
  }
  outcome_add(o, "%s[", type_name(TF_TensorType(t)));
  for (int d = 0; d < TF_NumDims(t); ++d) outcome_add(o, "%s%lld", d ? "," : "", (long long)TF_Dim(t, d));
  outcome_add(o, "]");
  for (int64_t i = 0; i < TF_TensorElementCount(t); ++i) outcome_add_element(o, t, i);
}
#endif
