/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of matrices and their diagonals: MatrixDiag lays diagonals out (zeros or padding_value elsewhere), MatrixDiagPart takes them out,
 * MatrixSetDiag replaces them. V1 knows the main diagonal, V2 and V3 a band k[0]..k[1]; V3 says how shorter diagonals are aligned. */
#include "ops/array/matrix_diag.h"
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/array/move.h"

extern const hr_op_t hr_op_MatrixDiag, hr_op_MatrixDiagV2, hr_op_MatrixDiagV3, hr_op_MatrixDiagPart, hr_op_MatrixDiagPartV2,
    hr_op_MatrixDiagPartV3, hr_op_MatrixSetDiag, hr_op_MatrixSetDiagV2, hr_op_MatrixSetDiagV3;

extern const hr_op_t hr_op_BatchMatrixDiag, hr_op_BatchMatrixDiagPart, hr_op_BatchMatrixSetDiag;

enum { MOST_RANK = 254 };

/* 1. the rules */
/* Rows and columns of the matrices that hold the diagonals; -1 for those not asked for. */
static hr_status_t laid_out_size(hr_matrix_diag_t* d, int64_t longest) {
  const int64_t least_rows = longest - (d->k1 < 0 ? d->k1 : 0), least_columns = longest + (d->k0 > 0 ? d->k0 : 0);
  if (d->rows == -1 && d->columns == -1)
    d->rows = d->columns = least_rows > least_columns ? least_rows : least_columns;
  else if (d->rows == -1)
    d->rows = least_rows;
  else if (d->columns == -1)
    d->columns = least_columns;
  if (d->rows < least_rows)
    return HR_ERROR(INVALID_ARGUMENT, "The number of rows is too small: %lld, at least %lld needed", (long long)d->rows,
                    (long long)least_rows);
  if (d->columns < least_columns)
    return HR_ERROR(INVALID_ARGUMENT, "The number of columns is too small: %lld, at least %lld needed", (long long)d->columns,
                    (long long)least_columns);
  if (d->rows != least_rows && d->columns != least_columns)
    return HR_ERROR(INVALID_ARGUMENT, "The number of rows or columns is not consistent with the specified d_lower, d_upper, and diagonal: "
                    "%lld rows and %lld columns, but rows should be %lld or columns %lld",
                    (long long)d->rows, (long long)d->columns, (long long)least_rows, (long long)least_columns);
  return hr_matrix_diag_fit(d);
}

static hr_status_t check_lines(const hr_matrix_diag_t* d, int64_t lines) { /* the band's line axis */
  if (d->k0 == d->k1 || lines == d->k1 - d->k0 + 1) return NULL;
  return HR_ERROR(INVALID_ARGUMENT, "The number of diagonals provided in the input does not match the lower_diag_index and "
                  "upper_diag_index range: %lld, not %lld", (long long)lines, (long long)(d->k1 - d->k0 + 1));
}

/* 2. shapes */
static hr_status_t known_range(hr_infer_t* s, int input, hr_matrix_diag_t* d, bool* out_known) { /* input 0: V1 */
  const hr_tensor_t* k = input ? hr_infer_const(s, input) : NULL;
  d->k0 = d->k1 = 0;
  *out_known = !input || k;
  if (input) HR_TRY(hr_infer_want_rank_at_most(s, input, 1));
  return k ? hr_matrix_diag_range(k, &d->k0, &d->k1) : NULL;
}

static hr_status_t known_size(hr_infer_t* s, int input, int64_t* size, bool* known) {
  const hr_tensor_t* t = hr_infer_const(s, input);
  HR_TRY(hr_infer_want_rank(s, input, 0, NULL));
  *known = *known && t;
  return t ? hr_tensor_scalar_i64(t, "size", size) : NULL;
}

