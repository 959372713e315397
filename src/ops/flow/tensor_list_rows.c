/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of tensors and tensors of rows: a list stacked, gathered, joined along the first axis; a tensor taken apart into a list. Elements
 * that were not set read as zeros. Rows taken out of a tensor share its memory. */
#include "ops/flow/tensor_list.h"
#include "ops/flow/tensor_list_infer.h"

extern const hr_op_t hr_op_TensorListStack, hr_op_TensorListGather, hr_op_TensorListFromTensor, hr_op_TensorListScatter,
    hr_op_TensorListScatterV2, hr_op_TensorListScatterIntoExistingList, hr_op_TensorListConcat, hr_op_TensorListConcatV2,
    hr_op_TensorListSplit;

typedef struct {
  hr_dtype_t type;
  int64_t count;            /* attr num_elements */
  const hr_pshape_t* shape; /* attr element_shape */
} rows_t;

static hr_status_t rows_prepare(hr_prepare_ctx_t* p, void* prepared) {
  rows_t* r = prepared;
  const hr_attr_t *count = hr_attrs_find(p->attrs, "num_elements"), *shape = hr_attrs_find(p->attrs, "element_shape");
  r->type = hr_attrs_type(p->attrs, "element_dtype");
  r->count = count ? count->u.i : -1;
  r->shape = shape ? shape->u.shape : &hr_pshape_unknown;
  return NULL;
}
#define ROWS(fn) HR_KERNELS({.prepared_bytes = sizeof(rows_t), .prepare = rows_prepare, .compute = fn})

/* --- to rows ------------------------------------------------------------------------------------------------------------------------- */
/* count elements, of which element(i) is the i-th, as rows; each of the shape that all agree on. */
static hr_status_t write_rows(hr_kernel_ctx_t* k, const hr_handle_t* h, hr_tensor_list_shape_t* shape, int64_t count,
                              const int64_t* which) {
  const hr_tensor_list_t* l = hr_tensor_list_in(h);
  hr_shape_t rows;
  hr_tensor_t* out = NULL;
  HR_TRY(hr_tensor_list_merge_shapes(h, count, which, shape));
  if (!hr_pshape_to_shape(&shape->s, &rows)) {
    char text[HR_SHAPE_TEXT];
    const char* what = which ? count ? "Tried to gather uninitialized tensors from a list with non-fully-defined element_shape"
                                     : "Tried to gather 0-elements from a list with non-fully-defined shape"
                       : count ? "Tried to stack list which only contains uninitialized tensors and has a non-fully-defined element_shape"
                               : "Tried to stack elements of an empty list with non-fully-defined element_shape";
    return HR_ERROR(INVALID_ARGUMENT, "%s: %s", what, hr_pshape_format(&shape->s, text));
  }
  if (rows.rank == HR_MAX_RANK) return HR_ERROR(UNIMPLEMENTED, "a tensor of rank %d", rows.rank + 1);
  memmove(rows.dims + 1, rows.dims, (size_t)rows.rank++ * sizeof *rows.dims);
  rows.dims[0] = count;
  HR_TRY(hr_shape_check(&rows));
  int64_t size = hr_shape_count_range(&rows, 1, rows.rank);
  HR_TRY(hr_output(k, 0, &rows, &out));
  for (int64_t i = 0; i < count; ++i) {
    const hr_tensor_t* item = &l->items[which ? which[i] : i];
    if (item->buffer)
      HR_TRY(hr_tensor_copy_elements(out, i * size, item, 0, size));
    else if (hr_dtype_is_plain(out->dtype))
      memset((char*)out->data + (size_t)(i * size) * hr_dtype_size(out->dtype), 0, (size_t)size * hr_dtype_size(out->dtype));
  }
  return NULL;
}

static hr_status_t stack(hr_kernel_ctx_t* k) {
  const rows_t* r = hr_prepared(k);
  hr_handle_t* h = NULL;
  hr_tensor_list_shape_t shape;
  HR_TRY(hr_tensor_list_input(k, 0, r->type, &h));
  int64_t count = hr_tensor_list_in(h)->count;
  if (r->count != -1 && r->count != count)
    return HR_ERROR(INVALID_ARGUMENT, "Operation expected a list with %lld elements but got a list with %lld elements", (long long)r->count,
                    (long long)count);
  HR_TRY(hr_tensor_list_shape_read(hr_input(k, 1), &shape));
  return write_rows(k, h, &shape, count, NULL);
}

