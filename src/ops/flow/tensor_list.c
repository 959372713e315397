/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of tensors: making, copying, elements. Sums and zeros of whole lists are in variant_math.c. */
#include "ops/flow/tensor_list.h"

#include "base/alloc.h"

static const char list_type[] = "TensorList";

bool hr_tensor_list_is(const hr_handle_t* h) { return h && h->object && hr_str_is(h->type_name, list_type); }

/* --- shapes -------------------------------------------------------------------------------------------------------------------------- */
void hr_tensor_list_shape_of(const hr_pshape_t* s, hr_tensor_list_shape_t* out) {
  out->s.rank = s->rank > HR_MAX_RANK ? -1 : s->rank;
  for (int i = 0; i < out->s.rank; ++i) out->s.dims[i] = s->dims[i];
}

hr_status_t hr_tensor_list_shape_read(const hr_tensor_t* t, hr_tensor_list_shape_t* out) {
  int64_t dim = 0;
  out->s.rank = -1;
  if (t->shape.rank == 0) {
    HR_TRY(hr_tensor_i64_at(t, 0, &dim));
    if (dim == -1) return NULL;
    return HR_ERROR(INVALID_ARGUMENT, "The only valid scalar shape tensor is the fully unknown shape specified as -1, not %lld",
                    (long long)dim);
  }
  if (t->shape.rank != 1) return HR_ERROR(INVALID_ARGUMENT, "element_shape must be at most rank 1 but is rank %d", (int)t->shape.rank);
  if (t->count > HR_MAX_RANK)
    return HR_ERROR(UNIMPLEMENTED, "elements of rank %lld; at most %d is supported", (long long)t->count, HR_MAX_RANK);
  out->s.rank = (int32_t)t->count;
  for (int i = 0; i < out->s.rank; ++i) {
    HR_TRY(hr_tensor_i64_at(t, i, &dim));
    if (dim < -1) return HR_ERROR(INVALID_ARGUMENT, "dimension %d of an element shape is %lld", i, (long long)dim);
    out->s.dims[i] = dim;
  }
  return NULL;
}

static void dims_format(int rank, const int64_t* dims, char* text) {
  hr_tensor_list_shape_t s;
  s.s.rank = rank;
  for (int i = 0; i < rank; ++i) s.s.dims[i] = dims[i];
  hr_pshape_format(&s.s, text);
}

static hr_status_t shapes_differ(const hr_tensor_list_shape_t* have, int rank, const int64_t* dims) {
  char text[2][HR_SHAPE_TEXT];
  if (have->s.rank != rank) return HR_ERROR(INVALID_ARGUMENT, "Incompatible ranks during merge: %d vs. %d", (int)have->s.rank, rank);
  dims_format(rank, dims, text[1]);
  return HR_ERROR(INVALID_ARGUMENT, "Incompatible shapes during merge: %s vs. %s", hr_pshape_format(&have->s, text[0]), text[1]);
}

hr_status_t hr_tensor_list_shape_merge(hr_tensor_list_shape_t* into, int rank, const int64_t* dims) {
  if (rank < 0 || rank > HR_MAX_RANK) return NULL;
  if (into->s.rank >= 0 && into->s.rank != rank) return shapes_differ(into, rank, dims);
  for (int i = 0; i < rank; ++i) {
    int64_t have = into->s.rank < 0 ? -1 : into->s.dims[i];
    if (have >= 0 && dims[i] >= 0 && have != dims[i]) return shapes_differ(into, rank, dims);
  }
  for (int i = 0; i < rank; ++i)
    if (into->s.rank < 0 || into->s.dims[i] < 0) into->s.dims[i] = dims[i];
  into->s.rank = rank;
  return NULL;
}

static void list_shape(const hr_handle_t* h, hr_tensor_list_shape_t* out) {
  hr_tensor_list_shape_of(h->shape ? h->shape : &hr_pshape_unknown, out);
}

