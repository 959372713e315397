/* SPDX-License-Identifier: Apache-2.0 */
/* Summaries: serialized Summary messages for event files. ScalarSummary: a value for each tag; MergeSummary: the values of several
 * summaries, whose tags must differ; HistogramSummary: minimum, maximum, sums, and counts in buckets that grow by 10 % from 1e-12 to 1e20
 * on both sides of 0. */
#include <float.h>
#include <math.h>
#include "base/map.h"
#include "base/sync.h"
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/log/summary.h"
#include "ops/log/text.h"
#include "wire/cursor.h"

extern const hr_op_t hr_op_ScalarSummary, hr_op_MergeSummary, hr_op_HistogramSummary;

static hr_status_t infer_histogram(hr_infer_t* s) {
  HR_TRY(hr_infer_want_rank(s, 0, 0, NULL));
  return hr_infer_scalars(s);
}

hr_status_t hr_summary_output(hr_kernel_ctx_t* k, hr_status_t take_status, hr_writer_t* w) {
  const hr_shape_t scalar = hr_shape_scalar();
  hr_tensor_t* out;
  if (!take_status && w->failed) take_status = hr_status_out_of_memory();
  if (!take_status) take_status = hr_output(k, 0, &scalar, &out);
  if (!take_status) take_status = hr_tstring_set(out->data, hr_strbuf_view(w));
  hr_strbuf_deinit(w);
  return take_status;
}

static void write_tag(hr_writer_t* w, hr_str_t tag) { /* as proto3 does: no empty text */
  if (tag.size) hr_writer_str(w, HR_VALUE_TAG, tag);
}

/* 1. scalars */
static hr_status_t scalar_summary(hr_kernel_ctx_t* k) {
  const hr_tensor_t *tags = hr_input(k, 0), *values = hr_input(k, 1);
  hr_writer_t w;
  HR_TRY(hr_want_same_shape(k, 0, 1));
  hr_strbuf_init(&w);
  for (int64_t i = 0; i < tags->count; ++i) {
    hr_writer_mark_t m = hr_writer_begin(&w, HR_SUMMARY_VALUE, 16);
    write_tag(&w, hr_tstring_get((const hr_tstring_t*)tags->data + i));
    hr_writer_f32(&w, HR_VALUE_SIMPLE, (float)hr_log_number(values, i));
    hr_writer_end(&w, m, 16);
  }
  return hr_summary_output(k, NULL, &w);
}

/* 2. merging */
static hr_status_t check_value(hr_cursor_t value, hr_map_t* tags) { /* well formed, and its tag is new */
  hr_str_t tag = {"", 0};
  bool added = true;
  while (!hr_cursor_is_done(&value)) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&value, &f));
    if (f.key == HR_KEY_SPAN(HR_VALUE_TAG)) tag = hr_cursor_str(f.span);
  }
  if (tag.size) HR_TRY(hr_map_add(tags, tag, 1, &added));
  return added ? NULL : HR_ERROR(INVALID_ARGUMENT, "Duplicate tag %.*s found in summary inputs", HR_STR_ARG(tag));
}

static hr_status_t merge_one(hr_str_t summary, hr_map_t* tags, hr_writer_t* w) {
  hr_cursor_t c = hr_cursor_make(summary.data, summary.size);
  while (!hr_cursor_is_done(&c)) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&c, &f));
    if (f.key != HR_KEY_SPAN(HR_SUMMARY_VALUE)) continue;
    HR_TRY(check_value(f.span, tags));
    hr_writer_str(w, HR_SUMMARY_VALUE, hr_cursor_str(f.span));
  }
  return NULL;
}

static hr_status_t merge_summary(hr_kernel_ctx_t* k) {
  hr_map_t tags;
  hr_writer_t w;
  hr_status_t status = NULL;
  hr_map_init(&tags);
  hr_strbuf_init(&w);
  for (int i = 0; !status && i < hr_input_count(k); ++i) {
    const hr_tensor_t* t = hr_input(k, i);
    for (int64_t j = 0; !status && j < t->count; ++j)
      status = hr_status_note(merge_one(hr_tstring_get((const hr_tstring_t*)t->data + j), &tags, &w), "summary %d", i);
  }
  hr_map_deinit(&tags);
  return hr_summary_output(k, status, &w);
}

/* 3. histograms */
enum { HALF_LIMITS = 1024 };
static double limits[2 * HALF_LIMITS]; /* upper, exclusive */
static int limit_count;
static hr_once_t limits_once = HR_ONCE_INIT;

static void make_limits(void) {
  double positive[HALF_LIMITS];
  int n = 0;
  for (double v = 1.0e-12; v < 1.0e20; v *= 1.1) positive[n++] = v;
  positive[n++] = DBL_MAX;
  for (int i = n; i-- > 0;) limits[limit_count++] = -positive[i];
  limits[limit_count++] = 0;
  for (int i = 0; i < n; ++i) limits[limit_count++] = positive[i];
}

