/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a bundle: bytes go to a temporary data file as tensors come, checksummed a cache-sized piece ahead of the write; entries wait
 * in memory. */
#include "base/file.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/rng.h"
#include "io/bundle_entry.h"
#include <stdio.h>

enum { BUNDLE_PIECE = 256 * 1024, BUNDLE_WRITEBACK = 16 << 20 };

struct hr_bundle_writer {
  char *prefix, *temp_path;
  hr_file_t* file;
  hr_arena_t arena;
  hr_map_t by_name;                 /* -> hr_bundle_entry_t* */
  HR_VEC(hr_bundle_entry_t*) entries;
  int64_t offset, handed_over;      /* bytes written; bytes the disk was told of */
  hr_status_t failure;              /* the first; later calls repeat it */
};

static char* bundle_temp_path(const char* prefix) {
  size_t n = strlen(prefix) + 64;
  char* path = hr_alloc(n);
  if (path) snprintf(path, n, "%s.data-00000-of-00001.tempstate%016llx", prefix, (unsigned long long)hr_rng_system_seed());
  return path;
}

hr_status_t hr_bundle_writer_create(const char* prefix, hr_bundle_writer_t** out) {
  if (!*prefix) return HR_ERROR(INVALID_ARGUMENT, "checkpoint prefix is empty");
  hr_bundle_writer_t* w = hr_alloc_zero(sizeof *w);
  if (!w) return hr_status_out_of_memory();
  hr_arena_init(&w->arena);
  hr_map_init(&w->by_name);
  hr_status_t status = hr_file_make_dirs_of(prefix);
  w->prefix = hr_alloc_copy(prefix, strlen(prefix));
  w->temp_path = bundle_temp_path(prefix);
  if (!status && (!w->prefix || !w->temp_path)) status = hr_status_out_of_memory();
  if (!status) status = hr_file_create(w->temp_path, &w->file);
  if (status) hr_bundle_writer_destroy(w);
  else *out = w;
  return status;
}

void hr_bundle_writer_destroy(hr_bundle_writer_t* w) {
  if (!w) return;
  if (w->file) { /* not finished: nothing may remain */
    hr_status_release(hr_file_close(w->file));
    hr_status_release(hr_file_remove(w->temp_path));
  }
  hr_status_release(w->failure);
  hr_vec_deinit(&w->entries);
  hr_map_deinit(&w->by_name);
  hr_arena_deinit(&w->arena);
  hr_free(w->temp_path);
  hr_free(w->prefix);
  hr_free(w);
}

/* --- data --------------------------------------------------------------------------------------------------------------------- */
static hr_status_t bundle_put(hr_bundle_writer_t* w, const void* data, size_t size, uint32_t* crc) {
  const char* p = data;
  while (size > 0) {
    size_t n = size < BUNDLE_PIECE ? size : BUNDLE_PIECE;
    *crc = hr_hash_crc32c(*crc, p, n);
    HR_TRY(hr_file_write(w->file, p, n));
    p += n;
    size -= n;
    w->offset += (int64_t)n;
    if (w->offset - w->handed_over >= BUNDLE_WRITEBACK) {
      hr_file_start_writeback(w->file); /* the disk works while we checksum */
      w->handed_over = w->offset;
    }
  }
  return NULL;
}

static hr_status_t bundle_put_strings(hr_bundle_writer_t* w, const hr_tensor_t* t, uint32_t* out_crc) {
  const hr_tstring_t* strings = t->data;
  hr_strbuf_t head; /* the lengths and their checksum */
  uint32_t crc = 0, unused = 0;
  hr_strbuf_init(&head);
  for (int64_t i = 0; i < t->count; ++i) {
    size_t n = hr_tstring_get(&strings[i]).size;
    hr_writer_varint(&head, n);
    crc = hr_bundle_entry_crc_length(crc, n, false);
  }
  uint32_t masked = hr_hash_crc32c_mask(crc);
  hr_writer_fixed32_raw(&head, masked);
  hr_status_t status = head.failed ? hr_status_out_of_memory() : bundle_put(w, head.data, head.size, &unused);
  if (!status) crc = hr_hash_crc32c(crc, head.data + head.size - 4, 4);
  for (int64_t i = 0; i < t->count && !status; ++i) {
    hr_str_t s = hr_tstring_get(&strings[i]);
    status = bundle_put(w, s.data, s.size, &crc);
  }
  hr_strbuf_deinit(&head);
  *out_crc = crc;
  return status;
}

static hr_status_t bundle_put_tensor(hr_bundle_writer_t* w, const hr_tensor_t* t, hr_bundle_entry_t* e) {
  uint32_t crc = 0;
  e->offset = w->offset;
  if (t->dtype == HR_STRING) HR_TRY(bundle_put_strings(w, t, &crc));
  else HR_TRY(bundle_put(w, t->data, hr_tensor_bytes(t), &crc));
  e->size = w->offset - e->offset;
  e->crc = hr_hash_crc32c_mask(crc);
  return NULL;
}

/* --- entries ------------------------------------------------------------------------------------------------------------------ */
static hr_status_t bundle_new_entry(hr_bundle_writer_t* w, hr_str_t name, hr_dtype_t dtype, const hr_shape_t* shape,
                                    hr_bundle_entry_t** out) {
  bool added;
  hr_bundle_entry_t* e = hr_arena_array(&w->arena, 1, sizeof *e);
  if (!e || !hr_arena_str(&w->arena, name, &e->name)) return hr_status_out_of_memory();
  e->dtype = dtype;
  hr_shape_copy(&e->shape, shape);
  HR_TRY(hr_map_add(&w->by_name, e->name, (uintptr_t)e, &added));
  if (!added) return HR_ERROR(INVALID_ARGUMENT, "tensor '%.*s' is saved twice", HR_STR_ARG(name));
  HR_TRY(hr_vec_push(&w->entries, e));
  *out = e;
  return NULL;
}

