/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers and their pool: alignment, recycling, bounds, faults, threads, foreign memory. */
#define HR_TEST_LEAKS_CHECKED
#include <sched.h>
#include "base/thread.h"
#include "tensor/handle.h"
#include "tensor/tstring.h"
#include "test.h"

HR_TEST(any_size_is_aligned_and_writable) {
  static const size_t sizes[] = {0,    1,    63,   64,   65,    511,    512,    513,    640,    641,
                                 1023, 1024, 1025, 4096, 65537, 262143, 262144, 262145, 400000, 1048577};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    hr_buffer_t* b = hr_buffer_create(sizes[i], HR_F32);
    HR_REQUIRE(b);
    HR_CHECK_EQ_I64((uintptr_t)b->data % 64, 0);
    HR_CHECK_EQ_I64(b->bytes, sizes[i]);
    HR_CHECK(hr_buffer_is_alone(b));
    memset(b->data, 0xab, sizes[i]);
    hr_buffer_release(b);
  }
}

HR_TEST(every_class_holds_what_was_asked) {
  hr_buffer_t* live[64];
  size_t sizes[64];
  unsigned random = 1;
  for (int round = 0; round < 40; ++round) {
    for (int i = 0; i < 64; ++i) {
      random = random * 1664525u + 1013904223u;
      sizes[i] = (random >> 8) % (1u << (6 + round % 14));
      live[i] = hr_buffer_create(sizes[i], HR_U8);
      HR_REQUIRE(live[i]);
      memset(live[i]->data, i, sizes[i]);
    }
    for (int i = 0; i < 64; ++i) {
      const unsigned char* p = live[i]->data;
      bool intact = true;
      for (size_t k = 0; k < sizes[i]; ++k) intact = intact && p[k] == i;
      HR_CHECK(intact);
      hr_buffer_release(live[i]);
    }
  }
}

HR_TEST(steady_state_makes_no_call_to_malloc) {
  if (!hr_buffer_is_pooled()) return;
  static const size_t sizes[] = {4, 4096, 200000, 300000, 5 << 20};
  int64_t before = 0;
  for (int round = 0; round < 100; ++round) {
    hr_buffer_t* b[5];
    for (int i = 0; i < 5; ++i) b[i] = hr_buffer_create(sizes[i], HR_F32);
    for (int i = 0; i < 5; ++i) hr_buffer_release(b[i]);
    if (round == 0) before = hr_alloc_count();
  }
  HR_CHECK_EQ_I64(hr_alloc_count(), before);
}

HR_TEST(just_freed_memory_is_next) {
  if (!hr_buffer_is_pooled()) return;
  hr_buffer_t* b = hr_buffer_create(1000, HR_F32);
  void* at = b->data;
  hr_buffer_release(b);
  b = hr_buffer_create(1001, HR_F32);
  HR_CHECK(b->data == at);
  hr_buffer_release(b);
}

HR_TEST(too_large_is_null) {
  HR_CHECK(hr_buffer_create(SIZE_MAX, HR_U8) == NULL);
  if (hr_buffer_is_pooled()) HR_CHECK(hr_buffer_create((size_t)1 << 47, HR_U8) == NULL); /* sanitizers abort on it */
  HR_CHECK(hr_buffer_create(((size_t)1 << 47) + 1, HR_U8) == NULL);
}

HR_TEST(a_pooled_block_counts_for_the_fault) {
  hr_buffer_release(hr_buffer_create(100, HR_U8));
  hr_buffer_release(hr_buffer_create(1 << 20, HR_U8));
  size_t in_use = hr_buffer_bytes_in_use();
  for (int large = 0; large < 2; ++large) {
    hr_alloc_fail_at(1, false);
    HR_CHECK(hr_buffer_create(large ? 1 << 20 : 100, HR_U8) == NULL);
    HR_CHECK(hr_alloc_has_failed());
    hr_alloc_fail_at(0, false);
  }
  HR_CHECK_EQ_I64(hr_buffer_bytes_in_use(), in_use);
}

HR_TEST(bytes_in_use) {
  size_t before = hr_buffer_bytes_in_use();
  hr_buffer_t* a = hr_buffer_create(1000, HR_U8);
  hr_buffer_t* b = hr_buffer_create(1 << 22, HR_U8);
  HR_CHECK_EQ_I64(hr_buffer_bytes_in_use() - before, 1000 + (1 << 22));
  hr_buffer_release(a);
  hr_buffer_release(b);
  HR_CHECK_EQ_I64(hr_buffer_bytes_in_use(), before);
}

HR_TEST(trim_gives_all_back) {
  for (int i = 0; i < 20; ++i) hr_buffer_release(hr_buffer_create((size_t)1 << i, HR_U8));
  hr_buffer_trim();
  HR_CHECK_EQ_I64(hr_buffer_spare_blocks(), 1); /* this thread's list */
  HR_CHECK_EQ_I64(hr_buffer_bytes_free(), 0);
}

