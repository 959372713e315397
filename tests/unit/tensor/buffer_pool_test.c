/* SPDX-License-Identifier: Apache-2.0 */
/* The pool to the byte: sizes of its classes, what threads and the process keep, how many blocks come at once, and the heap of large
 * blocks: what is free after each step, where blocks lie, how much it asks the system for. */
#define HR_TEST_LEAKS_CHECKED
#include "tensor/buffer_pool.h"
#include "tensor/buffer.h"
#include "test.h"

enum { MiB = 1 << 20, KiB = 1 << 10 };

/* What was asked of the system last, with the alignments of small blocks and of regions. */
static size_t asked_small, asked_region;
static void* allocate_watched(size_t bytes, size_t alignment) {
  if (alignment == 64) asked_small = bytes;
  if (alignment > 4096) asked_region = bytes;
  return hr_test_allocate(bytes, alignment);
}
static const hr_alloc_hooks_t watched = {allocate_watched, realloc, hr_test_free}, usual = {hr_test_allocate, realloc, hr_test_free};

static hr_buffer_t* make(size_t bytes) {
  hr_buffer_t* b = hr_buffer_create(bytes, HR_U8);
  if (!HR_CHECK(b != NULL)) abort();
  return b;
}

HR_TEST(sizes_of_classes) { /* multiples of 64 up to 512, then four to an octave */
  if (!hr_buffer_is_pooled()) return;
  size_t size = 0, step = 64;
  hr_alloc_set_hooks(&watched);
  while (size < BUFFER_SMALL_MOST) {
    const size_t next = size + step, tried[] = {size + (size > 0), size + step / 2, next - 1, next};
    for (int i = 0; i < 4; ++i) {
      hr_buffer_trim();
      asked_small = asked_region = 0;
      hr_buffer_release(make(tried[i]));
      if (!HR_CHECK(asked_small == BUFFER_HEADER + next && asked_region == 0)) printf("  %zu bytes\n", tried[i]);
    }
    size = next;
    if (size >= 512 && (size & (size - 1)) == 0) step = size / 4;
  }
  hr_buffer_trim();
  hr_buffer_release(make(BUFFER_SMALL_MOST + 1));
  HR_CHECK(asked_region > 0);
  hr_buffer_trim();
  hr_alloc_set_hooks(&usual);
}

/* Of one class a thread keeps 32; with one more it hands all but 16 to the process. */
HR_TEST(what_a_thread_keeps_of_a_class) {
  if (!hr_buffer_is_pooled()) return;
  enum { MANY = 100 };
  static const size_t sizes[] = {64, 640, 4096};
  for (int s = 0; s < 3; ++s)
    for (int round = 0; round < 2; ++round) { /* the second from what the first left */
      hr_buffer_t* live[MANY];
      hr_buffer_trim();
      for (int i = 0; i < MANY; ++i) live[i] = make(sizes[s]);
      int own = 0, shared = 0;
      for (int i = 0; i < MANY; ++i) {
        hr_buffer_release(live[i]);
        if (own == 32) shared += 16, own = 16;
        ++own;
        HR_CHECK_EQ_I64(hr_buffer_bytes_free(), shared * sizes[s]);
        HR_CHECK_EQ_I64(hr_buffer_spare_blocks(), 1 + i + 1);
      }
      int taken = 0;
      while (taken < own) live[taken++] = make(sizes[s]); /* its own first, */
      HR_CHECK_EQ_I64(hr_buffer_bytes_free(), shared * sizes[s]);
      live[taken++] = make(sizes[s]); /* then eight of the process's: one to use, seven to keep */
      HR_CHECK_EQ_I64(hr_buffer_bytes_free(), (shared - 8) * sizes[s]);
      while (taken > 0) hr_buffer_release(live[--taken]);
      hr_buffer_trim();
      HR_CHECK_EQ_I64(hr_buffer_spare_blocks(), 1);
    }
}

