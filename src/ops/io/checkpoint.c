/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints of version 2 as ops: SaveV2, RestoreV2, MergeV2Checkpoints, over io/bundle.h.
 *
 * A save that fails leaves the checkpoint that was there: the writer works on temporary names until all bytes are on the disk. RestoreV2
 * reads its tensors on all cores and, like TensorFlow, takes a checkpoint of version 1 where it finds one. */
#include "base/alloc.h"
#include "base/file.h"
#include "base/vec.h"
#include "io/bundle.h"
#include "op/infer_fns.h"
#include "ops/io/legacy.h"
#include "ops/io/path.h"

extern const hr_op_t hr_op_SaveV2, hr_op_RestoreV2, hr_op_MergeV2Checkpoints;

/* 1. shapes */
static hr_status_t want_names(hr_infer_t* s, int input, int64_t count) { /* a vector of `count` names */
  const hr_pshape_t* shape;
  HR_TRY(hr_infer_want_rank(s, input, 1, &shape));
  const int64_t n = hr_infer_dim(shape, 0);
  return n < 0 || n == count
             ? NULL
             : HR_ERROR(INVALID_ARGUMENT, "input %d has %lld elements for %lld tensors", input, (long long)n, (long long)count);
}

static hr_status_t infer_save(hr_infer_t* s) {
  const int tensors = hr_infer_input_count(s) - 3;
  HR_TRY(hr_infer_want_rank(s, 0, 0, NULL));
  HR_TRY(want_names(s, 1, tensors));
  return want_names(s, 2, tensors);
}

static hr_status_t infer_restored(hr_infer_t* s, int output, hr_str_t spec) {
  hr_shape_t full, part;
  hr_slice_t slice;
  if (spec.size == 0) return NULL; /* a whole tensor of any shape */
  HR_TRY(hr_slice_parse_spec(spec, &full, &slice));
  HR_TRY(hr_slice_shape(&slice, &full, &part));
  return hr_infer_set_dims(s, output, part.rank, part.dims);
}

static hr_status_t infer_restore(hr_infer_t* s) {
  const int tensors = hr_infer_output_count(s);
  HR_TRY(hr_infer_want_rank(s, 0, 0, NULL));
  HR_TRY(want_names(s, 1, tensors));
  HR_TRY(want_names(s, 2, tensors));
  const hr_tensor_t* specs = hr_infer_const(s, 2);
  for (int i = 0; specs && i < tensors; ++i) HR_TRY(infer_restored(s, i, hr_path_text(specs, i)));
  return NULL;
}

static hr_status_t infer_merge(hr_infer_t* s) {
  HR_TRY(hr_infer_want_rank(s, 0, 1, NULL));
  return hr_infer_want_rank(s, 1, 0, NULL);
}

/* 2. kernels */
static hr_status_t check_names(const hr_kernel_ctx_t* k, int64_t tensors) {
  HR_TRY(hr_want_vector(k, 1, "tensor_names"));
  HR_TRY(hr_want_vector(k, 2, "shape_and_slices"));
  const int64_t names = hr_input(k, 1)->count, specs = hr_input(k, 2)->count;
  if (names == tensors && specs == tensors) return NULL;
  return HR_ERROR(INVALID_ARGUMENT, "%lld tensor names and %lld slices for %lld tensors", (long long)names, (long long)specs,
                  (long long)tensors);
}

static hr_status_t save(hr_kernel_ctx_t* k) {
  const int tensors = hr_input_count(k) - 3;
  char* prefix = NULL;
  hr_bundle_writer_t* w = NULL;
  hr_status_t status = NULL;
  HR_TRY(check_names(k, tensors));
  HR_TRY(hr_path_input_of_one(k, 0, "prefix", &prefix));
  status = hr_bundle_writer_create(prefix, &w);
  for (int i = 0; !status && i < tensors; ++i) {
    const hr_str_t name = hr_path_text(hr_input(k, 1), i);
    status = hr_status_note(hr_bundle_writer_add(w, name, hr_path_text(hr_input(k, 2), i), hr_input(k, 3 + i)), "tensor '%.*s'",
                            HR_STR_ARG(name));
    if (!status && hr_is_cancelled(k)) status = hr_status_cancelled();
  }
  if (!status) status = hr_bundle_writer_finish(w);
  hr_bundle_writer_destroy(w);
  hr_free(prefix);
  return status;
}

typedef struct {
  hr_kernel_ctx_t* k;
  hr_bundle_t* bundle;      /* NULL: version 1 */
  hr_legacy_t* legacy;
  hr_tensor_t* tensors;     /* one an output; zeroed */
} restore_t;

static hr_status_t restore_chunk(void* arg, int64_t begin, int64_t end, int chunk) {
  const restore_t* r = arg;
  (void)chunk;
  for (int64_t i = begin; i < end; ++i) {
    const hr_str_t name = hr_path_text(hr_input(r->k, 1), i), spec = hr_path_text(hr_input(r->k, 2), i);
    const hr_dtype_t type = hr_output_dtype(r->k, (int)i);
    if (hr_is_cancelled(r->k)) return hr_status_cancelled();
    HR_TRY(r->bundle ? hr_bundle_read(r->bundle, name, spec, type, &r->tensors[i])
                     : hr_legacy_read(r->legacy, name, spec, type, &r->tensors[i]));
  }
  return NULL;
}

static double restore_cost(const restore_t* r, int64_t tensors) { /* nanoseconds a tensor: what is stored under the names, read at 2 GB/s */
  int64_t bytes = 0;
  for (int64_t i = 0; r->bundle && i < tensors; ++i) {
    const hr_bundle_entry_t* e = hr_bundle_find(r->bundle, hr_path_text(hr_input(r->k, 1), i));
    if (e && e->size > 0) bytes += e->size / (int64_t)tensors;
  }
  return 2000.0 + 0.5 * (double)bytes;
}

