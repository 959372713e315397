/* SPDX-License-Identifier: Apache-2.0 */
/* ComputeAccidentalHits: where a sampled class is a true class of a row: the row (indices), the place among the samples (ids), and a weight
 * of -FLT_MAX that takes the sample out of a softmax. Rows in order, and in a row the true classes in order. */
#include <float.h>
#include <stdlib.h>
#include "base/alloc.h"
#include "base/vec.h"
#include "op/infer_fns.h"
#include "op/kernel_ctx.h"

extern const hr_op_t hr_op_ComputeAccidentalHits;

static hr_status_t infer_hits(hr_infer_t* s) {
  const hr_pshape_t* classes;
  int64_t dim;
  HR_TRY(hr_infer_want_rank(s, 0, 2, &classes));
  HR_TRY(hr_infer_merge_dim(hr_infer_dim(classes, 1), hr_attrs_int(hr_infer_attrs(s), "num_true"), &dim));
  HR_TRY(hr_infer_want_rank(s, 1, 1, NULL));
  for (int i = 0; i < 3; ++i) HR_TRY(hr_infer_set_vector(s, i, -1));
  return NULL;
}

static hr_status_t hits_prepare(hr_prepare_ctx_t* p, void* prepared) {
  *(int64_t*)prepared = hr_attrs_int(p->attrs, "num_true");
  return NULL;
}

typedef struct { int64_t value, place; } sample_t;
static int compare_samples(const void* a, const void* b) {
  const sample_t *x = a, *y = b;
  return x->value != y->value ? (x->value < y->value ? -1 : 1) : (x->place > y->place) - (x->place < y->place);
}

/* The last place of the class among the samples, as TensorFlow's table keeps it; -1: none. */
static int64_t place_of(const sample_t* sorted, int64_t count, int64_t value) {
  int64_t low = 0, high = count; /* the first above value */
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (sorted[middle].value > value) high = middle;
    else low = middle + 1;
  }
  return low > 0 && sorted[low - 1].value == value ? sorted[low - 1].place : -1;
}

typedef struct { int32_t row; int64_t place; } hit_t;
typedef HR_VEC(hit_t) hits_t;

static hr_status_t find_hits(const hr_tensor_t* classes, const sample_t* sorted, int64_t count, hits_t* hits) {
  const int64_t width = classes->shape.dims[1];
  for (int64_t i = 0; i < classes->count; ++i) {
    const int64_t place = place_of(sorted, count, ((const int64_t*)classes->data)[i]);
    if (place >= 0) HR_TRY(hr_vec_push(hits, ((hit_t){(int32_t)(i / width), place})));
  }
  return NULL;
}

static hr_status_t hits_output(hr_kernel_ctx_t* k, const hits_t* hits) {
  const hr_shape_t shape = hr_shape_vector(hits->count);
  hr_tensor_t* out[3];
  for (int i = 0; i < 3; ++i) HR_TRY(hr_output(k, i, &shape, &out[i]));
  for (int64_t i = 0; i < hits->count; ++i) {
    ((int32_t*)out[0]->data)[i] = hits->data[i].row;
    ((int64_t*)out[1]->data)[i] = hits->data[i].place;
    ((float*)out[2]->data)[i] = -FLT_MAX;
  }
  return NULL;
}

static hr_status_t accidental_hits(hr_kernel_ctx_t* k) {
  const hr_tensor_t *classes = hr_input(k, 0), *samples = hr_input(k, 1);
  const int64_t num_true = *(const int64_t*)hr_prepared(k);
  hits_t hits = {0};
  HR_TRY(hr_want_rank(k, 0, "true_classes must be a batch_size * num_true matrix, not of shape ", 2));
  HR_TRY(hr_want_vector(k, 1, "sampled_candidates must be a vector, not of shape "));
  if (classes->shape.dims[1] != num_true)
    return HR_ERROR(INVALID_ARGUMENT, "true_classes have %lld columns; num_true is %lld", (long long)classes->shape.dims[1],
                    (long long)num_true);
  if (classes->shape.dims[0] > INT32_MAX)
    return HR_ERROR(INVALID_ARGUMENT, "%lld rows of true_classes do not fit int32", (long long)classes->shape.dims[0]);
  sample_t* sorted = hr_alloc_array((size_t)samples->count + 1, sizeof *sorted);
  if (!sorted) return hr_status_out_of_memory();
  for (int64_t i = 0; i < samples->count; ++i) sorted[i] = (sample_t){((const int64_t*)samples->data)[i], i};
  qsort(sorted, (size_t)samples->count, sizeof *sorted, compare_samples);
  hr_status_t status = find_hits(classes, sorted, samples->count, &hits);
  if (!status) status = hits_output(k, &hits);
  hr_vec_deinit(&hits);
  hr_free(sorted);
  return status;
}

const hr_op_t hr_op_ComputeAccidentalHits = {
    .name = "ComputeAccidentalHits", .sig = "true_classes: int64; sampled_candidates: int64 -> indices: int32; ids: int64; weights: float",
    .attrs = "num_true: int; seed: int = 0; seed2: int = 0", .shape = infer_hits,
    HR_KERNELS({.prepared_bytes = sizeof(int64_t), .prepare = hits_prepare, .compute = accidental_hits}),
    .doc = "where sampled classes are true classes", HR_HERE};
