/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of all scatters. The slices of the target are numbered; each chunk of threads owns a range of numbers and goes through all
 * indices in order, so that duplicates meet in one thread. */
#include "ops/state/scatter.h"

/* 1. what to do with an element */
static const int loop_of[] = {[SCATTER_ADD] = BINARY_AddV2, [SCATTER_SUB] = BINARY_Sub, [SCATTER_MUL] = BINARY_Mul,
                              [SCATTER_DIV] = BINARY_Div, [SCATTER_MIN] = BINARY_Minimum, [SCATTER_MAX] = BINARY_Maximum};

HR_LOOP2_FORM(Either, bool, bool, bool, , i, i, x | y)
HR_LOOP2_FORM(Either, bool, bool, bool, _y_stays, i, 0, x | y)
HR_LOOP2_FORM(Differ, bool, bool, bool, , i, i, x ^ y)
HR_LOOP2_FORM(Differ, bool, bool, bool, _y_stays, i, 0, x ^ y)

hr_status_t hr_scatter_prepare(hr_prepare_ctx_t* p, hr_scatter_op_t op, hr_dtype_t type, hr_scatter_t* out) {
  const hr_binary_table_t* vec = HR_ISA_PICK(hr_binary_vec);
  *out = (hr_scatter_t){.op = op, .type = type, .size = hr_dtype_is_plain(type) ? hr_dtype_size(type) : 0};
  if (op == SCATTER_UPDATE || type == HR_STRING) return NULL;
  if (type == HR_BOOL) {
    out->both = op == SCATTER_ADD ? Either_bool : Differ_bool;
    out->y_stays = op == SCATTER_ADD ? Either_bool_y_stays : Differ_bool_y_stays;
    return NULL;
  }
  const hr_loop2_t* loops = (*vec)[loop_of[op]][type];
  if (!loops[LOOP_BOTH]) loops = hr_binary_scalar[loop_of[op]][type];
  out->both = loops[LOOP_BOTH];
  out->y_stays = loops[LOOP_Y_STAYS];
  return out->both ? NULL : HR_ERROR(UNIMPLEMENTED, "op '%s' has no kernel for %s on CPU", p->op_name, hr_dtype_name((int)type));
}

/* 2. one slice */
typedef struct {
  const hr_scatter_t* s;
  const hr_scatter_job_t* job;
  int64_t slice;                /* elements of one */
} scatter_t;

static hr_status_t append_text(const scatter_t* c, int64_t at, int64_t from) { /* strings add up by concatenation */
  hr_strbuf_t text;
  hr_tstring_t* to = (hr_tstring_t*)c->job->to->data + at;
  hr_strbuf_init(&text);
  hr_strbuf_add_str(&text, hr_tstring_get(to));
  hr_strbuf_add_str(&text, hr_tstring_get((const hr_tstring_t*)c->job->updates->data + from));
  hr_status_t status = text.failed ? hr_status_out_of_memory() : hr_tstring_set(to, hr_strbuf_view(&text));
  hr_strbuf_deinit(&text);
  return status;
}

static hr_status_t write_owning(const scatter_t* c, int64_t at, int64_t from, bool stays) {
  for (int64_t i = 0; i < c->slice; ++i) {
    const int64_t source = stays ? 0 : from + i;
    if (c->s->op == SCATTER_ADD) HR_TRY(append_text(c, at + i, source));
    else HR_TRY(hr_tensor_copy_elements(c->job->to, at + i, c->job->updates, source, 1));
  }
  return NULL;
}

static hr_status_t write_slice(const scatter_t* c, int64_t slice, int64_t index) {
  const bool stays = c->job->updates->count == 1 && c->job->n * c->slice != 1;
  const size_t size = c->s->size;
  const int64_t at = slice * c->slice, from = stays ? 0 : index * c->slice;
  if (!size) return write_owning(c, at, from, stays);
  char* to = (char*)c->job->to->data + (size_t)at * size;
  const char* updates = (const char*)c->job->updates->data + (size_t)from * size;
  if (c->s->both) (stays ? c->s->y_stays : c->s->both)(to, updates, to, c->slice);
  else if (!stays) memcpy(to, updates, (size_t)c->slice * size);
  else for (int64_t i = 0; i < c->slice; ++i) memcpy(to + (size_t)i * size, updates, size);
  return NULL;
}

