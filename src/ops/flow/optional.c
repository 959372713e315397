/* SPDX-License-Identifier: Apache-2.0 */
/* Values that may be missing: a variant that holds some tensors, or none. Branches of functions hand what only one of them has to their
 * gradients this way. */
#include "base/alloc.h"
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/flow/optional.h"

extern const hr_op_t hr_op_OptionalFromValue, hr_op_OptionalNone, hr_op_OptionalHasValue, hr_op_OptionalGetValue;

static const char optional_type[] = "Optional";

static void optional_release(void* object) {
  hr_optional_t* o = object;
  for (int32_t i = 0; i < o->count; ++i) hr_tensor_release(&o->values[i]);
  hr_free(o);
}

const hr_optional_t* hr_optional_in(const hr_handle_t* h) {
  return h && h->object && hr_str_is(h->type_name, optional_type) ? h->object : NULL;
}

hr_status_t hr_optional_create(int32_t count, hr_handle_t** out, hr_tensor_t** out_values) {
  hr_handle_t* h = hr_handle_create(HR_STR(""), HR_STR(""), HR_STR(""), hr_str(optional_type));
  hr_optional_t* o = hr_alloc_zero(sizeof *o + (size_t)count * sizeof o->values[0]);
  if (!h || !o) {
    hr_handle_release(h);
    hr_free(o);
    return hr_status_out_of_memory();
  }
  o->count = count;
  h->object = o;
  h->release_object = optional_release;
  *out = h;
  *out_values = o->values;
  return NULL;
}

/* Shares the first `count` inputs. */
static hr_status_t make(hr_kernel_ctx_t* k, int32_t count) {
  hr_shape_t scalar = hr_shape_scalar();
  hr_tensor_t *out = NULL, *values = NULL;
  HR_TRY(hr_output(k, 0, &scalar, &out));
  HR_TRY(hr_optional_create(count, (hr_handle_t**)out->data, &values));
  for (int32_t i = 0; i < count; ++i) hr_tensor_share(hr_input(k, i), &values[i]);
  return NULL;
}

static hr_status_t from_value(hr_kernel_ctx_t* k) { return make(k, hr_input_count(k)); }
static hr_status_t none(hr_kernel_ctx_t* k) { return make(k, 0); }

static hr_status_t find(const hr_kernel_ctx_t* k, const hr_optional_t** out) {
  const hr_tensor_t* t = hr_input(k, 0);
  *out = t->dtype == HR_VARIANT && t->count == 1 ? hr_optional_in(*(hr_handle_t* const*)t->data) : NULL;
  return *out ? NULL : HR_ERROR(INVALID_ARGUMENT, "input 0 is not an optional value");
}

static hr_status_t has_value(hr_kernel_ctx_t* k) {
  hr_shape_t scalar = hr_shape_scalar();
  const hr_optional_t* o = NULL;
  hr_tensor_t* out = NULL;
  HR_TRY(find(k, &o));
  HR_TRY(hr_output(k, 0, &scalar, &out));
  *(bool*)out->data = o->count > 0;
  return NULL;
}

static hr_status_t get_prepare(hr_prepare_ctx_t* p, void* prepared) {
  *(const hr_attr_t**)prepared = hr_attrs_find(p->attrs, "output_shapes");
  return NULL;
}

static hr_status_t get_value(hr_kernel_ctx_t* k) {
  const hr_attr_t* shapes = *(const hr_attr_t* const*)hr_prepared(k);
  const hr_optional_t* o = NULL;
  char want[HR_SHAPE_TEXT], got[HR_SHAPE_TEXT];
  HR_TRY(find(k, &o));
  if (o->count != hr_output_count(k))
    return HR_ERROR(INVALID_ARGUMENT, "the optional value holds %d tensors, not %d", (int)o->count, hr_output_count(k));
  for (int i = 0; i < o->count; ++i) {
    if (o->values[i].dtype != hr_output_dtype(k, i))
      return HR_ERROR(INVALID_ARGUMENT, "component %d of the optional value is %s, not %s", i, hr_dtype_name((int)o->values[i].dtype),
                      hr_dtype_name((int)hr_output_dtype(k, i)));
    if (i < shapes->count && !hr_pshape_accepts(shapes->u.shapes[i], &o->values[i].shape))
      return HR_ERROR(INVALID_ARGUMENT, "component %d of the optional value has shape %s, not %s", i,
                      hr_shape_format(&o->values[i].shape, got), hr_pshape_format(shapes->u.shapes[i], want));
    hr_output_share(k, i, &o->values[i]);
  }
  return NULL;
}

