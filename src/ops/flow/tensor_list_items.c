/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of tensors by element: made empty or of a length, read, set, grown at the end, resized; joined end to end. */
#include <stdio.h>
#include "ops/flow/tensor_list.h"
#include "ops/flow/tensor_list_infer.h"

extern const hr_op_t hr_op_EmptyTensorList, hr_op_TensorListReserve, hr_op_TensorListLength, hr_op_TensorListElementShape,
    hr_op_TensorListGetItem, hr_op_TensorListSetItem, hr_op_TensorListPushBack, hr_op_TensorListPopBack, hr_op_TensorListResize,
    hr_op_TensorListConcatLists, hr_op_TensorListPushBackBatch;

static hr_status_t type_prepare(hr_prepare_ctx_t* p, void* prepared) {
  *(hr_dtype_t*)prepared = hr_attrs_type(p->attrs, "element_dtype");
  return NULL;
}
static hr_dtype_t element_type(const hr_kernel_ctx_t* k) { return *(const hr_dtype_t*)hr_prepared(k); }
#define TYPED(fn) HR_KERNELS({.prepared_bytes = sizeof(hr_dtype_t), .prepare = type_prepare, .compute = fn})

/* --- making -------------------------------------------------------------------------------------------------------------------------- */
static hr_status_t infer_make(hr_infer_t* s) {
  const hr_pshape_t* element;
  HR_TRY(hr_infer_want_rank_at_most(s, 0, 1));
  HR_TRY(hr_tensor_list_infer_element(s, 0, -1, &element));
  hr_tensor_list_infer_list(s, element);
  return NULL;
}

static hr_status_t make(hr_kernel_ctx_t* k, int64_t count, int64_t most) {
  hr_tensor_list_shape_t shape;
  hr_handle_t* list = NULL;
  HR_TRY(hr_tensor_list_shape_read(hr_input(k, 0), &shape));
  HR_TRY(hr_tensor_list_create(element_type(k), &shape.s, count, most, &list));
  return hr_tensor_list_output(k, 0, list);
}

static hr_status_t make_empty(hr_kernel_ctx_t* k) {
  int64_t most = -1;
  HR_TRY(hr_want_scalar(k, 1, "max_num_elements"));
  HR_TRY(hr_tensor_scalar_i64(hr_input(k, 1), "max_num_elements", &most));
  return make(k, 0, most);
}

static hr_status_t reserve(hr_kernel_ctx_t* k) {
  int64_t count = 0;
  HR_TRY(hr_want_scalar(k, 1, "num_elements"));
  HR_TRY(hr_tensor_scalar_i64(hr_input(k, 1), "num_elements", &count));
  if (count < 0)
    return HR_ERROR(INVALID_ARGUMENT, "The num_elements to reserve must be a non negative number, but got %lld", (long long)count);
  return make(k, count, -1);
}

/* --- looking ------------------------------------------------------------------------------------------------------------------------- */
static hr_status_t length(hr_kernel_ctx_t* k) {
  hr_handle_t* h = NULL;
  hr_tensor_t t = {0};
  HR_TRY(hr_tensor_list_input(k, 0, HR_DTYPE_INVALID, &h));
  HR_TRY(hr_tensor_from_i32((int32_t)hr_tensor_list_in(h)->count, &t));
  hr_output_move(k, 0, &t);
  return NULL;
}

static hr_status_t element_shape(hr_kernel_ctx_t* k) {
  hr_handle_t* h = NULL;
  hr_tensor_t* out = NULL;
  HR_TRY(hr_tensor_list_input(k, 0, HR_DTYPE_INVALID, &h));
  const hr_pshape_t* s = h->shape ? h->shape : &hr_pshape_unknown;
  hr_shape_t shape = s->rank < 0 ? hr_shape_scalar() : hr_shape_vector(s->rank);
  HR_TRY(hr_output(k, 0, &shape, &out));
  for (int64_t i = 0; i < out->count; ++i) hr_tensor_set_index(out, i, s->rank < 0 ? -1 : s->dims[i]);
  return NULL;
}

static hr_status_t infer_element_shape(hr_infer_t* s) { /* a list of unknown rank may still turn out to have one */
  const hr_pshape_t* element = hr_tensor_list_infer_held(s, 0);
  return element->rank < 0 ? NULL : hr_infer_set_vector(s, 0, element->rank);
}

