/* SPDX-License-Identifier: Apache-2.0 */
/* A server needs a certificate and its key; a client needs the authority, and both where servers ask for a certificate. */
#include "dist/tls.h"
#include "base/alloc.h"
#include "base/file.h"
#include "base/options.h"
#include "base/sync.h"

static hr_tls_t own_tls;
static hr_status_t own_failure;
static hr_once_t own_once = HR_ONCE_INIT;

static hr_status_t read_pem(hr_str_t path, hr_str_t* out) {
  if (path.size == 0) return NULL;
  char* name = hr_alloc_copy(path.data, path.size);
  char* text = NULL;
  size_t size = 0;
  if (!name) return hr_status_out_of_memory();
  hr_status_t status = hr_file_read(name, &text, &size);
  hr_free(name);
  if (!status) *out = (hr_str_t){text, size};
  return status;
}

void hr_tls_deinit(hr_tls_t* tls) {
  hr_free((char*)(uintptr_t)tls->certificate.data);
  hr_free((char*)(uintptr_t)tls->key.data);
  hr_free((char*)(uintptr_t)tls->ca.data);
  *tls = (hr_tls_t){0};
}

hr_status_t hr_tls_load(hr_str_t certificate_path, hr_str_t key_path, hr_str_t ca_path, hr_tls_t* out) {
  *out = (hr_tls_t){0};
  if ((certificate_path.size == 0) != (key_path.size == 0))
    return HR_ERROR(INVALID_ARGUMENT, "a certificate and its key belong together: only one of them is given");
  hr_status_t status = read_pem(certificate_path, &out->certificate);
  if (!status) status = read_pem(key_path, &out->key);
  if (!status) status = read_pem(ca_path, &out->ca);
  if (status) hr_tls_deinit(out);
  return status;
}

static void load_own(void) {
  const hr_options_t* o = hr_options();
  own_failure = hr_tls_load(hr_str(o->tls_certificate), hr_str(o->tls_key), hr_str(o->tls_ca), &own_tls);
}

hr_status_t hr_tls_of_environment(const hr_tls_t** out) {
  hr_once_run(&own_once, load_own);
  *out = &own_tls;
  return hr_status_retain(own_failure);
}
