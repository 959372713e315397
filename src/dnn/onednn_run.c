/* SPDX-License-Identifier: Apache-2.0 */
/* Executing a primitive. An execution needs memory objects, a stream and scratch; a primitive keeps a few sets of them, taken and put back
 * by atomic exchange, so that a steady state makes nothing and concurrent steps never wait for each other. */
#include <stdint.h>
#include <string.h>
#include "dnn/onednn.h"

struct hr_onednn_run {
  dnnl_stream_t stream;
  dnnl_memory_t memory[HR_ONEDNN_ROLES]; /* the caller's pointers are set before each run */
  dnnl_memory_t wanted, scratch;
  void *wanted_data, *scratch_data;
  void* handles[HR_ONEDNN_ROLES + 1]; /* what is set now; a call that repeats pointers saves the setting */
};

static void destroy_run(hr_onednn_run_t* r) {
  if (!r) return;
  for (int role = 0; role < HR_ONEDNN_ROLES; ++role)
    if (r->memory[role]) dnnl_memory_destroy(r->memory[role]);
  if (r->wanted) dnnl_memory_destroy(r->wanted);
  if (r->scratch) dnnl_memory_destroy(r->scratch);
  if (r->stream) dnnl_stream_destroy(r->stream);
  hr_onednn_host->release(r->wanted_data);
  hr_onednn_host->release(r->scratch_data);
  hr_onednn_host->release(r);
}

static dnnl_status_t add_block(dnnl_memory_t* memory, void** data, const hr_onednn_md_t* md, size_t bytes) {
  if (!bytes) return dnnl_success;
  HR_ONEDNN_TRY(hr_onednn_memory(memory, md));
  *data = hr_onednn_host->alloc(bytes, 64);
  if (!*data) return dnnl_out_of_memory;
  return dnnl_memory_set_data_handle(*memory, *data);
}

static dnnl_status_t fill_run(hr_dnn_prim_t* p, hr_onednn_run_t* r) {
  HR_ONEDNN_TRY(dnnl_stream_create(&r->stream, hr_onednn_engine, dnnl_stream_default_flags));
  for (int role = 0; role < HR_ONEDNN_ROLES; ++role)
    if (p->args[role]) HR_ONEDNN_TRY(hr_onednn_memory(&r->memory[role], &p->user[role]));
  HR_ONEDNN_TRY(add_block(&r->wanted, &r->wanted_data, &p->wanted, p->reorder ? p->wanted_bytes : 0));
  return add_block(&r->scratch, &r->scratch_data, &p->scratch, p->scratch_bytes);
}

static dnnl_status_t take_run(hr_dnn_prim_t* p, hr_onednn_run_t** out) {
  for (int i = 0; i < HR_ONEDNN_SPARES; ++i)
    if ((*out = atomic_exchange_explicit(&p->spares[i], NULL, memory_order_acquire))) return dnnl_success;
  hr_onednn_run_t* r = hr_onednn_host->alloc(sizeof *r, 16);
  if (!r) return dnnl_out_of_memory;
  memset(r, 0, sizeof *r);
  const dnnl_status_t s = fill_run(p, r);
  if (s != dnnl_success) {
    destroy_run(r);
    r = NULL;
  }
  *out = r;
  return s;
}

static void put_run(hr_dnn_prim_t* p, hr_onednn_run_t* r) {
  for (int i = 0; i < HR_ONEDNN_SPARES; ++i) {
    hr_onednn_run_t* none = NULL;
    if (atomic_compare_exchange_strong_explicit(&p->spares[i], &none, r, memory_order_release, memory_order_relaxed)) return;
  }
  destroy_run(r);
}

void hr_onednn_drop_spares(hr_dnn_prim_t* p) {
  for (int i = 0; i < HR_ONEDNN_SPARES; ++i) destroy_run(atomic_exchange(&p->spares[i], NULL));
}

static dnnl_status_t set_handle(hr_onednn_run_t* r, int at, dnnl_memory_t memory, const void* data) {
  if (r->handles[at] == data) return dnnl_success;
  HR_ONEDNN_TRY(dnnl_memory_set_data_handle(memory, (void*)(uintptr_t)data));
  r->handles[at] = (void*)(uintptr_t)data;
  return dnnl_success;
}

static dnnl_status_t run_reorder(hr_dnn_prim_t* p, hr_onednn_run_t* r, dnnl_memory_t from, dnnl_memory_t to) {
  const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
  return dnnl_primitive_execute(p->reorder, r->stream, 2, args);
}

