/* SPDX-License-Identifier: Apache-2.0 */
/* The recycling pool under buffers. Internal to tensor/buffer.c.
 *
 * Up to 64 KiB there are classes: multiples of 64 bytes up to 512, then four steps per power of two, so at most a quarter of a block is
 * unused. Such blocks go to a list of the releasing thread; what does not fit there to one list of the process, which is bounded, and drops
 * what has lain longest. Larger blocks come from a heap (buffer_heap.h) behind the same lock. */
#ifndef HR_TENSOR_BUFFER_POOL_H
#define HR_TENSOR_BUFFER_POOL_H
#include <stdbool.h>
#include <stddef.h>

enum { BUFFER_HEADER = 64, BUFFER_NOT_POOLED = 255, BUFFER_LARGE = 254, BUFFER_SMALL_MOST = 64 << 10 };

/* The header, BUFFER_HEADER bytes, of a block of at least `bytes`, and its class; both aligned to 64. The block follows the header, but for
 * BUFFER_LARGE, where hr_buffer_heap_data finds it. NULL: out of memory. */
void* hr_buffer_pool_take(size_t bytes, int* out_class);
void hr_buffer_pool_give(void* block, int size_class);
/* Adds to this thread's count of live bytes. */
void hr_buffer_pool_account(ptrdiff_t bytes);
#endif
