/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of space into the batch and back. With block sizes b over the axes after the first, and a frame of zeros around them:
 *
 *   SpaceToBatchND  y[(o in row-major order of b) batch + n, i, r] = framed x[n, i b + o, r]      for o in [0, b)
 *   BatchToSpaceND  the inverse; `crops` is the frame that is left out
 *
 * SpaceToBatch and BatchToSpace are the same for images and one block size. For each o both sides are boxes of strides. */
#include <string.h>
#include "base/alloc.h"
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/array/move.h"
#include "tensor/iterate.h"

extern const hr_op_t hr_op_SpaceToBatchND, hr_op_BatchToSpaceND, hr_op_SpaceToBatch, hr_op_BatchToSpace;

/* 1. the rules, for shape functions (dims of -1 are unknown) and kernels alike */
typedef struct { /* of a row: which way, and of the ops for images the block size, which the others have as input 1 */
  bool to_batch, images;
} way_t;
static const way_t nd_to_batch = {true, false}, nd_to_space = {false, false}, image_to_batch = {true, true}, image_to_space = {false, true};

typedef struct {
  int64_t block, before, after;
} block_t;

static hr_status_t read_block(const hr_tensor_t* t, int i, int64_t* out) {
  HR_TRY(hr_tensor_i64_at(t, i, out));
  return *out >= 1 ? NULL : HR_ERROR(INVALID_ARGUMENT, "block_shape must be positive, but value %d is %lld", i, (long long)*out);
}

static hr_status_t read_frame(const way_t* way, const hr_tensor_t* t, int i, block_t* out) {
  HR_TRY(hr_tensor_i64_at(t, 2 * i, &out->before));
  HR_TRY(hr_tensor_i64_at(t, 2 * i + 1, &out->after));
  if (out->before >= 0 && out->after >= 0) return NULL;
  return HR_ERROR(INVALID_ARGUMENT, "%s cannot be negative: %lld %lld", way->to_batch ? "paddings" : "crops", (long long)out->before,
                  (long long)out->after);
}

static hr_status_t moved_size(const way_t* way, int axis, int64_t dim, const block_t* b, int64_t* out) {
  int64_t frame, size;
  bool fits = !__builtin_add_overflow(b->before, b->after, &frame);
  if (way->to_batch) fits = fits && !__builtin_add_overflow(dim, frame, &size);
  else fits = fits && hr_i64_mul(dim, b->block, &size) && frame <= size;
  if (fits && way->to_batch && size % b->block != 0)
    return HR_ERROR(INVALID_ARGUMENT, "padded_shape[%d]=%lld is not divisible by block_shape[%d]=%lld", axis, (long long)size, axis,
                    (long long)b->block);
  if (!fits)
    return HR_ERROR(INVALID_ARGUMENT, "axis %d of size %lld with blocks of %lld and a frame of %lld and %lld: no size that can be",
                    axis + 1, (long long)dim, (long long)b->block, (long long)b->before, (long long)b->after);
  *out = way->to_batch ? size / b->block : size - frame;
  return NULL;
}

static hr_status_t moved_batch(const way_t* way, int64_t batch, int64_t block, int64_t* out) {
  if (way->to_batch ? !hr_i64_mul(batch, block, out) : batch % block != 0)
    return HR_ERROR(INVALID_ARGUMENT, way->to_batch ? "a batch of %lld times a block of %lld is more than can be counted"
                    : "Input batch dimension (%lld) is not divisible by product of block sizes, of which one is %lld",
                    (long long)batch, (long long)block);
  if (!way->to_batch) *out = batch / block;
  return NULL;
}

