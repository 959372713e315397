/* SPDX-License-Identifier: Apache-2.0 */
/* TensorArray and its gradient's array, their size and end. The three generations of names differ in how an array is named (reference,
 * strings, resource handle) and, the third, in giving the first `flow`: a scalar that carries nothing but order. */
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/flow/tensor_array.h"
#include "ops/flow/tensor_array_flow.h"

extern const hr_op_t hr_op_TensorArray, hr_op_TensorArrayV2, hr_op_TensorArrayV3, hr_op_TensorArrayGrad, hr_op_TensorArrayGradV2,
    hr_op_TensorArrayGradV3, hr_op_TensorArrayGradWithShape, hr_op_TensorArraySize, hr_op_TensorArraySizeV2, hr_op_TensorArraySizeV3,
    hr_op_TensorArrayClose, hr_op_TensorArrayCloseV2, hr_op_TensorArrayCloseV3;

/* 1. shapes */
static hr_status_t infer_array(hr_infer_t* s) {
  const hr_node_attrs_t* attrs = hr_infer_attrs(s);
  HR_TRY(hr_infer_want_rank(s, 0, 0, NULL));
  if (hr_infer_output_count(s) == 1) return hr_infer_set_vector(s, 0, 2);
  hr_infer_set(s, 0, &hr_pshape_scalar);
  hr_infer_set(s, 1, &hr_pshape_scalar);
  hr_infer_set_handle(s, 0, hr_attrs_type(attrs, "dtype"), hr_attrs_shape(attrs, "element_shape"));
  return NULL;
}

static hr_status_t infer_gradient(hr_infer_t* s) {
  hr_dtype_t dtype;
  const hr_pshape_t* shape;
  if (hr_infer_output_count(s) == 1) return hr_infer_set_vector(s, 0, 2);
  hr_infer_set(s, 0, &hr_pshape_scalar);
  hr_infer_set(s, 1, &hr_pshape_scalar);
  hr_infer_handle(s, 0, &dtype, &shape);
  if (dtype != HR_DTYPE_INVALID) hr_infer_set_handle(s, 0, dtype, hr_infer_input_count(s) == 2 ? shape : &hr_pshape_unknown);
  return NULL;
}

/* 2. kernels */
typedef struct {
  hr_tensor_array_form_t form; /* without the size */
  hr_str_t stem;
} maker_t;

static hr_status_t array_prepare(hr_prepare_ctx_t* p, void* prepared) {
  maker_t* m = prepared;
  const hr_attr_t* identical = hr_attrs_find(p->attrs, "identical_element_shapes");
  const hr_str_t name = hr_attrs_str(p->attrs, "tensor_array_name");
  m->form = (hr_tensor_array_form_t){.dtype = hr_attrs_type(p->attrs, "dtype"),
                                     .element_shape = hr_attrs_shape(p->attrs, "element_shape"),
                                     .is_dynamic = hr_attrs_bool(p->attrs, "dynamic_size"),
                                     .clears = hr_attrs_bool(p->attrs, "clear_after_read"),
                                     .is_identical = identical && identical->u.b};
  m->stem = name.size ? name : hr_str(p->node_name);
  return NULL;
}

static hr_naming_t naming_of(const hr_kernel_ctx_t* k) { return (hr_naming_t)(intptr_t)hr_kernel_arg(k); }
#define CONTAINER HR_STR("_tensor_arrays")

static hr_status_t give_flow(hr_kernel_ctx_t* k) { /* of a new array: 0 */
  hr_tensor_t* flow;
  const hr_shape_t scalar = hr_shape_scalar();
  if (hr_output_count(k) < 2) return NULL;
  HR_TRY(hr_output(k, 1, &scalar, &flow));
  *(float*)flow->data = 0;
  return NULL;
}

static hr_status_t array_make(hr_kernel_ctx_t* k) {
  const maker_t* m = hr_prepared(k);
  hr_tensor_array_form_t form = m->form;
  hr_tensor_array_t* a;
  HR_TRY(hr_flow_want_rank(k, 0, "TensorArray size must be scalar, but had shape", 0, 0));
  HR_TRY(hr_tensor_scalar_i64(hr_input(k, 0), "size", &form.size));
  HR_TRY(hr_tensor_array_create(&form, &a));
  hr_status_t status = hr_flow_object_add(k, hr_tensor_array_object(a), CONTAINER, m->stem, naming_of(k));
  hr_tensor_array_release(a);
  return status ? status : give_flow(k);
}