/* Of all classes a thread keeps 4 MiB. */
HR_TEST(what_a_thread_keeps_of_all_classes) {
  if (!hr_buffer_is_pooled()) return;
  static const struct { size_t size; int count; } rows[] = {{64 * KiB, 32}, {40 * KiB, 32}, {32 * KiB, 24}}; /* exactly 4 MiB */
  static hr_buffer_t* live[88];
  hr_buffer_trim();
  for (int round = 0; round < 2; ++round) {
    int n = 0;
    for (int r = 0; r < 3; ++r)
      for (int i = 0; i < rows[r].count; ++i) live[n++] = make(rows[r].size);
    HR_CHECK_EQ_I64(hr_buffer_bytes_free(), 0);
    hr_buffer_t* more = make(64);
    while (n > 0) hr_buffer_release(live[--n]);
    HR_CHECK_EQ_I64(hr_buffer_bytes_free(), 0);
    HR_CHECK_EQ_I64(hr_buffer_spare_blocks(), 1 + 88);
    hr_buffer_release(more);
    HR_CHECK_EQ_I64(hr_buffer_bytes_free(), 4 * MiB);
    HR_CHECK_EQ_I64(hr_buffer_spare_blocks(), 1 + 88 + 1);
    hr_buffer_trim();
  }
}

HR_TEST(what_the_process_keeps) { /* 64 MiB of small blocks */
  if (!hr_buffer_is_pooled()) return;
  enum { MANY = 1100 };
  static hr_buffer_t* live[MANY];
  hr_buffer_trim();
  for (int i = 0; i < MANY; ++i) live[i] = make(64 * KiB);
  for (int i = 0; i < MANY; ++i) hr_buffer_release(live[i]);
  HR_CHECK_EQ_I64(hr_buffer_bytes_free(), 64 * MiB);
  hr_buffer_trim();
  HR_CHECK_EQ_I64(hr_buffer_bytes_free(), 0);
}

/* --- large blocks ------------------------------------------------------------------------------------------------------------------ */

HR_TEST(large_blocks_are_whole_pages) {
  if (!hr_buffer_is_pooled()) return;
  static const struct {
    size_t asked, taken;
  } rows[] = {{65537, 69632}, {69632, 69632}, {69633, 73728}, {MiB - 1, MiB}, {MiB, MiB}, {MiB + 1, MiB + 4096}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_buffer_trim();
    hr_buffer_t* b = make(rows[i].asked);
    HR_CHECK_EQ_I64((uintptr_t)b->data % 4096, 0);
    HR_CHECK_EQ_I64(hr_buffer_bytes_free(), 0);
    hr_buffer_release(b);
    HR_CHECK_EQ_I64(hr_buffer_bytes_free(), rows[i].taken);
  }
  hr_buffer_trim();
}

/* A free block of 1 MiB and some pages, and what is left of it when one of 1 MiB is taken. `guard` lies behind it. */
HR_TEST(a_larger_block_is_cut) {
  if (!hr_buffer_is_pooled()) return;
  static const size_t more[] = {0, 4 * KiB, 16 * KiB, 128 * KiB, 256 * KiB, MiB, 3 * MiB, 17 * MiB};
  for (size_t i = 0; i < sizeof more / sizeof *more; ++i) {
    hr_buffer_trim();
    hr_buffer_t *whole = make(MiB + more[i]), *guard = make(MiB);
    char* at = whole->data;
    HR_CHECK((char*)guard->data == at + MiB + more[i]);
    hr_buffer_release(whole);
    HR_CHECK_EQ_I64(hr_buffer_bytes_free(), MiB + more[i]);
    hr_buffer_t* part = make(MiB);
    HR_CHECK((char*)part->data == at);
    HR_CHECK_EQ_I64(hr_buffer_bytes_free(), more[i]);
    HR_CHECK_EQ_I64(hr_buffer_spare_blocks(), 1 + 1 - 2); /* this thread's list, a region, two blocks in use */
    hr_buffer_release(part);
    HR_CHECK_EQ_I64(hr_buffer_bytes_free(), MiB + more[i]);
    whole = make(MiB + more[i]); /* and is whole again */
    HR_CHECK((char*)whole->data == at);
    HR_CHECK_EQ_I64(hr_buffer_bytes_free(), 0);
    hr_buffer_release(whole);
    hr_buffer_release(guard);
    hr_buffer_trim();
    HR_CHECK_EQ_I64(hr_buffer_spare_blocks(), 1);
  }
}

