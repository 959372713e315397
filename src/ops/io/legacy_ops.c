/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints of version 1 as ops: Save, SaveSlices, Restore, RestoreSlice. preferred_shard is a hint that nothing here needs. */
#include "base/alloc.h"
#include "op/infer_fns.h"
#include "ops/io/legacy.h"
#include "ops/io/path.h"

extern const hr_op_t hr_op_Save, hr_op_SaveSlices, hr_op_Restore, hr_op_RestoreSlice;

/* 1. shapes */
static hr_status_t infer_save_lists(hr_infer_t* s, int lists) {
  const int64_t tensors = hr_infer_input_count(s) - 1 - lists;
  HR_TRY(hr_infer_want_rank(s, 0, 0, NULL));
  for (int i = 1; i <= lists; ++i) {
    const hr_pshape_t* shape;
    int64_t n;
    HR_TRY(hr_infer_want_rank(s, i, 1, &shape));
    HR_TRY(hr_infer_merge_dim(hr_infer_dim(shape, 0), tensors, &n));
  }
  return NULL;
}
static hr_status_t infer_save(hr_infer_t* s) { return infer_save_lists(s, 1); }
static hr_status_t infer_save_slices(hr_infer_t* s) { return infer_save_lists(s, 2); }

static hr_status_t infer_restore(hr_infer_t* s) {
  const hr_tensor_t* spec = NULL;
  for (int i = 0; i < hr_infer_input_count(s); ++i) HR_TRY(hr_infer_want_rank(s, i, 0, NULL));
  if (hr_infer_input_count(s) == 3) spec = hr_infer_const(s, 2);
  if (!spec || hr_path_text(spec, 0).size == 0) return NULL; /* any shape */
  hr_shape_t full, part;
  hr_slice_t slice;
  HR_TRY(hr_slice_parse_spec(hr_path_text(spec, 0), &full, &slice));
  HR_TRY(hr_slice_shape(&slice, &full, &part));
  return hr_infer_set_dims(s, 0, part.rank, part.dims);
}

/* 2. kernels; arg: with slices */
static hr_status_t check_list(const hr_kernel_ctx_t* k, int input, const char* what, int64_t tensors) {
  const int64_t n = hr_input(k, input)->count;
  return n == tensors ? NULL : HR_ERROR(INVALID_ARGUMENT, "%s has %lld elements for %lld tensors", what, (long long)n, (long long)tensors);
}

static hr_status_t save(hr_kernel_ctx_t* k) {
  const bool slices = hr_kernel_arg(k) != NULL;
  const int first = slices ? 3 : 2, tensors = hr_input_count(k) - first;
  char* path = NULL;
  HR_TRY(check_list(k, 1, "tensor_names", tensors));
  if (slices) HR_TRY(check_list(k, 2, "shapes_and_slices", tensors));
  HR_TRY(hr_path_input_of_one(k, 0, "filename", &path));
  hr_legacy_entry_t* entries = hr_alloc_array((size_t)tensors + 1, sizeof *entries);
  for (int i = 0; entries && i < tensors; ++i)
    entries[i] = (hr_legacy_entry_t){hr_path_text(hr_input(k, 1), i), slices ? hr_path_text(hr_input(k, 2), i) : (hr_str_t){"", 0},
                                     hr_input(k, first + i)};
  hr_status_t status = entries ? hr_legacy_write(path, entries, tensors) : hr_status_out_of_memory();
  hr_free(entries);
  hr_free(path);
  return status;
}

static hr_status_t want_some(const hr_kernel_ctx_t* k, int input, const char* what) { /* the first counts, as in TensorFlow */
  return hr_input(k, input)->count ? NULL : HR_ERROR(INVALID_ARGUMENT, "%s has no element (input %d)", what, input);
}

static hr_status_t check_shard(hr_prepare_ctx_t* p, void* prepared) {
  const int64_t shard = hr_attrs_int(p->attrs, "preferred_shard");
  (void)prepared;
  return shard >= -1 ? NULL : HR_ERROR(INVALID_ARGUMENT, "Attribute 'preferred_shard' must be greater or equal to -1, it is %lld",
                                       (long long)shard);
}

static hr_status_t restore(hr_kernel_ctx_t* k) {
  const bool slices = hr_kernel_arg(k) != NULL;
  hr_legacy_t* l = NULL;
  hr_tensor_t value = {0};
  char* pattern = NULL;
  HR_TRY(want_some(k, 1, "tensor_name"));
  if (slices) HR_TRY(want_some(k, 2, "shape_and_slice"));
  HR_TRY(hr_path_input_of_one(k, 0, "file_pattern", &pattern));
  hr_status_t status = hr_legacy_open(pattern, &l);
  if (!status)
    status = hr_legacy_read(l, hr_path_text(hr_input(k, 1), 0), slices ? hr_path_text(hr_input(k, 2), 0) : (hr_str_t){"", 0},
                            hr_output_dtype(k, 0), &value);
  if (!status) hr_output_move(k, 0, &value);
  hr_legacy_close(l);
  hr_free(pattern);
  return status;
}

/* 3. definitions */
#define WITH_SLICES ((const void*)1)
const hr_op_t hr_op_Save = {.name = "Save",
                            .sig = "filename: string; tensor_names: string; data: T ->",
                            .attrs = "T: list(type) >= 1",
                            .flags = HR_OP_STATEFUL,
                            .shape = infer_save,
                            HR_KERNELS({.host_inputs = UINT32_MAX, .compute = save}),
                            .doc = "writes tensors to a checkpoint of version 1",
                            HR_HERE};

const hr_op_t hr_op_SaveSlices = {.name = "SaveSlices",
                                  .sig = "filename: string; tensor_names: string; shapes_and_slices: string; data: T ->",
                                  .attrs = "T: list(type) >= 1",
                                  .flags = HR_OP_STATEFUL,
                                  .shape = infer_save_slices,
                                  HR_KERNELS({.host_inputs = UINT32_MAX, .compute = save, .arg = WITH_SLICES}),
                                  .doc = "writes tensors and slices of tensors to a checkpoint of version 1",
                                  HR_HERE};

const hr_op_t hr_op_Restore = {
    .name = "Restore", .sig = "file_pattern: string; tensor_name: string -> tensor: dt", .attrs = "dt: type; preferred_shard: int = -1",
    .flags = HR_OP_STATEFUL, .shape = infer_restore,
    HR_KERNELS({.host_inputs = 3, .host_outputs = 1, .prepare = check_shard, .compute = restore}),
    .doc = "reads a tensor from a checkpoint of version 1", HR_HERE};

const hr_op_t hr_op_RestoreSlice = {
    .name = "RestoreSlice", .sig = "file_pattern: string; tensor_name: string; shape_and_slice: string -> tensor: dt",
    .attrs = "dt: type; preferred_shard: int = -1", .flags = HR_OP_STATEFUL, .shape = infer_restore,
    HR_KERNELS({.host_inputs = 7, .host_outputs = 1, .prepare = check_shard, .compute = restore, .arg = WITH_SLICES}),
    .doc = "reads a slice of a tensor from a checkpoint of version 1", HR_HERE};
