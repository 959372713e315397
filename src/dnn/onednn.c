/* SPDX-License-Identifier: Apache-2.0 */
/* libheadrace_dnn.so: the table of hr_dnn_t on oneDNN, and the cache of primitives by geometry (open addressing under one read-write lock;
 * at most PRIM_LIMIT of them, the longest unused leaves first). A primitive is made for one number of threads, so that is part of the key.
 */
#include "dnn/onednn.h"
#include <pthread.h>
#include <string.h>

enum { PRIM_LIMIT = 1024, PRIM_SLOTS = 4096 };

const hr_dnn_host_t* hr_onednn_host;
dnnl_engine_t hr_onednn_engine;

static pthread_rwlock_t prim_lock = PTHREAD_RWLOCK_INITIALIZER;
static hr_dnn_prim_t* prim_slots[PRIM_SLOTS]; /* linear probing; the table holds one reference of each */
static int prim_count;
static atomic_llong prim_tick;

hr_status_t hr_onednn_status(dnnl_status_t status, const char* what) {
  if (status == dnnl_out_of_memory) return hr_onednn_host->out_of_memory();
  const hr_code_t code = status == dnnl_unimplemented || status == dnnl_invalid_arguments ? HR_UNIMPLEMENTED : HR_INTERNAL;
  return hr_onednn_host->error(code, __FILE__, __LINE__, "oneDNN failed %s: status %d", what, (int)status);
}

/* --- references --------------------------------------------------------------------------------------------------------------- */
static void destroy_prim(hr_dnn_prim_t* p) {
  hr_onednn_drop_spares(p);
  hr_onednn_clear(p);
  hr_onednn_host->release(p);
}

void hr_onednn_release(hr_dnn_prim_t* p) {
  if (p && atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) == 1) destroy_prim(p);
}

static bool pack_fits(const hr_dnn_pack_t* pack, const hr_dnn_prim_t* p) { return pack->prim == p; }

static void release_pack(hr_dnn_pack_t* pack) {
  if (!pack) return;
  hr_onednn_release(pack->prim);
  hr_onednn_host->release(pack->data);
  hr_onednn_host->release(pack);
}

/* --- keys --------------------------------------------------------------------------------------------------------------------- */
static int64_t float_bits(float f) {
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return bits;
}

static hr_onednn_key_t matmul_key(const hr_dnn_matmul_t* d, int threads) {
  return (hr_onednn_key_t){{1 << 8 | d->activation, threads, d->batch, d->m, d->n, d->k,
                            d->transpose_a | d->transpose_b << 1 | d->bias << 2 | d->sum << 3, d->stride_a, d->stride_b, d->stride_c,
                            float_bits(d->alpha)}};
}

static hr_onednn_key_t conv_key(const hr_dnn_conv_t* d, int threads) {
  return (hr_onednn_key_t){{2 << 8 | d->activation,
                            threads,
                            d->kind | d->nchw << 4 | d->bias << 5 | d->sum << 6,
                            d->batch,
                            d->in_c,
                            d->in_h,
                            d->in_w,
                            d->out_c,
                            d->out_h,
                            d->out_w,
                            d->k_h,
                            d->k_w,
                            d->groups,
                            d->stride_h,
                            d->stride_w,
                            d->dilation_h,
                            d->dilation_w,
                            d->pad_top,
                            d->pad_bottom,
                            d->pad_left,
                            d->pad_right,
                            float_bits(d->alpha)}};
}

static uint64_t hash_key(const hr_onednn_key_t* key) {
  uint64_t h = 0x9e3779b97f4a7c15u;
  for (int i = 0; i < HR_ONEDNN_KEY_WORDS; ++i) {
    h = (h ^ (uint64_t)key->words[i]) * 0xff51afd7ed558ccdu;
    h ^= h >> 32;
  }
  return h;
}

/* --- the table; callers hold the lock -------------------------------------------------------------------------------------------- */
static int find_slot(const hr_onednn_key_t* key) { /* where it is, or where it would go */
  int i = (int)(hash_key(key) % PRIM_SLOTS);
  while (prim_slots[i] && memcmp(&prim_slots[i]->key, key, sizeof *key) != 0) i = (i + 1) % PRIM_SLOTS;
  return i;
}

