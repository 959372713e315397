/* SPDX-License-Identifier: Apache-2.0 */
/* How much of the thread's stack is left: for what calls itself as deep as its input says. */
#ifndef HR_BASE_STACK_H
#define HR_BASE_STACK_H
#include <stddef.h>

size_t hr_stack_left(void); /* SIZE_MAX where that cannot be found out */
#endif
