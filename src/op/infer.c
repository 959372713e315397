/* SPDX-License-Identifier: Apache-2.0 */
/* The shape function's view of a node: accessors over hr_infer_t (op/infer_state.h), checks that name the input and both shapes, and
 * the call itself. Value look-ups that fail inside an accessor without a status stick and are reported by hr_infer_run. */
#include "op/infer.h"
#include "base/assert.h"
#include "op/infer_state.h"

int hr_infer_input_count(const hr_infer_t* s) { return s->input_count; }
int hr_infer_output_count(const hr_infer_t* s) { return s->output_count; }
hr_arena_t* hr_infer_arena(hr_infer_t* s) { return s->arena; }
const struct hr_node_attrs* hr_infer_attrs(const hr_infer_t* s) { return s->attrs; }

const hr_pshape_t* hr_infer_input(const hr_infer_t* s, int i) {
  HR_ASSERT(i >= 0 && i < s->input_count);
  return s->input_shapes[i];
}

hr_dtype_t hr_infer_input_dtype(const hr_infer_t* s, int i) { return hr_dtype_base(s->input_types[i]); }

/* --- known values ----------------------------------------------------------------------------------------------------------------- */
const hr_tensor_t* hr_infer_const(hr_infer_t* s, int i) {
  const hr_tensor_t* value = NULL;
  if (!s->constant || s->failure) return NULL;
  hr_status_t status = s->constant(s->arg, i, &value);
  if (status) hr_status_merge(&s->failure, status);
  return status ? NULL : value;
}

/* A constant integer vector as a shape; -1 elements are unknown dims. */
static hr_status_t shape_from_values(hr_infer_t* s, const hr_tensor_t* t, const hr_pshape_t** out) {
  if (t->shape.rank == 0) { /* a scalar -1 stands for "unknown rank" */
    int64_t value = 0;
    HR_TRY(hr_tensor_i64_at(t, 0, &value));
    *out = &hr_pshape_unknown;
    return value == -1 ? NULL : HR_ERROR(INVALID_ARGUMENT, "a shape given as a scalar must be -1, not %lld", (long long)value);
  }
  if (t->shape.rank != 1) {
    char text[HR_SHAPE_TEXT];
    return HR_ERROR(INVALID_ARGUMENT, "a shape must be a vector, not of shape %s", hr_shape_format(&t->shape, text));
  }
  if (t->count > 254) return HR_ERROR(INVALID_ARGUMENT, "a shape of rank %lld: at most 254 is possible", (long long)t->count);
  int64_t dims[254];
  for (int64_t i = 0; i < t->count; ++i) {
    HR_TRY(hr_tensor_i64_at(t, i, &dims[i]));
    if (dims[i] < -1) return HR_ERROR(INVALID_ARGUMENT, "a dimension must not be negative, got %lld", (long long)dims[i]);
  }
  return hr_pshape_make(s->arena, t->count, dims, out);
}

hr_status_t hr_infer_const_as_shape(hr_infer_t* s, int i, const hr_pshape_t** out) {
  const hr_tensor_t* value = hr_infer_const(s, i);
  if (value) return shape_from_values(s, value, out);
  *out = &hr_pshape_unknown;
  return s->as_shape && !s->failure ? s->as_shape(s->arg, i, out) : NULL;
}

/* --- calls ------------------------------------------------------------------------------------------------------------------------ */
hr_status_t hr_infer_set_called(hr_infer_t* s, const hr_func_attr_t* f, int first) {
  if (!s->called) return NULL;
  return s->called(s->arg, f, first, NULL, s->output_shapes, s->output_handle_types, s->output_handle_shapes);
}

hr_status_t hr_infer_called(hr_infer_t* s, const hr_func_attr_t* f, const hr_pshape_t* const* shapes, const hr_pshape_t** out) {
  for (int i = 0; i < s->output_count; ++i) out[i] = &hr_pshape_unknown;
  return s->called ? s->called(s->arg, f, 0, shapes, out, NULL, NULL) : NULL;
}

/* --- setting ---------------------------------------------------------------------------------------------------------------------- */
const hr_pshape_t* hr_infer_output(const hr_infer_t* s, int output) {
  HR_ASSERT(output >= 0 && output < s->output_count);
  return s->output_shapes[output];
}

void hr_infer_set(hr_infer_t* s, int output, const hr_pshape_t* shape) {
  HR_ASSERT(output >= 0 && output < s->output_count);
  s->output_shapes[output] = shape;
}

