/* SPDX-License-Identifier: Apache-2.0 */
/* Moving elements between strided boxes. The axes are merged first (tensor/iterate.h); then one of three ways is taken:
 *
 *   lines   the inner axis is a line of any strides, the others are walked (a contiguous line is one memcpy)
 *   planes  `to` is contiguous along its inner axis, `from` along another one: that pair is transposed in tiles, the others are walked
 *   one     elements that own memory: one at a time, on this thread
 *
 * Work is split over the cores by lines, or by bands of planes; a single long line is cut. */
#include "ops/array/move.h"
#include <string.h>
#include "tensor/iterate.h"

enum { SHARE_BYTES = 4096 }; /* a smaller piece is copied: it may then be worked on in place, and keeps no big buffer alive */

/* 1. lines and planes per element size */
typedef uint8_t __attribute__((may_alias)) move8_t;
typedef uint16_t __attribute__((may_alias)) move16_t;
typedef uint32_t __attribute__((may_alias)) move32_t;
typedef uint64_t __attribute__((may_alias)) move64_t;
typedef struct {
  uint64_t low, high;
} __attribute__((may_alias)) move128_t;
typedef uint32_t quad_t __attribute__((vector_size(16)));

static inline void turn32(uint32_t block[4][4]) { /* the 4 x 4 block transposed, in registers */
  quad_t a, b, c, d;
  memcpy(&a, block[0], 16);
  memcpy(&b, block[1], 16);
  memcpy(&c, block[2], 16);
  memcpy(&d, block[3], 16);
  const quad_t ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5), cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  const quad_t ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7), cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  a = __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5);
  b = __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7);
  c = __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5);
  d = __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7);
  memcpy(block[0], &a, 16);
  memcpy(block[1], &b, 16);
  memcpy(block[2], &c, 16);
  memcpy(block[3], &d, 16);
}

#define MOVE_E       move8_t
#define MOVE_NAME(x) x##_8
#define MOVE_TILE    8
#include "ops/array/move.inc"
#define MOVE_E       move16_t
#define MOVE_NAME(x) x##_16
#define MOVE_TILE    8
#include "ops/array/move.inc"
#define MOVE_E       move32_t
#define MOVE_NAME(x) x##_32
#define MOVE_TILE    4
#define MOVE_TURN    turn32
#include "ops/array/move.inc"
#define MOVE_E       move64_t
#define MOVE_NAME(x) x##_64
#define MOVE_TILE    4
#include "ops/array/move.inc"
#define MOVE_E       move128_t
#define MOVE_NAME(x) x##_128
#define MOVE_TILE    2
#include "ops/array/move.inc"

typedef struct {
  void (*line)(void* to, const void* from, int64_t n, int64_t to_step, int64_t from_step);
  void (*plane)(void* to, int64_t to_step, const void* from, int64_t from_step, int64_t rows, int64_t columns);
} move_fns_t;

static const move_fns_t* fns_of(size_t element) {
  static const move_fns_t fns[] = {{line_8, plane_8}, {line_16, plane_16}, {line_32, plane_32}, {line_64, plane_64}, {line_128, plane_128}};
  return &fns[element == 1 ? 0 : element == 2 ? 1 : element == 4 ? 2 : element == 8 ? 3 : 4];
}

/* 2. boxes */
hr_status_t hr_move_axis(hr_move_t* m, int64_t dim, int64_t to, int64_t from) {
  if (dim == 1) return NULL;
  if (m->rank == HR_MAX_RANK) return HR_ERROR(UNIMPLEMENTED, "moving elements over more than %d axes", HR_MAX_RANK);
  m->dims[m->rank] = dim;
  m->to[m->rank] = to;
  m->from[m->rank++] = from;
  return NULL;
}