/* `packed`: b's data in the wanted layout; NULL: b is the caller's. */
static dnnl_status_t execute(hr_dnn_prim_t* p, hr_onednn_run_t* r, const void* const data[HR_ONEDNN_ROLES], const void* packed) {
  dnnl_exec_arg_t args[HR_ONEDNN_ROLES + 1];
  int count = 0;
  for (int role = 0; role < HR_ONEDNN_ROLES; ++role) {
    if (!p->args[role]) continue;
    const bool moved = p->reorder && role == (p->reorder_out ? HR_ONEDNN_C : HR_ONEDNN_B);
    if (!moved || !packed) HR_ONEDNN_TRY(set_handle(r, role, r->memory[role], data[role]));
    args[count++] = (dnnl_exec_arg_t){p->args[role], moved ? r->wanted : r->memory[role]};
  }
  if (r->scratch) args[count++] = (dnnl_exec_arg_t){DNNL_ARG_SCRATCHPAD, r->scratch};
  if (p->reorder) {
    HR_ONEDNN_TRY(set_handle(r, HR_ONEDNN_ROLES, r->wanted, packed ? packed : r->wanted_data));
    if (!p->reorder_out && !packed) HR_ONEDNN_TRY(run_reorder(p, r, r->memory[HR_ONEDNN_B], r->wanted));
  }
  HR_ONEDNN_TRY(dnnl_primitive_execute(p->primitive, r->stream, count, args));
  if (p->reorder && p->reorder_out) HR_ONEDNN_TRY(run_reorder(p, r, r->wanted, r->memory[HR_ONEDNN_C]));
  return dnnl_stream_wait(r->stream);
}

static hr_status_t run_prim(hr_dnn_prim_t* p, const void* const data[HR_ONEDNN_ROLES], const void* packed, int threads) {
  hr_onednn_run_t* r = NULL;
  const int old = hr_onednn_threads_begin(threads);
  dnnl_status_t s = take_run(p, &r);
  if (s == dnnl_success) s = execute(p, r, data, packed);
  hr_onednn_threads_end(old);
  if (s == dnnl_success)
    put_run(p, r);
  else
    destroy_run(r);
  return s == dnnl_success ? NULL : hr_onednn_status(s, "running");
}

hr_status_t hr_onednn_run(hr_dnn_prim_t* p, const float* a, const float* b, const float* bias, float* c, int threads) {
  const void* const data[HR_ONEDNN_ROLES] = {a, b, bias, c};
  return run_prim(p, data, NULL, threads);
}

hr_status_t hr_onednn_run_packed(hr_dnn_prim_t* p, const float* a, const hr_dnn_pack_t* b, const float* bias, float* c, int threads) {
  const void* const data[HR_ONEDNN_ROLES] = {a, NULL, bias, c};
  return run_prim(p, data, b->data, threads);
}

static dnnl_status_t fill_pack(hr_dnn_prim_t* p, const float* b, hr_dnn_pack_t* pack) {
  hr_onednn_run_t* r = NULL;
  pack->data = hr_onednn_host->alloc(p->wanted_bytes, 64);
  if (!pack->data) return dnnl_out_of_memory;
  dnnl_status_t s = take_run(p, &r);
  if (s == dnnl_success) s = set_handle(r, HR_ONEDNN_B, r->memory[HR_ONEDNN_B], b);
  if (s == dnnl_success) s = set_handle(r, HR_ONEDNN_ROLES, r->wanted, pack->data);
  if (s == dnnl_success) s = run_reorder(p, r, r->memory[HR_ONEDNN_B], r->wanted);
  if (s == dnnl_success) s = dnnl_stream_wait(r->stream);
  if (s == dnnl_success)
    put_run(p, r);
  else
    destroy_run(r);
  return s;
}

hr_status_t hr_onednn_pack(hr_dnn_prim_t* p, const float* b, int threads, hr_dnn_pack_t** out) {
  *out = NULL;
  if (!p->reorder || p->reorder_out) return NULL;
  hr_dnn_pack_t* pack = hr_onednn_host->alloc(sizeof *pack, 16);
  if (!pack) return hr_onednn_host->out_of_memory();
  pack->data = NULL;
  const int old = hr_onednn_threads_begin(threads);
  const dnnl_status_t s = fill_pack(p, b, pack);
  hr_onednn_threads_end(old);
  if (s != dnnl_success) {
    hr_onednn_host->release(pack->data);
    hr_onednn_host->release(pack);
    return hr_onednn_status(s, "packing a filter");
  }
  atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
  pack->prim = p;
  *out = pack;
  return NULL;
}
