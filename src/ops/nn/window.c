/* SPDX-License-Identifier: Apache-2.0 */
/* SAME: ceil(in / stride) places, padding split with the odd cell after. VALID and EXPLICIT: as many places as fit. Padding never shrinks
 * the image: with strides above the window, cells at the end are simply not seen. */
#include "ops/nn/window.h"

static bool is_spatial(const hr_window_t* w, int axis) { return axis > 0 && axis < w->rank - 1; }

static hr_status_t refuse_value(const char* what, int64_t v) {
  return HR_ERROR(INVALID_ARGUMENT, "Sliding window %s must be positive 32-bit numbers, each should be larger than 0, but one is %lld",
                  what, (long long)v);
}

hr_status_t hr_window_read_list(const hr_window_t* w, const char* what, const int64_t* values, int64_t count, int64_t* out) {
  if (count != w->rank)
    return HR_ERROR(INVALID_ARGUMENT, "Sliding window %s field must specify %d dimensions, not %lld", what, w->rank, (long long)count);
  for (int i = 0; i < w->rank; ++i) {
    const int64_t v = values[hr_window_axis(w, i)];
    if (is_spatial(w, i) && (v < 1 || v > INT32_MAX)) return refuse_value(what, v);
    out[i] = v;
  }
  return NULL;
}

static hr_status_t read_list_attr(const hr_node_attrs_t* attrs, const hr_window_t* w, const char* name, int64_t* out) {
  for (int i = 0; i < w->rank; ++i) out[i] = 1;
  if (!hr_attrs_find(attrs, name)) return NULL;
  int count = 0;
  const int64_t* values = hr_attrs_ints(attrs, name, &count);
  return hr_window_read_list(w, name, values, count, out);
}

static hr_status_t read_format(const hr_node_attrs_t* attrs, hr_window_t* w) {
  w->channels_first = false;
  if (!hr_attrs_find(attrs, "data_format")) return NULL;
  const hr_str_t format = hr_attrs_str(attrs, "data_format");
  w->channels_first = hr_str_is(format, "NCHW") || hr_str_is(format, "NCDHW");
  if (!w->channels_first && !hr_str_is(format, "NHWC") && !hr_str_is(format, "NDHWC"))
    return HR_ERROR(UNIMPLEMENTED, "data_format '%.*s'", HR_STR_ARG(format));
  return NULL;
}

static hr_status_t read_paddings(const hr_node_attrs_t* attrs, hr_window_t* w) {
  const hr_str_t padding = hr_attrs_str(attrs, "padding");
  w->padding = hr_str_is(padding, "SAME") ? HR_WINDOW_SAME : hr_str_is(padding, "VALID") ? HR_WINDOW_VALID : HR_WINDOW_EXPLICIT;
  for (int i = 0; i < HR_WINDOW_AXES; ++i) w->before[i] = w->after[i] = 0;
  int count = 0;
  const int64_t* values = hr_attrs_find(attrs, "explicit_paddings") ? hr_attrs_ints(attrs, "explicit_paddings", &count) : NULL;
  if (w->padding != HR_WINDOW_EXPLICIT) return NULL;
  if (count != 2 * w->rank)
    return HR_ERROR(INVALID_ARGUMENT, "explicit_paddings attribute must contain %d values, two for each axis, but got: %d", 2 * w->rank,
                    count);
  for (int i = 0; i < w->rank; ++i) {
    w->before[i] = values[2 * hr_window_axis(w, i)];
    w->after[i] = values[2 * hr_window_axis(w, i) + 1];
    if (w->before[i] < 0 || w->after[i] < 0 || w->before[i] > INT32_MAX || w->after[i] > INT32_MAX)
      return HR_ERROR(INVALID_ARGUMENT, "All elements of explicit_paddings must be nonnegative, not [%lld, %lld]", (long long)w->before[i],
                      (long long)w->after[i]);
    if (!is_spatial(w, i) && (w->before[i] || w->after[i]))
      return HR_ERROR(INVALID_ARGUMENT, "Nonzero explicit padding in the batch or depth dimensions is not supported");
  }
  return NULL;
}

