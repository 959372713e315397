/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a bundle: the index once, data straight into the tensor's memory, checksummed piece by piece while it is in cache. */
#include "base/file.h"
#include "base/hash.h"
#include "base/sync.h"
#include "io/bundle_entry.h"

enum { BUNDLE_PIECE_READ = 256 * 1024, BUNDLE_MAX_PARTS = 8192 };

typedef struct { int32_t shard; hr_file_t* file; } bundle_file_t;

struct hr_bundle {
  char* prefix;
  hr_arena_t arena;
  hr_bundle_header_t header;
  hr_bundle_entries_t entries;
  hr_mutex_t mu;                  /* guards files */
  HR_VEC(bundle_file_t) files;    /* opened when first needed */
};

hr_status_t hr_bundle_open(const char* prefix, hr_bundle_t** out) {
  hr_bundle_t* b = hr_alloc_zero(sizeof *b);
  if (!b) return hr_status_out_of_memory();
  hr_arena_init(&b->arena);
  hr_mutex_init(&b->mu);
  b->prefix = hr_alloc_copy(prefix, strlen(prefix));
  hr_status_t status = b->prefix ? hr_bundle_entry_read_index(prefix, &b->arena, &b->header, &b->entries) : hr_status_out_of_memory();
  if (status) hr_bundle_close(b);
  else *out = b;
  return status;
}

void hr_bundle_close(hr_bundle_t* b) {
  if (!b) return;
  for (int64_t i = 0; i < b->files.count; ++i) hr_status_release(hr_file_close(b->files.data[i].file));
  hr_vec_deinit(&b->files);
  hr_vec_deinit(&b->entries);
  hr_mutex_deinit(&b->mu);
  hr_arena_deinit(&b->arena);
  hr_free(b->prefix);
  hr_free(b);
}

int64_t hr_bundle_count(const hr_bundle_t* b) { return b->entries.count; }
const hr_bundle_entry_t* hr_bundle_entry(const hr_bundle_t* b, int64_t index) { return &b->entries.data[index]; }
bool hr_bundle_entry_is_part(const hr_bundle_entry_t* e) { return e->name.size > 0 && e->name.data[0] == 0; }
int32_t hr_bundle_shards(const hr_bundle_t* b) { return (int32_t)b->header.shards; }

const hr_bundle_entry_t* hr_bundle_find(const hr_bundle_t* b, hr_str_t name) {
  int64_t low = 0, high = b->entries.count;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    int order = hr_str_compare(b->entries.data[middle].name, name);
    if (order == 0) return &b->entries.data[middle];
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return NULL;
}

/* --- data --------------------------------------------------------------------------------------------------------------------- */
static hr_status_t bundle_open_shard(hr_bundle_t* b, int32_t shard, hr_file_t** out) {
  for (int64_t i = 0; i < b->files.count; ++i)
    if (b->files.data[i].shard == shard) {
      *out = b->files.data[i].file;
      return NULL;
    }
  char* path = hr_bundle_entry_data_path(b->prefix, shard, b->header.shards);
  bundle_file_t opened = {shard, NULL};
  hr_status_t status = path ? hr_file_open(path, &opened.file) : hr_status_out_of_memory();
  hr_free(path);
  if (!status) status = hr_vec_push(&b->files, opened);
  if (status) hr_status_release(hr_file_close(opened.file));
  else *out = opened.file;
  return status;
}

static hr_status_t bundle_shard(hr_bundle_t* b, int32_t shard, hr_file_t** out) {
  hr_mutex_lock(&b->mu);
  hr_status_t status = bundle_open_shard(b, shard, out);
  hr_mutex_unlock(&b->mu);
  return status;
}

static hr_status_t bundle_damaged(const hr_bundle_t* b, const hr_bundle_entry_t* e, const char* what) {
  return HR_ERROR(DATA_LOSS, "checkpoint '%s': tensor '%.*s' (shard %d, byte %lld): %s", b->prefix, HR_STR_ARG(e->name), e->shard,
                  (long long)e->offset, what);
}