typedef struct {
  hr_iterate_t it; /* operand 0: to, 1: from */
  const move_fns_t* fns;
  char* to;
  const char* from;
  size_t element;
  int64_t rows, columns, to_step, from_step; /* planes: the pair's sizes, and the strides that are not 1 */
  int64_t band;                              /* planes: rows of the plane in an item of work */
} box_t;

static hr_status_t line_chunk(void* arg, int64_t begin, int64_t end, int chunk) {
  const box_t* b = arg;
  const int last = b->it.rank - 1;
  const int64_t n = b->it.dims[last], to_step = b->it.strides[0][last], from_step = b->it.strides[1][last];
  int64_t index[HR_MAX_RANK], at[HR_ITERATE_OPERANDS];
  (void)chunk;
  hr_iterate_seek(&b->it, begin, index, at);
  for (int64_t r = begin; r < end; ++r) {
    b->fns->line(b->to + at[0] * (int64_t)b->element, b->from + at[1] * (int64_t)b->element, n, to_step, from_step);
    hr_iterate_step(&b->it, index, at);
  }
  return NULL;
}

static hr_status_t cut_chunk(void* arg, int64_t begin, int64_t end, int chunk) { /* a piece of the only line */
  const box_t* b = arg;
  const int64_t to_step = b->it.strides[0][0], from_step = b->it.strides[1][0], element = (int64_t)b->element;
  (void)chunk;
  b->fns->line(b->to + begin * to_step * element, b->from + begin * from_step * element, end - begin, to_step, from_step);
  return NULL;
}

static double line_cost(const box_t* b, int64_t n) { /* ns; strided elements cost about one each */
  const int last = b->it.rank - 1;
  const bool dense = b->it.strides[0][last] == 1 && b->it.strides[1][last] == 1;
  return 3.0 + (double)n * (dense ? 0.06 * (double)b->element : 0.8);
}

static hr_status_t run_lines(hr_kernel_ctx_t* k, box_t* b) {
  const int64_t n = b->it.dims[b->it.rank - 1];
  if (b->it.rank == 1) return hr_parallel(k, n, line_cost(b, 4096) / 4096, cut_chunk, b);
  return hr_parallel(k, hr_iterate_rows(&b->it), line_cost(b, n), line_chunk, b);
}

static hr_status_t plane_chunk(void* arg, int64_t begin, int64_t end, int chunk) { /* items: bands of rows of each plane */
  const box_t* b = arg;
  const int64_t bands = (b->rows + b->band - 1) / b->band, element = (int64_t)b->element;
  int64_t index[HR_MAX_RANK], at[HR_ITERATE_OPERANDS];
  (void)chunk;
  hr_iterate_seek(&b->it, begin / bands, index, at);
  for (int64_t t = begin, band = begin % bands; t < end; ++t) {
    const int64_t row = band * b->band, rows = b->rows - row < b->band ? b->rows - row : b->band;
    b->fns->plane(b->to + (at[0] + row * b->to_step) * element, b->to_step, b->from + (at[1] + row) * element, b->from_step, rows,
                  b->columns);
    if (++band < bands) continue;
    band = 0;
    hr_iterate_step(&b->it, index, at);
  }
  return NULL;
}

/* The axis along which `from` is contiguous, when it pays to transpose it with the inner one; -1: none. */
static int plane_axis(const hr_iterate_t* it) {
  const int last = it->rank - 1;
  if (it->strides[0][last] != 1 || it->strides[1][last] == 1 || it->strides[1][last] == 0) return -1;
  for (int i = 0; i < last; ++i)
    if (it->strides[1][i] == 1) return i;
  return -1;
}