static hr_status_t infer_diag_of(hr_infer_t* s, bool bands) {
  const hr_pshape_t* x = hr_infer_input(s, 0);
  hr_matrix_diag_t d = {.rows = -1, .columns = -1};
  int64_t dims[MOST_RANK + 2];
  bool known;
  HR_TRY(hr_infer_want_rank_at_least(s, 0, 1, NULL));
  HR_TRY(known_range(s, bands, &d, &known));
  bool sized = known;
  if (bands) {
    HR_TRY(known_size(s, 2, &d.rows, &sized));
    HR_TRY(known_size(s, 3, &d.columns, &sized));
    HR_TRY(hr_infer_want_rank(s, 4, 0, NULL));
  }
  if (x->rank < 1 || x->rank > MOST_RANK - 2 || !known) return NULL;
  const bool one = d.k0 == d.k1;
  if (!one) HR_TRY(hr_infer_want_rank_at_least(s, 0, 2, NULL));
  const int batch = x->rank - (one ? 1 : 2);
  if (!one && x->dims[batch] >= 0) HR_TRY(check_lines(&d, x->dims[batch]));
  for (int i = 0; i < batch; ++i) dims[i] = x->dims[i];
  sized = sized && x->dims[x->rank - 1] >= 0;
  if (sized) HR_TRY(laid_out_size(&d, x->dims[x->rank - 1]));
  dims[batch] = sized ? d.rows : -1;
  dims[batch + 1] = sized ? d.columns : -1;
  return hr_infer_set_dims(s, 0, batch + 2, dims);
}
static hr_status_t infer_diag(hr_infer_t* s) { return infer_diag_of(s, false); }
static hr_status_t infer_diag_bands(hr_infer_t* s) { return infer_diag_of(s, true); }

/* The shape of the diagonals of matrices of shape x, as far as known. */
static hr_status_t part_shape(hr_infer_t* s, const hr_pshape_t* x, hr_matrix_diag_t* d, bool known, const hr_pshape_t** out) {
  int64_t dims[MOST_RANK];
  *out = &hr_pshape_unknown;
  if (x->rank < 2 || x->rank > MOST_RANK || !known) return NULL;
  int rank = x->rank - 2;
  for (int i = 0; i < rank; ++i) dims[i] = x->dims[i];
  d->rows = x->dims[x->rank - 2];
  d->columns = x->dims[x->rank - 1];
  const bool sized = d->rows >= 0 && d->columns >= 0;
  if (sized) HR_TRY(hr_matrix_diag_fit(d));
  if (d->k0 != d->k1) dims[rank++] = d->k1 - d->k0 + 1;
  dims[rank++] = sized ? d->longest : -1;
  return hr_pshape_make(hr_infer_arena(s), rank, dims, out);
}

static hr_status_t infer_part_of(hr_infer_t* s, int k_input) {
  hr_matrix_diag_t d;
  bool known;
  const hr_pshape_t* shape;
  HR_TRY(hr_infer_want_rank_at_least(s, 0, 2, NULL));
  HR_TRY(known_range(s, k_input, &d, &known));
  if (k_input) HR_TRY(hr_infer_want_rank(s, 2, 0, NULL));
  HR_TRY(part_shape(s, hr_infer_input(s, 0), &d, known, &shape));
  hr_infer_set(s, 0, shape);
  return NULL;
}
static hr_status_t infer_part(hr_infer_t* s) { return infer_part_of(s, 0); }
static hr_status_t infer_part_bands(hr_infer_t* s) { return infer_part_of(s, 1); }

static hr_status_t infer_set_of(hr_infer_t* s, int k_input) {
  hr_matrix_diag_t d;
  bool known;
  const hr_pshape_t *shape, *merged;
  HR_TRY(hr_infer_want_rank_at_least(s, 0, 2, NULL));
  HR_TRY(hr_infer_want_rank_at_least(s, 1, 1, NULL));
  HR_TRY(known_range(s, k_input, &d, &known));
  HR_TRY(part_shape(s, hr_infer_input(s, 0), &d, known, &shape));
  HR_TRY(hr_infer_merge(s, shape, hr_infer_input(s, 1), &merged));
  return hr_infer_same(s);
}
static hr_status_t infer_set(hr_infer_t* s) { return infer_set_of(s, 0); }
static hr_status_t infer_set_bands(hr_infer_t* s) { return infer_set_of(s, 2); }

/* 3. kernels */
static hr_status_t align_prepare(hr_prepare_ctx_t* p, void* prepared) {
  hr_matrix_diag_align(p->attrs, prepared);
  return NULL;
}

