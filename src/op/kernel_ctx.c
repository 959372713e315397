/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel's outputs and input checks. hr_output is on the path of every node of every step: one buffer from the recycling pool, no
 * check of the shape (its maker checked it), no look at names. What fails goes through cold functions. */
#include "op/kernel_ctx.h"
#include <stdio.h>
#include "base/alloc.h"
#include "rt/step.h"

/* Bytes of an element, and which types own memory: rows of the list of types. */
static const uint8_t element_bytes[HR_DTYPE_COUNT] = {
#define HR_DTYPE(ID, number, bytes, name, ctype, class) [number] = sizeof(ctype),
#include "tensor/dtype.def"
#undef HR_DTYPE
};
static const uint8_t element_owner[HR_DTYPE_COUNT] = {
#define HR_DTYPE(ID, number, bytes, name, ctype, class) [number] = (bytes) ? 0 : (number),
#include "tensor/dtype.def"
#undef HR_DTYPE
};

/* --- new outputs ------------------------------------------------------------------------------------------------------------------ */
/* The size overflows or memory is out: hr_tensor_create has the words for either. */
static __attribute__((noinline, cold)) hr_status_t output_refused(hr_dtype_t dtype, const hr_shape_t* shape, hr_tensor_t* t) {
  HR_TRY(hr_shape_check(shape));
  return hr_tensor_create(dtype, shape, t);
}

static inline hr_status_t fill_output(hr_tensor_t* t, hr_dtype_t dtype, const hr_shape_t* shape) {
  int64_t count = hr_shape_count(shape);
  size_t bytes;
  bool fits = hr_size_mul((size_t)count, element_bytes[dtype], &bytes);
  hr_buffer_t* b = fits ? hr_buffer_create(bytes, (hr_dtype_t)element_owner[dtype]) : NULL;
  if (__builtin_expect(!b, 0)) return output_refused(dtype, shape, t);
  t->buffer = b;
  t->data = b->data;
  t->count = count;
  t->dtype = dtype;
  hr_shape_copy(&t->shape, shape);
  return NULL;
}

/* The second and later unwanted outputs of one call: the first lies in the spare slot and may still be written, so each further one gets
 * a tensor of its own in pooled memory, and the spare's buffer becomes one that releases that tensor and what was there before. */
typedef struct {
  hr_tensor_t value;
  hr_buffer_t* before;
  hr_buffer_t* self; /* the buffer this lies in */
} spare_link_t;

static void spare_link_release(void* data, size_t bytes, void* arg) {
  spare_link_t* link = data;
  (void)bytes;
  (void)arg;
  hr_tensor_release(&link->value);
  hr_buffer_release(link->before);
  hr_buffer_release(link->self);
}

static __attribute__((noinline, cold)) hr_status_t output_again(hr_kernel_ctx_t* k, int index, const hr_shape_t* shape, hr_tensor_t** out) {
  hr_slot_t* slot = hr_output_slot(k, index);
  if (slot != k->spare) { /* a kernel that sets an output twice: the last holds */
    hr_tensor_release(&slot->value);
    *out = &slot->value;
    return fill_output(*out, hr_output_dtype(k, index), shape);
  }
  hr_buffer_t* self = hr_buffer_create(sizeof(spare_link_t), HR_DTYPE_INVALID);
  hr_buffer_t* chain = self ? hr_buffer_borrow(self->data, sizeof(spare_link_t), true, spare_link_release, NULL) : NULL;
  if (!chain) {
    hr_buffer_release(self);
    return hr_status_out_of_memory();
  }
  spare_link_t* link = self->data;
  *link = (spare_link_t){.before = slot->value.buffer, .self = self};
  slot->value.buffer = chain;
  *out = &link->value;
  return fill_output(*out, hr_output_dtype(k, index), shape);
}

hr_status_t hr_output(hr_kernel_ctx_t* k, int index, const hr_shape_t* shape, hr_tensor_t** out) {
  hr_slot_t* slot = hr_output_slot(k, index);
  slot->ref = NULL;
  if (__builtin_expect(slot->value.buffer != NULL, 0)) return output_again(k, index, shape, out);
  *out = &slot->value;
  return fill_output(&slot->value, hr_output_dtype(k, index), shape);
}

/* --- outputs in an input's memory ------------------------------------------------------------------------------------------------- */
static bool is_taken(const hr_kernel_ctx_t* k, int input) { return k->site->in_flags[input] & HR_IN_TAKE; }

/* The whole of a buffer that nobody else holds, of elements of the output's size that own memory alike. */
static bool fits_in_place(const hr_tensor_t* in, hr_dtype_t dtype, int64_t count) {
  return in->count == count && hr_buffer_is_alone(in->buffer) && in->data == in->buffer->data &&
         in->buffer->element == element_owner[dtype] && element_bytes[in->dtype] == element_bytes[dtype];
}

static void place_output(hr_slot_t* slot, hr_tensor_t* from, hr_dtype_t dtype, const hr_shape_t* shape) {
  hr_tensor_t* t = &slot->value;
  hr_buffer_t* b = from->buffer;
  from->buffer = NULL;
  slot->ref = NULL;
  t->data = from->data;
  t->count = from->count;
  t->dtype = dtype;
  hr_shape_copy(&t->shape, shape);
  t->buffer = b;
}

