/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution geometry from attrs and shapes, and the shape functions. A filter is [h, w, in / groups, out]; the number of groups follows
 * from the depths. */
#include "ops/nn/conv2d/conv2d.h"

static hr_status_t check_depths(int64_t in, int64_t filter_in, int64_t out, int64_t* groups) {
  *groups = 1;
  if (filter_in == 0) return HR_ERROR(INVALID_ARGUMENT, "Depth of filter must not be 0");
  if (in < 0 || filter_in < 0) return NULL;
  if (in % filter_in != 0)
    return HR_ERROR(INVALID_ARGUMENT, "input depth must be evenly divisible by filter depth: %lld vs %lld", (long long)in,
                    (long long)filter_in);
  *groups = in / filter_in;
  if (*groups > 0 && out >= 0 && out % *groups != 0)
    return HR_ERROR(INVALID_ARGUMENT, "output depth must be evenly divisible by number of groups: %lld vs %lld", (long long)out,
                    (long long)*groups);
  if (*groups == 0) *groups = 1;
  return NULL;
}

static hr_status_t read_conv_window(const hr_node_attrs_t* attrs, hr_window_reach_t reach, hr_window_t* w) {
  HR_TRY(hr_window_read(attrs, 4, reach, w));
  return hr_window_refuse_surplus(attrs);
}

hr_status_t hr_conv2d_geometry(const hr_window_t* window, const hr_shape_t* data, const hr_shape_t* filter, hr_dnn_conv_t* out) {
  char text[3][HR_SHAPE_TEXT];
  if (data->rank != 4 || filter->rank != 4)
    return HR_ERROR(INVALID_ARGUMENT, "%s must be 4-dimensional: %s (input %s, filter %s)", data->rank != 4 ? "input" : "filter",
                    hr_shape_format(data->rank != 4 ? data : filter, text[0]), hr_shape_format(data, text[1]), hr_shape_format(filter,
                        text[2]));
  hr_window_t w = *window;
  w.size[1] = filter->dims[0];
  w.size[2] = filter->dims[1];
  const int64_t* in = data->dims;
  *out = (hr_dnn_conv_t){.nchw = w.channels_first,
                         .batch = in[0],
                         .in_h = in[hr_window_axis(&w, 1)],
                         .in_w = in[hr_window_axis(&w, 2)],
                         .in_c = in[hr_window_axis(&w, 3)],
                         .out_c = filter->dims[3],
                         .k_h = filter->dims[0],
                         .k_w = filter->dims[1],
                         .stride_h = w.stride[1],
                         .stride_w = w.stride[2],
                         .dilation_h = w.dilation[1],
                         .dilation_w = w.dilation[2]};
  HR_TRY(check_depths(out->in_c, filter->dims[2], out->out_c, &out->groups));
  HR_TRY(hr_window_fit(&w, 1, out->in_h, false, &out->pad_top, &out->pad_bottom, &out->out_h));
  return hr_window_fit(&w, 2, out->in_w, false, &out->pad_left, &out->pad_right, &out->out_w);
}

hr_shape_t hr_conv2d_shape(const hr_dnn_conv_t* d, bool out) {
  const int64_t h = out ? d->out_h : d->in_h, w = out ? d->out_w : d->in_w, c = out ? d->out_c : d->in_c;
  hr_shape_t s;
  s.rank = 4;
  s.dims[0] = d->batch;
  s.dims[1] = d->nchw ? c : h;
  s.dims[2] = d->nchw ? h : w;
  s.dims[3] = d->nchw ? w : c;
  return s;
}

hr_status_t hr_conv2d_check_out(const hr_dnn_conv_t* d, const hr_shape_t* out_backprop) {
  const hr_shape_t want = hr_conv2d_shape(d, true);
  char text[2][HR_SHAPE_TEXT];
  if (hr_shape_equal(&want, out_backprop)) return NULL;
  hr_shape_format(out_backprop, text[0]);
  if (out_backprop->rank == 4 && out_backprop->dims[0] != want.dims[0])
    return HR_ERROR(INVALID_ARGUMENT, "input and out_backprop must have the same batch size. Input batch: %lld, outbackprop batch: %lld, "
                    "of %s",
                    (long long)want.dims[0], (long long)out_backprop->dims[0], text[0]);
  return HR_ERROR(INVALID_ARGUMENT, "Size of out_backprop doesn't match computed: actual = %s, computed = %s",
                  hr_shape_format(out_backprop, text[0]),
                  hr_shape_format(&want, text[1]));
}

