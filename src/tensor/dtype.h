/* SPDX-License-Identifier: Apache-2.0 */
/* Element types: numbers, sizes, names, classes, and sets of them as bit masks. THE list is dtype.def. */
#ifndef HR_TENSOR_DTYPE_H
#define HR_TENSOR_DTYPE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/half.h"
#include "base/str.h"

typedef struct { float re, im; } hr_c64_t;
typedef struct { double re, im; } hr_c128_t;

typedef enum {
  HR_DTYPE_INVALID = 0,
#define HR_DTYPE(ID, number, bytes, name, ctype, class) HR_##ID = number,
#include "tensor/dtype.def"
#undef HR_DTYPE
  HR_DTYPE_COUNT,
  HR_DTYPE_REF = 100 /* added to a number: a reference to a variable of that type; only in signatures and graphs */
} hr_dtype_t;

/* Sets of types, for kernel rows and signatures. */
typedef uint64_t hr_dtypes_t;
#define HR_M(ID) (UINT64_C(1) << HR_##ID)
#define HR_M_REAL_FLOAT (HR_M(F16) | HR_M(BF16) | HR_M(F32) | HR_M(F64))
#define HR_M_COMPLEX (HR_M(C64) | HR_M(C128))
#define HR_M_SIGNED (HR_M(I8) | HR_M(I16) | HR_M(I32) | HR_M(I64))
#define HR_M_UNSIGNED (HR_M(U8) | HR_M(U16) | HR_M(U32) | HR_M(U64))
#define HR_M_INTEGER (HR_M_SIGNED | HR_M_UNSIGNED)
#define HR_M_REAL (HR_M_REAL_FLOAT | HR_M_INTEGER)
#define HR_M_NUMBER (HR_M_REAL | HR_M_COMPLEX)
#define HR_M_QUANTIZED (HR_M(QI8) | HR_M(QU8) | HR_M(QI32) | HR_M(QI16) | HR_M(QU16))
#define HR_M_INDEX (HR_M(I32) | HR_M(I64))
#define HR_M_ALL (((UINT64_C(1) << HR_DTYPE_COUNT) - 1) & ~UINT64_C(1))

static inline bool hr_dtype_is_ref(int t) { return t > HR_DTYPE_REF; }
static inline hr_dtype_t hr_dtype_base(int t) { return (hr_dtype_t)(t > HR_DTYPE_REF ? t - HR_DTYPE_REF : t); }
static inline bool hr_dtype_in(hr_dtype_t t, hr_dtypes_t set) { return t > 0 && t < HR_DTYPE_COUNT && (set >> t & 1); }
bool hr_dtype_is_valid(int t);              /* a known number, ref or not */
size_t hr_dtype_size(hr_dtype_t t);         /* bytes of an element as stored; string 24, handles 8; 0 for INVALID */
bool hr_dtype_is_plain(hr_dtype_t t);       /* elements are bytes without an owner: may be copied with memcpy */
const char* hr_dtype_name(int t);           /* "float", "float_ref"; "invalid" */
bool hr_dtype_parse(hr_str_t name, int* out); /* TensorFlow's names, and DT_FLOAT forms, refs too */
#endif