hr_status_t hr_output_take(hr_kernel_ctx_t* k, int index, int input, const hr_shape_t* shape, hr_tensor_t** out) {
  hr_slot_t* from = &k->slots[k->site->in[input]];
  hr_dtype_t dtype = hr_output_dtype(k, index);
  if (!is_taken(k, input) || !hr_output_wanted(k, index) || !fits_in_place(&from->value, dtype, hr_shape_count(shape)))
    return hr_output(k, index, shape, out);
  hr_slot_t* slot = hr_output_slot(k, index);
  if (slot != from) hr_tensor_release(&slot->value);
  place_output(slot, &from->value, dtype, shape);
  *out = &slot->value;
  return NULL;
}

hr_status_t hr_output_alias(hr_kernel_ctx_t* k, int index, int input, const hr_shape_t* shape) {
  hr_slot_t* from = &k->slots[k->site->in[input]];
  hr_slot_t* slot = hr_output_slot(k, index);
  if (hr_shape_count(shape) != from->value.count) {
    char text_in[HR_SHAPE_TEXT], text_out[HR_SHAPE_TEXT];
    return HR_ERROR(INVALID_ARGUMENT, "input %d of shape %s has %lld elements, which do not make up shape %s", input,
                    hr_shape_format(&from->value.shape, text_in), (long long)from->value.count, hr_shape_format(shape, text_out));
  }
  if (slot == k->spare) return NULL;
  if (slot != from) hr_tensor_release(&slot->value);
  hr_tensor_t share = from->value;
  if (!is_taken(k, input)) hr_buffer_retain(share.buffer);
  else from->value.buffer = NULL; /* moved: the next node may still work in place */
  place_output(slot, &share, share.dtype, shape);
  return NULL;
}

void hr_output_share(hr_kernel_ctx_t* k, int index, const hr_tensor_t* t) {
  hr_slot_t* slot = hr_output_slot(k, index);
  if (slot == k->spare || t == &slot->value) return;
  hr_tensor_t old = {.buffer = slot->value.buffer};
  slot->ref = NULL;
  hr_tensor_share(t, &slot->value);
  hr_tensor_release(&old);
}

void hr_output_move(hr_kernel_ctx_t* k, int index, hr_tensor_t* take) {
  hr_slot_t* slot = hr_output_slot(k, index);
  if (slot == k->spare) hr_tensor_release(take);
  if (slot == k->spare || take == &slot->value) return;
  slot->ref = NULL;
  hr_tensor_release(&slot->value);
  hr_tensor_move(take, &slot->value);
}

void hr_output_ref(hr_kernel_ctx_t* k, int index, hr_variable_t* v) {
  hr_slot_t* slot = hr_output_slot(k, index);
  if (slot == k->spare) return;
  hr_tensor_release(&slot->value);
  slot->value.dtype = HR_DTYPE_INVALID;
  slot->ref = v;
}

hr_status_t hr_temp(hr_kernel_ctx_t* k, hr_dtype_t dtype, const hr_shape_t* shape, hr_tensor_t* out) {
  (void)k;
  return hr_tensor_create(dtype, shape, out);
}

/* --- services --------------------------------------------------------------------------------------------------------------------- */
bool hr_is_cancelled(const hr_kernel_ctx_t* k) { return hr_cancel_is_set(k->step->cancel); }
struct hr_resources* hr_resources_of(const hr_kernel_ctx_t* k) { return k->step->resources; }

/* --- input checks ----------------------------------------------------------------------------------------------------------------- */
static hr_status_t wrong_input_shape(const hr_kernel_ctx_t* k, int input, const char* what, const char* wanted, int rank) {
  char text[HR_SHAPE_TEXT], number[32] = "";
  const size_t length = strlen(what);
  hr_shape_format(&hr_input(k, input)->shape, text);
  if (length > 0 && what[length - 1] == ' ') return HR_ERROR(INVALID_ARGUMENT, "%s%s (input %d)", what, text, input);
  if (rank >= 0) snprintf(number, sizeof number, rank <= 2 && !*wanted ? " %d-D" : " %d-dimensional", rank); /* as clients match them */
  return HR_ERROR(INVALID_ARGUMENT, "%s must be %s%s, not shape %s (input %d)", what, wanted, number + (rank >= 0 && !*wanted), text,
                  input);
}

hr_status_t hr_want_scalar(const hr_kernel_ctx_t* k, int input, const char* what) {
  return hr_input(k, input)->shape.rank == 0 ? NULL : wrong_input_shape(k, input, what, "a scalar", -1);
}

hr_status_t hr_want_vector(const hr_kernel_ctx_t* k, int input, const char* what) {
  return hr_input(k, input)->shape.rank == 1 ? NULL : wrong_input_shape(k, input, what, "1-D (a vector)", -1);
}

hr_status_t hr_want_rank(const hr_kernel_ctx_t* k, int input, const char* what, int rank) {
  return hr_input(k, input)->shape.rank == rank ? NULL : wrong_input_shape(k, input, what, "", rank);
}

hr_status_t hr_want_rank_at_least(const hr_kernel_ctx_t* k, int input, const char* what, int rank) {
  return hr_input(k, input)->shape.rank >= rank ? NULL : wrong_input_shape(k, input, what, "at least", rank);
}

hr_status_t hr_want_same_shape(const hr_kernel_ctx_t* k, int a, int b) {
  const hr_shape_t *x = &hr_input(k, a)->shape, *y = &hr_input(k, b)->shape;
  if (hr_shape_equal(x, y)) return NULL;
  char text_a[HR_SHAPE_TEXT], text_b[HR_SHAPE_TEXT];
  return HR_ERROR(INVALID_ARGUMENT, "Inputs to operation %s of type %s must have the same size and shape.  Input %d: %s != input %d: %s",
                  k->site->node_name, k->site->op_name, a, hr_shape_format(x, text_a), b, hr_shape_format(y, text_b));
}
