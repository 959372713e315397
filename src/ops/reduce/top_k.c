/* SPDX-License-Identifier: Apache-2.0 */
/* TopK and TopKV2: the k largest elements of each row (last axis), largest first, and where they stand; of equal ones the lower index
 * first. NaN counts as larger than any number. Rows are halved by quickselect on (value, index) until the k first are apart, which are then
 * sorted: no two keys are equal, so the result is the same whatever the pivots. */
#include <stdlib.h>
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/reduce/order_key.h"

extern const hr_op_t hr_op_TopK, hr_op_TopKV2;

/* 1. shape */
static hr_status_t check_k(int64_t k, int64_t width) {
  if (k < 0) return HR_ERROR(INVALID_ARGUMENT, "Need k >= 0, got %lld", (long long)k);
  return width >= 0 && width < k
             ? HR_ERROR(INVALID_ARGUMENT, "input must have at least k columns. Had %lld, needed %lld", (long long)width, (long long)k)
             : NULL;
}

static hr_status_t infer(hr_infer_t* s) {
  const hr_pshape_t* x;
  const bool v2 = hr_infer_input_count(s) == 2;
  const hr_tensor_t* value = v2 ? hr_infer_const(s, 1) : NULL;
  int64_t k = -1, dims[HR_MAX_RANK];
  HR_TRY(hr_infer_want_rank_at_least(s, 0, 1, &x));
  if (v2) HR_TRY(hr_infer_want_rank(s, 1, 0, NULL));
  else k = hr_attrs_int(hr_infer_attrs(s), "k");
  if (value) HR_TRY(hr_tensor_scalar_i64(value, "k", &k));
  if (value || !v2) HR_TRY(check_k(k, hr_infer_dim(x, -1)));
  if (x->rank < 0 || x->rank > HR_MAX_RANK) return NULL;
  for (int i = 0; i < x->rank; ++i) dims[i] = i == x->rank - 1 ? k : x->dims[i];
  HR_TRY(hr_infer_set_dims(s, 0, x->rank, dims));
  return hr_infer_set_dims(s, 1, x->rank, dims);
}

/* 2. kernel */
typedef struct { uint64_t key; int64_t index; } entry_t; /* keys of order_key.h, turned round: the largest element has the lowest key */

static inline bool is_before(entry_t a, entry_t b) { return a.key != b.key ? a.key < b.key : a.index < b.index; }
static int compare_entries(const void* a, const void* b) { return is_before(*(const entry_t*)a, *(const entry_t*)b) ? -1 : 1; }

static void select_first(entry_t* e, int64_t n, int64_t k) { /* the k first entries of the order come to the front */
  int64_t low = 0, high = n - 1;
  while (low < high) {
    const entry_t pivot = e[low + (high - low) / 2];
    int64_t i = low, j = high;
    while (i <= j) {
      while (is_before(e[i], pivot)) ++i;
      while (is_before(pivot, e[j])) --j;
      if (i > j) break;
      const entry_t t = e[i];
      e[i++] = e[j];
      e[j--] = t;
    }
    if (k - 1 <= j) high = j;
    else if (k - 1 >= i) low = i;
    else return;
  }
}

typedef struct { const hr_tensor_t* x; hr_tensor_t *values, *indices; int64_t width, k; } top_t;

static void store_index(hr_tensor_t* indices, int64_t at, int64_t index) {
  switch (indices->dtype) {
    case HR_I16: ((int16_t*)indices->data)[at] = (int16_t)index; break;
    case HR_I32: ((int32_t*)indices->data)[at] = (int32_t)index; break;
    default: ((int64_t*)indices->data)[at] = index; break;
  }
}

static hr_status_t top_chunk(void* arg, int64_t begin, int64_t end, int chunk) {
  const top_t* t = arg;
  const size_t size = hr_dtype_size(t->x->dtype);
  const hr_shape_t shape = hr_shape_matrix(t->width, 2);
  hr_tensor_t room;
  (void)chunk;
  HR_TRY(hr_tensor_create(HR_I64, &shape, &room));
  entry_t* e = room.data;
  for (int64_t r = begin; r < end; ++r) {
    for (int64_t i = 0; i < t->width; ++i) e[i] = (entry_t){~hr_order_key(t->x, r * t->width + i), i};
    if (t->k < t->width) select_first(e, t->width, t->k);
    qsort(e, (size_t)t->k, sizeof *e, compare_entries);
    for (int64_t i = 0; i < t->k; ++i) {
      memcpy((char*)t->values->data + (size_t)(r * t->k + i) * size, (const char*)t->x->data + (size_t)(r * t->width + e[i].index) * size,
             size);
      store_index(t->indices, r * t->k + i, e[i].index);
    }
  }
  hr_tensor_release(&room);
  return NULL;
}