HR_TEST(what_is_kept_is_bounded) {
  enum { MANY = 6000 };
  static const size_t sizes[] = {60 << 10, 100 << 10};
  static hr_buffer_t* live[MANY];
  hr_buffer_trim();
  for (int s = 0; s < 2; ++s) {
    for (int i = 0; i < MANY; ++i) live[i] = hr_buffer_create(sizes[s], HR_U8); /* up to 600 MB, hardly touched */
    for (int i = 0; i < MANY; ++i) hr_buffer_release(live[i]);
    HR_CHECK(hr_buffer_bytes_free() <= (s ? MANY * ((100 << 10) + 4096) : 72 << 20)); /* large ones: as much as was in use */
    hr_buffer_trim();
  }
  HR_CHECK_EQ_I64(hr_buffer_spare_blocks(), 1); /* this thread's list */
}

static bool lies_in(const hr_buffer_t* b, const void* from, size_t bytes) {
  return (const char*)b->data >= (const char*)from && (const char*)b->data + b->bytes <= (const char*)from + bytes;
}

HR_TEST(large_blocks_are_cut_and_merged) {
  if (!hr_buffer_is_pooled()) return;
  enum { PARTS = 4, PART = 1 << 20, WHOLE = PARTS * (PART + 4096) };
  hr_buffer_trim();
  hr_buffer_t *whole = hr_buffer_create(WHOLE, HR_U8), *end = hr_buffer_create(PART, HR_U8), *part[PARTS];
  void* at = whole->data;
  hr_buffer_release(whole);
  for (int i = 0; i < PARTS; ++i) {
    part[i] = hr_buffer_create(PART, HR_U8);
    HR_CHECK(lies_in(part[i], at, WHOLE));
  }
  for (int i = 0; i < PARTS; ++i) hr_buffer_release(part[(i * 3) % PARTS]);
  whole = hr_buffer_create(WHOLE, HR_U8);
  HR_CHECK(whole->data == at);
  hr_buffer_release(whole);
  whole = hr_buffer_create(WHOLE - (1 << 20), HR_U8);
  part[0] = hr_buffer_create(1 << 20, HR_U8); /* exactly the rest */
  HR_CHECK(whole->data == at && lies_in(part[0], at, WHOLE));
  hr_buffer_release(part[0]);
  hr_buffer_release(end);
  hr_buffer_release(whole);
  hr_buffer_trim();
  HR_CHECK_EQ_I64(hr_buffer_bytes_free(), 0);
}

/* Takes blocks of random sizes and gives them back in random order; each keeps its bytes, and the pool holds little more than it must. */
HR_TEST(large_blocks_of_any_size) {
  enum { LIVE = 48, STEPS = 20000 };
  hr_buffer_t* live[LIVE] = {0};
  uint32_t random = 7;
  size_t in_use = 0, most = 0;
  hr_buffer_trim();
  for (int i = 0; i < STEPS; ++i) {
    random = random * 1664525u + 1013904223u;
    hr_buffer_t** slot = &live[(random >> 8) % LIVE];
    if (*slot) {
      const unsigned char* p = (*slot)->data;
      const unsigned char mark = (unsigned char)(slot - live);
      HR_CHECK(p[0] == mark && p[(*slot)->bytes / 2] == mark && p[(*slot)->bytes - 1] == mark);
      in_use -= (*slot)->bytes;
      hr_buffer_release(*slot);
      *slot = NULL;
      if (i % 4096 == 0) hr_buffer_trim();
      continue;
    }
    random = random * 1664525u + 1013904223u;
    const size_t bytes = (65 << 10) + (random >> 8) % (1u << (14 + random % 9));
    *slot = hr_buffer_create(bytes, HR_U8);
    HR_REQUIRE(*slot);
    unsigned char* p = (*slot)->data;
    p[0] = p[bytes / 2] = p[bytes - 1] = (unsigned char)(slot - live);
    in_use += bytes;
    if (in_use > most) most = in_use;
    HR_CHECK(in_use + hr_buffer_bytes_free() <= most * 2 + (8 << 20));
  }
  for (int i = 0; i < LIVE; ++i) hr_buffer_release(live[i]);
  hr_buffer_trim();
  HR_CHECK_EQ_I64(hr_buffer_bytes_free(), 0);
  HR_CHECK_EQ_I64(hr_buffer_spare_blocks(), 1); /* this thread's list */
}

typedef struct { int calls; void* data; size_t bytes; } freed_t;
static void note_free(void* data, size_t bytes, void* arg) {
  freed_t* f = arg;
  ++f->calls;
  f->data = data;
  f->bytes = bytes;
}

static void* allocate_little(size_t bytes, size_t alignment) {
  return bytes > (size_t)8 << 20 ? NULL : alignment <= 16 ? malloc(bytes) : aligned_alloc(alignment, bytes);
}
static void* resize_little(void* block, size_t bytes) { return realloc(block, bytes); }

