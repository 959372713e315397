/* SPDX-License-Identifier: Apache-2.0 */
/* Shape functions that many ops share, each a few lines; an op's row names one of them. */
#include "op/infer_fns.h"
#include "op/attrs_of.h"

static void set_every_output(hr_infer_t* s, const hr_pshape_t* shape) {
  for (int i = 0; i < hr_infer_output_count(s); ++i) hr_infer_set(s, i, shape);
}

hr_status_t hr_infer_same(hr_infer_t* s) {
  hr_dtype_t dtype;
  const hr_pshape_t* shape;
  set_every_output(s, hr_infer_input(s, 0));
  hr_infer_handle(s, 0, &dtype, &shape);
  for (int i = 0; i < hr_infer_output_count(s); ++i) hr_infer_set_handle(s, i, dtype, shape);
  return NULL;
}

hr_status_t hr_infer_merged(hr_infer_t* s) {
  const hr_pshape_t* merged = &hr_pshape_unknown;
  for (int i = 0; i < hr_infer_input_count(s); ++i) {
    hr_status_t status = hr_infer_merge(s, merged, hr_infer_input(s, i), &merged);
    if (status) return hr_status_note(status, "input %d does not agree with the inputs before it: ", i);
  }
  set_every_output(s, merged);
  return NULL;
}

hr_status_t hr_infer_scalars(hr_infer_t* s) {
  set_every_output(s, &hr_pshape_scalar);
  return NULL;
}

hr_status_t hr_infer_none(hr_infer_t* s) {
  (void)s;
  return NULL;
}

hr_status_t hr_infer_any(hr_infer_t* s) {
  set_every_output(s, &hr_pshape_unknown);
  return NULL;
}

hr_status_t hr_infer_from_attr(hr_infer_t* s) {
  set_every_output(s, hr_attrs_shape(hr_infer_attrs(s), "shape"));
  return NULL;
}

/* --- broadcasting ----------------------------------------------------------------------------------------------------------------- */
/* One axis: 1 gives way, an unknown dim gives way to a known one other than 1 (it must be that or 1); false when they contradict. */
static bool broadcast_dim(int64_t a, int64_t b, int64_t* out) {
  if (a == b || b == 1) *out = a;
  else if (a == 1) *out = b;
  else if (a < 0 || b < 0) *out = a < 0 ? b : a;
  else return false;
  return true;
}

static hr_status_t no_broadcast(const hr_pshape_t* a, const hr_pshape_t* b) {
  char text_a[HR_SHAPE_TEXT], text_b[HR_SHAPE_TEXT];
  return HR_ERROR(INVALID_ARGUMENT, "incompatible shapes for broadcasting: %s and %s", hr_pshape_format(a, text_a),
                  hr_pshape_format(b, text_b));
}

hr_status_t hr_infer_shape_given(hr_infer_t* s) {
  const hr_pshape_t* dims;
  const hr_tensor_t* known = hr_infer_const(s, 0);
  if (known) { /* a negative size is an error here, not an open one */
    hr_shape_t shape;
    HR_TRY(hr_tensor_to_shape(known, &shape));
    return hr_infer_set_dims(s, 0, shape.rank, shape.dims);
  }
  HR_TRY(hr_infer_const_as_shape(s, 0, &dims));
  hr_infer_set(s, 0, dims);
  return NULL;
}

hr_status_t hr_infer_broadcast_partial(hr_infer_t* s, const hr_pshape_t* a, const hr_pshape_t* b, const hr_pshape_t** out) {
  if (a->rank == 0 || b->rank == 0 || (a == b && a->rank >= 0)) { /* a scalar changes nothing, nor does the same shape */
    *out = a->rank == 0 ? b : a;
    return NULL;
  }
  if (a->rank < 0 || b->rank < 0) {
    *out = &hr_pshape_unknown;
    return NULL;
  }
  if (a->rank < b->rank) {
    const hr_pshape_t* t = a;
    a = b;
    b = t;
  }
  int64_t dims[254];
  int lead = a->rank - b->rank;
  bool same = true;
  for (int i = 0; i < a->rank; ++i) {
    if (!broadcast_dim(a->dims[i], i < lead ? 1 : b->dims[i - lead], &dims[i])) return no_broadcast(a, b);
    same = same && dims[i] == a->dims[i];
  }
  *out = a;
  return same ? NULL : hr_pshape_make(hr_infer_arena(s), a->rank, dims, out);
}

hr_status_t hr_infer_broadcasted(hr_infer_t* s) {
  const hr_pshape_t* shape = NULL;
  HR_TRY(hr_infer_broadcast_partial(s, hr_infer_input(s, 0), hr_infer_input(s, 1), &shape));
  set_every_output(s, shape);
  return NULL;
}
