/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the files of a sharded checkpoint: ShardedFilename gives "base-SSSSS-of-NNNNN", ShardedFilespec "base-?????-of-NNNNN" for all of
 * them. */
#include <string.h>
#include "op/infer_fns.h"
#include "op/kernel_ctx.h"

extern const hr_op_t hr_op_ShardedFilename, hr_op_ShardedFilespec;

static hr_status_t infer_name(hr_infer_t* s) {
  for (int i = 0; i < hr_infer_input_count(s); ++i) HR_TRY(hr_infer_want_rank(s, i, 0, NULL));
  return hr_infer_scalars(s);
}

static hr_status_t set_text(hr_kernel_ctx_t* k, hr_strbuf_t* text) {
  const hr_shape_t scalar = hr_shape_scalar();
  hr_tensor_t* out;
  hr_status_t status = text->failed ? hr_status_out_of_memory() : hr_output(k, 0, &scalar, &out);
  if (!status) status = hr_tstring_set(out->data, hr_strbuf_view(text));
  hr_strbuf_deinit(text);
  return status;
}

static hr_status_t sharded(hr_kernel_ctx_t* k) {
  static const char* const names[] = {"basename", "shard", "num_shards"};
  const int last = hr_input_count(k) - 1;
  hr_strbuf_t text;
  for (int i = 0; i <= last; ++i) HR_TRY(hr_want_scalar(k, i, i == last ? names[2] : names[i]));
  hr_strbuf_init(&text);
  const hr_str_t base = hr_tstring_get(hr_input(k, 0)->data);
  hr_strbuf_add(&text, base.data, strnlen(base.data, base.size)); /* up to a NUL, as TensorFlow's names go */
  if (last == 2) hr_strbuf_format(&text, "-%05d", (int)*(const int32_t*)hr_input(k, 1)->data);
  else hr_strbuf_format(&text, "-?????");
  hr_strbuf_format(&text, "-of-%05d", (int)*(const int32_t*)hr_input(k, last)->data);
  return set_text(k, &text);
}

const hr_op_t hr_op_ShardedFilename = {.name = "ShardedFilename",
                                       .sig = "basename: string; shard: int32; num_shards: int32 -> filename: string",
                                       .attrs = "",
                                       .shape = infer_name,
                                       HR_KERNELS({.host_inputs = 7, .host_outputs = 1, .compute = sharded}),
                                       .doc = "basename-SSSSS-of-NNNNN",
                                       HR_HERE};

const hr_op_t hr_op_ShardedFilespec = {
    .name = "ShardedFilespec", .sig = "basename: string; num_shards: int32 -> filename: string", .attrs = "", .shape = infer_name,
    HR_KERNELS({.host_inputs = 3, .host_outputs = 1, .compute = sharded}), .doc = "the pattern of all basename-SSSSS-of-NNNNN", HR_HERE};
