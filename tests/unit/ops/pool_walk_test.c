/* SPDX-License-Identifier: Apache-2.0 */
/* Walking over pooling windows: the taps of every window are those that its bounds give, in whatever order the windows are sought. */
#include "ops/nn/pool.h"
#include "test.h"

enum { MOST_TAPS = 64 };

static hr_pool_t make_pool(int64_t in, int64_t size, int64_t stride, int64_t before, int64_t after) { /* two axes alike, 3 lanes */
  hr_pool_t p = {.images = 1, .lanes = 3, .out_cells = 1};
  int64_t step = p.lanes;
  for (int i = HR_POOL_AXES - 1; i >= 0; --i) {
    const bool spatial = i == 1 || i == 2;
    p.in[i] = spatial ? in : 1;
    p.size[i] = spatial ? size : 1;
    p.stride[i] = spatial ? stride : 1;
    p.before[i] = spatial ? before : 0;
    p.out[i] = spatial ? (in + before + after - size) / stride + 1 : 1;
    p.in_step[i] = step;
    step *= p.in[i];
    p.out_cells *= p.out[i];
  }
  p.in_image = step;
  return p;
}

static int64_t list_plainly(const hr_pool_t* p, int64_t cell, int64_t* taps) {
  const int64_t row = cell / p->out[2] * p->stride[1] - p->before[1], column = cell % p->out[2] * p->stride[2] - p->before[2];
  int64_t count = 0;
  for (int64_t y = row; y < row + p->size[1]; ++y)
    for (int64_t x = column; x < column + p->size[2]; ++x)
      if (y >= 0 && y < p->in[1] && x >= 0 && x < p->in[2]) taps[count++] = y * p->in_step[1] + x * p->in_step[2];
  return count;
}

static void check_cell(hr_pool_walk_t* w, int64_t cell) {
  int64_t want[MOST_TAPS];
  const int64_t count = list_plainly(w->p, cell, want);
  hr_pool_walk_seek(w, cell);
  HR_CHECK(w->count == count);
  for (int64_t t = 0; t < count && t < w->count; ++t) HR_CHECK(w->taps[t] == want[t]);
}

static void check_pool(const hr_pool_t* p) {
  hr_pool_walk_t w;
  HR_CHECK_OK(hr_pool_walk_init(&w, p));
  for (int64_t cell = 0; cell < p->out_cells; ++cell) check_cell(&w, cell);
  for (int64_t cell = p->out_cells - 1; cell >= 0; --cell) check_cell(&w, cell);
  for (int64_t cell = 1; cell < p->out_cells; cell += 3) { /* from the middle of a row, and the same one twice */
    check_cell(&w, cell);
    check_cell(&w, cell);
    if (cell + 1 < p->out_cells) check_cell(&w, cell + 1);
  }
  hr_pool_walk_deinit(&w);
}

HR_TEST(windows_in_any_order_have_the_taps_of_their_bounds) {
  static const int64_t cases[][5] = {/* in, size, stride, before, after */
                                     {8, 2, 2, 0, 0}, {9, 2, 2, 0, 1}, {7, 3, 1, 1, 1}, {7, 3, 2, 0, 1}, {5, 5, 1, 2, 2},
                                     {4, 6, 1, 3, 3}, {1, 1, 1, 0, 0}, {6, 1, 3, 0, 0}, {3, 2, 5, 1, 4}, {10, 4, 3, 2, 3}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    const hr_pool_t p = make_pool(cases[i][0], cases[i][1], cases[i][2], cases[i][3], cases[i][4]);
    check_pool(&p);
  }
}

HR_TEST_MAIN()
