/* SPDX-License-Identifier: Apache-2.0 */
/* Products cut into tasks and blocks: long and short sides around their sizes, few threads and many, operands of a batch at any places,
 * results in rows further apart than they are long. Numbers are small and whole, so every order of summing gives the same. */
#include "ops/math/matmul/gemm.h"
#include "test.h"

typedef struct {
  int64_t m, n, k;
  int64_t count; /* of the batch */
  int64_t gap;   /* elements between rows of the result */
  bool ta, tb, shared_b;
} split_t;

static double number_of(hr_dtype_t t, const void* p, int64_t i) {
  return t == HR_F32 ? (double)((const float*)p)[i] : t == HR_F64 ? ((const double*)p)[i] : (double)((const int64_t*)p)[i];
}
static void put_number(hr_dtype_t t, void* p, int64_t i, int v) {
  if (t == HR_F32) ((float*)p)[i] = (float)v;
  else if (t == HR_F64) ((double*)p)[i] = v;
  else ((int64_t*)p)[i] = v;
}

typedef struct {
  void *a, *b, *c;
  int64_t *a_at, *b_at;
  int64_t a_count, b_count, c_count;
} operands_t;

/* Matrices of the batch stand from the last to the first. */
static operands_t make_operands(hr_dtype_t t, const split_t* s) {
  const size_t size = hr_dtype_size(t);
  operands_t o = {.a_count = s->count * s->m * s->k,
                  .b_count = (s->shared_b ? 1 : s->count) * s->k * s->n,
                  .c_count = s->count * s->m * (s->n + s->gap)};
  o.a = hr_alloc_array((size_t)o.a_count, size);
  o.b = hr_alloc_array((size_t)o.b_count, size);
  o.c = hr_alloc_array((size_t)o.c_count, size);
  o.a_at = hr_alloc_array((size_t)s->count, sizeof *o.a_at);
  o.b_at = hr_alloc_array((size_t)s->count, sizeof *o.b_at);
  for (int64_t i = 0; i < o.a_count; ++i) put_number(t, o.a, i, (int)(i * 7 % 5) - 2);
  for (int64_t i = 0; i < o.b_count; ++i) put_number(t, o.b, i, (int)(i * 11 % 7) - 3);
  for (int64_t i = 0; i < o.c_count; ++i) put_number(t, o.c, i, 42);
  for (int64_t i = 0; i < s->count; ++i) {
    o.a_at[i] = (s->count - 1 - i) * s->m * s->k;
    o.b_at[i] = s->shared_b ? 0 : (s->count - 1 - i) * s->k * s->n;
  }
  return o;
}

static void free_operands(operands_t* o) {
  void* const all[] = {o->a, o->b, o->c, o->a_at, o->b_at};
  for (int i = 0; i < 5; ++i) hr_free(all[i]);
}

static int64_t count_wrong(hr_dtype_t t, const split_t* s, const hr_gemm_t* g, const operands_t* o) {
  int64_t wrong = 0;
  for (int64_t at = 0; at < s->count; ++at)
    for (int64_t i = 0; i < s->m; ++i)
      for (int64_t j = 0; j < s->n + s->gap; ++j) {
        double want = j < s->n ? 0 : 42; /* what lies between rows stays */
        for (int64_t p = 0; p < s->k && j < s->n; ++p)
          want += number_of(t, o->a, o->a_at[at] + i * g->a_row + p * g->a_col) *
                  number_of(t, o->b, o->b_at[at] + p * g->b_row + j * g->b_col);
        wrong += number_of(t, o->c, (at * s->m + i) * g->c_row + j) != want;
      }
  return wrong;
}

