/* SPDX-License-Identifier: Apache-2.0 */
/* The process's allocator: libc and the system's large blocks behind three hooks, a count, and the fault that tests inject. */
#include "base/alloc.h"
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include "base/large.h"
#include "base/sanitized.h"

enum { MALLOC_ALIGNMENT = 16 };

static bool is_large(size_t bytes, size_t alignment) { return !HR_SANITIZED && bytes >= LARGE_LEAST && alignment <= LARGE_ALIGNMENT; }

/* More than there is would be given all the same, and the process be killed once it wrote to it. */
static bool is_beyond_machine(size_t bytes) {
  static const size_t asked_least = (size_t)1 << 30;
  struct sysinfo machine;
  return bytes >= asked_least && !sysinfo(&machine) && bytes > ((uint64_t)machine.totalram + machine.totalswap) * machine.mem_unit;
}

static void* own_allocate(size_t bytes, size_t alignment) {
  bool is_zero;
  if (is_beyond_machine(bytes)) return NULL;
  void* p = is_large(bytes, alignment) ? hr_large_take(bytes, &is_zero) : NULL;
  if (p) return p;
  if (alignment <= MALLOC_ALIGNMENT) return malloc(bytes);
  size_t padded; /* aligned_alloc wants a multiple */
  if (!hr_size_add(bytes, alignment - 1, &padded)) return NULL;
  return aligned_alloc(alignment, padded & ~(alignment - 1));
}

static void own_release(void* block) {
  if (HR_SANITIZED || !hr_large_give(block)) free(block);
}

/* A block that becomes large, or stops being so, is copied once. */
static void* own_resize(void* block, size_t bytes) {
  const size_t large = HR_SANITIZED ? 0 : hr_large_bytes(block);
  const bool becomes_large = is_large(bytes, MALLOC_ALIGNMENT);
  if (is_beyond_machine(bytes)) return NULL;
  if (large && becomes_large) return hr_large_resize(block, bytes);
  if (!large && !becomes_large) return realloc(block, bytes);
  const size_t had = large ? large : malloc_usable_size(block);
  void* moved = own_allocate(bytes, MALLOC_ALIGNMENT);
  if (!moved) return NULL;
  memcpy(moved, block, had < bytes ? had : bytes);
  own_release(block);
  return moved;
}

static const hr_alloc_hooks_t own_hooks = {own_allocate, own_resize, own_release};
static hr_alloc_hooks_t hooks = {own_allocate, own_resize, own_release}; /* written before the first use only */
static atomic_llong allocations;

/* The injected fault. */
atomic_bool hr_alloc_armed;
static atomic_bool persistent_fault, reached;
static atomic_llong remaining;

void hr_alloc_set_hooks(const hr_alloc_hooks_t* h) { hooks = h ? *h : own_hooks; }

void hr_alloc_fail_at(int64_t n, bool persistent) {
  atomic_store(&hr_alloc_armed, false);
  atomic_store(&reached, false);
  atomic_store(&persistent_fault, persistent);
  atomic_store(&remaining, n);
  atomic_store(&hr_alloc_armed, n > 0);
}

bool hr_alloc_has_failed(void) { return atomic_load(&reached); }
int64_t hr_alloc_count(void) { return atomic_load_explicit(&allocations, memory_order_relaxed); }

bool hr_alloc_fault_is_due(void) {
  long long left = atomic_fetch_sub(&remaining, 1);
  if (left == 1) atomic_store(&reached, true);
  return left == 1 || (left < 1 && atomic_load(&persistent_fault));
}

static bool may_allocate(void) {
  if (hr_alloc_must_fail()) return false;
  atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
  return true;
}

void* hr_alloc_aligned(size_t bytes, size_t alignment) {
  if (bytes > PTRDIFF_MAX || !may_allocate()) return NULL;
  return hooks.allocate(bytes ? bytes : 1, alignment);
}

void* hr_alloc(size_t bytes) { return hr_alloc_aligned(bytes, MALLOC_ALIGNMENT); }

void* hr_alloc_zero(size_t bytes) {
  bool is_zero = false;
  void* p;
  if (hooks.allocate == own_allocate && is_large(bytes, MALLOC_ALIGNMENT) && bytes <= PTRDIFF_MAX) {
    if (!may_allocate()) return NULL;
    p = is_beyond_machine(bytes) ? NULL : hr_large_take(bytes, &is_zero);
    if (!p) {
      is_zero = false;
      p = own_allocate(bytes, MALLOC_ALIGNMENT);
    }
  } else {
    p = hr_alloc(bytes);
  }
  if (p && !is_zero) memset(p, 0, bytes);
  return p;
}

void* hr_alloc_array(size_t count, size_t size) {
  size_t bytes;
  return hr_size_mul(count, size, &bytes) ? hr_alloc_zero(bytes) : NULL;
}

void* hr_alloc_resize(void* block, size_t bytes) {
  if (!block) return hr_alloc(bytes);
  if (bytes > PTRDIFF_MAX || !may_allocate()) return NULL;
  return hooks.resize(block, bytes ? bytes : 1);
}

char* hr_alloc_copy(const void* data, size_t bytes) {
  size_t with_nul;
  char* p = hr_size_add(bytes, 1, &with_nul) ? hr_alloc(with_nul) : NULL;
  if (!p) return NULL;
  if (bytes) memcpy(p, data, bytes);
  p[bytes] = 0;
  return p;
}

void hr_free(void* block) {
  if (block) hooks.release(block);
}

void hr_alloc_trim(void) { hr_large_trim(); }
