/* SPDX-License-Identifier: Apache-2.0 */
/* The recycling pool: small blocks here, large ones in the heap (buffer_heap.c).
 *
 * What surprises: a block keeps its class while free, in the place where a buffer keeps it, and its links where the buffer had its fields;
 * and a thread that ends hands its list over, its count of live bytes too. */
#include "tensor/buffer_pool.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include "base/alloc.h"
#include "base/sanitized.h"
#include "base/sync.h"
#include "tensor/buffer.h"
#include "tensor/buffer_heap.h"

enum {
  ALIGNMENT = 64,
  EVEN_CLASSES = 8,  /* 64, 128, ... 512 */
  CLASSES = 36,       /* up to 64 KiB: kept per thread */
  THREAD_BLOCKS = 32, /* most per class in a thread's list */
  THREAD_BYTES = 4 << 20,
  REFILL = 8,
};
static const size_t SHARED_MOST = (size_t)64 << 20, HEAP_CEILING = (size_t)1 << 30;

typedef struct block {
  uint32_t unused;
  uint8_t size_class;
  struct block *next, *previous; /* of the class, newest first; a thread's list uses next only */
  struct block *newer, *older;   /* of the shared list */
} block_t;
_Static_assert(sizeof(block_t) <= BUFFER_HEADER, "links fit the header");

typedef struct thread_list {
  block_t* free[CLASSES];
  uint8_t count[CLASSES];
  size_t bytes;               /* of the free blocks */
  atomic_llong in_use;        /* written by this thread, read by all */
  atomic_llong free_blocks;   /* likewise */
  struct thread_list *next, *previous; /* of all threads' lists, under shared.mutex */
} thread_list_t;

static struct {
  hr_mutex_t mutex;
  block_t* free[CLASSES];
  block_t *newest, *oldest;
  size_t bytes, blocks;             /* of the free ones */
  thread_list_t* threads;
  int64_t ended_in_use;             /* live bytes counted by threads that ended */
} shared = {.mutex = HR_MUTEX_INIT};

#define FAST_TLS __attribute__((tls_model("initial-exec"))) /* a few bytes fit what loaders reserve; no call per access */
static _Thread_local FAST_TLS thread_list_t* my_list;
static _Thread_local FAST_TLS bool my_list_ended; /* releases by later thread-exit handlers go to the shared list */
static pthread_key_t exit_key;
static bool exit_key_made;

static int class_of(size_t bytes) {
  if (bytes <= ALIGNMENT * EVEN_CLASSES) return bytes ? (int)((bytes - 1) / ALIGNMENT) : 0;
  size_t last = bytes - 1;
  int octave = 63 - __builtin_clzll(last);
  return EVEN_CLASSES + (octave - 9) * 4 + (int)(last >> (octave - 2) & 3);
}

static size_t class_bytes(int c) {
  if (c < EVEN_CLASSES) return (size_t)(c + 1) * ALIGNMENT;
  return (size_t)(5 + (c - EVEN_CLASSES) % 4) << (7 + (c - EVEN_CLASSES) / 4);
}

static void count_add(atomic_llong* counter, long long n) { /* one writer: no locked instruction needed */
  atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n, memory_order_relaxed);
}

/* The shared list; all under shared.mutex. */

static void shared_push(block_t* b) {
  int c = b->size_class;
  b->previous = NULL;
  b->next = shared.free[c];
  if (b->next) b->next->previous = b;
  shared.free[c] = b;
  b->newer = NULL;
  b->older = shared.newest;
  if (b->older) b->older->newer = b;
  shared.newest = b;
  if (!shared.oldest) shared.oldest = b;
  shared.bytes += class_bytes(c);
  ++shared.blocks;
}

static void shared_unlink(block_t* b) {
  *(b->previous ? &b->previous->next : &shared.free[b->size_class]) = b->next;
  if (b->next) b->next->previous = b->previous;
  *(b->newer ? &b->newer->older : &shared.newest) = b->older;
  *(b->older ? &b->older->newer : &shared.oldest) = b->newer;
  shared.bytes -= class_bytes(b->size_class);
  --shared.blocks;
}

/* Takes out blocks beyond `limit`, longest unused first, as a chain by next. */
static block_t* shared_evict(size_t limit) {
  block_t* chain = NULL;
  while (shared.bytes > limit) {
    block_t* b = shared.oldest;
    shared_unlink(b);
    b->next = chain;
    chain = b;
  }
  return chain;
}

