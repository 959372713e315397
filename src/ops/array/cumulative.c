/* SPDX-License-Identifier: Apache-2.0 */
/* Running sums and products along an axis: y_t = x_0 + ... + x_t (Cumsum), y_t = x_0 * ... * x_t (Cumprod). `exclusive` leaves x_t out,
 * `reverse` runs from the end. Positions along the axis are added row by row with the element-wise loops. */
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "op/kernel_ctx.h"
#include "ops/elementwise/binary.h"

extern const hr_op_t hr_op_Cumsum, hr_op_Cumprod;

/* 1. shape */
static hr_status_t infer(hr_infer_t* s) {
  const hr_pshape_t* x = hr_infer_input(s, 0);
  const hr_tensor_t* axis_value = hr_infer_const(s, 1);
  int64_t wanted;
  int axis;
  HR_TRY(hr_infer_want_rank(s, 1, 0, NULL));
  if (axis_value && x->rank >= 0) {
    HR_TRY(hr_tensor_scalar_i64(axis_value, "axis", &wanted));
    HR_TRY(hr_shape_axis(wanted, x->rank, &axis));
  }
  return hr_infer_same(s);
}

/* 2. kernel */
typedef struct {
  hr_loop2_t step;
  uint8_t neutral[16]; /* the bits of 0 or 1 */
  size_t element;
  bool exclusive, reverse;
} scan_t;

static void one_of(hr_dtype_t type, uint8_t bits[16]) {
  const float f = 1;
  const double d = 1;
  const uint16_t half = 0x3c00, bf16 = 0x3f80;
  if (type == HR_F32 || type == HR_C64) memcpy(bits, &f, sizeof f);
  else if (type == HR_F64 || type == HR_C128) memcpy(bits, &d, sizeof d);
  else if (type == HR_F16) memcpy(bits, &half, sizeof half);
  else if (type == HR_BF16) memcpy(bits, &bf16, sizeof bf16);
  else bits[0] = 1;
}

static hr_status_t scan_prepare(hr_prepare_ctx_t* p, void* prepared) {
  scan_t* q = prepared;
  const int op = (int)(intptr_t)p->kernel->arg;
  const hr_dtype_t type = (hr_dtype_t)p->input_types[0];
  q->step = (*HR_ISA_PICK(hr_binary_vec))[op][type][LOOP_BOTH];
  if (!q->step) q->step = hr_binary_scalar[op][type][LOOP_BOTH];
  q->element = hr_dtype_size(type);
  q->exclusive = hr_attrs_bool(p->attrs, "exclusive");
  q->reverse = hr_attrs_bool(p->attrs, "reverse");
  if (op == BINARY_Mul) one_of(type, q->neutral);
  return q->step ? NULL : HR_ERROR(UNIMPLEMENTED, "op '%s' has no kernel for %s on CPU", p->op_name, hr_dtype_name((int)type));
}

typedef struct { const scan_t* q; const char* x; char* y; int64_t length, inner; } run_t;

static void scan_line(const run_t* r, int64_t line) { /* one outer index: `length` rows of `inner` elements */
  const size_t row = (size_t)r->inner * r->q->element;
  const char *x = r->x + (size_t)(line * r->length) * row, *from;
  char *y = r->y + (size_t)(line * r->length) * row, *last = NULL;
  for (int64_t t = 0; t < r->length; ++t) {
    char* to = y + (size_t)(r->q->reverse ? r->length - 1 - t : t) * row;
    from = x + (size_t)(r->q->reverse ? r->length - 1 - t : t) * row;
    if (r->q->exclusive) from = r->q->reverse ? from + row : from - row; /* the one before; not read for the first */
    if (last) r->q->step(last, from, to, r->inner);
    else if (!r->q->exclusive) memcpy(to, from, row);
    else
      for (int64_t i = 0; i < r->inner; ++i) memcpy(to + (size_t)i * r->q->element, r->q->neutral, r->q->element);
    last = to;
  }
}

static hr_status_t scan_chunk(void* arg, int64_t begin, int64_t end, int chunk) {
  (void)chunk;
  for (int64_t line = begin; line < end; ++line) scan_line(arg, line);
  return NULL;
}

static hr_status_t scan(hr_kernel_ctx_t* k) {
  const hr_tensor_t* x = hr_input(k, 0);
  const scan_t* q = hr_prepared(k);
  int64_t wanted;
  int axis;
  hr_tensor_t* y;
  HR_TRY(hr_want_scalar(k, 1, "axis"));
  HR_TRY(hr_tensor_scalar_i64(hr_input(k, 1), "axis", &wanted));
  HR_TRY(hr_shape_axis(wanted, x->shape.rank, &axis));
  HR_TRY(hr_output(k, 0, &x->shape, &y));
  if (x->count == 0) return NULL;
  run_t r = {q, x->data, y->data, x->shape.dims[axis], hr_shape_count_range(&x->shape, axis + 1, x->shape.rank)};
  return hr_parallel(k, hr_shape_count_range(&x->shape, 0, axis), (double)r.length * (3.0 + 0.3 * (double)r.inner), scan_chunk, &r);
}

/* 3. gradients: the sums run the other way */
static hr_value_t emit_back(hr_grad_ctx_t* g, hr_value_t x) {
  const hr_node_attrs_t* attrs = hr_grad_attrs(g);
  return hr_emit(g, "Cumsum", HR_VALUES(x, hr_grad_input(g, 1)),
                 HR_ATTRS(hr_at_bool("exclusive", hr_attrs_bool(attrs, "exclusive")), hr_at_bool("reverse", !hr_attrs_bool(attrs, "reverse"))));
}
static void grad_sum(hr_grad_ctx_t* g) { hr_grad_give(g, 0, emit_back(g, hr_grad_upstream(g, 0))); }

static void grad_prod(hr_grad_ctx_t* g) { /* sum of y dy from the other end, over x; 0 where x is 0, as TensorFlow */
  hr_value_t sums = emit_back(g, hr_emit_mul(g, hr_grad_output(g, 0), hr_grad_upstream(g, 0)));
  hr_grad_give(g, 0, hr_emit2(g, "DivNoNan", sums, hr_grad_input(g, 0)));
}

/* 4. definitions */
#define NUMBERS "float,double,int32,uint8,int16,int8,complex64,int64,qint8,quint8,qint32,bfloat16,qint16,quint16,uint16,complex128,half,uint32,uint64"
#define SCAN_ATTRS "exclusive: bool = false; reverse: bool = false; T: type{" NUMBERS "}; Tidx: type{int32,int64} = int32"
#define SCAN(op) \
  HR_KERNELS({.where = {{"T", HR_M_NUMBER}}, .host_inputs = 2, .prepared_bytes = sizeof(scan_t), .prepare = scan_prepare, .compute = scan, \
              .arg = (const void*)(intptr_t)(op)})
const hr_op_t hr_op_Cumsum = {
    .name = "Cumsum", .sig = "x: T; axis: Tidx -> out: T", .attrs = SCAN_ATTRS, .shape = infer, .grad = grad_sum, SCAN(BINARY_AddV2),
    .doc = "running sums along an axis", HR_HERE};

const hr_op_t hr_op_Cumprod = {
    .name = "Cumprod", .sig = "x: T; axis: Tidx -> out: T", .attrs = SCAN_ATTRS, .shape = infer, .grad = grad_prod, SCAN(BINARY_Mul),
    .doc = "running products along an axis", HR_HERE};
