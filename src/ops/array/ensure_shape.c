/* SPDX-License-Identifier: Apache-2.0 */
/* EnsureShape: the input itself, or INVALID_ARGUMENT when its shape is not one that the attr allows. */
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "op/kernel_ctx.h"

extern const hr_op_t hr_op_EnsureShape;

static hr_status_t infer(hr_infer_t* s) {
  const hr_pshape_t* merged;
  HR_TRY(hr_infer_merge(s, hr_infer_input(s, 0), hr_attrs_shape(hr_infer_attrs(s), "shape"), &merged));
  hr_infer_set(s, 0, merged);
  return NULL;
}

static hr_status_t shape_prepare(hr_prepare_ctx_t* p, void* prepared) {
  *(const hr_pshape_t**)prepared = hr_attrs_shape(p->attrs, "shape");
  return NULL;
}

static hr_status_t ensure_shape(hr_kernel_ctx_t* k) {
  const hr_pshape_t* allowed = *(const hr_pshape_t**)hr_prepared(k);
  hr_shape_t x;
  char got[HR_SHAPE_TEXT], right[HR_SHAPE_TEXT];
  hr_shape_copy(&x, &hr_input(k, 0)->shape);
  if (hr_pshape_accepts(allowed, &x)) return hr_output_alias(k, 0, 0, &x);
  return HR_ERROR(INVALID_ARGUMENT, "Shape of tensor input %s is not compatible with expected shape %s, by attr 'shape'",
                  hr_shape_format(&x, got),
                  hr_pshape_format(allowed, right));
}

static void grad(hr_grad_ctx_t* g) { hr_grad_give(g, 0, hr_grad_upstream(g, 0)); }

const hr_op_t hr_op_EnsureShape = {.name = "EnsureShape",
                                   .sig = "input: T -> output: T",
                                   .attrs = "shape: shape; T: type",
                                   .shape = infer,
                                   .grad = grad,
                                   HR_KERNELS({.prepared_bytes = sizeof(hr_pshape_t*), .prepare = shape_prepare, .compute = ensure_shape}),
                                   .doc = "the input, if its shape is as promised",
                                   HR_HERE};
