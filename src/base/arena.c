/* SPDX-License-Identifier: Apache-2.0 */
/* Arena blocks: each twice the last, up to a cap; a large request gets a block of its own size. */
#include "base/arena.h"
#include "base/alloc.h"

struct hr_arena_block {
  _Alignas(16) hr_arena_block_t* older;
  size_t bytes; /* with this header */
};

enum { ARENA_FIRST_BLOCK = 4096, ARENA_BIGGEST_BLOCK = 2 << 20 };

void hr_arena_init(hr_arena_t* arena) { *arena = (hr_arena_t){0}; }

static void arena_free_until(hr_arena_t* arena, const hr_arena_block_t* keep) {
  while (arena->blocks != keep) {
    hr_arena_block_t* b = arena->blocks;
    arena->blocks = b->older;
    arena->bytes -= b->bytes;
    hr_sanitized_allow(b, b->bytes);
    hr_free(b);
  }
}

void hr_arena_deinit(hr_arena_t* arena) {
  arena_free_until(arena, NULL);
  hr_arena_init(arena);
}

void hr_arena_reset(hr_arena_t* arena) {
  hr_arena_block_t* keep = arena->blocks; /* the newest is the biggest of the regular ones */
  if (!keep) return;
  arena->blocks = keep->older;
  arena->bytes -= keep->bytes;
  arena_free_until(arena, NULL);
  keep->older = NULL;
  arena->blocks = keep;
  arena->bytes = keep->bytes;
  arena->next = (char*)(keep + 1);
  arena->end = (char*)keep + keep->bytes;
  hr_sanitized_forbid(keep + 1, keep->bytes - sizeof *keep);
}

static size_t arena_block_bytes(const hr_arena_t* arena, size_t need) {
  size_t bytes = ARENA_FIRST_BLOCK;
  while (bytes < arena->bytes && bytes < ARENA_BIGGEST_BLOCK) bytes *= 2;
  return bytes > need ? bytes : need;
}

void* hr_arena_alloc_slow(hr_arena_t* arena, size_t bytes) {
  size_t need;
  if (!hr_size_add(bytes + !bytes, ARENA_GAP + 15 + sizeof(hr_arena_block_t), &need)) return NULL;
  need &= ~(size_t)15;
  size_t size = arena_block_bytes(arena, need);
  hr_arena_block_t* b = hr_alloc(size);
  if (!b) return NULL;
  b->older = arena->blocks;
  b->bytes = size;
  arena->blocks = b;
  arena->bytes += size;
  arena->next = (char*)b + need;
  arena->end = (char*)b + size;
  hr_sanitized_forbid(b + 1, size - sizeof *b);
  hr_sanitized_allow(b + 1, bytes);
  return b + 1;
}

void* hr_arena_array(hr_arena_t* arena, size_t count, size_t size) {
  size_t bytes;
  void* p = hr_size_mul(count, size, &bytes) ? hr_arena_alloc(arena, bytes ? bytes : 1) : NULL;
  if (p) memset(p, 0, bytes);
  return p;
}

bool hr_arena_str(hr_arena_t* arena, hr_str_t text, hr_str_t* out) {
  char* p = text.size < SIZE_MAX ? hr_arena_alloc(arena, text.size + 1) : NULL;
  if (!p) return false;
  if (text.size) memcpy(p, text.data, text.size);
  p[text.size] = 0;
  *out = (hr_str_t){p, text.size};
  return true;
}
