/* SPDX-License-Identifier: Apache-2.0 */
/* Sums and zeros of what variants hold. Lists and optional values may hold each other: both go down, so far as anybody nests them. */
#include "ops/flow/variant_math.h"
#include "ops/elementwise/binary.h"
#include "ops/flow/optional.h"
#include "ops/flow/tensor_list.h"

enum { VARIANT_MOST_DEPTH = 32, VARIANT_MOST_NESTED = 1 << 20, VARIANT_LOOK_EVERY = 1024 };

/* What is shared is walked anew wherever it stands, and results do not share it: few nodes can ask for more than any machine holds. */
typedef struct {
  const hr_kernel_ctx_t* k;
  int64_t visits, nested; /* tensors; of them, those within variants within variants */
} walk_t;

static hr_status_t check_depth(int depth) {
  return depth < VARIANT_MOST_DEPTH ? NULL : HR_ERROR(UNIMPLEMENTED, "variants within variants more than %d deep", VARIANT_MOST_DEPTH);
}

static hr_status_t walk_visit(walk_t* w, int depth) {
  if (++w->visits % VARIANT_LOOK_EVERY == 0 && hr_is_cancelled(w->k)) return hr_status_cancelled();
  if (depth == 0 || ++w->nested <= VARIANT_MOST_NESTED) return NULL;
  return HR_ERROR(RESOURCE_EXHAUSTED, "variants within variants hold more than %d tensors", VARIANT_MOST_NESTED);
}

static hr_status_t unknown_kind(const hr_handle_t* h) {
  return HR_ERROR(UNIMPLEMENTED, "a variant of kind '%.*s'; lists of tensors and optional values can be added and have zeros",
                  HR_STR_ARG(h->type_name));
}

/* --- sums ----------------------------------------------------------------------------------------------------------------------------- */
static hr_status_t add_into(walk_t* w, hr_handle_t* sum, const hr_handle_t* other, int depth);

/* Another of the same that may be added to: it shares the tensors. */
static hr_status_t copy_of(const hr_handle_t* from, hr_handle_t** out) {
  const hr_optional_t* o = hr_optional_in(from);
  hr_tensor_t* values = NULL;
  if (hr_tensor_list_is(from)) return hr_tensor_list_copy(from, 0, out);
  if (!o) return unknown_kind(from);
  HR_TRY(hr_optional_create(o->count, out, &values));
  for (int32_t i = 0; i < o->count; ++i) hr_tensor_share(&o->values[i], &values[i]);
  return NULL;
}

static hr_status_t add_variants(walk_t* w, const hr_tensor_t* a, const hr_tensor_t* b, int depth, hr_tensor_t* out) {
  HR_TRY(hr_tensor_create(HR_VARIANT, &a->shape, out));
  for (int64_t i = 0; i < a->count; ++i) {
    HR_TRY(walk_visit(w, depth + 1));
    hr_handle_t *x = ((hr_handle_t*const*)a->data)[i], *y = ((hr_handle_t*const*)b->data)[i], **place = (hr_handle_t**)out->data + i;
    if (!x || !y) {
      *place = hr_handle_retain(x ? x : y);
      continue;
    }
    HR_TRY(copy_of(x, place));
    HR_TRY(add_into(w, *place, y, depth + 1));
  }
  return NULL;
}

static hr_status_t add_values(const hr_tensor_t* a, const hr_tensor_t* b, hr_tensor_t* out) {
  hr_loop2_t loop = hr_binary_scalar[BINARY_AddV2][a->dtype][LOOP_BOTH];
  if (!loop) loop = (*HR_ISA_PICK(hr_binary_vec))[BINARY_AddV2][a->dtype][LOOP_BOTH];
  if (!loop) return HR_ERROR(UNIMPLEMENTED, "adding lists of %s", hr_dtype_name((int)a->dtype));
  HR_TRY(hr_tensor_create(a->dtype, &a->shape, out));
  loop(a->data, b->data, out->data, out->count);
  return NULL;
}

static hr_status_t add_tensor(walk_t* w, hr_tensor_t* sum, const hr_tensor_t* other, int depth) {
  hr_tensor_t made = {0};
  HR_TRY(walk_visit(w, depth));
  if (!other->buffer) return NULL;
  if (!sum->buffer) {
    hr_tensor_share(other, sum);
    return NULL;
  }
  if (sum->dtype != other->dtype || !hr_shape_equal(&sum->shape, &other->shape))
    return HR_ERROR(INVALID_ARGUMENT, "variants to be added hold tensors of different types or shapes");
  hr_status_t status = sum->dtype == HR_VARIANT ? add_variants(w, sum, other, depth, &made) : add_values(sum, other, &made);
  if (status) {
    hr_tensor_release(&made);
    return status;
  }
  hr_tensor_release(sum);
  *sum = made;
  return NULL;
}

static hr_status_t check_addable(const hr_handle_t* a, const hr_handle_t* b) {
  hr_tensor_list_shape_t shape;
  char text[2][HR_SHAPE_TEXT];
  if (!a->shape || !b->shape) return NULL;
  hr_tensor_list_shape_of(a->shape, &shape);
  hr_status_t status = hr_tensor_list_shape_merge(&shape, b->shape->rank, b->shape->dims);
  if (!status) return NULL;
  hr_status_release(status);
  return HR_ERROR(INVALID_ARGUMENT, "Trying to add two lists of tensors with incompatible element shapes. One is %s and the other is %s",
                  hr_pshape_format(a->shape, text[0]), hr_pshape_format(b->shape, text[1]));
}