static hr_status_t run_planes(hr_kernel_ctx_t* k, box_t* b, int axis) {
  hr_iterate_t* it = &b->it;
  const int last = it->rank - 1;
  b->rows = it->dims[axis];
  b->columns = it->dims[last];
  b->to_step = it->strides[0][axis];
  b->from_step = it->strides[1][last];
  for (int i = axis; i < last - 1; ++i) { /* the pair leaves the nest; the inner loop of what remains does nothing */
    it->dims[i] = it->dims[i + 1];
    for (int o = 0; o < 2; ++o) it->strides[o][i] = it->strides[o][i + 1];
  }
  it->rank = last;
  it->dims[last - 1] = 1;
  b->band = b->columns < 64 ? 256 : 32;
  const int64_t bands = (b->rows + b->band - 1) / b->band, height = b->rows < b->band ? b->rows : b->band;
  return hr_parallel(k, hr_iterate_rows(it) * bands, 5.0 + 0.5 * (double)(height * b->columns), plane_chunk, b);
}

static hr_status_t run_one_by_one(const hr_iterate_t* it, const hr_move_t* m, hr_tensor_t* to, const hr_tensor_t* from) {
  const int last = it->rank - 1;
  int64_t index[HR_MAX_RANK], at[HR_ITERATE_OPERANDS];
  const int64_t rows = hr_iterate_rows(it);
  hr_iterate_seek(it, 0, index, at);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t i = 0; i < it->dims[last]; ++i)
      HR_TRY(hr_tensor_copy_elements(to, m->to_start + at[0] + i * it->strides[0][last], from,
                                     m->from_start + at[1] + i * it->strides[1][last], 1));
    hr_iterate_step(it, index, at);
  }
  return NULL;
}

hr_status_t hr_move_run(hr_kernel_ctx_t* k, const hr_move_t* m, hr_tensor_t* to, const hr_tensor_t* from) {
  const int64_t* strides[2] = {m->to, m->from};
  box_t b = {.element = hr_dtype_size(to->dtype)};
  hr_iterate_strided(&b.it, m->rank, m->dims, 2, strides);
  if (b.it.dims[b.it.rank - 1] == 0) return NULL;
  if (!hr_dtype_is_plain(to->dtype)) return run_one_by_one(&b.it, m, to, from);
  b.fns = fns_of(b.element);
  b.to = (char*)to->data + m->to_start * (int64_t)b.element;
  b.from = (const char*)from->data + m->from_start * (int64_t)b.element;
  const int axis = plane_axis(&b.it);
  return axis >= 0 ? run_planes(k, &b, axis) : run_lines(k, &b);
}

hr_status_t hr_move_fill(hr_kernel_ctx_t* k, hr_tensor_t* to, const hr_tensor_t* value) {
  hr_move_t m = {.rank = 0};
  HR_TRY(hr_move_axis(&m, to->count, 1, 0));
  return hr_move_run(k, &m, to, value);
}

/* 3. side by side */
typedef struct {
  hr_kernel_ctx_t* k;
  char* to;
  size_t element;
  int first, count;
  int64_t rows, columns;
} join_t;

static hr_status_t join_chunk(void* arg, int64_t begin, int64_t end, int chunk) {
  const join_t* j = arg;
  char* to = j->to + (size_t)(begin * j->columns) * j->element;
  (void)chunk;
  for (int64_t r = begin; r < end; ++r)
    for (int i = 0; i < j->count; ++i) {
      const hr_tensor_t* x = hr_input(j->k, j->first + i);
      const size_t bytes = (size_t)(x->count / j->rows) * j->element;
      if (bytes) memcpy(to, (const char*)x->data + (size_t)r * bytes, bytes);
      to += bytes;
    }
  return NULL;
}

/* One after the other: few rows, or elements that own memory. */
static hr_status_t join_each(hr_kernel_ctx_t* k, hr_tensor_t* to, int first, int count, int64_t rows, int64_t columns) {
  int64_t start = 0;
  for (int i = 0; i < count; ++i) {
    const hr_tensor_t* x = hr_input(k, first + i);
    const int64_t width = x->count / rows;
    hr_move_t m = {.to_start = start};
    HR_TRY(hr_move_axis(&m, rows, columns, width));
    HR_TRY(hr_move_axis(&m, width, 1, 1));
    HR_TRY(hr_move_run(k, &m, to, x));
    start += width;
  }
  return NULL;
}

