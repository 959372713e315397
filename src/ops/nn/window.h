/* SPDX-License-Identifier: Apache-2.0 */
/* Sliding windows over images: the attrs of convolutions and pooling, and the size and padding that follow from them. The one place that
 * does this arithmetic and its checks; shape functions (dims may be -1) and kernels both use it.
 *
 * Axes are kept in one order whatever the data format: batch, then the spatial axes, then channels. */
#ifndef HR_OPS_NN_WINDOW_H
#define HR_OPS_NN_WINDOW_H
#include "op/attrs_of.h"
#include "tensor/shape.h"

enum { HR_WINDOW_AXES = 5 };
typedef enum { HR_WINDOW_SAME, HR_WINDOW_VALID, HR_WINDOW_EXPLICIT } hr_window_padding_t;

/* How far a window may reach. FILTER: as SPACE, of a filter's gradient and of depthwise
 * convolutions, whose refusals have another code. LAYER: over space, and its step over channels means nothing
 * (AvgPool). DEPTH: over channels too, whose step counts where the window has several of them (MaxPool). */
typedef enum { HR_WINDOW_SPACE, HR_WINDOW_FILTER, HR_WINDOW_LAYER, HR_WINDOW_DEPTH } hr_window_reach_t;

typedef struct {
  int rank; /* 4 or 5 */
  hr_window_reach_t reach;
  bool channels_first;
  hr_window_padding_t padding;
  int64_t size[HR_WINDOW_AXES]; /* ksize; of convolutions set from the filter */
  int64_t stride[HR_WINDOW_AXES], dilation[HR_WINDOW_AXES];
  int64_t before[HR_WINDOW_AXES], after[HR_WINDOW_AXES]; /* given ones; EXPLICIT only */
} hr_window_t;

/* Where canonical axis `i` lies in the tensor. */
static inline int hr_window_axis(const hr_window_t* w, int i) { return !w->channels_first || i == 0 ? i : i == w->rank - 1 ? 1 : i + 1; }

/* Reads strides, padding, data_format, and where the op has them ksize, dilations, explicit_paddings. INVALID_ARGUMENT: lists of another
 * length, values below 1 (those of the batch and channels are left to the next ones), paddings that are missing or negative. */
HR_MUST_USE hr_status_t hr_window_read(const hr_node_attrs_t* attrs, int rank, hr_window_reach_t reach, hr_window_t* out);
/* INVALID_ARGUMENT: a ksize below 1 (AvgPool's of the batch is out of reach rather). Of forward ops. */
HR_MUST_USE hr_status_t hr_window_check_sizes(const hr_window_t* w);
/* INVALID_ARGUMENT: explicit_paddings that nothing uses. Forward ops mind; gradients of pooling do not. */
HR_MUST_USE hr_status_t hr_window_refuse_surplus(const hr_node_attrs_t* attrs);
/* Lists given as tensors (MaxPoolV2): `what` is "ksize" or "strides". */
HR_MUST_USE hr_status_t hr_window_read_list(const hr_window_t* w, const char* what, const int64_t* values, int64_t count, int64_t* out);
/* When it steps over or looks across what it may not: UNIMPLEMENTED, or INVALID_ARGUMENT where TensorFlow says that. */
HR_MUST_USE hr_status_t hr_window_check_reach(const hr_window_t* w);

/* Output size and padding along one axis. in -1 (not known): everything -1. `exact`: a VALID window larger than the image is an error as
 * in shape functions; else only a negative size is. */
HR_MUST_USE hr_status_t hr_window_fit(const hr_window_t* w, int axis, int64_t in, bool exact, int64_t* before, int64_t* after,
                                      int64_t* out);
#endif