static void chain_free(block_t* chain) {
  while (chain) {
    block_t* next = chain->next;
    hr_free(chain);
    chain = next;
  }
}

static void fork_prepare(void) { hr_mutex_lock(&shared.mutex); }
static void fork_done(void) { hr_mutex_unlock(&shared.mutex); }

/* A thread's list. */

static void list_pop_to_shared(thread_list_t* t, int c, int keep) {
  while (t->count[c] > keep) {
    block_t* b = t->free[c];
    t->free[c] = b->next;
    --t->count[c];
    t->bytes -= class_bytes(c);
    count_add(&t->free_blocks, -1);
    shared_push(b);
  }
}

static block_t* list_flush(thread_list_t* t, size_t limit) {
  for (int c = 0; c < CLASSES; ++c) list_pop_to_shared(t, c, 0);
  return shared_evict(limit);
}

static void list_end(void* arg) {
  thread_list_t* t = arg;
  my_list = NULL;
  my_list_ended = true;
  hr_mutex_lock(&shared.mutex);
  block_t* evicted = list_flush(t, SHARED_MOST);
  shared.ended_in_use += atomic_load(&t->in_use);
  *(t->previous ? &t->previous->next : &shared.threads) = t->next;
  if (t->next) t->next->previous = t->previous;
  hr_mutex_unlock(&shared.mutex);
  chain_free(evicted);
  hr_free(t);
}

static void pool_set_up(void) {
  exit_key_made = pthread_key_create(&exit_key, list_end) == 0;
  pthread_atfork(fork_prepare, fork_done, fork_done);
}

/* NULL when the thread is ending or out of memory: the shared list serves then. */
static thread_list_t* list_make(void) {
  static hr_once_t once = HR_ONCE_INIT;
  hr_once_run(&once, pool_set_up);
  if (my_list_ended || !exit_key_made) return NULL;
  thread_list_t* t = hr_alloc_zero(sizeof *t);
  if (!t) return NULL;
  if (pthread_setspecific(exit_key, t) != 0) {
    hr_free(t);
    return NULL;
  }
  hr_mutex_lock(&shared.mutex);
  t->next = shared.threads;
  if (t->next) t->next->previous = t;
  shared.threads = t;
  hr_mutex_unlock(&shared.mutex);
  return my_list = t;
}

static inline thread_list_t* list_get(void) { return __builtin_expect(my_list != NULL, 1) ? my_list : list_make(); }

static inline block_t* list_pop(thread_list_t* t, int c) {
  block_t* b = t->free[c];
  if (!b) return NULL;
  t->free[c] = b->next;
  --t->count[c];
  t->bytes -= class_bytes(c);
  count_add(&t->free_blocks, -1);
  return b;
}

static inline void list_push(thread_list_t* t, block_t* b, int c) {
  b->next = t->free[c];
  t->free[c] = b;
  ++t->count[c];
  t->bytes += class_bytes(c);
  count_add(&t->free_blocks, 1);
}

/* One block from the shared list, and some more for the thread's own. */
static block_t* shared_take_small(thread_list_t* t, int c) {
  hr_mutex_lock(&shared.mutex);
  block_t* b = shared.free[c];
  if (b) shared_unlink(b);
  for (int i = 1; b && t && i < REFILL && shared.free[c] && t->bytes + class_bytes(c) <= THREAD_BYTES; ++i) {
    block_t* more = shared.free[c];
    shared_unlink(more);
    list_push(t, more, c);
  }
  hr_mutex_unlock(&shared.mutex);
  return b;
}

static void shared_give(block_t* b) {
  hr_mutex_lock(&shared.mutex);
  shared_push(b);
  block_t* evicted = shared_evict(SHARED_MOST);
  hr_mutex_unlock(&shared.mutex);
  chain_free(evicted);
}

static void* small_take(size_t bytes, int* out_class) {
  int c = class_of(bytes);
  thread_list_t* t = list_get();
  block_t* b = t ? list_pop(t, c) : NULL;
  if (!b) b = shared_take_small(t, c);
  *out_class = c;
  if (!b) return hr_alloc_aligned(BUFFER_HEADER + class_bytes(c), ALIGNMENT);
  if (__builtin_expect(!hr_alloc_must_fail(), 1)) return b; /* a pooled block counts for tests like a new one */
  hr_buffer_pool_give(b, c);
  return NULL;
}

