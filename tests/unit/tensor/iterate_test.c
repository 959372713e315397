/* SPDX-License-Identifier: Apache-2.0 */
/* Loop nests against a naive walk over indices, on random shapes and strides. */
#include "tensor/iterate.h"
#include "test.h"

static unsigned random_state = 5;
static int pick(int n) {
  random_state = random_state * 1664525u + 1013904223u;
  return (int)((random_state >> 10) % (unsigned)n);
}

/* Both walks must meet the same offsets in the same order. */
static void compare(const hr_iterate_t* it, int rank, const int64_t* dims, int operands, const int64_t* const* strides) {
  int64_t index[HR_MAX_RANK], offset[HR_ITERATE_OPERANDS], again[HR_ITERATE_OPERANDS], scratch[HR_MAX_RANK];
  int64_t count = 1, n = 0, rows = hr_iterate_rows(it), inner = it->dims[it->rank - 1];
  for (int i = 0; i < rank; ++i) count *= dims[i];
  HR_CHECK_EQ_I64(rows * inner, count);
  if (rows) hr_iterate_seek(it, 0, index, offset);
  for (int64_t row = 0; row < rows; ++row) {
    hr_iterate_seek(it, row, scratch, again);
    for (int k = 0; k < operands; ++k) HR_CHECK_EQ_I64(offset[k], again[k]);
    for (int64_t j = 0; j < inner; ++j, ++n) {
      for (int k = 0; k < operands; ++k) {
        int64_t want = 0, rest = n;
        for (int i = rank - 1; i >= 0; --i) {
          want += rest % dims[i] * strides[k][i];
          rest /= dims[i];
        }
        HR_CHECK_EQ_I64(offset[k] + j * it->strides[k][it->rank - 1], want);
      }
    }
    hr_iterate_step(it, index, offset);
  }
}

HR_TEST(random_strides) {
  for (int round = 0; round < 300; ++round) {
    int rank = pick(6), operands = 1 + pick(HR_ITERATE_OPERANDS);
    int64_t dims[HR_MAX_RANK], strides[HR_ITERATE_OPERANDS][HR_MAX_RANK];
    const int64_t* pointers[HR_ITERATE_OPERANDS];
    for (int i = 0; i < rank; ++i) dims[i] = pick(20) ? 1 + pick(4) : 0;
    for (int k = 0; k < operands; ++k) {
      pointers[k] = strides[k];
      for (int i = 0; i < rank; ++i) strides[k][i] = pick(13) - 6;
    }
    hr_iterate_t it;
    hr_iterate_strided(&it, rank, dims, operands, pointers);
    compare(&it, rank, dims, operands, pointers);
  }
}

HR_TEST(random_broadcasts) {
  for (int round = 0; round < 300; ++round) {
    hr_shape_t out = hr_shape_scalar(), shapes[3];
    int64_t strides[3][HR_MAX_RANK] = {{0}};
    const hr_shape_t* shape_pointers[3];
    const int64_t* pointers[3];
    out.rank = pick(6);
    for (int i = 0; i < out.rank; ++i) out.dims[i] = pick(30) ? 1 + pick(4) : 0;
    for (int k = 0; k < 3; ++k) {
      shapes[k] = hr_shape_scalar();
      int skip = k ? pick(out.rank + 1) : 0;
      shapes[k].rank = out.rank - skip;
      for (int i = 0; i < shapes[k].rank; ++i) shapes[k].dims[i] = k && pick(2) ? 1 : out.dims[i + skip];
      int64_t own[HR_MAX_RANK];
      hr_iterate_strides(&shapes[k], own);
      for (int i = 0; i < shapes[k].rank; ++i) strides[k][i + skip] = shapes[k].dims[i] == 1 ? 0 : own[i];
      shape_pointers[k] = &shapes[k];
      pointers[k] = strides[k];
    }
    hr_iterate_t it;
    hr_iterate_broadcast(&it, &out, 3, shape_pointers);
    compare(&it, out.rank, out.dims, 3, pointers);
  }
}

HR_TEST(axes_merge) {
  hr_iterate_t it;
  int64_t dims[] = {2, 3, 4};
  hr_shape_t s, row = hr_shape_vector(4);
  HR_REQUIRE_OK(hr_shape_make(3, dims, &s));
  hr_iterate_broadcast(&it, &s, 2, (const hr_shape_t*[]){&s, &s});
  HR_CHECK(it.rank == 1 && it.dims[0] == 24 && it.strides[1][0] == 1);
  hr_iterate_broadcast(&it, &s, 2, (const hr_shape_t*[]){&s, &row});
  HR_CHECK(it.rank == 2 && it.dims[0] == 6 && it.dims[1] == 4 && it.strides[1][0] == 0);
  hr_shape_t scalar = hr_shape_scalar();
  hr_iterate_broadcast(&it, &scalar, 1, (const hr_shape_t*[]){&scalar});
  HR_CHECK(it.rank == 1 && it.dims[0] == 1 && hr_iterate_rows(&it) == 1);
}

/* A scalar is one loop of one turn that moves nothing; a zero anywhere makes one loop without turns. */
HR_TEST(scalars_and_empty_nests) {
  static const int64_t empty[][3] = {{0, 2, 3}, {2, 0, 3}, {2, 3, 0}, {0, 0, 0}};
  const int64_t strides[] = {6, 3, 1}, ones[] = {1, 1, 1};
  const int64_t* const pointers[HR_ITERATE_OPERANDS] = {strides, strides, strides, strides};
  hr_iterate_t it;
  for (int rank = 0; rank <= 3; ++rank) {
    memset(&it, 0x55, sizeof it);
    hr_iterate_strided(&it, rank, ones, HR_ITERATE_OPERANDS, pointers);
    HR_CHECK(it.rank == 1 && it.dims[0] == 1 && hr_iterate_rows(&it) == 1);
    for (int k = 0; k < HR_ITERATE_OPERANDS; ++k) HR_CHECK_EQ_I64(it.strides[k][0], 0);
  }
  for (int i = 0; i < 4; ++i) {
    memset(&it, 0x55, sizeof it);
    hr_iterate_strided(&it, 3, empty[i], 2, pointers);
    HR_CHECK(it.rank == 1 && it.dims[0] == 0 && hr_iterate_rows(&it) == 0);
  }
}

HR_TEST_MAIN()