static hr_status_t infer_stack(hr_infer_t* s) {
  const hr_pshape_t* element;
  HR_TRY(hr_tensor_list_infer_element(s, 1, 0, &element));
  return hr_tensor_list_infer_rows(s, 0, hr_attrs_int(hr_infer_attrs(s), "num_elements"), element);
}

static hr_value_t emit_from_tensor(hr_grad_ctx_t* g, hr_value_t rows) {
  return hr_emit(g, "TensorListFromTensor", HR_VALUES(rows, hr_tensor_list_emit_row_shape(g, rows)), HR_ATTRS(hr_tensor_list_dtype(g)));
}

static void grad_stack(hr_grad_ctx_t* g) { hr_grad_give(g, 0, emit_from_tensor(g, hr_grad_upstream(g, 0))); }

static hr_status_t index_error(int64_t at, int64_t limit, bool scatters) {
  if (!scatters)
    return HR_ERROR(INVALID_ARGUMENT, "Trying to gather element %lld in a list with %lld elements, counted from 0", (long long)at,
                    (long long)limit);
  if (at < 0) return HR_ERROR(INVALID_ARGUMENT, "Indices in TensorListScatter must all be non-negative, not %lld", (long long)at);
  return HR_ERROR(INVALID_ARGUMENT, "TensorListScatter: Trying to scatter at index %lld in list with size %lld", (long long)at,
                  (long long)limit);
}

static hr_status_t read_indices(const hr_tensor_t* t, int64_t limit, bool scatters, hr_kernel_ctx_t* k, hr_tensor_t* out) {
  hr_shape_t shape = hr_shape_vector(t->count); /* indices of any shape are taken in their order */
  HR_TRY(hr_temp(k, HR_I64, &shape, out));
  for (int64_t i = 0; i < t->count; ++i) {
    int64_t at = hr_tensor_index_at(t, i);
    ((int64_t*)out->data)[i] = at;
    if (at >= 0 && at < limit) continue;
    hr_tensor_release(out);
    return index_error(at, limit, scatters);
  }
  return NULL;
}

static hr_status_t gather(hr_kernel_ctx_t* k) {
  const rows_t* r = hr_prepared(k);
  hr_handle_t* h = NULL;
  hr_tensor_t which = {0};
  hr_tensor_list_shape_t shape;
  HR_TRY(hr_tensor_list_input(k, 0, r->type, &h));
  HR_TRY(hr_tensor_list_shape_read(hr_input(k, 2), &shape));
  HR_TRY(read_indices(hr_input(k, 1), hr_tensor_list_in(h)->count, false, k, &which));
  hr_status_t status = write_rows(k, h, &shape, which.count, which.data);
  hr_tensor_release(&which);
  return status;
}

static hr_status_t infer_gather(hr_infer_t* s) {
  const hr_pshape_t* element;
  HR_TRY(hr_tensor_list_infer_element(s, 2, 0, &element));
  const hr_pshape_t* indices = hr_infer_input(s, 1);
  return hr_tensor_list_infer_rows(s, 0, indices->rank == 1 ? indices->dims[0] : -1, element);
}

static void grad_gather(hr_grad_ctx_t* g) {
  hr_value_t list = hr_grad_input(g, 0);
  hr_grad_give(g, 0,
               hr_emit(g, "TensorListScatterV2",
                       HR_VALUES(hr_grad_upstream(g, 0), hr_grad_input(g, 1), hr_tensor_list_emit_element_shape(g, list),
                                 hr_tensor_list_emit_length(g, list)),
                       HR_ATTRS(hr_tensor_list_dtype(g))));
}

