/* SPDX-License-Identifier: Apache-2.0 */
/* Shared libraries that bring ops. What one registered stays, so its code is never unloaded; opening it again gives the same list. */
#include <dlfcn.h>

#include "capi/op_def.h"
#include "op/op_def.h"

typedef struct library {
  struct library* next;
  void* code;    /* from dlopen */
  char* op_list; /* serialized OpList */
  size_t size;
} library_t;

struct TF_Library {
  const library_t* library;
};

static struct {
  hr_mutex_t mu;
  library_t* first;
} libraries = {HR_MUTEX_INIT, NULL};

enum { LIST_OP = 1, OP_EXPECTED = 300 };

static hr_status_t library_write_list(const hr_capi_op_recorder_t* r, library_t* out) {
  hr_writer_t w;
  hr_strbuf_init(&w);
  hr_status_t status = hr_status_retain(r->failure);
  for (int64_t i = 0; i < r->names.count && !status; ++i) {
    const hr_op_def_t* def;
    if ((status = hr_registry_find(hr_str(r->names.data[i]), &def))) break;
    hr_writer_mark_t mark = hr_writer_begin(&w, LIST_OP, OP_EXPECTED);
    status = hr_op_def_encode(def, &w);
    hr_writer_end(&w, mark, OP_EXPECTED);
  }
  if (!status && (w.size || w.failed)) status = hr_strbuf_take(&w, &out->op_list, &out->size);
  hr_strbuf_deinit(&w);
  return status;
}

static library_t* library_find(const void* code) {
  library_t* l = libraries.first;
  while (l && l->code != code) l = l->next;
  return l;
}

/* Opens, lets it register, remembers. The caller locks. */
static hr_status_t library_open(const char* path, const library_t** out) {
  hr_capi_op_recorder_t recorder = {0};
  hr_capi_op_recorder_t* before = hr_capi_record_ops(&recorder);
  void* code = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  hr_status_t status = code ? NULL : HR_ERROR(NOT_FOUND, "cannot open library '%s': %s", path, dlerror());
  library_t* known = code ? library_find(code) : NULL;
  if (known) {
    dlclose(code); /* the first opening holds it */
  } else if (code) {
    void (*init)(void);
    *(void**)&init = dlsym(code, "TF_InitKernel");
    if (init) init();
    known = hr_alloc_zero(sizeof *known);
    status = known ? library_write_list(&recorder, known) : hr_status_out_of_memory();
    if (status) {
      hr_free(known);
      known = NULL;
    } else {
      known->code = code;
      known->next = libraries.first;
      libraries.first = known;
    }
  }
  hr_capi_record_ops(before);
  for (int64_t i = 0; i < recorder.names.count; ++i) hr_free(recorder.names.data[i]);
  hr_vec_deinit(&recorder.names);
  hr_status_release(recorder.failure);
  *out = known;
  return status;
}

TF_Library* TF_LoadLibrary(const char* library_filename, TF_Status* status) {
  TF_Library* handle = hr_alloc_zero(sizeof *handle);
  hr_status_t outcome = handle ? NULL : hr_status_out_of_memory();
  if (!outcome && !library_filename) outcome = hr_capi_null("the library's file name");
  if (!outcome) {
    hr_mutex_lock(&libraries.mu);
    outcome = library_open(library_filename, &handle->library);
    hr_mutex_unlock(&libraries.mu);
  }
  if (outcome) {
    hr_free(handle);
    handle = NULL;
  }
  hr_capi_report(status, outcome);
  return handle;
}

TF_Buffer TF_GetOpList(TF_Library* lib_handle) {
  return lib_handle ? (TF_Buffer){lib_handle->library->op_list, lib_handle->library->size, NULL} : (TF_Buffer){0};
}

void TF_DeleteLibraryHandle(TF_Library* lib_handle) { hr_free(lib_handle); }
