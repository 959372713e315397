/* SPDX-License-Identifier: Apache-2.0 */
/* Moving elements: to[start + sum i_d * to_d] = from[start + sum i_d * from_d] over a box of indices. Concat, Split, Slice, Pad, Tile,
 * Transpose, Reverse, BroadcastTo and their like only differ in the strides they ask for; this is the one place that knows how to move
 * fast: whole blocks by memcpy, transposed planes in tiles, the rest in lines. Elements are moved by size, whatever their type; those that
 * own memory are copied one by one. */
#ifndef HR_OPS_ARRAY_MOVE_H
#define HR_OPS_ARRAY_MOVE_H
#include "op/kernel_ctx.h"

typedef struct {
  int rank;
  int64_t dims[HR_MAX_RANK];
  int64_t to[HR_MAX_RANK], from[HR_MAX_RANK]; /* strides in elements; from 0 repeats, negative ones go backwards */
  int64_t to_start, from_start;
} hr_move_t;

/* Adds an axis inside those added before; axes of size 1 take no place. UNIMPLEMENTED beyond HR_MAX_RANK axes. */
HR_MUST_USE hr_status_t hr_move_axis(hr_move_t* m, int64_t dim, int64_t to, int64_t from);
/* Moves; `to` and `from` are of one type and do not overlap. The caller keeps every index within both tensors. */
HR_MUST_USE hr_status_t hr_move_run(hr_kernel_ctx_t* k, const hr_move_t* m, hr_tensor_t* to, const hr_tensor_t* from);
/* Writes one element everywhere. */
HR_MUST_USE hr_status_t hr_move_fill(hr_kernel_ctx_t* k, hr_tensor_t* to, const hr_tensor_t* value);
/* The inputs first..first+count, each seen as `rows` rows, side by side in the rows of `to`. Together they have to's elements. */
HR_MUST_USE hr_status_t hr_move_join(hr_kernel_ctx_t* k, hr_tensor_t* to, int first, int count, int64_t rows);
/* Output `index` of shape `shape` is columns [start, start + width) of `from` seen as rows x columns; shares from's memory when that is a
 * block worth sharing. */
HR_MUST_USE hr_status_t hr_move_part(hr_kernel_ctx_t* k, int index, const hr_shape_t* shape, const hr_tensor_t* from, int64_t rows,
                                     int64_t columns, int64_t start, int64_t width);
/* Output 0, of shape `shape`, is the box of input 0 with size[d] indices from begin[d] on in steps of stride[d] (checked before); shares
 * the input's memory when that is possible and worth it. */
HR_MUST_USE hr_status_t hr_move_box(hr_kernel_ctx_t* k, const hr_shape_t* shape, const int64_t* begin, const int64_t* stride,
                                    const int64_t* size);
#endif
