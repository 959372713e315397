/* SPDX-License-Identifier: Apache-2.0 */
/* MatMul: product = op(a) op(b) of two matrices, where op may transpose (without conjugating). An inner size of 0 gives zeros.
 * grad_a and grad_b are hints that mean nothing here. */
#include <string.h>
#include "op/grad_ctx.h"
#include "op/infer.h"
#include "ops/math/matmul/product.h"

extern const hr_op_t hr_op_MatMul, hr_op__FusedMatMul;

/* 1. shape */
static hr_status_t matmul_shape(hr_infer_t* s) {
  const hr_pshape_t *a, *b;
  const bool ta = hr_attrs_bool(hr_infer_attrs(s), "transpose_a"), tb = hr_attrs_bool(hr_infer_attrs(s), "transpose_b");
  HR_TRY(hr_infer_want_rank(s, 0, 2, &a));
  HR_TRY(hr_infer_want_rank(s, 1, 2, &b));
  int64_t inner;
  HR_TRY(
      hr_status_note(hr_infer_merge_dim(hr_infer_dim(a, ta ? 0 : 1), hr_infer_dim(b, tb ? 1 : 0), &inner), "inner sizes of the product: "));
  return hr_infer_set_dims(s, 0, 2, (const int64_t[]){hr_infer_dim(a, ta ? 1 : 0), hr_infer_dim(b, tb ? 0 : 1)});
}

/* 2. kernels */
typedef struct {
  bool transpose_a, transpose_b;
  hr_epilogue_t epilogue; /* of the fused op */
} matmul_prepared_t;

static hr_status_t prepare_matmul(hr_prepare_ctx_t* p, void* prepared) {
  matmul_prepared_t* m = prepared;
  m->transpose_a = hr_attrs_bool(p->attrs, "transpose_a");
  m->transpose_b = hr_attrs_bool(p->attrs, "transpose_b");
  return NULL;
}

static hr_status_t read_matmul(hr_kernel_ctx_t* k, hr_product_t* out) {
  const matmul_prepared_t* m = hr_prepared(k);
  const hr_tensor_t *a = hr_input(k, 0), *b = hr_input(k, 1);
  HR_TRY(hr_want_rank(k, 0, "In[0] ndims must be >= 2, and for MatMul just 2: it is not a matrix but of shape ", 2));
  HR_TRY(hr_want_rank(k, 1, "In[1] ndims must be >= 2, and for MatMul just 2: it is not a matrix but of shape ", 2));
  const int64_t* x = a->shape.dims;
  const int64_t* y = b->shape.dims;
  *out = (hr_product_t){.a = a->data,
                        .b = b->data,
                        .m = x[m->transpose_a ? 1 : 0],
                        .k = x[m->transpose_a ? 0 : 1],
                        .n = y[m->transpose_b ? 0 : 1],
                        .transpose_a = m->transpose_a,
                        .transpose_b = m->transpose_b,
                        .a_type = a->dtype,
                        .b_type = b->dtype,
                        .c_type = a->dtype,
                        .batch = 1};
  if (out->k != y[m->transpose_b ? 1 : 0]) {
    char text[2][HR_SHAPE_TEXT];
    return HR_ERROR(INVALID_ARGUMENT, "Matrix size-incompatible: In[0]: %s%s, In[1]: %s%s", hr_shape_format(&a->shape, text[0]),
                    m->transpose_a ? " transposed" : "", hr_shape_format(&b->shape, text[1]), m->transpose_b ? " transposed" : "");
  }
  return NULL;
}

static hr_status_t compute_matmul(hr_kernel_ctx_t* k) {
  hr_product_t p;
  HR_TRY(read_matmul(k, &p));
  const hr_shape_t shape = hr_shape_matrix(p.m, p.n);
  hr_tensor_t* y;
  HR_TRY(hr_output(k, 0, &shape, &y));
  p.c = y->data;
  return hr_product_run(k, &p);
}

static hr_status_t prepare_fused(hr_prepare_ctx_t* p, void* prepared) {
  matmul_prepared_t* m = prepared;
  HR_TRY(prepare_matmul(p, prepared));
  HR_TRY(hr_epilogue_parse(p->attrs, p->input_count - 2, &m->epilogue));
  if (m->epilogue.batch_norm || (m->epilogue.add && p->input_types[0] != HR_F32))
    return HR_ERROR(UNIMPLEMENTED, "only a bias, an activation and, for float, an addend are fused into a matrix product");
  return NULL;
}

static hr_status_t want_bias(hr_kernel_ctx_t* k, int input, int64_t n) {
  HR_TRY(hr_want_vector(k, input, "bias"));
  if (hr_input(k, input)->count == n) return NULL;
  return HR_ERROR(INVALID_ARGUMENT, "bias has %lld elements for %lld columns", (long long)hr_input(k, input)->count, (long long)n);
}

/* The output with the addend in it, in the addend's memory where that may be. */
static hr_status_t begin_sum(hr_kernel_ctx_t* k, int input, const hr_shape_t* shape, hr_product_t* p, hr_tensor_t** out) {
  const hr_tensor_t* addend = hr_input(k, input);
  const void* from = addend->data;
  char text[2][HR_SHAPE_TEXT];
  if (!hr_shape_equal(&addend->shape, shape))
    return HR_ERROR(INVALID_ARGUMENT, "the addend is %s, the product %s", hr_shape_format(&addend->shape, text[0]),
                    hr_shape_format(shape, text[1]));
  if (from == p->a || from == p->b) HR_TRY(hr_output(k, 0, shape, out)); /* a factor must not change while it is read */
  else HR_TRY(hr_output_take(k, 0, input, shape, out));
  if ((*out)->data != from && (*out)->count > 0) memcpy((*out)->data, from, hr_tensor_bytes(*out));
  p->sum = true;
  return NULL;
}