hr_status_t hr_move_join(hr_kernel_ctx_t* k, hr_tensor_t* to, int first, int count, int64_t rows) {
  if (to->count == 0) return NULL;
  join_t j = {k, to->data, hr_dtype_size(to->dtype), first, count, rows, to->count / rows};
  if (!hr_dtype_is_plain(to->dtype) || rows < 8) return join_each(k, to, first, count, rows, j.columns);
  return hr_parallel(k, rows, 5.0 * count + 0.06 * (double)j.columns * (double)j.element, join_chunk, &j);
}

/* 4. pieces */
static bool worth_sharing(const hr_tensor_t* from, int64_t count) {
  return !hr_dtype_is_plain(from->dtype) || (size_t)count * hr_dtype_size(from->dtype) >= SHARE_BYTES;
}

/* Output `index` is elements [start, start + count of shape) of `from`, shared. */
static void share_piece(hr_kernel_ctx_t* k, int index, const hr_shape_t* shape, const hr_tensor_t* from, int64_t start) {
  hr_tensor_t piece;
  hr_tensor_share(from, &piece);
  piece.data = (char*)from->data + (size_t)start * hr_dtype_size(from->dtype);
  piece.count = hr_shape_count(shape);
  hr_shape_copy(&piece.shape, shape);
  hr_output_move(k, index, &piece);
}

hr_status_t hr_move_part(hr_kernel_ctx_t* k, int index, const hr_shape_t* shape, const hr_tensor_t* from, int64_t rows, int64_t columns,
                         int64_t start, int64_t width) {
  hr_tensor_t* to;
  hr_move_t m = {.from_start = start};
  if (rows == 1 && width > 0 && worth_sharing(from, width)) {
    share_piece(k, index, shape, from, start);
    return NULL;
  }
  HR_TRY(hr_output(k, index, shape, &to));
  HR_TRY(hr_move_axis(&m, rows, width, columns));
  HR_TRY(hr_move_axis(&m, width, 1, 1));
  return hr_move_run(k, &m, to, from);
}

/* The box is one block of memory: after the first axis of which it has more than one index, it has all of each. */
static bool box_is_block(const hr_tensor_t* from, const int64_t* stride, const int64_t* size) {
  bool inside = false;
  for (int i = 0; i < from->shape.rank; ++i) {
    if (inside && size[i] != from->shape.dims[i]) return false;
    if (size[i] != 1 && stride[i] != 1) return false;
    inside = inside || size[i] != 1;
  }
  return true;
}

hr_status_t hr_move_box(hr_kernel_ctx_t* k, const hr_shape_t* shape, const int64_t* begin, const int64_t* stride, const int64_t* size) {
  const hr_tensor_t* from = hr_input(k, 0);
  int64_t steps[HR_MAX_RANK];
  hr_tensor_t* to;
  hr_move_t m = {.rank = 0};
  const int64_t count = hr_shape_count(shape);
  hr_iterate_strides(&from->shape, steps);
  if (count == 0) return hr_output(k, 0, shape, &to);
  for (int i = 0; i < from->shape.rank; ++i) m.from_start += begin[i] * steps[i];
  const bool block = box_is_block(from, stride, size);
  if (block && count == from->count) return hr_output_alias(k, 0, 0, shape);
  if (block && worth_sharing(from, count)) {
    share_piece(k, 0, shape, from, m.from_start);
    return NULL;
  }
  HR_TRY(hr_output(k, 0, shape, &to));
  int64_t run = count;
  for (int i = 0; i < from->shape.rank; ++i) {
    run /= size[i];
    HR_TRY(hr_move_axis(&m, size[i], run, size[i] == 1 ? 0 : stride[i] * steps[i]));
  }
  return hr_move_run(k, &m, to, from);
}
