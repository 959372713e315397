/* SPDX-License-Identifier: Apache-2.0 */
/* BatchMatMul and its versions: the product of the last two axes for every place of the leading ones; adj_x and adj_y take the adjoint
 * (transposed and conjugated). V1 wants equal leading axes, V2 broadcasts them, V3 may also widen: int8 to int32, bfloat16 to float. */
#include "base/alloc.h"
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/math/matmul/product.h"

extern const hr_op_t hr_op_BatchMatMul, hr_op_BatchMatMulV2, hr_op_BatchMatMulV3;

/* 1. shape */
static hr_status_t leading_axes(hr_infer_t* s, const hr_pshape_t* a, const hr_pshape_t** out) {
  *out = &hr_pshape_unknown;
  return a->rank < 0 ? NULL : hr_pshape_make(hr_infer_arena(s), a->rank - 2, a->dims, out);
}

static hr_status_t set_batched(hr_infer_t* s, const hr_pshape_t* batch, int64_t m, int64_t n) {
  if (batch->rank < 0) {
    hr_infer_set(s, 0, &hr_pshape_unknown);
    return NULL;
  }
  if (batch->rank > HR_MAX_RANK - 2) return HR_ERROR(UNIMPLEMENTED, "rank %d is above %d", (int)batch->rank + 2, (int)HR_MAX_RANK);
  int64_t dims[HR_MAX_RANK];
  for (int i = 0; i < batch->rank; ++i) dims[i] = batch->dims[i];
  dims[batch->rank] = m;
  dims[batch->rank + 1] = n;
  return hr_infer_set_dims(s, 0, batch->rank + 2, dims);
}

static hr_status_t batch_shape(hr_infer_t* s, bool broadcasts) {
  const hr_pshape_t *x, *y, *x_batch, *y_batch, *batch;
  const bool ax = hr_attrs_bool(hr_infer_attrs(s), "adj_x"), ay = hr_attrs_bool(hr_infer_attrs(s), "adj_y");
  HR_TRY(hr_infer_want_rank_at_least(s, 0, 2, &x));
  HR_TRY(hr_infer_want_rank_at_least(s, 1, 2, &y));
  int64_t inner;
  HR_TRY(hr_status_note(hr_infer_merge_dim(hr_infer_dim(x, ax ? -2 : -1), hr_infer_dim(y, ay ? -1 : -2), &inner),
                        "inner sizes of the product: "));
  HR_TRY(leading_axes(s, x, &x_batch));
  HR_TRY(leading_axes(s, y, &y_batch));
  HR_TRY(hr_status_note(broadcasts ? hr_infer_broadcast_partial(s, x_batch, y_batch, &batch) : hr_infer_merge(s, x_batch, y_batch, &batch),
                        "leading axes: "));
  return set_batched(s, batch, hr_infer_dim(x, ax ? -1 : -2), hr_infer_dim(y, ay ? -2 : -1));
}

static hr_status_t batch_shape_v1(hr_infer_t* s) { return batch_shape(s, false); }
static hr_status_t batch_shape_v2(hr_infer_t* s) { return batch_shape(s, true); }

/* 2. kernels */
typedef struct {
  bool adj_x, adj_y;
} batch_prepared_t;

static hr_status_t prepare_batch(hr_prepare_ctx_t* p, void* prepared) {
  batch_prepared_t* m = prepared;
  m->adj_x = hr_attrs_bool(p->attrs, "adj_x");
  m->adj_y = hr_attrs_bool(p->attrs, "adj_y");
  return NULL;
}

static hr_shape_t lead_of(const hr_tensor_t* t) {
  hr_shape_t s;
  hr_shape_copy(&s, &t->shape);
  s.rank -= 2;
  return s;
}

/* Where the operand's matrix of each output matrix starts: `from` broadcasts to `to`. */
static void spread_offsets(const hr_shape_t* from, const hr_shape_t* to, int64_t matrix, int64_t* out) {
  int64_t strides[HR_MAX_RANK], step = matrix, index[HR_MAX_RANK] = {0}, at = 0;
  for (int i = to->rank - 1; i >= 0; --i) {
    const int j = i - (to->rank - from->rank);
    const int64_t dim = j >= 0 ? from->dims[j] : 1;
    strides[i] = dim == 1 ? 0 : step;
    step *= dim;
  }
  const int64_t count = hr_shape_count(to);
  for (int64_t n = 0; n < count; ++n) {
    out[n] = at;
    for (int i = to->rank - 1; i >= 0; --i) {
      at += strides[i];
      if (++index[i] < to->dims[i]) break;
      at -= strides[i] * to->dims[i];
      index[i] = 0;
    }
  }
}