/* The entry's file, after its bytes were found to be in it. */
static hr_status_t bundle_locate(hr_bundle_t* b, const hr_bundle_entry_t* e, hr_file_t** out) {
  HR_TRY(bundle_shard(b, e->shard, out));
  uint64_t size = hr_file_size(*out);
  if ((uint64_t)e->offset > size || (uint64_t)e->size > size - (uint64_t)e->offset)
    return bundle_damaged(b, e, "the data file is too short");
  return NULL;
}

static hr_status_t bundle_get(hr_file_t* file, uint64_t offset, char* out, size_t size, uint32_t* crc) {
  while (size > 0) {
    size_t n = size < BUNDLE_PIECE_READ ? size : BUNDLE_PIECE_READ;
    HR_TRY(hr_file_read_at(file, offset, out, n));
    *crc = hr_hash_crc32c(*crc, out, n);
    offset += n;
    out += n;
    size -= n;
  }
  return NULL;
}

static void bundle_swap(hr_tensor_t* t) {
  size_t part = hr_dtype_size(t->dtype), bytes = hr_tensor_bytes(t);
  if (hr_dtype_in(t->dtype, HR_M_COMPLEX)) part /= 2;
  char* p = t->data;
  for (size_t at = 0; at < bytes; at += part)
    for (size_t i = 0; i < part / 2; ++i) {
      char c = p[at + i];
      p[at + i] = p[at + part - 1 - i];
      p[at + part - 1 - i] = c;
    }
}

static hr_status_t bundle_get_plain(hr_bundle_t* b, const hr_bundle_entry_t* e, hr_file_t* file, hr_tensor_t* t) {
  uint32_t crc = 0;
  HR_TRY(bundle_get(file, (uint64_t)e->offset, t->data, (size_t)e->size, &crc));
  if (hr_hash_crc32c_mask(crc) != e->crc) return bundle_damaged(b, e, "wrong checksum");
  if (b->header.is_big_endian) bundle_swap(t);
  return NULL;
}

/* `bytes`: all of the entry. */
static hr_status_t bundle_parse_strings(hr_bundle_t* b, const hr_bundle_entry_t* e, hr_cursor_t bytes, hr_tensor_t* t) {
  hr_cursor_t lengths = bytes, sum;
  bool big = b->header.is_big_endian;
  uint32_t crc = 0;
  uint64_t n;
  for (int64_t i = 0; i < t->count; ++i) {
    HR_TRY(hr_cursor_varint(&bytes, &n));
    crc = hr_bundle_entry_crc_length(crc, n, big);
  }
  HR_TRY(hr_cursor_bytes(&bytes, 4, &sum));
  const uint8_t* s = sum.at;
  uint32_t stored = big ? (uint32_t)s[0] << 24 | (uint32_t)s[1] << 16 | (uint32_t)s[2] << 8 | s[3]
                        : (uint32_t)s[3] << 24 | (uint32_t)s[2] << 16 | (uint32_t)s[1] << 8 | s[0];
  if (stored != hr_hash_crc32c_mask(crc)) return bundle_damaged(b, e, "the string lengths have a wrong checksum");
  crc = hr_hash_crc32c(crc, sum.at, 4);
  crc = hr_hash_crc32c(crc, bytes.at, hr_cursor_left(&bytes));
  if (hr_hash_crc32c_mask(crc) != e->crc) return bundle_damaged(b, e, "wrong checksum");
  for (int64_t i = 0; i < t->count; ++i) {
    hr_cursor_t text;
    HR_TRY(hr_cursor_varint(&lengths, &n));
    if (n > hr_cursor_left(&bytes)) return bundle_damaged(b, e, "a string runs past the end");
    HR_TRY(hr_cursor_bytes(&bytes, (size_t)n, &text));
    HR_TRY(hr_tstring_set((hr_tstring_t*)t->data + i, hr_cursor_str(text)));
  }
  return NULL;
}

static hr_status_t bundle_get_strings(hr_bundle_t* b, const hr_bundle_entry_t* e, hr_file_t* file, hr_tensor_t* t) {
  char* bytes = hr_alloc((size_t)e->size + 1);
  if (!bytes) return hr_status_out_of_memory();
  hr_status_t status = hr_file_read_at(file, (uint64_t)e->offset, bytes, (size_t)e->size);
  if (!status) status = bundle_parse_strings(b, e, hr_cursor_make(bytes, (size_t)e->size), t);
  if (hr_status_code(status) == HR_INVALID_ARGUMENT) { /* the cursor's own words: the bytes end too early */
    hr_status_release(status);
    status = bundle_damaged(b, e, "the strings run past the end");
  }
  hr_free(bytes);
  return status;
}

