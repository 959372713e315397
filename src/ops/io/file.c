/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files: ReadFile, WriteFile (replaces the file at once: readers see the old bytes or the new), MatchingFiles (the names that fit
 * patterns, sorted, as often as patterns fit; a name that begins with a dot needs a pattern that does). */
#include <glob.h>
#include <stdlib.h>
#include "base/alloc.h"
#include "base/file.h"
#include "base/vec.h"
#include "op/infer_fns.h"
#include "ops/io/path.h"

extern const hr_op_t hr_op_ReadFile, hr_op_WriteFile, hr_op_MatchingFiles;

/* 1. shapes */
static hr_status_t infer_read_file(hr_infer_t* s) {
  HR_TRY(hr_infer_want_rank(s, 0, 0, NULL));
  return hr_infer_scalars(s);
}
static hr_status_t infer_write_file(hr_infer_t* s) {
  HR_TRY(hr_infer_want_rank(s, 0, 0, NULL));
  return hr_infer_want_rank(s, 1, 0, NULL);
}
static hr_status_t infer_matching(hr_infer_t* s) {
  HR_TRY(hr_infer_want_rank_at_most(s, 0, 1));
  return hr_infer_set_vector(s, 0, -1);
}

/* 2. kernels */
static hr_status_t read_file(hr_kernel_ctx_t* k) {
  const hr_shape_t scalar = hr_shape_scalar();
  char *path = NULL, *data = NULL;
  size_t size;
  hr_tensor_t* out;
  HR_TRY(hr_path_input(k, 0, "filename", &path));
  hr_status_t status = hr_file_read(path, &data, &size);
  if (!status) status = hr_output(k, 0, &scalar, &out);
  if (!status) status = hr_tstring_set(out->data, (hr_str_t){data, size});
  hr_free(data);
  hr_free(path);
  return status;
}

static hr_status_t write_file(hr_kernel_ctx_t* k) {
  char* path = NULL;
  HR_TRY(hr_want_scalar(k, 1, "contents"));
  HR_TRY(hr_path_input(k, 0, "filename", &path));
  const hr_str_t text = hr_path_text(hr_input(k, 1), 0);
  hr_status_t status = hr_file_make_dirs_of(path);
  if (!status) status = hr_file_replace(path, text.data, text.size);
  hr_free(path);
  return status;
}

typedef HR_VEC(char*) names_t;
static hr_status_t add_matches(const char* pattern, names_t* names) {
  glob_t found = {0};
  hr_status_t status = NULL;
  const int rc = glob(pattern, GLOB_NOSORT, NULL, &found);
  if (rc == GLOB_NOSPACE) status = hr_status_out_of_memory();
  for (size_t i = 0; !status && rc == 0 && i < found.gl_pathc; ++i) {
    char* name = hr_alloc_copy(found.gl_pathv[i], strlen(found.gl_pathv[i]));
    status = name ? hr_vec_push(names, name) : hr_status_out_of_memory();
    if (status) hr_free(name);
  }
  globfree(&found);
  return status;
}

static int compare_names(const void* a, const void* b) { return strcmp(*(char* const*)a, *(char* const*)b); }
static hr_status_t matching_output(hr_kernel_ctx_t* k, const names_t* names) {
  const hr_shape_t shape = hr_shape_vector(names->count);
  hr_tensor_t* out;
  if (names->count) qsort(names->data, (size_t)names->count, sizeof *names->data, compare_names);
  HR_TRY(hr_output(k, 0, &shape, &out));
  for (int64_t i = 0; i < names->count; ++i) HR_TRY(hr_tstring_set((hr_tstring_t*)out->data + i, hr_str(names->data[i])));
  return NULL;
}

static hr_status_t matching_files(hr_kernel_ctx_t* k) {
  const hr_tensor_t* patterns = hr_input(k, 0);
  names_t names = {0};
  hr_status_t status = NULL;
  if (patterns->shape.rank > 1)
    return HR_ERROR(INVALID_ARGUMENT, "patterns are a tensor of rank %d; a scalar or a vector was expected", patterns->shape.rank);
  for (int64_t i = 0; !status && i < patterns->count; ++i) {
    char* pattern = NULL;
    status = hr_path_copy(k, hr_path_text(patterns, i), "pattern", &pattern);
    if (!status) status = add_matches(pattern, &names);
    hr_free(pattern);
  }
  if (!status) status = matching_output(k, &names);
  for (int64_t i = 0; i < names.count; ++i) hr_free(names.data[i]);
  hr_vec_deinit(&names);
  return status;
}

/* 3. definitions */
const hr_op_t hr_op_ReadFile = {
    .name = "ReadFile", .sig = "filename: string -> contents: string", .attrs = "", .flags = HR_OP_SIDE_EFFECT, .shape = infer_read_file,
    HR_KERNELS({.host_inputs = 1, .host_outputs = 1, .compute = read_file}), .doc = "the bytes of a file", HR_HERE};

const hr_op_t hr_op_WriteFile = {
    .name = "WriteFile", .sig = "filename: string; contents: string ->", .attrs = "", .flags = HR_OP_STATEFUL, .shape = infer_write_file,
    HR_KERNELS({.host_inputs = 3, .compute = write_file}), .doc = "makes a file of these bytes", HR_HERE};

const hr_op_t hr_op_MatchingFiles = {.name = "MatchingFiles",
                                     .sig = "pattern: string -> filenames: string",
                                     .attrs = "",
                                     .flags = HR_OP_SIDE_EFFECT,
                                     .shape = infer_matching,
                                     HR_KERNELS({.host_inputs = 1, .host_outputs = 1, .compute = matching_files}),
                                     .doc = "the names of files that fit patterns",
                                     HR_HERE};