/* --- shape functions -------------------------------------------------------------------------------------------------------------- */
hr_status_t hr_conv2d_infer(hr_infer_t* s) {
  const hr_pshape_t *data, *filter;
  hr_window_t w;
  HR_TRY(read_conv_window(hr_infer_attrs(s), HR_WINDOW_SPACE, &w));
  HR_TRY(hr_infer_want_rank(s, 0, 4, &data));
  HR_TRY(hr_infer_want_rank(s, 1, 4, &filter));
  w.size[1] = hr_infer_dim(filter, 0);
  w.size[2] = hr_infer_dim(filter, 1);
  int64_t groups, before, after, out[2], dims[4];
  HR_TRY(check_depths(hr_infer_dim(data, hr_window_axis(&w, 3)), hr_infer_dim(filter, 2), hr_infer_dim(filter, 3), &groups));
  for (int i = 0; i < 2; ++i)
    HR_TRY(hr_window_fit(&w, i + 1, hr_infer_dim(data, hr_window_axis(&w, i + 1)), true, &before, &after, &out[i]));
  dims[0] = hr_infer_dim(data, 0);
  dims[hr_window_axis(&w, 1)] = out[0];
  dims[hr_window_axis(&w, 2)] = out[1];
  dims[hr_window_axis(&w, 3)] = hr_infer_dim(filter, 3);
  HR_TRY(hr_window_check_reach(&w));
  return hr_infer_set_dims(s, 0, 4, dims);
}

hr_status_t hr_conv2d_infer_input(hr_infer_t* s) { /* input_sizes; filter; out_backprop */
  const hr_pshape_t *sizes, *filter, *dy;
  hr_window_t w;
  HR_TRY(read_conv_window(hr_infer_attrs(s), HR_WINDOW_SPACE, &w));
  HR_TRY(hr_infer_want_rank(s, 0, 1, NULL));
  HR_TRY(hr_infer_want_rank(s, 1, 4, &filter));
  HR_TRY(hr_infer_want_rank(s, 2, 4, &dy));
  const int c = hr_window_axis(&w, 3);
  int64_t merged, dims[4] = {-1, -1, -1, -1};
  HR_TRY(hr_status_note(hr_infer_merge_dim(hr_infer_dim(filter, 3), hr_infer_dim(dy, c), &merged), "depth of out_backprop: "));
  HR_TRY(hr_infer_const_as_shape(s, 0, &sizes));
  if (sizes->rank == 4) {
    for (int i = 0; i < 4; ++i) dims[i] = sizes->dims[i];
  } else if (sizes->rank == 2) { /* height and width only */
    dims[hr_window_axis(&w, 1)] = sizes->dims[0];
    dims[hr_window_axis(&w, 2)] = sizes->dims[1];
    dims[c] = hr_infer_dim(filter, 2);
  } else if (sizes->rank >= 0) {
    return HR_ERROR(INVALID_ARGUMENT, "input_sizes has %d elements; 4 (or height and width) are wanted", (int)sizes->rank);
  }
  HR_TRY(hr_status_note(hr_infer_merge_dim(dims[0], hr_infer_dim(dy, 0), &dims[0]), "batch of out_backprop: "));
  HR_TRY(hr_window_check_reach(&w));
  return hr_infer_set_dims(s, 0, 4, dims);
}

hr_status_t hr_conv2d_infer_filter(hr_infer_t* s) { /* input; filter_sizes; out_backprop */
  const hr_pshape_t* sizes;
  hr_window_t w;
  HR_TRY(read_conv_window(hr_infer_attrs(s), HR_WINDOW_FILTER, &w));
  HR_TRY(hr_infer_want_rank(s, 0, 4, NULL));
  HR_TRY(hr_infer_want_rank(s, 1, 1, NULL));
  HR_TRY(hr_infer_want_rank(s, 2, 4, NULL));
  HR_TRY(hr_infer_const_as_shape(s, 1, &sizes));
  HR_TRY(hr_window_check_reach(&w));
  if (sizes->rank < 0) return hr_infer_set_dims(s, 0, 4, (const int64_t[]){-1, -1, -1, -1});
  if (sizes->rank != 4) return HR_ERROR(INVALID_ARGUMENT, "filter_sizes has %d elements; 4 are wanted", (int)sizes->rank);
  hr_infer_set(s, 0, sizes);
  return NULL;
}

/* --- prepare ------------------------------------------------------------------------------------------------------------------------ */
hr_status_t hr_conv2d_prepare(hr_prepare_ctx_t* p, void* prepared) {
  hr_conv2d_prepared_t* m = prepared;
  atomic_init(&m->pack, NULL);
  m->constant_filter = p->constants && p->constants[1] && p->input_types[1] == HR_F32;
  return read_conv_window(p->attrs, HR_WINDOW_SPACE, &m->window); /* the shape functions have checked its reach */
}

void hr_conv2d_unprepare(void* prepared) {
  hr_conv2d_prepared_t* m = prepared;
  hr_dnn_pack_t* pack = atomic_exchange(&m->pack, NULL);
  if (pack) hr_dnn()->unpack(pack);
}