/* A whole entry that has bytes of its own. Sizes are compared before memory is taken. */
static hr_status_t bundle_read_entry(hr_bundle_t* b, const hr_bundle_entry_t* e, hr_tensor_t* out) {
  hr_file_t* file = NULL;
  size_t want = 0;
  if (e->dtype == HR_VARIANT || e->dtype == HR_RESOURCE)
    return HR_ERROR(UNIMPLEMENTED, "reading %s tensor '%.*s' from a checkpoint", hr_dtype_name(e->dtype), HR_STR_ARG(e->name));
  HR_TRY(bundle_locate(b, e, &file));
  int64_t count = hr_shape_count(&e->shape);
  if (e->dtype == HR_STRING && count > e->size) return bundle_damaged(b, e, "too few bytes for its strings");
  if (e->dtype != HR_STRING && (!hr_size_mul((size_t)count, hr_dtype_size(e->dtype), &want) || want != (size_t)e->size))
    return bundle_damaged(b, e, "its size does not fit its shape");
  HR_TRY(hr_tensor_create(e->dtype, &e->shape, out));
  hr_status_t status = e->dtype == HR_STRING ? bundle_get_strings(b, e, file, out) : bundle_get_plain(b, e, file, out);
  if (status) {
    hr_tensor_release(out);
    *out = (hr_tensor_t){0};
  }
  return status;
}

/* --- parts -------------------------------------------------------------------------------------------------------------------- */
static hr_status_t bundle_find_part(const hr_bundle_t* b, const hr_bundle_entry_t* e, const hr_slice_t* slice,
                                    const hr_bundle_entry_t** out) {
  hr_strbuf_t key;
  hr_shape_t shape;
  hr_strbuf_init(&key);
  hr_slice_encode_key(e->name, slice, &key);
  bool is_made = !key.failed;
  *out = is_made ? hr_bundle_find(b, hr_strbuf_view(&key)) : NULL;
  hr_strbuf_deinit(&key);
  if (!is_made) return hr_status_out_of_memory();
  if (!*out) return bundle_damaged(b, e, "one of its parts is missing");
  HR_TRY(hr_slice_shape(slice, &e->shape, &shape));
  if ((*out)->dtype != e->dtype || !hr_shape_equal(&(*out)->shape, &shape) || (*out)->slice_count > 0)
    return bundle_damaged(b, e, "one of its parts has another dtype or shape");
  return NULL;
}

static hr_status_t bundle_check_parts(const hr_bundle_t* b, const hr_bundle_entry_t* e) {
  if (e->slice_count > BUNDLE_MAX_PARTS)
    return HR_ERROR(UNIMPLEMENTED, "tensor '%.*s' has %d parts, more than %d", HR_STR_ARG(e->name), e->slice_count, BUNDLE_MAX_PARTS);
  for (int32_t i = 0; i < e->slice_count; ++i)
    for (int32_t j = 0; j < i; ++j)
      if (hr_slice_overlaps(&e->slices[i], &e->slices[j], &e->shape)) return bundle_damaged(b, e, "its parts overlap");
  return NULL;
}

static hr_status_t bundle_uncovered(const hr_bundle_entry_t* e) {
  return HR_ERROR(INVALID_ARGUMENT, "Does not have sufficient slices for partitioned tensor %.*s: its parts do not cover what is asked for",
                  HR_STR_ARG(e->name));
}

static hr_status_t bundle_copy_parts(hr_bundle_t* b, const hr_bundle_entry_t* e, const hr_slice_t* want, hr_tensor_t* out) {
  int64_t copied = 0;
  for (int32_t i = 0; i < e->slice_count; ++i) {
    const hr_bundle_entry_t* part = NULL;
    hr_tensor_t t = {0};
    int64_t n = 0;
    if (!hr_slice_overlaps(&e->slices[i], want, &e->shape)) continue;
    HR_TRY(bundle_find_part(b, e, &e->slices[i], &part));
    HR_TRY(bundle_read_entry(b, part, &t));
    hr_status_t status = hr_slice_copy(&e->shape, &e->slices[i], &t, want, out, &n);
    hr_tensor_release(&t);
    if (status) return status;
    copied += n;
  }
  return copied == out->count ? NULL : bundle_uncovered(e);
}