static hr_status_t infer_get(hr_infer_t* s) {
  const hr_attr_t* shapes = hr_attrs_find(hr_infer_attrs(s), "output_shapes");
  if (shapes->count != hr_infer_output_count(s))
    return HR_ERROR(INVALID_ARGUMENT, "%d output_shapes for %d components", (int)shapes->count, hr_infer_output_count(s));
  for (int i = 0; i < hr_infer_output_count(s); ++i) hr_infer_set(s, i, shapes->u.shapes[i]);
  return NULL;
}

/* --- gradients ------------------------------------------------------------------------------------------------------------------------ */
static void grad_from(hr_grad_ctx_t* g) {
  enum { MOST = 32 };
  int count = 0;
  const int32_t* types = hr_attrs_types(hr_grad_attrs(g), "Toutput_types", &count);
  const hr_pshape_t* shapes[MOST];
  if (count > MOST) {
    hr_grad_fail(g, HR_ERROR(UNIMPLEMENTED, "the gradient of an optional value of %d components", count));
    return;
  }
  for (int i = 0; i < count; ++i) shapes[i] = hr_grad_shape(g, hr_grad_input(g, i));
  hr_named_attr_t shape_attr = hr_at("output_shapes", HR_AT_LIST(HR_ATTR_SHAPE, shapes, shapes, count));
  hr_value_t upstream = hr_grad_upstream(g, 0);
  hr_value_t parts = hr_emit(g, "OptionalGetValue", 1, &upstream, HR_ATTRS(hr_at_types("output_types", types, count), shape_attr));
  for (int i = 0; i < count; ++i)
    if (hr_grad_wanted(g, i)) hr_grad_give(g, i, hr_emit_nth(parts, i));
}

static void grad_get(hr_grad_ctx_t* g) {
  enum { MOST = 32 };
  hr_value_t parts[MOST];
  const int count = hr_grad_output_count(g);
  if (count > MOST) {
    hr_grad_fail(g, HR_ERROR(UNIMPLEMENTED, "the gradient of an optional value of %d components", count));
    return;
  }
  for (int i = 0; i < count; ++i) parts[i] = hr_grad_upstream(g, i);
  hr_grad_give(g, 0, hr_emit(g, "OptionalFromValue", count, parts, HR_NO_ATTRS));
}

/* --- definitions ---------------------------------------------------------------------------------------------------------------------- */
const hr_op_t hr_op_OptionalFromValue = {.name = "OptionalFromValue",
                                         .sig = "components: Toutput_types -> optional: variant",
                                         .attrs = "Toutput_types: list(type) >= 1",
                                         .shape = hr_infer_scalars,
                                         .grad = grad_from,
                                         HR_KERNELS(HR_CPU_ANY(from_value)),
                                         .doc = "the components as one optional value",
                                         HR_HERE};
const hr_op_t hr_op_OptionalNone = {.name = "OptionalNone",
                                    .sig = "-> optional: variant",
                                    .attrs = "",
                                    .shape = hr_infer_scalars,
                                    HR_KERNELS(HR_CPU_ANY(none)),
                                    .doc = "an optional value that is missing",
                                    HR_HERE};
const hr_op_t hr_op_OptionalHasValue = {.name = "OptionalHasValue",
                                        .sig = "optional: variant -> has_value: bool",
                                        .attrs = "",
                                        .shape = hr_infer_scalars,
                                        HR_KERNELS(HR_CPU_ANY(has_value)),
                                        .doc = "whether the value is there",
                                        HR_HERE};
const hr_op_t hr_op_OptionalGetValue = {.name = "OptionalGetValue",
                                        .sig = "optional: variant -> components: output_types",
                                        .attrs = "output_types: list(type) >= 1; output_shapes: list(shape) >= 1",
                                        .shape = infer_get,
                                        .grad = grad_get,
                                        HR_KERNELS({.prepared_bytes = sizeof(hr_attr_t*), .prepare = get_prepare, .compute = get_value}),
                                        .doc = "the components of an optional value; an error when it is missing",
                                        HR_HERE};