/* Moves every diagonal between its line in the band and its place in the matrix. */
static hr_status_t move_band(hr_kernel_ctx_t* k, const hr_matrix_diag_t* d, int64_t batches, hr_tensor_t* to, const hr_tensor_t* from,
                             bool into_matrix) {
  const int64_t matrix = d->rows * d->columns, band = (d->k1 - d->k0 + 1) * d->longest;
  for (int64_t n = d->k0; n <= d->k1; ++n) {
    const hr_matrix_line_t l = hr_matrix_diag_line(d, n);
    const int64_t in_matrix = l.row * d->columns + l.column, in_band = (d->k1 - n) * d->longest + l.offset, step = d->columns + 1;
    hr_move_t m = {.to_start = into_matrix ? in_matrix : in_band, .from_start = into_matrix ? in_band : in_matrix};
    if (l.length <= 0) continue;
    HR_TRY(hr_move_axis(&m, batches, into_matrix ? matrix : band, into_matrix ? band : matrix));
    HR_TRY(hr_move_axis(&m, l.length, into_matrix ? step : 1, into_matrix ? 1 : step));
    HR_TRY(hr_move_run(k, &m, to, from));
  }
  return NULL;
}

static hr_status_t fill_padding(hr_kernel_ctx_t* k, hr_tensor_t* y, int input) { /* input 0: zeros */
  if (input) {
    HR_TRY(hr_want_scalar(k, input, "padding_value"));
    return hr_move_fill(k, y, hr_input(k, input));
  }
  memset(y->data, 0, hr_tensor_bytes(y));
  return NULL;
}

static hr_status_t matrix_diag(hr_kernel_ctx_t* k) {
  const hr_tensor_t* x = hr_input(k, 0);
  const bool bands = hr_input_count(k) > 1;
  hr_matrix_diag_t d = *(const hr_matrix_diag_t*)hr_prepared(k);
  hr_shape_t shape;
  hr_tensor_t* y;
  d.rows = d.columns = -1;
  HR_TRY(hr_want_rank_at_least(k, 0, "diagonal must be at least 1-dim, received shape: ", 1));
  if (bands) {
    HR_TRY(hr_matrix_diag_range(hr_input(k, 1), &d.k0, &d.k1));
    HR_TRY(hr_want_scalar(k, 2, "num_rows"));
    HR_TRY(hr_want_scalar(k, 3, "num_cols"));
    HR_TRY(hr_tensor_scalar_i64(hr_input(k, 2), "num_rows", &d.rows));
    HR_TRY(hr_tensor_scalar_i64(hr_input(k, 3), "num_cols", &d.columns));
  }
  const int lead = x->shape.rank - (d.k0 == d.k1 ? 1 : 2);
  if (lead < 0)
    return HR_ERROR(INVALID_ARGUMENT, "diagonal must be at least 2-dim to hold several diagonals, received rank %d", (int)x->shape.rank);
  HR_TRY(check_lines(&d, x->shape.dims[lead]));
  HR_TRY(laid_out_size(&d, x->shape.dims[x->shape.rank - 1]));
  HR_TRY(hr_shape_make(lead, x->shape.dims, &shape));
  HR_TRY(hr_shape_append(&shape, d.rows));
  HR_TRY(hr_shape_append(&shape, d.columns));
  HR_TRY(hr_output(k, 0, &shape, &y));
  HR_TRY(fill_padding(k, y, bands ? 4 : 0));
  d.longest = x->shape.dims[x->shape.rank - 1];
  return move_band(k, &d, hr_shape_count_range(&shape, 0, lead), y, x, true);
}

/* The band of input 0, which `input` (0: none) asks for, and its shape. */
static hr_status_t band_of_input(hr_kernel_ctx_t* k, int input, hr_matrix_diag_t* d, hr_shape_t* out_shape) {
  const hr_shape_t* x = &hr_input(k, 0)->shape;
  HR_TRY(hr_want_rank_at_least(k, 0, "input must be at least 2-dim, received shape: ", 2));
  if (input) HR_TRY(hr_matrix_diag_range(hr_input(k, input), &d->k0, &d->k1));
  d->rows = x->dims[x->rank - 2];
  d->columns = x->dims[x->rank - 1];
  HR_TRY(hr_matrix_diag_fit(d));
  HR_TRY(hr_shape_make(x->rank - 2, x->dims, out_shape));
  if (d->k0 != d->k1) HR_TRY(hr_shape_append(out_shape, d->k1 - d->k0 + 1));
  return hr_shape_append(out_shape, d->longest);
}

