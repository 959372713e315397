/* SPDX-License-Identifier: Apache-2.0 */
/* A region starts with the headers of its chunks; then the chunks lie end to end up to `top`, and from there on memory is untouched.
 * A chunk is live (a buffer's), resting (as it was given back) or merged; no two merged ones touch. Resting and merged ones hang in bins by
 * size, eight bins per power of two. A merged chunk is clean when its pages went back to the system. */
#include "tensor/buffer_heap.h"
#include <stdbool.h>
#include <sys/mman.h>
#include "base/alloc.h"
#include "tensor/buffer_pool.h"

enum { BINS = 384, BIN_WORDS = BINS / 64, LOOK = 16 /* chunks tried in a bin */, PAGE = 4096 };
enum { LIVE, RESTING, MERGED };
static const size_t HUGE = (size_t)2 << 20, REGION = (size_t)256 << 20;

typedef struct chunk {
  union {
    _Alignas(64) char buffer[BUFFER_HEADER]; /* while live */
    struct {
      struct chunk *next, *previous; /* of its bin, newest first; next also of the region's unused headers */
      struct chunk *newer, *older;   /* of the resting ones */
    } free;
  };
  char* data;
  size_t bytes;
  struct chunk *before, *after; /* in memory */
  struct region* region;
  uint8_t state;
  bool clean;
} chunk_t;

typedef struct region {
  _Alignas(64) struct region* next;
  chunk_t* last;   /* ends at top */
  char *top, *end;
  size_t reserved;
  chunk_t* unused; /* headers */
  chunk_t* fresh;  /* the next header that was never used */
} region_t;

/* Every chunk but a merged one has more than BUFFER_SMALL_MOST bytes, and merged ones do not touch, so so many headers always do. */
enum { BYTES_PER_HEADER = BUFFER_SMALL_MOST / 2, REGION_HEAD = sizeof(region_t) + 2 * sizeof(chunk_t) };

typedef struct {
  chunk_t* first[BINS];
  uint64_t filled[BIN_WORDS];
} bins_t;

static struct {
  bins_t resting, merged;
  chunk_t *newest, *oldest; /* resting */
  region_t* regions;
  size_t free_bytes;        /* of resting and merged chunks that are not clean */
  size_t in_use, peak, reserved;
  int64_t region_count, live;
} heap;

static size_t round_up(size_t bytes, size_t to) { return (bytes + to - 1) & ~(to - 1); }

/* All chunks of a bin are at least as big as its least, which is what a number's own bin may lack. */
static int bin_of(size_t bytes) { /* of PAGE bytes at least */
  int octave = 63 - __builtin_clzll(bytes);
  return (octave - 12) * 8 + (int)(bytes >> (octave - 3) & 7);
}

static void bin_push(bins_t* bins, chunk_t* c) {
  int b = bin_of(c->bytes);
  c->free.previous = NULL;
  c->free.next = bins->first[b];
  if (c->free.next) c->free.next->free.previous = c;
  bins->first[b] = c;
  bins->filled[b / 64] |= (uint64_t)1 << b % 64;
}

static void bin_remove(bins_t* bins, chunk_t* c) {
  int b = bin_of(c->bytes);
  *(c->free.previous ? &c->free.previous->free.next : &bins->first[b]) = c->free.next;
  if (c->free.next) c->free.next->free.previous = c->free.previous;
  if (!bins->first[b]) bins->filled[b / 64] &= ~((uint64_t)1 << b % 64);
}

/* The next bin from `b` that holds any; BINS: none. */
static int bin_filled(const bins_t* bins, int b) {
  for (int w = b / 64; w < BIN_WORDS; ++w) {
    uint64_t bits = bins->filled[w] & (w == b / 64 ? ~(uint64_t)0 << b % 64 : ~(uint64_t)0);
    if (bits) return w * 64 + __builtin_ctzll(bits);
  }
  return BINS;
}

/* The smallest of a bin's newest that has `need` bytes. */
static chunk_t* bin_find(const bins_t* bins, int b, size_t need) {
  chunk_t* best = NULL;
  int left = LOOK;
  for (chunk_t* c = bins->first[b]; c && left; c = c->free.next, --left) {
    if (c->bytes < need || (best && c->bytes >= best->bytes)) continue;
    best = c;
    if (c->bytes == need) break;
  }
  return best;
}

/* --- chunks -------------------------------------------------------------------------------------------------------------------------- */

