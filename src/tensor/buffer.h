/* SPDX-License-Identifier: Apache-2.0 */
/* Refcounted bytes. Own buffers come from a recycling pool: size classes and per-thread free lists for small blocks, one heap that cuts and
 * merges for large ones. So a steady-state step makes no call to malloc, a value may outlive its step at no cost (fetches,
 * variables, queues), and memory just freed is the memory next used (warm in cache). This stands in place of a planned arena. */
#ifndef HR_TENSOR_BUFFER_H
#define HR_TENSOR_BUFFER_H
#include <stdatomic.h>
#include "base/status.h"
#include "tensor/dtype.h"

typedef struct hr_buffer hr_buffer_t;
typedef void (*hr_buffer_free_fn)(void* data, size_t bytes, void* arg);

struct hr_buffer {
  atomic_int refs;
  uint8_t size_class;   /* of the pool */
  bool read_only;       /* borrowed from the caller: never written in place, adopted or handed out */
  uint8_t element;      /* dtype whose elements own memory (string, resource, variant), released with the buffer; else 0 */
  void* data;           /* aligned to 64 when owned; borrowed: to the element */
  size_t bytes;         /* asked for */
  hr_buffer_free_fn free_fn; /* borrowed: called once at the last release; may be NULL */
  void* free_arg;
};

/* Own memory, uninitialised (zeroed when elements own memory, so that every element is a valid empty one). NULL: out of memory. */
hr_buffer_t* hr_buffer_create(size_t bytes, hr_dtype_t element);
/* Foreign memory. On failure (NULL) the caller still owns it. */
hr_buffer_t* hr_buffer_borrow(void* data, size_t bytes, bool read_only, hr_buffer_free_fn free_fn, void* free_arg);
void hr_buffer_destroy(hr_buffer_t* b); /* the last release calls this */

static inline hr_buffer_t* hr_buffer_retain(hr_buffer_t* b) {
  if (b) atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed); /* the caller's own reference keeps it alive */
  return b;
}
static inline void hr_buffer_release(hr_buffer_t* b) {
  if (!b) return;
  /* alone: nobody else can gain a reference, so the locked instruction is saved; acquire pairs with others' release below */
  if (atomic_load_explicit(&b->refs, memory_order_acquire) == 1 || atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) == 1)
    hr_buffer_destroy(b);
}
static inline bool hr_buffer_is_alone(const hr_buffer_t* b) { /* may be written in place by the one who holds it */
  return b && !b->read_only && atomic_load_explicit((atomic_int*)&b->refs, memory_order_acquire) == 1;
}
void hr_buffer_trim(void);           /* gives the pool's free blocks back to the system */
size_t hr_buffer_bytes_in_use(void); /* live, all sessions */
size_t hr_buffer_bytes_free(void);   /* kept for reuse by any thread, and resident */
int64_t hr_buffer_spare_blocks(void); /* blocks held from the allocator less those that are buffers': free ones, and a list for each
                                         thread; negative where many buffers share a block */
bool hr_buffer_is_pooled(void);      /* false in sanitizer builds, which must see every use after free */
#endif