static int bucket_of(double v) { /* the first limit above v */
  int low = 0, high = limit_count - 1;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (limits[middle] > v) high = middle;
    else low = middle + 1;
  }
  return low;
}

typedef struct { double min, max, count, sum, squares, buckets[2 * HALF_LIMITS]; } histogram_t;

static hr_status_t histogram_add_all(const hr_tensor_t* t, hr_str_t tag, histogram_t* h) {
  h->min = DBL_MAX;
  h->max = -DBL_MAX;
  for (int64_t i = 0; i < t->count; ++i) {
    const double v = hr_log_number(t, i);
    if (!isfinite(v))
      return HR_ERROR(INVALID_ARGUMENT, "%s in summary histogram for: %.*s (element %lld)", isnan(v) ? "Nan" : "Infinity", HR_STR_ARG(tag),
                      (long long)i);
    h->buckets[bucket_of(v)] += 1;
    if (v < h->min) h->min = v;
    if (v > h->max) h->max = v;
    h->count += 1;
    h->sum += v;
    h->squares += v * v;
  }
  return NULL;
}

static void write_double(hr_writer_t* w, uint32_t number, double v) { /* as proto3 does: no zeros */
  if (v != 0 || signbit(v)) hr_writer_f64(w, number, v);
}

static void write_buckets(const histogram_t* h, hr_writer_t* w) { /* a run of empty buckets is one */
  hr_strbuf_t ends, counts;
  hr_strbuf_init(&ends);
  hr_strbuf_init(&counts);
  for (int i = 0; i < limit_count; ++i) {
    while (h->buckets[i] == 0 && i + 1 < limit_count && h->buckets[i + 1] == 0) ++i;
    hr_strbuf_add(&ends, &limits[i], 8);
    hr_strbuf_add(&counts, &h->buckets[i], 8);
  }
  hr_writer_bytes(w, 6, ends.data, ends.size);
  hr_writer_bytes(w, 7, counts.data, counts.size);
  w->failed |= ends.failed || counts.failed;
  hr_strbuf_deinit(&ends);
  hr_strbuf_deinit(&counts);
}

static hr_status_t histogram_summary(hr_kernel_ctx_t* k) {
  histogram_t h = {0};
  hr_writer_t w;
  HR_TRY(hr_want_scalar(k, 0, "tag"));
  const hr_str_t tag = hr_tstring_get(hr_input(k, 0)->data);
  hr_once_run(&limits_once, make_limits);
  HR_TRY(histogram_add_all(hr_input(k, 1), tag, &h));
  hr_strbuf_init(&w);
  hr_writer_mark_t value = hr_writer_begin(&w, HR_SUMMARY_VALUE, 400);
  write_tag(&w, tag);
  hr_writer_mark_t histogram = hr_writer_begin(&w, HR_VALUE_HISTOGRAM, 400);
  const double head[] = {h.min, h.max, h.count, h.sum, h.squares};
  for (uint32_t i = 0; i < 5; ++i) write_double(&w, i + 1, head[i]);
  write_buckets(&h, &w);
  hr_writer_end(&w, histogram, 400);
  hr_writer_end(&w, value, 400);
  return hr_summary_output(k, NULL, &w);
}

/* 4. definitions */
#define REAL "{float,double,int32,uint8,int16,int8,int64,bfloat16,uint16,half,uint32,uint64}"
const hr_op_t hr_op_ScalarSummary = {
    .name = "ScalarSummary",
    .sig = "tags: string; values: T -> summary: string",
    .attrs = "T: type" REAL,
    .flags = HR_OP_SIDE_EFFECT,
    .shape = hr_infer_scalars,
    .grad = hr_grad_none,
    HR_KERNELS({.where = {{"T", HR_M_REAL}}, .host_inputs = 3, .host_outputs = 1, .compute = scalar_summary}),
    .doc = "a summary of scalars",
    HR_HERE};

const hr_op_t hr_op_MergeSummary = {.name = "MergeSummary",
                                    .sig = "inputs: N*string -> summary: string",
                                    .attrs = "N: int >= 1",
                                    .flags = HR_OP_SIDE_EFFECT,
                                    .shape = hr_infer_scalars,
                                    .grad = hr_grad_none,
                                    HR_KERNELS({.host_inputs = UINT32_MAX, .host_outputs = 1, .compute = merge_summary}),
                                    .doc = "one summary of several",
                                    HR_HERE};

const hr_op_t hr_op_HistogramSummary = {
    .name = "HistogramSummary",
    .sig = "tag: string; values: T -> summary: string",
    .attrs = "T: type" REAL " = float",
    .flags = HR_OP_SIDE_EFFECT,
    .shape = infer_histogram,
    .grad = hr_grad_none,
    HR_KERNELS({.where = {{"T", HR_M_REAL}}, .host_inputs = 3, .host_outputs = 1, .compute = histogram_summary}),
    .doc = "a summary of a distribution",
    HR_HERE};