/* The entry of a partitioned tensor, with one more part. */
static hr_status_t bundle_add_part(hr_bundle_writer_t* w, hr_str_t name, hr_dtype_t dtype, const hr_shape_t* full,
                                   const hr_slice_t* slice) {
  uintptr_t found;
  hr_bundle_entry_t* e = NULL;
  if (hr_map_find(&w->by_name, name, &found)) e = (hr_bundle_entry_t*)found;
  if (e && (e->dtype != dtype || !hr_shape_equal(&e->shape, full) || e->slice_count == 0))
    return HR_ERROR(INVALID_ARGUMENT, "parts of tensor '%.*s' disagree on its dtype or shape", HR_STR_ARG(name));
  if (!e) HR_TRY(bundle_new_entry(w, name, dtype, full, &e));
  if ((e->slice_count & (e->slice_count - 1)) == 0) { /* grows at powers of two; old arrays stay in the arena */
    hr_slice_t* grown = hr_arena_array(&w->arena, e->slice_count ? (size_t)e->slice_count * 2 : 1, sizeof *grown);
    if (!grown) return hr_status_out_of_memory();
    if (e->slice_count) memcpy(grown, e->slices, (size_t)e->slice_count * sizeof *grown);
    e->slices = grown;
  }
  ((hr_slice_t*)(uintptr_t)e->slices)[e->slice_count++] = *slice;
  return NULL;
}

static hr_status_t bundle_add_slice(hr_bundle_writer_t* w, hr_str_t name, hr_str_t spec, const hr_tensor_t* t) {
  hr_shape_t full, part;
  hr_slice_t slice;
  hr_bundle_entry_t* e = NULL;
  char want[HR_SHAPE_TEXT], got[HR_SHAPE_TEXT];
  HR_TRY(hr_slice_parse_spec(spec, &full, &slice));
  HR_TRY(hr_slice_shape(&slice, &full, &part));
  if (!hr_shape_equal(&part, &t->shape))
    return HR_ERROR(INVALID_ARGUMENT, "tensor '%.*s' has shape %s, its slice '%.*s' has %s", HR_STR_ARG(name), hr_shape_format(&t->shape,
        got),
                    HR_STR_ARG(spec), hr_shape_format(&part, want));
  if (hr_slice_is_all(&slice, &full)) {
    HR_TRY(bundle_new_entry(w, name, t->dtype, &full, &e));
    return bundle_put_tensor(w, t, e);
  }
  HR_TRY(bundle_add_part(w, name, t->dtype, &full, &slice));
  hr_strbuf_t key;
  hr_strbuf_init(&key);
  hr_slice_encode_key(name, &slice, &key);
  hr_status_t status = key.failed ? hr_status_out_of_memory() : bundle_new_entry(w, hr_strbuf_view(&key), t->dtype, &part, &e);
  if (!status) status = bundle_put_tensor(w, t, e);
  hr_strbuf_deinit(&key);
  return status;
}

static hr_status_t bundle_add(hr_bundle_writer_t* w, hr_str_t name, hr_str_t spec, const hr_tensor_t* t) {
  hr_bundle_entry_t* e = NULL;
  if (!w->file) return HR_ERROR(FAILED_PRECONDITION, "checkpoint '%s' is finished", w->prefix);
  if (name.size == 0) return HR_ERROR(INVALID_ARGUMENT, "a tensor without a name cannot be saved");
  if (t->dtype == HR_VARIANT) return HR_ERROR(UNIMPLEMENTED, "saving variant tensor '%.*s'", HR_STR_ARG(name));
  if (t->dtype != HR_STRING && !hr_dtype_is_plain(t->dtype))
    return HR_ERROR(INVALID_ARGUMENT, "tensor '%.*s' of type %s cannot be saved", HR_STR_ARG(name), hr_dtype_name(t->dtype));
  if (spec.size) return bundle_add_slice(w, name, spec, t);
  HR_TRY(bundle_new_entry(w, name, t->dtype, &t->shape, &e));
  return bundle_put_tensor(w, t, e);
}

hr_status_t hr_bundle_writer_add(hr_bundle_writer_t* w, hr_str_t name, hr_str_t spec, const hr_tensor_t* t) {
  if (w->failure) return hr_status_retain(w->failure);
  w->failure = bundle_add(w, name, spec, t);
  return hr_status_retain(w->failure);
}

static hr_status_t bundle_finish(hr_bundle_writer_t* w) {
  hr_bundle_header_t header = {1, false};
  char* path = hr_bundle_entry_data_path(w->prefix, 0, 1);
  if (!path) return hr_status_out_of_memory();
  hr_status_t status = hr_file_sync(w->file);
  if (!status) status = hr_file_rename(w->temp_path, path);
  if (!status) {
    status = hr_file_close(w->file);
    w->file = NULL;
    hr_status_merge(&status, hr_bundle_entry_write_index(w->prefix, &header, w->entries.data, w->entries.count));
  }
  hr_free(path);
  return status;
}

hr_status_t hr_bundle_writer_finish(hr_bundle_writer_t* w) {
  if (w->failure) return hr_status_retain(w->failure);
  if (!w->file) return HR_ERROR(FAILED_PRECONDITION, "checkpoint '%s' is finished", w->prefix);
  w->failure = bundle_finish(w);
  return hr_status_retain(w->failure);
}
