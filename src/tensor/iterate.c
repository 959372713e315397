/* SPDX-License-Identifier: Apache-2.0 */
/* Loop nests over strided operands. Two axes become one when, for every operand, a step of the outer equals a whole run of the
 * inner; axes of size 1 vanish. So contiguous operands give a single loop, and a broadcast row two. */
#include "tensor/iterate.h"

void hr_iterate_strides(const hr_shape_t* s, int64_t strides[HR_MAX_RANK]) {
  int64_t step = 1;
  for (int i = s->rank - 1; i >= 0; --i) {
    strides[i] = step;
    step *= s->dims[i];
  }
}

static bool axis_continues(const hr_iterate_t* it, int64_t dim, const int64_t* strides) {
  int last = it->rank - 1;
  for (int k = 0; k < it->operands; ++k)
    if (it->strides[k][last] != strides[k] * dim) return false;
  return true;
}

/* Adds an axis inside those added before. */
static void axis_add(hr_iterate_t* it, int64_t dim, const int64_t* strides) {
  if (dim == 1) return;
  bool merge = it->rank > 0 && axis_continues(it, dim, strides);
  int at = merge ? it->rank - 1 : it->rank++;
  it->dims[at] = merge ? it->dims[at] * dim : dim;
  for (int k = 0; k < it->operands; ++k) it->strides[k][at] = strides[k];
}

static void iterate_begin(hr_iterate_t* it, int operands) {
  it->rank = 0;
  it->operands = operands;
}

static void iterate_end(hr_iterate_t* it) {
  if (it->rank) return;
  it->rank = 1;
  it->dims[0] = 1;
  for (int k = 0; k < it->operands; ++k) it->strides[k][0] = 0;
}

/* Any axis of size 0 empties the whole nest; one empty loop says so. */
static bool iterate_is_empty(hr_iterate_t* it, int rank, const int64_t* dims) {
  bool empty = false;
  for (int i = 0; i < rank; ++i) empty = empty || dims[i] == 0;
  if (!empty) return false;
  iterate_end(it);
  it->dims[0] = 0;
  return true;
}

void hr_iterate_strided(hr_iterate_t* it, int rank, const int64_t* dims, int operands, const int64_t* const* strides) {
  iterate_begin(it, operands);
  if (iterate_is_empty(it, rank, dims)) return;
  for (int i = 0; i < rank; ++i) {
    int64_t axis[HR_ITERATE_OPERANDS];
    for (int k = 0; k < operands; ++k) axis[k] = strides[k][i];
    axis_add(it, dims[i], axis);
  }
  iterate_end(it);
}

/* Strides of an operand along the axes of the output, aligned at the last axis. */
static void broadcast_strides(const hr_shape_t* out, const hr_shape_t* s, int64_t strides[HR_MAX_RANK]) {
  int shift = out->rank - s->rank;
  int64_t step = 1;
  for (int i = out->rank - 1; i >= 0; --i) {
    int64_t dim = i >= shift ? s->dims[i - shift] : 1;
    strides[i] = dim == 1 ? 0 : step;
    step *= dim;
  }
}

void hr_iterate_broadcast(hr_iterate_t* it, const hr_shape_t* out, int operands, const hr_shape_t* const* shapes) {
  int64_t strides[HR_ITERATE_OPERANDS][HR_MAX_RANK];
  const int64_t* pointers[HR_ITERATE_OPERANDS];
  for (int k = 0; k < operands; ++k) {
    broadcast_strides(out, shapes[k], strides[k]);
    pointers[k] = strides[k];
  }
  hr_iterate_strided(it, out->rank, out->dims, operands, pointers);
}

int64_t hr_iterate_rows(const hr_iterate_t* it) {
  int64_t rows = it->dims[it->rank - 1] ? 1 : 0;
  for (int i = 0; i < it->rank - 1; ++i) rows *= it->dims[i];
  return rows;
}

void hr_iterate_seek(const hr_iterate_t* it, int64_t row, int64_t index[HR_MAX_RANK], int64_t offset[HR_ITERATE_OPERANDS]) {
  for (int k = 0; k < it->operands; ++k) offset[k] = 0;
  for (int i = it->rank - 2; i >= 0; --i) {
    index[i] = row % it->dims[i];
    row /= it->dims[i];
    for (int k = 0; k < it->operands; ++k) offset[k] += index[i] * it->strides[k][i];
  }
}

void hr_iterate_step(const hr_iterate_t* it, int64_t index[HR_MAX_RANK], int64_t offset[HR_ITERATE_OPERANDS]) {
  for (int i = it->rank - 2; i >= 0; --i) {
    if (++index[i] < it->dims[i]) {
      for (int k = 0; k < it->operands; ++k) offset[k] += it->strides[k][i];
      return;
    }
    index[i] = 0;
    for (int k = 0; k < it->operands; ++k) offset[k] -= (it->dims[i] - 1) * it->strides[k][i];
  }
}
