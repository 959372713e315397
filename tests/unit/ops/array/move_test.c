/* SPDX-License-Identifier: Apache-2.0 */
/* Moves against the formula, element by element: sizes around tiles, bands and thread grains, every element size, negative and zero
 * strides. */
#include "ops/array/move.h"
#include "test.h"

static const hr_dtype_t types[] = {HR_U8, HR_I16, HR_F32, HR_I64, HR_C128};
enum { TYPES = sizeof types / sizeof *types };

static hr_tensor_t counting(hr_dtype_t type, int64_t n) { /* bytes that tell elements apart */
  hr_tensor_t t = {0};
  const hr_shape_t shape = hr_shape_vector(n);
  hr_status_t status = hr_tensor_create(type, &shape, &t);
  HR_CHECK(!status);
  hr_status_release(status);
  uint8_t* bytes = t.data;
  for (size_t i = 0; i < hr_tensor_bytes(&t); ++i) bytes[i] = (uint8_t)((i * 2654435761u) >> 7);
  return t;
}

/* Runs the move and walks it again by hand; elements outside it must stay. */
static void check_move(hr_dtype_t type, int threads, const hr_move_t* m, int64_t to_count, int64_t from_count) {
  hr_kernel_ctx_t k = {.threads = threads};
  hr_tensor_t from = counting(type, from_count), to = counting(type, to_count), want = counting(type, to_count);
  const size_t size = hr_dtype_size(type);
  int64_t index[HR_MAX_RANK] = {0}, total = 1;
  for (int d = 0; d < m->rank; ++d) total *= m->dims[d];
  for (int64_t i = 0; i < total; ++i) {
    int64_t a = m->to_start, b = m->from_start;
    for (int d = 0; d < m->rank; ++d) a += index[d] * m->to[d], b += index[d] * m->from[d];
    memcpy((char*)want.data + (size_t)a * size, (char*)from.data + (size_t)b * size, size);
    for (int d = m->rank - 1; d >= 0 && ++index[d] == m->dims[d]; --d) index[d] = 0;
  }
  hr_status_t status = hr_move_run(&k, m, &to, &from);
  HR_CHECK(!status);
  hr_status_release(status);
  HR_CHECK(memcmp(to.data, want.data, hr_tensor_bytes(&to)) == 0);
  hr_tensor_release(&from);
  hr_tensor_release(&to);
  hr_tensor_release(&want);
}

static const int64_t sizes[] = {1, 3, 15, 16, 17, 63, 64, 65, 1000};
enum { SIZES = sizeof sizes / sizeof *sizes };

HR_TEST(planes_are_transposed) {
  for (int t = 0; t < TYPES; ++t)
    for (int i = 0; i < SIZES; ++i)
      for (int j = 0; j < SIZES; ++j) {
        const int64_t n = sizes[i], m = sizes[j];
        const hr_move_t move = {.rank = 2, .dims = {n, m}, .to = {m, 1}, .from = {1, n}};
        if (n * m <= 100000) check_move(types[t], 1 + (i + j) % 2, &move, n * m, n * m);
      }
}

HR_TEST(planes_stand_in_any_nest) { /* [a, b, c, d] with every pair of axes changed over */
  const int64_t dims[4] = {3, 5, 4, 33};
  for (int t = 0; t < TYPES; ++t)
    for (int p = 0; p < 4; ++p)
      for (int q = 0; q < p; ++q) {
        int order[4] = {0, 1, 2, 3};
        int64_t from[4], run = 1;
        hr_move_t m = {.rank = 4};
        order[p] = q;
        order[q] = p;
        for (int d = 3; d >= 0; --d) from[d] = run, run *= dims[d];
        for (int d = 3, step = 1; d >= 0; --d) {
          m.dims[d] = dims[order[d]];
          m.to[d] = step;
          m.from[d] = from[order[d]];
          step *= (int)m.dims[d];
        }
        check_move(types[t], 2, &m, run, run);
      }
}

HR_TEST(lines_of_any_stride) {
  static const int64_t lengths[] = {1, 3, 15, 16, 17, 63, 64, 65, 1000, 100003};
  for (int t = 0; t < TYPES; ++t)
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; ++i) {
      const int64_t n = lengths[i];
      const hr_move_t whole = {.rank = 1, .dims = {n}, .to = {1}, .from = {1}}, same = {.rank = 1, .dims = {n}, .to = {1}, .from = {0}};
      const hr_move_t back = {.rank = 1, .dims = {n}, .to = {1}, .from = {-1}, .from_start = n - 1},
                      apart = {.rank = 1, .dims = {n}, .to = {3}, .from = {2}};
      check_move(types[t], 2, &whole, n, n);
      check_move(types[t], 2, &same, n, 1);
      check_move(types[t], 2, &back, n, n);
      check_move(types[t], 2, &apart, 3 * n, 2 * n);
    }
}

HR_TEST(strings_are_copied_one_by_one) {
  hr_kernel_ctx_t k = {.threads = 1};
  const hr_shape_t shape = hr_shape_vector(2);
  const hr_move_t m = {.rank = 1, .dims = {2}, .to = {1}, .from = {-1}, .from_start = 1};
  hr_tensor_t from = {0}, to = {0};
  const char* longer = "a text that does not fit into the element itself";
  HR_CHECK(!hr_tensor_create(HR_STRING, &shape, &from) && !hr_tensor_create(HR_STRING, &shape, &to));
  HR_CHECK(!hr_tstring_set((hr_tstring_t*)from.data, hr_str(longer)));
  HR_CHECK(!hr_move_run(&k, &m, &to, &from));
  HR_CHECK(hr_str_is(hr_tstring_get((hr_tstring_t*)to.data + 1), longer));
  HR_CHECK(hr_tstring_get(to.data).size == 0);
  hr_tensor_release(&from);
  hr_tensor_release(&to);
}

HR_TEST_MAIN()