/* --- from rows ----------------------------------------------------------------------------------------------------------------------- */
/* Rows [begin, end) as an element: without the first axis when `drop`. */
static hr_status_t set_rows(hr_handle_t* h, int64_t at, const hr_tensor_t* rows, int64_t begin, int64_t end, bool drop) {
  hr_tensor_t part = {0}, item = {0};
  HR_TRY(hr_tensor_rows(rows, begin, end, &part));
  hr_shape_t shape = part.shape;
  if (drop) memmove(shape.dims, shape.dims + 1, (size_t)(--shape.rank) * sizeof *shape.dims);
  hr_status_t status = hr_tensor_reshape(&part, &shape, &item);
  if (!status) status = hr_tensor_list_set(h, at, &item, "Specified a list with incompatible shape for the rows of a tensor. Row");
  hr_tensor_release(&item);
  hr_tensor_release(&part);
  return status;
}

static hr_status_t want_rows(const hr_tensor_t* t) {
  return t->shape.rank > 0 ? NULL : HR_ERROR(INVALID_ARGUMENT, "Tensor must be at least a vector, but saw shape: []");
}

static hr_status_t finish_list(hr_kernel_ctx_t* k, hr_handle_t* take_list, hr_status_t status) {
  if (!status) return hr_tensor_list_output(k, 0, take_list);
  hr_handle_release(take_list);
  return status;
}

static hr_status_t from_tensor(hr_kernel_ctx_t* k) {
  const rows_t* r = hr_prepared(k);
  const hr_tensor_t* rows = hr_input(k, 0);
  hr_tensor_list_shape_t shape;
  hr_handle_t* list = NULL;
  HR_TRY(want_rows(rows));
  HR_TRY(hr_tensor_list_shape_read(hr_input(k, 1), &shape));
  hr_tensor_list_shape_t row = shape; /* there may be none that would be compared */
  HR_TRY(hr_tensor_list_shape_merge(&row, rows->shape.rank - 1, rows->shape.dims + 1));
  HR_TRY(hr_tensor_list_create(r->type, &shape.s, rows->shape.dims[0], -1, &list));
  hr_status_t status = NULL;
  for (int64_t i = 0; i < rows->shape.dims[0] && !status; ++i) status = set_rows(list, i, rows, i, i + 1, true);
  return finish_list(k, list, status);
}

static hr_status_t infer_from(hr_infer_t* s) {
  const hr_pshape_t* element;
  HR_TRY(hr_infer_want_rank_at_least(s, 0, 1, NULL));
  HR_TRY(hr_infer_want_rank_at_most(s, 1, 1));
  HR_TRY(hr_tensor_list_infer_element(s, 1, -1, &element));
  const hr_pshape_t *rows = hr_infer_input(s, 0), *row;
  if (rows->rank > 0) {
    HR_TRY(hr_pshape_make(hr_infer_arena(s), rows->rank - 1, rows->dims + 1, &row));
    HR_TRY(hr_infer_merge(s, element, row, NULL));
  }
  hr_tensor_list_infer_list(s, element); /* as stated: elements that come later may have another shape than the rows */
  return NULL;
}

static void grad_from(hr_grad_ctx_t* g) {
  hr_value_t shape = hr_tensor_list_emit_row_shape(g, hr_grad_input(g, 0));
  hr_grad_give(g, 0, hr_emit(g, "TensorListStack", HR_VALUES(hr_grad_upstream(g, 0), shape), HR_ATTRS(hr_tensor_list_dtype(g))));
}

static hr_status_t scatter_into(hr_handle_t* list, const hr_tensor_t* rows, const hr_tensor_t* which) {
  if (which->count != rows->shape.dims[0])
    return HR_ERROR(INVALID_ARGUMENT, "Invalid number of rows in input tensor. Expected: %lld Actual: %lld", (long long)which->count,
                    (long long)rows->shape.dims[0]);
  for (int64_t i = 0; i < which->count; ++i) HR_TRY(set_rows(list, ((const int64_t*)which->data)[i], rows, i, i + 1, true));
  return NULL;
}

