/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of queue elements. */
#include "ops/data/queue_batch.h"

hr_status_t hr_queue_row(const hr_tensor_t* t, int64_t i, hr_tensor_t* out) {
  hr_tensor_t row, shaped;
  hr_shape_t shape;
  HR_TRY(hr_shape_make(t->shape.rank - 1, t->shape.dims + 1, &shape));
  HR_TRY(hr_tensor_rows(t, i, i + 1, &row));
  hr_status_t status = hr_tensor_reshape(&row, &shape, &shaped);
  hr_tensor_release(&row);
  if (status) return status;
  if (!t->buffer->read_only) {
    *out = shaped;
    return NULL;
  }
  status = hr_tensor_clone(&shaped, out);
  hr_tensor_release(&shaped);
  return status;
}

/* The row shape of a batch: the queue's, its open dims as large as the largest part's. */
static hr_status_t batch_shape(const hr_queue_t* q, const hr_element_t* elements, int64_t count, int c, hr_shape_t* out) {
  int64_t dims[HR_MAX_RANK + 1];
  const hr_pshape_t* s = q->shapes[c];
  if (s->rank > HR_MAX_RANK - 1) return HR_ERROR(UNIMPLEMENTED, "batches of elements of rank %d", (int)s->rank);
  dims[0] = count;
  for (int d = 0; d < s->rank; ++d) {
    int64_t most = s->dims[d] < 0 ? 0 : s->dims[d];
    for (int64_t i = 0; s->dims[d] < 0 && i < count; ++i)
      if (elements[i][c].shape.dims[d] > most) most = elements[i][c].shape.dims[d];
    dims[d + 1] = most;
  }
  return hr_shape_make(s->rank + 1, dims, out);
}

static hr_status_t copy_part(const hr_tensor_t* part, int64_t from, hr_tensor_t* out, int64_t to, int64_t n) {
  if (!hr_dtype_is_plain(part->dtype)) return hr_tensor_copy_elements(out, to, part, from, n);
  const size_t size = hr_dtype_size(part->dtype);
  if (n) memcpy((char*)out->data + (size_t)to * size, (const char*)part->data + (size_t)from * size, (size_t)n * size);
  return NULL;
}

/* A smaller part goes into the corner of its row, a run of its last axis at a time. */
static hr_status_t copy_padded(const hr_tensor_t* part, hr_tensor_t* out, int64_t row) {
  const int rank = part->shape.rank;
  const int64_t run = part->shape.dims[rank - 1];
  for (int64_t i = 0, runs = run ? part->count / run : 0; i < runs; ++i) {
    int64_t rest = i, at = 0, stride = out->shape.dims[rank];
    for (int d = rank - 2; d >= 0; --d) {
      at += rest % part->shape.dims[d] * stride;
      rest /= part->shape.dims[d];
      stride *= out->shape.dims[d + 1];
    }
    HR_TRY(copy_part(part, i * run, out, row + at, run));
  }
  return NULL;
}

hr_status_t hr_queue_batch(hr_kernel_ctx_t* k, const hr_queue_t* q, const hr_element_t* elements, int64_t count, int c) {
  hr_shape_t shape;
  hr_tensor_t* out;
  HR_TRY(batch_shape(q, elements, count, c, &shape));
  if (q->kind == HR_QUEUE_PADDING && count && hr_dtype_in((hr_dtype_t)q->types[c], HR_M_QUANTIZED))
    return HR_ERROR(UNIMPLEMENTED, "padding of %s", hr_dtype_name(q->types[c]));
  HR_TRY(hr_output(k, c, &shape, &out));
  const int64_t row = count ? out->count / count : 0;
  bool zeroed = !hr_dtype_is_plain(out->dtype);
  for (int64_t i = 0; i < count; ++i) {
    const hr_tensor_t* part = &elements[i][c];
    if (part->count == row) {
      HR_TRY(copy_part(part, 0, out, i * row, row));
      continue;
    }
    if (!zeroed) memset((char*)out->data + (size_t)(i * row) * hr_dtype_size(out->dtype), 0, (size_t)row * hr_dtype_size(out->dtype));
    HR_TRY(copy_padded(part, out, i * row));
  }
  return NULL;
}