/* Where no large region can be had, small ones are cut into as many chunks as there can be; no header lies in a block's bytes. */
HR_TEST(small_regions_have_headers_enough) {
  if (!hr_buffer_is_pooled()) return;
  static const hr_alloc_hooks_t hooks = {allocate_little, resize_little, free};
  enum { LIVE = 64, PAGES = 4096 };
  hr_buffer_t* live[LIVE] = {NULL};
  hr_buffer_trim();
  hr_alloc_set_hooks(&hooks);
  for (int round = 0; round < 40; ++round) {
    for (int i = 0; i < LIVE; ++i) { /* blocks of 18 pages, then of 17 in their places: one page is left of each */
      const size_t bytes = (size_t)(round % 2 ? 17 : 18) * PAGES;
      if (live[i]) hr_buffer_release(live[i]);
      live[i] = hr_buffer_create(bytes, HR_U8);
      if (!HR_CHECK(live[i] != NULL)) break;
      memset(live[i]->data, i, bytes);
    }
    for (int i = 0; i < LIVE; ++i)
      for (size_t at = 0; live[i] && at < live[i]->bytes; at += 512)
        if (((const uint8_t*)live[i]->data)[at] != i) HR_CHECK_EQ_I64(((const uint8_t*)live[i]->data)[at], i);
  }
  for (int i = 0; i < LIVE; ++i) hr_buffer_release(live[i]);
  hr_buffer_trim();
  hr_alloc_set_hooks(NULL);
}

HR_TEST(borrowed_memory) {
  static char memory[100];
  freed_t freed = {0, NULL, 0};
  hr_buffer_t* b = hr_buffer_borrow(memory + 1, 99, true, note_free, &freed);
  HR_REQUIRE(b);
  HR_CHECK(b->data == memory + 1 && !hr_buffer_is_alone(b));
  hr_buffer_retain(b);
  hr_buffer_release(b);
  HR_CHECK_EQ_I64(freed.calls, 0);
  hr_buffer_release(b);
  HR_CHECK(freed.calls == 1 && freed.data == memory + 1 && freed.bytes == 99);
  b = hr_buffer_borrow(NULL, 0, false, NULL, NULL);
  HR_CHECK(b && hr_buffer_is_alone(b));
  hr_buffer_release(b);
  hr_alloc_fail_at(1, false);
  HR_CHECK(hr_buffer_borrow(memory, 1, false, note_free, &freed) == NULL);
  hr_alloc_fail_at(0, false);
  HR_CHECK_EQ_I64(freed.calls, 1);
}

HR_TEST(owning_elements_are_released) {
  hr_buffer_t* b = hr_buffer_create(3 * sizeof(hr_tstring_t), HR_STRING);
  hr_tstring_t* s = b->data;
  HR_CHECK_EQ_I64(hr_tstring_get(&s[2]).size, 0);
  HR_CHECK_OK(hr_tstring_set(&s[1], HR_STR("a text that is too long to be a small string")));
  hr_buffer_release(b); /* the leak checker of sanitizer builds looks here */
  b = hr_buffer_create(2 * sizeof(hr_handle_t*), HR_RESOURCE);
  hr_handle_t* h = hr_handle_create(HR_STR("d"), HR_STR("c"), HR_STR("n"), HR_STR("t"));
  ((hr_handle_t**)b->data)[1] = hr_handle_retain(h);
  hr_buffer_release(b);
  HR_CHECK_EQ_I64(atomic_load(&h->refs), 1);
  hr_handle_release(h);
}

enum { EXCHANGED = 2000 };
static _Atomic(hr_buffer_t*) mailbox;

static void consume(void* arg) {
  (void)arg;
  for (int i = 0; i < EXCHANGED;) {
    hr_buffer_t* b = atomic_exchange(&mailbox, NULL);
    if (!b) {
      sched_yield();
      continue;
    }
    if (*(int*)b->data != i) hr_test_fail(__FILE__, __LINE__, "buffer %d holds %d", i, *(int*)b->data);
    hr_buffer_release(b);
    ++i;
  }
}

HR_TEST(blocks_freed_by_another_thread_come_back) {
  hr_thread_t t;
  size_t in_use = hr_buffer_bytes_in_use();
  int64_t before = hr_alloc_count();
  HR_REQUIRE_OK(hr_thread_start(&t, "consumer", consume, NULL));
  for (int i = 0; i < EXCHANGED; ++i) {
    hr_buffer_t* b = hr_buffer_create(256, HR_I32);
    *(int*)b->data = i;
    hr_buffer_t* expected = NULL;
    while (!atomic_compare_exchange_weak(&mailbox, &expected, b)) {
      expected = NULL;
      sched_yield();
    }
  }
  hr_thread_join(&t);
  HR_CHECK_EQ_I64(hr_buffer_bytes_in_use(), in_use);
  if (hr_buffer_is_pooled()) HR_CHECK(hr_alloc_count() - before < EXCHANGED / 10);
}

HR_TEST_MAIN()
