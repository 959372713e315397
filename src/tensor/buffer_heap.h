/* SPDX-License-Identifier: Apache-2.0 */
/* The heap behind large buffers: regions of the system's memory, cut into blocks of whole pages. A block's header lies apart from
 * its bytes, so that blocks of 1 MiB pack into one of 2.
 *
 * A block given back rests as it is, so that the next one of its size is found at once and warm. When none of its size
 * rests, all that rest are merged with their neighbours and the smallest that serves is cut; only when that does not help is memory touched
 * that was not before. So the process holds little more than the most that buffers held at once, whatever the mix of sizes.
 *
 * One heap; the pool locks. Internal to buffer_pool.c. */
#ifndef HR_TENSOR_BUFFER_HEAP_H
#define HR_TENSOR_BUFFER_HEAP_H
#include <stddef.h>
#include <stdint.h>

/* A header of BUFFER_HEADER bytes for a block of at least `bytes`, more than BUFFER_SMALL_MOST. From what the heap has; NULL: it must
 * grow. */
void* hr_buffer_heap_take(size_t bytes);
/* With memory of the system; NULL: out of memory. */
void* hr_buffer_heap_grow(size_t bytes);
void* hr_buffer_heap_data(void* header);
/* Keeps at most so many bytes resident beside those in use as were in use at once, `floor` at least and `ceiling` at most. */
void hr_buffer_heap_give(void* header, size_t floor, size_t ceiling);
/* Gives back to the system all that is free, and forgets how much was in use once. */
void hr_buffer_heap_trim(void);
size_t hr_buffer_heap_free_bytes(void);
/* Regions held less blocks in use: what a count of the system's blocks needs to become one of live blocks. */
int64_t hr_buffer_heap_surplus(void);
#endif
