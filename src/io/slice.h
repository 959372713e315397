/* SPDX-License-Identifier: Apache-2.0 */
/* Part of a tensor, as checkpoints name it: per dimension a start and a length, or all of it (start 0, length -1).
 * Text form "0,5:-"; with the full shape before it ("10 4 0,5:-") it is SaveV2's shape_and_slices. As a table key it is ordered code. */
#ifndef HR_IO_SLICE_H
#define HR_IO_SLICE_H
#include "tensor/tensor.h"
#include "wire/cursor.h"
#include "wire/writer.h"

typedef struct {
  int32_t rank;
  int64_t start[HR_MAX_RANK];
  int64_t length[HR_MAX_RANK]; /* -1: all (then start is 0) */
} hr_slice_t;

void hr_slice_all(int32_t rank, hr_slice_t* out);
/* INVALID_ARGUMENT names the text. */
HR_MUST_USE hr_status_t hr_slice_parse(hr_str_t text, hr_slice_t* out);
HR_MUST_USE hr_status_t hr_slice_parse_spec(hr_str_t text, hr_shape_t* out_full, hr_slice_t* out_slice); /* "10 4 0,5:-" */
void hr_slice_format(const hr_slice_t* s, hr_strbuf_t* out);
/* The shape of the part; INVALID_ARGUMENT when it does not lie in `full`. */
HR_MUST_USE hr_status_t hr_slice_shape(const hr_slice_t* s, const hr_shape_t* full, hr_shape_t* out);
bool hr_slice_is_all(const hr_slice_t* s, const hr_shape_t* full);
bool hr_slice_overlaps(const hr_slice_t* a, const hr_slice_t* b, const hr_shape_t* full);

/* TensorSliceProto's body. */
HR_MUST_USE hr_status_t hr_slice_decode(hr_cursor_t span, hr_slice_t* out);
void hr_slice_encode(const hr_slice_t* s, hr_writer_t* w);
/* The table key of a slice of tensor `name`. */
void hr_slice_encode_key(hr_str_t name, const hr_slice_t* s, hr_strbuf_t* out);

/* Copies what two parts of one tensor have in common from `src` (holding part `from`) into `dst` (holding part `to`); same dtype.
 * *out_copied: elements. Both parts must lie in `full` (hr_slice_shape). */
HR_MUST_USE hr_status_t hr_slice_copy(const hr_shape_t* full, const hr_slice_t* from, const hr_tensor_t* src, const hr_slice_t* to,
                                      hr_tensor_t* dst,
                                      int64_t* out_copied);
#endif