/* 2. shapes */
/* How many blocks; -1 where that is not known. */
static hr_status_t count_blocks(hr_infer_t* s, const way_t* way, int64_t* out) {
  const hr_pshape_t *list, *frame;
  int64_t two;
  *out = 2;
  if (!way->images) {
    HR_TRY(hr_infer_want_rank(s, 1, 1, &list));
    *out = hr_infer_dim(list, 0);
  }
  HR_TRY(hr_infer_want_rank(s, way->images ? 1 : 2, 2, &frame));
  HR_TRY(hr_infer_merge_dim(hr_infer_dim(frame, 0), *out, out));
  HR_TRY(hr_infer_merge_dim(hr_infer_dim(frame, 1), 2, &two));
  if (*out > 253) return HR_ERROR(INVALID_ARGUMENT, "%lld blocks; no input has so many axes", (long long)*out);
  if (way->images) return hr_infer_want_rank(s, 0, 4, NULL);
  return hr_infer_want_rank_at_least(s, 0, *out < 0 ? 1 : (int)*out + 1, NULL);
}

static hr_status_t infer(hr_infer_t* s, const way_t* way) {
  const hr_tensor_t *blocks = way->images ? NULL : hr_infer_const(s, 1), *frame = hr_infer_const(s, way->images ? 1 : 2);
  const hr_pshape_t* x = hr_infer_input(s, 0);
  int64_t count, dims[254];
  HR_TRY(count_blocks(s, way, &count));
  dims[0] = count < 0 ? -1 : hr_infer_dim(x, 0);
  for (int i = 0; i < (int)count; ++i) {
    block_t b = {way->images ? hr_attrs_int(hr_infer_attrs(s), "block_size") : -1, 0, 0};
    if (blocks) HR_TRY(read_block(blocks, i, &b.block));
    if (frame) HR_TRY(read_frame(way, frame, i, &b));
    if (dims[0] >= 0 && b.block > 0) HR_TRY(moved_batch(way, dims[0], b.block, &dims[0]));
    else dims[0] = -1;
    dims[i + 1] = hr_infer_dim(x, i + 1);
    if (dims[i + 1] >= 0 && b.block > 0 && frame) HR_TRY(moved_size(way, i, dims[i + 1], &b, &dims[i + 1]));
    else dims[i + 1] = -1;
  }
  const int rank = x->rank < 0 && way->images ? 4 : x->rank;
  if (rank < 0) return NULL;
  for (int i = count < 0 ? 1 : (int)count + 1; i < rank; ++i) dims[i] = count < 0 ? -1 : hr_infer_dim(x, i);
  return hr_infer_set_dims(s, 0, rank, dims);
}
static hr_status_t infer_nd_to_batch(hr_infer_t* s) { return infer(s, &nd_to_batch); }
static hr_status_t infer_nd_to_space(hr_infer_t* s) { return infer(s, &nd_to_space); }
static hr_status_t infer_image_to_batch(hr_infer_t* s) { return infer(s, &image_to_batch); }
static hr_status_t infer_image_to_space(hr_infer_t* s) { return infer(s, &image_to_space); }

/* 3. kernels */
static hr_status_t prepare_images(hr_prepare_ctx_t* p, void* prepared) {
  *(int64_t*)prepared = hr_attrs_int(p->attrs, "block_size");
  return NULL;
}

typedef struct {
  const way_t* way;
  int count;
  block_t blocks[HR_MAX_RANK];
  hr_shape_t shape; /* of the result */
} blocks_t;

static hr_status_t check_frame(hr_kernel_ctx_t* k, int input, int64_t count) {
  const hr_shape_t* s = &hr_input(k, input)->shape;
  char text[HR_SHAPE_TEXT];
  if (s->rank == 2 && s->dims[0] == count && s->dims[1] == 2) return NULL;
  return HR_ERROR(INVALID_ARGUMENT, "input %d should have shape [%lld, 2] instead of %s", input, (long long)count,
                  hr_shape_format(s, text));
}