/* The smallest that serves: of free blocks of 1, 2, 3, ... pages more than 64 KiB, with blocks in use between them. */
HR_TEST(the_smallest_that_serves_is_cut) {
  if (!hr_buffer_is_pooled()) return;
  enum { SIZES = 12 };
  hr_buffer_t *hole[SIZES], *between[SIZES];
  char* at[SIZES];
  hr_buffer_trim();
  for (int i = 0; i < SIZES; ++i) {
    hole[i] = make((size_t)(64 << i) * KiB + 8192);
    between[i] = make(100 * KiB);
    at[i] = hole[i]->data;
  }
  for (int i = 0; i < SIZES; ++i) hr_buffer_release(hole[i]);
  for (int i = 0; i < SIZES; ++i) {
    hole[i] = make((size_t)(64 << i) * KiB + 4096);
    HR_CHECK((char*)hole[i]->data == at[i]);
  }
  HR_CHECK_EQ_I64(hr_buffer_bytes_free(), SIZES * 4096);
  for (int i = 0; i < SIZES; ++i) {
    hr_buffer_release(hole[i]);
    hr_buffer_release(between[i]);
  }
  hr_buffer_trim();
}

/* Beside what is in use the heap keeps at most 1 GiB, and goes an eighth below when that is passed. */
HR_TEST(what_the_heap_keeps_at_most) {
  if (!hr_buffer_is_pooled()) return;
  enum { BLOCKS = 18 }; /* of 64 MiB, never touched */
  hr_buffer_t* live[BLOCKS];
  hr_buffer_trim();
  for (int i = 0; i < BLOCKS; ++i) live[i] = make(64 * MiB);
  for (int i = 0; i < BLOCKS; ++i) {
    hr_buffer_release(live[i]);
    HR_CHECK_EQ_I64(hr_buffer_bytes_free() / MiB, i < 16 ? (i + 1) * 64 : i == 16 ? 896 : 960);
  }
  hr_buffer_trim();
  HR_CHECK_EQ_I64(hr_buffer_bytes_free(), 0);
}

/* Holes that nothing fits make the heap grow beyond the most that was in use; what is free stays below that. */
HR_TEST(no_more_is_kept_than_was_in_use) {
  if (!hr_buffer_is_pooled()) return;
  enum { BLOCKS = 100, WIDE = 33 };
  hr_buffer_t *live[BLOCKS], *wide[WIDE];
  hr_buffer_trim();
  for (int i = 0; i < BLOCKS; ++i) live[i] = make(MiB);
  for (int i = 0; i < BLOCKS; i += 2) hr_buffer_release(live[i]);
  for (int i = 0; i < WIDE; ++i) wide[i] = make(MiB + MiB / 2);
  for (int i = 0; i < WIDE; ++i) hr_buffer_release(wide[i]);
  for (int i = 1; i < BLOCKS; i += 2) {
    hr_buffer_release(live[i]);
    HR_CHECK(hr_buffer_bytes_free() <= BLOCKS * MiB);
  }
  hr_buffer_trim();
  HR_CHECK_EQ_I64(hr_buffer_spare_blocks(), 1);
}

/* A region has 256 MiB, or what is asked for, or as much as all regions before it. */
HR_TEST(how_much_is_asked_of_the_system) {
  if (!hr_buffer_is_pooled()) return;
  hr_buffer_trim();
  hr_alloc_set_hooks(&watched);
  for (int round = 0; round < 3; ++round) { /* those of earlier rounds do not count */
    hr_buffer_t* live[4];
    size_t all = 0;
    static const size_t sizes[] = {100 * MiB, 200 * MiB, 300 * MiB, (size_t)2000 * MiB};
    for (int i = 0; i < 4; ++i) {
      asked_region = 0;
      live[i] = make(sizes[i]);
      const size_t least = sizes[i] > all && sizes[i] > 256 * MiB ? sizes[i] : all > 256 * MiB ? all : 256 * MiB;
      HR_CHECK(asked_region >= least && asked_region <= least + least / 64 + 4 * MiB && asked_region % (2 * MiB) == 0);
      all += asked_region;
    }
    for (int i = 0; i < 4; ++i) hr_buffer_release(live[i]);
    hr_buffer_trim();
    HR_CHECK_EQ_I64(hr_buffer_spare_blocks(), 1);
  }
  hr_alloc_set_hooks(&usual);
}

HR_TEST_MAIN()
