/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints, version 2 ("tensor bundles"): <prefix>.index, a table of entries, and <prefix>.data-SSSSS-of-NNNNN, raw tensor bytes.
 *
 * Writing goes to temporary names; finish syncs and renames, so a save that fails leaves the files that were there. Tensors may be
 * parts of partitioned ones: `spec` is SaveV2's shape_and_slices element ("" for a whole tensor, else "10 4 0,5:-").
 * Reading: missing names and files are NOT_FOUND, wrong dtypes INVALID_ARGUMENT, damage DATA_LOSS; bundles of the other endianness are
 * swapped. Variants are UNIMPLEMENTED, resources cannot be stored. */
#ifndef HR_IO_BUNDLE_H
#define HR_IO_BUNDLE_H
#include "io/slice.h"

typedef struct {
  hr_str_t name;           /* NUL-terminated; binary for the parts of partitioned tensors */
  hr_dtype_t dtype;
  int32_t shard;
  hr_shape_t shape;        /* of the whole tensor; of the part in a part's entry */
  int64_t offset, size;    /* bytes in the shard's data file */
  uint32_t crc;            /* masked */
  int32_t slice_count;     /* > 0: no bytes of its own, they lie in parts */
  const hr_slice_t* slices;
} hr_bundle_entry_t;

/* One thread at a time. */
typedef struct hr_bundle_writer hr_bundle_writer_t;
HR_MUST_USE hr_status_t hr_bundle_writer_create(const char* prefix, hr_bundle_writer_t** out); /* makes the folder */
HR_MUST_USE hr_status_t hr_bundle_writer_add(hr_bundle_writer_t* w, hr_str_t name, hr_str_t spec, const hr_tensor_t* t);
HR_MUST_USE hr_status_t hr_bundle_writer_finish(hr_bundle_writer_t* w);
void hr_bundle_writer_destroy(hr_bundle_writer_t* w); /* accepts NULL; without finish nothing remains */

/* MergeV2Checkpoints: gives the shards' data files their final names, writes the merged index, removes the shards' own. When
 * `remove_folders`
 * the shards' folders too, if empty. Everything is checked before the first rename. */
HR_MUST_USE hr_status_t hr_bundle_merge(const hr_str_t* prefixes, int64_t count, const char* into, bool remove_folders);

/* Any number of threads may read. */
typedef struct hr_bundle hr_bundle_t;
HR_MUST_USE hr_status_t hr_bundle_open(const char* prefix, hr_bundle_t** out);
void hr_bundle_close(hr_bundle_t* b); /* accepts NULL */
/* entries in key order, parts included (they come first) */
int64_t hr_bundle_count(const hr_bundle_t* b);
const hr_bundle_entry_t* hr_bundle_entry(const hr_bundle_t* b, int64_t index);
bool hr_bundle_entry_is_part(const hr_bundle_entry_t* e);
const hr_bundle_entry_t* hr_bundle_find(const hr_bundle_t* b, hr_str_t name);    /* NULL */
int32_t hr_bundle_shards(const hr_bundle_t* b);
/* A whole tensor or the part that `spec` names. `dtype` INVALID: whatever is stored. */
HR_MUST_USE hr_status_t hr_bundle_read(hr_bundle_t* b, hr_str_t name, hr_str_t spec, hr_dtype_t dtype, hr_tensor_t* out);
#endif