/* Fills in where operands start. One y for all of x is one tall product (unless x is transposed). */
static hr_status_t spread_batch(hr_kernel_ctx_t* k, const hr_shape_t* x, const hr_shape_t* y, const hr_shape_t* out, hr_product_t* p,
                                hr_tensor_t* offsets) {
  p->batch = hr_shape_count(out);
  const bool x_full = hr_shape_count(x) == p->batch, y_full = hr_shape_count(y) == p->batch;
  if ((x_full && y_full) || p->batch == 0) return NULL;
  int64_t tall;
  if (x_full && hr_shape_count(y) == 1 && !p->transpose_a && hr_i64_mul(p->m, p->batch, &tall)) {
    p->m = tall;
    p->batch = 1;
    return NULL;
  }
  const hr_shape_t shape = hr_shape_matrix(2, p->batch);
  HR_TRY(hr_temp(k, HR_I64, &shape, offsets));
  int64_t *x_at = offsets->data, *y_at = x_at + p->batch;
  spread_offsets(x, out, p->m * p->k, x_at);
  spread_offsets(y, out, p->k * p->n, y_at);
  p->a_at = x_at;
  p->b_at = y_at;
  return NULL;
}

static hr_status_t check_batch(const hr_tensor_t* x, const hr_tensor_t* y, const hr_product_t* p, bool adj_y, bool broadcasts) {
  const hr_shape_t lx = lead_of(x), ly = lead_of(y);
  char text[2][HR_SHAPE_TEXT];
  if (p->k != y->shape.dims[y->shape.rank - (adj_y ? 1 : 2)] || (!broadcasts && !hr_shape_equal(&lx, &ly)))
    return HR_ERROR(INVALID_ARGUMENT, "%s: In[0]: %s%s, In[1]: %s%s",
                    broadcasts || hr_shape_equal(&lx, &ly) ? "Matrix size-incompatible" : "In[0] and In[1] has different ndims or "
                    "leading axes, but must have compatible batch dimensions, they must be the same", hr_shape_format(&x->shape, text[0]),
                    p->transpose_a ? " (adjoint)" : "", hr_shape_format(&y->shape, text[1]), adj_y ? " (adjoint)" : "");
  return NULL;
}

static hr_status_t compute_batch(hr_kernel_ctx_t* k, bool broadcasts) {
  const batch_prepared_t* m = hr_prepared(k);
  const hr_tensor_t *x = hr_input(k, 0), *y = hr_input(k, 1);
  for (int i = 0; i < 2; ++i) {
    const int rank = hr_input(k, i)->shape.rank;
    if (rank < 2) return HR_ERROR(INVALID_ARGUMENT, "In[%d] ndims must be >= 2: %d", i, rank);
  }
  const int64_t *xd = x->shape.dims + x->shape.rank - 2, *yd = y->shape.dims + y->shape.rank - 2;
  hr_product_t p = {.a = x->data,
                    .b = y->data,
                    .m = xd[m->adj_x ? 1 : 0],
                    .k = xd[m->adj_x ? 0 : 1],
                    .n = yd[m->adj_y ? 0 : 1],
                    .transpose_a = m->adj_x,
                    .transpose_b = m->adj_y,
                    .conj_a = m->adj_x,
                    .conj_b = m->adj_y,
                    .a_type = x->dtype,
                    .b_type = y->dtype,
                    .c_type = hr_output_dtype(k, 0)};
  HR_TRY(check_batch(x, y, &p, m->adj_y, broadcasts));
  const hr_shape_t lx = lead_of(x), ly = lead_of(y);
  hr_shape_t lead, shape;
  HR_TRY(hr_shape_broadcast(&lx, &ly, &lead));
  hr_shape_copy(&shape, &lead);
  HR_TRY(hr_shape_append(&shape, p.m));
  HR_TRY(hr_shape_append(&shape, p.n));
  hr_tensor_t* out;
  HR_TRY(hr_output(k, 0, &shape, &out));
  p.c = out->data;
  hr_tensor_t offsets = {0};
  hr_status_t status = spread_batch(k, &lx, &ly, &lead, &p, &offsets);
  if (!status) status = hr_product_run(k, &p);
  hr_tensor_release(&offsets);
  return status;
}