static hr_status_t matrix_diag_part(hr_kernel_ctx_t* k) {
  const hr_tensor_t* x = hr_input(k, 0);
  const bool bands = hr_input_count(k) > 1;
  hr_matrix_diag_t d = *(const hr_matrix_diag_t*)hr_prepared(k);
  hr_shape_t shape;
  hr_tensor_t* y;
  HR_TRY(band_of_input(k, bands, &d, &shape));
  HR_TRY(hr_output(k, 0, &shape, &y));
  if (bands) HR_TRY(hr_want_scalar(k, 2, "padding_value"));
  if (d.k0 != d.k1) HR_TRY(fill_padding(k, y, 2));
  return move_band(k, &d, hr_shape_count_range(&x->shape, 0, x->shape.rank - 2), y, x, false);
}

static hr_status_t matrix_set_diag(hr_kernel_ctx_t* k) {
  const hr_tensor_t x = *hr_input(k, 0), *diagonal = hr_input(k, 1);
  hr_matrix_diag_t d = *(const hr_matrix_diag_t*)hr_prepared(k);
  hr_shape_t wanted;
  hr_tensor_t* y;
  char got[HR_SHAPE_TEXT], right[HR_SHAPE_TEXT];
  HR_TRY(band_of_input(k, hr_input_count(k) > 2 ? 2 : 0, &d, &wanted));
  HR_TRY(hr_want_rank_at_least(k, 1, "diagonal must be at least 1-dim, received shape: ", 1));
  if (!hr_shape_equal(&wanted, &diagonal->shape))
    return HR_ERROR(INVALID_ARGUMENT, "first dimensions of diagonal don't match the input's, or its band: it must have shape %s, not %s",
                    hr_shape_format(&wanted, right), hr_shape_format(&diagonal->shape, got));
  HR_TRY(hr_output_take(k, 0, 0, &x.shape, &y));
  if (y->data != x.data) HR_TRY(hr_tensor_copy_elements(y, 0, &x, 0, x.count));
  return move_band(k, &d, hr_shape_count_range(&x.shape, 0, x.shape.rank - 2), y, diagonal, true);
}

/* 4. gradients, by V1's ops or V3's with the node's own k and align */
static const char* align_of(hr_grad_ctx_t* g) {
  const hr_attr_t* align = hr_attrs_find(hr_grad_attrs(g), "align");
  hr_str_t text = align ? align->u.s : HR_STR("LEFT_LEFT");
  return hr_str_is(text, "RIGHT_LEFT")    ? "RIGHT_LEFT"
         : hr_str_is(text, "LEFT_RIGHT")  ? "LEFT_RIGHT"
         : hr_str_is(text, "RIGHT_RIGHT") ? "RIGHT_RIGHT"
                                          : "LEFT_LEFT";
}

static hr_value_t emit_part(hr_grad_ctx_t* g, hr_value_t dy, int k_input) {
  if (!k_input) return hr_emit1(g, "MatrixDiagPart", dy);
  return hr_emit(g, "MatrixDiagPartV3", HR_VALUES(dy, hr_grad_input(g, k_input), hr_emit_const_like(g, dy, 0)),
                 HR_ATTRS(hr_at_str("align", align_of(g))));
}

static hr_value_t emit_set(hr_grad_ctx_t* g, hr_value_t x, hr_value_t diagonal, int k_input) {
  if (!k_input) return hr_emit2(g, "MatrixSetDiag", x, diagonal);
  return hr_emit(g, "MatrixSetDiagV3", HR_VALUES(x, diagonal, hr_grad_input(g, k_input)), HR_ATTRS(hr_at_str("align", align_of(g))));
}

static void grad_diag(hr_grad_ctx_t* g) { hr_grad_give(g, 0, emit_part(g, hr_grad_upstream(g, 0), hr_grad_input_count(g) > 1)); }
static void grad_part(hr_grad_ctx_t* g) {
  hr_value_t zeros = hr_emit_zeros_like(g, hr_grad_input(g, 0));
  hr_grad_give(g, 0, emit_set(g, zeros, hr_grad_upstream(g, 0), hr_grad_input_count(g) > 1));
}
static void grad_set(hr_grad_ctx_t* g) {
  const int k_input = hr_grad_input_count(g) > 2 ? 2 : 0;
  hr_value_t dy = hr_grad_upstream(g, 0);
  if (hr_grad_wanted(g, 0)) hr_grad_give(g, 0, emit_set(g, dy, hr_emit_zeros_like(g, hr_grad_input(g, 1)), k_input));
  if (hr_grad_wanted(g, 1)) hr_grad_give(g, 1, emit_part(g, dy, k_input));
}