/* A new list, as long as asked for, or as the largest index needs. */
static hr_status_t scatter(hr_kernel_ctx_t* k) {
  const rows_t* r = hr_prepared(k);
  hr_tensor_list_shape_t shape;
  hr_tensor_t which = {0};
  hr_handle_t* list = NULL;
  int64_t count = -1;
  HR_TRY(want_rows(hr_input(k, 0)));
  HR_TRY(hr_tensor_list_shape_read(hr_input(k, 2), &shape));
  if (hr_input_count(k) > 3) HR_TRY(hr_want_scalar(k, 3, "num_elements"));
  if (hr_input_count(k) > 3) HR_TRY(hr_tensor_scalar_i64(hr_input(k, 3), "num_elements", &count));
  if (count < -1) return HR_ERROR(INVALID_ARGUMENT, "TensorListScatter expects num_elements >= -1, found: %lld", (long long)count);
  HR_TRY(read_indices(hr_input(k, 1), count >= 0 ? count : INT32_MAX, true, k, &which));
  for (int64_t i = 0; count < 0 && i < which.count; ++i) {
    int64_t largest = -1;
    for (int64_t j = 0; j < which.count; ++j)
      if (((int64_t*)which.data)[j] > largest) largest = ((int64_t*)which.data)[j];
    count = largest + 1;
  }
  hr_status_t status = hr_tensor_list_create(r->type, &shape.s, count < 0 ? 0 : count, -1, &list);
  if (!status) status = finish_list(k, list, scatter_into(list, hr_input(k, 0), &which));
  hr_tensor_release(&which);
  return status;
}

static hr_status_t infer_scatter(hr_infer_t* s) {
  const hr_pshape_t* element;
  HR_TRY(hr_infer_want_rank_at_most(s, 2, 1));
  HR_TRY(hr_tensor_list_infer_element(s, 2, -1, &element));
  hr_tensor_list_infer_list(s, element);
  return NULL;
}

static hr_value_t emit_gather(hr_grad_ctx_t* g, hr_value_t indices, hr_value_t rows) {
  return hr_emit(g, "TensorListGather", HR_VALUES(hr_grad_upstream(g, 0), indices, hr_tensor_list_emit_row_shape(g, rows)),
                 HR_ATTRS(hr_tensor_list_dtype(g)));
}

static void grad_scatter(hr_grad_ctx_t* g) { hr_grad_give(g, 0, emit_gather(g, hr_grad_input(g, 1), hr_grad_input(g, 0))); }

static hr_status_t infer_scatter_existing(hr_infer_t* s) {
  HR_TRY(hr_infer_want_rank(s, 2, 1, NULL));
  return hr_tensor_list_infer_same(s);
}

static hr_status_t scatter_existing(hr_kernel_ctx_t* k) {
  const rows_t* r = hr_prepared(k);
  hr_handle_t* h = NULL;
  hr_tensor_t which = {0};
  HR_TRY(want_rows(hr_input(k, 1)));
  HR_TRY(hr_want_vector(k, 2, "indices"));
  HR_TRY(hr_tensor_list_input(k, 0, r->type, &h));
  HR_TRY(read_indices(hr_input(k, 2), INT32_MAX, true, k, &which));
  int64_t needed = hr_tensor_list_in(h)->count;
  for (int64_t i = 0; i < which.count; ++i)
    if (((int64_t*)which.data)[i] >= needed) needed = ((int64_t*)which.data)[i] + 1;
  hr_status_t status = hr_tensor_list_edit(k, 0, 0, r->type, needed, &h);
  if (!status) hr_tensor_list_in(h)->count = needed;
  if (!status) status = scatter_into(h, hr_input(k, 1), &which);
  hr_tensor_release(&which);
  return status;
}

static void grad_scatter_existing(hr_grad_ctx_t* g) {
  hr_value_t rows = hr_grad_input(g, 1), indices = hr_grad_input(g, 2);
  if (hr_grad_wanted(g, 0))
    hr_grad_give(g, 0,
                 hr_emit(g, "TensorListScatterIntoExistingList", HR_VALUES(hr_grad_upstream(g, 0), hr_emit_zeros_like(g, rows), indices),
                         HR_ATTRS(hr_tensor_list_dtype(g))));
  if (hr_grad_wanted(g, 1)) hr_grad_give(g, 1, emit_gather(g, indices, rows));
}