static hr_status_t read_blocks(hr_kernel_ctx_t* k, blocks_t* out) {
  const hr_tensor_t *x = hr_input(k, 0), *list = hr_input(k, 1);
  const way_t* way = hr_kernel_arg(k);
  const int frame = way->images ? 1 : 2;
  out->way = way;
  out->count = 2;
  if (way->images) {
    if (x->shape.rank != 4) return HR_ERROR(INVALID_ARGUMENT, "Input rank should be: 4 instead of: %d", (int)x->shape.rank);
  } else {
    HR_TRY(hr_want_vector(k, 1, "block_shape"));
    if (list->count >= x->shape.rank)
      return HR_ERROR(INVALID_ARGUMENT, "input rank should be >= %lld instead of %d", (long long)list->count + 1, (int)x->shape.rank);
    out->count = (int)list->count;
  }
  HR_TRY(check_frame(k, frame, out->count));
  hr_shape_copy(&out->shape, &x->shape);
  for (int i = 0; i < out->count; ++i) {
    block_t* b = &out->blocks[i];
    if (way->images) b->block = *(int64_t*)hr_prepared(k);
    else HR_TRY(read_block(list, i, &b->block));
    HR_TRY(read_frame(way, hr_input(k, frame), i, b));
    HR_TRY(moved_batch(way, out->shape.dims[0], b->block, &out->shape.dims[0]));
    HR_TRY(moved_size(way, i, x->shape.dims[i + 1], b, &out->shape.dims[i + 1]));
  }
  return hr_shape_check(&out->shape);
}

/* The box of places in both tensors whose rest within the blocks is `rest`; `number`: which in row-major order. */
static hr_status_t box_of(const blocks_t* b, const hr_shape_t* space, const hr_shape_t* batch, const int64_t* rest, int64_t number,
                          hr_move_t* m) {
  int64_t in_space[HR_MAX_RANK], in_batch[HR_MAX_RANK], space_at = 0, batch_at;
  const bool to_batch = b->way->to_batch;
  hr_iterate_strides(space, in_space);
  hr_iterate_strides(batch, in_batch);
  *m = (hr_move_t){.rank = 0};
  batch_at = number * space->dims[0] * in_batch[0];
  HR_TRY(hr_move_axis(m, space->dims[0], to_batch ? in_batch[0] : in_space[0], to_batch ? in_space[0] : in_batch[0]));
  for (int d = 1; d < space->rank; ++d) {
    block_t one = {1, 0, 0};
    const block_t* a = d <= b->count ? &b->blocks[d - 1] : &one;
    const int64_t shift = (d <= b->count ? rest[d - 1] : 0) - a->before; /* place in space = place in batch * block + shift */
    const int64_t first = shift < 0 ? (a->block - 1 - shift) / a->block : 0;
    int64_t end = space->dims[d] - 1 - shift < 0 ? 0 : (space->dims[d] - 1 - shift) / a->block + 1;
    if (end > batch->dims[d]) end = batch->dims[d];
    const int64_t step = in_space[d] * a->block;
    space_at += (first * a->block + shift) * in_space[d];
    batch_at += first * in_batch[d];
    HR_TRY(hr_move_axis(m, end > first ? end - first : 0, to_batch ? in_batch[d] : step, to_batch ? step : in_batch[d]));
  }
  m->to_start = to_batch ? batch_at : space_at;
  m->from_start = to_batch ? space_at : batch_at;
  return NULL;
}

static bool next_rest(const blocks_t* b, int64_t* rest) {
  for (int i = b->count - 1; i >= 0; --i) {
    if (++rest[i] < b->blocks[i].block) return true;
    rest[i] = 0;
  }
  return false;
}

static hr_status_t move(hr_kernel_ctx_t* k) {
  const hr_tensor_t* x = hr_input(k, 0);
  blocks_t b;
  hr_tensor_t* y;
  int64_t rest[HR_MAX_RANK] = {0}, number = 0;
  HR_TRY(read_blocks(k, &b));
  HR_TRY(hr_output(k, 0, &b.shape, &y));
  if (y->count == 0) return NULL;
  if (b.way->to_batch && hr_dtype_is_plain(y->dtype)) memset(y->data, 0, hr_tensor_bytes(y));
  if (x->count == 0) return NULL;
  do {
    hr_move_t m;
    HR_TRY(box_of(&b, b.way->to_batch ? &x->shape : &y->shape, b.way->to_batch ? &y->shape : &x->shape, rest, number++, &m));
    bool any = true;
    for (int d = 0; d < m.rank; ++d) any = any && m.dims[d] > 0;
    if (any) HR_TRY(hr_move_run(k, &m, y, x));
  } while (next_rest(&b, rest));
  return NULL;
}