/* 5. definitions */
#define ALIGN "T: type; align: string{'LEFT_RIGHT','RIGHT_LEFT','LEFT_LEFT','RIGHT_RIGHT'} = 'RIGHT_LEFT'"
#define MATRIX(fn, hosts)                                 \
  HR_KERNELS({.where = {{"T", HR_M_NUMBER | HR_M(BOOL)}}, \
              .host_inputs = hosts,                       \
              .prepared_bytes = sizeof(hr_matrix_diag_t), \
              .prepare = align_prepare,                   \
              .compute = fn})
#define MATRIX_OP(Name, sig_, attrs_, shape_, grad_, kernel, doc_) \
  const hr_op_t hr_op_##Name = {.name = #Name, .sig = sig_, .attrs = attrs_, .shape = shape_, .grad = grad_, kernel, .doc = doc_, HR_HERE}
#define DIAG_SIG "diagonal: T; k: int32; num_rows: int32; num_cols: int32; padding_value: T -> output: T"
MATRIX_OP(MatrixDiag, "diagonal: T -> output: T", "T: type", infer_diag, grad_diag, MATRIX(matrix_diag, 0),
          "vectors on the main diagonals of matrices");
MATRIX_OP(MatrixDiagV2, DIAG_SIG, "T: type", infer_diag_bands, grad_diag, MATRIX(matrix_diag, 30),
          "bands of diagonals laid out in matrices");
MATRIX_OP(MatrixDiagV3, DIAG_SIG, ALIGN, infer_diag_bands, grad_diag, MATRIX(matrix_diag, 30), "bands of diagonals laid out in matrices");
#define PART_SIG "input: T; k: int32; padding_value: T -> diagonal: T"
MATRIX_OP(MatrixDiagPart, "input: T -> diagonal: T", "T: type", infer_part, grad_part, MATRIX(matrix_diag_part, 0),
          "the main diagonals of matrices");
MATRIX_OP(MatrixDiagPartV2, PART_SIG, "T: type", infer_part_bands, grad_part, MATRIX(matrix_diag_part, 6),
          "bands of diagonals of matrices");
MATRIX_OP(MatrixDiagPartV3, PART_SIG, ALIGN, infer_part_bands, grad_part, MATRIX(matrix_diag_part, 6), "bands of diagonals of matrices");
#define SET_SIG "input: T; diagonal: T; k: int32 -> output: T"
MATRIX_OP(MatrixSetDiag, "input: T; diagonal: T -> output: T", "T: type", infer_set, grad_set, MATRIX(matrix_set_diag, 0),
          "matrices with other main diagonals");
MATRIX_OP(MatrixSetDiagV2, SET_SIG, "T: type", infer_set_bands, grad_set, MATRIX(matrix_set_diag, 4), "matrices with other diagonals");
MATRIX_OP(MatrixSetDiagV3, SET_SIG, ALIGN, infer_set_bands, grad_set, MATRIX(matrix_set_diag, 4), "matrices with other diagonals");

/* the names of V1 before GraphDef version 14 */
#define OLD_NAME(Name, now, sig_, shape_, fn)                  \
  const hr_op_t hr_op_##Name = {.name = #Name,                 \
                                .sig = sig_,                   \
                                .attrs = "T: type",            \
                                .shape = shape_,               \
                                MATRIX(fn, 0),                 \
                                .deprecated = 14,              \
                                .deprecated_why = "use " now,  \
                                .doc = "the old name of " now, \
                                HR_HERE}
OLD_NAME(BatchMatrixDiag, "MatrixDiag", "diagonal: T -> output: T", infer_diag, matrix_diag);
OLD_NAME(BatchMatrixDiagPart, "MatrixDiagPart", "input: T -> diagonal: T", infer_part, matrix_diag_part);
OLD_NAME(BatchMatrixSetDiag, "MatrixSetDiag", "input: T; diagonal: T -> output: T", infer_set, matrix_set_diag);