static hr_status_t read_index(hr_kernel_ctx_t* k, int input, const char* verb, int64_t count, int64_t* out) {
  HR_TRY(hr_tensor_scalar_i64(hr_input(k, input), "index", out));
  if (*out >= 0 && *out < count) return NULL;
  return HR_ERROR(INVALID_ARGUMENT, "Trying to %s element %lld in a list with %lld elements, counted from 0", verb, (long long)*out,
                  (long long)count);
}

static hr_status_t get_item(hr_kernel_ctx_t* k) {
  hr_handle_t* h = NULL;
  hr_tensor_t t = {0};
  int64_t at = 0;
  HR_TRY(hr_tensor_list_input(k, 0, element_type(k), &h));
  HR_TRY(read_index(k, 1, "access", hr_tensor_list_in(h)->count, &at));
  HR_TRY(hr_tensor_list_get(h, at, hr_input(k, 2), true, &t));
  hr_output_move(k, 0, &t);
  return NULL;
}

static hr_status_t infer_get(hr_infer_t* s) {
  const hr_pshape_t* element;
  HR_TRY(hr_infer_want_rank_at_most(s, 2, 1));
  HR_TRY(hr_tensor_list_infer_element(s, 2, 0, &element));
  hr_infer_set(s, 0, element);
  return NULL;
}

static void grad_get(hr_grad_ctx_t* g) { /* a list with dy at the element */
  hr_value_t list = hr_grad_input(g, 0);
  hr_named_attr_t type = hr_tensor_list_dtype(g);
  hr_value_t empty = hr_emit(g, "TensorListReserve",
                             HR_VALUES(hr_tensor_list_emit_element_shape(g, list), hr_tensor_list_emit_length(g, list)), HR_ATTRS(type));
  hr_grad_give(g, 0, hr_emit(g, "TensorListSetItem", HR_VALUES(empty, hr_grad_input(g, 1), hr_grad_upstream(g, 0)), HR_ATTRS(type)));
}

/* --- changing ------------------------------------------------------------------------------------------------------------------------ */
typedef struct {
  hr_dtype_t type;
  bool grows;
} set_t;
static hr_status_t set_prepare(hr_prepare_ctx_t* p, void* prepared) {
  *(set_t*)prepared = (set_t){hr_attrs_type(p->attrs, "element_dtype"), hr_attrs_bool(p->attrs, "resize_if_index_out_of_bounds")};
  return NULL;
}

static hr_status_t set_item(hr_kernel_ctx_t* k) {
  const set_t* s = hr_prepared(k);
  hr_handle_t* h = NULL;
  int64_t at = 0;
  HR_TRY(hr_tensor_list_input(k, 0, s->type, &h));
  int64_t count = hr_tensor_list_in(h)->count;
  HR_TRY(hr_want_scalar(k, 1, "index")); /* reading takes one of any shape */
  HR_TRY(read_index(k, 1, "modify", s->grows ? INT32_MAX : count, &at));
  HR_TRY(hr_tensor_list_edit(k, 0, 0, s->type, at + 1, &h));
  hr_tensor_list_t* l = hr_tensor_list_in(h);
  if (at >= l->count) l->count = at + 1;
  return hr_tensor_list_set(h, at, hr_input(k, 2), "Tried to set a tensor with incompatible shape at a list index. Item");
}

static void grad_set(hr_grad_ctx_t* g) {
  hr_value_t list = hr_grad_input(g, 0), at = hr_grad_input(g, 1), item = hr_grad_input(g, 2), dlist = hr_grad_upstream(g, 0);
  hr_named_attr_t type = hr_tensor_list_dtype(g);
  if (hr_grad_wanted(g, 0)) {
    hr_value_t without = hr_emit(g, "TensorListSetItem", HR_VALUES(dlist, at, hr_emit_zeros_like(g, item)), HR_ATTRS(type));
    if (hr_attrs_bool(hr_grad_attrs(g), "resize_if_index_out_of_bounds"))
      without = hr_emit2(g, "TensorListResize", without, hr_tensor_list_emit_length(g, list));
    hr_grad_give(g, 0, without);
  }
  if (hr_grad_wanted(g, 2))
    hr_grad_give(g, 2, hr_emit(g, "TensorListGetItem", HR_VALUES(dlist, at, hr_emit_shape(g, item)), HR_ATTRS(type)));
}

