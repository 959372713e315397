/* SPDX-License-Identifier: Apache-2.0 */
/* MatrixBandPart: of each innermost matrix the elements with i - j <= num_lower and j - i <= num_upper, zeros elsewhere; a negative number
 * keeps the whole triangle. */
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "op/kernel_ctx.h"

extern const hr_op_t hr_op_MatrixBandPart, hr_op_BatchMatrixBandPart;

/* 1. shape */
static hr_status_t infer(hr_infer_t* s) {
  HR_TRY(hr_infer_want_rank_at_least(s, 0, 2, NULL));
  HR_TRY(hr_infer_want_rank(s, 1, 0, NULL));
  HR_TRY(hr_infer_want_rank(s, 2, 0, NULL));
  return hr_infer_same(s);
}

/* 2. kernel */
typedef struct {
  const char* x;
  char* y;
  int64_t rows, columns, lower, upper;
  size_t element;
} band_t;

static hr_status_t band_chunk(void* arg, int64_t begin, int64_t end, int chunk) { /* items: rows of all matrices */
  const band_t* b = arg;
  (void)chunk;
  for (int64_t r = begin; r < end; ++r) {
    const int64_t i = r % b->rows, n = b->columns;
    int64_t from = b->lower < 0 || i - b->lower < 0 ? 0 : i - b->lower, to = b->upper < 0 || b->upper >= n - i ? n : i + b->upper + 1;
    from = from > n ? n : from;
    to = to < from ? from : to;
    const size_t at = (size_t)(r * n) * b->element, left = (size_t)from * b->element, right = (size_t)to * b->element,
                 all = (size_t)n * b->element;
    memset(b->y + at, 0, left);
    if (b->x != b->y) memcpy(b->y + at + left, b->x + at + left, right - left);
    memset(b->y + at + right, 0, all - right);
  }
  return NULL;
}

static hr_status_t read_width(const hr_tensor_t* t, const char* what, const char* of, int64_t most, int64_t* out) {
  HR_TRY(hr_tensor_scalar_i64(t, what, out));
  if (*out > most)
    return HR_ERROR(INVALID_ARGUMENT, "%s must be negative or less or equal to number of %s (%lld) got: %lld", what, of, (long long)most,
                    (long long)*out);
  return NULL;
}

static hr_status_t band_part(hr_kernel_ctx_t* k) {
  const hr_tensor_t* x = hr_input(k, 0);
  hr_tensor_t* y;
  band_t b = {.x = x->data, .element = hr_dtype_size(x->dtype)};
  HR_TRY(hr_want_rank_at_least(k, 0, "input must be at least 2-dim, received shape: ", 2));
  HR_TRY(hr_want_scalar(k, 1, "num_lower"));
  HR_TRY(hr_want_scalar(k, 2, "num_upper"));
  b.rows = x->shape.dims[x->shape.rank - 2];
  b.columns = x->shape.dims[x->shape.rank - 1];
  HR_TRY(read_width(hr_input(k, 1), "num_lower", "rows", b.rows, &b.lower));
  HR_TRY(read_width(hr_input(k, 2), "num_upper", "columns", b.columns, &b.upper));
  const int64_t count = x->count;
  HR_TRY(hr_output_take(k, 0, 0, &x->shape, &y));
  if (count == 0) return NULL;
  b.y = y->data;
  return hr_parallel(k, count / b.columns, 5.0 + 0.1 * (double)b.columns * (double)b.element, band_chunk, &b);
}

/* 3. gradient: the same band of dy */
static void grad(hr_grad_ctx_t* g) {
  hr_grad_give(g, 0, hr_emit3(g, "MatrixBandPart", hr_grad_upstream(g, 0), hr_grad_input(g, 1), hr_grad_input(g, 2)));
}

/* 4. definition */
const hr_op_t hr_op_MatrixBandPart = {.name = "MatrixBandPart",
                                      .sig = "input: T; num_lower: Tindex; num_upper: Tindex -> band: T",
                                      .attrs = "T: type; Tindex: type{int32,int64} = int64",
                                      .shape = infer,
                                      .grad = grad,
                                      HR_KERNELS({.where = {{"T", HR_M_NUMBER | HR_M(BOOL)}}, .host_inputs = 6, .compute = band_part}),
                                      .doc = "a band of each innermost matrix",
                                      HR_HERE};

const hr_op_t hr_op_BatchMatrixBandPart = {.name = "BatchMatrixBandPart",
                                           .sig = "input: T; num_lower: int64; num_upper: int64 -> band: T",
                                           .attrs = "T: type",
                                           .shape = infer,
                                           HR_KERNELS({.where = {{"T", HR_M_NUMBER | HR_M(BOOL)}}, .host_inputs = 6, .compute = band_part}),
                                           .deprecated = 14,
                                           .deprecated_why = "use MatrixBandPart",
                                           .doc = "the old name of MatrixBandPart",
                                           HR_HERE};
