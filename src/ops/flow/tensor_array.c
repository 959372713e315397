/* SPDX-License-Identifier: Apache-2.0 */
/* The object behind TensorArrays. Places come into being when first used, so an array of a billion costs what is written to it.
 *
 * Unlike TensorFlow's, a gradient's array may have a gradient itself; since several writes may have been added up there, its elements may
 * be read any number of times. */
#include "ops/flow/tensor_array.h"
#include <inttypes.h>
#include "base/alloc.h"

typedef struct {
  hr_tensor_t value; /* its shape stays known after the value is read away, and is known before in a gradient's array */
  bool has_value, has_shape, is_written, is_read, is_cleared;
} place_t;

typedef struct gradient {
  struct gradient* next;
  hr_tensor_array_t* array; /* one reference */
  hr_str_t source;          /* own bytes, after the struct */
} gradient_t;

struct hr_tensor_array {
  hr_flow_object_t object; /* first */
  hr_mutex_t mu;           /* guards all below */
  hr_dtype_t dtype;        /* immutable */
  bool is_gradient, is_dynamic, clears, is_identical, is_closed;
  int64_t size, marked;       /* marked: what it was last filled with at once, or when first packed; -1 */
  hr_pshape_t* element_shape; /* own memory */
  place_t* places;
  int64_t place_count; /* <= size */
  gradient_t* gradients;
};

/* --- life --------------------------------------------------------------------------------------------------------------------------- */
static void array_empty(hr_tensor_array_t* a) { /* the lock is held, or nobody else is there */
  for (int64_t i = 0; i < a->place_count; ++i)
    if (a->places[i].has_value) hr_tensor_release(&a->places[i].value);
  hr_free(a->places);
  a->places = NULL;
  a->place_count = 0;
  a->is_closed = true;
}

static void array_clear(hr_step_object_t* o) {
  hr_tensor_array_t* a = (hr_tensor_array_t*)o;
  hr_mutex_lock(&a->mu);
  array_empty(a);
  gradient_t* g = a->gradients;
  a->gradients = NULL;
  hr_mutex_unlock(&a->mu);
  while (g) {
    gradient_t* next = g->next;
    hr_tensor_array_release(g->array);
    hr_free(g);
    g = next;
  }
}

static void array_destroy(hr_resource_t* r) {
  hr_tensor_array_t* a = (hr_tensor_array_t*)r;
  array_clear(&a->object.step);
  hr_mutex_deinit(&a->mu);
  hr_flow_object_deinit(&a->object);
  hr_free(a->element_shape);
  hr_free(a);
}

static const hr_resource_type_t tensor_array_type = {"TensorArray", array_destroy};

static hr_pshape_t* own_pshape(int64_t rank, const int64_t* dims) { /* NULL: out of memory */
  size_t count = rank > 0 ? (size_t)rank : 0;
  hr_pshape_t* s = hr_alloc(sizeof *s + count * sizeof *dims);
  if (!s) return NULL;
  s->rank = (int32_t)rank;
  if (count) memcpy(s->dims, dims, count * sizeof *dims);
  return s;
}

hr_status_t hr_tensor_array_create(const hr_tensor_array_form_t* f, hr_tensor_array_t** out) {
  if (f->size < 0) return HR_ERROR(INVALID_ARGUMENT, "Size should be >= 0, it is %" PRId64, f->size);
  hr_tensor_array_t* a = hr_alloc_zero(sizeof *a);
  if (!a) return hr_status_out_of_memory();
  hr_resource_init(&a->object.step.base, &tensor_array_type);
  a->object.step.clear = array_clear;
  hr_mutex_init(&a->mu);
  a->dtype = f->dtype;
  a->size = f->size;
  a->marked = -1;
  a->is_dynamic = f->is_dynamic;
  a->clears = f->clears;
  a->is_identical = f->is_identical;
  a->element_shape = own_pshape(f->element_shape->rank, f->element_shape->dims);
  if (!a->element_shape) {
    hr_tensor_array_release(a);
    return hr_status_out_of_memory();
  }
  *out = a;
  return NULL;
}