static hr_status_t push_back(hr_kernel_ctx_t* k) {
  hr_handle_t* h = NULL;
  HR_TRY(hr_tensor_list_input(k, 0, element_type(k), &h));
  int64_t count = hr_tensor_list_in(h)->count;
  if (hr_tensor_list_in(h)->most >= 0 && count >= hr_tensor_list_in(h)->most)
    return HR_ERROR(INVALID_ARGUMENT, "Tried to push item into a full list of %lld elements (max_num_elements)", (long long)count);
  HR_TRY(hr_tensor_list_edit(k, 0, 0, element_type(k), count + 1, &h));
  hr_tensor_list_in(h)->count = count + 1;
  return hr_tensor_list_set(h, count, hr_input(k, 1), "Tried to append a tensor with incompatible shape to a list. Op");
}

static void grad_push(hr_grad_ctx_t* g) {
  hr_value_t popped = hr_emit(g, "TensorListPopBack", HR_VALUES(hr_grad_upstream(g, 0), hr_emit_shape(g, hr_grad_input(g, 1))),
                              HR_ATTRS(hr_tensor_list_dtype(g)));
  if (hr_grad_wanted(g, 0)) hr_grad_give(g, 0, popped);
  if (hr_grad_wanted(g, 1)) hr_grad_give(g, 1, hr_emit_nth(popped, 1));
}

static hr_status_t pop_back(hr_kernel_ctx_t* k) {
  hr_handle_t* h = NULL;
  hr_tensor_t t = {0};
  HR_TRY(hr_tensor_list_input(k, 0, element_type(k), &h));
  int64_t count = hr_tensor_list_in(h)->count;
  if (count == 0) return HR_ERROR(INVALID_ARGUMENT, "Trying to pop from an empty list");
  HR_TRY(hr_tensor_list_get(h, count - 1, hr_input(k, 1), false, &t));
  hr_output_move(k, 1, &t);
  HR_TRY(hr_tensor_list_edit(k, 0, 0, element_type(k), count, &h));
  hr_tensor_list_t* l = hr_tensor_list_in(h);
  hr_tensor_release(&l->items[--l->count]);
  return NULL;
}

static hr_status_t infer_pop(hr_infer_t* s) {
  hr_infer_set(s, 1, hr_tensor_list_infer_held(s, 0)); /* input 1 binds only an element that is not set */
  return hr_tensor_list_infer_same(s);
}

static void grad_pop(hr_grad_ctx_t* g) {
  hr_grad_give(
      g, 0, hr_emit(g, "TensorListPushBack", HR_VALUES(hr_grad_upstream(g, 0), hr_grad_upstream(g, 1)), HR_ATTRS(hr_tensor_list_dtype(g))));
}

static hr_status_t resize(hr_kernel_ctx_t* k) {
  hr_handle_t* h = NULL;
  int64_t count = 0;
  HR_TRY(hr_want_scalar(k, 1, "size"));
  HR_TRY(hr_tensor_scalar_i64(hr_input(k, 1), "size", &count));
  if (count < 0) return HR_ERROR(INVALID_ARGUMENT, "TensorListSlice expects size to be non-negative. Got: %lld", (long long)count);
  HR_TRY(hr_tensor_list_edit(k, 0, 0, HR_DTYPE_INVALID, count, &h));
  hr_tensor_list_t* l = hr_tensor_list_in(h);
  while (l->count > count) hr_tensor_release(&l->items[--l->count]);
  l->count = count;
  return NULL;
}

static void grad_resize(hr_grad_ctx_t* g) {
  hr_value_t dy = hr_grad_upstream(g, 0);
  hr_grad_give(g, 0, hr_emit2(g, "TensorListResize", dy, hr_tensor_list_emit_length(g, hr_grad_input(g, 0))));
}

/* --- several lists ------------------------------------------------------------------------------------------------------------------- */
/* Element i of a tensor of lists. */
static hr_status_t list_at(const hr_kernel_ctx_t* k, int input, int64_t i, hr_handle_t** out) {
  const hr_tensor_t* lists = hr_input(k, input);
  hr_handle_t* h = lists->dtype == HR_VARIANT && i < lists->count ? ((hr_handle_t* const*)lists->data)[i] : NULL;
  if (!hr_tensor_list_is(h) || h->dtype != element_type(k))
    return HR_ERROR(INVALID_ARGUMENT, "element %lld of input %d is not a list of %s tensors", (long long)i, input,
                    hr_dtype_name((int)element_type(k)));
  *out = h;
  return NULL;
}

