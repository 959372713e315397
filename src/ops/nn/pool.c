/* SPDX-License-Identifier: Apache-2.0 */
/* What max and average pooling share: geometry, shape functions, the walk over windows, and how it is split over the pool. */
#include "ops/nn/pool.h"
#include "base/alloc.h"
#include "base/isa.h"

HR_ISA_TABLES(hr_pool_vec_t, hr_pool_vec);

/* --- geometry ----------------------------------------------------------------------------------------------------------------------- */
static void set_axis(hr_pool_t* p, int at, int64_t in, int64_t out, int64_t size, int64_t stride, int64_t before) {
  p->in[at] = in;
  p->out[at] = out;
  p->size[at] = size;
  p->stride[at] = stride;
  p->before[at] = before;
}

static void set_steps(hr_pool_t* p) {
  int64_t step = p->lanes;
  p->out_cells = 1;
  p->tiles = true;
  for (int i = HR_POOL_AXES - 1; i >= 0; --i) {
    p->in_step[i] = step;
    step *= p->in[i];
    p->out_cells *= p->out[i];
    p->tiles = p->tiles && p->before[i] == 0 && p->size[i] == p->stride[i] && p->out[i] * p->stride[i] == p->in[i];
  }
  p->in_image = step;
}

/* Over channels, TensorFlow pools alone and in whole groups; we keep to that. */
static hr_status_t check_depthwise(const hr_window_t* w, int64_t channels) {
  const int64_t size = w->size[3];
  if (size < 1) return HR_ERROR(UNIMPLEMENTED, "Depthwise max pooling with a window of %lld channels", (long long)size);
  if (w->size[1] != 1 || w->size[2] != 1)
    return HR_ERROR(UNIMPLEMENTED, "MaxPooling supports exactly one of pooling across depth or pooling across width/height");
  if (channels % size != 0)
    return HR_ERROR(UNIMPLEMENTED, "Depthwise max pooling requires the depth window to evenly divide the input depth: %lld, %lld",
                    (long long)size,
                    (long long)channels);
  if (size != w->stride[3])
    return HR_ERROR(UNIMPLEMENTED, "Depthwise max pooling requires the depth window to equal the depth stride: %lld, %lld", (long long)size,
                    (long long)w->stride[3]);
  return NULL;
}

hr_status_t hr_pool_geometry(const hr_window_t* w, const hr_shape_t* in, hr_pool_t* p, hr_shape_t* out_shape) {
  char text[HR_SHAPE_TEXT];
  const int c = w->rank - 1, spatial = w->rank - 2;
  if (in->rank != w->rank) return HR_ERROR(INVALID_ARGUMENT, "tensor_in must be %d-dimensional, not %s", w->rank, hr_shape_format(in,
                                           text));
  const bool depth = w->size[c] != 1; /* else the step over channels counts for nothing */
  HR_TRY(hr_window_check_reach(w));
  if (depth) HR_TRY(check_depthwise(w, in->dims[c]));
  hr_shape_copy(out_shape, in);
  for (int i = 0; i < HR_POOL_AXES; ++i) set_axis(p, i, 1, 1, 1, 1, 0);
  for (int i = 1; i <= c; ++i) {
    if (i == c && !depth) break;
    int64_t before, after, out;
    const int64_t cells = in->dims[hr_window_axis(w, i)];
    HR_TRY(hr_window_fit(w, i, cells, false, &before, &after, &out));
    if (w->padding == HR_WINDOW_EXPLICIT && (before >= w->size[i] || after >= w->size[i]))
      return HR_ERROR(INVALID_ARGUMENT, "%s padding %lld needs to be smaller than the window size %lld",
                      i == 1 ? before >= w->size[i] ? "Top" : "Bottom" : before >= w->size[i] ? "Left" : "Right",
                      (long long)(before >= w->size[i] ? before : after), (long long)w->size[i]);
    set_axis(p, i == c ? 3 : i - 1 + (3 - spatial), cells, out, w->size[i], w->stride[i], before);
    out_shape->dims[hr_window_axis(w, i)] = out;
  }
  const int64_t channels = in->dims[hr_window_axis(w, c)];
  p->lanes = w->channels_first || depth ? 1 : channels;
  p->images = in->dims[0] * (w->channels_first ? channels : 1);
  set_steps(p);
  return hr_shape_check(out_shape);
}

