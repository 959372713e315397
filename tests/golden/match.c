/* SPDX-License-Identifier: Apache-2.0 */
/* Compares tensors element by element; see match.h. Floats of every width are widened to double (exactly), integers compared as
 * 64-bit values, strings by bytes. NaN equals NaN under every rule, whatever its bits. */
#include "golden/match.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef enum { FLOATS, SIGNED, UNSIGNED, STRINGS, OPAQUE } kind_t;
typedef struct {
  TF_DataType type;
  kind_t kind;
  int width, parts;          /* bytes of one part; complex numbers have two */
  int exponent, fraction;    /* bits, of FLOATS narrower than float */
} dtype_row_t;

/* Numbers, not names: a header of another TensorFlow version may lack the newest. */
static const dtype_row_t dtype_rows[] = {
    {1, FLOATS, 4, 1, 0, 0},    {2, FLOATS, 8, 1, 0, 0},    {8, FLOATS, 4, 2, 0, 0},    {18, FLOATS, 8, 2, 0, 0},
    {19, FLOATS, 2, 1, 5, 10},  {14, FLOATS, 2, 1, 8, 7},   {24, FLOATS, 1, 1, 5, 2},   {25, OPAQUE, 1, 1, 0, 0},
    {3, SIGNED, 4, 1, 0, 0},    {5, SIGNED, 2, 1, 0, 0},    {6, SIGNED, 1, 1, 0, 0},    {9, SIGNED, 8, 1, 0, 0},
    {4, UNSIGNED, 1, 1, 0, 0},  {17, UNSIGNED, 2, 1, 0, 0}, {22, UNSIGNED, 4, 1, 0, 0}, {23, UNSIGNED, 8, 1, 0, 0},
    {10, UNSIGNED, 1, 1, 0, 0}, {11, SIGNED, 1, 1, 0, 0},   {12, UNSIGNED, 1, 1, 0, 0}, {13, SIGNED, 4, 1, 0, 0},
    {15, SIGNED, 2, 1, 0, 0},   {16, UNSIGNED, 2, 1, 0, 0}, {7, STRINGS, 24, 1, 0, 0},
};

static const dtype_row_t* row_of(TF_DataType type) {
  static const dtype_row_t other = {0, OPAQUE, 1, 1, 0, 0};
  for (size_t i = 0; i < sizeof dtype_rows / sizeof *dtype_rows; i++)
    if (dtype_rows[i].type == type) return &dtype_rows[i];
  return &other;
}

static double widen_bits(const dtype_row_t* t, uint32_t bits) {
  uint32_t fraction = bits & ((1u << t->fraction) - 1), exponent = (bits >> t->fraction) & ((1u << t->exponent) - 1);
  int bias = (1 << (t->exponent - 1)) - 1;
  double sign = bits >> (t->exponent + t->fraction) & 1 ? -1.0 : 1.0;
  if (exponent == (1u << t->exponent) - 1) return fraction ? NAN : sign * INFINITY;
  if (!exponent) return sign * ldexp(fraction, 1 - bias - t->fraction);
  return sign * ldexp(fraction + (1u << t->fraction), (int)exponent - bias - t->fraction);
}

static double float_at(const dtype_row_t* t, const uint8_t* p) {
  double d;
  float f;
  uint32_t bits = 0;
  memcpy(&bits, p, t->width < 4 ? (size_t)t->width : 4);
  if (t->width == 8) return memcpy(&d, p, 8), d;
  if (t->width == 4) return memcpy(&f, p, 4), (double)f;
  return widen_bits(t, bits);
}

static uint64_t unsigned_at(const dtype_row_t* t, const uint8_t* p) {
  uint64_t v = 0;
  memcpy(&v, p, (size_t)t->width);
  return v;
}
static int64_t signed_at(const dtype_row_t* t, const uint8_t* p) {
  int unused = 64 - 8 * t->width;
  return (int64_t)(unsigned_at(t, p) << unused) >> unused;
}

typedef struct {
  const dtype_row_t* type;
  int close;
  double rtol, atol;
} rule_t;

static int is_near(const rule_t* r, double a, double b) {
  if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
  if (isinf(a) || isinf(b)) return a == b;
  return fabs(a - b) <= r->atol + r->rtol * fabs(b);
}

static int floats_agree(const rule_t* r, const uint8_t* a, const uint8_t* b) {
  double x[2], y[2];
  int width = r->type->width;
  if (!memcmp(a, b, (size_t)(width * r->type->parts))) return 1;
  for (int i = 0; i < r->type->parts; i++) {
    x[i] = float_at(r->type, a + i * width);
    y[i] = float_at(r->type, b + i * width);
    if (!r->close && !(isnan(x[i]) && isnan(y[i])) && memcmp(a + i * width, b + i * width, (size_t)width)) return 0;
  }
  if (!r->close) return 1;
  if (r->type->parts == 1) return is_near(r, x[0], y[0]);
  if (isfinite(x[0]) && isfinite(x[1]) && isfinite(y[0]) && isfinite(y[1]))
    return hypot(x[0] - y[0], x[1] - y[1]) <= r->atol + r->rtol * hypot(y[0], y[1]);
  return is_near(r, x[0], y[0]) && is_near(r, x[1], y[1]);
}