/* --- end to end ----------------------------------------------------------------------------------------------------------------------- */
/* What the op and the list say of pieces, the shape of one without its first axis, also by all that are set, and the rows of those that are
 * not set and have no length of their own: what is said, or what all that are set have. */
typedef struct {
  hr_tensor_list_shape_t *stated, *piece;
  int64_t rows;
  bool binds; /* what is said of rows holds for those that are set too: the second version */
} pieces_t;

static const char few_axes[] = "Concat requires elements to be at least vectors, found scalars instead";

static hr_status_t pieces_add(pieces_t* p, int64_t i, const hr_shape_t* item) {
  if (item->rank == 0)
    return HR_ERROR(INVALID_ARGUMENT, "Concat saw a scalar shape at index %lld but requires at least vectors", (long long)i);
  HR_TRY(hr_tensor_list_shape_merge(p->piece, item->rank - 1, item->dims + 1));
  if (p->binds && p->stated->s.rank > 0 && p->stated->s.dims[0] >= 0 && p->stated->s.dims[0] != item->dims[0])
    return HR_ERROR(INVALID_ARGUMENT, "First entry of element_shape input does not match the first dim of element %lld: %lld vs. %lld",
                    (long long)i, (long long)p->stated->s.dims[0], (long long)item->dims[0]);
  if (p->stated->s.rank < 0 || p->stated->s.dims[0] < 0) p->rows = p->rows == -1 || p->rows == item->dims[0] ? item->dims[0] : -2;
  return NULL;
}

static hr_status_t pieces_find(const hr_handle_t* h, const hr_pshape_t* stated, pieces_t* p) {
  const hr_tensor_list_t* l = hr_tensor_list_in(h);
  hr_tensor_list_shape_of(stated, p->stated);
  if (h->shape) HR_TRY(hr_tensor_list_shape_merge(p->stated, h->shape->rank, h->shape->dims));
  if (p->stated->s.rank == 0) return HR_ERROR(INVALID_ARGUMENT, few_axes);
  p->piece->s.rank = -1;
  p->rows = p->stated->s.rank > 0 ? p->stated->s.dims[0] : -1;
  if (p->stated->s.rank > 0) HR_TRY(hr_tensor_list_shape_merge(p->piece, p->stated->s.rank - 1, p->stated->s.dims + 1));
  for (int64_t i = 0; i < l->count; ++i)
    if (l->items[i].buffer) HR_TRY(pieces_add(p, i, &l->items[i].shape));
  return NULL;
}

static hr_status_t piece_rows(const hr_tensor_list_t* l, int64_t i, const pieces_t* p, const hr_tensor_t* leading, int64_t* out) {
  *out = p->rows;
  if (l->items[i].buffer) *out = l->items[i].shape.dims[0];
  else if (leading && i < leading->count) HR_TRY(hr_tensor_i64_at(leading, i, out));
  if (*out >= 0) return NULL;
  return HR_ERROR(INVALID_ARGUMENT, "List contains uninitialized tensor at index %lld but leading_dims has only %lld elements",
                  (long long)i, (long long)(leading ? leading->count : 0));
}

/* Output 1: how many rows each piece has. */
static hr_status_t piece_lengths(hr_kernel_ctx_t* k, const hr_tensor_list_t* l, const pieces_t* p, const hr_tensor_t* leading,
                                 int64_t* out_total) {
  hr_shape_t shape = hr_shape_vector(l->count);
  hr_tensor_t* lengths = NULL;
  *out_total = 0;
  HR_TRY(hr_output(k, 1, &shape, &lengths));
  for (int64_t i = 0; i < l->count; ++i) {
    int64_t rows = 0;
    HR_TRY(piece_rows(l, i, p, leading, &rows));
    ((int64_t*)lengths->data)[i] = rows;
    *out_total += rows;
    if (*out_total > INT64_MAX / 2) return HR_ERROR(INVALID_ARGUMENT, "the pieces have more rows than can be counted");
  }
  return NULL;
}