static void remove_slot(int i) { /* closes the gap, so that probing needs no marks */
  prim_slots[i] = NULL;
  --prim_count;
  for (int j = (i + 1) % PRIM_SLOTS; prim_slots[j]; j = (j + 1) % PRIM_SLOTS) {
    hr_dnn_prim_t* p = prim_slots[j];
    prim_slots[j] = NULL;
    prim_slots[find_slot(&p->key)] = p;
  }
}

static hr_dnn_prim_t* evict_oldest(void) {
  int oldest = -1;
  for (int i = 0; i < PRIM_SLOTS; ++i)
    if (prim_slots[i] && (oldest < 0 || atomic_load(&prim_slots[i]->used) < atomic_load(&prim_slots[oldest]->used))) oldest = i;
  hr_dnn_prim_t* p = prim_slots[oldest];
  remove_slot(oldest);
  return p;
}

static hr_dnn_prim_t* retain_used(hr_dnn_prim_t* p) {
  if (!p) return NULL;
  atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
  atomic_store_explicit(&p->used, atomic_fetch_add_explicit(&prim_tick, 1, memory_order_relaxed), memory_order_relaxed);
  return p;
}

static hr_dnn_prim_t* find_prim(const hr_onednn_key_t* key) {
  pthread_rwlock_rdlock(&prim_lock);
  hr_dnn_prim_t* p = retain_used(prim_slots[find_slot(key)]);
  pthread_rwlock_unlock(&prim_lock);
  return p;
}

/* Puts a new primitive in; another thread's that came first is taken in its place. */
static hr_dnn_prim_t* add_prim(hr_dnn_prim_t* take) {
  hr_dnn_prim_t* evicted = NULL;
  pthread_rwlock_wrlock(&prim_lock);
  hr_dnn_prim_t* p = retain_used(prim_slots[find_slot(&take->key)]);
  if (!p) {
    if (prim_count == PRIM_LIMIT) evicted = evict_oldest();
    p = prim_slots[find_slot(&take->key)] = take;
    ++prim_count;
    retain_used(p);
  }
  pthread_rwlock_unlock(&prim_lock);
  if (p != take) hr_onednn_release(take);
  hr_onednn_release(evicted);
  return p;
}

static hr_status_t make_prim(const hr_onednn_key_t* key, const hr_dnn_matmul_t* matmul, const hr_dnn_conv_t* conv, int threads,
                             hr_dnn_prim_t** out) {
  hr_dnn_prim_t* p = hr_onednn_host->alloc(sizeof *p, 16);
  if (!p) return hr_onednn_host->out_of_memory();
  memset(p, 0, sizeof *p);
  p->key = *key;
  atomic_init(&p->refs, 1);
  const int old = hr_onednn_threads_begin(threads);
  const dnnl_status_t s = matmul ? hr_onednn_make_matmul(matmul, p) : hr_onednn_make_conv(conv, p);
  hr_onednn_threads_end(old);
  if (s != dnnl_success) {
    destroy_prim(p);
    return hr_onednn_status(s, matmul ? "making a matrix product" : "making a convolution");
  }
  *out = add_prim(p);
  return NULL;
}

static hr_status_t get_matmul(const hr_dnn_matmul_t* desc, int threads, hr_dnn_prim_t** out) {
  const hr_onednn_key_t key = matmul_key(desc, threads);
  *out = find_prim(&key);
  return *out ? NULL : make_prim(&key, desc, NULL, threads, out);
}

static hr_status_t get_conv(const hr_dnn_conv_t* desc, int threads, hr_dnn_prim_t** out) {
  const hr_onednn_key_t key = conv_key(desc, threads);
  *out = find_prim(&key);
  return *out ? NULL : make_prim(&key, NULL, desc, threads, out);
}

static const hr_dnn_t onednn_table = {.abi = HR_DNN_ABI,
                                      .matmul = get_matmul,
                                      .conv = get_conv,
                                      .run = hr_onednn_run,
                                      .release = hr_onednn_release,
                                      .pack = hr_onednn_pack,
                                      .run_packed = hr_onednn_run_packed,
                                      .pack_fits = pack_fits,
                                      .unpack = release_pack};

__attribute__((visibility("default"))) const hr_dnn_t* hr_dnn_open(const hr_dnn_host_t* host);
const hr_dnn_t* hr_dnn_open(const hr_dnn_host_t* host) {
  if (host->abi != HR_DNN_ABI) return NULL;
  hr_onednn_host = host;
  if (!hr_onednn_engine && dnnl_engine_create(&hr_onednn_engine, dnnl_cpu, 0) != dnnl_success) return NULL;
  return &onednn_table;
}
