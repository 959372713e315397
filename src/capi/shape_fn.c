/* SPDX-License-Identifier: Apache-2.0 */
/* What a client's shape function works with. Shapes are the graph's: immutable, in its arena; a handle points to one. */
#include "capi/op_def.h"

#include "op/attrs_of.h"

struct TF_ShapeHandle {
  const hr_pshape_t* shape;
};
struct TF_DimensionHandle {
  int64_t value;
};

TF_ShapeHandle* TF_NewShapeHandle(void) {
  TF_ShapeHandle* h = hr_alloc(sizeof *h);
  if (h) h->shape = &hr_pshape_unknown;
  return h;
}
void TF_DeleteShapeHandle(TF_ShapeHandle* handle) { hr_free(handle); }

TF_DimensionHandle* TF_NewDimensionHandle(void) {
  TF_DimensionHandle* h = hr_alloc(sizeof *h);
  if (h) h->value = -1;
  return h;
}
void TF_DeleteDimensionHandle(TF_DimensionHandle* handle) { hr_free(handle); }
int TF_DimensionHandleValueKnown(TF_DimensionHandle* dim_handle) { return dim_handle && dim_handle->value >= 0; }
int64_t TF_DimensionHandleValue(TF_DimensionHandle* dim_handle) { return dim_handle ? dim_handle->value : -1; }

int64_t TF_ShapeInferenceContextNumInputs(TF_ShapeInferenceContext* ctx) { return hr_infer_input_count(ctx->in); }

void TF_ShapeInferenceContextGetInput(TF_ShapeInferenceContext* ctx, int i, TF_ShapeHandle* handle, TF_Status* status) {
  hr_status_t outcome = NULL;
  if (!handle) outcome = hr_capi_null("the shape handle");
  else if (i < 0 || i >= hr_infer_input_count(ctx->in))
    outcome = HR_ERROR(INVALID_ARGUMENT, "there is no input %d of %d", i, hr_infer_input_count(ctx->in));
  else handle->shape = hr_infer_input(ctx->in, i);
  hr_capi_report(status, outcome);
}

void TF_ShapeInferenceContextSetOutput(TF_ShapeInferenceContext* ctx, int i, TF_ShapeHandle* handle, TF_Status* status) {
  hr_status_t outcome = NULL;
  if (!handle) outcome = hr_capi_null("the shape handle");
  else if (i < 0 || i >= hr_infer_output_count(ctx->in))
    outcome = HR_ERROR(INVALID_ARGUMENT, "there is no output %d of %d", i, hr_infer_output_count(ctx->in));
  else hr_infer_set(ctx->in, i, handle->shape);
  hr_capi_report(status, outcome);
}

void TF_ShapeInferenceContextSetUnknownShape(TF_ShapeInferenceContext* ctx, TF_Status* status) {
  for (int i = 0; i < hr_infer_output_count(ctx->in); ++i) hr_infer_set(ctx->in, i, &hr_pshape_unknown);
  hr_capi_report(status, NULL);
}

TF_ShapeHandle* TF_ShapeInferenceContextScalar(TF_ShapeInferenceContext* ctx) {
  TF_ShapeHandle* h = TF_NewShapeHandle();
  (void)ctx;
  if (h) h->shape = &hr_pshape_scalar;
  return h;
}

TF_ShapeHandle* TF_ShapeInferenceContextVectorFromSize(TF_ShapeInferenceContext* ctx, size_t size) {
  TF_ShapeHandle* h = TF_NewShapeHandle();
  int64_t dim = size > INT64_MAX ? -1 : (int64_t)size;
  hr_status_t status = h ? hr_pshape_make(hr_infer_arena(ctx->in), 1, &dim, &h->shape) : NULL;
  if (!status) return h;
  hr_status_release(status);
  TF_DeleteShapeHandle(h);
  return NULL;
}

void TF_ShapeInferenceContext_GetAttrType(TF_ShapeInferenceContext* ctx, const char* attr_name, TF_DataType* val, TF_Status* status) {
  const hr_attr_t* a;
  hr_status_t outcome = val ? hr_capi_find_attr(hr_infer_attrs(ctx->in), attr_name, HR_ATTR_TYPE, false, &a) : hr_capi_null("the value");
  if (!outcome) *val = (TF_DataType)a->u.type;
  hr_capi_report(status, outcome);
}

int64_t TF_ShapeInferenceContextRank(TF_ShapeInferenceContext* ctx, TF_ShapeHandle* handle) {
  (void)ctx;
  return handle ? handle->shape->rank : -1;
}
int TF_ShapeInferenceContextRankKnown(TF_ShapeInferenceContext* ctx, TF_ShapeHandle* handle) { return TF_ShapeInferenceContextRank(ctx,
                                      handle) >= 0; }