hr_status_t hr_tensor_array_input(const hr_kernel_ctx_t* k, hr_tensor_array_t** out) {
  hr_flow_object_t* o = NULL;
  HR_TRY(hr_flow_object_input(k, &tensor_array_type, &o));
  *out = (hr_tensor_array_t*)o;
  return NULL;
}

hr_dtype_t hr_tensor_array_dtype(const hr_tensor_array_t* a) { return a->dtype; }

static hr_status_t array_enter(hr_tensor_array_t* a) { /* locks unless closed */
  hr_mutex_lock(&a->mu);
  if (!a->is_closed) return NULL;
  hr_mutex_unlock(&a->mu);
  return HR_ERROR(INVALID_ARGUMENT, "TensorArray %s has already been closed", a->object.name ? a->object.name : "");
}

static hr_status_t array_leave(hr_tensor_array_t* a, hr_status_t take_status) {
  hr_mutex_unlock(&a->mu);
  return take_status ? hr_status_note(take_status, "TensorArray %s: ", a->object.name ? a->object.name : "") : NULL;
}

/* --- places ------------------------------------------------------------------------------------------------------------------------- */
static hr_status_t need_place(hr_tensor_array_t* a, int64_t index, place_t** out) { /* 0 <= index < size */
  if (index >= a->place_count) {
    int64_t count = a->place_count * 2 > index ? a->place_count * 2 : index + 1;
    if (count > a->size) count = a->size;
    if (count < 8 && a->size >= 8) count = 8;
    place_t* grown = hr_alloc_array((size_t)count, sizeof *grown);
    if (!grown) return hr_status_out_of_memory();
    if (a->place_count) memcpy(grown, a->places, (size_t)a->place_count * sizeof *grown);
    hr_free(a->places);
    a->places = grown;
    a->place_count = count;
  }
  *out = &a->places[index];
  return NULL;
}

static hr_status_t narrow_shape(hr_tensor_array_t* a, const hr_shape_t* shape) {
  hr_pshape_t* exact = own_pshape(shape->rank, shape->dims);
  if (!exact) return hr_status_out_of_memory();
  hr_free(a->element_shape);
  a->element_shape = exact;
  return NULL;
}

/* --- writing ------------------------------------------------------------------------------------------------------------------------ */
static hr_status_t check_write(const hr_tensor_array_t* a, int64_t index, const hr_tensor_t* t) {
  char text[HR_SHAPE_TEXT], held[HR_SHAPE_TEXT];
  if (t->dtype != a->dtype)
    return HR_ERROR(INVALID_ARGUMENT, "TensorArray dtype is %s but Op is trying to write dtype %s", hr_dtype_name((int)a->dtype),
                    hr_dtype_name((int)t->dtype));
  if (index < 0 || (index >= a->size && (!a->is_dynamic || index >= INT32_MAX)))
    return HR_ERROR(INVALID_ARGUMENT, "Tried to write to index %" PRId64 " but array is not resizeable%s and size is: %" PRId64, index,
                    a->is_dynamic ? " that far" : "", a->size);
  if (!hr_pshape_accepts(a->element_shape, &t->shape))
    return HR_ERROR(INVALID_ARGUMENT,
                    "Could not write to TensorArray index %" PRId64
                    " because the value shape is %s which is incompatible with the "
                    "TensorArray's inferred element shape: %s (infer_shape=False leaves that open)",
                    index, hr_shape_format(&t->shape, text), hr_pshape_format(a->element_shape, held));
  return NULL;
}