static void check_split(hr_dtype_t t, const split_t* s, int threads) {
  operands_t o = make_operands(t, s);
  const hr_gemm_t g = {.m = s->m,
                       .n = s->n,
                       .k = s->k,
                       .a = o.a,
                       .b = o.b,
                       .c = o.c,
                       .a_row = s->ta ? 1 : s->k,
                       .a_col = s->ta ? s->m : 1,
                       .b_row = s->tb ? 1 : s->n,
                       .b_col = s->tb ? s->k : 1,
                       .c_row = s->n + s->gap,
                       .a_type = t,
                       .b_type = t,
                       .c_type = t};
  const hr_gemm_batch_t batch = {s->count, s->count > 1 ? o.a_at : NULL, s->count > 1 ? o.b_at : NULL, s->m * g.c_row};
  HR_CHECK_OK(hr_gemm_run_batch(&g, &batch, threads));
  const int64_t wrong = count_wrong(t, s, &g, &o);
  if (wrong)
    hr_test_fail(__FILE__, __LINE__, "%s, %d of [%d,%d,%d], gap %d, %d threads: %d elements are wrong", hr_dtype_name((int)t),
                 (int)s->count, (int)s->m, (int)s->n, (int)s->k, (int)s->gap, threads, (int)wrong);
  free_operands(&o);
}

static void check_all(const split_t* splits, size_t count) {
  static const hr_dtype_t types[] = {HR_F32, HR_F64, HR_I64};
  static const int threads[] = {1, 2, 3, 5};
  for (size_t i = 0; i < count; ++i)
    for (int t = 0; t < 3; ++t)
      for (int n = 0; n < 4; ++n) check_split(types[t], &splits[i], threads[n]);
}

HR_TEST(one_product_in_tasks) { /* tasks of 120 rows and 256 columns, from a million multiplications on; else by the longer side */
  static const split_t splits[] = {
    {2, 2, 260000, 1, 0, false, false, false}, {1, 3, 340000, 1, 0, false, false, false}, {120, 256, 33, 1, 0, false, false, false},
    {121, 256, 33, 1, 0, false, false, false}, {120, 257, 33, 1, 0, false, false, false}, {7, 4001, 37, 1, 0, false, false, false},
    {4001, 7, 37, 1, 3, false, false, false}, {100, 100, 99, 1, 0, false, false, false}, {100, 100, 101, 1, 0, false, false, false},
    {241, 513, 9, 1, 2, false, false, false}};
  check_all(splits, sizeof splits / sizeof *splits);
}

HR_TEST(products_of_a_batch) {
  static const split_t splits[] = {
    {3, 5, 7, 2, 0, false, false, false}, {3, 5, 7, 3, 2, true, false, false}, {3, 5, 7, 3, 0, false, true, false},
    {64, 64, 300, 2, 0, false, false, false}, {2, 33, 17, 9, 1, true, true, false}, {5, 4, 3, 6, 0, false, false, true},
    {110, 100, 95, 3, 0, false, false, false}, {1, 1, 1, 70, 0, false, false, false}};
  check_all(splits, sizeof splits / sizeof *splits);
}

HR_TEST(blocks_of_each_operand) { /* A in blocks of 192 KiB, B of 384 KiB, both 256 deep */
  static const split_t splits[] = {
    {200, 9, 255, 1, 0, false, false, false}, {200, 9, 256, 1, 1, false, false, false}, {200, 9, 257, 1, 0, true, false, false},
    {9, 400, 257, 1, 0, false, true, false}, {12, 40, 30, 1, 0, false, false, false}, {13, 40, 30, 1, 0, true, true, false},
    {11, 31, 513, 1, 0, false, false, false}, {13, 770, 256, 1, 0, false, false, false}};
  check_all(splits, sizeof splits / sizeof *splits);
}

HR_TEST(nothing_to_do) {
  static const split_t splits[] = {
    {0, 3, 4, 1, 0, false, false, false}, {3, 0, 4, 1, 0, false, false, false}, {3, 4, 0, 1, 2, false, false, false},
    {3, 4, 0, 3, 0, false, false, false}};
  check_all(splits, sizeof splits / sizeof *splits);
}

HR_TEST_MAIN()
