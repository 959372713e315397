/* SPDX-License-Identifier: Apache-2.0 */
/* Splits products into tiles over the pool and chooses the vector code; the arithmetic is in gemm_real.inc and gemm_complex.inc. */
#include "ops/math/matmul/gemm.h"
#include <string.h>
#include "base/isa.h"
#include "base/pool.h"
#include "tensor/buffer.h"

HR_ISA_TABLES(hr_gemm_vec_t, hr_gemm_vec);

enum { TILE_ROWS = 120, TILE_COLS = 256 }; /* of one task; large enough that packing its operands stays a few percent */

static hr_gemm_family_t find_family(hr_dtype_t t) {
  switch (t) {
    case HR_F64: return HR_GEMM_F64;
    case HR_C64: return HR_GEMM_C64;
    case HR_C128: return HR_GEMM_C128;
    case HR_I64:
    case HR_U64: return HR_GEMM_U64;
    case HR_I8:
    case HR_U8:
    case HR_I16:
    case HR_U16:
    case HR_I32:
    case HR_U32: return HR_GEMM_U32;
    default: return HR_GEMM_F32;
  }
}

typedef struct {
  const hr_gemm_t* g;
  const hr_gemm_batch_t* batch;
  const hr_gemm_vec_t* vec;
  hr_gemm_family_t family;
  int64_t rows, cols; /* of a task */
  int64_t row_tasks, col_tasks;
  size_t a_size, b_size, c_size;
} gemm_job_t;

static void zero_c(const hr_gemm_t* g, size_t size) {
  if (g->accumulate) return;
  for (int64_t i = 0; i < g->m; ++i) memset((char*)g->c + (size_t)(i * g->c_row) * size, 0, (size_t)g->n * size);
}

static hr_gemm_t task_of(const gemm_job_t* job, int64_t task) {
  const int64_t in_batch = job->row_tasks * job->col_tasks, at = task / in_batch, row = task % in_batch / job->col_tasks * job->rows,
                col = task % job->col_tasks * job->cols;
  hr_gemm_t g = *job->g;
  const int64_t a_at = (job->batch->a_at ? job->batch->a_at[at] : 0) + row * g.a_row,
                b_at = (job->batch->b_at ? job->batch->b_at[at] : 0) + col * g.b_col;
  g.a = (const char*)g.a + (size_t)a_at * job->a_size;
  g.b = (const char*)g.b + (size_t)b_at * job->b_size;
  g.c = (char*)g.c + (size_t)(at * job->batch->c_step + row * g.c_row + col) * job->c_size;
  g.m = g.m - row < job->rows ? g.m - row : job->rows;
  g.n = g.n - col < job->cols ? g.n - col : job->cols;
  return g;
}

static hr_status_t run_tasks(void* arg, int64_t begin, int64_t end, int chunk) {
  (void)chunk;
  const gemm_job_t* job = arg;
  _Alignas(64) char small[16384];
  const hr_gemm_t first = task_of(job, 0); /* no task is larger */
  const size_t bytes = job->g->k > 0 ? job->vec->scratch_bytes[job->family](&first) : 0;
  hr_buffer_t* block = bytes > sizeof small ? hr_buffer_create(bytes, HR_F32) : NULL;
  if (bytes > sizeof small && !block) return hr_status_out_of_memory();
  for (int64_t t = begin; t < end; ++t) {
    const hr_gemm_t g = task_of(job, t);
    if (g.k > 0)
      job->vec->serial[job->family](&g, block ? block->data : small);
    else
      zero_c(&g, job->c_size);
  }
  hr_buffer_release(block);
  return NULL;
}

static double task_cost(const gemm_job_t* job) { /* nanoseconds, from what one core does per nanosecond */
  static const double per_ns[HR_GEMM_COUNT] = {40.0, 20.0, 8.0, 2.0, 10.0, 5.0};
  return (double)job->rows * (double)job->cols * (double)(job->g->k + 1) / per_ns[job->family] + 100.0;
}

hr_status_t hr_gemm_run_batch(const hr_gemm_t* g, const hr_gemm_batch_t* batch, int threads) {
  if (g->m == 0 || g->n == 0 || batch->count == 0) return NULL;
  gemm_job_t job = {.g = g, .batch = batch, .vec = HR_ISA_PICK(hr_gemm_vec), .family = find_family(g->c_type)};
  const bool split = threads > 1 && (double)g->m * (double)g->n * (double)g->k > 1e6;
  job.rows = split && g->m > TILE_ROWS ? TILE_ROWS : g->m;
  job.cols = split && g->n > TILE_COLS ? TILE_COLS : g->n;
  if (split && job.rows == g->m && job.cols == g->n && batch->count < threads) { /* one long side is all there is to divide */
    if (g->n >= g->m)
      job.cols = ((g->n + threads - 1) / threads + 31) & ~INT64_C(31);
    else
      job.rows = (g->m + threads - 1) / threads;
  }
  job.row_tasks = (g->m + job.rows - 1) / job.rows;
  job.col_tasks = (g->n + job.cols - 1) / job.cols;
  job.a_size = hr_dtype_size(g->a_type);
  job.b_size = hr_dtype_size(g->b_type);
  job.c_size = hr_dtype_size(g->c_type);
  return hr_pool_share(threads, batch->count * job.row_tasks * job.col_tasks, task_cost(&job), run_tasks, &job);
}

hr_status_t hr_gemm_run(const hr_gemm_t* g, int threads) {
  const hr_gemm_batch_t one = {.count = 1};
  return hr_gemm_run_batch(g, &one, threads);
}