static chunk_t* header_take(region_t* r) {
  chunk_t* c = r->unused;
  if (c) r->unused = c->free.next;
  else c = r->fresh++;
  return c;
}

static void header_give(chunk_t* c) {
  c->free.next = c->region->unused;
  c->region->unused = c;
}

/* A chunk in no list, behind `before`. */
static chunk_t* chunk_add(region_t* r, chunk_t* before, char* data, size_t bytes, bool clean) {
  chunk_t* c = header_take(r);
  *c = (chunk_t){.data = data, .bytes = bytes, .before = before, .after = before ? before->after : NULL, .region = r, .clean = clean};
  if (c->before) c->before->after = c;
  if (c->after) c->after->before = c;
  else r->last = c;
  return c;
}

static void chunk_unlink(chunk_t* c) {
  if (c->before) c->before->after = c->after;
  if (c->after) c->after->before = c->before;
  else c->region->last = c->before;
  header_give(c);
}

static void rest(chunk_t* c) {
  c->state = RESTING;
  c->clean = false;
  bin_push(&heap.resting, c);
  c->free.newer = NULL;
  c->free.older = heap.newest;
  if (c->free.older) c->free.older->free.newer = c;
  heap.newest = c;
  if (!heap.oldest) heap.oldest = c;
  heap.free_bytes += c->bytes;
}

static void wake(chunk_t* c) {
  bin_remove(&heap.resting, c);
  *(c->free.newer ? &c->free.newer->free.older : &heap.newest) = c->free.older;
  *(c->free.older ? &c->free.older->free.newer : &heap.oldest) = c->free.newer;
  heap.free_bytes -= c->bytes;
}

static void merged_add(chunk_t* c) {
  c->state = MERGED;
  bin_push(&heap.merged, c);
  if (!c->clean) heap.free_bytes += c->bytes;
}

static void merged_remove(chunk_t* c) {
  bin_remove(&heap.merged, c);
  if (!c->clean) heap.free_bytes -= c->bytes;
}

static bool is_merged(const chunk_t* c) { return c && c->state == MERGED; }

/* Both in no list; b goes. */
static void chunk_join(chunk_t* a, chunk_t* b) {
  a->bytes += b->bytes;
  a->clean = a->clean && b->clean;
  chunk_unlink(b);
}

static void merge_oldest(void) {
  chunk_t *c = heap.oldest, *before = c->before, *after = c->after;
  wake(c);
  if (is_merged(after)) {
    merged_remove(after);
    chunk_join(c, after);
  }
  if (is_merged(before)) {
    merged_remove(before);
    chunk_join(before, c);
    c = before;
  }
  merged_add(c);
}

static void merge_all(void) {
  while (heap.oldest) merge_oldest();
}

/* Cuts what `need` leaves over off a chunk in no list. */
static chunk_t* chunk_cut(chunk_t* c, size_t need) {
  if (c->bytes == need) return c;
  chunk_t* left = chunk_add(c->region, c, c->data + need, c->bytes - need, c->clean);
  c->bytes = need;
  if (is_merged(left->after)) { /* else two would touch */
    chunk_t* after = left->after;
    merged_remove(after);
    chunk_join(left, after);
  }
  merged_add(left);
  return c;
}

/* --- taking ------------------------------------------------------------------------------------------------------------------------- */

static void* use(chunk_t* c) {
  c->state = LIVE;
  heap.in_use += c->bytes;
  if (heap.in_use > heap.peak) heap.peak = heap.in_use;
  ++heap.live;
  return c;
}

static chunk_t* take_resting(size_t need) {
  chunk_t* c = bin_find(&heap.resting, bin_of(need), need);
  if (!c || c->bytes != need) return NULL;
  wake(c);
  return c;
}

static chunk_t* take_merged(size_t need) {
  int b = bin_of(need);
  chunk_t* c = bin_find(&heap.merged, b, need);
  if (!c && (b = bin_filled(&heap.merged, b + 1)) < BINS) c = bin_find(&heap.merged, b, need);
  if (!c) return NULL;
  merged_remove(c);
  return chunk_cut(c, need);
}

