/* SPDX-License-Identifier: Apache-2.0 */
/* A real element as an unsigned key that orders alike: so selection and sorting need one loop for all types. +0 and -0 share a key; NaN is
 * above infinity. */
#ifndef HR_OPS_REDUCE_ORDER_KEY_H
#define HR_OPS_REDUCE_ORDER_KEY_H
#include "op/kernel_ctx.h"

static inline uint64_t hr_order_key_f64(double x) {
  uint64_t u;
  if (x != x) return UINT64_MAX;
  x += 0.0; /* -0 becomes +0 */
  memcpy(&u, &x, sizeof u);
  return u >> 63 ? ~u : u | UINT64_C(1) << 63;
}
static inline uint64_t hr_order_key_i64(int64_t x) { return (uint64_t)x ^ UINT64_C(1) << 63; }
static inline uint64_t hr_order_key(const hr_tensor_t* t, int64_t i) {
  switch (t->dtype) {
    case HR_F32: return hr_order_key_f64((double)((const float*)t->data)[i]);
    case HR_F64: return hr_order_key_f64(((const double*)t->data)[i]);
    case HR_F16: return hr_order_key_f64((double)hr_f16_to_f32(((const hr_f16_t*)t->data)[i]));
    case HR_BF16: return hr_order_key_f64((double)hr_bf16_to_f32(((const hr_bf16_t*)t->data)[i]));
    case HR_I8: return hr_order_key_i64(((const int8_t*)t->data)[i]);
    case HR_I16: return hr_order_key_i64(((const int16_t*)t->data)[i]);
    case HR_I32: return hr_order_key_i64(((const int32_t*)t->data)[i]);
    case HR_I64: return hr_order_key_i64(((const int64_t*)t->data)[i]);
    case HR_U8: return ((const uint8_t*)t->data)[i];
    case HR_U16: return ((const uint16_t*)t->data)[i];
    case HR_U32: return ((const uint32_t*)t->data)[i];
    default: return ((const uint64_t*)t->data)[i];
  }
}
#endif
