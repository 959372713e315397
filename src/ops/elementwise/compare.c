/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise questions about two inputs that broadcast: z[i] = x[i] < y[i] and the like. An op is a row of compare.def. Equal and
 * NotEqual of shapes that do not broadcast answer with one bool when incompatible_shape_error is false. Strings compare by bytes. */
#include "op/infer_fns.h"
#include "ops/elementwise/binary_run.h"
#include "ops/elementwise/compare.h"
#include "tensor/iterate.h"

/* 1. shape */
static hr_status_t infer_compare(hr_infer_t* s) {
  const hr_attr_t* strict = hr_attrs_find(hr_infer_attrs(s), "incompatible_shape_error");
  if (!strict || strict->u.b) return hr_infer_broadcasted(s);
  if (!hr_pshape_is_known(hr_infer_input(s, 0)) || !hr_pshape_is_known(hr_infer_input(s, 1)))
    return NULL; /* a scalar or the broadcast shape */
  hr_status_t status = hr_infer_broadcasted(s);
  if (!status) return NULL;
  hr_status_release(status);
  hr_infer_set(s, 0, &hr_pshape_scalar);
  return NULL;
}

/* 2. kernels */
typedef struct { hr_binary_run_t run; bool lenient, differs; } compare_t;

static hr_status_t compare_prepare(hr_prepare_ctx_t* p, void* prepared) {
  compare_t* c = prepared;
  const int op = (int)(intptr_t)p->kernel->arg;
  const hr_dtype_t type = (hr_dtype_t)p->input_types[0];
  const hr_attr_t* strict = hr_attrs_find(p->attrs, "incompatible_shape_error");
  c->run = (hr_binary_run_t){(*HR_ISA_PICK(hr_compare_vec))[op][type], (uint8_t)hr_dtype_size(type), sizeof(bool)};
  c->lenient = strict && !strict->u.b;
  c->differs = op == COMPARE_NotEqual;
  return NULL;
}

static hr_status_t compare_strings(hr_kernel_ctx_t* k, bool differs) {
  const hr_tensor_t *x = hr_input(k, 0), *y = hr_input(k, 1);
  hr_shape_t shape;
  hr_tensor_t* z;
  HR_TRY(hr_shape_broadcast(&x->shape, &y->shape, &shape));
  HR_TRY(hr_output(k, 0, &shape, &z));
  if (z->count == 0) return NULL;
  hr_iterate_t it;
  const hr_shape_t* operands[3] = {&shape, &x->shape, &y->shape};
  hr_iterate_broadcast(&it, &shape, 3, operands);
  int64_t index[HR_MAX_RANK], offset[HR_ITERATE_OPERANDS], last = it.rank - 1;
  hr_iterate_seek(&it, 0, index, offset);
  for (int64_t row = 0; row < hr_iterate_rows(&it); ++row, hr_iterate_step(&it, index, offset))
    for (int64_t i = 0; i < it.dims[last]; ++i) {
      hr_str_t a = hr_tstring_get((const hr_tstring_t*)x->data + offset[1] + i * it.strides[1][last]);
      hr_str_t b = hr_tstring_get((const hr_tstring_t*)y->data + offset[2] + i * it.strides[2][last]);
      ((bool*)z->data)[offset[0] + i] = hr_str_equal(a, b) != differs;
    }
  return NULL;
}

static hr_status_t answer_once(hr_kernel_ctx_t* k, bool answer) {
  const hr_shape_t scalar = hr_shape_scalar();
  hr_tensor_t* z;
  HR_TRY(hr_output(k, 0, &scalar, &z));
  *(bool*)z->data = answer;
  return NULL;
}

static hr_status_t compare(hr_kernel_ctx_t* k) {
  const compare_t* c = hr_prepared(k);
  if (c->lenient) {
    hr_shape_t shape;
    hr_status_t status = hr_shape_broadcast(&hr_input(k, 0)->shape, &hr_input(k, 1)->shape, &shape);
    if (status) {
      hr_status_release(status);
      return answer_once(k, c->differs);
    }
  }
  if (hr_input(k, 0)->dtype == HR_STRING) return compare_strings(k, c->differs);
  return hr_binary_run(k, &c->run);
}

/* 3. definitions */
#define COMPARE(Name, signature, attrs_text, mask, op_flags, expr, complex_expr)                                                       \
  extern const hr_op_t hr_op_##Name;                                                                                                   \
  const hr_op_t hr_op_##Name = {                                                                                                       \
      .name = #Name, .sig = signature, .attrs = attrs_text, .flags = op_flags, .shape = infer_compare, .grad = hr_grad_none,           \
      HR_KERNELS({.where = {{sizeof attrs_text > 1 ? "T" : NULL, mask}}, .prepared_bytes = sizeof(compare_t), .prepare = compare_prepare, \
                  .compute = compare, .arg = (const void*)(intptr_t)COMPARE_##Name}),                                                  \
      .doc = #expr " for each element, with broadcasting", HR_HERE};
#include "ops/elementwise/no_rows.h"
#include "ops/elementwise/compare.def"