/* Untouched memory at the end of a region, with what is free in front of it. */
static chunk_t* take_top(size_t need) {
  for (region_t* r = heap.regions; r; r = r->next) {
    chunk_t* c = is_merged(r->last) ? r->last : NULL;
    char* from = c ? c->data : r->top;
    if ((size_t)(r->end - from) < need) continue;
    if (c) merged_remove(c);
    else c = chunk_add(r, r->last, from, need, true);
    if (c->bytes > need) return chunk_cut(c, need);
    c->bytes = need;
    r->top = from + need;
    return c;
  }
  return NULL;
}

void* hr_buffer_heap_take(size_t bytes) {
  size_t need = round_up(bytes, PAGE);
  chunk_t* c = take_resting(need);
  if (!c) {
    merge_all(); /* the smallest of all fits is worth more than blocks that may be asked for again: memory would crumble */
    c = take_merged(need);
  }
  if (!c) c = take_top(need);
  return c ? use(c) : NULL;
}

void* hr_buffer_heap_data(void* header) { return ((chunk_t*)header)->data; }

/* --- regions ------------------------------------------------------------------------------------------------------------------------ */

static size_t head_bytes(size_t bytes) { return round_up(REGION_HEAD + bytes / BYTES_PER_HEADER * sizeof(chunk_t), PAGE); }

static region_t* region_create(size_t bytes) {
  size_t head = head_bytes(bytes + HUGE); /* what rounding up adds is cut too */
  bytes = round_up(head + bytes, HUGE);
  region_t* r = hr_alloc_aligned(bytes, HUGE);
  if (!r) return NULL;
  *r = (region_t){.next = heap.regions, .top = (char*)r + head, .end = (char*)r + bytes, .reserved = bytes}; /* both are whole pages */
  r->fresh = (chunk_t*)(r + 1);
  heap.regions = r;
  heap.reserved += bytes;
  ++heap.region_count;
  return r;
}

/* Regions grow with what there is, so that there are few; memory that is never touched costs nothing. */
void* hr_buffer_heap_grow(size_t bytes) {
  size_t need = round_up(bytes, PAGE), wanted = heap.reserved > REGION ? heap.reserved : REGION;
  region_t* r = region_create(wanted > need ? wanted : need);
  if (!r && wanted > need && !hr_alloc_has_failed()) r = region_create(need); /* where even addresses are short */
  return r ? use(take_top(need)) : NULL;
}

static void region_destroy(region_t* r) {
  region_t** link = &heap.regions;
  while (*link != r) link = &(*link)->next;
  *link = r->next;
  heap.reserved -= r->reserved;
  --heap.region_count;
  hr_free(r);
}

/* --- giving back -------------------------------------------------------------------------------------------------------------------- */

static void lower_top(chunk_t* c) { /* a chunk in no list, the last of its region */
  region_t* r = c->region;
  r->top = c->data;
  chunk_unlink(c);
  if (!r->last) region_destroy(r);
}

/* A merged chunk's pages go back to the system; at the end of its region it becomes part of the untouched rest. */
static void chunk_discard(chunk_t* c) {
  merged_remove(c);
  madvise(c->data, c->bytes, MADV_DONTNEED); /* at worst the pages stay */
  c->clean = true;
  if (c->after) merged_add(c);
  else lower_top(c);
}

static chunk_t* largest_unclean(void) {
  for (int b = BINS - 1; b >= 0; --b)
    for (chunk_t* c = heap.merged.first[b]; c; c = c->free.next)
      if (!c->clean) return c;
  return NULL;
}

static void shrink(size_t limit) {
  while (heap.free_bytes > limit) {
    if (heap.oldest) merge_oldest();
    chunk_t* c = largest_unclean();
    if (c) chunk_discard(c);
  }
}

void hr_buffer_heap_give(void* header, size_t floor, size_t ceiling) {
  chunk_t* c = header;
  heap.in_use -= c->bytes;
  --heap.live;
  rest(c);
  size_t limit = heap.peak < ceiling ? heap.peak : ceiling;
  if (limit < floor) limit = floor;
  if (heap.free_bytes > limit) shrink(limit - limit / 8);
}

void hr_buffer_heap_trim(void) {
  merge_all();
  shrink(0);
  for (region_t *r = heap.regions, *next; r; r = next) { /* those whose last chunk was clean already */
    next = r->next;
    if (is_merged(r->last)) chunk_discard(r->last);
  }
  heap.peak = heap.in_use;
}

size_t hr_buffer_heap_free_bytes(void) { return heap.free_bytes; }
int64_t hr_buffer_heap_surplus(void) { return heap.region_count - heap.live; }