static hr_status_t join_lists(const hr_handle_t* a, const hr_handle_t* b, hr_handle_t** out) {
  const hr_tensor_list_t *first = hr_tensor_list_in(a), *second = hr_tensor_list_in(b);
  if ((a->shape || b->shape) && !hr_pshape_equal(a->shape ? a->shape : &hr_pshape_unknown, b->shape ? b->shape : &hr_pshape_unknown))
    return HR_ERROR(INVALID_ARGUMENT, "element shapes are not identical: lists to be joined must agree on theirs");
  HR_TRY(hr_tensor_list_copy(a, first->count + second->count, out));
  hr_tensor_list_t* l = hr_tensor_list_in(*out);
  for (int64_t i = 0; i < second->count; ++i)
    if (second->items[i].buffer) hr_tensor_share(&second->items[i], &l->items[first->count + i]);
  l->count = first->count + second->count;
  return NULL;
}

/* Two lists, or as many pairs of them as the inputs have elements. */
static hr_status_t concat_lists(hr_kernel_ctx_t* k) {
  const hr_tensor_t *a = hr_input(k, 0), *b = hr_input(k, 1);
  hr_tensor_t* out = NULL;
  char text[2][HR_SHAPE_TEXT];
  if (!hr_shape_equal(&a->shape, &b->shape))
    return HR_ERROR(INVALID_ARGUMENT, "input_a.shape() != input_b.shape(): %s vs. %s", hr_shape_format(&a->shape, text[0]),
                    hr_shape_format(&b->shape, text[1]));
  HR_TRY(hr_output(k, 0, &a->shape, &out));
  for (int64_t i = 0; i < a->count; ++i) {
    hr_handle_t *first = NULL, *second = NULL;
    HR_TRY(list_at(k, 0, i, &first));
    HR_TRY(list_at(k, 1, i, &second));
    HR_TRY(join_lists(first, second, (hr_handle_t**)out->data + i));
  }
  return NULL;
}

/* Row i of the tensor goes to the end of list i. */
static hr_status_t push_row(hr_handle_t* list, const hr_tensor_t* rows, int64_t i) {
  hr_tensor_t row = {0}, item = {0};
  hr_shape_t shape = rows->shape;
  memmove(shape.dims, shape.dims + 1, (size_t)(--shape.rank) * sizeof *shape.dims);
  HR_TRY(hr_tensor_rows(rows, i, i + 1, &row));
  hr_status_t status = hr_tensor_reshape(&row, &shape, &item);
  hr_tensor_list_t* l = hr_tensor_list_in(list);
  char tried[96];
  snprintf(tried, sizeof tried, "Tried to append a tensor with incompatible shape to a list at index %lld. Op", (long long)i);
  if (!status) status = hr_tensor_list_set(list, l->count, &item, tried);
  if (!status) ++l->count;
  hr_tensor_release(&item);
  hr_tensor_release(&row);
  return status;
}

static hr_status_t push_batch(hr_kernel_ctx_t* k) {
  const hr_tensor_t *lists = hr_input(k, 0), *rows = hr_input(k, 1);
  hr_tensor_t* out = NULL;
  if (rows->shape.rank < 1 || rows->shape.dims[0] != lists->count || lists->shape.rank != 1)
    return HR_ERROR(INVALID_ARGUMENT, "a batch must have a row for each of %lld lists", (long long)lists->count);
  HR_TRY(hr_output(k, 0, &lists->shape, &out));
  for (int64_t i = 0; i < lists->count; ++i) {
    hr_handle_t *h = NULL, **place = (hr_handle_t**)out->data + i;
    HR_TRY(list_at(k, 0, i, &h));
    HR_TRY(hr_tensor_list_copy(h, hr_tensor_list_in(h)->count + 1, place));
    HR_TRY(push_row(*place, rows, i));
  }
  return NULL;
}

/* --- definitions ---------------------------------------------------------------------------------------------------------------------- */
const hr_op_t hr_op_EmptyTensorList = {.name = "EmptyTensorList",
                                       .sig = "element_shape: shape_type; max_num_elements: int32 -> handle: variant",
                                       .attrs = "element_dtype: type; shape_type: type{int32,int64}",
                                       .shape = infer_make,
                                       TYPED(make_empty),
                                       .doc = "an empty list",
                                       HR_HERE};
