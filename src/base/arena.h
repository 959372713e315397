/* SPDX-License-Identifier: Apache-2.0 */
/* A bump allocator for things that die together: graph, plan, one import. Not thread-safe; the owner locks. */
#ifndef HR_BASE_ARENA_H
#define HR_BASE_ARENA_H
#include <stdbool.h>
#include <stddef.h>
#include "base/alloc.h"
#include "base/sanitized.h"
#include "base/str.h"

enum { ARENA_GAP = HR_SANITIZED_ADDRESSES ? 16 : 0 }; /* bytes after each allocation that nobody may touch */

typedef struct hr_arena_block hr_arena_block_t;
typedef struct {
  hr_arena_block_t* blocks; /* newest first */
  char* next;               /* free space of the newest block */
  char* end;
  size_t bytes;             /* held from the system */
} hr_arena_t;

void hr_arena_init(hr_arena_t* arena);
void hr_arena_deinit(hr_arena_t* arena);
void hr_arena_reset(hr_arena_t* arena);                       /* frees all but one block */
void* hr_arena_alloc_slow(hr_arena_t* arena, size_t bytes);
void* hr_arena_array(hr_arena_t* arena, size_t count, size_t size); /* zeroed; NULL on overflow or out of memory; never NULL for count 0 */
bool hr_arena_str(hr_arena_t* arena, hr_str_t text, hr_str_t* out);  /* a NUL-terminated copy */

static inline void* hr_arena_alloc(hr_arena_t* arena, size_t bytes) { /* aligned to 16; uninitialised; NULL: out of memory */
  size_t need = (bytes + !bytes + ARENA_GAP + 15) & ~(size_t)15; /* 0 bytes are a block too */
  if (hr_alloc_must_fail()) return NULL; /* a piece of a block can be the n-th allocation too: all that ask can be refused */
  if (need >= bytes && need <= (size_t)(arena->end - arena->next)) {
    void* p = arena->next;
    arena->next += need;
    hr_sanitized_allow(p, bytes);
    return p;
  }
  return hr_arena_alloc_slow(arena, bytes);
}
#endif
