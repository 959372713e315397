/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors and attrs as text, for tests that write their cases out; needs the public headers alone.
 *
 *   tensor: type[dims] numbers, a complex number being two: "float[2,2] 1 2 3 nan"; words for strings: "string[2] a bc"
 *   attr:   'text', [1,2] (ints), <2,-1> (a shape), true, false, a type's name, 1.5 (a float), 7 (an int) */
#ifndef HR_TESTS_OPS_TEXT_H
#define HR_TESTS_OPS_TEXT_H
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tensorflow/c/c_api.h"

#define UNUSED __attribute__((unused))
enum { TEXT_MAX = 16 }; /* dimensions; elements of a list */
static const struct {
  const char* name;
  TF_DataType type;
  int parts; /* numbers an element */
} text_types[] = {{"float", TF_FLOAT, 1}, {"double", TF_DOUBLE, 1},       {"int32", TF_INT32, 1},   {"int64", TF_INT64, 1},
                  {"bool", TF_BOOL, 1},   {"complex64", TF_COMPLEX64, 2}, {"string", TF_STRING, 1}, {"uint8", TF_UINT8, 1},
                  {"int8", TF_INT8, 1},   {"int16", TF_INT16, 1},         {"half", TF_HALF, 1},     {"bfloat16", TF_BFLOAT16, 1},
                  {"uint16", TF_UINT16, 1}, {"uint32", TF_UINT32, 1},     {"uint64", TF_UINT64, 1}, {"complex128", TF_COMPLEX128, 2}};

static int text_type(const char* text, size_t n) {
  for (int i = 0; i < (int)(sizeof text_types / sizeof *text_types); ++i)
    if (strlen(text_types[i].name) == n && !strncmp(text_types[i].name, text, n)) return i;
  return -1;
}

/* Of ordinary numbers: no subnormal ones, none too large; and of infinity and no number. */
static uint16_t text_half(double v) {
  int e;
  if (!isfinite(v)) return isnan(v) ? 0x7e00 : v < 0 ? 0xfc00 : 0x7c00;
  const double m = frexp(fabs(v), &e);
  return v == 0 ? 0 : (uint16_t)((v < 0 ? 0x8000 : 0) + ((e + 14) << 10) + (int)(m * 2048 - 1024));
}
static uint16_t text_bfloat16(float v) {
  uint32_t bits;
  memcpy(&bits, &v, 4);
  return (uint16_t)(bits >> 16);
}

static void text_store(TF_DataType type, void* data, size_t i, double v) {
  if (type == TF_FLOAT || type == TF_COMPLEX64) ((float*)data)[i] = (float)v;
  else if (type == TF_DOUBLE || type == TF_COMPLEX128) ((double*)data)[i] = v;
  else if (type == TF_INT32) ((int32_t*)data)[i] = (int32_t)v;
  else if (type == TF_INT64) ((int64_t*)data)[i] = (int64_t)v;
  else if (type == TF_UINT8) ((uint8_t*)data)[i] = (uint8_t)v;
  else if (type == TF_INT8) ((int8_t*)data)[i] = (int8_t)v;
  else if (type == TF_INT16) ((int16_t*)data)[i] = (int16_t)v;
  else if (type == TF_HALF) ((uint16_t*)data)[i] = text_half(v);
  else if (type == TF_BFLOAT16) ((uint16_t*)data)[i] = text_bfloat16((float)v);
  else if (type == TF_UINT16) ((uint16_t*)data)[i] = (uint16_t)v;
  else if (type == TF_UINT32) ((uint32_t*)data)[i] = (uint32_t)v;
  else if (type == TF_UINT64) ((uint64_t*)data)[i] = (uint64_t)v;
  else ((bool*)data)[i] = v != 0;
}

/* One element; NULL when the text has none. */
static const char* text_element(TF_DataType type, void* data, size_t i, const char* text) {
  char* at;
  if (type == TF_STRING) {
    text += strspn(text, " ");
    size_t n = strcspn(text, " ;");
    TF_StringInit((TF_TString*)data + i);
    TF_StringCopy((TF_TString*)data + i, text, n);
    return n ? text + n : NULL;
  }
  if (type == TF_INT64) { /* a double would lose digits */
    ((int64_t*)data)[i] = strtoll(text, &at, 10);
    return at == text ? NULL : at;
  }
  double v = strtod(text, &at);
  text_store(type, data, i, v);
  return at == text ? NULL : at;
}

UNUSED static TF_Tensor* text_tensor(const char* text, const char** end) {
  int64_t dims[TEXT_MAX], count = 1;
  int rank = 0, type = text_type(text, strcspn(text, "["));
  if (type < 0) return NULL;
  text += strcspn(text, "[") + 1;
  for (char* at; *text != ']' && rank < TEXT_MAX; text = *at == ',' ? at + 1 : at) count *= dims[rank++] = strtoll(text, &at, 10);
  if (*text++ != ']') return NULL;
  size_t numbers = (size_t)count * (size_t)text_types[type].parts;
  size_t bytes = (size_t)count * (text_types[type].type == TF_STRING ? sizeof(TF_TString) : TF_DataTypeSize(text_types[type].type));
  TF_Tensor* t = TF_AllocateTensor(text_types[type].type, dims, rank, bytes);
  for (size_t i = 0; t && i < numbers; ++i) {
    text = text_element(text_types[type].type, TF_TensorData(t), i, text);
    if (!text) {
      TF_DeleteTensor(t);
      return NULL;
    }
  }
  if (end) *end = text + strspn(text, "; ");
  return t;
}

/* v: the value, up to a ';' or the end. */
UNUSED static void text_attr(TF_OperationDescription* d, const char* name, const char* v) {
  int64_t list[TEXT_MAX];
  int n = 0;
  char* at;
  if (*v == '\'') {
    TF_SetAttrString(d, name, v + 1, strcspn(v + 1, "'"));
  } else if (*v == '[') {
    for (++v; *v != ']' && n < TEXT_MAX; v = *at == ',' ? at + 1 : at) list[n++] = strtoll(v, &at, 10);
    TF_SetAttrIntList(d, name, list, n);
  } else if (*v == '<') {
    for (++v; *v != '>' && n < TEXT_MAX; v = *at == ',' ? at + 1 : at) list[n++] = strtoll(v, &at, 10);
    TF_SetAttrShape(d, name, list, n);
  } else if (!strcmp(v, "true") || !strcmp(v, "false") || !strncmp(v, "true;", 5) || !strncmp(v, "false;", 6)) {
    TF_SetAttrBool(d, name, *v == 't');
  } else if (text_type(v, strcspn(v, ";")) >= 0) {
    TF_SetAttrType(d, name, text_types[text_type(v, strcspn(v, ";"))].type);
  } else if (strchr(v, '.') && strcspn(v, ".") < strcspn(v, ";")) {
    TF_SetAttrFloat(d, name, strtof(v, NULL));
  } else {
    TF_SetAttrInt(d, name, strtoll(v, NULL, 10));
  }
}
#endif