static int strings_agree(const uint8_t* a, const uint8_t* b) {
  const TF_TString *x = (const TF_TString*)a, *y = (const TF_TString*)b;
  size_t n = api.TF_StringGetSize(x);
  return n == api.TF_StringGetSize(y) && !memcmp(api.TF_StringGetDataPointer(x), api.TF_StringGetDataPointer(y), n);
}

static int elements_agree(const rule_t* r, const uint8_t* a, const uint8_t* b) {
  const dtype_row_t* t = r->type;
  if (t->kind == FLOATS) return floats_agree(r, a, b);
  if (t->kind == STRINGS) return strings_agree(a, b);
  if (!memcmp(a, b, (size_t)(t->width * t->parts))) return 1;
  if (!r->close) return 0;
  if (t->kind == SIGNED) return is_near(r, (double)signed_at(t, a), (double)signed_at(t, b));
  return is_near(r, (double)unsigned_at(t, a), (double)unsigned_at(t, b));
}

static int print_element(const dtype_row_t* t, const uint8_t* p, char* out, size_t size) {
  if (t->kind == FLOATS && t->parts == 2) return snprintf(out, size, "(%.17g, %.17g)", float_at(t, p), float_at(t, p + t->width));
  if (t->kind == FLOATS) return snprintf(out, size, t->width == 8 ? "%.17g" : "%.9g", float_at(t, p));
  if (t->kind == SIGNED) return snprintf(out, size, "%lld", (long long)signed_at(t, p));
  if (t->kind != STRINGS) return snprintf(out, size, "%llu", (unsigned long long)unsigned_at(t, p));
  const TF_TString* s = (const TF_TString*)p;
  size_t n = api.TF_StringGetSize(s), used = (size_t)snprintf(out, size, "%zu bytes '", n);
  const char* data = api.TF_StringGetDataPointer(s);
  for (size_t i = 0; i < n && i < 40 && used + 6 < size; i++) {
    unsigned char ch = (unsigned char)data[i];
    used += (size_t)snprintf(out + used, size - used, ch < 32 || ch > 126 ? "\\%02x" : "%c", ch);
  }
  return snprintf(out + used, size - used, "'");
}

static int print_shape(const TF_Tensor* t, char* out, size_t size) {
  size_t used = (size_t)snprintf(out, size, "[");
  for (int i = 0; i < api.TF_NumDims(t) && used < size; i++)
    used += (size_t)snprintf(out + used, size - used, i ? ",%lld" : "%lld", (long long)api.TF_Dim(t, i));
  return used < size ? snprintf(out + used, size - used, "]") : 0;
}

static int shapes_agree(const TF_Tensor* got, const TF_Tensor* want) {
  if (api.TF_NumDims(got) != api.TF_NumDims(want)) return 0;
  for (int i = 0; i < api.TF_NumDims(want); i++)
    if (api.TF_Dim(got, i) != api.TF_Dim(want, i)) return 0;
  return 1;
}

int golden_match(const TF_Tensor* got, const TF_Tensor* want, const char* rule, double rtol, double atol, char* why, size_t why_size) {
  char a[200], b[200];
  if (api.TF_TensorType(got) != api.TF_TensorType(want)) {
    snprintf(why, why_size, "dtype %d, not %d", (int)api.TF_TensorType(got), (int)api.TF_TensorType(want));
    return 0;
  }
  if (!shapes_agree(got, want)) {
    print_shape(got, a, sizeof a);
    print_shape(want, b, sizeof b);
    snprintf(why, why_size, "shape %s, not %s", a, b);
    return 0;
  }
  if (!strcmp(rule, "shape")) return 1;
  rule_t r = {row_of(api.TF_TensorType(want)), !strcmp(rule, "close"), rtol, atol};
  int64_t count = api.TF_TensorElementCount(want), bad = 0, first = -1;
  size_t stride = (size_t)(r.type->width * r.type->parts);
  const uint8_t *x = api.TF_TensorData(got), *y = api.TF_TensorData(want);
  if (r.type->kind == OPAQUE && r.type->type == 0 && count) stride = api.TF_TensorByteSize(want) / (size_t)count;
  if (api.TF_TensorByteSize(got) < stride * (size_t)count) return snprintf(why, why_size, "too few bytes"), 0;
  for (int64_t i = 0; i < count; i++) {
    size_t at = (size_t)i * stride;
    if (r.type->kind == OPAQUE ? !memcmp(x + at, y + at, stride) : elements_agree(&r, x + at, y + at)) continue;
    if (!bad++) first = i;
  }
  if (!bad) return 1;
  print_element(r.type, x + (size_t)first * stride, a, sizeof a);
  print_element(r.type, y + (size_t)first * stride, b, sizeof b);
  snprintf(why, why_size, "element %lld is %s, not %s (%lld of %lld differ, %s, dtype %d)", (long long)first, a, b, (long long)bad,
           (long long)count, rule, (int)r.type->type);
  return 0;
}
