/* SPDX-License-Identifier: Apache-2.0 */
/* The process's allocator, checked size arithmetic, and the two hooks that tests use.
 *
 * All of Headrace allocates through here, so that one place counts allocations, fails the n-th of them, or hands them to
 * an embedder's allocator. NULL means out of memory and must be turned into hr_status_out_of_memory(). Tensor memory has
 * its own recycling pool on top of this (tensor/buffer.h). */
#ifndef HR_BASE_ALLOC_H
#define HR_BASE_ALLOC_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void* hr_alloc(size_t bytes);                      /* uninitialised, aligned to 16 */
void* hr_alloc_zero(size_t bytes);
void* hr_alloc_array(size_t count, size_t size);   /* NULL when count * size overflows; zeroed */
void* hr_alloc_resize(void* block, size_t bytes);  /* on failure the old block stays */
void* hr_alloc_aligned(size_t bytes, size_t alignment); /* alignment: a power of two >= 16; freed with hr_free */
char* hr_alloc_copy(const void* data, size_t bytes); /* a copy with a NUL after it */
void hr_free(void* block);                         /* accepts NULL */
void hr_alloc_trim(void);                          /* gives large blocks that are kept for reuse back to the system */

/* Tests: the n-th allocation from now fails (and all later ones when `persistent`); n = 0 turns it off. */
void hr_alloc_fail_at(int64_t n, bool persistent);
bool hr_alloc_has_failed(void);                    /* whether the failure was reached since hr_alloc_fail_at */
int64_t hr_alloc_count(void);                      /* allocations so far, in all threads */
extern atomic_bool hr_alloc_armed;                  /* whether hr_alloc_fail_at is on: all that a normal run reads of it */
bool hr_alloc_fault_is_due(void);
/* For pools and arenas: counts one allocation against hr_alloc_fail_at without making it. */
static inline bool hr_alloc_must_fail(void) {
  return __builtin_expect(atomic_load_explicit(&hr_alloc_armed, memory_order_relaxed), 0) && hr_alloc_fault_is_due();
}

/* Embedders: replaces malloc, realloc, free and aligned_alloc; call before anything else of Headrace. NULL: its own again. */
typedef struct {
  void* (*allocate)(size_t bytes, size_t alignment);
  void* (*resize)(void* block, size_t bytes);
  void (*release)(void* block);
} hr_alloc_hooks_t;
void hr_alloc_set_hooks(const hr_alloc_hooks_t* hooks);

/* Checked arithmetic on sizes and element counts: false on overflow, *out untouched. */
static inline bool hr_size_mul(size_t a, size_t b, size_t* out) {
  size_t r;
  if (__builtin_mul_overflow(a, b, &r)) return false;
  *out = r;
  return true;
}
static inline bool hr_size_add(size_t a, size_t b, size_t* out) {
  size_t r;
  if (__builtin_add_overflow(a, b, &r)) return false;
  *out = r;
  return true;
}
static inline bool hr_i64_mul(int64_t a, int64_t b, int64_t* out) {
  int64_t r;
  if (__builtin_mul_overflow(a, b, &r)) return false;
  *out = r;
  return true;
}
#endif