static hr_status_t joined_shape(const hr_tensor_list_t* l, const pieces_t* p, hr_shape_t* rows) {
  char text[HR_SHAPE_TEXT];
  if (!hr_pshape_to_shape(&p->piece->s, rows)) {
    hr_pshape_format(&p->piece->s, text);
    if (l->count == 0)
      return HR_ERROR(INVALID_ARGUMENT,
                      "All except the first dimension must be fully defined when concating an empty tensor list. element_shape: %s", text);
    return HR_ERROR(INVALID_ARGUMENT,
                    "Trying to concat list with only uninitialized tensors but element_shape_except_first_dim is not fully defined: %s",
                    text);
  }
  if (rows->rank == HR_MAX_RANK) return HR_ERROR(UNIMPLEMENTED, "a tensor of rank %d", rows->rank + 1);
  memmove(rows->dims + 1, rows->dims, (size_t)rows->rank++ * sizeof *rows->dims);
  return NULL;
}

static hr_status_t join(hr_kernel_ctx_t* k, const hr_pshape_t* stated, const hr_tensor_t* leading) {
  const rows_t* r = hr_prepared(k);
  hr_handle_t* h = NULL;
  hr_tensor_list_shape_t said, piece;
  pieces_t pieces = {&said, &piece, -1, leading != NULL};
  hr_shape_t rows;
  hr_tensor_t* out = NULL;
  int64_t total = 0, at = 0;
  HR_TRY(hr_tensor_list_input(k, 0, r->type, &h));
  const hr_tensor_list_t* l = hr_tensor_list_in(h);
  HR_TRY(pieces_find(h, stated, &pieces));
  HR_TRY(joined_shape(l, &pieces, &rows));
  HR_TRY(piece_lengths(k, l, &pieces, leading, &total));
  rows.dims[0] = total;
  HR_TRY(hr_shape_check(&rows));
  HR_TRY(hr_output(k, 0, &rows, &out));
  if (hr_dtype_is_plain(out->dtype) && out->count) memset(out->data, 0, hr_tensor_bytes(out));
  const int64_t row = hr_shape_count_range(&rows, 1, rows.rank);
  for (int64_t i = 0; i < l->count; ++i) {
    int64_t length = 0;
    HR_TRY(piece_rows(l, i, &pieces, leading, &length));
    if (l->items[i].buffer) HR_TRY(hr_tensor_copy_elements(out, at, &l->items[i], 0, l->items[i].count));
    at += length * row;
  }
  return NULL;
}

static hr_status_t concat(hr_kernel_ctx_t* k) { return join(k, ((const rows_t*)hr_prepared(k))->shape, NULL); }

static hr_status_t concat_v2(hr_kernel_ctx_t* k) {
  hr_tensor_list_shape_t stated;
  HR_TRY(hr_tensor_list_shape_read(hr_input(k, 1), &stated));
  return join(k, &stated.s, hr_input(k, 2));
}

/* Any number of rows, each like those of a piece. */
static hr_status_t infer_joined(hr_infer_t* s, const hr_pshape_t* piece) {
  HR_TRY(hr_infer_set_vector(s, 1, -1));
  if (piece->rank < 0) return NULL;
  if (piece->rank == 0) return HR_ERROR(INVALID_ARGUMENT, few_axes);
  HR_TRY(hr_pshape_make(hr_infer_arena(s), piece->rank - 1, piece->dims + 1, &piece));
  return hr_tensor_list_infer_rows(s, 0, -1, piece);
}

static hr_status_t infer_concat(hr_infer_t* s) {
  const hr_pshape_t* piece;
  HR_TRY(hr_tensor_list_infer_merged(s, 0, hr_attrs_shape(hr_infer_attrs(s), "element_shape"), &piece));
  return infer_joined(s, piece);
}

static hr_status_t infer_concat_v2(hr_infer_t* s) {
  const hr_pshape_t* piece;
  HR_TRY(hr_infer_want_rank_at_most(s, 1, 1));
  HR_TRY(hr_tensor_list_infer_element(s, 1, 0, &piece));
  return infer_joined(s, piece);
}

