/* SPDX-License-Identifier: Apache-2.0 */
/* TensorShapeProto both ways. Dims are counted against the format's limit of 254 before anything is stored. */
#include "wire/shape_proto.h"

enum { SHAPE_PROTO_MAX_RANK = 254 };
enum { SHAPE_DIM = 2, SHAPE_UNKNOWN_RANK = 3, DIM_SIZE = 1 };

static hr_status_t shape_proto_dim(hr_cursor_t span, int64_t* out) {
  *out = 0;
  while (!hr_cursor_is_done(&span)) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&span, &f));
    if (f.key == HR_KEY_VARINT(DIM_SIZE)) *out = (int64_t)f.value;
  }
  return NULL;
}

static hr_status_t shape_proto_read(hr_cursor_t span, int64_t dims[SHAPE_PROTO_MAX_RANK], int64_t* out_rank) {
  int64_t rank = 0;
  bool unknown = false;
  while (!hr_cursor_is_done(&span)) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&span, &f));
    if (f.key == HR_KEY_VARINT(SHAPE_UNKNOWN_RANK)) unknown = f.value != 0;
    if (f.key != HR_KEY_SPAN(SHAPE_DIM)) continue;
    if (rank == SHAPE_PROTO_MAX_RANK) return HR_ERROR(INVALID_ARGUMENT, "shape has more than %d dimensions", SHAPE_PROTO_MAX_RANK);
    HR_TRY(shape_proto_dim(f.span, &dims[rank++]));
  }
  if (unknown && rank > 0) return HR_ERROR(INVALID_ARGUMENT, "shape of unknown rank must not have dimensions, has %d", (int)rank);
  *out_rank = unknown ? -1 : rank;
  return NULL;
}

hr_status_t hr_shape_proto_decode(hr_cursor_t span, hr_shape_t* out) {
  int64_t dims[SHAPE_PROTO_MAX_RANK], rank = 0;
  HR_TRY(shape_proto_read(span, dims, &rank));
  if (rank < 0) return HR_ERROR(INVALID_ARGUMENT, "shape must be fully known, its rank is unknown");
  return hr_shape_make(rank, dims, out);
}

hr_status_t hr_shape_proto_decode_partial(hr_arena_t* arena, hr_cursor_t span, const hr_pshape_t** out) {
  int64_t dims[SHAPE_PROTO_MAX_RANK], rank = 0;
  HR_TRY(shape_proto_read(span, dims, &rank));
  return hr_pshape_make(arena, rank, dims, out);
}

static void shape_proto_put_dim(int64_t dim, hr_writer_t* w) {
  hr_writer_mark_t mark = hr_writer_begin(w, SHAPE_DIM, 0);
  if (dim != 0) hr_writer_i64(w, DIM_SIZE, dim);
  hr_writer_end(w, mark, 0);
}

void hr_shape_proto_encode(const hr_shape_t* shape, hr_writer_t* w) {
  for (int i = 0; i < shape->rank; ++i) shape_proto_put_dim(shape->dims[i], w);
}

void hr_shape_proto_encode_partial(const hr_pshape_t* shape, hr_writer_t* w) {
  if (shape->rank < 0) hr_writer_bool(w, SHAPE_UNKNOWN_RANK, true);
  for (int i = 0; i < shape->rank; ++i) shape_proto_put_dim(shape->dims[i], w);
}