hr_status_t hr_tensor_list_merge_shapes(const hr_handle_t* h, int64_t count, const int64_t* which, hr_tensor_list_shape_t* into) {
  const hr_tensor_list_t* l = hr_tensor_list_in(h);
  if (h->shape) HR_TRY(hr_tensor_list_shape_merge(into, h->shape->rank, h->shape->dims));
  for (int64_t i = 0; i < count; ++i) {
    const hr_tensor_t* item = &l->items[which ? which[i] : i];
    if (item->buffer) HR_TRY(hr_tensor_list_shape_merge(into, item->shape.rank, item->shape.dims));
  }
  return NULL;
}

/* --- making -------------------------------------------------------------------------------------------------------------------------- */
static void list_release(void* object) {
  hr_tensor_list_t* l = object;
  for (int64_t i = 0; i < l->count; ++i) hr_tensor_release(&l->items[i]);
  hr_free(l->items);
  hr_free(l);
}

static hr_status_t list_make_room(hr_tensor_list_t* l, int64_t count) {
  if (count <= l->room) return NULL;
  int64_t room = l->room < 4 ? 4 : 2 * l->room;
  if (room < count) room = count;
  if (room > INT32_MAX) return HR_ERROR(RESOURCE_EXHAUSTED, "a list of %lld tensors", (long long)count);
  hr_tensor_t* items = hr_alloc_zero((size_t)room * sizeof *items);
  if (!items) return hr_status_out_of_memory();
  if (l->count) memcpy(items, l->items, (size_t)l->count * sizeof *items);
  hr_free(l->items);
  l->items = items;
  l->room = room;
  return NULL;
}

hr_status_t hr_tensor_list_create(hr_dtype_t dtype, const hr_pshape_t* shape, int64_t count, int64_t most, hr_handle_t** out) {
  hr_handle_t* h = hr_handle_create(HR_STR(""), HR_STR(""), HR_STR(""), hr_str(list_type));
  hr_tensor_list_t* l = hr_alloc_zero(sizeof *l);
  hr_status_t status = h && l ? hr_handle_set_value(h, dtype, shape) : hr_status_out_of_memory();
  if (!status) status = list_make_room(l, count);
  if (status) {
    hr_handle_release(h);
    hr_free(l);
    return status;
  }
  l->count = count;
  l->most = most;
  h->object = l;
  h->release_object = list_release;
  *out = h;
  return NULL;
}

hr_status_t hr_tensor_list_copy(const hr_handle_t* from, int64_t count, hr_handle_t** out) {
  const hr_tensor_list_t* l = hr_tensor_list_in(from);
  HR_TRY(hr_tensor_list_create(from->dtype, from->shape, count > l->count ? count : l->count, l->most, out));
  hr_tensor_list_t* copy = hr_tensor_list_in(*out);
  copy->count = l->count;
  for (int64_t i = 0; i < l->count; ++i)
    if (l->items[i].buffer) hr_tensor_share(&l->items[i], &copy->items[i]);
  return NULL;
}

/* --- inputs and outputs --------------------------------------------------------------------------------------------------------------- */
hr_status_t hr_tensor_list_input(const hr_kernel_ctx_t* k, int input, hr_dtype_t dtype, hr_handle_t** out) {
  const hr_tensor_t* t = hr_input(k, input);
  hr_handle_t* h = t->dtype == HR_VARIANT && t->count == 1 ? *(hr_handle_t* const*)t->data : NULL;
  if (!hr_tensor_list_is(h))
    return HR_ERROR(INVALID_ARGUMENT, "input %d is not a list of tensors", input);
  if (dtype != HR_DTYPE_INVALID && h->dtype != dtype)
    return HR_ERROR(INVALID_ARGUMENT, "Invalid data types; op elements %s but list elements %s", hr_dtype_name((int)dtype),
                    hr_dtype_name((int)h->dtype));
  *out = h;
  return NULL;
}