hr_status_t hr_pool_check(const hr_shape_t* want, const hr_shape_t* got, const char* what) {
  char text[2][HR_SHAPE_TEXT];
  if (hr_shape_equal(want, got)) return NULL;
  if (want->rank != got->rank)
    return HR_ERROR(INVALID_ARGUMENT, "%s must be %d-dimensional, not %s (%s)", strcmp(what, "grad") == 0 ? "out_backprop" : "tensor_out",
                    want->rank, hr_shape_format(got, text[0]), what);
  return HR_ERROR(INVALID_ARGUMENT, "Expected %s shape to be %s, but got %s", what, hr_shape_format(want, text[1]),
                  hr_shape_format(got, text[0]));
}

/* --- shape functions ------------------------------------------------------------------------------------------------------------------ */
static hr_status_t fit_dims(hr_infer_t* s, const hr_window_t* w, int64_t* dims) {
  const hr_pshape_t* in;
  int64_t before, after, out;
  HR_TRY(hr_infer_want_rank(s, 0, w->rank, &in));
  for (int i = 0; i < w->rank; ++i) {
    const int at = hr_window_axis(w, i);
    const bool spatial = i > 0 && i < w->rank - 1, depth = i == w->rank - 1 && w->reach == HR_WINDOW_DEPTH;
    out = dims[at] = hr_infer_dim(in, at);
    if (depth && (w->stride[i] < 1 || w->stride[i] > INT32_MAX))
      return HR_ERROR(INVALID_ARGUMENT, "Stride must be > 0, but got %lld over channels", (long long)w->stride[i]);
    if (spatial || depth) HR_TRY(hr_window_fit(w, i, dims[at], true, &before, &after, &out));
    if (spatial || w->size[i] != 1) dims[at] = out;
  }
  return hr_window_check_reach(w);
}

static hr_status_t dims_by_attrs(hr_infer_t* s, int rank, hr_window_reach_t reach, bool forward, int64_t* dims) {
  hr_window_t w;
  HR_TRY(hr_infer_want_rank(s, 0, rank, NULL));
  HR_TRY(hr_window_read(hr_infer_attrs(s), rank, reach, &w));
  HR_TRY(hr_window_refuse_surplus(hr_infer_attrs(s)));
  if (forward) HR_TRY(hr_window_check_sizes(&w));
  return fit_dims(s, &w, dims);
}

static hr_status_t dims_by_inputs(hr_infer_t* s, int ksize_input, int64_t* dims) { /* ksize, then strides */
  hr_window_t w;
  const hr_pshape_t* in;
  HR_TRY(hr_window_read(hr_infer_attrs(s), 4, HR_WINDOW_DEPTH, &w));
  HR_TRY(hr_infer_want_rank(s, 0, 4, &in));
  dims[0] = hr_infer_dim(in, 0);
  dims[1] = dims[2] = dims[3] = -1;
  for (int i = 0; i < 2; ++i) {
    int64_t values[4];
    HR_TRY(hr_infer_want_rank(s, ksize_input + i, 1, NULL));
    const hr_tensor_t* t = hr_infer_const(s, ksize_input + i);
    if (!t) return NULL;
    for (int64_t j = 0; j < 4 && j < t->count; ++j) HR_TRY(hr_tensor_i64_at(t, j, &values[j]));
    HR_TRY(hr_window_read_list(&w, i ? "strides" : "ksize", values, t->count, i ? w.stride : w.size));
  }
  if (ksize_input == 1) HR_TRY(hr_window_check_sizes(&w)); /* forward */
  return fit_dims(s, &w, dims);
}

static hr_status_t infer_pool(hr_infer_t* s, int rank, hr_window_reach_t reach) {
  int64_t dims[HR_WINDOW_AXES];
  HR_TRY(dims_by_attrs(s, rank, reach, true, dims));
  for (int i = 0; i < hr_infer_output_count(s); ++i) HR_TRY(hr_infer_set_dims(s, i, rank, dims)); /* an index for each maximum */
  return NULL;
}

hr_status_t hr_pool_infer_2d(hr_infer_t* s) { return infer_pool(s, 4, HR_WINDOW_DEPTH); }
hr_status_t hr_pool_infer_avg_2d(hr_infer_t* s) { return infer_pool(s, 4, HR_WINDOW_LAYER); }
hr_status_t hr_pool_infer_3d(hr_infer_t* s) { return infer_pool(s, 5, HR_WINDOW_SPACE); }