hr_status_t hr_window_read(const hr_node_attrs_t* attrs, int rank, hr_window_reach_t reach, hr_window_t* out) {
  out->rank = rank;
  out->reach = reach;
  HR_TRY(read_format(attrs, out));
  HR_TRY(read_list_attr(attrs, out, "strides", out->stride));
  HR_TRY(read_list_attr(attrs, out, "ksize", out->size));
  HR_TRY(read_list_attr(attrs, out, "dilations", out->dilation));
  return read_paddings(attrs, out);
}

hr_status_t hr_window_check_sizes(const hr_window_t* w) {
  for (int i = w->reach == HR_WINDOW_LAYER; i < w->rank; ++i)
    if (w->size[i] < 1 || w->size[i] > INT32_MAX) return refuse_value("ksize", w->size[i]);
  return NULL;
}

hr_status_t hr_window_refuse_surplus(const hr_node_attrs_t* attrs) {
  const hr_str_t padding = hr_attrs_str(attrs, "padding");
  int count = 0;
  if (hr_str_is(padding, "EXPLICIT") || !hr_attrs_find(attrs, "explicit_paddings")) return NULL;
  hr_attrs_ints(attrs, "explicit_paddings", &count);
  if (count == 0) return NULL;
  return HR_ERROR(INVALID_ARGUMENT, "explicit_paddings has %d values, but padding is %.*s", count, HR_STR_ARG(padding));
}

/* TensorFlow's filter gradients and depthwise convolutions call all of it invalid, and its pooling whatever has channels first. */
static hr_code_t code_of_reach(const hr_window_t* w) {
  const bool pooling = w->rank == 5 || w->reach == HR_WINDOW_LAYER || w->reach == HR_WINDOW_DEPTH;
  return w->reach == HR_WINDOW_FILTER || (pooling && w->channels_first) ? HR_INVALID_ARGUMENT : HR_UNIMPLEMENTED;
}

static hr_status_t refuse_steps(const hr_window_t* w, const char* what) {
  return hr_status_create(code_of_reach(w), __FILE__, __LINE__,
                          "Current implementation does not yet support %s in the batch and depth dimensions", what);
}

hr_status_t hr_window_check_reach(const hr_window_t* w) {
  const int c = w->rank - 1;
  const bool depth = w->reach == HR_WINDOW_DEPTH && !w->channels_first;
  if (w->dilation[0] != 1 || w->dilation[c] != 1) return refuse_steps(w, "dilations");
  if (w->size[0] != 1 || (!depth && w->size[c] != 1))
    return hr_status_create(code_of_reach(w), __FILE__, __LINE__, "Pooling is not yet supported on the %s dimension",
                            w->size[0] != 1 ? "batch" : "depth (channels)");
  if (w->stride[0] != 1 || (w->reach < HR_WINDOW_LAYER && w->stride[c] != 1)) return refuse_steps(w, "strides");
  return NULL;
}

hr_status_t hr_window_fit(const hr_window_t* w, int axis, int64_t in, bool exact, int64_t* before, int64_t* after, int64_t* out) {
  const int64_t stride = w->stride[axis], size = w->size[axis];
  *before = *after = *out = -1;
  if (in < 0 || size < 0) return NULL;
  if (size == 0 || size > INT32_MAX || in > INT64_MAX - (INT64_C(1) << 33))
    return HR_ERROR(INVALID_ARGUMENT, "window of size %lld", (long long)size);
  const int64_t seen = (size - 1) * w->dilation[axis] + 1; /* 32-bit factors: no overflow */
  if (w->padding == HR_WINDOW_SAME) {
    *out = in / stride + (in % stride != 0);
    const int64_t missing = *out > 0 ? (*out - 1) * stride + seen - in : 0;
    *before = missing > 0 ? missing / 2 : 0;
    *after = missing > 0 ? missing - *before : 0;
    return NULL;
  }
  *before = w->before[axis];
  *after = w->after[axis];
  const int64_t padded = in + *before + *after, places = padded - seen + stride;
  if (places <= -stride || (exact && padded < seen)) /* with steps over more than what is missing, no place at all is left */
    return HR_ERROR(INVALID_ARGUMENT, "Computed output size would be negative: %lld [input_size: %lld, effective_filter_size: %lld, "
                    "stride: %lld]",
                    (long long)(places / stride), (long long)padded, (long long)seen, (long long)stride);
  *out = places / stride;
  return NULL;
}