static hr_status_t add_lists(walk_t* w, hr_handle_t* sum, const hr_handle_t* other, int depth) {
  hr_tensor_list_t *a = hr_tensor_list_in(sum), *b = hr_tensor_list_in(other);
  if (sum->dtype != other->dtype)
    return HR_ERROR(INVALID_ARGUMENT, "Trying to add two lists of tensors of different dtypes. One is %s and the other is %s",
                    hr_dtype_name((int)sum->dtype), hr_dtype_name((int)other->dtype));
  if (a->count != b->count)
    return HR_ERROR(INVALID_ARGUMENT, "Trying to add two lists of tensors with different lengths. One is %lld and the other is %lld",
                    (long long)a->count, (long long)b->count);
  HR_TRY(check_addable(sum, other));
  for (int64_t i = 0; i < a->count; ++i) HR_TRY(add_tensor(w, &a->items[i], &b->items[i], depth));
  return NULL;
}

static hr_status_t add_optionals(walk_t* w, hr_optional_t* sum, const hr_optional_t* other, int depth) {
  if (!sum->count != !other->count)
    return HR_ERROR(INVALID_ARGUMENT, "Cannot add optionals because one has a value and the other doesn't");
  if (sum->count != other->count)
    return HR_ERROR(INVALID_ARGUMENT, "Cannot add optionals because they have different numbers of components: %d and %d", (int)sum->count,
                    (int)other->count);
  for (int32_t i = 0; i < sum->count; ++i) HR_TRY(add_tensor(w, &sum->values[i], &other->values[i], depth));
  return NULL;
}

static hr_status_t add_into(walk_t* w, hr_handle_t* sum, const hr_handle_t* other, int depth) {
  HR_TRY(check_depth(depth));
  if (!other->object || !hr_str_equal(sum->type_name, other->type_name))
    return HR_ERROR(INVALID_ARGUMENT, "a variant of kind '%.*s' cannot be added to one of kind '%.*s'", HR_STR_ARG(other->type_name),
                    HR_STR_ARG(sum->type_name));
  if (hr_tensor_list_is(sum)) return add_lists(w, sum, other, depth);
  return add_optionals(w, sum->object, other->object, depth); /* copy_of knows no third kind */
}

static hr_status_t input_in(const hr_kernel_ctx_t* k, int input, hr_handle_t** out) {
  const hr_tensor_t* t = hr_input(k, input);
  *out = t->dtype == HR_VARIANT && t->count == 1 ? *(hr_handle_t* const*)t->data : NULL;
  return *out && (*out)->object ? NULL : HR_ERROR(INVALID_ARGUMENT, "input %d is not a list of tensors or an optional value", input);
}

hr_status_t hr_variant_math_add_n(hr_kernel_ctx_t* k) {
  hr_handle_t *first = NULL, *sum = NULL, *other = NULL;
  walk_t w = {.k = k};
  HR_TRY(input_in(k, 0, &first));
  HR_TRY(copy_of(first, &sum));
  hr_status_t status = NULL;
  for (int i = 1; i < hr_input_count(k) && !status; ++i) {
    status = input_in(k, i, &other);
    if (!status) status = add_into(&w, sum, other, 0);
  }
  if (!status) return hr_tensor_list_output(k, 0, sum);
  hr_handle_release(sum);
  return status;
}

/* --- zeros ---------------------------------------------------------------------------------------------------------------------------- */
static hr_status_t zeros_of(walk_t* w, const hr_handle_t* from, int depth, hr_handle_t** out);

static hr_status_t zero_tensor(walk_t* w, const hr_tensor_t* from, int depth, hr_tensor_t* out) {
  HR_TRY(walk_visit(w, depth));
  if (!from->buffer) return NULL;
  if (from->dtype != HR_VARIANT) return hr_tensor_create_zero(from->dtype, &from->shape, out);
  HR_TRY(hr_tensor_create(HR_VARIANT, &from->shape, out));
  for (int64_t i = 0; i < from->count; ++i) {
    HR_TRY(walk_visit(w, depth + 1));
    const hr_handle_t* h = ((hr_handle_t* const*)from->data)[i];
    if (h) HR_TRY(zeros_of(w, h, depth + 1, (hr_handle_t**)out->data + i));
  }
  return NULL;
}

static hr_status_t zero_tensors(walk_t* w, const hr_tensor_t* from, int64_t count, int depth, hr_tensor_t* out) {
  for (int64_t i = 0; i < count; ++i) HR_TRY(zero_tensor(w, &from[i], depth, &out[i]));
  return NULL;
}

static hr_status_t zeros_of(walk_t* w, const hr_handle_t* from, int depth, hr_handle_t** out) {
  const hr_optional_t* o = hr_optional_in(from);
  const hr_tensor_list_t* l = hr_tensor_list_is(from) ? hr_tensor_list_in(from) : NULL;
  hr_tensor_t* values = NULL;
  HR_TRY(check_depth(depth));
  if (!o && !l) return unknown_kind(from);
  if (o) HR_TRY(hr_optional_create(o->count, out, &values));
  else HR_TRY(hr_tensor_list_create(from->dtype, from->shape, l->count, l->most, out));
  if (l) values = hr_tensor_list_in(*out)->items;
  hr_status_t status = zero_tensors(w, o ? o->values : l->items, o ? o->count : l->count, depth, values);
  if (!status) return NULL;
  hr_handle_release(*out);
  *out = NULL;
  return status;
}

hr_status_t hr_variant_math_zeros_like(hr_kernel_ctx_t* k) {
  hr_handle_t *from = NULL, *zeros = NULL;
  walk_t w = {.k = k};
  HR_TRY(input_in(k, 0, &from));
  HR_TRY(zeros_of(&w, from, 0, &zeros));
  return hr_tensor_list_output(k, 0, zeros);
}