static hr_status_t check_place(const hr_tensor_array_t* a, const place_t* p, int64_t index, const hr_tensor_t* t) {
  char text[HR_SHAPE_TEXT], held[HR_SHAPE_TEXT];
  if (p->is_read)
    return HR_ERROR(INVALID_ARGUMENT, "Could not write to TensorArray index %" PRId64 " because it has already been read", index);
  if (p->is_written && !a->is_gradient)
    return HR_ERROR(INVALID_ARGUMENT, "Could not write to TensorArray index %" PRId64 " because it has already been written to.", index);
  if (p->has_shape && !hr_shape_equal(&p->value.shape, &t->shape))
    return HR_ERROR(INVALID_ARGUMENT,
                    "Could not aggregate to TensorArray index %" PRId64 " because the existing shape is %s but the new input shape is %s",
                    index, hr_shape_format(&p->value.shape, held), hr_shape_format(&t->shape, text));
  return NULL;
}

static hr_status_t add_up(place_t* p, const hr_tensor_t* t, hr_sum_loop_t loop) {
  if (!loop) return HR_ERROR(INVALID_ARGUMENT, "values of type %s cannot be added up", hr_dtype_name((int)t->dtype));
  if (hr_buffer_is_alone(p->value.buffer)) {
    loop(p->value.data, t->data, p->value.data, t->count);
    return NULL;
  }
  hr_tensor_t sum;
  HR_TRY(hr_tensor_create(t->dtype, &t->shape, &sum));
  loop(p->value.data, t->data, sum.data, t->count);
  hr_tensor_release(&p->value);
  p->value = sum;
  return NULL;
}

static hr_status_t write_place(hr_tensor_array_t* a, int64_t index, const hr_tensor_t* t, hr_sum_loop_t loop) {
  place_t* p;
  HR_TRY(check_write(a, index, t));
  if (index < a->place_count) HR_TRY(check_place(a, &a->places[index], index, t));
  if (a->is_identical && !hr_pshape_is_known(a->element_shape)) HR_TRY(narrow_shape(a, &t->shape));
  if (index >= a->size) a->size = index + 1;
  HR_TRY(need_place(a, index, &p));
  HR_TRY(check_place(a, p, index, t));
  if (p->has_value) return add_up(p, t, loop);
  hr_tensor_share(t, &p->value);
  p->has_value = p->has_shape = p->is_written = true;
  return NULL;
}

hr_status_t hr_tensor_array_write(hr_tensor_array_t* a, int64_t index, const hr_tensor_t* t, hr_sum_loop_t loop) {
  HR_TRY(array_enter(a));
  return array_leave(a, write_place(a, index, t, loop));
}

hr_status_t hr_tensor_array_reach(hr_tensor_array_t* a, int64_t index) {
  HR_TRY(array_enter(a));
  if (a->is_dynamic || index < a->size) return array_leave(a, NULL);
  return array_leave(a, HR_ERROR(INVALID_ARGUMENT, "Max scatter index must be < array size (%" PRId64 " vs. %" PRId64 ")", index, a->size));
}

hr_status_t hr_tensor_array_fit(hr_tensor_array_t* a, int64_t count, bool exactly) {
  hr_status_t status = NULL;
  HR_TRY(array_enter(a));
  if (a->is_dynamic && count <= INT32_MAX) {
    if (count > a->size) a->size = count;
  } else if (exactly ? count != a->size : count > a->size) {
    status = HR_ERROR(INVALID_ARGUMENT,
                      "TensorArray's size is not equal to the size of lengths (%" PRId64 " vs. %" PRId64
                      "), and the TensorArray is not marked as dynamically resizeable",
                      a->size, count);
  }
  if (!status && exactly && !a->is_gradient) a->marked = count;
  return array_leave(a, status);
}