static void large_give(void* block) {
  hr_mutex_lock(&shared.mutex);
  hr_buffer_heap_give(block, SHARED_MOST, HEAP_CEILING);
  hr_mutex_unlock(&shared.mutex);
}

static void* large_take(size_t bytes, int* out_class) {
  hr_mutex_lock(&shared.mutex);
  void* b = hr_buffer_heap_take(bytes);
  bool kept = b != NULL;
  if (!b) b = hr_buffer_heap_grow(bytes);
  hr_mutex_unlock(&shared.mutex);
  *out_class = BUFFER_LARGE;
  if (!kept || !hr_alloc_must_fail()) return b;
  large_give(b);
  return NULL;
}

static void* watched_take(size_t bytes) {
  const size_t size = BUFFER_HEADER + bytes;
  char* b = hr_alloc_aligned(size, ALIGNMENT);
  if (b) hr_sanitized_forbid(b + size, (ALIGNMENT - size % ALIGNMENT) % ALIGNMENT); /* what the alignment added */
  return b;
}

void* hr_buffer_pool_take(size_t bytes, int* out_class) {
  if (bytes > (size_t)1 << 47) return NULL;
  if (HR_SANITIZED) {
    *out_class = BUFFER_NOT_POOLED;
    return watched_take(bytes);
  }
  return bytes <= BUFFER_SMALL_MOST ? small_take(bytes, out_class) : large_take(bytes, out_class);
}

void hr_buffer_pool_give(void* block, int size_class) {
  block_t* b = block;
  if (size_class == BUFFER_NOT_POOLED) {
    hr_free(b);
    return;
  }
  if (size_class == BUFFER_LARGE) {
    large_give(b);
    return;
  }
  b->size_class = (uint8_t)size_class;
  thread_list_t* t = list_get();
  if (!t) {
    shared_give(b);
    return;
  }
  if (t->count[size_class] == THREAD_BLOCKS || t->bytes + class_bytes(size_class) > THREAD_BYTES) {
    hr_mutex_lock(&shared.mutex);
    list_pop_to_shared(t, size_class, THREAD_BLOCKS / 2);
    block_t* evicted = t->bytes + class_bytes(size_class) > THREAD_BYTES ? list_flush(t, SHARED_MOST) : shared_evict(SHARED_MOST);
    hr_mutex_unlock(&shared.mutex);
    chain_free(evicted);
  }
  list_push(t, b, size_class);
}

void hr_buffer_pool_account(ptrdiff_t bytes) {
  thread_list_t* t = list_get();
  if (__builtin_expect(t != NULL, 1)) {
    count_add(&t->in_use, bytes);
    return;
  }
  hr_mutex_lock(&shared.mutex);
  shared.ended_in_use += bytes;
  hr_mutex_unlock(&shared.mutex);
}

void hr_buffer_trim(void) {
  thread_list_t* t = my_list;
  hr_mutex_lock(&shared.mutex);
  block_t* evicted = t ? list_flush(t, 0) : shared_evict(0);
  hr_buffer_heap_trim();
  hr_mutex_unlock(&shared.mutex);
  chain_free(evicted);
  hr_alloc_trim();
}

size_t hr_buffer_bytes_in_use(void) {
  hr_mutex_lock(&shared.mutex);
  int64_t bytes = shared.ended_in_use;
  for (thread_list_t* t = shared.threads; t; t = t->next) bytes += atomic_load_explicit(&t->in_use, memory_order_relaxed);
  hr_mutex_unlock(&shared.mutex);
  return bytes > 0 ? (size_t)bytes : 0;
}

size_t hr_buffer_bytes_free(void) {
  hr_mutex_lock(&shared.mutex);
  size_t bytes = shared.bytes + hr_buffer_heap_free_bytes();
  hr_mutex_unlock(&shared.mutex);
  return bytes;
}

int64_t hr_buffer_spare_blocks(void) {
  hr_mutex_lock(&shared.mutex);
  int64_t blocks = (int64_t)shared.blocks + hr_buffer_heap_surplus();
  for (thread_list_t* t = shared.threads; t; t = t->next) blocks += 1 + atomic_load_explicit(&t->free_blocks, memory_order_relaxed);
  hr_mutex_unlock(&shared.mutex);
  return blocks;
}

bool hr_buffer_is_pooled(void) { return !HR_SANITIZED; }
