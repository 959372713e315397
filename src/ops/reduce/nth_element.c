/* SPDX-License-Identifier: Apache-2.0 */
/* NthElement: of each row (last axis) the element that would stand at place n if the row were sorted, ascending or (reverse) descending.
 * NaN counts as larger than any number. */
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/reduce/order_key.h"

extern const hr_op_t hr_op_NthElement;

/* 1. shape */
static hr_status_t check_n(int64_t n, int64_t width) {
  if (n < 0) return HR_ERROR(INVALID_ARGUMENT, "n must be non-negative but is %lld", (long long)n);
  return width >= 0 && n >= width
             ? HR_ERROR(INVALID_ARGUMENT, "Input must have last dimension > n = %lld, it has %lld elements", (long long)n, (long long)width)
             : NULL;
}

static hr_status_t infer(hr_infer_t* s) {
  const hr_pshape_t* x;
  const hr_tensor_t* value = hr_infer_const(s, 1);
  int64_t n;
  HR_TRY(hr_infer_want_rank_at_least(s, 0, 1, &x));
  HR_TRY(hr_infer_want_rank(s, 1, 0, NULL));
  if (value) {
    HR_TRY(hr_tensor_scalar_i64(value, "n", &n));
    HR_TRY(check_n(n, hr_infer_dim(x, -1)));
  }
  return x->rank < 0 ? NULL : hr_infer_set_dims(s, 0, x->rank - 1, x->dims);
}

/* 2. kernel: quickselect on keys, each with its place beside it */
typedef struct { uint64_t key; int64_t index; } nth_entry_t;
typedef struct { const hr_tensor_t* x; hr_tensor_t* y; int64_t width, n; } nth_t;

static int64_t select_nth(nth_entry_t* e, int64_t count, int64_t n) {
  int64_t low = 0, high = count - 1;
  while (low < high) {
    const uint64_t pivot = e[low + (high - low) / 2].key;
    int64_t i = low, j = high;
    while (i <= j) {
      while (e[i].key < pivot) ++i;
      while (pivot < e[j].key) --j;
      if (i > j) break;
      const nth_entry_t t = e[i];
      e[i++] = e[j];
      e[j--] = t;
    }
    if (n <= j) high = j;
    else if (n >= i) low = i;
    else break;
  }
  return e[n].index;
}

static hr_status_t nth_chunk(void* arg, int64_t begin, int64_t end, int chunk) {
  const nth_t* t = arg;
  const size_t size = hr_dtype_size(t->x->dtype);
  const hr_shape_t shape = hr_shape_matrix(t->width, 2);
  hr_tensor_t room;
  (void)chunk;
  HR_TRY(hr_tensor_create(HR_I64, &shape, &room));
  nth_entry_t* e = room.data;
  for (int64_t r = begin; r < end; ++r) {
    for (int64_t i = 0; i < t->width; ++i) e[i] = (nth_entry_t){hr_order_key(t->x, r * t->width + i), i};
    const int64_t at = select_nth(e, t->width, t->n);
    memcpy((char*)t->y->data + (size_t)r * size, (const char*)t->x->data + (size_t)(r * t->width + at) * size, size);
  }
  hr_tensor_release(&room);
  return NULL;
}

static hr_status_t nth_prepare(hr_prepare_ctx_t* p, void* prepared) {
  *(bool*)prepared = hr_attrs_bool(p->attrs, "reverse");
  return NULL;
}

static hr_status_t nth_element(hr_kernel_ctx_t* k) {
  nth_t t = {.x = hr_input(k, 0)};
  hr_shape_t shape;
  HR_TRY(hr_want_rank_at_least(k, 0, "input", 1));
  HR_TRY(hr_want_scalar(k, 1, "n"));
  HR_TRY(hr_tensor_scalar_i64(hr_input(k, 1), "n", &t.n));
  shape = t.x->shape;
  t.width = shape.dims[--shape.rank];
  HR_TRY(check_n(t.n, t.width));
  if (*(const bool*)hr_prepared(k)) t.n = t.width - 1 - t.n;
  HR_TRY(hr_output(k, 0, &shape, &t.y));
  return hr_parallel(k, t.y->count, 8.0 * (double)t.width, nth_chunk, &t);
}

/* 3. gradient: shared evenly among the row's elements that equal the one taken */
static void grad_nth(hr_grad_ctx_t* g) {
  if (!hr_grad_wanted(g, 0)) return;
  hr_value_t x = hr_grad_input(g, 0), last = hr_emit_const_i32(g, -1);
  hr_value_t y = hr_emit2(g, "ExpandDims", hr_grad_output(g, 0), last), dy = hr_emit2(g, "ExpandDims", hr_grad_upstream(g, 0), last);
  hr_value_t hits = hr_emit_cast(g, hr_emit2(g, "Equal", y, x), hr_grad_dtype(g, dy));
  hr_value_t count = hr_emit_sum(g, hits, hr_emit_const_i32s(g, (const int64_t[]){-1}, 1), true);
  hr_grad_give(g, 0, hr_emit_mul(g, hr_emit_div(g, hits, count), dy));
}

/* 4. definition */
const hr_op_t hr_op_NthElement = {
    .name = "NthElement",
    .sig = "input: T; n: int32 -> values: T",
    .attrs = "reverse: bool = false; T: type{float,double,int32,uint8,int16,int8,int64,bfloat16,uint16,half,uint32,uint64}",
    .shape = infer,
    .grad = grad_nth,
    HR_KERNELS(
        {.where = {{"T", HR_M_REAL}}, .host_inputs = 2, .prepared_bytes = sizeof(bool), .prepare = nth_prepare, .compute = nth_element}),
    .doc = "the element at place n of each row in order",
    HR_HERE};
