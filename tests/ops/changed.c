/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/changed.h"
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include "base/hash.h"

static _Thread_local uint64_t changed_state;
void changed_start(const char* text, uint64_t seed) { changed_state = hr_hash(text, strlen(text), seed) | 1; }
uint64_t changed_random(void) { /* xorshift64* */
  changed_state ^= changed_state >> 12;
  changed_state ^= changed_state << 25;
  changed_state ^= changed_state >> 27;
  return changed_state * UINT64_C(2685821657736338717) >> 11;
}
int changed_below(int64_t n) { return (int)(changed_random() % (uint64_t)n); }

static int64_t changed_int(void) {
  static const int64_t list[] = {-1, -2, 0, 1, 2, 3, 5, 100, INT32_MAX, INT32_MIN, (int64_t)1 << 31, (int64_t)1 << 32, (int64_t)1 << 40,
                                 1000000000000000000, INT64_MAX, INT64_MIN, INT64_MAX - 1, INT64_MIN + 1, 65536, 255, 256};
  return changed_below(2) ? list[changed_below(sizeof list / sizeof *list)] : changed_below(9) - 3;
}
static double changed_real(void) {
  static const double list[] = {0, -0.0, -1, 1e-45, 3.4e38, -3.4e38, INFINITY, -INFINITY, NAN, 2147483648.0, 9.3e18, 0.5};
  return list[changed_below(sizeof list / sizeof *list)];
}
static void changed_text(TF_TString* s) {
  static const char* const list[] = {
      "", "a", "no/such/file", "\x08\x01\x12\x04\xff\xff\xff\x7f", "a text that is too long to lie in the element itself", "%d%s", "*"};
  const char* text = list[changed_below(sizeof list / sizeof *list)];
  TF_StringCopy(s, text, strlen(text));
}
static void changed_element(TF_Tensor* t, int64_t i) {
  TF_DataType type = TF_TensorType(t);
  size_t size = TF_DataTypeSize(type);
  char* at = (char*)TF_TensorData(t) + (size_t)i * size;
  double v = changed_real();
  float f = (float)v;
  int64_t n = changed_int();
  if (type == TF_STRING) changed_text((TF_TString*)TF_TensorData(t) + i);
  else if (type == TF_BOOL) *(bool*)at = n & 1;
  else if (type == TF_FLOAT || type == TF_COMPLEX64) memcpy(at, &f, 4);
  else if (type == TF_DOUBLE || type == TF_COMPLEX128) memcpy(at, &v, 8);
  else if (size <= 8) memcpy(at, &n, size);
}

/* ---- a changed copy */

int changed_dims(const TF_Tensor* t, int64_t* dims) {
  int rank = TF_NumDims(t), axis = rank ? changed_below(rank) : 0, kind = changed_below(7);
  for (int i = 0; i < rank; ++i) dims[i] = TF_Dim(t, i);
  if (kind == 0 && rank < 10) {
    memmove(dims + axis + 1, dims + axis, (size_t)(rank - axis) * sizeof *dims);
    dims[axis] = 1 + changed_below(2);
    return rank + 1;
  }
  if (kind == 1) return 0;
  if (!rank) return 0;
  if (kind == 2) memmove(dims + axis, dims + axis + 1, (size_t)(rank - axis - 1) * sizeof *dims);
  if (kind == 3) dims[axis] = 0;
  if (kind == 4 && dims[axis] > 0) --dims[axis];
  if (kind == 5) ++dims[axis];
  if (kind == 6) dims[axis] = 1;
  return kind == 2 ? rank - 1 : rank;
}
/* The old elements over and over, in another shape. */
static TF_Tensor* changed_shape(const TF_Tensor* t) {
  int64_t dims[16], count = 1, old = TF_TensorElementCount(t);
  if (TF_NumDims(t) > 10) return NULL;
  int rank = changed_dims(t, dims);
  bool text = TF_TensorType(t) == TF_STRING;
  size_t size = text ? sizeof(TF_TString) : TF_DataTypeSize(TF_TensorType(t));
  for (int i = 0; i < rank; ++i) count *= dims[i];
  TF_Tensor* made = size ? TF_AllocateTensor(TF_TensorType(t), dims, rank, (size_t)count * size) : NULL;
  for (int64_t i = 0; made && i < count; ++i) {
    char* to = (char*)TF_TensorData(made) + (size_t)i * size;
    const char* from = (const char*)TF_TensorData(t) + (size_t)(old ? i % old : 0) * size;
    if (text) TF_StringInit((TF_TString*)(void*)to);
    if (!old && !text) memset(to, 0, size);
    else if (old && text)
      TF_StringCopy((TF_TString*)(void*)to, TF_StringGetDataPointer((const TF_TString*)(const void*)from),
                    TF_StringGetSize((const TF_TString*)(const void*)from));
    else if (old) memcpy(to, from, size);
  }
  return made;
}
static TF_Tensor* changed_same(const TF_Tensor* t) { /* a copy of its own */
  int64_t dims[16];
  size_t bytes = TF_TensorByteSize(t);
  if (TF_NumDims(t) > 16) return NULL;
  for (int i = 0; i < TF_NumDims(t); ++i) dims[i] = TF_Dim(t, i);
  TF_Tensor* made = TF_AllocateTensor(TF_TensorType(t), dims, TF_NumDims(t), bytes);
  if (!made) return NULL;
  if (TF_TensorType(t) != TF_STRING) {
    memcpy(TF_TensorData(made), TF_TensorData(t), bytes);
    return made;
  }
  for (int64_t i = 0; i < TF_TensorElementCount(t); ++i) {
    const TF_TString* from = (const TF_TString*)TF_TensorData(t) + i;
    TF_StringInit((TF_TString*)TF_TensorData(made) + i);
    TF_StringCopy((TF_TString*)TF_TensorData(made) + i, TF_StringGetDataPointer(from), TF_StringGetSize(from));
  }
  return made;
}
TF_Tensor* changed_tensor(const TF_Tensor* t) {
  if (!t || (TF_TensorType(t) != TF_STRING && !TF_DataTypeSize(TF_TensorType(t)))) return NULL; /* a handle */
  TF_Tensor* made = changed_below(3) ? changed_same(t) : changed_shape(t);
  if (!made) return NULL;
  int64_t count = TF_TensorElementCount(made);
  if (count && changed_below(2)) changed_element(made, changed_below(count));
  else if (count && !changed_below(6))
    for (int64_t i = 0; i < count; ++i) changed_element(made, i);
  return made;
}