static hr_status_t compute_batch_v1(hr_kernel_ctx_t* k) { return compute_batch(k, false); }
static hr_status_t compute_batch_v2(hr_kernel_ctx_t* k) { return compute_batch(k, true); }

/* 3. gradients */
static hr_value_t emit_batch(hr_grad_ctx_t* g, const char* op, hr_value_t x, hr_value_t y, bool ax, bool ay) {
  return hr_emit(g, op, HR_VALUES(x, y), HR_ATTRS(hr_at_bool("adj_x", ax), hr_at_bool("adj_y", ay)));
}

/* The two products; adjoints conjugate, so nothing else must. */
static void emit_batch_products(hr_grad_ctx_t* g, const char* op, hr_value_t x, hr_value_t y, hr_value_t dy, hr_value_t out[2]) {
  const bool ax = hr_attrs_bool(hr_grad_attrs(g), "adj_x"), ay = hr_attrs_bool(hr_grad_attrs(g), "adj_y");
  if (hr_grad_wanted(g, 0)) out[0] = ax ? emit_batch(g, op, y, dy, ay, true) : emit_batch(g, op, dy, y, false, !ay);
  if (hr_grad_wanted(g, 1)) out[1] = ay ? emit_batch(g, op, dy, x, true, ax) : emit_batch(g, op, x, dy, !ax, false);
}

static void batch_grad_v1(hr_grad_ctx_t* g) {
  hr_value_t out[2] = {{0}};
  emit_batch_products(g, "BatchMatMul", hr_grad_input(g, 0), hr_grad_input(g, 1), hr_grad_upstream(g, 0), out);
  for (int i = 0; i < 2; ++i)
    if (hr_grad_wanted(g, i)) hr_grad_give(g, i, out[i]);
}

/* Leading axes of the result along which `like` was repeated; false when the shapes do not tell. */
static bool find_repeated(const hr_pshape_t* like, const hr_pshape_t* other, int64_t axes[HR_MAX_RANK], int* count) {
  if (like->rank < 0 || other->rank < 0) return false;
  const int lead = (like->rank > other->rank ? like->rank : other->rank) - 2;
  *count = 0;
  for (int i = 0; i < lead; ++i) {
    const int at = i - (lead - (like->rank - 2)), other_at = i - (lead - (other->rank - 2));
    const int64_t own = at < 0 ? 1 : like->dims[at], others = other_at < 0 ? 1 : other->dims[other_at];
    if (own < 0 || others < 0) return false;
    if (at < 0 || (own == 1 && others != 1)) axes[(*count)++] = i;
  }
  return true;
}

static hr_value_t emit_lead(hr_grad_ctx_t* g, hr_value_t v) { /* the leading axes of v's shape */
  static const int64_t zero = 0, minus_two = -2, one = 1;
  return hr_emit(
      g, "StridedSlice",
      HR_VALUES(hr_emit_shape(g, v), hr_emit_const_i32s(g, &zero, 1), hr_emit_const_i32s(g, &minus_two, 1), hr_emit_const_i32s(g, &one, 1)),
      HR_NO_ATTRS);
}

static void batch_grad_v2(hr_grad_ctx_t* g) {
  hr_value_t in[2] = {hr_grad_input(g, 0), hr_grad_input(g, 1)}, dy = hr_grad_upstream(g, 0), out[2] = {{0}}, wide[2];
  const hr_dtype_t t = hr_grad_dtype(g, dy);
  for (int i = 0; i < 2; ++i) wide[i] = hr_grad_dtype(g, in[i]) == t ? in[i] : hr_emit_cast(g, in[i], t);
  emit_batch_products(g, "BatchMatMulV2", wide[0], wide[1], dy, out);
  hr_value_t dynamic = HR_NO_VALUE;
  for (int i = 0; i < 2; ++i) {
    if (!hr_grad_wanted(g, i)) continue;
    hr_value_t d = out[i], sum_axes;
    int64_t axes[HR_MAX_RANK];
    int count = -1;
    if (find_repeated(hr_grad_shape(g, in[i]), hr_grad_shape(g, in[1 - i]), axes, &count)) {
      sum_axes = count ? hr_emit_const_i32s(g, axes, count) : HR_NO_VALUE;
    } else {
      if (!dynamic.node) dynamic = hr_emit2(g, "BroadcastGradientArgs", emit_lead(g, in[0]), emit_lead(g, in[1]));
      sum_axes = hr_emit_nth(dynamic, i);
      count = -1;
    }
    if (count) d = hr_emit_reshape(g, hr_emit_sum(g, d, sum_axes, false), hr_emit_shape(g, in[i]));
    hr_grad_give(g, i, hr_grad_dtype(g, in[i]) == t ? d : hr_emit_cast(g, d, hr_grad_dtype(g, in[i])));
  }
}

