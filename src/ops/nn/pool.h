/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling in one form for 2-D, 3-D, both data formats and windows over channels: images of up to four axes whose cells hold `lanes`
 * adjacent elements. NHWC gives a cell's channels as lanes; NCHW gives one lane and batch * channels images; a window over channels makes
 * channels the fourth axis. Row functions (pool.vec.c) then work on the taps of one window, all lanes at once. */
#ifndef HR_OPS_NN_POOL_H
#define HR_OPS_NN_POOL_H
#include "op/infer.h"
#include "op/kernel_ctx.h"
#include "ops/nn/window.h"

enum { HR_POOL_AXES = 4 };
typedef struct {
  int64_t images, lanes;
  int64_t in[HR_POOL_AXES], out[HR_POOL_AXES], size[HR_POOL_AXES], stride[HR_POOL_AXES], before[HR_POOL_AXES];
  int64_t in_step[HR_POOL_AXES]; /* elements between neighbours; outputs are dense in walking order */
  int64_t in_image, out_cells;   /* elements of an input image; cells of an output image */
  bool tiles;                    /* windows cover the image exactly once */
} hr_pool_t;

/* The taps of one window after another: cells inside the image, as offsets of elements from the image's start. */
typedef struct {
  const hr_pool_t* p;
  int64_t* taps;
  int64_t count;
  int64_t cell, alike, shift; /* after `cell` come `alike` whose taps are its taps moved by `shift` each: the usual case, and quick */
  int64_t inline_taps[64];
} hr_pool_walk_t;
HR_MUST_USE hr_status_t hr_pool_walk_init(hr_pool_walk_t* w, const hr_pool_t* p);
void hr_pool_walk_deinit(hr_pool_walk_t* w);
void hr_pool_walk_seek(hr_pool_walk_t* w, int64_t cell); /* fills taps and count (at least 1) */

HR_MUST_USE hr_status_t hr_pool_geometry(const hr_window_t* w, const hr_shape_t* in, hr_pool_t* out, hr_shape_t* out_shape);
HR_MUST_USE hr_status_t hr_pool_check(const hr_shape_t* want, const hr_shape_t* got, const char* what);

/* Prepared memory of all pooling kernels; arg "2" or "3" below is the number of spatial axes. V2 ops read ksize and strides from inputs. */
typedef struct {
  hr_window_t window;
} hr_pool_prepared_t;
HR_MUST_USE hr_status_t hr_pool_prepare_2d(hr_prepare_ctx_t* p, void* prepared);     /* maxima */
HR_MUST_USE hr_status_t hr_pool_prepare_avg_2d(hr_prepare_ctx_t* p, void* prepared);
HR_MUST_USE hr_status_t hr_pool_prepare_3d(hr_prepare_ctx_t* p, void* prepared);
HR_MUST_USE hr_status_t hr_pool_read_inputs(hr_kernel_ctx_t* k, int ksize_input, hr_window_t* w); /* ksize, then strides */

hr_status_t hr_pool_infer_2d(hr_infer_t* s); /* of forward ops; maxima */
hr_status_t hr_pool_infer_avg_2d(hr_infer_t* s);
hr_status_t hr_pool_infer_3d(hr_infer_t* s);
hr_status_t hr_pool_infer_v2(hr_infer_t* s); /* ksize and strides are inputs 1 and 2 */
hr_status_t hr_pool_infer_grad_2d(hr_infer_t* s); /* like input 0, which has that rank */
hr_status_t hr_pool_infer_grad_3d(hr_infer_t* s);
/* Gradients of those. `image`: the input that is like input 0; `cells`: the one that has an element for each window; ksize_input: 0 where
 * attrs give the window. */
HR_MUST_USE hr_status_t hr_pool_infer_grad_grad(hr_infer_t* s, int rank, int image, int cells, int ksize_input);

/* Runs fn(job, image, cell range) over the pool: windows of all images, or whole images where windows overlap in what is written. */
typedef struct hr_pool_job hr_pool_job_t;
typedef hr_status_t (*hr_pool_cells_fn)(const hr_pool_job_t* job, int64_t image, int64_t begin, int64_t end);
struct hr_pool_job {
  const hr_pool_t* p;
  hr_pool_cells_fn fn;
  const void* rows;  /* hr_pool_max_rows_t or hr_pool_avg_rows_t */
  const char *x, *g; /* input; gradient */
  const char* o;     /* orig_output, where the maximum is not found again; else NULL */
  char* y;
  size_t size; /* of an element */
};
HR_MUST_USE hr_status_t hr_pool_run_cells(hr_kernel_ctx_t* k, const hr_pool_job_t* job, bool by_image);

/* --- row functions: base pointers and tap offsets in elements --------------------------------------------------------------------- */
typedef struct {
  void (*max)(const void* x, const int64_t* taps, int64_t count, int64_t lanes, void* y);
  /* dx[first tap that is the maximum] += dy; `store`: writes every tap, the others with 0. */
  void (*max_grad)(const void* x, const int64_t* taps, int64_t count, int64_t lanes, const void* dy, void* dx, bool store);
  /* dx[taps that equal the window's o] += dy; `store`: as above. */
  void (*equal_grad)(const void* x, const void* o, const int64_t* taps, int64_t count, int64_t lanes, const void* dy, void* dx, bool store);
  /* y = g[first tap that equals o], or 0. */
  void (*equal_pick)(const void* x, const void* o, const void* g, const int64_t* taps, int64_t count, int64_t lanes, void* y);
  void (*max_index)(const void* x, const int64_t* taps, int64_t count, int64_t lanes, void* y,
                    int64_t* index); /* index: the tap's offset + lane */
} hr_pool_max_rows_t;
typedef struct {
  void (*mean)(const void* x, const int64_t* taps, int64_t count, int64_t lanes, void* y);
  void (*mean_grad)(const int64_t* taps, int64_t count, int64_t lanes, const void* dy, void* dx, bool store);
} hr_pool_avg_rows_t;
typedef struct {
  hr_pool_max_rows_t max_f32, max_f64, max_f16, max_bf16, max_i8, max_u8, max_i16, max_u16, max_i32, max_u32, max_i64, max_u64;
  hr_pool_avg_rows_t avg_f32, avg_f64, avg_f16, avg_bf16;
} hr_pool_vec_t;
const hr_pool_max_rows_t* hr_pool_max_rows(hr_dtype_t t);
const hr_pool_avg_rows_t* hr_pool_avg_rows(hr_dtype_t t);
#endif
