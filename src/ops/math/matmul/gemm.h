/* SPDX-License-Identifier: Apache-2.0 */
/* Our own matrix product: C = op(A) op(B) for every number type, any strides, many at once. It serves the types that the dense library
 * lacks, small float products, and everything where that library is absent. Sums run in the type of C, half and bfloat16 in float,
 * integers modulo their width; the order of summing depends on k alone, so results do not depend on threads. */
#ifndef HR_OPS_MATH_MATMUL_GEMM_H
#define HR_OPS_MATH_MATMUL_GEMM_H
#include "base/status.h"
#include "tensor/dtype.h"

typedef struct {
  int64_t m, n, k; /* any may be 0; k 0 gives zeros */
  const void *a, *b;
  void* c;
  int64_t a_row, a_col, b_row, b_col, c_row; /* strides in elements; c's columns are adjacent */
  hr_dtype_t a_type, b_type,
      c_type; /* of one family: floats up to 32 bits; double; integers up to 32 bits; 64 bits; complex64; complex128 */
  bool conj_a, conj_b;
  bool accumulate; /* adds to what c holds */
} hr_gemm_t;

typedef struct { /* products of one geometry; offsets in elements */
  int64_t count;
  const int64_t *a_at, *b_at; /* NULL: all at 0 */
  int64_t c_step;
} hr_gemm_batch_t;

HR_MUST_USE hr_status_t hr_gemm_run(const hr_gemm_t* g, int threads);
HR_MUST_USE hr_status_t hr_gemm_run_batch(const hr_gemm_t* g, const hr_gemm_batch_t* batch, int threads);

/* --- the vector side (gemm.vec.c): one product on this thread ---------------------------------------------------------------------- */
typedef enum { HR_GEMM_F32, HR_GEMM_F64, HR_GEMM_U32, HR_GEMM_U64, HR_GEMM_C64, HR_GEMM_C128, HR_GEMM_COUNT } hr_gemm_family_t;
typedef struct {
  size_t (*scratch_bytes[HR_GEMM_COUNT])(const hr_gemm_t* g);
  void (*serial[HR_GEMM_COUNT])(const hr_gemm_t* g, void* scratch); /* m, n, k at least 1 */
} hr_gemm_vec_t;
#endif
