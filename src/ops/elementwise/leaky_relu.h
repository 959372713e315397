/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of leaky_relu.c, per instruction set: out[i] = x[i] > 0 ? g[i] : alpha g[i]; out may be g. */
#ifndef HR_OPS_ELEMENTWISE_LEAKY_RELU_H
#define HR_OPS_ELEMENTWISE_LEAKY_RELU_H
#include "base/isa.h"
#include <stdint.h>
typedef void (*hr_leaky_loop_t)(const void* g, const void* x, void* out, int64_t n, float alpha);
typedef struct { hr_leaky_loop_t f32, f64; } hr_leaky_vec_t;
HR_ISA_TABLES(hr_leaky_vec_t, hr_leaky_vec);
#endif