/* 4. definitions */
#define BATCH_TYPES (HR_M_REAL_FLOAT | HR_M(I16) | HR_M(I32) | HR_M(I64) | HR_M(U8) | HR_M(U16) | HR_M(U32) | HR_M(U64) | HR_M_COMPLEX)
#define BATCH_ROW(...) \
  { .where = {__VA_ARGS__}, .prepared_bytes = sizeof(batch_prepared_t), .prepare = prepare_batch, .compute = compute_batch_v2 }
#define BATCH_SAME(ID) BATCH_ROW({"Ta", HR_M(ID)}, {"Tb", HR_M(ID)}, {"Tout", HR_M(ID)})
#define BATCH_BYTES    (HR_M(I8) | HR_M(U8))

const hr_op_t hr_op_BatchMatMul = {
    .name = "BatchMatMul",
    .sig = "x: T; y: T -> output: T",
    .attrs =
        "T: type{bfloat16,half,float,double,int32,int64,complex64,complex128}; adj_x: bool = false; adj_y: bool = false; "
        "grad_x: bool = false; grad_y: bool = false",
    .shape = batch_shape_v1,
    .grad = batch_grad_v1,
    HR_KERNELS(
        {.where = {{"T", BATCH_TYPES}}, .prepared_bytes = sizeof(batch_prepared_t), .prepare = prepare_batch, .compute = compute_batch_v1}),
    .doc = "products of matrices in the last two axes; leading axes are equal",
    HR_HERE};

const hr_op_t hr_op_BatchMatMulV2 = {
    .name = "BatchMatMulV2",
    .sig = "x: T; y: T -> output: T",
    .attrs =
        "T: type{bfloat16,half,float,double,int16,int32,int64,uint8,uint16,uint32,uint64,complex64,complex128}; adj_x: bool = false; "
        "adj_y: bool = false; grad_x: bool = false; grad_y: bool = false",
    .shape = batch_shape_v2,
    .grad = batch_grad_v2,
    HR_KERNELS(BATCH_ROW({"T", BATCH_TYPES})),
    .doc = "products of matrices in the last two axes; leading axes broadcast",
    HR_HERE};

const hr_op_t hr_op_BatchMatMulV3 = {
    .name = "BatchMatMulV3",
    .sig = "x: Ta; y: Tb -> output: Tout",
    .attrs =
        "Ta: type{bfloat16,half,float,double,uint8,int8,int16,int32,int64,complex64,complex128}; "
        "Tb: type{bfloat16,half,float,double,uint8,int8,int16,int32,int64,complex64,complex128}; "
        "Tout: type{bfloat16,half,float,double,int16,int32,int64,complex64,complex128}; adj_x: bool = false; adj_y: bool = false; "
        "grad_x: bool = false; grad_y: bool = false",
    .shape = batch_shape_v2,
    .grad = batch_grad_v2,
    HR_KERNELS(BATCH_SAME(F32), BATCH_SAME(F64), BATCH_SAME(F16), BATCH_SAME(BF16), BATCH_SAME(I16), BATCH_SAME(I32), BATCH_SAME(I64),
               BATCH_SAME(C64), BATCH_SAME(C128), BATCH_ROW({"Ta", BATCH_BYTES}, {"Tb", BATCH_BYTES}, {"Tout", HR_M(I32)}),
               BATCH_ROW({"Ta", HR_M(BF16) | HR_M(F16)}, {"Tb", HR_M(BF16) | HR_M(F16)}, {"Tout", HR_M(F32)})),
    .doc = "BatchMatMulV2 whose result may have a wider type",
    HR_HERE};