/* --- reading ------------------------------------------------------------------------------------------------------------------------ */
static hr_status_t make_zeros(const hr_tensor_array_t* a, const place_t* p, int64_t index, hr_tensor_t* out) {
  hr_shape_t shape;
  char text[HR_SHAPE_TEXT];
  if (!hr_dtype_in((int)a->dtype, HR_M_NUMBER | HR_M(BOOL)) && (p->has_shape || hr_pshape_is_known(a->element_shape)))
    return HR_ERROR(INVALID_ARGUMENT,
                    "Could not read from TensorArray index %" PRId64
                    ": it was never written, and zeros of type %s are "
                    "not supported",
                    index, hr_dtype_name((int)a->dtype));
  if (p->has_shape) return hr_tensor_create_zero(a->dtype, &p->value.shape, out);
  if (hr_pshape_to_shape(a->element_shape, &shape)) return hr_tensor_create_zero(a->dtype, &shape, out);
  return HR_ERROR(INVALID_ARGUMENT,
                  "Could not read from TensorArray index %" PRId64
                  ": it was never written.  Furthermore, the element shape is not fully "
                  "defined: %s, so it cannot be zeros",
                  index, hr_pshape_format(a->element_shape, text));
}

static hr_status_t read_place(hr_tensor_array_t* a, int64_t index, hr_tensor_t* out) {
  place_t* p;
  if (index < 0 || index >= a->size)
    return HR_ERROR(INVALID_ARGUMENT, "Tried to read from index %" PRId64 " but array size is: %" PRId64, index, a->size);
  HR_TRY(need_place(a, index, &p));
  if (p->is_cleared)
    return HR_ERROR(INVALID_ARGUMENT,
                    "Could not read index %" PRId64
                    " twice because it was cleared after a previous read (perhaps try setting clear_after_read = false?)",
                    index);
  if (!p->has_value)
    HR_TRY(make_zeros(a, p, index, out));
  else if (a->clears)
    hr_tensor_move(&p->value, out);
  else
    hr_tensor_share(&p->value, out);
  p->is_read = true;
  if (a->clears) p->is_cleared = true;
  if (a->clears) p->has_value = false;
  return NULL;
}

hr_status_t hr_tensor_array_read(hr_tensor_array_t* a, int64_t index, hr_tensor_t* out) {
  HR_TRY(array_enter(a));
  return array_leave(a, read_place(a, index, out));
}

hr_status_t hr_tensor_array_read_many(hr_tensor_array_t* a, const int32_t* indices, int64_t count, hr_tensor_t* values) {
  hr_status_t status = NULL;
  HR_TRY(array_enter(a));
  for (int64_t i = 0; !status && i < count; ++i) status = read_place(a, indices ? indices[i] : i, &values[i]);
  return array_leave(a, status);
}

hr_status_t hr_tensor_array_size(hr_tensor_array_t* a, int64_t* out) {
  HR_TRY(array_enter(a));
  *out = a->size;
  return array_leave(a, NULL);
}

hr_status_t hr_tensor_array_pack_size(hr_tensor_array_t* a, int64_t* out) {
  HR_TRY(array_enter(a));
  if (!a->is_gradient && a->marked < 0) a->marked = a->size;
  *out = a->is_gradient && a->marked >= 0 ? a->marked : a->size;
  return array_leave(a, NULL);
}

static hr_status_t merge_shape(hr_tensor_array_t* a, const hr_pshape_t* shape) {
  char text[HR_SHAPE_TEXT], held[HR_SHAPE_TEXT];
  hr_pshape_t* s = a->element_shape;
  if (shape->rank < 0) return NULL;
  hr_pshape_t* merged = own_pshape(shape->rank, shape->dims);
  if (!merged) return hr_status_out_of_memory();
  bool fits = s->rank < 0 || s->rank == shape->rank;
  for (int i = 0; fits && i < shape->rank && s->rank >= 0; ++i) {
    if (merged->dims[i] < 0) merged->dims[i] = s->dims[i];
    fits = s->dims[i] < 0 || merged->dims[i] == s->dims[i];
  }
  if (!fits) {
    hr_free(merged);
    return HR_ERROR(INVALID_ARGUMENT, "Incompatible shapes during merge: element_shape %s of the op and %s of the array",
                    hr_pshape_format(shape, text), hr_pshape_format(s, held));
  }
  hr_free(s);
  a->element_shape = merged;
  return NULL;
}