const hr_op_t hr_op_TensorListReserve = {.name = "TensorListReserve",
                                         .sig = "element_shape: shape_type; num_elements: int32 -> handle: variant",
                                         .attrs = "element_dtype: type; shape_type: type{int32,int64}",
                                         .shape = infer_make,
                                         TYPED(reserve),
                                         .doc = "a list of num_elements elements that are not set",
                                         HR_HERE};
const hr_op_t hr_op_TensorListLength = {.name = "TensorListLength",
                                        .sig = "input_handle: variant -> length: int32",
                                        .attrs = "",
                                        .shape = hr_infer_scalars,
                                        .grad = hr_grad_none,
                                        HR_KERNELS(HR_CPU_ANY(length)),
                                        .doc = "the number of elements",
                                        HR_HERE};
const hr_op_t hr_op_TensorListElementShape = {.name = "TensorListElementShape",
                                              .sig = "input_handle: variant -> element_shape: shape_type",
                                              .attrs = "shape_type: type{int32,int64}",
                                              .shape = infer_element_shape,
                                              .grad = hr_grad_none,
                                              HR_KERNELS(HR_CPU_ANY(element_shape)),
                                              .doc = "what all elements' shapes have in common; -1 where nothing is known",
                                              HR_HERE};
const hr_op_t hr_op_TensorListGetItem = {.name = "TensorListGetItem",
                                         .sig = "input_handle: variant; index: int32; element_shape: Tshape -> item: element_dtype",
                                         .attrs = "element_dtype: type; Tshape: type{int32,int64} = int32",
                                         .shape = infer_get,
                                         .grad = grad_get,
                                         TYPED(get_item),
                                         .doc = "item = list[index]; zeros if it was not set",
                                         HR_HERE};
const hr_op_t hr_op_TensorListSetItem = {.name = "TensorListSetItem",
                                         .sig = "input_handle: variant; index: int32; item: element_dtype -> output_handle: variant",
                                         .attrs = "element_dtype: type; resize_if_index_out_of_bounds: bool = false",
                                         .shape = hr_tensor_list_infer_same,
                                         .grad = grad_set,
                                         HR_KERNELS({.prepared_bytes = sizeof(set_t), .prepare = set_prepare, .compute = set_item}),
                                         .doc = "the list with item at index",
                                         HR_HERE};
const hr_op_t hr_op_TensorListPushBack = {.name = "TensorListPushBack",
                                          .sig = "input_handle: variant; tensor: element_dtype -> output_handle: variant",
                                          .attrs = "element_dtype: type",
                                          .shape = hr_tensor_list_infer_same,
                                          .grad = grad_push,
                                          TYPED(push_back),
                                          .doc = "the list with one element more",
                                          HR_HERE};
const hr_op_t hr_op_TensorListPopBack = {
    .name = "TensorListPopBack",
    .sig = "input_handle: variant; element_shape: int32 -> output_handle: variant; tensor: element_dtype",
    .attrs = "element_dtype: type",
    .shape = infer_pop,
    .grad = grad_pop,
    TYPED(pop_back),
    .doc = "the list without its last element, and that element",
    HR_HERE};
const hr_op_t hr_op_TensorListResize = {.name = "TensorListResize",
                                        .sig = "input_handle: variant; size: int32 -> output_handle: variant",
                                        .attrs = "",
                                        .shape = hr_tensor_list_infer_same,
                                        .grad = grad_resize,
                                        HR_KERNELS(HR_CPU_ANY(resize)),
                                        .doc = "the list cut, or made longer by elements that are not set",
                                        HR_HERE};
const hr_op_t hr_op_TensorListConcatLists = {.name = "TensorListConcatLists",
                                             .sig = "input_a: variant; input_b: variant -> output: variant",
                                             .attrs = "element_dtype: type",
                                             .shape = hr_tensor_list_infer_same,
                                             .grad = hr_grad_none,
                                             TYPED(concat_lists),
                                             .doc = "a's elements, then b's",
                                             HR_HERE};
const hr_op_t hr_op_TensorListPushBackBatch = {.name = "TensorListPushBackBatch",
                                               .sig = "input_handles: variant; tensor: element_dtype -> output_handles: variant",
                                               .attrs = "element_dtype: type",
                                               .shape = hr_tensor_list_infer_same,
                                               .grad = hr_grad_none,
                                               TYPED(push_batch),
                                               .doc = "list i with row i of the tensor at its end",
                                               HR_HERE};