static hr_status_t top_prepare(hr_prepare_ctx_t* p, void* prepared) {
  *(int64_t*)prepared = p->input_count == 1 ? hr_attrs_int(p->attrs, "k") : -1;
  return NULL;
}

static hr_status_t top_k(hr_kernel_ctx_t* k) {
  top_t t = {.x = hr_input(k, 0), .k = *(const int64_t*)hr_prepared(k)};
  hr_shape_t shape;
  HR_TRY(hr_want_rank_at_least(k, 0, "input must be >= 1-D, got shape ", 1));
  if (hr_input_count(k) == 2) {
    HR_TRY(hr_want_scalar(k, 1, "k must be scalar, got shape "));
    HR_TRY(hr_tensor_scalar_i64(hr_input(k, 1), "k", &t.k));
  }
  shape = t.x->shape;
  t.width = shape.dims[shape.rank - 1];
  HR_TRY(check_k(t.k, t.width));
  shape.dims[shape.rank - 1] = t.k;
  HR_TRY(hr_output(k, 0, &shape, &t.values));
  HR_TRY(hr_output(k, 1, &shape, &t.indices));
  if (t.values->count == 0) return NULL;
  return hr_parallel(k, t.values->count / t.k, 8.0 * (double)t.width, top_chunk, &t);
}

/* 3. gradient: dy goes back to the places it was taken from */
static void grad_top_k(hr_grad_ctx_t* g) {
  if (!hr_grad_wanted(g, 0)) return;
  hr_value_t x = hr_grad_input(g, 0), indices = hr_emit_cast(g, hr_grad_output(g, 1), HR_I64), dy = hr_grad_upstream(g, 0);
  hr_value_t flat = hr_emit_const_i32s(g, (const int64_t[]){-1}, 1), zero = hr_emit_const_i32(g, 0),
             one = hr_emit_const_i32s(g, (const int64_t[]){1}, 1);
  hr_value_t shape = hr_emit_shape(g, x), size = hr_emit_cast(g, hr_emit2(g, "Prod", shape, zero), HR_I64);
  hr_value_t last = hr_emit(g, "StridedSlice", HR_VALUES(shape, flat, hr_emit_const_i32s(g, (const int64_t[]){0}, 1), one),
                            HR_ATTRS(hr_at_int("end_mask", 1), hr_at_int("shrink_axis_mask", 1)));
  hr_value_t k = hr_emit(g, "StridedSlice", HR_VALUES(hr_emit_shape(g, indices), flat, hr_emit_const_i32s(g, (const int64_t[]){0}, 1), one),
                         HR_ATTRS(hr_at_int("end_mask", 1)));
  hr_value_t width = hr_emit_cast(g, last, HR_I64), columns = hr_emit3(g, "ConcatV2", flat, k, zero);
  hr_value_t matrix = hr_emit_reshape(g, indices, columns); /* each row's places, then counted through all rows */
  hr_value_t count = hr_emit(g, "Size", HR_VALUES(x), HR_ATTRS(hr_at_type("out_type", HR_I64)));
  hr_value_t starts = hr_emit3(g, "Range", hr_emit_cast(g, zero, HR_I64), count, width);
  hr_value_t places = hr_emit_add(g, matrix, hr_emit2(g, "ExpandDims", starts, hr_emit_const_i32(g, -1)));
  hr_value_t sums = hr_emit3(g, "UnsortedSegmentSum", hr_emit_reshape(g, dy, flat), hr_emit_reshape(g, places, flat), size);
  hr_grad_give(g, 0, hr_emit_reshape(g, sums, shape));
}

/* 4. definitions */
#define REALS "float,double,int32,uint8,int16,int8,int64,bfloat16,uint16,half,uint32,uint64"
#define TOP_KERNEL \
  { .where = {{"T", HR_M_REAL}}, .host_inputs = 2, .prepared_bytes = sizeof(int64_t), .prepare = top_prepare, .compute = top_k }
const hr_op_t hr_op_TopK = {.name = "TopK",
                            .sig = "input: T -> values: T; indices: int32",
                            .attrs = "k: int >= 0; sorted: bool = true; T: type{" REALS "}",
                            .shape = infer,
                            .grad = grad_top_k,
                            HR_KERNELS(TOP_KERNEL),
                            .deprecated = 7,
                            .deprecated_why = "Use TopKV2 instead",
                            .doc = "the k largest elements of each row",
                            HR_HERE};
const hr_op_t hr_op_TopKV2 = {
    .name = "TopKV2",
    .sig = "input: T; k: Tk -> values: T; indices: index_type",
    .attrs = "sorted: bool = true; T: type{" REALS "}; Tk: type{int16,int32,int64} = int32; index_type: type{int16,int32,int64} = int32",
    .shape = infer,
    .grad = grad_top_k,
    HR_KERNELS(TOP_KERNEL),
    .doc = "the k largest elements of each row",
    HR_HERE};
