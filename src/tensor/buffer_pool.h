/* SPDX-License-Identifier: Apache-2.0 */
/* The recycling pool under buffers: blocks of fixed size classes, header included. Internal to tensor/buffer.c.
 *
 * Classes: multiples of 64 bytes up to 512, then four steps per power of two, so at most a quarter of a block is unused. Small
 * blocks go to a list of the releasing thread; what does not fit there, and large blocks, to one list of the process. That list
 * is bounded, and drops what has lain longest. */
#ifndef HR_TENSOR_BUFFER_POOL_H
#define HR_TENSOR_BUFFER_POOL_H
#include <stdbool.h>
#include <stddef.h>

enum { BUFFER_HEADER = 64, BUFFER_NOT_POOLED = 255 };

/* A block of BUFFER_HEADER bytes and at least `bytes` more, aligned to 64, and its class. NULL: out of memory. */
void* hr_buffer_pool_take(size_t bytes, int* out_class);
void hr_buffer_pool_give(void* block, int size_class);
/* Adds to this thread's count of live bytes. */
void hr_buffer_pool_account(ptrdiff_t bytes);
#endif