hr_status_t hr_pool_infer_v2(hr_infer_t* s) {
  int64_t dims[4];
  HR_TRY(dims_by_inputs(s, 1, dims));
  return hr_infer_set_dims(s, 0, 4, dims);
}

static hr_status_t infer_grad(hr_infer_t* s, int rank) {
  const hr_pshape_t* x;
  HR_TRY(hr_infer_want_rank(s, 0, rank, &x));
  hr_infer_set(s, 0, x);
  return NULL;
}
hr_status_t hr_pool_infer_grad_2d(hr_infer_t* s) { return infer_grad(s, 4); }
hr_status_t hr_pool_infer_grad_3d(hr_infer_t* s) { return infer_grad(s, 5); }

hr_status_t hr_pool_infer_grad_grad(hr_infer_t* s, int rank, int image, int cells, int ksize_input) {
  const hr_pshape_t* like;
  int64_t dims[HR_WINDOW_AXES];
  HR_TRY(ksize_input ? dims_by_inputs(s, ksize_input, dims)
                     : dims_by_attrs(s, rank, rank == 4 ? HR_WINDOW_DEPTH : HR_WINDOW_SPACE, false, dims));
  HR_TRY(hr_status_note(hr_infer_merge(s, hr_infer_input(s, 0), hr_infer_input(s, image), &like), "grad is not like orig_input: "));
  HR_TRY(hr_infer_want_rank(s, cells, rank, &like));
  for (int i = 0; i < rank; ++i)
    HR_TRY(hr_status_note(hr_infer_merge_dim(dims[i], hr_infer_dim(like, i), &dims[i]), "what is given for each window: "));
  return hr_infer_set_dims(s, 0, rank, dims);
}

/* --- prepare ------------------------------------------------------------------------------------------------------------------------ */
static hr_status_t prepare_pool(hr_prepare_ctx_t* p, void* prepared, int rank, hr_window_reach_t reach) {
  hr_pool_prepared_t* m = prepared;
  return hr_window_read(p->attrs, rank, reach, &m->window);
}
hr_status_t hr_pool_prepare_2d(hr_prepare_ctx_t* p, void* prepared) { return prepare_pool(p, prepared, 4, HR_WINDOW_DEPTH); }
hr_status_t hr_pool_prepare_avg_2d(hr_prepare_ctx_t* p, void* prepared) { return prepare_pool(p, prepared, 4, HR_WINDOW_LAYER); }
hr_status_t hr_pool_prepare_3d(hr_prepare_ctx_t* p, void* prepared) { return prepare_pool(p, prepared, 5, HR_WINDOW_SPACE); }

hr_status_t hr_pool_read_inputs(hr_kernel_ctx_t* k, int ksize_input, hr_window_t* w) {
  int64_t values[4];
  for (int i = 0; i < 2; ++i) {
    const char* what = i ? "strides" : "ksize";
    const hr_tensor_t* t = hr_input(k, ksize_input + i);
    HR_TRY(hr_want_vector(k, ksize_input + i, i ? "strides must be a vector, not of shape " : "ksize must be a vector, not of shape "));
    for (int64_t j = 0; j < 4 && j < t->count; ++j) HR_TRY(hr_tensor_i64_at(t, j, &values[j]));
    HR_TRY(hr_window_read_list(w, what, values, t->count, i ? w->stride : w->size));
  }
  return NULL;
}

/* --- the walk ------------------------------------------------------------------------------------------------------------------------ */
hr_status_t hr_pool_walk_init(hr_pool_walk_t* w, const hr_pool_t* p) {
  int64_t most = 1;
  for (int i = 0; i < HR_POOL_AXES; ++i) most *= p->size[i] < p->in[i] ? p->size[i] : p->in[i]; /* no window has more taps in the image */
  w->p = p;
  w->alike = 0;
  w->taps = most > 64 ? hr_alloc_array((size_t)most, sizeof(int64_t)) : w->inline_taps;
  return w->taps ? NULL : hr_status_out_of_memory();
}

void hr_pool_walk_deinit(hr_pool_walk_t* w) {
  if (w->taps != w->inline_taps) hr_free(w->taps);
}

static void list_taps(hr_pool_walk_t* w, const int64_t first[HR_POOL_AXES], const int64_t last[HR_POOL_AXES]) {
  const int64_t* step = w->p->in_step;
  w->count = 0;
  for (int64_t a = first[0]; a < last[0]; ++a)
    for (int64_t b = first[1]; b < last[1]; ++b)
      for (int64_t c = first[2]; c < last[2]; ++c)
        for (int64_t d = first[3]; d < last[3]; ++d) w->taps[w->count++] = a * step[0] + b * step[1] + c * step[2] + d * step[3];
}