/* 4. gradients: the way back, with the same blocks and frame */
static void grad_nd(hr_grad_ctx_t* g, const char* inverse) {
  hr_grad_give(g, 0, hr_emit3(g, inverse, hr_grad_upstream(g, 0), hr_grad_input(g, 1), hr_grad_input(g, 2)));
}
static void grad_images(hr_grad_ctx_t* g, const char* inverse) {
  hr_grad_give(g, 0, hr_emit(g, inverse, HR_VALUES(hr_grad_upstream(g, 0), hr_grad_input(g, 1)),
                             HR_ATTRS(hr_at("block_size", *hr_attrs_find(hr_grad_attrs(g), "block_size")))));
}
static void grad_nd_to_batch(hr_grad_ctx_t* g) { grad_nd(g, "BatchToSpaceND"); }
static void grad_nd_to_space(hr_grad_ctx_t* g) { grad_nd(g, "SpaceToBatchND"); }
static void grad_image_to_batch(hr_grad_ctx_t* g) { grad_images(g, "BatchToSpace"); }
static void grad_image_to_space(hr_grad_ctx_t* g) { grad_images(g, "SpaceToBatch"); }

/* 5. definitions */
#define IMAGES_ROW(way) \
  HR_KERNELS({.host_inputs = 2, .prepared_bytes = sizeof(int64_t), .prepare = prepare_images, .compute = move, .arg = &way})

const hr_op_t hr_op_SpaceToBatchND = {
    .name = "SpaceToBatchND",
    .sig = "input: T; block_shape: Tblock_shape; paddings: Tpaddings -> output: T",
    .attrs = "T: type; Tblock_shape: type{int32,int64} = int32; Tpaddings: type{int32,int64} = int32",
    .shape = infer_nd_to_batch,
    .grad = grad_nd_to_batch,
    HR_KERNELS({.host_inputs = 6, .compute = move, .arg = &nd_to_batch}),
    .doc = "blocks of the axes after the first, with zeros around, into the batch",
    HR_HERE};

const hr_op_t hr_op_BatchToSpaceND = {.name = "BatchToSpaceND",
                                      .sig = "input: T; block_shape: Tblock_shape; crops: Tcrops -> output: T",
                                      .attrs = "T: type; Tblock_shape: type{int32,int64} = int32; Tcrops: type{int32,int64} = int32",
                                      .shape = infer_nd_to_space,
                                      .grad = grad_nd_to_space,
                                      HR_KERNELS({.host_inputs = 6, .compute = move, .arg = &nd_to_space}),
                                      .doc = "parts of the batch into blocks of the axes after it, cropped",
                                      HR_HERE};

const hr_op_t hr_op_SpaceToBatch = {.name = "SpaceToBatch",
                                    .sig = "input: T; paddings: Tpaddings -> output: T",
                                    .attrs = "T: type; Tpaddings: type{int32,int64} = int32; block_size: int >= 2",
                                    .shape = infer_image_to_batch,
                                    .grad = grad_image_to_batch,
                                    IMAGES_ROW(image_to_batch),
                                    .doc = "blocks of images, with zeros around, into the batch",
                                    HR_HERE};

const hr_op_t hr_op_BatchToSpace = {.name = "BatchToSpace",
                                    .sig = "input: T; crops: Tidx -> output: T",
                                    .attrs = "T: type; block_size: int >= 2; Tidx: type{int32,int64} = int32",
                                    .shape = infer_image_to_space,
                                    .grad = grad_image_to_space,
                                    IMAGES_ROW(image_to_space),
                                    .doc = "parts of the batch into blocks of images, cropped",
                                    HR_HERE};