static void grad_concat(hr_grad_ctx_t* g) {
  hr_grad_give(g, 0,
               hr_emit(g, "TensorListSplit",
                       HR_VALUES(hr_grad_upstream(g, 0), hr_tensor_list_emit_element_shape(g, hr_grad_input(g, 0)), hr_grad_output(g, 1)),
                       HR_ATTRS(hr_tensor_list_dtype(g))));
}

static hr_status_t check_lengths(const hr_tensor_t* lengths, int64_t rows) {
  int64_t total = 0;
  char text[HR_SHAPE_TEXT];
  if (lengths->shape.rank != 1)
    return HR_ERROR(INVALID_ARGUMENT, "Expected lengths to be a vector, received shape: %s", hr_shape_format(&lengths->shape, text));
  for (int64_t i = 0; i < lengths->count; ++i) {
    int64_t n = ((const int64_t*)lengths->data)[i];
    if (n < 0) return HR_ERROR(INVALID_ARGUMENT, "Invalid value in lengths: %lld", (long long)n);
    if (n > rows - total)
      return HR_ERROR(INVALID_ARGUMENT, "Attempting to slice [%lld, %lld] from tensor with length %lld (rows %lld of lengths[%lld])",
                      (long long)total, (long long)(total + n), (long long)rows, (long long)n, (long long)i);
    total += n;
  }
  return total == rows ? NULL : HR_ERROR(INVALID_ARGUMENT, "Unused values in tensor. Length of tensor: %lld Values used: %lld",
                                         (long long)rows, (long long)total);
}

/* A piece has any number of rows, so only what follows the first dimension is compared. */
static hr_status_t check_pieces(const hr_shape_t* rows, const hr_pshape_t* element) {
  char text[2][HR_SHAPE_TEXT];
  if (element->rank < 0) return NULL;
  if (element->rank < 1)
    return HR_ERROR(INVALID_ARGUMENT, "TensorListSplit requires element_shape to be at least of rank 1, but saw: []");
  bool same = element->rank == rows->rank;
  for (int d = 1; same && d < element->rank; ++d) same = element->dims[d] < 0 || element->dims[d] == rows->dims[d];
  return same ? NULL
              : HR_ERROR(INVALID_ARGUMENT, "tensor shape %s is not compatible with element_shape %s", hr_shape_format(rows, text[0]),
                         hr_pshape_format(element, text[1]));
}

static hr_status_t split(hr_kernel_ctx_t* k) {
  const rows_t* r = hr_prepared(k);
  const hr_tensor_t *rows = hr_input(k, 0), *lengths = hr_input(k, 2);
  hr_tensor_list_shape_t shape;
  hr_handle_t* list = NULL;
  int64_t at = 0;
  HR_TRY(want_rows(rows));
  HR_TRY(check_lengths(lengths, rows->shape.dims[0]));
  HR_TRY(hr_tensor_list_shape_read(hr_input(k, 1), &shape));
  HR_TRY(check_pieces(&rows->shape, &shape.s));
  HR_TRY(hr_tensor_list_create(r->type, &shape.s, lengths->count, -1, &list));
  hr_status_t status = NULL;
  for (int64_t i = 0; i < lengths->count && !status; ++i) {
    int64_t n = ((const int64_t*)lengths->data)[i];
    status = set_rows(list, i, rows, at, at + n, false);
    at += n;
  }
  return finish_list(k, list, status);
}

static hr_status_t infer_split(hr_infer_t* s) {
  const hr_pshape_t* element;
  HR_TRY(hr_infer_want_rank_at_least(s, 0, 1, NULL));
  HR_TRY(hr_infer_want_rank_at_most(s, 1, 1));
  HR_TRY(hr_tensor_list_infer_element(s, 1, -1, &element));
  hr_tensor_list_infer_list(s, element);
  return NULL;
}

static void grad_split(hr_grad_ctx_t* g) {
  hr_value_t any = hr_emit_const_i32(g, -1);
  hr_grad_give(
      g, 0,
      hr_emit(g, "TensorListConcatV2", HR_VALUES(hr_grad_upstream(g, 0), any, hr_grad_input(g, 2)), HR_ATTRS(hr_tensor_list_dtype(g))));
}