/* The bundle, or a checkpoint of version 1 when there is no index file of that name. */
static hr_status_t restore_open(restore_t* r, const char* prefix) {
  hr_status_t status = hr_bundle_open(prefix, &r->bundle);
  if (hr_status_code(status) != HR_NOT_FOUND) return status;
  if (!hr_legacy_exists(prefix))
    return hr_status_note(status, "Unsuccessful TensorSliceReader constructor: Failed to find any matching files for %s: ", prefix);
  hr_status_release(status);
  return hr_legacy_open(prefix, &r->legacy);
}

static hr_status_t restore(hr_kernel_ctx_t* k) {
  const int tensors = hr_output_count(k);
  restore_t r = {.k = k};
  char* prefix = NULL;
  hr_status_t status = NULL;
  HR_TRY(check_names(k, tensors));
  HR_TRY(hr_path_input_of_one(k, 0, "prefix", &prefix));
  r.tensors = hr_alloc_array((size_t)tensors, sizeof *r.tensors);
  if (!r.tensors) status = hr_status_out_of_memory();
  if (!status) status = restore_open(&r, prefix);
  if (!status) status = hr_parallel(k, tensors, restore_cost(&r, tensors), restore_chunk, &r);
  for (int i = 0; !status && i < tensors; ++i) hr_output_move(k, i, &r.tensors[i]);
  for (int i = 0; r.tensors && i < tensors; ++i) hr_tensor_release(&r.tensors[i]);
  hr_bundle_close(r.bundle);
  hr_legacy_close(r.legacy);
  hr_free(r.tensors);
  hr_free(prefix);
  return status;
}

typedef struct { bool remove_folders, may_miss; } merge_t;
static hr_status_t merge_prepare(hr_prepare_ctx_t* p, void* prepared) {
  merge_t* m = prepared;
  m->remove_folders = hr_attrs_bool(p->attrs, "delete_old_dirs");
  m->may_miss = hr_attrs_bool(p->attrs, "allow_missing_files");
  return NULL;
}

static hr_status_t has_index(const hr_kernel_ctx_t* k, hr_str_t prefix, bool* out) {
  char *path = NULL, *name = NULL;
  HR_TRY(hr_path_copy(k, prefix, "checkpoint prefix", &name));
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hr_strbuf_format(&text, "%s.index", name);
  hr_status_t status = hr_strbuf_take(&text, &path, NULL);
  if (!status) *out = hr_file_exists(path);
  hr_free(path);
  hr_free(name);
  return status;
}

static hr_status_t merge_run(const hr_kernel_ctx_t* k, const merge_t* m, const hr_tensor_t* prefixes, const char* into, hr_str_t* kept) {
  int64_t count = 0;
  for (int64_t i = 0; i < prefixes->count; ++i) {
    const hr_str_t prefix = hr_path_text(prefixes, i);
    bool exists = false;
    HR_TRY(has_index(k, prefix, &exists));
    if (exists) kept[count++] = prefix;
    else if (!m->may_miss)
      return HR_ERROR(INVALID_ARGUMENT, "there is no checkpoint '%.*s' to merge (allow_missing_files is false)", HR_STR_ARG(prefix));
  }
  return hr_bundle_merge(kept, count, into, m->remove_folders);
}

static hr_status_t merge(hr_kernel_ctx_t* k) {
  const hr_tensor_t* prefixes = hr_input(k, 0);
  char* into = NULL;
  HR_TRY(hr_want_vector(k, 0, "checkpoint_prefixes"));
  HR_TRY(hr_path_input(k, 1, "destination_prefix", &into));
  hr_str_t* kept = hr_alloc_array((size_t)prefixes->count + 1, sizeof *kept);
  hr_status_t status = kept ? merge_run(k, hr_prepared(k), prefixes, into, kept) : hr_status_out_of_memory();
  hr_free(kept);
  hr_free(into);
  return status;
}

/* 3. definitions */
const hr_op_t hr_op_SaveV2 = {.name = "SaveV2",
                              .sig = "prefix: string; tensor_names: string; shape_and_slices: string; tensors: dtypes ->",
                              .attrs = "dtypes: list(type) >= 1",
                              .flags = HR_OP_STATEFUL,
                              .shape = infer_save,
                              HR_KERNELS({.host_inputs = UINT32_MAX, .compute = save}),
                              .doc = "writes tensors to a checkpoint",
                              HR_HERE};

const hr_op_t hr_op_RestoreV2 = {.name = "RestoreV2",
                                 .sig = "prefix: string; tensor_names: string; shape_and_slices: string -> tensors: dtypes",
                                 .attrs = "dtypes: list(type) >= 1",
                                 .flags = HR_OP_STATEFUL,
                                 .shape = infer_restore,
                                 HR_KERNELS({.host_inputs = 7, .host_outputs = UINT32_MAX, .compute = restore}),
                                 .doc = "reads tensors from a checkpoint",
                                 HR_HERE};

const hr_op_t hr_op_MergeV2Checkpoints = {
    .name = "MergeV2Checkpoints", .sig = "checkpoint_prefixes: string; destination_prefix: string ->",
    .attrs = "delete_old_dirs: bool = true; allow_missing_files: bool = false", .flags = HR_OP_STATEFUL, .shape = infer_merge,
    HR_KERNELS({.host_inputs = 3, .prepared_bytes = sizeof(merge_t), .prepare = merge_prepare, .compute = merge}),
    .doc = "makes one checkpoint of several", HR_HERE};
