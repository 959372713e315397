/* SPDX-License-Identifier: Apache-2.0 */
/* StringToHashBucketFast: fingerprint(string) mod num_buckets; the same bucket in every process and version. */
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "op/kernel_ctx.h"
#include "ops/string/fingerprint.h"

extern const hr_op_t hr_op_StringToHashBucketFast;

static hr_status_t buckets_prepare(hr_prepare_ctx_t* p, void* prepared) {
  *(uint64_t*)prepared = (uint64_t)hr_attrs_int(p->attrs, "num_buckets"); /* at least 1: the signature says so */
  return NULL;
}

typedef struct {
  uint64_t buckets;
  const hr_tstring_t* in;
  int64_t* out;
} bucket_t;
static hr_status_t bucket_chunk(void* arg, int64_t begin, int64_t end, int chunk) {
  const bucket_t* b = arg;
  (void)chunk;
  for (int64_t i = begin; i < end; ++i) b->out[i] = (int64_t)(hr_fingerprint(hr_tstring_get(b->in + i)) % b->buckets);
  return NULL;
}

static hr_status_t to_buckets(hr_kernel_ctx_t* k) {
  const hr_tensor_t* in = hr_input(k, 0);
  hr_tensor_t* out;
  HR_TRY(hr_output(k, 0, &in->shape, &out));
  bucket_t b = {*(const uint64_t*)hr_prepared(k), in->data, out->data};
  return hr_parallel(k, in->count, 30.0, bucket_chunk, &b);
}

const hr_op_t hr_op_StringToHashBucketFast = {
    .name = "StringToHashBucketFast",
    .sig = "input: string -> output: int64",
    .attrs = "num_buckets: int >= 1",
    .shape = hr_infer_same,
    .grad = hr_grad_none,
    HR_KERNELS(
        {.host_inputs = 1, .host_outputs = 1, .prepared_bytes = sizeof(uint64_t), .prepare = buckets_prepare, .compute = to_buckets}),
    .doc = "the bucket that each string's fingerprint falls into",
    HR_HERE};