/* Along the innermost axis that has several cells, windows wholly inside the image follow each other. */
static void count_alike(hr_pool_walk_t* w, int64_t cell) {
  const hr_pool_t* p = w->p;
  int i = HR_POOL_AXES - 1;
  while (i > 0 && p->out[i] == 1) --i;
  const int64_t start = cell % p->out[i] * p->stride[i] - p->before[i], room = p->in[i] - p->size[i] - start;
  w->cell = cell;
  w->alike = start < 0 || room < 0 ? 0 : room / p->stride[i]; /* the axis has a window at each of these places */
  w->shift = p->stride[i] * p->in_step[i];
}

static void move_taps(hr_pool_walk_t* w) {
  --w->alike;
  ++w->cell;
  for (int64_t t = 0; t < w->count; ++t) w->taps[t] += w->shift;
}

void hr_pool_walk_seek(hr_pool_walk_t* w, int64_t cell) {
  const hr_pool_t* p = w->p;
  int64_t first[HR_POOL_AXES], last[HR_POOL_AXES];
  if (w->alike > 0 && cell == w->cell + 1) {
    move_taps(w);
    return;
  }
  count_alike(w, cell);
  for (int i = HR_POOL_AXES - 1; i >= 0; --i) {
    const int64_t start = p->out[i] == 1 ? -p->before[i] : cell % p->out[i] * p->stride[i] - p->before[i];
    if (p->out[i] != 1) cell /= p->out[i];
    first[i] = start > 0 ? start : 0;
    last[i] = start + p->size[i] < p->in[i] ? start + p->size[i] : p->in[i];
  }
  list_taps(w, first, last);
}

typedef struct {
  const hr_pool_job_t* job;
  int64_t per_image; /* items: cells, or 1 */
} cells_t;

static hr_status_t run_part(void* arg, int64_t begin, int64_t end, int chunk) {
  (void)chunk;
  const cells_t* c = arg;
  while (begin < end) {
    const int64_t image = begin / c->per_image, first = begin % c->per_image;
    const int64_t last = end - begin < c->per_image - first ? first + end - begin : c->per_image;
    HR_TRY(c->per_image == 1 ? c->job->fn(c->job, image, 0, c->job->p->out_cells) : c->job->fn(c->job, image, first, last));
    begin += last - first;
  }
  return NULL;
}

hr_status_t hr_pool_run_cells(hr_kernel_ctx_t* k, const hr_pool_job_t* job, bool by_image) {
  const hr_pool_t* p = job->p;
  if (p->out_cells == 0 || p->lanes == 0) return NULL;
  double taps = 1;
  for (int i = 0; i < HR_POOL_AXES; ++i) taps *= (double)p->size[i];
  const double cell_ns = 8.0 + taps * (1.0 + (double)p->lanes * 0.1);
  cells_t c = {job, by_image ? 1 : p->out_cells};
  return hr_parallel(k, p->images * c.per_image, by_image ? cell_ns * (double)p->out_cells : cell_ns, run_part, &c);
}

/* --- row functions by type ----------------------------------------------------------------------------------------------------------- */
const hr_pool_max_rows_t* hr_pool_max_rows(hr_dtype_t t) {
  const hr_pool_vec_t* v = HR_ISA_PICK(hr_pool_vec);
  switch (t) {
    case HR_F32: return &v->max_f32;
    case HR_F64: return &v->max_f64;
    case HR_F16: return &v->max_f16;
    case HR_BF16: return &v->max_bf16;
    case HR_I8: return &v->max_i8;
    case HR_U8: return &v->max_u8;
    case HR_I16: return &v->max_i16;
    case HR_U16: return &v->max_u16;
    case HR_I32: return &v->max_i32;
    case HR_U32: return &v->max_u32;
    case HR_I64: return &v->max_i64;
    default: return &v->max_u64;
  }
}

const hr_pool_avg_rows_t* hr_pool_avg_rows(hr_dtype_t t) {
  const hr_pool_vec_t* v = HR_ISA_PICK(hr_pool_vec);
  return t == HR_F64 ? &v->avg_f64 : t == HR_F16 ? &v->avg_f16 : t == HR_BF16 ? &v->avg_bf16 : &v->avg_f32;
}