static hr_status_t gradient_prepare(hr_prepare_ctx_t* p, void* prepared) {
  *(hr_str_t*)prepared = hr_attrs_str(p->attrs, "source");
  return NULL;
}

typedef struct {
  hr_kernel_ctx_t* k;
  hr_tensor_array_t* of;
} adding_t;
static hr_status_t add_gradient(void* arg, hr_tensor_array_t* made) { /* named "<array>@<source>" */
  const adding_t* g = arg;
  hr_strbuf_t stem;
  hr_strbuf_init(&stem);
  hr_strbuf_format(&stem, "%s@%.*s", hr_tensor_array_object(g->of)->name, HR_STR_ARG(*(hr_str_t*)hr_prepared(g->k)));
  hr_status_t status = stem.failed
                           ? hr_status_out_of_memory()
                           : hr_flow_object_add(g->k, hr_tensor_array_object(made), CONTAINER, hr_strbuf_view(&stem), naming_of(g->k));
  hr_strbuf_deinit(&stem);
  return status;
}

static hr_status_t gradient_of(hr_kernel_ctx_t* k, hr_tensor_array_t* a) {
  const bool has_shape = hr_input_count(k) > 2;
  hr_shape_t front;
  adding_t adding = {k, a};
  hr_tensor_array_t* g;
  bool made;
  if (has_shape) HR_TRY(hr_tensor_to_shape(hr_input(k, 2), &front));
  HR_TRY(hr_tensor_array_gradient(a, *(hr_str_t*)hr_prepared(k), has_shape ? &front : NULL, add_gradient, &adding, &made, &g));
  hr_status_t status = made ? NULL : hr_flow_object_give(k, hr_tensor_array_object(g), CONTAINER, naming_of(k));
  hr_tensor_array_release(g);
  return status;
}

static hr_status_t gradient_make(hr_kernel_ctx_t* k) {
  hr_tensor_array_t* a;
  HR_TRY(hr_tensor_array_input(k, &a));
  hr_status_t status = gradient_of(k, a);
  hr_tensor_array_release(a);
  return status ? status : give_flow(k);
}

static hr_status_t size_of(hr_kernel_ctx_t* k) {
  hr_tensor_array_t* a;
  hr_tensor_t* out;
  int64_t size = 0;
  const hr_shape_t scalar = hr_shape_scalar();
  HR_TRY(hr_tensor_array_input(k, &a));
  hr_status_t status = hr_tensor_array_size(a, &size);
  hr_tensor_array_release(a);
  if (status) return status;
  HR_TRY(hr_output(k, 0, &scalar, &out));
  *(int32_t*)out->data = (int32_t)size;
  return NULL;
}

static hr_status_t close_array(hr_kernel_ctx_t* k) {
  hr_tensor_array_t* a;
  HR_TRY(hr_tensor_array_input(k, &a));
  hr_status_t status = hr_tensor_array_close(a);
  hr_tensor_array_release(a);
  return status;
}

/* 3. definitions */
#define FORM             "dtype: type; element_shape: shape = ?; dynamic_size: bool = false; clear_after_read: bool = true; "
#define NAMED_AS(naming) (const void*)(intptr_t)naming
/* The older sizes and ends are not stateful by their signature, but must not be folded or merged either. */
#define OP_OF(Name, Flags, Sig, Attrs, Shape, Kernel, Doc, ...) \
  const hr_op_t hr_op_##Name = {.name = #Name,                  \
                                .sig = Sig,                     \
                                .attrs = Attrs,                 \
                                .flags = Flags,                 \
                                .shape = Shape,                 \
                                .grad = hr_grad_none,           \
                                .kernels = &(Kernel),           \
                                .kernel_count = 1,              \
                                .doc = Doc,                     \
                                HR_HERE,                        \
                                __VA_ARGS__}
#define OP(Name, ...)     OP_OF(Name, HR_OP_STATEFUL, __VA_ARGS__)
#define OLD_OP(Name, ...) OP_OF(Name, HR_OP_SIDE_EFFECT, __VA_ARGS__)

#define MAKES(name, naming)                                           \
  static const hr_kernel_t name = {.host_inputs = 1,                  \
                                   .host_outputs = 3,                 \
                                   .prepared_bytes = sizeof(maker_t), \
                                   .prepare = array_prepare,          \
                                   .compute = array_make,             \
                                   .arg = NAMED_AS(naming)}
