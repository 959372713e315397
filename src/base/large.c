/* SPDX-License-Identifier: Apache-2.0 */
/* Every block is a mapping of its own, written down in one table by address. */
#include "base/large.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "base/sync.h"

enum { PAGE = 4096, KEEP_COUNT = 32, FIRST_ROOM = 256 };
static const size_t KEEP_BYTES = (size_t)64 << 20;

typedef struct {
  char* at; /* NULL: free */
  size_t bytes;
} mapping_t;

static struct {
  hr_mutex_t mu;
  mapping_t* table; /* open addressing, half full at most */
  size_t room, count;
  mapping_t kept[KEEP_COUNT]; /* oldest first */
  size_t kept_count, kept_bytes;
} large = {.mu = HR_MUTEX_INIT};

static size_t pages_of(size_t bytes) { return (bytes + PAGE - 1) & ~(size_t)(PAGE - 1); }
static bool is_aligned(const void* p) { return ((uintptr_t)p & (LARGE_ALIGNMENT - 1)) == 0; }

/* --- the table; under the mutex ------------------------------------------------------------------------------------------------------ */

static size_t home_of(const void* at) { return (size_t)(((uintptr_t)at / LARGE_ALIGNMENT) * 0x9e3779b97f4a7c15u >> 20) & (large.room - 1); }

static mapping_t* find(const void* at) { /* its entry, or the free one where it belongs */
  size_t i = home_of(at);
  while (large.table[i].at && large.table[i].at != at) i = (i + 1) & (large.room - 1);
  return &large.table[i];
}

static bool reserve(void) {
  if (2 * (large.count + 1) <= large.room) return true;
  mapping_t* old = large.table;
  const size_t old_room = large.room, room = old_room ? 2 * old_room : FIRST_ROOM;
  mapping_t* table = calloc(room, sizeof *table);
  if (!table) return false;
  large.table = table;
  large.room = room;
  for (size_t i = 0; i < old_room; ++i)
    if (old[i].at) *find(old[i].at) = old[i];
  free(old);
  return true;
}

static void forget(mapping_t* m) { /* closes the hole */
  size_t hole = (size_t)(m - large.table);
  for (size_t i = (hole + 1) & (large.room - 1); large.table[i].at; i = (i + 1) & (large.room - 1)) {
    const size_t home = home_of(large.table[i].at);
    if (((i - home) & (large.room - 1)) < ((i - hole) & (large.room - 1))) continue;
    large.table[hole] = large.table[i];
    hole = i;
  }
  large.table[hole].at = NULL;
  --large.count;
}

static void note(char* at, size_t bytes) {
  *find(at) = (mapping_t){at, bytes};
  ++large.count;
}

/* --- the system ---------------------------------------------------------------------------------------------------------------------- */

static char* map_pages(size_t bytes) {
  void* p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return p == MAP_FAILED ? NULL : p;
}

static char* map_aligned(size_t bytes) {
  char* p = map_pages(bytes);
  if (p && !is_aligned(p)) { /* again, with room to cut */
    munmap(p, bytes);
    char* wide = map_pages(bytes + LARGE_ALIGNMENT);
    if (!wide) return NULL;
    p = (char*)(((uintptr_t)wide + LARGE_ALIGNMENT - 1) & ~(uintptr_t)(LARGE_ALIGNMENT - 1));
    if (p > wide) munmap(wide, (size_t)(p - wide));
    if (wide + LARGE_ALIGNMENT > p) munmap(p + bytes, (size_t)(wide + LARGE_ALIGNMENT - p));
  }
  if (p) madvise(p, bytes, MADV_HUGEPAGE); /* only advice: small pages serve as well */
  return p;
}

/* --- kept blocks; under the mutex ---------------------------------------------------------------------------------------------------- */

static mapping_t unkeep(size_t i) {
  const mapping_t m = large.kept[i];
  large.kept_bytes -= m.bytes;
  --large.kept_count;
  memmove(&large.kept[i], &large.kept[i + 1], (large.kept_count - i) * sizeof m);
  return m;
}

/* The smallest that is large enough and at most a quarter too large. */
static char* take_kept(size_t* io_bytes) {
  size_t best = KEEP_COUNT;
  for (size_t i = 0; i < large.kept_count; ++i) {
    const size_t bytes = large.kept[i].bytes;
    if (bytes < *io_bytes || bytes - *io_bytes > bytes / 4) continue;
    if (best == KEEP_COUNT || bytes < large.kept[best].bytes) best = i;
  }
  if (best == KEEP_COUNT) return NULL;
  const mapping_t m = unkeep(best);
  *io_bytes = m.bytes;
  return m.at;
}

static void unmap_kept(size_t most_count, size_t most_bytes) {
  while (large.kept_count > most_count || large.kept_bytes > most_bytes) {
    const mapping_t m = unkeep(0);
    munmap(m.at, m.bytes);
  }
}

static void keep(mapping_t m) {
  if (m.bytes > KEEP_BYTES) {
    munmap(m.at, m.bytes);
    return;
  }
  unmap_kept(KEEP_COUNT - 1, KEEP_BYTES - m.bytes);
  large.kept[large.kept_count++] = m;
  large.kept_bytes += m.bytes;
}

/* Registered before any lock that is held while memory is asked for, so that at a fork those are taken first. */
static void fork_prepare(void) { hr_mutex_lock(&large.mu); }
static void fork_done(void) { hr_mutex_unlock(&large.mu); }
__attribute__((constructor)) static void watch_forks(void) { pthread_atfork(fork_prepare, fork_done, fork_done); }

/* --- the contract -------------------------------------------------------------------------------------------------------------------- */

void* hr_large_take(size_t bytes, bool* out_is_zero) {
  size_t size = pages_of(bytes);
  char* at = NULL;
  hr_mutex_lock(&large.mu);
  if (reserve()) {
    at = take_kept(&size);
    *out_is_zero = !at;
    if (!at) at = map_aligned(size);
    if (at) note(at, size);
  }
  hr_mutex_unlock(&large.mu);
  return at;
}

bool hr_large_give(void* block) {
  if (!is_aligned(block)) return false;
  hr_mutex_lock(&large.mu);
  mapping_t* m = large.room ? find(block) : NULL;
  const bool ours = m && m->at;
  if (ours) {
    const mapping_t given = *m;
    forget(m);
    keep(given);
  }
  hr_mutex_unlock(&large.mu);
  return ours;
}

size_t hr_large_bytes(void* block) {
  if (!is_aligned(block)) return 0;
  hr_mutex_lock(&large.mu);
  const mapping_t* m = large.room ? find(block) : NULL;
  const size_t bytes = m && m->at ? m->bytes : 0;
  hr_mutex_unlock(&large.mu);
  return bytes;
}

/* To another aligned place, since huge pages move as a whole there only. */
void* hr_large_resize(void* block, size_t bytes) {
  const size_t size = pages_of(bytes);
  char* moved = NULL;
  hr_mutex_lock(&large.mu);
  mapping_t* m = find(block);
  char* to = m->bytes == size ? NULL : map_aligned(size);
  if (m->bytes == size) {
    moved = block;
  } else if (to) {
    moved = mremap(block, m->bytes, size, MREMAP_MAYMOVE | MREMAP_FIXED, to);
    if (moved == MAP_FAILED) {
      munmap(to, size);
      moved = NULL;
    } else {
      forget(m);
      note(moved, size);
    }
  }
  hr_mutex_unlock(&large.mu);
  return moved;
}

void hr_large_trim(void) {
  hr_mutex_lock(&large.mu);
  unmap_kept(0, 0);
  hr_mutex_unlock(&large.mu);
}
