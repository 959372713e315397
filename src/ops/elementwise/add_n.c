/* SPDX-License-Identifier: Apache-2.0 */
/* AddN: the sum of n tensors of one shape, added from the first to the last. The sum grows in the first input's memory where it may. */
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/elementwise/binary.h"
#include "ops/flow/variant_math.h"

extern const hr_op_t hr_op_AddN, hr_op_AccumulateNV2;

/* 1. kernel */
typedef struct { hr_loop2_t loop; size_t size; } add_n_t;
static hr_status_t add_n_prepare(hr_prepare_ctx_t* p, void* prepared) {
  add_n_t* a = prepared;
  const hr_dtype_t type = (hr_dtype_t)p->input_types[0];
  a->loop = (*HR_ISA_PICK(hr_binary_vec))[BINARY_AddV2][type][LOOP_BOTH];
  if (!a->loop) a->loop = hr_binary_scalar[BINARY_AddV2][type][LOOP_BOTH];
  a->size = hr_dtype_size(type);
  return NULL;
}

typedef struct { const hr_kernel_ctx_t* k; const char* first; char* sum; } sum_t;
static hr_status_t sum_chunk(void* arg, int64_t begin, int64_t end, int chunk) { /* block by block, so that the sum stays in cache */
  const sum_t* s = arg;
  const add_n_t* a = hr_prepared(s->k);
  enum { BLOCK = 4096 };
  (void)chunk;
  for (int64_t i = begin; i < end; i += BLOCK) {
    const int64_t n = end - i < BLOCK ? end - i : BLOCK;
    const size_t at = (size_t)i * a->size;
    const char* so_far = s->first + at;
    for (int j = 1; j < hr_input_count(s->k); ++j) {
      a->loop(so_far, (const char*)hr_input(s->k, j)->data + at, s->sum + at, n);
      so_far = s->sum + at;
    }
  }
  return NULL;
}

static hr_status_t add_n(hr_kernel_ctx_t* k) {
  const hr_tensor_t* first = hr_input(k, 0);
  const void* first_data = first->data;
  hr_tensor_t* sum;
  for (int i = 1; i < hr_input_count(k); ++i) HR_TRY(hr_want_same_shape(k, 0, i));
  if (hr_input_count(k) == 1) {
    hr_output_share(k, 0, first);
    return NULL;
  }
  HR_TRY(hr_output_take(k, 0, 0, &first->shape, &sum));
  sum_t s = {k, first_data, sum->data};
  return hr_parallel(k, sum->count, 0.5 * hr_input_count(k), sum_chunk, &s);
}

/* 2. gradient: dy for each */
static void grad_add_n(hr_grad_ctx_t* g) {
  for (int i = 0; i < hr_grad_input_count(g); ++i)
    if (hr_grad_wanted(g, i)) hr_grad_give(g, i, hr_grad_upstream(g, 0));
}

/* 3. definitions */
static hr_status_t infer_accumulate(hr_infer_t* s) {
  const hr_pshape_t* merged;
  HR_TRY(hr_infer_merged(s));
  HR_TRY(hr_infer_merge(s, hr_attrs_shape(hr_infer_attrs(s), "shape"), hr_infer_input(s, 0), &merged));
  hr_infer_set(s, 0, merged);
  return NULL;
}
#define NUMBERS \
  "float,double,int32,uint8,int16,int8,complex64,int64,qint8,quint8,qint32,bfloat16,qint16,quint16,uint16,complex128,half,uint32,uint64"
#define SUM_ROW {.where = {{"T", HR_M_NUMBER}}, .prepared_bytes = sizeof(add_n_t), .prepare = add_n_prepare, .compute = add_n}
const hr_op_t hr_op_AddN = {.name = "AddN",
                            .sig = "inputs: N*T -> sum: T",
                            .attrs = "N: int >= 1; T: type{" NUMBERS ",variant}",
                            .flags = HR_OP_COMMUTATIVE | HR_OP_AGGREGATE,
                            .shape = hr_infer_merged,
                            .grad = grad_add_n,
                            HR_KERNELS(SUM_ROW, HR_CPU("T", HR_M(VARIANT), hr_variant_math_add_n)),
                            .doc = "the sum of all inputs",
                            HR_HERE};

const hr_op_t hr_op_AccumulateNV2 = {.name = "AccumulateNV2",
                                     .sig = "inputs: N*T -> sum: T",
                                     .attrs = "N: int >= 1; T: type{" NUMBERS "}; shape: shape",
                                     .flags = HR_OP_COMMUTATIVE | HR_OP_AGGREGATE,
                                     .shape = infer_accumulate,
                                     .grad = grad_add_n,
                                     HR_KERNELS(SUM_ROW),
                                     .doc = "the sum of all inputs",
                                     HR_HERE};
