/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of an image's plane into channels and back. With s = block_size, by and bx in [0, s), C channels at the spatial side:
 *
 *   SpaceToDepth  y[n, h, w, (by s + bx) C + c] = x[n, h s + by, w s + bx, c]        DepthToSpace is its inverse
 *
 * The order (by, bx, c) of the deep channels is the same for every data_format. Shapes are known for NCHW and NCHW_VECT_C too, which has
 * the channels in fours, [n, c / 4, h, w, 4]; kernels there are none, as in TensorFlow on a CPU, and its words say so. */
#include "base/alloc.h"
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/array/move.h"

extern const hr_op_t hr_op_SpaceToDepth, hr_op_DepthToSpace;

/* 1. the rules, for shape functions (partial dims, -1 unknown) and kernels alike */
typedef struct {
  int rank, height, channel; /* the axes of height and channel; width follows height */
  int64_t block;
} layout_t;

static layout_t layout_of(const hr_node_attrs_t* attrs) {
  const hr_str_t format = hr_attrs_str(attrs, "data_format");
  const bool last = hr_str_is(format, "NHWC");
  return (layout_t){hr_str_is(format, "NCHW_VECT_C") ? 5 : 4, last ? 1 : 2, last ? 3 : 1, hr_attrs_int(attrs, "block_size")};
}

static hr_status_t divided(int64_t dim, int64_t by, const char* what, int64_t* out) {
  if (dim >= 0 && dim % by != 0)
    return HR_ERROR(INVALID_ARGUMENT, "%s should be divisible by: %lld, but is %lld", what, (long long)by, (long long)dim);
  *out = dim < 0 ? -1 : dim / by;
  return NULL;
}

static hr_status_t multiplied(int64_t dim, int64_t by, const char* what, int64_t* out) {
  *out = -1;
  if (dim >= 0 && !hr_i64_mul(dim, by, out))
    return HR_ERROR(INVALID_ARGUMENT, "%s of %lld times %lld is more than can be counted", what, (long long)dim, (long long)by);
  return NULL;
}

/* From the input's dims to the output's. */
static hr_status_t moved_dims(const layout_t* l, bool to_depth, const int64_t* in, int64_t* out) {
  hr_status_t (*const plane)(int64_t, int64_t, const char*, int64_t*) = to_depth ? divided : multiplied;
  hr_status_t (*const depth)(int64_t, int64_t, const char*, int64_t*) = to_depth ? multiplied : divided;
  int64_t area;
  if (!hr_i64_mul(l->block, l->block, &area)) return HR_ERROR(INVALID_ARGUMENT, "block_size %lld is too large", (long long)l->block);
  if (l->rank == 5 && in[4] >= 0 && in[4] != 4)
    return HR_ERROR(INVALID_ARGUMENT, "the last axis of NCHW_VECT_C must have 4 channels, not %lld", (long long)in[4]);
  out[0] = in[0];
  if (l->rank == 5) out[4] = 4;
  HR_TRY(plane(in[l->height], l->block, "the height", &out[l->height]));
  HR_TRY(plane(in[l->height + 1], l->block, "the width", &out[l->height + 1]));
  return depth(in[l->channel], area, "the size of the channel axis", &out[l->channel]);
}

/* 2. shapes */
static hr_status_t infer(hr_infer_t* s, bool to_depth) {
  const layout_t l = layout_of(hr_infer_attrs(s));
  const hr_pshape_t* x;
  int64_t in[5], out[5];
  HR_TRY(hr_infer_want_rank(s, 0, l.rank, &x));
  for (int i = 0; i < l.rank; ++i) in[i] = hr_infer_dim(x, i);
  HR_TRY(moved_dims(&l, to_depth, in, out));
  return hr_infer_set_dims(s, 0, l.rank, out);
}
static hr_status_t infer_to_depth(hr_infer_t* s) { return infer(s, true); }
static hr_status_t infer_to_space(hr_infer_t* s) { return infer(s, false); }

/* 3. kernels */
enum { BATCH, HEIGHT, WIDTH, CHANNEL, BLOCK_Y, BLOCK_X, LOOPS };
/* The loops in the order in which either side's memory runs. */
static const uint8_t in_space[LOOPS] = {BATCH, HEIGHT, BLOCK_Y, WIDTH, BLOCK_X, CHANNEL};
static const uint8_t in_depth[LOOPS] = {BATCH, HEIGHT, WIDTH, BLOCK_Y, BLOCK_X, CHANNEL};