hr_status_t hr_tensor_list_output(hr_kernel_ctx_t* k, int index, hr_handle_t* take_list) {
  hr_shape_t scalar = hr_shape_scalar();
  hr_tensor_t* out = NULL;
  hr_status_t status = hr_output(k, index, &scalar, &out);
  if (status)
    hr_handle_release(take_list);
  else
    *(hr_handle_t**)out->data = take_list;
  return status;
}

hr_status_t hr_tensor_list_edit(hr_kernel_ctx_t* k, int index, int input, hr_dtype_t dtype, int64_t count, hr_handle_t** out) {
  hr_handle_t *h = NULL, *copy = NULL;
  hr_tensor_t* t = NULL;
  HR_TRY(hr_tensor_list_input(k, input, dtype, &h));
  hr_shape_t shape = hr_input(k, input)->shape;
  bool alone = atomic_load_explicit(&h->refs, memory_order_acquire) == 1;
  if (!alone) HR_TRY(hr_tensor_list_copy(h, count, &copy));
  hr_status_t status = hr_output_take(k, index, input, &shape, &t);
  hr_handle_t** place = t ? (hr_handle_t**)t->data : NULL;
  if (!status && !copy && *place != h) status = hr_tensor_list_copy(h, count, &copy); /* not taken over */
  if (!status && !copy) status = list_make_room(hr_tensor_list_in(h), count);
  if (status) {
    hr_handle_release(copy);
    return status;
  }
  if (copy) {
    hr_handle_release(*place);
    *place = copy;
  }
  *out = *place;
  return NULL;
}

/* --- elements ------------------------------------------------------------------------------------------------------------------------- */
hr_status_t hr_tensor_list_set(hr_handle_t* h, int64_t at, const hr_tensor_t* value, const char* tried) {
  hr_tensor_list_shape_t shape;
  hr_tensor_list_t* l = hr_tensor_list_in(h);
  if (value->dtype != h->dtype)
    return HR_ERROR(INVALID_ARGUMENT, "Invalid data types; op elements %s but list elements %s", hr_dtype_name((int)value->dtype),
                    hr_dtype_name((int)h->dtype));
  list_shape(h, &shape);
  hr_status_t status = hr_tensor_list_shape_merge(&shape, value->shape.rank, value->shape.dims);
  if (status) {
    char text[2][HR_SHAPE_TEXT];
    hr_status_release(status);
    return HR_ERROR(INVALID_ARGUMENT, "%s element shape: %s list shape: %s", tried, hr_shape_format(&value->shape, text[0]),
                    hr_pshape_format(&shape.s, text[1]));
  }
  hr_tensor_release(&l->items[at]);
  hr_tensor_share(value, &l->items[at]);
  return NULL;
}

hr_status_t hr_tensor_list_get(const hr_handle_t* h, int64_t at, const hr_tensor_t* stated, bool like_others, hr_tensor_t* out) {
  const hr_tensor_list_t* l = hr_tensor_list_in(h);
  hr_tensor_list_shape_t merged;
  hr_shape_t whole;
  char text[HR_SHAPE_TEXT];
  if (l->items[at].buffer) { /* whatever is stated, as in TensorFlow */
    hr_tensor_share(&l->items[at], out);
    return NULL;
  }
  HR_TRY(hr_tensor_list_shape_read(stated, &merged));
  HR_TRY(hr_tensor_list_merge_shapes(h, 1, &at, &merged));
  if (like_others && !hr_pshape_to_shape(&merged.s, &whole)) HR_TRY(hr_tensor_list_merge_shapes(h, l->count, NULL, &merged));
  if (!hr_pshape_to_shape(&merged.s, &whole))
    return HR_ERROR(INVALID_ARGUMENT, "Trying to read an uninitialized tensor but element_shape is not fully defined: %s of element %lld",
                    hr_pshape_format(&merged.s, text), (long long)at);
  HR_TRY(hr_shape_check(&whole));
  return hr_tensor_create_zero(h->dtype, &whole, out);
}