/* 3. all of them */
static inline int64_t index_at(const hr_tensor_t* t, int64_t i) {
  switch (t->dtype) {
    case HR_I64: return ((const int64_t*)t->data)[i];
    case HR_I32: return ((const int32_t*)t->data)[i];
    case HR_U16: return ((const uint16_t*)t->data)[i];
    default: return ((const int16_t*)t->data)[i];
  }
}

static inline int64_t slice_of(const hr_scatter_job_t* job, int64_t i) { /* -1: outside */
  int64_t slice = 0;
  for (int d = 0; d < job->depth; ++d) {
    const int64_t index = index_at(job->indices, i * job->depth + d), size = job->to->shape.dims[d];
    if (index < 0 || index >= size) return -1;
    slice = slice * size + index;
  }
  return slice;
}

static hr_status_t bad_index(const hr_scatter_job_t* job, int64_t i) {
  char place[HR_SHAPE_TEXT], tuple[HR_SHAPE_TEXT], whole[HR_SHAPE_TEXT];
  hr_shape_t outer = job->indices->shape, at = {.rank = job->depth};
  if (!job->by_tuples)
    return HR_ERROR(INVALID_ARGUMENT, "indices%s = %lld is not in [0, %lld)", hr_shape_format_place(&outer, i, place),
                    (long long)index_at(job->indices, i), (long long)job->to->shape.dims[0]);
  outer.rank -= 1;
  for (int d = 0; d < job->depth; ++d) at.dims[d] = index_at(job->indices, i * job->depth + d);
  return HR_ERROR(INVALID_ARGUMENT, "indices%s = %s does not index into shape %s", hr_shape_format_place(&outer, i, place),
                  hr_shape_format(&at, tuple), hr_shape_format(&job->to->shape, whole));
}

static hr_status_t check_divisors(const hr_scatter_t* s, const hr_tensor_t* updates) {
  if (s->op != SCATTER_DIV || !hr_dtype_in(s->type, HR_M_INTEGER)) return NULL;
  for (int64_t i = 0; i < updates->count; ++i) {
    bool zero = true;
    for (size_t b = 0; b < s->size; ++b) zero &= ((const char*)updates->data)[(size_t)i * s->size + b] == 0;
    if (zero) return HR_ERROR(INVALID_ARGUMENT, "Integer division by zero (element %lld of the updates)", (long long)i);
  }
  return NULL;
}

static hr_status_t scatter_chunk(void* arg, int64_t begin, int64_t end, int chunk) {
  const scatter_t* c = arg;
  (void)chunk;
  for (int64_t i = 0; i < c->job->n; ++i) {
    const int64_t slice = slice_of(c->job, i);
    if (slice >= begin && slice < end) HR_TRY(write_slice(c, slice, i));
  }
  return NULL;
}

hr_status_t hr_scatter_run(hr_kernel_ctx_t* k, const hr_scatter_t* s, const hr_scatter_job_t* job) {
  const int64_t slices = hr_shape_count_range(&job->to->shape, 0, job->depth);
  scatter_t c = {s, job, hr_shape_count_range(&job->to->shape, job->depth, job->to->shape.rank)};
  for (int64_t i = 0; i < job->n && !s->ignore_bad; ++i)
    if (slice_of(job, i) < 0) return bad_index(job, i);
  HR_TRY(check_divisors(s, job->updates));
  if (slices == 0 || job->n == 0 || c.slice == 0) return NULL;
  /* Each chunk reads all indices: worth it for slices of some size alone. */
  if (c.slice < 16) return scatter_chunk(&c, 0, slices, 0);
  const double cost = (5.0 + (double)c.slice * (s->size ? 0.5 : 40.0)) * (double)job->n / (double)slices;
  return hr_parallel(k, slices, cost, scatter_chunk, &c);
}