static hr_status_t prepare(hr_prepare_ctx_t* p, void* prepared) {
  const hr_str_t format = hr_attrs_str(p->attrs, "data_format");
  if (!hr_str_is(format, "NHWC"))
    return HR_ERROR(INVALID_ARGUMENT, "No OpKernel was registered to support Op '%s' with data_format=%.*s on CPU; supported: NHWC",
                    p->op_name, HR_STR_ARG(format));
  *(layout_t*)prepared = layout_of(p->attrs);
  return NULL;
}

static void strides_of(const uint8_t* order, const int64_t* size, int64_t* stride) {
  int64_t run = 1;
  for (int i = LOOPS - 1; i >= 0; --i) {
    stride[order[i]] = run;
    run *= size[order[i]];
  }
}

static hr_status_t move(hr_kernel_ctx_t* k, bool to_depth) {
  const layout_t* l = hr_prepared(k);
  const hr_tensor_t* x = hr_input(k, 0);
  const uint8_t *from_order = to_depth ? in_space : in_depth, *to_order = to_depth ? in_depth : in_space;
  int64_t dims[4], from[LOOPS], to[LOOPS];
  hr_shape_t shape;
  hr_tensor_t* y;
  hr_move_t m = {.rank = 0};
  HR_TRY(hr_status_note(hr_want_rank(k, 0, "input", l->rank), "Input rank should be %d instead of %d: ", l->rank,
                        (int)hr_input(k, 0)->shape.rank));
  HR_TRY(moved_dims(l, to_depth, x->shape.dims, dims));
  HR_TRY(hr_shape_make(l->rank, dims, &shape));
  HR_TRY(hr_output(k, 0, &shape, &y));
  const int64_t *space = to_depth ? x->shape.dims : dims, *depth = to_depth ? dims : x->shape.dims;
  const int64_t size[LOOPS] = {depth[0], depth[l->height], depth[l->height + 1], space[l->channel], l->block, l->block};
  strides_of(from_order, size, from);
  strides_of(to_order, size, to);
  for (int i = 0; i < LOOPS; ++i) HR_TRY(hr_move_axis(&m, size[to_order[i]], to[to_order[i]], from[to_order[i]]));
  return hr_move_run(k, &m, y, x);
}
static hr_status_t to_depth(hr_kernel_ctx_t* k) { return move(k, true); }
static hr_status_t to_space(hr_kernel_ctx_t* k) { return move(k, false); }

/* 4. gradients: the way back */
static void grad_by(hr_grad_ctx_t* g, const char* inverse) {
  const hr_node_attrs_t* attrs = hr_grad_attrs(g);
  const hr_value_t back = hr_emit(
      g, inverse, HR_VALUES(hr_grad_upstream(g, 0)),
      HR_ATTRS(hr_at("block_size", *hr_attrs_find(attrs, "block_size")), hr_at("data_format", *hr_attrs_find(attrs, "data_format"))));
  hr_grad_give(g, 0, back);
}
static void grad_to_depth(hr_grad_ctx_t* g) { grad_by(g, "DepthToSpace"); }
static void grad_to_space(hr_grad_ctx_t* g) { grad_by(g, "SpaceToDepth"); }

/* 5. definitions */
#define BLOCK_ATTRS "T: type; block_size: int >= 2; data_format: string{'NHWC','NCHW','NCHW_VECT_C'} = 'NHWC'"
const hr_op_t hr_op_SpaceToDepth = {.name = "SpaceToDepth",
                                    .sig = "input: T -> output: T",
                                    .attrs = BLOCK_ATTRS,
                                    .shape = infer_to_depth,
                                    .grad = grad_to_depth,
                                    HR_KERNELS({.prepared_bytes = sizeof(layout_t), .prepare = prepare, .compute = to_depth}),
                                    .doc = "y[n, h, w, (by s + bx) C + c] = x[n, h s + by, w s + bx, c], s the block size",
                                    HR_HERE};

const hr_op_t hr_op_DepthToSpace = {.name = "DepthToSpace",
                                    .sig = "input: T -> output: T",
                                    .attrs = BLOCK_ATTRS,
                                    .shape = infer_to_space,
                                    .grad = grad_to_space,
                                    HR_KERNELS({.prepared_bytes = sizeof(layout_t), .prepare = prepare, .compute = to_space}),
                                    .doc = "y[n, h s + by, w s + bx, c] = x[n, h, w, (by s + bx) C + c], s the block size",
                                    HR_HERE};