MAKES(makes_ref, HR_NAMED_BY_REF);
MAKES(makes_strings, HR_NAMED_BY_STRINGS);
MAKES(makes_handle, HR_NAMED_BY_HANDLE);
#define MAKE_DOC "an array of tensors that lives as long as the step"
OP(TensorArray, "size: int32 -> handle: Ref(string)",
   "dtype: type; dynamic_size: bool = false; clear_after_read: bool = true; tensor_array_name: string = ''; element_shape: shape = ?",
   infer_array, makes_ref, MAKE_DOC, .deprecated = 16, .deprecated_why = "Use TensorArrayV3");
OP(TensorArrayV2, "size: int32 -> handle: string", FORM "tensor_array_name: string = ''", infer_array, makes_strings, MAKE_DOC,
   .deprecated = 26, .deprecated_why = "Use TensorArrayV3");
OP(TensorArrayV3, "size: int32 -> handle: resource; flow: float",
   FORM "identical_element_shapes: bool = false; tensor_array_name: string = ''", infer_array, makes_handle, MAKE_DOC, );

#define DERIVES(name, naming)                                          \
  static const hr_kernel_t name = {.host_inputs = 7,                   \
                                   .host_outputs = 3,                  \
                                   .prepared_bytes = sizeof(hr_str_t), \
                                   .prepare = gradient_prepare,        \
                                   .compute = gradient_make,           \
                                   .arg = NAMED_AS(naming)}
DERIVES(derives_ref, HR_NAMED_BY_REF);
DERIVES(derives_strings, HR_NAMED_BY_STRINGS);
DERIVES(derives_handle, HR_NAMED_BY_HANDLE);
#define GRAD_DOC "the array in which the gradients of another array's elements are added up, one for each source"
OP(TensorArrayGrad, "handle: string; flow_in: float -> grad_handle: Ref(string)", "source: string", infer_gradient, derives_ref, GRAD_DOC,
   .deprecated = 16, .deprecated_why = "Use TensorArrayGradV3");
OP(TensorArrayGradV2, "handle: string; flow_in: float -> grad_handle: string", "source: string", infer_gradient, derives_strings, GRAD_DOC,
   .deprecated = 26, .deprecated_why = "Use TensorArrayGradV3");
OP(TensorArrayGradV3, "handle: resource; flow_in: float -> grad_handle: resource; flow_out: float", "source: string", infer_gradient,
   derives_handle, GRAD_DOC, );
OP(TensorArrayGradWithShape, "handle: resource; flow_in: float; shape_to_prepend: int32 -> grad_handle: resource; flow_out: float",
   "source: string", infer_gradient, derives_handle, GRAD_DOC ", whose elements have more dims in front", );

static const hr_kernel_t sizes = {.host_inputs = 1, .host_outputs = 1, .compute = size_of};
#define SIZE_DOC "how many elements the array has"
OLD_OP(TensorArraySize, "handle: Ref(string); flow_in: float -> size: int32", "", hr_infer_scalars, sizes, SIZE_DOC, .deprecated = 16,
       .deprecated_why = "Use TensorArraySizeV3");
OLD_OP(TensorArraySizeV2, "handle: string; flow_in: float -> size: int32", "", hr_infer_scalars, sizes, SIZE_DOC, .deprecated = 26,
       .deprecated_why = "Use TensorArraySizeV3");
OP(TensorArraySizeV3, "handle: resource; flow_in: float -> size: int32", "", hr_infer_scalars, sizes, SIZE_DOC, );

static const hr_kernel_t closes = {.host_inputs = 1, .compute = close_array};
#define CLOSE_DOC "lets the elements go; later uses are refused"
OLD_OP(TensorArrayClose, "handle: Ref(string) ->", "", hr_infer_none, closes, CLOSE_DOC, .deprecated = 16,
       .deprecated_why = "Use TensorArrayCloseV3");
OLD_OP(TensorArrayCloseV2, "handle: string ->", "", hr_infer_none, closes, CLOSE_DOC, .deprecated = 26,
       .deprecated_why = "Use TensorArrayCloseV3");
OP(TensorArrayCloseV3, "handle: resource ->", "", hr_infer_none, closes, CLOSE_DOC, );