/* --- definitions ---------------------------------------------------------------------------------------------------------------------- */
const hr_op_t hr_op_TensorListStack = {.name = "TensorListStack",
                                       .sig = "input_handle: variant; element_shape: int32 -> tensor: element_dtype",
                                       .attrs = "element_dtype: type; num_elements: int = -1",
                                       .shape = infer_stack,
                                       .grad = grad_stack,
                                       ROWS(stack),
                                       .doc = "the elements as rows of a tensor",
                                       HR_HERE};
const hr_op_t hr_op_TensorListGather = {.name = "TensorListGather",
                                        .sig = "input_handle: variant; indices: int32; element_shape: int32 -> values: element_dtype",
                                        .attrs = "element_dtype: type",
                                        .shape = infer_gather,
                                        .grad = grad_gather,
                                        ROWS(gather),
                                        .doc = "the elements at indices as rows of a tensor",
                                        HR_HERE};
const hr_op_t hr_op_TensorListFromTensor = {.name = "TensorListFromTensor",
                                            .sig = "tensor: element_dtype; element_shape: shape_type -> output_handle: variant",
                                            .attrs = "element_dtype: type; shape_type: type{int32,int64}",
                                            .shape = infer_from,
                                            .grad = grad_from,
                                            ROWS(from_tensor),
                                            .doc = "the rows of a tensor as a list",
                                            HR_HERE};
const hr_op_t hr_op_TensorListScatter = {
    .name = "TensorListScatter",
    .sig = "tensor: element_dtype; indices: int32; element_shape: shape_type -> output_handle: variant",
    .attrs = "element_dtype: type; shape_type: type{int32,int64}",
    .shape = infer_scatter,
    .grad = grad_scatter,
    ROWS(scatter),
    .doc = "a list with row i at indices[i]",
    HR_HERE};
const hr_op_t hr_op_TensorListScatterV2 = {
    .name = "TensorListScatterV2",
    .sig = "tensor: element_dtype; indices: int32; element_shape: shape_type; num_elements: int32 -> output_handle: variant",
    .attrs = "element_dtype: type; shape_type: type{int32,int64}",
    .shape = infer_scatter,
    .grad = grad_scatter,
    ROWS(scatter),
    .doc = "a list of num_elements elements with row i at indices[i]",
    HR_HERE};
const hr_op_t hr_op_TensorListScatterIntoExistingList = {
    .name = "TensorListScatterIntoExistingList",
    .sig = "input_handle: variant; tensor: element_dtype; indices: int32 -> output_handle: variant",
    .attrs = "element_dtype: type",
    .shape = infer_scatter_existing,
    .grad = grad_scatter_existing,
    ROWS(scatter_existing),
    .doc = "the list with row i at indices[i]",
    HR_HERE};
const hr_op_t hr_op_TensorListConcat = {.name = "TensorListConcat",
                                        .sig = "input_handle: variant -> tensor: element_dtype; lengths: int64",
                                        .attrs = "element_dtype: type; element_shape: shape = ?",
                                        .shape = infer_concat,
                                        .grad = grad_concat,
                                        ROWS(concat),
                                        .doc = "the elements joined along their first axis, and the length of each",
                                        HR_HERE};
const hr_op_t hr_op_TensorListConcatV2 = {
    .name = "TensorListConcatV2",
    .sig = "input_handle: variant; element_shape: shape_type; leading_dims: int64 -> tensor: element_dtype; lengths: int64",
    .attrs = "element_dtype: type; shape_type: type{int32,int64}",
    .shape = infer_concat_v2,
    .grad = grad_concat,
    ROWS(concat_v2),
    .doc = "the elements joined along their first axis, and the length of each",
    HR_HERE};
const hr_op_t hr_op_TensorListSplit = {.name = "TensorListSplit",
                                       .sig = "tensor: element_dtype; element_shape: shape_type; lengths: int64 -> output_handle: variant",
                                       .attrs = "element_dtype: type; shape_type: type{int32,int64}",
                                       .shape = infer_split,
                                       .grad = grad_split,
                                       ROWS(split),
                                       .doc = "a tensor cut along its first axis into pieces of the given lengths",
                                       HR_HERE};
