/* SPDX-License-Identifier: Apache-2.0 */
/* Bitcast: the same bytes as elements of another type. Smaller elements add an inner axis, larger ones take it away. No byte is touched. */
#include "op/infer_fns.h"
#include "op/kernel_ctx.h"

extern const hr_op_t hr_op_Bitcast;

/* 1. the rule: how many small elements make up a large one; the last axis must be that when elements grow */
static hr_status_t check_last(int64_t last, int64_t ratio, hr_dtype_t from, hr_dtype_t to) {
  if (last == ratio || last == -1) return NULL;
  return HR_ERROR(INVALID_ARGUMENT, "Cannot bitcast from %s to %s: the last axis must have size %lld, not %lld", hr_dtype_name((int)from),
                  hr_dtype_name((int)to), (long long)ratio, (long long)last);
}

/* 2. shape */
static hr_status_t infer(hr_infer_t* s) {
  const hr_pshape_t* x = hr_infer_input(s, 0);
  const hr_dtype_t from = hr_attrs_type(hr_infer_attrs(s), "T"), to = hr_attrs_type(hr_infer_attrs(s), "type");
  const int64_t small = (int64_t)hr_dtype_size(from), big = (int64_t)hr_dtype_size(to);
  int64_t dims[254];
  if (x->rank < 0 || x->rank >= 254) return NULL;
  for (int d = 0; d < x->rank; ++d) dims[d] = x->dims[d];
  if (small < big) {
    if (x->rank == 0)
      return HR_ERROR(INVALID_ARGUMENT, "Cannot bitcast a scalar of %s to %s", hr_dtype_name((int)from), hr_dtype_name((int)to));
    HR_TRY(check_last(x->dims[x->rank - 1], big / small, from, to));
  }
  if (small > big) dims[x->rank] = small / big;
  return hr_infer_set_dims(s, 0, x->rank + (small > big) - (small < big), dims);
}

/* 3. kernel */
static hr_status_t bitcast(hr_kernel_ctx_t* k) {
  const hr_tensor_t* x = hr_input(k, 0);
  const hr_dtype_t to = hr_output_dtype(k, 0);
  const int64_t small = (int64_t)hr_dtype_size(x->dtype), big = (int64_t)hr_dtype_size(to);
  hr_shape_t shape;
  hr_tensor_t y;
  hr_shape_copy(&shape, &x->shape);
  if (small < big) {
    HR_TRY(hr_want_rank_at_least(k, 0, "input", 1));
    HR_TRY(check_last(shape.dims[shape.rank - 1], big / small, x->dtype, to));
    --shape.rank;
  } else if (small > big) {
    HR_TRY(hr_shape_append(&shape, small / big));
  }
  hr_tensor_share(x, &y);
  y.dtype = to;
  hr_shape_copy(&y.shape, &shape);
  y.count = hr_shape_count(&shape);
  hr_output_move(k, 0, &y);
  return NULL;
}

/* 4. definition */
#define CASTABLE \
  "{bfloat16,half,float,double,int64,int32,uint8,uint16,uint32,uint64,int8,int16,complex64,complex128,qint8,quint8,qint16,quint16,qint32}"
const hr_op_t hr_op_Bitcast = {.name = "Bitcast",
                               .sig = "input: T -> output: type",
                               .attrs = "T: type" CASTABLE "; type: type" CASTABLE,
                               .shape = infer,
                               HR_KERNELS(HR_CPU_ANY(bitcast)),
                               .doc = "the same bytes as elements of another type",
                               HR_HERE};