hr_status_t hr_tensor_array_merge_shape(hr_tensor_array_t* a, const hr_pshape_t* shape) {
  HR_TRY(array_enter(a));
  return array_leave(a, merge_shape(a, shape));
}

hr_status_t hr_tensor_array_close(hr_tensor_array_t* a) {
  HR_TRY(array_enter(a));
  array_empty(a);
  return array_leave(a, NULL);
}

/* --- gradients ---------------------------------------------------------------------------------------------------------------------- */
static hr_status_t prepend_dims(const hr_shape_t* front, hr_shape_t* shape) {
  int64_t dims[2 * HR_MAX_RANK];
  memcpy(dims, front->dims, (size_t)front->rank * sizeof *dims);
  memcpy(dims + front->rank, shape->dims, (size_t)shape->rank * sizeof *dims);
  return hr_shape_make(front->rank + shape->rank, dims, shape);
}

static hr_status_t copy_shapes(const hr_tensor_array_t* from, const hr_shape_t* prepend, hr_tensor_array_t* to) {
  for (int64_t i = 0; i < from->place_count; ++i) {
    place_t* p;
    if (!from->places[i].has_shape) continue;
    HR_TRY(need_place(to, i, &p));
    hr_shape_copy(&p->value.shape, &from->places[i].value.shape);
    if (prepend) HR_TRY(prepend_dims(prepend, &p->value.shape));
    p->has_shape = true;
  }
  return NULL;
}

static hr_status_t derive_array(hr_tensor_array_t* a, const hr_shape_t* prepend, hr_tensor_array_t** out) {
  const hr_tensor_array_form_t f = {
      .dtype = a->dtype, .size = a->size, .element_shape = prepend ? &hr_pshape_unknown : a->element_shape, .clears = !a->is_gradient};
  hr_tensor_array_t* g;
  HR_TRY(hr_tensor_array_create(&f, &g));
  g->is_gradient = true;
  g->marked = a->marked;
  hr_shape_t known;
  hr_status_t status = copy_shapes(a, prepend, g);
  if (!status && prepend && hr_pshape_to_shape(a->element_shape, &known) && !(status = prepend_dims(prepend, &known)))
    status = narrow_shape(g, &known);
  if (status)
    hr_tensor_array_release(g);
  else
    *out = g;
  return status;
}

static hr_status_t make_gradient(hr_tensor_array_t* a, hr_str_t source, const hr_shape_t* prepend,
                                 hr_status_t (*add)(void*, hr_tensor_array_t*), void* arg, gradient_t** out) {
  gradient_t* g = hr_alloc(sizeof *g + source.size + 1);
  if (!g) return hr_status_out_of_memory();
  g->array = NULL;
  hr_status_t status = derive_array(a, prepend, &g->array);
  if (!status) status = add(arg, g->array);
  if (status) {
    hr_tensor_array_release(g->array);
    hr_free(g);
    return status;
  }
  char* text = (char*)(g + 1);
  if (source.size) memcpy(text, source.data, source.size);
  g->source = (hr_str_t){text, source.size};
  g->next = a->gradients;
  a->gradients = g;
  *out = g;
  return NULL;
}

hr_status_t hr_tensor_array_gradient(hr_tensor_array_t* a, hr_str_t source, const hr_shape_t* prepend,
                                     hr_status_t (*add)(void*, hr_tensor_array_t*), void* arg, bool* out_made, hr_tensor_array_t** out) {
  hr_status_t status = NULL;
  HR_TRY(array_enter(a));
  gradient_t* g = a->gradients;
  while (g && !hr_str_equal(g->source, source)) g = g->next;
  *out_made = !g;
  a->is_dynamic = false;
  if (!g) status = make_gradient(a, source, prepend, add, arg, &g);
  if (!status) {
    hr_resource_retain((hr_resource_t*)g->array);
    *out = g->array;
  }
  return array_leave(a, status);
}
