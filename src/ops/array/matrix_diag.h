/* SPDX-License-Identifier: Apache-2.0 */
/* How the diagonals k0..k1 of a rows x columns matrix lie in a band: one line per diagonal, the highest first, each `longest` elements
 * wide, shorter ones aligned left or right in it. One diagonal (k0 = k1) has no line axis. Shared by MatrixDiag, MatrixDiagPart and
 * MatrixSetDiag in all versions. */
#ifndef HR_OPS_ARRAY_MATRIX_DIAG_H
#define HR_OPS_ARRAY_MATRIX_DIAG_H
#include "op/attrs_of.h"
#include "op/infer.h"

typedef struct {
  int64_t k0, k1, rows, columns, longest;
  bool upper_right, lower_right; /* alignment of those above and below the main diagonal */
} hr_matrix_diag_t;

typedef struct {
  int64_t row, column, length, offset; /* where it begins in the matrix, how long it is, and its place in its line */
} hr_matrix_line_t;

/* k: a scalar or a vector of two, k0 <= k1. */
HR_MUST_USE hr_status_t hr_matrix_diag_range(const hr_tensor_t* k, int64_t* k0, int64_t* k1);
/* Fills `longest`; INVALID_ARGUMENT when a diagonal lies outside the matrix. */
HR_MUST_USE hr_status_t hr_matrix_diag_fit(hr_matrix_diag_t* d);
void hr_matrix_diag_align(const hr_node_attrs_t* attrs, hr_matrix_diag_t* d); /* from attr "align"; left where there is none */
static inline hr_matrix_line_t hr_matrix_diag_line(const hr_matrix_diag_t* d, int64_t k) {
  hr_matrix_line_t l = {k < 0 ? -k : 0, k > 0 ? k : 0, 0, 0};
  l.length = d->rows - l.row < d->columns - l.column ? d->rows - l.row : d->columns - l.column;
  const bool left = (k >= 0 && !d->upper_right) || (k <= 0 && !d->lower_right);
  l.offset = left ? 0 : d->longest - l.length;
  return l;
}
#endif