/* --- ranks --------------------------------------------------------------------------------------------------------------------------- */
static hr_status_t shape_want_rank(const TF_ShapeHandle* h, int64_t least, int64_t most) {
  char text[HR_SHAPE_TEXT];
  int32_t rank = h->shape->rank;
  if (rank < 0 || (rank >= least && rank <= most)) return NULL;
  return HR_ERROR(INVALID_ARGUMENT, "shape must be of rank %s%lld but is of rank %d: %s",
                  least == most ? "" : most == INT32_MAX ? "at least " : "at most ",
                  (long long)(most == INT32_MAX ? least : most), (int)rank, hr_pshape_format(h->shape, text));
}

void TF_ShapeInferenceContextWithRank(TF_ShapeInferenceContext* ctx, TF_ShapeHandle* handle, int64_t rank, TF_ShapeHandle* result,
                                      TF_Status* status) {
  hr_status_t outcome = handle && result ? NULL : hr_capi_null("a shape handle");
  if (!outcome && (rank < 0 || rank > 254)) outcome = HR_ERROR(INVALID_ARGUMENT, "%lld is no rank", (long long)rank);
  if (!outcome) outcome = shape_want_rank(handle, rank, rank);
  if (!outcome && handle->shape->rank < 0) outcome = hr_infer_unknown_of_rank(ctx->in, (int)rank, &result->shape);
  else if (!outcome) result->shape = handle->shape;
  hr_capi_report(status, outcome);
}

static void shape_with_bounds(TF_ShapeHandle* handle, int64_t least, int64_t most, TF_ShapeHandle* result, TF_Status* status) {
  hr_status_t outcome = handle && result ? shape_want_rank(handle, least, most) : hr_capi_null("a shape handle");
  if (!outcome) result->shape = handle->shape;
  hr_capi_report(status, outcome);
}

void TF_ShapeInferenceContextWithRankAtLeast(TF_ShapeInferenceContext* ctx, TF_ShapeHandle* handle, int64_t rank, TF_ShapeHandle* result,
                                             TF_Status* status) {
  (void)ctx;
  shape_with_bounds(handle, rank, INT32_MAX, result, status);
}
void TF_ShapeInferenceContextWithRankAtMost(TF_ShapeInferenceContext* ctx, TF_ShapeHandle* handle, int64_t rank, TF_ShapeHandle* result,
                                            TF_Status* status) {
  (void)ctx;
  shape_with_bounds(handle, 0, rank, result, status);
}

/* --- parts --------------------------------------------------------------------------------------------------------------------------- */
void TF_ShapeInferenceContextDim(TF_ShapeInferenceContext* ctx, TF_ShapeHandle* shape_handle, int64_t i, TF_DimensionHandle* result) {
  (void)ctx;
  if (result) result->value = shape_handle ? hr_infer_dim(shape_handle->shape, i) : -1;
}

void TF_ShapeInferenceContextSubshape(TF_ShapeInferenceContext* ctx, TF_ShapeHandle* shape_handle, int64_t start, int64_t end,
                                      TF_ShapeHandle* result, TF_Status* status) {
  hr_status_t outcome = shape_handle && result ? NULL : hr_capi_null("a shape handle");
  const hr_pshape_t* s = outcome ? &hr_pshape_unknown : shape_handle->shape;
  int64_t rank = s->rank;
  if (!outcome && rank < 0) {
    result->shape = &hr_pshape_unknown;
  } else if (!outcome) {
    int64_t begin = start < 0 ? start + rank : start > rank ? rank : start;
    int64_t stop = end < 0 ? end + rank : end > rank ? rank : end;
    if (begin < 0 || stop < begin)
      outcome = HR_ERROR(INVALID_ARGUMENT, "a shape of rank %lld has no dims from %lld to %lld", (long long)rank, (long long)start,
                         (long long)end);
    else outcome = hr_pshape_make(hr_infer_arena(ctx->in), stop - begin, s->dims + begin, &result->shape);
  }
  hr_capi_report(status, outcome);
}

void TF_ShapeInferenceContextConcatenateShapes(TF_ShapeInferenceContext* ctx, TF_ShapeHandle* first, TF_ShapeHandle* second,
                                               TF_ShapeHandle* result, TF_Status* status) {
  hr_status_t outcome = first && second && result ? NULL : hr_capi_null("a shape handle");
  if (!outcome && (first->shape->rank < 0 || second->shape->rank < 0)) {
    result->shape = &hr_pshape_unknown;
  } else if (!outcome) {
    size_t a = (size_t)first->shape->rank, b = (size_t)second->shape->rank;
    int64_t* dims = hr_arena_array(hr_infer_arena(ctx->in), a + b, sizeof *dims);
    if (!dims) outcome = hr_status_out_of_memory();
    else {
      memcpy(dims, first->shape->dims, a * sizeof *dims);
      memcpy(dims + a, second->shape->dims, b * sizeof *dims);
      outcome = hr_pshape_make(hr_infer_arena(ctx->in), (int64_t)(a + b), dims, &result->shape);
    }
  }
  hr_capi_report(status, outcome);
}
