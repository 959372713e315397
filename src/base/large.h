/* SPDX-License-Identifier: Apache-2.0 */
/* Large blocks of memory straight from the system, on huge pages where it has them: a large graph is otherwise mostly page faults, one for
 * each 4 KiB that is touched. Blocks lie at multiples of LARGE_ALIGNMENT, which is how they are told from malloc's. A few that were given
 * back are kept for the next phase, which then finds memory that needs neither a fault nor clearing by the system. Internal to alloc.c. */
#ifndef HR_BASE_LARGE_H
#define HR_BASE_LARGE_H
#include <stdbool.h>
#include <stddef.h>

enum { LARGE_ALIGNMENT = 2 << 20, LARGE_LEAST = 2 << 20 };

/* NULL: malloc should serve. *out_is_zero: nobody wrote there yet. */
void* hr_large_take(size_t bytes, bool* out_is_zero);
/* False: not a block of this kind. */
bool hr_large_give(void* block);
/* 0: not a block of this kind. */
size_t hr_large_bytes(void* block);
/* Moves pages, not bytes. NULL: the block stays as it was. */
void* hr_large_resize(void* block, size_t bytes);
/* Gives what is kept back to the system. */
void hr_large_trim(void);
#endif