/* Whether the parts can fill a tensor of that size is known before memory is taken: elements asked for must be in them. */
static hr_status_t bundle_check_cover(hr_bundle_t* b, const hr_bundle_entry_t* e, const hr_slice_t* want, int64_t wanted) {
  int64_t stored = 0;
  for (int32_t i = 0; i < e->slice_count; ++i) {
    const hr_bundle_entry_t* part = NULL;
    hr_file_t* file = NULL;
    if (!hr_slice_overlaps(&e->slices[i], want, &e->shape)) continue;
    HR_TRY(bundle_find_part(b, e, &e->slices[i], &part));
    HR_TRY(bundle_locate(b, part, &file));
    int64_t count = hr_shape_count(&part->shape);
    if (count > part->size) return bundle_damaged(b, part, "its size does not fit its shape");
    if (__builtin_add_overflow(stored, count, &stored)) break;
  }
  return wanted <= stored ? NULL : bundle_uncovered(e);
}

static hr_status_t bundle_read_parts(hr_bundle_t* b, const hr_bundle_entry_t* e, const hr_slice_t* want, hr_tensor_t* out) {
  hr_shape_t shape;
  HR_TRY(hr_slice_shape(want, &e->shape, &shape));
  HR_TRY(bundle_check_parts(b, e));
  HR_TRY(bundle_check_cover(b, e, want, hr_shape_count(&shape)));
  HR_TRY(hr_tensor_create(e->dtype, &shape, out));
  hr_status_t status = bundle_copy_parts(b, e, want, out);
  if (status) {
    hr_tensor_release(out);
    *out = (hr_tensor_t){0};
  }
  return status;
}

static hr_status_t bundle_read_slice(hr_bundle_t* b, const hr_bundle_entry_t* e, const hr_slice_t* want, hr_tensor_t* out) {
  hr_shape_t shape;
  hr_tensor_t whole = {0};
  hr_slice_t all;
  int64_t copied = 0;
  if (e->slice_count > 0) return bundle_read_parts(b, e, want, out);
  if (hr_slice_is_all(want, &e->shape)) return bundle_read_entry(b, e, out);
  HR_TRY(hr_slice_shape(want, &e->shape, &shape));
  HR_TRY(bundle_read_entry(b, e, &whole));
  hr_slice_all(e->shape.rank, &all);
  hr_status_t status = hr_tensor_create(e->dtype, &shape, out);
  if (!status) status = hr_slice_copy(&e->shape, &all, &whole, want, out, &copied);
  hr_tensor_release(&whole);
  return status;
}

hr_status_t hr_bundle_read(hr_bundle_t* b, hr_str_t name, hr_str_t spec, hr_dtype_t dtype, hr_tensor_t* out) {
  const hr_bundle_entry_t* e = hr_bundle_find(b, name);
  hr_slice_t want;
  hr_shape_t full;
  char stored[HR_SHAPE_TEXT], asked[HR_SHAPE_TEXT];
  *out = (hr_tensor_t){0};
  if (!e) return HR_ERROR(NOT_FOUND, "Key %.*s not found in checkpoint '%s'", HR_STR_ARG(name), b->prefix);
  if (dtype != HR_DTYPE_INVALID && dtype != e->dtype)
    return HR_ERROR(INVALID_ARGUMENT, "tensor '%.*s' has dtype %s in checkpoint '%s', not the expected %s", HR_STR_ARG(name),
                    hr_dtype_name(e->dtype),
                    b->prefix, hr_dtype_name(dtype));
  hr_slice_all(e->shape.rank, &want);
  if (spec.size) {
    HR_TRY(hr_slice_parse_spec(spec, &full, &want));
    if (!hr_shape_equal(&full, &e->shape))
      return HR_ERROR(INVALID_ARGUMENT, "tensor '%.*s' has shape %s in checkpoint '%s', not the expected %s", HR_STR_ARG(name),
                      hr_shape_format(&e->shape, stored), b->prefix, hr_shape_format(&full, asked));
  }
  return bundle_read_slice(b, e, &want, out);
}