hr_status_t hr_infer_set_dims(hr_infer_t* s, int output, int64_t rank, const int64_t* dims) {
  const hr_pshape_t* shape = NULL;
  HR_TRY(hr_pshape_make(s->arena, rank, dims, &shape));
  hr_infer_set(s, output, shape);
  return NULL;
}

hr_status_t hr_infer_set_vector(hr_infer_t* s, int output, int64_t n) { return hr_infer_set_dims(s, output, 1, &n); }

hr_status_t hr_infer_unknown_of_rank(hr_infer_t* s, int rank, const hr_pshape_t** out) {
  int64_t dims[254];
  if (rank > 254) return HR_ERROR(INVALID_ARGUMENT, "a shape of rank %d: at most 254 is possible", rank);
  for (int i = 0; i < rank; ++i) dims[i] = -1;
  return hr_pshape_make(s->arena, rank, dims, out);
}

/* --- checks ----------------------------------------------------------------------------------------------------------------------- */
static hr_status_t wrong_input_rank(hr_infer_t* s, int input, const char* relation, int rank) {
  char text[HR_SHAPE_TEXT];
  return HR_ERROR(INVALID_ARGUMENT, "shape must be %s %d but is rank %d: input %d has shape %s", relation, rank,
                  (int)s->input_shapes[input]->rank, input, hr_pshape_format(s->input_shapes[input], text));
}

hr_status_t hr_infer_want_rank(hr_infer_t* s, int input, int rank, const hr_pshape_t** out) {
  const hr_pshape_t* shape = hr_infer_input(s, input);
  if (shape->rank >= 0 && shape->rank != rank) return wrong_input_rank(s, input, "rank", rank);
  if (!out) return NULL;
  *out = shape;
  return shape->rank < 0 ? hr_infer_unknown_of_rank(s, rank, out) : NULL;
}

hr_status_t hr_infer_want_rank_at_least(hr_infer_t* s, int input, int rank, const hr_pshape_t** out) {
  const hr_pshape_t* shape = hr_infer_input(s, input);
  if (shape->rank >= 0 && shape->rank < rank) return wrong_input_rank(s, input, "at least rank", rank);
  if (out) *out = shape;
  return NULL;
}

hr_status_t hr_infer_want_rank_at_most(hr_infer_t* s, int input, int rank) {
  return hr_infer_input(s, input)->rank > rank ? wrong_input_rank(s, input, "at most rank", rank) : NULL;
}

hr_status_t hr_infer_merge(hr_infer_t* s, const hr_pshape_t* a, const hr_pshape_t* b, const hr_pshape_t** out) {
  const hr_pshape_t* merged = a;
  if (a != b) HR_TRY(hr_pshape_merge(s->arena, a, b, &merged));
  if (out) *out = merged;
  return NULL;
}

hr_status_t hr_infer_merge_dim(int64_t a, int64_t b, int64_t* out) {
  if (a >= 0 && b >= 0 && a != b)
    return HR_ERROR(INVALID_ARGUMENT, "dimensions must be equal, but are %lld and %lld", (long long)a, (long long)b);
  if (out) *out = a >= 0 ? a : b;
  return NULL;
}

/* --- handles ---------------------------------------------------------------------------------------------------------------------- */
void hr_infer_handle(const hr_infer_t* s, int input, hr_dtype_t* out_dtype, const hr_pshape_t** out_shape) {
  *out_dtype = s->input_handle_types ? s->input_handle_types[input] : HR_DTYPE_INVALID;
  *out_shape = s->input_handle_shapes ? s->input_handle_shapes[input] : NULL;
}

void hr_infer_set_handle(hr_infer_t* s, int output, hr_dtype_t dtype, const hr_pshape_t* shape) {
  if (s->output_handle_types) s->output_handle_types[output] = dtype;
  if (s->output_handle_shapes) s->output_handle_shapes[output] = shape;
}

/* --- the call --------------------------------------------------------------------------------------------------------------------- */
hr_status_t hr_infer_run(hr_infer_t* s) {
  hr_shape_fn_t fn = s->attrs->def->op->shape;
  hr_status_t status = fn ? fn(s) : NULL;
  hr_status_merge(&s->failure, status); /* the look-up's failure came first and explains the rest */
  status = s->failure;
  s->failure = NULL;
  return status;
}