static hr_status_t compute_fused(hr_kernel_ctx_t* k) { /* half and bfloat16 pass through float and are rounded once */
  const matmul_prepared_t* m = hr_prepared(k);
  hr_status_t status = NULL;
  hr_tensor_t bias = {0}, wide = {0};
  hr_tensor_t* y;
  hr_product_t p;
  HR_TRY(read_matmul(k, &p));
  if (m->epilogue.bias) HR_TRY(want_bias(k, 2, p.n));
  const hr_shape_t shape = hr_shape_matrix(p.m, p.n);
  if (m->epilogue.add) HR_TRY(begin_sum(k, m->epilogue.bias ? 3 : 2, &shape, &p, &y));
  else HR_TRY(hr_output(k, 0, &shape, &y));
  const bool narrow = y->dtype != HR_F32;
  if (narrow && m->epilogue.bias && (status = hr_epilogue_widen(k, hr_input(k, 2), &bias))) goto done;
  if (narrow && (status = hr_temp(k, HR_F32, &shape, &wide))) goto done;
  p.c = narrow ? wide.data : y->data;
  p.c_type = HR_F32;
  if (m->epilogue.bias) p.bias = narrow ? bias.data : hr_input(k, 2)->data;
  p.activation = m->epilogue.activation;
  p.alpha = m->epilogue.alpha;
  if ((status = hr_product_run(k, &p))) goto done;
  if (narrow) status = hr_epilogue_narrow(k, wide.data, y);
done:
  hr_tensor_release(&bias);
  hr_tensor_release(&wide);
  return status;
}

/* 3. gradient: four cases, each two products of the upstream gradient with one conjugated operand */
static hr_value_t emit_product(hr_grad_ctx_t* g, hr_value_t a, hr_value_t b, bool ta, bool tb) {
  return hr_emit(g, "MatMul", HR_VALUES(a, b), HR_ATTRS(hr_at_bool("transpose_a", ta), hr_at_bool("transpose_b", tb)));
}

static void matmul_grad(hr_grad_ctx_t* g) {
  const bool ta = hr_attrs_bool(hr_grad_attrs(g), "transpose_a"), tb = hr_attrs_bool(hr_grad_attrs(g), "transpose_b");
  hr_value_t dy = hr_grad_upstream(g, 0);
  if (hr_grad_wanted(g, 0)) {
    hr_value_t b = hr_emit_conj(g, hr_grad_input(g, 1));
    hr_grad_give(g, 0, ta ? emit_product(g, b, dy, tb, true) : emit_product(g, dy, b, false, !tb));
  }
  if (hr_grad_wanted(g, 1)) {
    hr_value_t a = hr_emit_conj(g, hr_grad_input(g, 0));
    hr_grad_give(g, 1, tb ? emit_product(g, dy, a, true, ta) : emit_product(g, a, dy, !ta, false));
  }
}

/* 4. definitions */
#define MATMUL_TYPES (HR_M_REAL_FLOAT | HR_M(I16) | HR_M(I32) | HR_M(I64) | HR_M(U8) | HR_M(U16) | HR_M(U32) | HR_M(U64) | HR_M_COMPLEX)

const hr_op_t hr_op_MatMul = {.name = "MatMul",
                              .sig = "a: T; b: T -> product: T",
                              .attrs =
                                  "transpose_a: bool = false; transpose_b: bool = false; "
                                  "T: type{bfloat16,half,float,double,int32,int64,uint8,uint16,uint32,uint64,complex64,complex128}; "
                                  "grad_a: bool = false; grad_b: bool = false",
                              .shape = matmul_shape,
                              .grad = matmul_grad,
                              HR_KERNELS({.where = {{"T", MATMUL_TYPES}},
                                          .prepared_bytes = sizeof(matmul_prepared_t),
                                          .prepare = prepare_matmul,
                                          .compute = compute_matmul}),
                              .doc = "op(a) op(b) of two matrices",
                              HR_HERE};

const hr_op_t hr_op__FusedMatMul = {.name = "_FusedMatMul",
                                    .sig = "a: T; b: T; args: num_args * T -> product: T",
                                    .attrs =
                                        "transpose_a: bool = false; transpose_b: bool = false; T: type{bfloat16,half,float}; num_args: int "
                                        ">= 0; fused_ops: list(string) = []; "
                                        "epsilon: float = 0.0001; leakyrelu_alpha: float = 0.2",
                                    .shape = matmul_shape,
                                    .grad = hr_grad_none,
                                    HR_KERNELS({.where = {{"T", HR_M(F32) | HR_M(F16) | HR_M(BF16)}},
                                                .prepared_bytes = sizeof(matmul_prepared_t),
                                                .prepare = prepare_fused,
                                                .compute = compute_fused}),
                                    .doc = "MatMul, then what fused_ops names: a bias, an addend, an activation",
                                    HR_HERE};
